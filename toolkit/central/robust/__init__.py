"""When the worst case is too much noise: local, smooth and inverse sensitivity, and robust estimators."""

from toolkit.central.robust.estimators import Huber, Logistic, Mean, Median, Tukey
from toolkit.central.robust.inverse import InverseSensitivity, Quantile
from toolkit.central.robust.ranks import RankStatistic
from toolkit.central.robust.releases import SmoothSensitivity
from toolkit.central.robust.smooth import local_sensitivity, reaches, smooth_sensitivity

__all__ = [
    "Huber",
    "InverseSensitivity",
    "Logistic",
    "Mean",
    "Median",
    "Quantile",
    "RankStatistic",
    "SmoothSensitivity",
    "Tukey",
    "local_sensitivity",
    "reaches",
    "smooth_sensitivity",
]
