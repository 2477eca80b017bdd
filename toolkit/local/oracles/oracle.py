"""`Oracle`: the base class of randomizers for one answer out of several mutually exclusive options."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike, Codes, Mask, Values
from toolkit.core.checks import Number, check_integer
from toolkit.core.estimate import Estimate
from toolkit.local.calibration import checked_epsilon
from toolkit.local.matrix.encoding import checked_distribution, encode
from toolkit.local.matrix.moments import scores_from_support
from toolkit.local.oracles.support import SupportRandomizer, checked_support_counts
from toolkit.local.protocol import Respondents

# `limit` is the minimum variance of unbiased estimates from epsilon-private reports on k options. Oracles are compared
# with this limit.
#
# At equal shares no unbiased estimate from n reports, each of which is epsilon-private by itself, has a smaller sum of
# variances than limit / n. This is the Cramér-Rao bound with the largest Fisher information that epsilon allows. Among
# all estimates, including biased ones, it is minimax only as n goes to infinity (Ye and Barg). At a given n a biased
# estimate can be better: with 128 options, 1,000 people and epsilon 1, projection onto the simplex has about a tenth of
# this variance.


class Limit(NamedTuple):
    """The minimum `risk` (n times the summed variance at equal shares), and the subset `size` that attains it."""

    risk: float
    size: int

    def se(self, k: int, n: int) -> float:
        """Return the standard error of a share for n respondents at equal shares, if the limit is attained."""
        return math.sqrt(self.risk / (check_integer(k, "k", minimum=2) * check_integer(n, "n")))


def limit(k: int, epsilon: Number) -> Limit:
    """Return the minimum variance of unbiased estimates of k shares when respondents are a random sample.

    With E = e**epsilon it is the minimum over sizes d of (k-1)**2 (d E + k - d)**2 / (k d (k-d) (E-1)**2). This is the
    sum of variances of subset selection of size d at equal shares, which are its worst case. Among all estimates,
    including biased ones, it is minimax only as the number of people goes to infinity.

    Parameters
    ----------
    k : int
        The number of options.
    epsilon : number
        The privacy loss of one report.

    Returns
    -------
    Limit
        The sum of variances times n, and the subset size that attains it.

    References
    ----------
    M. Ye and A. Barg, Optimal schemes for discrete distribution estimation under locally differential privacy,
    IEEE Transactions on Information Theory 64 (2018); and Asymptotically optimal private estimation under mean
    square loss, arXiv 1708.00059 (2017).

    Examples
    --------
    >>> bound = limit(16, 1.0)
    >>> bound.size, round(bound.se(16, n=1000), 4)
    (4, 0.057)
    """
    return _compute_limit(check_integer(k, "k", minimum=2), float(checked_epsilon(epsilon)))


def _compute_limit(options: int, epsilon: float) -> Limit:
    factor = math.expm1(epsilon)  # E - 1, without loss of precision when epsilon is small

    def risk(size: int) -> float:
        # The square is taken last, so that neither a tiny nor a huge epsilon causes an overflow or underflow.
        return ((options - 1) * (size * factor + options) / factor) ** 2 / (options * size * (options - size))

    ideal = options / (factor + 2)  # the minimum over real sizes; the risk is unimodal
    candidates = {min(max(round(ideal) + step, 1), options - 1) for step in (-1, 0, 1)}
    best = min(sorted(candidates), key=risk)
    return Limit(risk(best), best)


Method = Literal["moment", "simplex"]


@dataclass(frozen=True, repr=False)
class Oracle(SupportRandomizer):
    """A randomizer of one answer out of `options` whose reports each support some of the options.

    `subset`, `optimized_unary` and `local_hash` return subclasses. Each defines how a report is drawn and which
    options it supports; the estimates need only the counts of support.

    Parameters
    ----------
    options : sequence of str or int
        The options.

    Examples
    --------
    >>> from toolkit.local.oracles import Oracle, subset
    >>> isinstance(subset(["a", "b", "c"], epsilon=1), Oracle)
    True
    """

    answer_kind = "choice"

    @abstractmethod
    def _read_reports(self, reports: Values) -> npt.NDArray[Any]:
        """Check the reports and return them as an array that `_supports` reads."""

    @abstractmethod
    def _supports(self, reports: npt.NDArray[Any], code: int) -> Mask:
        """Return which reports support an option."""

    def _encode_answers(self, answers: Values) -> tuple[Codes, bool]:
        encoded = encode(answers, self.options, "answers")
        return encoded.codes, encoded.is_scalar

    def _estimate_from_raw_reports(
        self, reports: Sequence[Any], times: Sequence[int] | None = None, method: str = "moment"
    ) -> Estimate:
        return self.estimate(list(reports), "moment" if method == "moment" else "simplex", times=times)

    def scores(self, reports: Values, option: str | int | None = None) -> Array:
        reports = self._read_reports(reports)
        return scores_from_support(
            lambda code: self._supports(reports, code), self._score_range(), self.options, option
        )

    @cached_property
    def ratio_to_limit(self) -> float:
        """The sum of variances at equal shares, divided by the limit for unbiased estimates with this epsilon."""
        return (
            self._support_law.total_variance(len(self.options)) / _compute_limit(len(self.options), self.epsilon).risk
        )

    def estimate(self, reports: Values, method: Method = "moment", *, times: ArrayLike | None = None) -> Estimate:
        """Estimate the shares of the options among the true answers; for two options, the share of the second.

        With either method, intervals belong to the unbiased estimate.

        Parameters
        ----------
        reports : sequence or array
            Reports, as returned by `randomize`.
        method : {"moment", "simplex"}
            "moment" is unbiased and may lie outside 0 to 1; "simplex" is the nearest distribution, for display.
        times : sequence of int, optional
            The number of times each report occurred; once each if left out.

        Returns
        -------
        Estimate
            The shares with their errors.
        """
        return self.estimate_counts(*self.tally(reports, times), method=method)

    def estimate_counts(self, counts: ArrayLike, n: int, method: Method = "moment") -> Estimate:
        """Estimate from the number of reports that support each option and the number of reports.

        Parameters
        ----------
        counts : array-like
            The number of reports that support each option.
        n : int
            The number of reports.
        method : {"moment", "simplex"}
            "moment" is unbiased and may lie outside 0 to 1; "simplex" is the nearest distribution, for display.

        Returns
        -------
        Estimate
            The same estimate as `estimate` computes from the reports.
        """
        numbers, people = checked_support_counts(counts, n, len(self.options))
        return self._support_law.estimate(numbers, people, self.options, self.loss, self.name.replace("_", " "), method)

    def variance(self, prevalence: ArrayLike, n: int, *, respondents: Respondents = "sample") -> float | Array:
        shares = checked_distribution(prevalence, len(self.options), "prevalence")
        variances = self._support_law.variance(shares, respondents) / check_integer(n, "n")
        return float(variances[1]) if len(self.options) == 2 else variances

    def covariance(self, prevalence: ArrayLike, n: int, *, respondents: Respondents = "sample") -> Array:
        """Compute the covariance matrix of the unbiased shares of all options.

        Parameters
        ----------
        prevalence : array-like
            The true shares of the options, which sum to 1; a single number is the share of the second of two options.
        n : int
            The number of people who answer.
        respondents : {"sample", "fixed"}
            "sample": people are a random sample, as in a survey. "fixed": the same people are asked, and only the
            randomization varies; papers on local differential privacy report this variance.

        Returns
        -------
        array
            A row and a column for each option.
        """
        shares = checked_distribution(prevalence, len(self.options), "prevalence")
        return np.asarray(self._support_law.covariance(shares, respondents) / check_integer(n, "n"))

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {len(self.options)} options{self._repr_detail()}: epsilon "
            f"{self.epsilon:.4g}, "
            f"variance {self.ratio_to_limit:.3g} times the unbiased limit>"
        )

    def _repr_detail(self) -> str:
        return ""
