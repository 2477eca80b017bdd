from fractions import Fraction

import numpy as np
import pytest

from toolkit import Pure, warner
from toolkit.attacks.running import NAN, Runner, law_of, loss_of, protocol, takes_rng
from toolkit.central.laplace import Laplace


def run(mechanism, value, count=50):
    return Runner(mechanism, np.random.default_rng(1))(value, count)


def test_randomizers_releases_and_functions_are_run_alike():
    assert run(warner(p="2/3"), "yes").shape == (50, 3)
    assert run(Laplace.for_epsilon(1), 3).shape == (50, 1)
    assert run(lambda value: value + 1, 3).tolist() == [[4.0]] * 50
    assert run(lambda value, rng: value + rng.integers(0, 2), 3).mean() > 3


def test_an_array_is_one_answer_of_many_boxes():
    class Boxes:
        def randomize(self, answers, _):
            return np.asarray(answers)

    assert run(Boxes(), np.array([True, False])).tolist() == [[1.0, 0.0]] * 50


def test_packed_bytes_are_read_bit_by_bit_lowest_first():
    class Packed:
        def randomize(self, answers, _):
            return np.full((len(answers), 1), 5, dtype=np.uint8)

    assert run(Packed(), 0)[0].tolist() == [1, 0, 1, 0, 0, 0, 0, 0]


def test_labels_get_the_same_code_in_every_call():
    runner = Runner(lambda value: value, np.random.default_rng(1))
    assert np.array_equal(runner("a", 3), runner("a", 3))
    assert not np.array_equal(runner("a", 3), runner("b", 3))


def test_what_is_no_number_has_a_number_of_its_own():
    assert run(np.float64, np.nan, 2).tolist() == [[NAN], [NAN]]
    assert run(np.float64, np.inf, 1)[0, 0] != run(np.float64, -np.inf, 1)[0, 0]


def test_a_table_keeps_its_width_so_that_width_alone_tells_nothing():
    runner = Runner(lambda value: ["x"] * value, np.random.default_rng(1))
    runner.measure([1, 3])
    assert runner(1, 5).shape == runner(3, 5).shape == runner(7, 5).shape


def test_runs_are_counted_and_end_when_time_is_up():
    runner = Runner(lambda value: value, np.random.default_rng(1))
    assert len(runner(0, 10**9, seconds=0.05)) < 10**7
    assert runner.runs > 0


def test_the_law_is_told_by_designs_and_by_whatever_has_one():
    assert law_of(warner(p="2/3"), "yes") == {"no": Fraction(1, 3), "yes": Fraction(2, 3)}
    assert law_of(warner(p="2/3"), "maybe") is None
    assert law_of(Laplace.for_epsilon(1), 0) is None


def test_losses_are_read_where_there_are_any():
    assert loss_of(Laplace.for_epsilon("1/2")) == Pure("1/2")
    assert loss_of(print) is None


def test_whether_a_source_of_randomness_can_be_given_is_read_from_the_signature():
    assert takes_rng(warner(p="2/3"))
    assert takes_rng(lambda value, rng: (value, rng))
    assert not takes_rng(lambda value: value)
    with pytest.raises(TypeError, match="must have `randomize` or `release`"):
        protocol(7)
