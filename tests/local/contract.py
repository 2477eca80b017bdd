"""Checks that every randomizer with a matrix must pass; test_contract.py applies them to the whole catalogue.

Claims are proven by enumerating all outcomes of a small survey where possible; sampling is used only for the samplers
themselves.
"""

import itertools
import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from tests.local.channel import goodness
from toolkit import Design
from toolkit.core.randomness import Rng
from toolkit.local.protocol import Randomizer

Check = Callable[[Design], None]
DRAWS = 100_000  # with the system's randomness


def prevalences(design: Randomizer) -> list[np.ndarray]:
    """Return a few distributions of the truth: uniform, uneven, and one on the boundary of the simplex."""
    k = len(design.options)
    uneven = np.arange(1, k + 1) / (k * (k + 1) / 2)
    edge = np.eye(k)[0]
    return [np.full(k, 1 / k), uneven, edge]


def surveys(design: Design, n: int) -> Iterator[np.ndarray]:
    """Return all possible tallies of n reports."""
    kinds = len(design.report_options)
    for bars in itertools.combinations(range(n + kinds - 1), kinds - 1):
        edges = (-1, *bars, n + kinds - 1)
        yield np.diff(edges) - 1


def laws(design: Design, shares: np.ndarray, tallies: np.ndarray) -> np.ndarray:
    """Return the multinomial probabilities of tallies, one row per tally."""
    logs = gammaln(tallies.sum(axis=1) + 1) - gammaln(tallies + 1).sum(axis=1)
    return np.exp(logs + xlogy(tallies, shares @ design.matrix).sum(axis=1))


