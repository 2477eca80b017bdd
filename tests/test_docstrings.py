"""Every public name explains itself as numpydoc asks: each parameter on its own line, what comes back, an example."""

import inspect
from collections.abc import Iterator
from functools import cache, cached_property
from importlib import import_module

from numpydoc.validate import validate

ROOMS = ["core", "frames", "local", "central", "budget", "curator", "analysis", "planning", "learning", "survey", "attacks", "show"]
KINDS = {
    *("GL03", "GL05", "GL06", "GL07", "GL08", "PR01", "PR02", "PR03", "PR04", "PR06", "PR07", "PR08", "PR09", "PR10"),
    *("RT01", "RT03", "SS03", "SS04", "SS05", "SS06"),
}
EXCEPTIONS: dict[str, str] = {}


def members(value: type) -> Iterator[str]:
    """Names of the public methods and properties that a class of ours defines or inherits from one of ours."""
    for owner in value.__mro__:
        if owner.__module__.startswith("toolkit."):
            for name, member in vars(owner).items():
                if not name.startswith("_") and (
                    inspect.isfunction(member) or isinstance(member, (property, cached_property, classmethod, staticmethod))
                ):
                    yield name


@cache
def public_names() -> list[str]:
    """Dotted names that numpydoc can import: all that the rooms offer, and the verbs of their classes."""
    names: dict[object, str] = {}
    for room in ["", *(f".{room}" for room in ROOMS)]:
        module = import_module(f"toolkit{room}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or (inspect.isclass(value) and value.__module__.startswith("toolkit.")):
                names.setdefault(value, f"{value.__module__}.{value.__qualname__}")
                if inspect.isclass(value):
                    for member in members(value):
                        names.setdefault((value, member), f"{value.__module__}.{value.__qualname__}.{member}")
    return sorted(set(names.values()))


def faults(name: str) -> list[str]:
    """What numpydoc says against a name, of the kinds that decide."""
    return [f"{kind}: {text}" for kind, text in validate(name)["errors"] if kind in KINDS]


if __name__ == "__main__":
    import collections
    import sys
    kinds=collections.Counter(); rooms=collections.Counter()
    for name in public_names():
        if len(sys.argv) > 1 and not any(name.startswith(part) for part in sys.argv[1:]): continue
        try: found = faults(name)
        except Exception as e: found=[f'X {e!r}']
        for f in found: kinds[f[:4]]+=1
        if found: rooms[name.split('.')[1]]+=1
        if len(sys.argv) > 1 and found: print(name, *found, sep='\n    ')
    print(len(public_names()), kinds, rooms)
