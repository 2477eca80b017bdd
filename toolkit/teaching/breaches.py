"""Figures of attacks and of the protection against them. Each function takes and returns `ax`."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from toolkit.audit.bounds import advantage, epsilon_and_delta
from toolkit.audit.verdict import Verdict
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
from toolkit.teaching.attacks.averaging import Belief
from toolkit.teaching.attacks.linkage import UniquenessProfile
from toolkit.teaching.attacks.membership import Roc

_STYLES = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (VERMILLION, "-.", "D"), (SKY, ":", "^"))


@document_figure
def bits_recovered(curves: Mapping[str, Sequence[tuple[float, float]]], n: int, *, ax: Axes | None = None) -> Axes:
    """Draw the share of recovered secret bits against the size of the noise, one line per kind; mark sqrt(n).

    Parameters
    ----------
    curves : mapping of str to sequence of (float, float)
        For each kind of noise, pairs of (size of the noise, share of recovered bits).
    n : int
        The number of secret bits.

    Examples
    --------
    >>> from toolkit.teaching import breaches
    >>> breaches.bits_recovered({"bounded noise": [(1, 1.0), (50, 0.6)]}, n=100)
    <Picture: share of 100 secret bits recovered: bounded noise from 100 % at noise 1 to 60 % at noise 50; the root of n
    is 10>
    """
    ax, descriptions = axes(ax), []
    for name, x, y in draw_curves(ax, curves, _STYLES):
        descriptions.append(f"{name} from {percent(y[0])} at noise {x[0]:g} to {percent(y[-1])} at noise {x[-1]:g}")
    ax.axvline(n**0.5, color=INK, linestyle="--", linewidth=1.2)
    ax.annotate("√n", (n**0.5, 1.03), xytext=(4, 0), textcoords="offset points", color=INK)
    ax.axhline(0.5, color=GREY, linestyle=":", linewidth=1.5)
    label_style: dict[str, Any] = {
        "xycoords": ("axes fraction", "data"),
        "xytext": (4, -13),
        "textcoords": "offset points",
    }
    ax.annotate("a coin", (0, 0.5), color=GREY, **label_style)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda level, _: f"{level:g}"))
    percent_ticks(ax, "y")
    ax.set(ylim=(0.42, 1.08), xlabel="size of the noise on each answer", ylabel="secret bits found")
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 0.12))
    alt = f"share of {n} secret bits recovered: {'; '.join(descriptions)}; the root of n is {n**0.5:.3g}"
    return finish(ax, f"How many of {n} secrets the answers give away", alt)


@document_figure
def roc_curves(curves: Mapping[str, Roc], *, epsilon: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw hits against false alarms, one line per attack.

    Parameters
    ----------
    curves : mapping of str to Roc
        The ROC curve of each attack.
    epsilon : float, optional
        A privacy loss; the region that this loss excludes is shaded.

    Examples
    --------
    >>> from toolkit.teaching import breaches
    >>> from toolkit.teaching.attacks.membership import roc
    >>> breaches.roc_curves({"mean": roc([3, 2], [1, 2])}, epsilon=1)
    <Picture: members found against false alarms: mean area 0.88; with epsilon 1 no attack has an advantage above 47 %>
    """
    ax = axes(ax, width=5.2, height=4.4)
    grid = np.linspace(0, 1, 201)
    ax.plot(grid, grid, color=GREY, linestyle=":", linewidth=1.5, label="a coin")
    limit = ""
    if epsilon is not None:
        ceiling = np.minimum(np.exp(epsilon) * grid, 1 - np.exp(-epsilon) * (1 - grid))
        ax.fill_between(grid, ceiling, 1, color=GREY, alpha=0.22, linewidth=0, label=f"ruled out by ε = {epsilon:g}")
        highest = percent(np.ceil(100 * advantage(epsilon) - 1e-9) / 100)  # rounded up because it is an upper limit
        limit = f"; with epsilon {epsilon:g} no attack has an advantage above {highest}"
    for (name, curve), (colour, dash, _) in zip(curves.items(), cycle(_STYLES)):
        label = f"{name} (area {curve.area:.2f})"
        ax.plot(curve.false_alarms, curve.hits, color=colour, linestyle=dash, linewidth=2.2, label=label)
    percent_ticks(ax)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xlabel="outsiders called members", ylabel="members called members")
    ax.legend(frameon=False, loc="lower right", fontsize=9)
    descriptions = ", ".join(f"{name} area {curve.area:.2f}" for name, curve in curves.items())
    return finish(ax, "Was this person in the data?", f"members found against false alarms: {descriptions}{limit}")


