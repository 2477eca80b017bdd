"""An explorer of the accuracy of private classifiers, by number of people, epsilon and penalty.

All people are simulated, because accuracies on real data would be releases.
"""

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import traitlets
from matplotlib.figure import Figure

from toolkit.core.arrays import Array, Mask
from toolkit.show.canvas import BLUE, GREY, VERMILLION
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

# Computing the accuracies of private classifiers takes a long time, so they are stored in `static/learned.json`.
#
# Simulated people give twenty yes/no answers, which are evidence for or against an illness. To update the file after a
# change to `toolkit.learning`, run `python -m toolkit.teaching.explorers learning_explorer`. A test recomputes some of
# the accuracies.

PEOPLE = (250, 500, 1000, 2000, 5000, 10_000, 20_000)
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
METHODS = ("objective", "output")
N_COLUMNS = 20
N_FITS = 10
FILE = STATIC / "learned.json"

_SEED, _N_TEST_PEOPLE = 2011, 10_000
_SHARES = np.linspace(0.1, 0.5, N_COLUMNS)
_WEIGHTS = np.random.default_rng(_SEED).permutation(np.linspace(-3, 3, N_COLUMNS))


@lru_cache(maxsize=16)
def simulated_people(n: int, group: int = 0) -> tuple[Array, Mask]:
    """Return the simulated answers of n people, and whether each of them is ill."""
    rng = np.random.default_rng([_SEED, n, group])
    rows = (rng.random((n, N_COLUMNS)) < _SHARES).astype(float)
    return rows, rng.random(n) < 1 / (1 + np.exp(-(rows - _SHARES) @ _WEIGHTS))


def test_people() -> tuple[Array, Mask]:
    """Return the simulated people of the test set."""
    return simulated_people(_N_TEST_PEOPLE, 1)


def accuracy(method: str, people: int, epsilon: float, strength: float) -> float:
    """Return the accuracy on the test set in percent, averaged over several fits to the same training data."""
    from toolkit.learning import PrivateLogisticRegression  # scikit-learn is an extra

    rng = np.random.default_rng([_SEED, METHODS.index(method), people, *np.array([epsilon, strength]).view(np.int64)])
    model = PrivateLogisticRegression(
        epsilon, method=method, C=strength, classes=(False, True), bounds=(0, 1), missing="middle", rng=rng
    )
    rows, truth = test_people()
    return float(100 * np.mean([model.fit(*simulated_people(people)).score(rows, truth) for _ in range(N_FITS)]))


def baseline_accuracy(people: int) -> float:
    """Return the accuracy without privacy in percent, with the defaults of scikit-learn's classifier."""
    from sklearn.linear_model import LogisticRegression

    return float(100 * LogisticRegression().fit(*simulated_people(people)).score(*test_people()))


def majority_accuracy() -> float:
    """Return the accuracy, in percent, of always predicting the more frequent class."""
    share = float(np.mean(test_people()[1]))
    return 100 * max(share, 1 - share)


@lru_cache(maxsize=1)
def stored_accuracies() -> dict[str, Any]:
    """Return the stored accuracies.

    These are `plain[people]`, `own[method][people][epsilon]` with the default C of each method, and
    `right[method][people][strength][epsilon]`.
    """
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def compute_grid() -> dict[str, Any]:
    """Compute the accuracies of the whole grid, in the form of `stored_accuracies`."""

    def curve(method: int, n: int, strength: float | None = None) -> list[float]:
        strengths = [strength or default_strengths(epsilon)[method] for epsilon in EPSILONS]
        return [round(accuracy(METHODS[method], n, *pair), 2) for pair in zip(EPSILONS, strengths, strict=True)]

    grid = [[[curve(method, n, strength) for strength in STRENGTHS] for n in PEOPLE] for method in range(len(METHODS))]
    default_curves = [[curve(method, n) for n in PEOPLE] for method in range(len(METHODS))]
    without = [round(baseline_accuracy(n), 2) for n in PEOPLE]
    return {"base": round(majority_accuracy(), 2), "plain": without, "own": default_curves, "right": grid}


