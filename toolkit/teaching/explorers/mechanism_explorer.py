"""An explorer of Laplace and Gaussian noise: how it hides one person, and the error of a release.

All values are in units of the noise scale. Each distribution then has one shape, and only the distance between two
neighbors changes. The browser only multiplies by the scale and by the sensitivity, and a test compares the results with
the mechanisms.
"""

import math
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.core.arrays import Array
from toolkit.planning.disclosure import bet
from toolkit.show.canvas import BLUE, GREY, INK, VERMILLION
from toolkit.show.widgets.explorer import (
    BoundedFloat,
    Explorer,
    PredictionQuestion,
    TextChoice,
    browser_code,
    document_widget,
)
from toolkit.texts.figures import fill_templates, format_factor, format_number, format_three_digits, round_for_browser

STATIC = Path(__file__).parent / "static"

Mechanism: TypeAlias = Laplace | Gaussian

LAWS = ("laplace", "analytic", "classic")
EPSILONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
DELTAS = (1e-3, 1e-6, 1e-9)
SENSITIVITIES = (0.1, 1.0, 2.0, 5.0, 10.0, 100.0)
LEVELS = (0.5, 0.9, 0.95, 0.99)

SENTENCES = {
    "ratio": "No release is more than {factor} times likelier with one record than with another{but}.",
    "error": "With a probability of {level} %, the noise stays within ±\u00a0{error}: {times} times the "
    "largest change by one person.",
    "scale": "The noise has scale {scale}, {what}. Each dot stands for a probability of 1/40.",
    "others": "At this ε: Laplace ±\u00a0{laplace}; Gaussian ±\u00a0{analytic}; by the classic formula {classic}.",
}

_MIN_EPSILON, _MAX_EPSILON = EPSILONS[0], EPSILONS[-1]
_MAX_CLASSIC_EPSILON = 1.0  # the classic formula is proven up to this epsilon
_N_DOTS, _N_DRAWS = 40, 40
_NOISE = tuple(i / 4 for i in range(-24, 45))
"""Released values in units of the noise scale; the neighbor's true value is at most 5 units away."""


