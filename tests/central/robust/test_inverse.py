import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from tests.work import calls
from toolkit.budget.ledger import Ledger
from toolkit.central.robust.estimators import Huber, Mean, Tukey
from toolkit.central.robust.influence import location
from toolkit.central.robust.inverse import InverseSensitivity, Quantile
from toolkit.central.robust.smooth import neighbors, tables
from toolkit.central.selection import Exponential
from toolkit.core.estimate import SIMULATED
from toolkit.core.loss import Pure, Zcdp


@pytest.mark.slow
@pytest.mark.parametrize(
    "statistic", ["median", Quantile("1/5"), Huber("3/2"), np.mean], ids=lambda one: getattr(one, "__name__", str(one))
)
@pytest.mark.parametrize("n", [4, 5])
def test_no_table_is_told_from_its_neighbors_beyond_epsilon(n: int, statistic: Any) -> None:
    """The law itself, on all tables of 5 values and all their neighbors."""
    domain = range(5)
    mechanism = InverseSensitivity.for_epsilon(1, statistic, bounds=(0, 4), step=1)
    laws = {table: mechanism.probabilities(np.array(table, dtype=float)) for table in tables(domain, n)}
    worst = max(np.abs(np.log(laws[table] / laws[near])).max() for table in laws for near in neighbors(table, domain))
    assert 0.4 < worst <= 1 + 1e-12


@pytest.mark.slow
def test_draws_follow_the_law() -> None:
    """Chi-square on 2,000 seeded draws from 9 candidates; a false alarm has probability 1e-4."""
    mechanism = InverseSensitivity.for_epsilon(1, Huber(2), bounds=(0, 8), step=1)
    rng, values = np.random.default_rng(3), [1.0, 2.0, 2.0, 7.0, 8.0]
    scores, law = -mechanism.lengths(values), mechanism.probabilities(values)
    drawn = [int(mechanism._choose_point(scores, rng)) for _ in range(2000)]
    assert chisquare(np.bincount(drawn, minlength=9), 2000 * law).pvalue > 1e-4


def test_a_tie_is_returned() -> None:
    """30 % of the values agree, the median among them: gaps of positive width could never return it."""
    values = np.concatenate([np.linspace(0, 40, 350), np.full(300, 50.0), np.linspace(60, 100, 350)])
    for statistic in ("median", Huber(10)):
        found = InverseSensitivity.for_epsilon(1, statistic, bounds=(0, 100), step=1)
        assert found.probabilities(values)[50] > 0.9


def test_missing_values_are_dropped_and_an_empty_column_is_uniform() -> None:
    """Without values, every candidate has the same probability."""
    mechanism = InverseSensitivity.for_epsilon(1, Huber(2), bounds=(0, 9), step=1)
    assert np.array_equal(mechanism.lengths([1.0, np.nan, 9.0]), mechanism.lengths([1.0, 9.0]))
    assert np.allclose(mechanism.probabilities(np.array([np.nan, np.nan])), 0.1)
    assert np.allclose(mechanism.probabilities(np.array([])), 0.1)
    assert np.isfinite(mechanism.lengths([np.inf, -np.inf, 1e308])).all()


def test_the_cut_of_a_huber_location_is_not_rounded_to_the_grid() -> None:
    """k = 1.345 on a grid of 1: where the scores cut there, and not at 1.5, add up to zero."""
    values = np.array([0.0] * 40 + [9.0] * 21 + [3.0] * 20 + [4.0] * 20)
    found = InverseSensitivity.for_epsilon(1, Huber(1.345), bounds=(0, 9), step=1).lengths(values)
    place = location(Huber(1.345), values)
    assert found[round(place)] == 0
    assert (found == 0).sum() == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("median", "median"), (Quantile("1/5"), Quantile("1/5")), (Huber(1), Huber(2)), (np.mean, np.mean)],
)
def test_lengths_are_those_of_the_same_values_in_another_unit(one: Any, other: Any) -> None:
    """In halves from -3 on, and in whole steps from 0 on: 2 (x + 3)."""
    values = np.array([-3.0, -1.2, 0.0, 0.4, 2.5, 5.8, 6.0])
    here = InverseSensitivity.for_epsilon(1, one, bounds=(-3, 6), step="1/2")
    there = InverseSensitivity.for_epsilon(1, other, bounds=(0, 18), step=1)
    assert here.lengths(values).tolist() == there.lengths(2 * (values + 3)).tolist()


def test_a_huber_location_that_cuts_nothing_has_the_lengths_of_the_mean() -> None:
    mean, huber = (InverseSensitivity.for_epsilon(1, one, bounds=(0, 2), step=1) for one in (np.mean, Huber(10**6)))
    for table in tables(range(3), 9):
        values = np.array(table, dtype=float)
        assert huber.lengths(values).tolist() == mean.lengths(values).tolist()


def test_a_missing_value_in_a_function_is_the_lower_bound() -> None:
    """A function of the column sees a missing value as the lower bound, so that n stays the same."""
    mechanism = InverseSensitivity.for_epsilon(1, np.mean, bounds=(0, 9), step=1)
    assert np.array_equal(mechanism.lengths([np.nan, 4.0, 8.0]), mechanism.lengths([0.0, 4.0, 8.0]))


