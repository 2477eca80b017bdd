import itertools
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, ncx2

from tests.slowly import each
from toolkit.central import selection
from toolkit.central.noise.grid import grid_exponent, round_to_steps
from toolkit.central.selection import (
    UNIT_BITS,
    Exponential,
    NoisyMax,
    Odds,
    PermuteAndFlip,
    SelectionMechanism,
    lower_powers,
    upper_powers,
)
from toolkit.core.loss import Approx, Pure, Zcdp

SCORES = [4, 3, 2, 1, 0]
KINDS = [Exponential, PermuteAndFlip, NoisyMax]


def goodness(counts: Counter, names: list[object], law: list[float], n: int) -> float:
    """p-value of chi-squared of the counts against the law."""
    observed, expected = np.array([counts[name] for name in names]), n * np.array(law)
    assert observed.sum() == n
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(names) - 1))


def permute_and_flip_law(scores: list[float], rate: float) -> list[float]:
    """By enumeration of all orders."""
    yes = [math.exp(rate * (score - max(scores))) for score in scores]
    law = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        none_before = 1.0
        for i in order:
            law[i] += none_before * yes[i] / len(orders)
            none_before *= 1 - yes[i]
    return law


def noisy_max_law(scores: list[int], epsilon: float, sensitivity: int) -> list[float]:
    """Winner of integer scores with two-sided geometric noise, the first among equals, by summation over the
    winner's sum.
    """
    k = np.arange(-600, 601)
    weight = np.exp(-np.abs(k) * epsilon / (2 * sensitivity))
    below = np.concatenate([[0], np.cumsum(weight / weight.sum())])
    law = []
    for i, score in enumerate(scores):
        mass = weight / weight.sum()
        for j, other in enumerate(scores):
            if j != i:  # equal sums go to the earlier candidate
                place = np.clip(k + score - other + 600 + (j > i), 0, len(k))
                mass = mass * below[place]
        law.append(float(mass.sum()))
    return law


# Laws and draws
# ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scores", "base"), [([0, 10, 9], [50, 1, 2]), ([2, 5, 3], [1.5, 0.25, 0.75]), ([5, 9, 4], [1, 0, 1])]
)
def test_the_exponential_mechanism_draws_its_law_with_a_base(scores: list[float], base: list[float]) -> None:
    """2000 seeded draws against `probabilities`; false alarms 1e-6."""
    mechanism, rng = Exponential.for_epsilon(1), np.random.default_rng(21)
    names = [name for i, name in enumerate("abc") if base[i]]
    law = [p for p in mechanism.probabilities(scores, base) if p]
    counts = Counter(mechanism.choose("abc", scores, base, rng=rng) for _ in range(2000))
    assert goodness(counts, names, law, 2000) > 1e-6


