import numpy as np
import pytest

from tests.slowly import each, slowly
from tests.survey.samples import DESIGNS
from toolkit import warner
from toolkit.core.randomness import integer_drawer
from toolkit.local import oracles


def test_a_designs_report_is_its_map_of_one_draw():
    design, given = warner(p="3/4"), []

    def draw(bound):
        given.append(bound)
        return 3

    assert design._draw_report(0, draw) == 1
    assert given == [design.denominator]


def test_draws_are_uniform_below_any_bound():
    """Without a generator, the draws come from the operating system."""
    draw = integer_drawer(np.random.default_rng(1))
    assert {draw(3) for _ in range(60)} == {0, 1, 2}
    assert 0 <= integer_drawer()(2**70) < 2**70
    assert len({integer_drawer()(2**64) for _ in range(5)}) == 5


def test_the_estimate_from_what_was_sent_is_that_of_the_counts():
    assert (
        warner(p="3/4")._estimate_from_raw_reports([1] * 40 + [0] * 60).value
        == warner(p="3/4").estimate_counts([60, 40]).value
    )


@pytest.mark.parametrize("name", slowly(DESIGNS, {"square_wave"}))
def test_reports_with_how_often_each_came_are_estimated_as_if_written_out(name):
    """Every kind of randomizer; some reports occur twice in the list."""
    randomizer, draw = DESIGNS[name], integer_drawer(np.random.default_rng(3))
    truth = [0] if randomizer.answer_kind == "ticks" else 1
    kinds = [randomizer._draw_report(truth, draw) for _ in range(40)]
    times = [1 + number % 5 for number in range(40)]
    short = randomizer._estimate_from_raw_reports(kinds, times)
    long = randomizer._estimate_from_raw_reports(
        [kind for kind, count in zip(kinds, times, strict=True) for _ in range(count)]
    )
    assert short.n == long.n == sum(times)
    for one, other in ((short.value, long.value), (short.se, long.se), (short.cov, long.cov)):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-15, equal_nan=True)
    assert np.allclose(short.interval().low, long.interval().low, equal_nan=True)


@each(times=[[1], [1, -1], [0, 0], [1, 1.5], [2**53, 2**53]], name=DESIGNS)
def test_how_often_each_report_came_must_be_counts_of_each(name, times):
    randomizer, draw = DESIGNS[name], integer_drawer(np.random.default_rng(3))
    kinds = [randomizer._draw_report([0] if randomizer.answer_kind == "ticks" else 1, draw) for _ in range(2)]
    with pytest.raises((ValueError, TypeError), match=r"`(counts|times)` must"):
        randomizer._estimate_from_raw_reports(kinds, times)


@pytest.mark.parametrize("name", ["local_hash", "unary", "capped_boxes"])
def test_multiplicities_stay_with_their_reports_when_work_is_chunked(name, monkeypatch):
    """Each report keeps its number of occurrences when the estimate is computed in chunks.

    Chunks have 16 reports instead of many thousands, and the numbers differ between chunks.
    """
    randomizer, draw = DESIGNS[name], integer_drawer(np.random.default_rng(3))
    kinds = [randomizer._draw_report([0] if randomizer.answer_kind == "ticks" else 1, draw) for _ in range(60)]
    times = [1 + number // 10 for number in range(60)]
    whole = randomizer._estimate_from_raw_reports(kinds, times)
    monkeypatch.setattr(oracles.hashing, "CHUNK", 64)
    monkeypatch.setattr(oracles.bits, "rows_per_chunk", lambda _: 16)
    pieces = randomizer._estimate_from_raw_reports(kinds, times)
    assert pieces.n == whole.n == sum(times)
    assert np.array_equal(pieces.value, whole.value)
    assert np.allclose(pieces.cov, whole.cov, rtol=1e-12, atol=1e-15)
