"""Bad input is rejected with a message that names the column or counts the rows, and quotes no answer."""

import traceback
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.analysis.reference_survey import BIRTHDAY, COINS, DIE, survey
from tests.slowly import each
from toolkit import k_ary
from toolkit.analysis import Sample, logistic, multinomial, predictor
from toolkit.analysis.regression.covariates import covariates_from_table, split_formula, standardize
from toolkit.analysis.regression.rows import TIMES, channel, complete_rows, group_codes, missing_cells, people
from toolkit.frames.table import column, missing_mask

DATA = survey()[:400]
ASKED = SimpleNamespace(questions=[SimpleNamespace(name="forced")])
GAPS = DATA.assign(age10=DATA.age10.where(DATA.index % 10 > 0), part=np.where(DATA.index % 7, "a", None))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"formula": "forced ~ height"}, "covariates must be columns of the data, got 'height'"),
        ({"formula": "stolen ~ female"}, "reports must be a column of the data, got 'stolen'"),
        ({"formula": "forced"}, "one name, a tilde and the covariates"),
        ({"formula": "~ female"}, "one name, a tilde and the covariates"),
        ({"formula": "forced ~ "}, "one name, a tilde and the covariates"),
        ({"formula": "forced ~ female ~ age"}, "one name, a tilde and the covariates"),
        ({"formula": DATA.forced, "data": np.ones((400, 1, 1))}, "covariates must be a table, got 3 dimensions"),
        ({"formula": "forced ~ female + * age"}, "must follow the grammar of formulaic"),
        ({"formula": "forced ~ female + frobnicate(age)"}, "covariates must be columns"),
        ({"formula": "forced ~ ."}, "must follow the grammar of formulaic"),
        ({"formula": "forced ~ female + (1 | age)"}, r"no random effects, got a term with \|"),
        ({"formula": "forced ~ female | age"}, r"no random effects, got a term with \|"),
        ({"formula": "forced ~ female + offset(age)"}, "no offset, got a term offset"),
        ({"formula": "forced ~ __import__('os').getcwd()"}, "must follow the grammar of formulaic"),
        ({"formula": "forced ~ `1`"}, "the name of a column in a formula must not be a number, got `1`"),
        (
            {"formula": "forced ~ Intercept", "data": DATA.assign(Intercept=DATA.age)},
            "the names of coefficients must be unique, got 'Intercept' twice",
        ),
        ({"data": pd.concat([DATA, DATA[["age"]]], axis=1)}, "column names must be distinct, got a repeated name"),
        (
            {"data": pa.RecordBatch.from_pandas(DATA[["forced", "female", "age"]])},
            "`data` must be a frame with named columns, got RecordBatch",
        ),
        ({"weights": DATA.weight[::-1]}, "`weights` must have the index of the data, got another"),
        ({"formula": "forced ~ np.log(sex)", "data": DATA.assign(sex="f")}, "every part of a formula must be"),
        ({"formula": "likert ~ female"}, r"codes must lie in 0 … 1, got \d+ of 400 outside"),
        ({"formula": "forced ~ age + age10"}, "no column may be a combination of the columns before it, got 'age10'"),
        ({"formula": "forced ~ female + group - 1 + I(female + group)"}, r"got 'I\(female \+ group\)'"),
        ({"data": DATA.assign(female=1)}, "combination of the columns before it, got 'female'"),
        ({"data": GAPS, "formula": "forced ~ age10"}, "no value may be missing, got 40 in covariates"),
        ({"data": GAPS, "formula": "forced ~ part"}, "no value may be missing, got 58 in covariates"),
        ({"data": DATA.assign(female=np.inf)}, "covariates must be finite, got 400 rows that are not, in 'female'"),
        ({"weights": np.zeros(400)}, "`weights` must be above 0, got 400 of 400"),
        ({"weights": np.full(400, -1.0)}, "`weights` must be above 0"),
        ({"weights": "height"}, "`weights` must be a column of the data, got 'height'"),
        ({"weights": np.ones(3)}, r"one value for each row of the data, got shape \(3,\) for 400 rows"),
        ({"weights": np.full(400, "a")}, "weights must be numbers"),
        ({"times": np.full(400, 1.5)}, "`times` must be whole numbers"),
        ({"strata": np.arange(400) // 399}, "every stratum must have at least two sampling units, got 1 with one"),
        ({"weights": "weight", "se": "observed"}, "`se` must be 'robust' with weights"),
        ({"design": k_ary(3, epsilon=1.0)}, "must have two options, got 3"),
        ({"design": "warner"}, "`design` must be a Design, got str"),
        ({"design": ASKED, "formula": "female ~ age"}, "name one of its questions, got 'female': it has forced"),
        ({"design": ASKED, "formula": DATA.forced, "data": DATA[["age"]]}, "got reports without a name: it has forced"),
        ({"design": type(DIE)}, "`design` must be a Design, got the class Design"),
        ({"design": SimpleNamespace(matrix=DIE.matrix)}, "`design` must be a Design, got SimpleNamespace"),
        ({"design": SimpleNamespace(_scores_of_raw_reports=len)}, "`design` must be a Design, got SimpleNamespace"),
        ({"design": {"a": DIE, "b": COINS}}, "`design_by` must be given with several designs"),
        ({"design_by": "group"}, "with `design_by`, `design` must be a mapping"),
        ({"design": {1: DIE, 3: COINS}, "design_by": "group"}, r"keys of `design` \(1, 3\), got 181 of 400"),
        ({"link": "cauchit"}, "`link` must be one of logit, probit, cloglog"),
        ({"se": "hessian"}, "`se` must be one of"),
        ({"penalty": "firth"}, "`penalty` must be one of jeffreys"),
        ({"missing": "ignore"}, "`missing` must be one of refuse, drop"),
        ({"data": DATA[:2]}, "as many rows as coefficients, got 2 for 3"),
        ({"data": DATA.to_numpy()}, "`data` must be a frame with named columns"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], sentence: str) -> None:
    given = {"formula": "forced ~ female + age", "data": DATA, "design": DIE} | change
    with pytest.raises((ValueError, TypeError), match=sentence):
        logistic(**given)


def test_missing_values_are_left_out_and_counted_by_their_first_reason() -> None:
    reports = GAPS.assign(forced=GAPS.forced.astype(float).where(GAPS.index % 50 > 0))
    gaps = {"reports": np.array([1, 0, 0, 1], bool), "covariates": np.array([1, 1, 0, 0], bool)}
    kept, dropped = complete_rows(gaps, "drop")
    assert kept.tolist() == [False, False, True, False]
    assert dropped == {"reports": 2, "covariates": 1}
    lost = {"times": np.arange(20) < 10, "reports": np.arange(20) >= 18}
    counted = complete_rows(lost, "drop", np.where(np.arange(20) < 10, np.nan, 3.0))[1]
    assert counted == {"times": 10, "reports": 6}  # a row without a number is one
    numbers = {"times": np.array([1.0, np.nan]), "reports": np.ones(2)}
    assert missing_cells(numbers, {"times": "n"})["times"].tolist() == [False, True]
    assert list(missing_cells(numbers, {"times": TIMES})) == ["reports"]  # an engine has counted them
    fit = logistic("forced ~ age10", reports, DIE, missing="drop")
    assert fit.rows == {"used": 360, "reports": 8, "covariates": 32}
    assert fit.n == 360
    assert fit.notes == ("360 of 400 rows were used: left out 8 with missing reports, 32 with missing covariates",)
    assert "360 of 400 rows" in repr(fit)


def test_nothing_left_is_refused() -> None:
    with pytest.raises(ValueError, match="a row without missing values, got none"):
        logistic("forced ~ female", DATA.assign(female=np.nan), DIE, missing="drop")


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.to_dict("list")])
def test_polars_pyarrow_and_mappings_give_the_fit_of_pandas(kind: Any) -> None:
    frame = DATA.assign(sex=np.where(DATA.female, "f", "m"), mode=np.where(DATA.group == 1, "phone", "web"))
    frame = frame.assign(y=np.where(DATA.group == 1, DATA.forced, DATA.warner))
    options = {"design_by": "mode", "weights": "weight", "clusters": "stratum"}
    designs = {"phone": DIE, "web": COINS}
    one = logistic("y ~ C(sex) + np.log(age)", frame, designs, **options)
    two = logistic("y ~ C(sex) + np.log(age)", kind(frame), designs, **options)
    assert one.labels == two.labels == ("Intercept", "C(sex)[T.m]", "np.log(age)")
    assert np.allclose(one.value, two.value, rtol=1e-12)
    assert np.allclose(one.se, two.se, rtol=1e-10)


