import numpy as np

from toolkit.core.arrays import Array, Codes, Counts, Labels, Mask, Steps


def test_types_of_arrays_say_what_numpy_calls_them():
    """Only names: a signature that says `Counts` means what numpy calls int64, and nothing is converted."""
    kinds = {kind: kind.__args__[1].__args__[0] for kind in (Array, Counts, Codes, Mask, Steps)}
    assert kinds == {Array: np.float64, Counts: np.int64, Codes: np.integer, Mask: np.bool_, Steps: np.int64}
    assert Labels == tuple[str | int, ...]
