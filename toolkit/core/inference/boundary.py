"""What is said of an unbiased estimate of a share that lies outside 0 to 1."""

import math

import numpy as np

from toolkit.core.arrays import Array


def boundary_note(value: float | Array, inside: str | None = "mle") -> tuple[str, ...]:
    """Say so when an unbiased estimate of a share lies outside 0 to 1, as it honestly may.

    `inside` : the method that stays within, where one can be asked for.
    """
    outside = int(np.count_nonzero((np.asarray(value) < 0) | (np.asarray(value) > 1)))
    if not outside or math.isnan(float(np.sum(value))):
        return ()
    which = "the estimate lies" if np.ndim(value) == 0 else f"{outside} of {np.size(value)} estimates lie"
    instead = f", and method='{inside}' for display" if inside else ""
    return (f"{which} outside 0 to 1, as an unbiased estimate may; use it in averages{instead}",)
