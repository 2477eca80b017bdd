"""`MatrixFreeRandomizer`: the base class of randomizers that are defined by a few integers instead of a matrix."""

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from toolkit.core.arrays import Array, ArrayLike, Label, Labels, Values
from toolkit.core.checks import reject
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.rounding import log_up
from toolkit.local.protocol import Randomizer, read_plain_data, to_plain_data


class MatrixFreeRandomizer(Randomizer):
    """A randomizer whose fields are names, labels and the integers with which reports are drawn."""

    report_options: Labels = ()

    @abstractmethod
    def _encode_answers(self, answers: Values) -> tuple[Any, bool]:
        """Encode answers as truths for `_draw`, and return whether there was a single answer."""

    @abstractmethod
    def _draw(self, truths: Any, rng: Rng) -> Any:
        """Return a report per truth."""

    def randomize(self, answers: Values, rng: Rng = None) -> Any:
        generator = check_rng(rng)
        truths, single = self._encode_answers(answers)
        reports = self._draw(truths, generator)
        return reports[0] if single else reports

    @abstractmethod
    def estimate(self, reports: Values, *, times: ArrayLike | None = None) -> Estimate:
        """Estimate the shares or the mean of the true answers, with its error.

        Parameters
        ----------
        reports : sequence or array
            Reports, as returned by `randomize`.
        times : sequence of int, optional
            The number of times each report occurred; once each if left out.

        Returns
        -------
        Estimate
            The estimated shares or mean.
        """

    def _estimate_from_raw_reports(
        self, reports: Sequence[Any], times: Sequence[int] | None = None, _method: str = "moment"
    ) -> Estimate:
        return self.estimate(list(reports), times=times)

    def scores(self, reports: Values, option: Label | None = None) -> Array:  # noqa: ARG002  subclasses with scores use it
        consequence = "its estimate is not a mean; use `estimate` or `quantiles`"
        reject("`randomizer` must have reports with scores", type(self).__name__, consequence, TypeError)

    def _score_range(self) -> tuple[Array, Array]:
        reject(
            "`randomizer` must have reports with scores", type(self).__name__, "its estimate is not a mean", TypeError
        )

    def to_dict(self) -> dict[str, Any]:
        return to_plain_data(self, self.name)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read the randomizer that `to_dict` wrote.

        Parameters
        ----------
        data : dict
            Data as returned by `to_dict`.

        Returns
        -------
        MatrixFreeRandomizer
            An equal randomizer.
        """
        return read_plain_data(cls, data, cls.name)


class ExactOddsRandomizer(MatrixFreeRandomizer):
    """A randomizer with an exact bound on the ratio of a report's probabilities under two answers."""

    @property
    @abstractmethod
    def _odds(self) -> Fraction:
        """The largest ratio of a report's probabilities under two answers, exact."""

    @cached_property
    def epsilon(self) -> float:
        """The logarithm of the odds, rounded up."""
        return log_up(self._odds)
