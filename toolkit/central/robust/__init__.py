"""Robust statistics with local, smooth and inverse sensitivity, which need less noise than the worst case."""

from toolkit.central.robust.estimators import Huber, Logistic, Mean, Median, MEstimator, Tukey
from toolkit.central.robust.influence import (
    Influence,
    RegressionInfluence,
    fixed_scale_influence,
    gross_error_sensitivity,
    influence,
    location,
    regression,
)
from toolkit.central.robust.inverse import InverseSensitivity, Quantile
from toolkit.central.robust.proposing import ProposeTestRelease
from toolkit.central.robust.ranks import RankStatistic
from toolkit.central.robust.releases import SmoothSensitivity
from toolkit.central.robust.smooth import local_sensitivity, smooth_sensitivity

__all__ = [
    "Huber",
    "Influence",
    "InverseSensitivity",
    "Logistic",
    "MEstimator",
    "Mean",
    "Median",
    "ProposeTestRelease",
    "Quantile",
    "RankStatistic",
    "RegressionInfluence",
    "SmoothSensitivity",
    "Tukey",
    "fixed_scale_influence",
    "gross_error_sensitivity",
    "influence",
    "local_sensitivity",
    "location",
    "regression",
    "smooth_sensitivity",
]
