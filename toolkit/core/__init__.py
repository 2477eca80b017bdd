"""Foundations for surveys and releases: privacy losses, composition, estimates, intervals and exact noise."""

from toolkit.core.composition import compose, parallel
from toolkit.core.estimate import Estimate
from toolkit.core.extras import MissingExtraError
from toolkit.core.inference.fit import DesignFit
from toolkit.core.inference.intervals import Interval
from toolkit.core.inference.significance import Significance
from toolkit.core.loss import Approx, Loss, Pure, WeakPromiseWarning, Zcdp, subsampled

__all__ = [
    "Approx",
    "DesignFit",
    "Estimate",
    "Interval",
    "Loss",
    "MissingExtraError",
    "Pure",
    "Significance",
    "WeakPromiseWarning",
    "Zcdp",
    "compose",
    "parallel",
    "subsampled",
]