def default_strengths(epsilon: float) -> tuple[float, float]:
    """Return the default C of each method, for twenty columns and an intercept."""
    return epsilon / 2, 0.2 * epsilon / (N_COLUMNS + 1)


def max_strength(epsilon: float) -> float:
    """Return the largest C that objective perturbation allows for the logistic loss."""
    return 4 * math.expm1(min(epsilon * 63 / 64 / 2, 700.0))


SENTENCES = {
    "right": "{people} simulated people, ε\u00a0=\u00a0{epsilon}, C\u00a0=\u00a0{strength}. Of 100 other "
    "people, {objective} are classified correctly with noise in the objective and {output} with noise on the "
    "weights; without privacy {plain}. Always predicting the more frequent class is correct for {base}.",
    "fits": "Means of {fits} fits to the same people; where the noise is large, other noise would change them "
    "by a few points.",
    "curve": "Results by ε, for these people and this C: solid line for noise in the objective, dashed line "
    "for noise on the weights.",
    "penalty": "Each method has its own default C: {own} for noise in the objective, with {own_right} of 100 "
    "correct, and {own_output} for noise on the weights, with {own_output_right}. The default depends on ε and the "
    "number of columns, not on the data. At this ε, noise in the objective lowers a C above {most}.",
}
NAMES = ("without privacy", "objective", "on the weights", "most frequent")


class LearningExplorer(Explorer):
    """An explorer of the accuracy of private classifiers, by number of people, epsilon and penalty.

    The classifiers are logistic regressions on twenty yes/no answers of simulated people. The attributes `people`,
    `epsilon`, `strength` and `accuracies` follow the sliders.

    Parameters
    ----------
    people : int, default 2000
        Number of people in the training data, from 250 to 20,000.
    epsilon : float, default 1.0
        Privacy loss of the fit, from 0.1 to 4; smaller values give more privacy.
    strength : float, default 0.3
        C, the inverse strength of the penalty, from 0.001 to 10.
    guess : bool, default False
        Whether the live widget asks for a prediction before it shows the answer.

    Examples
    --------
    >>> sliders = LearningExplorer(people=2000, epsilon=1)  # shown in a notebook
    """

    _esm = browser_code(STATIC / "learning_explorer.js")
    function_name = "learning"
    prediction_question = PredictionQuestion(
        "Of 100 others, how many does noise in the objective classify rightly?", "of 100"
    )

    people = BoundedInt(PEOPLE[0], PEOPLE[-1])
    epsilon = BoundedFloat(EPSILONS[0], EPSILONS[-1], "below it noise dominates, above it little is hidden")
    strength = BoundedFloat(STRENGTHS[0], STRENGTHS[-1], "below it all weights are near 0, above it noise dominates")

    def __init__(self, people: int = 2000, epsilon: float = 1.0, strength: float = 0.3, *, guess: bool = False) -> None:
        setting = {"people": people, "epsilon": epsilon, "strength": strength}
        super().__init__(table=learning_table(), guess=guess, **setting)

    @property
    def accuracies(self) -> dict[str, float]:
        """The accuracy of each method on the test set, in percent."""
        return dict(zip(NAMES, self.row["right"], strict=True))

    def right_answer(self) -> tuple[float, str]:
        return self.row["right"][1], format_number(self.row["right"][1], 1)

    def setting_text(self) -> str:
        return f"{self.people} people, epsilon {self.epsilon:.4g}, C {self.strength:.4g}"

    def describe(self) -> dict[str, str]:
        return fill_sentences(self.table["words"], self.row)

    def picture(self) -> Figure:
        row = self.row
        titles = {"bars": "Right for how many of 100 others?", "curve": "What would more ε bring?"}
        setting = f"{row['people']:,} people, epsilon {row['epsilon']:.3g}, C {row['strength']:.3g}"
        canvas, panels = self._new_panels(5.0, setting, [["bars", "curve"], ["left", "right"]], [1, 1.1], **titles)
        draw_bars(panels["bars"], self.accuracies, [GREY, BLUE, VERMILLION, GREY], 1, gap=1, x_max=115)
        ax = panels["curve"]
        for curve, colour, dash, name in zip(row["curves"], (BLUE, VERMILLION), ("-", "--"), NAMES[1:3], strict=True):
            ax.plot(EPSILONS, curve, color=colour, linestyle=dash, linewidth=2, label=name)
        ax.plot(row["epsilon"], row["right"][1], "o", color=BLUE)
        ax.set_xscale("log")
        ax.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        ax.minorticks_off()
        ax.set(xlabel="ε", ylim=(45, 100))
        ax.legend(frameon=False, fontsize=9, loc="lower right")
        ax.spines[["top", "right"]].set_visible(False)
        self._write_sentences(panels, 46, left=("right", "fits"), right=("curve", "penalty"))
        return canvas

    @traitlets.observe("people", "epsilon", "strength")
    def _update_row(self, _change: object) -> None:
        self.row = learning_row(self.people, self.epsilon, self.strength)


