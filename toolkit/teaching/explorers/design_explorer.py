"""An explorer of the privacy of each person and the precision of a survey, with Warner's design.

Python computes a table, and the browser looks up its rows. The browser only divides a margin by the square root of the
number of respondents, and a test compares the result with `Design.variance`.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.core.inference.special import ndtri
from toolkit.local.design import Design
from toolkit.local.questions import warner
from toolkit.show.canvas import BLUE, GREY, INK, VERMILLION, percent
from toolkit.show.widgets.explorer import (
    QUESTION,
    BoundedFloat,
    BoundedInt,
    Explorer,
    PredictionQuestion,
    browser_code,
    document_widget,
    draw_icons,
)
from toolkit.texts.figures import (
    fill_templates,
    format_chance,
    format_factor,
    format_margin,
    format_number,
    round_for_browser,
    round_to_three_digits,
)

STATIC = Path(__file__).parent / "static"

Row: TypeAlias = dict[str, Any]

EPSILONS = tuple(i / 20 for i in range(2, 101))
PREVALENCES = tuple(i / 100 for i in (*range(1, 11), 12, 15, *range(20, 100, 5)))
SIZES = (50, 70, *(lead * 10**power for power in (1, 2, 3) for lead in (10, 15, 20, 30, 50, 70)), 100_000)
DEVICES = (("a die, true on 5–6", "2/3"), ("two coins", "3/4"), ("a die, true on 3–6", "5/6"))
"""Familiar devices, with the p of the Warner design that each device realizes."""

SENTENCES = {
    "icons": "Of 100 people whose true answer is yes, on average {yes} report yes and {no} report no.",
    "odds": "One report shifts the odds between yes and no by a factor of {factor} (rounded up), never more.",
    "belief": "A belief of {prior} % in yes becomes {after_no} % after a “no” and {after_yes} % after a “yes”.",
    "margin": "95 % margin: ± {margin} points. With direct questions and honest answers: ± {direct} points.",
    "people": "To be as precise as {n} direct answers, ask {needed} people: {multiplier} times as many.",
}

_MIN_EPSILON, _MAX_EPSILON = EPSILONS[0], EPSILONS[-1]  # the limits of the slider and of the number box
_MAX_MARGIN = 50  # percentage points; wider margins are useless and would flatten the curve
_DIRECT = Design([[1, 0], [0, 1]], 1, ("no", "yes"), name="direct")


class DesignExplorer(Explorer):
    """An explorer of the privacy of each person and the precision of a survey, with Warner's design.

    Python computes a table from designs and sends it once, so that moving a slider needs no kernel. The attributes
    `epsilon`, `n`, `prevalence` and `design` are updated when a slider is released.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy loss of one report, from 0.1 to 5; smaller values give more privacy.
    n : int, default 1000
        Number of respondents.
    prevalence : float, default 0.1
        A guess of the share of yes, strictly between 0 and 1.
    guess : bool, default False
        Whether the live widget asks for a prediction before it shows the answer.

    Examples
    --------
    >>> sliders = DesignExplorer(epsilon=1, n=1000)  # shown in a notebook
    """

    _esm = browser_code(STATIC / "design_explorer.js")
    function_name, question_code = "design", QUESTION
    prediction_question = PredictionQuestion(
        "With this epsilon and so many people: how wide is the 95 % margin, to each side?", "points"
    )

    epsilon = BoundedFloat(_MIN_EPSILON, _MAX_EPSILON, "below it a survey shows nothing, above it it hides nothing")
    n = BoundedInt()
    prevalence = BoundedFloat(0, 1, "at 0 and 1 there is nothing to estimate", strict=True)
    limits = traitlets.Dict(default_value={"least": _MIN_EPSILON, "most": _MAX_EPSILON}, read_only=True).tag(sync=True)

    def __init__(self, epsilon: float = 1.0, n: int = 1000, prevalence: float = 0.1, *, guess: bool = False) -> None:
        super().__init__(epsilon=epsilon, n=n, prevalence=prevalence, guess=guess)

    @property
    def design(self) -> Design:
        """The design of the current setting."""
        return warner(epsilon=self.epsilon)

    def right_answer(self) -> tuple[float, str]:
        margin = 100 * self.row["margin"][self._column] / math.sqrt(self.n)
        return margin, format_margin(margin)

    @property
    def _column(self) -> int:
        return int(self.table["prevalences"].index(self.prevalence))

    def setting_text(self) -> str:
        return f"epsilon {self.epsilon:.4g}, {self.n:,} respondents, prevalence {self.prevalence:.4g}"

    def describe(self) -> dict[str, str]:
        return fill_sentences(self.table, self.row, self.prevalence, self.n)

    def picture(self) -> Figure:
        row = self.row
        titles = {"people": "How private is each person?", "margins": "How precise is the survey?"}
        guess = f"{percent(self.prevalence, 1)} guessed to be yes"
        setting = f"epsilon {row['epsilon']:.3g}, {self.n:,} respondents, {guess}"
        canvas, panels = self._new_panels(
            3.9, setting, [["people", "margins"], ["people", "words"]], [2.7, 1], **titles
        )
        draw_icons(panels["people"], round(100 * row["p"]))
        _draw_margins(panels["margins"], self.table, row, self._column, self.n)
        self._write_sentences(panels, people=("icons", "odds", "belief"), words=("margin", "people"))
        return canvas

    @traitlets.observe("epsilon", "prevalence")
    def _update_row(self, _change: object) -> None:
        """Send the row of the current epsilon, and a new table if the table lacks the current prevalence."""
        if self.prevalence not in self.table.get("prevalences", ()):
            self.table = explorer_table(sorted({*PREVALENCES, self.prevalence}))
        self.row = table_row(self.epsilon, tuple(self.table["prevalences"]))


@document_widget(DesignExplorer)
def design(epsilon: float = 1.0, *, n: int = 1000, prevalence: float = 0.1, guess: bool = False) -> DesignExplorer:
    """Explore the privacy of each person and the precision of the survey.

    Examples
    --------
    >>> from toolkit.teaching import explorers
    >>> explorers.design(epsilon=0.7)
    <DesignExplorer: epsilon 0.7, 1,000 respondents, prevalence 0.1>
    """
    return DesignExplorer(epsilon, n, prevalence, guess=guess)


def explorer_table(prevalences: Iterable[float], *, templates: dict[str, str] = SENTENCES) -> dict[str, Any]:
    """Return the whole table; it has a row for each epsilon, and each row has an entry for each prevalence."""
    columns, z = tuple(prevalences), float(ndtri(0.975))
    devices = {name: warner(p=p) for name, p in DEVICES}
    epsilons = sorted({*EPSILONS, *(design.epsilon for design in devices.values())})
    return {
        "rows": [table_row(epsilon, columns) for epsilon in epsilons],
        "prevalences": list(columns),
        "direct": [round_for_browser(z * _sd(_DIRECT, x)) for x in columns],
        "sizes": list(SIZES),
        "devices": [{"name": n, "epsilon": d.epsilon, "how": d.devices()[0].instructions} for n, d in devices.items()],
        "words": templates,
    }


@lru_cache(maxsize=512)
def table_row(epsilon: float, prevalences: tuple[float, ...]) -> Row:
    """Return the row of Warner's design with this epsilon; its margins are for one respondent."""
    design, z = warner(epsilon=epsilon), float(ndtri(0.975))
    sds = [_sd(design, x) for x in prevalences]
    beliefs = [design.posterior(x)[1] for x in prevalences]
    return {
        "epsilon": epsilon,
        "p": float(design.matrix[1, 1]),
        "factor": float(design.weights[1, 1] / design.weights[0, 1]),
        "margin": [round_for_browser(z * sd) for sd in sds],
        "multiplier": [round_for_browser((s / _sd(_DIRECT, x)) ** 2) for s, x in zip(sds, prevalences, strict=True)],
        "after_no": [round_for_browser(belief[0]) for belief in beliefs],
        "after_yes": [round_for_browser(belief[1]) for belief in beliefs],
    }


