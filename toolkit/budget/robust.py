"""`RobustVerbs`: what a curator says of the middle and the spread of a column without following its outliers.

Nothing that depends on a local or a smooth sensitivity is told: no standard error, no interval, no message.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from toolkit.budget.frames.conditions import Where
from toolkit.budget.frames.missing import settled
from toolkit.budget.frames.rows import By, Rows
from toolkit.budget.frames.summing import values_of
from toolkit.budget.publishing.quantiles import QuantileVerbs
from toolkit.budget.record import Entry
from toolkit.budget.tables.spending import Spending
from toolkit.central import statistics
from toolkit.central.release import chosen, chosen_by_cell
from toolkit.central.selection import Exponential
from toolkit.central.steps import QUANTILE_BITS, Bounds, written
from toolkit.core.checks import Number, choice, exact, probability, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.frames.columns import Column
from toolkit.core.randomness import Rng

if TYPE_CHECKING:  # else imported by the verbs, so that `import toolkit` stays fast
    from toolkit.central.robust.estimators import Huber
    from toolkit.central.robust.inverse import InverseSensitivity
    from toolkit.central.robust.releases import SmoothSensitivity, Summary


class RobustVerbs(QuantileVerbs):
    """Quantiles, Huber locations, trimmed means and distances of quartiles."""

    def quantile(
        self,
        column: str | int,
        q: Number | Iterable[Number],
        *,
        bounds: Any,
        epsilon: Number | None = None,
        rho: Number | None = None,
        where: Where | None = None,
        by: By | None = None,
        step: Number | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """The value below which a share q of the column's values lie, chosen by the exponential mechanism.

        Candidates are multiples of `step` (2**-16 of the bounds' distance if not given) between the bounds;
        missing values are left out. `q` is read as the nearest fraction with a denominator of at most 2**20.
        How far its rank may be off is in the notes: in the column's unit that depends on the data.

        A list of shares, `where`, `by`, `rho`, and several rows a person, are those of `quantiles`.
        """
        listed = isinstance(q, Iterable) and not isinstance(q, str)
        if listed or epsilon is None or rho is not None or where or by or self._people is not None:
            shares: Any = q if listed else [q]
            asked: dict[str, Any] = {"bounds": bounds, "where": where, "by": by, "step": step, "rng": rng}
            many = self.quantiles(column, shares, epsilon=epsilon, rho=rho, **asked)
            return many if listed or by else _only(many)
        return self._one_quantile(column, cast("Number", q), bounds, epsilon, step, rng)

    def _one_quantile(
        self, column: str | int, q: Number, bounds: Any, epsilon: Number, step: Number | None, rng: Rng
    ) -> Estimate:
        share = statistics.rank_unit(probability(q, "q"))
        limits = Bounds.of(bounds, QUANTILE_BITS)
        limits = limits if step is None else limits.with_step(step)
        found, label = self._numbers(column), f"{float(share):g} quantile of {self._frame.name(column)}"
        statistic = statistics.rank_scores(limits, share, self.neighbors)
        mechanism, source = (
            Exponential.for_epsilon(epsilon, sensitivity=statistic.sensitivity),
            self.ledger.source(rng),
        )
        receipt: list[Entry] = []
        scores = self._paid(mechanism, label, lambda: statistic.of(found.floats()), None, receipt)
        place = mechanism.choose(range(len(scores)), scores, rng=source)
        # One candidate has no rank against it; scores are in parts of a rank.
        reach = math.log(20 * len(scores)) / float(mechanism.rate * share.denominator)
        note = f"with probability 95 % at most {math.ceil(reach):,} of the values lie between it and the true quantile"
        value = float(min(max((limits.least + place) * limits.step, limits.low), limits.high))
        told = chosen(value, mechanism.loss, "noise, in ranks", "Exponential", rng)
        told = self._told(told, label, "missing left out", (note,))
        return self._documented(told, mechanism, receipt, label, None, {self._frame.name(column): limits}, "left out")

    def median(
        self,
        column: str | int,
        *,
        bounds: Any,
        epsilon: Number | None = None,
        rho: Number | None = None,
        where: Where | None = None,
        by: By | None = None,
        method: str = "exponential",
        step: Number | None = None,
        missing: Any = None,
        rng: Rng = None,
    ) -> Estimate:
        """The quantile at one half, or the median with noise for its smooth sensitivity.

        "exponential" chooses among multiples of `step` and leaves missing values out; nearly always it is the
        more precise, and it alone takes `where`, `by` and `rho`. "smooth" is the middle value, of an even
        number of rows the midpoint of two, with noise whose scale depends on the data and is not told;
        `missing` is the number to put there, and it needs "replace" and all rows, whose number is public.
        """
        if choice(method, "method", ("exponential", "smooth")) == "exponential":
            if missing is not None:
                refuse(
                    "`missing` is said only for method='smooth'",
                    missing,
                    "the other leaves missing values out",
                )
            asked: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "where": where, "by": by}
            return self.quantile(column, "1/2", bounds=bounds, step=step, rng=rng, **asked)
        if step is not None:
            refuse("`step` is said only for method='exponential'", step, "the other has a grid of its own")
        if where is not None or by is not None or rho is not None or epsilon is None:
            refuse(
                "method='smooth' takes `epsilon`, and no `where`, `by` or `rho`",
                "others",
                "its noise is for all rows, whose number is public; method='exponential' takes them",
            )
        return self._smooth("median", "median", column, bounds, epsilon, missing, rng)

    def location(
        self,
        column: str | int,
        *,
        estimator: "Huber",
        bounds: Any,
        epsilon: Number | None = None,
        rho: Number | None = None,
        where: Where | None = None,
        by: By | None = None,
        step: Number | None = None,
        rng: Rng = None,
    ) -> Estimate:
        """The Huber location of a column: the value from which the others, cut at `estimator.k`, differ by 0
        in the mean.

        It is chosen by inverse sensitivity among multiples of `step` (2**-16 of the bounds' distance if not
        given); missing values are left out. Of a skewed column it is neither the median nor the mean: it is
        the target itself that the estimate names. `where` keeps rows and `by` splits them as for a count, for
        one charge; `rho` buys the epsilon whose choice costs so much, rho = epsilon**2 / 8. Under "replace" a
        person can move from one group to another, so that each group has half of it. Every group is sought
        on the whole grid, which takes about a tenth of a second: of many say a coarser `step`.
        """
        from toolkit.central.robust.estimators import Huber
        from toolkit.central.robust.inverse import InverseSensitivity

        if not isinstance(estimator, Huber):
            refuse(
                "`estimator` must be a Huber",
                getattr(estimator, "__name__", repr(estimator)),
                "write Huber(1.345): a mean has no bounded score, and where psi falls again no count of "
                "people is known",
                TypeError,
            )
        spending, rows, source = Spending.of(epsilon, rho), self._rows(where, by), self.ledger.source(rng)
        self._summable(column)
        groups = 2 if rows.cells > 1 and self.neighbors == "replace" else 1
        reach = {"groups": groups, "rows": self._caps.most(rows.cells)}
        bought = groups * spending.part(groups).of_choice
        mechanism = InverseSensitivity.for_epsilon(bought, estimator, bounds=bounds, step=step, **reach)
        return self._located(column, mechanism, rows, source)

    def _located(self, column: str | int, mechanism: "InverseSensitivity", rows: Rows, source: Rng) -> Estimate:
        from toolkit.central.robust.inverse import COVERS

        name = self._frame.name(column)
        label = f"{mechanism.statistic!r} location of {name}{rows.words}"
        receipt: list[Entry] = []
        read = partial(values_of, self._frame, rows, column)
        cells, number = self._paid(mechanism, label, read, None, receipt)
        scores = (-mechanism.lengths(values, number) for values in cells)
        notes = (
            "a Huber location, which of skewed values is neither their median nor their mean",
            *rows.notes,
        )
        if rows.axes:
            found, kind = [mechanism.point(one, source) for one in scores], type(mechanism).__name__
            plain = chosen_by_cell(found, rows.labels, rows.names, mechanism.loss, COVERS, kind, source)
            notes = (f"each of {rows.cells} groups for itself: {mechanism.note}", *notes)
        else:
            plain = mechanism.choose(next(scores), source)
        told = self._told(plain, label, "missing left out", notes)
        limits = {name: mechanism.bounds}
        return self._documented(told, mechanism, receipt, label, rows, limits, "left out")

    def trimmed_mean(
        self,
        column: str | int,
        *,
        trim: Number,
        bounds: Any,
        epsilon: Number,
        missing: Any = None,
        rng: Rng = None,
    ) -> Estimate:
        """The mean without a share `trim` of the rows at each end, with noise for its smooth sensitivity.

        `missing` is the number to put there. It needs "replace" and all rows, whose number is public: there
        is no `where`. The scale of the noise is not told.
        """
        share = probability(trim, "trim")
        if share >= exact("1/2", "trim"):
            refuse("`trim` must be below 1/2", trim, "it is cut off at each end")
        return self._smooth("trimmed", "trimmed mean", column, bounds, epsilon, missing, rng, share=share)

    def iqr(self, column: str | int, *, bounds: Any, epsilon: Number, missing: Any = None, rng: Rng = None) -> Estimate:
        """The distance of the quartiles, with noise for its smooth sensitivity.

        The quartiles are the values of ranks n/4 and 3n/4, rounded up. `missing` is the number to put there.
        It needs "replace" and all rows, whose number is public: there is no `where`. The scale of the noise
        is not told.
        """
        return self._smooth("iqr", "interquartile range", column, bounds, epsilon, missing, rng)

    def _smooth(
        self,
        statistic: str,
        words: str,
        column: str | int,
        bounds: Any,
        epsilon: Number,
        missing: Any,
        rng: Rng,
        share: Any = None,
    ) -> Estimate:
        if self.neighbors != "replace":
            refuse(
                f"a {words} with smooth noise needs neighbors='replace'",
                repr(self.neighbors),
                "its sensitivity is known for a public number of rows; quantile and location need none",
            )
        from toolkit.central.robust.releases import SmoothSensitivity

        rows = len(self._frame)
        trim = {} if share is None else {"trim": math.floor(share * rows)}
        mechanism = SmoothSensitivity.for_epsilon(epsilon, statistic, n=rows, bounds=bounds, **trim)
        fill, how = (None, "") if missing is None else settled(missing, mechanism.bounds)
        if fill is None:
            middle = written(float(mechanism.bounds.low + mechanism.bounds.high) / 2)
            refuse(
                "`missing` must be a number with smooth noise: what a missing value counts as",
                "none" if missing is None else repr(missing),
                f"were values dropped, their number would be private; write missing={middle}, say",
            )
        found, source = self._numbers(column), self.ledger.source(rng)
        label = f"{words} of {self._frame.name(column)}"
        receipt: list[Entry] = []
        summary = self._paid(mechanism, label, partial(_summary, mechanism, found, float(fill)), None, receipt)
        note = f"released is the {mechanism.statistic.name} of {rows:,} values"
        told = self._told(mechanism.draw(summary, source), label, how, (note,))
        limits = {self._frame.name(column): mechanism.bounds}
        return self._documented(told, mechanism, receipt, label, None, limits, how)


def _only(many: Estimate) -> Estimate:
    """One quantile of one group, as a number."""
    told = many.release.query["statistic"] if many.release else ""
    label = told.replace("1 quantile", f"{many.labels[0]} quantile", 1)
    return replace(many, value=float(np.ravel(many.value)[0]), se=math.nan, labels=(label,), axes=())


def _summary(mechanism: "SmoothSensitivity", found: Column, fill: float) -> "Summary":
    values = found.floats()
    return mechanism.summary(np.where(np.isnan(values), fill, values))
