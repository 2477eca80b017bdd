"""The mechanisms that add noise: `Laplace` and `Gaussian`, for integers, reals and vectors."""

from toolkit.central.gaussian import Gaussian as Gaussian
from toolkit.central.laplace import Laplace as Laplace
