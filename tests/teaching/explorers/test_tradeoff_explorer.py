import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import kstest, norm

from toolkit import plan, warner
from toolkit.teaching import explorers
from toolkit.teaching.explorers import tradeoff_explorer
from toolkit.teaching.explorers.tradeoff_explorer import (
    DELTA,
    EPSILONS,
    GOALS,
    PREVALENCES,
    SIZES,
    TRUST_MODELS,
    _draw_margins,
    compute_grid,
    fill_sentences,
    local_epsilon,
    people_needed,
    stored_numbers,
    tradeoff_row,
    tradeoff_table,
)

pytestmark = pytest.mark.slow  # its table is made anew by the first that asks

SETTINGS = [(0.1, 300, 0.3, 0.1), (1.0, 1000, 0.1, 0.03), (2.5, 20_000, 0.01, 0.01)]


@pytest.fixture
def explorer():
    return explorers.tradeoff(1.0, n=1000, prevalence=0.1, margin=0.03)


@pytest.mark.parametrize(("epsilon", "n", "prevalence", "goal"), SETTINGS)
def test_margins_and_people_are_those_of_the_plan(epsilon, n, prevalence, goal):
    row = tradeoff_row(epsilon, n, prevalence, goal)
    ways = {way.name: way for way in plan(warner, prevalence=prevalence, epsilon=epsilon, n=n).trust_models(DELTA)}
    people = people_needed(epsilon, prevalence, goal)
    for way in TRUST_MODELS:
        assert row["margins"][way] == pytest.approx(ways[way].margin, rel=1e-5)
        assert row["needed"][way] == people[way]
    assert row["alone"] == pytest.approx(ways["shuffled"].local_epsilon, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "n"), [(0.5, 200), (0.2, 100_000), (4.0, 7000)])
def test_what_is_kept_of_shuffling_is_what_is_computed(epsilon, n):
    assert stored_numbers()["local"][EPSILONS.index(epsilon)][SIZES.index(n)] == pytest.approx(
        local_epsilon(epsilon, n), rel=1e-9
    )


def test_what_is_computed_afresh_has_the_order_of_what_is_kept(monkeypatch):
    monkeypatch.setattr(tradeoff_explorer, "local_epsilon", lambda *setting: setting)
    monkeypatch.setattr(
        tradeoff_explorer, "people_needed", lambda *setting: {way: (way, *setting) for way in TRUST_MODELS}
    )
    fresh = compute_grid()
    assert fresh["local"] == [[(epsilon, n) for n in SIZES] for epsilon in EPSILONS]
    for way in TRUST_MODELS:
        assert fresh["needed"][way] == [
            [[(way, epsilon, x, goal) for goal in GOALS] for x in PREVALENCES] for epsilon in EPSILONS
        ]


def test_the_grid_that_is_kept_has_the_shape_of_the_grid():
    kept = stored_numbers()
    assert [len(row) for row in kept["local"]] == [len(SIZES)] * len(EPSILONS)
    for way in TRUST_MODELS:
        assert {len(cells) for row in kept["needed"][way] for cells in row} == {len(GOALS)}
        assert [len(row) for row in kept["needed"][way]] == [len(PREVALENCES)] * len(EPSILONS)


def test_hypothetical_outcomes_are_normal_errors():
    """About 95 percent of the dots lie within the margin."""
    outcomes = np.ravel(tradeoff_table()["outcomes"])
    assert kstest(outcomes, norm(scale=1 / norm.ppf(0.975)).cdf).pvalue > 0.01
    assert np.shape(tradeoff_table()["outcomes"]) == (40, len(TRUST_MODELS))


def test_each_trust_model_is_at_least_as_precise_as_the_next():
    """Each trust model needs no more people than the next, up to the precision of the search."""
    table = tradeoff_table()
    # For shuffled reports, the number of people is found to three digits; with seven people, a curator's noise may
    # require one more.
    for what, slack, more in (("margins", 1e-5, 1e-9), ("needed", 2e-3, 1)):
        flat = {way: [x for row in table[what][way] for cell in row for x in cell] for way in TRUST_MODELS}
        for before, after in (("direct", "central"), ("central", "shuffled"), ("shuffled", "local")):
            assert all(a <= b * (1 + slack) + more for a, b in zip(flat[before], flat[after], strict=True)), (
                what,
                before,
            )


def test_a_setting_between_the_steps_is_planned_afresh(explorer):
    explorer.epsilon, explorer.n = 1.11, 1234
    found = plan(warner, prevalence=0.1, epsilon=1.11, n=1234)
    assert explorer.row["margins"]["local"] == pytest.approx(found.margin, rel=1e-5)
    assert explorer.row["needed"]["local"] == plan(warner, prevalence=0.1, epsilon=1.11, margin=0.03).n
    assert explorer.plan == found


def test_the_sentences_of_the_first_setting(explorer):
    assert {name: text.replace("\u00a0", " ") for name, text in explorer.describe().items()} == {
        "margins": "95 % margins, ± points: directly 1.9; with a curator 1.9; shuffled 2.2; locally 6.2.",
        "trust": "Whom people must trust: locally, only their phone and its page, or their own die; shuffled, whoever "
        "mixes the reports (a report by itself has ε = 3.45); with a curator, the curator, who sees every answer.",
        "needed": "For ± 3 points, ask 385 people directly, 406 with a curator, 618 shuffled or 4,310 locally.",
        "order": "Where ε is small, half of it requires about four times as many people locally; a curator's noise "
        "matters less, the more people answer.",
    }


def test_a_margin_beyond_all_shares_is_told_as_100_points_or_more():
    row = tradeoff_row(0.1, 100, 0.5, 0.03)
    assert row["margins"]["local"] > 1
    assert fill_sentences({"local": "{local}"}, row) == {"local": "100 or more"}


def test_half_the_epsilon_needs_about_four_times_the_people_locally():
    needed = tradeoff_table()["needed"]["local"]
    for private, open_ in ((0.1, 0.2), (0.2, 0.4), (0.4, 0.8)):
        ratio = needed[EPSILONS.index(private)][2][2] / needed[EPSILONS.index(open_)][2][2]
        assert ratio == pytest.approx(4, rel=0.06)


@pytest.mark.parametrize("epsilon", [EPSILONS[0], 1.0, EPSILONS[-1]])
def test_in_the_picture_the_dot_of_each_way_lies_on_its_curve(epsilon):
    axes = Figure().subplots()
    _draw_margins(axes, tradeoff_table(), tradeoff_row(epsilon, 1000, 0.1, 0.03))
    for curve, dot in zip(
        axes.lines[: 2 * len(TRUST_MODELS) : 2], axes.lines[1 : 2 * len(TRUST_MODELS) : 2], strict=True
    ):
        at = list(curve.get_xdata()).index(1000)
        assert dot.get_ydata()[0] == pytest.approx(curve.get_ydata()[at], rel=1e-4)
        low, high = axes.get_ylim()
        assert (low < dot.get_ydata()[0] < high, low <= 0.15, high) == (True, True, 100)
