"""Robust statistics as pictures: influence functions, and local against global sensitivity along the data."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from toolkit.central.robust.estimators import Estimator
from toolkit.central.robust.influence import influence
from toolkit.central.robust.smooth import limits, local_sensitivity, smooth_sensitivity
from toolkit.core.checks import Number, choice, refuse
from toolkit.show.canvas import BLUE, GREY, ORANGE, SKY, VERMILLION, axes, finish, percent

_CURVES = ((BLUE, "-", "o"), (VERMILLION, "--", "s"), (ORANGE, "-.", "D"), (SKY, ":", "^"))
_ACROSS = {"epsilon": "ε", "people": "people", "C": "C"}


def accuracy_curves(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    across: str = "epsilon",
    plain: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Shares of right answers of several learners, each a list of (epsilon, people or C; share); `plain`
    is what is reached without privacy.

    >>> accuracy_curves({"objective": [(0.5, 0.77), (2, 0.84)]}, plain=0.85)
    <Picture: accuracy against ε: objective 77 % at 0.5 and 84 % at 2; without privacy 85 %>
    """
    choice(across, "across", tuple(_ACROSS))
    if not 1 <= len(curves) <= len(_CURVES):
        refuse(f"`curves` must be one to {len(_CURVES)}", len(curves), "they are drawn in one picture")
    ax, words = axes(ax), []
    for (name, points), (colour, dash, mark) in zip(curves.items(), _CURVES, strict=False):
        places, shares = zip(*sorted(points), strict=True)
        ax.plot(places, shares, color=colour, linestyle=dash, marker=mark, linewidth=2, label=name)
        ends = " and ".join(f"{percent(shares[i])} at {places[i]:g}" for i in (0, -1))
        words.append(f"{name} {ends}")
    if plain is not None:
        ax.axhline(plain, color=GREY, linewidth=1.2, label="without privacy")
        words.append(f"without privacy {percent(plain)}")
    ax.set(xscale="log", xlabel=_ACROSS[across], ylabel="right answers")
    marks = sorted({place for points in curves.values() for place, _ in points})
    ax.set_xticks(marks, [f"{mark:g}" for mark in marks])
    ax.minorticks_off()
    ax.yaxis.set_major_formatter(lambda share, _: percent(share))
    ax.legend(frameon=False, loc="best")
    described = ", ".join(words[: len(curves)]) + "".join(f"; {word}" for word in words[len(curves) :])
    label = _ACROSS[across]
    return finish(ax, f"Right answers against {label}", f"accuracy against {label}: {described}")


_LOOKS = ((GREY, ":"), (BLUE, "-"), (VERMILLION, "--"), (ORANGE, "-."), (SKY, "-"))


def influence_functions(
    estimators: Mapping[str, Estimator], population: str = "normal", *, reach: float = 6.0, ax: Axes | None = None
) -> Axes:
    """How far a value at x pulls each estimator: bounded for robust ones, without end for the mean.

    >>> from toolkit.central.robust import Huber, Mean
    >>> influence_functions({"mean": Mean(), "Huber": Huber(1.345)})
    <Picture: influence at the normal law: mean without bound, Huber at most 1.64>
    """
    if not 1 <= len(estimators) <= len(_LOOKS):
        refuse(f"`estimators` must be one to {len(_LOOKS)}", len(estimators), "they are drawn in one picture")
    ax, x, words = axes(ax), np.linspace(-reach, reach, 601), []
    for (name, estimator), (colour, dash) in zip(estimators.items(), _LOOKS, strict=False):
        found = influence(estimator, population)
        ax.plot(x, found(x), color=colour, linestyle=dash, linewidth=2.2, label=name)
        most = found.gross_error_sensitivity
        words.append(f"{name} at most {most:.2f}" if np.isfinite(most) else f"{name} without bound")
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set(xlabel="a value at x", ylabel="influence", xlim=(-reach, reach), ylim=(-1.1 * reach / 2, 1.1 * reach / 2))
    ax.legend(frameon=False, loc="upper left")
    law = {"normal": "the normal law", "t3": "Student's law with 3 degrees of freedom"}.get(population, population)
    return finish(ax, f"Influence at {law}", f"influence at {law}: {', '.join(words)}")


