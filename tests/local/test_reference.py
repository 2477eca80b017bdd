"""Numbers from papers and from R's rr and RRreg, reproduced.

tests/reference/rr_synthetic.csv is a synthetic data set; it was fitted with RRreg 0.7.6 (RRuni), whose standard errors
divide by n - 1, as ours do.
"""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from tests.slowly import each
from toolkit import Design, crosswise, forced, forced_options, kuk, unrelated, warner

ROWS = list(csv.DictReader((Path(__file__).parents[1] / "reference" / "rr_synthetic.csv").read_text().splitlines()))


def column(name: str) -> list[int]:
    return [int(row[name]) for row in ROWS]


RRUNI = {
    "warner": (warner("3/4"), 0.318333333333333, 0.020076938529099),
    "forced": (forced("1/6", "1/6"), 0.28875, 0.0146925336487196),
    "unrelated": (unrelated(0.7, 0.3), 0.291666666666667, 0.013290295822644),
    "crosswise": (crosswise(0.15), 0.298809523809524, 0.0139928891892568),
}


@pytest.mark.parametrize("name", RRUNI)
def test_rrreg_gives_the_same_prevalence_and_standard_error(name: str) -> None:
    design, prevalence, se = RRUNI[name]
    estimate = design.estimate(column(name))
    assert estimate.n == 2400
    assert math.isclose(float(estimate), prevalence, rel_tol=1e-13)
    assert math.isclose(estimate.se, se, rel_tol=1e-13)


def test_rrreg_gives_the_same_shares_of_a_likert_question() -> None:
    shares = [0.351388888888889, 0.258333333333333, 0.209027777777778, 0.0993055555555556, 0.0819444444444445]
    errors = [0.0154536073409276, 0.0144277389030335, 0.0137474196517883, 0.0117924709601326, 0.0114123839387768]
    answers = np.array(column("likert"))
    estimate = forced_options(5, [0.08] * 5).estimate(answers - answers.min())
    assert np.allclose(estimate.value, shares, rtol=1e-12)
    assert np.allclose(estimate.se, errors, rtol=1e-12)


@pytest.mark.parametrize(
    ("design", "counts", "value", "se"),
    [
        (crosswise("1/4"), {"different": 112, "same": 198}, 0.223, 0.055),
        (crosswise("1/4"), {"different": 80, "same": 230}, 0.016, 0.050),
        (warner(1), {"no": 89, "yes": 7}, 0.073, 0.027),
        (warner(1), {"no": 95, "yes": 1}, 0.010, 0.010),
    ],
    ids=["partial", "severe", "partial, directly", "severe, directly"],
)
def test_the_published_shares_of_plagiarism(design: Design, counts: dict[str, int], value: float, se: float) -> None:
    """Jann, Jerke and Krumpal, Public Opinion Quarterly 76 (2012); counts of GLMMRR's data `Plagiarism`. The errors of
    the direct questions are computed by hand as for a share.
    """
    estimate = design.estimate_counts(counts)
    assert (round(float(estimate), 3), round(estimate.se, 3)) == (value, se)


def test_the_published_forced_response_in_nigeria() -> None:
    """Blair, Imai and Zhou, JASA 110 (2015); complete rows of rr's data `nigeria`: 826 yes of 2,423."""
    estimate = forced("1/6", "1/6").estimate_counts({"no": 1597, "yes": 826})
    assert math.isclose(float(estimate), (826 / 2423 - 1 / 6) / (2 / 3), rel_tol=1e-12)


