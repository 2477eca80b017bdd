"""Anchor questions: all true answers are known, so the reports show how many people follow the instructions.

"I have been to the moon" is an example. People who answer at random bias every estimate towards the value that random
answers alone would give; the anchor estimates their share and removes the bias. The anchor does not detect people who
protect themselves with a "no", because the true answer to the anchor needs no protection.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, ArrayLike, Values
from toolkit.core.checks import reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.fit import boundary_note, edge_fit, fit_notes, wald_fit
from toolkit.core.inference.intervals import Normal, Shares
from toolkit.local.compliance import report_scores
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import checked_counts, counts_in_order, encode, tally

ASSUMPTION = (
    "people who did not follow the instructions are assumed to answer both the anchor and the question at "
    "random; people who always give the harmless answer are not detected"
)
_COVERS = Covers([ErrorSource.SAMPLING, ErrorSource.RANDOMIZATION, ErrorSource.ANCHOR])


def attention(design: Design, reports: Values, *, truth: str | int | None = None) -> Estimate:
    """Estimate the share of people who followed the instructions of an anchor question.

    The reports of followers have the distribution in the row of the true answer. The reports of people who answer at
    random are uniform. Let d be the difference between the two distributions. A report's score is its entry of d
    divided by the squared norm of d. The mean score is 1 for followers and 0 for people who answer at random.

    Parameters
    ----------
    design : Design
        The design of the anchor question.
    reports : sequence
        The reports on the anchor question, one per person.
    truth : str or int, optional
        The true answer to the anchor, the same for all respondents; the first option if left out.

    Returns
    -------
    Estimate
        The share of followers.

    Examples
    --------
    >>> from toolkit import crosswise
    >>> round(attention(crosswise(0.15), [True] * 1541 + [False] * 459).value, 4)
    0.7729
    """
    return attention_counts(design, tally(reports, design.report_options, "reports"), truth=truth)


def attention_counts(
    design: Design, counts: ArrayLike | Mapping[Any, int], *, truth: str | int | None = None
) -> Estimate:
    """Estimate the share of followers from counts of reports, by label or in the order of `report_options`."""
    labels = design.report_options
    numbers = checked_counts(counts_in_order(counts, labels), len(labels), labels)
    scores = anchor_scores(design, truth)
    n = int(numbers.sum())
    value = float(numbers @ scores / n)
    spread = float(numbers @ (scores - value) ** 2) / (n - 1) if n > 1 else np.nan
    if n > 1 and np.ptp(scores[numbers > 0]) == 0:
        # If all scores are equal, the sample variance is zero, so the theoretical variance is used.
        share = min(max(value, 0.0), 1.0)
        law = share * truth_row(design, truth) + (1 - share) / len(scores)
        spread = float(law @ scores**2) - share**2
    basis = _interval_basis(numbers, scores, truth_row(design, truth), value, float(np.sqrt(spread / n)))
    fit = edge_fit(basis, together=True)
    return Estimate(
        value=value,
        se=float(basis.se[0]),
        labels=("followers",),
        cov=np.array([[spread / n]]),
        n=n,
        loss=design.loss,
        covers=_COVERS,
        method="share who follow, by an anchor",
        notes=fit_notes(fit, basis),
        basis=basis,
        fit=fit,
    )


def describe_random_share(followers: Estimate, level: float = 0.95) -> str:
    """Describe what the anchor shows about the share of people who answered at random."""
    limits, share = followers.interval(level), float(followers)
    if share > 1 and (limits.empty or share - 2 * float(followers.se) > 1):
        return (
            "there are more harmless answers than the design allows: people protected themselves or used another design"
        )
    if limits.empty:
        return "there are fewer true answers than chance alone gives: people did not follow the design"
    low, high = (100 - 100 * float(limit) for limit in (limits.high, limits.low))
    about = 100 - 100 * min(max(share, 0.0), 1.0)
    return (
        f"about {about:.0f} % ({low:.0f} to {high:.0f}) answered at random; it cannot show people who always "
        "give the harmless answer"
    )


def _interval_basis(counts: Array, scores: Array, row: Array, value: float, se: float) -> Shares:
    """Return the basis of intervals for the share of followers.

    The reports are a mixture of the row of the true answer and of the uniform distribution.
    """
    even = np.full(len(row), 1 / len(row))
    speaks = even[row > even].sum()
    return Shares(
        value=np.array([value]),
        se=np.array([se]),
        n=int(counts.sum()),
        spread_with=np.array([row @ scores**2]),
        spread_without=np.array([even @ scores**2]),
        counts=counts[None, :],
        probs_with=row[None, :],
        probs_without=even[None, :],
        support_range_without=(np.array([speaks]), np.array([speaks])),
    )


def corrected(
    design: Design,
    reports: Values,
    anchor: Values,
    *,
    anchor_design: Design | None = None,
    truth: str | int | None = None,
) -> Estimate:
    """Estimate the shares under a design, corrected for people who answer at random.

    An anchor question measures the share of these people. Let c be the estimate that random answers alone would give, x
    the uncorrected estimate and g the share of followers. The corrected estimate is c + (x - c) / g. Its standard
    error, by the delta method, includes both questions and their correlation within a person.

    Parameters
    ----------
    design : Design
        The design of the question.
    reports, anchor : sequence
        The reports on the question and on the anchor, from the same people in the same order.
    anchor_design : Design, optional
        The design of the anchor; the design of the question if left out.
    truth : str or int, optional
        The true answer to the anchor, the same for all respondents; the first option if left out.

    Returns
    -------
    Estimate
        The corrected shares.

    References
    ----------
    Y. Atsusaka and R. T. Stevenson, A bias-corrected estimator for the crosswise model with inattentive
    respondents, Political Analysis 31 (2023), for Warner's matrix.

    Examples
    --------
    >>> from toolkit import warner
    >>> corrected(warner("3/4"), [True] * 40 + [False] * 60, [True, False, False, False] * 25).value
    0.3
    """
    other = design if anchor_design is None else anchor_design
    first = encode(reports, design.report_options, "reports").codes
    second = encode(anchor, other.report_options, "anchor").codes
    if len(first) != len(second):
        consequence = "they are paired by position"
        reject("`reports` and `anchor` must be of the same people", f"{len(first)} and {len(second)}", consequence)
    shape = (len(design.report_options), len(other.report_options))
    pairs = np.bincount(first.astype(np.intp) * shape[1] + second, minlength=shape[0] * shape[1])
    return corrected_counts(design, pairs.reshape(shape), anchor_design=other, truth=truth)


def corrected_counts(
    design: Design, table: ArrayLike, *, anchor_design: Design | None = None, truth: str | int | None = None
) -> Estimate:
    """Estimate as `corrected` does, from a table of counts with a row per report and a column per anchor report."""
    other = design if anchor_design is None else anchor_design
    shape, counts = (len(design.report_options), len(other.report_options)), np.asarray(table)
    if counts.shape != shape:
        consequence = "give the number of people for each pair"
        reject(f"`table` must be {shape[0]} by {shape[1]}, reports by anchor reports", f"{counts.shape}", consequence)
    people = checked_counts(counts.ravel(), counts.size)
    n, question_scores, scores = int(people.sum()), report_scores(design), anchor_scores(other, truth)
    naive = (people.reshape(shape).sum(axis=1) @ question_scores) / n
    follow = float(people.reshape(shape).sum(axis=0) @ scores) / n
    if follow <= 0:
        reject(
            "the anchor must show that some people followed the instructions",
            "none",
            "otherwise the reports say nothing",
        )
    random = question_scores.mean(axis=0)
    value = random + (naive - random) / follow
    # A person influences the estimate through the person's own score and through the correction of all scores.
    influence = ((question_scores - naive)[:, None] - (value - random) * (scores - follow)[None, :, None]).reshape(
        len(people), -1
    ) / follow
    cov = (influence * people[:, None]).T @ influence / n / (n - 1) if n > 1 else np.full((len(value),) * 2, np.nan)
    reported = slice(1, None) if len(value) == 2 else slice(None)
    random_share = f"{100 * (1 - follow):.3g} % answered at random"
    method = f"{design.name} design, corrected by an anchor: {random_share}"
    return _corrected_estimate(value[reported], cov[reported, reported], n, design.options[reported], design, method)


def anchor_scores(design: Design, truth: str | int | None) -> Array:
    """Return the score of each report on the anchor, with mean 1 for followers and 0 for random answers."""
    row = truth_row(design, truth)
    apart = row - 1 / len(row)
    if float(apart @ apart) < 1e-12:
        consequence = "reports of followers look like random ones"
        reject("the row of the anchor's true answer must not be uniform", "equal probabilities", consequence)
    return np.asarray(apart / (apart @ apart))


def truth_row(design: Design, truth: str | int | None) -> Array:
    """Return the probability of each report on the anchor, from people who follow the instructions."""
    if truth is not None and truth not in design.options:
        reject("`truth` must be an option of the anchor", repr(truth), "it is the true answer of all respondents")
    return np.asarray(design.matrix[0 if truth is None else design.options.index(truth)])


def _corrected_estimate(value: Array, cov: Array, n: int, labels: Any, design: Design, method: str) -> Estimate:
    se = np.sqrt(np.maximum(np.diag(cov), 0))
    se = np.where(se > 1e-12, se, np.nan)  # if all reports agree, the sample variance is zero
    estimate, error = (float(value[0]), float(se[0])) if len(value) == 1 else (value, se)
    basis = Normal(estimate, error, within=(0.0, 1.0))
    fit = wald_fit(basis)
    doubts = fit_notes(fit, basis) or boundary_note(estimate, inside=None)
    return Estimate(
        estimate, error, tuple(labels), cov, n, design.loss, _COVERS, method, (*doubts, ASSUMPTION), basis, fit
    )
