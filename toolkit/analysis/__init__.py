"""From reports to findings: models of who did it, without a `Survey`, from a frame and a design."""

from toolkit.analysis.regression import logistic, multinomial, predictor
from toolkit.analysis.twogroup import (
    cheater_detection,
    extended_crosswise,
    item_sum,
    lie_detector,
    list_experiment,
    unknown_question,
)

__all__ = [
    "cheater_detection",
    "extended_crosswise",
    "item_sum",
    "lie_detector",
    "list_experiment",
    "logistic",
    "multinomial",
    "predictor",
    "unknown_question",
]
