"""Hostile values in a frame: cells that raise errors, emit warnings or count how often they are accessed."""

from decimal import Decimal
from typing import Any

import numpy as np


class Raises:
    """A cell whose methods all raise; the message would quote the person."""

    def _raise(self, *_: object) -> Any:
        raise RuntimeError("Bob")

    __float__ = __int__ = __index__ = __eq__ = __hash__ = __bool__ = __len__ = __array__ = __str__ = __repr__ = _raise
    __lt__ = __gt__ = __le__ = __ge__ = __ne__ = __deepcopy__ = __copy__ = __reduce_ex__ = _raise


class Meta(type):
    """A metaclass whose types can be neither hashed nor compared."""

    def __hash__(cls) -> int:
        raise RuntimeError("Bob")

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("Bob")


class Typed(metaclass=Meta):
    """A cell whose type raises."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("Bob")


class Number(float):
    """A float that raises when it is converted to a float."""

    def __float__(self) -> float:
        raise RuntimeError("Bob")

    def __hash__(self) -> int:
        raise RuntimeError("Bob")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("Bob")


CELLS: dict[str, Any] = {
    "raises": Raises(),
    "raises by its type": Typed(),
    "a float that raises": Number(3.0),
    "a tuple that holds a list": (1, [2]),
    "a list": [1],
    "a dict": {"a": 1},
    "a signalling NaN": Decimal("sNaN"),
    "a decimal NaN": Decimal("NaN"),
    "a huge decimal": Decimal("1E+999999"),
    "a memoryview": memoryview(bytearray(b"Bob")),
    "a long double": np.longdouble("1e400"),
    "a huge integer": 10**400,
    "an array": np.array([1, 2]),
    "an array of one": np.array([1]),
    "a masked constant": np.ma.masked,
    "a complex number": 1j,
    "text": "Bob",
    "bytes": b"Bob",
    "None": None,
    "a date": np.datetime64("2020-01-01"),
    "no date": np.datetime64("NaT"),
    "truth": True,
}
