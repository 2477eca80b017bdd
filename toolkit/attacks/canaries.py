"""Was this person in the training set? A canary is put into the data or left out, and the model is asked.

Whoever holds a model can score a person with it. A model that is a function of its data alone scores a canary
in one way where it was there and in another where it was not, so that one look tells. What privacy promises
is a bound on how well any look can tell: `membership.promised_advantage`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from toolkit.attacks.classes import floats, quietly
from toolkit.attacks.membership import Roc, roc
from toolkit.core.checks import refuse, whole
from toolkit.core.progress import chunks


def canary_scores(
    learn: Callable[[Any, Any], Any],
    rows: Any,
    labels: Any,
    canary: tuple[Any, Any],
    *,
    games: int,
) -> tuple[list[float], list[float]]:
    """How well models fit a canary: of models that were trained with it, and of models that were not.

    `learn(rows, labels)` fits a classifier anew. The canary, a row and its label, takes the place of the
    first row, so that both tables are neighbours by "replace". The score is the model's own, with the sign of
    the label.
    """
    row, label = canary
    table, known = floats(rows, "rows").copy(), quietly(lambda: np.array(labels))
    if table.ndim != 2 or len(known) != len(table) or np.shape(row) != table.shape[1:]:
        refuse(
            "`rows` must be a table, `labels` one for each row, the canary a row and a label",
            "others",
            "there is no game",
        )
    planted, marked = table.copy(), known.copy()
    planted[0], marked[0] = row, label
    inside: list[float] = []
    outside: list[float] = []
    for _ in chunks(whole(games, "games"), 1, "training models"):
        for scores, data in ((inside, (planted, marked)), (outside, (table, known))):
            model = learn(*data)
            sign = 1 if label == model.classes_[1] else -1
            scores.append(sign * float(model.decision_function([row])[0]))
    return inside, outside


def canary_game(
    learn: Callable[[Any, Any], Any],
    rows: Any,
    labels: Any,
    canary: tuple[Any, Any],
    *,
    games: int = 50,
) -> Roc:
    """How often one look at a model tells whether the canary was in its data, at all thresholds.

    >>> class Mean:
    ...     classes_ = (0, 1)
    ...
    ...     def __init__(self, X, y):
    ...         self.mean = X[y == 1].mean()
    ...
    ...     def decision_function(self, rows):
    ...         return [row[0] * self.mean for row in rows]
    >>> canary_game(Mean, [[1.0], [2.0]], [1, 1], ([9.0], 1), games=2).area
    1.0
    """
    return roc(*canary_scores(learn, rows, labels, canary, games=games))
