import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.slowly import each
from toolkit import k_ary, kuk, warner
from toolkit.local.matrix.encoding import (
    codes_are_ambiguous,
    counts_in_order,
    draw_reports,
    encode,
    tally,
    yes_no_codes,
)

YES_NO = ("no", "yes")
SECRET = "my-secret-answer"  # noqa: S105

BOOLEAN = [
    [True, False, True],
    (True, False, True),
    np.array([True, False, True]),
    np.array([True, False, True], dtype=object),
    pd.Series([True, False, True], index=[7, 7, 9]),
    pd.Series([True, False, True], dtype="boolean"),
    pd.Series([True, False, True], dtype="bool[pyarrow]"),
    pl.Series([True, False, True]),
]
CODES = [
    [1, 0, 1],
    [1.0, 0.0, 1.0],
    np.array([1, 0, 1], dtype=np.uint8),
    pd.Series([1, 0, 1], dtype="Int64"),
    pd.Series([1, 0, 1], dtype="int64[pyarrow]"),
    pd.Series([1, 0, 1], dtype=object),
    pl.Series([1, 0, 1], dtype=pl.Int8),
]
TEXT = [
    ["yes", "no", "yes"],
    np.array(["yes", "no", "yes"]),
    pd.Series(["yes", "no", "yes"]),
    pd.Series(["yes", "no", "yes"], dtype="string"),
    pd.Series(["yes", "no", "yes"], dtype="string[pyarrow]"),
    pd.Series(["yes", "no", "yes"], dtype=pd.CategoricalDtype(["yes", "no", "other"])),
    pl.Series(["yes", "no", "yes"]),
    pl.Series(["yes", "no", "yes"], dtype=pl.Categorical),
    pl.Series(["yes", "no", "yes"], dtype=pl.Enum(["yes", "no"])),
]


@each(values=[*BOOLEAN, *CODES, *TEXT])
def test_answers_are_read_whatever_holds_them(values: object) -> None:
    assert encode(values, YES_NO, "answers").codes.tolist() == [1, 0, 1]
    assert tally(values, YES_NO, "answers").tolist() == [1, 2]


@pytest.mark.parametrize(("values", "kind"), [(BOOLEAN[2], "b"), (CODES[2], "u"), (TEXT[1], "U"), (TEXT[2], "U")])
def test_reports_are_of_the_same_kind_as_the_answers(values: object, kind: str) -> None:
    reports = warner("3/4").randomize(values)
    assert isinstance(reports, np.ndarray)
    assert reports.dtype.kind == kind
    if kind == "u":
        assert reports.dtype == np.uint8


@pytest.mark.parametrize(("answer", "kinds"), [(True, bool), ("yes", str), (1, int), (np.True_, bool)])
def test_one_answer_gives_one_report(answer: object, kinds: type) -> None:
    assert isinstance(warner("3/4").randomize(answer), kinds)


def test_more_reports_than_answers_come_as_numbers() -> None:
    reports = kuk(0.8, 0.2, draws=4).randomize([True] * 100, np.random.default_rng(1))
    assert reports.dtype.kind == "i"
    assert set(reports.tolist()) <= set(range(5))


def test_numbers_are_labels_where_the_options_are_numbers() -> None:
    design = k_ary([1, 2, 3, 4, 5], epsilon=2.0)
    assert encode([1, 5], design.options, "answers").codes.tolist() == [0, 4]
    assert set(design.randomize([1, 5] * 50).tolist()) <= {1, 2, 3, 4, 5}
    with pytest.raises(ValueError, match="must be among the options"):
        design.randomize([0])


def test_codes_are_refused_where_they_look_like_other_labels() -> None:
    others = [("yes", "no"), (" Yes", "NO "), ("1", "2"), ("one", "0"), ("2", "1", "0")]
    alike = [("no", "yes"), ("yes", "never"), ("always", "no"), ("always", "no", "yes"), ("yes", "no", "never")]
    alike += [("0", "1", "many"), ("0", "1", "5"), (1, "0")]
    assert [labels for labels in others + alike if codes_are_ambiguous(labels)] == others


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        (("no", "yes"), {True: 1, False: 0}),
        ((" Ja", "NEIN "), {True: 0, False: 1}),
        (("yes", "no", "never"), None),
        (("yes", "never"), None),
        (("yes", "ja"), None),
        (("no", "non"), None),
        ((1, 0), None),
        (("1", 0), None),
    ],
)
def test_labels_that_are_yes_and_no_are_these_two_texts(labels: tuple[str | int, ...], codes: object) -> None:
    assert yes_no_codes(labels) == codes


