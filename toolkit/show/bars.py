"""One estimate in a figure: a dot and a bar, or, where no share agrees with the reports, a cross and words in
place of the bar.
"""

import numpy as np
from matplotlib.axes import Axes

from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval
from toolkit.show.canvas import BLUE, VERMILLION, percent


def doubt(estimate: Estimate, interval: Interval, entry: int = 0) -> str:
    """What must stand beside an entry that its reports contradict: "no share fits: p = 3e-13"; nothing if
    they do not.
    """
    empty = bool(np.broadcast_to(interval.empty, np.atleast_1d(estimate.value).shape)[entry])
    fit = estimate.fit
    if fit is None:
        return "no value fits" if empty else ""
    own = np.ndim(fit.p) == np.ndim(estimate.value)  # else it is the p-value of all entries together
    if empty:
        return f"no {fit.of} fits{f': {fit.words(entry)}' if own else ''}"
    return f"fits badly: {fit.words(entry)}" if own and fit.doubtful and np.size(fit.p) == 1 else ""


def together(estimate: Estimate, interval: Interval) -> str:
    """The p-value of several entries together, where their reports contradict them."""
    fit = estimate.fit
    if fit is None or np.ndim(fit.p) == np.ndim(estimate.value) or not (fit.doubtful or np.any(interval.empty)):
        return ""
    return f"fit of all together: {fit.words()}"


def interval_row(ax: Axes, row: float, value: float, low: float, high: float, *, misses: bool, words: str = "") -> None:
    """The bar of an interval with its estimate. What misses the truth, and what is empty, differs by more
    than colour.
    """
    empty = bool(np.isnan(low)) and bool(words)
    colour = VERMILLION if misses or empty else BLUE
    if not empty:
        ax.plot([low, high], [row, row], color=colour, linewidth=3 if misses else 1.8, solid_capstyle="butt")
    mark, filled = ("X", colour) if empty else ("D", "white") if misses else ("o", colour)
    ax.plot([value], [row], mark, color=colour, markerfacecolor=filled, markersize=8 if empty else 6)
    if words:
        _beside(ax, row, value if empty else high, words, left=value > 0.5)


def _beside(ax: Axes, row: float, place: float, words: str, *, left: bool) -> None:
    ax.annotate(
        words,
        (place, row),
        (-8 if left else 8, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="center",
        color=VERMILLION,
        fontsize="small",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )


def interval_words(value: float, low: float, high: float, words: str = "") -> str:
    """The same for those who cannot see it."""
    if np.isnan(low) and words:
        return f"{percent(value)} ({words})"
    return f"{percent(value)} ({percent(low)} to {percent(high)}{f'; {words}' if words else ''})"
