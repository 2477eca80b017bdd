"""The square wave, a randomizer for the distribution of bounded numbers, with smoothed maximum likelihood."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike, Values
from toolkit.core.checks import Number, check_choice, check_integer, check_probability, reject
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval
from toolkit.core.randomness import Rng, check_rng
from toolkit.local.calibration import checked_epsilon, weights_for_epsilon
from toolkit.local.matrix.encoding import checked_counts, checked_distribution, checked_times, count_codes
from toolkit.local.matrix.likelihood import maximum_likelihoods
from toolkit.local.numeric.grid import MAX_STEPS, checked_bounds, checked_reports
from toolkit.local.numeric.window import WindowRandomizer
from toolkit.local.protocol import Respondents, is_code

BOOTSTRAP_SEED = 20_191_205
"""The seed of the bootstrap, which is not secret; with a fixed seed the same reports give the same band."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Bootstrap percentiles of estimates, from replicates with a row per survey and a column per label."""

    replicates: Array
    methods: tuple[str, ...] = ("bootstrap",)
    equal_tails: ClassVar[bool] = True  # each limit excludes the same share of the replicates

    @property
    def least_p(self) -> float:
        """The smallest p-value that this number of replicates can resolve."""
        return 2 / (len(self.replicates) + 1)

    def interval(self, level: float, method: str) -> Interval:
        low, high = np.quantile(self.replicates, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return Interval(low, high, level, method)


def resample(counts: Array, n_replicates: int, rng: np.random.Generator) -> Array:
    """Resample a tally with replacement; return a tally in each row."""
    n = int(counts.sum())
    return rng.multinomial(n, counts / n, size=n_replicates).astype(np.float64)


_DEFAULT_STEPS = 64
# With the kernel of the paper, the curve is rougher than necessary on 1,024 bins, and too smooth on 65 bins for 10**5
# people.
_BINS = 256


@dataclass(frozen=True, repr=False)
class SquareWave(WindowRandomizer):
    """A randomizer for the distribution of answers on steps + 1 equidistant points from `low` to `high`.

    Reports are more likely in a window of `width` reports that slides with the answer. They are drawn as in
    `toolkit.local.numeric.window.Window`, with the index of the point nearest to the answer.

    Examples
    --------
    >>> from toolkit.local.numeric import square_wave
    >>> square_wave((0, 80), epsilon=1).steps
    80
    """

    name = "square_wave"

    @cached_property
    def _points(self) -> Array:
        """The points of the grid."""
        return np.linspace(float(self.low), float(self.high), self.steps + 1)

    def _accepts(self, report: object) -> bool:
        return is_code(report, self._window.n_reports)

    def tally(self, reports: Values, times: ArrayLike | None = None) -> npt.NDArray[np.int64]:
        """Count the reports of each kind.

        Parameters
        ----------
        reports : sequence or array
            Reports, as returned by `randomize`.
        times : sequence of int, optional
            The number of times each report occurred; once each if left out.

        Returns
        -------
        array
            A count for each possible report.
        """
        codes = checked_reports(reports, self._window.n_reports)
        return count_codes(codes, None if times is None else checked_times(times, len(codes)), self._window.n_reports)

    def estimate(
        self,
        reports: Values,
        *,
        smoothing: float | None = None,
        replicates: int = 200,
        rng: Rng = None,
        times: ArrayLike | None = None,
    ) -> Estimate:
        """Estimate the share of answers nearest to each point, as a smoothed curve with a bootstrap band.

        The error was measured for four distributions (Beta(5, 2), bimodal, heaped at round numbers, steeply falling),
        epsilon 0.5, 1 and 2, 65 points and 1,000 to 100,000 people, with a few surveys each. The mean Wasserstein
        distance of the curve from the answers was 0.63 to 1.28 times the distance of the published algorithm on 1,024
        bins. For maximum likelihood the factor was 0.95 to 1.82.

        Parameters
        ----------
        reports : sequence of int
            Reports, one per person.
        smoothing : float, optional
            The amount of smoothing per round, from 0 for maximum likelihood to 1 for the kernel (1/4, 1/2, 1/4). If
            left out, the equivalent of that kernel on 256 bins, which is 1/16 on 65 points. The band does not include
            the bias of smoothing.
        replicates : int
            The number of bootstrap replicates for the band, which is computed by maximum likelihood.
        rng : numpy.random.Generator, optional
            A generator for the bootstrap; if left out, the seed is fixed, so that the same reports give the same band.
        times : sequence of int, optional
            The number of times each report occurred; once each if left out.

        Returns
        -------
        Estimate
            A share per point.
        """
        return self.estimate_counts(self.tally(reports, times), smoothing=smoothing, replicates=replicates, rng=rng)

    def estimate_counts(
        self, counts: ArrayLike, *, smoothing: float | None = None, replicates: int = 200, rng: Rng = None
    ) -> Estimate:
        """Estimate the shares as `estimate` does, but from the number of reports of each kind.

        Parameters
        ----------
        counts : sequence of int
            The number of reports of each kind, as returned by `tally`.
        smoothing : float, optional
            As for `estimate`.
        replicates : int
            The number of bootstrap replicates for the band.
        rng : numpy.random.Generator, optional
            A generator for the bootstrap; a fixed seed if left out.

        Returns
        -------
        Estimate
            The share of answers at each point.
        """
        return self._make_estimate(counts, np.asarray, self._labels, smoothing, replicates, rng)

    def quantiles(
        self,
        reports: Values,
        at: Sequence[Number] = (0.25, 0.5, 0.75),
        *,
        smoothing: float | None = 0.0,
        replicates: int = 200,
        rng: Rng = None,
    ) -> Estimate:
        """Estimate the numbers below which the given shares of the answers lie, by maximum likelihood.

        Answers are assumed to be evenly spread between the points. Intervals of quartiles were simulated with three
        distributions, epsilon 0.5, 1 and 2, 21 and 65 points and 3000 people. Nominal 95 % intervals covered the true
        quartile in 88 to 99 % of the surveys, but in only 67 to 93 % if it was in a heap of equal answers at the end of
        the range.

        Parameters
        ----------
        reports : sequence or array
            Reports, as returned by `randomize`.
        at : sequence of number
            The shares.
        smoothing : float, optional
            As for `estimate`; no smoothing by default.
        replicates : int
            The number of bootstrap replicates for the intervals.
        rng : numpy.random.Generator, optional
            A generator for the bootstrap; a fixed seed if left out.

        Returns
        -------
        Estimate
            One entry for each share.
        """
        shares = [float(check_probability(share, "at")) for share in at]
        edges = np.concatenate([self._points[:1], (self._points[1:] + self._points[:-1]) / 2, self._points[-1:]])

        def points(distributions: Array) -> Array:
            below = np.concatenate([np.zeros((len(distributions), 1)), np.cumsum(distributions, axis=1)], axis=1)
            # Dividing by the last sum makes it exactly 1, so that the quantile of 1 is the upper end.
            return np.array([np.interp(shares, row / row[-1], edges) for row in below])

        return self._make_estimate(
            self.tally(reports), points, tuple(f"{s:g}" for s in shares), smoothing, replicates, rng
        )

    @property
    def _labels(self) -> tuple[str, ...]:
        """The labels of the points in an estimate."""
        return tuple(f"{point:.6g}" for point in self._points)

    def _make_estimate(
        self,
        counts: ArrayLike,
        statistic: Callable[[Array], Array],
        labels: tuple[str, ...],
        smoothing: float | None,
        replicates: int,
        rng: Rng,
    ) -> Estimate:
        numbers, mixed = checked_counts(counts, self._window.n_reports), self._smoothing_weight(smoothing)
        resampled = resample(
            numbers,
            check_integer(replicates, "replicates", minimum=2),
            check_rng(rng) or np.random.default_rng(BOOTSTRAP_SEED),
        )
        bootstrap = statistic(self._maximum_likelihood(resampled))
        curve = (
            smoothed_shares(self._window.matrix(), numbers, mixed)[None]
            if mixed
            else self._maximum_likelihood(numbers[None])
        )
        cov = np.atleast_2d(np.cov(bootstrap, rowvar=False))
        smooth = "the curve is smoothed; the band is that of maximum likelihood and leaves out the bias of smoothing"
        return Estimate(
            value=statistic(curve)[0],
            se=np.sqrt(np.diag(cov)),
            labels=labels,
            cov=cov,
            n=int(numbers.sum()),
            loss=self.loss,
            covers=SAMPLED,
            method=f"square wave, {'curve by EMS, band by ' if mixed else ''}maximum likelihood, bootstrap "
            f"of {replicates}",
            notes=(smooth,) if mixed else (),
            basis=Bootstrap(bootstrap),
        )

    def _smoothing_weight(self, smoothing: float | None) -> float:
        """Return the amount of smoothing per round."""
        if smoothing is None:
            return min(1.0, (self.steps / _BINS) ** 2)  # a kernel's variance grows with the square of the step
        if not 0 <= smoothing <= 1:
            reject("`smoothing` must lie between 0 and 1", smoothing, "it is a weight of neighboring points")
        return smoothing

    def _maximum_likelihood(self, tallies: Array) -> Array:
        """Estimate a distribution for each tally by maximum likelihood."""
        return maximum_likelihoods(self._window.matrix(), tallies, tolerance=1e-6)

    def variance(
        self, prevalence: ArrayLike, n: int, *, respondents: Respondents = "sample", surveys: int = 200, rng: Rng = None
    ) -> Array:
        """Compute the variance of each point's maximum-likelihood share by simulation, because there is no formula.

        Smoothing makes the variance smaller.

        Parameters
        ----------
        prevalence : array-like
            The true share of answers at each point; the shares sum to 1.
        n : int
            The number of people who answer.
        respondents : {"sample", "fixed"}
            "sample": people are a random sample, as in a survey. "fixed": the same people are asked, and only the
            randomization varies; papers on local differential privacy report this variance.
        surveys : int
            The number of simulated surveys.
        rng : numpy.random.Generator, optional
            A generator for the simulation; a fixed seed if left out.

        Returns
        -------
        array
            One variance for each point.
        """
        generator = check_rng(rng) or np.random.default_rng(BOOTSTRAP_SEED)
        shares = checked_distribution(prevalence, self.steps + 1, "prevalence")
        people, count = check_integer(n, "n"), check_integer(surveys, "surveys")
        tallies = [self._simulated_counts(shares, people, generator, respondents) for _ in range(count)]
        return np.asarray(self._maximum_likelihood(np.array(tallies, dtype=np.float64)).var(axis=0, ddof=1))

    def _simulated_counts(
        self, shares: Array, n: int, rng: np.random.Generator, respondents: Respondents = "sample"
    ) -> npt.NDArray[np.int64]:
        """Simulate the number of reports of each kind in a survey of n people."""
        if check_choice(respondents, "respondents", ("sample", "fixed")) == "sample":
            people = rng.multinomial(n, shares / shares.sum())
        else:
            # The method of largest remainders gives integer counts as close as possible to n times the shares.
            people = np.floor(shares * n).astype(np.int64)
            spare = n - int(people.sum())
            people[np.argsort(people - shares * n, kind="stable")[:spare]] += 1
        return np.asarray(rng.multinomial(people, self._window.matrix()).sum(axis=0))

    def __repr__(self) -> str:
        return (
            f"<SquareWave on {self.steps + 1} points, {float(self.low):g} to {float(self.high):g}: "
            f"epsilon {self.epsilon:.4g}>"
        )


def square_wave(bounds: tuple[Number, Number], epsilon: Number, *, points: int | None = None) -> SquareWave:
    """Make a randomizer for the distribution of bounded numbers, which estimates shares and quantiles.

    A report within a distance b of the answer is e**epsilon times as likely as a report farther away. As a share of the
    range, with E = e**epsilon, b = (epsilon E - E + 1) / (2 E (E - 1 - epsilon)).

    Parameters
    ----------
    bounds : pair of number
        The lowest and the highest answer; they are public.
    epsilon : number
        The privacy loss of one report.
    points : int, optional
        The number of equidistant points; if left out, 65, or a few more if this makes every whole number a point. For
        answers that are whole numbers, give the number of possible answers, such as 21 for 0 to 20.

    Returns
    -------
    SquareWave
        The randomizer.

    References
    ----------
    Z. Li et al., Estimating numerical distributions under local differential privacy (2020).

    Examples
    --------
    >>> square_wave((0, 20), 1.0, points=21)
    <SquareWave on 21 points, 0 to 20: epsilon 1>
    """
    low, high = checked_bounds(bounds)
    if points is None:
        steps = _default_step_count(low, high)
    else:
        steps = check_integer(points, "points", minimum=2, maximum=MAX_STEPS + 1) - 1
    width = 2 * int(_half_width(float(checked_epsilon(epsilon))) * (steps + 1)) + 1
    return SquareWave(low, high, steps, width, *weights_for_epsilon(epsilon, n_inside=width, n_outside=steps))


def _default_step_count(low: Fraction, high: Fraction) -> int:
    """Return 64 steps, or the next multiple of the range if the bounds are whole and at most 128 apart."""
    if low.denominator == high.denominator == 1 and high - low <= 2 * _DEFAULT_STEPS:
        return int(high - low) * -(-_DEFAULT_STEPS // int(high - low))
    return _DEFAULT_STEPS


def _half_width(epsilon: float) -> float:
    """Return b as a share of the range; near epsilon 0, where the formula loses precision, it tends to 1/2."""
    if epsilon < 1e-3:
        return 0.5
    factor = math.exp(epsilon)
    return (epsilon * factor - factor + 1) / (2 * factor * (factor - 1 - epsilon))


def smoothed_shares(
    matrix: Array, counts: Array, smoothing: float, *, min_gain: float = 1e-3, max_rounds: int = 10_000
) -> Array:
    """Estimate by EMS: expectation-maximization with smoothing, until the log-likelihood grows by less than `min_gain`.
    Starting from equal shares and stopping early is part of the method, because it regularizes the curve.
    """
    n, shares, previous = counts.sum(), np.full(len(matrix), 1 / len(matrix)), -np.inf
    reports = shares @ matrix
    for _ in range(max_rounds):
        sharper = shares * (matrix @ (counts / reports)) / n
        edged = np.pad(sharper, 1, mode="edge")
        shares = (1 - smoothing / 2) * sharper + smoothing / 4 * (edged[:-2] + edged[2:])
        reports = shares @ matrix
        likelihood = float(counts @ np.log(reports))
        if abs(likelihood - previous) < min_gain:
            break
        previous = likelihood
    return np.asarray(shares)
