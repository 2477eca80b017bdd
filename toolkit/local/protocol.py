"""`Randomizer`: what every way of hiding an answer can do, so that nothing else needs a special case."""

from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, Protocol, TypeGuard, TypeVar, runtime_checkable

from toolkit.core.arrays import Array, Labels
from toolkit.core.checks import refuse, whole
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure
from toolkit.core.randomness import Below, Rng

# Plain JSON values as reports: is this one that could have been sent? Strict, because the sender is anybody.
#
# A truth value is not a number here, nor is 1.0 a code: what an honest phone never sends is not guessed at.


def is_code(value: object, kinds: int) -> bool:
    return is_whole(value) and 0 <= value < kinds


def is_set(value: object, kinds: int) -> bool:
    """A list of distinct codes in rising order."""
    if not isinstance(value, list) or not all(is_code(code, kinds) for code in value):
        return False
    return all(first < second for first, second in pairwise(value))


def is_whole(value: object) -> TypeGuard[int]:
    return type(value) is int


Respondents = Literal["sample", "fixed"]
"""Whether people are a random sample, as in a survey, or always the same, so that only the randomization varies."""
AnswerKind = Literal["choice", "ticks", "number"]
"""What the answer to a question is."""


@runtime_checkable
class Randomizer(Protocol):
    """A person randomizes an answer; an analyst estimates from many reports.

    `Design` and everything that `toolkit.local.oracles` and `toolkit.local.numeric` make is one. Most also have
    `estimate_counts`, where counts suffice, and `simulate_counts`, a whole survey at a stroke. What one of them lacks
    is said by its value (no options, no bounds, no matrix), so that nobody asks for its type.

    Examples
    --------
    >>> from toolkit import warner
    >>> isinstance(warner("3/4"), Randomizer)
    True
    """

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def asks(self) -> AnswerKind:
        """What a person is asked for: one of several options, ticks in several boxes, or a number."""

    @property
    def options(self) -> Labels:
        """What can be chosen or ticked; empty of a number."""

    @property
    def report_options(self) -> Labels:
        """Labels of the reports, in the order of their codes; empty where reports are no codes of labels."""

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """The least and the greatest score of a report, for each thing that is estimated."""

    @property
    def matrix(self) -> Array | None:
        """Pr(report | truth), where a table holds it; such a randomizer can be drawn by hand."""

    @property
    def reach(self) -> float:
        """How far one person's answer can move a curator's sum: in L1, when it is replaced."""

    @property
    def epsilon(self) -> float:
        """The largest logarithm of a likelihood ratio between two answers, exact, rounded up."""

    @property
    def loss(self) -> Pure:
        """What one report costs its sender."""

    def randomize(self, answers: Any, rng: Rng = None) -> Any:
        """Randomize answers.

        Parameters
        ----------
        answers : value, sequence, array or Series
            One answer, or one per person.
        rng : numpy.random.Generator, optional
            For simulation; real answers use none, which is the operating system's randomness.

        Returns
        -------
        value or array
            A report per answer.
        """

    def report(self, truth: Any, draw: Below, /) -> Any:
        """Return what is sent for a truth, as plain data for JSON; the rule that Python shares with the browser.

        Parameters
        ----------
        truth : int or list of int
            A code, the codes that are ticked, or a point of the grid.
        draw : callable
            Of a bound: a uniform integer below it. The same draws give the same report.

        Returns
        -------
        int or list of int
            A report, which `accepts` accepts.
        """

    def accepts(self, report: object) -> bool:
        """Return whether a plain JSON value is a report that could have been sent.

        Parameters
        ----------
        report : object
            What a stranger sent.

        Returns
        -------
        bool
            False for all that a phone never sends.
        """

    def estimate(self, reports: Any, /) -> Estimate:
        """Estimate what the reports say of the people behind them, with its error.

        Parameters
        ----------
        reports : sequence
            What `randomize` returns.

        Returns
        -------
        Estimate
            Shares, or a mean.
        """

    def estimate_sent(
        self, reports: Sequence[Any], times: Sequence[int] | None = None, method: Any = "moment", /
    ) -> Estimate:
        """Estimate from reports as they were sent.

        Parameters
        ----------
        reports : sequence
            What `report` returns.
        times : sequence of int, optional
            How often each of them came; once if left out.
        method : {"moment", "mle", "simplex"}
            A randomizer without such an estimator takes the nearest one, and says so in the estimate.

        Returns
        -------
        Estimate
            Shares, or a mean.
        """

    def variance(self, truth: Any, n: int, /, *, respondents: Respondents = "sample") -> float | Array:
        """Return the variance of the estimate, in theory.

        Parameters
        ----------
        truth : float or sequence
            A share, shares or a mean.
        n : int
            How many people answer.
        respondents : {"sample", "fixed"}
            Whether people are a random sample, or only the randomization varies.

        Returns
        -------
        float or array
            One number, or one for each thing that is estimated.
        """

    def scores(self, reports: Any, option: Any = None) -> Array:
        """Return numbers whose mean over the randomization is the truth: the mean score is the unbiased estimate.

        Parameters
        ----------
        reports : sequence
            What `randomize` returns.
        option : str or int, optional
            For one option alone; NaN says nothing of that person.

        Returns
        -------
        array
            One row per report.
        """

    def scores_sent(self, reports: Sequence[Any], /) -> Array:
        """Return the scores of reports as they were sent: of a matrix these are codes, whatever its labels.

        Parameters
        ----------
        reports : sequence
            What `report` returns.

        Returns
        -------
        array
            One row per report.
        """

    def score_limits(self) -> tuple[Array, Array]:
        """Return the least and the greatest score of a report, for each thing that is estimated.

        Returns
        -------
        tuple of array
            Both, one number for each thing that is estimated.
        """

    def weight_of_liars(self, share: float) -> float:
        """Return the weight that a share of liars has in the estimate that they can move most.

        Parameters
        ----------
        share : float
            Of liars among the people; they act in concert.

        Returns
        -------
        float
            At least the share itself.
        """

    def describe(self) -> str:
        """The randomizer in plain words, for a consent form.

        Returns
        -------
        str
            A few sentences.
        """

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: names, labels and the integers that the browser draws with.

        Returns
        -------
        dict
            What `from_dict` reads.
        """

    def browser_data(self) -> dict[str, Any]:
        """What a browser draws with, in numbers that it holds exactly; what it would round is refused.

        Returns
        -------
        dict
            Plain data for JSON.
        """


T = TypeVar("T")


def plain(thing: Any, kind: str) -> dict[str, Any]:
    """A randomizer for JSON: its kind, and each field; tuples as lists, fractions as numerator and denominator."""
    return {"kind": kind, **{field.name: _plain(getattr(thing, field.name)) for field in fields(thing)}}


def from_plain(cls: type[T], data: object, kind: str) -> T:
    """What `plain` wrote, checked by the constructor like anything new."""
    names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    if not isinstance(data, dict) or set(data) != names | {"kind"} or data["kind"] != kind:
        listed = ", ".join(sorted(names))
        consequence = "write it with to_dict()"
        refuse(f"the data of a {kind!r} must have that kind and the fields {listed}", "others", consequence)
    return cls(**{name: data[name] for name in names})


def keep_whole(thing: object, **least: int) -> None:
    """Make the named fields of a frozen thing plain integers, each at least as large as said; refuse what is none."""
    for name, bound in least.items():
        object.__setattr__(thing, name, whole(getattr(thing, name), name, least=bound))


def fraction(value: object, name: str) -> Fraction:
    """A fraction, or the two integers that it was written as."""
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
    refuse(rule, type(value).__name__, "it must be exact", TypeError)


def _plain(value: object) -> Any:
    if isinstance(value, Fraction):
        return [value.numerator, value.denominator]
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value
