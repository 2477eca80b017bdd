"""A survey without a line of code: a page on one's own machine over `survey.toml`, and a curator's desk over a table.

`studio(folder)` starts it from Python or a notebook, `toolkit studio` from a shell. Its only state are the files of
the folder: what it writes, Python and the shell read, and the other way round.
"""

from toolkit.studio.server import Studio, studio

__all__ = ["Studio", "studio"]
