import copy
import itertools
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from tests.central.stream.noises import published
from tests.recorder import recorded
from tests.slowly import each
from toolkit.central.stream import RunningTotal, SquareRoot, Tree
from toolkit.core.loss import Approx, Pure, Zcdp

MAKERS: dict[str, Callable[..., RunningTotal]] = {
    "fresh": lambda **more: RunningTotal(Pure(1), 4, factorization=Tree(4), **more),
    "tree": lambda **more: RunningTotal(Pure(1), 4, factorization=Tree(4, 2, 2), **more),
    "deep tree": lambda **more: RunningTotal(Pure(1), 4, factorization=Tree(4, 2, 3), **more),
    "fresh, window": lambda **more: RunningTotal(Pure(1), 4, window=2, **more),
    "gaussian tree": lambda **more: RunningTotal(Zcdp(1), 4, factorization=Tree(4, 2, 2), **more),
    "root": lambda **more: RunningTotal(Zcdp(1), 4, **more),
    "root, window": lambda **more: RunningTotal(Zcdp(1), 4, window=2, **more),
}


def test_it_is_used_as_the_documentation_says() -> None:
    total = RunningTotal.for_epsilon(1.0, periods=52)
    estimate = total.add(17)
    assert (total.loss, total.period, estimate.loss) == (Pure(1.0), 1, Pure(1.0))
    assert estimate.labels == ("total after 1 of 52 periods",)
    assert estimate.se == pytest.approx(total.sd[0])
    assert estimate.cov.tolist() == [[estimate.se**2]]
    assert isinstance(estimate.value, int)
    low, high = estimate.interval()
    assert low < estimate.value < high
    assert RunningTotal.for_rho(0.5, periods=52).loss == Zcdp(0.5)


def test_an_approximate_loss_uses_the_largest_zcdp_loss_within_it() -> None:
    """The noise of a running total with epsilon and delta is that of the largest concentrated loss within them."""
    total, inside = RunningTotal.for_loss(1, 1e-6, periods=52), Zcdp.within(Approx(1, 1e-6))
    assert (total.loss, total.zcdp) == (Approx(1, 1e-6), inside)
    assert inside <= Approx(1, 1e-6)
    assert total.sd.tolist() == RunningTotal(inside, 52).sd.tolist()
    assert total.add(3).loss == Approx(1, 1e-6)
    assert RunningTotal.for_epsilon(1, periods=3).zcdp is None
    assert RunningTotal.for_rho(1, periods=3).zcdp == Zcdp(1)


def test_the_period_after_the_last_is_refused() -> None:
    total = RunningTotal.for_epsilon(1, periods=2)
    total.add(1), total.add(2)
    message = (
        "a running total ends with its last period, 2, got period 3: its loss covers these periods "
        "only; a new total has its own loss."
    )
    with pytest.raises(RuntimeError) as error:
        total.add(3)
    assert str(error.value) == message
    assert total.period == 2


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_published_depends_on_noisy_numbers_alone(name: str) -> None:
    """For each place of one more record there is noise that gives the same noisy numbers, and with them every
    published number is the same: nothing else of the data comes out. The noise differs by what is claimed.
    """
    make = MAKERS[name]
    counts, way = [5, 0, 2, 7], make().factorization
    first, noisy = published(make, counts)
    flat = [number for row in noisy for number in row]
    for place in range(4):
        more = [count + (place == period) for period, count in enumerate(counts)]
        other = [number for row in published(make, more)[1] for number in row]
        shift = [a - b for a, b in zip(flat, other, strict=True)]
        assert published(make, more, shift)[0] == first
        assert sum(map(abs, shift)) <= way.l1_sensitivity() * way._unit
        assert sum(move**2 for move in shift) <= way._l2_squared() * way._unit**2


