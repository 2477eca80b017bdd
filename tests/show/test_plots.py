import math

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from tests.show.test_canvas import contrast
from toolkit import k_ary, kuk, mangat, show, triangular, warner

DESIGN = warner(p="2/3")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def grey(colour):
    """Lightness of a color as a gray printer gives it, from 0 to 1."""
    return float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)))


def test_the_matrix_has_truths_as_rows_and_percentages_in_its_cells():
    """Each cell also gives its probability as a fraction in words."""
    ax = show.design_matrix(DESIGN)
    assert texts(ax) == ["66.7 %\n2 times in 3", "33.3 %\n1 time in 3", "33.3 %\n1 time in 3", "66.7 %\n2 times in 3"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["“no”", "“yes”"]
    assert ax.get_ylabel() == "if the truth is …"
    assert ax.get_xlabel() == "… the report is"
    assert ax.get_title(loc="left") == "warner design, ε = 0.693"


def test_the_rows_of_an_asymmetric_matrix_are_truths():
    """Mangat's design, whose matrix is not symmetric, has its truths in the rows."""
    ax = show.design_matrix(mangat("3/4"))
    assert texts(ax) == ["75 %\n3 times in 4", "25 %\n1 time in 4", "0 %\nnever", "100 %\nalways"]
    assert np.array_equal(ax.images[0].get_array(), mangat("3/4").matrix)


@pytest.mark.parametrize(
    ("design", "zeros"), [(DESIGN, 0), (triangular("1/4"), 1), (mangat("2/3"), 1), (warner(p=1), 2)]
)
def test_what_can_never_happen_is_framed(design, zeros):
    frames = [patch for patch in show.design_matrix(design).patches if isinstance(patch, Rectangle)]
    assert len(frames) == zeros


def test_an_infinite_epsilon_is_shown_as_infinite():
    assert show.design_matrix(triangular("1/4")).get_title(loc="left").endswith("∞")


@pytest.mark.slow
def test_only_small_matrices_have_text_in_their_cells():
    """Matrices of more than five options have no text, and long fractions are left out."""
    assert [len(texts(show.design_matrix(k_ary(size, epsilon=1.0)))) for size in (5, 6)] == [25, 0]
    assert texts(show.design_matrix(k_ary(3, epsilon=1.0)))[0] == "57.6 %"
    for p, text in (("7/20", "35 %\n7 times in 20"), ("8/21", "38.1 %")):
        assert texts(show.design_matrix(warner(p=p)))[0] == text


@pytest.mark.parametrize("design", [DESIGN, triangular("1/4"), kuk("4/5", "1/5", draws=2)])
def test_every_report_has_a_curve_of_beliefs_and_the_diagonal_is_the_prior(design):
    """The curves are the posteriors of the design."""
    ax = show.posterior(design)
    diagonal, *lines = ax.lines
    assert np.array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    for report, line in enumerate(lines):
        for place in (1, 50, 199):
            assert line.get_ydata()[place] == pytest.approx(design.posterior(line.get_xdata()[place])[1, report])
    assert [text.get_text() for text in ax.get_legend().get_texts()][:-1] == [
        f"after the report “{label}”" for label in reversed(design.report_options)
    ]


def test_the_lines_of_two_reports_differ_in_grey_and_in_dashes():
    _, no, yes = show.posterior(DESIGN).lines
    assert abs(grey(no.get_color()) - grey(yes.get_color())) > 0.2
    assert no.get_linestyle() != yes.get_linestyle()


def test_a_marked_prior_shows_what_becomes_of_it():
    ax = show.posterior(DESIGN, prior=0.25)
    assert texts(ax) == ["14 %", "40 %"]
    assert repr(ax).endswith("from 25 % it becomes 14 % after “no”, 40 % after “yes”>")


def test_beliefs_in_more_than_two_options_are_refused():
    with pytest.raises(ValueError, match="two options"):
        show.posterior(k_ary(3, epsilon=1.0))


def test_the_predicted_curve_has_the_area_of_the_histogram():
    """The curve peaks at the truth and has as many surveys below it as the histogram."""
    values = DESIGN.estimate_counts([60, 40]).value + 0.03 * np.arange(-20, 21)
    ax = show.repeated_estimates(values, truth=0.2, se=0.3)
    curve, line = ax.lines
    heights = [bar.get_height() for bar in ax.patches]
    width = ax.patches[0].get_width()
    assert sum(heights) == len(values)
    assert np.trapezoid(curve.get_ydata(), curve.get_xdata()) / width == pytest.approx(len(values), rel=1e-3)
    assert curve.get_xdata()[np.argmax(curve.get_ydata())] == pytest.approx(0.2, abs=0.02)
    assert line.get_xdata() == [0.2, 0.2]


def test_the_curve_falls_to_the_height_of_one_standard_error_there():
    ax = show.repeated_estimates([0.1, 0.2, 0.3], truth=0.2, se=0.1)
    x, y = ax.lines[0].get_data()
    assert np.interp(0.3, x, y) / np.interp(0.2, x, y) == pytest.approx(math.exp(-0.5), rel=1e-2)


def test_bins_hold_equally_many_of_the_values_that_counts_can_lead_to():
    """Estimates of n = 100 lie on a lattice; uneven bins would show teeth that are not there."""
    lattice = 3 * np.arange(0, 101) / 100 - 1
    ax = show.repeated_estimates(lattice, truth=0.5, se=0.14)
    heights = [bar.get_height() for bar in ax.patches][:-1]  # the last may be cut off
    assert len(set(heights)) == 1


def test_each_interval_is_the_estimates_own():
    named = {"north": DESIGN.estimate_counts([60, 40]), "south": DESIGN.estimate_counts([50, 50])}
    ax = show.estimate_intervals(named, level=0.9, method="exact")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["north", "south"]
    bars, dots = ax.lines[0::2], ax.lines[1::2]
    for estimate, bar, dot in zip(named.values(), bars, dots, strict=True):
        interval = estimate.interval(0.9, "exact")
        assert list(bar.get_xdata()) == [interval.low, interval.high]
        assert list(dot.get_xdata()) == [estimate.value]
    assert ax.get_title(loc="left") == "Estimates with 90 % intervals"


@pytest.mark.parametrize(("surveys", "names", "label"), [(20, 20, ""), (21, 0, "21 surveys")])
def test_so_many_surveys_that_no_name_could_be_read_have_none(surveys, names, label):
    ax = show.estimate_intervals([DESIGN.estimate_counts([6, 4])] * surveys)
    assert (len(ax.get_yticks()), ax.get_ylabel()) == (names, label)


def test_intervals_that_miss_the_truth_stand_out_by_more_than_colour():
    near, far = DESIGN.estimate_counts([600, 400]), DESIGN.estimate_counts([400, 600])
    ax = show.estimate_intervals([near, far], truth=0.2)
    assert ax.lines[0].get_linewidth() < ax.lines[2].get_linewidth()
    assert (ax.lines[1].get_marker(), ax.lines[3].get_marker()) == ("o", "D")
    assert ax.get_title(loc="left") == "1 of 2 intervals miss the truth"


@pytest.mark.slow
def test_the_text_of_every_cell_has_a_contrast_above_four():
    """The contrast is that between the text and the shade of its cell."""
    for share in np.linspace(0, 1, 21):
        ax = show.design_matrix(warner(p=float(share)) if share != 0.5 else DESIGN)
        shade = ax.images[0].cmap(ax.images[0].norm(ax.images[0].get_array()[0, 0]))
        assert contrast(ax.texts[0].get_color(), shade) > 4


def test_a_tick_says_where_it_stands():
    """Ticks at 17.5 % and 22.5 % were once labeled 18 % and 23 %."""
    label = show.estimate_intervals([DESIGN.estimate_counts([600, 400])], truth=0.25).xaxis.get_major_formatter()
    assert [label(place, None) for place in (0.175, 0.2, 0.225)] == ["17.5 %", "20 %", "22.5 %"]
