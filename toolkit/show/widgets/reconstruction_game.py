"""How many secrets do published sums give away? You publish, the attacker computes, and you see whom they
found out.

Every game was played in Python, see `played_games`; the browser only shows it.
"""

import json
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.attacks.reconstruction import answers, queries, reconstruct
from toolkit.central.laplace import Laplace
from toolkit.core.arrays import Mask
from toolkit.core.loss import Pure
from toolkit.planning.disclosure import guess_rate
from toolkit.show.canvas import BLUE, GREY, INK, VERMILLION, new_figure
from toolkit.show.widgets.explorer import STATIC, Asked, Between, Explorer, Whole, browser_code, say
from toolkit.texts.figures import at_most, bound, figure, fill, short

# The games that the reconstruction game shows: played by the attack itself, and kept in `static/games.json`.
#
# Random groups of people, the number of secrets in each through the Laplace mechanism, and
# `toolkit.attacks.reconstruction` on what was published. A test plays some games again. To renew the file after a
# change of the attack or of the mechanism, run `python -m toolkit.show.widgets.reconstruction_game`.

PEOPLE = 100
GAMES = 5
SUMS = (10, 20, 50, 75, 100, 125, 150, 200, 300, 400, 600, 800, 1200, 1600)
NOISES = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0, 500.0, 1600.0)
FILE = STATIC / "games.json"

_SEED = 2003


def played(sums: int, noise: float) -> list[str]:
    """Who is found out in each game: a "1" for everybody whose secret the attacker has right.

    >>> [game.count("1") for game in played(400, 1.0)]
    [100, 100, 100, 100, 100]
    """
    return ["".join("1" if right else "0" for right in _game(game, sums, noise)) for game in range(GAMES)]


def _game(game: int, sums: int, noise: float) -> Mask:
    secret, groups = _people(game)
    mechanism = Laplace.for_epsilon(1 / Fraction(noise)) if noise else None
    told = answers(secret, groups[:sums], mechanism, np.random.default_rng([_SEED, game, 1]))
    return np.asarray(reconstruct(groups[:sums], told, noise_sd=math.sqrt(2) * noise).bits == secret)


@lru_cache(maxsize=GAMES)
def _people(game: int) -> tuple[Mask, Mask]:
    """The secrets of one game, and its groups: the first of them are the same, however many sums are
    published.
    """
    rng = np.random.default_rng([_SEED, game])
    return rng.integers(0, 2, PEOPLE).astype(bool), queries(PEOPLE, SUMS[-1], rng)


@lru_cache(maxsize=1)
def stored() -> dict[tuple[int, float], list[str]]:
    """The games as they were played last, by number of sums and noise."""
    games = iter(json.loads(FILE.read_text(encoding="utf-8")))
    return {(sums, noise): [f"{int(game, 16):0{PEOPLE}b}" for game in next(games)] for sums in SUMS for noise in NOISES}


def play() -> list[list[str]]:
    """All games afresh, in the order of `stored`, a hexadecimal number each."""
    return [[f"{int(game, 2):x}" for game in played(sums, noise)] for sums in SUMS for noise in NOISES]


if __name__ == "__main__":
    FILE.write_text(json.dumps(play(), separators=(",", ":")).replace("],[", "],\n[") + "\n", encoding="utf-8")


WORDS = {
    "found": "The attacker has {found} of 100 secrets right. Tossing coins, about 50 would be.",
    "games": "Mean of {games} games with other secrets, other groups and other noise: {mean} of 100.",
    "noise": "Each sum carries Laplace noise of scale {noise}; the true sums are around 25.",
    "promise": "All cost ε\u00a0=\u00a0{epsilon}, which promises that no attack has more than {limit} of "
    "100 right on average.",
    "vain": "All cost ε\u00a0=\u00a0{epsilon}: so large a loss promises nothing. An attack may have all 100 right.",
    "bare": "Exact sums promise nothing: ε is infinite.",
}

_NONE = 0.25  # where no noise at all stands on a logarithmic axis


class ReconstructionGame(Explorer):
    """You publish how many of random groups of people have a secret; the attacker computes who does.

    A hundred people have a secret each, yes or no. You choose how many sums to publish and how much Laplace
    noise each one gets. What is set in the browser is found again in `sums`, `noise`, `found` and `loss`.

    Parameters
    ----------
    sums : how many sums are published, each of a random half of the people; few are private.
    noise : the scale of the Laplace noise on each, from 0 to 1600; much is private.
    guess : whether the live widget asks for a prediction before it shows the answer.
    """

    _esm = browser_code("reconstruction_game.js")
    maker = "reconstruction_game"
    asks = Asked("How many of 100 secrets has the attacker right, on average over the games?", "of 100")

    sums = Whole(1, SUMS[-1])
    noise = Between(0, NOISES[-1], "beyond it nothing is left to publish")

    def __init__(self, sums: int = 400, noise: float = 3.0, *, guess: bool = False) -> None:
        super().__init__(table=game_table(), sums=sums, noise=noise, guess=guess)

    @property
    def found(self) -> int:
        """How many of the 100 secrets the attacker has right, in the game that is shown first."""
        return int(self.row["found"][0])

    @property
    def loss(self) -> Pure:
        """What all sums cost together, for one person whose secret changes, or who comes or goes; infinite
        without noise.
        """
        return _loss(self.sums, self.noise)

    def truth(self) -> tuple[float, str]:
        return self.row["mean"], figure(self.row["mean"], 0)

    def setting(self) -> str:
        return f"{self.sums:,} sums, noise {self.noise:.4g}"

    def describe(self) -> dict[str, str]:
        return reading(self.table, self.row)

    def picture(self) -> Figure:
        return _still(self.row, [game_row(self.sums, level) for level in NOISES], self.describe())

    @traitlets.observe("sums", "noise")
    def _compute(self, _change: object) -> None:
        self.row = game_row(self.sums, self.noise)


