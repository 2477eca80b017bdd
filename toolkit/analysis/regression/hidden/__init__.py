"""The randomized answer on the right-hand side: an outcome that depends on truths which nobody has seen."""

from toolkit.analysis.regression.hidden.predictor import predictor

__all__ = ["predictor"]