def test_what_the_envelope_has_too_much_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate whose word is above its share of the envelope is not kept: the draw begins again, with fresh words.

    Over all words of the candidate from the lowest to the highest exactly those below the share are kept.
    """
    odds = Exponential.for_epsilon(2)._odds([-0.05, 0.0], [1.0, 1.46])
    shares = [Fraction(sum(odds.acceptance(i, 200)), 2**201) for i in (0, 1)]
    assert shares[0] < Fraction(9, 10)  # the envelope's worst is 0.88
    places = [0, int(odds.envelope(slice(0, 1))[0])]  # the first place of each candidate
    for i, share in enumerate(shares):
        edge = int(share * 2**64)
        for word, kept in ((0, True), (edge // 2, True), (edge - 2, True), (edge + 2, False), (2**64 - 1, False)):
            places_left, words_left = [places[i], places[1 - i]], [word, 0]
            monkeypatch.setattr(
                selection, "below", lambda *_, left=places_left: np.array([left.pop(0)], dtype=np.uint64)
            )
            monkeypatch.setattr(
                selection, "words", lambda *_, left=words_left: np.array([left.pop(0)], dtype=np.uint64)
            )
            assert selection._draw_index(odds, None) == (i if kept else 1 - i)
            assert (len(places_left), len(words_left)) == ((1, 1) if kept else (0, 0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (Exponential, lambda epsilon: Exponential.for_epsilon(epsilon).probabilities(SCORES)),
        (PermuteAndFlip, lambda epsilon: permute_and_flip_law(SCORES, epsilon / 2)),
        (NoisyMax, lambda epsilon: noisy_max_law(SCORES, epsilon, 1)),
    ],
    ids=["exponential", "flip", "max"],
)
def test_draws_accept_epsilon_and_reject_what_is_a_fifth_off(
    kind: type[SelectionMechanism], law: Callable[[float], list[float]]
) -> None:
    """3000 draws of each; false alarms 1e-6; the power against a fifth more or less is computed."""
    rng, n, mechanism = np.random.default_rng(28), 3000, kind.for_epsilon(2)
    names, right, limit = list(range(len(SCORES))), np.array(law(2)), chi2.isf(1e-6, len(SCORES) - 1)
    counts = Counter(mechanism.choose(names, SCORES, rng=rng) for _ in range(n))
    assert goodness(counts, names, list(right), n) > 1e-6
    for epsilon in (1.6, 2.4):
        wrong = np.array(law(epsilon))
        assert ncx2.sf(limit, len(SCORES) - 1, n * ((right - wrong) ** 2 / wrong).sum()) > 0.99
        assert goodness(counts, names, list(wrong), n) < 1e-6


def test_the_exponential_law_is_the_formula_and_private() -> None:
    """All neighbors of [2, 0, 1, 5] with moves of -1, 0, 1 on each score: the largest ratio is below e**epsilon."""
    mechanism, scores = Exponential.for_epsilon("0.7"), np.array([2, 0, 1, 5])
    law = mechanism.probabilities(scores)
    weights = np.exp(0.35 * scores)
    assert law == pytest.approx(weights / weights.sum(), rel=1e-14)
    ratios = [
        (mechanism.probabilities(scores + np.array(move)) / law).max()
        for move in itertools.product((-1, 0, 1), repeat=4)
    ]
    assert max(ratios) <= math.exp(0.7)
    assert max(ratios) > math.exp(0.5)


def test_lecture_choice_of_a_classifier() -> None:
    """k classifiers with empirical errors f_i on n records: p_i proportional to e**(-n epsilon f_i / 2)."""
    n, epsilon, errors = 200, Fraction(1, 10), [Fraction(30, 200), Fraction(40, 200), Fraction(31, 200)]
    mechanism = Exponential.for_epsilon(epsilon, sensitivity=Fraction(1, n))
    law = mechanism.probabilities([-float(error) for error in errors])
    weights = np.array([math.exp(-n * float(epsilon) * float(error) / 2) for error in errors])
    assert law == pytest.approx(weights / weights.sum(), rel=1e-12)


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism() -> None:
    for scores in ([3, 1, 0, 2], [0, 0, 1], [5, 4]):
        other = Exponential.for_epsilon(1).probabilities(scores)
        assert np.dot(permute_and_flip_law(scores, 0.5), scores) > np.dot(other, scores)


@pytest.mark.parametrize(
    "law", [lambda s: permute_and_flip_law(s, 0.35), lambda s: noisy_max_law(s, 0.7, 1)], ids=["flip", "max"]
)
def test_the_other_two_are_private_on_all_small_neighbors(law: Callable[[list[int]], list[float]]) -> None:
    """Ties to the first included: the ratio of any outcome between neighbors is at most e**epsilon."""
    for scores in ([0, 0, 0], [2, 1, 0], [0, 3, 3]):
        here = np.array(law(scores))
        for move in itertools.product((-1, 0, 1), repeat=3):
            there = np.array(law([a + b for a, b in zip(scores, move, strict=True)]))
            assert np.all(there <= math.exp(0.7) * here * (1 + 1e-9))


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    if order == 1:
        return float((p * np.log(p / q)).sum())
    return math.log((p**order * q ** (1 - order)).sum()) / (order - 1)


def dearest(law: Callable[[list[float]], np.ndarray], bases: list[list[float]]) -> float:
    """The largest Rényi divergence over its order, between all neighbors of the given scores: rho is at least this."""
    worst = 0.0
    for base in bases:
        here = np.asarray(law(base))
        for move in itertools.product((-1, 0, 1), repeat=len(base)):
            there = np.asarray(law([a + b for a, b in zip(base, move, strict=True)]))
            pairs = ((here, there), (there, here))
            worst = max(worst, *(renyi(p, q, order) / order for p, q in pairs for order in (1, 1.5, 2, 4, 8, 32)))
    return worst


BASES: list[list[float]] = [[0, 0], [1, 0], [0, 2], [0, 2, 2], [0, 4, 4], [0, 0, 0, 0], [0, 3, 3, 3]]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 3])
def test_the_exponential_mechanism_costs_exactly_an_eighth_in_zcdp(epsilon: float) -> None:
    """The cost is an eighth of epsilon squared, and no smaller constant is enough.

    Never above, and at small losses within a percent.

    The proof: with L the logarithm of the ratio of the two laws and K(t) = ln E e**(t L) under the second,
    K(0) = K(1) = 0 and K'' is a variance of a number within a range of epsilon, so at most epsilon**2 / 4.
    Hence K(t) - t (t-1) epsilon**2 / 8 is concave with zeros at 0 and 1, below 0 at every order t > 1, where
    the divergence is K(t) / (t - 1).
    """
    mechanism = Exponential.for_epsilon(epsilon)
    found = dearest(mechanism.probabilities, BASES)
    assert found <= mechanism.zcdp.rho * (1 + 1e-9)
    if epsilon <= 0.5:
        assert found > 0.99 * mechanism.zcdp.rho


@pytest.mark.slow
def test_the_other_two_have_no_such_discount() -> None:
    """By enumeration: permute-and-flip costs more than three times an eighth, the noisy maximum a third more."""
    eighth = 0.5**2 / 8
    assert 3 * eighth < dearest(lambda scores: permute_and_flip_law(scores, 0.25), BASES) <= 4 * eighth
    assert 1.3 * eighth < dearest(lambda scores: noisy_max_law(scores, 0.5, 1), BASES) <= 4 * eighth
    for kind in (PermuteAndFlip, NoisyMax):
        assert not hasattr(kind.for_epsilon(1), "zcdp")


@pytest.mark.parametrize("scores", [[0.25, 1.0, -3.0], [1, 2, 3]])
def test_the_noise_of_the_noisy_maximum_covers_what_the_grid_adds(
    scores: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sensitivity that is no multiple of the grid is rounded up to one, in the scale of the noise, too."""
    seen: list[Fraction] = []
    monkeypatch.setattr(
        selection, "discrete_laplace", lambda scale, size, _rng: seen.append(scale) or np.zeros(size, dtype=np.int64)
    )
    for epsilon, sensitivity in ((Fraction(7, 10), Fraction(1, 3)), (Fraction(70), Fraction(1, 3))):
        NoisyMax.for_epsilon(epsilon, sensitivity=sensitivity).choose("abc", scores)
        steps = sensitivity / Fraction(2) ** grid_exponent(sensitivity, 2 * sensitivity / epsilon)
        assert steps.denominator == 3
        assert seen.pop() == 2 * math.ceil(steps) / epsilon


