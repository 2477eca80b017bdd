"""Tests of the statistical tests in this folder: their false-alarm rate and their power."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from tests.local.channel import follows, goodness, law_of
from tests.local.contract import DRAWS, surveys
from tests.local.test_contract import DESIGNS
from tests.slowly import each
from toolkit import kuk, warner


def test_one_rare_report_is_no_alarm() -> None:
    """Ten cards: the rarest report occurs in 0.8 % of all sets of 20,000 draws; chi-squared gives it a p-value of
    1e-20.
    """
    rare = DESIGNS["kuk, ten cards beyond 32 bits"].matrix.min()
    chance = binom.sf(0, 20_000, rare)
    assert 0.005 < chance < 0.01
    assert goodness([19_999, 1], [1 - rare, rare]) >= chance


@pytest.mark.slow
@each(share=[1e-7, 0.008, 0.2, 0.5], n=[1, 2, 50, 3000])
def test_alarms_of_two_cells_are_no_oftener_than_said_by_enumeration(n: int, share: float) -> None:
    p = np.array([goodness([n - k, k], [1 - share, share]) for k in range(n + 1)])
    chances = binom.pmf(np.arange(n + 1), n, share)
    for level in (0.5, 0.05, 1e-3, 1e-6, 1e-9, 1e-12):
        assert chances[p <= level].sum() <= level


@pytest.mark.slow
@pytest.mark.parametrize("law", [[0.5, 0.3, 0.2], [0.9, 0.0999, 0.0001], [0.97, 0.01, 0.01, 0.01]])
def test_alarms_of_more_cells_are_no_oftener_than_said_by_enumeration(law: list[float]) -> None:
    tallies = list(surveys(kuk("1/2", "1/3", draws=len(law) - 1), 25))
    chances = np.array([multinomial.pmf(counts, 25, law) for counts in tallies])
    p = np.array([goodness(counts.tolist(), law) for counts in tallies])
    assert chances.sum() == pytest.approx(1)
    for level in (0.5, 0.05, 1e-3, 1e-6, 1e-9):
        assert chances[p <= level].sum() <= level


def test_what_the_contract_sees() -> None:
    """With the system's randomness, a yes/no design that is off by 0.017 is detected with power above 0.999, which is
    computed and not simulated.
    """
    law = warner("2/3").matrix[0]
    for wrong in (law[1] - 0.017, law[1] + 0.017):
        likely = range(*(int(count) for count in binom.ppf([5e-4, 1 - 4e-4], DRAWS, wrong)))
        assert all(goodness([DRAWS - k, k], law) <= 1e-9 for k in likely)


def test_what_cannot_be_is_never_by_chance() -> None:
    assert goodness([5, 1], [1.0, 0.0]) == 0
    assert goodness([5, 0], [1.0, 0.0]) == goodness([5], [1.0]) == 1
    law = law_of(lambda draw: draw(3))
    assert law == {0: Fraction(1, 3), 1: Fraction(1, 3), 2: Fraction(1, 3)}
    assert follows([0, 1, 3], law) == 0
    assert follows([0, 1, 2] * 50, law) == 1
