"""Unary encodings: a bit for every option, each flipped on its own."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from toolkit.core.arrays import ArrayLike, Codes, Counts, Mask, Values
from toolkit.core.checks import DENOMINATOR_LIMIT, reject
from toolkit.core.randomness import Below, Rng
from toolkit.core.sampling import Categorical
from toolkit.local.oracles import bits
from toolkit.local.oracles.oracle import Oracle
from toolkit.local.oracles.support import Support
from toolkit.local.protocol import is_set, keep_whole


@dataclass(frozen=True, repr=False)
class Unary(Oracle):
    """A report holds each option with its own draw: probability own/denominator for the answer, other/denominator else.

    To draw a report: for each option in order one uniform integer below `denominator`; the option is held if
    the integer is below `own` (for the answer) or `other` (for the rest).

    A report is a row of packed bits (see `toolkit.local.oracles.bits`); phones send the codes of the options held.

    Parameters
    ----------
    own : int
        How often, of `denominator`, the answer itself is held.
    other : int
        How often any other option is.
    denominator : int
        Of both probabilities.

    Examples
    --------
    >>> from toolkit.local.oracles import optimized_unary
    >>> unary = optimized_unary(["a", "b", "c"], epsilon=1)
    >>> unary.epsilon <= 1
    True
    """

    own: int
    other: int
    denominator: int

    name = "unary"

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_whole(self, own=1, other=1, denominator=2)
        if self.denominator > DENOMINATOR_LIMIT:
            consequence = "one 32-bit word must be enough to draw a bit"
            reject("`denominator` must be at most 2**32", self.denominator, consequence)
        if not self.other < self.own < self.denominator:
            received = f"other {self.other}, own {self.own}, denominator {self.denominator}"
            reject("`other` < `own` < `denominator` must hold", received, "else a bit tells nothing, or tells all")

    @cached_property
    def _support(self) -> Support:
        return Support.independent(Fraction(self.own, self.denominator), Fraction(self.other, self.denominator))

    @property
    def _odds(self) -> Fraction:
        """Two answers differ in two bits: p/q for the one, (1-q)/(1-p) for the other."""
        p, q = self._support.p, self._support.q
        return p * (1 - q) / (q * (1 - p))

    def _draw_report(self, code: int, draw: Below) -> list[int]:
        # The codes of the options held: one draw below `denominator` an option, in order.
        draws = [draw(self.denominator) for _ in self.options]
        return [v for v, drawn in enumerate(draws) if drawn < (self.own if v == code else self.other)]

    def _accepts(self, report: object) -> bool:
        return is_set(report, len(self.options))

    def _draw(self, codes: Codes, rng: Rng) -> bits.Packed:
        return bits.draw(*self._laws, codes, len(self.options), rng)

    @cached_property
    def _laws(self) -> tuple[bits.ByteLaw, Categorical]:
        return bits.ByteLaw(self.other, self.denominator), Categorical([self.denominator - self.own, self.own])

    def tally(self, reports: Values, times: ArrayLike | None = None) -> tuple[Counts, int]:
        return bits.tally(bits.as_packed(reports, len(self.options)), len(self.options), times)

    def _read(self, reports: Values) -> bits.Packed:
        return bits.as_packed(reports, len(self.options))

    def _supports(self, read: bits.Packed, code: int) -> Mask:
        return bits.column(read, code)
