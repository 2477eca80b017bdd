"""Tick boxes: several of k boxes may apply, and each person answers either all boxes, up to a cap, or one box.

Hiding k ticks costs more than hiding one. One method is to ask each person about one random box, which spends the whole
budget on one yes/no answer. The other is to cap the number of ticks at m and to divide the budget among the 2m bits in
which two people can differ. Which method is more precise depends on k, m and epsilon; `tick_boxes` compares the two and
states the reason for its choice.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, Counts, Mask, Values
from toolkit.core.checks import DENOMINATOR_LIMIT, Number, check_choice, check_integer, reject
from toolkit.core.estimate import Estimate
from toolkit.core.extras import chunks
from toolkit.core.randomness import DrawBelow, Rng
from toolkit.core.rounding import exp_below
from toolkit.local.calibration import Options, checked_epsilon, flip_threshold, option_labels, weights_for_epsilon
from toolkit.local.oracles import bits
from toolkit.local.oracles.boxes import Boxes
from toolkit.local.oracles.random_box import RandomBox
from toolkit.local.oracles.support import COVARIANCE_LIMIT, SupportLaw, checked_shares, checked_support_counts
from toolkit.local.protocol import Respondents, convert_to_integers, is_code_set

_PAIRS_LIMIT = 64  # the largest number of boxes for which all pairs are counted to estimate covariances


@dataclass(frozen=True, repr=False)
class CappedBoxes(Boxes):
    """A randomizer of at most `most` ticks that flips each box independently with probability flip / denominator.

    Two answers with at most m of k boxes ticked differ in at most min(2m, k) boxes, so epsilon is min(2m, k) times
    the epsilon of one box. More than m ticks are rejected before anything is drawn, both by this class and by the form.

    To draw a report, draw a uniform integer below `denominator` for each box in order, and flip its answer if the
    integer is below `flip`.

    A report is a row of packed bits (see `toolkit.local.oracles.bits`); phones send the codes of the boxes whose bit is
    set. Estimates from reports have covariances for up to 64 boxes; estimates from counts have none.

    Parameters
    ----------
    most : int
        The largest number of ticks.
    flip : int
        The numerator of the probability that a box's answer is flipped.
    denominator : int
        The denominator of that probability.
    reason : str
        The reason why `tick_boxes` chose this randomizer.

    Examples
    --------
    >>> from toolkit.local.oracles.ticks import CappedBoxes
    >>> CappedBoxes(["a", "b", "c"], most=1, flip=1, denominator=4)
    <CappedBoxes of 3: epsilon 2.197>
    """

    most: int
    flip: int
    denominator: int
    reason: str = ""

    name = "capped_boxes"

    def __post_init__(self) -> None:
        super().__post_init__()
        convert_to_integers(self, most=1, flip=1, denominator=2)
        if self.most > len(self.options):
            consequence = "nobody can tick more boxes than there are"
            reject(f"`most` must be at most {len(self.options)}, the number of boxes", self.most, consequence)
        if 2 * self.flip >= self.denominator:
            reject(
                "`flip` must be below half of `denominator`",
                self.flip,
                "otherwise reports say nothing about the answers",
            )
        if self.denominator > DENOMINATOR_LIMIT:
            consequence = "one 32-bit word must be enough to draw a bit"
            reject("`denominator` must be at most 2**32", self.denominator, consequence)

    @cached_property
    def _support_law(self) -> SupportLaw:
        flip = Fraction(self.flip, self.denominator)
        return SupportLaw.independent(1 - flip, flip)

    @property
    def _odds(self) -> Fraction:
        return Fraction(self.denominator - self.flip, self.flip) ** _max_differing_boxes(len(self.options), self.most)

    @property
    def _sensitivity(self) -> float:
        return float(_max_differing_boxes(len(self.options), self.most))

    def _draw_report(self, ticks: list[int], draw: DrawBelow) -> list[int]:
        if len(set(ticks)) > self.most:
            self._reject_excess(1, 1)
        return [box for box in range(len(self.options)) if (draw(self.denominator) < self.flip) != (box in ticks)]

    def _accepts(self, report: object) -> bool:
        return is_code_set(report, len(self.options))

    def _draw(self, ticks: Mask, rng: Rng) -> bits.Packed:
        over = int(np.count_nonzero(ticks.sum(axis=1) > self.most))
        if over:
            self._reject_excess(over, len(ticks))
        reports = bits.pack(ticks)
        for part in chunks(len(reports), bits.rows_per_chunk(len(self.options)), "randomizing"):
            reports[part] ^= bits.draw_noise(self._flip_law, len(reports[part]), len(self.options), rng)
        return reports

    def _reject_excess(self, n_over: int, n_people: int) -> None:
        rule = f"at most {self.most} boxes may be ticked"
        reject(rule, f"more from {n_over} of {n_people} people", "the promised epsilon does not cover more ticks")

    @cached_property
    def _flip_law(self) -> bits.BernoulliByteLaw:
        return bits.BernoulliByteLaw(self.flip, self.denominator)

    def tally(self, reports: Values, times: ArrayLike | None = None) -> tuple[Counts, int]:
        return bits.tally(bits.as_packed(reports, len(self.options)), len(self.options), times)

    def _read_reports(self, reports: Values) -> tuple[Callable[[int], Mask], None]:
        packed = bits.as_packed(reports, len(self.options))
        return lambda code: bits.bit_column(packed, code), None

    def estimate(self, reports: Values, *, times: ArrayLike | None = None) -> Estimate:
        packed, k = bits.as_packed(reports, len(self.options)), len(self.options)
        counts, n = self.tally(packed, times)
        if k > _PAIRS_LIMIT:
            return self._estimate_from_pairs(counts, n, None)
        pairs, repeats = (
            np.zeros((k, k)),
            np.ones(len(packed)) if times is None else np.asarray(times, dtype=np.float64),
        )
        for part in chunks(len(packed), bits.rows_per_chunk(k), "pairs"):
            rows = bits.unpack(packed[part], k).astype(np.float64)
            pairs += rows.T @ (rows * repeats[part, None])
        return self._estimate_from_pairs(counts, n, pairs)

    def estimate_counts(self, counts: ArrayLike, n: int) -> Estimate:
        return self._estimate_from_pairs(counts, n, None)

    def _estimate_from_pairs(self, counts: ArrayLike, n: int, pairs: Array | None) -> Estimate:
        numbers, people = checked_support_counts(counts, n, len(self.options))
        basis, k = self._support_law.interval_basis(numbers, people), len(self.options)
        cov = np.full((k, k), np.nan) if k <= COVARIANCE_LIMIT else None
        if pairs is not None and people > 1:
            cov = (pairs - np.outer(numbers, numbers) / people) / (people - 1) / people / self._support_law.slope**2
        if cov is not None:
            np.fill_diagonal(cov, basis.se**2)
        return self._make_estimate(basis.value, basis.se, cov, people, basis)

    def variance(self, prevalence: ArrayLike, n: int, *, respondents: Respondents = "sample") -> Array:
        shares = checked_shares(prevalence, len(self.options))
        return np.asarray(self._support_law.variance(shares, respondents) / check_integer(n, "n"))


def tick_boxes(
    options: Options, epsilon: Number, *, most: int | None = None, how: Literal["random", "capped"] | None = None
) -> RandomBox | CappedBoxes:
    """Make a randomizer for "tick all that apply", choosing the kind with the smaller variance.

    Asking about one random box gives k times Warner's variance. Capping the ticks at m divides the budget among 2m
    answers, which multiplies the variance by about 4 m**2. So the cap is better when k is well above 4 m**2.

    Parameters
    ----------
    options : int or sequence of str or int
        The labels of the boxes, or the number of boxes.
    epsilon : number
        The privacy loss of one report, whichever boxes are ticked.
    most : int, optional
        The largest number of boxes that may be ticked; no cap if left out.
    how : {"random", "capped"}, optional
        The kind of randomizer; the kind with the smaller variance if left out. The result's `reason` explains the
        choice.

    Returns
    -------
    Randomizer
        The randomizer.

    References
    ----------
    T. T. Nguyên et al., Collecting and analyzing data from smart device users with local differential privacy
    (2016), for sampling one attribute; the cap is group privacy of the bits.

    Examples
    --------
    >>> tick_boxes(10, 1.0, most=1)
    <CappedBoxes of 10: epsilon 1>
    >>> tick_boxes(10, 1.0, most=2).reason
    'one random box: variance 10.8 / n a box, against 16.1 / n with at most 2 ticks'
    """
    names = option_labels(options)
    cap = len(names) if most is None else check_integer(most, "most")
    flip = flip_threshold(exp_below(checked_epsilon(epsilon) / _max_differing_boxes(len(names), cap)))
    if 2 * flip >= DENOMINATOR_LIMIT:
        consequence = "the report would say nothing about the answer"
        reject("`epsilon` must be large enough for 32-bit odds", epsilon, consequence)
    random_box = RandomBox(names, *weights_for_epsilon(epsilon, n_inside=1, n_outside=1))
    capped = CappedBoxes(names, cap, flip, DENOMINATOR_LIMIT)
    share = min(cap / len(names), 0.5)  # if each person ticks as many boxes as allowed, spread evenly
    by_one, by_cap = (float(boxes.variance(share, 1)[0]) for boxes in (random_box, capped))
    better = "random" if by_one <= by_cap else "capped"
    limit = f"at most {cap} tick{'' if cap == 1 else 's'}"
    if check_choice(how or better, "how", ("random", "capped")) == "random":
        why = f"one random box: variance {by_one:.3g} / n a box, against {by_cap:.3g} / n with {limit}"
        return replace(random_box, reason=why)
    why = f"{limit}: variance {by_cap:.3g} / n a box, against {by_one:.3g} / n with one random box"
    return replace(capped, reason=why)


def _max_differing_boxes(n_boxes: int, max_ticks: int) -> int:
    """Return the number of boxes in which two people can differ."""
    return min(2 * max_ticks, n_boxes)
