"""`Folder`: access to files of one folder by name, never outside the folder and never through a symbolic link."""

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

_NAME = re.compile(r"[^\W_.][\w .()-]{0,99}")  # a letter or a digit, then characters that every system allows
SURVEY_SUFFIXES, TABLE_SUFFIXES = (".toml", ".json"), (".csv", ".parquet")
SESSION_SUFFIX = ".release.toml"
"""The suffix of files with a plan of releases."""
RELEASED_TABLE = re.compile(r"-release-\d+(-rows)?\.csv$")
"""A pattern for the names of published tables, which are not offered for another release."""


class ConflictError(Exception):
    """The page shows an outdated state, so nothing was done; `current_state` is the current state."""

    def __init__(self, current_state: dict[str, Any]) -> None:
        reason = "a file was changed in another window, by hand or by another program"
        super().__init__(f"This page was out of date: {reason}. Nothing was done; check the page and try again.")
        self.current_state = current_state


class Folder:
    """A folder whose files are read and written by name."""

    def __init__(self, root: str | Path) -> None:
        self.root, self._lock = Path(root).expanduser().resolve(), threading.Lock()
        if not self.root.is_dir():
            reject("`folder` must be an existing folder", str(root)[:80], "create it first", NotADirectoryError)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder, so that other tabs of this studio and other studios wait."""
        import fcntl

        with self._lock:
            # The folder itself is locked, so no lock file is needed.
            descriptor = os.open(self.root, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            except OSError as problem:
                # Some network drives do not support locks. On these, only the lock between threads applies.
                if problem.errno not in (errno.EBADF, errno.ENOLCK, errno.ENOTSUP):
                    os.close(descriptor)
                    raise
            try:
                yield
            finally:
                os.close(descriptor)

    def path(self, name: object, *endings: str) -> Path:
        """Return the path of a file in this folder, existing or not; reject names that could lead outside."""
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name.endswith((" ", ".")):
            rule = "the name of a file must consist of letters, digits, spaces, dots and dashes, without a folder"
            reject(rule, repr(name)[:60], "the studio reads and writes only in its own folder")
        if endings and not name.lower().endswith(endings):
            reject(f"the file must end in {' or '.join(endings)}", repr(name)[:60], "rename it")
        path = self.root / name
        if path.is_symlink():
            reject("a file must not be a link", repr(name)[:60], "it could lead out of the folder")
        return path

    def existing(self, name: object, *endings: str) -> Path:
        """Return the path of an existing file in this folder."""
        path = self.path(name, *endings)
        if not path.is_file():
            reject("the file must exist", f"no file {path.name!r}", "it was moved or deleted", FileNotFoundError)
        return path

    def read(self, name: object, *endings: str) -> bytes:
        return self.existing(name, *endings).read_bytes()

    def write(self, name: str, content: bytes, *, new: bool = False) -> None:
        """Write a file atomically; with `new`, the file must not exist yet."""
        path = self.path(name)
        if new and path.exists():
            remedy = "rename or move the existing file first"
            reject("the file must not exist yet", f"{name!r}, which exists", remedy, FileExistsError)
        temporary = self.root / f"{secrets.token_hex(8)}.part"
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def file_names(self, *endings: str) -> list[str]:
        """Return the names of the files with these endings, most recently changed first."""
        files = [path for path in self.root.iterdir() if path.name.lower().endswith(endings)]
        files = [path for path in files if _NAME.fullmatch(path.name) and path.is_file() and not path.is_symlink()]
        return [path.name for path in sorted(files, key=lambda path: (-path.stat().st_mtime_ns, path.name))]


def fingerprint(content: bytes) -> str:
    """Return a hash that identifies the content of a file."""
    return hashlib.sha256(content).hexdigest()
