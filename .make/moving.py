"""Draw the pictures that only slides use: two animations (estimates that pile up, losses that add up), and still ones.

An animation is an SVG whose parts appear one after the other; it uses only the style sheet, and begins when its slide
is shown. Readers who have asked their system for less motion, and readers of the printed slides, see the last frame.
The toolkit computes the numbers.
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
def draw_sampling() -> str:
    """Animate the estimates of 1,000 surveys, one dot each, under the curve that the theory predicts."""
    design, rng = warner(p="2/3"), np.random.default_rng(1965)
    values = [design.estimate(design.randomize(rng.random(PEOPLE) < SHARE, rng=rng)).value for _ in range(SURVEYS)]
    piles: dict[float, int] = {}
    dots = []
    # Estimates are a quarter of a point apart: one more yes among 1,200 reports changes an estimate by 3 / 1,200.
    for index, value in enumerate(values):
        piles[value] = piles.get(value, 0) + 1
        dots.append(_dot(_x_of(100 * value), FLOOR - 11 * piles[value] + 5, 0.01 * index, radius=1.9))
    spread = 100 * math.sqrt(design.variance(SHARE, n=PEOPLE))
    curve = [
        (x / 4, 11 / 4 * SURVEYS * math.exp(-((x / 4 - 25) ** 2) / 2 / spread**2) / spread / math.sqrt(2 * math.pi))
        for x in range(28, 172)
    ]
    path = "M" + " L".join(f"{_x_of(x):.1f},{FLOOR - height:.1f}" for x, height in curve)
    ticks = "".join(f"<text x='{_x_of(x)}' y='{FLOOR + 20}' text-anchor='middle'>{x} %</text>" for x in (10, 25, 40))
    mean = f"mean of {SURVEYS:,} surveys: {100 * float(np.mean(values)):.1f} %"
    late = f"<g class='late' style='animation-delay:{0.01 * SURVEYS:.1f}s'><path class='axis' d='{path}'/>"
    late += f"<text x='20' y='30'>{mean}</text></g>"
    words = f"{SURVEYS:,} surveys pile up around {SHARE:.0%}, as wide as the theory says; {mean}"
    return _svg(f"{_axis_line()}{ticks}{''.join(dots)}{late}", words)


@functools.cache
def draw_composition() -> str:
    """Animate the total loss week by week: added up, and by the best rule."""
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
    return _svg(f"{_axis_line()}{ticks}{''.join(dots)}{late}", words)


def _x_of(point: float) -> float:
    return 40 + 16 * (point - 7)


def _axis_line() -> str:
    return f"<path class='axis' d='M30,{FLOOR} H{WIDTH - 10}'/>"


def _dot(x: float, y: float, delay: float, kind: str = "yes", radius: float = 4.5) -> str:
    style = f"animation-delay:{delay:.2f}s;fill:var(--{kind})"
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' style='{style}'/>"


def _svg(content: str, words: str) -> str:
    return f"<svg class='moving' role='img' aria-label='{words}' viewBox='0 0 {WIDTH} {HEIGHT}'>{content}</svg>"


def _image_html(ax: Axes) -> str:
    return str(ax._repr_mimebundle_()[0]["text/html"]).partition("<style>")[0]


def draw_shares() -> str:
    """Plot the share of people who say yes against the share who cheated."""
    ax = canvas.axes(None)
    ax.plot([0, 1], [1 / 3, 2 / 3], color=canvas.BLUE, linewidth=2.5)
    ax.plot([0, 1], [0, 1], color=canvas.GREY, linestyle=":")
    ax.set(xlabel="share who cheated", ylabel="share who say yes", ylim=(0, 1))
    canvas.percent_ticks(ax)
    return _image_html(
        canvas.finish(ax, "A third says yes even if nobody cheated", "a line from 1/3 at none to 2/3 at all")
    )


def draw_noise() -> str:
    """Plot the noise in a mean at epsilon 1, added by a curator or by each person, against the number of people."""
    people, ax = np.geomspace(100, 100_000, 40), canvas.axes(None)
    central = math.sqrt(2) * float(Laplace.for_epsilon(1).scale) / people
    local = [math.sqrt(warner(epsilon=1).variance(0.2, n=1, respondents="fixed") / n) for n in people]
    ax.loglog(people, local, color=canvas.BLUE, linewidth=2.5, label="each person adds noise")
    ax.loglog(people, central, color=canvas.VERMILLION, linestyle="--", linewidth=2.5, label="a curator adds it once")
    ax.set(xlabel="people", ylabel="standard deviation of the noise")
    ax.legend(frameon=False)
    return _image_html(
        canvas.finish(ax, "What privacy costs, at epsilon 1", "two falling lines, the curator's twice as steep")
    )


def draw_planned_surveys() -> str:
    """Plot the estimates of 4,000 simulated surveys that were planned for a margin of 3 points, as in notebook 06."""
    rng, ax, (no, yes) = np.random.default_rng(1956), canvas.axes(None), warner(epsilon=1).matrix[:, 1]
    cheated = rng.binomial(4613, 0.2, size=4000)
    said = (rng.binomial(4613 - cheated, no) + rng.binomial(cheated, yes)) / 4613
    estimates = 100 * (said - no) / (yes - no)
    ax.hist(estimates, bins=np.arange(14, 26.5, 0.5), color=canvas.SKY)
    for end in (17, 23):
        ax.axvline(end, color=canvas.VERMILLION, linestyle="--", linewidth=2)
    ax.set(xlabel="estimate, %", ylabel="surveys")
    content = f"{100 * np.mean(np.abs(estimates - 20) <= 3):.1f} % of 4,000 surveys are within 3 points of 20 %"
    return _image_html(canvas.finish(ax, content, f"a heap around 20 %, with lines at 17 and 23 %: {content}"))


def draw_group_factors() -> str:
    """Plot the factor by which the odds of a group may change, if the factor for one person is 2."""
    ax = canvas.axes(None)
    bars = ax.bar(range(1, 7), [2**k for k in range(1, 7)], color=canvas.SKY)
    ax.bar_label(bars, color=canvas.INK)
    ax.set(xlabel="people in the group, ε = ln 2 each", ylabel="factor on the odds")
    return _image_html(canvas.finish(ax, "k people: e to the k ε", "bars of 2, 4, 8, 16, 32, 64"))


def draw_ledger() -> str:
    """Draw a ledger after seven weekly charges of 0.1."""
    ax = canvas.axes(None, height=2.4)
    for week in range(10):
        ax.barh(0, 0.1, left=week / 10, color=canvas.BLUE if week < 7 else "white", edgecolor=canvas.INK)
    ax.annotate("7 weeks: 0.7 spent", (0.35, 0.5), ha="center", va="bottom", color=canvas.INK)
    ax.annotate("0.3 left", (0.85, 0.5), ha="center", va="bottom", color=canvas.INK)
    ax.set(xlabel="ε, of a ceiling of 1", yticks=[], ylim=(-0.6, 1))
    return _image_html(
        canvas.finish(ax, "After the tenth week every charge is refused", "seven of ten parts are spent")
    )


def draw_belief(epsilon: float) -> str:
    """Plot the belief after a report, for an observer who believed 10 % before."""
    return _image_html(show.posterior(warner(epsilon=epsilon), prior=0.1))


PICTURES = {
    "sampling": draw_sampling,
    "composition": draw_composition,
    "shares": draw_shares,
    "noises": draw_noise,
    "planned": draw_planned_surveys,
    "groups": draw_group_factors,
    "spent": draw_ledger,
    "believed at 1": functools.partial(draw_belief, 1.0),
    "believed at ln 3": functools.partial(draw_belief, math.log(3)),
}
