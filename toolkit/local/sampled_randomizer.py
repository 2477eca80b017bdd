"""`SampledRandomizer`: what all randomizers share that are made of a few integers and that no matrix holds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from toolkit.core.arrays import Array, ArrayLike, Label, Labels, Values
from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure
from toolkit.core.rounding import log_up
from toolkit.local.protocol import AnswerKind, from_plain, plain
from toolkit.texts.odds import describe


class SampledRandomizer(ABC):
    """A frozen dataclass whose fields are names, labels and the integers that a report is drawn with."""

    # No ClassVar and no cached property of what `Randomizer` names: some type checkers would not take it for one.
    name: str
    report_options: Labels = ()
    matrix: None = None

    @property
    @abstractmethod
    def asks(self) -> AnswerKind:
        """What a person is asked for."""

    @property
    def epsilon(self) -> float:
        """A report can shift the odds between two answers by at most a factor e**epsilon; rounded up."""
        return self._epsilon

    @cached_property
    @abstractmethod
    def _epsilon(self) -> float: ...

    @property
    def loss(self) -> Pure:
        """What one report costs its sender."""
        return Pure(self.epsilon)

    @abstractmethod
    def accepts(self, report: object) -> bool:
        """Tell whether a plain JSON value is something that `report` can return.

        Parameters
        ----------
        report : object
            A plain JSON value.

        Returns
        -------
        bool
            Whether it is.
        """

    @abstractmethod
    def estimate(self, reports: Values, *, times: ArrayLike | None = None) -> Estimate:
        """Estimate what the reports say of the people behind them."""

    def estimate_sent(
        self, reports: Sequence[Any], times: Sequence[int] | None = None, _method: str = "moment"
    ) -> Estimate:
        """Estimate from reports as they were sent; with `times`, each different one is enough.

        There is one estimator, whatever the method that is asked for; the estimate's `method` says it.

        Parameters
        ----------
        reports : sequence
            Reports as phones send them.
        times : sequence of int, optional
            How often each of the reports came; once if left out.
        _method : str
            Not used.

        Returns
        -------
        Estimate
            Numbers with their errors.
        """
        return self.estimate(list(reports), times=times)

    def scores(self, reports: Values, option: Label | None = None) -> Array:  # noqa: ARG002  those with scores take them
        """Score each report: numbers whose mean is the unbiased estimate. A distribution is no such mean.

        Parameters
        ----------
        reports : sequence or array
            Reports as `randomize` makes them.
        option : str or int, optional
            One thing that is estimated, alone.

        Returns
        -------
        array
            One row per report.

        Raises
        ------
        TypeError
            If the estimate is no mean.
        """
        consequence = "its estimate is no mean: use `estimate`, `cumulative` or `quantiles`"
        refuse("`randomizer` must have reports with scores", type(self).__name__, consequence, TypeError)

    def scores_sent(self, reports: Sequence[Any]) -> Array:
        """Score reports as they were sent.

        Parameters
        ----------
        reports : sequence
            Reports as phones send them.

        Returns
        -------
        array
            As `scores` gives them.
        """
        return self.scores(list(reports))

    def score_limits(self) -> tuple[Array, Array]:
        """Return the least and the greatest score of a report, for each thing that is estimated.

        Returns
        -------
        tuple
            Two arrays.
        """
        refuse("`randomizer` must have reports with scores", type(self).__name__, "its estimate is no mean", TypeError)

    def weight_of_liars(self, share: float) -> float:
        """Weigh people who agree on what to send; here everybody weighs the same, whatever they say.

        Parameters
        ----------
        share : float
            Their share of the people.

        Returns
        -------
        float
            Their share of the reports that decide an estimate.
        """
        return share

    def describe(self) -> str:
        """Describe the randomizer in plain words, for a consent form.

        Returns
        -------
        str
            A few sentences.
        """
        return describe(self)

    def to_dict(self) -> dict[str, Any]:
        """Write plain data for JSON: the kind, and each field; fractions as numerator and denominator.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        return plain(self, self.name)

    def browser_data(self) -> dict[str, Any]:
        """Write what `to_dict` writes, and the integers that follow from it, so that a browser need not derive them.

        Returns
        -------
        dict
            Plain data for JSON.
        """
        return self.to_dict()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read the randomizer that `to_dict` wrote.

        Parameters
        ----------
        data : dict
            What `to_dict` wrote.

        Returns
        -------
        SampledRandomizer
            An equal one.
        """
        return from_plain(cls, data, cls.name)


class SampledAtOdds(SampledRandomizer):
    """One whose reports' probabilities differ between two answers by at most a known ratio."""

    @property
    @abstractmethod
    def odds(self) -> Fraction:
        """The largest ratio of a report's probabilities under two answers, exact."""

    @cached_property
    def _epsilon(self) -> float:
        return log_up(self.odds)
