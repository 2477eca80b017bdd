"""Mechanisms of a trusted curator, with exact noise distributions, sensitivities, and statistics in integers."""

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.release import Preview
from toolkit.central.selection import Exponential, NoisyMax, PermuteAndFlip
from toolkit.central.sensitivity import Sensitivity, WorstCase, worst_case
from toolkit.central.sparse import AboveThreshold

__all__ = [
    "AboveThreshold",
    "Exponential",
    "Gaussian",
    "Laplace",
    "NoisyMax",
    "PermuteAndFlip",
    "Preview",
    "Sensitivity",
    "WorstCase",
    "worst_case",
]
