"""Settings for tests and for notebooks (`pytest --nbval notebooks`). Fixtures of tests are in tests/conftest.py."""

import doctest
import inspect
import os
import signal
import tempfile
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import nbformat
import psutil
import pytest

ROOT = Path(__file__).parent
_from_module = doctest.DocTestFinder._from_module  # type: ignore[attr-defined]


def _from_module_unwrapped(finder: doctest.DocTestFinder, module: object, found: object) -> bool:
    """Return whether an object belongs to a module, after removing decorators, whose globals doctest would inspect."""
    return bool(_from_module(finder, module, inspect.unwrap(found) if inspect.isfunction(found) else found))


doctest.DocTestFinder._from_module = _from_module_unwrapped  # type: ignore[attr-defined]


def pytest_configure(config: pytest.Config) -> None:
    """Handle SIGTERM like Ctrl-C, so that fixtures stop the programs that they started."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    if getattr(config.option, "nbval", False):
        config.option.nbval_sanitize_with = config.option.nbval_sanitize_with or str(ROOT / ".make" / "sanitize.cfg")
        # Collection servers register in this folder; with a temporary one, the user's own servers are not touched.
        os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()


def pytest_keyboard_interrupt() -> None:
    """Stop all child processes. A worker of pytest-xdist kills its own, because it has only 10 seconds to exit."""
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    for child in psutil.Process().children(recursive=is_worker):
        with suppress(psutil.NoSuchProcess):
            child.kill() if is_worker else child.terminate()


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Reject a notebook that was not run from top to bottom: nbval compares nothing in cells that were never run."""
    if type(collector).__name__ != "IPyNbFile":
        return
    collect = collector.collect

    def collect_if_run() -> Iterable[pytest.Item | pytest.Collector]:
        _check_run_in_order(collector.path)
        return collect()

    collector.collect = collect_if_run  # an error raised here itself would end the whole run


def _check_run_in_order(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    counts = [cell.execution_count for cell in cells if cell.cell_type == "code" and cell.source.strip()]
    if counts != list(range(1, len(counts) + 1)):
        raise pytest.Collector.CollectError(
            f"{path.name} must be run top to bottom in a fresh kernel, got cells in the order {counts}: "
            "run `make notebooks`."
        )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Wait a minute for an output: nbval's 5 seconds are too short for a busy machine (its issue 231)."""
    if type(item).__name__ == "IPyNbCell":
        item.output_timeout = 60


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop the servers that notebooks leave open for their readers, because nbval kills kernels."""
    if getattr(session.config.option, "nbval", False):
        from toolkit.survey.serving.background import list_servers

        for server in list_servers():
            server.stop()
