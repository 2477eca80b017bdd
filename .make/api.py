"""Every public name with its signature, a line each: `make api` writes tests/api.txt, and a test compares.

Types are left out of signatures: Python's versions print them differently, and type checkers read them anyway.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from reference import FACES, homes, offered

LIST = Path(__file__).parents[1] / "tests" / "api.txt"


def listing() -> str:
    """The whole list, as the file has it."""
    named = [(f"{face}.{name}", value) for face in FACES for name, value in offered(face)]
    return "".join(f"{line}\n" for name, value in named for line in lines(name, value))


def lines(name: str, value: object) -> Iterator[str]:
    """A function is a line, a class one and one for each public member; a second name says whose it is."""
    home = homes()[id(value)]
    if home != name:
        yield f"{name} = {home}"
        return
    if not inspect.isclass(value):
        yield f"{name}{signature(value)}"  # type: ignore[arg-type]
        return
    yield name if issubclass(value, BaseException) else f"{name}{signature(value)}"
    for member in sorted(own_members(value)):
        found = inspect.getattr_static(value, member)
        if isinstance(found, property | cached_property):
            yield f"{name}.{member}"
        else:
            yield f"{name}.{member}{signature(getattr(value, member))}"


def own_members(owner: type) -> set[str]:
    """Public methods and properties that a class adds: those of a listed base class are listed there."""
    kinds = (property, cached_property, classmethod, staticmethod)
    bases = [base for base in owner.__mro__[1:] if id(base) in homes()]
    return {
        member
        for base in owner.__mro__
        if base.__module__.startswith("toolkit")
        for member, value in vars(base).items()
        if member[0] != "_"
        and (inspect.isfunction(value) or isinstance(value, kinds))
        and not any(hasattr(base, member) for base in bases)
    }


def signature(value: Callable[..., object]) -> str:
    """Names, kinds and defaults of the parameters."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    text = str(inspect.Signature(bare)).replace("<lambda>", "lambda")
    return re.sub(r"<([\w.]+) ?[^<>]*>", r"<\1>", text)


if __name__ == "__main__":
    LIST.write_text(listing(), encoding="utf-8")
