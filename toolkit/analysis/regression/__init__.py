"""Regression through randomized answers: the answer as the outcome, or on the right-hand side."""

from toolkit.analysis.regression.logistic import logistic

__all__ = ["logistic"]
