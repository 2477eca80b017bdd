import numpy as np
import pytest

from toolkit.central.stream import SquareRoot, Tree
from toolkit.central.stream.factorization import Factorization


@pytest.mark.parametrize("factorization", [Tree(9), Tree(9, 2, 4), SquareRoot(9)], ids=repr)
def test_without_noise_the_decoder_returns_the_running_totals(factorization: Factorization) -> None:
    """The product of the two factors is the matrix of totals."""
    counts, decoder = [3, 0, 5, 1, 4, 1, 5, 9, 2], factorization._decoder()
    totals = [decoder.decode(factorization.encode(counts[: period + 1])) for period in range(len(counts))]
    assert [float(total) for total in totals] == pytest.approx(np.cumsum(counts).tolist(), abs=1e-6)
