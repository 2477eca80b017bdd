"""Pictures for slides alone: those that move (estimates that pile up, losses that add up), and a few still ones.

What moves is an SVG whose parts appear one after the other, by the style sheet alone; an animation begins when a slide
is shown. Who asked the system for less motion, and who prints, sees the last frame. The numbers are the toolkit's.
"""

import functools
import math

import numpy as np
from matplotlib.axes import Axes

from toolkit import Laplace, Pure, compose, show, warner
from toolkit.show import canvas

STYLE = (
    ".moving circle,.moving .late{animation:appear .3s both}@keyframes appear{from{opacity:0}to{opacity:1}}"
    ".moving text{font:15px sans-serif;fill:var(--ink)}.moving .axis{stroke:var(--faint);fill:none}"
    "@media(prefers-reduced-motion:reduce){.moving circle,.moving .late{animation:none}}"
    "@media print{.moving circle,.moving .late{animation:none}}"
)
WIDTH, HEIGHT, FLOOR = 640, 400, 350
SURVEYS, PEOPLE, SHARE, WEEKS = 1000, 1200, 0.25, 52


@functools.cache
def sampling() -> str:
    """Estimates of surveys, one dot each, piled up; the curve is what the theory says."""
    design, rng = warner(p="2/3"), np.random.default_rng(1965)
    values = [design.estimate(design.randomize(rng.random(PEOPLE) < SHARE, rng=rng)).value for _ in range(SURVEYS)]
    piles: dict[float, int] = {}
    dots = []
    for place, value in enumerate(values):  # a quarter of a point apart: a report more moves one by 3 in 1,200
        piles[value] = piles.get(value, 0) + 1
        dots.append(_dot(_across(100 * value), FLOOR - 11 * piles[value] + 5, 0.01 * place, radius=1.9))
    spread = 100 * math.sqrt(design.variance(SHARE, n=PEOPLE))
    curve = [
        (x / 4, 11 / 4 * SURVEYS * math.exp(-((x / 4 - 25) ** 2) / 2 / spread**2) / spread / math.sqrt(2 * math.pi))
        for x in range(28, 172)
    ]
    path = "M" + " L".join(f"{_across(x):.1f},{FLOOR - height:.1f}" for x, height in curve)
    ticks = "".join(f"<text x='{_across(x)}' y='{FLOOR + 20}' text-anchor='middle'>{x} %</text>" for x in (10, 25, 40))
    mean = f"mean of {SURVEYS:,} surveys: {100 * float(np.mean(values)):.1f} %"
    late = f"<g class='late' style='animation-delay:{0.01 * SURVEYS:.1f}s'><path class='axis' d='{path}'/>"
    late += f"<text x='20' y='30'>{mean}</text></g>"
    words = f"{SURVEYS:,} surveys pile up around {SHARE:.0%}, as wide as the theory says; {mean}"
    return _svg(f"{_floor()}{ticks}{''.join(dots)}{late}", words)


@functools.cache
def composition() -> str:
    """The total loss week after week: added up, and by the best rule."""
    added = [0.1 * week for week in range(1, WEEKS + 1)]
    best = [compose([Pure("1/10")] * week, delta=1e-6).epsilon for week in range(1, WEEKS + 1)]
    dots, names = [], []
    for kind, totals, name, off in (("yes", added, "added up", -14), ("no", best, "best rule", 75)):
        dots += [_dot(60 + 9.5 * w, FLOOR - 58 * total, 0.12 * w, kind) for w, total in enumerate(totals)]
        ends = math.ceil(100 * totals[-1] - 1e-9) / 100
        height = FLOOR - 58 * totals[-1] + off
        names.append(f"<text x='500' y='{height:.0f}' text-anchor='end'>{name}: ε = {ends:.2f}</text>")
    late = f"<g class='late' style='animation-delay:{0.12 * WEEKS:.1f}s'>{''.join(names)}</g>"
    ticks = "".join(f"<text x='48' y='{FLOOR - 58 * e + 5}' text-anchor='end'>{e}</text>" for e in range(6))
    ticks += f"<text x='{60 + 9.5 * 51:.0f}' y='{FLOOR + 20}' text-anchor='middle'>week {WEEKS}</text>"
    words = (
        f"the loss of a release a week, ε = 0.1 each, grows to {added[-1]:.1f} added up and to 3.25 by the best rule"
    )
    return _svg(f"{_floor()}{ticks}{''.join(dots)}{late}", words)


def _across(point: float) -> float:
    return 40 + 16 * (point - 7)


def _floor() -> str:
    return f"<path class='axis' d='M30,{FLOOR} H{WIDTH - 10}'/>"


