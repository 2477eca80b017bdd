import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import pytest

from toolkit import Estimate
from toolkit.core.loss import Pure
from toolkit.local.sampled_randomizer import SampledAtOdds


@dataclass(frozen=True)
class Toy(SampledAtOdds):
    truth: int
    lie: int

    name = "toy"

    @property
    def asks(self) -> Literal["choice"]:
        return "choice"

    @property
    def odds(self) -> Fraction:
        return Fraction(self.truth, self.lie)

    def accepts(self, report: object) -> bool:
        return report in (0, 1)

    def estimate(self, reports: Any, *, times: Any = None) -> Estimate:
        raise NotImplementedError


def test_epsilon_and_loss_follow_from_the_odds() -> None:
    assert Toy(3, 1).epsilon == math.log(3)
    assert Toy(3, 1).loss == Pure(math.log(3))


def test_plain_data_and_back() -> None:
    assert Toy.from_dict(json.loads(json.dumps(Toy(5, 2).to_dict()))) == Toy(5, 2)
    with pytest.raises(ValueError, match="must have that kind"):
        Toy.from_dict({"kind": "other", "truth": 5, "lie": 2})
