"""Checks that every randomizer of exclusive options must pass, on instances so small that all reports can be
enumerated.
"""

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.stats import binom

from tests.local.channel import Law, channel, follows, frozen, largest_ratio
from tests.local.contract import focus, prevalences
from toolkit.core.rounding import log_up
from toolkit.local.catalogue import restore
from toolkit.local.oracles import bits
from toolkit.local.oracles.hashing import LocalHash
from toolkit.local.oracles.oracle import Oracle
from toolkit.local.oracles.subset import Subset
from toolkit.local.protocol import Randomizer

Check = Callable[[Oracle], None]


@cache
def supported(oracle: Oracle, report: tuple[int, ...]) -> np.ndarray:
    """Return a mask of the options that a report of the exact channel supports."""
    if isinstance(oracle, LocalHash):
        value, *factors = report
        hashes = [
            sum(a for i, a in enumerate(factors) if v >> i & 1) % oracle.values for v in range(len(oracle.options))
        ]
        return np.array([h == value for h in hashes])
    return np.isin(np.arange(len(oracle.options)), report)


def support_table(oracle: Oracle, reports: np.ndarray) -> np.ndarray:
    """Return a mask of the options that each report of `randomize` supports, one row per report; answers are codes."""
    k = len(oracle.options)
    if isinstance(oracle, LocalHash):
        digits = (np.arange(k)[:, None] >> np.arange(oracle.n_digits)) & 1
        return (reports[:, 1:].astype(int) @ digits.T) % oracle.values == reports[:, :1]
    return reports[:, None] == np.arange(k) if reports.ndim == 1 else bits.unpack(reports, k)


@cache
def laws(oracle: Oracle) -> list[Law]:
    return channel(oracle._draw_report, list(range(len(oracle.options))))


def wire(oracle: Oracle, reports: np.ndarray) -> list[tuple[int, ...]]:
    """Return reports of `randomize` in the form of the exact channel; answers are codes."""
    if isinstance(oracle, LocalHash):
        return [frozen(row.tolist()) for row in reports]
    if isinstance(oracle, Subset) and oracle.size == 1:
        return [(int(code),) for code in reports]
    return [tuple(np.flatnonzero(row).tolist()) for row in bits.unpack(reports, len(oracle.options))]


