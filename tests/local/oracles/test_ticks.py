"""Tick boxes: exact channels, the choice between both kinds, estimates, and input that is rejected before drawing."""

import itertools
import json
import math
import re

import numpy as np
import pytest
from scipy.stats import binom

from tests.local.channel import channel, follows, largest_ratio
from toolkit import Pure
from toolkit.core.rounding import log_up
from toolkit.local.catalogue import restore
from toolkit.local.oracles import bits, tick_boxes
from toolkit.local.oracles.boxes import Boxes
from toolkit.local.oracles.random_box import RandomBox
from toolkit.local.oracles.ticks import CappedBoxes

LABELS = ("a", "b", "c")
SMALL = {
    "one random box": RandomBox(LABELS, 3, 1),
    "at most one tick": CappedBoxes(LABELS, 1, 1, 4),
    "at most two of four": CappedBoxes((0, 1, 2, 3), 2, 1, 3),
    "no cap": CappedBoxes(LABELS, 3, 1, 4),
}


def ways(boxes: Boxes) -> list[list[int]]:
    """Return all allowed ways to tick the boxes, as codes."""
    most = boxes.most if isinstance(boxes, CappedBoxes) else len(boxes.options)
    return [list(way) for size in range(most + 1) for way in itertools.combinations(range(len(boxes.options)), size)]


def table(boxes: Boxes, way: list[int], people: int) -> np.ndarray:
    return np.tile(np.isin(np.arange(len(boxes.options)), way), (people, 1))


@pytest.mark.parametrize("name", SMALL)
def test_epsilon_is_that_of_the_channel_over_all_ways_to_tick(name: str) -> None:
    boxes = SMALL[name]
    laws = channel(boxes._draw_report, ways(boxes))
    assert all(sum(law.values()) == 1 for law in laws)
    assert largest_ratio(laws) == boxes._odds
    assert boxes.epsilon == log_up(boxes._odds) == boxes.loss.epsilon


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_many_draws_follow_the_channel(name: str) -> None:
    """False alarms: at most 1e-6 with the seed, 1e-10 with the system's randomness."""
    boxes = SMALL[name]
    for rng, least in ((np.random.default_rng(3), 1e-6), (None, 1e-10)):
        for way in ways(boxes)[:4]:
            rows, times = np.unique(boxes.randomize(table(boxes, way, 20_000), rng), axis=0, return_counts=True)
            if isinstance(boxes, CappedBoxes):
                rows = [np.flatnonzero(row) for row in bits.unpack(rows, len(boxes.options))]
            counts = {tuple(row.tolist()): many for row, many in zip(rows, times.tolist(), strict=True)}
            assert follows(counts, channel(boxes._draw_report, [way])[0]) > least


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_unbiased_with_the_claimed_variances(name: str) -> None:
    """6000 surveys of 90 people with correlated ticks and a fixed seed. Means are within 4.5 standard errors (7e-6 per
    box), variances and covariances within 8 % of the largest variance (4.5 standard errors), for both kinds of
    respondents.
    """
    boxes, rng, n, surveys = SMALL[name], np.random.default_rng(9), 90, 6000
    possible = ways(boxes)
    chances = np.arange(1, len(possible) + 1) / (len(possible) * (len(possible) + 1) / 2)
    ticks = np.array([np.isin(np.arange(len(boxes.options)), way) for way in possible])
    share = chances @ ticks
    fixed = np.repeat(np.arange(len(possible)), np.round(chances * n).astype(int))
    for respondents in ("sample", "fixed"):
        drawn = (
            rng.choice(len(possible), p=chances, size=surveys * n)
            if respondents == "sample"
            else np.tile(fixed, surveys)
        )
        people = n if respondents == "sample" else len(fixed)
        truth = share if respondents == "sample" else ticks[fixed].mean(axis=0)
        reports = boxes.randomize(ticks[drawn], rng)
        estimates = _moments(boxes, reports, surveys)
        claimed = boxes.variance(truth, people, respondents=respondents)
        inflated = 1.05 if isinstance(boxes, RandomBox) else 1.0  # how many people are asked about a box is random
        assert np.all(np.abs(estimates.mean(axis=0) - truth) < 4.5 * np.sqrt(claimed * inflated / surveys))
        assert np.all(np.abs(estimates.var(axis=0) / claimed / (1 + (inflated - 1) / 2) - 1) < 0.08)


