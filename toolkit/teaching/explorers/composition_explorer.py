"""An explorer of the total loss of many releases, by four composition rules.

Python composes the losses on a grid and sends totals, odds and guesses; the browser looks them up.
"""

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.audit.bounds import advantage
from toolkit.core.composition import compose
from toolkit.core.loss import Approx, Pure
from toolkit.show.canvas import BLUE, GREY, INK, ORANGE, SKY, VERMILLION
from toolkit.show.widgets.explorer import (
    BoundedFloat,
    BoundedInt,
    Explorer,
    PredictionQuestion,
    browser_code,
    document_widget,
    draw_icons,
)
from toolkit.texts.figures import fill_templates, format_factor, format_number, format_upper_chance, round_for_browser

STATIC = Path(__file__).parent / "static"

# The total losses of many equal releases take seconds to compute on the whole grid, so `static/composed.json` stores
# them.
#
# The numbers come from `compose`, and a test recomputes some of them. To update the file after a change to a rule in
# `toolkit.core.composition`, run `python -m toolkit.teaching.explorers composition_explorer`.

RELEASES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 52, 75, 100, 150, 200, 300, 365)
EPSILONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
DELTAS = (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
RULES = ("basic", "advanced", "zcdp", "optimal")
FILE = STATIC / "composed.json"


def total_epsilons(releases: int, epsilon: float, delta: float) -> list[float]:
    """Return the total epsilon of equal releases under each composition rule."""
    losses = [Pure(epsilon)] * releases
    by_rule = (compose(losses, None if rule == "basic" else delta, rule) for rule in RULES)
    return [round_for_browser(loss.epsilon) for loss in by_rule if isinstance(loss, Pure | Approx)]


@lru_cache(maxsize=1)
def stored_totals() -> dict[tuple[int, float, float], list[float]]:
    """Return the stored total epsilons by number of releases, epsilon and delta."""
    numbers = iter(json.loads(FILE.read_text(encoding="utf-8")))
    return {(k, epsilon, delta): next(numbers) for delta in DELTAS for epsilon in EPSILONS for k in RELEASES}


def compute_grid() -> list[list[float]]:
    """Compute the total epsilons of the whole grid, in the order of `stored_totals`."""
    return [total_epsilons(k, epsilon, delta) for delta in DELTAS for epsilon in EPSILONS for k in RELEASES]


SENTENCES = {
    "total": "{releases} × ε\u00a0=\u00a0{epsilon}. Added up, this is ε\u00a0=\u00a0{basic}; by the best rule, "
    "it is ε\u00a0=\u00a0{best}.",
    "slack": "The best total has a δ: a probability may exceed its limit by 1 in {one_in}. The sum has no δ.",
    "icons": "Of 100 guesses between two equally likely secrets, on average at most {right} come out right; "
    "without the releases, 50.",
    "odds": "Except for δ, the odds between any two secrets shift by a factor of up to {factor} (limits are "
    "rounded up). For one release alone: {one}.",
}

_EPSILON_CAP = 100.0  # above it nothing is hidden, and the factor would overflow
_STYLES = {"added up": (GREY, "--"), "advanced": (ORANGE, "-."), "zCDP": (SKY, ":"), "optimal": (BLUE, "-")}


class CompositionExplorer(Explorer):
    """An explorer of the total loss of many releases about the same people.

    The attributes `releases`, `epsilon`, `delta` and `loss` follow the sliders.

    Parameters
    ----------
    releases : int, default 52
        Number of releases from the same data, up to 365.
    epsilon : float, default 0.1
        Privacy loss of each release, from 0.01 to 2; smaller values give more privacy.
    delta : float, default 1e-6
        The delta of the total loss, from 1e-12 to 0.01; smaller values give more privacy.
    guess : bool, default False
        Whether the live widget asks for a prediction before it shows the answer.

    Examples
    --------
    >>> sliders = CompositionExplorer(releases=52, epsilon=0.1)  # shown in a notebook
    """

    _esm = browser_code(STATIC / "composition_explorer.js")
    function_name = "composition"
    prediction_question = PredictionQuestion(
        "What is the epsilon of all releases together by the best rule?", "as total ε"
    )

    releases = BoundedInt(1, RELEASES[-1])
    epsilon = BoundedFloat(EPSILONS[0], EPSILONS[-1], "below it a release shows nothing, above it it hides nothing")
    delta = BoundedFloat(1e-12, 0.01, "it must be positive, and far below 1 / (number of people)")

    def __init__(self, releases: int = 52, epsilon: float = 0.1, delta: float = 1e-6, *, guess: bool = False) -> None:
        settings = {"releases": releases, "epsilon": epsilon, "delta": delta}
        super().__init__(table=composition_table(), guess=guess, **settings)

    @property
    def loss(self) -> Pure | Approx:
        """The total loss of all releases under the best composition rule."""
        total = compose([Pure(self.epsilon)] * self.releases, self.delta)
        return total if isinstance(total, Pure | Approx) else total.to_approx(self.delta)

    def right_answer(self) -> tuple[float, str]:
        best = min(self.row["cell"][:4])
        return best, format_factor(best)

    def setting_text(self) -> str:
        return f"{self.releases:,} releases, epsilon {self.epsilon:.4g} each, delta {self.delta:.3g}"

    def describe(self) -> dict[str, str]:
        return fill_sentences(self.table["words"], self.row)

    def picture(self) -> Figure:
        row = self.row
        titles = {"totals": "What do they cost together?", "people": "What does that mean for one person?"}
        setting = f"{row['releases']:,} releases, epsilon {row['epsilon']:.3g} each"
        canvas, panels = self._new_panels(3.9, setting, [["totals", "people"], ["words", "people"]], [2.7, 1], **titles)
        _draw_totals(panels["totals"], row)
        draw_icons(panels["people"], math.ceil(row["cell"][5] - 1e-9))
        self._write_sentences(panels, people=("icons", "odds"), words=("total", "slack"))
        return canvas

    @traitlets.observe("releases", "epsilon", "delta")
    def _update_row(self, _change: object) -> None:
        self.row = composition_row(self.releases, self.epsilon, self.delta)


@document_widget(CompositionExplorer)
def composition(
    releases: int = 52, *, epsilon: float = 0.1, delta: float = 1e-6, guess: bool = False
) -> CompositionExplorer:
    """Explore the total privacy loss of many releases about the same people.

    Examples
    --------
    >>> from toolkit.teaching import explorers
    >>> explorers.composition(52, epsilon=0.1)
    <CompositionExplorer: 52 releases, epsilon 0.1 each, delta 1e-06>
    """
    return CompositionExplorer(releases, epsilon, delta, guess=guess)


@lru_cache(maxsize=1)
def composition_table() -> dict[str, Any]:
    """Return the numbers of each cell of the grid, by delta, epsilon and number of releases."""
    return {
        "releases": list(RELEASES),
        "epsilons": list(EPSILONS),
        "deltas": list(DELTAS),
        "cells": [[[_cell(k, epsilon, delta) for k in RELEASES] for epsilon in EPSILONS] for delta in DELTAS],
        "words": SENTENCES,
    }


def composition_row(releases: int, epsilon: float, delta: float) -> dict[str, Any]:
    """Return the numbers of one setting, and the curves over all numbers of releases."""
    cell, curve = _cell(releases, epsilon, delta), [_cell(k, epsilon, delta) for k in RELEASES]
    return {"releases": releases, "epsilon": epsilon, "delta": delta, "cell": cell, "curve": curve}


@lru_cache(maxsize=4096)
def _cell(releases: int, epsilon: float, delta: float) -> list[float]:
    """Return the total under each rule, and the odds factor and the right guesses per 100 under the best rule."""
    sums = stored_totals().get((releases, epsilon, delta)) or total_epsilons(releases, epsilon, delta)
    right = min(advantage(sums[0]), advantage(min(sums), delta))
    return [*sums, round_for_browser(math.exp(min(*sums, _EPSILON_CAP))), round_for_browser(50 + 50 * right)]


def fill_sentences(templates: dict[str, str], row: dict[str, Any]) -> dict[str, str]:
    """Return the sentences of one setting; the browser fills the same templates with the same numbers."""
    *sums, factor, right = row["cell"]
    values = {
        "releases": format_number(row["releases"], 0),
        "epsilon": f"{row['epsilon']:.4g}",
        "basic": format_factor(sums[0]),
        "best": format_factor(min(sums)),
        "one_in": format_number(1 / row["delta"], 0),
        "right": format_upper_chance(right),
        "factor": format_factor(factor),
        "one": format_factor(row["curve"][0][4]),
    }
    return fill_templates(templates, values)


def _draw_totals(ax: Axes, row: dict[str, Any]) -> None:
    """Draw the total loss against the number of releases, one line per rule, with the current setting as a point."""
    for index, (name, (colour, dash)) in enumerate(_STYLES.items()):
        ax.plot(RELEASES, [cell[index] for cell in row["curve"]], color=colour, linestyle=dash, linewidth=2, label=name)
    ax.plot([row["releases"]], [min(row["cell"][:4])], "o", color=VERMILLION, markersize=9)
    ax.set(xlim=(0, 1.02 * RELEASES[-1]), ylim=(0, None), xlabel="releases", ylabel="total ε")
    ax.legend(frameon=False, fontsize=9, labelcolor=INK)
    ax.spines[["top", "right"]].set_visible(False)
