"""Expand the pages of the reference: the directive `{module} toolkit.local` lists the module's public names.

A name that several modules of `PUBLIC_MODULES` offer is described once, at the first of them, and linked from the
others. The directive `{commands}` inserts the help of every command, and `{designs}` a table of the catalogue.
"""

import argparse
import inspect
import os
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

from toolkit.command import _build_parser
from toolkit.local.catalogue import CATALOGUE
from toolkit.studio.checking import design_kinds

PUBLIC_MODULES = (
    *("toolkit.local", "toolkit.local.oracles", "toolkit.local.numeric", "toolkit.local.waves"),
    *("toolkit.central", "toolkit.central.stream", "toolkit.central.robust", "toolkit.budget", "toolkit.curator"),
    *("toolkit.analysis", "toolkit.planning", "toolkit.learning"),
    *("toolkit.survey", "toolkit.survey.results", "toolkit.audit"),
    *("toolkit.show", "toolkit.studio", "toolkit.core", "toolkit.frames"),
    *("toolkit.teaching", "toolkit.teaching.attacks", "toolkit.teaching.explorers", "toolkit.teaching.breaches"),
    "toolkit.teaching.robust",
    "toolkit",
)
DIRECTIVE = re.compile(r"^```\{(module|commands|designs)\} ?(\S*)\n```$", re.MULTILINE)


def public_objects(module_name: str) -> Iterator[tuple[str, object]]:
    """Yield the public functions and classes of a module, by name."""
    module = import_module(module_name)
    names = getattr(module, "__all__", None)
    if names is None:
        members = vars(module).items()
        names = [name for name, value in members if name[0] != "_" and getattr(value, "__module__", "") == module_name]
    for name in names:
        value = getattr(module, name)
        is_submodule = isinstance(value, ModuleType) and value.__name__.rpartition(".")[0] == module_name
        if is_submodule and value.__name__ not in PUBLIC_MODULES:
            yield from ((f"{name}.{inner}", member) for inner, member in public_objects(value.__name__))
        elif inspect.isfunction(value) or inspect.isclass(value):
            yield name, value


@cache
def full_names() -> dict[int, str]:
    """Map each object to its full name in the first module that offers it, where it is described."""
    names: dict[int, str] = {}
    for module_name in PUBLIC_MODULES:
        for name, value in public_objects(module_name):
            names.setdefault(id(value), f"{module_name}.{name}")
    return names


def module_page(module_name: str) -> str:
    """Return a table of a module's public names, followed by their docstrings."""
    members = list(public_objects(module_name))
    rows = [f"| {{py:obj}}`{name} <{full_names()[id(value)]}>` | {_first_sentence(value)} |" for name, value in members]
    described = [(name, value) for name, value in members if full_names()[id(value)] == f"{module_name}.{name}"]
    entries = [f".. auto{_kind(value)}:: {module_name}.{name}{_inherited(value)}" for name, value in described]
    return "\n".join(["| name | what it is |", "|---|---|", *rows, "", "```{eval-rst}", "\n\n".join(entries), "```"])


def commands() -> str:
    """Return the output of `toolkit COMMAND --help` for every command."""
    os.environ["COLUMNS"] = "76"  # the width of a page
    (subparsers,) = (action for action in _build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return "\n\n".join(
        f"## {name}\n\n{_summary(subparsers, name)}\n\n```text\n{parser.format_help()}```"
        for name, parser in subparsers.choices.items()
    )


_ANSWERS = {
    "yesno": "yes or no",
    "options": "one of several options",
    "ticks": "any of several options",
    "number": "a number",
}


def designs() -> str:
    """Return a table of the designs of the catalogue: the name, the kind of answer, and what the design does."""
    kinds = design_kinds()
    rows = []
    for name, entry in CATALOGUE.items():
        home = full_names().get(id(entry.maker))
        link = f"`{name}`" if home is None else f"{{py:obj}}`{name} <{home}>`"
        rows.append(f"| {link} | {_ANSWERS[kinds.get(name, 'options')]} | {_first_sentence(entry.maker)} |")
    return "\n".join(["| name | answer | what it is |", "|---|---|---|", *rows])


def expand(text: str) -> str:
    """Expand the directives of a page."""
    tables = {"commands": commands, "designs": designs}
    return DIRECTIVE.sub(lambda match: module_page(match[2]) if match[1] == "module" else tables[match[1]](), text)


def _summary(subparsers: argparse._SubParsersAction, name: str) -> str:  # type: ignore[type-arg]
    text = next(action.help or "" for action in subparsers._choices_actions if action.dest == name)
    return re.sub(r"(--\w+)", r"`\1`", text[:1].upper() + text[1:] + ".")


def _kind(value: object) -> str:
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function"


def _inherited(value: object) -> str:
    """Return the directive's option for inherited members, if a base class from the toolkit has no page of its own."""
    bases = value.__mro__[1:] if inspect.isclass(value) else ()
    ours = [base for base in bases if base.__module__.startswith("toolkit.")]
    foreign = {base.__module__ for base in bases} - {base.__module__ for base in ours} - {"abc", "builtins", "typing"}
    hidden = any(id(base) not in full_names() for base in ours)
    return "\n   :inherited-members:" if hidden and not foreign else ""


def _first_sentence(value: object) -> str:
    paragraph = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[a-z)`\"’0-9])\. (?=[A-Z])", paragraph)[0]
    parts = re.split(r"(`[^`]*`)", sentence)  # within code, only the cell separator is escaped
    return "".join(re.sub(r"(\|)" if i % 2 else r"([|\\*_])", r"\\\1", part) for i, part in enumerate(parts))