@pytest.mark.parametrize("name", ["fresh", "tree", "deep tree"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_the_loss_is_the_worst_ratio_by_enumeration(name: str, neighbors: str) -> None:
    """All noisy numbers within two of the truth, all neighbors: the largest log ratio is epsilon, or below
    it by what a record cannot use; under "replace" a record may move to any other period.
    """
    total = MAKERS[name](neighbors=neighbors)
    way, scale = total.factorization, float(total._noise.scale)
    counts, worst = [1, 2, 0, 1], 0.0
    others = [[c + (i == place) for i, c in enumerate(counts)] for place in range(4)]
    if neighbors == "replace":
        others = [
            [c + (i == to) - (i == start) for i, c in enumerate(counts)]
            for start, to in itertools.permutations(range(4), 2)
        ]
    base = _exact(way, counts)
    for changed in others:
        moved = _exact(way, changed)
        each = [
            [(abs(v - b) - abs(v - a)) / scale for v in range(a - 2, a + 3)] for a, b in zip(base, moved, strict=True)
        ]
        # The noise is independent, so that the worst of all joint outcomes is the sum of the worst of each.
        worst = max(worst, sum(map(max, each)), -sum(map(min, each)))
    assert worst <= 1 + 1e-12
    # Of four periods under one block of all, a record that moves leaves that block as it is.
    assert worst == pytest.approx(2 / 3 if (name, neighbors) == ("deep tree", "replace") else 1.0)


def _exact(way: Tree, counts: list[int]) -> list[int]:
    return [number for period in range(1, 5) for number in way.encode(counts[:period])]


def test_the_law_of_a_tiny_stream_is_the_claimed_one_by_enumeration() -> None:
    """Three periods, tree of two levels, all noise from -1 to 1: the probability of every published triple
    changes by a factor of at most e**epsilon when one record comes or goes, in whatever period.
    """
    laws = []
    for place in (None, 0, 1, 2):
        counts = [int(place == period) for period in range(3)]
        law: dict[tuple, float] = {}
        for noise in itertools.product(range(-1, 2), repeat=4):
            made = published(lambda: RunningTotal(Pure(2), 3, factorization=Tree(3, 2, 2)), counts, noise)
            noisy = tuple(number for row in made[1] for number in row)
            law[noisy] = math.exp(-sum(map(abs, noise)) / 1.0)  # levels / epsilon = 1
        laws.append(law)
    for other in laws[1:]:
        common = set(laws[0]) & set(other)
        ratios = [abs(math.log(laws[0][outcome] / other[outcome])) for outcome in common]
        assert common
        assert max(ratios) <= 2 + 1e-9
    assert max(ratios) == pytest.approx(1.0)  # period 3 lies in no block that is complete
    assert RunningTotal(Pure(2), 3, factorization=Tree(3, 2, 2))._noise.scale == Fraction(1)


@pytest.mark.parametrize("name", MAKERS)
def test_late_data_change_nothing_that_is_over(name: str) -> None:
    """The same noise with and without a record that arrives in the third period."""
    noise = list(range(1, 12))
    before, after = (published(MAKERS[name], counts, noise) for counts in ([5, 0, 2, 7], [5, 0, 3, 7]))
    assert before[0][:2] == after[0][:2]
    assert before[1][:2] == after[1][:2]
    assert after[0][2] == before[0][2] + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deep tree", "root"])
def test_drawn_errors_have_the_claimed_standard_deviation_and_intervals(name: str) -> None:
    """400 runs: mean and mean square of the last error (z and chi-squared, the latter widened for the
    heavier tails of Laplace noise), and how often intervals hold; false alarms below 1e-5 each.
    """
    rng, runs = np.random.default_rng(12), 400
    errors, held = [], 0
    for _ in range(runs):
        total = MAKERS[name](rng=rng)
        last = [total.add(count) for count in (5, 0, 2, 7)][-1]
        truth = 14 if total.window is None else 9
        errors.append(last.value - truth)
        low, high = last.interval(0.9)
        held += low <= truth <= high
    squares = np.sum(np.square(errors)) / total.sd[-1] ** 2
    assert abs(np.mean(errors)) < 4.5 * total.sd[-1] / math.sqrt(runs)
    assert 1e-5 < chi2.cdf(runs + (squares - runs) / 1.6, runs) < 1 - 1e-5
    assert held / runs > 0.9 - 4.5 * math.sqrt(0.09 / runs)


def test_event_and_user_level_are_always_said() -> None:
    event, user = RunningTotal.for_epsilon(1, periods=4), RunningTotal.for_epsilon(1, periods=4, per_person=3)
    assert "event level: one record in one period" in repr(event)
    assert "event level: one record in one period" in event.add(1).method
    assert "user level: one person, in at most 3 of the periods" in repr(user)
    assert "user level: one person, in at most 3 of the periods" in user.add(1).method
    assert user.sd[0] > 2.9 * event.sd[0]
    assert (event.group(4), RunningTotal.for_rho("1/8", periods=4).group(4)) == (Pure(4), Zcdp(2))


def test_neighbors_are_said_and_a_record_that_may_move_has_twice_the_noise() -> None:
    plain, moved = (RunningTotal(Pure(1), 4, neighbors=relation) for relation in ("add_remove", "replace"))
    assert (moved._noise.scale, plain._noise.scale) == (2, 1)
    assert "neighbors: replace" in repr(moved)
    assert "neighbors: add_remove" in plain.add(0).method
    three = RunningTotal(Pure(1), 4, sensitivity=3)
    assert three._noise.scale == 3


def test_each_number_says_that_the_loss_is_one_and_where_late_data_go() -> None:
    notes = RunningTotal.for_epsilon(1, periods=52).add(3).notes
    assert notes[0] == "one loss for all 52 periods together"
    assert "late data count in the period in which they arrive" in notes[1]


def test_a_window_is_named() -> None:
    total = RunningTotal.for_rho(0.5, periods=5, window=2)
    labels = [total.add(1).labels[0] for _ in range(3)]
    assert labels[0] == "sum of the last 1 after 1 of 5 periods"
    assert labels[2] == "sum of the last 2 after 3 of 5 periods"
    assert "RunningTotal of the last 2: 3 of 5 periods" in repr(total)


def test_a_generator_claims_nothing() -> None:
    total = RunningTotal.for_epsilon(1, periods=3, rng=np.random.default_rng(1))
    assert total._seeded
    assert total.add(3).loss is None
    assert "simulated, no privacy claim" in repr(total)


@pytest.mark.parametrize("count", [1.0, True, "3", None, np.float64(2), [1], np.bool_(True), 2.5])
def test_counts_are_whole_by_their_type_and_never_quoted(count: object) -> None:
    total = RunningTotal.for_epsilon(1, periods=3)
    with pytest.raises(TypeError, match=r"a count must be a whole number, got \w+: pass the number of records"):
        total.add(count)
    assert total.period == 0


@pytest.mark.parametrize("count", [0, np.int8(3), np.uint64(2**63), 10**400])
@pytest.mark.parametrize("name", ["tree", "root"])
def test_counts_may_be_any_whole_number_from_0_and_are_cut_to_64_bits(count: int, name: str) -> None:
    total = MAKERS[name]()
    told, cut = total.add(count), min(int(count), 2**63 - 1)
    assert total._history[0] == [cut]
    assert told.value == pytest.approx(float(cut), abs=200, rel=1e-9)
    assert repr(told).startswith("<Estimate ")


@each(count=[-1, np.int8(-5), -(10**400)], name=MAKERS)
def test_a_negative_count_is_refused_and_the_period_is_still_to_come(count: int, name: str) -> None:
    total = MAKERS[name]()
    with pytest.raises(ValueError, match="a count must be at least 0, got a negative number"):
        total.add(count)
    assert total.period == 0


@pytest.mark.parametrize("name", MAKERS)
def test_an_interrupt_leaves_the_period_to_come(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    total = MAKERS[name]()
    total.add(5), total.add(3)
    kept = total._history
    for place in ("NoiseBasis", "Estimate"):
        with monkeypatch.context() as patch:
            patch.setattr(f"toolkit.central.stream.total.{place}", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                total.add(9)
        assert total._history == kept
    last = total.add(9)
    again = MAKERS[name]()._resume(*total._history)
    assert again is not None
    assert (last.labels, last.value) == (again.labels, again.value)


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"loss": 1.0}, TypeError, "`loss` must be Pure, Zcdp or Approx, got float"),
        ({"loss": Approx(1, 0)}, ValueError, "`target` must have a finite epsilon and a delta above 0"),
        ({"loss": Pure(0)}, ValueError, "the loss` must be above 0"),
        ({"loss": Pure(math.inf)}, ValueError, "finite"),
        ({"periods": 0}, ValueError, "`periods` must be at least 1"),
        ({"periods": 10_001}, ValueError, "`periods` must be at most 10,000"),
        ({"window": 0}, ValueError, "`window` must be at least 1"),
        ({"sensitivity": 0.5}, TypeError, "`sensitivity` must be a whole number"),
        ({"per_person": 5}, ValueError, "`per_person` must be at most `periods`, got 5: there are 4"),
        ({"neighbors": "both"}, ValueError, "`neighbors` must be one of replace, add_remove"),
        ({"factorization": "tree"}, TypeError, "`factorization` must be a Tree or a SquareRoot"),
        (
            {"factorization": Tree(5)},
            ValueError,
            "`factorization` must have the same periods and window, got a factorization for periods=5",
        ),
        ({"factorization": SquareRoot(4)}, ValueError, "a SquareRoot needs a Zcdp or an Approx loss"),
        ({"rng": 3}, TypeError, "`rng` must be None"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict, error: type[Exception], message: str) -> None:
    RunningTotal(Pure(1), 4, per_person=4)  # in all of them
    with pytest.raises(error, match=message):
        RunningTotal(**({"loss": Pure(1), "periods": 4} | wrong))


def test_it_is_not_copied_nor_used_in_another_process() -> None:
    total = RunningTotal.for_epsilon(1, periods=3)
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="must not be copied or pickled"):
            way(total)
    total._process = -1
    with pytest.raises(ValueError, match="`add` must be called in the process that made the object"):
        total.add(1)


@pytest.mark.parametrize("name", MAKERS)
def test_a_total_goes_on_from_what_was_kept_without_new_noise(name: str) -> None:
    first, second = MAKERS[name](), MAKERS[name]()
    last = [first.add(count) for count in (5, 1, 2)][-1]
    again = second._resume(*first._history)
    assert again is not None
    assert (again.value, again.se, again.labels) == (last.value, last.se, last.labels)
    assert second._history == first._history
    end = second.add(3)
    assert end.labels[0].endswith("after 4 of 4 periods")
    counts, noisy = second._history
    for total, kept in (
        (second, first._history),
        (MAKERS[name](), (counts[1:], noisy)),
        (MAKERS[name](), (counts * 2, noisy * 2)),
    ):
        with pytest.raises(ValueError, match="a total must resume before its first period"):
            total._resume(*kept)
    assert MAKERS[name]()._resume([], []) is None
    assert float(MAKERS[name]()._resume(counts, noisy)) == float(end)


@pytest.mark.parametrize(("neighbors", "twice"), [("add_remove", 1), ("replace", 2)])
@pytest.mark.parametrize("per_person", [None, 3])
def test_every_complete_sum_gets_fresh_noise_for_all_that_one_person_moves(
    neighbors: str, twice: int, per_person: int | None
) -> None:
    """Two levels of blocks of 2; a person moves `per_person` periods, each by 5, or by 10 if replaced. Of
    Laplace noise the scale is 2 levels times all of it over epsilon; of Gaussian noise the variance has the
    squares: 3 periods fill a block of 2 and a half of the next.
    """
    said: dict[str, Any] = {"neighbors": neighbors, "sensitivity": 5, "per_person": per_person}
    times, reach = per_person or 1, 5 * twice
    squares = {1: 1 + 1, 3: 3 + (4 + 1)}[times]
    for loss, draw in (
        (Pure("1/2"), ("laplace", 2 * 2 * times * reach)),
        (Zcdp("1/2"), ("gaussian", squares * reach**2)),
    ):
        with recorded([100, 20, 3, 4, 5, 6]) as drawn:
            total = RunningTotal(loss, 4, factorization=Tree(4, 2, 2), **said)
            told = [total.add(count).value for count in (7, 0, 1, 1)]
        assert [(one.law, one.scale) for one in drawn] == [draw] * 4
        assert [one.size for one in drawn] == [1, 2, 1, 2]  # the second and fourth period end a block
        assert told == [107, 7 + 3, 7 + 3 + 1 + 4, 7 + 3 + 2 + 6]
