"""Subset selection: report several options at once, more often a set with the answer in it than one without."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import ArrayLike, Codes, Counts, Mask, Values
from toolkit.core.checks import reject
from toolkit.core.randomness import Below, Rng, below, check_rng
from toolkit.core.sampling import Categorical
from toolkit.local.calibration import check_odds
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import draw_reports, encode, tally
from toolkit.local.matrix.moments import Forced
from toolkit.local.matrix.tables import TABLE_LIMIT
from toolkit.local.oracles import bits
from toolkit.local.oracles.oracle import Oracle
from toolkit.local.oracles.support import Support
from toolkit.local.protocol import is_set, keep_whole

_RATE_PARTS = 256


@dataclass(frozen=True, repr=False)
class Subset(Oracle):
    """A report is a set of `size` options; sets with the answer have weight `inside`, those without it `outside`.

    With k options and size d the answer is in the set with probability d a / (d a + (k-d) b), where a = inside and b =
    outside; the rest of the set is any of the other options, evenly. Of size 1 it is k-ary randomized response.

    To draw a report: a uniform integer below d a + (k-d) b; if it is below d a, the answer is in. Then the
    rest, r = d or d - 1 of the m = k - 1 other options, numbered 0 … m-1 in order, by Floyd's rule: for j =
    m-r, …, m-1 a uniform integer t below j + 1; take t, or j if t was taken before.

    A report is a row of packed bits (see `toolkit.local.oracles.bits`), or one option, as the answers were
    given, if the size is 1; phones send the codes.

    Parameters
    ----------
    size : int
        How many options a report holds.
    inside : int
        The weight of a set that holds the answer.
    outside : int
        The weight of one that does not.

    Examples
    --------
    >>> from toolkit.local.oracles import subset
    >>> subset(["a", "b", "c", "d"], epsilon=1).size
    1
    """

    size: int
    inside: int
    outside: int

    name = "subset"

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_whole(self, size=1, inside=1, outside=1)
        if self.size >= len(self.options):
            consequence = "a set of all tells nothing"
            reject(f"`size` must be below {len(self.options)}, the number of options", self.size, consequence)
        check_odds(self.inside, self.outside, self._total, of="set")

    @property
    def _holding(self) -> int:
        return self.size * self.inside

    @property
    def _total(self) -> int:
        return self._holding + (len(self.options) - self.size) * self.outside

    @cached_property
    def _support(self) -> Support:
        k, d = len(self.options), self.size
        p = Fraction(self._holding, self._total)
        p_two = Fraction(d - 1, k - 1)  # another option, given that the answer is in the set
        lone = Fraction(d, k - 1)  # another option, given that it is not
        pairs = (k - 1) * (k - 2) or 1  # of two options, nobody has an answer that is neither
        neither = p * Fraction((d - 1) * (d - 2), pairs) + (1 - p) * Fraction(d * (d - 1), pairs)
        return Support(p, p * p_two + (1 - p) * lone, p * p_two, neither)

    @property
    def _odds(self) -> Fraction:
        return Fraction(self.inside, self.outside)

    def _draw_report(self, code: int, draw: Below) -> list[int]:
        # The codes of the set, in order.
        holds = draw(self._total) < self._holding
        others: set[int] = set()
        for j in range(len(self.options) - 1 - (self.size - holds), len(self.options) - 1):
            t = draw(j + 1)
            others.add(j if t in others else t)
        chosen = {other + (other >= code) for other in others}
        return sorted(chosen | {code} if holds else chosen)

    def _accepts(self, report: object) -> bool:
        return isinstance(report, list) and len(report) == self.size and is_set(report, len(self.options))

    def k_ary(self) -> Design:
        """Return the design that a subset of size 1 is: k-ary randomized response, with everything a design can do.

        Returns
        -------
        Design
            With the same weights.

        Raises
        ------
        ValueError
            If the size is not 1, or there are more options than a table holds.
        """
        if self.size != 1:
            reject("only a subset of size 1 is k-ary randomized response", f"size {self.size}", "its reports are sets")
        if len(self.options) > TABLE_LIMIT:
            rule = f"a design is a table, of at most {TABLE_LIMIT} options"
            reject(rule, f"{len(self.options)} options", "estimate with the subset itself, which keeps no table")
        return Design(
            np.diag(self._one.forced * 0 + self._one.truth) + self._one.forced, self._total, self.options, name="k_ary"
        )

    @property
    def _one(self) -> Forced:
        """Size 1 in the form of a design: the truth, or any option evenly."""
        return Forced(self.inside - self.outside, np.full(len(self.options), self.outside))

    def randomize(self, answers: Values, rng: Rng = None) -> Any:
        if self.size > 1:
            return super().randomize(answers, rng)
        generator = check_rng(rng)
        encoded = encode(answers, self.options, "answers")
        return encoded.like(draw_reports(self._one.forced[:, None], self._one, encoded.codes, generator), self.options)

    def _draw(self, codes: Codes, rng: Rng) -> bits.Packed:
        def settle(rows: bits.Packed, answers: Codes) -> None:
            _settle(rows, answers, len(self.options), self.size, rng)

        return bits.draw(*self._laws, codes, len(self.options), rng, settle)

    @cached_property
    def _laws(self) -> tuple[bits.ByteLaw, Categorical]:
        """Rather fewer than `size` bits to start from, as adding one is quicker than removing one."""
        spread = math.sqrt(self.size * (1 - self.size / len(self.options)))
        rate = max(self.size - spread, 0) / len(self.options)
        own = Categorical([self._total - self._holding, self._holding])
        return bits.ByteLaw(int(rate * _RATE_PARTS), _RATE_PARTS), own

    def tally(self, reports: Values, times: ArrayLike | None = None) -> tuple[Counts, int]:
        if self.size == 1:
            counts = tally(self._ones(reports), self.options, "reports", times)
            return counts, int(counts.sum())
        counts, n = bits.tally(bits.as_packed(reports, len(self.options)), len(self.options), times)
        if counts.sum() != self.size * n:
            self._refuse_size()
        return counts, n

    def _refuse_size(self) -> None:
        reject(f"a report must hold {self.size} options", "others", "they were made by another randomizer")

    def _read(self, reports: Values) -> npt.NDArray[Any]:
        if self.size == 1:
            return encode(self._ones(reports), self.options, "reports").codes
        packed = bits.as_packed(reports, len(self.options))
        if np.any(bits.ones(packed) != self.size):
            self._refuse_size()
        return packed

    def _supports(self, read: npt.NDArray[Any], code: int) -> Mask:
        return read == code if self.size == 1 else bits.column(read, code)

    def _ones(self, reports: Values) -> Any:
        """Reports of size 1 as options, also where they came as sets of one code, as phones send them."""
        if isinstance(reports, list) and reports and all(self._accepts(one) for one in reports):
            return [self.options[code] for (code,) in reports]
        return reports

    def _detail(self) -> str:
        return f", size {self.size}{' (k-ary)' if self.size == 1 else ''}"


def _settle(rows: bits.Packed, answers: Codes, k: int, size: int, rng: Rng) -> None:
    """Add or remove options other than the answer, evenly, until each row holds `size` of them; in place.

    Independent bits of one probability favor no option, and neither does adding or removing an even choice:
    so the options beside the answer end as an even choice of sets.
    """
    missing = size - bits.ones(rows)
    active = np.flatnonzero(missing)
    while len(active):
        option = below(k, len(active), rng)
        byte, mask = bits.place(option)
        in_set = (rows[active, byte] & mask) != 0
        useful = (in_set != (missing[active] > 0)) & (option != answers[active].astype(np.uint64))
        hit = active[useful]
        rows[hit, byte[useful]] ^= mask[useful]
        missing[hit] -= np.sign(missing[hit])
        active = active[missing[active] != 0]
