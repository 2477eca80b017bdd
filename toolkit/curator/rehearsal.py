"""`ReleaseRehearsal`: the errors of a release on public data, by its bounds and its price.

A release has two errors. Clamping to the bounds moves the statistic, and noise is added to it. Wide bounds clamp little
but need more noise. Both errors are measured on a public table, such as the data of an earlier year: the statistic is
computed without noise for bounds that contain all values and for each choice of bounds, and released many times.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.checks import Number, check_integer, reject
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.core.randomness import Rng
from toolkit.curator.release import PlannedRelease
from toolkit.frames.frame import Frame
from toolkit.frames.sums import Bounds, format_number

if TYPE_CHECKING:
    import pandas as pd

Planner = Callable[[object, Mapping[str, Number]], PlannedRelease[Any]]
"""A function that describes a release with the given bounds and price."""
_NO_NOISE = {"epsilon": 10**9}


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseRehearsal:
    """The errors of a release on public data, for each choice of bounds and each price.

    Parameters
    ----------
    label : str
        The name of the statistic.
    bounds : tuple of str
        The choices of bounds.
    prices : tuple of str
        The prices, such as "epsilon 0.5".
    cells : tuple
        The labels of the cells of the release; a single label if it is one number.
    clamping : array
        The change of the statistic by clamping, by bounds and cell.
    noise : array
        The root mean square of the noise, by bounds, price and cell.
    total : array
        The root mean square of the whole error, by bounds, price and cell; NaN if a simulated release had no value, as
        a correlation may have none.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import Curator, Ledger, Pure
    >>> last_year = pd.DataFrame({"pay": np.random.default_rng(1).lognormal(8, 0.5, 1000)})
    >>> this_year = pd.DataFrame({"pay": [2400.0, 5100.0, 3000.0] * 300})
    >>> curator = Curator(this_year, Ledger(Pure(1.0)), neighbors="replace")
    >>> trial = curator.rehearse(
    ...     last_year,
    ...     "mean",
    ...     "pay",
    ...     bounds=[(0, 4000), (0, 10_000), (0, 10**6)],
    ...     epsilon=[0.1, 1],
    ...     missing="drop",
    ...     rng=np.random.default_rng(2),
    ... )
    >>> trial.best
    {'epsilon 0.1': '0 to 10000', 'epsilon 1': '0 to 10000'}
    >>> curator.ledger.spent
    Pure(0.0)
    """

    label: str
    bounds: tuple[str, ...]
    prices: tuple[str, ...]
    cells: tuple[Any, ...]
    clamping: Array
    noise: Array
    total: Array

    @property
    def best(self) -> dict[str, str]:
        """The bounds with the smallest error for each price; for a table, the root mean square over its cells."""
        errors = np.sqrt((self.total**2).mean(axis=2)).T
        best = [int(np.argmin(np.where(np.isnan(row), np.inf, row))) for row in errors]
        return {price: self.bounds[index] for price, index in zip(self.prices, best, strict=True)}

    def to_frame(self) -> "pd.DataFrame":
        """Return a data frame with a row for each choice of bounds, price and cell.

        Returns
        -------
        pandas.DataFrame
            The columns bounds, price, cell, clamping, noise and total.
        """
        rows = [
            (bounds, price, str(cell), self.clamping[b, c], self.noise[b, p, c], self.total[b, p, c])
            for b, bounds in enumerate(self.bounds)
            for p, price in enumerate(self.prices)
            for c, cell in enumerate(self.cells)
        ]
        return extra("pandas").DataFrame(rows, columns=["bounds", "price", "cell", "clamping", "noise", "total"])

    def plot(self, ax: Any = None) -> Any:
        """Draw the total error against the bounds, with a line for each price, and the error of clamping.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; by default, a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        from toolkit.show import tradeoffs

        return tradeoffs.rehearsed_errors(self, ax=ax)

    def __repr__(self) -> str:
        best = "; ".join(f"{price}: {bounds}" for price, bounds in self.best.items())
        return f"<ReleaseRehearsal: {self.label} on public data; bounds with the smallest error: {best}>"