@pytest.mark.slow
@each(
    reports=[
        DATA.forced.to_numpy(),
        DATA.forced.astype(bool).to_numpy(),
        np.where(DATA.forced, "yes", "no"),
        DATA.forced.tolist(),
        pl.Series(DATA.forced.to_numpy()),
        pd.Series(np.where(DATA.forced, "yes", "no"), dtype="category"),
        DATA.forced.astype("Int64"),
        DATA.forced.astype(float),
        np.where(DATA.forced, " YES", "No"),
        np.where(DATA.forced, "1", "0"),
        DATA.forced.astype("boolean"),
        DATA.forced.map({0: "nein", 1: 1}),
    ]
)
def test_reports_of_any_kind_are_read(reports: Any) -> None:
    fit = logistic(reports, DATA[["female"]], DIE)
    assert fit.labels == ("Intercept", "female")
    assert np.array_equal(fit.value, logistic("forced ~ female", DATA, DIE).value)


def test_parts_of_the_reading() -> None:
    assert split_formula("`a b` ~ x") == ("a b", "x")
    assert group_codes(np.array(["b", None, "b"], dtype=object)).tolist() == [0, 1, 0]
    assert missing_mask(np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")).tolist() == [False, True]
    assert column({"a": [1, 2]}, "a", "it").tolist() == [1, 2]
    columns, back = standardize(covariates_from_table(np.array([[1.0], [3.0], [8.0]])))
    assert np.allclose(columns[:, 1].mean(), 0)
    assert np.allclose(columns @ np.linalg.inv(back), [[1, 1], [1, 3], [1, 8]])


def test_designs_with_other_options_are_refused() -> None:
    with pytest.raises(ValueError, match="designs must have the same options in the same order"):
        channel(np.array([0, 1]), {"a": DIE, "b": k_ary(3, epsilon=1.0)}, np.array(["a", "b"]))


def test_text_of_any_type_is_a_category_and_a_design_may_be_data() -> None:
    words = np.where(DATA.female, "f", "m")
    fits = [
        logistic("forced ~ sex", DATA.assign(sex=pd.Series(words, dtype=kind)), DIE.to_dict())
        for kind in ("string", "object", "category", "str", pd.ArrowDtype(pa.string()))
    ]
    assert {fit.labels for fit in fits} == {("Intercept", "sex[T.m]")}
    assert len({tuple(fit.value) for fit in fits}) == 1


def test_columns_that_arrow_holds_are_those_of_numpy() -> None:
    frame = DATA[["forced", "female", "group", "age10"]].assign(gap=pd.array([None, 1] * 200, dtype="Int64"))
    one, two = (
        logistic("forced ~ C(group) + female + age10", data, DIE)
        for data in (frame, frame.convert_dtypes(dtype_backend="pyarrow"))
    )
    assert two.labels == one.labels
    assert np.array_equal(two.value, one.value)
    assert two.margins("group").value == pytest.approx(one.margins("group").value)


def test_no_message_quotes_a_person() -> None:
    """Labels of the design may be in a message; the answers that people gave may not."""
    with pytest.raises(ValueError, match="must hold reports of its design") as problem:
        logistic("forced ~ female", DATA.assign(forced="I did it"), DIE)
    assert "I did it" not in str(problem.value)
    secret = "-".join(["a", "secret"])
    with pytest.raises(TypeError, match="weights must be numbers") as problem:
        logistic("forced ~ female", DATA, DIE, weights=np.full(400, secret))
    assert secret not in "".join(traceback.format_exception(problem.value))
    with pytest.raises(ValueError, match="every part of a formula must be computable") as problem:
        logistic("forced ~ np.array(word)", DATA.assign(word=secret), DIE)
    assert secret not in "".join(traceback.format_exception(problem.value))


def test_a_sample_is_its_weights_strata_and_clusters() -> None:
    data = survey()
    given = logistic("forced ~ female", data, DIE, weights="weight", strata="stratum", clusters="psu")
    drawn = Sample(data.weight, data.stratum, data.psu)
    found = logistic("forced ~ female", data, DIE, sample=drawn)
    assert np.allclose(found.se, given.se, rtol=1e-12)
    assert np.array_equal(found.value, given.value)
    assert multinomial("forced ~ female", data, DIE, sample=drawn).interval().method == "t"
    assert predictor("outcome ~ forced", data, {"forced": DIE}, sample=drawn).interval().method == "t"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sample": Sample(DATA.weight), "weights": DATA.weight}, "`sample` must be given alone"),
        ({"sample": DATA.weight.to_numpy()}, "`sample` must be a Sample or Replicates, got ndarray"),
        ({"sample": Sample(DATA.weight[:9].to_numpy())}, "must have 9 rows, as the sample has, got 400"),
    ],
)
def test_a_sample_of_other_rows_or_beside_its_parts_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        logistic("forced ~ female", DATA, DIE, **options)


