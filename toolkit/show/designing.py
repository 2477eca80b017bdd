"""Figures for designing a survey: effects of noncompliance, shares of options, and randomizers for many options."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from toolkit.core.checks import reject
from toolkit.core.estimate import Estimate
from toolkit.local import oracles
from toolkit.local.compliance import DEVIATIONS, Compliance
from toolkit.local.design import Design
from toolkit.show.canvas import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    SKY,
    VERMILLION,
    axes,
    document_figure,
    draw_curves,
    finish,
    name_rows,
    percent,
    percent_ticks,
)
from toolkit.show.tables import interval_row, interval_text, joint_misfit_note, misfit_note

_BEHAVIORS = {
    "self_protective": ("say the harmless thing", VERMILLION, "-"),
    "random": ("answer at random", BLUE, "--"),
    "candid": ("forget the device, tell the truth", ORANGE, "-."),
}
_FAMILIES: dict[str, Any] = {
    "k-ary": partial(oracles.subset, size=1),
    "unary": oracles.unary,
    "optimized unary": oracles.optimized_unary,
    "subset selection": oracles.subset,
}
_STYLES = ((VERMILLION, "-", "D"), (ORANGE, "--", "s"), (SKY, ":", "^"), (BLUE, "-", "o"))
_OPTION_COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)


@document_figure
def noncompliance_lines(design: Design, prevalence: float, *, max_share: float = 0.3, ax: Axes | None = None) -> Axes:
    """Draw the expected estimate against the share of people who do not follow the instructions.

    Parameters
    ----------
    design : Design
        A design with two options.
    prevalence : float
        The true share.
    max_share : float, default 0.3
        The maximum share of people who do not follow the instructions; the x axis ends there.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> show.designing.noncompliance_lines(warner("3/4"), 0.1, max_share=0.2)
    <Picture: estimate of a true 10 % when 20 % do not follow: say the harmless thing -2 %, answer at random 18 %, ...>
    """
    if len(design.options) != 2:
        reject("`design` must have two options to draw its estimate", len(design.options), "one line shows one share")
    ax, shares, descriptions = axes(ax, width=7.2, height=3.8), np.linspace(0, max_share, 61), []
    for behavior in DEVIATIONS:
        label, colour, dash = _BEHAVIORS[behavior]
        estimates = [prevalence + Compliance(**{behavior: float(share)}).bias(design, prevalence) for share in shares]
        ax.plot(shares, estimates, color=colour, linestyle=dash, linewidth=2.5, label=f"… {label}")
        descriptions.append(f"{label} {percent(estimates[-1])}")
    ax.axhline(prevalence, color=INK, linestyle="--", linewidth=1.2, label=f"the truth, {percent(prevalence, 1)}")
    low, high = ax.get_ylim()
    ax.axhspan(min(low, -0.01), 0, color=GREY, alpha=0.22, linewidth=0, label="no share can be here")
    ax.set(xlim=(0, max_share), ylim=(min(low, -0.01), high))
    percent_ticks(ax)
    ax.set(xlabel="people who do not follow the instructions, but …", ylabel="estimated share, on average")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    truth = percent(prevalence, 1)
    alt = f"estimate of a true {truth} when {percent(max_share)} do not follow: {', '.join(descriptions)}"
    return finish(ax, "What the instructions are worth", alt)


@document_figure
def option_shares(
    estimate: Estimate, *, truth: Sequence[float] | None = None, level: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw the share of each option with its interval, one row per option.

    Parameters
    ----------
    estimate : Estimate
        Shares of several options.
    truth : sequence of float, optional
        The true shares, drawn as bars; an interval that misses the true share is thick.
    level : float, default 0.95
        Confidence level of the intervals.

    Examples
    --------
    >>> from toolkit import k_ary, show
    >>> show.designing.option_shares(k_ary(["bus", "car", "bike"], epsilon=2.0).estimate_counts([50, 30, 20]))
    <Picture: 95 % intervals: bus 58 % (44 % to 72 %), car 28 % (17 % to 43 %), bike 14 % (4 % to 27 %)>
    """
    interval, values = estimate.interval(level), np.atleast_1d(estimate.value)
    low, high = np.atleast_1d(interval.low), np.atleast_1d(interval.high)
    ax, descriptions = axes(ax, height=1.2 + 0.32 * len(values)), []
    hits = np.ones(len(values), bool) if truth is None else (low <= np.asarray(truth)) & (np.asarray(truth) <= high)
    for row, name in enumerate(estimate.labels):
        note, numbers = misfit_note(estimate, interval, row), (float(values[row]), float(low[row]), float(high[row]))
        interval_row(ax, row, *numbers, misses_truth=not hits[row], note=note)
        descriptions.append(f"{name} {interval_text(*numbers, note)}")
    if truth is not None:
        ax.plot(list(truth), range(len(values)), "|", color=INK, markersize=15, markeredgewidth=2)
        descriptions = [f"{np.count_nonzero(hits)} of {len(values)} hold the true share"]
    name_rows(ax, [str(label) for label in estimate.labels])
    percent_ticks(ax, "x")
    fit = f"; {note}" if (note := joint_misfit_note(estimate, interval)) else ""
    ax.set_xlabel(f"{'share' if truth is None else 'share (bar: the truth)'}{fit}")
    alt = f"{100 * level:g} % intervals: {', '.join(descriptions)}{fit}"
    return finish(ax, f"Shares with {100 * level:g} % intervals", alt)


@document_figure
def options_against_k(epsilon: float, *, ks: Sequence[int] = _OPTION_COUNTS, ax: Axes | None = None) -> Axes:
    """Draw how many people each randomizer needs, in multiples of the minimum for unbiased estimates.

    Parameters
    ----------
    epsilon : float
        The privacy loss of one report.
    ks : sequence of int, optional
        Numbers of options.

    Examples
    --------
    >>> from toolkit import show
    >>> show.designing.options_against_k(1.0, ks=(2, 16, 128))
    <Picture: people needed at epsilon 1 for 128 options, in multiples of the least for unbiased estimates:
    k-ary 12.2, ...>
    """
    ax = axes(ax, width=7.2, height=3.8)
    ratios = {name: [(k, make(k, epsilon).ratio_to_limit) for k in ks] for name, make in _FAMILIES.items()}
    descriptions = [f"{name} {y[-1]:.3g}" for name, _, y in draw_curves(ax, ratios, _STYLES)]
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_yticks([1, 2, 4, 8, 16][: 1 + int(np.ceil(np.log2(ax.get_ylim()[1])))])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    ax.minorticks_off()
    ax.set(xlabel="options (logarithmic)", ylabel="people needed (1: least, unbiased)")
    ax.grid(visible=True, color="#DDDDDD", linewidth=0.6)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    least = "in multiples of the least for unbiased estimates"
    alt = f"people needed at epsilon {epsilon:.3g} for {ks[-1]} options, {least}: {', '.join(descriptions)}"
    return finish(ax, f"Many options, epsilon {epsilon:.3g}: who comes near the limit?", alt)
