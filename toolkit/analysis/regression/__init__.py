"""Regression through randomized answers: the answer as the outcome, or on the right-hand side."""