def test_empty_text_is_no_report_and_other_words_are_rejected() -> None:
    """The message does not quote the words."""
    words = DATA.assign(word=np.where(DATA.forced, "Yes", "no")).assign(
        word=lambda one: one.word.where(DATA.index % 40 > 0, " ")
    )
    assert logistic("word ~ female", words, DIE, missing="drop").rows["reports"] == 10
    with pytest.raises(ValueError, match="10 in reports"):
        logistic("word ~ female", words, DIE)
    with pytest.raises(ValueError, match=r"must hold reports of its design \(no, yes\), got 10") as problem:
        logistic("word ~ female", words.replace(" ", "I did it"), DIE, missing="drop")
    assert "I did it" not in str(problem.value)


def test_crosswise_codes_mean_what_the_design_makes_of_them() -> None:
    """Words are not guessed."""
    codes = logistic("crosswise ~ female", DATA, BIRTHDAY)
    labels = DATA.assign(crosswise=np.where(DATA.crosswise == 1, "Same", "different"))
    assert np.array_equal(codes.value, logistic("crosswise ~ female", labels, BIRTHDAY).value)
    assert channel(np.array([1, 0, True], dtype=object), BIRTHDAY, None).codes.tolist() == [1, 0, 1]
    guessed = DATA.assign(crosswise=np.where(DATA.crosswise == 1, "yes", "no"))
    with pytest.raises(ValueError, match=r"\(different, same\), got 400 of 400 rows with something else"):
        logistic("crosswise ~ female", guessed, BIRTHDAY)


