"""Declarations of the fields of surveys and questions: their types, defaults and checks.

A class is a frozen dataclass whose fields hold their checks as metadata; `check_fields` runs the checks when an object
is created.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from toolkit.survey.questions.errors import run_field_check

Accepted = TypeVar("Accepted")
Stored = TypeVar("Stored")


class FieldType(Generic[Accepted, Stored]):
    """The type of a field that accepts more types than it stores: `FieldType[accepted type, stored type]`.

    Type checkers read the two methods; `help` shows the accepted type in the signature.
    """

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: type) -> Stored: ...
        def __set__(self, instance: object, value: Accepted) -> None: ...

    else:

        def __class_getitem__(cls, types: tuple[Any, Any]) -> Any:
            return types[0]


Check = Callable[..., Any]
"""A function of the value, the name of the field, and the object, whose earlier fields are already checked.

It returns the value to store, which must pass the same check unchanged.
"""


def declare_field(
    check: Check, default: object = dataclasses.MISSING, *, omit_default: bool = False, **options: Any
) -> Any:
    """Declare a field, which is required if it has no default; `options` are passed to the check.

    With `omit_default` the default value is left out of files and hashes, so that they are the same as in earlier
    versions, which did not have the field.
    """
    metadata = {"check": partial(check, **options) if options else check, "omit_default": omit_default}
    return dataclasses.field(default=default, metadata=metadata)


def check_fields(owner: Any, first_field: str | None = None) -> None:
    """Check every declared field in turn, and convert its value to the final form; errors name the field.

    The field `first_field` is checked first, because all others may depend on it.
    """
    for field in sorted(declared_fields(owner), key=lambda field: field.name != first_field):
        value = run_field_check(field.name, field.metadata["check"], getattr(owner, field.name), field.name, owner)
        object.__setattr__(owner, field.name, value)


def declared_fields(owner: Any) -> Iterator[dataclasses.Field[Any]]:
    """Return the fields that can be given, in the order in which files contain them."""
    return (field for field in dataclasses.fields(owner) if "check" in field.metadata)


def field_names_checked_by(owner: Any, *checks: Check) -> tuple[str, ...]:
    """Return the names of the fields that are checked by one of these functions."""
    return tuple(
        field.name
        for field in declared_fields(owner)
        if getattr(field.metadata["check"], "func", field.metadata["check"]) in checks
    )


def is_omitted(field: dataclasses.Field[Any], value: object) -> bool:
    """Return whether files omit a value, because it is None or the default of a field that was added later."""
    return value is None or bool(field.metadata.get("omit_default") and value == field.default)
