"""An explorer of the effect of one salary on statistics, and of the noise that each statistic needs.

Python computes statistics and errors on a grid, and the browser looks them up. The errors can be shown because the
salaries are simulated. Errors that are computed from real data are confidential.
"""

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import traitlets
from matplotlib.figure import Figure

from toolkit.central.laplace import Laplace
from toolkit.central.robust import Huber, InverseSensitivity, SmoothSensitivity, location
from toolkit.core.inference.special import ndtri
from toolkit.show.canvas import BLUE, VERMILLION
from toolkit.show.widgets.explorer import (
    BoundedFloat,
    Explorer,
    PredictionQuestion,
    browser_code,
    document_widget,
    draw_bars,
)
from toolkit.texts.figures import fill_templates, format_number, round_for_browser

STATIC = Path(__file__).parent / "static"

SENTENCES = {
    "values": "One of 501 people earns {salary} thousand. Mean {mean}, trimmed mean {trimmed}, Huber location "
    "{huber}, median {median} thousand.",
    "moved": "If this person earned nothing, the mean would be {mean_moved} lower and the median {median_moved} lower.",
    "noise": "At ε\u00a0=\u00a0{epsilon}, the typical noise is {mean_noise} on the mean, {trimmed_noise} on "
    "the trimmed mean, {huber_noise} on the Huber location and {median_noise} on the median.",
    "why": "The noise of the mean allows for a salary of 1,000 thousand, even if nobody earns it. The noise of "
    "the others depends on these salaries; for real salaries it would not be shown.",
}
NAMES = ("mean", "trimmed mean", "Huber location", "median")
SALARIES = (0.0, 10.0, 20.0, 30.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0, 300.0, 500.0, 700.0, 1000.0)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
MAX_SALARY = 1000.0
_PEOPLE = 501
_HUBER, _TRIM, _STEP = Huber(20), 50, 0.5


class OutlierExplorer(Explorer):
    """An explorer of the effect of one salary on statistics, and of the noise that each statistic needs.

    Five hundred simulated people earn around 30 thousand each, and a slider sets the salary of one more person. The
    bounds are 0 and 1,000 thousand. The attributes `salary`, `epsilon`, `statistics` and `noise` follow the sliders.

    Parameters
    ----------
    salary : float, default 30.0
        Salary of the additional person, in thousands, from 0 to 1000.
    epsilon : float, default 1.0
        Privacy loss of each release, from 0.25 to 4; smaller values give more privacy.
    guess : bool, default False
        Whether the live widget asks for a prediction before it shows the answer.

    Examples
    --------
    >>> sliders = OutlierExplorer(salary=900)  # shown in a notebook
    """

    _esm = browser_code(STATIC / "outlier_explorer.js")
    function_name = "outlier"
    prediction_question = PredictionQuestion("How large is the typical noise that the mean needs?", "thousand")

    salary = BoundedFloat(0.0, MAX_SALARY, "salaries are clamped to the bounds")
    epsilon = BoundedFloat(EPSILONS[0], EPSILONS[-1], "below it 501 people are too few, above it little is hidden")

    def __init__(self, salary: float = 30.0, epsilon: float = 1.0, *, guess: bool = False) -> None:
        super().__init__(table=outlier_table(), salary=salary, epsilon=epsilon, guess=guess)

    @property
    def statistics(self) -> dict[str, float]:
        """The four statistics of the current salaries."""
        return dict(zip(NAMES, self.row["values"], strict=True))

    @property
    def noise(self) -> dict[str, float]:
        """The root mean square of the noise of each statistic."""
        return dict(zip(NAMES, self.row["noise"], strict=True))

    def right_answer(self) -> tuple[float, str]:
        return self.row["noise"][0], format_number(self.row["noise"][0], 2)

    def setting_text(self) -> str:
        return f"one salary of {self.salary:.4g}, epsilon {self.epsilon:.4g}"

    def describe(self) -> dict[str, str]:
        return fill_sentences(self.table, self.row)

    def picture(self) -> Figure:
        titles = {"values": "What does each statistic do?", "noise": "What noise does each need?"}
        setting = f"one salary of {self.salary:.4g}, epsilon {self.epsilon:.3g}"
        canvas, panels = self._new_panels(4.2, setting, [["values", "noise"], ["left", "right"]], [1.1, 1], **titles)
        sizes = {"values": (self.statistics, BLUE, 1), "noise": (self.noise, VERMILLION, 2)}
        for panel, (numbers, colour, decimals) in sizes.items():
            largest = max(numbers.values())
            draw_bars(panels[panel], numbers, colour, decimals, gap=0.02 * largest, x_max=1.2 * largest)
        self._write_sentences(panels, 42, left=("values", "moved"), right=("noise", "why"))
        return canvas

    @traitlets.observe("salary", "epsilon")
    def _update_row(self, _change: object) -> None:
        self.row = outlier_row(self.salary, self.epsilon)


