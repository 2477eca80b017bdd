import base64
import io
import re
import subprocess
import sys
from inspect import isfunction

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from toolkit import Pure, k_ary, plan, show, warner
from toolkit.analysis import compliance_sensitivity, logistic
from toolkit.central.robust import Mean
from toolkit.central.stream import Tree
from toolkit.curator.rehearsal import ReleaseRehearsal
from toolkit.planning.split import budget_for
from toolkit.show import canvas, plots
from toolkit.teaching import breaches, explorers
from toolkit.teaching.attacks.averaging import Belief
from toolkit.teaching.attacks.linkage import UniquenessProfile
from toolkit.teaching.attacks.membership import roc

DESIGN = warner(p="2/3")
SHAPES = (1, 1), (1, 1, 1), (1, 1, 1)  # of the errors of a rehearsal
FIT = logistic("yes ~ x", {"yes": [0, 1] * 50, "x": [-1, 0, 1, 2, 0] * 20}, DESIGN)
GROUPS = logistic(
    "yes ~ x", {"yes": [0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0] * 8, "x": [0, 1, 2] * 40}, DESIGN
).goodness_of_fit()
REHEARSAL = ReleaseRehearsal("mean", ("0 to 1",), ("epsilon 1",), ("value",), *(np.ones(shape) for shape in SHAPES))
CURVE = {"one": [(1.0, 1.0), (100.0, 0.5)]}


@pytest.mark.slow
def test_a_picture_displays_as_a_sharp_png_with_alternative_text():
    """The PNG has two pixels for each point of the picture's nominal size."""
    data, metadata = show.design_matrix(DESIGN)._repr_mimebundle_()
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.width == pytest.approx(2 * metadata["image/png"]["width"], abs=2)
    assert data["text/plain"].startswith("<Picture: warner design: truth no is reported no 66.7 %")
    assert data["text/html"].startswith('<img alt="warner design: truth no is reported no 66.7 %')
    assert f"base64,{data['image/png']}" in data["text/html"]


@pytest.mark.slow
def test_the_words_of_a_picture_are_words_whatever_they_hold():
    ax = canvas.finish(canvas.axes(None), "title", '"><script>alert(1)</script>')
    assert "<script" not in ax._repr_mimebundle_()[0]["text/html"]


@pytest.mark.slow
def test_a_figure_has_the_same_bytes_each_time_and_no_date_or_version():
    """The solver of the layout rounds differently each time."""
    widgets = [explorers.mechanism("analytic", epsilon=0.1) for _ in range(3)]
    (picture,) = {widget._repr_mimebundle_()[0]["image/png"] for widget in widgets}
    assert Image.open(io.BytesIO(base64.b64decode(picture))).info.keys() <= {"dpi", "transparency"}


