"""Two-group models: reference numbers (closed forms, RRreg 0.7.6 where marked), edges, coverage.

The numbers were computed by independent code for the reference notes; of cheater detection and of the unknown
question the estimates and errors are also those of RRreg's RRuni.
"""

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import xlogy

from tests.analysis.reference_survey import survey
from toolkit.analysis import cheater_detection, extended_crosswise, lie_detector, unknown_question
from toolkit.analysis.latent.group_counts import (
    ExtendedCrosswise,
    GroupCounts,
    Lying,
    Unknown,
    boundary_test,
    outside_notes,
    read_groups,
)
from toolkit.core.inference.intervals import imbens_manski_quantile
from toolkit.local.two_groups import TWO_GROUP_DESIGNS

DATA = survey()
CHEATERS = TWO_GROUP_DESIGNS["cheater_detection"]


def test_cheater_detection_has_the_reference_numbers() -> None:
    found = cheater_detection([[748, 483], [201, 968]], p=(0.2, 0.8))
    assert np.allclose(found.estimate.value, [0.247132519225214, 0.7261570626879, 0.0267104180868852], atol=1e-13)
    assert np.allclose(found.estimate.se, [0.01892448549469, 0.0296147364527807, 0.0154352203442411], rtol=1e-12)
    assert abs(found.estimate.cov[0, 2] - 1.403252e-4) < 1e-10
    assert abs(found.test.statistic - 3.163093) < 1e-6
    assert abs(found.test.p - 0.037660) < 1e-6
    assert abs(found.estimate.value[2] / found.estimate.se[2] - 1.73049) < 1e-5
    assert abs(found.carriers_without_cheating - 0.23069985) < 1e-8
    assert np.allclose(tuple(found.interval()), [0.215100617, 0.323969338], atol=1e-8)
    assert np.allclose(found.likeliest, found.estimate.value)
    assert abs(reach(found) - 1.692617) < 1e-6
    second = cheater_detection([[350, 150], [90, 410]], p=(0.2, 0.8))
    assert abs(reach(second) - 1.890712) < 1e-6
    assert np.allclose(second.estimate.value, [0.126666667, 0.866666667, 0.006666667], atol=1e-9)
    assert np.allclose(second.estimate.se[[0, 2]], [0.02794689, 0.02392931], atol=1e-8)
    assert abs(second.test.statistic - 0.078752) < 1e-6
    assert abs(second.test.p - 0.389498) < 1e-6
    assert abs(second.carriers_without_cheating - 0.12292628) < 1e-8
    assert np.allclose(tuple(second.interval()), [0.073827158, 0.217690600], atol=1e-8)


def reach(found) -> float:
    """The standard errors that Imbens and Manski's interval adds beyond carriers, or carriers and cheaters."""
    return imbens_manski_quantile(found.estimate.value[2] / max(found.estimate.se[:2]), 0.95)


def test_counts_that_contradict_cheater_detection_say_so() -> None:
    found = cheater_detection([[450, 50], [75, 425]], p=(0.2, 0.8))
    assert np.allclose(found.estimate.value, [-0.15, 1.25, -0.1])
    assert np.allclose(found.likeliest, [0, 1, 0], atol=1e-9)
    assert found.interval().empty
    assert found.test.p == 1
    assert "likelihood ratio 45.07, p at most 2e-10" in found.estimate.notes[2]
    assert abs(2 * (found.groups.best - found.groups.loglike([0.2, 0.8])) - 45.068632) < 1e-6


@pytest.mark.parametrize(("p", "told"), [(0.051, None), (0.049, "5e-02"), (0.012, "2e-02"), (1.2e-9, "2e-09")])
def test_how_unlikely_counts_are_is_rounded_up(p: float, told: str | None) -> None:
    """With two degrees of freedom, half the ratio is minus the logarithm of p."""
    first, *doubts = outside_notes(SimpleNamespace(best=0.0), float(np.log(p)), "shares")  # type: ignore[arg-type]
    assert "outside the range of shares" in first
    assert [note.partition("p at most ")[2].split()[0] for note in doubts] == ([] if told is None else [told])