def mixed(oracle: Oracle, truth: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """Return each possible set of supported options with its probability, for given shares of the truths."""
    chances: dict[tuple[float, ...], float] = defaultdict(float)
    for share, law in zip(truth, laws(oracle), strict=True):
        for report, chance in law.items():
            chances[tuple(supported(oracle, report).astype(float))] += share * float(chance)
    return [(np.array(support), chance) for support, chance in chances.items()]


def check_epsilon_is_that_of_the_enumerated_channel(oracle: Oracle) -> None:
    found = laws(oracle)
    assert all(sum(law.values()) == 1 for law in found)
    assert largest_ratio(found) == oracle._odds
    assert oracle.epsilon == log_up(oracle._odds)
    assert oracle.loss.epsilon == oracle.epsilon


def check_support_probabilities_are_exact(oracle: Oracle) -> None:
    """Return p, q and both joint probabilities as fractions, for every answer, option and pair of options."""
    support, k = oracle._support_law, len(oracle.options)
    for truth, law in enumerate(laws(oracle)):
        sets = {report: supported(oracle, report) for report in law}
        for v in range(k):
            chance = sum((law[r] for r, holds in sets.items() if holds[v]), Fraction(0))
            assert chance == (support.p if v == truth else support.q)
        for u, v in itertools.combinations(range(k), 2):
            both = sum((law[r] for r, holds in sets.items() if holds[u] and holds[v]), Fraction(0))
            assert both == (support.both_if_either if truth in (u, v) else support.both_if_neither)


def check_many_draws_follow_the_channel(oracle: Oracle) -> None:
    """Each answer, with a fixed seed and with the system's randomness. False alarms: at most 1e-6 and 1e-10 per
    answer.
    """
    for rng, least in ((np.random.default_rng(4), 1e-6), (None, 1e-10)):
        for truth, law in enumerate(laws(oracle)):
            reports, times = np.unique(oracle.randomize(np.full(20_000, truth), rng), axis=0, return_counts=True)
            assert follows(dict(zip(wire(oracle, reports), times.tolist(), strict=True)), law) > least


def check_unbiased_by_enumeration(oracle: Oracle) -> None:
    for truth in prevalences(oracle):
        mean = sum(chance * np.atleast_1d(oracle.estimate_counts(s, 1).value) for s, chance in mixed(oracle, truth))
        assert np.allclose(mean, focus(oracle, truth), atol=1e-12)


def sums_of_two(reports: list) -> dict[tuple, float]:
    """Return every sum of the supports of two independent reports with its probability."""
    found: dict[tuple, float] = defaultdict(float)
    for (a, chance), (b, other) in itertools.product(reports, repeat=2):
        found[tuple(a + b)] += chance * other
    return found


def check_variances_and_covariances_by_enumeration(oracle: Oracle) -> None:
    """The theoretical covariances for both kinds of respondents equal the mean of the estimated covariances over all
    pairs of reports.
    """
    for truth in prevalences(oracle):
        reports, k = mixed(oracle, truth), len(oracle.options)
        slope, q = oracle._support_law.slope, float(oracle._support_law.q)
        scores = [((s - q) / slope, chance) for s, chance in reports]
        second = sum(chance * np.outer(s, s) for s, chance in scores)
        survey, fixed = second - np.outer(truth, truth), second - np.diag(truth)
        assert np.allclose(oracle.covariance(truth, 7), survey / 7, atol=1e-12)
        assert np.allclose(oracle.covariance(truth, 7, respondents="fixed"), fixed / 7, atol=1e-12)
        for respondents, exact in (("sample", survey), ("fixed", fixed)):
            claimed = np.atleast_1d(oracle.variance(truth, 7, respondents=respondents))
            assert np.allclose(claimed, focus(oracle, np.diag(exact)) / 7, atol=1e-12)
        if len(reports) <= 64:
            mean_cov, mean_square = np.zeros((k, k)), 0.0
            for counts, chance in sums_of_two(reports).items():
                estimate = oracle.estimate_counts(np.array(counts), 2)
                # If both reports agree about an option, its standard error is that of the design and never 0.
                alike = focus(oracle, np.isin(counts, (0, 2)))
                assert np.min(estimate.se) > 0
                mean_square = mean_square + chance * np.where(alike, 0, np.atleast_1d(estimate.se) ** 2)
                mean_cov = mean_cov + chance * np.where(np.diag(alike), 0, estimate.cov)
            expected = survey[1:, 1:] / 2 if k == 2 else survey / 2
            assert np.allclose(mean_cov[: len(expected), : len(expected)], expected, atol=1e-9)
            assert np.allclose(mean_square, np.diag(expected), atol=1e-9)


def check_intervals_hold_their_level_by_enumeration(oracle: Oracle) -> None:
    """The count of one option is binomial: all counts of 60 reports, at 90 %."""
    n, level, k = 60, 0.9, len(oracle.options)
    least = {"exact": level, "wilson": level - 0.05, "bayes": level - 0.12, "wald": level - 0.12}
    limits: dict[str, list[tuple[float, float]]] = {method: [] for method in least}
    together = 1 if k == 2 else k  # one option at a time, because an option's interval depends on its own count alone
    for first in range(0, n + 1, together):
        counts = np.minimum(np.arange(first, first + k), n) if together > 1 else np.array([n - first, first])
        estimate = oracle.estimate_counts(counts, n)
        for method, pairs in limits.items():
            interval = estimate.interval(level, method)
            pairs += zip(np.atleast_1d(interval.low), np.atleast_1d(interval.high), strict=True)
    for share in (0.1, 0.5):
        chances = binom.pmf(np.arange(n + 1), n, float(oracle._support_law.q) + share * oracle._support_law.slope)
        for method, pairs in limits.items():
            low, high = np.array(pairs[: n + 1]).T
            covered = chances @ ((low <= share) & (share <= high))
            assert covered >= least[method] - 1e-6, (method, covered)


def check_survives_json(oracle: Oracle) -> None:
    data = json.loads(json.dumps(oracle.to_dict()))
    assert type(oracle).from_dict(data) == oracle == restore(data)
    assert hash(restore(data)) == hash(oracle)
    numbers = [value for name, value in data.items() if name not in ("kind", "options")]
    assert all(type(number) is int for number in numbers)


def check_speaks_plainly_and_keeps_the_protocol(oracle: Oracle) -> None:
    assert isinstance(oracle, Randomizer)
    assert "proves no answer" in oracle.describe()
    assert f"{len(oracle.options)} options" in repr(oracle)
    assert oracle.ratio_to_limit >= 1 - 1e-12


def check_reports_and_counts_say_the_same(oracle: Oracle) -> None:
    rng = np.random.default_rng(5)
    reports = oracle.randomize(rng.integers(0, len(oracle.options), 500), rng)
    counts, n = oracle.tally(reports)
    by_hand = np.sum([supported(oracle, report) for report in wire(oracle, reports)], axis=0)
    assert n == 500
    assert np.array_equal(counts, by_hand)
    assert np.array_equal(oracle.estimate(reports).value, oracle.estimate_counts(counts, n).value)
    near = np.atleast_1d(oracle.estimate(reports, method="simplex").value)
    assert near.min() >= 0
    assert len(near) == 1 or math.isclose(near.sum(), 1, abs_tol=1e-12)


CHECKS: tuple[Check, ...] = tuple(value for name, value in sorted(globals().items()) if name.startswith("check_"))
