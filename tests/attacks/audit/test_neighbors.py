import numpy as np
import pytest

from toolkit import k_ary, warner
from toolkit.attacks.audit.running import named_pairs, pairs_for, replacements, shapes
from toolkit.central.laplace import Laplace
from toolkit.local import numeric


def test_a_tuple_is_one_pair_and_a_list_is_many():
    assert named_pairs((0, 1)) == {"pair": (0, 1)}
    assert named_pairs([(0, 1), (2, 3)]) == {"pair 1": (0, 1), "pair 2": (2, 3)}
    assert named_pairs({"x": [0, 1]}) == {"x": (0, 1)}
    with pytest.raises(TypeError, match="two inputs in a tuple"):
        named_pairs(3)
    with pytest.raises(ValueError, match="must be two inputs"):
        named_pairs([(0, 1, 2)])


def test_pairs_follow_from_options_bounds_or_sensitivity():
    assert pairs_for(warner(p="2/3")) == {"no, yes": ("no", "yes")}
    assert len(pairs_for(k_ary([*"abcdefgh"], epsilon=1))) == 6
    assert pairs_for(numeric.one_bit((0, 80), 1.0))["lowest, highest"] == (0.0, 80.0)
    assert pairs_for(Laplace.for_epsilon(1, sensitivity=2))["whole"] == (0, 2)
    with pytest.raises(TypeError, match="`neighbors` must be given"):
        pairs_for(print)


@pytest.mark.parametrize("size", [2, 5, 20])
def test_no_query_moves_further_than_one_person_can_move_it(size):
    for a, b in shapes(size, reach=3).values():
        assert 0 < np.abs(a - b).max() <= 3


def test_a_replacement_changes_one_record_and_one_only():
    for a, b in replacements([1.0, 2.0, 3.0], (0, 10)).values():
        assert np.array_equal(a[1:], b[1:])
        assert a[0] != b[0]


def test_shapes_move_answers_the_way_their_names_say():
    """In units of the reach, from a level of one."""
    moved = {name: ((b - a) / 3).tolist() for name, (a, b) in shapes(4, reach=3).items()}
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
    assert all((a == 3).all() for name, (a, _) in shapes(4, reach=3).items() if name != "crossed")