class MechanismExplorer(Explorer):
    """An explorer of how noise hides one person, and of the error of a release.

    The attributes `law`, `epsilon`, `delta`, `sensitivity`, `level` and `mechanism` follow the sliders.

    Parameters
    ----------
    law : {"laplace", "analytic", "classic"}
        Laplace noise, Gaussian noise with the smallest possible scale, or Gaussian noise by the textbook formula, which
        is proven up to epsilon 1 (the explorer uses 1 for larger values).
    epsilon : float, default 1.0
        Privacy loss, from 0.1 to 5; smaller values give more privacy.
    sensitivity : float, default 1.0
        The largest change of the statistic by one person.
    delta : float, default 1e-6
        The delta of Gaussian noise.
    level : float, default 0.95
        The probability with which the noise stays within the displayed error.
    guess : bool, default False
        Whether the live widget asks for a prediction before it shows the answer.

    Examples
    --------
    >>> sliders = MechanismExplorer(law="laplace", epsilon=1)  # shown in a notebook
    """

    _esm = browser_code(STATIC / "mechanism_explorer.js")
    function_name = "mechanism"
    prediction_question = PredictionQuestion("How far off is a release, at most, as often as is chosen?", "units")

    law = TextChoice(*LAWS)
    epsilon = BoundedFloat(_MIN_EPSILON, _MAX_EPSILON, "below it noise drowns everything, above it nobody is hidden")
    sensitivity = BoundedFloat(0.001, 1e6, "the explorer draws no other")
    delta = BoundedFloat(0, 0.1, "it is a small probability", strict=True)
    level = BoundedFloat(0, 1, "it is a probability", strict=True)

    def __init__(
        self,
        law: str = "laplace",
        epsilon: float = 1.0,
        sensitivity: float = 1.0,
        delta: float = 1e-6,
        level: float = 0.95,
        *,
        guess: bool = False,
    ) -> None:
        settings = {"law": law, "epsilon": epsilon, "sensitivity": sensitivity, "delta": delta, "level": level}
        super().__init__(table=mechanism_table(), guess=guess, **settings)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the current setting."""
        return _new_mechanism(self.law, self.row["epsilon"], self.delta, self.sensitivity)

    def right_answer(self) -> tuple[float, str]:
        return self.row["error"], format_three_digits(self.row["error"])

    def setting_text(self) -> str:
        delta = "" if self.law == "laplace" else f", delta {self.delta:.4g}"
        law = f"{self.law}, epsilon {self.row['epsilon']:.4g}{delta}"
        return f"{law}, sensitivity {self.sensitivity:.4g}, level {self.level:.4g}"

    def describe(self) -> dict[str, str]:
        return fill_sentences(self.table["words"], self.row)

    def picture(self) -> Figure:
        row, shape = self.row, "laplace" if self.law == "laplace" else "gaussian"
        rows = [["two", "dots"], ["ratio", "words"], ["private", "words"]]
        titles = {"two": "How private is one person?", "dots": "How far off is a release?"}
        setting = f"{row['law']}, epsilon {row['epsilon']:.3g}, sensitivity {row['sensitivity']:.3g}"
        canvas, panels = self._new_panels(4.3, setting, rows, [2, 1.4, 0.5], **titles)
        _draw_neighbors(panels["two"], self.table["shapes"][shape], 1 / row["ratio"])
        _draw_ratios(panels["ratio"], row)
        dots = [dot * row["ratio"] * row["sensitivity"] for dot in self.table["dots"][shape]]
        _draw_dots(panels["dots"], dots, row["error"])
        self._write_sentences(panels, private=["ratio"], words=["error", "scale", "others"])
        return canvas

    @traitlets.observe("law", "epsilon", "sensitivity", "delta", "level")
    def _update_row(self, _change: object) -> None:
        self.row = mechanism_row(self.law, self.epsilon, self.delta, self.sensitivity, self.level)


@document_widget(MechanismExplorer)
def mechanism(
    law: str = "laplace",
    *,
    epsilon: float = 1.0,
    sensitivity: float = 1.0,
    delta: float = 1e-6,
    level: float = 0.95,
    guess: bool = False,
) -> MechanismExplorer:
    """Explore how noise hides one person, and the error of a release.

    Examples
    --------
    >>> from toolkit.teaching import explorers
    >>> explorers.mechanism(epsilon=0.5)
    <MechanismExplorer: laplace, epsilon 0.5, sensitivity 1, level 0.95>
    """
    return MechanismExplorer(law, epsilon, sensitivity, delta, level, guess=guess)


@lru_cache(maxsize=1)
def mechanism_table() -> dict[str, Any]:
    """Return the noise scale for each distribution, epsilon and delta, and the error by sensitivity and level."""
    laws = [(law, delta) for law in LAWS for delta in (DELTAS if law != "laplace" else DELTAS[:1])]
    # One mechanism for each shape of noise. With a sensitivity below 1, its error is not rounded to whole numbers.
    standards = {
        "laplace": _new_mechanism("laplace", 0.5, 1e-6, 0.5),
        "gaussian": _new_mechanism("analytic", 0.5, 1e-6, 0.5),
    }
    return {
        "epsilons": list(EPSILONS),
        "sensitivities": list(SENSITIVITIES),
        "deltas": list(DELTAS),
        "levels": list(LEVELS),
        "laws": [
            {"law": law, "delta": delta, "rows": [_grid_row(law, e, delta) for e in _epsilons(law)]}
            for law, delta in laws
        ],
        "noise": list(_NOISE),
        "shapes": {name: _shape(mechanism) for name, mechanism in standards.items()},
        "dots": {name: _quantiles(mechanism) for name, mechanism in standards.items()},
        "draws": {name: _simulated_noise(mechanism) for name, mechanism in standards.items()},
        "words": SENTENCES,
    }


def mechanism_row(law: str, epsilon: float, delta: float, sensitivity: float, level: float) -> dict[str, Any]:
    """Return the row of one setting; `asked` is the epsilon of the slider, and `epsilon` is the epsilon in use."""
    proven_epsilon = min(epsilon, _MAX_CLASSIC_EPSILON) if law == "classic" else epsilon
    proven = [name for name in LAWS if name != "classic" or proven_epsilon <= _MAX_CLASSIC_EPSILON]
    errors = {
        name: round_for_browser(_new_mechanism(name, proven_epsilon, delta, sensitivity).error(level))
        for name in proven
    }
    return {
        **_standard_row(law, proven_epsilon, delta),
        "law": law,
        "asked": epsilon,
        "delta": delta,
        "sensitivity": sensitivity,
        "level": level,
        "error": errors[law],
        "errors": errors,
    }


def fill_sentences(templates: dict[str, str], row: dict[str, Any]) -> dict[str, str]:
    """Return the sentences of one setting; the browser fills the same templates with the same numbers."""
    pure, classic = row["law"] == "laplace", row["errors"].get("classic")
    values = {
        "factor": format_factor(row["factor"]),
        "but": "" if pure else f", but for some that exceed this by at most {row['delta']:g} in all",
        "level": format_number(100 * row["level"], 0),
        "error": format_three_digits(row["error"]),
        "times": format_three_digits(row["error"] / row["sensitivity"]),
        "scale": format_three_digits(row["ratio"] * row["sensitivity"]),
        "what": "its mean size" if pure else "its standard deviation",
        "laplace": format_three_digits(row["errors"]["laplace"]),
        "analytic": format_three_digits(row["errors"]["analytic"]),
        "classic": "not proven" if classic is None else f"±\u00a0{format_three_digits(classic)}",
    }
    return fill_templates(templates, values)


def _new_mechanism(law: str, epsilon: float, delta: float, sensitivity: float) -> Mechanism:
    if law == "laplace":
        return Laplace.for_epsilon(epsilon, sensitivity=sensitivity)
    return Gaussian.for_loss(epsilon, delta, sensitivity=sensitivity, calibration=law)  # type: ignore[arg-type]


def _epsilons(law: str) -> tuple[float, ...]:
    return tuple(epsilon for epsilon in EPSILONS if law != "classic" or epsilon <= _MAX_CLASSIC_EPSILON)


def _standard_row(law: str, epsilon: float, delta: float) -> dict[str, Any]:
    """Return the numbers that do not depend on the sensitivity: the relative scale, the odds factor and the losses."""
    mechanism = _new_mechanism(law, epsilon, delta, 1)
    positions = np.array(_NOISE) * mechanism.scale
    shares = np.log(mechanism.density(positions) / mechanism.density(positions - 1)) / epsilon
    return {
        "epsilon": epsilon,
        "ratio": round_for_browser(mechanism.scale),
        "factor": round_for_browser(bet(epsilon)),
        "shares": [round(float(share), 3) for share in shares],
    }


def _grid_row(law: str, epsilon: float, delta: float) -> dict[str, Any]:
    mechanisms = [_new_mechanism(law, epsilon, delta, sensitivity) for sensitivity in SENSITIVITIES]
    errors = [[round_for_browser(mechanism.error(level)) for level in LEVELS] for mechanism in mechanisms]
    return {**_standard_row(law, epsilon, delta), "errors": errors}


def _shape(mechanism: Mechanism) -> list[float]:
    """Return the density at `_NOISE`, divided by the density at 0."""
    densities: Array = mechanism.density(np.array(_NOISE) * mechanism.scale) / mechanism.density(0)
    return [round_for_browser(density) for density in densities.tolist()]


def _quantiles(mechanism: Mechanism) -> list[float]:
    """Return equally spaced quantiles of the noise, in units of the scale."""
    levels = [(2 * i + 1) / _N_DOTS - 1 for i in range(_N_DOTS)]
    return [round_for_browser(math.copysign(mechanism.error(abs(level)) / mechanism.scale, level)) for level in levels]


def _simulated_noise(mechanism: Mechanism) -> list[float]:
    """Return simulated noise with a fixed seed, in units of the scale."""
    rng = np.random.default_rng(8)
    return [round_for_browser(float(mechanism.release(0.0, rng=rng).value) / mechanism.scale) for _ in range(_N_DRAWS)]


def _draw_neighbors(ax: Axes, shape: list[float], shift: float) -> None:
    """Draw the distributions of a release for two neighboring tables."""
    ax.plot(_NOISE, shape, color=BLUE, linewidth=2.5, label="with one record")
    ax.plot([x + shift for x in _NOISE], shape, color=VERMILLION, linewidth=2, linestyle="--", label="with another")
    ax.legend(frameon=False, fontsize=9, loc="upper right")
    ax.set(xlim=(_NOISE[0], _NOISE[-1]), ylim=(0, 1.15), xticks=[0], yticks=[], ylabel="likelihood")
    ax.set_xticklabels(["truth"])
    ax.spines[["top", "right", "left"]].set_visible(False)


def _draw_ratios(ax: Axes, row: dict[str, Any]) -> None:
    """Draw the log ratio of the two likelihoods, with the bounds set by epsilon as dashed lines."""
    ax.plot(_NOISE, row["shares"], color=INK, linewidth=2)
    for end in (-1, 1):
        ax.axhline(end, color=GREY, linestyle="--", linewidth=1.2)
    factor = format_factor(row["factor"])
    ax.set(xlim=(_NOISE[0], _NOISE[-1]), ylim=(-1.6, 1.6), xticks=[], yticks=[-1, 0, 1], ylabel="ratio")
    ax.set_yticklabels([f"1 / {factor}", "1", factor])
    ax.spines[["top", "right"]].set_visible(False)


def _draw_dots(ax: Axes, values: list[float], error: float) -> None:
    """Draw quantiles as stacked dots, with a band for the error."""
    x_max = 1.4 * error
    stacks: dict[int, int] = {}
    size = 2 * x_max / 31
    for value in values:
        column = round(min(max(value, -x_max), x_max) / size)
        stacks[column] = stacks.get(column, 0) + 1
        ax.plot([column * size], [stacks[column] - 0.5], "o", color=BLUE, markersize=8)
    ax.axvspan(-error, error, color=GREY, alpha=0.18, linewidth=0)
    for side, text in ((-1, "← {} beyond"), (1, "{} beyond →")):
        if beyond := sum(side * value > x_max for value in values):
            position, align = (0.5 + side / 2, 0.9), "left" if side < 0 else "right"
            ax.annotate(text.format(beyond), position, ha=align, xycoords="axes fraction")
    ax.set(xlim=(-x_max, x_max), ylim=(0, max(8, max(stacks.values()) + 1)), yticks=[], xlabel="noise")
    ax.spines[["top", "right", "left"]].set_visible(False)
