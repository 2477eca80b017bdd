"""`plan_by_simulation`: the power of any analysis, estimated from simulated surveys."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.core.checks import Number, check_integer, check_level, explain_call, reject
from toolkit.core.estimate import Estimate
from toolkit.core.extras import chunks, extra
from toolkit.core.inference.intervals import Shares

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class SimulatedPlan:
    """The power of an analysis at one or several sample sizes, as returned by `plan_by_simulation`.

    Parameters
    ----------
    rows : tuple of dict
        A row for each sample size: the power with its 95 % limits, the mean half width of the interval (NaN if the
        analysis returns no estimate), and the number of surveys that could not be analyzed.
    repeats : int
        The number of surveys for each sample size.
    level : float
        The confidence level; the test has size 1 - level.

    Examples
    --------
    >>> plan_by_simulation(lambda _: True, lambda *_: None, 10, repeats=64)
    <SimulatedPlan: power 1 (0.943 to 1) with 10 people; 64 surveys each>
    """

    rows: tuple[dict[str, float], ...]
    repeats: int
    level: float

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per sample size.

        Returns
        -------
        pandas.DataFrame
            A table with columns n, power, low, high, margin and refused.
        """
        return extra("pandas").DataFrame(list(self.rows))

    def __repr__(self) -> str:
        words = [
            f"power {r['power']:.3g} ({r['low']:.3g} to {r['high']:.3g}) with {r['n']:,} people" for r in self.rows
        ]
        lost = int(sum(row["refused"] for row in self.rows))
        refused = f"; {lost:,} could not be analyzed, and detect nothing" if lost else ""
        return f"<SimulatedPlan: {'; '.join(words)}; {self.repeats:,} surveys each{refused}>"


@explain_call(
    'plan_by_simulation(warner("3/4").estimate, lambda n, rng: rng.random(n) < 0.4, n=500, repeats=200)',
    truth="a function of n and a random generator that returns the data of one survey",
)
def plan_by_simulation(
    analysis: Callable[[Any], Any],
    truth: Callable[[int, np.random.Generator], Any],
    n: int | Sequence[int],
    *,
    repeats: int = 1000,
    level: Number = 0.95,
    null: Number = 0,
    rng: Any = None,
) -> SimulatedPlan:
    """Estimate the power of any analysis: simulate surveys, analyze each, and count how often the test rejects.

    Parameters
    ----------
    analysis : callable
        The function that analyzes the data of a survey. It returns an `Estimate` (tested against `null`), an object
        with a p-value `p`, a p-value, or True if something was detected. If the analysis raises a ValueError, for
        example because a fit has no maximum, the survey counts as no detection.
    truth : callable
        A function of n and a random generator that returns the data of one survey, randomized as in the field.
    n : int or sequence of int
        The number of people whose reports arrive.
    repeats : int
        The number of surveys for each n; with 1,000 the standard error is 1.3 points at a power of 80 %.
    level : number
        The confidence level; the test has size 1 - level.
    null : number
        The null hypothesis of an estimate.
    rng : int or numpy.random.Generator, optional
        A seed or generator, for reproducible surveys.

    Returns
    -------
    SimulatedPlan
        The power with its limits, for each n.

    Examples
    --------
    >>> from toolkit import forced
    >>> die = forced("1/6", "1/6")
    >>> def invent(n, rng):
    ...     return die.randomize(rng.random(n) < 0.1, rng)
    >>> plan_by_simulation(die.estimate, invent, 277, repeats=500, rng=1)  # the exact power is 80 %
    <SimulatedPlan: power 0.8... (0.7... to 0.8...) with 277 people; 500 surveys each>
    """
    sizes = [check_integer(size, "n") for size in (n if isinstance(n, Sequence | np.ndarray) else [n])]
    count, error = check_integer(repeats, "repeats", minimum=2), 1 - check_level(level)
    draws, rows = np.random.default_rng(rng), []
    for size in sizes:
        hits, widths, refused = 0, [], 0
        for _ in chunks(count, 1, f"surveys of {size:,}"):
            try:
                result = analysis(truth(size, draws))
            except ValueError as problem:
                refused += 1
                if refused == count:
                    raise problem
                continue
            hits += _rejects_null(result, error, float(null))
            if isinstance(result, Estimate) and np.ndim(result.value) == 0:
                widths.append(float(result.interval(1 - error).width) / 2)
        share = Shares.from_support(np.array([hits]), count, np.ones(1), np.zeros(1)).interval(0.95, "wilson")
        margin = float(np.nanmean(widths)) if widths else float("nan")
        limits = {"low": float(share.low), "high": float(share.high)}
        rows.append({"n": size, "power": hits / count, **limits, "margin": margin, "refused": refused})
    return SimulatedPlan(tuple(rows), count, 1 - error)


def _rejects_null(result: Any, error: float, null: float) -> bool:
    """Whether the result of an analysis rejects the null hypothesis."""
    if isinstance(result, bool | np.bool_):
        return bool(result)
    p = result.test(null).p if isinstance(result, Estimate) else getattr(result, "p", result)
    if np.ndim(p) or not isinstance(p, int | float | np.number) or p < 0 or p > 1:
        remedy = "return one p-value, one Estimate, or whether something was detected"
        reject("`analysis` must lead to one test", type(result).__name__, remedy, TypeError)
    return bool(p <= error)
