"""A game in which the user publishes noisy sums, and an attacker computes secrets from these sums.

Python plays all games in `play_games`, and the browser only shows the results.
"""

import json
import math
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import traitlets
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.central.laplace import Laplace
from toolkit.core.arrays import Mask
from toolkit.core.loss import Pure
from toolkit.planning.disclosure import guess_rate
from toolkit.show.canvas import BLUE, GREY, INK, VERMILLION
from toolkit.show.widgets.explorer import (
    BoundedFloat,
    BoundedInt,
    Explorer,
    PredictionQuestion,
    browser_code,
    document_widget,
    hide_axis,
)
from toolkit.teaching.attacks.reconstruction import answers, queries, reconstruct
from toolkit.texts.figures import fill_templates, format_factor, format_number, format_upper_chance, round_for_browser

STATIC = Path(__file__).parent / "static"

# Playing the games takes a long time, so their results are stored in `static/games.json`.
#
# In each game, the Laplace mechanism releases the number of secrets in random groups of people, and
# `toolkit.teaching.attacks.reconstruction` attacks the releases. A test repeats some of the games. To update the file
# after a change to the attack or the mechanism, run `python -m toolkit.teaching.explorers reconstruction_game`.

N_PEOPLE = 100
N_GAMES = 5
SUMS = (10, 20, 50, 75, 100, 125, 150, 200, 300, 400, 600, 800, 1200, 1600)
NOISES = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0, 500.0, 1600.0)
FILE = STATIC / "games.json"

_SEED = 2003


def play_games(sums: int, noise: float) -> list[str]:
    """Play all games of a setting; return a text for each game, with a "1" for each person whose secret is found."""
    return ["".join("1" if right else "0" for right in _play_game(game, sums, noise)) for game in range(N_GAMES)]


def _play_game(game: int, sums: int, noise: float) -> Mask:
    secret, groups = _secrets_and_groups(game)
    mechanism = Laplace.for_epsilon(1 / Fraction(noise)) if noise else None
    published = answers(secret, groups[:sums], mechanism, np.random.default_rng([_SEED, game, 1]))
    return np.asarray(reconstruct(groups[:sums], published, noise_sd=math.sqrt(2) * noise).bits == secret)


@lru_cache(maxsize=N_GAMES)
def _secrets_and_groups(game: int) -> tuple[Mask, Mask]:
    """Return the secrets and all groups of one game; a setting publishes the sums of the first groups."""
    rng = np.random.default_rng([_SEED, game])
    return rng.integers(0, 2, N_PEOPLE).astype(bool), queries(N_PEOPLE, SUMS[-1], rng)


@lru_cache(maxsize=1)
def stored_games() -> dict[tuple[int, float], list[str]]:
    """Return the stored results by number of sums and noise."""
    games = iter(json.loads(FILE.read_text(encoding="utf-8")))
    return {
        (sums, noise): [f"{int(game, 16):0{N_PEOPLE}b}" for game in next(games)] for sums in SUMS for noise in NOISES
    }


def compute_grid() -> list[list[str]]:
    """Play all games in the order of `stored_games`, each as a hexadecimal number."""
    return [[f"{int(game, 2):x}" for game in play_games(sums, noise)] for sums in SUMS for noise in NOISES]


SENTENCES = {
    "found": "The attacker has {found} of 100 secrets right. Tossing coins would give about 50.",
    "games": "Mean of {games} games with different secrets, groups and noise: {mean} of 100.",
    "noise": "Each sum carries Laplace noise of scale {noise}; the true sums are around 25.",
    "promise": "All sums cost ε\u00a0=\u00a0{epsilon}, which guarantees that no attack gets more than {limit} "
    "of 100 right on average.",
    "vain": "All sums cost ε\u00a0=\u00a0{epsilon}. So large a loss guarantees nothing: an attack may get all "
    "100 right.",
    "bare": "Exact sums guarantee nothing: ε is infinite.",
}

_NO_NOISE_POSITION = 0.25  # where the logarithmic axis shows no noise


class ReconstructionGame(Explorer):
    """A game in which you publish sums of secrets over random groups, and an attacker computes each person's secret.

    Each of a hundred people has a secret, yes or no. You choose the number of published sums and the Laplace noise on
    each sum. The attributes `sums`, `noise`, `correct` and `loss` follow the sliders.

    Parameters
    ----------
    sums : int, default 400
        Number of published sums, each over a random half of the people; fewer sums give more privacy.
    noise : float, default 3.0
        Scale of the Laplace noise on each sum, from 0 to 1600; more noise gives more privacy.
    guess : bool, default False
        Whether the live widget asks for a prediction before it shows the answer.

    Examples
    --------
    >>> sliders = ReconstructionGame(sums=400, noise=3)  # shown in a notebook
    """

    _esm = browser_code(STATIC / "reconstruction_game.js")
    function_name = "reconstruction"
    prediction_question = PredictionQuestion(
        "How many of 100 secrets has the attacker right, on average over the games?", "of 100"
    )

    sums = BoundedInt(1, SUMS[-1])
    noise = BoundedFloat(0, NOISES[-1], "beyond it nothing is left to publish")

    def __init__(self, sums: int = 400, noise: float = 3.0, *, guess: bool = False) -> None:
        super().__init__(table=game_table(), sums=sums, noise=noise, guess=guess)

    @property
    def correct(self) -> int:
        """The number of secrets that the attacker finds in the first game."""
        return int(self.row["found"][0])

    @property
    def loss(self) -> Pure:
        """The loss of all sums together if one person changes, joins or leaves; it is infinite without noise."""
        return _total_loss(self.sums, self.noise)

    def right_answer(self) -> tuple[float, str]:
        return self.row["mean"], format_number(self.row["mean"], 0)

    def setting_text(self) -> str:
        return f"{self.sums:,} sums, noise {self.noise:.4g}"

    def describe(self) -> dict[str, str]:
        return fill_sentences(self.table, self.row)

    def picture(self) -> Figure:
        titles = {"people": "Whose secret is out?", "curve": "How much noise stops it?"}
        canvas, panels = self._new_panels(
            4.1, self.setting_text(), [["people", "curve"], ["people", "words"]], [2.6, 1], **titles
        )
        _draw_people(panels["people"], self.row["right"][0])
        _draw_curve(panels["curve"], self.row, [game_row(self.sums, level) for level in NOISES])
        self._write_sentences(panels, people=("found", "games", "noise"), words=["promise"])
        return canvas

    @traitlets.observe("sums", "noise")
    def _update_row(self, _change: object) -> None:
        self.row = game_row(self.sums, self.noise)


