"""Declarations of the fields of surveys and questions: their types, defaults, checks, and plain data for files.

A class is a frozen dataclass whose fields hold their checks as metadata; `check_fields` runs the checks when an object
is created, and `plain_fields` returns the values for a file.
"""

import dataclasses
import datetime as dt
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
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


def plain_fields(owner: Any, excluded: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields as plain data by name, without None and the defaults of fields that were added later."""
    given = {field: getattr(owner, field.name) for field in declared_fields(owner) if field.name not in excluded}
    return {field.name: plain_data(value) for field, value in given.items() if not _is_omitted(field, value)}


def _is_omitted(field: dataclasses.Field[Any], value: object) -> bool:
    return value is None or bool(field.metadata["omit_default"] and value == field.default)


def plain_data(value: Any) -> Any:
    """Return plain data for JSON and TOML: fractions as text or whole numbers, dates as text, tuples as lists."""
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else str(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [plain_data(item) for item in value]
    return value.to_dict()
