"""The estimate where nobody answered: a row of its own for each thing that was asked for, and no number in
it.
"""

import numpy as np

from toolkit.core.arrays import Labels
from toolkit.core.estimate import Estimate
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.survey.question import Question


def nobody(question: Question) -> Estimate:
    """NaN under the same labels as an estimate from reports would have, and a note.

    >>> nobody(Question("age", "Age?", bounds=(18, 99)))
    <Estimate — without an error; n = 0; covers nothing, as nobody answered; no privacy claim>
    """
    labels = _labels(question)
    k = len(labels)
    single = k == 1 and not isinstance(question.design, SquareWave) and question.kind != "ticks"
    return Estimate(
        value=float("nan") if single else np.full(k, np.nan),
        se=float("nan") if single else np.full(k, np.nan),
        labels=labels,
        cov=np.full((k, k), np.nan),
        n=0,
        loss=question.design.loss if question.design is not None else None,
        covers="nothing, as nobody answered",
        notes=("nobody answered: there is nothing to estimate from",),
    )


def _labels(question: Question) -> Labels:
    if isinstance(question.design, SquareWave):
        return question.design.labels
    if question.kind == "number":
        return ("mean",)
    return (
        question.options[1:] if question.kind == "choice" and len(question.options) == 2 else question.options
    )
