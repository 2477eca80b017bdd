"""What the still pictures draw is what their tables say, mark by mark."""

import math

import pytest

from toolkit.show.canvas import BLUE, GREY, SKY, new_figure
from toolkit.show.widgets import ledger_view
from toolkit.show.widgets.explorer import draw_bars, draw_icons, write_sentences
from toolkit.teaching import explorers
from toolkit.teaching.explorers import budget_explorer, mechanism_explorer, tradeoff_explorer
from toolkit.teaching.explorers.design_explorer import draw_setting


@pytest.fixture
def ax():
    return new_figure(width=4, height=3).subplots()


def marks(ax):
    """The places of single marks and of rows of them."""
    return [list(zip(*line.get_data(), strict=True)) for line in ax.lines if line.get_marker() == "o"]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def boxes(ax):
    return [[patch.get_x(), patch.get_width()] for patch in ax.patches]


def test_a_hundred_people_stand_in_rows_of_twenty_and_the_first_are_filled(ax):
    draw_icons(ax, 37)
    filled, hollow = marks(ax)
    assert filled + hollow == [(place % 20, place // 20) for place in range(100)]
    assert len(filled) == 37
    assert [line.get_markerfacecolor() for line in ax.lines] == [BLUE, "none"]
    assert not any(spine.get_visible() for spine in ax.spines.values())


def test_sentences_are_broken_into_lines_and_kept_apart(ax):
    write_sentences(ax, 1, "one two three four", "five", width=9)
    assert texts(ax) == ["one two\nthree\nfour\n\nfive"]


def test_bars_stand_below_each_other_with_their_numbers_beyond_their_ends(ax):
    draw_bars(ax, {"one": 2.0, "other": 3.0}, BLUE, 1, gap=0.5, x_max=4)
    assert boxes(ax) == [[0, 2], [0, 3]]
    assert [patch.get_y() + patch.get_height() / 2 for patch in ax.patches] == pytest.approx([0, 1])
    assert [(text.get_position(), text.get_text()) for text in ax.texts] == [((2.5, 0), "2.0"), ((3.5, 1), "3.0")]
    assert (ax.get_ylim(), ax.get_xlim()) == ((1.5, -0.5), (0, 4))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "other"]


@pytest.mark.slow
@pytest.mark.parametrize("make", [explorers.outlier, explorers.weeks])
def test_the_longest_bar_fills_most_of_its_axis(make):
    """Each number stands a little beyond the end of its bar."""
    for ax in [ax for ax in make().picture().axes if ax.patches]:
        ends, reach = [start + width for start, width in boxes(ax)], ax.get_xlim()[1]
        assert max(ends) == pytest.approx(reach / 1.2)
        gaps = [text.get_position()[0] - end for text, end in zip(ax.texts, ends, strict=True)]
        assert gaps == pytest.approx([reach / 60] * 4)


def test_the_number_of_filled_people_is_that_of_the_sentence():
    """75 of 100 guesses, and none more."""
    widget = explorers.composition()
    widget.row = {**widget.row, "cell": [*widget.row["cell"][:5], 75.0]}
    assert "at most 75 come out right" in widget.describe()["icons"]
    assert [len(people) for ax in widget.picture().axes for people in marks(ax)] == [1, 75, 25]


def test_noise_is_stacked_and_what_lies_beyond_is_counted_at_the_edges(ax):
    """An error of 10 has a reach of 14: 31 columns of 28 / 31 each."""
    size = 28 / 31
    mechanism_explorer._draw_dots(ax, [0.0, 0.1, -0.1, 3 * size, 14.0, 14.1, 20.0, -50.0], 10.0)
    places = [(round(x / size), y) for [(x, y)] in marks(ax)]
    stacked = [(0, 0.5), (0, 1.5), (0, 2.5), (3, 0.5)]
    assert places[:4] == stacked
    assert [abs(column) for column, _ in places[4:]] == pytest.approx([15, 15, 15, 15], abs=1)
    assert places[-1][0] < 0
    assert {text.get_text(): (text.xy, text.get_ha()) for text in ax.texts} == {
        "← 1 beyond": ((0, 0.9), "left"),
        "2 beyond →": ((1, 0.9), "right"),
    }
    assert (*ax.get_xlim(), *ax.get_ylim()) == pytest.approx((-14, 14, 0, 8))
    assert boxes(ax) == [[-10, 20]]
    mechanism_explorer._draw_dots(ax, [*[0.0] * 9, 5.0], 10.0)
    assert ax.get_ylim() == (0, 10)  # a dot's room above the highest


def test_a_ledger_bar_begins_grey_and_then_alternates_colours(ax):
    """The gray part stands for the earlier charges."""
    ledger_view._draw_bar(
        ax, 0, {"earlier": 0.2, "segments": [0.1, 0.3, 0.05], "symbol": "ε", "caption": "0.65 of 1 spent"}
    )
    assert [box for place in boxes(ax) for box in place] == pytest.approx([0, 0.2, 0.2, 0.1, 0.3, 0.3, 0.6, 0.05, 0, 1])
    assert ax.texts[0].get_position()[1] < ax.patches[0].get_y()  # above it, as the axis goes down
    drawn = new_figure(width=4, height=3).subplots().bar(range(4), 1, color=[GREY, BLUE, SKY, BLUE])
    assert [patch.get_facecolor() for patch in ax.patches[:4]] == [patch.get_facecolor() for patch in drawn]


def test_a_point_above_the_axis_stands_hollow_at_its_upper_edge(ax):
    ax.set_ylim(0, 40)
    for height in (40, 40.1):
        draw_setting(ax, 1.0, height)
    inside, above = ax.lines
    assert marks(ax) == [[(1, 40)], [(1, 40)]]
    assert above.get_markerfacecolor() == "none" != inside.get_markerfacecolor()
    assert texts(ax) == ["  ↑ off the axis"]


def test_intervals_are_as_wide_as_the_margins_up_to_100_points(ax):
    """They reach equally far to either side, and never further than a hundred percentage points."""
    margins = dict(zip(tradeoff_explorer.TRUST_MODELS, (0.01, 0.02, 0.5, 3.0), strict=True))
    tradeoff_explorer._draw_intervals(ax, {"margins": margins})
    assert [end for box in boxes(ax) for end in box] == pytest.approx([-1, 2, -2, 4, -50, 100, -100, 200])
    assert ax.get_xlim() == pytest.approx((-112, 112))
    tradeoff_explorer._draw_intervals(ax, {"margins": {**margins, "local": 0.25}})
    assert ax.get_xlim() == pytest.approx((-56, 56))


def test_curves_use_the_nearest_epsilon_and_mark_the_setting(ax):
    """The marked point is the setting itself, with its own margin."""
    across = range(len(tradeoff_explorer.EPSILONS)), range(len(tradeoff_explorer.PREVALENCES))
    cells = [[[0.01 * i + 0.001 * j] * len(tradeoff_explorer.SIZES) for j in across[1]] for i in across[0]]
    margins = dict.fromkeys(tradeoff_explorer.TRUST_MODELS, cells)
    setting = {"epsilon": 0.72, "prevalence": tradeoff_explorer.PREVALENCES[2], "n": 300, "goal": 0.03}
    i = tradeoff_explorer.EPSILONS.index(0.7)
    for margin, lowest in ((0.25, 0.15), (0.001, 0.08)):
        ax.clear()
        row = setting | {"margins": dict.fromkeys(tradeoff_explorer.TRUST_MODELS, margin)}
        tradeoff_explorer._draw_margins(ax, {"margins": margins}, row)
        curves = [line for line in ax.lines if len(line.get_xdata()) == len(tradeoff_explorer.SIZES)]
        assert [set(line.get_ydata()) for line in curves] == [{100 * (0.01 * i + 0.002)}] * 4
        assert marks(ax) == [[(300, 100 * margin)]] * 4
        assert ax.lines[-1].get_ydata() == [3, 3]
        assert ax.get_ylim() == pytest.approx((lowest, 100))


def test_beliefs_are_those_of_each_year_and_the_chosen_one_is_marked(ax):
    row = budget_explorer.budget_row(0.5, 2)
    budget_explorer._draw_beliefs(ax, row, 3, 0.2)
    high, low = (line.get_ydata() for line in ax.lines[:2])
    odds = [math.exp(0.5 * 2 * year) for year in budget_explorer.YEARS]
    assert high == pytest.approx([100 * f / (f + 4) for f in odds], rel=1e-3)
    assert low == pytest.approx([100 / f / (1 / f + 4) for f in odds], rel=1e-3)
    assert marks(ax) == [[(3, high[2])]]
    assert ax.lines[2].get_ydata() == [20, 20]
    assert [(text.get_position(), text.get_text()) for text in ax.texts] == [((10, 22), "before")]
