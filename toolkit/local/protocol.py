"""`Randomizer`: the interface of all objects that randomize an answer on the person's device."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeGuard, TypeVar

from toolkit.core.arrays import Array, Labels
from toolkit.core.checks import check_integer, reject
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure
from toolkit.core.randomness import DrawBelow, Rng
from toolkit.texts.odds import describe

# Checks of JSON values that arrive as reports. They are strict because anybody can send reports: a boolean is not a
# number, and 1.0 is not a code, since an honest phone sends neither.


def is_code(value: object, n_codes: int) -> bool:
    """Return whether a value is a code, an integer from 0 to n_codes - 1."""
    return is_json_integer(value) and 0 <= value < n_codes


def is_code_set(value: object, n_codes: int) -> bool:
    """Return whether a value is a list of distinct codes in increasing order."""
    if not isinstance(value, list) or not all(is_code(code, n_codes) for code in value):
        return False
    return all(first < second for first, second in pairwise(value))


def is_json_integer(value: object) -> TypeGuard[int]:
    return type(value) is int


Respondents = Literal["sample", "fixed"]
"""Whether respondents are a random sample, as in a survey, or fixed, so that only the randomization varies."""
AnswerKind = Literal["choice", "ticks", "number"]
"""The kind of an answer: one option, several ticks, or a number."""


class ReportDrawer(ABC):
    """The part of a randomizer that draws reports; Python, the browser and the server must agree on it."""

    @abstractmethod
    def _draw_report(self, truth: Any, draw: DrawBelow, /) -> Any:
        """Draw the report of a true answer as JSON data, by the rule that Python and the browser share.

        Parameters
        ----------
        truth : int or list of int
            A code, the codes that are ticked, or a point of the grid.
        draw : callable
            `draw(m)` returns a uniform integer from 0 to m - 1. The same draws give the same report.

        Returns
        -------
        int or list of int
            A report for which `_accepts` returns True.
        """

    @abstractmethod
    def _accepts(self, report: object) -> bool:
        """Return whether a JSON value is a possible report.

        Parameters
        ----------
        report : object
            Any JSON value that was received.

        Returns
        -------
        bool
            False for anything that an honest phone would not send.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: names, labels and the integers with which reports are drawn.

        Returns
        -------
        dict
            The data that `from_dict` reads.
        """

    def _browser_data(self) -> dict[str, Any]:
        """Return the data with which a browser draws reports; raise an error if the browser would round a number.

        Returns
        -------
        dict
            The data of `to_dict` and integers derived from it.
        """
        return self.to_dict()


class ReportEstimator(ABC):
    """The estimation part of a randomizer: each report has a score, and the mean score is the unbiased estimate."""

    @abstractmethod
    def scores(self, reports: Any, option: Any = None) -> Array:
        """Return a score for each report; its expected value over the randomization is the truth.

        The mean score is the unbiased estimate. Scores can be used in weighted means, strata, clusters and regressions
        like any measured variable.

        Parameters
        ----------
        reports : sequence
            Reports, as returned by `randomize`.
        option : str or int, optional
            The option whose scores are returned; if left out, all options, or the second option of a binary design.
            Required above 2048 options.

        Returns
        -------
        array
            One row per report, with a column per option; one number per report for a single option, for two options
            and for a mean. NaN where a report does not concern the option.

        Raises
        ------
        TypeError
            If the estimate is not a mean.
        """

    @abstractmethod
    def _score_range(self) -> tuple[Array, Array]:
        """Return the smallest and the largest score of a report.

        Returns
        -------
        tuple of array
            The bounds for each estimated quantity; infinite if the noise is unbounded.
        """

    @abstractmethod
    def estimate(self, reports: Any, /) -> Estimate:
        """Estimate the shares or the mean of the true answers, with its error.

        Parameters
        ----------
        reports : sequence
            Reports, as returned by `randomize`.

        Returns
        -------
        Estimate
            The estimated shares or mean.
        """

    @abstractmethod
    def variance(self, truth: Any, n: int, /, *, respondents: Respondents = "sample") -> float | Array:
        """Return the theoretical variance of the estimate.

        Parameters
        ----------
        truth : float or sequence
            The true value: the mean for a numeric randomizer, the share of the second option for two options, and
            otherwise the shares of all options.
        n : int
            The number of people who answer.
        respondents : {"sample", "fixed"}
            "sample": people are a random sample, as in a survey. "fixed": the same people are asked, and only the
            randomization varies; papers on local differential privacy report this variance.

        Returns
        -------
        float or array
            One number, or one for each estimated quantity.
        """

    def _scores_of_raw_reports(self, reports: Sequence[Any], /) -> Array:
        """Return the scores of raw reports, as phones sent them.

        Parameters
        ----------
        reports : sequence
            Reports, as returned by `_draw_report`. For a randomizer with a matrix these are codes, never labels.

        Returns
        -------
        array
            The scores, as returned by `scores`.
        """
        return self.scores(list(reports))

    @abstractmethod
    def _estimate_from_raw_reports(
        self, reports: Sequence[Any], times: Sequence[int] | None = None, method: Any = "moment", /
    ) -> Estimate:
        """Estimate from raw reports, as phones sent them.

        Parameters
        ----------
        reports : sequence
            Reports, as returned by `_draw_report`.
        times : sequence of int, optional
            The number of times each report occurred; once each if left out.
        method : {"moment", "mle", "simplex"}
            The estimator. A randomizer without the requested estimator uses the closest available estimator, whose name
            is stored in the estimate.

        Returns
        -------
        Estimate
            The estimated shares or mean.
        """

    def _liar_weight(self, share: float) -> float:
        """Return the largest weight that a share of colluding liars can have in any one estimate."""
        return share


class Randomizer(ReportDrawer, ReportEstimator):
    """The interface of randomizers: a person randomizes an answer, and an analyst estimates from many reports.

    `Design` and the classes in `toolkit.local.oracles` and `toolkit.local.numeric` implement it. `answer_kind` is the
    kind of answer: a "choice" among `options`, "ticks" on any of them, or a "number" within `bounds`. Most
    randomizers also have `estimate_counts`, which takes counts instead of reports.

    Examples
    --------
    >>> from toolkit import warner
    >>> isinstance(warner("3/4"), Randomizer)
    True
    """

    name: str
    answer_kind: AnswerKind
    options: Labels
    report_options: Labels  # in the order of their codes; empty where reports are not codes of labels

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The largest log-likelihood ratio between two answers, computed exactly and rounded up.

        A report can shift the odds between two answers by at most a factor of e**epsilon.
        """

    @cached_property
    def loss(self) -> Pure:
        """The privacy loss of one report."""
        return Pure(self.epsilon)

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """The lowest and the highest answer to a numeric question; None for options."""
        return None

    @property
    def matrix(self) -> Array | None:
        """Pr(report | truth) as a table, with which reports can be drawn by hand; None if there is no table."""
        return None

    @property
    def _sensitivity(self) -> float:
        """The L1 sensitivity of a curator's counts or sum when one person's answer is replaced."""
        return 1.0 if len(self.options) == 2 else 2.0

    @abstractmethod
    def randomize(self, answers: Any, rng: Rng = None) -> Any:
        """Randomize answers.

        Parameters
        ----------
        answers : value, sequence, array or Series
            One answer, or one per person: codes, labels or numbers. For ticks, a row of truth values, or a list or a
            set of labels, per person.
        rng : numpy.random.Generator, optional
            A generator for simulations. Leave it out for real answers, which use the operating system's randomness.

        Returns
        -------
        value or array
            A report per answer.
        """

    def describe(self) -> str:
        """Describe the randomizer in plain words, for a consent form.

        Returns
        -------
        str
            A few sentences.
        """
        return describe(self)


