"""Private learning as pictures: how accurate a classifier is, against its cost or the number of people."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from toolkit.core.checks import choice, refuse
from toolkit.show.canvas import BLUE, GREY, ORANGE, SKY, VERMILLION, axes, finish, percent

_LOOKS = ((BLUE, "-", "o"), (VERMILLION, "--", "s"), (ORANGE, "-.", "D"), (SKY, ":", "^"))
_ACROSS = {"epsilon": "ε", "people": "people", "C": "C"}


def accuracy_curves(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    across: str = "epsilon",
    plain: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Shares of right answers of several learners, each a list of (epsilon, people or C; share); `plain`
    is what is reached without privacy.

    >>> accuracy_curves({"objective": [(0.5, 0.77), (2, 0.84)]}, plain=0.85)
    <Picture: accuracy against ε: objective 77 % at 0.5 and 84 % at 2; without privacy 85 %>
    """
    choice(across, "across", tuple(_ACROSS))
    if not 1 <= len(curves) <= len(_LOOKS):
        refuse(f"`curves` must be one to {len(_LOOKS)}", len(curves), "they are drawn in one picture")
    ax, words = axes(ax), []
    for (name, points), (colour, dash, mark) in zip(curves.items(), _LOOKS, strict=False):
        places, shares = zip(*sorted(points), strict=True)
        ax.plot(places, shares, color=colour, linestyle=dash, marker=mark, linewidth=2, label=name)
        ends = " and ".join(f"{percent(shares[i])} at {places[i]:g}" for i in (0, -1))
        words.append(f"{name} {ends}")
    if plain is not None:
        ax.axhline(plain, color=GREY, linewidth=1.2, label="without privacy")
        words.append(f"without privacy {percent(plain)}")
    ax.set(xscale="log", xlabel=_ACROSS[across], ylabel="right answers")
    marks = sorted({place for points in curves.values() for place, _ in points})
    ax.set_xticks(marks, [f"{mark:g}" for mark in marks])
    ax.minorticks_off()
    ax.yaxis.set_major_formatter(lambda share, _: percent(share))
    ax.legend(frameon=False, loc="best")
    described = ", ".join(words[: len(curves)]) + "".join(f"; {word}" for word in words[len(curves) :])
    label = _ACROSS[across]
    return finish(ax, f"Right answers against {label}", f"accuracy against {label}: {described}")
