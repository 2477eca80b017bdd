"""The pages of the reference: for `{room} toolkit.local` in a page, every public name of that face with its docstring.

A name that several faces offer is described once, at the first of `FACES` that has it, and linked from the others. For
`{commands}` the help of every verb of the command line stands there.
"""

import argparse
import inspect
import os
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

from toolkit.command import _parser

FACES = (
    *("toolkit.local", "toolkit.local.oracles", "toolkit.local.numeric", "toolkit.local.waves"),
    *("toolkit.central", "toolkit.central.stream", "toolkit.central.robust", "toolkit.budget", "toolkit.curator"),
    *("toolkit.analysis", "toolkit.planning", "toolkit.learning"),
    *("toolkit.survey", "toolkit.survey.results", "toolkit.audit"),
    *("toolkit.show", "toolkit.studio", "toolkit.core", "toolkit.frames"),
    *("toolkit.teaching", "toolkit.teaching.attacks", "toolkit.teaching.explorers", "toolkit.teaching.breaches"),
    "toolkit.teaching.robust",
    "toolkit",
)
DIRECTIVE = re.compile(r"^```\{(room|commands)\} ?(\S*)\n```$", re.MULTILINE)


def offered(face: str) -> Iterator[tuple[str, object]]:
    """The functions and classes that a face offers, by name."""
    module = import_module(face)
    names = getattr(module, "__all__", None)
    if names is None:
        own = vars(module).items()
        names = [name for name, value in own if name[0] != "_" and getattr(value, "__module__", "") == face]
    for name in names:
        value = getattr(module, name)
        if isinstance(value, ModuleType) and value.__name__.rpartition(".")[0] == face and value.__name__ not in FACES:
            yield from ((f"{name}.{inner}", one) for inner, one in offered(value.__name__))
        elif inspect.isfunction(value) or inspect.isclass(value):
            yield name, value


@cache
def homes() -> dict[int, str]:
    """Where each object is described: its full name at the first face that offers it."""
    found: dict[int, str] = {}
    for face in FACES:
        for name, value in offered(face):
            found.setdefault(id(value), f"{face}.{name}")
    return found


def room(face: str) -> str:
    """A table of the names, then each with its docstring."""
    listed = list(offered(face))
    rows = [f"| {{py:obj}}`{name} <{homes()[id(value)]}>` | {_first_sentence(value)} |" for name, value in listed]
    own = [(name, value) for name, value in listed if homes()[id(value)] == f"{face}.{name}"]
    entries = "\n\n".join(f".. auto{_kind(value)}:: {face}.{name}{_inherited(value)}" for name, value in own)
    return "\n".join(["| name | what it is |", "|---|---|", *rows, "", "```{eval-rst}", entries, "```"])


def commands() -> str:
    """What `toolkit VERB --help` says, for every verb."""
    os.environ["COLUMNS"] = "76"  # what a page is wide
    (verbs,) = (action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    return "\n\n".join(
        f"## {name}\n\n{_told(verbs, name)}\n\n```text\n{parser.format_help()}```"
        for name, parser in verbs.choices.items()
    )


def expand(text: str) -> str:
    """A page with its directives replaced by what they stand for."""
    return DIRECTIVE.sub(lambda found: room(found[2]) if found[1] == "room" else commands(), text)


def _told(verbs: argparse._SubParsersAction, name: str) -> str:  # type: ignore[type-arg]
    text = next(action.help or "" for action in verbs._choices_actions if action.dest == name)
    return re.sub(r"(--\w+)", r"`\1`", text[:1].upper() + text[1:] + ".")


def _kind(value: object) -> str:
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function"


def _inherited(value: object) -> str:
    """What a class has from one of ours that no page describes is described with it."""
    bases = value.__mro__[1:] if inspect.isclass(value) else ()
    ours = [base for base in bases if base.__module__.startswith("toolkit.")]
    foreign = {base.__module__ for base in bases} - {base.__module__ for base in ours} - {"abc", "builtins", "typing"}
    hidden = any(id(base) not in homes() for base in ours)
    return "\n   :inherited-members:" if hidden and not foreign else ""


def _first_sentence(value: object) -> str:
    paragraph = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[a-z)`\"’0-9])\. (?=[A-Z])", paragraph)[0]
    parts = re.split(r"(`[^`]*`)", sentence)  # in code nothing is escaped but what would end a cell
    return "".join(re.sub(r"(\|)" if i % 2 else r"([|\\*_])", r"\\\1", part) for i, part in enumerate(parts))
