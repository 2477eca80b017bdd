"""What the attacker knew, and what they learned: one row an attack, for the end of a lesson."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolkit.core.extras import extra
from toolkit.core.inference.digits import concise

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Breach:
    """One attack in words.

    Parameters
    ----------
    attack : what was done.
    released : what had been published.
    knew : what the attacker knew besides.
    learned : what they learned.
    score : how well, as a number, and what it measures.
    """

    attack: str
    released: str
    knew: str
    learned: str
    score: float | None = None
    measure: str = ""

    __repr__ = concise


def table(breaches: Sequence[Breach]) -> "pd.DataFrame":
    """The breaches side by side.

    >>> table([Breach("differencing", "two means", "who left", "their salary", 1.0, "share found")]).shape
    (1, 6)
    """
    pd = extra("pandas")

    columns = ["attack", "what was released", "what the attacker knew", "what they learned", "score", "of what"]
    rows = [[b.attack, b.released, b.knew, b.learned, b.score, b.measure] for b in breaches]
    return pd.DataFrame(rows, columns=columns)
