"""`Memo`: a permanent randomized answer on the person's device, to which every report adds fresh noise."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Values, project_onto_simplex
from toolkit.core.checks import check_choice, check_integer, reject
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Student
from toolkit.core.loss import Pure
from toolkit.core.randomness import DrawBelow
from toolkit.core.rounding import log_up
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import encode
from toolkit.local.matrix.tables import join_labels
from toolkit.texts.odds import describe
from toolkit.texts.voice import Voice

__all__ = ["Memo"]

Ratio = Fraction | float
"""A ratio of the probabilities of reports under two truths; infinite if the reports rule out a truth."""

WeightRows = Sequence[Sequence[int]]
CountWeight = Callable[[int, int, int], int]
"""A function from a truth and the numbers of yes and no reports to their probability, up to a constant."""


def make_count_weight(permanent: WeightRows, fresh: WeightRows) -> CountWeight:
    """Return the function that sums permanent[truth][memo] fresh[memo][1]**yes fresh[memo][0]**no over memos."""

    @cache  # the same arguments occur thousands of times
    def count_weight(truth: int, yes: int, no: int) -> int:
        return sum(
            int(permanent[truth][memo]) * int(fresh[memo][1]) ** yes * int(fresh[memo][0]) ** no for memo in (0, 1)
        )

    return count_weight


def largest_ratio_unchanged(count_weight: CountWeight, n_reports: int) -> Ratio:
    """Return the largest ratio for `n_reports` if the truth cannot change; only the number of yes reports matters."""
    return max(
        _largest_ratio([count_weight(truth, yes, n_reports - yes) for truth in (0, 1)]) for yes in range(n_reports + 1)
    )


def largest_ratio_changing(count_weight: CountWeight, n_reports: int) -> Ratio:
    """Return the largest ratio over all sequences of truths, with one memo for each truth.

    Given the number of yes reports, only two properties of a sequence of truths matter: the numbers of yes reports and
    of no reports that were sent while the truth was yes. The function enumerates these numbers.
    """
    worst: Ratio = Fraction(1)
    for yes in range(n_reports + 1):
        no = n_reports - yes
        weights_of_truths = [
            count_weight(1, a, b) * count_weight(0, yes - a, no - b) for a in range(yes + 1) for b in range(no + 1)
        ]
        worst = max(worst, _largest_ratio(weights_of_truths))
    return worst


def largest_ratio_lost_memos(ratio_of_run: Callable[[int], Ratio], n_reports: int) -> Ratio:
    """Return the largest ratio over all patterns in which memos are lost between reports and drawn again.

    The reports then form runs with independent memos, so the ratios of the runs multiply.
    """
    ratios = [ratio_of_run(length) for length in range(1, n_reports + 1)]
    worst: list[Ratio] = [Fraction(1)]
    for count in range(1, n_reports + 1):
        worst.append(max(ratios[last - 1] * worst[count - last] for last in range(1, count + 1)))
    return worst[n_reports]


def epsilon_of(ratio: Ratio) -> float:
    """Return the logarithm of a ratio, rounded up."""
    return log_up(ratio) if isinstance(ratio, Fraction) else math.inf


def _largest_ratio(counts: Sequence[int]) -> Ratio:
    """Return the ratio of the largest to the smallest probability, or 1 for impossible reports."""
    least, most = min(counts), max(counts)
    if least == 0 < most:
        return math.inf
    return Fraction(most, least) if most else Fraction(1)


KIND = "memo"
"""The value of `kind` in the data of a memo."""


@dataclass(frozen=True)
class Memo:
    """Two yes/no designs in sequence: `permanent` is drawn once and stored, `fresh` is drawn for every report.

    When the panel begins, the device draws a memo for each possible answer and stores both memos. A report adds fresh
    noise to the memo of the current answer. If the truth cannot change, any number of reports together costs at most
    the loss of the permanent design. If it may change, no such bound holds.

    Parameters
    ----------
    permanent : Design
        A design of two options and two reports, drawn once per answer.
    fresh : Design
        A design of two options and two reports, drawn anew for every report. Without it, equal reports would link the
        waves, and a changed report would prove that the truth changed.

    Examples
    --------
    >>> from toolkit import warner
    >>> memo = Memo(warner("3/4"), warner("3/4"))
    >>> [round(memo.epsilon(reports), 3) for reports in (1, 2, 10)], round(memo.permanent.epsilon, 3)
    ([0.511, 0.847, 1.099], 1.099)
    >>> round(memo.epsilon(2, truth="changing"), 3)
    1.022
    """

    permanent: Design
    fresh: Design

    def __post_init__(self) -> None:
        for name in ("permanent", "fresh"):
            design = getattr(self, name)
            if not isinstance(design, Design) or design.matrix.shape != (2, 2):
                received = design if isinstance(design, Design) else type(design).__name__
                consequence = "a memo is yes or no"
                reject(f"`{name}` must be a design with two options and two reports", received, consequence, TypeError)

    @cached_property
    def design(self) -> Design:
        """The design of one report: both designs in sequence."""
        weights, scale = self._exact_weights
        rows = [[Fraction(int(cell), scale) for cell in row] for row in weights]
        return Design.from_matrix(rows, self.permanent.options, self.fresh.report_options, "memo")

    @cached_property
    def _two_wave_design(self) -> Design:
        """The design of two waves, with pairs of truths and pairs of reports.

        It is not a product, because both reports come from the same memo if the truth does not change.
        """
        memos, sent = (design.weights.astype(object) for design in (self.permanent, self.fresh))
        once, scale = self._exact_weights
        rows = []
        for t in (0, 1):
            for u in (0, 1):
                if t == u:
                    both = sum(int(memos[t, m]) * np.outer(sent[m], sent[m]) for m in (0, 1))
                    cells = both * self.permanent.denominator
                else:
                    cells = np.outer(once[t], once[u])
                rows.append([Fraction(int(cell), scale**2) for cell in np.ravel(cells)])
        truths, reports = (
            join_labels(labels, labels, " → ") for labels in (self.permanent.options, self.fresh.report_options)
        )
        return Design.from_matrix(rows, truths, reports, "memo, two waves")

    def epsilon(self, reports: int = 1, *, truth: str = "unchanged", memo: str = "kept") -> float:
        """Return the exact epsilon of several reports of one person, rounded up.

        Parameters
        ----------
        reports : int
            The number of reports.
        truth : {"unchanged", "changing"}
            "unchanged" is for facts that cannot change, such as a place of birth. "changing" is the worst case over all
            sequences of truths, and grows without bound.
        memo : {"kept", "lost"}
            "kept" is for a device that never loses its memos. "lost" is the worst case if memos can be lost between
            waves, for example by deleted data or a new device, and drawn again. A promise about all waves must assume
            "lost".

        Returns
        -------
        float
            Epsilon.

        Examples
        --------
        >>> from toolkit import warner
        >>> memo = Memo(warner("3/4"), warner("3/4"))
        >>> (round(memo.epsilon(4, truth="changing"), 3), round(memo.epsilon(4, truth="changing", memo="lost"), 3))
        (1.982, 2.043)
        """
        count = check_integer(reports, "reports")
        count_weight = make_count_weight(self.permanent.weights.tolist(), self.fresh.weights.tolist())
        rule = (
            largest_ratio_unchanged
            if check_choice(truth, "truth", ("unchanged", "changing")) == "unchanged"
            else largest_ratio_changing
        )
        if check_choice(memo, "memo", ("kept", "lost")) == "kept":
            return epsilon_of(rule(count_weight, count))
        return epsilon_of(largest_ratio_lost_memos(lambda run: rule(count_weight, run), count))

    @property
    def _design_is_exact(self) -> bool:
        """Whether `design` has exactly the probabilities of the two draws, without rounding of its table."""
        weights, scale = self._exact_weights
        return bool(np.all(weights * self.design.denominator == self.design.weights.astype(object) * scale))

    @cached_property
    def _exact_weights(self) -> tuple[npt.NDArray[np.object_], int]:
        """The exact weights of one report, and their denominator."""
        weights = self.permanent.weights.astype(object) @ self.fresh.weights.astype(object)
        return weights, self.permanent.denominator * self.fresh.denominator

    def _draw_report(self, truth: int, draw: DrawBelow, recall: DrawBelow | None = None) -> int:
        """Draw the code that a device sends: a draw for the memo of each answer, then one for the fresh noise.

        Python and the browser share this rule. A device that already has its memos repeats their draws with `recall`.

        Parameters
        ----------
        truth : int
            The code of the current answer.
        draw : callable
            `draw(m)` returns a uniform integer from 0 to m - 1.
        recall : callable, optional
            A function that repeats the draws of the permanent answers, for a device that has already drawn them.

        Returns
        -------
        int
            The code of the report.
        """
        memos = [self.permanent._draw_report(code, recall or draw) for code in (0, 1)]
        return self.fresh._draw_report(memos[truth], draw)

    def estimate(self, reports: Values) -> Estimate:
        """Estimate the prevalence in one wave, as for any design.

        Parameters
        ----------
        reports : sequence or array
            The reports of one wave.

        Returns
        -------
        Estimate
            The prevalence of the last option.
        """
        return replace(self.design.estimate(reports), loss=Pure(self.epsilon(1)))

    def change(self, first_reports: Values, second_reports: Values) -> Estimate:
        """Estimate the change of the prevalence between two waves of the same people, in the same order.

        Each person's scores are subtracted, so that stable differences between people cancel. The interval uses the t
        distribution.

        Parameters
        ----------
        first_reports : sequence or array
            Reports of the first wave.
        second_reports : sequence or array
            Reports of the second wave, of the same people in the same order.

        Returns
        -------
        Estimate
            The change.
        """
        first_codes, second_codes = self._encode_two_waves(first_reports, second_reports)
        share_if_no, share_if_yes = self.design.matrix[:, 1]
        changes = (second_codes.astype(float) - first_codes) / (share_if_yes - share_if_no)
        value, n = float(changes.mean()), len(changes)
        se = float(changes.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
        if n > 1 and np.ptp(changes) == 0:
            # If all changes are equal, the sample variance is zero, so the theoretical variance is used.
            nearest = project_onto_simplex(np.asarray(self._truth_flows(first_reports, second_reports).value))
            direction = np.array([0, 1, -1, 0])
            se = float(np.sqrt(direction @ self._two_wave_design.covariance(nearest, n) @ direction))
        return Estimate(
            value=value,
            se=se,
            labels=("change",),
            cov=np.array([[se**2]]),
            n=n,
            loss=self._two_wave_loss,
            covers=SAMPLED,
            method="memo, two waves of the same people, unbiased",
            basis=Student(value, se, n - 1),
        )

    def _truth_flows(self, first_reports: Values, second_reports: Values) -> Estimate:
        """Estimate the share of people with each pair of truths: who stayed, who changed to yes, who changed to no.

        Parameters
        ----------
        first_reports : sequence or array
            Reports of the first wave.
        second_reports : sequence or array
            Reports of the second wave, of the same people in the same order.

        Returns
        -------
        Estimate
            Four shares.
        """
        first_codes, second_codes = self._encode_two_waves(first_reports, second_reports)
        return replace(
            self._two_wave_design.estimate_counts(np.bincount(2 * first_codes + second_codes, minlength=4)),
            loss=self._two_wave_loss,
        )

    def describe(self) -> str:
        """Describe in plain language the privacy of one report and of several reports.

        Returns
        -------
        str
            A few sentences.

        Examples
        --------
        >>> from toolkit import warner
        >>> Memo(warner("3/4"), warner("3/4")).describe()[-194:]
        'Epsilon is at most 0.511. This is for one report; several together can show more. As long as the
        answer, and what the device keeps, stay the same, epsilon of all of them together is at most 1.1.'
        """
        most = self.permanent.epsilon
        bound = "infinite" if math.isinf(most) else f"at most {Voice().rounded_up(most)}"
        return (
            f"{describe(self.design)} This is for one report; several together can show more. As long as the "
            f"answer, and what the device keeps, stay the same, epsilon of all of them together is {bound}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: both designs.

        Returns
        -------
        dict
            The data that `from_dict` reads.
        """
        return {"kind": KIND, "permanent": self.permanent.to_dict(), "fresh": self.fresh.to_dict()}

    @classmethod
    def from_dict(cls, data: object) -> "Memo":
        """Read the memo that `to_dict` wrote.

        Parameters
        ----------
        data : dict
            Data as returned by `to_dict`.

        Returns
        -------
        Memo
            An equal memo.
        """
        if not isinstance(data, dict) or set(data) != {"kind", "permanent", "fresh"} or data["kind"] != KIND:
            rule = f"the data of a {KIND!r} must have that kind and the fields permanent, fresh"
            reject(rule, "others", "write it with to_dict()")
        return cls(Design.from_dict(data["permanent"]), Design.from_dict(data["fresh"]))

    def _browser_data(self) -> dict[str, Any]:
        """Return the data with which a browser draws reports.

        Returns
        -------
        dict
            Plain data for JSON.
        """
        return {**self.to_dict(), "options": list(self.permanent.options)}

    @property
    def _two_wave_loss(self) -> Pure:
        """The loss of two waves, from the exact integers rather than from a table that may be rounded."""
        return Pure(self.epsilon(2, truth="changing"))

    def _encode_two_waves(
        self, first_reports: Values, second_reports: Values
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        first_codes, second_codes = (
            encode(reports, self.fresh.report_options, "reports").codes.astype(np.intp)
            for reports in (first_reports, second_reports)
        )
        if len(first_codes) != len(second_codes):
            consequence = "reports are paired by position"
            reject(
                "both waves must be of the same people",
                f"{len(first_codes)} and {len(second_codes)} reports",
                consequence,
            )
        return first_codes, second_codes
