"""One figure a function: `ax` in, `ax` out. Without `ax` a new picture is made, which a notebook shows by
itself.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.local.design import Design
from toolkit.show.bars import doubt, interval_row, interval_words
from toolkit.show.canvas import BLUE, GREY, INK, ORANGE, SKY, VERMILLION, axes, finish, percent
from toolkit.survey.results import Results
from toolkit.texts.voice import times_in

_SHADES = LinearSegmentedColormap.from_list("shares", ["#FFFFFF", SKY, BLUE])
_MOST_CELLS_WITH_WORDS = 5
_MOST_ROWS_WITH_NAMES = 20
_LARGEST_SPOKEN = 20  # “3 times in 20” is clearer than “15 %”, “128 times in 250” is not


def design_matrix(design: Design, *, ax: Axes | None = None) -> Axes:
    """The matrix Pr(report | truth), one row a truth and one column a report; what can never happen is
    framed.

    >>> from toolkit import warner
    >>> design_matrix(warner(p="2/3"))
    <Picture: warner design: truth no is reported no 66.7 %, yes 33.3 %; truth yes is reported no 33.3 %, yes
    66.7 %>
    """
    truths, reports = design.matrix.shape
    ax = axes(ax, width=1.9 + 1.45 * min(reports, 6), height=1.15 + 0.85 * min(truths, 6))
    ax.imshow(design.matrix, cmap=_SHADES, vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(reports), [f"“{label}”" for label in design.report_options])
    ax.set_yticks(range(truths), [f"“{label}”" for label in design.options])
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("… the report is")
    ax.set_ylabel("if the truth is …")
    for truth, report in np.ndindex(truths, reports):
        _cell(ax, design, truth, report)
    rows = [
        f"truth {label} is reported "
        + ", ".join(f"{r} {percent(p, 1)}" for r, p in zip(design.report_options, row, strict=True))
        for label, row in zip(design.options, design.matrix, strict=True)
    ]
    ax = finish(ax, f"{design.name} design, {design.loss}", f"{design.name} design: {'; '.join(rows)}")
    ax.spines[:].set_visible(False)
    return ax


def _cell(ax: Axes, design: Design, truth: int, report: int) -> None:
    share = Fraction(int(design.weights[truth, report]), design.denominator)
    if max(design.matrix.shape) <= _MOST_CELLS_WITH_WORDS:
        text = percent(float(share), 1) + (f"\n{times_in(share)}" if share.denominator <= _LARGEST_SPOKEN else "")
        ax.text(report, truth, text, ha="center", va="center", color="white" if share > Fraction(17, 20) else INK)
    if share == 0:
        frame = Rectangle(
            (report - 0.46, truth - 0.44), 0.92, 0.88, fill=False, edgecolor=VERMILLION, linewidth=2.5, linestyle="--"
        )
        ax.add_patch(frame)


def posterior(design: Design, *, prior: float | None = None, ax: Axes | None = None) -> Axes:
    """What an observer believes of one person after each report, against what they believed before.

    The diagonal is an observer who learns nothing. `prior` marks one belief, with its two ends.

    >>> from toolkit import warner
    >>> posterior(warner(p="2/3"), prior=0.25)
    <Picture: belief in yes, before and after a report: from 25 % it becomes 14 % after “no”, 40 % after
    “yes”>
    """
    if len(design.options) != 2:
        refuse("`design` must have two options to draw beliefs", len(design.options), "one axis holds one belief")
    ax = axes(ax, width=7.2, height=4)
    grid = np.linspace(0, 1, 201)
    beliefs = np.array([design.posterior(x)[1] for x in grid])
    ax.plot(grid, grid, color=GREY, linestyle=":", linewidth=1.5, label="had they learned nothing")
    for report, (label, (colour, dash)) in enumerate(
        zip(design.report_options, _line_styles(len(design.report_options)), strict=True)
    ):
        ax.plot(
            grid, beliefs[:, report], color=colour, linestyle=dash, linewidth=2.5, label=f"after the report “{label}”"
        )
    ends = _mark_prior(ax, design, prior) if prior is not None else ""
    _percent(ax, "x")
    _percent(ax, "y")
    ax.set(
        xlim=(-0.01, 1.01),
        ylim=(-0.03, 1.02),
        xlabel=f"belief in “{design.options[1]}” before",
        ylabel=f"belief in “{design.options[1]}” after",
    )
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), reverse=True)
    return finish(
        ax, "What one report teaches an observer", f"belief in {design.options[1]}, before and after a report{ends}"
    )


def _line_styles(count: int) -> list[tuple[str, str]]:
    """Colours from orange (speaks for no) to blue (speaks for yes), each with its own dashes for print in
    grey.
    """
    if count == 2:
        return [(ORANGE, "--"), (BLUE, "-")]
    dashes = ["--", "-.", "-"]
    blend = LinearSegmentedColormap.from_list("reports", [ORANGE, GREY, BLUE])
    return [(to_hex(blend(i / (count - 1))), dashes[i % 3]) for i in range(count)]


def _mark_prior(ax: Axes, design: Design, prior: float) -> str:
    after = design.posterior(prior)[1]
    ax.plot([prior, prior], [after.min(), after.max()], color=INK, linewidth=1, zorder=1)
    ax.plot([prior], [prior], "o", color=GREY, markersize=5)
    for belief in after:
        ax.plot([prior], [belief], "o", color=INK, markersize=6)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        ax.annotate(percent(belief), (prior, belief), xytext=(9, -3), textcoords="offset points", bbox=box)
    ends = ", ".join(f"{percent(b)} after “{r}”" for r, b in zip(design.report_options, after, strict=True))
    return f": from {percent(prior)} it becomes {ends}"


def repeated_estimates(values: npt.ArrayLike, truth: float, *, se: float, ax: Axes | None = None) -> Axes:
    """Histogram of the estimates of many surveys, with the true value and the normal curve that theory
    promises.

    >>> repeated_estimates([0.2, 0.25, 0.25, 0.31], truth=0.25, se=0.04)
    <Picture: 4 repeated surveys: mean 0.253, standard deviation 0.039; truth 0.25, standard error in theory
    0.04>
    """
    estimates = np.asarray(values, dtype=np.float64)
    ax = axes(ax)
    bins = _bins(estimates, se)
    ax.hist(estimates, bins=list(bins), color=SKY, edgecolor="white", linewidth=0.6)
    grid = np.linspace(min(bins[0], truth - 4 * se), max(bins[-1], truth + 4 * se), 201)
    curve = np.exp(-(((grid - truth) / se) ** 2) / 2) / (se * np.sqrt(2 * np.pi)) * len(estimates) * (bins[1] - bins[0])
    ax.plot(
        grid,
        curve,
        color=VERMILLION,
        linewidth=2.5,
        label=f"what theory promises: standard error {100 * se:.1f} points",
    )
    ax.axvline(truth, ymax=0.8, color=INK, linestyle="--", linewidth=1.5, label=f"the true share, {percent(truth, 1)}")
    _percent(ax, "x")
    ax.set(xlabel="estimated share", ylabel="surveys", ylim=(0, ax.get_ylim()[1] * 1.28))
    ax.legend(frameon=False, loc="upper left", ncols=1, fontsize=9)
    alt = (
        f"{len(estimates):,} repeated surveys: mean {estimates.mean():.3g}, standard deviation "
        f"{estimates.std():.2g}; "
        f"truth {truth:.3g}, standard error in theory {se:.2g}"
    )
    return finish(ax, f"{len(estimates):,} surveys, one estimate each", alt)


def _bins(estimates: npt.NDArray[np.float64], se: float) -> npt.NDArray[np.float64]:
    """Edges about a third of a standard error apart, each bin with equally many of the values that counts can
    lead to.
    """
    distinct = np.unique(estimates.round(12))
    step = float(np.diff(distinct).min()) if len(distinct) > 1 else se
    width = step * max(1, round(se / 3 / step))
    return np.arange(distinct[0] - step / 2, distinct[-1] + width, width)


def estimate_intervals(
    estimates: Mapping[str, Estimate] | Sequence[Estimate],
    *,
    truth: float | None = None,
    level: float = 0.95,
    method: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Estimates as dots with their intervals, one row each; where the truth is known, the intervals that miss
    it stand out.

    >>> from toolkit import warner
    >>> design = warner(p="3/4")
    >>> estimate_intervals({"north": design.estimate_counts([60, 40]), "south": design.estimate_counts([55, 45])})
    <Picture: 95 % intervals: north 30 % (12 % to 50 %), south 40 % (21 % to 60 %)>
    """
    named = _named(estimates)
    ax = axes(ax, height=1.2 + 0.36 * len(named) if len(named) <= _MOST_ROWS_WITH_NAMES else 5.2)
    missed, words = 0, []
    for row, (name, estimate) in enumerate(named.items()):
        value, interval = float(estimate), estimate.interval(level, method)
        low, high = (float(limit) for limit in interval)
        misses = truth is not None and not low <= truth <= high
        missed += misses
        interval_row(ax, row, value, low, high, misses=misses, words=doubt(estimate, interval))
        words.append(f"{name} {interval_words(value, low, high, doubt(estimate, interval))}")
    _name_rows(ax, list(named))
    if truth is not None:
        ax.axvline(truth, color=INK, linestyle="--", linewidth=1.5, zorder=0)
        words = [f"{len(named) - missed} of {len(named)} hold the true share {percent(truth)}"]
    _percent(ax, "x")
    ax.set_xlabel("share" if truth is None else f"share (dashed: the truth, {percent(truth)})")
    alt = f"{100 * level:g} % intervals: {', '.join(words)}"
    title = (
        f"Estimates with {100 * level:g} % intervals"
        if truth is None
        else f"{missed} of {len(named)} intervals miss the truth"
    )
    return finish(ax, title, alt)


