"""Shares by group that an anchor question corrects for people who answer at random, from counts or from a sample.

With the mean score x, the estimate c that random answers alone would give, and the share g of people who follow the
instructions, the corrected share is c + (x - c) / g. In a sample, x and g are weighted means, and the error follows
from each person's influence: ((score - x) - (share - c) (anchor's score - g)) / g.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol

import numpy as np

from toolkit.analysis.from_sample import SampleSource, design_effect
from toolkit.analysis.homogeneity import TableTest
from toolkit.analysis.regression.anchor import Anchor, as_anchor
from toolkit.analysis.reports import (
    GroupEstimate,
    QuestionModel,
    Reader,
    checked_designs,
    empty_estimate,
    estimated_labels,
    has_matrix,
)
from toolkit.analysis.sampling.sample import weights_of
from toolkit.core.arrays import Array, Mask
from toolkit.core.checks import reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.fit import boundary_note
from toolkit.frames.counts import Group
from toolkit.local.anchor import ASSUMPTION, anchor_scores, corrected_counts
from toolkit.local.compliance import report_scores
from toolkit.local.design import Design

_NOBODY = "the anchor shows nobody who followed the instructions: nothing can be estimated"


@dataclass(frozen=True)
class AnchorQuestion:
    """The column of an anchor, its design and its true answer."""

    name: str
    design: Design
    truth: str | int | None


def anchor_question(anchor: object, designs: object, models: Mapping[str, QuestionModel]) -> AnchorQuestion:
    """Return the anchor with its design, which may be in `designs` or be that of all other columns."""
    stated: Anchor = as_anchor(anchor)
    if not isinstance(stated.reports, str) or stated.attention is not None:
        remedy = "write anchor=Anchor('moon', design); covariates of attention need logistic()"
        reject("the anchor of estimates must be a column, without covariates", "another", remedy)
    name, truth = stated.reports, stated.truth
    questions = {question.name: question for question in getattr(designs, "questions", ())}
    if truth is None and name in questions:
        truth = getattr(questions[name], "anchor", None)
    if stated.design is not None:
        models = checked_designs({name: stated.design})
    candidates = [models[name]] if name in models else list(dict.fromkeys(models.values()))
    if len(candidates) != 1 or not has_matrix(candidates[0]):
        remedy = f"write anchor=Anchor({name!r}, design)"
        reject("the anchor must have a design with a matrix", "none that is known", remedy)
    anchor_scores(candidates[0], truth)  # rejects a truth that is not an option, and uniform probabilities
    return AnchorQuestion(name, candidates[0], truth)


class PairCounts(Protocol):
    """Counts of the reports in each group, which can also be counted in pairs."""

    @property
    def readers(self) -> Mapping[str, Reader]: ...
    def groups(self) -> dict[Group, int]: ...
    def ungrouped(self) -> int: ...
    def group_estimates(self, name: str, method: str) -> list[GroupEstimate]: ...
    def difference(self, name: str, group: Group, other: Group) -> Estimate: ...
    def pair_tables(self, first: str, second: str) -> dict[Group, Array]: ...


@dataclass(frozen=True, eq=False)
class _AnchoredSource:
    """Estimates of a source, corrected by an anchor where the design has a matrix and protects the answers."""

    source: Any
    anchor: AnchorQuestion

    def groups(self) -> dict[Group, int]:
        groups: dict[Group, int] = self.source.groups()
        return groups

    def ungrouped(self) -> int:
        return int(self.source.ungrouped())

    def corrects(self, name: str) -> bool:
        """Return whether the anchor corrects the estimates of this question."""
        design = self.source.readers[name].design
        return name != self.anchor.name and has_matrix(design) and design.loss is not None

    def change(self, first: str, second: str) -> dict[Group, Estimate]:
        _reject_pairs(first, second)

    def pairs(self, first: str, second: str, design: Design) -> dict[Group, Estimate]:  # noqa: ARG002
        _reject_pairs(first, second)

    def independence(self, first: str, second: str) -> TableTest:
        _reject_pairs(first, second)

    def homogeneity(self, name: str, method: str | None = None) -> TableTest:  # noqa: ARG002
        rule = "a test of all groups together needs findings without an anchor"
        reject(rule, repr(name), "use .differences(…) for corrected shares")


def _reject_pairs(first: str, second: str) -> NoReturn:
    rule = "two questions are analyzed together without an anchor"
    reject(rule, f"{first!r} and {second!r}", "leave out `anchor`")


@dataclass(frozen=True, eq=False)
class AnchoredCounts(_AnchoredSource):
    """Corrected estimates from the counts of pairs of reports."""

    source: PairCounts

    def group_estimates(self, name: str, method: str) -> list[GroupEstimate]:
        rows = self.source.group_estimates(name, method)
        if not self.corrects(name):
            return rows
        _check_method(method)
        tables = self.source.pair_tables(name, self.anchor.name)
        return [self._corrected(row, tables.get(row.group)) for row in rows]

    def _corrected(self, row: GroupEstimate, table: Array | None) -> GroupEstimate:
        design: Any = self.source.readers[row.question].design
        if table is None:
            return replace(row, estimate=empty_estimate(design), missing=row.rows)
        n, anchor = int(table.sum()), self.anchor
        if table.sum(axis=0) @ anchor_scores(anchor.design, anchor.truth) <= 0:
            return replace(row, estimate=_nothing(design, n), missing=row.rows - n)
        estimate = corrected_counts(design, table, anchor_design=anchor.design, truth=anchor.truth)
        return replace(row, estimate=estimate, missing=row.rows - n)

    def difference(self, name: str, group: Group, other: Group) -> Estimate:
        if not self.corrects(name):
            return self.source.difference(name, group, other)
        estimates = {row.group: row.estimate for row in self.group_estimates(name, "moment")}
        return estimates[group] - estimates[other]


@dataclass(frozen=True, eq=False)
class AnchoredSample(_AnchoredSource):
    """Corrected estimates from the rows of a sample, with errors by linearization."""

    source: SampleSource

    def group_estimates(self, name: str, method: str) -> list[GroupEstimate]:
        rows = self.source.group_estimates(name, method)
        return [self._corrected(row) for row in rows] if self.corrects(name) else rows

    def _corrected(self, row: GroupEstimate) -> GroupEstimate:
        design = self.source.readers[row.question].design
        where = self._answered(row.question, row.group)
        n = int(np.count_nonzero(where))
        if not n:
            return replace(row, estimate=empty_estimate(design), missing=row.rows, deff=None)
        linearized, followers = self._linearized(row.question, where)
        if linearized is None:
            return replace(row, estimate=_nothing(design, n), missing=row.rows - n, deff=None)
        mean = self.source.without_population.mean(linearized, where, labels=estimated_labels(design))
        random_share = f"{100 * (1 - followers):.3g} % answered at random"
        method = f"{design.name} design, corrected by an anchor: {random_share}; {mean.method}"
        doubts = boundary_note(mean.value, inside=None)
        estimate = replace(self._described(mean, design, method), notes=(*mean.notes, *doubts, ASSUMPTION))
        weights = weights_of(self.source.sample, len(where))[where]
        deff = design_effect(estimate, linearized[where], weights)
        return replace(row, estimate=estimate, missing=row.rows - n, deff=deff)

    def difference(self, name: str, group: Group, other: Group) -> Estimate:
        if not self.corrects(name):
            return self.source.difference(name, group, other)
        design = self.source.readers[name].design
        domains = [self._answered(name, member) for member in (group, other)]
        first, second = (self._linearized(name, where)[0] if where.any() else None for where in domains)
        if first is None or second is None:
            return empty_estimate(design)
        scores = np.where(domains[0].reshape(-1, *(1,) * (first.ndim - 1)), first, second)
        labels = estimated_labels(design)
        difference = self.source.without_population.difference(scores, *domains, labels=labels)
        return self._described(difference, design, f"corrected by an anchor; {difference.method}")

    def _described(self, estimate: Estimate, design: QuestionModel, method: str) -> Estimate:
        sources = (ErrorSource.RANDOMIZATION, ErrorSource.ANCHOR)
        covers = estimate.covers.replaced(ErrorSource.SCORES, *sources)
        return replace(estimate, loss=design.loss, covers=covers, method=method)

    def _answered(self, name: str, group: Group) -> Mask:
        """Return the rows of the group with a report on the question and on the anchor."""
        return self.source.where(group) & (self.source.codes(name) >= 0) & (self.source.codes(self.anchor.name) >= 0)

    def _linearized(self, name: str, where: Mask) -> tuple[Array | None, float]:
        """Return numbers whose weighted mean is the corrected share, with its variance, and the share of followers.

        The numbers are NaN outside the group, and None if the anchor shows no followers.
        """
        design: Any = self.source.readers[name].design
        question = report_scores(design)
        anchor = anchor_scores(self.anchor.design, self.anchor.truth)[self.source.codes(self.anchor.name)]
        scores = np.column_stack([question[self.source.codes(name)], anchor])
        means = np.asarray(self.source.without_population.mean(scores, where).value)
        uncorrected, followers, random = means[:-1], float(means[-1]), question.mean(axis=0)
        if followers <= 0:
            return None, followers
        value = random + (uncorrected - random) / followers
        influence = (scores[:, :-1] - uncorrected - (value - random) * (anchor - followers)[:, None]) / followers
        linearized = np.where(where[:, None], value + influence, np.nan)
        return (linearized[:, 1] if len(value) == 2 else linearized), followers


def _nothing(design: QuestionModel, n: int) -> Estimate:
    return replace(empty_estimate(design), n=n, covers=Covers((), more="nothing"), notes=(_NOBODY,))


def _check_method(method: str) -> None:
    if method != "moment":
        reject("with an anchor the method must be 'moment'", repr(method), "the correction is of unbiased estimates")
