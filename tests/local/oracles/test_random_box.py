"""One random box per person: boxes that nobody was asked about, the fit of each box, and rejected input.

Properties shared with capped boxes (channel, bias, variances, intervals) are tested in test_ticks.py.
"""

import re

import numpy as np
import pytest
from scipy.stats import binom

from toolkit.local.oracles import tick_boxes
from toolkit.local.oracles.random_box import RandomBox

LABELS = ("a", "b", "c")


def test_a_box_without_reports_is_nan_and_leaves_the_others_unchanged() -> None:
    """A box that nobody was asked about has no estimate, and the other estimates do not change."""
    boxes = tick_boxes(["x", "y", "z"], 1.0, how="random")
    whole, holed = (boxes.estimate_counts([3, 2, 5], [10, 8, 10]), boxes.estimate_counts([3, 0, 5], [10, 0, 10]))
    assert np.allclose(
        whole.value, (np.array([3 / 10, 2 / 8, 5 / 10]) - float(boxes._support_law.q)) / boxes._support_law.slope
    )
    for name in ("value", "se"):
        assert np.isnan(getattr(holed, name)).tolist() == [False, True, False]
        assert np.array_equal(getattr(holed, name)[[0, 2]], getattr(whole, name)[[0, 2]])
    for method in ("wilson", "exact", "wald"):
        assert np.array_equal(holed.interval(0.9, method).low[[0, 2]], whole.interval(0.9, method).low[[0, 2]])
        assert np.isnan(holed.interval(0.9, method).high[1])
    assert np.allclose(holed.cov, np.diag(holed.se**2), equal_nan=True)
    assert holed.notes[0] == "nobody was asked about y: no estimate is possible"
    assert (whole.n, holed.n) == (28, 20)
    assert np.isnan(RandomBox(LABELS, 3, 1).estimate([[0, 1], [1, 0]]).value).tolist() == [False, False, True]
    assert "—" in holed._repr_html_()
    many = tick_boxes(9, 1.0, how="random").estimate_counts([1, *[0] * 8], [2, *[0] * 8])
    assert many.notes[0] == "nobody was asked about 1, 2, 3, 4, 5 and 3 more: no estimate is possible"
    with pytest.raises(ValueError, match="at least one report"):
        boxes.estimate_counts([0, 0, 0], [0, 0, 0])
    with pytest.raises(ValueError, match="a box that nobody was asked about has no answers"):
        boxes.estimate_counts([1, 1, 1], [2, 0, 2])


def test_the_fit_of_each_box_uses_its_reports() -> None:
    """No yes among 40 people, a tenth of whom lie, has probability 0.9**40, whatever the other 40 people reported about
    another box.
    """
    found = RandomBox(LABELS, 9, 1).estimate_counts([0, 20, 0], [40, 40, 0])
    assert np.allclose(found.fit.p, [0.9**40, 1, np.nan], rtol=1e-9, equal_nan=True)
    assert found.interval().empty.tolist() == [True, False, False]
    assert "nan where empty: the data contradict" in repr(
        found.interval()
    )  # the last is NaN, and nothing contradicts it
    _, below, above = found.basis.tails(0.3, "exact")
    chance = 0.1 + 0.3 * 0.8  # the probability of a yes if 30 % tick the box
    assert np.allclose(below, [binom.cdf(0, 40, chance), binom.cdf(20, 40, chance), np.nan], equal_nan=True)
    assert np.allclose(above, [1, binom.sf(19, 40, chance), np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda: RandomBox(LABELS, 1, 1), "`keep` must be above `lie`"),
        (lambda: RandomBox(LABELS, 3, 1).tally([[3, 0]]), "reports must hold a box from 0 to 2 and an"),
        (lambda: RandomBox(LABELS, 3, 1).tally([[0, 2]]), "reports must hold a box from 0 to 2 and an"),
        (lambda: RandomBox(LABELS, 3, 1).estimate_counts([1, 1], [2, 2]), "`counts` and `n` must each hold 3 numbers"),
        (lambda: RandomBox(LABELS, 3, 1).variance([0.5, 1.5, 0], 10), "`prevalence` must be shares from 0 to 1"),
    ],
)
def test_what_cannot_be_is_refused(broken: object, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        broken()  # type: ignore[operator]


def test_reports_are_rows_of_two_integers() -> None:
    for reports in ([0, 1], [[0, 1, 0]], [[0.0, 1.0]], np.empty((0, 2), dtype=int)):
        with pytest.raises(TypeError, match="rows of two integers"):
            RandomBox(LABELS, 3, 1).tally(reports)


@pytest.mark.parametrize("wrong", [[-1, 0], [3, 0], [0, -1], [0, 2]])
def test_one_report_that_stands_for_nothing_among_good_ones_is_refused(wrong: list[int]) -> None:
    good = [[0, 0], [2, 1]]
    assert [part.tolist() for part in RandomBox(LABELS, 3, 1).tally(good)] == [[0, 0, 1], [1, 0, 1]]
    with pytest.raises(ValueError, match="a box from 0 to 2 and an answer of 0 or 1"):
        RandomBox(LABELS, 3, 1).tally([*good, wrong])
    with pytest.raises(ValueError, match="a box from 0 to 2 and an answer of 0 or 1"):
        RandomBox(LABELS, 3, 1).scores([*good, wrong])


@pytest.mark.parametrize(("yes", "asked"), [([1, 2], [3, 3, 3]), ([1, 2, 3], [3, 3]), ([1, 2, 4], [3, 3, 3])])
def test_yes_and_people_asked_are_counted_for_each_box(yes: list[int], asked: list[int]) -> None:
    assert RandomBox(LABELS, 3, 1).estimate_counts([0, 2, 3], [3, 3, 3]).n == 9
    with pytest.raises(ValueError, match="`counts`"):
        RandomBox(LABELS, 3, 1).estimate_counts(yes, asked)


def test_each_box_has_a_share_from_0_to_1() -> None:
    box = RandomBox(LABELS, 3, 1)
    assert box.variance(0.3, 60).tolist() == box.variance([0.3, 0.3, 0.3], 60).tolist()
    assert box.variance([0, 1, 1], 60) == pytest.approx([0.0375] * 3)  # 3/4 * 1/4 / (1/2)**2 for 20 people
    with pytest.raises(ValueError, match="a share for each of 3 options"):
        box.variance([0.3, 0.3], 60)
    for wrong in ([0, 0.5, 1.01], [-0.01, 0.5, 1]):
        with pytest.raises(ValueError, match="must be shares from 0 to 1"):
            box.variance(wrong, 60)
