import numpy as np
import pandas as pd
import polars as pl
import pytest

from toolkit.analysis.sampling.columns import codes, mask, positive_weights, table


def test_values_are_numbered_in_their_order() -> None:
    assert codes(["b", "a", "b"], "x")[1] == ("a", "b")
    assert codes([3, 1, 2], "x")[0].tolist() == [2, 0, 1]
    assert codes([2, "a", 1], "x")[1] == (1, 2, "a")
    assert codes(pd.Series(["x", "y"], dtype="category"), "x")[0].tolist() == [0, 1]
    assert codes(pl.Series(["x", "y"]), "x")[1] == ("x", "y")
    bands = pd.cut(pd.Series([20, 50]), [17, 39, 59])
    assert codes(bands, "x")[0].tolist() == [0, 1]


def test_truth_values_may_be_objects() -> None:
    assert mask(np.array([True, False], dtype=object), 2).tolist() == [True, False]
    with pytest.raises(ValueError, match="a truth value for each of 2 rows"):
        mask([True, None], 2)


def test_weights_may_be_whole_numbers_or_decimals() -> None:
    assert positive_weights([1, 2]).dtype == np.float64
    with pytest.raises(ValueError, match="got 1 of 2"):
        positive_weights([1.0, np.nan])


def test_a_frame_of_scores_is_a_table() -> None:
    assert table(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), 2)[0].shape == (2, 2)
    assert table([True, False], None)[1]
    with pytest.raises(TypeError, match="one row a person"):
        table(np.zeros((2, 2, 2)), None)
