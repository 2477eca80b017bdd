"""Bounded numbers: exact channels on small grids, published variances, estimates and rejected input."""

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import t as student

from tests.local.channel import channel, follows, largest_ratio, law_of
from tests.slowly import each
from toolkit import Pure
from toolkit.core.rounding import log_up
from toolkit.local import numeric
from toolkit.local.catalogue import restore
from toolkit.local.numeric import bounded, laplace
from toolkit.local.numeric.bounded import Hybrid, OneBit, Piecewise
from toolkit.local.numeric.laplace import LocalLaplace
from toolkit.local.numeric.means import FiniteMeanRandomizer, MeanRandomizer
from toolkit.local.numeric.scrambling import Scrambled
from toolkit.local.numeric.square_wave import SquareWave

ZERO, ONE, TEN = Fraction(0), Fraction(1), Fraction(10)
FINITE: dict[str, FiniteMeanRandomizer] = {
    "one bit": OneBit(ZERO, TEN, 5, 3, 1),
    "one bit around zero": OneBit(-ONE, ONE, 2, 2, 1),
    "piecewise": Piecewise(ZERO, TEN, 5, 3, 3, 1),
    "piecewise, window of one": Piecewise(-ONE, ONE, 3, 1, 5, 2),
    "hybrid": Hybrid(ZERO, TEN, 4, 3, 1, 2, 5, 2, 1 << 15),
    "hybrid, one bit alone": Hybrid(ZERO, TEN, 3, 3, 1, 2, 2, 1, 0),
}
SCRAMBLED = {
    "added": Scrambled(ZERO, TEN, 10, "additive", (Fraction(-3), Fraction(0), Fraction(5, 2)), (1, 2, 1)),
    "multiplied": Scrambled(Fraction(2), TEN, 8, "multiplicative", (Fraction(1, 2), Fraction(2)), (3, 1)),
    "added to a bit": Scrambled(ZERO, ONE, 1, "additive", (ZERO, ONE), (1, 1)),
    "a sign": Scrambled(-ONE, ONE, 1, "multiplicative", (-ONE, ONE), (1, 3)),
    "a sign, or zero": Scrambled(-ONE, ONE, 2, "multiplicative", (-ONE, ONE), (1, 3)),
}
MAKERS = (numeric.one_bit, numeric.piecewise, numeric.hybrid, numeric.local_laplace)


def laws(mean: MeanRandomizer) -> list[dict]:
    return channel(_thinned(mean)._draw_report, list(range(mean.steps + 1)))


def _thinned(mean: MeanRandomizer) -> MeanRandomizer:
    """A hybrid chooses with a denominator of 65,536; if the choice is fair or certain, a denominator of 2 is enough for
    enumeration.
    """

    class Thinned:
        @staticmethod
        def _draw_report(index: int, draw: object) -> int:
            def turns(bound: int) -> int:
                return draw(2) << 15 if bound == 1 << 16 else draw(bound)  # type: ignore[operator]

            return mean._draw_report(index, turns)

    return Thinned()  # type: ignore[return-value]


@pytest.mark.parametrize("name", FINITE)
def test_epsilon_is_that_of_the_enumerated_channel(name: str) -> None:
    mean = FINITE[name]
    found = laws(mean)
    assert all(sum(law.values()) == 1 for law in found)
    outcomes = set().union(*found)
    assert outcomes <= set(range(mean.n_reports))
    # A hybrid's odds are the larger odds of both branches, although a branch that is never used reveals nothing.
    shown = largest_ratio(found)
    assert shown == mean._odds or (name == "hybrid, one bit alone" and shown == mean.bit._odds)
    assert mean.epsilon == log_up(mean._odds) == mean.loss.epsilon


