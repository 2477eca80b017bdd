import itertools
import math

import pytest

from toolkit import Approx, Pure, compose
from toolkit.teaching import explorers
from toolkit.teaching.explorers.composition_explorer import (
    DELTAS,
    EPSILONS,
    RELEASES,
    RULES,
    composition_row,
    composition_table,
    compute_grid,
    stored_totals,
    total_epsilons,
)


@pytest.fixture
def explorer():
    return explorers.composition(52, epsilon=0.1, delta=1e-6)


@pytest.mark.parametrize(
    "setting", [(1, 0.01, 1e-10), (52, 0.1, 1e-6), (365, 2.0, 1e-4), (100, 0.3, 1e-8), (7, 0.7, 1e-5), (20, 0.05, 1e-9)]
)
def test_the_stored_totals_are_those_that_compose_finds_now(setting):
    k, epsilon, delta = setting
    fresh = [compose([Pure(epsilon)] * k, None if rule == "basic" else delta, rule).epsilon for rule in RULES]
    assert stored_totals()[setting] == pytest.approx(fresh, rel=1e-5)
    assert stored_totals()[setting] == total_epsilons(*setting)


def test_what_is_computed_afresh_has_the_order_of_what_is_stored(monkeypatch):
    monkeypatch.setattr("toolkit.teaching.explorers.composition_explorer.total_epsilons", lambda *setting: setting)
    assert compute_grid() == list(stored_totals())


def test_every_setting_is_stored_and_totals_are_monotone():
    """Totals increase with the number of releases and epsilon, and decrease with delta."""
    found = stored_totals()
    assert len(found) == len(RELEASES) * len(EPSILONS) * len(DELTAS)
    for place, grid, sign in ((0, RELEASES, 1), (1, EPSILONS, 1), (2, DELTAS, -1)):
        others = [axis for axis in (RELEASES, EPSILONS, DELTAS) if axis is not grid]
        for rule, *pair in itertools.product(range(4), *others):
            line = [sign * found[(*pair[:place], x, *pair[place:])][rule] for x in grid]
            assert line == sorted(line)


def test_the_optimal_total_is_never_above_the_other_rules():
    assert all(optimal <= min(others) * (1 + 1e-5) for *others, optimal in stored_totals().values())


def test_the_sentences_state_the_best_total_and_what_it_allows(explorer):
    """The sentences state the factor of the best total and the number of right guesses."""
    best = compose([Pure(0.1)] * 52, 1e-6).epsilon
    said = explorer.describe()
    assert f"ε\u00a0=\u00a0{math.ceil(100 * best) / 100:.2f}" in said["total"]
    assert "ε\u00a0=\u00a05.20" in said["total"]
    assert f"{math.ceil(10 * math.exp(best)) / 10:.1f}" in said["odds"]
    assert f"at most {math.ceil(100 * math.exp(best) / (1 + math.exp(best)))} come out right" in said["icons"]
    assert "may exceed its limit by 1 in 1,000,000." in said["slack"]
    assert said["odds"].startswith("Except for δ, ")


def test_one_release_shifts_the_odds_by_e_to_its_epsilon():
    assert (
        f"up to {math.ceil(100 * math.exp(0.7)) / 100:.2f} (limits are rounded up). For one"
        in explorers.composition(1, epsilon=0.7).describe()["odds"]
    )


def test_the_loss_on_the_screen_is_found_again_in_python(explorer):
    assert explorer.loss == compose([Pure(0.1)] * 52, 1e-6)
    assert isinstance(explorer.loss, Approx)
    assert explorers.composition(1, epsilon=0.5).loss.epsilon <= 0.5


@pytest.mark.slow
def test_a_setting_between_the_steps_of_the_sliders_gets_a_row_of_its_own(explorer):
    explorer.releases, explorer.epsilon, explorer.delta = 33, 0.123, 3e-6
    assert (explorer.row["releases"], explorer.row["epsilon"], explorer.row["delta"]) == (33, 0.123, 3e-6)
    assert explorer.row["cell"][:4] == total_epsilons(33, 0.123, 3e-6)
    assert explorer.describe()["total"].startswith("33 × ε\u00a0=\u00a00.123.")
    assert explorer.table is composition_table()


def test_the_curve_of_a_setting_on_the_grid_is_that_of_the_table():
    row = composition_row(52, 0.1, 1e-6)
    assert row["curve"] == composition_table()["cells"][DELTAS.index(1e-6)][EPSILONS.index(0.1)]
    assert row["cell"] == row["curve"][RELEASES.index(52)]


def test_where_nothing_is_left_to_tell_apart_the_numbers_stay_finite():
    said = explorers.composition(365, epsilon=2.0).describe()
    assert "100,000 and more" in said["odds"]
    assert "at most 100 come out right" in said["icons"]


def test_the_still_picture_marks_the_best_total(explorer):
    ax, *_ = explorer.picture().axes
    assert ax.get_xlim() == pytest.approx((0, 1.02 * 365))
    (point,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert point.get_xdata().tolist() == [52]
    assert point.get_ydata().tolist() == [min(explorer.row["cell"][:4])]
