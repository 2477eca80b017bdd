"""Estimates of plain answers, which nothing hides: shares and means as every survey has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolkit.core.estimate import Estimate
from toolkit.local.design import Design
from toolkit.survey.question import Question

_COVERS = "sampling"


def plain_estimate(question: Question, values: Sequence[tuple[Any, int]]) -> Estimate:
    """Shares of the options, or the mean of a number; there is no privacy claim."""
    if question.kind == "choice":
        return _shares(question, values)
    rows = [_ticks(question, value) if question.kind == "ticks" else [float(value)] for value, _ in values]
    labels = question.options if question.kind == "ticks" else ("mean",)
    return _means(np.array(rows, dtype=np.float64), np.array([count for _, count in values]), labels)


def _shares(question: Question, values: Sequence[tuple[Any, int]]) -> Estimate:
    """Through the design that hides nothing, whose intervals are those of a share."""
    counts = np.zeros(len(question.options), dtype=np.int64)
    for code, count in values:
        counts[code] += count
    if len(counts) == 1:
        return _means(np.ones((1, 1)), counts, question.options)
    direct = Design(np.eye(len(counts), dtype=np.int64), 1, question.options, name="direct")
    found = direct.estimate_counts(counts)
    return Estimate(found.value, found.se, found.labels, found.cov, found.n, None, _COVERS, "plain answers", basis=found.basis)


def _ticks(question: Question, codes: Sequence[int]) -> list[float]:
    return [float(code in codes) for code in range(len(question.options))]


def _means(rows: np.ndarray[Any, np.dtype[np.float64]], counts: np.ndarray[Any, Any], labels: tuple[str | int, ...]) -> Estimate:
    """Mean and covariance of rows that each occur several times."""
    n = int(counts.sum())
    mean = counts @ rows / n
    apart = rows - mean
    cov = (apart * counts[:, None]).T @ apart / n / (n - 1) if n > 1 else np.full((len(mean),) * 2, np.nan)
    se = np.sqrt(np.diag(cov))
    value, error = (float(mean[0]), float(se[0])) if len(mean) == 1 else (mean, se)
    return Estimate(value, error, labels, cov, n, None, _COVERS, "plain answers")
