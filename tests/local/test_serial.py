"""Every randomizer can be restored from JSON."""

import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from tests.slowly import each
from toolkit.local import numeric, oracles
from toolkit.local.catalogue import CATALOGUE, make_example, restore
from toolkit.local.protocol import read_fraction, read_plain_data, to_plain_data


@dataclass(frozen=True)
class Thing:
    share: Fraction
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", read_fraction(self.share, "share"))
        object.__setattr__(self, "names", tuple(self.names))


def test_fractions_and_tuples_survive_json() -> None:
    thing = Thing(Fraction(2, 3), ("a", "b"))
    assert read_plain_data(Thing, json.loads(json.dumps(to_plain_data(thing, "thing"))), "thing") == thing


@pytest.mark.parametrize("change", [{"kind": "other"}, {"extra": 1}])
def test_other_fields_and_kinds_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must have that kind and the fields"):
        read_plain_data(Thing, {**to_plain_data(Thing(Fraction(1, 2), ()), "thing"), **change}, "thing")


@pytest.mark.parametrize("bad", [0.5, [1, 0], [1, -2], [1.0, 2], "1/2", [1]])
def test_a_fraction_is_two_integers(bad: object) -> None:
    with pytest.raises(TypeError, match="must be a fraction or two integers"):
        read_fraction(bad, "share")


MAKERS = (numeric.one_bit, numeric.piecewise, numeric.hybrid, numeric.local_laplace, numeric.square_wave)
ALL = [
    *map(make_example, CATALOGUE),
    oracles.subset(["a", "b", "c"], 1.0),
    oracles.tick_boxes(30, 1.0, most=2),
    *(make((-2.5, "7/3"), "4/3") for make in MAKERS),
]


@each(randomizer=ALL)
def test_every_kind_comes_back_equal(randomizer: object) -> None:
    again = restore(json.loads(json.dumps(randomizer.to_dict())))  # type: ignore[attr-defined]
    assert again == randomizer
    assert type(again) is type(randomizer)


@each(randomizer=[one for one in ALL if one.matrix is None])
def test_every_number_that_reports_are_drawn_with_is_a_plain_integer(randomizer: object) -> None:
    """JSON written by other programs may contain 3.0, which is read as 3; NumPy's integers must not appear in JSON."""
    data = randomizer.to_dict()  # type: ignore[attr-defined]
    numbers = {name: value for name, value in data.items() if type(value) is int}
    assert numbers
    for name, value in numbers.items():
        for same in (float(value), np.int64(value)):
            again = restore({**data, name: same})
            assert again == randomizer
            assert type(getattr(again, name)) is int
        for wrong in (value + 0.5, -1, str(value), True):
            with pytest.raises((ValueError, TypeError), match=f"`{name}` must be"):
                restore({**data, name: wrong})


@pytest.mark.parametrize(
    ("data", "error", "rule"),
    [
        (None, TypeError, "must be a dictionary, got NoneType"),
        ([], TypeError, "must be a dictionary, got list"),
        ({"kind": "magic"}, ValueError, "`kind` must be one of capped_boxes, .*, got 'magic'"),
        ({"kind": ["subset"]}, ValueError, "`kind` must be one of"),
        ({"kind": "subset", "size": 2}, ValueError, "the data of a 'subset' must have"),
        ({"name": "x"}, ValueError, "a design must have the fields"),
    ],
)
def test_other_data_is_refused(data: object, error: type[Exception], rule: str) -> None:
    with pytest.raises(error, match=rule):
        restore(data)  # type: ignore[arg-type]