@pytest.mark.parametrize("sensitivity", [1, 2, Fraction(1, 3)])
@pytest.mark.parametrize("scores", [[3, 1, 2], [2**62, 2**62 + 1, -(2**62)], [0.25, 1.0, -3.0], [1e300, 1.0, 0.0]])
def test_the_highest_exact_sum_wins_and_the_first_of_equals(
    scores: list[float], sensitivity: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise within and beyond the floats, and of Python's integers; whole scores get whole noise from 1 on."""
    whole = isinstance(scores[0], int) and sensitivity >= 1
    exponent = 0 if whole else grid_exponent(Fraction(sensitivity), 2 * Fraction(sensitivity))
    step = int(1 / Fraction(2) ** exponent)
    small = [[0, 0, 0], [0, 2 * step, 0], [0, 2, 1], [0, 2**52 + 1, 2**52], [0, 2**54 + 1, 2**54 - 1]]
    for noise in (*small, [2**70, 2**70 + 1, 0], [2**70, 2**70 + 2, 0], [0, -1, 2**64]):
        kind = object if max(noise) >= 2**63 else np.int64
        seen: list[Fraction] = []

        def given(scale: Fraction, *_: object, noise=noise, kind=kind, seen=seen) -> np.ndarray:
            seen.append(scale)
            return np.array(noise, dtype=kind)

        monkeypatch.setattr(selection, "discrete_laplace", given)
        sums = [round_to_steps(Fraction(score), exponent) + one for score, one in zip(scores, noise, strict=True)]
        assert NoisyMax.for_epsilon(1, sensitivity=sensitivity).choose("abc", scores) == "abc"[sums.index(max(sums))]
        assert seen == [2 * sensitivity if whole else 2 * math.ceil(sensitivity * step)]


def test_a_coin_near_its_probability_is_decided_with_more_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logarithms may be 2 units too low, so words just below the power that they give are not yet sure."""
    odds, part = Odds(selection._read_scores([5.0, 5.0, 3.7]), Fraction(1, 2)), slice(1, 3)
    logs = odds.negative_log2(part)
    sure, unsure = int(lower_powers(logs + 2)[1]), int(lower_powers(logs)[1])
    assert sure < unsure
    asked: list[int] = []
    monkeypatch.setattr(selection, "exp_of", lambda exponent: exponent)
    monkeypatch.setattr(
        selection,
        "falls_below",
        lambda exponent, prefix, _bits, _rng: bool(asked.append(prefix)) or exponent != odds.exact_exponent(2),
    )
    for word, expected in (
        (sure - 1, []),
        (sure, [sure]),
        (unsure - 1, [unsure - 1]),
        (int(upper_powers(logs)[1]), []),
    ):
        stream = np.array([0, word << (64 - UNIT_BITS)], dtype=np.uint64)
        monkeypatch.setattr(selection, "words", lambda *_, stream=stream: stream)
        heads = PermuteAndFlip.for_epsilon(1)._accepted(odds, part, None)
        assert asked == expected
        assert heads.tolist() == ([0, 1] if word < sure else [0])
        asked.clear()


# Adversarial scores
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_every_size_are_served(kind: type[SelectionMechanism]) -> None:
    mechanism = kind.for_epsilon(2)
    assert mechanism.choose(["only"], [5]) == "only"
    assert mechanism.choose(["only"], [5.5]) == "only"
    assert mechanism.choose("ab", [2**63 - 1, -(2**63)]) == "a"
    assert mechanism.choose("ab", np.array([-(2**63), 2**63 - 1])) == "b"
    assert mechanism.choose("ab", [1e308, -1e308]) == "a"
    assert mechanism.choose("abc", [0.0, -1e300, 800.0]) == "c"
    assert mechanism.choose("ab", [5e-324, 0.0]) in "ab"
    assert mechanism.choose("abc", np.array([1, 200, 3], dtype=np.uint8)) == "b"
    assert {mechanism.choose("ab", [1e300, 1e300]) for _ in range(60)} == {"a", "b"}
    assert {mechanism.choose("ab", [2**62, 2**62 + 1]) for _ in range(150)} == {"a", "b"}  # a fifth are a


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_refused_in_one_way_that_quotes_nothing(kind: type[SelectionMechanism]) -> None:
    mechanism, messages = kind.for_epsilon(1), set()
    for bad in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="`scores` must be finite") as caught:
            mechanism.choose("ab", [1234.0, bad])
        messages.add(str(caught.value))
    assert len(messages) == 1
    for bad in ([], np.zeros((2, 1))):
        with pytest.raises(ValueError, match="one-dimensional and not empty"):
            mechanism.choose([], bad)
    for bad in ([True, False], ["1", "2"], np.array([1, None]), np.ma.masked_array([1.0, 2.0])):
        with pytest.raises(TypeError, match="`scores` must"):
            mechanism.choose("ab", bad)
    with pytest.raises(ValueError, match="one score each"):
        mechanism.choose("abc", [1, 2])


@each(bad=[0, -1, float("nan"), float("inf"), True, "abc", None], kind=KINDS)
def test_parameters_must_be_positive(kind: type[SelectionMechanism], bad: object) -> None:
    for arguments in ({"epsilon": bad}, {"epsilon": 1, "sensitivity": bad}):
        with pytest.raises((ValueError, TypeError), match=r"`(epsilon|sensitivity)` must"):
            kind.for_epsilon(**arguments)
    with pytest.raises(TypeError, match="must be Pure"):
        kind(Approx(1, 1e-6))


@pytest.mark.parametrize("base", [[1, -1], [0, 0], [1], [float("nan"), 1]])
def test_a_base_is_a_measure(base: list[float]) -> None:
    with pytest.raises(ValueError, match="`base` must"):
        Exponential.for_epsilon(1).choose("ab", [1, 2], base)


def test_a_base_of_zero_is_never_chosen_even_with_the_best_score() -> None:
    mechanism = Exponential.for_epsilon(5)
    for scores in ([1e300, 0, 1], [2**62, 0, 1], [10, 0, 1]):
        assert {mechanism.choose("abc", scores, [0, 1, 1]) for _ in range(50)} <= {"b", "c"}
        odds = mechanism.probabilities(scores, [0, 1, 2])
        assert odds == pytest.approx(np.array([0, 1, 2 * math.exp(2.5)]) / (1 + 2 * math.exp(2.5)))


def test_a_candidate_800_units_behind_can_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """With words of zeros the draw falls to candidate 0's share of 1 in 2**40 and every coin says yes: no
    underflow to 0.
    """
    monkeypatch.setattr(selection, "below", lambda _bound, _size, _rng: np.array([0], dtype=np.uint64))
    monkeypatch.setattr(selection, "words", lambda count, _bits, _rng: np.zeros(count, dtype=np.uint64))
    monkeypatch.setattr("toolkit.core.randomness.words", lambda count, _bits, _rng: np.zeros(count, dtype=np.uint64))
    assert Exponential.for_epsilon(1).choose("ab", [-1600, 0]) == "a"
    assert PermuteAndFlip.for_epsilon(1).choose("ab", [-1600, 0]) == "a"


def test_probabilities_of_extreme_scores_are_those_of_their_gaps() -> None:
    mechanism = Exponential.for_epsilon(2)
    expected = mechanism.probabilities([1, 0])
    for scores in ([2**62 + 1, 2**62], [-(2**63) + 1, -(2**63)], [2.0**52 + 1, 2.0**52]):
        assert np.array_equal(mechanism.probabilities(scores), expected)
    for scores in ([2**63 - 1, -(2**63)], [1e308, -1e308]):
        assert mechanism.probabilities(scores).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_of_very_many_is_found_wherever_it_is(kind: type[SelectionMechanism]) -> None:
    scores = np.zeros(40_000, dtype=np.int64)
    for best in (0, 16_383, 16_384, 39_999):
        scores[best] = 1000
        assert kind.for_epsilon(1).choose(range(40_000), scores) == best
        scores[best] = 0


def test_candidates_may_be_any_sequence() -> None:
    mechanism, scores = Exponential.for_epsilon(50), [0, 100]
    for candidates in (["x", "y"], ("x", "y"), np.array(["x", "y"]), pd.Series(["x", "y"], index=[7, 8])):
        assert mechanism.choose(candidates, scores) == "y"
    assert mechanism.choose(range(2), scores) == 1


def test_costs_are_values() -> None:
    mechanism = Exponential.for_epsilon("1/2", sensitivity=3)
    assert (mechanism.loss, mechanism.zcdp, mechanism._rate) == (Pure("1/2"), Zcdp("1/32"), Fraction(1, 12))
    assert Exponential.for_rho(2, sensitivity=3).loss == Pure(4)
    assert not hasattr(PermuteAndFlip.for_epsilon(1), "zcdp")  # the discount is the exponential mechanism's alone
    assert repr(mechanism) == "<Exponential sensitivity 3; ε = 0.5>"


# Points of the line
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_points_have_the_law_of_the_grid() -> None:
    """Multiples of 1/2 from 0 to 4; 2000 draws against weights by interval; false alarms 1e-6."""
    mechanism, rng = Exponential.for_epsilon(2), np.random.default_rng(25)
    edges, scores = [0, 0.75, 0.75, 1.2, 4], [0, 50, 2, 1]
    points = np.arange(0, 4.5, 0.5)
    owner = [0, 0, 2, 3, 3, 3, 3, 3, 3]  # 1.0 is in [0.75, 1.2); the empty interval owns nothing, whatever its score
    weights = np.exp([scores[i] for i in owner])
    counts = Counter(mechanism._choose_point(edges, scores, exponent=-1, rng=rng) for _ in range(2000))
    assert goodness(counts, list(points), list(weights / weights.sum()), 2000) > 1e-6


def test_an_interval_includes_its_lower_edge_and_the_last_both_edges() -> None:
    """Counted one by one: of each point of the grid, the last interval that begins at or below it."""
    for edges, exponent in (
        ([0, 0.75, 0.75, 1.2, 4], -1),
        ([-1.3, 0, 1.25], -2),
        ([-7, -3, 0, 2, 9], 0),
        ([-7, -3, 0, 2, 9], 1),
        ([0.1, 5.0, 20.9], 2),
        ([0.0, 5e-324, 1e-322], -1074),
        ([2.0**1020, 1.25 * 2.0**1020, 1.5 * 2.0**1020], 1018),
    ):
        unit, first = Fraction(2) ** exponent, selection._first_steps(np.array(edges), exponent)
        low, high = math.ceil(Fraction(edges[0]) / unit), math.floor(Fraction(edges[-1]) / unit)
        assert (first[0], first[-1]) == (low, high + 1)
        for step in range(low, high + 1):
            owner = max(i for i, edge in enumerate(edges[:-1]) if edge <= step * unit)
            assert int(np.searchsorted(first[:-1], step, side="right")) - 1 == owner


def test_a_grid_may_have_as_many_points_as_floats_have() -> None:
    for edges in ([0, 2**53], [0.0, 2.0**53], [-(2**53), 0]):
        assert selection._first_steps(np.array(edges), 0).tolist() == [edges[0], int(edges[-1]) + 1]


def test_whole_edges_and_real_edges_choose_the_same_points() -> None:
    mechanism = Exponential.for_epsilon(1)
    for seed in range(30):
        whole = mechanism._choose_point(
            np.array([0, 3, 3, 7, 20]), [0, 1, 2, 1], exponent=0, rng=np.random.default_rng(seed)
        )
        real = mechanism._choose_point(
            np.array([0.0, 3, 3, 7, 20]), [0, 1, 2, 1], exponent=0, rng=np.random.default_rng(seed)
        )
        assert whole == real == int(whole)


@pytest.mark.slow
def test_both_ends_are_candidates_and_nothing_beyond() -> None:
    mechanism, rng = Exponential.for_epsilon(1), np.random.default_rng(26)
    found = {mechanism._choose_point([-1.3, 0, 1.25], [0, 0], exponent=-2, rng=rng) for _ in range(500)}
    assert found == {k / 4 for k in range(-5, 6)}
    assert 0 <= mechanism._choose_point([0, 2**53], [0], exponent=0) <= 2**53


def test_the_grid_of_points_depends_on_the_outer_edges_alone() -> None:
    for inner in (0.1, 50.0, 99.9):
        points = [Exponential.for_epsilon(1)._choose_point([0, inner, 100], [0, 0]) for _ in range(50)]
        assert all(point * 2**26 % 1 == 0 for point in points)
    assert Exponential.for_epsilon(1)._choose_point([10**15, 10**15 + 1], [0]) - 10**15 in [k / 8 for k in range(9)]


def test_tied_data_never_fail() -> None:
    """All data equal: another library raises here. Every interval but two is empty."""
    edges = np.concatenate([[0.0], np.full(10_000, 40.0), [100.0]])
    scores = -np.abs(np.arange(10_001) - 5000.0)
    assert 0 <= Exponential.for_epsilon("1/10")._choose_point(edges, scores) <= 100


@pytest.mark.parametrize(
    ("edges", "scores", "options", "message"),
    [
        ([0, 1, 2], [0], {}, "one more entry than `scores`"),
        ([0, 2, 1, 3], [0, 0, 0], {}, "must not decrease"),
        ([1, 1], [0], {}, "must exceed the first"),
        ([2, 1], [0], {}, "must exceed the first"),
        (5, [], {}, "must exceed the first"),
        ([5], [], {"exponent": 0}, "must leave a candidate"),
        ([5, 0], [0], {"exponent": 0}, "must leave a candidate"),
        ([0.1, 0.2], [0], {"exponent": 3}, "must leave a candidate"),
        ([0, 2**53 + 1], [0], {"exponent": 0}, "must not be finer"),
        ([0, float("nan"), 1], [0, 0], {}, "`edges` must be finite"),
    ],
)
def test_edges_and_grids_are_checked(
    edges: list[float], scores: list[float], options: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Exponential.for_epsilon(1)._choose_point(edges, scores, **options)
