"""Figures of robust statistics and private learners: influence functions, sensitivities and accuracies."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from toolkit.central.robust.estimators import MEstimator
from toolkit.central.robust.influence import influence
from toolkit.central.robust.ranks import RankStatistic
from toolkit.central.robust.smooth import local_sensitivity, smooth_sensitivity
from toolkit.core.checks import Number, check_bounds, check_choice, check_integer, float_array, reject
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
    percent,
)

_CURVE_STYLES = ((BLUE, "-", "o"), (VERMILLION, "--", "s"), (ORANGE, "-.", "D"), (SKY, ":", "^"))
_X_LABELS = {"epsilon": "ε", "people": "people", "C": "C"}


@document_figure
def accuracy_curves(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    x_quantity: str = "epsilon",
    plain: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the accuracy of several learners against epsilon, the number of people, or C.

    Parameters
    ----------
    curves : mapping of str to sequence of (float, float)
        For each of up to four learners, pairs of (value on the x axis, share of correct predictions).
    x_quantity : {"epsilon", "people", "C"}
        The quantity on the x axis.
    plain : float, optional
        The accuracy without privacy.

    Examples
    --------
    >>> from toolkit import show
    >>> show.robust.accuracy_curves({"objective": [(0.5, 0.77), (2, 0.84)]}, plain=0.85)
    <Picture: accuracy against ε: objective 77 % at 0.5 and 84 % at 2; without privacy 85 %>
    """
    check_choice(x_quantity, "x_quantity", tuple(_X_LABELS))
    if not 1 <= len(curves) <= len(_CURVE_STYLES):
        reject(f"`curves` must have 1 to {len(_CURVE_STYLES)} entries", len(curves), "they are drawn in one figure")
    ax, descriptions = axes(ax), []
    for name, values, shares in draw_curves(ax, curves, _CURVE_STYLES, marker_size=6):
        ends = " and ".join(f"{percent(shares[i])} at {values[i]:g}" for i in (0, -1))
        descriptions.append(f"{name} {ends}")
    baseline = "" if plain is None else f"; without privacy {percent(plain)}"
    if plain is not None:
        ax.axhline(plain, color=GREY, linewidth=1.2, label="without privacy")
    ax.set(xscale="log", xlabel=_X_LABELS[x_quantity], ylabel="right answers")
    ticks = sorted({value for points in curves.values() for value, _ in points})
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.yaxis.set_major_formatter(lambda share, _: percent(share))
    ax.legend(frameon=False, loc="best")
    label = _X_LABELS[x_quantity]
    return finish(
        ax, f"Right answers against {label}", f"accuracy against {label}: {', '.join(descriptions)}{baseline}"
    )


_INFLUENCE_STYLES = ((GREY, ":"), (BLUE, "-"), (VERMILLION, "--"), (ORANGE, "-."), (SKY, "-"))


@document_figure
def influence_functions(
    estimators: Mapping[str, MEstimator], population: str = "normal", *, x_max: float = 6.0, ax: Axes | None = None
) -> Axes:
    """Draw the influence function of each estimator: bounded for robust estimators, unbounded for the mean.

    Parameters
    ----------
    estimators : mapping of str to MEstimator
        Up to five estimators of `toolkit.central.robust`.
    population : str, default "normal"
        The distribution of the values, "normal" or "t3".
    x_max : float, default 6.0
        Values from -x_max to x_max are drawn.

    Examples
    --------
    >>> from toolkit import show
    >>> from toolkit.central.robust import Huber, Mean
    >>> show.robust.influence_functions({"mean": Mean(), "Huber": Huber(1.345)})
    <Picture: influence at the normal law: mean without bound, Huber at most 1.64>
    """
    if not 1 <= len(estimators) <= len(_INFLUENCE_STYLES):
        reject(
            f"`estimators` must have 1 to {len(_INFLUENCE_STYLES)} entries",
            len(estimators),
            "they are drawn in one figure",
        )
    ax, x, descriptions = axes(ax), np.linspace(-x_max, x_max, 601), []
    for (name, estimator), (colour, dash) in zip(estimators.items(), _INFLUENCE_STYLES, strict=False):
        curve = influence(estimator, population)
        ax.plot(x, curve(x), color=colour, linestyle=dash, linewidth=2.2, label=name)
        largest_influence = curve.gross_error_sensitivity
        descriptions.append(
            f"{name} at most {largest_influence:.2f}" if np.isfinite(largest_influence) else f"{name} without bound"
        )
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set(xlabel="a value at x", ylabel="influence", xlim=(-x_max, x_max), ylim=(-1.1 * x_max / 2, 1.1 * x_max / 2))
    ax.legend(frameon=False, loc="upper left")
    law = {"normal": "the normal law", "t3": "Student's law with 3 degrees of freedom"}.get(population, population)
    return finish(ax, f"Influence at {law}", f"influence at {law}: {', '.join(descriptions)}")