def test_codes_for_no_answer_are_left_out_of_models_as_of_estimates() -> None:
    coded = DATA.assign(forced=DATA.forced.where(DATA.index % 50 > 0, 9))
    for kind in (int, float, str):
        frame = coded.assign(forced=coded.forced.astype(kind).astype(object) if kind is str else coded.forced)
        fit = logistic("forced ~ female", frame, DIE, missing=(9, "refused"))
        assert fit.rows == {"used": 392, "reports": 8, "covariates": 0}
        assert np.array_equal(fit.value, logistic("forced ~ female", DATA[DATA.index % 50 > 0], DIE).value)
    hidden = predictor("outcome ~ forced", coded, {"forced": DIE}, missing=9)
    assert hidden.rows["forced"] == 8
    with pytest.raises(ValueError, match="`missing` must not name a report"):
        logistic("forced ~ female", DATA, DIE, missing=(1,))


def test_names_that_are_no_identifiers_stand_between_backticks() -> None:
    """In both kinds of models, and in the model of the truth that `predictor` makes of the formula."""
    odd = DATA.rename(columns={"forced": "did you?", "age10": "age (decades)", "female": "C"})
    plain = logistic("forced ~ age10 + female", DATA, DIE)
    fit = logistic("`did you?` ~ `age (decades)` + C", odd, DIE)
    assert fit.labels == ("Intercept", "age (decades)", "C")
    assert np.array_equal(fit.value, plain.value)
    found = predictor("outcome ~ `did you?` + `age (decades)`:C", odd, {"did you?": DIE})
    assert found.truth.labels == ("did you?: Intercept", "did you?: age (decades):C")


