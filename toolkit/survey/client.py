"""The files of the respondents' page, their hash, the toolkit's version, and QR codes for links."""

import hashlib
import io
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject
from toolkit.core.extras import extra

_STATIC = Path(__file__).parent / "static"

FILE_NAMES = tuple(sorted(path.name for path in _STATIC.iterdir() if path.suffix in (".css", ".html", ".js")))
"""The names of the files that a respondent's browser loads; the hash covers all of them."""


def asset(name: str) -> bytes:
    """Return the content of one of the page's files."""
    if name not in FILE_NAMES:
        reject(f"`name` must be one of {', '.join(FILE_NAMES)}", repr(name)[:40], "the page has no other files")
    return (_STATIC / name).read_bytes()


def code_hash() -> str:
    """Return a SHA-256 hash of the names, lengths and bytes of the page's files, for comparison by an ethics board."""
    digest = hashlib.sha256()
    for name in FILE_NAMES:
        content = asset(name)
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


_MARGIN = 4  # width in modules of the white margin that cameras need


def qr_path(link: str) -> dict[str, int | str]:
    """Return a QR code as one SVG path on a square of `size` units; each dark module is a unit square."""
    rows = list(_qr_code(link).matrix)
    dark = [(x + _MARGIN, y + _MARGIN) for y, row in enumerate(rows) for x, module in enumerate(row) if module & 1]
    return {"size": len(rows) + 2 * _MARGIN, "path": "".join(f"M{x},{y}h1v1h-1z" for x, y in dark)}


def qr_text(link: str) -> str:
    """Return a QR code as text for a terminal."""
    text = io.StringIO()
    _qr_code(link).terminal(out=text, compact=True)
    return text.getvalue()


def _qr_code(link: str) -> Any:
    return extra("segno").make(link, error="m", micro=False)


def toolkit_version() -> str:
    """Return the version of the installed toolkit."""
    try:
        return version("privacy-survey-toolkit")
    except PackageNotFoundError:  # the package is not installed
        return "unknown"
