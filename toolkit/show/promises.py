"""Figures of the definition of differential privacy: output distributions, their ratios and changes of belief."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from toolkit.core.arrays import Array
from toolkit.core.checks import reject
from toolkit.show.canvas import BLUE, GREY, INK, ORANGE, SKY, VERMILLION, axes, draws, finish, percent, percent_ticks

Law = Mapping[Any, Any]
"""The probability of each output."""

_STYLES = ((BLUE, "-"), (VERMILLION, "--"), (ORANGE, "-."))
_MOST_LABELS = 12


@draws
def output_laws(
    laws: Mapping[str, Law],
    *,
    across: str = "what is released",
    title: str = "The same release, from neighboring tables",
    ax: Axes | None = None,
) -> Axes:
    """Draw the distribution of outputs on each of two or three tables; the closer they are, the less an output reveals.

    Parameters
    ----------
    laws : mapping of str to mapping
        For each table the probability of each output.
    across : str, default "what is released"
        Label of the outputs.
    title : str, optional
        Title of the figure.

    Examples
    --------
    >>> from toolkit import show
    >>> show.promises.output_laws({"without Alice": {0: 0.6, 1: 0.4}, "with Alice": {0: 0.4, 1: 0.6}})
    <Picture: how likely each release is: without Alice most often 0 (60 %), with Alice most often 1 (60 %)>
    """
    if not 2 <= len(laws) <= len(_STYLES):
        reject("`laws` must be two or three", len(laws), "draw more of them in several figures")
    outputs = _outputs(laws.values())
    # A few outputs are drawn as wide bars, which a legend inside the axes would cover.
    few = len(outputs) <= _MOST_LABELS
    ax, edges = axes(ax, width=7.2 if few else 6.4), np.arange(len(outputs) + 1) - 0.5
    words = []
    for (name, law), (colour, dash) in zip(laws.items(), _STYLES, strict=False):
        probabilities = _probabilities(law, outputs)
        ax.stairs(probabilities, edges, color=colour, linestyle=dash, linewidth=2.2, label=name)
        ax.stairs(probabilities, edges, color=colour, fill=True, alpha=0.13)
        words.append(f"{name} most often {outputs[int(probabilities.argmax())]} ({percent(probabilities.max())})")
    _name_outputs(ax, outputs)
    percent_ticks(ax, "y")
    ax.set(xlabel=across, ylabel="probability", ylim=(0, 1.05 * ax.dataLim.y1), xlim=(edges[0], edges[-1]))
    ax.legend(frameon=False, loc="center left" if few else "upper right", bbox_to_anchor=(1, 0.5) if few else (1, 1))
    return finish(ax, title, f"how likely each release is: {', '.join(words)}")


@draws
def ratios(
    first: Law, second: Law, *, epsilon: float, across: str = "what is released", ax: Axes | None = None
) -> Axes:
    """Draw the ratio of each output's probabilities on two tables, with the band that epsilon allows.

    Diamonds mark outputs outside the band. An output that is possible on only one table has no finite ratio and is
    drawn at the edge.

    Parameters
    ----------
    first, second : mapping
        The probability of each output on each table.
    epsilon : float
        The privacy loss, which sets the band.
    across : str, default "what is released"
        Label of the outputs.

    Examples
    --------
    >>> from toolkit import show
    >>> show.promises.ratios({0: 0.6, 1: 0.4}, {0: 0.4, 1: 0.6}, epsilon=0.5)
    <Picture: ratios from 0.667 to 1.5; epsilon 0.5 allows 0.61 to 1.65: all of 2 outputs are within>
    """
    outputs, ax = _outputs([first, second]), axes(ax, height=3.0)
    limit = math.exp(epsilon)
    values = _ratios(_probabilities(first, outputs), _probabilities(second, outputs))
    y_max = 1.3 * max([limit, *values[np.isfinite(values)], *(1 / values[values > 0])]) ** 1.2
    ax.axhspan(1 / limit, limit, color=SKY, alpha=0.3, linewidth=0)
    ax.axhline(1, color=GREY, linestyle=":", linewidth=1.5)
    drawn_values = np.clip(values, 1 / y_max, y_max)
    inside = (values >= (1 - 1e-9) / limit) & (values <= limit * (1 + 1e-9))
    positions = np.arange(len(outputs))
    ax.plot(positions[inside], drawn_values[inside], "o", color=BLUE, markersize=5)
    ax.plot(positions[~inside], drawn_values[~inside], "D", color=VERMILLION, markersize=6, clip_on=False)
    _name_limits(ax, limit)
    _name_outputs(ax, outputs)
    ax.set_yscale("log")
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_yticks(*zip(*_factors(y_max), strict=True))
    ax.set(xlabel=across, ylabel="times as likely", ylim=(1 / y_max, y_max), xlim=(-0.5, len(outputs) - 0.5))
    outside = int(np.count_nonzero(~inside))
    alt = f"ratios from {values.min():.3g} to {values.max():.3g}; epsilon {epsilon:.3g} allows "
    alt += f"{1 / limit:.2f} to {limit:.2f}: "
    alt += f"{outside} of {len(outputs)} outputs leave it" if outside else f"all of {len(outputs)} outputs are within"
    return finish(ax, "How much likelier one table makes each release", alt)


@draws
def belief_band(epsilon: float, points: Sequence[tuple[float, float]] = (), *, ax: Axes | None = None) -> Axes:
    """Draw the range of beliefs about one person that are possible after a release, against the belief before.

    Odds change by at most e**epsilon, so a belief b becomes at most b e**epsilon / (1 - b + b e**epsilon).

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
    ax.fill_between(grid, _updated(grid, 1 / factor), _updated(grid, factor), color=SKY, alpha=0.4, linewidth=0)
    ax.plot(grid, grid, color=GREY, linestyle=":", linewidth=1.5)
    before, after = np.array(points, dtype=float).reshape(-1, 2).T
    inside = (after >= _updated(before, 1 / factor) - 1e-9) & (after <= _updated(before, factor) + 1e-9)
    ax.plot(before[inside], after[inside], "o", color=BLUE, markersize=4, alpha=0.7, markeredgewidth=0)
    ax.plot(before[~inside], after[~inside], "D", color=VERMILLION, markersize=6)
    percent_ticks(ax)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xlabel="belief before the release", ylabel="belief after it")
    half = " to ".join(percent(float(_updated(np.array(0.5), f))) for f in (1 / factor, factor))
    alt = f"beliefs before and after a release with epsilon {epsilon:.3g}: 50 % becomes {half}"
    if len(before):
        alt += f"; {int(inside.sum())} of {len(before)} observers {'is' if len(before) == 1 else 'are'} within"
    return finish(ax, f"What ε = {epsilon:.3g} lets anybody conclude", alt)