@document_figure
def sensitivities(
    statistics: Mapping[str, str | tuple[str, dict[str, int]]],
    values: Any,
    *,
    bounds: tuple[Number, Number],
    beta: Number,
    ax: Axes | None = None,
) -> Axes:
    """Draw the local, smooth and global sensitivities of statistics for assumed values, never for real data.

    Parameters
    ----------
    statistics : mapping of str to str or (str, dict)
        Statistics of `smooth_sensitivity`, by name or with options, as in ("trimmed", {"trim": 10}).
    values : array_like
        The assumed data.
    bounds : tuple of numbers
        The lowest and the highest possible value.
    beta : number
        The smoothness of the smooth sensitivity.

    Examples
    --------
    >>> from toolkit import show
    >>> show.robust.sensitivities({"median": "median"}, [0, 0, 0, 0, 100], bounds=(0, 100), beta=0.5)
    <Picture: median: local 0, smooth 60.7, global 100>
    """
    if not statistics:
        reject("`statistics` must not be empty", "none", "name at least one statistic")
    ax, descriptions = axes(ax, height=1.2 + 0.55 * len(statistics)), []
    low, high = check_bounds(bounds)
    for row, (name, statistic) in enumerate(statistics.items()):
        method, options = statistic if isinstance(statistic, tuple) else (statistic, {})
        trim = options.get("trim")
        local = float(local_sensitivity(method, values, bounds=bounds, trim=trim))
        smooth = float(smooth_sensitivity(method, values, bounds=bounds, beta=beta, trim=trim))
        global_sensitivity = float(high - low) / (1 if trim is None else len(values) - 2 * trim)
        ax.plot([local, global_sensitivity], [row, row], color=GREY, linewidth=1)
        markers = {
            "local": (local, "o", BLUE),
            "smooth": (smooth, "D", ORANGE),
            "global": (global_sensitivity, "s", VERMILLION),
        }
        for label, (sensitivity, marker, colour) in markers.items():
            ax.plot([sensitivity], [row], marker, color=colour, markersize=8, label=label if row == 0 else None)
        descriptions.append(f"{name}: local {local:.3g}, smooth {smooth:.3g}, global {global_sensitivity:.3g}")
    ax.set_xscale("symlog", linthresh=float(high - low) / 1000)
    ax.set_yticks(range(len(statistics)), list(statistics))
    ax.set(ylim=(len(statistics) - 0.5, -0.5), xlim=(0, None), xlabel="how far one person moves it")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return finish(ax, "Here, near here, and anywhere", "; ".join(descriptions))


