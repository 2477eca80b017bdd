from fractions import Fraction

import numpy as np
import pytest

from tests.recorder import recorded
from toolkit.central.publishing.agreeing import AgreeingTables
from toolkit.core.estimate import SIMULATED
from toolkit.core.loss import Pure, Zcdp

SIZES, TABLES = (3, 4), ((0, 1), (0,), (1,), ())
TRUTH = np.arange(12).reshape(3, 4) ** 2
TOLD = [TRUTH, TRUTH.sum(axis=1), TRUTH.sum(axis=0), TRUTH.sum()]


@pytest.mark.parametrize("loss", [Pure(1), Zcdp("1/50")])
def test_the_parts_of_the_budget_add_up_to_it(loss: Pure | Zcdp) -> None:
    mechanism = AgreeingTables(loss, SIZES, TABLES, 1, 1)
    assert sum(Fraction(noise.loss.amount) for noise in mechanism.mechanisms) == Fraction(loss.amount)
    assert mechanism.mechanisms[0].scale < mechanism.mechanisms[-1].scale
    halves = [Fraction(noise.loss.amount) ** 2 / 2 for noise in mechanism.mechanisms]
    assert mechanism.zcdp == (loss if isinstance(loss, Zcdp) else Zcdp(sum(halves)))


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Pure(1), Zcdp("1/50")])
def test_tables_agree_are_unbiased_and_have_their_covariance(loss: Pure | Zcdp) -> None:
    """200 releases: 20 means within 4.5 standard errors, and variances within 50 %: about 4 standard errors
    of theirs, with the excess kurtosis of Laplace noise.
    """
    mechanism, rng = AgreeingTables(loss, SIZES, TABLES, 2, 2), np.random.default_rng(4)
    truth = np.concatenate([np.ravel(table) for table in TOLD])
    found = [mechanism.release(TOLD, range(20), rng) for _ in range(200)]
    values = np.array([one.value for one in found])
    assert values[:, 12:15] == pytest.approx(values[:, :12].reshape(-1, 3, 4).sum(axis=2), abs=1e-8)
    assert values[:, -1] == pytest.approx(values[:, :12].sum(axis=1), abs=1e-8)
    assert np.all(np.abs(values.mean(axis=0) - truth) < 4.5 * found[0].se / np.sqrt(200))
    assert values.var(axis=0) == pytest.approx(np.diag(found[0].cov), rel=0.5)
    assert found[0].se ** 2 == pytest.approx(np.diag(found[0].cov))
    assert SIMULATED in found[0].notes
    assert found[0].loss is None


@pytest.mark.parametrize("most", [20, 19])
def test_covariances_are_told_up_to_a_number_of_cells(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.central.publishing.agreeing._MAX_COVARIANCE_CELLS", most)
    assert (AgreeingTables(Pure(1), SIZES, TABLES, 1, 1).covariance is None) == (most < 20)


@pytest.mark.parametrize(
    ("loss", "law"), [(Zcdp("1/50"), "exact except for the rounding"), (Pure(1), "intervals approximate sums")]
)
def test_a_real_release_says_what_it_cost_and_how_good_its_intervals_are(loss: Pure | Zcdp, law: str) -> None:
    found = AgreeingTables(loss, SIZES, TABLES, 1, 1).release(TOLD, range(20))
    assert found.loss == loss
    assert law in "".join(found.notes)
    assert found.interval().low[0] < found.value[0] < found.interval().high[0]


@pytest.mark.parametrize(("loss", "power"), [(Pure(1), 1 / 3), (Zcdp("1/50"), 1 / 2)])
def test_the_budget_is_split_by_the_root_of_the_cells(loss: Pure | Zcdp, power: float) -> None:
    parts = [float(noise.loss.amount) for noise in AgreeingTables(loss, SIZES, TABLES, 1, 1).mechanisms]
    assert [part / parts[-1] for part in parts] == pytest.approx([12**power, 3**power, 4**power, 1], rel=1e-6)


def test_gaussian_noise_is_for_the_length_of_what_one_person_moves() -> None:
    noises = AgreeingTables(Zcdp(1), (4,), ((0,), ()), l1_sensitivity=7, squared_l2_sensitivity=9).mechanisms
    assert [float(noise.variance) for noise in noises] == pytest.approx([9 / (4 / 3), 9 / (2 / 3)])


def test_every_table_gets_the_noise_of_its_part_and_keeps_it() -> None:
    """Laplace noise of 7 on the only cell of the total: it is spread over the tables by least squares."""
    mechanism = AgreeingTables(Pure(1), (2,), ((0,), ()), l1_sensitivity=3, squared_l2_sensitivity=9)
    with recorded([0, 0, 7]) as drawn:
        found = mechanism.release([np.array([5, 6]), np.array(11)], range(3))
    parts = np.array([2 ** (1 / 3), 1]) / (2 ** (1 / 3) + 1)
    assert [(one.law, one.size) for one in drawn] == [("laplace", 2), ("laplace", 1)]
    assert [float(one.scale) for one in drawn] == pytest.approx(3 / parts, rel=1e-6)
    assert found.value[2] - 11 == pytest.approx(7 * found.se[2] ** 2 / drawn_variance(drawn[1].scale))
    assert found.value[0] + found.value[1] == pytest.approx(found.value[2])


def drawn_variance(scale: Fraction) -> float:
    """Of the two-sided geometric law: 2 q / (1 - q)**2, q = e**(-1 / scale)."""
    q = np.exp(-1 / float(scale))
    return float(2 * q / (1 - q) ** 2)
