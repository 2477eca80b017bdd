"""From a frame to findings, and what cannot be read is refused; that every engine gives the same is in test_engines."""

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.analysis.reference_survey import CROSSWISE, DIE, LIKERT, UNRELATED, WARNER, survey
from tests.slowly import each
from toolkit import Design, Question, Survey, crosswise, k_ary
from toolkit.analysis import Sample, estimates, logistic, multinomial, predictor
from toolkit.local import numeric, oracles

DATA = survey()
DATA["sex"] = np.where(DATA.female == 1, "f", "m")
DESIGNS = {"forced": DIE, "warner": WARNER, "unrelated": UNRELATED}


def test_many_kinds_are_counted_one_by_one_with_the_same_numbers() -> None:
    """Three yes/no questions combine to 27 kinds and are counted together; with more points one by one."""
    together = estimates(DATA, DESIGNS)
    apart = estimates(DATA, {**DESIGNS, "likert": LIKERT, "stratum": k_ary(12, epsilon=1.0)})
    for name in DESIGNS:
        assert together[name].value == apart[name].value


def test_the_numbers_are_those_of_rrreg() -> None:
    """RRreg 0.7.6 on the same file: rr_reference."""
    frame = DATA.assign(crosswise=np.where(DATA.crosswise == 1, "same", "different"))
    found = estimates(frame, {**DESIGNS, "crosswise": CROSSWISE, "likert": LIKERT})
    expected = {
        "forced": (0.28875, 0.0146925336487196),
        "warner": (0.318333333333333, 0.020076938529099),
        "unrelated": (0.291666666666667, 0.013290295822644),
        "crosswise": (0.298809523809524, 0.0139928891892568),
    }
    for name, numbers in expected.items():
        assert (found[name].value, found[name].se) == pytest.approx(numbers, abs=1e-12)
    assert found["likert"].value[0] == pytest.approx(0.351388888888889, abs=1e-12)
    assert found["likert"].se[4] == pytest.approx(0.0114123839387768, abs=1e-12)


def test_cells_of_all_kinds_make_the_same_counts() -> None:
    expected = estimates(DATA, {"forced": DIE})["forced"].value
    for cells in (
        DATA.forced.astype(bool),
        DATA.forced.astype(float),
        DATA.forced.map({0: "No", 1: " YES"}),
        DATA.forced.map({0: "nein", 1: "Ja"}).astype("category"),
        DATA.forced.astype("boolean"),
    ):
        assert estimates(pd.DataFrame({"forced": cells}), {"forced": DIE})["forced"].value == expected


def test_missing_values_are_accounted_for_and_add_up() -> None:
    frame = pd.DataFrame(
        {"report": ["yes", "no", 9, None, "refused", "", "no", "yes"], "sex": ["f", "f", "f", "m", "m", "m", None, "f"]}
    )
    found = estimates(frame, {"report": DIE}, by="sex", missing=(9, "refused"))
    table = found.missing
    assert table["rows"].sum() == len(frame)
    assert (table["missing report"] + table["missing group"] + table["used"] == table["rows"]).all()
    assert found["report"]["f"].n == 3
    assert np.isnan(found["report"]["m"].value)  # nobody of them answered
    assert found["report"]["m"].n == 0
    assert estimates(frame, {"report": DIE}, missing=(9, "refused"))["report"].n == 4


def test_age_bands_and_several_columns_make_groups() -> None:
    frame = DATA.assign(agegroup=pd.cut(DATA.age, [17, 39, 59, 99]))
    found = estimates(frame, {"forced": DIE}, by=["sex", "agegroup"])
    assert len(found.group_estimates) == 6
    assert sum(one.used for one in found.group_estimates) == 2400
    table = found.to_frame()
    assert list(table.columns[:4]) == ["question", "sex", "agegroup", "option"]
    codes = estimates(frame, {"forced": DIE}, by="stratum")["forced"]
    assert sorted(codes) == sorted(DATA.stratum.unique().tolist())


