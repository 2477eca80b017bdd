"""A private PostgreSQL for the tests, with its own folder and its own socket; it syncs to the disk like a real one.

A real PgBouncer in transaction mode may be in front of it. Its sessions contain temporary tables of another client: one
for every name that a ledger or a collection uses, with the same columns, and some with names from PostgreSQL's catalog.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.needs import lacking_program, program
from toolkit.budget import ledger_postgres
from toolkit.survey.storage import schema as tables

_PORT = 6432
_BOUNCER = """
[databases]
postgres = host={folder} port=5432 user=owner connect_query='SELECT strangers.come()'
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 2
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
ignore_startup_parameters = extra_float_digits
"""
_MADE = "\n\n".join([ledger_postgres._STREAM, ledger_postgres._TABLES, *tables.POSTGRES_TABLES.values()])
_CATALOGUE = ("pg_class", "pg_locks", "pg_settings", "pg_roles", "bytea", "text")
STRANGERS = {
    name: f'CREATE TEMP TABLE "{name}" ({columns})'
    for name, columns in [
        *re.findall(r"CREATE TABLE main\.(\w+) \((.*?)\)\s*(?:\n\n|\Z)", _MADE, re.DOTALL),
        *((name, "content text") for name in ("unspent", "scratch", "collection_1", "tally_1")),
        *((name, "x int") for name in _CATALOGUE),  # last, because they hide the types that the others need
    ]
}
"""What makes each temporary table of somebody else, by name."""

_SETTINGS = "-c listen_addresses='' -c fsync=on -c shared_buffers=16MB -c max_connections=40 -c log_min_messages=info"


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; Debian installs those of the server elsewhere."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None, key=lambda folder: int(folder.parent.name))


class Postgres:
    """A database cluster in a folder; as root it runs as the user `postgres`, because PostgreSQL does not run
    as root.
    """

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
        """Return the URL of a store, in a new schema unless one is given."""
        return f"postgresql://{user}@/postgres?host={self.folder}&schema={schema or new_name()}"

    @property
    def pool(self) -> str:
        """Return the address of the PgBouncer that belongs to the fixture `bouncer`."""
        return f"postgresql://owner@/postgres?host={self.folder}&port={_PORT}"

    def pooled(self, schema: str | None = None) -> str:
        """Return the URL of a store through a PgBouncer, in a new schema unless one is given."""
        return f"{self.pool}&schema={schema or new_name()}"

    def dump(self, schema: str) -> str:
        """Return the output of pg_dump for a schema."""
        return self._run("pg_dump", "-h", self.folder, "-U", "owner", "-n", schema, "postgres")

    def _run(self, name: str, *arguments: object) -> str:
        command = [*self._as, f"{programs()}/{name}", *map(str, arguments)]
        # pg_ctl leaves the server running, which would keep a pipe open forever, so the output goes to a file.
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
    # In /tmp, because a socket's path must be short and the user `postgres` must be able to enter the folder.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    try:
        cluster = Postgres(folder)
        yield cluster
        cluster.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def bouncer(postgres: Postgres) -> Iterator[Postgres]:
    """Start a pooler with two sessions for all clients, assigned per transaction, with temporary tables of another
    client.
    """
    command = program("pgbouncer", "PgBouncer")
    body = ";\n".join(STRANGERS.values())
    with psycopg.connect(f"postgresql://owner@/postgres?host={postgres.folder}") as connection:
        connection.execute("CREATE SCHEMA strangers")
        function = f"FUNCTION strangers.come() RETURNS void LANGUAGE plpgsql AS $$ BEGIN {body}; END $$"
        connection.execute(f"CREATE {function}".encode())
    settings = postgres.folder / "pgbouncer.ini"
    settings.write_text(_BOUNCER.format(folder=postgres.folder, port=_PORT))
    settings.chmod(0o644)
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with subprocess.Popen(
        [*user, command, "-q", str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait_for(postgres.folder / f".s.PGSQL.{_PORT}", process)
            yield postgres
        finally:
            process.terminate()


def _wait_for(socket: Path, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 60
    while not socket.exists():
        assert process.poll() is None, (socket.parent / "pgbouncer.log").read_text()
        assert time.monotonic() < end
        time.sleep(0.02)
