"""Figures of audits: ratios of outcome probabilities on two neighbors, and proven epsilon by number of runs."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from toolkit.audit.bounds import clopper_pearson
from toolkit.core.arrays import Array, ArrayLike
from toolkit.core.checks import reject
from toolkit.show.canvas import BLUE, GREY, INK, ORANGE, VERMILLION, axes, document_figure, draw_curves, finish

_TOTAL_ERROR = 0.01  # the probability that any bar misses its ratio, split evenly among all limits
_STYLES = ((BLUE, "-", "o"), (VERMILLION, "--", "D"), (ORANGE, "-.", "s"))


@document_figure
def outcome_ratios(
    first: ArrayLike, second: ArrayLike, *, epsilon: float, max_cells: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw the ratio of each outcome's probabilities on two neighbors, with the band that epsilon allows.

    Outcomes are grouped into cells of about equal counts, or into one cell per value if there are few values. The bars
    are simultaneous 99 % intervals; bars outside the band differ in marker and color. An arrow marks an outcome that
    never occurred on one of the neighbors.

    Parameters
    ----------
    first, second : array_like
        Outcomes of the mechanism on two neighboring tables, one number per run.
    epsilon : float
        The claimed privacy loss.
    max_cells : int, default 12
        Maximum number of cells.

    Examples
    --------
    >>> import numpy as np
    >>> from toolkit import show
    >>> rng = np.random.default_rng(1)
    >>> show.auditing.outcome_ratios(rng.geometric(0.5, 4000), rng.geometric(0.5, 4000), epsilon=1, max_cells=4)
    <Picture: outcomes on two neighbors: 0 of 3 cells lie outside what epsilon 1 allows>
    """
    first_outcomes, second_outcomes = (np.asarray(runs, dtype=np.float64) for runs in (first, second))
    if first_outcomes.ndim != 1 or second_outcomes.ndim != 1 or not len(first_outcomes) or not len(second_outcomes):
        shapes = f"shapes {first_outcomes.shape} and {second_outcomes.shape}"
        reject("outcomes must be numbers, one per run", shapes, "choose one entry of the output")
    edges, names = _cells(np.concatenate([first_outcomes, second_outcomes]), max_cells)
    counts = (
        np.bincount(np.searchsorted(edges, x, "right"), minlength=len(names)) for x in (first_outcomes, second_outcomes)
    )
    low, high, log_ratios = _log_ratios(*counts)
    ax, is_outside = axes(ax, width=7.2, height=3.6), (low > epsilon) | (high < -epsilon)
    limit = 1.25 * max(2 * epsilon, float(np.abs(log_ratios[np.isfinite(log_ratios)]).max(initial=0)))
    ax.axhspan(-epsilon, epsilon, color=GREY, alpha=0.22, linewidth=0, label=f"allowed by ε = {epsilon:g}")
    for index in range(len(names)):
        _draw_bar(ax, index, (low[index], log_ratios[index], high[index]), limit, is_outside=bool(is_outside[index]))
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set(xlim=(-0.6, len(names) - 0.4), ylim=(-limit, limit), xlabel="outcome", ylabel="ln of the ratio of chances")
    is_rotated = max(map(len, names)) > 4
    ax.set_xticks(range(len(names)), names, rotation=40 if is_rotated else 0, ha="right" if is_rotated else "center")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    outliers = f"{int(np.count_nonzero(is_outside))} of {len(names)} cells"
    title = f"{outliers} break the promise" if np.any(is_outside) else "No outcome speaks against the promise"
    return finish(ax, title, f"outcomes on two neighbors: {outliers} lie outside what epsilon {epsilon:g} allows")


@document_figure
def bounds_against_runs(
    curves: Mapping[str, Sequence[tuple[int, float]]], *, epsilon: float, ax: Axes | None = None
) -> Axes:
    """Draw the epsilon that audits prove against the number of runs, one line per mechanism, with the claimed epsilon.

    Parameters
    ----------
    curves : mapping of str to sequence of (int, float)
        For each mechanism, pairs of (number of runs, proven epsilon).
    epsilon : float
        The claimed privacy loss.

    Examples
    --------
    >>> from toolkit import show
    >>> show.auditing.bounds_against_runs({"Laplace": [(1000, 0.4), (100_000, 0.9)]}, epsilon=1)
    <Picture: proven epsilon by number of runs: Laplace from 0.4 with 1,000 to 0.9 with 100,000; claimed 1>
    """
    ax, descriptions = axes(ax, width=7.2, height=3.6), []
    for name, runs, proven in draw_curves(ax, curves, _STYLES, marker_size=6):
        descriptions.append(f"{name} from {proven[0]:.2g} with {runs[0]:,.0f} to {proven[-1]:.2g} with {runs[-1]:,.0f}")
    ax.axhline(epsilon, color=INK, linestyle="--", linewidth=1.5, label=f"claimed, ε = {epsilon:g}")
    ax.set_xscale("log")
    ax.minorticks_off()
    ax.set_xticks(sorted({runs for points in curves.values() for runs, _ in points}))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
    highest = max(proven for points in curves.values() for _, proven in points)
    ax.set(ylim=(0, 1.12 * max(epsilon, highest)), xlabel="runs (logarithmic)", ylabel="ε at least, as proven")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    alt = f"proven epsilon by number of runs: {'; '.join(descriptions)}; claimed {epsilon:g}"
    return finish(ax, "A bound takes runs", alt)


def _cells(pooled: Array, max_cells: int) -> tuple[Array, list[str]]:
    """Return the edges between cells and the names of the cells: values, or intervals if there are too many values."""
    values = np.unique(pooled)
    if len(values) <= max_cells:
        return values[1:], [f"{value:.4g}" for value in values]
    edges = np.unique(np.quantile(pooled, np.linspace(0, 1, max_cells + 1)[1:-1]))
    edges = edges[edges > values[0]]  # otherwise the first cell would be empty
    middle = [f"{low:.2g} to {high:.2g}" for low, high in pairwise(edges)]
    return edges, [f"< {edges[0]:.2g}", *middle, f"≥ {edges[-1]:.2g}"]


def _log_ratios(first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """Return the lower limit, the upper limit and the estimate of ln(p / q); infinite if a count is zero."""
    tail = _TOTAL_ERROR / (4 * len(first))
    (low, high), (second_low, second_high) = (
        clopper_pearson(counts, int(counts.sum()), tail) for counts in (first, second)
    )
    with np.errstate(divide="ignore"):
        estimate = np.log(first / first.sum()) - np.log(second / second.sum())
        return np.log(low) - np.log(second_high), np.log(high) - np.log(second_low), np.asarray(estimate)


def _draw_bar(ax: Axes, position: int, bar: tuple[float, float, float], limit: float, *, is_outside: bool) -> None:
    """Draw an interval of the log ratio, or an arrow at the edge if the estimate is infinite."""
    low, estimate, high = bar
    colour, marker = (VERMILLION, "D") if is_outside else (BLUE, "o")
    ax.plot(
        [position, position], np.clip([low, high], -limit, limit), color=colour, linewidth=2.5, solid_capstyle="butt"
    )
    if math.isfinite(estimate):
        ax.plot([position], [estimate], marker, color=colour, markersize=6)
    else:
        ax.plot(
            [position],
            [math.copysign(0.93 * limit, estimate)],
            "^" if estimate > 0 else "v",
            color=colour,
            markersize=9,
        )
