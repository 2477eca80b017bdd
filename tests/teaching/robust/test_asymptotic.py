import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from tests.slowly import each
from toolkit.budget.charges import BudgetError
from toolkit.budget.ledger import Ledger
from toolkit.central.noise.gaussian_delta import gaussian_delta
from toolkit.central.robust.estimators import Huber
from toolkit.central.robust.influence import influence
from toolkit.central.robust.smooth import smooth_sensitivity
from toolkit.core.loss import Approx, AsymptoticPromise, Pure, Zcdp
from toolkit.teaching.robust.asymptotic import AvellaMedina, chaudhuri_hsu, normal_delta, radius

RELEASE = AvellaMedina(Huber(1.345), 1, 1e-6)


def clusters(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two equal clusters at -3 and 3 with one value between them (n is odd), and the same table after a value
    has moved from left to right; psi has a nonzero slope at both locations, so each is unique.
    """
    values = np.repeat([-3.0, 0.0, 3.0], [n // 2, 1, n // 2])
    return values, np.append(values[1:], 3.0)


@pytest.mark.parametrize(("n", "delta"), [(51, 0.9), (501, 0.98), (2001, 0.99)])
def test_chosen_data_break_the_promise_at_every_n(n: int, delta: float) -> None:
    """The claimed delta is 1e-6. In the first table only the middle value contributes to the slope, so gamma is 1.345 n
    and the noise is wide; in the second table, the whole cluster at 3 contributes.
    """
    first, second = (influence(RELEASE.estimator, values) for values in clusters(n))
    assert first.slope == pytest.approx(1 / n)
    assert second.slope == pytest.approx((n // 2 + 1) / n)
    assert RELEASE.exact_delta(*clusters(n)) > delta


@pytest.mark.slow
def test_ordinary_data_break_it_when_few_and_not_when_many() -> None:
    """One value is replaced by a distant value: at n = 10 every normal sample is a counterexample, at n = 500 none of
    five is.
    """
    rng = np.random.default_rng(1)
    for n, breaks in ((10, True), (500, False)):
        for _ in range(5):
            values = np.sort(rng.normal(size=n))
            worst = max(
                RELEASE.exact_delta(values, np.append(np.delete(values, i), x))
                for i in (0, n // 2, n - 1)
                for x in (-1e3, 0.0, 1e3)
            )
            assert (worst > 1e-6) == breaks


@pytest.mark.parametrize("ceiling", [Pure(10), Approx(10, 0.1), Zcdp(10)])
def test_a_ledger_refuses_it_with_the_reason(ceiling: Pure | Approx | Zcdp) -> None:
    ledger = Ledger(ceiling)
    for asked in (RELEASE, RELEASE.loss, AsymptoticPromise(0.1, 0)):
        with pytest.raises(BudgetError, match=r"must be a proven loss, got .* break it at any n"):
            ledger.charge(asked, "a location", neighbors="replace")
    with pytest.raises(BudgetError, match="a proven loss"):
        Ledger(ceiling, simulated=True).release(RELEASE, [1.0, 2.0], rng=np.random.default_rng(1))
    assert ledger.entries() == ()


def test_it_is_drawn_only_from_a_generator_and_follows_its_law() -> None:
    """The release is a normal draw, in units of the standard deviation about the mean."""
    values = np.random.default_rng(2).normal(size=20)
    with pytest.raises(ValueError, match="must be a Generator"):
        RELEASE.release(values)
    mean, sd = RELEASE.mean_and_sd(values)
    drawn = RELEASE.release(values, np.random.default_rng(3))
    assert (drawn - mean) / sd == pytest.approx(np.random.default_rng(3).standard_normal())


@pytest.mark.parametrize("n", [1, 2, 50])
def test_its_noise_is_that_of_the_paper_and_of_one_person_as_of_two(n: int) -> None:
    values = np.linspace(-1, 1, n)  # within k, so that the location is the mean and gamma is k
    for epsilon, delta in ((1, 1e-6), (0.5, 0.01)):
        mean, sd = AvellaMedina(Huber(1.345), epsilon, delta).mean_and_sd(values)
        assert mean == pytest.approx(values.mean(), abs=1e-9)
        expected = 5 * 1.345 / (epsilon * n) * math.sqrt(2 * math.log(max(n, 2)) * math.log(2 / delta))
        assert sd == pytest.approx(expected, rel=1e-9)


PAIRS = [
    ((0, 1), (0.5, 1)), ((0, 1), (0, 2)), ((0, 2), (0, 1)), ((0, 1), (1, 1.2)), ((3, 1), (0, 0.7)),
    ((0, 1), (0, 1)), ((2, 1.5), (0.5, 0.8)), ((-1, 0.7), (1, 1.9)), ((3, 2), (2, 2)),
]  # fmt: skip


@each(pair=PAIRS)
def test_the_delta_of_two_normal_laws_is_the_integral(pair: tuple[tuple[float, float], tuple[float, float]]) -> None:
    z = np.linspace(-20, 20, 40_001)
    one, other = (norm.pdf(z, *law) for law in pair)
    for epsilon in (0.1, 1.0):
        expected = np.maximum(one - math.exp(epsilon) * other, 0).sum() * (z[1] - z[0])
        assert normal_delta(epsilon, *pair) == pytest.approx(float(expected), abs=1e-6)


def test_with_equal_spread_it_is_the_gaussian_mechanisms() -> None:
    assert normal_delta(1, (0, 4), (1, 4)) == pytest.approx(
        float(gaussian_delta(Fraction(1), Fraction(4))[0]), rel=1e-9
    )


def test_the_bound_of_chaudhuri_and_hsu_is_the_larger_of_its_two_terms() -> None:
    """n = 50, eta = 1/10: distant samples contribute e**(-beta (sqrt(25 ln 20) - 1)), near samples 2 gamma / n."""
    far = 3 * math.exp(-0.2 * (math.sqrt(25 * math.log(20)) - 1))
    for gamma, expected in ((0, far), (25 * far, far), (100, 4)):
        found = chaudhuri_hsu(gamma=gamma, n=50, beta=0.2, eta=0.1, diameter=3)
        assert found == pytest.approx(expected, rel=1e-12)
    assert radius(50, 0.1) == pytest.approx(math.sqrt(2 * math.log(20) / 50), rel=1e-12)


def test_the_bound_of_chaudhuri_and_hsu_holds_but_is_loose() -> None:
    """The bound holds for most samples and is loose for a median.

    Uniform values, n = 1,000, eta = 0.05, beta = 0.1: a gap of twice the radius may open, so gamma / n is at least this
    gap; the true smooth sensitivity is near 0.003, half of the value for an odd number of values.
    """
    n, eta = 1000, 0.05
    bound = chaudhuri_hsu(gamma=2 * radius(n, eta) * n, n=n, beta=0.1, eta=eta, diameter=1)
    assert bound == pytest.approx(0.34, abs=0.01)
    rng = np.random.default_rng(4)
    found = [smooth_sensitivity("median", rng.random(n), bounds=(0, 1), beta=0.1) for _ in range(40)]
    assert max(found) < bound
    assert np.mean(found) == pytest.approx(0.0057 / 2, rel=0.1)