def test_a_sample_goes_through_its_clusters() -> None:
    """Numbers by svy on the same rows."""
    sample = Sample(weights=DATA.weight, strata=DATA.stratum, clusters=DATA.psu)
    for frame in (DATA, pl.from_pandas(DATA), pa.Table.from_pandas(DATA)):
        found = estimates(frame, {"forced": DIE}, by="sex", sample=sample)
        women = found["forced"]["f"]
        assert (women.value, women.se) == pytest.approx((0.371984779, 0.020855790), abs=5e-10)
    gap = found.differences("m")
    assert (gap.difference.item(), gap.se.item()) == pytest.approx((0.082441916, 0.035581606), abs=5e-10)
    assert women.loss == DIE.loss
    assert women.covers == "sampling (weights, strata, clusters, 57 df) and randomization"
    assert found.group_estimates[0].deff > 0
    all_of_them = estimates(DATA, {"forced": DIE}, sample=sample)["forced"]
    assert (all_of_them.value, all_of_them.se) == pytest.approx((0.331616149, 0.014816085), abs=5e-10)


def test_who_left_no_report_is_outside_the_domain_of_a_sample() -> None:
    frame = DATA.assign(forced=DATA.forced.where(DATA.index % 7 > 0))
    sample = Sample(weights=DATA.weight, clusters=DATA.psu)
    found = estimates(frame, {"forced": DIE}, sample=sample)
    answered = frame.forced.notna()
    scores = np.where(answered, DIE.scores(frame.forced.fillna(0).astype(int)), np.nan)
    expected = sample.mean(scores)
    assert (found["forced"].value, found["forced"].se) == (expected.value, expected.se)
    assert found.missing["missing report"].item() == int((~answered).sum())
    assert found["forced"].n == int(answered.sum())


def test_a_finite_population_is_used_for_shares_and_not_for_numbers() -> None:
    rng, bit = np.random.default_rng(2), numeric.one_bit((0, 80), 1.0)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 400), "b": bit.randomize(rng.integers(0, 81, 400), rng)})
    finite, endless = Sample(weights=np.ones(400), population=500), Sample(weights=np.ones(400))
    one, other = (estimates(frame, {"a": DIE, "b": bit}, sample=sample) for sample in (finite, endless))
    assert one["a"].se < other["a"].se
    assert one["b"].se == other["b"].se
    assert "the error is conservative" in one["b"].notes[-1]


def test_oracles_and_numbers_are_estimated_from_what_was_sent() -> None:
    from toolkit.core.randomness import integer_drawer

    draw, subset = integer_drawer(np.random.default_rng(4)), oracles.subset(6, 1.0)
    sent = [subset._draw_report(i % 6, draw) for i in range(60)]
    frame = pd.DataFrame({"set": [str(one) for one in sent], "place": ["a", "b"] * 30})
    assert estimates(frame, {"set": subset})["set"].value == pytest.approx(
        subset._estimate_from_raw_reports(sent).value
    )
    found = estimates(frame, {"set": subset}, by="place", sample=Sample(weights=np.ones(60)))
    assert found["set"]["a"].value == pytest.approx(subset._estimate_from_raw_reports(sent[::2]).value)


def test_a_column_that_looks_like_weights_is_mentioned() -> None:
    assert "stratum, weight" in estimates(DATA.drop(columns="psu"), {"forced": DIE}).remarks[0]
    assert estimates(DATA, {"forced": DIE}, sample=Sample(weights=DATA.weight)).remarks == ()
    assert "psu, weight" in repr(estimates(DATA[["forced", "psu", "weight"]], {"forced": DIE}))
    assert estimates(DATA[["forced"]], {"forced": DIE}).remarks == ()


