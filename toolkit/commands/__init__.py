"""The commands of the command line, grouped by subject, and their shared code for parsers, the database and output."""

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolkit.survey.collector import Collector

Options = argparse.Namespace
Subparsers = Any
"""The object that `add_subparsers` of `argparse` returns, whose type is not public."""
_DATABASE = "sqlite:///survey.db"


def add_command(
    commands: Subparsers,
    name: str,
    run: Callable[[Options], int | None],
    description: str,
    *,
    with_database: bool = True,
    examples: str = "",
) -> argparse.ArgumentParser:
    """Add a command that calls `run` for its exit code; with `with_database` it has the option --database."""
    lines = argparse.RawDescriptionHelpFormatter
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=description, description=description, epilog=examples, formatter_class=lines
    )
    parser.set_defaults(run=run)
    if with_database:
        default = os.environ.get("TOOLKIT_DATABASE", _DATABASE)
        default_text = (
            f"default: the environment variable TOOLKIT_DATABASE, which may contain a password, or else {_DATABASE}"
        )
        parser.add_argument(
            "--database", default=DefaultDatabase(default), help=f"sqlite:///file.db or postgresql://… ({default_text})"
        )
    return parser


class DefaultDatabase(str):
    """The database that is used if the command line has no --database."""

    __slots__ = ()


def attach_collector(options: Options) -> "Collector":
    """Return the collection of a command; print a warning if this code's page differs from what respondents saw."""
    from toolkit.survey.collector import Collector

    with warnings.catch_warnings(record=True) as caught, running_servers_in_errors():
        warnings.simplefilter("always")
        collection = Collector.attach(options.database)
    for warning in caught:
        print_error(str(warning.message))
    return collection


@contextmanager
def running_servers_in_errors() -> Iterator[None]:
    """Add the addresses of the servers on this machine to an error about a missing collection."""
    from toolkit.survey.serving.background import list_servers
    from toolkit.survey.storage import StoreError

    try:
        yield
    except StoreError as problem:
        addresses = ", ".join(f"{server.url} (process {server.pid})" for server in list_servers()) or "none"
        raise StoreError(
            f"{problem} Choose another with --database. Servers running on this machine: {addresses}."
        ) from None


def echo(*lines: str) -> None:
    print(*lines, sep="\n")  # noqa: T201  # output of a command


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON for other programs instead of text")


def echo_json(value: Any) -> None:
    """Print a value as one JSON document, with null for a number that is not known and "inf" for an infinite one."""
    echo(json.dumps(_json_value(value), ensure_ascii=False, indent=1, allow_nan=False))


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(entry) for entry in value]
    value = value.item() if hasattr(value, "item") else value  # a NumPy number
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def print_error(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201  # errors of a command
