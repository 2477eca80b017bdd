"""An explorer of precision and sample size under four trust models: direct, curator, shuffler and local.

A table holds all margins, computed by the functions of `plan(...).trust_models()`; the browser looks them up.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from toolkit.core.checks import reject
from toolkit.core.inference.special import ndtri
from toolkit.local.questions import warner
from toolkit.planning.accuracy import PlanInputs
from toolkit.planning.planner import Plan, plan
from toolkit.planning.trust_models import CuratorAccuracy
from toolkit.show.canvas import BLUE, GREY, INK, ORANGE, VERMILLION, name_rows
from toolkit.show.widgets.explorer import (
    QUESTION,
    BoundedFloat,
    BoundedInt,
    Explorer,
    PredictionQuestion,
    browser_code,
    document_widget,
)
from toolkit.texts.figures import fill_templates, format_margin, format_number, round_for_browser, round_to_three_digits

STATIC = Path(__file__).parent / "static"

# Computing the numbers on the grid takes minutes, so they are stored in `static/ways.json`.
#
# They come from `plan(...).trust_models()`, and a test recomputes some of them. To update the file after a change to
# `toolkit.local.shuffling.amplification`, run `python -m toolkit.teaching.explorers tradeoff_explorer`.

TRUST_MODELS = ("direct", "central", "shuffled", "local")
DELTA = 1e-6
EPSILONS = (0.1, 0.15, 0.2, *(i / 10 for i in (*range(3, 11), *range(12, 20, 2), *range(20, 51, 5))))
SIZES = (*(lead * 10**power for power in (2, 3, 4) for lead in (1, 2, 3, 5, 7)), 100_000)
PREVALENCES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
GOALS = (0.01, 0.02, 0.03, 0.05, 0.1)
FILE = STATIC / "ways.json"


def local_epsilon(epsilon: float, n: int) -> float:
    """Return the local epsilon at which n shuffled reports have the loss (epsilon, delta)."""
    models = plan(warner, prevalence=0.5, epsilon=epsilon, n=n).trust_models(DELTA)
    return next(model.local_epsilon for model in models if model.name == "shuffled")


def people_needed(epsilon: float, prevalence: float, goal: float) -> dict[str, float]:
    """Return the number of people needed for a margin of `goal` under each trust model."""
    models = plan(warner, prevalence=prevalence, epsilon=epsilon, margin=goal).trust_models(DELTA)
    return {model.name: model.n_needed for model in models}


def stored_numbers() -> dict[str, Any]:
    """Return the stored numbers `local[epsilon][n]` and `needed[model][epsilon][prevalence][goal]`."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def compute_grid() -> dict[str, Any]:
    """Compute the numbers of the whole grid, in the form of `stored_numbers`."""
    people = [[[people_needed(epsilon, x, goal) for goal in GOALS] for x in PREVALENCES] for epsilon in EPSILONS]
    return {
        "local": [[local_epsilon(epsilon, n) for n in SIZES] for epsilon in EPSILONS],
        "needed": {
            model: [[[needed[model] for needed in cells] for cells in row] for row in people] for model in TRUST_MODELS
        },
    }


NAMES = {"direct": "directly", "central": "curator", "shuffled": "shuffled", "local": "locally"}
SENTENCES = {
    "margins": "95 % margins, ± points: directly {direct}; with a curator {central}; shuffled {shuffled}; "
    "locally {local}.",
    "trust": "Whom people must trust: locally, only their phone and its page, or their own die; shuffled, "
    "whoever mixes the reports (a report by itself has ε\u00a0=\u00a0{alone}); with a curator, the curator, who "
    "sees every answer.",
    "needed": "For ±\u00a0{goal} points, ask {direct_n} people directly, {central_n} with a curator, "
    "{shuffled_n} shuffled or {local_n} locally.",
    "order": "Where ε is small, half of it requires about four times as many people locally; a curator's noise "
    "matters less, the more people answer.",
}
_STYLES = {"local": (VERMILLION, "-"), "shuffled": (ORANGE, "--"), "central": (BLUE, "-."), "direct": (GREY, ":")}
_MIN_EPSILON, _MAX_EPSILON = EPSILONS[0], EPSILONS[-1]
_N_OUTCOMES = 40