def test_groups_may_be_of_any_kind() -> None:
    rows = {"report": [True, False, True, False], "day": [dt.date(2026, 1, day) for day in (2, 1, 2, 1)]}
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        days = estimates(make(rows), {"report": DIE}, by="day")["report"]
        assert [str(day)[:10] for day in days] == ["2026-01-01", "2026-01-02"]
    kinds = pl.DataFrame(rows).with_columns(pl.Series("g", ["b", "a", "b", "a"], dtype=pl.Categorical))
    assert list(estimates(kinds, {"report": DIE}, by="g")["report"]) == ["a", "b"]
    truth = pd.DataFrame({"report": [1, 0, 1, 0], "g": pd.array([True, None, False, True], dtype="boolean")})
    assert list(estimates(truth, {"report": DIE}, by="g")["report"]) == [False, True]
    assert estimates(truth, {"report": DIE}, by="g").missing["missing group"].sum() == 1


@pytest.mark.parametrize("sample", [None, Sample()], ids=["counts", "sample"])
def test_a_group_without_reports_has_no_number_and_no_difference(sample) -> None:
    frame = pd.DataFrame({"report": [1, 0, None], "empty": [None] * 3, "g": ["a", "a", "b"]})
    found = estimates(frame, {"report": DIE, "empty": WARNER}, by="g", sample=sample)
    assert np.isnan(found["report"]["b"].value)
    assert np.isnan(found["empty"]["a"].value)
    gaps = found.differences("a", adjust="holm")
    assert gaps.p.isna().all()
    assert len(found.summary()) == 4


BAD = {
    "a group twice": (lambda: estimates(DATA, {"forced": DIE}, by=["sex", "sex"]), "name each column once"),
    "a column twice": (
        lambda: estimates(pd.DataFrame([[1, 0]], columns=["a", "a"]), {"a": DIE}),
        "column names must be distinct",
    ),
    "a single group": (
        lambda: estimates(DATA.assign(g="a"), {"forced": DIE}, by="g").differences("a"),
        "a group other than the reference",
    ),
    "no rows": (lambda: estimates(DATA[:0], {"forced": DIE}), "must have a row"),
    "an unknown column": (lambda: estimates(DATA, {"cheated": DIE}), "none called cheated"),
    "an unknown group": (lambda: estimates(DATA, {"forced": DIE}, by="region"), "none called region"),
    "a hidden group": (lambda: estimates(DATA, DESIGNS, by="warner"), "without a design, got warner"),
    "reports outside the design": (
        lambda: estimates(DATA, {"age": DIE}),
        r"\(no, yes\), got 2,\d\d\d of 2,400 rows with something else",
    ),
    "a group by number": (lambda: estimates(DATA, {"forced": DIE}, by=1), "names of columns, got int"),
    "no frame": (lambda: estimates([1, 0], {"report": DIE}), "must be a frame of pandas, polars"),
    "no sample": (lambda: estimates(DATA, {"forced": DIE}, sample=DATA.weight), "`sample` must be a Sample"),
    "other rows": (lambda: estimates(DATA[:9], {"forced": DIE}, sample=Sample(weights=[1, 2])), "must have 2 rows"),
    "rows without order": (
        lambda: estimates(duckdb.from_df(DATA[["forced"]]), {"forced": DIE}, sample=Sample(weights=DATA.weight)),
        "collect it first",
    ),
    "an unknown column of a sample": (
        lambda: estimates(DATA, {"cheated": DIE}, sample=Sample(weights=DATA.weight)),
        "none called cheated",
    ),
    "strange reports of a sample": (
        lambda: estimates(DATA, {"age": DIE}, sample=Sample(weights=DATA.weight)),
        "rows with something else",
    ),
    "another estimator of a sample": (
        lambda: estimates(DATA, {"forced": DIE}, sample=Sample(weights=DATA.weight), method="mle"),
        "cannot take weights into account",
    ),
    "an unknown method": (lambda: estimates(DATA, {"forced": DIE}, method="best"), "`method` must be one of"),
}


