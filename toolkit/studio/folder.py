"""`Folder`: the files of one folder by plain names; nothing outside it is read or written, through no link either."""

import errno
import hashlib
import os
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolkit.core.checks import reject

_NAME = re.compile(r"[^\W_.][\w .()-]{0,99}")  # a letter or a digit, then what every system allows in a name
SURVEYS, TABLES = (".toml", ".json"), (".csv", ".parquet")
SESSION = ".release.toml"
"""How the files end that say what is to be released of a table."""
RELEASED = re.compile(r"-release-\d+\.csv$")
"""How the names of published tables end: of these nothing is to be released again."""


class ConflictError(Exception):
    """The page shows what is no longer so, and nothing was done; `now` is what it should show."""

    def __init__(self, now: dict[str, Any]) -> None:
        reason = "something was changed meanwhile, in another window, by hand or by another program"
        super().__init__(f"This page was out of date: {reason}. Nothing was done; look at it again.")
        self.now = now


class Folder:
    def __init__(self, root: str | Path) -> None:
        self.root, self._turn = Path(root).expanduser().resolve(), threading.Lock()
        if not self.root.is_dir():
            reject("`folder` must be a folder that is there", str(root)[:80], "make it first", NotADirectoryError)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let one action at a time work in the folder: of all tabs, and of all studios that are open on it."""
        import fcntl

        with self._turn:
            descriptor = os.open(self.root, os.O_RDONLY)  # the folder itself: no file is needed to lock it
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            except OSError as problem:
                if problem.errno not in (errno.EBADF, errno.ENOLCK, errno.ENOTSUP):  # a network drive that has no locks
                    os.close(descriptor)
                    raise
            try:
                yield
            finally:
                os.close(descriptor)

    def path(self, name: object, *endings: str) -> Path:
        """Return where a file of this folder is, or would be; refuse all that could lie elsewhere."""
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name.endswith((" ", ".")):
            rule = "a file must be named by letters, digits, spaces, dots and dashes, without a folder"
            reject(rule, repr(name)[:60], "the studio reads and writes in its own folder alone")
        if endings and not name.lower().endswith(endings):
            reject(f"the file must end in {' or '.join(endings)}", repr(name)[:60], "its name says what it holds")
        path = self.root / name
        if path.is_symlink():
            reject("a file must not be a link", repr(name)[:60], "it could lead out of the folder")
        return path

    def existing(self, name: object, *endings: str) -> Path:
        """Return where a file of this folder is; refuse if it is not there."""
        path = self.path(name, *endings)
        if not path.is_file():
            reject("the file must be there", f"no file {path.name!r}", "it was moved, or deleted", FileNotFoundError)
        return path

    def read(self, name: object, *endings: str) -> bytes:
        return self.existing(name, *endings).read_bytes()

    def write(self, name: str, content: bytes, *, new: bool = False) -> None:
        """Write a file whole or not at all; a `new` one must not be there."""
        path = self.path(name)
        if new and path.exists():
            consequence = "nothing is overwritten; rename that file or move it away first"
            reject("the name must be a new one", f"{name!r}, which exists", consequence, FileExistsError)
        beside = self.root / f"{secrets.token_hex(8)}.part"
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)

    def names(self, *endings: str) -> list[str]:
        """Return the files with these endings that can be opened here, the latest first."""
        files = [one for one in self.root.iterdir() if one.name.lower().endswith(endings)]
        files = [one for one in files if _NAME.fullmatch(one.name) and one.is_file() and not one.is_symlink()]
        return [one.name for one in sorted(files, key=lambda one: (-one.stat().st_mtime_ns, one.name))]


def fingerprint(content: bytes) -> str:
    """Return by what two versions of a file are told apart."""
    return hashlib.sha256(content).hexdigest()
