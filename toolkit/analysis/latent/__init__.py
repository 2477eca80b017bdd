"""Latent classes with covariates: a formula in, a fit out; each class answers by its own rule."""

from toolkit.analysis.latent.lists import ListFit, list_experiment
from toolkit.analysis.latent.model import LatentFit
from toolkit.analysis.latent.two_groups import cheater_detection, extended_crosswise, lie_detector, unknown_question

__all__ = [
    "LatentFit",
    "ListFit",
    "cheater_detection",
    "extended_crosswise",
    "lie_detector",
    "list_experiment",
    "unknown_question",
]