class TradeoffExplorer(Explorer):
    """An explorer of precision and sample size under four trust models: direct, curator, shuffler and local.

    The question is a yes/no question with Warner's design; delta is 1e-6 for the shuffled reports. The attributes
    `epsilon`, `n`, `prevalence`, `margin` and `plan` follow the sliders.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy loss of one person, from 0.1 to 5; smaller values give more privacy.
    n : int, default 1000
        Number of respondents, from 100 to 100,000.
    prevalence : {0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5}
        A guess of the share of yes.
    margin : {0.01, 0.02, 0.03, 0.05, 0.1}
        The margin to plan for.
    guess : bool, default False
        Whether the live widget asks for a prediction before it shows the answer.

    Examples
    --------
    >>> sliders = TradeoffExplorer(epsilon=1, n=1000)  # shown in a notebook
    """

    _esm = browser_code(STATIC / "tradeoff_explorer.js")
    function_name, question_code = "tradeoff", QUESTION
    prediction_question = PredictionQuestion(
        "For the wanted margin: how many people must be asked locally, each with their own noise?", "people"
    )

    epsilon = BoundedFloat(_MIN_EPSILON, _MAX_EPSILON, "below it a survey shows nothing, above it it hides nothing")
    n = BoundedInt(SIZES[0], SIZES[-1])
    prevalence = BoundedFloat(0, 1, "it is a share", strict=True)
    margin = BoundedFloat(0, 1, "it is a share", strict=True)

    def __init__(
        self, epsilon: float = 1.0, n: int = 1000, prevalence: float = 0.1, margin: float = 0.03, *, guess: bool = False
    ) -> None:
        settings = {"epsilon": epsilon, "n": n, "prevalence": prevalence, "margin": margin}
        super().__init__(table=tradeoff_table(), guess=guess, **settings)

    @property
    def plan(self) -> Plan:
        """The plan of the current setting; `plan.compare()` has all its numbers."""
        return plan(warner, prevalence=self.prevalence, epsilon=self.epsilon, n=self.n)

    def right_answer(self) -> tuple[float, str]:
        needed = round_to_three_digits(self.row["needed"]["local"])
        return needed, format_number(needed, 0)

    def setting_text(self) -> str:
        guess = f"prevalence {self.prevalence:.4g}, margin {self.margin:.4g}"
        return f"epsilon {self.epsilon:.4g}, {self.n:,} respondents, {guess}"

    def describe(self) -> dict[str, str]:
        return fill_sentences(self.table["words"], self.row)

    def picture(self) -> Figure:
        titles = {"bars": "How precise are these people?", "curves": "How many people are needed?"}
        guess = f"{100 * self.prevalence:.0f} % guessed to be yes"
        setting = f"epsilon {self.epsilon:.3g}, {self.n:,} respondents, {guess}"
        canvas, panels = self._new_panels(4.2, setting, [["bars", "curves"], ["left", "right"]], [1.7, 1], **titles)
        _draw_intervals(panels["bars"], self.row)
        _draw_margins(panels["curves"], self.table, self.row)
        self._write_sentences(panels, 46, left=("margins", "trust"), right=("needed", "order"))
        return canvas

    @traitlets.validate("prevalence", "margin")
    def _check(self, proposal: dict[str, Any]) -> float:
        name, value = proposal["trait"].name, float(proposal["value"])
        allowed = PREVALENCES if name == "prevalence" else GOALS
        if value not in allowed:
            rule = f"`{name}` must be one of {', '.join(map(str, allowed))}"
            reject(rule, value, "use `plan` for other values")
        return value

    @traitlets.observe("epsilon", "n", "prevalence", "margin")
    def _update_row(self, _change: object) -> None:
        self.row = tradeoff_row(self.epsilon, self.n, self.prevalence, self.margin)


@document_widget(TradeoffExplorer)
def tradeoff(
    epsilon: float = 1.0, *, n: int = 1000, prevalence: float = 0.1, margin: float = 0.03, guess: bool = False
) -> TradeoffExplorer:
    """Explore privacy, precision and the number of people.

    Examples
    --------
    >>> from toolkit.teaching import explorers
    >>> explorers.tradeoff(0.5, n=2000)
    <TradeoffExplorer: epsilon 0.5, 2,000 respondents, prevalence 0.1, margin 0.03>
    """
    return TradeoffExplorer(epsilon, n, prevalence, margin, guess=guess)


@lru_cache(maxsize=1)
def tradeoff_table() -> dict[str, Any]:
    """Return the margins and the numbers of people for each trust model and each point of the grid."""
    file = stored_numbers()
    grid = [
        [_margins(epsilon, x, row) for x in PREVALENCES] for epsilon, row in zip(EPSILONS, file["local"], strict=True)
    ]
    document_figure = np.random.default_rng(6).standard_normal((_N_OUTCOMES, len(TRUST_MODELS))) / float(ndtri(0.975))
    return {
        "epsilons": list(EPSILONS),
        "sizes": list(SIZES),
        "prevalences": list(PREVALENCES),
        "goals": list(GOALS),
        "margins": {
            model: [[[round_for_browser(m) for m in cell[model]] for cell in row] for row in grid]
            for model in TRUST_MODELS
        },
        "needed": file["needed"],
        "alone": [[round_for_browser(local) for local in row] for row in file["local"]],
        "outcomes": [[round(float(z), 4) for z in draw] for draw in document_figure],
        "ways": NAMES,
        "words": SENTENCES,
    }


