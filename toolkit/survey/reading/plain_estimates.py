"""Estimates of plain answers, which nothing hides: shares and means as every survey has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolkit.core.arrays import Array, Counts
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Shares, Student
from toolkit.local.design import Design
from toolkit.survey.question import Question

_COVERS = "sampling"
_PLAIN = "plain answers"
_ALIKE = "all answers are equal, which says nothing about the error of their mean: there is no interval"


def plain_estimate(question: Question, values: Sequence[tuple[Any, int]]) -> Estimate:
    """Shares of the options, or the mean of a number; there is no privacy claim."""
    if question.kind == "choice":
        return _shares(question, values)
    counts = np.array([count for _, count in values])
    if question.kind == "ticks":
        return _boxes(np.array([_ticks(question, value) for value, _ in values]), counts, question.options)
    return _mean(np.array([float(value) for value, _ in values]), counts)


def _shares(question: Question, values: Sequence[tuple[Any, int]]) -> Estimate:
    """Through the design that hides nothing, whose intervals are those of a share."""
    counts = np.zeros(len(question.options), dtype=np.int64)
    for code, count in values:
        counts[code] += count
    if len(counts) == 1:
        return _boxes(np.ones((1, 1)), counts, question.options)
    direct = Design(np.eye(len(counts), dtype=np.int64), 1, question.options, name="direct")
    found = direct.estimate_counts(counts)
    return Estimate(
        found.value, found.se, found.labels, found.cov, found.n, None, _COVERS, _PLAIN, basis=found.basis
    )


def _ticks(question: Question, codes: Sequence[int]) -> list[float]:
    return [float(code in codes) for code in range(len(question.options))]


def _boxes(rows: Array, counts: Counts, labels: tuple[str | int, ...]) -> Estimate:
    """The share of people who tick each box: each is counted, so its intervals are those of a share."""
    n = int(counts.sum())
    basis = Shares.from_support(counts @ rows, n, np.ones(len(labels)), np.zeros(len(labels)))
    apart = rows - basis.value
    cov = (apart * counts[:, None]).T @ apart / n / (n - 1) if n > 1 else np.full((len(labels),) * 2, np.nan)
    value, se = (float(basis.value[0]), float(basis.se[0])) if len(labels) == 1 else (basis.value, basis.se)
    return Estimate(value, se, labels, cov, n, None, _COVERS, _PLAIN, basis=basis)


def _mean(numbers: Array, counts: Counts) -> Estimate:
    """The mean of numbers that each occur several times, with a t interval: its error is estimated from the
    same answers.
    """
    n = int(counts.sum())
    mean = float(counts @ numbers / n)
    se = float(np.sqrt(counts @ (numbers - mean) ** 2 / n / (n - 1))) if n > 1 else np.nan
    notes = (_ALIKE,) if se == 0 else ()
    method = f"{_PLAIN}, t with {n - 1} degrees of freedom" if n > 1 else _PLAIN
    return Estimate(
        mean, se, ("mean",), np.array([[se**2]]), n, None, _COVERS, method, notes, Student(mean, se, n - 1)
    )