def rehearse_release(
    plan: Planner,
    frame: Frame,
    bounds: Sequence[object],
    prices: Mapping[str, Iterable[Number] | None],
    *,
    column: object,
    runs: int,
    rng: Rng,
) -> ReleaseRehearsal:
    """Release a statistic of a public frame `runs` times for each choice of bounds and each price."""
    n_runs = check_integer(runs, "runs")
    choices = _check_list(bounds, "bounds", "write bounds=[(0, 50), (0, 100)]")
    given = {
        name: _check_list(amounts, name, f"write {name}=[0.1, 1]")
        for name, amounts in prices.items()
        if amounts is not None
    }
    if not given:
        reject("`epsilon` or `rho` must list prices", "none", "write epsilon=[0.1, 1]")
    offers = [{name: amount} for name, amounts in given.items() for amount in amounts]
    exact = _exact_values(plan, _all_bounds(frame, choices, column), rng)
    releases: list[list[Array]] = []
    clamped = []
    for choice in choices:
        clamped.append(_exact_values(plan, choice, rng))
        releases.append([_repeated(plan(choice, offer), n_runs, rng) for offer in offers])
    outcomes, centers = np.array(releases), np.array(clamped)
    named = plan(choices[0], offers[0])
    return ReleaseRehearsal(
        named.label,
        tuple(map(_bounds_text, choices)),
        tuple(f"{name} {float(amount):g}" for offer in offers for name, amount in offer.items()),
        _estimate(named, named.read(), rng).labels,
        centers - exact,
        np.sqrt(((outcomes - centers[:, None, None]) ** 2).mean(axis=2)),
        np.sqrt(((outcomes - exact) ** 2).mean(axis=2)),
    )


def _estimate(release: PlannedRelease[Any], data: Any, rng: Rng) -> Estimate:
    estimate: Estimate = release.draw(data, rng)
    return estimate if release.finish is None else release.finish(estimate)


def _repeated(release: PlannedRelease[Any], runs: int, rng: Rng) -> Array:
    """Return the released numbers of several draws, one row per draw; the table is read once."""
    data = release.read()
    return np.array([np.atleast_1d(_estimate(release, data, rng).value) for _ in range(runs)])


def _exact_values(plan: Planner, bounds: object, rng: Rng) -> Array:
    return np.asarray(_repeated(plan(bounds, _NO_NOISE), 1, rng)[0])


def _all_bounds(frame: Frame, choices: Sequence[object], column: object) -> object:
    """Return bounds that contain all choices of bounds and all values of the public columns."""
    if isinstance(choices[0], Mapping):
        by_column = [choice for choice in choices if isinstance(choice, Mapping)]
        return {label: _all_bounds(frame, [choice[label] for choice in by_column], label) for label in by_column[0]}
    limits = [Bounds.of(choice) for choice in choices]
    lows, highs = [float(limit.low) for limit in limits], [float(limit.high) for limit in limits]
    for batch in frame.batches([column]):
        values = batch.column(column).floats()
        values = values[np.isfinite(values)]
        lows, highs = [*lows, float(values.min(initial=lows[0]))], [*highs, float(values.max(initial=highs[0]))]
    return min(lows), max(highs)


def _check_list(values: Iterable[object], argument: str, remedy: str) -> list[Any]:
    if isinstance(values, str | Mapping) or not hasattr(values, "__iter__"):
        reject(f"`{argument}` must be a list", type(values).__name__, remedy, TypeError)
    choices = list(values)
    if not choices:
        reject(f"`{argument}` must not be empty", "none", remedy)
    return choices


def _bounds_text(bounds: Any) -> str:
    if isinstance(bounds, Mapping):
        return ", ".join(f"{label}: {_bounds_text(pair)}" for label, pair in bounds.items())
    limits = Bounds.of(bounds)
    return f"{format_number(float(limits.low))} to {format_number(float(limits.high))}"
