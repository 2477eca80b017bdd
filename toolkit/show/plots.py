"""Figures of designs and estimates."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.patches import Rectangle

from toolkit.core.arrays import ArrayLike
from toolkit.core.checks import reject
from toolkit.core.estimate import Estimate
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
    finish,
    name_rows,
    percent,
    percent_ticks,
)
from toolkit.show.tables import interval_row, interval_text, misfit_note
from toolkit.survey.results import Results
from toolkit.texts.voice import Voice

# The shades are pale, so that text on them stays legible in dark mode.
_SHADES = LinearSegmentedColormap.from_list("shares", ["#FFFFFF", "#80C7EE"])
_MAX_LABELED_OPTIONS = 5
_MAX_NAMED_ROWS = 20
_MAX_SPOKEN_DENOMINATOR = 20  # “3 times in 20” is clearer than “15 %”, but “128 times in 250” is not


@document_figure
def design_matrix(design: Design, *, ax: Axes | None = None) -> Axes:
    """Draw the matrix Pr(report | truth), with a row per truth, a column per report and a frame around zeros.

    Parameters
    ----------
    design : Design
        The design to draw.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> show.design_matrix(warner(p="2/3"))
    <Picture: warner design: truth no is reported no 66.7 %, yes 33.3 %; truth yes is reported no 33.3 %, yes 66.7 %>
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
        _annotate_cell(ax, design, truth, report)
    rows = [
        f"truth {label} is reported "
        + ", ".join(f"{r} {percent(p, 1)}" for r, p in zip(design.report_options, row, strict=True))
        for label, row in zip(design.options, design.matrix, strict=True)
    ]
    ax = finish(ax, f"{design.name} design, {design.loss}", f"{design.name} design: {'; '.join(rows)}")
    ax.spines[:].set_visible(False)
    return ax


def _annotate_cell(ax: Axes, design: Design, truth: int, report: int) -> None:
    """Label a cell of the matrix, and frame it if its probability is zero."""
    share = Fraction(int(design.weights[truth, report]), design.denominator)
    if max(design.matrix.shape) <= _MAX_LABELED_OPTIONS:
        text = percent(float(share), 1)
        if share.denominator <= _MAX_SPOKEN_DENOMINATOR:
            text += f"\n{Voice().frequency(share)}"
        ax.text(report, truth, text, ha="center", va="center", color=INK)
    if share == 0:
        line: dict[str, Any] = {"edgecolor": VERMILLION, "linewidth": 2.5, "linestyle": "--"}
        ax.add_patch(Rectangle((report - 0.46, truth - 0.44), 0.92, 0.88, fill=False, **line))


