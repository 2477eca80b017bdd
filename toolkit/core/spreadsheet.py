"""Text that no spreadsheet takes for a formula, in whatever country it is opened."""

import re
from typing import Any

_STARTS = r"(?:^|(?<=[;,\t\r\n]))"
_FORMULA = r"(?=[\s\"']*[=+\-@＝＋－＠])"
_DANGER = re.compile(_STARTS + _FORMULA)
_DEFUSED = re.compile(f"{_STARTS}'{_FORMULA}")


def harmless(value: object) -> Any:
    """A text of which no part begins a formula, for a cell of a CSV file; anything else as it is.

    A file whose columns end at commas is split at semicolons by a German Excel: a formula after any separator or line
    break inside of the text is one there. Each part that would begin one gets an apostrophe; `as_written` removes it.

    >>> harmless("=HYPERLINK(1)"), harmless("nice;=cmd"), harmless("fine"), harmless(-3)
    ("'=HYPERLINK(1)", "nice;'=cmd", 'fine', -3)
    """
    return _DANGER.sub("'", value) if isinstance(value, str) and _DANGER.search(value) else value


def as_written(value: object) -> Any:
    """What `harmless` was called with."""
    return _DEFUSED.sub("", value) if isinstance(value, str) else value
