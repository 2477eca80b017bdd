"""The tradeoff of privacy, precision and people as pictures: `ax` in, `ax` out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from toolkit.local.design import Design
from toolkit.planning.accuracy import Case, margin_grid
from toolkit.planning.disclosure import guess_rate_of, people_at_equal_epsilon, roc, roc_limit
from toolkit.planning.families import Family
from toolkit.planning.solution import Plan
from toolkit.planning.split import Split
from toolkit.show.canvas import BLUE, GREY, INK, ORANGE, SKY, VERMILLION, axes, finish, percent

_STYLES = ((VERMILLION, "-"), (ORANGE, "--"), (BLUE, "-."), (SKY, ":"), (INK, (0, (6, 2))))
_WAYS = {"local": (VERMILLION, "-"), "shuffled": (ORANGE, "--"), "central": (BLUE, "-."), "direct": (GREY, ":")}
_NS = tuple(round(10 ** (2 + i / 10)) for i in range(31))


def margin_against_n(
    family: Family,
    prevalence: Any,
    *,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0),
    ns: Sequence[int] = _NS,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """How the margin falls with the number of people, for several epsilons, beside direct questioning.

    >>> from toolkit import warner
    >>> margin_against_n(warner, 0.2, epsilons=(1.0,), ns=(100, 1000, 10_000))
    <Picture: 95 % margin against the number of people: with 1,000 people epsilon 1 has ± 6.4 points, asked
    directly ± 2.5 points>
    """
    ax, people = axes(ax, width=7, height=4), np.asarray(ns)
    middle, words = int(people[len(people) // 2]), []
    rows = 100 * margin_grid(family, prevalence, epsilons=epsilons, ns=people, level=level)
    styles = [_STYLES[i % len(_STYLES)] for i in range(len(rows))]
    for epsilon, row, (colour, dash) in zip(epsilons, rows, styles, strict=True):
        ax.plot(people, row, color=colour, linestyle=dash, linewidth=2.5, label=f"epsilon {epsilon:g}")
        words.append(f"epsilon {epsilon:g} has ± {row[len(people) // 2]:.1f} points")
    direct = 100 * Case(family, prevalence, level).accuracy(epsilons[0]).without_noise().margin(people)
    ax.plot(people, direct, color=GREY, linestyle=":", linewidth=2, label="asked directly")
    words.append(f"asked directly ± {direct[len(people) // 2]:.1f} points")
    _logarithmic(ax, "respondents", f"{100 * level:g} % margin, ± points")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    alt = f"{100 * level:g} % margin against the number of people: with {middle:,} people {', '.join(words)}"
    return finish(ax, "How precise a survey is, by privacy and people", alt)


def ways_against_n(
    plan: Plan, *, ns: Sequence[int] = (100, 300, 1000, 3000, 10_000, 30_000), ax: Axes | None = None
) -> Axes:
    """The same promise kept in four ways: the margin of each against the number of people, with the plan
    marked.
    """
    ax = axes(ax, width=7, height=4)
    found = {n: {way.name: 100 * way.margin for way in replace(plan, n=n).ways()} for n in ns}
    for name, (colour, dash) in _WAYS.items():
        ax.plot(
            list(ns), [found[n][name] for n in ns], color=colour, linestyle=dash, linewidth=2.5, label=_way_label(name)
        )
    ax.plot([plan.n], [100 * plan.margin], "o", color=INK, markersize=8, label="this plan")
    _logarithmic(ax, "respondents", f"{100 * plan.level:g} % margin, ± points")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    last = found[ns[-1]]
    alt = f"margins at epsilon {plan.epsilon:.3g} with {ns[-1]:,} people: " + ", ".join(
        f"{k} ± {v:.2g} points" for k, v in last.items()
    )
    return finish(ax, f"One promise, epsilon {plan.epsilon:.3g}, kept in four ways", alt)


def _way_label(name: str) -> str:
    return {
        "direct": "asked directly: no promise",
        "local": "local: trust no collector",
        "shuffled": "shuffled: trust a shuffler",
        "central": "central: trust a curator",
    }[name]


def equal_margins(
    family: Family,
    prevalence: Any,
    *,
    margins: Sequence[float] = (0.01, 0.02, 0.03, 0.05, 0.1),
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Contours of equal margin: which pairs of epsilon and number of people are equally precise."""
    ax = axes(ax, width=6.4, height=4.4)
    epsilons, people = np.geomspace(0.2, 5, 50), np.geomspace(100, 100_000, 50)
    grid = 100 * margin_grid(family, prevalence, epsilons=epsilons, ns=people, level=level)
    levels = sorted(100 * margin for margin in margins)
    shades = [INK, VERMILLION, ORANGE, BLUE, GREY]
    _logarithmic(
        ax, "epsilon (left: more private)", "respondents"
    )  # before the labels, which find their places on the axes
    lines = ax.contour(
        epsilons, people, grid.T, levels=levels, colors=[shades[i % 5] for i in range(len(levels))], linewidths=2.2
    )
    lines.set_linestyle([("-", "--", "-.", ":")[i % 4] for i in range(len(levels))])
    ax.set_xticks([0.2, 0.5, 1, 2, 5])
    ax.clabel(
        lines,
        fmt=lambda value: f"±{value:g} points",
        fontsize=9,
        manual=[_place(family, prevalence, m / 100, level) for m in levels],
    )
    wanted = ", ".join(f"±{value:g}" for value in levels)
    alt = (
        f"pairs of epsilon and number of people with margins of {wanted} points: half the epsilon needs "
        "about four times the people"
    )
    return finish(ax, "Equally precise surveys", alt)


