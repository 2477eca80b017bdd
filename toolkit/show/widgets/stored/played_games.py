"""The games that the reconstruction game shows: played by the attack itself, and kept in `static/games.json`.

Random groups of people, the number of secrets in each through the Laplace mechanism, and
`toolkit.attacks.reconstruction` on what was published. A test plays some games again. To renew the file after
a change of the attack or of the mechanism, run `python -m toolkit.show.widgets.stored.played_games`.
"""

import json
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from toolkit.attacks.reconstruction import answers, queries, reconstruct
from toolkit.central.laplace import Laplace
from toolkit.core.arrays import Mask
from toolkit.show.widgets.explorer import STATIC

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
