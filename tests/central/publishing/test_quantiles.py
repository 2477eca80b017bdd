"""Recursive quantiles: exact laws of all cuts on a small grid, under both relations."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from toolkit.central.publishing import quantiles
from toolkit.central.publishing.quantiles import RecursiveQuantiles, StepCounts, rank_scores
from toolkit.central.selection import Exponential, sqrt_rounded_down
from toolkit.core.loss import Zcdp

AR, RP = "add_remove", "replace"
GRID = 5
THREE = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
FOUR = [Fraction(1, 10), Fraction(3, 10), Fraction(3, 5), Fraction(9, 10)]


def law(mechanism: RecursiveQuantiles, values: tuple[int, ...], most: int = GRID) -> dict[tuple[int, ...], float]:
    """Of all cuts together: every part's own law, one after the other."""
    ordered = np.sort(np.array(values, dtype=np.int64))
    state: dict[tuple[tuple[int, int], ...], float] = {((-1, 0), (len(mechanism.quantiles), most)): 1.0}
    for part in mechanism.splits:
        following: dict[tuple[tuple[int, int], ...], float] = defaultdict(float)
        for cuts, mass in state.items():
            low, high = dict(cuts)[part.start - 1], dict(cuts)[part.stop]
            inside = ordered[(ordered >= low) & (ordered < high)]
            first, scores = rank_scores(inside, part.share, low, high)
            chances = mechanism.selection_mechanism(part).probabilities(scores, np.diff(first)).tolist()
            for chance, (start, stop) in zip(chances, itertools.pairwise(first.tolist()), strict=True):
                for cut in range(start, stop):
                    following[(*cuts, (part.index, cut))] += mass * chance / (stop - start)
        state = following
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for cuts, mass in state.items():
        found[tuple(dict(cuts)[place] for place in range(len(mechanism.quantiles)))] += mass
    return found


@pytest.mark.slow
def test_lazily_drawn_digits_have_the_law_of_digits_drawn_at_once() -> None:
    """Digits that are drawn only where they decide have the law of digits that are all drawn at once.

    Two lists: all digits of five values on three steps, and all counts of 12 values of one step, halved twice.
    Chi-squares of 800 draws each; a right law fails with 2e-4 together.
    """
    rng, draws = np.random.default_rng(3), 800
    listed = RecursiveQuantiles.for_epsilon(2, [Fraction(1, 3), Fraction(2, 3)], neighbors=AR)
    expected: dict[tuple[int, ...], float] = defaultdict(float)
    for digits in itertools.product(range(2), repeat=5):
        places = [2 * step + digit for step, digit in zip([0, 0, 2, 2, 2], digits, strict=True)]
        for cuts, mass in law(listed, tuple(places), most=6).items():
            expected[cuts] += mass / 2**5
    seen = [Counter(tuple(listed.choose_lazily(StepCounts(np.array([2, 0, 3]), 1, rng), rng)) for _ in range(draws))]
    laws = [expected]
    median, laws = RecursiveQuantiles.for_epsilon(1, [Fraction(1, 2)], neighbors=AR), [*laws, defaultdict(float)]
    for counts in itertools.product(range(13), repeat=3):
        if sum(counts) <= 12:
            ranks = np.cumsum([0, *counts, 12 - sum(counts)])
            chances = median.selection_mechanism(median.splits[0]).probabilities(-np.abs(2 * ranks - 12))
            mass = math.factorial(12) / math.prod(map(math.factorial, np.diff(ranks).tolist())) / 4**12
            for cut, chance in enumerate(chances.tolist()):
                laws[1][cut,] += mass * chance
    seen.append(Counter(tuple(median.choose_lazily(StepCounts(np.array([12]), 2, rng), rng)) for _ in range(draws)))
    for found, law_of in zip(seen, laws, strict=True):
        assert sum(law_of.values()) == pytest.approx(1)
        assert found.keys() <= law_of.keys()
        likely = {cuts: mass for cuts, mass in law_of.items() if mass * draws >= 5}
        pairs = [(found[cuts], mass * draws) for cuts, mass in likely.items()]
        pairs.append((draws - sum(x for x, _ in pairs), draws - sum(y for _, y in pairs)))
        square = sum((x - y) ** 2 / y for x, y in pairs if y > 1e-9)
        assert chi2.sf(square, len(pairs) - 1) > 1e-4