@document_figure
def area_curves(
    curves: Mapping[str, Sequence[tuple[float, float]]], *, size_name: str = "columns", ax: Axes | None = None
) -> Axes:
    """Draw the area under the ROC curve of a membership attack against the size of the data, one line per release.

    Parameters
    ----------
    curves : mapping of str to sequence of (float, float)
        For each release, pairs of (size, area).
    size_name : str, default "columns"
        The plural noun for the units of the size.

    Examples
    --------
    >>> from toolkit.teaching import breaches
    >>> breaches.area_curves({"exact mean": [(10, 0.59), (1000, 0.99)]})
    <Picture: area against the number of columns: exact mean from 0.59 at 10 to 0.99 at 1000>
    """
    ax, descriptions = axes(ax), []
    for name, x, y in draw_curves(ax, curves, _STYLES):
        descriptions.append(f"{name} from {y[0]:.2f} at {x[0]:g} to {y[-1]:.2f} at {x[-1]:g}")
    ax.axhline(0.5, color=GREY, linestyle=":", linewidth=1.5, label="a coin")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    ax.set(ylim=(0.42, 1.03), xlabel=f"{size_name} (logarithmic)", ylabel="chance that a member scores higher")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(0, 0.62))
    alt = f"area against the number of {size_name}: {'; '.join(descriptions)}"
    return finish(ax, "The more is told, the better members are known", alt)


@document_figure
def uniqueness_bars(profile: UniquenessProfile, *, max_bars: int = 12, ax: Axes | None = None) -> Axes:
    """Draw the share of people whom each set of columns identifies uniquely, in decreasing order.

    Parameters
    ----------
    profile : UniquenessProfile
        Shares of unique rows, from `toolkit.teaching.attacks.linkage`.
    max_bars : int, default 12
        Largest number of bars.

    Examples
    --------
    >>> from toolkit.teaching import breaches
    >>> from toolkit.teaching.attacks.linkage import UniquenessProfile
    >>> breaches.uniqueness_bars(UniquenessProfile({("zip", "born"): 0.87, ("zip",): 0.04}, 1000))
    <Picture: unique among 1,000 rows: zip + born 87 %, zip 4 %>
    """
    shares = {" + ".join(columns): share for columns, share in list(profile.shares.items())[:max_bars]}
    ax = axes(ax, height=1.2 + 0.34 * len(shares))
    labels = [percent(share, 1) for share in shares.values()]
    ax.bar_label(
        ax.barh(list(shares), list(shares.values()), color=BLUE, height=0.66), labels, padding=4, fontsize=9, color=INK
    )
    ax.invert_yaxis()
    percent_ticks(ax, "x")
    ax.set(xlim=(0, 1.12), xlabel="rows that no other row equals")
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    ax.tick_params(axis="y", length=0)
    descriptions = ", ".join(f"{name} {label}" for name, label in zip(shares, labels, strict=True))
    return finish(ax, "Who is one of a kind?", f"unique among {profile.n_rows:,} rows: {descriptions}")