@pytest.mark.slow
def test_a_huber_location_is_found_between_mean_and_median() -> None:
    """30,000 values: at epsilon 100 the release is within a step or two of the zero of the scores."""
    values = np.random.default_rng(2).lognormal(np.log(30_000), 0.75, 30_001)
    mechanism = InverseSensitivity.for_epsilon(100, Huber(20_000), bounds=(0, 10**6), step=4)
    found = float(mechanism.release(values))
    assert np.median(values) + 1000 < found < values.mean() - 1000
    assert abs(np.clip(values - found, -20_000, 20_000).mean()) < 8


def test_groups_share_epsilon_equally_and_rows_widen_the_sensitivity() -> None:
    """The sensitivity of the selection is the number of rows of a person."""
    made = InverseSensitivity.for_epsilon(1, "median", bounds=(0, 9), step=1, affected_groups=2, rows_per_person=3)
    assert made._selection == Exponential.for_epsilon("1/2", sensitivity=3)
    assert (made.loss, made.zcdp) == (Pure(1), Zcdp("1/16"))
    values = np.array([1.0, 4.0, 4.0])
    odds = np.exp(-made.lengths(values) / 12)
    assert made.probabilities(values) == pytest.approx(odds / odds.sum())
    assert f"{math.ceil(math.log(200) * 12)} rows" in made._note


def test_a_quantile_costs_an_eighth_of_epsilon_squared_in_zcdp() -> None:
    """In concentrated privacy a median is cheaper than its epsilon suggests."""
    ledger = Ledger(Zcdp(1))
    ledger.charge(InverseSensitivity.for_epsilon(1, "median", bounds=(0, 1)), neighbors="replace")
    assert ledger.spent == Zcdp("1/8")


def test_a_value_at_the_lower_bound_counts_and_a_missing_one_does_not() -> None:
    """The median of 0, 0, 0 and 7 is 0, and where 2 is the most that a distance counts their location is 2/3."""
    for statistic, place in ((Quantile("1/2"), 0), (Huber(2), 1)):
        mechanism = InverseSensitivity.for_epsilon(1, statistic, bounds=(0, 10), step=1)
        lengths = mechanism.lengths([-5.0, 0.0, 0.0, 7.0, math.nan])
        assert np.flatnonzero(lengths == 0).tolist() == [place]
        assert lengths.tolist() == mechanism.lengths([0.0, 0.0, 0.0, 7.0]).tolist()


def test_a_release_says_its_loss_and_no_error_and_the_repr_holds_no_data() -> None:
    mechanism = InverseSensitivity.for_epsilon("1/2", Huber(3), bounds=(0, 10), step=1)
    one, other = (mechanism.release(values) for values in ([1.0, 2.0, 3.0], [0.0, 0.0, 10.0]))
    assert one.loss == Pure("1/2")
    assert (one.notes, one.method, one.covers) == (other.notes, other.method, other.covers)
    assert np.isnan(one.se)
    assert one.cov.shape == (1, 1)
    assert "Huber(3) location" in one.notes[0]
    assert repr(mechanism) == "<InverseSensitivity of Huber(3) between 0 and 10; ε = 0.5>"
    drawn = mechanism.release([1.0], np.random.default_rng(1))
    assert SIMULATED in drawn.notes
    assert drawn.loss is None


def test_the_note_is_true() -> None:
    """Candidates beyond the length that is told have a probability of at most 5 %, on hard data: 20 (span + 1) of them
    at a rate of epsilon / 2.
    """
    told = InverseSensitivity.for_epsilon("1/10", "median", bounds=(0, 10), step=1)._note
    assert "it is the 0.5 quantile of a table" in told
    assert f"at most {math.ceil(math.log(20 * 11) / 0.05)} people" in told
    for values in ([], [5.0] * 3, [0.0, 10.0] * 20, np.linspace(0, 10, 500)):
        for epsilon in (0.1, 1, 5):
            mechanism = InverseSensitivity.for_epsilon(epsilon, "median", bounds=(0, 10), step="1/100")
            reach = int(mechanism._note.split("at most ")[1].split(" people")[0].replace(",", ""))
            lengths, law = mechanism.lengths(values), mechanism.probabilities(values)
            assert law[lengths > reach].sum() <= 0.05


def test_a_median_calls_no_function_for_each_value() -> None:
    """`benchmarks/central.py` has the times."""
    values = np.random.default_rng(1).lognormal(np.log(30_000), 0.75, 10**5)
    mechanism = InverseSensitivity.for_epsilon(1, "median", bounds=(0, 10**6))
    assert calls(lambda: mechanism.release(values)) < 10_000


def test_bad_arguments_are_refused_with_the_reason() -> None:
    for call, error, message in (
        (lambda: InverseSensitivity.for_epsilon(0, "median", bounds=(0, 1)), ValueError, "above 0"),
        (lambda: InverseSensitivity.for_epsilon(1, "mode", bounds=(0, 1)), TypeError, "must be a Quantile"),
        (lambda: InverseSensitivity.for_epsilon(1, Tukey(3), bounds=(0, 1)), TypeError, "a monotone"),
        (lambda: InverseSensitivity.for_epsilon(1, Mean(), bounds=(0, 1)), TypeError, "must be a Quantile"),
        (lambda: InverseSensitivity.for_epsilon(1, Huber, bounds=(0, 1)), TypeError, "must be a Quantile"),
        (lambda: InverseSensitivity.for_epsilon(1, "median", bounds=(1, 0)), ValueError, "must be below"),
        (lambda: InverseSensitivity.for_epsilon(1, "median", bounds=None), ValueError, "two finite numbers"),
        (lambda: Quantile(2), ValueError, "between 0 and 1"),
        (lambda: Huber(0), ValueError, "`k` must be above 0"),
    ):
        with pytest.raises(error, match=message):
            call()
