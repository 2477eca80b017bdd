"""What was published from a ledger's releases: a list beside its file, or in memory.

The list of budget.db is budget.db-published: one line a publication, with the number of the charge, the name
of the document and the SHA-256 of its table. It helps readers, and is no part of what the ledger enforces.
"""

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SUFFIX = "-published"


@dataclass(frozen=True)
class Publication:
    """A charge's number, the name of the document, and the hash of its table."""

    entry: int
    file: str
    sha256: str


@dataclass(frozen=True, eq=False)
class MemoryRegister:
    """A list that lives as long as its ledger."""

    listed: list[Publication] = field(default_factory=list)

    def add(self, entry: int, file: str, digest: str) -> None:
        self.listed.append(Publication(entry, file, digest))

    def publications(self) -> tuple[Publication, ...]:
        return tuple(self.listed)

    def __deepcopy__(self, _: object) -> "MemoryRegister":
        """Itself: what a copy of an estimate publishes is of the same ledger."""
        return self


@dataclass(frozen=True)
class FileRegister:
    """A list in a file beside that of a ledger; a line is added in one write: processes may share it."""

    ledger: Path

    @property
    def path(self) -> Path:
        return self.ledger.with_name(self.ledger.name + _SUFFIX)

    def add(self, entry: int, file: str, digest: str) -> None:
        line = json.dumps({"entry": entry, "file": file, "sha256": digest}) + "\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            os.write(handle, line.encode("utf-8", "backslashreplace"))
        finally:
            os.close(handle)

    def publications(self) -> tuple[Publication, ...]:
        """All whole lines; one that a power cut left half written says nothing."""
        if not self.path.exists():
            return ()
        found = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                told: dict[str, Any] = json.loads(line)
                found.append(Publication(int(told["entry"]), str(told["file"]), str(told["sha256"])))
        return tuple(found)


Register = MemoryRegister | FileRegister
