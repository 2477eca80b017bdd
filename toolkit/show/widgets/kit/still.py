"""Parts of the still pictures that explorers leave in saved notebooks."""

import textwrap

from matplotlib.axes import Axes

from toolkit.show.canvas import BLUE, INK, VERMILLION


def icons(ax: Axes, yes: int) -> None:
    """A hundred people in five rows of twenty: the first `yes` filled, the others hollow. Below them is room
    for words.
    """
    across, down = [i % 20 for i in range(100)], [i // 20 for i in range(100)]
    ax.plot(across[:yes], down[:yes], "o", color=BLUE, markersize=8)
    ax.plot(
        across[yes:],
        down[yes:],
        "o",
        markeredgecolor=VERMILLION,
        markerfacecolor="none",
        markeredgewidth=1.6,
        markersize=7.5,
    )
    ax.set(xlim=(-0.6, 20), ylim=(17, -0.7), xticks=[], yticks=[], aspect="equal", anchor="NW")
    ax.spines[:].set_visible(False)


def say(ax: Axes, top: float, *sentences: str, width: int = 52) -> None:
    """Sentences from the left edge downwards, in lines of `width` characters."""
    text = "\n\n".join(textwrap.fill(sentence, width) for sentence in sentences)
    ax.text(ax.get_xlim()[0], top, text, va="top", fontsize=9.5, color=INK)


def point(ax: Axes, x: float, y: float, colour: str = VERMILLION) -> None:
    """The chosen point; above the axis it stands at its upper edge, hollow, and says so. The axis has its
    limits already.
    """
    top = ax.get_ylim()[1]
    if y <= top:
        ax.plot([x], [y], "o", color=colour, markersize=9)
        return
    ax.plot([x], [top], "o", markeredgecolor=colour, markerfacecolor="none", markersize=9, clip_on=False)
    ax.text(x, 0.93 * top, "  ↑ off the axis", va="top", fontsize=9, color=colour)