def test_the_lie_detector_has_the_reference_numbers() -> None:
    found = lie_detector([[300, 700], [750, 250]], p=(0.3, 0.8))
    assert np.allclose(found.estimate.value, [0.1, 0.7])
    assert np.allclose(found.estimate.se, [0.039894756, 0.144986279], atol=1e-9)
    assert abs(found.test.statistic - 1.518540) < 1e-6
    assert abs(found.test.p - 0.10892) < 1e-5
    assert abs(found.carriers_if_honest - 0.05541489) < 1e-8
    second = lie_detector([[330, 670], [780, 220]], p=(0.3, 0.8))
    assert np.allclose(second.estimate.value, [0.1, 0.4])
    assert np.allclose(second.estimate.se, [0.039653151, 0.098615034], atol=1e-9)
    assert abs(second.test.statistic - 5.947689) < 1e-6
    assert abs(second.test.p - 0.0073683) < 1e-7
    outside = lie_detector([[260, 740], [740, 260]], p=(0.3, 0.8))
    assert np.allclose(outside.estimate.value, [0.04, 1.7])
    assert np.allclose(outside.estimate.se, [0.039252271, 1.25], atol=[1e-9, 5e-3])
    assert np.allclose(outside.likeliest, [0.08205007, 1], atol=1e-8)
    assert "outside" in outside.estimate.notes[1]


def test_the_published_lie_detector_of_the_minaret_ban() -> None:
    """Heck and Moshagen, Journal of Statistical Software 85(2), 2018; data `minarets` of RRreg, by Radukic and Musch
    (2014): 564 people with p = 2/12 and 692 with p = 10/12.
    """
    found = lie_detector([[191, 373], [294, 398]], p=("2/12", "10/12"))
    assert found.estimate.value.round(6).tolist() == [0.870695, 0.635806]
    assert found.estimate.se.round(6).tolist() == [0.041118, 0.017344]
    assert round(found.groups.best, 4) == -832.8508


def test_the_profile_interval_of_honesty_follows_the_likelihood() -> None:
    """The likelihood of every share of carriers on a grid, at the limits: lower than the highest by 1.92."""
    found = lie_detector([[330, 670], [780, 220]], p=(0.3, 0.8))
    low, high = found.honesty()
    carriers = np.linspace(0, 1, 100_001)
    for honest in (low, high):
        yes = [carriers * honest + (1 - carriers) * (1 - p) for p in (0.3, 0.8)]
        heights = 670 * np.log(yes[0]) + 330 * np.log1p(-yes[0]) + 220 * np.log(yes[1]) + 780 * np.log1p(-yes[1])
        assert abs(found.groups.best - heights.max() - 1.920729) < 1e-5
    assert lie_detector([[300, 700], [750, 250]], p=(0.3, 0.8)).honesty().high == 1


def test_the_unknown_question_has_the_reference_numbers() -> None:
    found = unknown_question([[842, 389], [747, 422]], p=(0.75, 0.2))
    assert np.allclose(found.estimate.value, [0.295553680426502, 0.377351956], atol=1e-9)
    assert np.allclose(found.estimate.se, [0.0203123847640215, 0.019760663], atol=1e-9)
    assert abs(found.estimate.cov[0, 1] + 2.153626e-4) < 1e-10
    assert "no privacy claim" in repr(found.estimate)
    outside = unknown_question([[990, 10], [800, 200]], p=(0.75, 0.2))
    assert isinstance(outside, Unknown)
    assert outside.estimate.value[0] < 0
    assert outside.likeliest[0] == 0
    grid = np.linspace(0.001, 0.999, 2000)
    heights = 10 * np.log(0.25 * grid) + 990 * np.log1p(-0.25 * grid)
    heights += 200 * np.log(0.8 * grid) + 800 * np.log1p(-0.8 * grid)
    assert abs(outside.likeliest[1] - grid[heights.argmax()]) < 6e-4