FIGURES = [
    lambda ax: show.design_matrix(DESIGN, ax=ax),
    lambda ax: show.posterior(DESIGN, ax=ax),
    lambda ax: show.repeated_estimates([0.1, 0.2], truth=0.1, se=0.1, ax=ax),
    lambda ax: show.estimate_intervals([DESIGN.estimate_counts([6, 4])], ax=ax),
    lambda ax: show.auditing.outcome_ratios([0, 1], [0, 1], epsilon=1, ax=ax),
    lambda ax: show.auditing.bounds_against_runs({"one": [(10, 0.5)]}, epsilon=1, ax=ax),
    lambda ax: breaches.bits_recovered(CURVE, 64, ax=ax),
    lambda ax: breaches.roc_curves({"mean": roc([3], [1])}, ax=ax),
    lambda ax: breaches.area_curves(CURVE, ax=ax),
    lambda ax: breaches.uniqueness_bars(UniquenessProfile({("zip",): 0.3}, 10), ax=ax),
    lambda ax: breaches.belief_path({"one": Belief(("no", "yes"), np.full((2, 2), 0.5))}, "yes", ax=ax),
    lambda ax: breaches.audit_bounds({}, ax=ax),
    lambda ax: show.designing.noncompliance_lines(DESIGN, 0.1, ax=ax),
    lambda ax: show.designing.option_shares(k_ary(3, epsilon=2.0).estimate_counts([5, 3, 2]), ax=ax),
    lambda ax: show.designing.options_against_k(2.0, ks=(2, 8), ax=ax),
    lambda ax: show.fits.coefficients(FIT, ax=ax),
    lambda ax: show.fits.along(FIT, "x", ax=ax),
    lambda ax: show.fits.goodness_of_fit(GROUPS, ax=ax),
    lambda ax: show.fits.residuals(FIT, rng=np.random.default_rng(1), ax=ax),
    lambda ax: show.fits.noncompliance(compliance_sensitivity(FIT, "x"), ax=ax),
    lambda ax: show.promises.output_laws({"a": {0: 1}, "b": {0: 1}}, ax=ax),
    lambda ax: show.promises.ratios({0: 1}, {0: 1}, epsilon=1, ax=ax),
    lambda ax: show.promises.belief_band(1, ax=ax),
    lambda ax: show.robust.accuracy_curves(CURVE, ax=ax),
    lambda ax: show.robust.influence_functions({"mean": Mean()}, ax=ax),
    lambda ax: show.robust.sensitivities({"median": "median"}, [1, 2], bounds=(0, 3), beta=1, ax=ax),
    lambda ax: show.robust.sensitivity_along([1, 2], bounds=(0, 3), beta=1, ax=ax),
    lambda ax: show.robust.smoothing([1, 2, 3], bounds=(0, 9), beta=1, ax=ax),
    lambda ax: show.stream.blocks(Tree(4, branches=2, levels=3), 3, ax=ax),
    lambda ax: show.stream.errors(Pure(1), max_periods=4, ax=ax),
    lambda ax: show.stream.published_totals([DESIGN.estimate_counts([6, 4])], ax=ax),
    lambda ax: show.tables.table(k_ary(3, epsilon=2.0).estimate_counts([5, 3, 2]), ax=ax),
    lambda ax: show.tradeoffs.margin_against_n(warner, 0.2, ns=(100, 200), ax=ax),
    lambda ax: show.tradeoffs.trust_models_against_n(plan(warner, prevalence=0.2, epsilon=1.0, n=50), ns=(50,), ax=ax),
    lambda ax: show.tradeoffs.equal_margins(warner, 0.2, ax=ax),
    lambda ax: show.tradeoffs.designs_at_equal_epsilon({"one": DESIGN}, 0.1, ax=ax),
    lambda ax: show.tradeoffs.guessing(DESIGN, ax=ax),
    lambda ax: show.tradeoffs.rehearsed_errors(REHEARSAL, ax=ax),
    lambda ax: show.tradeoffs.budget_split(budget_for({"one": (warner, 0.1)}, epsilon=1.0), ax=ax),
]


def test_the_list_of_figures_is_complete_and_each_says_what_all_share():
    rooms = [getattr(show, name) for name in ("auditing", "designing", "fits", "promises", "robust", "stream")]
    rooms += [show.tables, show.tradeoffs, plots, breaches]
    functions = {value for room in rooms for value in vars(room).values() if isfunction(value)}
    figures = [function for function in functions if "Axes to draw on" in (function.__doc__ or "")]
    assert len(figures) == len(FIGURES)
    assert all("\nReturns\n-------\n" in figure.__doc__ for figure in figures)


@pytest.mark.slow
def test_an_axis_of_numbers_has_a_label_and_shows_all_points():
    """Three lists of estimates or options need none; an influence function goes on beyond the picture."""
    unlabelled, cut = [], []
    for index, draw in enumerate(FIGURES):
        ax = Figure().subplots()
        draw(ax)
        for panel in ax.get_figure().axes:
            axes = {"x": panel.xaxis, "y": panel.yaxis}
            ticks = {name: "".join(text.get_text() for text in axis.get_ticklabels()) for name, axis in axes.items()}
            unlabelled += [
                (index, name)
                for name, axis in axes.items()
                if re.search(r"^[\W\d]*\d[\W\d]*$", ticks[name]) and not axis.get_label_text()
            ]
            lines = [line for line in panel.lines if line.get_transform() == panel.transData]
            points = np.concatenate([line.get_xydata() for line in lines] or [np.empty((0, 2))])
            low, high = np.sort([panel.get_xlim(), panel.get_ylim()]).T
            cut += [index] if np.any((points < low - 1e-9) | (points > high + 1e-9)) else []
    assert unlabelled == [(3, "y"), (13, "y"), (31, "y")]
    assert cut == [24]