@document_widget(OutlierExplorer)
def outlier(salary: float = 30.0, *, epsilon: float = 1.0, guess: bool = False) -> OutlierExplorer:
    """Explore the effect of one salary on each statistic, and the noise that each statistic needs.

    Examples
    --------
    >>> from toolkit.teaching import explorers
    >>> explorers.outlier(1000, epsilon=1)
    <OutlierExplorer: one salary of 1000, epsilon 1>
    """
    return OutlierExplorer(salary, epsilon, guess=guess)


@lru_cache(maxsize=1)
def outlier_table() -> dict[str, Any]:
    """Return the rows by salary and epsilon; `lowest` holds the statistics for a salary of 0."""
    rows = [[outlier_row(salary, epsilon) for epsilon in EPSILONS] for salary in SALARIES]
    return {
        "salaries": list(SALARIES),
        "epsilons": list(EPSILONS),
        "rows": rows,
        "lowest": rows[0][0]["values"],
        "words": SENTENCES,
    }


@lru_cache(maxsize=1024)
def outlier_row(salary: float, epsilon: float) -> dict[str, Any]:
    """Return the four statistics of one setting, and the root mean square of the noise of each."""
    other_salaries = np.round(np.exp(np.log(30) + 0.6 * ndtri((np.arange(_PEOPLE - 1) + 0.5) / (_PEOPLE - 1))), 1)
    values = np.append(other_salaries, salary)
    trimmed = SmoothSensitivity.for_epsilon(epsilon, "trimmed", n=_PEOPLE, bounds=(0, MAX_SALARY), trim=_TRIM)
    statistics = [
        float(values.mean()),
        float(np.sort(values)[_TRIM : _PEOPLE - _TRIM].mean()),
        location(_HUBER, values),
        float(np.median(values)),
    ]
    noise = [
        math.sqrt(2) * Laplace.for_epsilon(epsilon, sensitivity=MAX_SALARY / _PEOPLE).scale,
        trimmed.noise.sd * float(trimmed._summarize(values).smooth_sensitivity * trimmed.bounds.step),
        _rms_error(_HUBER, values, statistics[2], epsilon),
        _rms_error("median", values, statistics[3], epsilon),
    ]
    return {
        "salary": salary,
        "epsilon": epsilon,
        "values": [round_for_browser(value) for value in statistics],
        "noise": [round_for_browser(size) for size in noise],
    }


def _rms_error(statistic: object, values: object, truth: float, epsilon: float) -> float:
    """Return the root mean square error of the inverse sensitivity mechanism, from its distribution."""
    mechanism = InverseSensitivity.for_epsilon(epsilon, statistic, bounds=(0, MAX_SALARY), step=_STEP)
    grid = np.arange(mechanism.bounds.span + 1) * _STEP
    return float(np.sqrt(mechanism.probabilities(values) @ (grid - truth) ** 2))


def fill_sentences(table: dict[str, Any], row: dict[str, Any]) -> dict[str, str]:
    """Return the sentences of one setting; the browser fills the same templates with the same numbers."""
    short_names = ("mean", "trimmed", "huber", "median")
    values = {name: format_number(value, 1) for name, value in zip(short_names, row["values"], strict=True)}
    noise = {f"{name}_noise": format_number(size, 2) for name, size in zip(short_names, row["noise"], strict=True)}
    moved = [current - lowest for current, lowest in zip(row["values"], table["lowest"], strict=True)]
    change = {"mean_moved": format_number(moved[0], 1), "median_moved": format_number(moved[3], 1)}
    setting = {"salary": f"{row['salary']:,.4g}", "epsilon": f"{row['epsilon']:.4g}"}
    return fill_templates(table["words"], values | noise | change | setting)
