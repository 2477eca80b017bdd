"""List every public name with its signature: `make api` writes the list to tests/api.txt, and a test compares it.

Signatures are listed without types: Python versions print them differently, and type checkers read them anyway.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from reference import PUBLIC_MODULES, full_names, public_objects

LIST = Path(__file__).parents[1] / "tests" / "api.txt"


def listing() -> str:
    """Return the whole list as the text of the file."""
    named = [(f"{module}.{name}", value) for module in PUBLIC_MODULES for name, value in public_objects(module)]
    return "".join(f"{line}\n" for name, value in named for line in lines(name, value))


def lines(name: str, value: object) -> Iterator[str]:
    """Yield one line for a function or a second name, and one for a class plus one for each of its public members."""
    home = full_names()[id(value)]
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
    """Return the public methods and properties that a class adds to its listed base classes."""
    kinds = (property, cached_property, classmethod, staticmethod)
    bases = [base for base in owner.__mro__[1:] if id(base) in full_names()]
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
    """Return the signature of a function as text, without types."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    text = str(inspect.Signature(bare)).replace("<lambda>", "lambda")
    return re.sub(r"<([\w.]+) ?[^<>]*>", r"<\1>", text)


if __name__ == "__main__":
    LIST.write_text(listing(), encoding="utf-8")
