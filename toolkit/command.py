"""The command line `toolkit`: each command calls a function of the layers below."""

import argparse
import difflib
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolkit import __version__
from toolkit.commands import collecting, grading, planning, starting, surveys


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code, or 2 after an error, with a message on stderr."""
    parser = _build_parser()
    options = _parse_arguments(parser, sys.argv[1:] if arguments is None else arguments)
    if options.command is None:
        parser.print_help()
        return 2
    try:
        code: int | None = options.run(options)
        sys.stdout.flush()  # while an error of a closed pipe can still be handled
    except (Exception, KeyboardInterrupt) as problem:
        if isinstance(problem, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise Python would fail again at exit
        print(f"toolkit {options.command}: {_error_message(problem)}", file=sys.stderr)  # noqa: T201
        return 2
    return code or 0


def _parse_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; suggest the closest command or option for one that does not exist."""
    (commands,) = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    command = next((word for word in arguments if not word.startswith("-")), None)
    if command is not None and command not in commands:
        parser.error(
            f"there is no command {command!r}; {_suggestion(command, commands)}`toolkit --help` lists all commands"
        )
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser_used = parser if command is None else commands[command]
        hint = _suggestion(unknown[0], parser_used._option_string_actions)
        parser_used.error(f"unknown arguments: {' '.join(unknown)}; {hint}--help lists all arguments")
    return options


def _suggestion(word: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(names), 1)
    return f"did you mean {near[0]}? " if near else ""


def _error_message(problem: BaseException) -> str:
    """Return the message of an error; for an unexpected error only its type and line, as a message might quote data."""
    from toolkit.core.extras import MissingExtraError
    from toolkit.survey.serving.background import CollectError
    from toolkit.survey.storage import StoreError

    if isinstance(problem, KeyboardInterrupt):
        return "stopped."
    if isinstance(problem, MissingExtraError):
        return str(problem)
    if isinstance(problem, KeyError) and problem.args:
        return str(problem.args[0])
    if isinstance(problem, ValueError | KeyError | OSError | CollectError | StoreError):
        text = str(problem)  # contains a traceback if a server failed to start
        return text.splitlines()[-1] if "Traceback" in text else text
    last = traceback.extract_tb(problem.__traceback__)[-1]
    location = f"{type(problem).__name__} in {Path(last.filename).name}, line {last.lineno}"
    return f"internal error: {location}. Please report it with the command that you typed."


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="toolkit", description="Ask sensitive questions privately.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    for subject in (starting, grading, surveys, planning, collecting):
        subject.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
