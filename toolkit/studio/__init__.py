"""A local web page for writing and running surveys, and for releasing statistics of a table, without code.

`studio(folder)` starts the studio from Python or a notebook, and `toolkit studio` starts it from a shell. All its state
is in files of the folder (`survey.toml`, the collections, the ledger), so users can switch between the studio, Python
and the shell.
"""

from toolkit.studio.server import Studio, studio

__all__ = ["Studio", "studio"]