@pytest.mark.slow
def test_a_picture_that_was_shown_is_still_laid_out_when_it_grows_a_title():
    ax = show.design_matrix(DESIGN)
    canvas.png(ax.get_figure())
    before = ax.get_position().y1
    ax.set_title("three\nmore\nlines")
    canvas.png(ax.get_figure())
    assert ax.get_position().y1 < before - 0.05


@pytest.mark.slow
def test_pictures_import_neither_pyplot_nor_scipy():
    """Nothing stays open, no backend is chosen for the reader, and MPLBACKEND does not matter; scipy, which takes a
    quarter of the time, comes when it is needed.
    """
    code = "import sys; from toolkit import show; sys.exit(bool({'matplotlib.pyplot', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_percent_drops_idle_zeros_only():
    assert [canvas.percent(x, 1) for x in (0, 0.1, 0.125, 1)] == ["0 %", "10 %", "12.5 %", "100 %"]
    assert [canvas.percent(x) for x in (0.1, 1)] == ["10 %", "100 %"]


def in_the_dark(colour):
    """What the style of a dark theme makes of a color: W3C, Filter Effects, each clamped, in sRGB."""
    pattern = r"invert\((.+?)\) hue-rotate\((.+?)deg\) brightness\((.+?)\)"
    share, degrees, factor = map(float, re.search(pattern, canvas._DARK).groups())
    inverted = np.array(to_rgb(colour)) * (1 - 2 * share) + share
    turn, grey = np.deg2rad(degrees), np.array([0.213, 0.715, 0.072])
    matrix = grey + np.cos(turn) * (np.eye(3) - grey)
    matrix += np.sin(turn) * np.array([[-0.213, -0.715, 0.928], [0.143, 0.140, -0.283], [-0.787, 0.715, 0.072]])
    return tuple(np.clip(factor * np.clip(matrix @ inverted, 0, 1), 0, 1))


def contrast(one, other):
    """The ratio of two colours' light: W3C, WCAG 2.2, contrast ratio."""

    def light(colour):
        parts = np.array(to_rgb(colour))
        return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_known_pairs():
    assert contrast("black", "white") == pytest.approx(21)
    assert contrast("#767676", "white") == pytest.approx(4.54, abs=0.005)  # WebAIM's example of just enough
    assert in_the_dark("white") == pytest.approx((0.13, 0.13, 0.13))


def test_every_colour_of_a_figure_has_contrast_in_the_dark():
    """WCAG 2.2 asks for 3 to 1; at 3.4 orange was a brown that readers took for a mistake."""
    colours = canvas.BLUE, canvas.SKY, canvas.ORANGE, canvas.VERMILLION, canvas.GREY, canvas.INK
    assert min(contrast(in_the_dark(colour), in_the_dark("white")) for colour in colours) >= 4.5


@pytest.mark.slow
@pytest.mark.parametrize("draw", FIGURES)
def test_text_on_axes_of_the_caller_has_contrast_in_both_themes(draw):
    """WCAG 2.2, level AA: 4.5 to 1. Words stand on white, or on what lies behind them."""
    figure = Figure()
    ax = figure.add_subplot()
    assert draw(ax) is ax
    assert ax.get_title(loc="left")
    figure.draw_without_rendering()
    for words in figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible() and artist.get_text()):
        ground = behind(ax, words) if ax.images and words in ax.texts else "white"
        for seen in (to_rgb, in_the_dark):
            ratio = contrast(seen(words.get_color()), seen(ground))
            assert ratio >= 4.5, (words.get_text(), to_hex(words.get_color()), seen.__name__, round(ratio, 2))


def behind(ax, words):
    """The color of the cell of a picture that words stand on."""
    (picture,) = ax.images
    across, down = (round(place) for place in words.get_position())
    return picture.cmap(picture.norm(picture.get_array()[down, across]))
