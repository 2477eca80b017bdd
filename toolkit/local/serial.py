"""Randomizers as plain data for JSON and back: the names and integers that made them, nothing else."""

from dataclasses import fields
from fractions import Fraction
from typing import Any, TypeVar

from toolkit.core.checks import refuse, whole

T = TypeVar("T")


def plain(thing: Any, kind: str) -> dict[str, Any]:
    """The kind, and each field: tuples as lists, fractions as numerator and denominator."""
    return {"kind": kind, **{field.name: _plain(getattr(thing, field.name)) for field in fields(thing)}}


def from_plain(cls: type[T], data: object, kind: str) -> T:
    """What `plain` wrote, checked by the constructor like anything new."""
    names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    if not isinstance(data, dict) or set(data) != names | {"kind"} or data["kind"] != kind:
        listed = ", ".join(sorted(names))
        consequence = "write it with to_dict()"
        refuse(f"the data of a {kind!r} must have that kind and the fields {listed}", "others", consequence)
    return cls(**{name: data[name] for name in names})


def keep_whole(thing: object, **least: int) -> None:
    """Make the named fields of a frozen thing plain integers, each at least as large as said; refuse what is none."""
    for name, bound in least.items():
        object.__setattr__(thing, name, whole(getattr(thing, name), name, least=bound))


def fraction(value: object, name: str) -> Fraction:
    """A fraction, or the two integers that it was written as."""
    if isinstance(value, Fraction):
        return value
    if (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(type(part) is int for part in value)
        and value[1] > 0
    ):
        return Fraction(value[0], value[1])
    rule = f"`{name}` must be a fraction or two integers, the second positive"
    refuse(rule, type(value).__name__, "it must be exact", TypeError)


def _plain(value: object) -> Any:
    if isinstance(value, Fraction):
        return [value.numerator, value.denominator]
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value
