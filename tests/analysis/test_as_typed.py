"""Five typical analyses, from a CSV of interviews, as somebody types them who is new here: ten lines at most.

Each function is what was typed; what it returns is looked at below.
"""

import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.analysis.reference_survey import survey
from toolkit import forced, warner
from toolkit.analysis import Sample, association, estimates, logistic, predictor


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words for yes and no, 9 for no answer, an empty cell: as interviewers write them."""
    data = survey()
    words = np.where(data.forced == 1, "Yes", "no").astype(object)
    words[::97], words[1::301] = "9", ""
    frame = pd.DataFrame(
        {
            "report": words,
            "paid": data.warner,
            "sex": np.where(data.female == 1, "f", "m"),
            "age": data.age,
            "grade": data.outcome,
            "mode": np.where(data.group == 1, "phone", "web"),
            "sent": data.die_or_coins,
            "weight": data.weight,
            "stratum": data.stratum,
            "psu": data.psu,
        }
    )
    found = tmp_path_factory.mktemp("typed") / "phone.csv"
    frame.to_csv(found, index=False)
    return found


def overall_and_by_group(path: Path):
    df = pd.read_csv(path)
    df["agegroup"] = pd.cut(df.age, [17, 39, 59, 99])
    die = forced("1/6", "1/6")
    found = estimates(df, {"report": die}, by=["sex", "agegroup"], missing=(9,))
    found.to_csv(path.with_suffix(".table.csv"))
    found.to_latex(path.with_suffix(".tex"))
    return found.to_frame(), found.missing


def difference_and_test(path: Path):
    df = pd.read_csv(path)
    found = estimates(df, {"report": forced("1/6", "1/6")}, by="sex", missing=9)
    by = found["report"]
    gap = by["f"] - by["m"]
    table = found.differences("m", adjust="holm")
    return gap.interval(), gap.test(0), by["f"].test(0.25, sides=1), table


def complex_sample(path: Path):
    df = pd.read_csv(path)
    die = forced("1/6", "1/6")
    sample = Sample(weights=df.weight, strata=df.stratum, clusters=df.psu)
    raked = sample.raked({"sex": {"m": 2200, "f": 2300}}, df)
    plain = estimates(df, {"report": die}, by="sex", sample=sample, missing=(9,))
    return plain.differences("m"), estimates(df, {"report": die}, sample=raked, missing=(9,))


def regression_with_two_devices(path: Path):
    df = pd.read_csv(path)
    designs = {"phone": forced("1/6", "1/6"), "web": warner("3/4")}
    sample = Sample(weights=df.weight, strata=df.stratum, clusters=df.psu)
    fit = logistic("sent ~ sex + age", df, designs, design_by="mode", sample=sample)
    smaller = logistic("sent ~ age", df, designs, design_by="mode", sample=sample)
    new = pd.DataFrame({"sex": ["f", "m"], "age": [30, 30]})
    return fit.to_frame(exp=True), fit.margins("sex"), fit.predict(new), fit.compare(smaller), fit.rows


def hidden_with_hidden_and_as_predictor(path: Path):
    df = pd.read_csv(path)
    die, coins = forced("1/6", "1/6"), warner("3/4")
    pair = association(df, {"report": die, "paid": coins}, missing=(9,))
    fit = predictor("grade ~ report + sex + age", df, designs={"report": die}, missing=(9,))
    return pair.table, fit


TYPED = (
    overall_and_by_group,
    difference_and_test,
    complex_sample,
    regression_with_two_devices,
    hidden_with_hidden_and_as_predictor,
)


@pytest.mark.parametrize("analysis", TYPED)
def test_ten_lines_are_enough(analysis) -> None:
    assert len(inspect.getsource(analysis).splitlines()) - 1 <= 10


def test_groups_add_up_and_are_written_for_a_paper(path: Path) -> None:
    table, missing = overall_and_by_group(path)
    assert len(table) == 6
    assert missing["rows"].sum() == 2400
    assert missing["missing report"].sum() == 25 + 8
    assert "Yes" not in path.with_suffix(".tex").read_text()
    assert path.with_suffix(".table.csv").read_text().startswith("question,sex,agegroup,answer,n,missing")


def test_the_difference_of_women_and_men_is_told_with_its_test(path: Path) -> None:
    interval, tested, one_sided, table = difference_and_test(path)
    assert interval.method == "mover"
    assert interval.low < 0.068 < interval.high
    assert (tested.p < 0.05) == (interval.low > 0)
    assert table.p.item() == tested.p
    assert one_sided.p < 0.001


def test_a_complex_sample_has_its_degrees_of_freedom(path: Path) -> None:
    gaps, raked = complex_sample(path)
    assert gaps.interval.item() == "t"
    assert "known totals" in raked["report"].covers
    assert raked["report"].n == 2400 - 33


def test_two_devices_are_one_model(path: Path) -> None:
    ratios, margin, shares, tested, rows = regression_with_two_devices(path)
    assert list(ratios.index) == ["Intercept", "sex[T.m]", "age"]
    assert margin.value < 0 < ratios.loc["sex[T.m]", "odds ratio"] < 1
    assert shares.value[0] > shares.value[1]
    assert 0 < tested.p < 1
    assert rows["used"] == 2400


@pytest.mark.slow
def test_two_hidden_answers_and_one_on_the_right_hand_side(path: Path) -> None:
    table, fit = hidden_with_hidden_and_as_predictor(path)
    assert table.n == fit.n == 2400 - 33
    assert fit["report"].value == pytest.approx(0.88, abs=0.1)
    assert fit.rows["report"] == 33
