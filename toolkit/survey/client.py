"""The respondent's page as files, with one hash of them all and its version; and the link to it, as a QR code."""

import hashlib
import io
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from toolkit.core.checks import refuse
from toolkit.core.extras import extra

_STATIC = Path(__file__).parent / "static"

NAMES = tuple(sorted(path.name for path in _STATIC.iterdir() if path.suffix in (".css", ".html", ".js")))
"""All that a respondent's browser loads, and all that the hash covers."""


def asset(name: str) -> bytes:
    if name not in NAMES:
        refuse(f"`name` must be one of {', '.join(NAMES)}", repr(name)[:40], "the page has no other files")
    return (_STATIC / name).read_bytes()


def code_hash() -> str:
    """SHA-256 over the names, lengths and bytes of the page's files: what a board or a respondent can compare."""
    digest = hashlib.sha256()
    for name in NAMES:
        content = asset(name)
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


_EDGE = 4  # modules of white around the code, which cameras need


def qr_path(link: str) -> dict[str, int | str]:
    """A QR code as one SVG path on a square of `size` units: a unit square for each dark module."""
    rows = list(_code(link).matrix)
    dark = [(x + _EDGE, y + _EDGE) for y, row in enumerate(rows) for x, module in enumerate(row) if module & 1]
    return {"size": len(rows) + 2 * _EDGE, "path": "".join(f"M{x},{y}h1v1h-1z" for x, y in dark)}


def qr_png(link: str, target: str | IO[bytes]) -> None:
    """A QR code as a PNG file, large enough for a slide or a poster."""
    _code(link).save(target, kind="png", scale=12, border=_EDGE)


def qr_text(link: str) -> str:
    text = io.StringIO()
    _code(link).terminal(out=text, compact=True)
    return text.getvalue()


def _code(link: str) -> Any:
    return extra("segno").make(link, error="m", micro=False)


def toolkit_version() -> str:
    try:
        return version("privacy-survey-toolkit")
    except PackageNotFoundError:  # run from a folder, without being installed
        return "unknown"
