"""Inference from reports under a model: intervals, tests, posteriors, and goodness of fit."""
