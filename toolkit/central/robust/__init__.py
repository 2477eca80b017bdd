"""When the worst case is too much noise: local, smooth and inverse sensitivity, and robust estimators."""

from toolkit.central.robust.estimators import Huber, Logistic, Mean, Median, Tukey
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
from toolkit.central.robust.releases import ScaleBound, SmoothSensitivity, Summary
from toolkit.central.robust.smooth import local_sensitivity, reaches, smooth_sensitivity

__all__ = [
    "Huber",
    "Influence",
    "InverseSensitivity",
    "Logistic",
    "Mean",
    "Median",
    "ProposeTestRelease",
    "Quantile",
    "RankStatistic",
    "RegressionInfluence",
    "ScaleBound",
    "SmoothSensitivity",
    "Summary",
    "Tukey",
    "fixed_scale_influence",
    "gross_error_sensitivity",
    "influence",
    "local_sensitivity",
    "location",
    "reaches",
    "regression",
    "smooth_sensitivity",
]
