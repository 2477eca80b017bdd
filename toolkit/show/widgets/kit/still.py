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