def _moments(boxes: Boxes, reports: np.ndarray, surveys: int) -> np.ndarray:
    k, n = len(boxes.options), len(reports) // surveys
    if isinstance(boxes, RandomBox):
        # the probability of the survey's box among all boxes
        place = np.repeat(np.arange(surveys) * k, n) + reports[:, 0]
        n = np.bincount(place, minlength=surveys * k)
        counts = np.bincount(place, reports[:, 1], minlength=surveys * k)
    else:
        counts = bits.unpack(reports, k).reshape(surveys, n, k).sum(axis=1).ravel()
    return ((counts / n - float(boxes._support_law.q)) / boxes._support_law.slope).reshape(surveys, k)


def test_covariances_of_capped_boxes_come_from_the_reports() -> None:
    boxes = CappedBoxes(LABELS, 2, 1, 4)
    rng = np.random.default_rng(1)
    ticks = np.array([[1, 1, 0], [0, 0, 1]], dtype=bool)[rng.integers(0, 2, 4000)]
    reports = boxes.randomize(ticks, rng)
    estimate = boxes.estimate(reports)
    scores = (bits.unpack(reports, 3) - 0.25) / 0.5
    assert np.allclose(estimate.cov, np.cov(scores, rowvar=False) / 4000)
    assert np.allclose(np.sqrt(np.diag(estimate.cov)), estimate.se)
    by_counts = boxes.estimate_counts(*boxes.tally(reports))
    assert np.array_equal(by_counts.value, estimate.value)
    assert np.isnan(by_counts.cov[0, 1])


@pytest.mark.parametrize("how", ["random", "capped"])
def test_there_is_a_table_of_covariances_for_up_to_2048_boxes(how: str) -> None:
    for k, there in ((2048, True), (2049, False)):
        boxes = tick_boxes(k, 1.0, most=1, how=how)
        found = boxes.estimate_counts(np.full(k, 5), np.full(k, 20) if how == "random" else 20)
        assert (found.cov is not None) == there
        assert any("covariances between options are left out" in note for note in found.notes) != there


@pytest.mark.parametrize(("k", "counted"), [(64, True), (65, False)])
def test_pairs_are_counted_for_up_to_64_boxes(k: int, counted: bool) -> None:
    boxes = CappedBoxes(range(k), 1, 1, 4)
    reports = boxes.randomize(np.eye(k)[:20])
    found, by_counts = boxes.estimate(reports), boxes.estimate_counts(*boxes.tally(reports))
    assert np.array_equal(found.value, by_counts.value)
    assert np.array_equal(np.diag(found.cov), found.se**2)
    assert np.isnan(found.cov[0, 1]) != counted


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_intervals_hold_their_level_by_enumeration(name: str) -> None:
    """The last box's count among 60 reports is binomial: all counts, at 90 %."""
    boxes, n, level = SMALL[name], 60, 0.9
    k = len(boxes.options)
    for share in (0.1, 0.5):
        chances = binom.pmf(np.arange(n + 1), n, float(boxes._support_law.q) + share * boxes._support_law.slope)
        covered = dict.fromkeys(("wilson", "exact"), 0.0)
        for count in np.flatnonzero(chances > 1e-7):
            counts = np.append(np.full(k - 1, 30), count)
            estimate = boxes.estimate_counts(counts, np.full(k, n) if isinstance(boxes, RandomBox) else n)
            for method in covered:
                interval = estimate.interval(level, method)
                covered[method] += chances[count] * (interval.low[-1] <= share <= interval.high[-1])
        assert covered["exact"] >= level
        assert covered["wilson"] >= level - 0.05


def test_the_better_way_is_chosen_and_the_reason_given() -> None:
    """n times the variance of the noise for rare ticks at epsilon 1, k = 10: 9.2 for one random box; 3.9, 15.9 and 35.9
    with at most 1, 2 and 3 ticks; 99.9 if epsilon is split among all boxes.
    """
    rare = 1e-9
    assert round(tick_boxes(10, 1.0, how="random").variance(rare, 1)[0], 1) == 9.2
    for most, noise in ((1, 3.9), (2, 15.9), (3, 35.9), (10, 99.9)):
        assert round(tick_boxes(10, 1.0, most=most, how="capped").variance(rare, 1)[0], 1) == noise
    assert isinstance(tick_boxes(10, 1.0, most=1), CappedBoxes)
    assert isinstance(tick_boxes(10, 1.0, most=2), RandomBox)
    assert isinstance(tick_boxes(10, 1.0), RandomBox)
    assert "one random box" in tick_boxes(10, 1.0).reason
    assert "at most 1 tick: variance 4.0" in tick_boxes(10, 1.0, most=1).reason


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_the_rule_of_thumb_is_four_m_squared_when_epsilon_is_small(epsilon: float) -> None:
    for most in (1, 2, 3, 5):
        assert isinstance(tick_boxes(2 * most**2 + 1, epsilon, most=most), RandomBox)
        assert isinstance(tick_boxes(8 * most**2, epsilon, most=most), CappedBoxes)


