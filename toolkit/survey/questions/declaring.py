"""Declarations of the fields of surveys and questions: their types, defaults and checks.

A class is a frozen dataclass whose fields hold their check as metadata; `check_fields` runs them when it is made.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from toolkit.survey.questions.errors import in_field

Given = TypeVar("Given")
Stored = TypeVar("Stored")


class Declared(Generic[Given, Stored]):
    """The type of a field that accepts more types than it stores: `Declared[what is accepted, what is stored]`.

    Type checkers read the two methods. `help` shows the accepted type in the signature.
    """

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: type) -> Stored: ...
        def __set__(self, instance: object, value: Given) -> None: ...

    else:

        def __class_getitem__(cls, types: tuple[Any, Any]) -> Any:
            return types[0]


Check = Callable[..., Any]
"""A function of the value, the name of the field, and its owner, whose earlier fields are already checked.

It returns the value to store, which must pass the same check unchanged.
"""


def declare(check: Check, default: object = dataclasses.MISSING, *, omit_default: bool = False, **options: Any) -> Any:
    """Declare a field; without a default it must be given. Options go to the check.

    With `omit_default` the default is left out of files and hashes, which are then those of earlier versions, where the
    field did not exist.
    """
    metadata = {"check": partial(check, **options) if options else check, "omit_default": omit_default}
    return dataclasses.field(default=default, metadata=metadata)


def check_fields(owner: Any, first: str | None = None) -> None:
    """Check every declared field in turn, and convert it to its final form; an error names its field.

    All others may depend on the field `first`.
    """
    for field in sorted(declared_fields(owner), key=lambda field: field.name != first):
        value = in_field(field.name, field.metadata["check"], getattr(owner, field.name), field.name, owner)
        object.__setattr__(owner, field.name, value)


def declared_fields(owner: Any) -> Iterator[dataclasses.Field[Any]]:
    """Return the fields that can be given, in the order of a file."""
    return (field for field in dataclasses.fields(owner) if "check" in field.metadata)


def names_checked_by(owner: Any, *checks: Check) -> tuple[str, ...]:
    """Return the names of the fields with one of these checks."""
    return tuple(
        field.name
        for field in declared_fields(owner)
        if getattr(field.metadata["check"], "func", field.metadata["check"]) in checks
    )


def is_omitted(field: dataclasses.Field[Any], value: object) -> bool:
    """Return whether a value is left out of files: there is none, or it is a default that earlier versions lacked."""
    return value is None or bool(field.metadata.get("omit_default") and value == field.default)