@document_widget(LearningExplorer)
def learning(
    people: int = 2000, *, epsilon: float = 1.0, strength: float = 0.3, guess: bool = False
) -> LearningExplorer:
    """Explore the accuracy of private classifiers.

    Examples
    --------
    >>> from toolkit.teaching import explorers
    >>> explorers.learning(500, epsilon=2)
    <LearningExplorer: 500 people, epsilon 2, C 0.3>
    """
    return LearningExplorer(people, epsilon, strength, guess=guess)


@lru_cache(maxsize=1)
def learning_table() -> dict[str, Any]:
    """Return the rows by number of people, C and epsilon."""
    rows = [[[learning_row(n, e, c) for e in EPSILONS] for c in STRENGTHS] for n in PEOPLE]
    steps = {"people": list(PEOPLE), "epsilons": list(EPSILONS), "strengths": list(STRENGTHS)}
    return {**steps, "rows": rows, "words": SENTENCES}


@lru_cache(maxsize=1024)
def learning_row(people: int, epsilon: float, strength: float) -> dict[str, Any]:
    """Return the accuracies of one setting, and curves along epsilon from the nearest point of the grid."""
    grid, index = stored_accuracies(), _nearest(PEOPLE, people)
    curves = [method[index][_nearest(STRENGTHS, strength)] for method in grid["right"]]
    on_grid = people in PEOPLE and epsilon in EPSILONS
    if on_grid and strength in STRENGTHS:
        private = [curve[EPSILONS.index(epsilon)] for curve in curves]
    else:
        private = [round_for_browser(accuracy(method, people, epsilon, strength)) for method in METHODS]
    if on_grid:
        by_default = [method[index][EPSILONS.index(epsilon)] for method in grid["own"]]
    else:
        defaults = zip(METHODS, default_strengths(epsilon), strict=True)
        by_default = [round_for_browser(accuracy(method, people, epsilon, default)) for method, default in defaults]
    without = grid["plain"][index] if people in PEOPLE else round_for_browser(baseline_accuracy(people))
    return {
        "people": people,
        "epsilon": epsilon,
        "strength": strength,
        "fits": N_FITS,
        "right": [without, *private, grid["base"]],
        "curves": curves,
        "own": [round_for_browser(strength) for strength in default_strengths(epsilon)],
        "own_right": by_default,
        "most": round_for_browser(max_strength(epsilon)),
    }


def _nearest(steps: Sequence[float], value: float) -> int:
    return min(range(len(steps)), key=lambda index: abs(steps[index] - value))


def fill_sentences(templates: dict[str, str], row: dict[str, Any]) -> dict[str, str]:
    """Return the sentences of one setting; the browser fills the same templates with the same numbers."""
    names = ("plain", "objective", "output", "base", "own_right", "own_output_right")
    shares = zip(names, (*row["right"], *row["own_right"]), strict=True)
    values = {
        **{name: format_number(share, 1) for name, share in shares},
        **{name: f"{row[name]:.4g}" for name in ("epsilon", "strength")},
        **{name: format_number(row[name], 0) for name in ("people", "fits")},
        "own": f"{row['own'][0]:.4g}",
        "own_output": f"{row['own'][1]:.2g}",
        "most": f"{row['most']:.2g}",
    }
    return fill_templates(templates, values)
