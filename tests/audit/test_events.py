import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from toolkit.audit.events import (
    Event,
    _excess,
    _logistic,
    _promise,
    _select_best,
    _wilson,
    cell_edges,
    cell_indices,
    event_edges,
    fingerprint,
    iterate_features,
)
from toolkit.audit.events import search as search_by_name


def search(first, second, target=(np.inf, 0.0), last_bits=True):
    names = ["the output"] if first.shape[1] == 1 else [f"entry {i}" for i in range(first.shape[1])]
    return search_by_name(first, second, names, target=target, last_bits=last_bits)


def found(first, second, **options):
    return search(first, second, **options)[0][0]


def test_a_shifted_number_is_told_by_a_tail():
    rng = np.random.default_rng(1)
    event = found(rng.normal(3, 1, (4000, 1)), rng.normal(0, 1, (4000, 1)))
    assert event.feature == "the output"
    assert event.count(np.array([[9.0], [-9.0]])) == 1


def test_two_numbers_with_one_noise_are_told_by_their_difference():
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 5, (4000, 1)).repeat(2, axis=1)
    moved = noise + np.array([0, 1])
    event = found(moved, noise, last_bits=False)
    assert event.feature in ("entry 0 minus entry 1", "the likelihood of all entries", "the index of the largest entry")
    assert event.count(moved) > 3900
    assert event.count(noise) < 100


def test_a_rare_value_that_only_one_input_gives_is_found():
    rng = np.random.default_rng(1)
    first, second = (rng.integers(0, 1000, (6000, 1)).astype(float), rng.integers(0, 1000, (6000, 1)).astype(float))
    first[:300] = 17.5
    event = found(rng.permuted(first, axis=0), second)
    assert event.count(np.array([[17.5]])) == 1
    assert event.promise > 1


def test_many_weak_entries_are_added_up():
    rng = np.random.default_rng(1)
    first, second = (rng.random((4000, 30)) < share for share in (0.6, 0.4))
    event = found(first.astype(float), second.astype(float))
    assert event.feature in ("the likelihood of all entries", "the sum of the entries")
    assert event.promise > 3


def test_the_last_bits_give_away_which_float_was_added():
    """Haney et al. (2022): a sum of 1 and noise that falls near 0 is a multiple of 2**-53; noise itself is finer."""
    rng = np.random.default_rng(1)
    near = rng.random((5000, 1)) / 8
    event = found(near, (1 + near) - 1)
    assert event.feature == "the last bits of the output"
    assert event.count(near) > 3000
    assert event.count((1 + near) - 1) == 0
    assert found(near, (1 + near) - 1, last_bits=False).promise < 1


def test_equal_laws_promise_nothing():
    rng = np.random.default_rng(1)
    there, back = search(rng.normal(size=(4000, 5)), rng.normal(size=(4000, 5)))
    assert max(event.promise for event in there + back) < 0.02


def test_rare_outputs_beyond_the_range_of_the_other_input_are_found():
    """Noise cut off at six scales: 0.34 % of the outputs on one input are impossible on the other."""
    rng = np.random.default_rng(1)
    first, second = (shift + np.clip(rng.laplace(size=(40_000, 1)), -6, 6) for shift in (1, 0))
    there, _ = search(first, second, target=(1.0, 0.0), last_bits=False)
    best = max(there, key=lambda event: event.excess)
    assert best.count(np.array([[6.5], [7.0]])) == 2
    assert best.excess > 2
    assert max(event.promise for event in there) < 1  # the cautious measure alone would not have kept it


