"""A private JupyterLab and a real Chromium, for tests that must see what a reader sees.

Nothing of the developer's own settings is read or written: configuration, workspaces and the notebooks
themselves live in a temporary folder. Every wait is for a condition, none is a sleep of a fixed length.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from playwright.sync_api import Error, Page, sync_playwright

REPOSITORY = Path(__file__).parents[2]
TOKEN = "test"  # noqa: S105 — the server listens on this machine only, and for seconds
_PATIENCE = 60  # seconds for anything to appear; a busy machine is slow, not wrong

_KERNEL_IDLE = """() => {
  const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
  return !!kernel && kernel.connectionStatus === "connected" && kernel.status === "idle";
}"""
_EVALUATE = """async (code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const reply = kernel.requestExecute({ code, store_history: false });
  let text = "";
  reply.onIOPub = (message) => {
    if (message.header.msg_type === "stream") text += message.content.text;
    if (message.header.msg_type === "error") text += `${message.content.ename}: ${message.content.evalue}`;
  };
  await reply.done;
  return text;
}"""

_INSTEAD = """async (path) => {
  const { shell, serviceManager, commands } = window.jupyterapp;
  for (const widget of [...shell.widgets("main")]) widget.dispose();
  await serviceManager.sessions.shutdownAll();
  await commands.execute("docmanager:open", { path, factory: "Notebook" });
}"""


def chromium() -> str | None:
    """Where a Chromium is installed, if one is: the system's, best without windows (half the time);
    else the one that `playwright install` fetched.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next((path for path in map(shutil.which, names) if path), None)
    if found:
        return found
    with sync_playwright() as playwright:
        fetched = playwright.chromium.executable_path
    return fetched if Path(fetched).exists() else None


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab."""

    port: int
    root: Path
    """The folder that it shows."""

    def open(self, page: Page, notebook: str) -> None:
        """Open a notebook and wait until its cells are painted and its kernel is idle.

        In a page that shows this JupyterLab already, it takes the place of the notebook before, whose kernel
        ends: to load all anew takes ten seconds.
        """
        tree = f"http://127.0.0.1:{self.port}/lab/tree/"
        if page.url.startswith(tree):
            page.evaluate(_INSTEAD, notebook)
        else:
            page.goto(f"{tree}{notebook}?token={TOKEN}&reset")
        page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=1000 * _PATIENCE)
        page.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell", timeout=1000 * _PATIENCE)
        page.wait_for_function(_KERNEL_IDLE, timeout=1000 * _PATIENCE, polling=20)


def run_all(page: Page) -> None:
    """Run every cell of the notebook; returns when the last has answered."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")


def in_kernel(page: Page, code: str) -> str:
    """Run code in the notebook's kernel, without a trace in the notebook, and return what it printed."""
    return str(page.evaluate(_EVALUATE, code)).strip()


@contextmanager
def jupyterlab(folder: Path) -> Iterator[Lab]:
    """JupyterLab on copies of the notebooks and the data, with settings of its own."""
    root = folder / "root"
    for part in ("notebooks", "data"):
        shutil.copytree(REPOSITORY / part, root / part)
    port = _free_port()
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(_command(root, port), env=_environment(folder), stdout=log, stderr=log)
    try:
        _wait_until_up(port, server, folder / "server.log")
        yield Lab(port, root)
    finally:
        _stop(server)


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """Ask it to end, and end it: a server that waits for a kernel for ever must not keep the tests waiting for ever."""
    server.terminate()
    try:
        server.wait(timeout=20)
    except subprocess.TimeoutExpired:
        server.kill()  # its kernels notice that they are orphans
        server.wait()


def _command(root: Path, port: int) -> list[str]:
    options = {
        "ServerApp.root_dir": root,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "IdentityProvider.token": TOKEN,
        "LabApp.expose_app_in_browser": True,
    }
    return [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]


def _environment(folder: Path) -> dict[str, str]:
    own = {
        "JUPYTER_CONFIG_DIR": folder / "config",
        "JUPYTER_DATA_DIR": folder / "data",
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": folder / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": folder / "workspaces",
        "IPYTHONDIR": folder / "ipython",
        "JUPYTER_CONFIG_PATH": REPOSITORY / ".make" / "jupyter",  # no question about news, as in `make lab`
    }
    return {**os.environ, **{name: str(path) for name, path in own.items()}}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    address = f"http://127.0.0.1:{port}/api/status?token={TOKEN}"
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                json.load(answer)
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start on port {port}:\n{log.read_text()[-2000:]}")


@contextmanager
def browser_page(folder: Path) -> Iterator[Page]:
    """A page of a fresh, headless Chromium."""
    switches = (
        *("no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
        *("disable-component-update", "disable-sync"),
        *("in-process-gpu", "enable-features=NetworkServiceInProcess2"),  # fewer processes to wake for each page
    )
    playwright = sync_playwright().start()
    context = playwright.chromium.launch_persistent_context(
        folder,
        executable_path=chromium(),
        args=[f"--{switch}" for switch in switches],
        viewport={"width": 1280, "height": 900},
    )
    try:
        yield context.new_page()
    finally:
        for close in (context.close, playwright.stop):
            with _killing_the_browser_after(_PATIENCE):
                close()


@contextmanager
def _killing_the_browser_after(seconds: float) -> Iterator[None]:
    """A browser that does not close is killed with its driver, which Playwright would wait for without end."""
    killed = threading.Event()

    def kill() -> None:
        killed.set()
        for child in psutil.Process().children(recursive=True):
            if child.name().startswith(("node", "chrom")):
                child.kill()

    timer = threading.Timer(seconds, kill)
    timer.start()
    try:
        yield
    except Error:
        if not killed.is_set():
            raise
    finally:
        timer.cancel()