@pytest.mark.parametrize(("k", "end"), [(8, ""), (9, ", …")])
def test_messages_name_eight_options_at_most(k: int, end: str) -> None:
    with pytest.raises(ValueError, match=rf"among the options \(1, 2, 3, 4, 5, 6, 7, 8{end}\)"):
        encode([0], tuple(range(1, k + 1)), "answers")
    with pytest.raises(TypeError, match=rf"the texts of the options \('1', .*'8'{end}\)"):
        encode([0], tuple(map(str, range(1, k + 1))), "answers")


def test_option_labels_may_be_mixed_and_sorted_in_any_order() -> None:
    labels = ("zebra", 7, "ant", 3)
    assert encode(["ant", "zebra"], labels, "answers").codes.tolist() == [2, 0]
    assert encode([3, 7], labels, "answers").codes.tolist() == [3, 1]


@pytest.mark.parametrize(
    "values",
    [
        [True, None],
        ["yes", None],
        [1.0, float("nan")],
        ["yes", float("nan")],
        pd.Series([True, None], dtype="boolean"),
        pd.Series(["yes", pd.NA], dtype="string"),
        pd.Series([1.0, np.nan]),
        [pd.NaT, 1],
        pl.Series([True, None]),
        pl.Series([1.0, float("nan")]),
        np.ma.array([1, 0], mask=[False, True]),
    ],
)
def test_missing_answers_get_an_error_that_names_the_remedy(values: object) -> None:
    with pytest.raises(
        ValueError, match=r"answers must not be missing, got 1 missing of 2: drop them first .*'no answer' an option"
    ):
        warner("3/4").randomize(values)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([SECRET, "no"], ValueError, "1 of 2 that are not"),
        (np.array([SECRET, SECRET]), ValueError, "2 of 2 that are not"),
        ([2, 0, -1], ValueError, "2 of 3 outside"),
        (np.array([2**40, 0]), ValueError, "1 of 2 outside"),
        (np.array([2**64 - 1], dtype=np.uint64), ValueError, "1 of 1 outside"),
        ([0.5, 1], ValueError, "whole codes"),
        ([float("inf")], ValueError, "whole codes"),
        ([], ValueError, "at least one"),
        (np.zeros((2, 2)), ValueError, "one-dimensional"),
        ([True, "yes"], TypeError, "all of one type"),
        (np.array([True, "yes"], dtype=object), TypeError, "all of one type"),
        ([b"yes"], TypeError, "booleans, codes or labels"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), TypeError, "booleans, codes or labels"),
        ([1j], TypeError, "booleans, codes or labels"),
    ],
)
def test_bad_answers_are_counted_never_quoted(values: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        warner("3/4").randomize(values)
    assert SECRET not in str(caught.value)


def test_reports_are_read_in_any_case_unless_that_would_be_two_labels() -> None:
    assert encode(["apple ", "PEAR", "Pear"], ("Apple", "Pear"), "reports").codes.tolist() == [0, 1, 1]
    assert encode(["US", "us", "other"], ("US", "us", "Other"), "reports").codes.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="1 of 2 that are not"):
        encode(["Us", "us"], ("US", "us"), "reports")


@pytest.mark.parametrize(("share", "said"), [(30, "; for 30 percent write 0.3"), (1.5, "; for 1.5 percent"), (-1, "")])
def test_of_what_could_be_percent_the_share_is_said(share: float, said: str) -> None:
    assert warner("3/4").variance(1, 100) == warner("3/4").variance(0, 100)
    with pytest.raises(ValueError, match=f"it is a distribution of the answers{said}"):
        warner("3/4").variance(share, 100)


@pytest.mark.parametrize("k", [127, 128, 129, 32_767, 32_768, 32_769])
def test_codes_and_the_mark_of_the_truth_fit_their_integer_type(k: int) -> None:
    """Each report differs from the truth with probability below 4e-8; the seed is fixed."""
    answers = [0, k - 2, k - 1]
    for labels in (tuple(range(k)), tuple(map(str, range(k)))):
        assert encode(list(map(type(labels[0]), answers)), labels, "answers").codes.tolist() == answers
    if k < 1000:
        assert k_ary(k, epsilon=22).randomize(answers, np.random.default_rng(1)).tolist() == answers


