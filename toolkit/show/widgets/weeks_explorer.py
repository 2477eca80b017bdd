"""A year of weeks: a total is published every week. How far off is each way to do it, for one loss in all?"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.central.stream import SquareRoot, Tree
from toolkit.central.stream.trees import binary
from toolkit.central.stream.ways import best
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.show.canvas import BLUE, GREY, INK, VERMILLION, new_figure
from toolkit.show.widgets.explorer import Asked, Between, Explorer, Whole, browser_code, say
from toolkit.texts.figures import figure, fill, short

WORDS = {
    "errors": "A total is published after each of {weeks} weeks, with ε\u00a0=\u00a0{epsilon} for all of "
    "them together. The largest standard deviation is {share} if every total gets its share of ε, {fresh} "
    "with fresh noise for every week, {binary} with a binary tree, {tree} with the best tree.",
    "root": "With Gaussian noise and the square root of the matrix of totals it is {root}; ε then holds but "
    "for a chance of one in a million.",
    "weeks": "The standard deviation after every week: dashed of fresh noise, drawn through of the best "
    "tree. The tree adds up at most {nodes} noisy numbers, fresh noise {weeks}.",
    "level": "The promise is about one record in one week. All records of somebody who is counted in every "
    "week have at most ε\u00a0=\u00a0{group} together.",
}
NAMES = ("share of ε each", "fresh noise", "binary tree", "best tree", "square root, δ")
WEEKS = (4, 8, 13, 26, 39, 52, 78, 104, 156, 208, 260, 365, 520)
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
DELTA = 1e-6
_POINTS = 40


class WeeksExplorer(Explorer):
    """How far off is a total that is published every week, by each way to add noise? With sliders.

    One record in one week is protected, under "add_remove". What is set in the browser is found again in
    `weeks`, `epsilon` and `errors`.

    Parameters
    ----------
    weeks : how many totals are published, from 1 to 520.
    epsilon : for all of them together, from 0.1 to 4; small is private.
    guess : whether the live widget asks for a prediction before it shows the answer.
    """

    _esm = browser_code("weeks_explorer.js")
    maker = "explore_weeks"
    asks = Asked("With a binary tree, what is the largest standard deviation of a total?", "records")

    weeks = Whole(1, WEEKS[-1])
    epsilon = Between(EPSILONS[0], EPSILONS[-1], "below it totals drown, above it little is hidden")

    def __init__(self, weeks: int = 52, epsilon: float = 1.0, *, guess: bool = False) -> None:
        super().__init__(table=weeks_table(), weeks=weeks, epsilon=epsilon, guess=guess)

    @property
    def errors(self) -> dict[str, float]:
        """The largest standard deviation of every way."""
        return dict(zip(NAMES, self.row["errors"], strict=True))

    def truth(self) -> tuple[float, str]:
        return self.row["errors"][2], figure(self.row["errors"][2])

    def setting(self) -> str:
        return f"{self.weeks} weeks, epsilon {self.epsilon:.4g} in all"

    def describe(self) -> dict[str, str]:
        return reading(self.table["words"], self.row)

    def picture(self) -> Figure:
        return _still(self.row, self.describe())

    @traitlets.observe("weeks", "epsilon")
    def _compute(self, _change: object) -> None:
        self.row = weeks_row(self.weeks, self.epsilon)


def explore_weeks(weeks: int = 52, *, epsilon: float = 1.0, guess: bool = False) -> WeeksExplorer:
    """The explorer of weeks in one call; with `guess` it asks for a prediction first.

    >>> explore_weeks(365, epsilon=0.5)
    <WeeksExplorer: 365 weeks, epsilon 0.5 in all>
    """
    return WeeksExplorer(weeks, epsilon, guess=guess)


@lru_cache(maxsize=1)
def weeks_table() -> dict[str, Any]:
    """Rows by weeks and epsilon."""
    rows = [[weeks_row(weeks, epsilon) for epsilon in EPSILONS] for weeks in WEEKS]
    return {"weeks": list(WEEKS), "epsilons": list(EPSILONS), "rows": rows, "words": WORDS}


@lru_cache(maxsize=1024)
def weeks_row(weeks: int, epsilon: float) -> dict[str, Any]:
    """One setting: the errors of the five ways, and those of two of them after every week, for real noise."""
    unit, tree = math.sqrt(2) / epsilon, best(Pure(1), weeks)
    pure = [(weeks, np.ones(1)), *((float(way.absolute()), way.spread) for way in _trees(weeks))]
    errors = [unit * moved * float(np.max(spread)) for moved, spread in pure]
    errors.append(float(_root(weeks).max()) / math.sqrt(2 * _rho(epsilon)))
    places = np.unique(np.round(np.linspace(1, weeks, min(weeks, _POINTS))).astype(int))
    return {
        "weeks": weeks,
        "epsilon": epsilon,
        "errors": [short(size) for size in errors],
        "nodes": int(tree.spread.max() ** 2 + 0.5),
        "places": places.tolist(),
        "curves": [
            [short(unit * float(way.absolute()) * float(way.spread[place - 1])) for place in places]
            for way in (Tree(weeks), tree)
        ],
    }


def _trees(weeks: int) -> tuple[Any, ...]:
    return Tree(weeks), binary(weeks), best(Pure(1), weeks)


@lru_cache(maxsize=64)
def _root(weeks: int) -> Any:
    return SquareRoot(weeks).spread


@lru_cache(maxsize=64)
def _rho(epsilon: float) -> float:
    return Zcdp.within(Approx(epsilon, DELTA)).rho


def reading(words: dict[str, str], row: dict[str, Any]) -> dict[str, str]:
    """The sentences of one setting; the browser fills the same words with the same numbers."""
    share, fresh, binary_tree, tree, root = (figure(size) for size in row["errors"])
    return fill(
        words,
        {
            "weeks": figure(row["weeks"], 0),
            "epsilon": f"{row['epsilon']:.4g}",
            "share": share,
            "fresh": fresh,
            "binary": binary_tree,
            "tree": tree,
            "root": root,
            "nodes": figure(row["nodes"], 0),
            "group": figure(row["weeks"] * row["epsilon"]),
        },
    )


def _still(row: dict[str, Any], said: dict[str, str]) -> Figure:
    canvas = new_figure(width=8.2, height=4.6)
    parts = canvas.subplot_mosaic([["bars", "weeks"], ["left", "right"]], height_ratios=[1.1, 1])
    _bars(parts["bars"], row["errors"][1:])
    ax = parts["weeks"]
    for curve, colour, dash, name in zip(row["curves"], (VERMILLION, BLUE), ("--", "-"), NAMES[1:4:2], strict=True):
        ax.plot(row["places"], curve, color=colour, linestyle=dash, linewidth=2, label=name)
    ax.set(xlabel="week", ylim=(0, None))
    ax.legend(frameon=False, fontsize=9)
    ax.set_title("And after every week?", loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    for name, sentences in (("left", ("errors", "root")), ("right", ("weeks", "level"))):
        parts[name].axis("off")
        say(parts[name], 1, *(said[sentence] for sentence in sentences), width=46)
    setting = f"{row['weeks']} weeks, epsilon {row['epsilon']:.3g} in all"
    canvas.suptitle(f"{setting}; run the cell for the sliders", x=0.01, ha="left", fontsize=10, color=GREY)
    return canvas


def _bars(ax: Axes, sizes: list[float]) -> None:
    """One bar a way, but for the first, which dwarfs them; with its number beyond the end."""
    ax.barh(range(len(sizes)), sizes, color=BLUE, height=0.6)
    for place, size in enumerate(sizes):
        ax.text(size + 0.02 * max(sizes), place, figure(size), va="center", fontsize=9, color=INK)
    ax.set_yticks(range(len(sizes)), NAMES[1:])
    ax.set(ylim=(len(sizes) - 0.5, -0.5), xlim=(0, 1.2 * max(sizes)), xticks=[])
    ax.set_title("How far off, at most?", loc="left", fontsize=11)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
