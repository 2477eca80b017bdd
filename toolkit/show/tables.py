"""Figures of released tables, and helpers to draw a row with an estimate and its interval."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from toolkit.core.checks import reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval
from toolkit.show.canvas import BLUE, INK, ORANGE, SKY, VERMILLION, axes, document_figure, finish, name_rows, percent

__all__ = ["table"]

_MAX_ROWS = 80
_STYLES = ((BLUE, "o"), (ORANGE, "s"), (VERMILLION, "D"), (SKY, "^"))  # they differ in shape as well as color


@document_figure
def table(
    estimate: Estimate, *, level: float = 0.95, truth: Any = None, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw the entries of an estimate as dots with their intervals, one row per label.

    For a table by two columns, the second with at most four keys, the figure has one row per key of the first column.

    Parameters
    ----------
    estimate : Estimate
        The released numbers, or estimated shares.
    level : float, default 0.95
        Confidence level of the intervals.
    truth : array_like, optional
        The true numbers, for teaching; they are drawn as bars.
    title : str, optional
        Title of the figure.

    Examples
    --------
    >>> from toolkit import Laplace, show
    >>> counts = Laplace.for_epsilon(1000).release([40, 60], labels=["north", "south"])
    >>> show.tables.table(counts)
    <Picture: 2 entries with 95 % intervals: north 40, south 60>
    """
    labels = [label if isinstance(label, tuple) else (label,) for label in estimate.labels]
    if len(labels) > _MAX_ROWS or not labels:
        reject(f"a figure must have 1 to {_MAX_ROWS} entries", len(labels), "draw fewer, or use to_frame()")
    values, interval = np.atleast_1d(estimate.value).astype(float), estimate.interval(level)
    low, high = (np.atleast_1d(limit) for limit in interval)
    keys = list(dict.fromkeys(label[-1] for label in labels))
    is_grouped = len(labels[0]) == 2 and len(keys) <= len(_STYLES)
    names = list(dict.fromkeys(label[:-1] if is_grouped else label for label in labels))
    ax = axes(ax, height=1.3 + (0.3 + 0.12 * (len(keys) - 1) * is_grouped) * len(names))
    for i, label in enumerate(labels):
        style = keys.index(label[-1]) if is_grouped else 0
        shift = (style - (len(keys) - 1) / 2) * 0.7 / len(keys) if is_grouped else 0.0
        row = names.index(label[:-1] if is_grouped else label) + shift
        dot_and_bar(ax, row, values[i], low[i], high[i], *_STYLES[style])
        if truth is not None:
            ax.plot(np.ravel(truth)[i], row, "|", color=INK, markersize=11, markeredgewidth=1.6)
    name_rows(ax, [", ".join(map(str, name)) for name in names])
    if is_grouped:
        handles = [ax.plot([], [], marker, color=colour)[0] for colour, marker in _STYLES[: len(keys)]]
        ax.legend(handles, list(map(str, keys)), frameon=False, title=estimate.axes[-1] if estimate.axes else "")
    ax.set_ylabel(estimate.axes[0] if estimate.axes else "")
    is_release = Covers.of(estimate.covers).sources == (ErrorSource.NOISE,)
    ax.set_xlabel("released number" if is_release else "estimate")
    entries = ", ".join(f"{', '.join(map(str, label))} {value:g}" for label, value in zip(labels, values, strict=True))
    noun = "entry" if len(labels) == 1 else "cells" if estimate.axes else "entries"
    alt = f"{len(labels)} {noun} with {100 * level:g} % intervals: {entries}"
    usual = "Released numbers with {} % intervals of their noise" if is_release else "Estimates with {} % intervals"
    return finish(ax, title or usual.format(f"{100 * level:g}"), alt)


def dot_and_bar(ax: Axes, row: float, value: float, low: float, high: float, colour: str, marker: str) -> None:
    """Draw an estimate as a dot, and its interval as a bar if it is finite."""
    if np.isfinite(low) and np.isfinite(high):
        ax.plot([low, high], [row, row], color=colour, linewidth=1.8, solid_capstyle="butt")
    ax.plot([value], [row], marker, color=colour, markersize=6)


def misfit_note(estimate: Estimate, interval: Interval, entry: int = 0) -> str:
    """Return a note such as "no share fits: p = 3e-13" if the reports contradict an entry, or an empty string."""
    is_empty = bool(np.broadcast_to(interval.empty, np.atleast_1d(estimate.value).shape)[entry])
    fit = estimate.fit
    if fit is None:
        return "no value fits" if is_empty else ""
    is_per_entry = np.ndim(fit.p) == np.ndim(estimate.value)  # otherwise p is the p-value of all entries together
    if is_empty:
        return f"no {fit.quantity} fits{f': {fit.words(entry)}' if is_per_entry else ''}"
    return f"fits badly: {fit.words(entry)}" if is_per_entry and fit.doubtful and np.size(fit.p) == 1 else ""


def joint_misfit_note(estimate: Estimate, interval: Interval) -> str:
    """Return a note with the p-value of all entries together if the reports contradict them, or an empty string."""
    fit = estimate.fit
    if fit is None or np.ndim(fit.p) == np.ndim(estimate.value) or not (fit.doubtful or np.any(interval.empty)):
        return ""
    return f"fit of all together: {fit.words()}"


def interval_row(
    ax: Axes, row: float, value: float, low: float, high: float, *, misses_truth: bool, note: str = ""
) -> None:
    """Draw an estimate with its interval; shape and color show whether the interval is empty or misses the truth."""
    is_empty = bool(np.isnan(low)) and bool(note)
    colour = VERMILLION if misses_truth or is_empty else BLUE
    if not is_empty:
        ax.plot([low, high], [row, row], color=colour, linewidth=3 if misses_truth else 1.8, solid_capstyle="butt")
    marker, fill_colour = ("X", colour) if is_empty else ("D", "white") if misses_truth else ("o", colour)
    ax.plot([value], [row], marker, color=colour, markerfacecolor=fill_colour, markersize=8 if is_empty else 6)
    if note:
        position, (offset, side) = (value if is_empty else high, row), (-8, "right") if value > 0.5 else (8, "left")
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        text_style: dict[str, Any] = {"ha": side, "va": "center", "color": VERMILLION, "fontsize": "small", "bbox": box}
        ax.annotate(note, position, (offset, 0), textcoords="offset points", **text_style)


def interval_text(value: float, low: float, high: float, note: str = "") -> str:
    """Describe in text what `interval_row` draws, for readers who cannot see it."""
    if np.isnan(low) and note:
        return f"{percent(value)} ({note})"
    return f"{percent(value)} ({percent(low)} to {percent(high)}{f'; {note}' if note else ''})"