def reconstruction_game(sums: int = 400, *, noise: float = 3.0, guess: bool = False) -> ReconstructionGame:
    """The game in one call; with `guess` it asks for a prediction first.

    >>> game = reconstruction_game(400, noise=1)
    >>> game, game.found
    (<ReconstructionGame: 400 sums, noise 1>, 100)
    """
    return ReconstructionGame(sums, noise, guess=guess)


@lru_cache(maxsize=1)
def game_table() -> dict[str, Any]:
    """All games of the grid, one row a setting; `rows[sums][noise]`."""
    rows = [[game_row(sums, noise) for noise in NOISES] for sums in SUMS]
    return {"sums": list(SUMS), "noises": list(NOISES), "rows": rows, "words": WORDS}


@lru_cache(maxsize=1024)
def game_row(sums: int, noise: float) -> dict[str, Any]:
    """The games of one setting: who was found out ("1" for right), how many, and what the sums promise."""
    right = stored().get((sums, noise)) or played(sums, noise)
    found = [game.count("1") for game in right]
    promised = _loss(sums, noise).epsilon
    return {
        "sums": sums,
        "noise": noise,
        "right": right,
        "found": found,
        "mean": short(sum(found) / len(found)),
        "epsilon": short(promised) if noise else None,
        "limit": short(100 * guess_rate(min(promised, 100.0))),
    }


def _loss(sums: int, noise: float) -> Pure:
    return Pure(Fraction(sums) / Fraction(noise)) if noise else Pure(float("inf"))


def reading(table: dict[str, Any], row: dict[str, Any], game: int = 0) -> dict[str, str]:
    """The sentences of one setting and one game; the browser fills the same words with the same numbers."""
    bare = row["epsilon"] is None
    values = {
        "found": row["found"][game],
        "games": len(row["found"]),
        "mean": figure(row["mean"], 0),
        "noise": f"{row['noise']:.4g}",
        "epsilon": "" if bare else bound(row["epsilon"]),
        "limit": at_most(row["limit"]),
    }
    said = fill(table["words"], values)
    promises = {name: said.pop(name) for name in ("promise", "vain", "bare")}
    return {**said, "promise": promises["bare" if bare else "vain" if values["limit"] == "100" else "promise"]}


def _still(row: dict[str, Any], levels: list[dict[str, Any]], said: dict[str, str]) -> Figure:
    canvas = new_figure(width=8.2, height=4.1)
    parts = canvas.subplot_mosaic([["people", "curve"], ["people", "words"]], height_ratios=[2.6, 1])
    _people_found(parts["people"], row["right"][0])
    say(parts["people"], 5.3, said["found"], said["games"], said["noise"])
    _curve(parts["curve"], row, levels)
    parts["words"].axis("off")
    say(parts["words"], 1, said["promise"])
    parts["people"].set_title("Whose secret is out?", loc="left", fontsize=11)
    parts["curve"].set_title("How much noise stops it?", loc="left", fontsize=11)
    setting = f"{row['sums']:,} sums, noise {row['noise']:.4g}"
    canvas.suptitle(f"{setting}; run the cell for the sliders", x=0.01, ha="left", fontsize=10, color=GREY)
    return canvas


def _people_found(ax: Axes, right: str) -> None:
    """A hundred people in five rows of twenty: filled where the attacker is right."""
    places = [(i % 20, i // 20, bit == "1") for i, bit in enumerate(right)]
    for hit, face in ((True, BLUE), (False, "none")):
        shown = [(x, y) for x, y, found in places if found == hit]
        x, y = zip(*shown, strict=True) if shown else ((), ())
        ax.plot(
            x,
            y,
            "o",
            markeredgecolor=BLUE if hit else VERMILLION,
            markerfacecolor=face,
            markeredgewidth=1.6,
            markersize=7.5,
        )
    ax.set(xlim=(-0.6, 20), ylim=(17, -0.7), xticks=[], yticks=[], aspect="equal", anchor="NW")
    ax.spines[:].set_visible(False)


def _curve(ax: Axes, row: dict[str, Any], levels: list[dict[str, Any]]) -> None:
    """The mean of the games over the noise, with the chosen point; no noise stands at the left end of the
    logarithmic axis.
    """
    ax.plot(
        [max(level["noise"], _NONE) for level in levels], [level["mean"] for level in levels], color=BLUE, linewidth=2.5
    )
    ax.axhline(50, color=GREY, linestyle="--", linewidth=1.5)
    ax.text(1600, 51, "a coin", ha="right", va="bottom", color=INK, fontsize=9)
    ax.plot([max(row["noise"], _NONE)], [row["mean"]], "o", color=VERMILLION, markersize=9)
    ax.set_xscale("log")
    ax.set_xticks([_NONE, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])
    ax.minorticks_off()
    ax.set(ylim=(40, 103), ylabel="secrets found, of 100", xlabel="noise on each sum (right: more private)")
    ax.spines[["top", "right"]].set_visible(False)