def test_the_extended_crosswise_has_the_reference_numbers() -> None:
    found = extended_crosswise([[250, 750], [740, 260]], p=(0.15, 0.85))
    assert isinstance(found, ExtendedCrosswise)
    assert np.allclose([one.value for one in found.by_group], [0.14285714, 0.15714286], atol=1e-8)
    assert abs(found.estimate.value - 0.15) < 1e-12
    assert abs(found.estimate.se - 0.01392656) < 1e-8
    assert abs(found.z - 0.512800) < 1e-6
    assert abs(found.test.statistic - 0.263206) < 1e-6
    assert abs(found.test.p - 0.6079) < 1e-4
    assert found.estimate.notes == ()
    second = extended_crosswise([[250, 750], [680, 320]], p=(0.15, 0.85))
    assert abs(second.estimate.value - 0.19285714) < 1e-8
    assert abs(second.estimate.se - 0.01442351) < 1e-8
    assert np.allclose([one.value for one in second.by_group], [0.14285714, 0.24285714], atol=1e-8)
    assert abs(second.z - 3.476159) < 1e-6
    assert abs(second.test.statistic - 12.046174) < 1e-6
    assert abs(second.test.p - 0.000519) < 1e-6
    assert "the groups disagree (p = 0.0005)" in second.estimate.notes[0]


@pytest.mark.slow
def test_doubts_are_said_below_five_percent() -> None:
    told = []
    for more in range(60):
        found = extended_crosswise([[250, 750], [740 - more, 260 + more]], p=(0.15, 0.85))
        told.append((found.test.p < 0.05, found.test.p < 0.04))
        assert bool(found.estimate.notes) == (found.test.p < 0.05)
        found = cheater_detection([[420 + more, 80], [100, 400]], p=(0.2, 0.8))
        ratio = 2 * (found.groups.best - found.groups.likeliest[1])
        notes = found.estimate.notes[1:]
        assert len(notes) == int(ratio > 1e-9) + int(np.exp(-ratio / 2) < 0.05)  # chi-squared, two degrees of freedom
    assert (True, False) in told