def _named(estimates: Any) -> Mapping[str, Estimate]:
    """Estimates by name; of a survey's results, what to write instead."""
    if isinstance(estimates, Results):
        refuse(
            "`estimates` must be estimates by name",
            "the results of a survey",
            "results.plot() draws them all",
            TypeError,
        )
    if isinstance(estimates, Estimate):
        refuse("`estimates` must be several estimates", "one", 'write {"all": estimate}', TypeError)
    named = estimates if isinstance(estimates, Mapping) else {str(i + 1): one for i, one in enumerate(estimates)}
    if strange := [type(one).__name__ for one in named.values() if not isinstance(one, Estimate)]:
        refuse("`estimates` must be estimates", strange[0], "a number has no interval to draw", TypeError)
    return named


def _name_rows(ax: Axes, names: list[str]) -> None:
    few = len(names) <= _MOST_ROWS_WITH_NAMES
    ax.set_yticks(range(len(names)) if few else [], names if few else [])
    ax.set_ylabel("" if few else f"{len(names)} surveys")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.margins(x=0.04)


def _percent(ax: Axes, axis: str) -> None:
    """Ticks in per cent, with the decimal that a tick at 2.5 % needs: rounded, it would stand in the wrong
    place.
    """
    (ax.xaxis if axis == "x" else ax.yaxis).set_major_formatter(FuncFormatter(lambda share, _: percent(share, 1)))
