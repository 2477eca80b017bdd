import numpy as np
import pandas as pd
import polars as pl
import pytest

from toolkit import forced
from toolkit.analysis import Sample, association, estimates, logistic, predictor
from toolkit.analysis.sampling.inputs import codes, from_frame, mask, positive_weights, table


def test_values_are_numbered_in_their_order() -> None:
    assert codes(["b", "a", "b"], "x")[1] == ("a", "b")
    assert codes([3, 1, 2], "x")[0].tolist() == [2, 0, 1]
    assert codes([10, "b", 9, "a", 2.5], "x")[1] == (2.5, 9, 10, "a", "b")
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
    assert positive_weights([1e-60, 1e60]).tolist() == [1e-60, 1e60]
    for beyond in (np.nextafter(1e-60, 0), np.nextafter(1e60, np.inf)):
        with pytest.raises(ValueError, match=r"must lie between 1e-60 and 1e\+60, got 1 of 2 that do not"):
            positive_weights([1.0, beyond])


def test_names_are_looked_up_where_rows_have_an_order() -> None:
    frame = pl.DataFrame({"w": [2.0, 1.0]})
    assert from_frame(frame, "w", "weights").tolist() == [2, 1]
    with pytest.raises(TypeError, match="must hold its rows in order, got LazyFrame"):
        from_frame(frame.lazy(), "w", "weights")


def test_a_frame_of_scores_is_a_table() -> None:
    assert table(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), 2)[0].shape == (2, 2)
    assert table([True, False], None)[1]
    with pytest.raises(TypeError, match="one row per person"):
        table(np.zeros((2, 2, 2)), None)


def _people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    reports = np.where(rng.random(60) < 0.4, "yes", "no")
    columns = {"a": reports, "b": reports[::-1], "x": rng.random(60), "w": rng.uniform(1, 2, 60)}
    return pd.DataFrame(columns).assign(s=np.repeat([1, 2], 30), c=np.arange(60) % 20)


def test_a_sample_is_of_the_frame_that_its_columns_come_from() -> None:
    """A sorted frame has the same people in other rows, so weights would go to the wrong people."""
    data = _people()
    moved, die = data.sort_values("x"), forced("1/6", "1/6")
    sample = Sample(weights=data.w, strata=data.s, clusters=data.c)
    verbs = (
        lambda frame: estimates(frame, {"a": die}, sample=sample),
        lambda frame: association(frame, {"a": die, "b": die}, sample=sample),
        lambda frame: logistic("a ~ x", frame, die, sample=sample, penalty="jeffreys"),
        lambda frame: predictor("x ~ a", frame, {"a": die}, sample=sample),
        lambda frame: sample.mean(pd.Series(die.scores(frame.a), index=frame.index)),
        lambda frame: sample.mean(die.scores(data.a), frame.x > 0.5),
        lambda frame: sample.poststratified(frame.s, {1: 100, 2: 200}),
        lambda frame: sample.raked({"s": {1: 100, 2: 200}}, frame),
    )
    for verb in verbs:
        verb(data)
        with pytest.raises(ValueError, match="must have the index of the sample's columns, got another"):
            verb(moved)
    own = Sample(weights=moved.w, strata=moved.s, clusters=moved.c)
    kept = [estimates(frame, {"a": die}, sample=one)["a"] for frame, one in ((data, sample), (moved, own))]
    assert (kept[0].value, kept[0].se) == pytest.approx((kept[1].value, kept[1].se))


def test_columns_of_a_sample_have_one_index() -> None:
    data = _people()
    with pytest.raises(ValueError, match="the columns of a sample must have one index, got several"):
        Sample(weights=data.w, clusters=data.c.sort_values())
    fitted = Sample(weights=data.w).poststratified(data.s, {1: 100, 2: 200})
    with pytest.raises(ValueError, match="index"):
        estimates(data.iloc[::-1], {"a": forced("1/6", "1/6")}, sample=fitted)


def test_what_has_no_index_is_matched_by_place() -> None:
    data, die = _people(), forced("1/6", "1/6")
    moved = data.iloc[::-1]
    by_place = Sample(weights=moved.w.to_numpy())
    of_polars = Sample(weights=pl.from_pandas(moved).get_column("w"))
    right = estimates(moved, {"a": die}, sample=Sample(weights=moved.w))["a"].value
    for sample in (by_place, of_polars):
        assert estimates(moved, {"a": die}, sample=sample)["a"].value == pytest.approx(right)
    found = estimates(pl.from_pandas(moved), {"a": die}, sample=Sample(weights=moved.w))
    assert found["a"].value == pytest.approx(right)
