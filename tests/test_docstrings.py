"""Every public name explains itself as numpydoc asks: each parameter on its own line, what comes back."""

import inspect
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module

import pytest
from numpydoc.validate import validate

ROOMS = [
    *("core", "frames", "local", "central", "budget", "curator"),
    *("analysis", "planning", "learning", "survey", "attacks", "show", "studio"),
]
KINDS = {
    *("GL03", "GL05", "GL06", "GL07", "GL08", "PR01", "PR02", "PR03", "PR04", "PR06", "PR07", "PR08", "PR09", "PR10"),
    *("RT01", "RT03", "SS03", "SS04", "SS05", "SS06"),
}
EXCEPTIONS = {"toolkit.local.protocol.Randomizer": "Python gives a Protocol the signature (*args, **kwargs)"}


def members(owner: type) -> Iterator[str]:
    """Public methods and properties that a class has from the toolkit."""
    kinds = (property, cached_property, classmethod, staticmethod)
    for base in owner.__mro__:
        if base.__module__.startswith("toolkit."):
            for name, member in vars(base).items():
                if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds)):
                    yield name


def public_names() -> dict[str, list[str]]:
    """Dotted names that numpydoc can import, by room: what the faces offer, and the verbs of their classes."""
    names: dict[str, set[str]] = defaultdict(set)
    for face in ["toolkit", *(f"toolkit.{room}" for room in ROOMS)]:
        module = import_module(face)
        for value in (getattr(module, name) for name in module.__all__):
            if not inspect.isfunction(value) and not (
                inspect.isclass(value) and value.__module__.startswith("toolkit.")
            ):
                continue
            name = f"{value.__module__}.{value.__qualname__}"
            room = value.__module__.split(".")[1]
            names[room].add(name)
            if inspect.isclass(value):
                names[room].update(f"{name}.{member}" for member in members(value))
    return {room: sorted(of_room) for room, of_room in names.items()}


@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
@pytest.mark.parametrize("room", [*ROOMS, "collecting"])
def test_every_public_docstring_is_valid(room: str) -> None:
    faults = {
        name: errors
        for name in public_names()[room]
        if name not in EXCEPTIONS and (errors := [error for error in validate(name)["errors"] if error[0] in KINDS])
    }
    assert not faults


def test_the_faces_offer_what_was_counted() -> None:
    assert sum(map(len, public_names().values())) >= 500
    assert len(EXCEPTIONS) <= 10
