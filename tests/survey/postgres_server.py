"""A private PostgreSQL for the tests: its own folder, its own socket, synced to the disk like a real one."""

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needs import lacking_program

_SETTINGS = "-c listen_addresses='' -c fsync=on -c shared_buffers=16MB -c max_connections=40 -c log_min_messages=info"


def programs() -> Path | None:
    """The folder of PostgreSQL's programs; Debian keeps those of the server out of the way."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None, key=lambda folder: int(folder.parent.name))


class Postgres:
    """A cluster in a folder. As root it runs as the user `postgres`, because PostgreSQL refuses root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self._as = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._as:
            shutil.chown(folder, "postgres")
        options = ["-U", "owner", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        self._run("initdb", "-D", folder / "data", *options)
        self.start()

    def start(self) -> None:
        options = f"-k {self.folder} {_SETTINGS}"
        self._run("pg_ctl", "start", "-w", "-D", self.folder / "data", "-l", self.log, "-o", options)

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "stop", "-w", "-D", self.folder / "data", "-m", mode)

    def restart(self, mode: str = "fast") -> None:
        self.stop(mode)
        self.start()

    def url(self, schema: str | None = None, user: str = "owner") -> str:
        """Where a store goes; a schema of its own unless it is given one."""
        return f"postgresql://{user}@/postgres?host={self.folder}&schema={schema or new_name()}"

    def pooled(self, port: int, schema: str) -> str:
        """Where a store goes through a PgBouncer on this port."""
        return f"postgresql://owner@/postgres?host={self.folder}&port={port}&schema={schema}"

    def dump(self, schema: str) -> str:
        """What pg_dump writes of a schema."""
        return self._run("pg_dump", "-h", self.folder, "-U", "owner", "-n", schema, "postgres")

    def _run(self, name: str, *arguments: object) -> str:
        command = [*self._as, f"{programs()}/{name}", *map(str, arguments)]
        # pg_ctl leaves the server behind, which would keep a pipe open for ever: output goes to a file.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, cwd="/", timeout=60)
            output.seek(0)
            text = output.read().decode()
        assert done.returncode == 0, text
        return text


def new_name() -> str:
    return f"s{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        lacking_program("PostgreSQL", "postgresql")
    # In /tmp, because a socket's path must be short and the user `postgres` must be able to enter.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    try:
        cluster = Postgres(folder)
        yield cluster
        cluster.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
