import numpy as np
import pytest

from toolkit import k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.local.sending import drawer, estimate_sent, one_report

KINDS = {
    "design": (k_ary(["a", "b", "c"], epsilon=1.0), 2),
    "set": (oracles.subset(12, 1.0), 3),
    "set of one": (oracles.subset(4, 2.0), 3),
    "boxes": (oracles.tick_boxes(["x", "y", "z"], 1.0), [0, 2]),
    "bit": (numeric.one_bit((0, 80), 1.0), 5),
    "long budget": (numeric.local_laplace((0, 80), np.log(3)), 5),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_report_is_one_that_the_randomizer_accepts_and_can_be_estimated_from(kind):
    randomizer, truth = KINDS[kind]
    draw = drawer(np.random.default_rng(2))
    reports = [one_report(randomizer, truth, draw) for _ in range(60)]
    assert all(randomizer.accepts(report) for report in reports)
    assert estimate_sent(randomizer, reports).n == 60


def test_a_designs_report_is_its_map_of_one_draw():
    design, given = warner(p="3/4"), []

    def draw(bound):
        given.append(bound)
        return 3

    assert one_report(design, 0, draw) == design.report(0, 3) == 1
    assert given == [design.denominator]


def test_draws_are_even_below_any_bound_and_come_from_the_system_without_a_generator():
    draw = drawer(np.random.default_rng(1))
    assert {draw(3) for _ in range(60)} == {0, 1, 2}
    assert 0 <= drawer()(2**70) < 2**70
    assert len({drawer()(2**64) for _ in range(5)}) == 5


def test_the_estimate_from_what_was_sent_is_that_of_the_counts():
    assert estimate_sent(warner(p="3/4"), [1] * 40 + [0] * 60).value == warner(p="3/4").estimate_counts([60, 40]).value
