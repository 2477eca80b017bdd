"""Numbers in the digits that mean something: a `repr` shows six, which no two machines dispute."""

from dataclasses import fields
from decimal import ROUND_CEILING, Context
from typing import Any

_UP = Context(prec=6, rounding=ROUND_CEILING)


def digits(value: Any) -> str:
    """A float in at most six significant digits, with a point; anything else as Python writes it.

    >>> digits(1.0), digits(48.367915772932975), digits(3.53301602592e-12), digits(1e-6), digits(12)
    ('1.0', '48.3679', '3.53302e-12', '1e-06', '12')
    """
    if isinstance(value, float):
        return repr(float(f"{float(value):.6g}"))
    if type(value) is tuple:
        return f"({', '.join(map(digits, value))}{',' * (len(value) == 1)})"
    return repr(value)


def digits_up(value: float) -> str:
    """Likewise, rounded up: a loss is never shown smaller than it is.

    >>> digits_up(1.0), digits_up(0.1), digits_up(0.08705913337555733), digits_up(float("inf"))
    ('1.0', '0.1', '0.0870592', 'inf')
    """
    return repr(float(_UP.create_decimal(repr(float(value)))))


def concise(self: Any) -> str:
    """The repr of a dataclass, its numbers in the digits that mean something."""
    parts = (f"{field.name}={digits(getattr(self, field.name))}" for field in fields(self) if field.repr)
    return f"{type(self).__name__}({', '.join(parts)})"
