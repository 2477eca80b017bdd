"""Tick boxes with one random box per person: each person is asked about one box, drawn at random."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, Codes, Counts, Label, Mask, Values, as_array
from toolkit.core.checks import check_choice, check_integer, reject
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import DrawBelow, Rng, below
from toolkit.core.sampling import Categorical
from toolkit.local.calibration import check_odds
from toolkit.local.matrix.encoding import checked_counts, checked_times, count_codes
from toolkit.local.oracles.boxes import Boxes, BoxShares
from toolkit.local.oracles.support import COVARIANCE_LIMIT, SupportLaw, checked_shares, checked_support_counts
from toolkit.local.protocol import Respondents, convert_to_integers, is_code


@dataclass(frozen=True, repr=False)
class RandomBox(Boxes):
    """A randomizer that asks each person about one random box and randomizes the answer by Warner's design.

    To draw a report, draw a uniform integer below k, which is the box, and a uniform integer below keep + lie. If the
    latter is below `keep`, report whether the box is ticked, else the opposite.

    A report is two integers: the box, and 1 for yes or 0 for no. For each box, `tally` returns the number of yes
    reports and the number of people who were asked; `estimate_counts` takes both. The estimate for a box that nobody
    was asked about is NaN, with a note.

    Parameters
    ----------
    keep : int
        The weight of the true answer.
    lie : int
        The weight of its opposite.
    reason : str
        The reason why `tick_boxes` chose this randomizer.

    Examples
    --------
    >>> from toolkit.local.oracles.random_box import RandomBox
    >>> RandomBox(["a", "b", "c"], keep=3, lie=1)
    <RandomBox of 3: epsilon 1.099>
    """

    keep: int
    lie: int
    reason: str = ""

    name = "random_box"

    def __post_init__(self) -> None:
        super().__post_init__()
        convert_to_integers(self, keep=1, lie=1)
        check_odds(self.keep, self.lie, self.keep + self.lie, ("keep", "lie"))

    @cached_property
    def _support_law(self) -> SupportLaw:
        keep = Fraction(self.keep, self.keep + self.lie)
        return SupportLaw.independent(keep, 1 - keep)

    @property
    def _odds(self) -> Fraction:
        return Fraction(self.keep, self.lie)

    def _liar_weight(self, share: float) -> float:
        # Liars can all claim that they were asked about the same box.
        k = len(self.options)
        return share * k / (1 - share + share * k)

    def _draw_report(self, ticks: list[int], draw: DrawBelow) -> list[int]:
        box = draw(len(self.options))
        truthful = draw(self.keep + self.lie) < self.keep
        return [box, int((box in ticks) == truthful)]

    def _accepts(self, report: object) -> bool:
        pair = report if isinstance(report, list) else []
        return len(pair) == 2 and is_code(pair[0], len(self.options)) and is_code(pair[1], 2)

    def _draw(self, ticks: Mask, rng: Rng) -> Counts:
        box = below(len(self.options), len(ticks), rng).astype(np.int64)
        lied = Categorical([self.keep, self.lie]).draw(len(ticks), rng)
        return np.stack([box, ticks[np.arange(len(ticks)), box] ^ (lied == 1)], axis=1)

    def tally(self, reports: Values, times: ArrayLike | None = None) -> tuple[Counts, Counts]:
        rows, k = as_array(reports), len(self.options)
        if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu" or len(rows) == 0:
            rule = "reports must be rows of two integers, box and answer"
            reject(rule, f"shape {rows.shape}", "pass reports as `randomize` returns them", TypeError)
        if rows.min() < 0 or rows[:, 0].max() >= k or rows[:, 1].max() > 1:
            consequence = "they were made by another randomizer"
            reject(f"reports must hold a box from 0 to {k - 1} and an answer of 0 or 1", "others", consequence)
        repeats = np.ones(len(rows), dtype=np.int64) if times is None else checked_times(times, len(rows))
        return count_codes(rows[:, 0], repeats * rows[:, 1], k), count_codes(rows[:, 0], repeats, k)

    def _read_reports(self, reports: Values) -> tuple[Callable[[int], Mask], Codes]:
        self.tally(reports)  # for its checks
        rows = np.asarray(reports)
        return lambda _: rows[:, 1] == 1, rows[:, 0]

    def estimate(self, reports: Values, *, times: ArrayLike | None = None) -> Estimate:
        return self.estimate_counts(*self.tally(reports, times))

    def estimate_counts(self, counts: Mapping[Label, float] | ArrayLike, n: ArrayLike) -> Estimate:
        yes, k = np.asarray(counts), len(self.options)
        if yes.shape != (k,) or np.shape(n) != (k,):
            reject(f"`counts` and `n` must each hold {k} numbers", f"{yes.shape}, {np.shape(n)}", "one per box")
        people_asked = checked_counts(n, k).astype(np.int64)
        if np.any(yes[people_asked == 0]):
            reject("`counts` must lie between 0 and n", "others", "a box that nobody was asked about has no answers")
        groups = [np.flatnonzero(people_asked == people) for people in np.unique(people_asked[people_asked > 0])]
        estimates = [
            self._support_law.interval_basis(*checked_support_counts(yes[group], people_asked[group[0]], len(group)))
            for group in groups
        ]
        rows = BoxShares(k, tuple(estimates), tuple(groups))
        cov = np.diag(rows.se**2) if k <= COVARIANCE_LIMIT else None
        return self._make_estimate(
            rows.value, rows.se, cov, int(people_asked.sum()), rows, self._unasked_note(people_asked)
        )

    def _unasked_note(self, n_asked: Counts) -> tuple[str, ...]:
        """Return a note on boxes that nobody was asked about, as happens in a small group."""
        nobody = [str(option) for option, people in zip(self.options, n_asked, strict=True) if not people]
        more = f" and {len(nobody) - 5} more" if len(nobody) > 5 else ""
        return (f"nobody was asked about {', '.join(nobody[:5])}{more}: no estimate is possible",) if nobody else ()

    def variance(self, prevalence: ArrayLike, n: int, *, respondents: Respondents = "sample") -> Array:
        shares = checked_shares(prevalence, len(self.options))
        resampled = check_choice(respondents, "respondents", ("sample", "fixed")) == "sample"
        # Even with fixed respondents, the box that each person is asked about is random.
        variance = len(shares) * self._support_law.variance(shares) - (0 if resampled else shares * (1 - shares))
        return np.asarray(variance / check_integer(n, "n"))