def _dot(x: float, y: float, delay: float, kind: str = "yes", radius: float = 4.5) -> str:
    style = f"animation-delay:{delay:.2f}s;fill:var(--{kind})"
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' style='{style}'/>"


def _svg(inside: str, words: str) -> str:
    return f"<svg class='moving' role='img' aria-label='{words}' viewBox='0 0 {WIDTH} {HEIGHT}'>{inside}</svg>"


def _still(ax: Axes) -> str:
    return str(ax._repr_mimebundle_()[0]["text/html"]).partition("<style>")[0]


def shares() -> str:
    """How many say yes, by how many cheated."""
    ax = canvas.axes(None)
    ax.plot([0, 1], [1 / 3, 2 / 3], color=canvas.BLUE, linewidth=2.5)
    ax.plot([0, 1], [0, 1], color=canvas.GREY, linestyle=":")
    ax.set(xlabel="share who cheated", ylabel="share who say yes", ylim=(0, 1))
    canvas.percent_ticks(ax)
    return _still(canvas.finish(ax, "A third says yes even if nobody cheated", "a line from 1/3 at none to 2/3 at all"))


def noises() -> str:
    """The noise of a curator and that of all people together, by their number, for a mean at epsilon 1."""
    people, ax = np.geomspace(100, 100_000, 40), canvas.axes(None)
    central = math.sqrt(2) * float(Laplace.for_epsilon(1).scale) / people
    local = [math.sqrt(warner(epsilon=1).variance(0.2, n=1, respondents="fixed") / n) for n in people]
    ax.loglog(people, local, color=canvas.BLUE, linewidth=2.5, label="each person adds noise")
    ax.loglog(people, central, color=canvas.VERMILLION, linestyle="--", linewidth=2.5, label="a curator adds it once")
    ax.set(xlabel="people", ylabel="standard deviation of the noise")
    ax.legend(frameon=False)
    return _still(
        canvas.finish(ax, "What privacy costs, at epsilon 1", "two falling lines, the curator's twice as steep")
    )


def planned() -> str:
    """The surveys of notebook 06: planned to 3 points, and done 4,000 times."""
    rng, ax, (no, yes) = np.random.default_rng(1956), canvas.axes(None), warner(epsilon=1).matrix[:, 1]
    cheated = rng.binomial(4613, 0.2, size=4000)
    said = (rng.binomial(4613 - cheated, no) + rng.binomial(cheated, yes)) / 4613
    estimates = 100 * (said - no) / (yes - no)
    ax.hist(estimates, bins=np.arange(14, 26.5, 0.5), color=canvas.SKY)
    for end in (17, 23):
        ax.axvline(end, color=canvas.VERMILLION, linestyle="--", linewidth=2)
    ax.set(xlabel="estimate, %", ylabel="surveys")
    inside = f"{100 * np.mean(np.abs(estimates - 20) <= 3):.1f} % of 4,000 surveys are within 3 points of 20 %"
    return _still(canvas.finish(ax, inside, f"a heap around 20 %, with lines at 17 and 23 %: {inside}"))


def groups() -> str:
    """The factor on the odds for a group, if one person's is 2."""
    ax = canvas.axes(None)
    bars = ax.bar(range(1, 7), [2**k for k in range(1, 7)], color=canvas.SKY)
    ax.bar_label(bars, color=canvas.INK)
    ax.set(xlabel="people in the group, ε = ln 2 each", ylabel="factor on the odds")
    return _still(canvas.finish(ax, "k people: e to the k ε", "bars of 2, 4, 8, 16, 32, 64"))


def spent() -> str:
    """A ledger after seven weeks, and what it refuses."""
    ax = canvas.axes(None, height=2.4)
    for week in range(10):
        ax.barh(0, 0.1, left=week / 10, color=canvas.BLUE if week < 7 else "white", edgecolor=canvas.INK)
    ax.annotate("7 weeks: 0.7 spent", (0.35, 0.5), ha="center", va="bottom", color=canvas.INK)
    ax.annotate("0.3 left", (0.85, 0.5), ha="center", va="bottom", color=canvas.INK)
    ax.set(xlabel="ε, of a ceiling of 1", yticks=[], ylim=(-0.6, 1))
    return _still(canvas.finish(ax, "After the tenth week every charge is refused", "seven of ten parts are spent"))


def believed(epsilon: float) -> str:
    """What a report says to somebody who believed 10 % before."""
    return _still(show.posterior(warner(epsilon=epsilon), prior=0.1))


PICTURES = {
    "sampling": sampling,
    "composition": composition,
    "shares": shares,
    "noises": noises,
    "planned": planned,
    "groups": groups,
    "spent": spent,
    "believed at 1": functools.partial(believed, 1.0),
    "believed at ln 3": functools.partial(believed, math.log(3)),
}
