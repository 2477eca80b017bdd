"""`MeanRandomizer`: the base class of randomizers of bounded numbers whose mean score is the mean answer."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike, Label, Steps, Values
from toolkit.core.checks import Number, check_choice, check_integer, exact_fraction, reject
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.fit import edge_fit, fit_notes
from toolkit.core.inference.intervals import Affine, Shares, Student
from toolkit.local.matrix.encoding import checked_counts, checked_times
from toolkit.local.numeric.grid import GridRandomizer, checked_reports
from toolkit.local.protocol import Respondents, is_code
from toolkit.local.sampled_randomizer import ExactOddsRandomizer


@dataclass(frozen=True, repr=False)
class MeanRandomizer(GridRandomizer):
    """A randomizer of bounded numbers; the expected score of a report is the rounded answer."""

    @property
    @abstractmethod
    def squared_score_coefficients(self) -> tuple[float, float, float]:
        """The coefficients of the mean squared unit score c0 + c1 u + c2 u**2 of an answer u from 0 to 1."""

    @abstractmethod
    def _unit_scores(self, reports: Steps) -> Array: ...

    def scores(self, reports: Values, option: Label | None = None) -> Array:
        if option is not None:
            reject("`option` must be left out", repr(option)[:40], "a question for a number has no options")
        return float(self.low) + self._grid.span * self._unit_scores(self._checked_reports(reports))

    def _checked_reports(self, reports: Values) -> Steps:
        return checked_reports(reports)

    def estimate(self, reports: Values, *, times: ArrayLike | None = None) -> Estimate:
        scores = self.scores(reports)
        return self._estimate_from_scores(
            scores, np.ones(len(scores)) if times is None else checked_times(times, len(scores))
        )

    def _estimate_from_scores(self, scores: Array, times: npt.NDArray[Any]) -> Estimate:
        n = int(times.sum())
        value = float(times @ scores / n)
        spread = float(times @ (scores - value) ** 2 / (n - 1)) if n > 1 else np.nan
        if n > 1 and np.ptp(scores[times > 0]) == 0:
            # If all scores are equal, the sample variance is zero, so the theoretical variance is used.
            spread = self.variance(min(max(value, float(self.low)), float(self.high)), 1)
        return self._make_estimate(value, float(np.sqrt(spread / n)), n, None)

    def variance(self, mean: Number, n: int, *, sd: Number | None = None, respondents: Respondents = "sample") -> float:
        """Compute the theoretical variance of the estimated mean.

        Parameters
        ----------
        mean : number
            The mean of the answers.
        n : int
            The number of people who answer.
        sd : number, optional
            The standard deviation of the answers; if left out, the possible value that maximizes the variance.
        respondents : {"sample", "fixed"}
            "sample": people are a random sample, as in a survey. "fixed": the same people are asked, and only the
            randomization varies; papers on local differential privacy report this variance.

        Returns
        -------
        float
            The variance.
        """
        center = self._grid.to_unit_interval(mean, "mean")
        widest = center * (1 - center)
        spreads = [0.0, widest] if sd is None else [(float(exact_fraction(sd, "sd")) / self._grid.span) ** 2]
        if not 0 <= spreads[-1] <= widest + 1e-9:
            consequence = f"at this mean it is at most {self._grid.span * widest**0.5:.4g}"
            reject("`sd` must be possible within the bounds", sd, consequence)
        fixed = check_choice(respondents, "respondents", ("sample", "fixed")) == "fixed"
        c0, c1, c2 = self.squared_score_coefficients
        variances = [c0 + c1 * center + c2 * (center**2 + s) - center**2 - (s if fixed else 0) for s in spreads]
        return max(variances) * self._grid.span**2 / check_integer(n, "n")

    def _make_estimate(self, value: float, se: float, n: int, share: Shares | None = None) -> Estimate:
        """Make an estimate with a t interval, or with the intervals of a share that is scaled to the mean."""
        outside = not self.low <= value <= self.high
        notes = ("the estimate lies out of bounds, as an unbiased estimate may",) if outside else ()
        fit = edge_fit(share, together=True, of="mean") if share else None
        return Estimate(
            value=value,
            se=se,
            labels=("mean",),
            cov=np.array([[se**2]]),
            n=n,
            loss=self.loss,
            covers=SAMPLED,
            method=f"{self.name.replace('_', ' ')}, unbiased",
            notes=(fit_notes(fit, share) if share and fit else ()) or notes,
            basis=Affine(share, self._grid.span, float(self.low)) if share else Student(value, se, n - 1),
            fit=fit,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {float(self.low):g} to {float(self.high):g}: epsilon {self.epsilon:.4g}>"


@dataclass(frozen=True, repr=False)
class FiniteMeanRandomizer(ExactOddsRandomizer, MeanRandomizer):
    """A mean randomizer whose reports are the integers from 0 to `n_reports` - 1, with exact rational probabilities."""

    @property
    @abstractmethod
    def n_reports(self) -> int:
        """The number of different reports."""

    def _accepts(self, report: object) -> bool:
        return is_code(report, self.n_reports)

    def _score_range(self) -> tuple[Array, Array]:
        scores = self.scores(np.arange(self.n_reports))
        return np.asarray(scores.min()), np.asarray(scores.max())

    def _checked_reports(self, reports: Values) -> Steps:
        return checked_reports(reports, self.n_reports)

    def estimate_counts(self, counts: ArrayLike) -> Estimate:
        return self._estimate_from_scores(
            self.scores(np.arange(self.n_reports)), checked_counts(counts, self.n_reports)
        )
