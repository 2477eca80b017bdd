"""Rows that are not loaded: a fit to an engine's counts equals the fit to the rows."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from tests.analysis.reference_survey import COINS, DIE, survey
from tests.slowly import each
from toolkit.analysis import Sample, logistic, multinomial, predictor
from toolkit.frames import table

DATA = survey().assign(sex=lambda one: np.where(one.female == 1, "f", "m"), band=lambda one: one.age // 20)
DATA["gap"] = DATA.forced.where(DATA.index % 9 > 0).astype("Int64")
DATA["pay"] = (DATA.outcome > 2.5).astype(int)
NEEDED = ["forced", "die_or_coins", "gap", "likert", "sex", "band", "group", "weight", "stratum", "psu", "pay"]
AWAY = {
    "lazy polars": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame, preserve_index=False)),
}
MODELS = {
    "categories": lambda data: logistic("forced ~ sex + C(band)", data, DIE),
    "robust": lambda data: logistic("forced ~ sex", data, DIE, se="robust"),
    "opg": lambda data: logistic("forced ~ sex", data, DIE, se="opg"),
    "jeffreys": lambda data: logistic("forced ~ sex + C(band)", data, DIE, penalty="jeffreys"),
    "two designs": lambda data: logistic(
        "die_or_coins ~ sex", data, {1: DIE, 2: COINS}, design_by="group", link="probit"
    ),
    "a sample": lambda data: logistic("forced ~ sex", data, DIE, weights="weight", strata="stratum", clusters="psu"),
    "gaps": lambda data: logistic("gap ~ sex", data, DIE, missing="drop"),
    "predictor": lambda data: predictor("pay ~ forced + sex", data, {"forced": DIE}, family="logistic"),
    "multinomial": lambda data: multinomial("forced ~ sex", data, DIE),
}


@pytest.mark.slow
@each(engine=AWAY, model=MODELS)
def test_counts_that_an_engine_made_give_the_fit_of_the_rows(engine: str, model: str) -> None:
    here, there = MODELS[model](DATA), MODELS[model](AWAY[engine](DATA[NEEDED]))
    assert here.labels == there.labels
    assert np.allclose(here.value, there.value, atol=1e-9)
    assert np.allclose(here.se, there.se, rtol=1e-8)
    assert (here.n, here.rows, here.notes) == (there.n, there.rows, there.notes)
    assert there.llf == pytest.approx(here.llf, abs=1e-6)


@pytest.mark.slow
def test_margins_of_counts_are_those_of_the_rows() -> None:
    here, there = (MODELS["categories"](data) for data in (DATA, AWAY["duckdb"](DATA[NEEDED])))
    for how in ("fixed", "sample"):
        one, other = here.margins("sex", respondents=how), there.margins("sex", respondents=how)
        assert np.allclose(one.value, other.value, atol=1e-9)
        assert np.allclose(one.se, other.se, rtol=1e-8)


@pytest.mark.slow
def test_a_column_of_times_is_summed() -> None:
    counted = DATA.groupby(["forced", "sex", "group"]).size().rename("people").reset_index()
    here, there = (logistic("forced ~ sex", data, DIE, times="people") for data in (counted, AWAY["duckdb"](counted)))
    assert np.allclose(here.value, logistic("forced ~ sex", DATA, DIE).value, atol=1e-9)
    assert np.allclose(here.value, there.value, atol=1e-9)
    assert (here.n, there.n, there.rows["used"]) == (2400, 2400, 2400)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": DATA.weight}, "`weights` must be the name of a column, got Series"),
        ({"sample": Sample(DATA.weight)}, "must hold its rows in order"),
        ({"sample": Sample("weight", population="weight")}, "must hold its rows in order"),
        ({"sample": Sample("weight", lonely="centre")}, "must hold its rows in order"),
        ({"sample": Sample("weight").raked({"sex": {"f": 1, "m": 1}})}, "must hold its rows in order"),
        ({"sample": Sample("weight", clusters=DATA.psu)}, "must hold its rows in order"),
        ({"sample": Sample()}, "must hold its rows in order"),
        ({"clusters": "village"}, "none called village"),
        ({"formula": "forced ~ village"}, "got 'village'"),
        ({"formula": "village ~ sex"}, "none called village"),
    ],
)
def test_what_needs_rows_in_order_or_is_not_there_is_refused(options: dict, words: str) -> None:
    given = {"formula": "forced ~ sex", **options}
    with pytest.raises((ValueError, TypeError), match=words):
        logistic(given.pop("formula"), AWAY["duckdb"](DATA[NEEDED]), DIE, **given)


def test_as_many_different_rows_as_people_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_MAX_DISTINCT_ROWS", 50)
    with pytest.raises(ValueError, match="at most 50 distinct rows, got more: group covariates into bands"):
        logistic("forced ~ weight", AWAY["duckdb"](DATA[NEEDED]), DIE)
