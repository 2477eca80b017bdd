"""What the attacker knew, and what they learned: one row per attack, for the end of a lesson."""

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
    attack : str
        What was done.
    released : str
        What had been published.
    knew : str
        What the attacker knew besides.
    learned : str
        What they learned.
    score : float, optional
        How well.
    measure : str
        What the score measures.

    Examples
    --------
    >>> Breach("linkage", "a table without names", "a voters' list", "one diagnosis").learned
    'one diagnosis'
    """

    attack: str
    released: str
    knew: str
    learned: str
    score: float | None = None
    measure: str = ""

    __repr__ = concise


def table(breaches: Sequence[Breach]) -> "pd.DataFrame":
    """Put breaches side by side, a row per attack."""
    columns = ["attack", "what was released", "what the attacker knew", "what they learned", "score", "of what"]
    rows = [[b.attack, b.released, b.knew, b.learned, b.score, b.measure] for b in breaches]
    return extra("pandas").DataFrame(rows, columns=columns)