@cache
def enumerated(design: Design, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all tallies of n reports, with the estimate and the standard error for each tally."""
    tallies = np.array(list(surveys(design, n)))
    found = [design.estimate_counts(counts) for counts in tallies]
    return (
        tallies,
        np.array([np.atleast_1d(one.value) for one in found]),
        np.array([np.atleast_1d(one.se) for one in found]),
    )


def focus(design: Randomizer, vector: np.ndarray) -> np.ndarray:
    """Return the options that an estimate covers: the last option of a binary design, otherwise all options."""
    return vector[-1:] if len(design.options) == 2 else vector


def check_rows_are_distributions(design: Design) -> None:
    assert design.weights.shape == (len(design.options), len(design.report_options))
    assert np.all(design.weights.sum(axis=1) == design.denominator)
    assert design.denominator <= 2**32
    assert np.allclose(design.matrix.sum(axis=1), 1, atol=1e-15)


def check_epsilon_is_the_largest_ratio_down_a_column(design: Design) -> None:
    worst = 0.0
    for column in design.weights.T.tolist():
        for a, b in itertools.permutations(column, 2):
            worst = max(worst, math.inf if b == 0 and a else (math.log(Fraction(a, b)) if a else 0.0))
    assert design.epsilon >= worst * (1 - 1e-15)
    assert design.epsilon == worst or design.epsilon - worst < 1e-14
    assert design.loss.epsilon == design.epsilon


def check_unbiased_by_enumeration(design: Design) -> None:
    tallies, values, _ = enumerated(design, 2)
    for shares in prevalences(design):
        assert np.allclose(laws(design, shares, tallies) @ values, focus(design, shares), atol=1e-9)


def check_variance_by_enumeration(design: Design) -> None:
    """The theoretical variance and the mean squared standard error equal the true variance.

    If all reports agree about an option, the standard error is that of the design and never 0.
    """
    tallies, values, errors = enumerated(design, 3)
    scores = design._scores_of_raw_reports(range(tallies.shape[1])).reshape(tallies.shape[1], -1)
    alike = np.array([np.ptp(scores[counts > 0], axis=0) < 1e-9 for counts in tallies])
    assert errors.min() > 0
    errors = np.where(alike, 0, errors)
    for shares in prevalences(design):
        chances = laws(design, shares, tallies)
        variance = chances @ values**2 - (chances @ values) ** 2
        assert chances.sum() == pytest.approx(1)
        assert np.allclose(np.atleast_1d(design.variance(shares, 3)), variance, rtol=1e-7, atol=1e-9)
        assert np.allclose(chances @ errors**2, variance, rtol=1e-7, atol=1e-9)


def check_fixed_respondents_leave_only_the_randomization(design: Design) -> None:
    for shares in prevalences(design):
        sampling = focus(design, shares * (1 - shares)) / 7
        survey = np.atleast_1d(design.variance(shares, 7))
        fixed = np.atleast_1d(design.variance(shares, 7, respondents="fixed"))
        assert np.allclose(survey, fixed + sampling, atol=1e-9)


def check_randomizer_follows_the_matrix(design: Design) -> None:
    """Each row of the matrix, for few and for many answers. False alarms: at most 1e-6 per row and size, with a fixed
    seed.
    """
    rng = np.random.default_rng(20_261_115)
    for truth, row in enumerate(design.matrix):
        for size, repeats in ((3000, 10), (100_000, 1)):
            counts = sum(_tally(design, truth, size, rng) for _ in range(repeats))
            assert goodness(counts, row) > 1e-6


def check_system_randomness_follows_the_matrix(design: Design) -> None:
    """The same test with the system's randomness, which has no seed. False alarms: at most 1e-10 per row."""
    for truth, row in enumerate(design.matrix):
        assert goodness(_tally(design, truth, DRAWS, None), row) > 1e-10


def check_shared_map_follows_the_weights(design: Design) -> None:
    """The report changes exactly at the boundaries of the cells, as in the browser."""
    for truth, row in enumerate(design.weights):
        edges = np.cumsum(row)
        for report, (edge, weight) in enumerate(zip(edges, row, strict=True)):
            if weight:
                assert design._draw_report(truth, lambda _, last=int(edge) - 1: last) == report
                assert design._draw_report(truth, lambda _, first=int(edge - weight): first) == report


def check_maximum_likelihood_is_the_maximum(design: Design) -> None:
    """Karush–Kuhn–Tucker conditions: no direction inside the simplex increases the likelihood."""
    rng = np.random.default_rng(7)
    for shares in prevalences(design):
        counts = rng.multinomial(40, shares @ design.matrix)
        estimate = design.estimate_counts(counts, method="mle")
        found = np.atleast_1d(estimate.value)
        full = np.array([1 - found[0], found[0]]) if len(design.options) == 2 else found
        assert full.min() >= 0
        assert math.isclose(full.sum(), 1, abs_tol=1e-12)
        reports = full @ design.matrix
        seen = counts > 0
        gain = design.matrix[:, seen] @ (counts[seen] / reports[seen]) / counts.sum()
        assert gain.max() <= 1 + 1e-6
        assert np.all(np.isfinite(np.atleast_1d(estimate.se)))


def check_simplex_is_the_nearest_point(design: Design) -> None:
    counts = np.eye(len(design.report_options), dtype=int)[0] * 12 + 1
    raw = design.estimate_counts(counts)
    near = design.estimate_counts(counts, method="simplex")
    value = np.atleast_1d(near.value)
    if len(design.options) == 2:
        assert math.isclose(value[0], np.clip(raw.value, 0, 1), abs_tol=1e-12)
    else:
        gap = value - np.atleast_1d(raw.value)
        assert math.isclose(value.sum(), 1, abs_tol=1e-12)
        assert np.ptp(gap[value > 0]) < 1e-12  # all positive shares change together
        assert value.min() >= 0


def check_intervals_hold_their_level_by_enumeration(design: Design) -> None:
    """The coverage over all surveys of a small size is at least 90 % for "exact" and near 90 % for the other
    methods.
    """
    n, level = {2: 40, 3: 20, 4: 7, 5: 5}.get(len(design.report_options), 3), 0.9
    least = {"exact": level, "wilson": level - 0.06, "wald": level - 0.15, "bayes": level - 0.15}
    if n < 20:
        # the other methods have their nominal level over many surveys, not for a small number of people
        least = {"exact": level}
    if len(design.options) > 2:
        least.pop("bayes", None)
    tallies = np.array(list(surveys(design, n)))
    guesses = prevalences(design)[:2]
    likely = [laws(design, shares, tallies) for shares in guesses]
    covered = [dict.fromkeys(least, 0.0) for _ in likely]
    for i in np.flatnonzero(np.max(likely, axis=0) > 1e-6):
        estimate = design.estimate_counts(tallies[i])
        for method in least:
            interval = estimate.interval(level, method)
            for shares, chances, held in zip(guesses, likely, covered, strict=True):
                truth = focus(design, shares)
                inside = (interval.low <= truth + 1e-12) & (truth - 1e-12 <= interval.high)
                held[method] = held[method] + chances[i] * inside
    for held in covered:
        for method, bound in least.items():
            assert np.all(held[method] >= bound - 1e-3), (method, held[method])


def check_intervals_stay_inside_and_report_the_empty_case(design: Design) -> None:
    """Check each possible report by itself; sampling, which takes a second, is done only for the first."""
    for kind, counts in enumerate(np.eye(len(design.report_options), dtype=int) * 30):
        estimate = design.estimate_counts(counts)
        drawn = getattr(estimate.basis, "joint", None) is not None
        for method in ("wilson", "exact", "wald", *(() if drawn and kind else ("bayes",))):
            interval = estimate.interval(0.95, method)
            low, high = np.atleast_1d(interval.low), np.atleast_1d(interval.high)
            empty = np.atleast_1d(interval.empty)
            wide = (low < high) | (method == "wald")  # thirty equal reports have no standard error
            assert np.all(((low >= 0) & (low <= high) & wide & (high <= 1)) | empty)
            assert np.all(np.isnan(low[empty]) & np.isnan(high[empty]))
            if method == "bayes":
                assert not np.any(interval.empty)


def check_posterior_is_bayes_rule_and_bounded_by_epsilon(design: Design) -> None:
    for shares in prevalences(design)[:2]:
        posterior = design.posterior(shares)
        joint = shares[:, None] * design.matrix
        assert np.allclose(posterior, joint / joint.sum(axis=0))
        if math.isfinite(design.epsilon):
            odds = (posterior[:, None] / posterior[None, :]) / (shares[:, None, None] / shares[None, :, None])
            assert odds.max() <= math.exp(design.epsilon) * (1 + 1e-9)


def check_survives_json(design: Design) -> None:
    again = Design.from_dict(json.loads(json.dumps(design.to_dict())))
    assert again == design
    assert hash(again) == hash(design)
    assert again.epsilon == design.epsilon


def check_speaks_plainly(design: Design) -> None:
    words = design.describe()
    assert "We receive your real answer" in words or all(f"“{option}”" in words for option in design.options)
    assert ("proves no answer" in words) == math.isfinite(design.epsilon)
    assert f"{len(design.options)} options" in repr(design)


def check_devices_are_what_they_claim(design: Design) -> None:
    for device in design.devices():
        gap = np.abs(device.design.matrix - design.matrix).max()
        assert math.isclose(device.distance, gap, abs_tol=1e-12)
        assert device.outcomes % (device.design.denominator) == 0
        assert device.epsilon == device.design.epsilon
        # No positive probability becomes zero, so the device does not make any answer undeniable.
        assert np.all((device.design.weights > 0) >= (design.weights > 0))


def _tally(design: Design, truth: int, people: int, rng: Rng) -> np.ndarray:
    """Return how often each report was sent by a number of people with the same answer, all as codes."""
    counts = np.bincount(design.randomize(np.full(people, truth), rng), minlength=len(design.report_options))
    assert (counts.shape, counts.sum()) == ((len(design.report_options),), people)
    return counts


CHECKS: tuple[Check, ...] = tuple(value for name, value in sorted(globals().items()) if name.startswith("check_"))
