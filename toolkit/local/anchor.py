"""An anchor question: everybody's true answer to it is known, so its reports tell who followed the instructions.

"I have been to the moon" is one. Those who answer at random pull every estimate towards what random answers
alone would give; the anchor measures how many they are, and takes that out again. It cannot see those who
protect themselves with a "no", for the truth about the moon is nothing to be afraid of.
"""

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
from toolkit.local.matrix.encoding import checked_counts, encode, tally

_ASSUMED = (
    "those who did not follow the instructions are taken to answer at random, the anchor and the "
    "question alike; those who always give the harmless answer are not seen"
)
_COVERS = Covers([ErrorSource.SAMPLING, ErrorSource.RANDOMIZATION, ErrorSource.ANCHOR])


def attention(design: Design, reports: Values, *, truth: str | int | None = None) -> Estimate:
    """Estimate the share of people who followed the instructions of an anchor question.

    Followers report by the row of the true answer, those who answer at random by even shares u. With d the row less u,
    a report's score is its entry of d over the squared length of d: 1 on average for followers, 0 for the others.

    Parameters
    ----------
    design : Design
        Of the anchor question.
    reports : sequence
        To the anchor, one per person.
    truth : str or int, optional
        Everybody's true answer to it; its first option if left out.

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


def attention_counts(design: Design, counts: ArrayLike, *, truth: str | int | None = None) -> Estimate:
    """The same from the number of reports of each kind, in the order of `report_options`."""
    numbers, care = checked_counts(counts, len(design.report_options), design.report_options), _care(design, truth)
    n = int(numbers.sum())
    value = float(numbers @ care / n)
    spread = float(numbers @ (care - value) ** 2) / (n - 1) if n > 1 else np.nan
    if n > 1 and np.ptp(care[numbers > 0]) == 0:  # they say nothing of the error: it is the design's
        share = min(max(value, 0.0), 1.0)
        law = share * _row(design, truth) + (1 - share) / len(care)
        spread = float(law @ care**2) - share**2
    basis = _interval_basis(numbers, care, _row(design, truth), value, float(np.sqrt(spread / n)))
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


def at_random(followers: Estimate, level: float = 0.95) -> str:
    """What the reports to an anchor show; whoever always gives the harmless answer looks like a follower there."""
    limits, share = followers.interval(level), float(followers)
    if share > 1 and (limits.empty or share - 2 * float(followers.se) > 1):
        return (
            "more harmless answers came than the design allows: people protected themselves, or followed another design"
        )
    if limits.empty:
        return "fewer true answers came than chance alone gives: people did not follow the design"
    low, high = (100 - 100 * float(limit) for limit in (limits.high, limits.low))
    about = 100 - 100 * min(max(share, 0.0), 1.0)
    return (
        f"about {about:.0f} % ({low:.0f} to {high:.0f}) answered at random; it cannot show people who always "
        "give the harmless answer"
    )


def _interval_basis(counts: Array, care: Array, row: Array, value: float, se: float) -> Shares:
    """The share who follow is a share like others: its reports are a mixture of the true row and of even shares."""
    even = np.full(len(row), 1 / len(row))
    speaks = even[row > even].sum()
    return Shares(
        value=np.array([value]),
        se=np.array([se]),
        n=int(counts.sum()),
        spread_given=np.array([row @ care**2]),
        spread_without=np.array([even @ care**2]),
        counts=counts[None, :],
        given=row[None, :],
        without=even[None, :],
        without_range=(np.array([speaks]), np.array([speaks])),
    )


def corrected(
    design: Design,
    reports: Values,
    anchor: Values,
    *,
    anchor_design: Design | None = None,
    truth: str | int | None = None,
) -> Estimate:
    """Estimate through a design, corrected for people who answer at random.

    An anchor question measures their share. With c what random answers alone would lead to, x the uncorrected
    estimate and g the share who follow, the estimate is c + (x - c) / g. Its error covers both questions, and
    that one person answers both (delta method).

    Parameters
    ----------
    design : Design
        Of the question.
    reports, anchor : sequence
        Of the same people in the same order: to the question, and to the anchor.
    anchor_design : Design, optional
        Of the anchor; the design of the question if left out.
    truth : str or int, optional
        Everybody's true answer to the anchor; its first option if left out.

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
        consequence = "they are read in pairs"
        reject("`reports` and `anchor` must be of the same people", f"{len(first)} and {len(second)}", consequence)
    shape = (len(design.report_options), len(other.report_options))
    pairs = np.bincount(first.astype(np.intp) * shape[1] + second, minlength=shape[0] * shape[1])
    return corrected_counts(design, pairs.reshape(shape), anchor_design=other, truth=truth)