@each(name=BAD)
def test_what_cannot_be_estimated_is_refused_in_words(name: str) -> None:
    made, words = BAD[name]
    with pytest.raises((ValueError, TypeError), match=words):
        made()


SURVEY = Survey(
    "Exams",
    [
        Question("cheated", "Cheated?", design=DIE),
        Question("paid", "Paid?", design=WARNER),
        Question("year", "Year?", options=[1, 2, 3]),
        Question("grade", "Grade?", bounds=(0, 10)),
        Question("why", "Why?", free_text=True, warning="Do not write your answers here."),
    ],
    consent="Why we ask.",
    check=False,
)


def _answers() -> pd.DataFrame:
    rng, data = np.random.default_rng(7), survey()
    words = {"cheated": np.where(data.forced, "yes", "no"), "paid": np.where(data.warner, "yes", "no")}
    return pd.DataFrame(words).assign(year=rng.integers(1, 4, len(data)), grade=data.outcome.clip(0, 10), why="…")


def test_a_survey_says_what_its_columns_are() -> None:
    """Free text is no estimate, and what makes the groups is none either."""
    frame = _answers()
    found = estimates(frame, SURVEY, by="year")
    assert list(found.designs) == ["cheated", "paid", "grade"]
    right = estimates(frame, {"cheated": DIE}, by="year")["cheated"]
    assert {year: one.value for year, one in found["cheated"].items()} == {y: one.value for y, one in right.items()}
    few = estimates(frame[["cheated", "year"]], SURVEY)
    assert few.remarks == ("the frame has no column of the survey's paid, grade",)
    assert "no column of the survey's paid" in repr(few)
    with pytest.raises(ValueError, match="must have a column of the survey, got none"):
        estimates(pd.DataFrame({"x": [1]}), SURVEY)


@pytest.mark.slow
def test_models_find_their_design_in_a_survey() -> None:
    frame = _answers()
    assert logistic("cheated ~ year", frame, SURVEY).value == pytest.approx(
        logistic("cheated ~ year", frame, DIE).value
    )
    by_hand = predictor("grade ~ paid", frame, {"paid": WARNER})
    assert predictor("grade ~ paid + 0 + 1", frame, SURVEY).value == pytest.approx(by_hand.value)
    plainly = multinomial("year ~ 1", frame, SURVEY)  # nothing hides it: log odds of counts
    counts = frame.year.value_counts().sort_index().to_numpy()
    assert plainly.value == pytest.approx(np.log(counts[1:] / counts[0]))
    with pytest.raises(ValueError, match="must name one of its questions, got 'forced'"):
        logistic("forced ~ year", frame.assign(forced=1), SURVEY)


def test_a_design_reads_the_words_that_estimates_read() -> None:
    """Any case, blanks and the usual words for yes and no; of other labels nothing is guessed."""
    for yes, no in (("Yes ", "NO"), ("ja", "nein"), ("TRUE", "f"), ("1", "0"), ("x", "n")):
        reports = [yes] * 30 + [no] * 70
        assert DIE.estimate(reports).value == DIE.estimate_counts([70, 30]).value
        assert estimates(pd.DataFrame({"a": reports}), {"a": DIE})["a"].value == DIE.estimate(reports).value
        assert DIE.scores(reports).mean() == pytest.approx(DIE.estimate(reports).value)
    turned = Design([[5, 1], [1, 5]], 6, ("Yes", "No"))
    assert turned.estimate(["nein"] * 4 + ["yes"] * 6).value == turned.estimate_counts([6, 4]).value
    for words in (["ja", "same"], ["Different", "yes"]):
        with pytest.raises(ValueError, match="1 of 2 that are not: check spelling; codes"):
            crosswise("0.15").estimate(words)
    with pytest.raises(ValueError, match="check spelling and case"):
        DIE.randomize(["Yes", "no"])  # the truth is never guessed
