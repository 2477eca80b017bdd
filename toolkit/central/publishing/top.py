"""`TopK`: the k most frequent of some options, by k rounds of the exponential mechanism."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from toolkit.central.noise.grid import NO_END
from toolkit.central.selection import Exponential, root_below
from toolkit.core.arrays import Steps
from toolkit.core.checks import Number, positive, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng


@dataclass(frozen=True)
class TopK:
    """The best of all options, then the best of the others, and so on, with odds of e**(rate count).

    One person moves a count by at most `rows`, and those of k options by at most `together` in one direction. What
    makes the odds of a round add up to 1 moves by at most e**(rate rows), and what was chosen, over all rounds, by at
    most e**(rate together). Under "add_remove" all counts move in one direction, and the two against each other: no
    choice becomes more than e**(rate k rows) times likelier. Under "replace" some rise and some fall, and it is
    e**(rate (k rows + together)) at most.

    >>> TopK.for_epsilon(100, 2, neighbors="add_remove").choose([5, 90, 40, 3])
    [1, 2]
    """

    loss: Pure
    k: int
    neighbors: str
    rows: int
    together: int

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Pure):
            refuse("`loss` must be Pure(epsilon)", type(self.loss).__name__, "choices cost that", TypeError)
        positive(self.loss.amount, "epsilon", NO_END)
        check_neighbors(self.neighbors)
        whole(self.k, "k")
        whole(self.rows, "rows")
        if not self.rows <= whole(self.together, "together") <= self.k * self.rows:
            rule = "`together` must be at least `rows`, and at most that for each of k options"
            refuse(rule, self.together, "one person moves the counts of k options by so much")

    def facts(self) -> dict[str, Any]:
        words = "the exponential mechanism chose them, one after the other"
        return {"mechanism": type(self).__name__, "words": words, "rounds": self.k, "rate": str(self.rate)}

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, k: int, *, neighbors: str, rows: int = 1, together: int | None = None
    ) -> "TopK":
        """Costs Pure(epsilon) in all; `together` is k times `rows` if not given, which is always enough."""
        amount, each = Pure(positive(epsilon, "epsilon", NO_END)), whole(rows, "rows")
        return cls(amount, whole(k, "k"), neighbors, each, k * each if together is None else together)

    @classmethod
    def for_rho(cls, rho: Number, k: int, *, neighbors: str, rows: int = 1, together: int | None = None) -> "TopK":
        """Costs at most Zcdp(rho), by less than a billionth: k bounded_range**2 / 8."""
        unit = cls.for_epsilon(1, k, neighbors=neighbors, rows=rows, together=together)
        amount = root_below(8 * positive(rho, "rho", NO_END) / k) / unit.bounded_range
        return cls.for_epsilon(amount, k, neighbors=neighbors, rows=rows, together=unit.together)

    @property
    def rate(self) -> Fraction:
        """How fast the odds rise with a count."""
        both = self.together if self.neighbors == "replace" else 0
        return Fraction(self.loss.amount) / (self.k * self.rows + both)

    @property
    def bounded_range(self) -> Fraction:
        """Within what the logarithms of a round's odds move: of counts that rise, or that rise and fall."""
        return (2 if self.neighbors == "replace" else 1) * self.rate * self.rows

    @property
    def zcdp(self) -> Zcdp:
        """A round is of bounded range: it costs bounded_range**2 / 8."""
        return Zcdp(self.k * self.bounded_range**2 / 8)

    @property
    def round(self) -> Exponential:
        return Exponential.for_epsilon(2 * self.rate * self.rows, sensitivity=self.rows)

    def choose(self, counts: Steps | list[int], rng: Rng = None) -> list[int]:
        """The places of k options, in the order in which they were chosen."""
        source, numbers = check_rng(rng), np.asarray(counts, dtype=np.int64)
        left = np.arange(len(numbers))
        if len(left) < self.k:
            refuse("`k` must be at most the number of options", self.k, f"there are {len(left)}")
        chosen = []
        for _ in range(self.k):
            place = self.round.choose(range(len(left)), numbers[left], rng=source)
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return chosen

    def off_by(self, options: int) -> int:
        """Counts that with probability 95 % no chosen option is below the best of those that were left."""
        return math.ceil((math.log(options) + math.log(20 * self.k)) / float(self.round.rate))