def test_halves_of_many_values_are_fair_coins_that_are_remembered() -> None:
    """10**8 + 3 equal values: 4.5 standard errors, 7e-6; ranks do not decrease, and do not change."""
    values = StepCounts(np.array([0, 10**8 + 3]), 30, np.random.default_rng(1))
    cuts = [(1 << 30) + (place << 26) for place in range(17)]
    ranks = [values.rank(cut) for cut in cuts]
    assert abs(ranks[8] - 10**8 / 2) < 4.5 * 10**4 / 2
    assert ranks == sorted(ranks) == [values.rank(cut) for cut in cuts]
    assert (ranks[0], ranks[-1]) == (0, 10**8 + 3)


def test_edges_are_where_steps_begin_and_ranks_are_counted_from_the_start() -> None:
    values, unit = StepCounts(np.array([5, 0, 70, 3, 1]), 3, np.random.default_rng(4)), 8
    for low, high in itertools.combinations_with_replacement((0, 3, 8, 13, 16, 21, 24, 39, 40), 2):
        start = values.rank(low)
        edges, ranks = values.edges(low, high, start)
        inner = [step * unit for step in range(5) if low < step * unit < high]
        assert edges.tolist() == [low, *inner, high + 1]
        assert ranks.tolist() == [values.rank(cut) - start for cut in (low, *inner, high)]


