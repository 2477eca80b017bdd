import json
from dataclasses import dataclass
from fractions import Fraction

import pytest

from toolkit.local.serial import fraction, plain, restored


@dataclass(frozen=True)
class Thing:
    share: Fraction
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", fraction(self.share, "share"))
        object.__setattr__(self, "names", tuple(self.names))


def test_fractions_and_tuples_survive_json() -> None:
    thing = Thing(Fraction(2, 3), ("a", "b"))
    assert restored(Thing, json.loads(json.dumps(plain(thing, "thing"))), "thing") == thing


@pytest.mark.parametrize("change", [{"kind": "other"}, {"extra": 1}])
def test_other_fields_and_kinds_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must have that kind and the fields"):
        restored(Thing, {**plain(Thing(Fraction(1, 2), ()), "thing"), **change}, "thing")


@pytest.mark.parametrize("bad", [0.5, [1, 0], [1, -2], [1.0, 2], "1/2", [1]])
def test_a_fraction_is_two_integers(bad: object) -> None:
    with pytest.raises(TypeError, match="must be a fraction or two integers"):
        fraction(bad, "share")
