"""From reports to findings: models of who did it, without a `Survey`, from a frame and a design."""

from toolkit.analysis.regression import logistic, multinomial, predictor

__all__ = ["logistic", "multinomial", "predictor"]