@pytest.mark.parametrize(("low", "high"), [(0, 40), (5, 33), (13, 24), (17, 18), (20, 20)])
def test_no_cut_has_a_better_score_than_its_interval(low: int, high: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn by the best score of an interval, and kept by the share of it, then has the law of the scores."""
    values, rng = StepCounts(np.array([5, 0, 70, 3, 1]), 3, np.random.default_rng(4)), np.random.default_rng(5)
    mechanism = RecursiveQuantiles.for_epsilon(9, [Fraction(1, 3), Fraction(2, 3)], neighbors=AR)
    drawn, seen = Exponential._choose_step, []
    monkeypatch.setattr(Exponential, "_choose_step", lambda self, *given: seen.append(given) or drawn(self, *given))
    start, number = values.rank(low), values.rank(high) - values.rank(low)
    for part in mechanism.splits:
        scores = {
            cut: -abs(part.share.denominator * (values.rank(cut) - start) - part.share.numerator * number)
            for cut in range(low, high + 1)
        }
        for _ in range(20):
            assert mechanism._draw_cut(part, values, low, high, rng) in scores
        for edges, best, _ in seen:
            assert (edges[0], edges[-1]) == (low, high + 1)
            for (first, stop), score in zip(itertools.pairwise(edges.tolist()), best.tolist(), strict=True):
                assert score >= max(scores[cut] for cut in range(first, stop))
        seen.clear()


def test_cuts_are_accepted_by_their_score_or_intervals_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exponent of what is flipped is the rate times the ranks that the cut is worse by; none is flipped for 0."""
    values = StepCounts(np.array([5, 0, 70, 3, 1]), 3, np.random.default_rng(4))
    (part,) = (mechanism := RecursiveQuantiles.for_epsilon("1/100", [Fraction(1, 3)], neighbors=AR)).splits
    cuts, seen, flipped = (17, 18, 22, 2, 24), [], []
    drawn = iter(cuts)
    monkeypatch.setattr(Exponential, "_choose_step", lambda _, *given: seen.append(given[:2]) or next(drawn))
    monkeypatch.setattr(quantiles, "exp_of", lambda exponent: exponent)
    monkeypatch.setattr(quantiles, "falls_below", lambda exponent, *_: flipped.append(exponent))
    assert mechanism._draw_cut(part, values, 0, 40, None) == 24
    for place, (cut, (edges, best)) in enumerate(zip(cuts, seen, strict=True)):
        inside = int(np.searchsorted(edges, cut, side="right")) - 1
        worse = int(best[inside]) + abs(3 * values.rank(cut) - 79)
        assert (
            flipped[place:] == []
            if cut == 24
            else flipped[place] == mechanism.selection_mechanism(part)._rate * worse > 0
        )
        if cut != 24:
            middle = int(edges[inside] + edges[inside + 1]) // 2
            assert seen[place + 1][0].tolist() == sorted({*edges.tolist(), middle})


@pytest.mark.parametrize("digits", [0, 4])
def test_cuts_with_little_noise_leave_their_shares_below(digits: int) -> None:
    """With hardly any noise, each cut has its share of the values below it."""
    values = StepCounts(np.array([10, 10, 0, 10, 10]), digits)
    mechanism = RecursiveQuantiles.for_epsilon(10**4, THREE, neighbors=AR)
    assert [values.rank(cut) for cut in mechanism.choose_lazily(values)] == [10, 20, 30]
    steps = np.repeat([0, 1, 3, 4], 10)
    assert [np.count_nonzero(steps < cut) for cut in mechanism.choose(steps, 5)] == [10, 20, 30]


def test_of_few_coins_each_may_be_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    """All bits of the words are set: so many coins as were asked for are heads, also beyond a word and a block."""
    monkeypatch.setattr(quantiles, "words", lambda size, *_: np.full(size, 2**64 - 1, dtype=np.uint64))
    monkeypatch.setattr(quantiles, "_COIN_BATCH", 128)
    for number in (0, 1, 63, 64, 65, 127, 128, 129, 300):
        assert quantiles._draw_heads(number, None) == number


def neighbors(n: int, relation: str) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for values in itertools.combinations_with_replacement(range(GRID), n):
        for place in range(n):
            rest = (*values[:place], *values[place + 1 :])
            if relation == AR:
                yield values, rest
            else:
                yield from ((values, tuple(sorted((*rest, new)))) for new in range(GRID))


def largest(mechanism: RecursiveQuantiles, sizes: tuple[int, ...]) -> float:
    seen: dict[tuple[int, ...], dict[tuple[int, ...], float]] = {}

    def of(values: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        if values not in seen:
            seen[values] = law(mechanism, values)
        return seen[values]

    worst = 0.0
    for n in sizes:
        for one, other in neighbors(n, mechanism.neighbors):
            first, second = of(one), of(other)
            assert first.keys() == second.keys()
            worst = max(worst, *(abs(math.log(first[cuts] / second[cuts])) for cuts in first))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize(
    ("listed", "neighbors", "expected"),
    [(THREE, AR, 0.7188), (THREE, RP, 0.4939), (FOUR, AR, 0.5256), (FOUR, RP, 0.3568)],
    ids=["three AR", "three RP", "four AR", "four RP"],
)
def test_no_cuts_become_more_than_e_to_epsilon_times_likelier(
    listed: list[Fraction], neighbors: str, expected: float
) -> None:
    """Over all neighbors of two people on five steps; the numbers are those of this enumeration."""
    found = largest(RecursiveQuantiles.for_epsilon(1, listed, neighbors=neighbors), (2,))
    assert found <= 1
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_the_rate_of_add_remove_would_break_the_promise_about_replacing() -> None:
    """Both parts of a level change: with rates for one part only the ratio passes e**epsilon by far. The
    neighbors were found by a search over 20 steps; where cuts lie between many steps, the odds of the few
    between others move most.
    """

    class OnePartOnly(RecursiveQuantiles):
        def selection_mechanism(self, part):
            return RecursiveQuantiles(self.loss, self.quantiles, AR).selection_mechanism(part)

    found = []
    for kind in (RecursiveQuantiles, OnePartOnly):
        mechanism = kind.for_epsilon(1, THREE, neighbors=RP)
        first, second = (law(mechanism, values, most=20) for values in ((0, 1, 2, 3), (0, 2, 3, 18)))
        found.append(max(abs(math.log(first[cuts] / second[cuts])) for cuts in first))
    assert found == pytest.approx([0.7846, 1.5467], abs=1e-4)


def test_moving_between_groups_is_paid_for_by_half_the_rate() -> None:
    """Two tables, a person leaves one and enters the other: the product of both laws, exactly."""
    mechanism = RecursiveQuantiles.for_epsilon(1, [Fraction(9, 10)], neighbors=RP, is_grouped=True)
    both = [(0, 1, 2), (2, 3, 4)]
    moved = [(0, 1), (2, 3, 4, 4)]
    first, second = ([law(mechanism, table) for table in tables] for tables in (both, moved))
    worst = max(
        abs(math.log(first[0][a] * first[1][b] / (second[0][a] * second[1][b])))
        for a in first[0] for b in first[1]
    )  # fmt: skip
    assert worst == pytest.approx(0.3097, abs=1e-4)
    alone = RecursiveQuantiles.for_epsilon(1, [Fraction(9, 10)], neighbors=RP)
    assert alone.selection_mechanism(alone.splits[0])._rate > mechanism.selection_mechanism(mechanism.splits[0])._rate


@pytest.mark.slow
def test_what_is_drawn_follows_the_law() -> None:
    """800 draws against 21 pairs of cuts; a statistic beyond the limit has probability 1e-6."""
    mechanism = RecursiveQuantiles.for_epsilon(2, [Fraction(1, 3), Fraction(2, 3)], neighbors=AR)
    values, rng = np.array([0, 1, 1, 4]), np.random.default_rng(11)
    expected = law(mechanism, (0, 1, 1, 4))
    seen = Counter(tuple(mechanism.choose(values, GRID, rng)) for _ in range(800))
    assert set(seen) <= set(expected)
    statistic = sum((seen[cuts] - 800 * p) ** 2 / (800 * p) for cuts, p in expected.items())
    assert statistic < chi2.isf(1e-6, len(expected) - 1)


def test_levels_costs_and_parts_of_deciles() -> None:
    deciles = [Fraction(k, 10) for k in range(1, 10)]
    mechanism = RecursiveQuantiles.for_epsilon(1, deciles, neighbors=RP)
    assert mechanism.n_levels == 4
    assert mechanism.zcdp == Zcdp(Fraction(1, 32))
    assert [part.index for part in mechanism.splits][:2] == [4, 2]
    assert mechanism.splits[1].share == Fraction(3, 5)
    assert sorted(part.index for part in mechanism.splits) == list(range(9))
    assert RecursiveQuantiles.for_epsilon(1, [0, 1], neighbors=RP).n_levels == 2  # the ends are quantiles, too


def test_rho_buys_the_epsilon_whose_choices_cost_it() -> None:
    for said in ({}, {"rows_per_person": 3, "is_grouped": True}):
        mechanism = RecursiveQuantiles.for_rho("1/100", THREE, neighbors=AR, **said)
        loss, rest = mechanism.loss, (said.get("rows_per_person", 1), said.get("is_grouped", False))
        assert mechanism == RecursiveQuantiles(loss, tuple(THREE), AR, *rest)
        assert mechanism == RecursiveQuantiles.for_epsilon(loss.amount, THREE, neighbors=AR, **said)
        assert mechanism.zcdp <= Zcdp("1/100")
        assert float(mechanism.zcdp.amount) == pytest.approx(0.01, rel=1e-12)
    for square in (Fraction(2), Fraction(10) ** 40, Fraction(1, 3 * 10**40), Fraction(1, 8), Fraction(9, 4)):
        root = sqrt_rounded_down(square)
        assert root**2 <= square < (root * (1 + Fraction(1, 2**59))) ** 2


def test_rates_are_those_of_the_proof() -> None:
    add, replace = (
        RecursiveQuantiles.for_epsilon(1, [Fraction(1, 4), Fraction(1, 2)], neighbors=one) for one in (AR, RP)
    )
    second = add.splits[1]
    assert second.share == Fraction(1, 2)
    unit = second.share.denominator
    assert add.selection_mechanism(second)._rate * unit == Fraction(1, 2)  # epsilon_level / (2 d), d = 1/2
    assert replace.selection_mechanism(second)._rate * unit == Fraction(1, 4)
    for neighbors, grouped, alone in ((AR, False, 1), (RP, False, Fraction(1, 2)), (RP, True, Fraction(1, 2))):
        said = {"neighbors": neighbors, "is_grouped": grouped}
        one, three = (
            RecursiveQuantiles.for_epsilon(1, [Fraction(1, 2)], rows_per_person=rows, **said) for rows in (1, 3)
        )
        assert (
            one.selection_mechanism(one.splits[0])._rate * 2
            == 3 * three.selection_mechanism(three.splits[0])._rate * 2
            == alone
        )


@pytest.mark.parametrize("neighbors", [AR, RP])
def test_cuts_are_near_the_quantiles_and_never_decrease(neighbors: str) -> None:
    deciles = [Fraction(k, 10) for k in range(1, 10)]
    mechanism = RecursiveQuantiles.for_epsilon(1, deciles, neighbors=neighbors)
    rng = np.random.default_rng(5)
    values = rng.integers(0, 2**40, 10_000)
    cuts = mechanism.choose(values, 2**40, rng)
    assert cuts == sorted(cuts)
    ranks = [int((values < cut).sum()) for cut in cuts]
    assert max(abs(rank - 1000 * (k + 1)) for k, rank in enumerate(ranks)) <= mechanism.rank_error_bound(2**40)


@pytest.mark.parametrize("values", [[], [3] * 50, [0, 4]])
def test_empty_and_equal_values_have_cuts_too(values: list[int]) -> None:
    mechanism = RecursiveQuantiles.for_epsilon(1, FOUR, neighbors=AR)
    cuts = mechanism.choose(np.array(values, dtype=np.int64), GRID)
    assert len(cuts) == 4
    assert cuts == sorted(cuts)
    assert 0 <= cuts[0] <= cuts[-1] <= GRID


def far(steps: np.ndarray, share: Fraction, rate: float, reach: int, all_steps: int, digits: int) -> float:
    """The probability that more than `reach` values lie between the released step and the sought one, of
    which either may be left out: exact for the random digits of each of 40 draws, and averaged.
    """
    rng, counts = np.random.default_rng(8), np.bincount(steps, minlength=all_steps)
    upto = np.concatenate([[0], np.cumsum(counts)])
    wanted = float(share * len(steps))
    sought = [s for s in range(all_steps) if upto[s] <= wanted <= upto[s + 1]]
    between = [
        min(abs(upto[max(s, t)] - upto[min(s, t) + 1]) if s != t else 0 for t in sought) for s in range(all_steps)
    ]
    found = []
    for _ in range(40):
        places = np.sort((steps << digits) | rng.integers(0, 2**digits, len(steps)))
        _, scores = rank_scores(places, share, 0, all_steps << digits)
        edges = np.unique(np.concatenate([places + 1, np.arange(all_steps + 1) << digits]))
        cuts = np.concatenate([[0], edges])  # a new rank, or a new step, begins at each
        odds = np.exp(rate * scores[np.searchsorted(places, cuts)] / share.denominator)
        weights = odds * np.diff(cuts, append=(all_steps << digits) + 1)
        bad = np.array(between)[np.minimum(cuts >> digits, all_steps - 1)] > reach
        found.append(weights[bad].sum() / weights.sum())
    return float(np.mean(found))


@pytest.mark.parametrize("epsilon", ["1/4", 1, 4])
@pytest.mark.parametrize("neighbors", [AR, RP])
def test_one_quantile_is_off_by_no_more_than_is_told_on_the_worst_tables(neighbors: str, epsilon: object) -> None:
    """Many values up to the sought rank, some equal ones above it, then a gap of nearly all steps: those of
    the gap have just the equal ones against them. Three quarters of what is told would be too little there.
    """
    mechanism = RecursiveQuantiles.for_epsilon(epsilon, [Fraction(1, 2)], neighbors=neighbors)
    steps, rate = 256, float(mechanism.selection_mechanism(mechanism.splits[0])._rate * 2)
    told = mechanism.rank_error_bound(steps << 31, steps)

    def passes(reach: int, equal: int) -> float:
        below = np.zeros(2 * equal + 20, dtype=np.int64)
        above = np.full(len(below) - equal - 2, steps - 1)
        table = np.concatenate([below, np.ones(equal, dtype=np.int64), above])
        return far(table, Fraction(1, 2), rate, reach, steps, 31)

    assert max(passes(told, equal) for equal in (told + 1, told + 2, 2 * told)) <= 0.05
    if epsilon == "1/4":
        assert passes(3 * told // 4, 3 * told // 4 + 1) > 0.05
    assert told < mechanism.rank_error_bound(steps << 31)


def test_the_error_of_one_quantile_adds_to_others_by_its_share() -> None:
    """The error of another quantile counts with the share that lies on its side."""
    mechanism = RecursiveQuantiles.for_epsilon(1, THREE, neighbors=AR)
    own = math.log((2**52 + 3) * 2 * 20.01) / 0.5 + 8  # 1/2 of epsilon a level, d = 1/2; C cuts, two levels
    assert mechanism.rank_error_bound(2**52) == math.ceil(own + own / 2)
    five = [Fraction(share, 100) for share in (10, 25, 50, 75, 90)]
    walked = RecursiveQuantiles.for_epsilon("1/5", five, neighbors=AR, rows_per_person=2)
    places = 1_310_721 << 31
    told = walked.rank_error_bound(places, 1_310_721), walked.rank_error_bound(places, 1_310_721, max_rows=5000)
    assert told == (3238, 2182)  # 4,721 when all levels were added up, and any two places were rivals


def test_no_other_length_of_a_run_gives_a_smaller_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each length gives a true bound; the few lengths that are tried contain the best one here, which is 6."""
    mechanism = RecursiveQuantiles.for_epsilon(1, THREE, neighbors=AR)
    told, bounds = mechanism.rank_error_bound(10_000 << 31, 10_000, max_rows=5000), {}
    for length in range(3, 33):
        monkeypatch.setattr(quantiles, "_RUN_LENGTHS", (length,))
        bounds[length] = mechanism.rank_error_bound(10_000 << 31, 10_000, max_rows=5000)
    assert told == min(bounds.values()) == bounds[6]


@pytest.mark.parametrize(("rows", "run"), [(3, 3), (4, 3), (4, 4)])
def test_values_lie_as_close_as_is_said_no_more_often_than_is_said(
    rows: int, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All digits of so many values of one step with 16 places."""
    monkeypatch.setattr(quantiles, "_CLOSE_PROBABILITY", 0.2)
    width = quantiles.smallest_distance(16, rows, run)
    assert width >= 1
    every = np.sort(np.array(list(itertools.product(range(16), repeat=rows))), axis=1)
    closest = np.min(every[:, run - 1 :] - every[:, : rows - run + 1], axis=1)
    assert 0.01 < np.mean(closest < width) <= 0.2


def test_deciles_of_tied_values_are_off_by_no_more_than_is_told() -> None:
    """20 tables of 600 values on five steps of 1,000, most of them on one; what is told holds with
    probability 95 % for the worst of tables, and here always.
    """
    deciles, rng = [Fraction(k, 10) for k in range(1, 10)], np.random.default_rng(4)
    mechanism = RecursiveQuantiles.for_epsilon(20, deciles, neighbors=AR)
    told = mechanism.rank_error_bound(1000 << 42, 1000, max_rows=600)
    for _ in range(20):
        steps = rng.choice([0, 3, 4, 5, 999], 600, p=[0.05, 0.6, 0.05, 0.2, 0.1])
        cuts = mechanism.choose((steps << 42) | rng.integers(0, 2**42, 600), 1000 << 42, rng)
        values = np.sort(steps)
        for share, cut in zip(deciles, cuts, strict=True):
            ends = sorted([min(cut >> 42, 999), int(values[min(int(share * 600), 599)])])
            assert np.count_nonzero((values > ends[0]) & (values < ends[1])) <= told
    assert told < 60


def test_a_share_of_a_part_that_is_rounded_is_noticed() -> None:
    assert not RecursiveQuantiles.for_epsilon(1, THREE, neighbors=AR).has_rounded_share
    near = [Fraction(1, 1_000_003), Fraction(1, 999_983), Fraction(1, 2)]
    assert RecursiveQuantiles.for_epsilon(1, near, neighbors=AR).has_rounded_share


def test_seventeen_values_at_one_place_are_as_improbable_as_is_said() -> None:
    """All of 2**30 rows equal, 30 random digits: the expected number of sets of 17 of them."""
    sets = math.comb(2**30, 17) / 2 ** (30 * 16)
    assert sets < 4e-6
    assert 1 / 20.01 + sets < 1 / 20