def _place(family: Family, prevalence: Any, margin: float, level: float) -> tuple[float, float]:
    """A point of a contour for its label: at epsilon 0.7, or further right where that needs too many
    people.
    """
    for epsilon in (0.7, 1.2, 2.0):
        needed = float((Case(family, prevalence, level).accuracy(epsilon).margin(1) / margin) ** 2)
        if needed < 60_000:
            break
    return epsilon, min(max(needed, 130.0), 60_000.0)


def designs_at_equal_epsilon(designs: Mapping[str, Design], prevalence: float, *, ax: Axes | None = None) -> Axes:
    """How many times the people of Warner's design with the same epsilon each design needs.

    >>> from toolkit import unrelated
    >>> designs_at_equal_epsilon({"unrelated question": unrelated(0.7, 0.3)}, 0.1)
    <Picture: people needed at equal epsilon, in multiples of Warner's design: unrelated question 1.17>
    """
    ax = axes(ax, width=6.8, height=1.4 + 0.45 * len(designs))
    times = {name: people_at_equal_epsilon(design, prevalence) for name, design in designs.items()}
    places = range(len(times))
    ax.barh(places, list(times.values()), color=SKY, edgecolor=BLUE, height=0.6)
    for place, (name, value) in zip(places, times.items(), strict=True):
        ax.text(value, place, f"  {value:.2f} ×, ε = {designs[name].epsilon:.2f}", va="center", color=INK)
    ax.axvline(1, color=INK, linestyle="--", linewidth=1.5)
    ax.set_yticks(places, list(times))
    ax.set(
        ylim=(len(times) - 0.4, -0.6),
        xlim=(0, 1.45 * max(times.values())),
        xlabel="people needed (1: Warner's design, same epsilon)",
    )
    ax.tick_params(axis="y", length=0)
    alt = "people needed at equal epsilon, in multiples of Warner's design: " + ", ".join(
        f"{k} {v:.2f}" for k, v in times.items()
    )
    return finish(ax, "No design beats Warner's at the same epsilon", alt)


def guessing(design: Design, *, ax: Axes | None = None) -> Axes:
    """What tests can do with one report: yes found against false alarms, within what epsilon allows."""
    ax = axes(ax, width=4.6, height=4.2)
    share = np.linspace(0, 1, 201)
    corners = roc(design)
    if math.isfinite(design.epsilon):
        limit = roc_limit(share, design.epsilon)
        ax.fill_between(
            share,
            share,
            limit,
            color=SKY,
            alpha=0.35,
            linewidth=0,
            label=f"all that epsilon {design.epsilon:.3g} allows",
        )
    ax.plot(corners[:, 0], corners[:, 1], "o-", color=BLUE, linewidth=2.5, label="tests of one report")
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1.5, label="guessing blindly")
    ax.set(
        xlabel="“no” people taken for “yes”", ylabel="“yes” people found", xlim=(0, 1), ylim=(0, 1.01), aspect="equal"
    )
    ax.legend(frameon=False, loc="lower right", fontsize=9)
    rate = percent(guess_rate_of(design))
    return finish(
        ax,
        f"The best guess is right {rate} of the time",
        f"tests of one report of the {design.name} design: at best {rate} right",
    )


def budget_split(split: Split, *, ax: Axes | None = None) -> Axes:
    """How a budget is split over questions, and the margin that each gets."""
    ax = axes(ax, width=6.8, height=1.4 + 0.45 * len(split.shares))
    places = range(len(split.shares))
    ax.barh(places, list(split.shares.values()), color=SKY, edgecolor=BLUE, height=0.6)
    for place, name in zip(places, split.shares, strict=True):
        ax.text(split.shares[name], place, f"  margin ± {split.margins[name]:.3g}", va="center", color=INK)
    ax.set_yticks(places, list(split.shares))
    most = max(split.shares.values())
    ax.set(ylim=(len(split.shares) - 0.4, -0.6), xlim=(0, 1.4 * most), xlabel=f"epsilon, of {split.epsilon:g} in all")
    ax.tick_params(axis="y", length=0)
    parts = ", ".join(f"{name} {share:.2f} (± {split.margins[name]:.3g})" for name, share in split.shares.items())
    return finish(
        ax, f"A budget of {split.epsilon:g}, split over {len(split.shares)} questions", f"epsilon by question: {parts}"
    )


def _logarithmic(ax: Axes, across: str, up: str) -> None:
    ax.set(xscale="log", yscale="log", xlabel=across, ylabel=up)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.grid(visible=True, which="major", color="#DDDDDD", linewidth=0.6)
