"""Figures of the tradeoff between privacy, precision and the number of people."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from toolkit.curator.rehearsal import ReleaseRehearsal
from toolkit.local.design import Design
from toolkit.planning.accuracy import PlanInputs, margin_grid
from toolkit.planning.disclosure import guess_rate_of, people_at_equal_epsilon, roc, roc_limit
from toolkit.planning.families import Family
from toolkit.planning.planner import Plan
from toolkit.planning.split import Split
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
)

_STYLES = ((VERMILLION, "-"), (ORANGE, "--"), (BLUE, "-."), (SKY, ":"), (INK, (0, (6, 2))))
_TRUST_MODELS = {
    "local": (VERMILLION, "-", "local: trust no collector"),
    "shuffled": (ORANGE, "--", "shuffled: trust a shuffler"),
    "central": (BLUE, "-.", "central: trust a curator"),
    "direct": (GREY, ":", "asked directly: no promise"),
}
_PEOPLE = tuple(round(10 ** (2 + i / 10)) for i in range(31))


@document_figure
def margin_against_n(
    family: Family,
    prevalence: object,
    *,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0),
    ns: Sequence[int] = _PEOPLE,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the margin against the number of people, for several epsilons and for direct questioning.

    Parameters
    ----------
    family : callable or Design
        A family of designs such as `warner`, as for `plan`.
    prevalence : float or sequence of float
        The guessed share, or shares.
    epsilons : sequence of float, optional
        Privacy losses, with one line for each.
    ns : sequence of int, optional
        Numbers of people; if not given, 31 from 100 to 100,000.
    level : float, default 0.95
        Confidence level of the margin.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> show.tradeoffs.margin_against_n(warner, 0.2, epsilons=(1.0,), ns=(100, 1000, 10_000))
    <Picture: 95 % margin against the number of people: with 1,000 people epsilon 1 has ± 6.4 points, asked directly
    ± 2.5 points>
    """
    ax, n_people = axes(ax, width=7, height=4), np.asarray(ns)
    middle, texts = int(n_people[len(n_people) // 2]), []
    rows = 100 * margin_grid(family, prevalence, epsilons=epsilons, ns=n_people, level=level)
    styles = [_STYLES[i % len(_STYLES)] for i in range(len(rows))]
    for epsilon, row, (colour, dash) in zip(epsilons, rows, styles, strict=True):
        ax.plot(n_people, row, color=colour, linestyle=dash, linewidth=2.5, label=f"epsilon {epsilon:g}")
        texts.append(f"epsilon {epsilon:g} has ± {row[len(n_people) // 2]:.1f} points")
    direct = 100 * PlanInputs(family, prevalence, level).accuracy(epsilons[0]).without_noise().margin(n_people)
    ax.plot(n_people, direct, color=GREY, linestyle=":", linewidth=2, label="asked directly")
    texts.append(f"asked directly ± {direct[len(n_people) // 2]:.1f} points")
    _set_log_axes(ax, "respondents", f"{100 * level:g} % margin, ± points")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    alt = f"{100 * level:g} % margin against the number of people: with {middle:,} people {', '.join(texts)}"
    return finish(ax, "How precise a survey is, by privacy and people", alt)


@document_figure
def trust_models_against_n(
    plan: Plan, *, ns: Sequence[int] = (100, 300, 1000, 3000, 10_000, 30_000), ax: Axes | None = None
) -> Axes:
    """Draw the margin under four trust models against the number of people, with the plan marked.

    Parameters
    ----------
    plan : Plan
        A plan, from `toolkit.plan`.
    ns : sequence of int, optional
        Numbers of people.

    Examples
    --------
    >>> from toolkit import plan, show, warner
    >>> show.tradeoffs.trust_models_against_n(plan(warner, prevalence=0.2, epsilon=1.0, n=300), ns=(300,))
    <Picture: margins at epsilon 1 with 300 people: direct ± 4.5 points, ...>
    """
    ax = axes(ax, width=7, height=4)
    margins = {n: {model.name: 100 * model.margin for model in replace(plan, n=n).trust_models()} for n in ns}
    for name, (colour, dash, label) in _TRUST_MODELS.items():
        values = [margins[n][name] for n in ns]
        ax.plot(list(ns), values, color=colour, linestyle=dash, linewidth=2.5, label=label)
    ax.plot([plan.n], [100 * plan.margin], "o", color=INK, markersize=8, label="this plan")
    _set_log_axes(ax, "respondents", f"{100 * plan.level:g} % margin, ± points")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    texts = ", ".join(f"{name} ± {margin:.2g} points" for name, margin in margins[ns[-1]].items())
    alt = f"margins at epsilon {plan.epsilon:.3g} with {ns[-1]:,} people: {texts}"
    return finish(ax, f"One promise, epsilon {plan.epsilon:.3g}, kept in four ways", alt)


@document_figure
def equal_margins(
    family: Family,
    prevalence: object,
    *,
    margins: Sequence[float] = (0.01, 0.02, 0.03, 0.05, 0.1),
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw contours of equal margin, which connect equally precise pairs of epsilon and number of people.

    Parameters
    ----------
    family : callable or Design
        A family of designs such as `warner`, as for `plan`.
    prevalence : float or sequence of float
        The guessed share, or shares.
    margins : sequence of float, optional
        Margins, with one contour for each.
    level : float, default 0.95
        Confidence level of the margins.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> show.tradeoffs.equal_margins(warner, 0.2, margins=(0.03,))
    <Picture: pairs of epsilon and number of people with margins of ±3 points: half a small epsilon needs about four
    times the people>
    """
    ax = axes(ax, width=6.4, height=4.4)
    epsilons, n_people = np.geomspace(0.2, 5, 50), np.geomspace(100, 100_000, 50)
    grid = 100 * margin_grid(family, prevalence, epsilons=epsilons, ns=n_people, level=level)
    levels = sorted(100 * margin for margin in margins)
    colours = [(INK, VERMILLION, ORANGE, BLUE, GREY)[i % 5] for i in range(len(levels))]
    # The scales are set first, because the positions of labels depend on them.
    _set_log_axes(ax, "epsilon (left: more private)", "respondents")
    lines = ax.contour(epsilons, n_people, grid.T, levels=levels, colors=colours, linewidths=2.2)
    lines.set_linestyle([("-", "--", "-.", ":")[i % 4] for i in range(len(levels))])
    ax.set_xticks([0.2, 0.5, 1, 2, 5])
    positions = [_label_position(family, prevalence, margin / 100, level) for margin in levels]
    ax.clabel(lines, fmt=lambda value: f"±{value:g} points", fontsize=9, manual=positions, colors=INK)
    alt = f"pairs of epsilon and number of people with margins of {', '.join(f'±{value:g}' for value in levels)} points"
    return finish(ax, "Equally precise surveys", f"{alt}: half a small epsilon needs about four times the people")


def _label_position(family: Family, prevalence: object, margin: float, level: float) -> tuple[float, float]:
    """Return the position of a contour's label: at epsilon 0.7, or further right if 0.7 needs too many people."""
    for epsilon in (0.7, 1.2, 2.0):
        needed = float((PlanInputs(family, prevalence, level).accuracy(epsilon).margin(1) / margin) ** 2)
        if needed < 60_000:
            break
    return epsilon, min(max(needed, 130.0), 60_000.0)


@document_figure
def designs_at_equal_epsilon(designs: Mapping[str, Design], prevalence: float, *, ax: Axes | None = None) -> Axes:
    """Draw how many people each design needs, relative to Warner's design with the same epsilon.

    Parameters
    ----------
    designs : mapping of str to Design
        Designs with two options, by name.
    prevalence : float
        The guessed share.

    Examples
    --------
    >>> from toolkit import show, unrelated
    >>> show.tradeoffs.designs_at_equal_epsilon({"unrelated question": unrelated(0.7, 0.3)}, 0.1)
    <Picture: people needed at equal epsilon, in multiples of Warner's design: unrelated question 1.17>
    """
    times = {name: people_at_equal_epsilon(design, prevalence) for name, design in designs.items()}
    texts = [f"{times[name]:.2f} ×, ε = {design.epsilon:.2f}" for name, design in designs.items()]
    ax = _draw_bars(ax, times, texts, x_max_factor=1.45)
    ax.axvline(1, color=INK, linestyle="--", linewidth=1.5)
    ax.set_xlabel("people needed (1: Warner's design, same epsilon)")
    multiples = ", ".join(f"{name} {value:.2f}" for name, value in times.items())
    alt = f"people needed at equal epsilon, in multiples of Warner's design: {multiples}"
    return finish(ax, "No design beats Warner's at the same epsilon", alt)


def _draw_bars(ax: Axes | None, sizes: Mapping[str, float], texts: Sequence[str], *, x_max_factor: float) -> Axes:
    ax = axes(ax, width=6.8, height=1.4 + 0.45 * len(sizes))
    ax.barh(range(len(sizes)), list(sizes.values()), color=SKY, edgecolor=BLUE, height=0.6)
    for row, (size, text) in enumerate(zip(sizes.values(), texts, strict=True)):
        ax.text(size, row, f"  {text}", va="center", color=INK)
    name_rows(ax, list(sizes))
    ax.set_xlim(0, x_max_factor * max(sizes.values()))
    return ax


@document_figure
def guessing(design: Design, *, ax: Axes | None = None) -> Axes:
    """Draw the ROC curve of tests of one report, within the region that epsilon allows.

    Parameters
    ----------
    design : Design
        A design with two options.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> show.tradeoffs.guessing(warner("3/4"))
    <Picture: tests of one report of the warner design: at best 75 % right>
    """
    ax = axes(ax, width=4.6, height=4.2)
    share = np.linspace(0, 1, 201)
    corners = roc(design)
    if math.isfinite(design.epsilon):
        limit, label = roc_limit(share, design.epsilon), f"all that epsilon {design.epsilon:.3g} allows"
        ax.fill_between(share, share, limit, color=SKY, alpha=0.35, linewidth=0, label=label)
    ax.plot(corners[:, 0], corners[:, 1], "o-", color=BLUE, linewidth=2.5, label="tests of one report")
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1.5, label="guessing blindly")
    ax.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
    ax.set(xlabel="“no” people taken for “yes”", ylabel="“yes” people found")
    ax.legend(frameon=False, loc="lower right", fontsize=9)
    rate = percent(guess_rate_of(design))
    alt = f"tests of one report of the {design.name} design: at best {rate} right"
    return finish(ax, f"The best guess is right {rate} of the time", alt)


@document_figure
def budget_split(split: Split, *, ax: Axes | None = None) -> Axes:
    """Draw how a budget is split over questions, and the margin of each question.

    Parameters
    ----------
    split : Split
        The result of `toolkit.planning.split.budget_for`.

    Examples
    --------
    >>> from toolkit import show, warner
    >>> from toolkit.planning.split import budget_for
    >>> show.tradeoffs.budget_split(budget_for({"cheated": (warner, 0.1), "drugs": (warner, 0.1)}, epsilon=2.0))
    <Picture: epsilon by question: cheated 1.00 (± ...), drugs 1.00 (± ...)>
    """
    ax = _draw_bars(
        ax, split.shares, [f"margin ± {split.margins[name]:.3g}" for name in split.shares], x_max_factor=1.4
    )
    ax.set_xlabel(f"epsilon, of {split.epsilon:g} in all")
    descriptions = ", ".join(
        f"{name} {share:.2f} (± {split.margins[name]:.3g})" for name, share in split.shares.items()
    )
    title = f"A budget of {split.epsilon:g}, split over {len(split.shares)} questions"
    return finish(ax, title, f"epsilon by question: {descriptions}")


@document_figure
def rehearsed_errors(rehearsal: ReleaseRehearsal, *, ax: Axes | None = None) -> Axes:
    """Draw the error of a rehearsed release against its bounds: a line for each price, and the error of clamping.

    For a table, the errors are root mean squares over its cells.

    Parameters
    ----------
    rehearsal : ReleaseRehearsal
        The result of `curator.rehearse`.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import Curator, Ledger, Pure, show
    >>> frame = pd.DataFrame({"age": [21, 34, 45, 28] * 500})
    >>> curator = Curator(frame, Ledger(Pure(1.0)), neighbors="replace")
    >>> old = pd.DataFrame({"age": [23, 39, 80, 31] * 500})
    >>> show.tradeoffs.rehearsed_errors(
    ...     curator.rehearse(old, "mean", "age", bounds=[(18, 50), (18, 100)], epsilon=[1], missing="drop")
    ... )
    <Picture: error of mean of age by bounds: epsilon 1 is best with 18 to 100>
    """
    ax, positions = axes(ax, width=7, height=4), np.arange(len(rehearsal.bounds))
    total = np.sqrt((rehearsal.total**2).mean(axis=2))
    for i, (price, errors) in enumerate(zip(rehearsal.prices, total.T, strict=True)):
        colour, dash = _STYLES[i % len(_STYLES)]
        ax.plot(positions, errors, "o", color=colour, linestyle=dash, linewidth=2.5, label=price)
    clamping = np.sqrt((rehearsal.clamping**2).mean(axis=1))
    ax.plot(positions, clamping, color=GREY, linestyle=":", linewidth=2, label="clamping alone")
    ax.set_xticks(positions, rehearsal.bounds)
    ax.set_xlabel("bounds")
    ax.set_ylabel("root mean square error")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    best = ", ".join(f"{price} is best with {bounds}" for price, bounds in rehearsal.best.items())
    return finish(ax, f"Noise and clamping of the {rehearsal.label}", f"error of {rehearsal.label} by bounds: {best}")


def _set_log_axes(ax: Axes, x_label: str, y_label: str) -> None:
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.grid(visible=True, which="major", color="#DDDDDD", linewidth=0.6)
