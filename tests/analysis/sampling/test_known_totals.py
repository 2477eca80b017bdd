"""Weights that add up to known totals; reference numbers by svy 0.35 on rr_synthetic.csv."""

import numpy as np
import pandas as pd
import pytest

from tests.analysis.reference_survey import DIE, survey
from toolkit.analysis import Sample
from toolkit.analysis.sampling.inputs import calibration, margin

DATA = survey()
SCORES, FEMALE = DIE.scores(DATA.forced), DATA.female == 1
CELLS = pd.Series(np.where(FEMALE, "f", "m")) + np.where(DATA.age < 50, "<", "≥")
TOTALS = {"m≥": 1200, "m<": 1000, "f≥": 1100, "f<": 1200}
NESTED = Sample(weights=DATA.weight, strata=DATA.stratum, clusters=DATA.psu)
COLUMNS = {"sex": np.where(FEMALE, "f", "m"), "age": np.where(DATA.age < 50, "<", "≥")}
MARGINS = {"sex": {"m": 2200, "f": 2300}, "age": {"<": 2250, "≥": 2250}}


@pytest.mark.parametrize(
    ("sample", "se"),
    [
        (NESTED, 0.015419949),
        (Sample(weights=DATA.weight, clusters=DATA.c60), 0.015063903),
        (Sample(weights=DATA.weight), 0.015397363),
    ],
    ids=["nested", "crossed", "alike"],
)
def test_poststratified_means_and_errors(sample: Sample, se: float) -> None:
    found = sample.poststratified(CELLS, TOTALS).mean(SCORES)
    assert (found.value, found.se) == pytest.approx((0.301841631, se), abs=5e-10)
    assert "known totals" in found.covers


def test_the_unit_of_the_weights_before_is_of_no_account() -> None:
    """Also where those of a class add up to less than one."""
    small = Sample(weights=DATA.weight / 10**4)
    assert small.poststratified(CELLS, TOTALS).mean(SCORES).value == pytest.approx(0.301841631, abs=5e-10)
    assert small.raked(MARGINS, COLUMNS).mean(SCORES).value == pytest.approx(0.301978583, abs=5e-10)


def test_domains_after_poststratification() -> None:
    fitted = NESTED.poststratified(CELLS, TOTALS)
    for where, value, se in ((FEMALE, 0.340481084, 0.018809480), (~FEMALE, 0.261445840, 0.023352359)):
        found = fitted.mean(SCORES, where)
        assert (found.value, found.se) == pytest.approx((value, se), abs=5e-10)


def test_raked_means_and_errors() -> None:
    """svy weighs residuals otherwise, and has .015213313: the same to 1e-3."""
    raked = NESTED.raked(MARGINS, COLUMNS)
    found = raked.mean(SCORES)
    assert (found.value, found.se) == pytest.approx((0.301978583, 0.015206570), abs=5e-10)
    assert found.se == pytest.approx(0.015213313, rel=1e-3)
    weights = raked.final_weights()
    assert weights[FEMALE].sum() == pytest.approx(2300)
    assert weights[DATA.age < 50].sum() == pytest.approx(2250)
    assert NESTED.raked(MARGINS, pd.DataFrame(COLUMNS)).mean(SCORES).se == found.se


def test_the_total_of_everybody_has_no_error_where_it_is_known() -> None:
    fitted = NESTED.poststratified(CELLS, TOTALS)
    everybody = fitted.total(np.ones(len(DATA)))
    assert everybody.value == pytest.approx(4500)
    assert everybody.se == pytest.approx(0, abs=1e-9)


BAD = {
    "an unnamed class": ({"sex": {"m": 5}}, "1 without a total, 0 that nobody"),
    "a class of nobody": ({"sex": {"m": 5, "f": 5, "x": 5}}, "0 without a total, 1 that nobody"),
    "a total of zero": ({"sex": {"m": 5, "f": 0}}, "must be above 0"),
    "unequal sums": ({"sex": {"m": 5, "f": 5}, "age": {"<": 5, "≥": 6}}, "the same total, got 10 to 11"),
    "no such column": ({"income": {"a": 1}}, "none called 'income'"),
    "no margin": ({}, "totals by column"),
    "a list": ({"sex": [5, 5]}, "must be given by class"),
}


@pytest.mark.parametrize("name", BAD)
def test_totals_that_fit_nobody_are_refused(name: str) -> None:
    margins, words = BAD[name]
    with pytest.raises((ValueError, TypeError), match=words):
        calibration(margins, COLUMNS, 2400)


def test_margins_that_contradict_each_other_are_refused() -> None:
    apart = {"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]}
    with pytest.raises(ValueError, match="no such weights in 1000 steps"):
        Sample(weights=[1, 1, 1, 1]).raked({"a": {"x": 2, "y": 2}, "b": {"u": 1, "v": 3}}, apart).mean([1, 0, 1, 0])
    one_fits = {"a": [*apart["a"], "z"], "b": [*apart["b"], "z"]}
    margins = {"a": {"x": 2, "y": 2, "z": 1}, "b": {"u": 1, "v": 3, "z": 1}}
    with pytest.raises(ValueError, match="no such weights in 1000 steps"):
        Sample(weights=np.ones(5)).raked(margins, one_fits).final_weights()
    alone = Sample(clusters=[1, 1, 2, 2]).poststratified(apart["a"], {"x": 2, "y": 2}).jackknife()
    with pytest.raises(ValueError, match="classes have nobody in common"):
        alone.mean([1, 0, 1, 0])  # without one of the clusters nobody is left of a class
    with pytest.raises(ValueError, match="must have 3 rows"):
        margin(["x", "y"], {"x": 1, "y": 1}, "a", 3)
