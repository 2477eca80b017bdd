"""A plugin that makes `pytest --nbval notebooks` strict, patient and quick, and ends the servers that notebooks
leave open for their readers.
"""

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nbformat
import pytest
from ipykernel import kernelapp
from jupyter_client.provisioning import local_provisioner

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["__main__", __name__, "anywidget", "matplotlib.axes", "scipy.optimize", "scipy.stats"])

OUTPUT_TIMEOUT = 60  # nbval waits 5 s for an output (its issue 231), which a busy machine does not always keep


STATES: list[
    str
] = []  # folders below which servers note down where they run: of their own, so that no others are meant


class Kernel:
    """As much of a `subprocess.Popen` as is asked of one, around a kernel that is forked after what all notebooks
    import of others was imported: of a small notebook that is half of the time.
    """

    stdin = stdout = stderr = None

    def __init__(self, command: list[str], *, cwd: str, **_: object) -> None:
        self.process = FORKS.Process(target=_kernel, args=(command[command.index("-f") :], cwd))
        self.process.start()
        self.pid = self.process.pid
        while os.getpgid(self.pid) != self.pid:  # who ends it ends its group
            time.sleep(0.001)

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def __getattr__(self, name: str) -> Any:
        return getattr(self.process, name)  # kill, terminate


def _kernel(options: list[str], folder: str) -> None:
    os.setsid()
    os.chdir(folder)
    kernelapp.launch_new_instance([*options, f"--IPKernelApp.parent_handle={os.getppid()}"])


local_provisioner.launch_kernel = Kernel


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    STATES.append(tempfile.mkdtemp())
    os.environ["XDG_STATE_HOME"] = STATES[-1]
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_place(path: Path) -> tuple[str, int, str]:
    """Those that take longest at both ends, where the two processes begin: then they end together."""
    return "", {"11": 0, "09": 0, "10": 2, "13": 3}.get(path.name[:2], 1), str(path)


def pytest_sessionfinish() -> None:
    """A kernel ends its server when it is told to end; nbval kills it."""
    from toolkit.survey.serving.background import servers

    for os.environ["XDG_STATE_HOME"] in STATES:
        for server in servers():
            server.stop()


def pytest_collectstart(collector: pytest.File) -> None:
    """In cells that were never run nbval compares nothing, so such a notebook would pass unseen: refuse it
    here.
    """
    if type(collector).__name__ != "IPyNbFile":
        return
    collect = collector.collect

    def strictly() -> Iterable[pytest.Item | pytest.Collector]:
        _refuse_unless_run_in_order(collector.path)
        return collect()

    collector.collect = strictly


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if type(item).__name__ == "IPyNbCell":
            item.output_timeout = OUTPUT_TIMEOUT


def _refuse_unless_run_in_order(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    counts = [cell.execution_count for cell in cells if cell.cell_type == "code" and cell.source.strip()]
    if counts != list(range(1, len(counts) + 1)):
        order = f"cells in the order {counts}"
        raise pytest.Collector.CollectError(
            f"{path.name} must be run top to bottom in a fresh kernel, got {order}: run `make notebooks`."
        )