@each(prevalence=[0.0, 0.05, 0.3, 0.5, 1.0], p=[0.1, 0.3, 0.6, 0.75, 0.9])
def test_warners_variance_identity(p: float, prevalence: float) -> None:
    """Warner 1965, equation 5: [1 / (16 (p - 1/2)**2) - (x - 1/2)**2] / n."""
    n = 250
    classic = (1 / (16 * (p - 0.5) ** 2) - (prevalence - 0.5) ** 2) / n
    assert math.isclose(warner(p).variance(prevalence, n), classic, rel_tol=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_privacy_cost_of_warner_does_not_depend_on_prevalence(epsilon: float) -> None:
    """The variance of the randomization is added to the sampling variance.

    Var = [x(1-x) + e**eps / (e**eps - 1)**2] / n, and n grows by coth(eps/2)**2 at x = 1/2: 16.67, 4.68, 1.72.
    """
    design = warner(epsilon=epsilon)
    cost = math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2
    for prevalence in (0.0, 0.1, 0.5):
        assert math.isclose(design.variance(prevalence, 1), prevalence * (1 - prevalence) + cost, rel_tol=1e-8)
    assert round(design.variance(0.5, 1) / 0.25, 2) == {0.5: 16.67, 1.0: 4.68, 2.0: 1.72}[epsilon]


@pytest.mark.parametrize(("p", "times"), [("3/4", 9.33), ("5/6", 4.47), ("0.7", 15.6), ("0.8", 5.94)])
def test_how_many_more_respondents_at_ten_per_cent(p: str, times: float) -> None:
    """The reference numbers for the design widget, derived from Warner's variance."""
    assert float(f"{warner(p).variance(0.1, 1) / 0.09:.3g}") == times


def test_forced_is_warner_when_symmetric() -> None:
    assert forced("1/6", "1/6").weights.tolist() == warner("5/6").weights.tolist()


@pytest.mark.parametrize(("p", "q"), [("7/10", "3/10"), ("1/2", "1/12"), ("9/10", "1/3")])
def test_unrelated_is_forced(p: str, q: str) -> None:
    from fractions import Fraction

    share, innocuous = Fraction(p), Fraction(q)
    same = forced((1 - share) * innocuous, (1 - share) * (1 - innocuous))
    assert np.array_equal(unrelated(p, q).matrix, same.matrix)


@pytest.mark.parametrize(
    ("design", "epsilon"),
    [
        (forced("1/6", "1/6"), math.log(5)),  # a die
        (warner("3/4"), math.log(3)),  # two coins
        (warner("2/3"), math.log(2)),
        (unrelated(0.7, 0.3), 2.172223),
        (unrelated(0.5, "1/12"), 2.564949),
        (kuk(0.8, 0.2, draws=3), 3 * math.log(4)),
    ],
)
def test_epsilon_of_the_devices_people_use(design: Design, epsilon: float) -> None:
    assert math.isclose(design.epsilon, epsilon, abs_tol=1e-6)


def test_kuk_with_two_cards_has_kuks_variance() -> None:
    """Kuk 1990: phi(1-phi) / (n k (p1-p2)**2) + (1-1/k) x(1-x) / n. With symmetric decks and two cards our variance
    equals Kuk's.
    """
    p1, p2, k, n, x = 0.8, 0.2, 2, 300, 0.15
    phi = p1 * x + p2 * (1 - x)
    classic = phi * (1 - phi) / (n * k * (p1 - p2) ** 2) + (1 - 1 / k) * x * (1 - x) / n
    assert math.isclose(kuk(p1, p2, draws=k).variance(x, n), classic, rel_tol=1e-12)


def test_kuk_with_more_cards_is_more_precise_than_kuks_own_estimator() -> None:
    """The claim of the docstring: for these decks, the variance lies between 0.57 and 1.02 times Kuk's variance."""
    ratios = []
    for p1, p2, k in ((0.8, 0.2, 5), (0.7, 0.4, 3), (0.9, 0.3, 4)):
        for x in (0, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 1):
            phi = p1 * x + p2 * (1 - x)
            classic = phi * (1 - phi) / (k * (p1 - p2) ** 2) + (1 - 1 / k) * x * (1 - x)
            ratios.append(kuk(p1, p2, draws=k).variance(x, 1) / classic)
    assert max(ratios) < 1.02
    assert round(min(ratios), 2) == 0.56
