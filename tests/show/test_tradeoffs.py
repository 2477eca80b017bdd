"""The tradeoff figures: their numbers, and their looks against small stored pictures.

To renew a picture after a wanted change, delete it from `baseline/` and run the tests once: it is drawn anew,
and the test fails.
"""

import io
import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from toolkit import forced, k_ary, kuk, triangular, unrelated, warner
from toolkit.planning.disclosure import people_at_equal_epsilon, roc, roc_limit
from toolkit.planning.planner import plan
from toolkit.planning.split import budget_for
from toolkit.show import tradeoffs

BASELINE = Path(__file__).parent / "baseline"
DIFFERENT = 40  # of 255: what fonts and smoothing may change in a shade of the small picture
PLAN = plan(warner, prevalence=0.2, margin=0.03, epsilon=1.0)
SPLIT = budget_for({"cheated": (warner, 0.1), "transport": (partial(k_ary, 4), [0.25] * 4)}, epsilon=2.0)
DESIGNS = {"unrelated": unrelated(0.7, 0.3), "die": forced("1/6", "1/3"), "cards": kuk("7/10", "3/10", draws=2)}
FIGURES = {
    "margin_against_n": lambda: tradeoffs.margin_against_n(warner, 0.2),
    "trust_models_against_n": lambda: tradeoffs.trust_models_against_n(PLAN, ns=(300, 3000, 30_000)),
    "equal_margins": lambda: tradeoffs.equal_margins(warner, 0.2),
    "designs_at_equal_epsilon": lambda: tradeoffs.designs_at_equal_epsilon(DESIGNS, 0.1),
    "guessing": lambda: tradeoffs.guessing(warner("3/4")),
    "budget_split": lambda: tradeoffs.budget_split(SPLIT),
}


def small(figure):
    """A figure as a picture of 160 pixels across in 16 shades of gray: large shapes count, hinting of fonts
    does not.
    """
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=96)
    picture = Image.open(drawn).convert("L")
    return picture.resize((160, round(160 * picture.height / picture.width)), Image.Resampling.BOX)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_looks_as_it_did(name):
    ax, stored = FIGURES[name](), BASELINE / f"{name}.png"
    assert ax.get_xlabel()
    assert ax.get_title(loc="left")
    assert len(repr(ax)) > len("<Picture: a picture>")
    picture = small(ax.get_figure())
    if not stored.exists():
        BASELINE.mkdir(exist_ok=True)
        picture.quantize(16).save(stored, optimize=True)
        pytest.fail(f"{stored.name} was not there; it is now: look at it")
    with Image.open(stored) as image:
        before = np.asarray(image.convert("L"), dtype=float)
    now = np.asarray(picture, dtype=float)
    assert now.shape == before.shape
    assert np.mean(np.abs(now - before) > DIFFERENT) < 0.004
    assert stored.stat().st_size < 6000


@pytest.mark.slow
def test_the_comparison_of_pictures_can_fail():
    """Another epsilon is another picture."""
    one, other = (
        small(tradeoffs.margin_against_n(warner, 0.2, epsilons=e).get_figure()) for e in ((0.5, 1.0), (0.5, 2.0))
    )
    assert np.mean(np.abs(np.asarray(one, dtype=float) - np.asarray(other, dtype=float)) > DIFFERENT) > 0.008


def test_the_curves_are_the_plans_margins():
    ax = tradeoffs.margin_against_n(warner, 0.2, epsilons=(1.0,), ns=(100, 1000))
    private, direct = ax.lines
    for n, local, bare in zip((100, 1000), private.get_ydata(), direct.get_ydata(), strict=True):
        found = plan(warner, prevalence=0.2, epsilon=1.0, n=n)
        assert local == pytest.approx(100 * found.margin)
        assert bare == pytest.approx(100 * found._direct_margin)


@pytest.mark.slow
def test_the_four_ways_keep_their_order_and_the_plan_is_marked():
    ax = tradeoffs.trust_models_against_n(PLAN, ns=(1000, 10_000))
    local, hidden, central, direct, mark = (line.get_ydata() for line in ax.lines)
    assert np.all(local > hidden)
    assert np.all(hidden > central)
    assert np.all(central > direct)
    assert list(mark) == [100 * PLAN.margin]


def test_the_contours_run_through_the_plans_epsilon_and_n():
    ax = tradeoffs.equal_margins(warner, 0.2, margins=(0.03,))
    assert "half a small epsilon needs about four times the people" in repr(ax)
    lines = ax.collections[0]
    points = np.vstack([path.vertices for path in lines.get_paths()])
    nearest = points[np.argmin(np.abs(points[:, 0] - 1.0))]
    assert nearest[1] == pytest.approx(
        PLAN.n * (plan(warner, prevalence=0.2, margin=0.03, epsilon=nearest[0]).n / PLAN.n), rel=0.01
    )


@pytest.mark.parametrize(("margin", "epsilon"), [(0.012, 0.7), (0.01, 1.2), (0.0055, 2.0)])
def test_the_label_of_a_contour_stands_on_it_where_few_people_are_enough(margin, epsilon):
    across, up = tradeoffs._label_position(warner, 0.2, margin, 0.95)
    assert across == epsilon
    assert np.ceil(up) == plan(warner, prevalence=0.2, margin=margin, epsilon=epsilon).n < 60_000
    assert tradeoffs._label_position(warner, 0.2, 0.5, 0.95) == (0.7, 130)  # within the picture
    assert tradeoffs._label_position(warner, 0.2, 0.001, 0.95) == (2.0, 60_000)


def test_bars_are_numbers_of_people_and_tests_lie_below_the_limit():
    """No test of a report is better than epsilon allows."""
    bars = tradeoffs.designs_at_equal_epsilon(DESIGNS, 0.1).patches
    assert [bar.get_width() for bar in bars] == [people_at_equal_epsilon(one, 0.1) for one in DESIGNS.values()]
    ax = tradeoffs.guessing(DESIGNS["die"])
    assert ax.lines[0].get_xydata() == pytest.approx(roc(DESIGNS["die"]))
    region = ax.collections[0].get_paths()[0].vertices
    limit = roc_limit(region[:, 0], DESIGNS["die"].epsilon)
    assert np.all(np.isclose(region[:, 1], limit) | np.isclose(region[:, 1], region[:, 0]))
    assert np.isclose(region[:, 1], limit).sum() > 200


def test_the_tests_of_a_design_that_proves_an_answer_have_no_region():
    ax = tradeoffs.guessing(triangular("1/4"))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["tests of one report", "guessing blindly"]


def test_neighboring_curves_differ_in_dashes_and_in_grey():
    lines = tradeoffs.margin_against_n(warner, 0.2).lines
    assert len({str(line.get_linestyle()) for line in lines}) == len(lines)
    shades = [float(np.dot(to_rgb(line.get_color()), (0.299, 0.587, 0.114))) for line in lines]
    assert all(abs(a - b) > 0.03 for a, b in itertools.pairwise(shades))


def test_parts_of_a_budget_are_its_shares():
    ax = tradeoffs.budget_split(SPLIT)
    assert [bar.get_width() for bar in ax.patches] == list(SPLIT.shares.values())
