"""A link for people, as a QR code: for a notebook, a poster or a terminal."""

import io
from typing import IO, Any

from toolkit.core.extras import extra

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
    """A QR code in characters, for a terminal."""
    text = io.StringIO()
    _code(link).terminal(out=text, compact=True)
    return text.getvalue()


def _code(link: str) -> Any:
    return extra("segno").make(link, error="m", micro=False)
