"""Regression with randomized answers, as the outcome or on the right-hand side."""
