"""The verbs of the command line, by subject; and what they share: how one is added, its database, its voice."""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.survey.collector import Collector

Options = argparse.Namespace
Verbs = Any
"""What `argparse` makes of `add_subparsers`; its type is not public."""
_DATABASE = "sqlite:///survey.db"


def add_verb(
    verbs: Verbs,
    name: str,
    run: Callable[[Options], int | None],
    about: str,
    *,
    database: bool = True,
    examples: str = "",
) -> argparse.ArgumentParser:
    """Add a verb, which calls `run` for its exit code; with `database` it is about a collection."""
    lines = argparse.RawDescriptionHelpFormatter
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=about, description=about, epilog=examples, formatter_class=lines
    )
    parser.set_defaults(run=run)
    if database:
        known = os.environ.get("TOOLKIT_DATABASE", _DATABASE)
        order = f"else TOOLKIT_DATABASE of the environment, as for a password; else {_DATABASE}"
        parser.add_argument("--database", default=Usual(known), help=f"sqlite:///file.db or postgresql://…; {order}")
    return parser


class Usual(str):
    """A database that nobody has named."""

    __slots__ = ()


def collector(options: Options) -> "Collector":
    """The collection that a verb is about; if this code would show another page than people have seen, that is said."""
    from toolkit.survey.collector import Collector

    with warnings.catch_warnings(record=True) as caught, running_here():
        warnings.simplefilter("always")
        collection = Collector.attach(options.database)
    for one in caught:
        complain(str(one.message))
    return collection


@contextmanager
def running_here() -> Iterator[None]:
    """Where a collection is not found, what runs on this machine is said with it."""
    from toolkit.survey.serving.background import servers
    from toolkit.survey.storage import StoreError

    try:
        yield
    except StoreError as problem:
        named = ", ".join(f"{server.url} (process {server.pid})" for server in servers()) or "nothing"
        raise StoreError(f"{problem} --database names another one. Running here now: {named}.") from None


def say(*lines: str) -> None:
    print(*lines, sep="\n")  # noqa: T201  # a command speaks on stdout


def complain(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201  # a command complains on stderr
