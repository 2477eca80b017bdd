import numpy as np
import pytest

from toolkit.attacks.audit.events import _excess, _promise, _wilson, cells, cut, search


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
    assert event.feature in ("entry 0 less entry 1", "the likelihood of all entries", "the place of the largest entry")
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


def test_what_lies_beyond_everything_that_the_other_input_gave_is_found_though_it_is_rare():
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
        assert len({(event.feature, event.chosen.tobytes()) for event in events}) == len(events)


@pytest.mark.parametrize("column", [np.arange(10.0).repeat(5), np.random.default_rng(1).normal(size=5000)])
def test_cells_cover_everything_and_none_is_crowded_without_need(column):
    edges = cut(column[::2], column[1::2])
    counts = np.bincount(cells(column, edges), minlength=len(edges) + 1)
    assert counts.sum() == len(column)
    assert counts.max() <= max(5, len(column) / 50)
    few = np.unique(column[:1024])
    assert cut(few, few).tolist() == few.tolist()  # each value its own


def test_cells_become_ever_rarer_in_the_tails():
    column = np.random.default_rng(1).normal(size=50_000)
    edges = cut(column, column + 0.5)
    counts = np.bincount(cells(np.concatenate([column, column + 0.5]), edges), minlength=len(edges) + 1)
    outermost = counts[counts > 0][[0, 1, 2, -3, -2, -1]]
    assert outermost.max() < 30


def test_a_frequent_value_has_a_cell_of_its_own():
    column = np.concatenate([np.random.default_rng(1).normal(size=5000), np.full(500, 0.25)])
    edges = cut(column[::2], column[1::2])
    inside = column[cells(column, edges) == cells(np.array([0.25]), edges)[0]]
    assert np.all(inside == 0.25)


def test_a_share_some_standard_errors_away_is_wilsons():
    """It is the p with p - count / n = z sqrt(p (1 - p) / n), the textbook's definition of a score interval."""
    for n, z in ((10, -4.0), (10, 4.0), (1000, -1.5), (1000, 1.5)):
        count = np.array([0, 1, n // 3, n - 1, n])
        p = _wilson(count, n, z)
        np.testing.assert_allclose(p - count / n, z * np.sqrt(np.maximum(p * (1 - p), 0) / n), atol=1e-9)


def test_promise_and_excess_are_those_of_shares_that_are_four_and_one_and_a_half_standard_errors_away():
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
    way, end = event.words.removeprefix("the output ").rsplit(" ", 1)
    told = {"at least": values >= float(end), "below": values < float(end)}[way]
    assert [event.count(value[None]) for value in values] == told[:, 0].tolist()
    assert told.any()
    assert not told.all()