@pytest.mark.parametrize("how", ["random", "capped"])
@pytest.mark.parametrize("epsilon", [0.1, 1, 4, "1/3"])
def test_epsilon_is_just_below_the_one_asked_for(how: str, epsilon: float | str) -> None:
    boxes = tick_boxes(12, epsilon, most=3, how=how)
    assert boxes.loss <= Pure(epsilon)
    assert boxes.epsilon > 0.99999 * Pure(epsilon).epsilon


@pytest.mark.parametrize("how", ["random", "capped"])
def test_it_survives_json_and_speaks_plainly(how: str) -> None:
    boxes = tick_boxes(["tea", "coffee", "juice"], 1.0, most=2, how=how)
    assert restore(json.loads(json.dumps(boxes.to_dict()))) == boxes
    assert "proves no answer" in boxes.describe()
    assert "epsilon 1" in repr(boxes)


@pytest.mark.parametrize("how", ["random", "capped"])
def test_answers_are_read_in_every_form(how: str) -> None:
    import pandas as pd

    boxes = tick_boxes(["tea", "coffee", "juice"], 4.0, most=2, how=how)
    forms = [
        [["tea", "juice"], ["coffee"], []],
        np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]]),
        np.array([[True, 0, 1.0], [np.False_, np.int8(1), False], [0, 0, np.float32(0)]], dtype=object),
        [[True, False, True], [False, True, False], [False, False, False]],
        pd.DataFrame({"tea": [True, False, False], "coffee": [False, True, False], "juice": [True, False, False]}),
    ]
    drawn = [boxes.randomize(form, np.random.default_rng(6)).tolist() for form in forms]
    assert drawn.count(drawn[0]) == 5
    assert np.ndim(boxes.randomize(np.array([True, False, False]))) == 1


