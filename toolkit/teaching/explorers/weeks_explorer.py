"""An explorer of the errors of totals that are published every week, by method, for a fixed total loss."""

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import traitlets
from matplotlib.figure import Figure

from toolkit.central.stream import SquareRoot, Tree
from toolkit.central.stream.calibration import best_factorization
from toolkit.central.stream.trees import binary_tree
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.show.canvas import BLUE, VERMILLION
from toolkit.show.widgets.explorer import (
    BoundedFloat,
    BoundedInt,
    Explorer,
    PredictionQuestion,
    browser_code,
    document_widget,
    draw_bars,
)
from toolkit.texts.figures import fill_templates, format_number, round_for_browser

STATIC = Path(__file__).parent / "static"

SENTENCES = {
    "errors": "A total is published after each of {weeks} weeks, with ε\u00a0=\u00a0{epsilon} for all of them "
    "together. The largest standard deviation is {share} if ε is divided among the totals, {fresh} with fresh "
    "noise every week, {binary} with a binary tree, and {tree} with the best tree.",
    "root": "With Gaussian noise and the square root of the matrix of totals, it is {root}; ε then holds with "
    "a δ of one in a million.",
    "weeks": "The standard deviation after every week: dashed for fresh noise, solid for the best tree. A "
    "total is the sum of up to {nodes} noisy numbers with the tree, and of up to {weeks} with fresh noise.",
    "level": "The guarantee covers one record in one week. All records of a person who is counted in every "
    "week have at most ε\u00a0=\u00a0{group} together.",
}
NAMES = ("share of ε each", "fresh noise", "binary tree", "best tree", "square root, δ")
WEEKS = (4, 8, 13, 26, 39, 52, 78, 104, 156, 208, 260, 365, 520)
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
DELTA = 1e-6
_N_POINTS = 40