def corrected_counts(
    design: Design, table: ArrayLike, *, anchor_design: Design | None = None, truth: str | int | None = None
) -> Estimate:
    """The same from the number of people with each pair of reports: rows are the question's, columns the anchor's."""
    other = design if anchor_design is None else anchor_design
    shape, counts = (len(design.report_options), len(other.report_options)), np.asarray(table)
    if counts.shape != shape:
        consequence = "it counts people"
        reject(f"`table` must be {shape[0]} by {shape[1]}, reports by anchor reports", f"{counts.shape}", consequence)
    people = checked_counts(counts.ravel(), counts.size)
    n, worth, care = int(people.sum()), report_scores(design), _care(other, truth)
    naive = (people.reshape(shape).sum(axis=1) @ worth) / n
    follow = float(people.reshape(shape).sum(axis=0) @ care) / n
    if follow <= 0:
        reject("the anchor must show that some followed the instructions", "none", "the reports then say nothing")
    random = worth.mean(axis=0)
    value = random + (naive - random) / follow
    # What one person adds to the error: their own score, and their part in the correction of everybody's.
    part = ((worth - naive)[:, None] - (value - random) * (care - follow)[None, :, None]).reshape(
        len(people), -1
    ) / follow
    cov = (part * people[:, None]).T @ part / n / (n - 1) if n > 1 else np.full((len(value),) * 2, np.nan)
    reported = slice(1, None) if len(value) == 2 else slice(None)
    random_share = f"{100 * (1 - follow):.3g} % answered at random"
    words = f"{design.name} design, corrected by an anchor: {random_share}"
    return _estimated(value[reported], cov[reported, reported], n, design.options[reported], design, words)


def _care(design: Design, truth: str | int | None) -> Array:
    """The score of each report to the anchor: 1 on average for followers, 0 for those who answer at random."""
    row = _row(design, truth)
    apart = row - 1 / len(row)
    if float(apart @ apart) < 1e-12:
        reject("the anchor must tell followers from the others", "an even row", "its reports look like random ones")
    return np.asarray(apart / (apart @ apart))


def _row(design: Design, truth: str | int | None) -> Array:
    if truth is not None and truth not in design.options:
        reject("`truth` must be an option of the anchor", repr(truth), "it is everybody's true answer")
    return np.asarray(design.matrix[0 if truth is None else design.options.index(truth)])


def _estimated(value: Array, cov: Array, n: int, labels: Any, design: Design, method: str) -> Estimate:
    se = np.sqrt(np.maximum(np.diag(cov), 0))
    known = np.where(se > 1e-12, se, np.nan)  # reports that all agree say nothing about the error
    estimate, error = (float(value[0]), float(known[0])) if len(value) == 1 else (value, known)
    basis = Normal(estimate, error, within=(0.0, 1.0))
    fit = wald_fit(basis)
    doubts = fit_notes(fit, basis) or boundary_note(estimate, inside=None)
    return Estimate(
        estimate, error, tuple(labels), cov, n, design.loss, _COVERS, method, (*doubts, _ASSUMED), basis, fit
    )