def test_more_ticks_than_the_cap_are_refused_before_anything_is_drawn() -> None:
    boxes = tick_boxes(10, 1.0, most=1)
    with pytest.raises(ValueError, match="at most 1 boxes may be ticked, got more from 1 of 2 people"):
        boxes.randomize(np.array([[1, 1, *[0] * 8], [1, *[0] * 9]]))
    with pytest.raises(ValueError, match="at most 1 boxes may be ticked, got more from 1 of 1 people"):
        CappedBoxes(LABELS, 1, 1, 4)._draw_report([0, 2], lambda bound: bound // 0)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([["tea", "milk"]], "ticks must be among the options, got 1 others"),
        ([[math.nan, 0, 1]], "ticks must be among the options, got 3 others"),
        ([[None, True, False]], "ticks must be among the options, got 3 others"),
        (np.array([[2, 0, 0]]), "truth values, 0 or 1, got 1 others of 3"),
        (np.array([[None, True, False]], dtype=object), "truth values, 0 or 1, got 1 others of 3"),
        (np.array([["1", True, False]], dtype=object), "truth values, 0 or 1, got 1 others of 3"),
        (np.array([["1", "0", "0"]]), "truth values, 0 or 1, got 3 others of 3"),
        (np.array([[0, 1]]), "3 columns, one per box, got shape (1, 2)"),
        (np.zeros((2, 3, 1)), "3 columns, one per box, got shape (2, 3, 1)"),
        ([], "3 columns, one per box, got shape (1, 0)"),
        (np.zeros((0, 3)), "at least one person, got none"),
    ],
)
def test_bad_answers_are_refused_and_never_quoted(answers: object, words: str) -> None:
    boxes = tick_boxes(["tea", "coffee", "juice"], 1.0)
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        boxes.randomize(answers)
    assert "milk" not in str(error.value)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda: tick_boxes(3, 1.0, most=4), "`most` must be at most 3, the number of boxes"),
        (lambda: tick_boxes(3, 1.0, most=0), "`most` must be at least 1"),
        (lambda: tick_boxes(3, 1.0, how="both"), "`how` must be one of random, capped"),
        (lambda: tick_boxes(3, 1e-12), "`epsilon` must be large enough for 32-bit odds"),
        (lambda: tick_boxes(1000, 1e-9), "`epsilon` must be large enough for 32-bit odds"),
        (lambda: CappedBoxes(LABELS, 1, 2, 4), "`flip` must be below half of `denominator`"),
        (lambda: CappedBoxes(LABELS, 1, 0, 4), "`flip` must be at least 1"),
        (lambda: CappedBoxes(LABELS, 4, 1, 4), "`most` must be at most 3, the number of boxes"),
        (lambda: CappedBoxes(LABELS, 1, 1, 2**33), "`denominator` must be at most 2**32"),
    ],
)
def test_what_cannot_be_is_refused(broken: object, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        broken()  # type: ignore[operator]


def test_answers_are_lists_of_labels_only_where_every_person_has_a_list() -> None:
    """One row that is not a list makes the input a table, and a table of this shape is rejected."""
    boxes = tick_boxes(["x", "y"], 1.0, how="random")
    assert len(boxes.randomize([["x"], []], np.random.default_rng(1))) == 2
    with pytest.raises((ValueError, TypeError)):
        boxes.randomize([["x"], "y"], np.random.default_rng(1))
    with pytest.raises((ValueError, TypeError)):
        boxes.randomize([["x", "y"], None], np.random.default_rng(1))


def test_each_of_two_boxes_may_lie_outside_0_to_1() -> None:
    for counts, outside in (([10, 20], False), ([5, 20], True), ([20, 5], True)):
        notes = CappedBoxes(("x", "y"), 1, 1, 4).estimate_counts(counts, 40).notes
        assert any("outside" in note for note in notes) == outside


def test_each_capped_box_is_judged_by_its_own_reports() -> None:
    """No yes among 40 reports, a tenth of which are flipped, has probability 0.9**40."""
    capped = CappedBoxes(LABELS, 1, 1, 10).estimate_counts([0, 20, 10], 40)
    assert np.allclose(capped.fit.p, [0.9**40, 1, 1], rtol=1e-9)


def test_what_could_be_read_in_two_ways_is_refused() -> None:
    """True and False equal the labels 1 and 0, and a list of rows of 0 and 1 could consist of labels."""
    boxes = tick_boxes(3, 1.0, how="random")
    with pytest.raises(ValueError, match="ticks must be among the options, got 2 others"):
        boxes.randomize([[True, False], [2]])
    for rows in ([[1, 0, 0], [0, 0, 0], [2]], [(0, 1, 1)], [[1.0, 0.0, 1.0]]):
        with pytest.raises(ValueError, match=f"must not look like a row of 0 and 1, got {-(-len(rows) // 2)} of"):
            boxes.randomize(rows)
    for rows in ([[0, 1], [2]], [{0, 1}, {0, 1, 2}], [[0, 1, 2]]):
        assert len(boxes.randomize(rows)) == len(rows)


def test_people_who_all_tick_nothing_are_people() -> None:
    """If one report in 2**32 is flipped, the reports equal the answers; the seed is fixed."""
    boxes = CappedBoxes(LABELS, 2, 1, 2**32)
    assert bits.unpack(boxes.randomize([[], []], np.random.default_rng(1)), 3).tolist() == [[False] * 3] * 2


def test_a_tick_said_twice_is_one_tick() -> None:
    boxes = CappedBoxes(LABELS, 1, 1, 4)
    assert boxes._draw_report([2, 2], lambda _: 3) == boxes._draw_report([2], lambda _: 3) == [2]


def test_without_a_cap_the_ways_are_compared_where_a_box_varies_most() -> None:
    """The variance is evaluated at a share of 1/2, not of 1: k times (1/4 + e / (e - 1)**2) is 11.7."""
    assert tick_boxes(10, 1.0).reason == (
        "one random box: variance 11.7 / n a box, against 100 / n with at most 10 ticks"
    )


def test_a_single_report_has_no_covariances() -> None:
    """Its only note is about estimates outside 0 to 1; it gives no advice that is impossible for capped boxes."""
    found = CappedBoxes(LABELS, 2, 1, 4).estimate([[0, 1]])
    assert found.value.tolist() == [1.5, 1.5, -0.5]
    assert np.isnan(found.cov).all()
    assert found.notes == ("3 of 3 estimates lie outside 0 to 1, as an unbiased estimate may; use it in averages",)