def test_frames_give_the_same_as_counts() -> None:
    """RRreg's fits to the synthetic survey."""
    found = cheater_detection(DATA.cdm, p={1: 0.2, 2: 0.8}, group=DATA.group)
    assert abs(found.estimate.value[0] - 0.247132519225214) < 1e-13
    found = unknown_question(pl.Series(DATA.uqt_unknown), p={1: 0.75, 2: 0.2}, group=pl.Series(DATA.group))
    assert abs(found.estimate.value[0] - 0.295553680426502) < 1e-13
    words = pd.Series(np.where(DATA.cdm, "yes", "no"))
    assert np.array_equal(read_groups(CHEATERS, words, {1: 0.2, 2: 0.8}, DATA.group).counts, [[748, 483], [201, 968]])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (([[1, 2], [3, 4]], (0.2, 0.2)), "different probabilities, got 0.2 twice"),
        (([[1, 2], [3, 4]], (0.2,)), "there must be two groups, got 1"),
        (([[1, 2], [3, 4]], 0.2), "`p` must hold a probability for each group"),
        (([[1, 2], [3, 4]], (0.2, 1.2)), "must lie between 0 and 1"),
        (([1, 2], (0.2, 0.8)), r"counts must be two rows, .* got shape \(2,\)"),
        (([[1, 2.5], [3, 4]], (0.2, 0.8)), "`counts` must be whole numbers"),
        (([[1, 0], [3, 4]], (0.2, 0.8)), "each group must have at least two people, got 1"),
    ],
)
def test_bad_counts_are_refused(given: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        cheater_detection(given[0], p=given[1])
    assert cheater_detection([[1, 1], [0, 2]], p=(0.2, 0.8)).estimate.n == 4


def test_bad_frames_are_refused() -> None:
    with pytest.raises(ValueError, match="to one of the groups in `p`, got 1169 of 2400"):
        cheater_detection(DATA.cdm, p={1: 0.2, 3: 0.8}, group=DATA.group)
    with pytest.raises(TypeError, match=r"`p` must be a mapping, \{group: probability\}"):
        cheater_detection(DATA.cdm, p=(0.2, 0.8), group=DATA.group)
    with pytest.raises(ValueError, match="one group for each report"):
        cheater_detection(DATA.cdm, p={1: 0.2, 2: 0.8}, group=DATA.group[:5])
    with pytest.raises(ValueError, match=r"must sum to 1, got 0\.15 and 0\.8"):
        extended_crosswise([[1, 2], [3, 4]], p=(0.15, 0.8))


def test_nobody_is_a_carrier_and_nobody_has_a_division_by_zero() -> None:
    found = lie_detector([[300, 700], [800, 200]], p=(0.3, 0.8))
    assert isinstance(found, Lying)
    assert found.estimate.value[0] == pytest.approx(0)
    assert boundary_test(-1e-12, "").p == 1
    exactly = lie_detector([[250, 750], [750, 250]], p=(0.25, 0.75))
    assert exactly.estimate.value[0] == 0
    assert np.isnan(exactly.estimate.value[1])
    assert np.isnan(exactly.estimate.se[1])
    assert np.isfinite(exactly.estimate.se[0])
    assert "— (se —)" in repr(exactly.estimate)
    certain = cheater_detection([[0, 100], [0, 100]], p=(0.2, 0.8))
    assert np.isnan(tuple(certain.interval())).all()
    assert np.isnan(certain.estimate.interval().low).all()


def test_the_reach_of_imbens_and_manski_solves_its_equation() -> None:
    from scipy.special import ndtr

    for width in (0.0, 0.3, 1.5, 40.0):
        reach = imbens_manski_quantile(width, 0.95)
        assert abs(ndtr(reach + width) - ndtr(-reach) - 0.95) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("carriers", "cheaters", "n"), [(0.1, 0.05, 500), (0.25, 0.03, 1200), (0.1, 0.2, 500)])
def test_the_interval_covers_both_ends_of_the_range(carriers: float, cheaters: float, n: int) -> None:
    """1000 surveys; a binomial with chance 0.95 is below 924 with probability 1.6e-4. 3000 simulated surveys
    of the reference notes had 0.950 to 0.966.
    """
    rng, honest = np.random.default_rng(9), 1 - carriers - cheaters
    covered = np.zeros(2, dtype=int)
    for _ in range(1000):
        yes = [rng.binomial(n, carriers + honest * p) for p in (0.2, 0.8)]
        low, high = cheater_detection([[n - one, one] for one in yes], p=(0.2, 0.8)).interval()
        covered += [low <= carriers <= high, low <= carriers + cheaters <= high]
    assert covered.min() >= 924


@pytest.mark.slow
def test_the_profile_interval_of_honesty_covers() -> None:
    """1000 surveys of 2 x 1000, 20 % carriers, 60 % of them honest: a binomial of chance 0.95 is below 924 with
    probability 1.6e-4. The interval holds 0.6 exactly when the likelihood there is within 1.9207 of the highest.
    """
    rng, covered = np.random.default_rng(10), 0
    for _ in range(1000):
        yes = [rng.binomial(1000, 0.12 + 0.8 * (1 - p)) for p in (0.3, 0.8)]
        found = lie_detector([[1000 - one, one] for one in yes], p=(0.3, 0.8))
        covered += found.groups.likeliest[1] - found._profile(0.6) <= 1.920729
    assert covered >= 924


