"""Figures of the definition of differential privacy: output distributions, their ratios, and changes of beliefs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.show.canvas import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    SKY,
    VERMILLION,
    axes,
    document_figure,
    finish,
    percent,
    percent_ticks,
)

Law = Mapping[Any, Any]
"""A mapping from outputs to their probabilities."""

_STYLES = ((BLUE, "-"), (VERMILLION, "--"), (ORANGE, "-."))
_MAX_LABELS = 12


@document_figure
def output_laws(
    laws: Mapping[str, Law],
    *,
    x_label: str = "what is released",
    title: str = "The same release, from neighboring tables",
    ax: Axes | None = None,
) -> Axes:
    """Draw the distribution of outputs for each of two or three tables.

    The closer the distributions are, the less an output reveals.

    Parameters
    ----------
    laws : mapping of str to mapping
        For each table, the probability of each output.
    x_label : str, default "what is released"
        Label of the x axis, which shows the outputs.
    title : str, optional
        Title of the figure.

    Examples
    --------
    >>> from toolkit import show
    >>> show.promises.output_laws({"without Alice": {0: 0.6, 1: 0.4}, "with Alice": {0: 0.4, 1: 0.6}})
    <Picture: how likely each release is: without Alice most often 0 (60 %), with Alice most often 1 (60 %)>
    """
    if not 2 <= len(laws) <= len(_STYLES):
        reject("`laws` must have two or three entries", len(laws), "draw more of them in several figures")
    outputs = _all_outputs(laws.values())
    # If there are few outputs, their bars are wide, and a legend inside the axes would cover them.
    has_few_outputs = len(outputs) <= _MAX_LABELS
    ax, edges = axes(ax, width=7.2 if has_few_outputs else 6.4), np.arange(len(outputs) + 1) - 0.5
    descriptions = []
    for (name, law), (colour, dash) in zip(laws.items(), _STYLES, strict=False):
        probabilities = _probabilities(law, outputs)
        ax.stairs(probabilities, edges, color=colour, linestyle=dash, linewidth=2.2, label=name)
        ax.stairs(probabilities, edges, color=colour, fill=True, alpha=0.13)
        descriptions.append(
            f"{name} most often {outputs[int(probabilities.argmax())]} ({percent(probabilities.max())})"
        )
    _label_outputs(ax, outputs)
    percent_ticks(ax, "y")
    ax.set(xlabel=x_label, ylabel="probability", ylim=(0, 1.05 * ax.dataLim.y1), xlim=(edges[0], edges[-1]))
    ax.legend(
        frameon=False,
        loc="center left" if has_few_outputs else "upper right",
        bbox_to_anchor=(1, 0.5) if has_few_outputs else (1, 1),
    )
    return finish(ax, title, f"how likely each release is: {', '.join(descriptions)}")


@document_figure
def ratios(
    first: Law, second: Law, *, epsilon: float, x_label: str = "what is released", ax: Axes | None = None
) -> Axes:
    """Draw the ratio of each output's probabilities for two tables, with the band that epsilon allows.

    Diamonds mark outputs outside the band. An output that is possible for only one table has no finite ratio and is
    drawn at the edge.

    Parameters
    ----------
    first, second : mapping
        The probability of each output for each table.
    epsilon : float
        The privacy loss, which sets the band.
    x_label : str, default "what is released"
        Label of the x axis, which shows the outputs.

    Examples
    --------
    >>> from toolkit import show
    >>> show.promises.ratios({0: 0.6, 1: 0.4}, {0: 0.4, 1: 0.6}, epsilon=0.5)
    <Picture: ratios from 0.667 to 1.5; epsilon 0.5 allows 0.61 to 1.65: all of 2 outputs are within>
    """
    outputs, ax = _all_outputs([first, second]), axes(ax, height=3.0)
    limit = math.exp(epsilon)
    values = _probability_ratios(_probabilities(first, outputs), _probabilities(second, outputs))
    y_max = 1.3 * max([limit, *values[np.isfinite(values)], *(1 / values[values > 0])]) ** 1.2
    ax.axhspan(1 / limit, limit, color=SKY, alpha=0.3, linewidth=0)
    ax.axhline(1, color=GREY, linestyle=":", linewidth=1.5)
    drawn_values = np.clip(values, 1 / y_max, y_max)
    inside = (values >= (1 - 1e-9) / limit) & (values <= limit * (1 + 1e-9))
    positions = np.arange(len(outputs))
    ax.plot(positions[inside], drawn_values[inside], "o", color=BLUE, markersize=5)
    ax.plot(positions[~inside], drawn_values[~inside], "D", color=VERMILLION, markersize=6, clip_on=False)
    _label_limits(ax, limit)
    _label_outputs(ax, outputs)
    ax.set_yscale("log")
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_yticks(*zip(*_ratio_ticks(y_max), strict=True))
    ax.set(xlabel=x_label, ylabel="times as likely", ylim=(1 / y_max, y_max), xlim=(-0.5, len(outputs) - 0.5))
    outside = int(np.count_nonzero(~inside))
    alt = f"ratios from {values.min():.3g} to {values.max():.3g}; epsilon {epsilon:.3g} allows "
    alt += f"{1 / limit:.2f} to {limit:.2f}: "
    alt += f"{outside} of {len(outputs)} outputs leave it" if outside else f"all of {len(outputs)} outputs are within"
    return finish(ax, "How much likelier one table makes each release", alt)


@document_figure
def belief_band(epsilon: float, points: Sequence[tuple[float, float]] = (), *, ax: Axes | None = None) -> Axes:
    """Draw the range of possible beliefs about one person after a release, against the belief before the release.

    Odds change by a factor of at most e**epsilon, so a belief b becomes at most b e**epsilon / (1 - b + b e**epsilon).

    Parameters
    ----------
    epsilon : float
        The privacy loss.
    points : sequence of (float, float), optional
        Beliefs before and after a release, drawn as dots.

    Examples
    --------
    >>> from toolkit import show
    >>> show.promises.belief_band(1.0, [(0.5, 0.7)])
    <Picture: beliefs before and after a release with epsilon 1: 50 % becomes 27 % to 73 %; 1 of 1 observers is within>
    """
    ax, grid, factor = axes(ax, width=5.2, height=4.4), np.linspace(0, 1, 201), math.exp(epsilon)
    ax.fill_between(
        grid, _update_belief(grid, 1 / factor), _update_belief(grid, factor), color=SKY, alpha=0.4, linewidth=0
    )
    ax.plot(grid, grid, color=GREY, linestyle=":", linewidth=1.5)
    before, after = np.array(points, dtype=float).reshape(-1, 2).T
    inside = (after >= _update_belief(before, 1 / factor) - 1e-9) & (after <= _update_belief(before, factor) + 1e-9)
    ax.plot(before[inside], after[inside], "o", color=BLUE, markersize=4, alpha=0.7, markeredgewidth=0)
    ax.plot(before[~inside], after[~inside], "D", color=VERMILLION, markersize=6)
    percent_ticks(ax)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xlabel="belief before the release", ylabel="belief after it")
    half = " to ".join(percent(float(_update_belief(np.array(0.5), f))) for f in (1 / factor, factor))
    alt = f"beliefs before and after a release with epsilon {epsilon:.3g}: 50 % becomes {half}"
    if len(before):
        alt += f"; {int(inside.sum())} of {len(before)} observers {'is' if len(before) == 1 else 'are'} within"
    return finish(ax, f"What ε = {epsilon:.3g} lets anybody conclude", alt)


def _update_belief(belief: Array, factor: float) -> Array:
    """Return a belief after its odds have been multiplied by a factor."""
    return np.asarray(belief * factor / (1 - belief + belief * factor))


def _all_outputs(laws: Any) -> list[Any]:
    """Return all outputs, sorted if they are numbers, otherwise in order of appearance."""
    outputs = list(dict.fromkeys(output for law in laws for output in law))
    return sorted(outputs) if all(isinstance(output, int | float | np.number) for output in outputs) else outputs


def _probabilities(law: Law, outputs: list[Any]) -> Array:
    return np.array([float(law.get(output, 0)) for output in outputs])


def _probability_ratios(first: Array, second: Array) -> Array:
    """Return first / second: infinity if only the second is zero, and 1 if both are zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((first == 0) & (second == 0), 1.0, first / second)