@document_figure
def belief_path(paths: Mapping[str, Belief | Sequence[Belief]], answer: str | int, *, ax: Axes | None = None) -> Axes:
    """Draw the belief in the true answer after each report of one person.

    Several people under one name are drawn as their median, with a band from the 5 % to the 95 % quantile.

    Parameters
    ----------
    paths : mapping of str to Belief or sequence of Belief
        The beliefs of an observer, for example with fresh reports and with a repeated report.
    answer : str or int
        The true answer.

    Examples
    --------
    >>> import numpy as np
    >>> from toolkit.teaching import breaches
    >>> from toolkit.teaching.attacks.averaging import Belief
    >>> beliefs = Belief(("no", "yes"), np.array([[0.5, 0.5], [0.2, 0.8]]))
    >>> breaches.belief_path({"fresh coins": beliefs}, "yes")
    <Picture: belief in yes: fresh coins 80 % after 1 report>
    """
    ax, descriptions = axes(ax), []
    for (name, path), (colour, dash, _) in zip(paths.items(), cycle(_STYLES)):
        people = [path] if isinstance(path, Belief) else list(path)
        beliefs = np.array([person.beliefs[:, person.options.index(answer)] for person in people])
        low, middle, high = np.quantile(beliefs, [0.05, 0.5, 0.95], axis=0)
        questions, several = len(middle) - 1, len(people) > 1
        label = f"{name}, median of {len(people):,}" if several else name
        ax.plot(range(questions + 1), middle, color=colour, linestyle=dash, linewidth=2.2, label=label)
        if several:
            ax.fill_between(range(questions + 1), low, high, color=colour, alpha=0.15, linewidth=0)
        spread = f" (nine in ten: {_belief_text(low[-1])} to {_belief_text(high[-1])})" if several else ""
        descriptions.append(
            f"{label} {_belief_text(middle[-1])}{spread} after {questions} report{'s' if questions > 1 else ''}"
        )
    percent_ticks(ax, "y")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(ylim=(-0.02, 1.04), xlabel="times asked", ylabel=f"belief in “{answer}”")
    ax.legend(frameon=False, loc="center right")
    return finish(ax, "Asked again and again", f"belief in {answer}: {'; '.join(descriptions)}")


def _belief_text(belief: float) -> str:
    """Format a belief in percent; a belief below 1 is never shown as 100 %."""
    return f"at least {percent(np.floor(1000 * belief) / 1000, 1)}" if 0.995 <= belief < 1 else percent(belief)


@document_figure
def audit_bounds(verdicts: Mapping[str, Verdict], *, ax: Axes | None = None) -> Axes:
    """Draw the claimed epsilon and the epsilon that an audit proves, one row per mechanism; refuted claims stand out.

    Parameters
    ----------
    verdicts : mapping of str to Verdict
        The results of `toolkit.audit`, by mechanism.

    Examples
    --------
    >>> from toolkit import Pure
    >>> from toolkit.teaching import breaches
    >>> from toolkit.audit.verdict import Verdict
    >>> verdict = Verdict(Pure(1), 0.9, 0.0, False, "", 0.999, (), ("pair",), 1000)
    >>> breaches.audit_bounds({"Laplace": verdict})
    <Picture: audits: Laplace stands (at least 0.9)>
    """
    ax, descriptions = axes(ax, height=1.3 + 0.36 * len(verdicts)), []
    for row, (name, verdict) in enumerate(verdicts.items()):
        claim = epsilon_and_delta(verdict.claim, 1e-3)
        colour, mark = (VERMILLION, "D") if verdict.violated else (BLUE, "o")
        ax.plot([0, verdict.epsilon], [row, row], color=colour, linewidth=2, zorder=1)
        ax.plot([verdict.epsilon], [row], mark, color=colour, markersize=7)
        if claim is not None and np.isfinite(claim[0]):
            ax.plot([claim[0]], [row], "|", color=INK, markersize=16, markeredgewidth=2)
        descriptions.append(f"{name} {'refuted' if verdict.violated else 'stands'} (at least {verdict.epsilon:.2g})")
    name_rows(ax, list(verdicts))
    ax.set(xlabel="ε proven (dot; diamond: refuted) and claimed (bar)", xlim=(0, None))
    refuted = sum(verdict.violated for verdict in verdicts.values())
    return finish(ax, f"{refuted} of {len(verdicts)} claims refuted", f"audits: {'; '.join(descriptions)}")