@document_figure
def sensitivity_along(values: Any, *, bounds: tuple[Number, Number], beta: Number, ax: Axes | None = None) -> Axes:
    """Draw the local and the smooth sensitivity of the median while one value moves from one bound to the other.

    Parameters
    ----------
    values : array_like
        The other values, which must be assumed values, never real data.
    bounds : tuple of numbers
        The lowest and the highest possible value.
    beta : number
        The smoothness of the smooth sensitivity.

    Examples
    --------
    >>> from toolkit import show
    >>> show.robust.sensitivity_along([40, 50, 50, 60], bounds=(0, 100), beta=0.5)
    <Picture: one value moves from 0 to 100: the local sensitivity of the median goes from 0 to 10, the smooth from 18.4
    to 30.3, the global is 100>
    """
    low, high = map(float, check_bounds(bounds))
    ax, positions = axes(ax), np.linspace(low, high, 201)
    lines = {
        "local": [float(local_sensitivity("median", [*values, float(x)], bounds=bounds)) for x in positions],
        "smooth": [smooth_sensitivity("median", [*values, float(x)], bounds=bounds, beta=beta) for x in positions],
    }
    for (name, sensitivities), (colour, dash) in zip(lines.items(), ((BLUE, "-"), (ORANGE, "--")), strict=True):
        ax.plot(positions, sensitivities, color=colour, linestyle=dash, linewidth=2.2, label=name)
    ax.axhline(high - low, color=VERMILLION, linestyle=":", linewidth=2.2, label="global")
    ax.set_yscale("symlog", linthresh=(high - low) / 1000)
    ax.set(xlabel="where the one value lies", ylabel="how far one person moves the median", ylim=(0, None))
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    local, smooth = (f"{min(sensitivities):.3g} to {max(sensitivities):.3g}" for sensitivities in lines.values())
    alt = f"one value moves from {low:g} to {high:g}: the local sensitivity of the median goes from {local}, "
    return finish(ax, "One value moves", f"{alt}the smooth from {smooth}, the global is {high - low:g}")


@document_figure
def smoothing(
    values: Any, *, bounds: tuple[Number, Number], beta: Number, max_changes: int = 30, ax: Axes | None = None
) -> Axes:
    """Draw how the smooth sensitivity of the median results from the changes of more and more people.

    The first curve is the largest local sensitivity after at most k people have changed. The second curve is the first,
    divided by e**(beta k). Its highest point is the smooth sensitivity, which must be at a k of at most `max_changes`.

    Parameters
    ----------
    values : array_like
        An odd number of assumed values, never real data.
    bounds : tuple of numbers
        The lowest and the highest possible value.
    beta : number
        The smoothness of the smooth sensitivity.
    max_changes : int, default 30
        The largest number of people who change.

    Examples
    --------
    >>> from toolkit import show
    >>> show.robust.smoothing([20, 40, 45, 50, 70], bounds=(0, 100), beta=0.5, max_changes=5)
    <Picture: largest local sensitivity of the median after k changes: from 5 at k = 0 to 100 at k = 5; divided by
    e^(0.5 k) it is largest at k = 2: 20.2, the smooth sensitivity>
    """
    low, high = map(float, check_bounds(bounds))
    numbers = np.sort(np.clip(float_array(values, "values"), low, high))
    largest_k = min(check_integer(max_changes, "max_changes"), len(numbers))
    statistic = RankStatistic.from_name("median", len(numbers))
    changes = np.arange(largest_k + 1)
    within = np.asarray(statistic._sensitivities(numbers, low, high, largest_k)) / statistic.divisor
    discounted = within * np.exp(-float(beta) * changes)
    best = int(np.argmax(discounted))
    smooth = smooth_sensitivity("median", numbers, bounds=bounds, beta=beta)
    if discounted[best] < smooth * (1 - 1e-9):
        rule = "`max_changes` must reach the number of changes at which the smooth sensitivity is attained"
        reject(rule, max_changes, "the highest point of the curve would not be the smooth sensitivity")
    ax = axes(ax, width=7.2)
    ax.plot(changes, within, color=BLUE, marker="o", markersize=4, linewidth=2, label="after k changes")
    label = "divided by $e^{β k}$"
    ax.plot(changes, discounted, color=ORANGE, linestyle="--", marker="D", markersize=4, linewidth=2, label=label)
    ax.plot([best], [discounted[best]], "o", color=INK, fillstyle="none", markersize=13, label="smooth sensitivity")
    ax.set(xlabel="people who change first, k", ylabel="how far one more person\nmoves the median", ylim=(0, None))
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    alt = f"largest local sensitivity of the median after k changes: from {within[0]:.3g} at k = 0 to {within[-1]:.3g} "
    alt += f"at k = {largest_k}; divided by e^({float(beta):.3g} k) it is largest at k = {best}: "
    return finish(ax, "What could happen if k people changed", f"{alt}{discounted[best]:.3g}, the smooth sensitivity")
