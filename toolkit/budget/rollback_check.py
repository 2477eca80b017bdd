"""A note beside a ledger's file, of the last charge that was written to it: so that an older copy in its
place is noticed.

The note of budget.db is budget.db-last. It is written after each charge is on the disk and before anybody
else may charge, so it is never ahead of the file. A process that dies in between leaves it one charge behind,
until the next one. A note that is not there, or that is not whole, says nothing: a ledger's file may be
copied or moved without it.
"""

import contextlib
import hashlib
import os
from pathlib import Path

_SUFFIX = "-last"


def note_of(path: Path) -> Path:
    """Where the note beside a file is."""
    return path.with_name(path.name + _SUFFIX)


def read_note(path: Path) -> tuple[int, str] | None:
    """The number and the link of the last charge, as far as the note beside the file knows."""
    with contextlib.suppress(OSError, ValueError):
        text = note_of(path).read_text(encoding="ascii")
        number, link, _ = text.split()
        if text == _text(int(number), link):
            return int(number), link
    return None


def write_note(path: Path, number: int, link: str) -> None:
    """In one write, always of the same length; where the disk does not allow it, the older note stays, which
    is true as well.
    """
    with contextlib.suppress(OSError):
        file = os.open(note_of(path), os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            os.write(file, _text(number, link).encode("ascii"))
        finally:
            os.close(file)


def _text(number: int, link: str) -> str:
    """The last part tells a whole note from one that a power cut left half written."""
    content = f"{number:020} {link}"
    return f"{content} {hashlib.sha256(content.encode()).hexdigest()[:16]}\n"