def fill_sentences(table: dict[str, Any], row: Row, prevalence: float, n: int) -> dict[str, str]:
    """Return the sentences of one setting; the browser fills the same templates with the same numbers."""
    column = table["prevalences"].index(prevalence)
    yes = round(100 * row["p"])
    values = {
        "yes": yes,
        "no": 100 - yes,
        "factor": format_factor(row["factor"]),
        "prior": format_chance(100 * prevalence),
        "after_no": format_chance(100 * row["after_no"][column]),
        "after_yes": format_chance(100 * row["after_yes"][column]),
        "margin": format_margin(100 * row["margin"][column] / math.sqrt(n)),
        "direct": format_margin(100 * table["direct"][column] / math.sqrt(n)),
        "n": format_number(n, 0),
        "needed": format_number(round_to_three_digits(n * row["multiplier"][column]), 0),
        "multiplier": format_number(row["multiplier"][column]),
    }
    return fill_templates(table["words"], values)


def _draw_margins(ax: Axes, table: dict[str, Any], row: Row, column: int, n: int) -> None:
    """Draw the margin against epsilon with the current setting as a point, and asking directly as a dashed line."""
    points = 100 / math.sqrt(n)
    direct = points * table["direct"][column]
    margins = [points * row_of_epsilon["margin"][column] for row_of_epsilon in table["rows"]]
    ax.plot([row_of_epsilon["epsilon"] for row_of_epsilon in table["rows"]], margins, color=BLUE, linewidth=2.5)
    ax.axhline(direct, color=GREY, linestyle="--", linewidth=1.5)
    ax.text(5, direct + 1, "asking directly", ha="right", va="bottom", color=INK, fontsize=9)
    ax.set(ylim=(0, _MAX_MARGIN), ylabel="95 % margin, ± points")
    ax.set_xlabel("epsilon (left: more private; right: more precise)")
    draw_setting(ax, row["epsilon"], points * row["margin"][column])
    ax.spines[["top", "right"]].set_visible(False)


def draw_setting(ax: Axes, x: float, y: float) -> None:
    """Draw the current setting as a point, hollow at the upper edge if it lies above the limits of the axis."""
    top = ax.get_ylim()[1]
    if y <= top:
        ax.plot([x], [y], "o", color=VERMILLION, markersize=9)
        return
    ax.plot([x], [top], "o", markeredgecolor=VERMILLION, markerfacecolor="none", markersize=9, clip_on=False)
    ax.text(x, 0.93 * top, "  ↑ off the axis", va="top", fontsize=9, color=INK)


def _sd(design: Design, prevalence: float) -> float:
    return math.sqrt(float(design.variance(prevalence, n=1)))
