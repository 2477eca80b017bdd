"""How often private classifiers are right, for the learning explorer, kept in `static/learned.json`.

Invented people with twenty yes/no answers, which speak for an illness or against it. To renew the file after
a change of `toolkit.learning`, run `python -m toolkit.show.widgets.stored.learned`; a test fits some again.
"""

import json
import math
from functools import lru_cache
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, Mask
from toolkit.show.widgets.explorer import STATIC

PEOPLE = (250, 500, 1000, 2000, 5000, 10_000, 20_000)
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
METHODS = ("objective", "output")
COLUMNS = 20
FITS = 10
FILE = STATIC / "learned.json"

_SEED, _TESTED = 2011, 10_000
_SHARES = np.linspace(0.1, 0.5, COLUMNS)
_WEIGHTS = np.random.default_rng(_SEED).permutation(np.linspace(-3, 3, COLUMNS))


@lru_cache(maxsize=16)
def invented(n: int, group: int = 0) -> tuple[Array, Mask]:
    """The answers of n people, and who of them is ill."""
    rng = np.random.default_rng([_SEED, n, group])
    rows = (rng.random((n, COLUMNS)) < _SHARES).astype(float)
    return rows, rng.random(n) < 1 / (1 + np.exp(-(rows - _SHARES) @ _WEIGHTS))


def tested() -> tuple[Array, Mask]:
    """Those whose illness is predicted."""
    return invented(_TESTED, 1)


def right(method: str, people: int, epsilon: float, strength: float) -> float:
    """Of 100 others, how many are classified rightly: the mean of some fits to the same people.

    >>> right("objective", 250, 4.0, 0.1) > 70
    True
    """
    from toolkit.learning import PrivateLogisticRegression  # scikit-learn is an extra

    rng = np.random.default_rng([_SEED, METHODS.index(method), people, *np.array([epsilon, strength]).view(np.int64)])
    model = PrivateLogisticRegression(
        epsilon, method=method, C=strength, classes=(False, True), bounds=(0, 1), missing="middle", rng=rng
    )
    rows, truth = tested()
    return float(100 * np.mean([model.fit(*invented(people)).score(rows, truth) for _ in range(FITS)]))


def plain(people: int) -> float:
    """The same without privacy, by scikit-learn's own classifier as it comes."""
    from sklearn.linear_model import LogisticRegression

    return float(100 * LogisticRegression().fit(*invented(people)).score(*tested()))


def base() -> float:
    """The same for whoever says to all of them what is more frequent."""
    share = float(np.mean(tested()[1]))
    return 100 * max(share, 1 - share)


@lru_cache(maxsize=1)
def stored() -> dict[str, Any]:
    """The grid as it was computed last: `plain[people]`, `own[method][people][epsilon]` with the C that a
    method takes by itself, `right[method][people][strength][epsilon]`.
    """
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def compute() -> dict[str, Any]:
    """The whole grid, afresh."""
    grid = [
        [[[round(right(method, n, e, c), 2) for e in EPSILONS] for c in STRENGTHS] for n in PEOPLE]
        for method in METHODS
    ]
    own = [
        [[round(right(method, n, e, own_strengths(e)[way]), 2) for e in EPSILONS] for n in PEOPLE]
        for way, method in enumerate(METHODS)
    ]
    without = [round(plain(n), 2) for n in PEOPLE]
    return {"base": round(base(), 2), "plain": without, "own": own, "right": grid}


def own_strengths(epsilon: float) -> tuple[float, float]:
    """The C of each method where none is said, for twenty columns and the intercept."""
    return epsilon / 2, 0.2 * epsilon / (COLUMNS + 1)


def most_strength(epsilon: float) -> float:
    """The largest C that noise in the objective of the logistic loss leaves, at this epsilon."""
    return 4 * math.expm1(min(epsilon * 63 / 64 / 2, 700.0))


if __name__ == "__main__":
    FILE.write_text(json.dumps(compute(), separators=(",", ":")).replace("]],", "]],\n") + "\n", encoding="utf-8")