@pytest.mark.parametrize("name", FINITE | SCRAMBLED)
def test_scores_are_unbiased_and_have_the_claimed_square(name: str) -> None:
    """For every answer on the grid, by exact enumeration of all reports."""
    mean = (FINITE | SCRAMBLED)[name]
    c0, c1, c2 = mean.squared_score_coefficients
    for index, law in enumerate(laws(mean)):
        chances = np.array([float(chance) for chance in law.values()])
        scores = mean.scores(np.array(list(law)))
        answer = float(mean.low) + mean._grid.span * index / mean.steps
        assert math.isclose(chances @ scores, answer, abs_tol=1e-12)
        unit, u = (scores - float(mean.low)) / mean._grid.span, index / mean.steps
        assert math.isclose(chances @ unit**2, c0 + c1 * u + c2 * u * u, rel_tol=1e-12, abs_tol=1e-12)
        noise = chances @ scores**2 - answer**2
        assert math.isclose(mean.variance(answer, 3, sd=0, respondents="fixed"), noise / 3, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("name", FINITE | SCRAMBLED)
def test_variance_for_a_sample_and_for_fixed_respondents(name: str) -> None:
    """Half of the people have the lowest and half the highest answer: an exact mixture of the enumerated
    distributions.
    """
    mean = (FINITE | SCRAMBLED)[name]
    found, ends = laws(mean), (float(mean.low), float(mean.high))
    within, second = [], 0.0
    for law, answer in ((found[0], ends[0]), (found[-1], ends[1])):
        chances, scores = np.array([float(c) for c in law.values()]), mean.scores(np.array(list(law)))
        within.append(chances @ scores**2 - answer**2)
        second += chances @ scores**2 / 2
    middle, sd = sum(ends) / 2, mean._grid.span / 2
    assert math.isclose(mean.variance(middle, 1, sd=sd, respondents="fixed"), np.mean(within), rel_tol=1e-9)
    assert math.isclose(mean.variance(middle, 1, sd=sd), second - middle**2, rel_tol=1e-9)
    assert mean.variance(middle, 1) >= max(mean.variance(middle, 1, sd=s) for s in (0, sd / 2, sd)) * (1 - 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", FINITE | SCRAMBLED)
def test_many_draws_follow_the_channel(name: str) -> None:
    """Each answer is tested. False alarms: at most 1e-6 with the seed, 1e-10 with the system's randomness."""
    mean = (FINITE | SCRAMBLED)[name]
    for rng, least in ((np.random.default_rng(2), 1e-6), (None, 1e-10)):
        for index, law in enumerate(laws(mean)):
            answers = np.full(20_000, float(mean.low) + mean._grid.span * index / mean.steps)
            assert len(law) == 1 or follows(mean.randomize(answers, rng).tolist(), law) > least


def test_of_answers_at_the_bounds_chance_rounds_none() -> None:
    """Each bit is flipped with probability 2**-31; the seed is fixed."""
    ends, rng = np.repeat([0, 10], 100), np.random.default_rng(1)
    assert OneBit(ZERO, TEN, 2, 2**31 - 1, 1).randomize(ends, rng).tolist() == (ends // 10).tolist()


@pytest.mark.parametrize("turn", [0, 1, 1 << 15, 1 << 16])
def test_it_is_the_windows_turn_in_as_many_of_65536_as_was_said(turn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.array([0, turn - 1, turn, (1 << 16) - 1]).clip(0, (1 << 16) - 1)
    below = bounded.below
    monkeypatch.setattr(bounded, "below", lambda bound, *of: drawn if bound == 1 << 16 else below(bound, *of))
    reports = Hybrid(ZERO, TEN, 4, 3, 1, 2, 5, 2, turn).randomize([1, 2, 3, 4])
    assert (reports >= 2).tolist() == (drawn < turn).tolist()


@pytest.mark.parametrize("name", FINITE)
def test_counts_and_reports_say_the_same(name: str) -> None:
    mean, rng = FINITE[name], np.random.default_rng(7)
    reports = mean.randomize(rng.uniform(float(mean.low), float(mean.high), 400), rng)
    one, other = mean.estimate(reports), mean.estimate_counts(np.bincount(reports, minlength=mean.n_reports))
    assert math.isclose(one.value, other.value)
    assert math.isclose(one.se, other.se)
    assert math.isclose(one.value, mean.scores(reports).mean())
    assert math.isclose(one.se, mean.scores(reports).std(ddof=1) / 20)
    assert np.allclose(one.cov, one.se**2)


# The worst-case variance of one report for answers from -1 to 1. Wang et al. (2019) for piecewise and hybrid, Duchi,
# Jordan and Wainwright (2018) for one bit; Laplace noise has 8 / epsilon**2.
WORST = {
    0.5: (16.67, 21.2, 16.67, 32),
    1: (4.68, 5.22, 4.29, 8),
    2: (1.72, 1.23, 1.04, 2),
    3: (1.22, 0.49, 0.43, 0.89),
    4: (1.08, 0.24, 0.22, 0.5),
}


@pytest.mark.parametrize("epsilon", WORST)
def test_worst_case_variances_are_the_published_ones(epsilon: float) -> None:
    for make, printed in zip(MAKERS, WORST[epsilon], strict=True):
        mean = make((-1, 1), epsilon)
        worst = max(mean.variance(x, 1, sd=0, respondents="fixed") for x in np.linspace(-1, 1, 41))
        digits = len(str(printed).partition(".")[2])
        assert abs(worst - printed) <= 0.5 * 10**-digits + 1e-9


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_variances_follow_the_papers_formulas(epsilon: float) -> None:
    """On a grid of 65,536 steps the discrete distributions agree with the continuous formulas to four digits."""
    factor, half = math.exp(epsilon), math.exp(epsilon / 2)
    for x in (-1.0, -0.3, 0.0, 0.8, 1.0):
        found = [make((-1, 1), epsilon).variance(x, 1, sd=0, respondents="fixed") for make in MAKERS]
        bit = ((factor + 1) / (factor - 1)) ** 2 - x * x
        window = x * x / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
        turn = 1 - math.exp(-epsilon / 2) if epsilon > 0.61 else 0
        for value, formula in zip(found, (bit, window, turn * window + (1 - turn) * bit, 8 / epsilon**2), strict=True):
            assert math.isclose(value, formula, rel_tol=1e-4)


def test_the_window_is_one_report_at_least() -> None:
    """65536 e**-11 is 1.09."""
    assert numeric.piecewise((0, 1), 22).width == 1


def test_hybrid_is_never_worse_than_its_parts() -> None:
    for epsilon in (0.3, 0.6, 0.605, 0.612, 0.7, 1, 2, 4, 7):
        worst = [
            max(m((-1, 1), epsilon).variance(x, 1, sd=0, respondents="fixed") for x in (0, 0.5, 1)) for m in MAKERS[:3]
        ]
        assert worst[2] <= min(worst[:2]) * (1 + 1e-6)


@each(make=MAKERS, bounds=[(0, 1), (-5, 200_000), (0, 80), ("1/3", 0.7)], epsilon=[0.05, 0.5, 1, 2, 4, 8, "1/3"])
def test_epsilon_is_just_below_the_one_asked_for(make: type, bounds: tuple, epsilon: float | str) -> None:
    mean = make(bounds, epsilon)
    assert mean.loss <= Pure(epsilon)
    assert mean.epsilon > (1 - 1e-5) * Pure(epsilon).epsilon


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS)
def test_measured_error_is_within_three_percent_of_theory(make: type) -> None:
    """12,000 surveys of 30 people with a fixed seed: the standard error of a variance is 1.3 %; the tolerance of 3 %
    for the mean of four epsilons is 4.6 standard errors. The tolerance for the bias is 4.5 standard errors.
    """
    ratios = []
    for epsilon in (0.5, 1, 2, 4):
        mean, rng = make((0, 40), epsilon), np.random.default_rng(int(epsilon * 10))
        answers = rng.beta(2, 5, 12_000 * 30) * 40
        estimates = mean.scores(mean.randomize(answers, rng)).reshape(-1, 30).mean(axis=1)
        center, sd = 40 * 2 / 7, 40 * math.sqrt(10 / 49 / 8)
        theory = mean.variance(center, 30, sd=sd)
        ratios.append(estimates.var() / theory)
        assert abs(estimates.mean() - center) < 4.5 * math.sqrt(theory / 12_000)
    assert abs(np.mean(ratios) - 1) < 0.03


@pytest.mark.slow
def test_one_bit_has_all_intervals_of_a_share_and_they_hold() -> None:
    """The number of ones is binomial: exact coverage over all counts of 80 reports, at 90 %."""
    mean, n, level = numeric.one_bit((20, 60), 1.0), 80, 0.9
    for truth in (20, 30, 45):
        p = float(mean._support_law.q) + mean._support_law.slope * (truth - 20) / 40
        covered = dict.fromkeys(("wilson", "exact", "bayes", "wald"), 0.0)
        for ones in range(n + 1):
            estimate = mean.estimate_counts([n - ones, ones])
            for method in covered:
                interval = estimate.interval(level, method)
                assert interval.empty or 20 <= interval.low <= interval.high <= 60
                covered[method] += binom.pmf(ones, n, p) * (
                    interval.low <= truth + 1e-9 and truth - 1e-9 <= interval.high
                )
        assert covered["exact"] >= level
        assert min(covered.values()) >= level - 0.06


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS[1:])
def test_intervals_hold_their_level(make: type) -> None:
    """Intervals of one bit have exact coverage (see above). Here 2000 surveys of 200 people with a fixed seed, nominal
    95 %; four standard errors of a coverage are 2 %.
    """
    mean, rng = make((0, 10), 1.0), np.random.default_rng(33)
    answers = rng.uniform(0, 6, (2000, 200))
    reports = mean.randomize(answers.ravel(), rng).reshape(2000, 200)
    covered = [(lambda i: i.low <= 3 <= i.high)(mean.estimate(row).interval()) for row in reports]
    assert abs(np.mean(covered) - 0.95) < 0.02


@pytest.mark.slow
def test_laplace_noise_has_the_exact_scale_in_python_and_in_the_browser() -> None:
    """Python's noise and the browser's rule have the same distribution.

    Both samplers are compared with the discrete Laplace distribution; false alarms: at most 1e-6 each with the seed,
    1e-9 with the system's randomness.
    """
    mean = LocalLaplace(ZERO, TEN, 4, Fraction(3, 2))
    assert mean.scale == Fraction(8, 3)
    assert mean.epsilon == 1.5
    ratio = math.exp(-3 / 8)
    law = {z: (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-15, 16)}
    rng = np.random.default_rng(5)
    browser = [mean._draw_report(0, lambda bound: int(rng.integers(bound))) for _ in range(20_000)]
    law["beyond"] = 1 - sum(law.values())
    ours, system = (mean.randomize(np.zeros(20_000), source).tolist() for source in (rng, None))
    for drawn, least in ((browser, 1e-6), (ours, 1e-6), (system, 1e-9)):
        assert follows([z if z in law else "beyond" for z in drawn], law) > least


@pytest.mark.parametrize(
    ("draws", "sent"), [([0, 0], 4), ([2, 0], 4), ([3, 0], 5), ([3, 1], 3), ([7, 1], 2), ([0, 1, 2, 1, 5, 1], 3)]
)
def test_no_noise_has_one_sign(draws: list[int], sent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirds of a step up to 7, then the sign: a draw of less than a step with a minus sign is repeated."""
    monkeypatch.setattr(laplace, "_succeeds", lambda chance, _: chance != 1)  # so that eight thirds are never exceeded
    left = zip(draws, [8, 2] * 3, strict=False)

    def draw(bound: int) -> int:
        drawn, expected = next(left)
        assert bound == expected
        return drawn

    assert LocalLaplace(ZERO, TEN, 4, Fraction(3, 2))._draw_report(4, draw) == sent
    assert next(left, None) is None


@pytest.mark.parametrize(
    ("draws", "succeeds"), [([2], True), ([1, 1], False), ([1, 0, 2], True), ([0, 0, 1, 1], False)]
)
def test_a_chance_of_e_to_minus_two_thirds_is_an_odd_number_of_draws(draws: list[int], succeeds: bool) -> None:
    """The draws continue with probabilities 2/3, 1/3, 2/9 and 1/6 (von Neumann)."""
    left = zip(draws, [3, 3, 9, 6], strict=False)

    def draw(bound: int) -> int:
        drawn, expected = next(left)
        assert bound == expected
        return drawn

    assert laplace._succeeds(Fraction(2, 3), draw) is succeeds
    assert next(left, None) is None


@pytest.mark.slow
def test_scrambling_tells_its_true_epsilon() -> None:
    """A deck is finite, so the largest report proves something; epsilon is finite only if all answers share all
    reports.
    """
    added = numeric.additive((0, 20), {-3: 0.25, 0: 0.5, 3: 0.25})
    assert added.epsilon == math.inf
    assert added.loss == Pure(math.inf)
    assert "prove" in added.describe()
    wide = numeric.additive((0, 1), dict.fromkeys(range(-1000, 1001), "1/2001"))
    assert wide.epsilon == math.inf
    assert numeric.multiplicative((1, 30), {"1/2": 0.5, "3/2": 0.5}).epsilon == math.inf
    sign = numeric.multiplicative((-1, 1), {-1: 0.25, 1: 0.75}, step=2)
    assert sign.epsilon == log_up(Fraction(3))
    assert "proves no answer" in sign.describe()


@pytest.mark.parametrize("name", SCRAMBLED)
def test_scrambled_epsilon_is_that_of_the_enumerated_channel(name: str) -> None:
    scrambled = SCRAMBLED[name]
    ratio = largest_ratio(laws(scrambled))
    assert scrambled.epsilon == (math.inf if ratio is None else log_up(ratio))


def test_scrambled_reports_are_the_numbers_that_are_said() -> None:
    added = numeric.additive((0, 20), {-3: 0.5, 3: 0.5})
    assert set(added.randomize(np.full(50, 7))) <= {4, 10}
    assert SCRAMBLED["added"].unit == Fraction(1, 2)
    for scramble in (numeric.additive, numeric.multiplicative):
        assert scramble((1, 2), {1: 0.5, 2: 0.5}, step="1/2").unit == Fraction(1, 2)
    law = law_of(lambda draw: SCRAMBLED["added"]._draw_report(4, draw))
    assert law == {2: Fraction(1, 4), 8: Fraction(1, 2), 13: Fraction(1, 4)}


@pytest.mark.parametrize(
    ("values", "weights", "words"),
    [
        ((), (), "the deck must have distinct values, each with a weight, got 0 values"),
        ((ONE, TEN), (1,), "got 2 values"),
        ((ONE, ONE), (1, 1), "got 2 values"),
        ((ONE, TEN), (2**32 - 1, 2), "the weights must sum to at most 2.*32"),
    ],
)
def test_a_deck_has_distinct_values_and_weights_of_32_bits(values: tuple, weights: tuple, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Scrambled(ZERO, TEN, 10, "additive", values, weights)
    assert sum(Scrambled(ZERO, TEN, 10, "additive", (ONE, TEN), (2**32 - 1, 1)).weights) == 2**32


@pytest.mark.parametrize(
    ("how", "last"), [("additive", 2**62 - 11), ("additive", 11 - 2**62), ("multiplicative", (2**62 - 1) // 20)]
)
def test_reports_fit_into_64_bits(how: str, last: int) -> None:
    """The farthest report is ten steps beyond `last`, or twenty times `last`."""
    low, next_one = ZERO if how == "additive" else TEN, last + int(math.copysign(1, last))
    sent = Scrambled(low, low + 10, 10, how, (ONE, Fraction(last)), (1, 1)).randomize(np.full(50, float(low) + 10))
    assert set(sent.tolist()) <= ({11, last + 10} if how == "additive" else {20, 20 * last})
    with pytest.raises(ValueError, match="reports must fit into 64 bits"):
        Scrambled(low, low + 10, 10, how, (ONE, Fraction(next_one)), (1, 1))


@pytest.mark.parametrize("name", FINITE | SCRAMBLED)
def test_it_survives_json_and_speaks_plainly(name: str) -> None:
    mean = (FINITE | SCRAMBLED)[name]
    assert restore(json.loads(json.dumps(mean.to_dict()))) == mean
    assert math.isinf(mean.epsilon) or "proves no answer" in mean.describe()
    assert "epsilon" in repr(mean)


@pytest.mark.parametrize("make", MAKERS)
def test_one_report_has_no_error_that_could_be_known(make: type) -> None:
    one = make((0, 1), 1.0).estimate([1])
    assert math.isnan(one.se)
    assert one.n == 1


def test_an_estimate_out_of_bounds_says_so() -> None:
    assert "out of bounds" in numeric.one_bit((0, 1), 1.0).estimate_counts([75, 25]).notes[0]


@each(epsilon=[0, -1, math.nan, math.inf, True, "x", 23], make=[*MAKERS, numeric.square_wave])
def test_an_impossible_epsilon_is_refused(make: type, epsilon: object) -> None:
    with pytest.raises((ValueError, TypeError), match=r"epsilon|number"):
        make((0, 1), epsilon)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda: OneBit(ZERO, ONE, 5, 1, 1), "`keep` must be above `lie`"),
        (lambda: OneBit(ZERO, ONE, 2**17, 3, 1), "`steps` must be at most 65536"),
        (lambda: OneBit(ZERO, ONE, 0, 3, 1), "`steps` must be at least 1"),
        (lambda: Piecewise(ZERO, ONE, 5, 0, 3, 1), "`width` must be at least 1"),
        (lambda: Piecewise(ZERO, ONE, 5, 1, 1, 1), "`inside` must be above `outside`"),
        (lambda: Piecewise(ZERO, ONE, 5, 4, 2**31, 1), "the weights must sum to at most 2**32"),
        (lambda: Hybrid(ZERO, ONE, 5, 3, 1, 2, 3, 1, 2**17), "`turn` must be at most 65536"),
        (lambda: OneBit(0.5, ONE, 5, 3, 1), "`low` must be a fraction or two integers, the"),
        (lambda: numeric.one_bit((0, 1), 1.0).estimate([0, 2]), "reports must lie in 0 … 1"),
        (lambda: numeric.piecewise((0, 1), 1.0).estimate([1, -1]), "reports must lie in 0 … 105285"),
        (lambda: numeric.one_bit((0, 1), 1.0).estimate([0.5]), "reports must be a list of integers"),
        (lambda: numeric.one_bit((0, 1), 1.0).estimate([]), "reports must be a list of integers"),
        (lambda: numeric.one_bit((0, 1), 1.0).variance(2, 10), "`mean` must lie between 0 and 1"),
        (lambda: numeric.one_bit((0, 1), 1.0).variance(0.5, 10, sd=0.7), "`sd` must be possible within the bounds"),
        (
            lambda: numeric.one_bit((0, 1), 1.0).variance(0.5, 10, respondents="both"),
            "`respondents` must be one of sample, fixed",
        ),
        (lambda: numeric.additive((0, 10), {1: 0.5, 2: 0.6}), "the probabilities of `noise` must be positive"),
        (lambda: numeric.additive((0, 10), {1: 1.0, 2: 0}), "the probabilities of `noise` must be positive"),
        (lambda: numeric.additive((0, 10), [1, 2]), "`noise` must map numbers to probabilities"),
        (lambda: numeric.additive((0, 10), {}), "`noise` must be at least 1"),
        (lambda: numeric.additive((0, 10), dict.fromkeys(range(5000), 0)), "the probabilities of `noise` must be"),
        (lambda: numeric.additive((0, 10), dict.fromkeys(range(5001), 0)), "`noise` must be at most 5,000"),
        (lambda: numeric.additive((0, 10), {0: 1}, step=3), "the range must be a whole number of `step`s"),
        (lambda: numeric.multiplicative((1, 10), {-1: 0.5, 1: 0.5}), "the deck's mean must differ from 0"),
        (lambda: numeric.additive((0, 10), {"1/1000000007": 0.5, "1/998244353": 0.5}), "reports must fit into 64 bits"),
        (lambda: OneBit.from_dict({"kind": "one_bit", "low": 0.5}), "the data of a 'one_bit' must have that kind and"),
    ],
)
def test_what_cannot_be_is_refused(broken: object, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        broken()  # type: ignore[operator]


def test_a_deck_with_a_zero_accepts_zero_and_what_its_other_numbers_make() -> None:
    """Multiplied by 0, every answer is sent as 0: a report is checked against a line with slope zero."""
    deck = numeric.multiplicative((1, 4), {0: "1/2", 2: "1/2"})
    assert [report for report in range(-3, 11) if deck._accepts(report)] == [0, 2, 4, 6, 8]
    assert all(
        deck._accepts(int(report)) for report in deck.randomize(np.array([1, 2, 3, 4] * 50), np.random.default_rng(1))
    )


def test_an_estimate_at_a_bound_is_within_bounds() -> None:
    """Warner's bit with weights 3 and 1: if a quarter of the reports are ones, the mean is exactly the lowest answer;
    one less is out of bounds.
    """
    bit = OneBit(Fraction(0), Fraction(80), 80, 3, 1)
    for counts, value in (([3, 1], 0.0), ([1, 3], 80.0)):
        found = bit.estimate_counts(counts)
        assert found.value == value
        assert not any("out of bounds" in note for note in found.notes)
    assert bit.estimate_counts([4, 1]).value < 0
    assert bit.estimate_counts([4, 1]).notes != ()


@pytest.mark.parametrize(("report", "nearest"), [(-7, 0), (0, 0), (3, 3), (8, 8), (10, 10), (12, 10)])
def test_identical_reports_have_the_error_of_the_nearest_possible_mean(report: int, nearest: int) -> None:
    """If all reports agree, the standard error is the theoretical one at the nearest mean within the bounds."""
    made = LocalLaplace(ZERO, TEN, 10, ONE)
    found = made.estimate([report] * 2)
    assert (found.value, found.se) == pytest.approx((report, math.sqrt(made.variance(nearest, 2))))
    assert made.estimate([report - 1, report + 1]).se == pytest.approx(1)
    window = FINITE["piecewise"]
    counted = window.estimate_counts(2 * np.eye(window.n_reports, dtype=int)[nearest % window.n_reports])
    assert counted.se == pytest.approx(math.sqrt(window.variance(min(max(counted.value, 0.0), 10.0), 2)))
    assert math.isnan(made.estimate([report]).se)


def test_the_interval_of_a_mean_has_n_minus_1_degrees_of_freedom() -> None:
    """The t interval of a mean of five people uses four degrees of freedom."""
    made = numeric.local_laplace((0, 10), 1.0)
    found = made.estimate(made.randomize([1, 2, 3, 4, 9], rng=np.random.default_rng(5)))
    low, high = found.interval(method="t")
    assert (high - low) / 2 / found.se == pytest.approx(student.ppf(0.975, 4), rel=1e-9)


@each(respondents=["sample", "fixed"], name=FINITE)
def test_without_a_spread_the_variance_is_the_largest_of_any_spread(name: str, respondents: str) -> None:
    made = FINITE[name]
    low, high = map(float, made.bounds)
    for share in (0.1, 0.5, 0.8):
        mean, widest = low + share * (high - low), (high - low) * math.sqrt(share * (1 - share))
        largest = made.variance(mean, 7, respondents=respondents)
        given = [made.variance(mean, 7, sd=widest * part / 4, respondents=respondents) for part in range(5)]
        assert largest == pytest.approx(max(given), rel=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda low, high: OneBit(low, high, 5, 3, 1),
        lambda low, high: Piecewise(low, high, 5, 3, 3, 1),
        lambda low, high: Hybrid(low, high, 5, 3, 1, 2, 3, 1, 9),
        lambda low, high: LocalLaplace(low, high, 5, ONE),
        lambda low, high: Scrambled(low, high, 10, "additive", (ONE, TEN), (1, 1)),
        lambda low, high: SquareWave(low, high, 5, 3, 3, 1),
    ],
    ids=["one bit", "piecewise", "hybrid", "laplace", "scrambled", "square wave"],
)
def test_bounds_are_looked_at_whatever_makes_the_randomizer(
    make: Callable[[Fraction, Fraction], MeanRandomizer],
) -> None:
    assert make(ZERO, TEN).bounds == (0, 10)
    with pytest.raises(ValueError, match="lower limit in `bounds` must be below the upper"):
        make(TEN, ZERO)
