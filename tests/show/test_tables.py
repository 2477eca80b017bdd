from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from matplotlib.figure import Figure

from toolkit import Laplace, forced, k_ary, kuk, show
from toolkit.show import tables
from toolkit.show.designing import option_shares
from toolkit.show.tables import interval_row, interval_text, joint_misfit_note, misfit_note


def released(labels, axes=()):
    found = Laplace.for_epsilon(1).release(np.arange(len(labels)) * 10, labels=range(len(labels)))
    return replace(found, labels=tuple(labels), axes=axes)


def bars(ax):
    return [line for line in ax.lines if len(line.get_xdata()) == 2]


def test_every_cell_has_its_interval_and_its_key():
    found = released(["north", "south", "west"], ("region",))
    ax = tables.table(found)
    low, high = found.interval()
    assert [tuple(bar.get_xdata()) for bar in bars(ax)] == list(zip(low, high, strict=True))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["north", "south", "west"]
    assert ax.get_ylabel() == "region"
    assert repr(ax).startswith("<Picture: 3 cells with 95 % intervals: north ")


def test_a_cross_tab_has_rows_for_its_first_column_and_a_legend():
    """The legend lists the keys of the second column."""
    ax = tables.table(released(list(product(["n", "s"], ["f", "m"])), ("region", "sex")), truth=[0, 10, 20, 30])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["n", "s"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["f", "m"]
    assert len({line.get_marker() for line in ax.get_legend().get_lines()}) == 2
    assert len(bars(ax)) == 4
    assert [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "|"] == [0, 10, 20, 30]


def test_many_keys_in_the_second_column_have_rows_of_their_own():
    ax = tables.table(released(list(product(["n", "s"], range(5))), ("region", "k")))
    assert ax.get_legend() is None
    assert [text.get_text() for text in ax.get_yticklabels()][:2] == ["n, 0", "n, 1"]
    four = tables.table(released(list(product(["n", "s"], range(4))), ("region", "k")))
    assert [len(four.get_legend().get_texts()), len(four.get_yticklabels())] == [4, 2]


def test_the_title_and_the_axis_name_what_the_intervals_cover():
    release = released(["a", "b"]).plot()
    assert (release.get_xlabel(), release.get_title(loc="left") or release.get_title()) == (
        "released number",
        "Released numbers with 95 % intervals of their noise",
    )
    shares = k_ary(["no", "once", "often"], epsilon=2).estimate_counts([50, 30, 20])
    drawn = shares.plot(level=0.9)
    assert (drawn.get_xlabel(), drawn.get_title(loc="left") or drawn.get_title()) == (
        "estimate",
        "Estimates with 90 % intervals",
    )
    assert [tuple(bar.get_xdata()) for bar in bars(drawn)] == list(zip(*shares.interval(0.9), strict=True))
    one = released(["a", "b"])["a"].plot()
    assert "1 entry with" in repr(one)


def test_what_has_no_interval_has_a_dot_alone():
    made = released(["a", "b"]).tidied(30)
    ax = tables.table(made)
    assert bars(ax) == []
    assert [line.get_xdata()[0] for line in ax.lines] == made.value.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 81])
def test_a_table_that_no_picture_holds_is_refused(size):
    with pytest.raises(ValueError, match="a figure must have 1 to 80 entries"):
        tables.table(replace(released(["a"]), labels=tuple(range(size))))
    assert len(bars(tables.table(released(range(80))))) == 80


# Where no share fits there is a cross and a note, and no bar.

DIE = forced("1/6", "1/6")
WRONG, RIGHT = DIE.estimate_counts([290, 10]), DIE.estimate_counts([200, 100])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_contradicted_estimate_is_a_cross_with_its_p_value():
    """Its bar does not have a width of zero."""
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


def test_a_contradicted_option_is_marked_and_the_axis_has_the_p_value():
    """The p-value on the axis is that of all options together."""
    estimate = k_ary(["a", "b", "c"], epsilon=2.0).estimate_counts([2, 150, 148])
    ax = option_shares(estimate)
    assert texts(ax) == ["no share fits"]
    assert ax.get_xlabel() == f"share; fit of all together: {estimate.fit.words()}"
    assert estimate.fit.words() in repr(ax)
    assert option_shares(k_ary(3, epsilon=2.0).estimate_counts([50, 30, 20])).get_xlabel() == "share"


def test_released_counts_have_intervals_of_noise_and_no_doubt():
    mechanism = Laplace.for_epsilon(1, sensitivity=2)
    counts = mechanism.release(np.array([40, 60]), rng=np.random.default_rng(1)).rescaled(1 / 100)
    assert [misfit_note(counts, counts.interval(), entry) for entry in (0, 1)] == ["", ""]


def test_words_stay_in_the_picture_on_the_side_where_there_is_room():
    ax = Figure().add_subplot()
    interval_row(ax, 0, -0.2, np.nan, np.nan, misses_truth=True, note="no share fits")
    interval_row(ax, 1, 1.2, np.nan, np.nan, misses_truth=True, note="no share fits")
    assert [text.get_ha() for text in ax.texts] == ["left", "right"]


@pytest.mark.parametrize(
    ("words", "expected"), [("", "20 % (10 % to 30 %)"), ("fits badly", "20 % (10 % to 30 %; fits badly)")]
)
def test_the_words_for_those_who_cannot_see_it(words, expected):
    assert interval_text(0.2, 0.1, 0.3, words) == expected
    assert misfit_note(RIGHT, RIGHT.interval()) == joint_misfit_note(RIGHT, RIGHT.interval()) == ""