def _ratio_ticks(largest: float) -> list[tuple[float, str]]:
    """Return tick positions and labels at 1, and at one or two round factors and their inverses."""
    steps = [step for step in (1.25, 1.5, 2, 3, 5, 10, 30, 100, 1000) if step <= largest]
    selection = steps[-1:] if len(steps) < 5 else [steps[len(steps) // 2 - 1], steps[-1]]
    return [
        *((1 / step, f"1/{step:g}") for step in reversed(selection)),
        (1.0, "1"),
        *((step, f"{step:g}") for step in selection),
    ]


def _label_limits(ax: Axes, limit: float) -> None:
    """Label the limits of the band on its outer side, where there are no dots."""
    for bound, name, offset, side in ((limit, "$e^{ε}$", 5, "bottom"), (1 / limit, "$e^{-ε}$", -5, "top")):
        position: dict[str, Any] = {
            "xycoords": ("axes fraction", "data"),
            "xytext": (0, offset),
            "textcoords": "offset points",
        }
        ax.annotate(f"{name} = {bound:.3g}", (1, bound), ha="right", va=side, color=INK, fontsize=9, **position)


def _label_outputs(ax: Axes, outputs: list[Any]) -> None:
    """Label at most `_MAX_LABELS` outputs, evenly spaced around the middle output."""
    step = max(1, math.ceil(len(outputs) / _MAX_LABELS))
    indices = range((len(outputs) // 2) % step, len(outputs), step)
    ax.set_xticks(list(indices), [str(outputs[i]) for i in indices])
