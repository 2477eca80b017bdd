from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from toolkit import Pure, k_ary, warner
from toolkit.audit import running
from toolkit.audit.running import (
    Runner,
    law_of,
    loss_of,
    named_pairs,
    pairs_for,
    protocol,
    replacements,
    shapes,
    takes_rng,
)
from toolkit.central.laplace import Laplace
from toolkit.local import numeric


def run(mechanism, value, count=50):
    return Runner(mechanism, np.random.default_rng(1))(value, count)


def test_randomizers_releases_and_functions_are_run_alike():
    assert set(run(warner(p="2/3"), "yes")) == {"no", "yes"}
    assert all(isinstance(output, float | int) for output in run(Laplace.for_epsilon(1), 3))
    assert run(lambda value: value + 1, 3) == [4] * 50
    assert set(run(lambda value, rng: value + rng.integers(0, 2), 3)) == {3, 4}


def test_of_an_estimate_its_value_is_seen():
    assert run(lambda _: warner(p="2/3").estimate_counts([50, 50]), 0, 2) == [0.5, 0.5]


def test_an_array_is_one_answer_of_many_boxes():
    class Boxes:
        def randomize(self, answers, _):
            return np.asarray(answers)

    assert [list(row) for row in run(Boxes(), np.array([True, False]))] == [[True, False]] * 50


def test_packed_bytes_are_read_bit_by_bit_lowest_first():
    class Packed:
        def randomize(self, answers, _):
            return np.full((len(answers), answers[0]), 5, dtype=np.uint8)

    assert run(Packed(), 1)[0].tolist() == [1, 0, 1, 0, 0, 0, 0, 0]
    assert run(Packed(), 80)[0].tolist() == [1, 0, 1, 0, 0, 0, 0, 0] * 64  # as far as will be looked at


def test_long_arrays_are_kept_as_far_as_they_will_be_looked_at():
    assert run(lambda _: np.zeros((100, 100)), 0, 2)[0].shape == (512,)


def test_as_many_runs_are_made_as_were_asked_for_and_all_are_counted():
    runner = Runner(warner(p="2/3"), np.random.default_rng(1))
    assert len(runner("yes", 10_001)) == 10_001
    assert runner.runs == 10_001


def test_the_pace_of_runs_is_that_of_the_fastest_try(monkeypatch):
    """The number of runs therefore does not depend on how busy the machine is.

    A millisecond a run, and each first try is held up by a busy machine.
    """
    clock, waits = [0.0], iter([9.0, 0.0, 0.0, 5.0, 7.0, 0.0])

    class Busy:
        def randomize(self, answers, _):
            clock[0] += 0.001 * len(answers) + next(waits)
            return answers

    monkeypatch.setattr(running.time, "perf_counter", lambda: clock[0])
    runner = Runner(Busy(), None)
    assert runner.seconds_per_run([0, 1], max_runs=5) == pytest.approx(0.001)
    assert runner.runs == 2 * 3 * 5


@pytest.mark.parametrize(("mechanism", "tried"), [(warner(p="2/3"), 1024), (lambda value: value, 20)])
def test_a_thousand_runs_at_once_or_twenty_one_by_one_tell_the_pace(mechanism, tried):
    runner = Runner(mechanism, np.random.default_rng(1))
    runner.seconds_per_run(["yes"], max_runs=10**6)
    assert runner.runs == 3 * tried


def test_a_function_gets_the_same_generator_in_every_run():
    """The generator is given to functions that require one.

    A fresh one for each run would be slow; one with a fixed seed would draw the same noise in every audit.
    """
    given = [rng for _, rng in Runner(lambda value, rng: (value, rng), None)(0, 3)]
    assert isinstance(given[0], np.random.Generator)
    assert given[0] is given[1] is given[2]
    other = Runner(lambda value, rng: (value, rng), None)(0, 1)[0][1]
    assert other.integers(2**62) != given[0].integers(2**62)