T = TypeVar("T")


def to_plain_data(randomizer: Any, kind: str) -> dict[str, Any]:
    """Return the kind and fields of a randomizer as JSON data, with tuples as lists and fractions as two integers."""
    return {"kind": kind, **{field.name: _plain_value(getattr(randomizer, field.name)) for field in fields(randomizer)}}


def read_plain_data(cls: type[T], data: object, kind: str) -> T:
    """Read what `to_plain_data` wrote; the constructor checks the values like any other arguments."""
    names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    if not isinstance(data, dict) or set(data) != names | {"kind"} or data["kind"] != kind:
        rule = f"the data of a {kind!r} must have that kind and the fields {', '.join(sorted(names))}"
        reject(rule, "others", "write it with to_dict()")
    return cls(**{name: data[name] for name in names})


def convert_to_integers(instance: object, **minimums: int) -> None:
    """Convert the named fields of a frozen object to integers; reject a value below the given minimum."""
    for name, bound in minimums.items():
        object.__setattr__(instance, name, check_integer(getattr(instance, name), name, minimum=bound))


def read_fraction(value: object, name: str) -> Fraction:
    """Read a fraction, or its numerator and denominator."""
    if isinstance(value, Fraction):
        return value
    if (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(type(part) is int for part in value)
        and value[1] > 0
    ):
        return Fraction(value[0], value[1])
    rule = f"`{name}` must be a fraction or two integers, the second positive"
    reject(rule, type(value).__name__, "it must be exact", TypeError)


def _plain_value(value: object) -> Any:
    if isinstance(value, Fraction):
        return [value.numerator, value.denominator]
    if isinstance(value, tuple):
        return [_plain_value(part) for part in value]
    return value