@document_figure
def posterior(design: Design, *, prior: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw an observer's belief about one person after each possible report, against the belief before the report.

    On the diagonal, the report does not change the belief.

    Parameters
    ----------
    design : Design
        A design with two options.
    prior : float, optional
        A belief before the report, which is marked together with the beliefs after each report.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> show.posterior(warner(p="2/3"), prior=0.25)
    <Picture: belief in yes, before and after a report: from 25 % it becomes 14 % after “no”, 40 % after “yes”>
    """
    if len(design.options) != 2:
        reject("`design` must have two options to draw beliefs", len(design.options), "one axis shows one belief")
    ax = axes(ax, width=7.2, height=4)
    grid = np.linspace(0, 1, 201)
    beliefs = np.array([design.posterior(x)[1] for x in grid])
    ax.plot(grid, grid, color=GREY, linestyle=":", linewidth=1.5, label="had they learned nothing")
    styles = _line_styles(len(design.report_options))
    for label, after, (colour, dash) in zip(design.report_options, beliefs.T, styles, strict=True):
        ax.plot(grid, after, color=colour, linestyle=dash, linewidth=2.5, label=f"after the report “{label}”")
    ends = _mark_prior(ax, design, prior) if prior is not None else ""
    percent_ticks(ax)
    belief = f"belief in “{design.options[1]}”"
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.03, 1.02), xlabel=f"{belief} before", ylabel=f"{belief} after")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5), reverse=True)
    alt = f"belief in {design.options[1]}, before and after a report{ends}"
    return finish(ax, "What one report teaches an observer", alt)


def _line_styles(n_reports: int) -> list[tuple[str, str]]:
    """Return colors from orange (evidence for no) to blue (for yes), with dashes that differ in grayscale prints."""
    if n_reports == 2:
        return [(ORANGE, "--"), (BLUE, "-")]
    dashes = ["--", "-.", "-"]
    blend = LinearSegmentedColormap.from_list("reports", [ORANGE, GREY, BLUE])
    return [(to_hex(blend(i / (n_reports - 1))), dashes[i % 3]) for i in range(n_reports)]


def _mark_prior(ax: Axes, design: Design, prior: float) -> str:
    """Mark a prior belief and the beliefs after each report, and return them as text."""
    after = design.posterior(prior)[1]
    ax.plot([prior, prior], [after.min(), after.max()], color=INK, linewidth=1, zorder=1)
    ax.plot([prior], [prior], "o", color=GREY, markersize=5)
    for belief in after:
        ax.plot([prior], [belief], "o", color=INK, markersize=6)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        ax.annotate(percent(belief), (prior, belief), xytext=(9, -3), textcoords="offset points", bbox=box)
    ends = ", ".join(f"{percent(b)} after “{r}”" for r, b in zip(design.report_options, after, strict=True))
    return f": from {percent(prior)} it becomes {ends}"


@document_figure
def repeated_estimates(values: ArrayLike, truth: float, *, se: float, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the estimates of many surveys, with the true value and the theoretical normal curve.

    Parameters
    ----------
    values : array_like
        The estimates, one per survey.
    truth : float
        The true share.
    se : float
        The theoretical standard error.

    Examples
    --------
    >>> from toolkit import show
    >>> show.repeated_estimates([0.2, 0.25, 0.25, 0.31], truth=0.25, se=0.04)
    <Picture: 4 repeated surveys: mean 0.253, standard deviation 0.039; truth 0.25, standard error in theory 0.04>
    """
    estimates = np.asarray(values, dtype=np.float64)
    ax = axes(ax)
    bins = _bins(estimates, se)
    ax.hist(estimates, bins=list(bins), color=SKY, edgecolor="white", linewidth=0.6)
    grid = np.linspace(min(bins[0], truth - 4 * se), max(bins[-1], truth + 4 * se), 201)
    curve = np.exp(-(((grid - truth) / se) ** 2) / 2) / (se * np.sqrt(2 * np.pi)) * len(estimates) * (bins[1] - bins[0])
    theory = f"what theory promises: standard error {100 * se:.1f} points"
    ax.plot(grid, curve, color=VERMILLION, linewidth=2.5, label=theory)
    ax.axvline(truth, ymax=0.8, color=INK, linestyle="--", linewidth=1.5, label=f"the true share, {percent(truth, 1)}")
    percent_ticks(ax, "x")
    ax.set(xlabel="estimated share", ylabel="surveys", ylim=(0, ax.get_ylim()[1] * 1.28))
    ax.legend(frameon=False, loc="upper left", ncols=1, fontsize=9)
    alt = (
        f"{len(estimates):,} repeated surveys: mean {estimates.mean():.3g}, standard deviation "
        f"{estimates.std():.2g}; truth {truth:.3g}, standard error in theory {se:.2g}"
    )
    return finish(ax, f"{len(estimates):,} surveys, one estimate each", alt)


def _bins(estimates: npt.NDArray[np.float64], se: float) -> npt.NDArray[np.float64]:
    """Return bin edges about a third of a standard error apart; each bin contains equally many possible values."""
    distinct = np.unique(estimates.round(12))
    step = float(np.diff(distinct).min()) if len(distinct) > 1 else se
    width = step * max(1, round(se / 3 / step))
    return np.arange(distinct[0] - step / 2, distinct[-1] + width, width)


@document_figure
def estimate_intervals(
    estimates: Mapping[str, Estimate] | Sequence[Estimate],
    *,
    truth: float | None = None,
    level: float = 0.95,
    method: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw estimates as dots with their intervals, one row per estimate.

    Parameters
    ----------
    estimates : mapping of str to Estimate, or sequence of Estimate
        The estimates, by name or in order.
    truth : float, optional
        The true share, if it is known; intervals that miss it stand out.
    level : float, default 0.95
        Confidence level of the intervals.
    method : str, optional
        The method of `Estimate.interval`.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> design = warner(p="3/4")
    >>> show.estimate_intervals({"north": design.estimate_counts([60, 40]), "south": design.estimate_counts([55, 45])})
    <Picture: 95 % intervals: north 30 % (12 % to 50 %), south 40 % (21 % to 60 %)>
    """
    by_name = _estimates_by_name(estimates)
    ax = axes(ax, height=1.2 + 0.36 * len(by_name) if len(by_name) <= _MAX_NAMED_ROWS else 5.2)
    n_missed, descriptions = 0, []
    for row, (name, estimate) in enumerate(by_name.items()):
        value, interval = float(estimate), estimate.interval(level, method)
        low, high = (float(limit) for limit in interval)
        misses = truth is not None and not low <= truth <= high
        n_missed += misses
        interval_row(ax, row, value, low, high, misses_truth=misses, note=misfit_note(estimate, interval))
        descriptions.append(f"{name} {interval_text(value, low, high, misfit_note(estimate, interval))}")
    name_rows(ax, list(by_name))
    if len(by_name) > _MAX_NAMED_ROWS:
        ax.set_yticks([])
        ax.set_ylabel(f"{len(by_name)} surveys")
    ax.margins(x=0.04)
    if truth is not None:
        ax.axvline(truth, color=INK, linestyle="--", linewidth=1.5, zorder=0)
        descriptions = [f"{len(by_name) - n_missed} of {len(by_name)} hold the true share {percent(truth)}"]
    percent_ticks(ax, "x")
    ax.set_xlabel("share" if truth is None else f"share (dashed: the truth, {percent(truth)})")
    alt = f"{100 * level:g} % intervals: {', '.join(descriptions)}"
    verdict = f"{n_missed} of {len(by_name)} intervals miss the truth"
    return finish(ax, f"Estimates with {100 * level:g} % intervals" if truth is None else verdict, alt)


def _estimates_by_name(estimates: Any) -> Mapping[str, Estimate]:
    """Return the estimates by name; reject results, single estimates and other types."""
    if isinstance(estimates, Results):
        remedy = "use results.plot(), which draws them all"
        reject("`estimates` must be a mapping from names to estimates", "the results of a survey", remedy, TypeError)
    if isinstance(estimates, Estimate):
        reject("`estimates` must be several estimates", "one", 'write {"all": estimate}', TypeError)
    by_name: Mapping[str, Estimate] = (
        estimates
        if isinstance(estimates, Mapping)
        else {str(position): estimate for position, estimate in enumerate(estimates, start=1)}
    )
    if other_types := [type(value).__name__ for value in by_name.values() if not isinstance(value, Estimate)]:
        reject("`estimates` must contain estimates", other_types[0], "other values have no interval to draw", TypeError)
    return by_name