def test_one_column_may_be_flat_or_rows_of_lists() -> None:
    """A generator of reports is read once."""
    plain = logistic("forced ~ age10", DATA, DIE)
    right, slope = plain.value, float(plain.margins("age10"))
    for ages in (DATA.age10.to_numpy(), [[age] for age in DATA.age10]):
        fit = logistic((report for report in DATA.forced), ages, DIE)
        assert fit.labels == ("Intercept", "x1")
        assert np.array_equal(fit.value, right)
        assert float(fit.margins("x1")) == pytest.approx(slope, rel=1e-6)


RNG = np.random.default_rng(3)
PARTS = RNG.normal(size=(120, 3))
STRATA, CLUSTERS = np.repeat(["north", "south", "west"], 40), np.tile(np.arange(8), 15)


def by_hand(parts: np.ndarray, strata: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    total = np.zeros((parts.shape[1],) * 2)
    for stratum in np.unique(strata):
        units = np.unique(clusters[strata == stratum])
        sums = np.array([parts[(strata == stratum) & (clusters == unit)].sum(axis=0) for unit in units])
        total += len(units) * np.cov(sums.T, ddof=1)
    return total


def test_units_within_strata_are_told_apart() -> None:
    them = people(120, None, None, STRATA, CLUSTERS)
    assert np.allclose(them.variance_of_sum(PARTS), by_hand(PARTS, STRATA, CLUSTERS))
    assert them.df == 24 - 3


def test_without_clusters_persons_are_the_units() -> None:
    assert np.allclose(
        people(120, None, None, STRATA, None).variance_of_sum(PARTS), by_hand(PARTS, STRATA, np.arange(120))
    )
    pairs = np.arange(120) // 2
    assert np.allclose(
        people(120, None, None, pairs, None).variance_of_sum(PARTS), by_hand(PARTS, pairs, np.arange(120))
    )
    plain = people(120, None, None, None, None)
    assert np.allclose(plain.variance_of_sum(PARTS), 120 * np.cov(PARTS.T))
    assert (plain.df, plain.is_complex, plain.n) == (119, False, 120)


@pytest.mark.parametrize("clustered", [True, False])
def test_a_row_that_stands_for_many_is_as_many_rows(clustered: bool) -> None:
    times = RNG.integers(1, 5, 120)
    rows = np.repeat(np.arange(120), times)
    clusters = CLUSTERS if clustered else None
    counted = people(120, None, times, STRATA, clusters)
    spread = people(len(rows), None, None, STRATA[rows], None if clusters is None else clusters[rows])
    assert counted.n == spread.n
    assert counted.df == spread.df
    assert np.allclose(counted.variance_of_sum(PARTS), spread.variance_of_sum(PARTS[rows]))
