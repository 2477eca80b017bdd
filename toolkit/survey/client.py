"""The respondent's page as files: their bytes, and one hash of them all."""

import hashlib
from pathlib import Path

from toolkit.core.checks import refuse

_STATIC = Path(__file__).parent / "static"

NAMES = tuple(sorted(path.name for path in _STATIC.iterdir() if path.suffix in (".css", ".html", ".js")))
"""All that a respondent's browser loads, and all that the hash covers."""


def asset(name: str) -> bytes:
    if name not in NAMES:
        refuse(f"`name` must be one of {', '.join(NAMES)}", repr(name)[:40], "the page has no other files")
    return (_STATIC / name).read_bytes()


def code_hash() -> str:
    """SHA-256 over the names and bytes of the page's files: what an ethics board or a respondent can compare.

    Each file is its name, its length and its bytes, so that no two sets of files have one hash.
    """
    digest = hashlib.sha256()
    for name in NAMES:
        content = asset(name)
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
