"""The design explorer as a still picture, for readers without a kernel."""

import math
import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.show.canvas import BLUE, GREY, INK, VERMILLION, new_figure, percent
from toolkit.show.table import Row, reading

_TALLEST = 50  # points; wider margins say nothing, and would flatten the curve


def explorer_figure(table: dict[str, Any], row: Row, prevalence: float, n: int) -> Figure:
    """Icon array and margins of one setting, with the sentences of the live widget."""
    figure = new_figure(width=8.2, height=3.9)
    parts = figure.subplot_mosaic([["people", "margins"], ["people", "words"]], height_ratios=[2.7, 1])
    said = reading(table, row, prevalence, n)
    _icons(parts["people"], round(100 * row["p"]))
    _say(parts["people"], 5.3, said["icons"], said["odds"], said["belief"])
    _margins(parts["margins"], table, row, table["prevalences"].index(prevalence), n)
    parts["words"].axis("off")
    _say(parts["words"], 1, said["margin"], said["people"])
    parts["people"].set_title("How private is each person?", loc="left", fontsize=11)
    parts["margins"].set_title("How precise is the survey?", loc="left", fontsize=11)
    setting = f"epsilon {row['epsilon']:.3g}, {n:,} respondents, {percent(prevalence, 1)} guessed to be yes"
    figure.suptitle(f"{setting}; run the cell for the sliders", x=0.01, ha="left", fontsize=10, color=GREY)
    return figure


def _icons(ax: Axes, yes: int) -> None:
    """A hundred people who would say yes: filled where the report is yes, hollow where it is no."""
    across, down = [i % 20 for i in range(100)], [i // 20 for i in range(100)]
    ax.plot(across[:yes], down[:yes], "o", color=BLUE, markersize=8)
    ax.plot(across[yes:], down[yes:], "o", markeredgecolor=VERMILLION, markerfacecolor="none", markeredgewidth=1.6, markersize=7.5)
    ax.set(xlim=(-0.6, 20), ylim=(17, -0.7), xticks=[], yticks=[], aspect="equal", anchor="NW")
    ax.spines[:].set_visible(False)


def _margins(ax: Axes, table: dict[str, Any], row: Row, column: int, n: int) -> None:
    """The margin over epsilon, with the chosen point; dashed: asking directly."""
    points = 100 / math.sqrt(n)
    direct = points * table["direct"][column]
    ax.plot([r["epsilon"] for r in table["rows"]], [points * r["margin"][column] for r in table["rows"]], color=BLUE, linewidth=2.5)
    ax.axhline(direct, color=GREY, linestyle="--", linewidth=1.5)
    ax.text(5, direct + 1, "asking directly", ha="right", va="bottom", color=INK, fontsize=9)
    ax.plot([row["epsilon"]], [points * row["margin"][column]], "o", color=VERMILLION, markersize=9)
    ax.set(ylim=(0, _TALLEST), ylabel="95 % margin, ± points", xlabel="epsilon (left: more private; right: more precise)")
    ax.spines[["top", "right"]].set_visible(False)


def _say(ax: Axes, top: float, *sentences: str) -> None:
    text = "\n\n".join(textwrap.fill(sentence, 52) for sentence in sentences)
    ax.text(ax.get_xlim()[0], top, text, va="top", fontsize=9.5, color=INK)