def test_what_only_both_entries_together_tell_is_found():
    """Each entry is a fair coin on either input; that they agree tells."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, (4000, 2)).astype(float)
    second = np.column_stack([first[:, 0], np.where(rng.random(4000) < 0.2, 1 - first[:, 0], first[:, 0])])
    there, _ = search(first, second, target=(0.5, 0.0))
    assert max(event.promise for event in there) > 0.6


def test_events_are_the_best_by_promise_and_by_excess_and_none_comes_twice():
    rng = np.random.default_rng(1)
    there, back = search(rng.normal(1, 1, (4000, 4)), rng.normal(0, 1, (4000, 4)), target=(1.0, 0.0))
    for events in (there, back):
        assert 1 <= len(events) <= 6
        assert len({(event.feature, event.is_selected.tobytes()) for event in events}) == len(events)


@pytest.mark.parametrize("column", [np.arange(10.0).repeat(5), np.random.default_rng(1).normal(size=5000)])
def test_cells_cover_everything_and_none_is_crowded_without_need(column):
    edges = event_edges(column[::2], column[1::2])
    counts = np.bincount(cell_indices(column, edges), minlength=len(edges) + 1)
    assert counts.sum() == len(column)
    assert counts.max() <= max(5, len(column) / 50)
    few = np.unique(column[:1024])
    assert event_edges(few, few).tolist() == few.tolist()  # each value its own
    assert [len(event_edges(np.arange(n), np.arange(n))) for n in (1024.0, 1025.0)] == [1024, 63 + 2 * 3 + 2]


def test_there_are_64_cells_of_equal_shares_and_finer_tails() -> None:
    """The tails are halved down to four runs.

    Of 2**15 runs: 63 edges between, shares of 2**-7 to 2**-13 on either side, and where each input begins and
    ends.
    """
    edges, runs = event_edges(np.arange(0.0, 2**15, 2), np.arange(1.0, 2**15, 2)), np.arange(2.0**15)
    sizes = np.bincount(cell_indices(runs, edges), minlength=len(edges) + 1)
    assert len(edges) == 63 + 2 * 7 + 4
    assert sorted(sizes)[-62:] == [512] * 62


def test_cells_become_ever_rarer_in_the_tails():
    column = np.random.default_rng(1).normal(size=50_000)
    edges = event_edges(column, column + 0.5)
    counts = np.bincount(cell_indices(np.concatenate([column, column + 0.5]), edges), minlength=len(edges) + 1)
    outermost = counts[counts > 0][[0, 1, 2, -3, -2, -1]]
    assert outermost.max() < 30


def test_a_frequent_value_has_a_cell_of_its_own():
    column = np.concatenate([np.random.default_rng(1).normal(size=5000), np.full(500, 0.25)])
    edges = event_edges(column[::2], column[1::2])
    inside = column[cell_indices(column, edges) == cell_indices(np.array([0.25]), edges)[0]]
    assert np.all(inside == 0.25)


def test_a_share_some_standard_errors_away_is_wilsons():
    """It is the p with p - count / n = z sqrt(p (1 - p) / n), the textbook's definition of a score interval."""
    for n, z in ((10, -4.0), (10, 4.0), (1000, -1.5), (1000, 1.5)):
        count = np.array([0, 1, n // 3, n - 1, n])
        p = _wilson(count, n, z)
        np.testing.assert_allclose(p - count / n, z * np.sqrt(np.maximum(p * (1 - p), 0) / n), atol=1e-9)


def test_promise_and_excess_use_limits_of_4_and_1_5_standard_errors():
    """The promise uses shares that are four standard errors away, and the excess one and a half."""
    seen, n, other, m = np.array([500, 900]), 1000, np.array([100, 5]), 800
    for delta in (0.0, 0.2):
        low, high = _wilson(seen, n, -4.0), _wilson(other, m, 4.0)
        np.testing.assert_allclose(_promise(seen, n, other, m, delta), np.log((low - delta) / high))
        low, high = _wilson(seen, n, -1.5), _wilson(other, m, 1.5)
        error = np.sqrt(low * (1 - low) / n + np.e**2 * high / m)
        np.testing.assert_allclose(_excess(seen, n, other, m, (1.0, delta)), (low - delta - np.e * high) / error)
    assert _promise(np.array([0]), n, np.array([0]), m, 0.0) == -np.inf


@pytest.mark.parametrize("shift", [-2, 2])
def test_the_words_of_a_tail_say_what_is_counted(shift):
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 9, (4000, 1)) + float(shift), rng.integers(0, 9, (4000, 1)).astype(float)
    (event, *_), _ = search(first, second)
    values = np.arange(-5.0, 15.0)[:, None]
    way, end = event.description.removeprefix("the output ").rsplit(" ", 1)
    told = {"at least": values >= float(end), "below": values < float(end)}[way]
    assert [event.count(value[None]) for value in values] == told[:, 0].tolist()
    assert told.any()
    assert not told.all()


def looks(first, second, last_bits=True):
    return dict(iterate_features(first, second, ["a", "b", "c"], last_bits=last_bits))


def test_columns_that_never_vary_are_not_looked_at():
    rng = np.random.default_rng(1)
    table = np.column_stack([np.full(100, 7.0), rng.integers(0, 2, 100), np.full(100, 8e307)])
    assert list(looks(table, table)) == ["b"]
    assert list(looks(np.ones((5, 3)), np.ones((5, 3)))) == ["a"]


def test_last_bits_are_looked_at_where_there_are_fractions_or_minus_zero():
    whole = np.arange(6.0).reshape(6, 1) @ np.ones((1, 3))
    assert not any("bits" in name for name in looks(whole, whole))
    assert "the last bits of a" in looks(whole + 0.1, whole)
    assert "the last bits of a" not in looks(whole + 0.1, whole, last_bits=False)
    signed = looks(whole * -1.0, whole)["the last bits of a"]
    assert signed(np.array([[-0.0]])) != signed(np.array([[0.0]]))


def test_last_bits_are_the_same_where_the_lowest_and_the_highest_bit_are():
    """Of halves and less, each with its bits set down to every place."""
    values = [sign * 2.0**high * (1 + 2.0**-low) for sign in (1, -1) for high in range(-6, 7) for low in range(1, 53)]
    table = np.array([[value, 0.5, 0.5] for value in values])
    bits = looks(table, table)["the last bits of a"](table)
    places = []
    for value in values:
        exact = Fraction(abs(value))
        lowest = (exact.numerator & -exact.numerator).bit_length() - exact.denominator.bit_length()
        places.append((lowest, math.frexp(value)[1]))
    pairs = set(zip(places, bits.tolist(), strict=True))
    assert len(pairs) == len(set(places)) == len(set(bits.tolist())) == 13 * 52


def test_the_fingerprint_is_the_same_for_the_same_row_and_no_other():
    """2,000 rows of small whole numbers, whose bits differ at the top only; by chance two coincide with
    probability 2e-10.
    """
    rows = np.unique(np.random.default_rng(1).integers(-3, 4, (3000, 5)).astype(float), axis=0)[:2000]
    prints = fingerprint(rows)
    assert len(np.unique(prints)) == len(rows) == 2000
    assert np.array_equal(fingerprint(rows[::-1])[::-1], prints)
    assert np.array_equal(fingerprint(rows * 1.0), prints)
    assert fingerprint(np.array([[-0.0, 1.0]])) == fingerprint(np.array([[0.0, 1.0]]))
    assert fingerprint(np.array([[1.0, 0.0]])) != fingerprint(np.array([[0.0, 1.0]]))
    assert np.all((prints >= 0) & (prints < 2.0**53) & (prints == np.floor(prints)))


def test_the_likelihood_allows_for_entries_that_say_the_same():
    """Three copies of a weak entry count once: the event of an independent, stronger fourth is not drowned."""
    rng = np.random.default_rng(1)

    def drawn(shift):
        weak, strong = rng.normal(0.3 * shift, 1, 20_000), rng.normal(0.6 * shift, 1, 20_000)
        return np.column_stack([weak, weak, weak, strong])

    first, second = drawn(1), drawn(0)
    column = dict(iterate_features(first, second, [*"abcd"], last_bits=True))["the likelihood of all entries"]
    a, b = column(drawn(1)), column(drawn(0))
    best = [0.3 * rng.normal(0.3 * shift, 1, 20_000) + 0.6 * rng.normal(0.6 * shift, 1, 20_000) for shift in (1, 0)]

    def seen(one, other):
        """How often the first exceeds the second: the area under the curve of all tails."""
        ranks = np.argsort(np.argsort(np.concatenate([one, other])))
        return (ranks[: len(one)].sum() - len(one) * (len(one) - 1) / 2) / len(one) / len(other)

    assert seen(a, b) > seen(*best) - 0.01
    few = first[:300], second[:300]
    one, other = (dict(iterate_features(*pair, [*"abcd"], last_bits=True)) for pair in (few, few[::-1]))
    told, turned = (columns["the likelihood of all entries"](first[:9]) for columns in (one, other))
    np.testing.assert_allclose(turned, -told, atol=1e-8)


def test_shares_are_even_where_values_are_many():
    assert cell_edges(np.array([1.0, 2.0, 2.0]), 2).tolist() == [1.0, 2.0]
    counts = np.bincount(np.searchsorted(cell_edges(np.arange(1200.0), 6), np.arange(1200.0), side="right"))
    assert counts.tolist() == pytest.approx([200] * 6, abs=1)


def test_weights_are_those_of_logistic_regression_shrunk_towards_one():
    """The penalty is on the squared distance of each weight from one.

    Of two entries, one of which says too much and the other too little.
    """
    rng = np.random.default_rng(1)
    ratios = rng.normal(size=(400, 2))
    is_first = rng.random(400) < 1 / (1 + np.exp(-ratios @ [0.3, 1.8]))

    def loss(w):
        return np.logaddexp(0, np.where(is_first, -1, 1) * (ratios @ w)).sum() + 5 * ((w - 1) ** 2).sum()

    assert _logistic(ratios, is_first) == pytest.approx(minimize(loss, np.ones(2)).x, abs=1e-4)


def test_every_way_to_look_at_several_entries_is_what_its_name_says() -> None:
    first, second = np.array([[3.0, 1.0, 7.0], [4.0, 1.0, 5.0]]), np.array([[9.0, 2.0, 6.0]])
    table = np.concatenate([first, second])
    seen = {name: column(table).tolist() for name, column in looks(first, second).items()}
    expected = {
        **{name: table[:, i].tolist() for i, name in enumerate("abc")},
        "a minus b": [2, 3, 7],
        "b minus c": [-6, -4, -4],
        "the sum of the entries": [11, 10, 17],
        "the largest entry": [7, 5, 9],
        "the smallest entry": [1, 1, 2],
        "the index of the largest entry": [2, 2, 0],
        "the index of the smallest entry": [1, 1, 1],
    }
    assert {name: seen[name] for name in expected} == expected
    pairs = np.array([(i, j, i + j) for i in range(4) for j in range(3)], dtype=float)
    together = looks(pairs, pairs)["a and b together"](pairs)
    assert len(set(together.tolist())) == len(pairs)
    for entries, expected in ((7, 21), (8, 7)):  # all pairs of up to seven, else those that stand beside each other
        many = np.random.default_rng(1).integers(0, 9, (50, entries)).astype(float)
        names = [name for name, _ in iterate_features(many, many, [*"abcdefgh"], last_bits=True)]
        assert sum(name.endswith(" together") for name in names) == expected + 1  # and all of them
    wide = np.random.default_rng(1).random((3, 70))
    names = [name for name, _ in iterate_features(wide, wide, [f"{i}" for i in range(70)], last_bits=True)]
    assert [*range(64)] == [int(name) for name in names if name.isdigit()]
    assert sum(name.startswith("the last bits of ") for name in names) == 8


def test_the_three_best_features_by_each_measure_are_kept():
    """Of each feature the best event only; an event that is good by both measures is kept once."""

    def event(feature: str, promise: float, excess: float) -> Event:
        return Event(feature, lambda table: table[:, 0], np.zeros(1), np.ones(2, bool), feature, promise, excess)

    events = [event("abcdef"[i], 6.0 - i, float(i)) for i in range(6)] + [event("a", 5.5, 0.5)]
    kept = [(found.feature, found.promise) for found in _select_best(events)]
    assert kept == [("a", 6.0), ("b", 5.0), ("c", 4.0), ("f", 1.0), ("e", 2.0), ("d", 3.0)]
