"""A plugin that makes `pytest --nbval notebooks` strict and patient, and ends the servers that notebooks
leave open for their readers.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
import pytest

OUTPUT_TIMEOUT = 60  # nbval waits 5 s for an output (its issue 231), which a busy machine does not always keep


STATES: list[
    str
] = []  # folders below which servers note down where they run: of their own, so that no others are meant


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    STATES.append(tempfile.mkdtemp())
    os.environ["XDG_STATE_HOME"] = STATES[-1]
    return (yield)


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