@document_widget(ReconstructionGame)
def reconstruction(sums: int = 400, *, noise: float = 3.0, guess: bool = False) -> ReconstructionGame:
    """Play against an attacker who computes secrets from published sums.

    Examples
    --------
    >>> from toolkit.teaching import explorers
    >>> game = explorers.reconstruction(400, noise=1)
    >>> game, game.correct
    (<ReconstructionGame: 400 sums, noise 1>, 100)
    """
    return ReconstructionGame(sums, noise, guess=guess)


@lru_cache(maxsize=1)
def game_table() -> dict[str, Any]:
    """Return all games of the grid as `rows[sums][noise]`."""
    rows = [[game_row(sums, noise) for noise in NOISES] for sums in SUMS]
    return {"sums": list(SUMS), "noises": list(NOISES), "rows": rows, "words": SENTENCES}


@lru_cache(maxsize=1024)
def game_row(sums: int, noise: float) -> dict[str, Any]:
    """Return the results of one setting: each person's outcome ("1" for found), the counts, and the privacy loss."""
    right = stored_games().get((sums, noise)) or play_games(sums, noise)
    right_guesses = [game.count("1") for game in right]
    epsilon = _total_loss(sums, noise).epsilon
    return {
        "sums": sums,
        "noise": noise,
        "right": right,
        "found": right_guesses,
        "mean": round_for_browser(sum(right_guesses) / len(right_guesses)),
        "epsilon": round_for_browser(epsilon) if noise else None,
        "limit": round_for_browser(100 * guess_rate(min(epsilon, 100.0))),
    }


def _total_loss(sums: int, noise: float) -> Pure:
    return Pure(Fraction(sums) / Fraction(noise)) if noise else Pure(float("inf"))


def fill_sentences(table: dict[str, Any], row: dict[str, Any], game: int = 0) -> dict[str, str]:
    """Return the sentences of one setting and one game; the browser fills the same templates with the same numbers."""
    exact = row["epsilon"] is None
    values = {
        "found": row["found"][game],
        "games": len(row["found"]),
        "mean": format_number(row["mean"], 0),
        "noise": f"{row['noise']:.4g}",
        "epsilon": "" if exact else format_factor(row["epsilon"]),
        "limit": format_upper_chance(row["limit"]),
    }
    sentences = fill_templates(table["words"], values)
    promises = {name: sentences.pop(name) for name in ("promise", "vain", "bare")}
    return {**sentences, "promise": promises["bare" if exact else "vain" if values["limit"] == "100" else "promise"]}


def _draw_people(ax: Axes, right: str) -> None:
    """Draw a hundred people in five rows of twenty, filled where the attacker is right."""
    for bit, face, edge in (("1", BLUE, BLUE), ("0", "none", VERMILLION)):
        indices = [i for i, outcome in enumerate(right) if outcome == bit]
        style: dict[str, Any] = {
            "markeredgecolor": edge,
            "markerfacecolor": face,
            "markeredgewidth": 1.6,
            "markersize": 7.5,
        }
        ax.plot([i % 20 for i in indices], [i // 20 for i in indices], "o", **style)
    hide_axis(ax)


def _draw_curve(ax: Axes, row: dict[str, Any], levels: list[dict[str, Any]]) -> None:
    """Draw the mean result against the noise, with the current setting as a point and no noise at the left."""
    noises = [max(level["noise"], _NO_NOISE_POSITION) for level in levels]
    ax.plot(noises, [level["mean"] for level in levels], color=BLUE, linewidth=2.5)
    ax.axhline(50, color=GREY, linestyle="--", linewidth=1.5)
    ax.text(1600, 51, "a coin", ha="right", va="bottom", color=INK, fontsize=9)
    ax.plot([max(row["noise"], _NO_NOISE_POSITION)], [row["mean"]], "o", color=VERMILLION, markersize=9)
    ax.set_xscale("log")
    ax.set_xticks([_NO_NOISE_POSITION, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])
    ax.minorticks_off()
    ax.set(ylim=(40, 103), ylabel="secrets found, of 100", xlabel="noise on each sum (right: more private)")
    ax.spines[["top", "right"]].set_visible(False)