class WeeksExplorer(Explorer):
    """An explorer of the errors of totals that are published every week, by method, for a fixed total loss.

    The privacy loss is for one record in one week, under "add_remove". The attributes `weeks`, `epsilon` and `errors`
    follow the sliders.

    Parameters
    ----------
    weeks : int, default 52
        Number of published totals, from 1 to 520.
    epsilon : float, default 1.0
        Privacy loss of all totals together, from 0.1 to 4; smaller values give more privacy.
    guess : bool, default False
        Whether the live widget asks for a prediction before it shows the answer.

    Examples
    --------
    >>> sliders = WeeksExplorer(weeks=52, epsilon=1)  # shown in a notebook
    """

    _esm = browser_code(STATIC / "weeks_explorer.js")
    function_name = "weeks"
    prediction_question = PredictionQuestion(
        "With a binary tree, what is the largest standard deviation of a total?", "records"
    )

    weeks = BoundedInt(1, WEEKS[-1])
    epsilon = BoundedFloat(EPSILONS[0], EPSILONS[-1], "below it noise drowns the totals, above it little is hidden")

    def __init__(self, weeks: int = 52, epsilon: float = 1.0, *, guess: bool = False) -> None:
        super().__init__(table=weeks_table(), weeks=weeks, epsilon=epsilon, guess=guess)

    @property
    def errors(self) -> dict[str, float]:
        """The largest standard deviation of a total, by method."""
        return dict(zip(NAMES, self.row["errors"], strict=True))

    def right_answer(self) -> tuple[float, str]:
        return self.row["errors"][2], format_number(self.row["errors"][2])

    def setting_text(self) -> str:
        return f"{self.weeks} weeks, epsilon {self.epsilon:.4g} in all"

    def describe(self) -> dict[str, str]:
        return fill_sentences(self.table["words"], self.row)

    def picture(self) -> Figure:
        row, errors = self.row, dict(list(self.errors.items())[1:])  # the first error is much larger than the others
        titles = {"bars": "How far off, at most?", "weeks": "And after every week?"}
        setting = f"{row['weeks']} weeks, epsilon {row['epsilon']:.3g} in all"
        canvas, panels = self._new_panels(4.6, setting, [["bars", "weeks"], ["left", "right"]], [1.1, 1], **titles)
        largest = max(errors.values())
        draw_bars(panels["bars"], errors, BLUE, None, gap=0.02 * largest, x_max=1.2 * largest)
        ax = panels["weeks"]
        for curve, colour, dash, name in zip(row["curves"], (VERMILLION, BLUE), ("--", "-"), NAMES[1:4:2], strict=True):
            ax.plot(row["places"], curve, color=colour, linestyle=dash, linewidth=2, label=name)
        ax.set(xlabel="week", ylim=(0, None))
        ax.legend(frameon=False, fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
        self._write_sentences(panels, 46, left=("errors", "root"), right=("weeks", "level"))
        return canvas

    @traitlets.observe("weeks", "epsilon")
    def _update_row(self, _change: object) -> None:
        self.row = weeks_row(self.weeks, self.epsilon)


@document_widget(WeeksExplorer)
def weeks(weeks: int = 52, *, epsilon: float = 1.0, guess: bool = False) -> WeeksExplorer:
    """Explore the errors of totals that are published every week.

    Examples
    --------
    >>> from toolkit.teaching import explorers
    >>> explorers.weeks(365, epsilon=0.5)
    <WeeksExplorer: 365 weeks, epsilon 0.5 in all>
    """
    return WeeksExplorer(weeks, epsilon, guess=guess)


@lru_cache(maxsize=1)
def weeks_table() -> dict[str, Any]:
    """Return the rows by number of weeks and epsilon."""
    rows = [[weeks_row(weeks, epsilon) for epsilon in EPSILONS] for weeks in WEEKS]
    return {"weeks": list(WEEKS), "epsilons": list(EPSILONS), "rows": rows, "words": SENTENCES}


@lru_cache(maxsize=1024)
def weeks_row(weeks: int, epsilon: float) -> dict[str, Any]:
    """Return the largest errors of the five methods, and the errors of two of them after each week."""
    unit, tree = math.sqrt(2) / epsilon, best_factorization(Pure(1), weeks)
    trees = (Tree(weeks), binary_tree(weeks), tree)
    pure = [
        (weeks, np.ones(1)),
        *((float(factorization.l1_sensitivity()), factorization.error_factors) for factorization in trees),
    ]
    errors = [unit * sensitivity * float(np.max(spread)) for sensitivity, spread in pure]
    errors.append(float(_square_root_errors(weeks).max()) / math.sqrt(2 * _rho(epsilon)))
    positions = np.unique(np.round(np.linspace(1, weeks, min(weeks, _N_POINTS))).astype(int))
    curves = [
        unit * float(factorization.l1_sensitivity()) * factorization.error_factors[positions - 1]
        for factorization in (trees[0], tree)
    ]
    return {
        "weeks": weeks,
        "epsilon": epsilon,
        "errors": [round_for_browser(size) for size in errors],
        "nodes": int(tree.error_factors.max() ** 2 + 0.5),
        "places": positions.tolist(),
        "curves": [[round_for_browser(size) for size in curve] for curve in curves],
    }


@lru_cache(maxsize=64)
def _square_root_errors(weeks: int) -> Any:
    return SquareRoot(weeks).error_factors


@lru_cache(maxsize=64)
def _rho(epsilon: float) -> float:
    return Zcdp.within(Approx(epsilon, DELTA)).rho


def fill_sentences(templates: dict[str, str], row: dict[str, Any]) -> dict[str, str]:
    """Return the sentences of one setting; the browser fills the same templates with the same numbers."""
    values = {
        **dict(zip(("share", "fresh", "binary", "tree", "root"), map(format_number, row["errors"]), strict=True)),
        "weeks": format_number(row["weeks"], 0),
        "epsilon": f"{row['epsilon']:.4g}",
        "nodes": format_number(row["nodes"], 0),
        "group": format_number(row["weeks"] * row["epsilon"]),
    }
    return fill_templates(templates, values)
