"""Run notebooks from top to bottom in a fresh kernel and store their outputs, byte for byte the same each time.

`make notebooks` calls this script. It leaves out everything that differs between runs or machines: widget models and
their random names, times, versions of Python. A saved notebook shows a picture of each widget; the live widget appears
when the cell is run.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

WIDGET = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def freeze(path: Path) -> None:
    """Run one notebook in its own folder, and save it with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        _clear(cell)
    NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        extra_arguments=["--log-level=40"],  # no warning that the kernel's local connection is not encrypted
        resources={"metadata": {"path": str(path.resolve().parent)}},
    ).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)
    notebook.metadata = NotebookNode(kernelspec=KERNEL, language_info={"name": "python"})
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def _clear(cell: NotebookNode) -> None:
    """Remove the outputs and metadata of an earlier run; keep tags and folded inputs, which the author chose."""
    kept = {name: value for name, value in cell.metadata.items() if name in ("tags", "jupyter")}
    cell.metadata = NotebookNode(kept)
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None


if __name__ == "__main__":
    for name in sys.argv[1:]:
        freeze(Path(name))
