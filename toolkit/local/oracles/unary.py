"""Unary encodings: a bit for every option, each flipped independently."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from toolkit.core.arrays import ArrayLike, Codes, Counts, Mask, Values
from toolkit.core.checks import DENOMINATOR_LIMIT, reject
from toolkit.core.randomness import DrawBelow, Rng
from toolkit.core.sampling import Categorical
from toolkit.local.oracles import bits
from toolkit.local.oracles.oracle import Oracle
from toolkit.local.oracles.support import SupportLaw
from toolkit.local.protocol import convert_to_integers, is_code_set


@dataclass(frozen=True, repr=False)
class Unary(Oracle):
    """A randomizer whose report includes each option independently, and the answer more often than the others.

    The probability is own/denominator for the answer and other/denominator for each of the other options. To draw a
    report, draw a uniform integer below `denominator` for each option in order; the option is included if the integer
    is below `own` (for the answer) or `other` (for the rest).

    A report is a row of packed bits (see `toolkit.local.oracles.bits`); phones send the codes of the included options.

    Parameters
    ----------
    own : int
        The numerator of the probability that the answer is included.
    other : int
        The numerator of the probability that any other option is included.
    denominator : int
        The denominator of both probabilities.

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
        convert_to_integers(self, own=1, other=1, denominator=2)
        if self.denominator > DENOMINATOR_LIMIT:
            consequence = "one 32-bit word must be enough to draw a bit"
            reject("`denominator` must be at most 2**32", self.denominator, consequence)
        if not self.other < self.own < self.denominator:
            received = f"other {self.other}, own {self.own}, denominator {self.denominator}"
            reject(
                "`other` < `own` < `denominator` must hold",
                received,
                "otherwise a bit says nothing, or reveals the answer",
            )

    @cached_property
    def _support_law(self) -> SupportLaw:
        return SupportLaw.independent(Fraction(self.own, self.denominator), Fraction(self.other, self.denominator))

    @property
    def _odds(self) -> Fraction:
        """The odds of two answers, which differ in two bits: p/q for one bit, times (1-q)/(1-p) for the other bit."""
        p, q = self._support_law.p, self._support_law.q
        return p * (1 - q) / (q * (1 - p))

    def _draw_report(self, code: int, draw: DrawBelow) -> list[int]:
        # There is one draw per option, in order, so that the browser makes the same report from the same draws.
        integers = [draw(self.denominator) for _ in self.options]
        return [v for v, integer in enumerate(integers) if integer < (self.own if v == code else self.other)]

    def _accepts(self, report: object) -> bool:
        return is_code_set(report, len(self.options))

    def _draw(self, codes: Codes, rng: Rng) -> bits.Packed:
        return bits.draw_rows(*self._bit_laws, codes, len(self.options), rng)

    @cached_property
    def _bit_laws(self) -> tuple[bits.BernoulliByteLaw, Categorical]:
        return bits.BernoulliByteLaw(self.other, self.denominator), Categorical([self.denominator - self.own, self.own])

    def tally(self, reports: Values, times: ArrayLike | None = None) -> tuple[Counts, int]:
        return bits.tally(bits.as_packed(reports, len(self.options)), len(self.options), times)

    def _read_reports(self, reports: Values) -> bits.Packed:
        return bits.as_packed(reports, len(self.options))

    def _supports(self, reports: bits.Packed, code: int) -> Mask:
        return bits.bit_column(reports, code)
