"""`Anchor`: a question with a known true answer, from which a model learns who followed the instructions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.analysis.regression.covariates import Covariates, split_formula
from toolkit.analysis.regression.rows import (
    Channel,
    FurtherReports,
    ModelRows,
    channel,
    design_of_question,
    read_model_rows,
    split_missing,
)
from toolkit.core.arrays import Array, Values
from toolkit.core.checks import reject
from toolkit.local.anchor import anchor_scores, truth_row
from toolkit.local.design import Design

_ALL_ATTENTIVE = "the anchor shows nobody who answered at random: leave out `anchor`"
_NONE_ATTENTIVE = "the anchor shows nobody who followed the instructions: its reports are not those of its design"


@dataclass(frozen=True, eq=False)
class Anchor:
    """An anchor question: its true answer is known, and the same for all respondents.

    People who follow the instructions answer the anchor and the other questions by their designs. All other people are
    assumed to answer them at random, so that every report is equally likely.

    Parameters
    ----------
    reports : str or array
        The column of the reports on the anchor, or the reports.
    design : Design or mapping, optional
        The design of the anchor; by default that of the question, or that of the survey's question with this name.
    truth : str or int, optional
        The true answer; by default the survey's, or the first option.
    attention : str, optional
        Covariates of the probability that a person follows the instructions, as in "~ age"; by default those of the
        trait, and "~ 1" for the same probability for everybody.

    Examples
    --------
    >>> import numpy as np
    >>> from toolkit import crosswise
    >>> from toolkit.analysis import Anchor, logistic
    >>> rng, same = np.random.default_rng(0), crosswise("0.15")
    >>> attentive, cheated = rng.random(4000) < 0.8, rng.random(4000) < 0.2
    >>> by_the_rule = {"cheated": same.randomize(cheated, rng=rng), "moon": same.randomize(cheated & False, rng=rng)}
    >>> frame = {name: np.where(attentive, reports, rng.random(4000) < 0.5) for name, reports in by_the_rule.items()}
    >>> logistic("cheated ~ 1", frame, same, anchor=Anchor("moon")).labels
    ('Intercept', 'attention: Intercept')
    """

    reports: str | Values
    design: Design | Mapping[Any, Any] | None = None
    truth: str | int | None = None
    attention: str | None = None


def attention_side(anchor: Anchor, right: str) -> str:
    """Return the right side of the formula of attention; `right` is that of the model."""
    if anchor.attention is None:
        return right
    if not right:
        reject("`attention` needs a model with a formula", "arrays", 'write "report ~ age" and give a frame')
    return split_formula(f"y ~ {anchor.attention.strip().removeprefix('~')}")[1]


def as_anchor(anchor: object) -> Anchor:
    """Return an anchor, which may be given as the name of its column."""
    if isinstance(anchor, Anchor):
        return anchor
    if not isinstance(anchor, str):
        remedy = 'write anchor="moon", or Anchor("moon", design=…)'
        reject("`anchor` must be an Anchor or the name of a column", type(anchor).__name__, remedy, TypeError)
    return Anchor(anchor)


@dataclass(frozen=True, eq=False)
class AnchorReports:
    """The reports on an anchor question, and the covariates of attention.

    `truth_rows` holds the probability of each report from people who follow the instructions, one row per design.
    """

    channel: Channel
    truth_rows: Array
    attention: Covariates

    @property
    def report_likelihood(self) -> Array:
        """Pr(observed report) of each person who follows the instructions."""
        return np.asarray(self.truth_rows[self.channel.design_index, self.channel.codes])

    @cached_property
    def scores(self) -> Array:
        """The score of each person's report, with mean 1 for people who follow the instructions and 0 for others."""
        apart = self.truth_rows - 1 / self.truth_rows.shape[1]
        scores = apart / (apart**2).sum(axis=1, keepdims=True)
        return np.asarray(scores[self.channel.design_index, self.channel.codes])

    def advice(self, row_weights: Array, otherwise: str) -> str:
        """Return the remedy if there is no maximum, which often follows from the anchor's reports alone."""
        share = float(np.average(self.scores, weights=row_weights))
        return _ALL_ATTENTIVE if share >= 1 else _NONE_ATTENTIVE if share <= 0 else otherwise


def read_anchored_rows(
    formula: Any,
    data: Any,
    design: object,
    design_by: object,
    sampling: Mapping[str, Any],
    missing: object,
    anchor: Anchor,
) -> tuple[ModelRows, AnchorReports]:
    """Read the rows of a model with an anchor, as `read_model_rows` does."""
    right = split_formula(formula)[1] if isinstance(formula, str) else ""
    # The finite population correction would also reduce the variance from randomization.
    further = FurtherReports({"anchor": anchor.reports}, {"attention": attention_side(anchor, right)}, with_fpc=False)
    rows = read_model_rows(formula, data, design, design_by, sampling, missing, further)
    codes = split_missing(missing)[1]
    return rows, encode_anchor(anchor, rows.columns, design, codes, rows.share_covariates["attention"])


def encode_anchor(
    anchor: Anchor,
    columns: Mapping[str, Any],
    question_design: object,
    missing_codes: tuple[Any, ...],
    attention: Covariates,
) -> AnchorReports:
    """Encode the reports on an anchor, whose design is that of the question or of the survey unless it has its own."""
    design, truth = anchor.design, anchor.truth
    if design is None:
        design = design_of_question(question_design, anchor.reports)
        questions = {question.name: question for question in getattr(question_design, "questions", ())}
        if truth is None and isinstance(anchor.reports, str) and anchor.reports in questions:
            truth = getattr(questions[anchor.reports], "anchor", None)
    several = isinstance(design, Mapping) and "weights" not in design
    reports = channel(columns["anchor"], design, columns.get("design_by") if several else None, missing_codes)
    for used_design in reports.designs:
        anchor_scores(used_design, truth)  # rejects a truth that is not an option, and uniform probabilities
    rows = [truth_row(used_design, truth) for used_design in reports.designs]
    check_same_reports(rows, "the anchor")
    return AnchorReports(reports, np.array(rows), attention)


def check_same_reports(matrices: Sequence[Array], what: str) -> None:
    """Reject designs with different numbers of reports."""
    if len(sizes := sorted({matrix.shape[-1] for matrix in matrices})) > 1:
        received = " and ".join(map(str, sizes))
        reject(
            f"with an anchor, all designs of {what} must have the same number of reports", received, "fit them apart"
        )
