"""Types of arrays by what they hold, and of labels: named once, so that signatures can be read."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
"""Numbers with an error: estimates, probabilities, scores."""
Counts: TypeAlias = npt.NDArray[np.int64]
"""How many people, reports or ticks."""
Steps: TypeAlias = npt.NDArray[np.int64]
"""Numbers as whole steps on a public grid."""
Codes: TypeAlias = npt.NDArray[np.integer]
"""Options by their number, 0 … k-1."""
Mask: TypeAlias = npt.NDArray[np.bool_]
"""Truth values: who is meant, what is ticked, which bits are set."""
Labels: TypeAlias = tuple[str | int, ...]
"""Options by their names, in order."""