@pytest.mark.parametrize(("kind", "most"), [(np.uint8, 256), (np.int8, 128)])
def test_codes_come_back_in_their_own_type_where_it_holds_all_of_them(kind: type, most: int) -> None:
    codes = np.array([0, 1], dtype=kind)
    for k, expected in ((most, kind), (most + 1, np.intp)):
        labels = tuple(range(k))
        assert encode(codes, labels, "answers").to_input_type(np.array([0, k - 1]), labels).dtype == expected


def test_booleans_answer_only_questions_with_two_options() -> None:
    with pytest.raises(TypeError, match="only if there are two options"):
        k_ary(["a", "b", "c"], epsilon=1).randomize([True, False])
    with pytest.raises(TypeError, match="have the type of the options"):
        k_ary([1, 2, 3], epsilon=1).randomize(["1", "2"])


def test_a_read_only_or_strided_array_is_welcome() -> None:
    answers = np.array([0, 1, 1, 0, 1, 1], dtype=np.int16)
    answers.setflags(write=False)
    assert warner("3/4").randomize(answers[::2]).dtype == np.int16
    assert warner("3/4").randomize(answers.astype(bool)[::-1]).dtype == bool


def test_codes_of_every_width_have_equal_counts() -> None:
    """Eight-byte codes are counted without a copy; values that are missing, out of range or labels are handled as
    before.
    """
    codes = np.random.default_rng(1).integers(0, 5, 300_000)
    wanted = np.bincount(codes, minlength=5).tolist()
    for kind in (np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float64):
        assert tally(codes.astype(kind), ("a", "b", "c", "d", "e"), "reports").tolist() == wanted
    assert tally(codes + 1, (1, 2, 3, 4, 5), "reports").tolist() == wanted
    assert tally(codes % 2, ("no", "yes"), "reports").tolist() == np.bincount(codes % 2).tolist()
    for wrong in (np.array([0, 5]), np.array([-1, 0]), np.array([0, 10**15])):
        with pytest.raises(ValueError, match="1 of 2 outside"):
            tally(wrong, ("a", "b", "c", "d", "e"), "reports")
    with pytest.raises(ValueError, match="at least one entry"):
        tally(np.array([], dtype=np.int64), ("a", "b", "c"), "reports")
    with pytest.raises(ValueError, match="1 missing of 3"):
        tally(np.ma.MaskedArray([0, 1, 2], mask=[False, True, False]), ("a", "b", "c"), "reports")


def test_a_table_of_codes_is_no_list_of_reports() -> None:
    with pytest.raises(ValueError, match="must be one-dimensional"):
        tally(np.zeros((2, 2), dtype=np.intp), ("no", "yes"), "reports")


def test_reversed_warner_is_the_mirror_image_word_for_word() -> None:
    """p and 1 - p swap the reports: opposite answers give the same reports from the same random bits."""
    answers = np.random.default_rng(1).random(10_000) < 0.3
    kept = warner("3/4").randomize(answers, np.random.default_rng(2))
    mirrored = warner("1/4").randomize(~answers, np.random.default_rng(2))
    assert np.array_equal(kept, mirrored)


def test_long_work_has_the_law_of_short_work() -> None:
    """A million answers, in chunks; the share of unchanged answers is within 5 standard errors (false alarms 6e-7)."""
    design = k_ary(16, epsilon=1.0)
    codes = np.tile(np.arange(16, dtype=np.int8), 62_500)
    reports = draw_reports(design.weights, design._forced_form, codes, np.random.default_rng(3))
    keep = design.matrix[0, 0]
    assert reports.dtype == np.int8
    assert abs(np.mean(reports == codes) - keep) < 5 * np.sqrt(keep * (1 - keep) / 1e6)


def test_answers_are_not_changed() -> None:
    answers = np.array([0, 1, 1, 0] * 5000)
    before = answers.copy()
    warner("1/4").randomize(answers)
    assert np.array_equal(answers, before)


def test_a_report_that_nobody_gave_is_counted_as_zero() -> None:
    assert counts_in_order({"car": 7}, ("bus", "car", "bike")) == [0, 7, 0]
    assert counts_in_order({True: 7}, ("no", "yes")) == [0, 7]
    assert counts_in_order(pd.Series({"bike": 2, "bus": 1}), ("bus", "car", "bike")) == [1, 0, 2]