def test_a_function_that_can_do_without_a_generator_keeps_its_default():
    assert Runner(lambda value, rng=None: (value, rng), None)(0, 2) == [(0, None)] * 2
    own = np.random.default_rng(1)
    assert Runner(lambda value, rng=None: (value, rng), own)(0, 1)[0][1] is own
    assert Runner(lambda value, rng: (value, rng), own)(0, 1)[0][1] is own


def test_the_law_is_told_by_designs_and_by_whatever_has_one():
    assert law_of(warner(p="2/3"), "yes") == {"no": Fraction(1, 3), "yes": Fraction(2, 3)}
    assert law_of(warner(p="2/3"), "maybe") is None
    assert law_of(Laplace.for_epsilon(1), 0) is None


def test_losses_are_read_where_there_are_any():
    assert loss_of(Laplace.for_epsilon("1/2")) == Pure("1/2")
    assert loss_of(print) is None


def test_whether_a_mechanism_takes_a_generator_is_read_from_its_signature():
    """An object without a method to audit is rejected."""
    assert takes_rng(warner(p="2/3"))
    assert takes_rng(lambda value, rng: (value, rng))
    assert not takes_rng(lambda value: value)
    with pytest.raises(TypeError, match="must have `randomize` or `release`"):
        protocol(7)


def test_a_tuple_is_one_pair_and_a_list_is_many():
    assert named_pairs((0, 1)) == {"pair": (0, 1)}
    assert named_pairs([(0, 1), (2, 3)]) == {"pair 1": (0, 1), "pair 2": (2, 3)}
    assert named_pairs({"x": [0, 1]}) == {"x": (0, 1)}
    with pytest.raises(TypeError, match="must be a tuple of two inputs"):
        named_pairs(3)
    with pytest.raises(ValueError, match="must have two inputs"):
        named_pairs([(0, 1, 2)])


def test_pairs_follow_from_options_bounds_or_sensitivity():
    assert pairs_for(warner(p="2/3")) == {"no, yes": ("no", "yes")}
    for options, some in (("abcd", "abcd"), ("abcde", "abce"), ("abcdefgh", "abeh")):  # at most four
        assert list(pairs_for(k_ary([*options], epsilon=1)).values()) == list(combinations(some, 2))
    assert pairs_for(numeric.one_bit((0, 80), 1.0))["lowest, highest"] == (0.0, 80.0)
    assert pairs_for(Laplace.for_epsilon(1, sensitivity=2))["whole"] == (0, 2)
    with pytest.raises(TypeError, match="`neighbors` must be given"):
        pairs_for(print)


@pytest.mark.parametrize("size", [2, 5, 20])
def test_no_query_moves_further_than_one_person_can_move_it(size):
    for a, b in shapes(size, sensitivity=3).values():
        assert 0 < np.abs(a - b).max() <= 3


def test_a_replacement_changes_one_record_and_one_only():
    pairs = replacements([13.0, 12.0, 17.0], (10, 20), options=[np.inf])
    for a, b in pairs.values():
        assert a.tolist() == [13, 12, 17]
        assert b[1:].tolist() == [12, 17]
    first = {name: float(b[0]) for name, (_, b) in pairs.items()}
    assert first == {"lowest": 10, "highest": 20, "far above": 100_020, "far below": -99_990, "option inf": np.inf}


def test_shapes_move_answers_the_way_their_names_say():
    """In units of the reach, from a level of one."""
    moved = {name: ((b - a) / 3).tolist() for name, (a, b) in shapes(4, sensitivity=3).items()}
    assert moved == {
        "one above": [1, 0, 0, 0],
        "one below": [-1, 0, 0, 0],
        "one above, the rest below": [1, -1, -1, -1],
        "one below, the rest above": [-1, 1, 1, 1],
        "half up, half down": [-1, -1, 1, 1],
        "all above": [1] * 4,
        "all below": [-1] * 4,
        "crossed": [-1, -1, 1, 1],
    }
    assert all((a == 3).all() for name, (a, _) in shapes(4, sensitivity=3).items() if name != "crossed")