def sensitivities(
    statistics: Mapping[str, str | tuple[str, dict[str, int]]],
    values: Any,
    *,
    bounds: tuple[Number, Number],
    beta: Number,
    ax: Axes | None = None,
) -> Axes:
    """Local, smooth and global sensitivity of several statistics of the same values: for assumed data, never
    for people's.

    A statistic is a name that `smooth_sensitivity` knows, or the name with its options: ("trimmed", {"trim":
    10}).

    >>> sensitivities({"median": "median"}, [0, 0, 0, 0, 100], bounds=(0, 100), beta=0.5)
    <Picture: median: local 0, smooth 60.7, global 100>
    """
    if not statistics:
        refuse("`statistics` must name at least one", "none", "each is a row of the picture")
    ax, words = axes(ax, height=1.2 + 0.55 * len(statistics)), []
    low, high = limits(bounds)
    for row, (name, asked) in enumerate(statistics.items()):
        known, options = asked if isinstance(asked, tuple) else (asked, {})
        trim = options.get("trim")
        local = float(local_sensitivity(known, values, bounds=bounds, trim=trim))
        smooth = float(smooth_sensitivity(known, values, bounds=bounds, beta=beta, trim=trim))
        kept = 1 if trim is None else len(values) - 2 * trim
        whole = float(high - low) / kept
        ax.plot([local, whole], [row, row], color=GREY, linewidth=1)
        ax.plot([local], [row], "o", color=BLUE, markersize=8, label="local" if row == 0 else None)
        ax.plot([smooth], [row], "D", color=ORANGE, markersize=8, label="smooth" if row == 0 else None)
        ax.plot([whole], [row], "s", color=VERMILLION, markersize=8, label="global" if row == 0 else None)
        words.append(f"{name}: local {local:.3g}, smooth {smooth:.3g}, global {whole:.3g}")
    ax.set_xscale("symlog", linthresh=float(high - low) / 1000)
    ax.set_yticks(range(len(statistics)), list(statistics))
    ax.set(ylim=(len(statistics) - 0.5, -0.5), xlim=(0, None), xlabel="how far one person moves it")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return finish(ax, "Here, near here, and anywhere", "; ".join(words))


def sensitivity_along(values: Any, *, bounds: tuple[Number, Number], beta: Number, ax: Axes | None = None) -> Axes:
    """Local and smooth sensitivity of the median while one value moves from bound to bound.

    >>> sensitivity_along([40, 50, 50, 60], bounds=(0, 100), beta=0.5)
    <Picture: one value moves from 0 to 100: the local sensitivity of the median goes from 0 to 10, the smooth
    from 18.4 to 30.3, the global is 100>
    """
    low, high = map(float, limits(bounds))
    ax, places = axes(ax), np.linspace(low, high, 201)
    lines = {
        "local": [float(local_sensitivity("median", [*values, float(x)], bounds=bounds)) for x in places],
        "smooth": [smooth_sensitivity("median", [*values, float(x)], bounds=bounds, beta=beta) for x in places],
    }
    for (name, heights), (colour, dash) in zip(lines.items(), ((BLUE, "-"), (ORANGE, "--")), strict=True):
        ax.plot(places, heights, color=colour, linestyle=dash, linewidth=2.2, label=name)
    ax.axhline(high - low, color=VERMILLION, linestyle=":", linewidth=2.2, label="global")
    ax.set_yscale("symlog", linthresh=(high - low) / 1000)
    ax.set(xlabel="where the one value lies", ylabel="how far one person moves the median", ylim=(0, None))
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    ends = {name: (min(heights), max(heights)) for name, heights in lines.items()}
    return finish(
        ax,
        "One value moves",
        f"one value moves from {low:g} to {high:g}: the local sensitivity of the median goes from "
        f"{ends['local'][0]:.3g} to {ends['local'][1]:.3g}, the smooth from {ends['smooth'][0]:.3g} to "
        f"{ends['smooth'][1]:.3g}, the global is {high - low:g}",
    )