def test_the_unknown_questions_interval_covers_by_enumeration() -> None:
    """All pairs of counts of two groups of 80, prevalences 0.15 and 0.3: Wald's interval for the sensitive share."""
    from scipy.stats import binom

    first, second, n = 0.75, 0.2, 80
    k = np.arange(n + 1)
    chance = np.outer(*(binom.pmf(k, n, p * 0.15 + (1 - p) * 0.3) for p in (first, second)))
    seen = k / n
    value = ((1 - second) * seen[:, None] - (1 - first) * seen[None]) / (first - second)
    v = seen * (1 - seen) / (n - 1)
    se = np.sqrt((1 - second) ** 2 * v[:, None] + (1 - first) ** 2 * v[None]) / (first - second)
    coverage = chance[np.abs(value - 0.15) <= 1.959963984540054 * se].sum()
    assert 0.935 < coverage < 0.955
    one = unknown_question([[n - 17, 17], [n - 20, 20]], p=(first, second)).estimate
    assert np.allclose([one.value[0], one.se[0]], [value[17, 20], se[17, 20]])


def test_shares_of_yes_that_the_kinds_would_make_give_the_kinds_back() -> None:
    shares, sometimes = np.array([0.2, 0.7, 0.1]), (0.2, 0.8)
    yes = np.array([shares @ [1, p, 0] for p in sometimes])
    found = cheater_detection(1000 * np.stack([1 - yes, yes], axis=1).round(9), p=sometimes).estimate
    assert found.value == pytest.approx(shares)
    assert found.cov.sum(axis=1) == pytest.approx(0, abs=1e-15)  # three shares of one whole


@pytest.mark.slow
def test_the_likeliest_shares_are_higher_than_any_others_on_a_grid() -> None:
    """All counts of 6 and 6 people against 231 points of the triangle of shares."""
    grid = np.array([(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)]) / 20
    corners = np.array([[1.0, 1.0], [0.2, 0.8], [0.0, 0.0]])
    for a, b in product(range(7), repeat=2):
        found = cheater_detection([[6 - a, a], [6 - b, b]], p=(0.2, 0.8))
        groups, shares, height = found.groups, found.likeliest, found.groups.likeliest[1]
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1)
        assert height >= max(groups.loglike(point @ corners) for point in grid) - 1e-9
        assert groups.loglike(np.clip(shares @ corners, 0, 1)) == pytest.approx(height, abs=1e-9)


def test_the_likeliest_prevalences_of_two_questions_are_a_maximum() -> None:
    """No other prevalences on a grid have a higher likelihood. All counts of 4 and 4 people against 441 pairs of
    shares.
    """
    p = np.array([0.75, 0.2])
    grid = np.array(list(product(np.linspace(0, 1, 21), repeat=2))) @ np.array([p, 1 - p])
    grid = np.clip(grid, 0, 1)
    for counts in product(range(5), repeat=2):
        yes = np.array(counts, dtype=float)
        groups = GroupCounts(CHEATERS, np.stack([4 - yes, yes], axis=1), tuple(p))
        inside = unknown_question(groups.counts, p=tuple(p)).likeliest
        heights = (xlogy(yes, grid) + xlogy(4 - yes, 1 - grid)).sum(axis=1)
        assert 0 <= inside.min() <= inside.max() <= 1
        assert groups.loglike(np.clip(p * inside[0] + (1 - p) * inside[1], 0, 1)) >= heights.max() - 1e-9


def test_the_lie_detector_is_cheater_detection_by_other_names() -> None:
    """A non-carrier in one model says yes as often as an honest non-carrier is told to in the other."""
    counts = [[300, 700], [750, 250]]
    lying, cheating = lie_detector(counts, p=(0.3, 0.8)), cheater_detection(counts, p=(0.7, 0.2))
    admit, others, _ = cheating.estimate.value
    assert lying.estimate.value == pytest.approx([1 - others, admit / (1 - others)])
    assert lying.estimate.se[0] == pytest.approx(cheating.estimate.se[1])
    assert lying.test.statistic == pytest.approx(cheating.test.statistic)


def test_groups_without_variance_agree_or_are_beyond_all_errors() -> None:
    assert extended_crosswise([[10, 0], [0, 10]], p=(0.2, 0.8)).z == 0
    assert extended_crosswise([[10, 0], [10, 0]], p=(0.2, 0.8)).z == -np.inf