def _margins(epsilon: float, prevalence: float, local_epsilons: list[float]) -> dict[str, list[float]]:
    """Return the margins of each trust model, one for each number of people."""
    local = PlanInputs(warner, prevalence, 0.95).accuracy(epsilon)
    return {
        "direct": local.without_noise().margin(np.array(SIZES)).tolist(),
        "central": CuratorAccuracy(local.without_noise(), 1 / epsilon).margin(np.array(SIZES)).tolist(),
        "shuffled": [
            local.with_noise(_noise_variance(alone)).margin(n) for n, alone in zip(SIZES, local_epsilons, strict=True)
        ],
        "local": local.margin(np.array(SIZES)).tolist(),
    }


@lru_cache(maxsize=1024)
def _noise_variance(epsilon: float) -> float:
    """Return the variance that Warner's design adds to one report, which is the same for every prevalence."""
    return float(PlanInputs(warner, 0.5, 0.95).accuracy(epsilon).at_guess.noise[0])


@lru_cache(maxsize=256)
def tradeoff_row(epsilon: float, n: int, prevalence: float, margin: float) -> dict[str, Any]:
    """Return the row of one setting: from the table if the table has it, otherwise from two plans."""
    row = {"epsilon": epsilon, "n": n, "prevalence": prevalence, "goal": margin}
    if epsilon in EPSILONS and n in SIZES:
        table = tradeoff_table()
        i, j, k, goal = EPSILONS.index(epsilon), PREVALENCES.index(prevalence), SIZES.index(n), GOALS.index(margin)
        margins = {model: table["margins"][model][i][j][k] for model in TRUST_MODELS}
        needed = {model: table["needed"][model][i][j][goal] for model in TRUST_MODELS}
        return {**row, "margins": margins, "needed": needed, "alone": table["alone"][i][k]}
    models = {
        model.name: model for model in plan(warner, prevalence=prevalence, epsilon=epsilon, n=n).trust_models(DELTA)
    }
    return {
        **row,
        "margins": {name: round_for_browser(model.margin) for name, model in models.items()},
        "needed": people_needed(epsilon, prevalence, margin),
        "alone": round_for_browser(models["shuffled"].local_epsilon),
    }


def fill_sentences(templates: dict[str, str], row: dict[str, Any]) -> dict[str, str]:
    """Return the sentences of one setting; the browser fills the same templates with the same numbers."""
    values = {
        **{model: format_margin(100 * row["margins"][model]) for model in TRUST_MODELS},
        **{f"{model}_n": format_number(round_to_three_digits(row["needed"][model]), 0) for model in TRUST_MODELS},
        "alone": format_number(row["alone"]),
        "goal": format_number(100 * row["goal"], 0),
    }
    return fill_templates(templates, values)


def _draw_intervals(ax: Axes, row: dict[str, Any]) -> None:
    for row_index, model in enumerate(TRUST_MODELS):
        margin = min(100 * row["margins"][model], 100)
        ax.barh(row_index, 2 * margin, left=-margin, height=0.5, color=_STYLES[model][0])
    ax.axvline(0, color=INK, linestyle="--", linewidth=1.2)
    name_rows(ax, [NAMES[model] for model in TRUST_MODELS])
    widest = 112 * min(max(row["margins"].values()), 1)
    ax.set(xlim=(-widest, widest), xlabel="95 % interval: points from the truth")
    ax.spines[["top", "right", "left"]].set_visible(False)


def _draw_margins(ax: Axes, table: dict[str, Any], row: dict[str, Any]) -> None:
    nearest = min(range(len(EPSILONS)), key=lambda i: abs(EPSILONS[i] - row["epsilon"]))
    for model in TRUST_MODELS:
        colour, dash = _STYLES[model]
        curve = [100 * margin for margin in table["margins"][model][nearest][PREVALENCES.index(row["prevalence"])]]
        ax.plot(SIZES, curve, color=colour, linestyle=dash, linewidth=2.5, label=NAMES[model])
        ax.plot([row["n"]], [100 * row["margins"][model]], "o", color=colour, markersize=6)
    ax.axhline(100 * row["goal"], color=INK, linewidth=1)
    ax.set(xscale="log", yscale="log", xlabel="respondents", ylabel="95 % margin, ± points")
    ax.set_ylim(min(0.15, 80 * min(row["margins"].values())), 100)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.legend(frameon=False, fontsize=8.5, loc="upper right")
    ax.spines[["top", "right"]].set_visible(False)
