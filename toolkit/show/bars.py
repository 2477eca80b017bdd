"""Rows of estimates: a dot and a bar, or a cross and words where no share agrees with the reports; released tables."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval
from toolkit.show.canvas import BLUE, INK, ORANGE, SKY, VERMILLION, axes, draws, finish, name_rows, percent

_MOST_ROWS = 80
_STYLES = ((BLUE, "o"), (ORANGE, "s"), (VERMILLION, "D"), (SKY, "^"))  # told apart by shape, too


@draws
def table(
    estimate: Estimate, *, level: float = 0.95, truth: Any = None, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw released numbers as dots with the intervals of their noise, one row per cell.

    A table by two columns, the second with at most four keys, has one row for each key of the first.

    Parameters
    ----------
    estimate : Estimate
        The released numbers.
    level : float, default 0.95
        Confidence level of the intervals.
    truth : array_like, optional
        The true numbers, for teaching: each is marked.
    title : str, optional
        Title of the figure.

    Examples
    --------
    >>> from toolkit import Laplace, show
    >>> counts = Laplace.for_epsilon(1000).release([40, 60], labels=["north", "south"])
    >>> show.tables.table(counts)
    <Picture: 2 cells with 95 % intervals: north 40, south 60>
    """
    labels = [label if isinstance(label, tuple) else (label,) for label in estimate.labels]
    if len(labels) > _MOST_ROWS or not labels:
        refuse(f"a picture holds 1 to {_MOST_ROWS} cells", len(labels), "draw fewer, or see to_frame()")
    values, interval = np.atleast_1d(estimate.value).astype(float), estimate.interval(level)
    low, high = (np.atleast_1d(limit) for limit in interval)
    side = list(dict.fromkeys(label[-1] for label in labels))
    together = len(labels[0]) == 2 and len(side) <= len(_STYLES)
    names = list(dict.fromkeys(label[:-1] if together else label for label in labels))
    ax = axes(ax, height=1.3 + (0.3 + 0.12 * (len(side) - 1) * together) * len(names))
    for i, label in enumerate(labels):
        place = side.index(label[-1]) if together else 0
        shift = (place - (len(side) - 1) / 2) * 0.7 / len(side) if together else 0.0
        row = names.index(label[:-1] if together else label) + shift
        dot_and_bar(ax, row, values[i], low[i], high[i], *_STYLES[place])
        if truth is not None:
            ax.plot(np.ravel(truth)[i], row, "|", color=INK, markersize=11, markeredgewidth=1.6)
    name_rows(ax, [", ".join(map(str, name)) for name in names])
    if together:
        handles = [ax.plot([], [], mark, color=colour)[0] for colour, mark in _STYLES[: len(side)]]
        ax.legend(handles, list(map(str, side)), frameon=False, title=estimate.axes[-1] if estimate.axes else "")
    ax.set_ylabel(estimate.axes[0] if estimate.axes else "")
    words = ", ".join(f"{', '.join(map(str, label))} {value:g}" for label, value in zip(labels, values, strict=True))
    alt = f"{len(labels)} cells with {100 * level:g} % intervals: {words}"
    return finish(ax, title or f"Released numbers with {100 * level:g} % intervals of their noise", alt)


def dot_and_bar(ax: Axes, row: float, value: float, low: float, high: float, colour: str, mark: str) -> None:
    """Draw an estimate of one group, with its interval if it has a finite one.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        What is drawn on.
    row : float
        The height.
    value : float
        The estimate.
    low : float
        The lower limit.
    high : float
        The upper limit.
    colour : str
        As matplotlib knows it.
    mark : str
        As matplotlib knows it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> dot_and_bar(ax, 0, 0.3, 0.2, 0.4, "black", "o")
    >>> len(ax.lines)
    2
    >>> plt.close(figure)
    """
    if np.isfinite(low) and np.isfinite(high):
        ax.plot([low, high], [row, row], color=colour, linewidth=1.8, solid_capstyle="butt")
    ax.plot([value], [row], mark, color=colour, markersize=6)


def doubt(estimate: Estimate, interval: Interval, entry: int = 0) -> str:
    """Say what must stand beside an entry that its reports contradict: "no share fits: p = 3e-13"; else nothing.

    Parameters
    ----------
    estimate : Estimate
        The estimate.
    interval : Interval
        Its interval.
    entry : int
        Which of its entries.

    Returns
    -------
    str
        The words, or none.

    Examples
    --------
    >>> from toolkit import warner
    >>> estimate = warner("3/4").estimate_counts([38, 42])
    >>> doubt(estimate, estimate.interval())
    ''
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
    """Say the p-value of several entries together, where their reports contradict them.

    Parameters
    ----------
    estimate : Estimate
        The estimate.
    interval : Interval
        Its interval.

    Returns
    -------
    str
        The words, or none.

    Examples
    --------
    >>> from toolkit import k_ary
    >>> estimate = k_ary(["a", "b", "c"], epsilon=1).estimate_counts([30, 30, 30])
    >>> together(estimate, estimate.interval())
    ''
    """
    fit = estimate.fit
    if fit is None or np.ndim(fit.p) == np.ndim(estimate.value) or not (fit.doubtful or np.any(interval.empty)):
        return ""
    return f"fit of all together: {fit.words()}"


def interval_row(ax: Axes, row: float, value: float, low: float, high: float, *, misses: bool, words: str = "") -> None:
    """Draw the bar of an interval with its estimate. What misses the truth or is empty differs by more than colour.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        What is drawn on.
    row : float
        The height.
    value : float
        The estimate.
    low : float
        The lower limit.
    high : float
        The upper limit.
    misses : bool
        Whether the truth is outside.
    words : str
        What stands beside it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> interval_row(ax, 0, 0.3, 0.2, 0.4, misses=False)
    >>> len(ax.lines)
    2
    >>> plt.close(figure)
    """
    empty = bool(np.isnan(low)) and bool(words)
    colour = VERMILLION if misses or empty else BLUE
    if not empty:
        ax.plot([low, high], [row, row], color=colour, linewidth=3 if misses else 1.8, solid_capstyle="butt")
    mark, filled = ("X", colour) if empty else ("D", "white") if misses else ("o", colour)
    ax.plot([value], [row], mark, color=colour, markerfacecolor=filled, markersize=8 if empty else 6)
    if words:
        place, (off, side) = (value if empty else high, row), (-8, "right") if value > 0.5 else (8, "left")
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        look: dict[str, Any] = {"ha": side, "va": "center", "color": VERMILLION, "fontsize": "small", "bbox": box}
        ax.annotate(words, place, (off, 0), textcoords="offset points", **look)


def interval_words(value: float, low: float, high: float, words: str = "") -> str:
    """Say the same as `interval_row` draws, for those who cannot see it.

    Parameters
    ----------
    value : float
        The estimate.
    low : float
        The lower limit.
    high : float
        The upper limit.
    words : str
        What stands beside it.

    Returns
    -------
    str
        Percentages.

    Examples
    --------
    >>> interval_words(0.3, 0.2, 0.4)
    '30 % (20 % to 40 %)'
    """
    if np.isnan(low) and words:
        return f"{percent(value)} ({words})"
    return f"{percent(value)} ({percent(low)} to {percent(high)}{f'; {words}' if words else ''})"
