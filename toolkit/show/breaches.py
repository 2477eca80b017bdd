"""Figures of attacks: how much an attacker learns, and what stops them. `ax` in, `ax` out."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from toolkit.attacks.audit.bounds import advantage, epsilon_and_delta
from toolkit.attacks.audit.verdict import Verdict
from toolkit.attacks.averaging import Belief
from toolkit.attacks.linkage import Profile
from toolkit.attacks.membership import Roc
from toolkit.show.canvas import BLUE, GREY, INK, ORANGE, SKY, VERMILLION, axes, finish, percent

_LOOKS = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (VERMILLION, "-.", "D"), (SKY, ":", "^"))


def bits_recovered(curves: Mapping[str, Sequence[tuple[float, float]]], n: int, *, ax: Axes | None = None) -> Axes:
    """The share of n secret bits found against the level of noise, one line for each way to add it; the root
    of n is marked.

    >>> bits_recovered({"bounded noise": [(1, 1.0), (50, 0.6)]}, n=100)
    <Picture: share of 100 secret bits recovered: bounded noise from 100 % at noise 1 to 60 % at noise 50; the
    root of n is 10>
    """
    ax = axes(ax)
    words = []
    for (name, points), (colour, dash, mark) in zip(curves.items(), cycle(_LOOKS)):
        x, y = np.array(sorted(points)).T
        ax.plot(x, y, color=colour, linestyle=dash, marker=mark, markersize=5, linewidth=2, label=name)
        words.append(f"{name} from {percent(y[0])} at noise {x[0]:g} to {percent(y[-1])} at noise {x[-1]:g}")
    ax.axvline(n**0.5, color=INK, linestyle="--", linewidth=1.2)
    ax.annotate("√n", (n**0.5, 1.03), xytext=(4, 0), textcoords="offset points", color=INK)
    ax.axhline(0.5, color=GREY, linestyle=":", linewidth=1.5)
    ax.annotate(
        "a coin", (0, 0.5), xycoords=("axes fraction", "data"), xytext=(4, -13), textcoords="offset points", color=GREY
    )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda level, _: f"{level:g}"))
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.set(ylim=(0.42, 1.08), xlabel="size of the noise on each answer", ylabel="secret bits found")
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 0.12))
    alt = f"share of {n} secret bits recovered: {'; '.join(words)}; the root of n is {n**0.5:.3g}"
    return finish(ax, f"How many of {n} secrets the answers give away", alt)


def roc_curves(curves: Mapping[str, Roc], *, epsilon: float | None = None, ax: Axes | None = None) -> Axes:
    """True against false alarms, one line an attack; `epsilon` shades what differential privacy rules out.

    >>> from toolkit.attacks.membership import roc
    >>> roc_curves({"mean": roc([3, 2], [1, 2])}, epsilon=1)
    <Picture: members found against false alarms: mean area 0.88; with epsilon 1 no attack has an advantage
    above 47 %>
    """
    ax = axes(ax, width=5.2, height=4.4)
    grid = np.linspace(0, 1, 201)
    ax.plot(grid, grid, color=GREY, linestyle=":", linewidth=1.5, label="a coin")
    limit = ""
    if epsilon is not None:
        ceiling = np.minimum(np.exp(epsilon) * grid, 1 - np.exp(-epsilon) * (1 - grid))
        ax.fill_between(grid, ceiling, 1, color=GREY, alpha=0.22, linewidth=0, label=f"ruled out by ε = {epsilon:g}")
        most = percent(np.ceil(100 * advantage(epsilon) - 1e-9) / 100)  # a limit, so rounded up
        limit = f"; with epsilon {epsilon:g} no attack has an advantage above {most}"
    for (name, curve), (colour, dash, _) in zip(curves.items(), cycle(_LOOKS)):
        label = f"{name} (area {curve.area:.2f})"
        ax.plot(curve.false_alarms, curve.hits, color=colour, linestyle=dash, linewidth=2.2, label=label)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xlabel="outsiders called members", ylabel="members called members")
    ax.legend(frameon=False, loc="lower right", fontsize=9)
    words = ", ".join(f"{name} area {curve.area:.2f}" for name, curve in curves.items())
    return finish(ax, "Was this person in the data?", f"members found against false alarms: {words}{limit}")


def area_curves(
    curves: Mapping[str, Sequence[tuple[float, float]]], *, across: str = "columns", ax: Axes | None = None
) -> Axes:
    """The area under the curve of a membership attack against the number of columns (or of people), one line
    a release.

    >>> area_curves({"exact mean": [(10, 0.59), (1000, 0.99)]})
    <Picture: area against the number of columns: exact mean from 0.59 at 10 to 0.99 at 1000>
    """
    ax = axes(ax)
    words = []
    for (name, points), (colour, dash, mark) in zip(curves.items(), cycle(_LOOKS)):
        x, y = np.array(sorted(points)).T
        ax.plot(x, y, color=colour, linestyle=dash, marker=mark, markersize=5, linewidth=2, label=name)
        words.append(f"{name} from {y[0]:.2f} at {x[0]:g} to {y[-1]:.2f} at {x[-1]:g}")
    ax.axhline(0.5, color=GREY, linestyle=":", linewidth=1.5, label="a coin")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    ax.set(ylim=(0.42, 1.03), xlabel=f"{across} (logarithmic)", ylabel="chance that a member scores higher")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(0, 0.62))
    return finish(
        ax, "The more is told, the better members are known", f"area against the number of {across}: {'; '.join(words)}"
    )


def uniqueness_bars(profile: Profile, *, most: int = 12, ax: Axes | None = None) -> Axes:
    """The share of people who are unique by each set of columns, the most telling first.

    >>> uniqueness_bars(Profile({("zip", "born"): 0.87, ("zip",): 0.04}, 1000))
    <Picture: unique among 1,000 rows: zip + born 87 %, zip 4 %>
    """
    shown = list(profile.shares.items())[:most]
    ax = axes(ax, height=1.2 + 0.34 * len(shown))
    names = [" + ".join(columns) for columns, _ in shown]
    bars = ax.barh(names, [share for _, share in shown], color=BLUE, height=0.66)
    labels = [percent(share, 1) for _, share in shown]
    ax.bar_label(bars, labels, padding=4, fontsize=9, color=INK)
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.set(xlim=(0, 1.12), xlabel="rows that no other row equals")
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    ax.tick_params(axis="y", length=0)
    words = ", ".join(f"{name} {label}" for name, label in zip(names, labels, strict=True))
    return finish(ax, "Who is one of a kind?", f"unique among {profile.rows:,} rows: {words}")


def belief_path(paths: Mapping[str, Belief | Sequence[Belief]], answer: str | int, *, ax: Axes | None = None) -> Axes:
    """The belief in the true answer after each report of one person, with fresh coins and with memory.

    Several people under one name are drawn as their median, in a band that holds the middle nine in ten after
    each report.

    >>> belief_path({"fresh coins": Belief(("no", "yes"), np.array([[0.5, 0.5], [0.2, 0.8]]))}, "yes")
    <Picture: belief in yes: fresh coins 80 % after 1 report>
    """
    ax = axes(ax)
    words = []
    for (name, path), (colour, dash, _) in zip(paths.items(), cycle(_LOOKS)):
        people = [path] if isinstance(path, Belief) else list(path)
        beliefs = np.array([one.beliefs[:, one.options.index(answer)] for one in people])
        low, middle, high = np.quantile(beliefs, [0.05, 0.5, 0.95], axis=0)
        asked, several = len(middle) - 1, len(people) > 1
        label = f"{name}, median of {len(people):,}" if several else name
        ax.plot(range(asked + 1), middle, color=colour, linestyle=dash, linewidth=2.2, label=label)
        if several:
            ax.fill_between(range(asked + 1), low, high, color=colour, alpha=0.15, linewidth=0)
        spread = f" (nine in ten: {_short_of(low[-1])} to {_short_of(high[-1])})" if several else ""
        words.append(f"{label} {_short_of(middle[-1])}{spread} after {asked} report{'s' if asked > 1 else ''}")
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(ylim=(-0.02, 1.04), xlabel="times asked", ylabel=f"belief in “{answer}”")
    ax.legend(frameon=False, loc="center right")
    return finish(ax, "Asked again and again", f"belief in {answer}: {'; '.join(words)}")


def _short_of(belief: float) -> str:
    """A belief in per cent, which is never rounded to certain."""
    return f"at least {percent(np.floor(1000 * belief) / 1000, 1)}" if 0.995 <= belief < 1 else percent(belief)


def audit_bounds(verdicts: Mapping[str, Verdict], *, ax: Axes | None = None) -> Axes:
    """The claimed epsilon and what an audit proves, one row a mechanism; refuted claims stand out by mark and
    colour.
    """
    ax = axes(ax, height=1.3 + 0.36 * len(verdicts))
    words = []
    for row, (name, verdict) in enumerate(verdicts.items()):
        claim = epsilon_and_delta(verdict.claim, 1e-3)
        colour, mark = (VERMILLION, "D") if verdict.violated else (BLUE, "o")
        ax.plot([0, verdict.epsilon], [row, row], color=colour, linewidth=2, zorder=1)
        ax.plot([verdict.epsilon], [row], mark, color=colour, markersize=7)
        if claim is not None and np.isfinite(claim[0]):
            ax.plot([claim[0]], [row], "|", color=INK, markersize=16, markeredgewidth=2)
        words.append(f"{name} {'refuted' if verdict.violated else 'stands'} (at least {verdict.epsilon:.2g})")
    ax.set_yticks(range(len(verdicts)), list(verdicts))
    ax.set_ylim(len(verdicts) - 0.4, -0.6)
    ax.set(xlabel="ε proven (dot) and claimed (bar)", xlim=(0, None))
    ax.tick_params(axis="y", length=0)
    refuted = sum(verdict.violated for verdict in verdicts.values())
    return finish(ax, f"{refuted} of {len(verdicts)} claims refuted", f"audits: {'; '.join(words)}")
