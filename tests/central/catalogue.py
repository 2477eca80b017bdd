"""The mechanisms that every check is applied to, and the numbers that no parameter may be."""

from toolkit.central import Gaussian, Laplace

MECHANISMS = [
    Laplace.for_epsilon(0.5),
    Laplace.for_epsilon(2, sensitivity="1/1000"),
    Laplace.for_epsilon(1, sensitivity=3, norm="l2"),
    Gaussian.for_loss(1, 1e-6),
    Gaussian.for_loss(0.5, 1e-5, sensitivity=0.01),
    Gaussian.for_rho("1/10", sensitivity=2),
]
BAD_NUMBERS = [0, -1, float("nan"), float("inf"), True, "abc", None, 1e301]
