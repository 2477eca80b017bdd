"""Subset selection: report a set of options, which contains the answer more often than by chance."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import ArrayLike, Codes, Counts, Mask, Values
from toolkit.core.checks import reject
from toolkit.core.randomness import DrawBelow, Rng, below, check_rng
from toolkit.core.sampling import Categorical
from toolkit.local.calibration import check_odds
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import draw_reports, encode, tally
from toolkit.local.matrix.moments import ForcedForm
from toolkit.local.matrix.tables import TABLE_LIMIT
from toolkit.local.oracles import bits
from toolkit.local.oracles.oracle import Oracle
from toolkit.local.oracles.support import SupportLaw
from toolkit.local.protocol import convert_to_integers, is_code_set

_RATE_DENOMINATOR = 256


@dataclass(frozen=True, repr=False)
class Subset(Oracle):
    """A randomizer whose report is a set of `size` options, weighted by whether the set contains the answer.

    Sets with the answer have weight a = `inside`, and sets without it have weight b = `outside`. With k options and
    size d the answer is in the set with probability d a / (d a + (k-d) b), and the rest of the set is drawn evenly from
    the other options. With size 1 this is k-ary randomized response.

    To draw a report, draw a uniform integer below d a + (k-d) b; if it is below d a, the set contains the answer. The
    other r = d or d - 1 options are drawn by Floyd's algorithm from the m = k - 1 options that are not the answer,
    numbered 0 … m-1 in order. For j = m-r, …, m-1, draw a uniform integer t below j + 1 and take t, or j if t is
    already taken.

    A report is a row of packed bits (see `toolkit.local.oracles.bits`). With size 1 it is one option, of the same type
    as the answers. Phones send the codes.

    Parameters
    ----------
    size : int
        The number of options in a report.
    inside : int
        The weight of a set that contains the answer.
    outside : int
        The weight of a set that does not contain the answer.

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
        convert_to_integers(self, size=1, inside=1, outside=1)
        if self.size >= len(self.options):
            consequence = "a set of all options says nothing about the answer"
            reject(f"`size` must be below {len(self.options)}, the number of options", self.size, consequence)
        check_odds(self.inside, self.outside, self._total_weight, noun="set")

    @property
    def _inside_weight(self) -> int:
        return self.size * self.inside

    @property
    def _total_weight(self) -> int:
        return self._inside_weight + (len(self.options) - self.size) * self.outside

    @cached_property
    def _support_law(self) -> SupportLaw:
        k, d = len(self.options), self.size
        p = Fraction(self._inside_weight, self._total_weight)
        p_two = Fraction(d - 1, k - 1)  # another option, given that the answer is in the set
        lone = Fraction(d, k - 1)  # another option, given that the answer is not in the set
        pairs = (k - 1) * (k - 2) or 1  # 0 for two options, because there is no third option
        neither = p * Fraction((d - 1) * (d - 2), pairs) + (1 - p) * Fraction(d * (d - 1), pairs)
        return SupportLaw(p, p * p_two + (1 - p) * lone, p * p_two, neither)

    @property
    def _odds(self) -> Fraction:
        return Fraction(self.inside, self.outside)

    def _draw_report(self, code: int, draw: DrawBelow) -> list[int]:
        # The codes of the set are sorted.
        holds = draw(self._total_weight) < self._inside_weight
        others: set[int] = set()
        for j in range(len(self.options) - 1 - (self.size - holds), len(self.options) - 1):
            t = draw(j + 1)
            others.add(j if t in others else t)
        # The other options are numbered without the answer, so codes from the answer's code upwards increase by one.
        codes = {other + (other >= code) for other in others}
        return sorted(codes | {code} if holds else codes)

    def _accepts(self, report: object) -> bool:
        return isinstance(report, list) and len(report) == self.size and is_code_set(report, len(self.options))

    def k_ary(self) -> Design:
        """Return a subset of size 1 as the equivalent design, which is k-ary randomized response.

        Returns
        -------
        Design
            The design with the same weights.

        Raises
        ------
        ValueError
            If the size is not 1, or if there are too many options for a table.
        """
        if self.size != 1:
            consequence = "reports of several options are not codes of a design"
            reject("only a subset of size 1 is k-ary randomized response", f"size {self.size}", consequence)
        if len(self.options) > TABLE_LIMIT:
            rule = f"a design is a table, of at most {TABLE_LIMIT} options"
            reject(rule, f"{len(self.options)} options", "estimate with the subset itself, which needs no table")
        weights = np.full((len(self.options),) * 2, self.outside)
        np.fill_diagonal(weights, self.inside)
        return Design(weights, self._total_weight, self.options, name="k_ary")

    @property
    def _forced_form(self) -> ForcedForm:
        """The forced form for size 1: the truth, or any option uniformly at random."""
        return ForcedForm(self.inside - self.outside, np.full(len(self.options), self.outside))

    def randomize(self, answers: Values, rng: Rng = None) -> Any:
        if self.size > 1:
            return super().randomize(answers, rng)
        generator = check_rng(rng)
        encoded = encode(answers, self.options, "answers")
        return encoded.to_input_type(
            draw_reports(self._forced_form.forced_weights[:, None], self._forced_form, encoded.codes, generator),
            self.options,
        )

    def _draw(self, codes: Codes, rng: Rng) -> bits.Packed:
        def adjust_rows(rows: bits.Packed, answers: Codes) -> None:
            _adjust_sizes(rows, answers, len(self.options), self.size, rng)

        return bits.draw_rows(*self._bit_laws, codes, len(self.options), rng, adjust_rows)

    @cached_property
    def _bit_laws(self) -> tuple[bits.BernoulliByteLaw, Categorical]:
        """The distributions of the other bits and of the answer's bit, before `_adjust_sizes` corrects the sizes."""
        # The expected size is somewhat below `size`, because adding an option is quicker than removing one.
        spread = math.sqrt(self.size * (1 - self.size / len(self.options)))
        rate = max(self.size - spread, 0) / len(self.options)
        truth_law = Categorical([self._total_weight - self._inside_weight, self._inside_weight])
        return bits.BernoulliByteLaw(int(rate * _RATE_DENOMINATOR), _RATE_DENOMINATOR), truth_law

    def tally(self, reports: Values, times: ArrayLike | None = None) -> tuple[Counts, int]:
        if self.size == 1:
            counts = tally(self._as_single_options(reports), self.options, "reports", times)
            return counts, int(counts.sum())
        counts, n = bits.tally(bits.as_packed(reports, len(self.options)), len(self.options), times)
        if counts.sum() != self.size * n:
            self._reject_size()
        return counts, n

    def _reject_size(self) -> None:
        reject(f"a report must have {self.size} options", "others", "they were made by another randomizer")

    def _read_reports(self, reports: Values) -> npt.NDArray[Any]:
        if self.size == 1:
            return encode(self._as_single_options(reports), self.options, "reports").codes
        packed = bits.as_packed(reports, len(self.options))
        if np.any(bits.count_ones(packed) != self.size):
            self._reject_size()
        return packed

    def _supports(self, reports: npt.NDArray[Any], code: int) -> Mask:
        return reports == code if self.size == 1 else bits.bit_column(reports, code)

    def _as_single_options(self, reports: Values) -> Any:
        """Return reports of size 1 as options, even if they are sets of one code, as phones send them."""
        if isinstance(reports, list) and reports and all(self._accepts(report) for report in reports):
            return [self.options[code] for (code,) in reports]
        return reports

    def _repr_detail(self) -> str:
        return f", size {self.size}{' (k-ary)' if self.size == 1 else ''}"


def _adjust_sizes(rows: bits.Packed, answers: Codes, k: int, size: int, rng: Rng) -> None:
    """Add or remove random options other than the answer, in place, until each row has `size` options.

    Independent bits of equal probability favor no option, and neither does adding or removing a uniformly random
    option. So the set of other options is uniformly distributed.
    """
    missing = size - bits.count_ones(rows)
    active = np.flatnonzero(missing)
    while len(active):
        option = below(k, len(active), rng)
        byte, mask = bits.byte_and_mask(option)
        in_set = (rows[active, byte] & mask) != 0
        useful = (in_set != (missing[active] > 0)) & (option != answers[active].astype(np.uint64))
        hit = active[useful]
        rows[hit, byte[useful]] ^= mask[useful]
        missing[hit] -= np.sign(missing[hit])
        active = active[missing[active] != 0]
