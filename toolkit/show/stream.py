"""Figures of running totals: errors by number of periods, the published totals, and the blocks of a tree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from toolkit.central.stream.comparison import NAMES, crossing, error
from toolkit.central.stream.trees import Tree
from toolkit.core.checks import check_integer, float_array, reject
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.show.canvas import BLUE, GREY, INK, ORANGE, SKY, VERMILLION, axes, document_figure, finish

SHARE, FRESH, BINARY, BELOW, BEST, ROOT, EQUAL = NAMES
_STYLES = {SHARE: (GREY, ":"), FRESH: (BLUE, "-"), BINARY: (VERMILLION, "--"), BELOW: (ORANGE, "-.")}
_STYLES |= {BEST: (INK, "-"), ROOT: (SKY, "--"), EQUAL: (SKY, "-")}

_BLOCK_STYLES: dict[str, dict[str, Any]] = {
    "added up": {"facecolor": ORANGE, "edgecolor": INK},
    "complete": {"facecolor": SKY, "alpha": 0.45},
    "not yet complete": {"facecolor": "none", "edgecolor": GREY, "linestyle": ":"},
}


@document_figure
def errors(loss: Pure | Zcdp, *, max_periods: int = 1024, ax: Axes | None = None) -> Axes:
    """Draw the largest standard deviation of the totals by each method against the number of periods.

    Parameters
    ----------
    loss : Pure or Zcdp
        The privacy loss of all periods together.
    max_periods : int, default 1024
        Maximum number of periods.

    Examples
    --------
    >>> from toolkit import Pure, show
    >>> show.stream.errors(Pure(1), max_periods=60)
    <Picture: errors of totals over up to 60 periods, ε = 1: best tree first below fresh noise for every period with 45>
    """
    ax, max_periods = axes(ax, width=7.6, height=4.2), check_integer(max_periods, "max_periods", minimum=2)
    periods = np.unique(np.round(np.geomspace(1, max_periods, 36)).astype(int))
    methods = [SHARE, FRESH, BINARY, BELOW, BEST, *(() if isinstance(loss, Pure) else (ROOT, EQUAL))]
    for name in methods:
        colour, dash = _STYLES[name]
        deviations = [error(name, loss, int(count)).largest for count in periods]
        ax.plot(periods, deviations, color=colour, linestyle=dash, linewidth=2, label=name)
    descriptions = []
    for name in methods[2:]:
        n_periods = crossing(loss, FRESH, name, up_to=max_periods)
        if n_periods is not None:
            ax.plot([n_periods], [error(name, loss, n_periods).largest], "o", color=_STYLES[name][0], markersize=7)
            descriptions.append(f"{name} first below {FRESH} with {n_periods}")
    ax.set(xscale="log", yscale="log", xlabel="number of periods", ylabel="largest standard deviation")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    text = "; ".join(descriptions) or "no method below fresh noise"
    alt = f"errors of totals over up to {max_periods:,} periods, {loss}: {text}"
    return finish(ax, f"Every week, {loss} in all", alt)


@document_figure
def published_totals(
    estimates: Sequence[Estimate], truth: object = None, *, label: str = "total", ax: Axes | None = None
) -> Axes:
    """Draw the published totals of each period with their 95 % intervals.

    Parameters
    ----------
    estimates : sequence of Estimate
        The published numbers, in order.
    truth : array_like, optional
        The true numbers, if the data are simulated.
    label : str, default "total"
        Label of the y axis, which shows the numbers.

    Examples
    --------
    >>> from toolkit import show
    >>> from toolkit.central.stream import RunningTotal
    >>> total = RunningTotal.for_epsilon(2, periods=4)
    >>> show.stream.published_totals([total.add(10) for _ in range(4)], [10, 20, 30, 40])
    <Picture: 4 published numbers, 95 % intervals up to ± ...>
    """
    if not estimates:
        reject("`estimates` must not be empty", "no estimate", "publish a total first")
    ax, periods = axes(ax), np.arange(1, len(estimates) + 1)
    values = np.array([float(estimate) for estimate in estimates])
    margin = np.array([float(estimate.interval().high) - float(estimate) for estimate in estimates])
    ax.fill_between(periods, values - margin, values + margin, color=SKY, alpha=0.35, linewidth=0)
    ax.plot(periods, values, color=BLUE, linewidth=2, label="published")
    if truth is not None:
        ax.plot(periods, float_array(truth, "truth"), color=INK, linestyle=":", linewidth=2, label="truth")
    ax.set(xlabel="period", ylabel=label, xlim=(0.5, len(periods) + 0.5))
    ax.legend(frameon=False, loc="upper left")
    alt = f"{len(periods):,} published numbers, 95 % intervals up to ± {margin.max():.3g}"
    return finish(ax, "Published every period", alt)


@document_figure
def blocks(tree: Tree, period: int, *, ax: Axes | None = None) -> Axes:
    """Draw the blocks of a tree, and highlight those whose noisy sums add up to the total after a period.

    Blocks that are not complete after this period are drawn with dotted lines: no published number uses them yet.

    Parameters
    ----------
    tree : Tree
        A tree over all periods so far, without a window.
    period : int
        The period, counted from 1.

    Examples
    --------
    >>> from toolkit import show
    >>> from toolkit.central.stream import Tree
    >>> show.stream.blocks(Tree(12, branches=2, levels=4), 12)
    <Picture: a tree over 12 periods: the total after period 12 is the sum of 2 blocks: periods 1 to 8, 9 to 12>
    """
    if tree.window is not None:
        reject("`tree` must have no window", tree.window, "a total over a window also subtracts blocks")
    last = check_integer(period, "period")
    if last > tree.periods:
        reject("`period` must be a period of the tree", last, f"the tree has {tree.periods:,} periods")
    added, _ = tree.terms(last)
    ax, sizes = axes(ax, width=8.6, height=1.1 + 0.5 * tree.levels), [tree.branches**j for j in range(tree.levels)]
    drawn_kinds = set[str]()
    for level, size in enumerate(sizes):
        for index in range(tree.periods // size):
            end = (index + 1) * size
            kind = "added up" if (level, index) in added else "complete" if end <= last else "not yet complete"
            corner, label = (index * size + 0.56, level - 0.36), None if kind in drawn_kinds else kind
            ax.add_patch(Rectangle(corner, size - 0.12, 0.72, label=label, **_BLOCK_STYLES[kind]))
            drawn_kinds.add(kind)
    ax.axvline(last + 0.5, color=INK, linewidth=1.5)
    ax.set_yticks(range(tree.levels), ["single periods" if size == 1 else f"blocks of {size:,}" for size in sizes])
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(0.4, tree.periods + 0.6), ylim=(-0.6, tree.levels - 0.4), xlabel="period")
    handles = sorted((patch for patch in ax.patches if patch.get_label()), key=lambda patch: str(patch.get_label()))
    ax.legend(handles=handles, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    spans = sorted((index * sizes[level] + 1, (index + 1) * sizes[level]) for level, index in added)
    texts = ", ".join(f"{first}" if first == end else f"{first} to {end}" for first, end in spans)
    count = f"{len(spans)} block{'' if len(spans) == 1 else 's'}"
    alt = (
        f"a tree over {tree.periods:,} periods: the total after period {last:,} is the sum of {count}: periods {texts}"
    )
    return finish(ax, f"The total after period {last:,}: {count}, each with its own noise", alt)
