"""Figures of fitted models: coefficients, predictions along a variable, goodness of fit, and noncompliance."""

from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from toolkit.core.checks import check_level, reject
from toolkit.core.inference.special import betaincinv, ndtri
from toolkit.core.randomness import Rng
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
from toolkit.show.tables import interval_row

__all__ = ["along", "coefficients", "goodness_of_fit", "residuals"]

_N_POINTS = 41
_MAX_LEVELS = 12
_MAX_RESIDUALS = 400
_STYLES = ((BLUE, "-"), (ORANGE, "--"), (VERMILLION, "-."), (SKY, ":"), (INK, (0, (6, 2))), (GREY, "-"))


@document_figure
def coefficients(fit: Any, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
    """Draw the coefficients of a model, without intercepts, with their intervals and a line at zero.

    Parameters
    ----------
    fit : Fit
        A fit; `fit.plot()` calls this function.
    level : float, default 0.95
        Confidence level of the intervals.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> from toolkit.analysis import logistic
    >>> frame = {"yes": [0, 1] * 50, "x": [-1, 1, 1, -1] * 25}
    >>> show.fits.coefficients(logistic("yes ~ x", frame, warner("3/4")))
    <Picture: 95 % intervals of coefficients: x 0.00 (-0.78 to 0.78)>
    """
    low, high = (np.atleast_1d(limit) for limit in fit.interval(check_level(level)))
    indices = fit._slope_indices or list(range(len(fit.labels)))
    ax = axes(ax, height=1.3 + 0.36 * len(indices))
    descriptions = []
    for row, index in enumerate(indices):
        value = float(fit.value[index])
        interval_row(ax, row, value, low[index], high[index], misses_truth=False)
        descriptions.append(f"{fit.labels[index]} {value:.2f} ({low[index]:.2f} to {high[index]:.2f})")
    name_rows(ax, [str(fit.labels[index]) for index in indices])
    ax.axvline(0, color=INK, linestyle="--", linewidth=1.2, zorder=0)
    ax.margins(x=0.05)
    ax.set_xlabel(f"coefficient (exponential: {fit.ratio_name})" if fit.ratio_name else "coefficient")
    title = f"Coefficients with {100 * level:g} % intervals"
    return finish(ax, title, f"{100 * level:g} % intervals of coefficients: {', '.join(descriptions)}")


@document_figure
def along(fit: Any, variable: str, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
    """Draw the mean prediction of a model along a variable: as a line with a band, or as dots if it is categorical.

    Parameters
    ----------
    fit : Fit
        A fit that has `margins`; `fit.plot("age")` calls this function.
    variable : str
        A variable of the formula.
    level : float, default 0.95
        Confidence level of the band.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> from toolkit.analysis import logistic
    >>> frame = {"yes": [0, 1] * 50, "x": [-1, 1, 1, -1] * 25}
    >>> show.fits.along(logistic("yes ~ x", frame, warner("3/4")), "x")
    <Picture: mean prediction along x with 95 % intervals: 50 % at -1, 50 % at 1>
    """
    if not hasattr(fit, "margins"):
        reject("the fit must have margins to draw", type(fit).__name__, "draw its coefficients: plot() without a name")
    grid, is_numeric = _values_to_draw(fit.covariates, variable)
    estimate = fit.margins(variable, levels=grid)
    limits = estimate.interval(check_level(level))
    value, low, high = (np.reshape(part, (len(grid), -1)) for part in (estimate.value, limits.low, limits.high))
    ax = axes(ax)
    labels = [str(label).rpartition(", ")[2] for label in estimate.labels[: value.shape[1]]]
    for curve, (colour, dash) in zip(range(value.shape[1]), _STYLES * 9, strict=False):
        x = np.asarray(grid, dtype=float) if is_numeric else np.arange(len(grid)) + 0.06 * curve
        if is_numeric:
            ax.fill_between(x, low[:, curve], high[:, curve], color=colour, alpha=0.18, linewidth=0)
            ax.plot(x, value[:, curve], color=colour, linestyle=dash, linewidth=2.2, label=labels[curve])
        else:
            error = np.maximum([value[:, curve] - low[:, curve], high[:, curve] - value[:, curve]], 0)
            ax.errorbar(x, value[:, curve], error, fmt="o", color=colour, label=labels[curve])
    if not is_numeric:
        ax.set_xticks(range(len(grid)), list(map(str, grid)))
        ax.margins(x=0.15)
    if value.shape[1] > 1:
        ax.legend(frameon=False)
    ax.set(xlabel=variable, ylabel="mean prediction" if fit.predicts_means else "prevalence")
    if not fit.predicts_means:
        percent_ticks(ax, "y")
    as_text = "{:.3g}".format if fit.predicts_means else percent
    ends = [f"{as_text(value[end, 0])} at {_value_text(grid[end])}" for end in (0, -1)]
    alt = f"mean prediction along {variable} with {100 * level:g} % intervals: {', '.join(ends)}"
    return finish(ax, f"Averaged over the people of the fit, with {100 * level:g} % intervals", alt)


@document_figure
def goodness_of_fit(test: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the observed against the expected share of each report, one point per group, with 95 % ranges.

    If the model is right, the points lie near the line and mostly within the ranges. If there are two possible
    reports, only the second one is drawn.

    Parameters
    ----------
    test : GoodnessOfFit
        The result of `fit.goodness_of_fit()`; its `plot` calls this function.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> from toolkit.analysis import logistic
    >>> frame = {"yes": [0, 0, 0, 1, 1] * 8 + [0, 1] * 20 + [0, 1, 1] * 20, "x": [1] * 40 + [2] * 50 + [3] * 50}
    >>> fit = logistic("yes ~ x", frame, warner("3/4"))
    >>> show.fits.goodness_of_fit(fit.goodness_of_fit())
    <Picture: goodness of fit p = 0.70: observed and expected share of yes: 40 % and 39 %, 52 % and 54 %, 68 % and 67 %>
    """
    ax = axes(ax, width=4.6, height=4.2)
    expected, observed = (counts / test.people[:, None] for counts in (test.expected, test.observed))
    first = 1 if len(test.reports) == 2 else 0
    for report, (colour, _) in zip(range(first, len(test.reports)), _STYLES * 9, strict=False):
        share = expected[:, report]
        spread = 1.96 * np.sqrt(share * (1 - share) / test.people)
        low, high = np.maximum(share - spread, 0), np.minimum(share + spread, 1)
        ax.vlines(share, low, high, color=colour, alpha=0.35, linewidth=3)
        ax.plot(share, observed[:, report], "o", color=colour, label=str(test.reports[report]))
    ends = [expected[:, first:].min(), expected[:, first:].max()]
    ax.plot(ends, ends, color=INK, linestyle="--", linewidth=1.2, zorder=0)
    if first == 0:
        ax.legend(frameon=False)
    ax.set(xlabel="expected share", ylabel="observed share")
    percent_ticks(ax, "xy")
    pairs = zip(observed[:, -1], expected[:, -1], strict=True)
    shares = ", ".join(f"{percent(observed)} and {percent(mean)}" for observed, mean in pairs)
    alt = f"goodness of fit p = {test.p:.2f}: observed and expected share of {test.reports[-1]}: {shares}"
    return finish(ax, f"Observed and expected reports: p = {test.p:.2g}", alt)


@document_figure
def residuals(fit: Any, *, rng: Rng = None, ax: Axes | None = None) -> Axes:
    """Draw the sorted quantile residuals of a fit against normal quantiles, with pointwise 95 % ranges.

    Parameters
    ----------
    fit : Fit
        A fit that has residuals.
    rng : numpy.random.Generator, optional
        The generator for the random part of the residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from toolkit import show, warner
    >>> from toolkit.analysis import logistic
    >>> fit = logistic("yes ~ x", {"yes": [0, 1] * 50, "x": [-1, 1, 1, -1] * 25}, warner("3/4"))
    >>> show.fits.residuals(fit, rng=np.random.default_rng(1))
    <Picture: quantile residuals of 100 reports: mean 0.05, standard deviation 0.96, 95 % between -1.96 and 1.96>
    """
    ax = axes(ax, width=4.6, height=4.2)
    values = np.sort(fit.residuals("quantile", rng=rng))
    count = len(values)
    rank = np.unique(np.linspace(1, count, min(count, _MAX_RESIDUALS)).round()).astype(int)
    normal = ndtri((rank - 0.5) / count)
    low, high = (ndtri(betaincinv(rank, count + 1 - rank, tail)) for tail in (0.025, 0.975))
    ax.fill_between(normal, low, high, color=GREY, alpha=0.25, linewidth=0)
    ax.plot(normal, normal, color=INK, linestyle="--", linewidth=1.2)
    ax.plot(normal, values[rank - 1], ".", color=BLUE)
    ax.set(xlabel="normal quantile", ylabel="quantile residual")
    moments = f"mean {values.mean():.2f}, standard deviation {values.std():.2f}"
    inside = f"{percent(np.mean(np.abs(values) < 1.96))} between -1.96 and 1.96"
    return finish(
        ax, "Residuals, with 95 % ranges of the model", f"quantile residuals of {count:,} reports: {moments}, {inside}"
    )


def _value_text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _values_to_draw(covariates: Any, variable: str) -> tuple[list[Any], bool]:
    """Return the values of a variable to draw, and whether the variable is numeric."""
    values = covariates.values(variable)
    declared = covariates.declared_categories(variable)
    if declared is not None or values.dtype.kind in "OUTb":
        return list(declared or sorted(set(values.tolist()))), False
    distinct = np.unique(values)
    if len(distinct) == 2 or any(label.startswith(f"C({variable}") for label in covariates.labels):
        return distinct.tolist(), False
    if len(distinct) <= _MAX_LEVELS:
        return distinct.tolist(), True
    return np.linspace(float(distinct[0]), float(distinct[-1]), _N_POINTS).tolist(), True


@document_figure
def noncompliance(sensitivity: Any, *, max_share: float = 0.2, ax: Axes | None = None) -> Axes:
    """Draw how an estimate changes if shares of people do not follow the instructions.

    Two groups are drawn as contours of equal estimates. A red contour marks where the estimate equals the null value,
    and the area where its interval contains the null value is shaded. A single group is drawn as a line with a band.

    Parameters
    ----------
    sensitivity : ComplianceSensitivity
        The result of `toolkit.analysis.compliance_sensitivity`; its `plot` calls this function.
    max_share : float, default 0.2
        The largest share that is drawn.

    Examples
    --------
    >>> from toolkit import forced, show
    >>> from toolkit.analysis import compliance_sensitivity
    >>> women, men = (forced("1/6", "1/6").estimate_counts(counts) for counts in ([761, 469], [777, 393]))
    >>> show.fits.noncompliance(compliance_sensitivity({"women": women, "men": men}))
    <Picture: 0.068 if all follow; 0 if of women no share, of men 11.9 %, of everybody no share are self protective>
    """
    ax = axes(ax, width=5.6, height=4.2 if len(sensitivity.groups) == 2 else 3.6)
    count = 15 if len(sensitivity.groups) == 2 else 21  # two groups need 15 ** 2 = 225 fits for smooth contours
    shares = np.linspace(0, max_share, count)
    table = sensitivity.to_frame(shares.tolist())
    number_text = partial(percent, decimals=1) if sensitivity.is_share else "{:g}".format
    behavior, null_text = sensitivity.behavior, number_text(sensitivity.null)
    behavior_text = behavior.replace("_", " ") if behavior != "carriers" else "carriers who protect themselves"
    if len(sensitivity.groups) == 2:
        value, low, high = (table[name].to_numpy().reshape(count, count) for name in ("estimate", "low", "high"))
        # The signed distance from the null to the nearer limit is negative where the interval contains the null.
        distance = np.maximum(low - sensitivity.null, sensitivity.null - high)
        ax.contourf(shares, shares, distance.T, levels=[-np.inf, 0], colors=[ORANGE], alpha=0.25)
        lines = ax.contour(shares, shares, value.T, levels=9, colors=[BLUE], linewidths=1.2)
        levels = [level for level in lines.levels if not np.isclose(level, sensitivity.null)]
        ax.clabel(lines, levels, fontsize=8, fmt=number_text)
        if np.nanmin(value) < sensitivity.null < np.nanmax(value):
            ax.contour(shares, shares, value.T, levels=[sensitivity.null], colors=[VERMILLION], linewidths=2.6)
        ax.plot([0], [0], "o", color=INK, clip_on=False, zorder=5)
        ax.set(xlabel=f"{behavior_text}, {sensitivity.groups[0]}", ylabel=f"{behavior_text}, {sensitivity.groups[1]}")
        title = f"Red: explained away ({null_text}). Shaded: in doubt"
    else:
        ax.fill_between(shares, table["low"], table["high"], color=BLUE, alpha=0.18, linewidth=0)
        ax.plot(shares, table["estimate"], color=BLUE, linewidth=2.2)
        ax.axhline(sensitivity.null, color=VERMILLION, linestyle="--", linewidth=1.5)
        ax.set(xlabel=behavior_text, ylabel="estimate")
        title = f"What becomes of the estimate; dashed: {null_text}"
    percent_ticks(ax, "xy" if len(sensitivity.groups) == 2 or sensitivity.is_share else "x")
    tips = {name: point.explains[behavior] for name, point in sensitivity.tipping.items()}
    descriptions = [f"of {name} {'no share' if np.isnan(tip) else percent(tip, 1)}" for name, tip in tips.items()]
    shares_text = f"{sensitivity.null:g} if {', '.join(descriptions)} are {behavior_text}"
    alt = f"{table['estimate'].iloc[0]:.3f} if all follow; {shares_text}"
    return finish(ax, title, alt)
