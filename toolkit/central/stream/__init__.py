"""Running totals that are published every period at a single privacy loss, with the smallest possible error."""

from toolkit.central.stream.comparison import Error, compare, crossing, error
from toolkit.central.stream.factorization import Factorization
from toolkit.central.stream.roots import SquareRoot
from toolkit.central.stream.total import RunningTotal
from toolkit.central.stream.trees import Tree
from toolkit.frames.persons import Visits

__all__ = ["Error", "Factorization", "RunningTotal", "SquareRoot", "Tree", "Visits", "compare", "crossing", "error"]
