"""`TopK`: the k most frequent of some options, by k rounds of the exponential mechanism."""

import math
from dataclasses import dataclass
from fractions import Fraction

from toolkit.central.noise.grid import NO_END
from toolkit.central.selection import Exponential, root_below
from toolkit.core.arrays import Steps
from toolkit.core.checks import Number, positive, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.loss import Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng


@dataclass(frozen=True)
class TopK:
    """The best of all options, then the best of the others, and so on; epsilon / k for each round.

    One person moves every count by at most `rows`. Under "add_remove" all counts move in one direction, so
    that with odds of e**(epsilon_round count / rows) no choice becomes more than e**epsilon_round times
    likelier; under "replace" some rise and some fall, and the odds are e**(epsilon_round count / (2 rows)).

    >>> TopK.for_epsilon(100, 2, neighbors="add_remove").choose([5, 90, 40, 3])
    [1, 2]
    """

    loss: Pure
    k: int
    neighbors: str
    rows: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.loss, Pure):
            refuse("`loss` must be Pure(epsilon)", type(self.loss).__name__, "choices cost that", TypeError)
        positive(self.loss.amount, "epsilon", NO_END)
        check_neighbors(self.neighbors)
        whole(self.k, "k")
        whole(self.rows, "rows")

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int, *, neighbors: str, rows: int = 1) -> "TopK":
        """Costs Pure(epsilon) in all."""
        return cls(Pure(positive(epsilon, "epsilon", NO_END)), whole(k, "k"), neighbors, rows)

    @classmethod
    def for_rho(cls, rho: Number, k: int, *, neighbors: str, rows: int = 1) -> "TopK":
        """Costs at most Zcdp(rho), by less than a billionth: k epsilon_round**2 / 8."""
        each = root_below(8 * positive(rho, "rho", NO_END) / whole(k, "k"))
        return cls.for_epsilon(k * each, k, neighbors=neighbors, rows=rows)

    @property
    def each(self) -> Fraction:
        """Epsilon of one round."""
        return Fraction(self.loss.amount) / self.k

    @property
    def zcdp(self) -> Zcdp:
        """A round is of bounded range epsilon_round: it costs epsilon_round**2 / 8."""
        return Zcdp(self.k * self.each**2 / 8)

    @property
    def round(self) -> Exponential:
        """The mechanism of one round; counts that move in one direction allow twice the rate."""
        monotone = 2 if self.neighbors == "add_remove" else 1
        return Exponential.for_epsilon(monotone * self.each, sensitivity=self.rows)

    def choose(self, counts: Steps | list[int], rng: Rng = None) -> list[int]:
        """The places of k options, in the order in which they were chosen."""
        source, left = check_rng(rng), list(range(len(counts)))
        if len(left) < self.k:
            refuse("`k` must be at most the number of options", self.k, f"there are {len(left)}")
        chosen = []
        for _ in range(self.k):
            place = self.round.choose(left, [int(counts[i]) for i in left], rng=source)
            chosen.append(place)
            left.remove(place)
        return chosen

    def off_by(self, options: int) -> int:
        """Counts that with probability 95 % no chosen option is below the best of those that were left."""
        return math.ceil((math.log(options) + math.log(20 * self.k)) / float(self.round.rate))
