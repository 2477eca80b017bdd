"""Totals of every week as pictures: how errors grow with the number of weeks, and what was published."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from toolkit.central.stream.comparison import NAMES, crossing, error
from toolkit.core.checks import refuse, whole
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure, Zcdp
from toolkit.show.canvas import BLUE, GREY, INK, ORANGE, SKY, VERMILLION, axes, finish

SHARE, FRESH, BINARY, BELOW, BEST, ROOT, EQUAL = NAMES
_LOOKS = {
    SHARE: (GREY, ":"),
    FRESH: (BLUE, "-"),
    BINARY: (VERMILLION, "--"),
    BELOW: (ORANGE, "-."),
    BEST: (INK, "-"),
    ROOT: (SKY, "--"),
    EQUAL: (SKY, "-"),
}


def errors(loss: Pure | Zcdp, *, up_to: int = 1024, ax: Axes | None = None) -> Axes:
    """The largest standard deviation of every way against the number of periods, with the crossings.

    >>> errors(Pure(1), up_to=60)
    <Picture: errors of totals over up to 60 periods, ε = 1: best tree first below fresh noise for every
    period with 45>
    """
    ax, most = axes(ax, width=7.6, height=4.2), whole(up_to, "up_to", least=2)
    periods = np.unique(np.round(np.geomspace(1, most, 36)).astype(int))
    shown = [SHARE, FRESH, BINARY, BELOW, BEST]
    shown += [] if isinstance(loss, Pure) else [ROOT, EQUAL]
    for name in shown:
        colour, dash = _LOOKS[name]
        heights = [error(name, loss, int(count)).largest for count in periods]
        ax.plot(periods, heights, color=colour, linestyle=dash, linewidth=2, label=name)
    words = []
    for name in shown[2:]:
        place = crossing(loss, FRESH, name, up_to=most)
        if place is not None:
            ax.plot([place], [error(name, loss, place).largest], "o", color=_LOOKS[name][0], markersize=7)
            words.append(f"{name} first below {FRESH} with {place}")
    ax.set(xscale="log", yscale="log", xlabel="number of periods", ylabel="largest standard deviation")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    said = "; ".join(words) or "no way below fresh noise"
    return finish(ax, f"Every week, {loss} in all", f"errors of totals over up to {most:,} periods, {loss}: {said}")


def published(estimates: Sequence[Estimate], truth: Any = None, *, what: str = "total", ax: Axes | None = None) -> Axes:
    """What was published week by week, with 95 % intervals, and the truth where it is an invented one.

    >>> from toolkit.central.stream import RunningTotal
    >>> total = RunningTotal.for_epsilon(2, periods=4)
    >>> published([total.add(10) for _ in range(4)], [10, 20, 30, 40])
    <Picture: 4 published numbers, 95 % intervals up to ± ...>
    """
    if not estimates:
        refuse("there must be something published", "no estimate", "each is a point of the picture")
    ax, weeks = axes(ax), np.arange(1, len(estimates) + 1)
    values = np.array([float(estimate) for estimate in estimates])
    reach = np.array([float(estimate.interval().high) - float(estimate) for estimate in estimates])
    ax.fill_between(weeks, values - reach, values + reach, color=SKY, alpha=0.35, linewidth=0)
    ax.plot(weeks, values, color=BLUE, linewidth=2, label="published")
    if truth is not None:
        ax.plot(weeks, np.asarray(truth, dtype=float), color=INK, linestyle=":", linewidth=2, label="truth")
    ax.set(xlabel="period", ylabel=what, xlim=(0.5, len(weeks) + 0.5))
    ax.legend(frameon=False, loc="upper left")
    said = f"{len(weeks):,} published numbers, 95 % intervals up to ± {reach.max():.3g}"
    return finish(ax, "Published every period", said)
