"""Birthdays as an innocuous question: the share of people who were born in certain months, from the number of days."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from toolkit.core.checks import reject
from toolkit.local import questions
from toolkit.local.design import Design

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS_PER_MONTH = tuple(
    Fraction(count_days) for count_days in ("31", "28.25", "31", "30", "31", "30", "31", "31", "30", "31", "30", "31")
)
_DAYS_PER_YEAR = sum(_DAYS_PER_MONTH, Fraction(0))  # 365.25, because one year in four has an extra day
_MAKERS: dict[str | None, Callable[[Fraction], Design]] = {
    "crosswise": questions.crosswise,
    "triangular": questions.triangular,
}


def month_span(months: str) -> tuple[int, int]:
    """Return the indices, from 0, of the first and last month of a span such as "jan-apr" or "nov-feb"."""
    names = [part.strip().lower() for part in str(months).split("-")]
    if len(names) > 2 or any(name not in MONTHS for name in names):
        rule = 'months must be written as "jan-apr", with jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec'
        reject(rule, repr(months)[:40], "other names are not recognized")
    first, last = MONTHS.index(names[0]), MONTHS.index(names[-1])
    if (last - first) % 12 == 11:
        reject("months must not be the whole year", repr(months)[:40], "all people are born in one of the twelve")
    return first, last


def count_days(months: str) -> Fraction:
    """Return the number of days in a span of months, in a year of 365.25 days."""
    first, last = month_span(months)
    return sum((_DAYS_PER_MONTH[(first + i) % 12] for i in range((last - first) % 12 + 1)), Fraction(0))


def born(months: str) -> Fraction:
    """Return the share of birthdays in a span of months, if all days are equally likely.

    January to April are 120.25 of 365.25 days, which is less than a third. Births also vary by season, by a few
    per cent in most countries.

    Parameters
    ----------
    months : str
        A span such as "jan-apr" or "mar"; "nov-feb" crosses the end of the year.

    Returns
    -------
    Fraction
        The share, for `crosswise`, `triangular`, or the `prevalence` of `unrelated`.

    Raises
    ------
    ValueError
        If `months` is not a span of months, or is the whole year.

    Examples
    --------
    >>> from toolkit import crosswise
    >>> born("jan-apr"), crosswise(born("jan-apr")).weights.tolist()
    (Fraction(481, 1461), [[481, 980], [980, 481]])
    """
    return count_days(months) / _DAYS_PER_YEAR


def innocuous_share(design: Design) -> Fraction | None:
    """Return the share of yes to the innocuous question of a design, or None if it has none."""
    if design.procedure in (None, "forced"):
        return None
    (_, yes_if_no), (no_if_yes, yes_if_yes) = design.weights.tolist()
    if design.procedure == "unrelated":
        innocuous = yes_if_no + no_if_yes  # the weight of the innocuous question
        return Fraction(yes_if_no, innocuous) if innocuous else None
    return Fraction(yes_if_yes if design.procedure == "crosswise" else yes_if_no, design.denominator)


def estimate_shift(design: Design, truth: float) -> float:
    """Return the change in an estimate of `truth` if the innocuous share is 0.01 larger than assumed."""
    share = innocuous_share(design)
    if share is None or design.procedure not in _MAKERS:
        reject("`design` must be crosswise or triangular", design.name, "it has no innocuous share to change")
    other = _MAKERS[design.procedure](share + Fraction(1, 100))
    shares = np.array([1 - truth, truth])
    return float(np.linalg.solve(design.matrix.T, shares @ other.matrix)[1] - truth)
