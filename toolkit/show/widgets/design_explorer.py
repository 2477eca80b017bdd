"""How private is each person, and how precise is the survey? Warner's design, with a slider for epsilon.

Python computes, the browser looks up. The one step left to the browser is to divide a margin by the root of
the number of respondents, and a test holds it against `Design.variance`.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeAlias

import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.core.inference.special import ndtri
from toolkit.local.design import Design
from toolkit.local.questions import warner
from toolkit.show.canvas import BLUE, GREY, INK, new_figure, percent
from toolkit.show.widgets.explorer import QUESTION, Asked, Between, Explorer, Whole, browser_code, icons, point, say
from toolkit.texts.figures import bound, chance, figure, fill, in_points, short, three_digits

Row: TypeAlias = dict[str, Any]

EPSILONS = tuple(i / 20 for i in range(2, 101))
PREVALENCES = tuple(i / 100 for i in (*range(1, 11), 12, 15, *range(20, 100, 5)))
SIZES = (50, 70, *(lead * 10**power for power in (1, 2, 3) for lead in (10, 15, 20, 30, 50, 70)), 100_000)
DEVICES = (("a die, true on 5–6", "2/3"), ("two coins", "3/4"), ("a die, true on 3–6", "5/6"))
"""Devices people know, and the p of the Warner design that each realizes."""

WORDS = {
    "icons": "Of 100 people whose true answer is yes, on average {yes} report yes and {no} report no.",
    "odds": "One report shifts the odds between yes and no by a factor of {factor} (rounded up), never more.",
    "belief": "An observer who guessed {prior} % before thinks {after_no} % after a “no” and {after_yes} % "
    "after a “yes”.",
    "margin": "95 % margin: ± {margin} points. Asking directly, if nobody lied: ± {direct} points.",
    "people": "To be as precise as {n} direct answers, ask {needed} people: {multiplier} times as many.",
}

_LEAST, _MOST = EPSILONS[0], EPSILONS[-1]  # the ends of the slider, which bound the number box too
_TALLEST = 50  # points; wider margins say nothing, and would flatten the curve
_REACH = float(ndtri(0.975))  # standard errors on each side of a 95 % interval
_DIRECT = Design([[1, 0], [0, 1]], 1, ("no", "yes"), name="direct")


class DesignExplorer(Explorer):
    """How private is each person, and how precise is the survey? Warner's design, with a slider for epsilon.

    Python computes a table from real designs and sends it once; moving a slider needs no kernel. What is set
    in the browser is found again in `epsilon`, `n`, `prevalence` and `design` when the slider is let go.

    Parameters
    ----------
    epsilon : the privacy loss of one report, from 0.1 to 5; small is private.
    n : number of respondents.
    prevalence : a guess of the share of yes, strictly between 0 and 1.
    guess : whether the live widget asks for a prediction before it shows the answer.
    """

    _esm = browser_code("design_explorer.js")
    maker, as_question = "explore_design", QUESTION
    asks = Asked("With this epsilon and so many people: how wide is the 95 % margin, to each side?", "points")

    epsilon = Between(_LEAST, _MOST, "below it a survey is blind, above it bare")
    n = Whole()
    prevalence = Between(0, 1, "at the ends nothing is left to ask", strict=True)
    limits = traitlets.Dict(default_value={"least": _LEAST, "most": _MOST}, read_only=True).tag(sync=True)

    def __init__(self, epsilon: float = 1.0, n: int = 1000, prevalence: float = 0.1, *, guess: bool = False) -> None:
        super().__init__(epsilon=epsilon, n=n, prevalence=prevalence, guess=guess)

    @property
    def design(self) -> Design:
        """The design that is shown now."""
        return warner(epsilon=self.epsilon)

    def truth(self) -> tuple[float, str]:
        column = self.table["prevalences"].index(self.prevalence)
        margin = 100 * self.row["margin"][column] / math.sqrt(self.n)
        return margin, in_points(margin)

    def setting(self) -> str:
        return f"epsilon {self.epsilon:.4g}, {self.n:,} respondents, prevalence {self.prevalence:.4g}"

    def describe(self) -> dict[str, str]:
        """The sentences that are shown now."""
        return reading(self.table, self.row, self.prevalence, self.n)

    def picture(self) -> Figure:
        return _still(self.table, self.row, self.prevalence, self.n)

    @traitlets.observe("epsilon", "prevalence")
    def _compute(self, _change: object) -> None:
        """Send the table where the prevalence is new to it, and the row of the very epsilon that was asked
        for.
        """
        if self.prevalence not in self.table.get("prevalences", ()):
            self.table = explorer_table(sorted({*PREVALENCES, self.prevalence}))
        self.row = table_row(self.epsilon, tuple(self.table["prevalences"]))


def explore_design(
    epsilon: float = 1.0, *, n: int = 1000, prevalence: float = 0.1, guess: bool = False
) -> DesignExplorer:
    """The design explorer in one call; with `guess` it asks for a prediction first.

    >>> explore_design(epsilon=0.7)
    <DesignExplorer: epsilon 0.7, 1,000 respondents, prevalence 0.1>
    """
    return DesignExplorer(epsilon, n, prevalence, guess=guess)


def explorer_table(prevalences: Iterable[float], *, words: dict[str, str] = WORDS) -> dict[str, Any]:
    """The whole table: one row an epsilon, in each row one entry a prevalence."""
    columns = tuple(prevalences)
    devices = {name: warner(p=p) for name, p in DEVICES}
    epsilons = sorted({*EPSILONS, *(design.epsilon for design in devices.values())})
    return {
        "rows": [table_row(epsilon, columns) for epsilon in epsilons],
        "prevalences": list(columns),
        "direct": [short(_REACH * _spread(_DIRECT, x)) for x in columns],
        "sizes": list(SIZES),
        "devices": [{"name": n, "epsilon": d.epsilon, "how": d.devices()[0].instructions} for n, d in devices.items()],
        "words": words,
    }


@lru_cache(maxsize=512)
def table_row(epsilon: float, prevalences: tuple[float, ...]) -> Row:
    """The Warner design of this epsilon in numbers; margins are those of a single respondent.

    >>> row = table_row(1.0, (0.1,))
    >>> round(row["p"], 4), round(row["factor"], 3), row["multiplier"]
    (0.7311, 2.718, [11.2297])
    """
    design = warner(epsilon=epsilon)
    spreads = [_spread(design, x) for x in prevalences]
    beliefs = [design.posterior(x)[1] for x in prevalences]
    return {
        "epsilon": epsilon,
        "p": float(design.matrix[1, 1]),
        "factor": float(design.weights[1, 1] / design.weights[0, 1]),
        "margin": [short(_REACH * spread) for spread in spreads],
        "multiplier": [
            short((spread / _spread(_DIRECT, x)) ** 2) for spread, x in zip(spreads, prevalences, strict=True)
        ],
        "after_no": [short(belief[0]) for belief in beliefs],
        "after_yes": [short(belief[1]) for belief in beliefs],
    }


def reading(table: dict[str, Any], row: Row, prevalence: float, n: int) -> dict[str, str]:
    """The sentences of one setting; the browser fills the same words with the same numbers."""
    column = table["prevalences"].index(prevalence)
    yes = round(100 * row["p"])
    values = {
        "yes": yes,
        "no": 100 - yes,
        "factor": bound(row["factor"]),
        "prior": figure(100 * prevalence, 0),
        "after_no": chance(100 * row["after_no"][column]),
        "after_yes": chance(100 * row["after_yes"][column]),
        "margin": in_points(100 * row["margin"][column] / math.sqrt(n)),
        "direct": in_points(100 * table["direct"][column] / math.sqrt(n)),
        "n": figure(n, 0),
        "needed": figure(three_digits(n * row["multiplier"][column]), 0),
        "multiplier": figure(row["multiplier"][column]),
    }
    return fill(table["words"], values)


def _still(table: dict[str, Any], row: Row, prevalence: float, n: int) -> Figure:
    """Icon array and margins of one setting, with the sentences of the live widget."""
    canvas = new_figure(width=8.2, height=3.9)
    parts = canvas.subplot_mosaic([["people", "margins"], ["people", "words"]], height_ratios=[2.7, 1])
    said = reading(table, row, prevalence, n)
    icons(parts["people"], round(100 * row["p"]))
    say(parts["people"], 5.3, said["icons"], said["odds"], said["belief"])
    _margins(parts["margins"], table, row, table["prevalences"].index(prevalence), n)
    parts["words"].axis("off")
    say(parts["words"], 1, said["margin"], said["people"])
    parts["people"].set_title("How private is each person?", loc="left", fontsize=11)
    parts["margins"].set_title("How precise is the survey?", loc="left", fontsize=11)
    setting = f"epsilon {row['epsilon']:.3g}, {n:,} respondents, {percent(prevalence, 1)} guessed to be yes"
    canvas.suptitle(f"{setting}; run the cell for the sliders", x=0.01, ha="left", fontsize=10, color=GREY)
    return canvas


def _margins(ax: Axes, table: dict[str, Any], row: Row, column: int, n: int) -> None:
    """The margin over epsilon, with the chosen point; dashed: asking directly."""
    points = 100 / math.sqrt(n)
    direct = points * table["direct"][column]
    ax.plot(
        [r["epsilon"] for r in table["rows"]],
        [points * r["margin"][column] for r in table["rows"]],
        color=BLUE,
        linewidth=2.5,
    )
    ax.axhline(direct, color=GREY, linestyle="--", linewidth=1.5)
    ax.text(5, direct + 1, "asking directly", ha="right", va="bottom", color=INK, fontsize=9)
    ax.set(
        ylim=(0, _TALLEST), ylabel="95 % margin, ± points", xlabel="epsilon (left: more private; right: more precise)"
    )
    point(ax, row["epsilon"], points * row["margin"][column])
    ax.spines[["top", "right"]].set_visible(False)


def _spread(design: Design, prevalence: float) -> float:
    return math.sqrt(float(design.variance(prevalence, n=1)))
