"""Covariates that would be misread: rejected by name, with a remedy."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.analysis.reference_survey import DIE, survey
from tests.slowly import each
from toolkit.analysis import Sample, estimates, logistic, multinomial, predictor
from toolkit.analysis.regression.covariates import covariates_from_formula, variables

DATA = survey()[:400]
Y = np.where(DATA.forced == 1, "yes", "no")
STEPS = (np.arange(400) % 3).tolist()
KINDS: dict[str, tuple[list[Any], str, str]] = {
    "numbers as text": ([f"{step}.5" for step in STEPS], "numbers stored as text", "astype\\(float\\)"),
    "decimals": ([Decimal(step) for step in STEPS], "numbers stored as text", "C\\(g\\)"),
    "dates": ([date(2026, 1, 1 + step) for step in STEPS], "dates or times", "\\(date - first\\).days"),
    "times": ([timedelta(days=step) for step in STEPS], "dates or times", "C\\(g\\)"),
    "lists": ([[step] for step in STEPS], "lists", "make one column for each element"),
}


@pytest.mark.slow
@each(kind=KINDS, frame=[pd.DataFrame, pl.DataFrame, pa.table])
def test_what_is_no_covariate_is_refused_by_its_name_and_the_remedy(kind: str, frame: Any) -> None:
    cells, received, remedy = KINDS[kind]
    data = frame({"y": Y.tolist(), "g": cells})
    with pytest.raises(TypeError, match=f"the column 'g' must hold .*got {received}: .*{remedy}"):
        logistic("y ~ g", data, DIE)
    with pytest.raises(TypeError, match="the column 'g' must hold"):
        predictor("z ~ y + g", frame({"y": Y.tolist(), "g": cells, "z": np.arange(400.0)}), {"y": DIE})


def test_dates_of_pandas_are_dates_and_categories_may_be_anything() -> None:
    days = pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"]).to_numpy()[STEPS]
    frame = pd.DataFrame({"y": Y, "g": days, "n": [str(step) for step in STEPS]})
    with pytest.raises(TypeError, match="the column 'g' must hold numbers or categories, got dates or times"):
        logistic("y ~ g", frame, DIE, penalty="jeffreys")
    by_text = logistic("y ~ C(n)", frame, DIE, penalty="jeffreys")
    assert by_text.labels == ("Intercept", "C(n)[T.1]", "C(n)[T.2]")
    declared = logistic("y ~ n", frame.assign(n=frame.n.astype("category")), DIE, penalty="jeffreys")
    assert declared.value == pytest.approx(by_text.value)
    ordered = frame.assign(n=pd.Categorical(frame.n, categories=["2", "0", "1"]))
    margins = logistic("y ~ n", ordered, DIE, penalty="jeffreys").margins("n")
    assert margins.labels == ("n: 0 − 2", "n: 1 − 2")
    truths = pd.DataFrame({"g": np.array([True, False, True], dtype=object)})
    assert covariates_from_formula("g", truths).labels == ("Intercept", "g[T.True]")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_categories_that_nobody_has_are_refused_by_name(kind: str) -> None:
    labels = np.array(["b", "c"])[np.arange(400) % 2]
    if kind == "pandas":
        frame: Any = pd.DataFrame({"y": Y, "g": pd.Categorical(labels, categories=["a", "b", "c"])})
    else:
        frame = pl.DataFrame({"y": Y, "g": pl.Series(labels, dtype=pl.Enum(["a", "b", "c"]))})
    with pytest.raises(ValueError, match=r"every category of 'g' must occur, got 1 .*remove_unused"):
        logistic("y ~ g", frame, DIE)


@pytest.mark.slow
def test_the_reference_level_of_polars_ignores_the_order_of_rows() -> None:
    rng = np.random.default_rng(3)
    labels = rng.choice(["b", "c", "a"], 400)
    frame = pl.DataFrame({"y": Y, "g": pl.Series(labels, dtype=pl.Categorical)})
    fits = [logistic("y ~ g", one, DIE, penalty="jeffreys") for one in (frame, frame[::-1], frame.sort("y"))]
    for fit in fits:
        assert fit.labels == ("Intercept", "g[T.b]", "g[T.c]")
        assert fit.value == pytest.approx(fits[0].value, abs=1e-6)
        assert fit.margins("g").labels == ("g: b − a", "g: c − a")
        predicted = fit.predict(pl.DataFrame({"g": pl.Series(["c", "a"], dtype=pl.Categorical)}))
        assert predicted.value == pytest.approx(fits[0].predict(pl.DataFrame({"g": ["c", "a"]})).value)


@pytest.mark.parametrize("size", [1e308, 1e-308])
def test_weights_that_overflow_are_refused_with_the_remedy(size: float) -> None:
    """They gave an estimate of 0 with the standard error 0, and fits that "still rise"."""
    weights = np.full(400, size)
    frame = pd.DataFrame({"y": Y, "x": DATA.age10.to_numpy()})
    for call in (
        lambda: Sample(weights=weights),
        lambda: logistic("y ~ x", frame, DIE, weights=weights),
        lambda: multinomial("y ~ x", frame, DIE, weights=weights),
        lambda: predictor("x ~ y", frame, {"y": DIE}, weights=weights),
    ):
        with pytest.raises(ValueError, match=r"weights must lie between 1e-60 and 1e\+60, .*divide all"):
            call()


def test_weights_count_by_their_proportions_up_to_the_limits() -> None:
    frame = pd.DataFrame({"y": Y, "x": DATA.age10.to_numpy()})
    weights = np.random.default_rng(2).uniform(1, 2, 400)
    one, *others = (
        estimates(frame, {"y": DIE}, sample=Sample(weights=weights * size))["y"] for size in (1, 4e59, 1e-60)
    )
    fits = [logistic("y ~ x", frame, DIE, weights=weights * size) for size in (1, 1e9)]
    for other in others:
        assert (other.value, other.se) == pytest.approx((one.value, one.se), rel=1e-9)
    assert fits[0].se == pytest.approx(fits[1].se, rel=1e-5)


def test_a_formula_speaks_of_columns_and_of_numpy() -> None:
    data = {"x": [1.0, 2.0], "a b": [0, 1]}
    assert variables("np.log(x) + `a b`", data) == ("a b", "x")
    for wrong in ("x + z", "math.log(x)"):
        with pytest.raises(ValueError, match="covariates must be columns of the data"):
            variables(wrong, data)


def test_a_name_that_comes_twice_is_refused_wherever_it_stands() -> None:
    data = pd.DataFrame({"g": list("abab"), "x": [1.0, 2, 4, 8], "g[T.b]": [3.0, 1, 4, 1]})
    with pytest.raises(ValueError, match=r"coefficients must be unique, got 'g\[T\.b\]' twice"):
        covariates_from_formula("x + g + `g[T.b]`", data)


def test_numbers_are_held_once_and_apart_from_the_frame() -> None:
    """Of pandas the columns that a fit keeps share memory with its matrix, never with the frame it was given."""
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0, 7.0], "k": [1, 2, 3, 1], "g": list("abab")}, index=[7, 7, 9, 9])
    covariates = covariates_from_formula("x + k + g", frame)
    assert np.shares_memory(covariates.data["x"].to_numpy(), covariates.matrix)
    frame.loc[:, "x"] = 0.0
    frame.loc[:, "k"] = 0
    assert covariates.data["x"].tolist() == covariates.values("x").tolist() == [1.0, 2.0, 4.0, 7.0]
    assert (covariates.data["k"].tolist(), covariates.data["k"].dtype.kind) == ([1, 2, 3, 1], "i")
    assert covariates.data["g"].tolist() == list("abab")
    assert covariates.matrix_of(covariates.data) == pytest.approx(covariates.matrix)
