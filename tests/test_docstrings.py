"""Every public name is documented in numpydoc format: each parameter on its own line, the result, and an example.

`PYTHONPATH=.make python tests/test_docstrings.py toolkit.local.oracles` lists the gaps of a module.
"""

import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from functools import cached_property

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

from reference import PUBLIC_MODULES, public_objects
from toolkit.local import Randomizer

ROOMS = [
    *("core", "frames", "local", "central", "budget", "curator"),
    *("analysis", "planning", "learning", "survey", "audit", "teaching", "show", "studio"),
]
KINDS = {
    *("GL03", "GL05", "GL06", "GL07", "GL08", "PR01", "PR02", "PR03", "PR04", "PR06", "PR07", "PR08", "PR09", "PR10"),
    *("RT01", "RT03", "SS03", "SS04", "SS05", "SS06"),
}
EXCEPTIONS: dict[str, str] = {}


def members(owner: type) -> Iterator[str]:
    """Return the public methods and properties of a class, each with the class that documents it, as help() and the
    site find it.
    """
    kinds = (property, cached_property, classmethod, staticmethod)
    bases = [base for base in owner.__mro__ if base.__module__.startswith("toolkit.")]
    own = [
        (base, name, member)
        for base in bases
        for name, member in vars(base).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds))
    ]
    for name in dict.fromkeys(name for _, name, _ in own):
        homes = [base for base, other, member in own if other == name]
        described = [base for base, other, member in own if other == name and member.__doc__]
        home = (described or homes)[0]
        yield f"{home.__module__}.{home.__qualname__}.{name}"


def public_names(face: str) -> dict[str, bool]:
    """Return dotted names that numpydoc can import: the public names of a module and the methods of its classes,
    without examples.
    """
    names: dict[str, bool] = {}
    for _, value in public_objects(face):
        if value.__module__.startswith("toolkit."):
            names[f"{value.__module__}.{value.__qualname__}"] = True  # type: ignore[attr-defined]
            if inspect.isclass(value):
                names |= {name: names.get(name, False) for name in members(value)}
    return names


def said_by_bases(name: str) -> set[str]:
    """Return parameters that are documented in a base class for all of its subclasses."""
    found = Validator._load_obj(name)
    bases = found.__mro__[1:] if inspect.isclass(found) else ()
    ours = [f"{base.__module__}.{base.__qualname__}" for base in bases if base.__module__.startswith("toolkit.")]
    return {one for base in ours for one in Validator(get_doc_object(Validator._load_obj(base))).doc_parameters}


def is_fault(name: str, kind: str, text: str) -> bool:
    if kind != "PR01":
        return True
    return not set(re.findall(r"'([^']+)'", text)) <= said_by_bases(name)


def faults(face: str) -> dict[str, list[tuple[str, str]]]:
    """Return the problems that numpydoc finds, by name."""
    wrong = {}
    for name, top in public_names(face).items():
        kinds = KINDS | {"EX01"} if top else KINDS
        errors = [error for error in validate(name)["errors"] if error[0] in kinds and is_fault(name, *error)]
        if errors and name not in EXCEPTIONS:
            wrong[name] = errors
    return wrong


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
@pytest.mark.parametrize("face", PUBLIC_MODULES)
def test_every_public_docstring_is_valid(face: str) -> None:
    assert not faults(face)


@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
def test_help_shows_the_names_of_types_and_not_what_they_stand_for() -> None:
    """A signature with numpy's own unions in it fills a screen."""
    values = {value for module in PUBLIC_MODULES for _, value in public_objects(module)}
    values = {value for value in values if value.__module__.startswith("toolkit.")}
    verbs = {
        one for value in values if inspect.isclass(value) for one in vars(value).values() if inspect.isfunction(one)
    }
    functions = verbs | {value for value in values if inspect.isfunction(value)}
    signatures = {one.__qualname__: str(inspect.signature(one)) for one in functions}
    assert len(signatures) > 400
    assert not [name for name, text in signatures.items() if "numpy._typing" in text]


def test_abstract_methods_of_randomizers_say_what_comes_back() -> None:
    """numpydoc requires this of a function that returns something, and an abstract method has no code to check."""
    found = [one for base in (Randomizer, *Randomizer.__bases__) for one in vars(base).values()]
    verbs = [one for one in found if inspect.isfunction(one) and one.__name__[0] != "_"]
    assert len(verbs) == 6
    assert [verb.__name__ for verb in verbs if "    Returns\n" not in (verb.__doc__ or "")] == []


@pytest.mark.filterwarnings("ignore:Widget:DeprecationWarning")
def test_the_faces_offer_what_was_counted() -> None:
    assert len({name for face in PUBLIC_MODULES for name in public_names(face)}) >= 600
    assert {f"toolkit.{room}" for room in ROOMS} <= set(PUBLIC_MODULES)
    assert len(EXCEPTIONS) <= 10


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for face in (face for face in PUBLIC_MODULES if face.startswith(tuple(sys.argv[1:]))):
        for name, errors in faults(face).items():
            sys.stdout.write("\n  ".join([name, *(f"{kind} {text}" for kind, text in errors)]) + "\n")
