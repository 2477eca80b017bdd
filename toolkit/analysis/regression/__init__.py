"""Regression through randomized answers: the answer as the outcome, or on the right-hand side."""

from toolkit.analysis.regression.linear import linear
from toolkit.analysis.regression.logistic import logistic
from toolkit.analysis.regression.multinomial import multinomial
from toolkit.analysis.regression.predictor import predictor
from toolkit.analysis.regression.tables import compare_models

__all__ = ["compare_models", "linear", "logistic", "multinomial", "predictor"]
