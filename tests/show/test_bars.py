"""Where no share fits there is a cross and words, and no bar."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from toolkit import Laplace, forced, k_ary, kuk, show
from toolkit.show.bars import doubt, interval_row, interval_words, together
from toolkit.show.designing import option_shares

DIE = forced("1/6", "1/6")
WRONG, RIGHT = DIE.estimate_counts([290, 10]), DIE.estimate_counts([200, 100])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_contradiction_is_a_cross_with_its_p_value_and_no_bar_of_width_zero():
    ax = show.estimate_intervals({"north": WRONG, "south": RIGHT})
    assert texts(ax) == ["no share fits: p = 3e-13"]
    cross, bar, dot = ax.lines
    assert cross.get_marker() == "X"
    assert np.ptp(bar.get_xdata()) > 0
    assert dot.get_marker() == "o"
    assert repr(ax) == "<Picture: 95 % intervals: north -20 % (no share fits: p = 3e-13), south 25 % (17 % to 33 %)>"


def test_an_interval_without_limits_holds_no_truth():
    assert show.estimate_intervals([WRONG, RIGHT], truth=0.0).get_title(loc="left") == "2 of 2 intervals miss the truth"


def test_a_bad_fit_that_leaves_an_interval_is_said_beside_it():
    ax = show.estimate_intervals([kuk("4/5", "1/5", draws=2).estimate_counts([180, 40, 80])])
    assert texts(ax) == ["fits badly: p = 7e-14"]
    assert "(15 % to 30 %; fits badly: p = 7e-14)" in repr(ax)


def test_of_several_options_the_contradicted_one_is_marked_and_the_axis_has_the_p_value():
    estimate = k_ary(["a", "b", "c"], epsilon=2.0).estimate_counts([2, 150, 148])
    ax = option_shares(estimate)
    assert texts(ax) == ["no share fits"]
    assert ax.get_xlabel() == f"share; fit of all together: {estimate.fit.words()}"
    assert estimate.fit.words() in repr(ax)
    assert option_shares(k_ary(3, epsilon=2.0).estimate_counts([50, 30, 20])).get_xlabel() == "share"


def test_released_counts_have_intervals_of_noise_and_no_doubt():
    mechanism = Laplace.for_epsilon(1, sensitivity=2)
    counts = mechanism.release(np.array([40, 60]), rng=np.random.default_rng(1)).rescaled(1 / 100)
    assert [doubt(counts, counts.interval(), entry) for entry in (0, 1)] == ["", ""]


def test_words_stay_in_the_picture_on_the_side_where_there_is_room():
    ax = Figure().add_subplot()
    interval_row(ax, 0, -0.2, np.nan, np.nan, misses=True, words="no share fits")
    interval_row(ax, 1, 1.2, np.nan, np.nan, misses=True, words="no share fits")
    assert [text.get_ha() for text in ax.texts] == ["left", "right"]


@pytest.mark.parametrize(
    ("words", "expected"), [("", "20 % (10 % to 30 %)"), ("fits badly", "20 % (10 % to 30 %; fits badly)")]
)
def test_the_words_for_those_who_cannot_see_it(words, expected):
    assert interval_words(0.2, 0.1, 0.3, words) == expected
    assert doubt(RIGHT, RIGHT.interval()) == together(RIGHT, RIGHT.interval()) == ""