def _updated(belief: Array, factor: float) -> Array:
    """Return a belief after its odds have been multiplied by a factor."""
    return np.asarray(belief * factor / (1 - belief + belief * factor))


def _outputs(laws: Any) -> list[Any]:
    """Return all outputs, sorted if they are numbers, otherwise in order of appearance."""
    outputs = list(dict.fromkeys(output for law in laws for output in law))
    return sorted(outputs) if all(isinstance(output, int | float | np.number) for output in outputs) else outputs


def _probabilities(law: Law, outputs: list[Any]) -> Array:
    return np.array([float(law.get(output, 0)) for output in outputs])


def _ratios(first: Array, second: Array) -> Array:
    """Return first over second, infinite where only the second is zero and 1 where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((first == 0) & (second == 0), 1.0, first / second)


def _factors(largest: float) -> list[tuple[float, str]]:
    """Return ticks at 1 and at one or two round factors and their inverses, with labels such as 1/4, 1, 4."""
    steps = [step for step in (1.25, 1.5, 2, 3, 5, 10, 30, 100, 1000) if step <= largest]
    selection = steps[-1:] if len(steps) < 5 else [steps[len(steps) // 2 - 1], steps[-1]]
    return [
        *((1 / step, f"1/{step:g}") for step in reversed(selection)),
        (1.0, "1"),
        *((step, f"{step:g}") for step in selection),
    ]


def _name_limits(ax: Axes, limit: float) -> None:
    """Label the ends of the band on its outer side, where no dots lie."""
    for bound, name, offset, side in ((limit, "$e^{ε}$", 5, "bottom"), (1 / limit, "$e^{-ε}$", -5, "top")):
        position: dict[str, Any] = {
            "xycoords": ("axes fraction", "data"),
            "xytext": (0, offset),
            "textcoords": "offset points",
        }
        ax.annotate(f"{name} = {bound:.3g}", (1, bound), ha="right", va=side, color=INK, fontsize=9, **position)


def _name_outputs(ax: Axes, outputs: list[Any]) -> None:
    """Label at most `_MOST_LABELS` outputs, evenly spaced around the middle one."""
    every = max(1, math.ceil(len(outputs) / _MOST_LABELS))
    indices = range((len(outputs) // 2) % every, len(outputs), every)
    ax.set_xticks(list(indices), [str(outputs[i]) for i in indices])
