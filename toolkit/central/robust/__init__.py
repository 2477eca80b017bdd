"""When the worst case is too much noise: local, smooth and inverse sensitivity, and robust estimators."""

from toolkit.central.robust.smooth import local_sensitivity, reaches, smooth_sensitivity

__all__ = [
    "local_sensitivity",
    "reaches",
    "smooth_sensitivity",
]
