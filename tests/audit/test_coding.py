"""An output has one row, whatever comes before, beside or after it."""

from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pandas as pd

from tests.slowly import each
from toolkit.audit.coding import MAX_COLUMNS, NAN, Coding, leaf_label, leaf_number, leaves_of


@dataclass
class Told:
    count: int
    group: str


Place = namedtuple("Place", "index value")

KINDS = {
    "suppressed counts": [3, None, 4, None, 5],
    "texts": ["yes", "no", "yes", "no", "maybe"],
    "numbers in texts": ["12.5 people", "7 people", "12.5 people", "none"],
    "lists of several lengths": [[1, 2], [], [3], [1, 2], ["x"], ["x"]],
    "tuples": [(1, "a"), (2, None), (1, "a"), (2.5, "b")],
    "lists and tuples": [[1, 2], (1, 2), [3, 4]],
    "tuples of two kinds of numbers": [(1, 0.5), (2, 1.5), (0, -0.5)],
    "tuples of numbers of several kinds": [(1, 0.5), (1.0, 0.5), (1, 1), (True, 1)],
    "numbers of several kinds": [1, 2.5, True, Fraction(1, 3), Decimal("0.1"), np.float32(2), np.int64(7), 10**400],
    "not a number": [float("nan"), 1.0, np.inf, -np.inf, 2.0],
    "arrays": [np.arange(3), np.arange(3) + 1],
    "arrays of several shapes": [np.arange(3), np.arange(2), np.eye(2), np.array(5)],
    "arrays of two kinds": [np.arange(2), np.arange(2.0)],
    "mappings in several orders": [{"a": 1, "b": 2}, {"b": 1, "a": 2}, {"a": 0}],
    "nested": [{"x": [1, [2, "y"]]}, {"x": [1, []]}],
    "sets, bytes, complex numbers": [{1, 2}, b"a", 1 + 2j, {2, 1}],
    "records": [Told(1, "a"), Told(2, "b"), Place(0, 1.5), Place(1, 2.5)],
    "series": [pd.Series([1, 2], index=["u", "v"]), pd.Series([1.5], index=["v"])],
    "what has no hash": [bytearray(b"a"), bytearray(b"b")],
    "nothing that repeats": [object() for _ in range(5)],
}


@each(kind=KINDS)
def test_the_row_of_an_output_depends_on_no_other_output_of_its_batch(kind):
    """One by one, in batches of two, in one batch backwards, and beside outputs that the coding has never seen."""
    outputs = KINDS[kind]
    coding = Coding.of(outputs * 2)
    rows = coding.table(outputs)
    assert rows.shape == (len(outputs), len(coding.names))
    assert np.all(np.isfinite(rows))
    assert np.array_equal(coding.table(outputs[::-1])[::-1], rows)
    for place, output in enumerate(outputs):
        assert np.array_equal(coding.table([output])[0], rows[place])
        for beside in (None, "new", [1, 2, 3], 0.25, np.arange(9)):
            assert np.array_equal(coding.table([output, beside])[0], rows[place])


@each(kind=[kind for kind in KINDS if kind != "nothing that repeats"])
def test_outputs_that_differ_have_rows_that_differ(kind):
    outputs = KINDS[kind]
    rows = Coding.of(outputs * 2).table(outputs)
    for i, one in enumerate(outputs):
        for j, other in enumerate(outputs[:i]):
            assert np.array_equal(rows[i], rows[j]) == (repr(one) == repr(other))


def test_labels_that_occur_once_share_a_code_with_unseen_labels():
    """Else the search would know each by heart, and fresh runs would show it nothing."""
    coding = Coding.of(["a", "a", "b", "b", "token one", "token two"])
    kinds = coding.table(["a", "b", "token one", "token three"])[:, coding.names.index("the kind of the output")]
    assert kinds.tolist() == [0.0, 1.0, -1.0, -1.0]
    nested = Coding.of([[["a"]], [["a"]], [["token one"]]]).table([[["a"]], [["token one"]], [["token three"]]])
    assert len(np.unique(nested, axis=0)) == 2


def test_codes_do_not_tell_which_label_came_first():
    labels = ["b", "a", "c"]
    assert np.array_equal(Coding.of(labels * 2).table(["a", "b"]), Coding.of(labels[::-1] * 2).table(["a", "b"]))


def test_the_order_of_keys_is_part_of_the_shape_of_an_output():
    """The values keep their columns in the table whatever the order of the keys is."""
    coding = Coding.of([{"a": 1, "b": 2}, {"b": 2, "a": 1}] * 2)
    assert coding.names == ("entry a", "entry b", "the shape of the output")
    first, second = coding.table([{"a": 1, "b": 2}, {"b": 2, "a": 1}])
    assert np.array_equal(first[:2], second[:2])
    assert first[2] != second[2]


def test_plain_numbers_have_one_column_and_no_kind():
    assert Coding.of([1.5, 2.5]).names == ("the output",)
    assert Coding.of([(1, 2.5), (2, 3.5)]).names == ("entry 0", "entry 1")
    assert Coding.of([1, 2.5, 1, 2.5]).names == ("the output", "the kind of the output")


def test_numbers_are_floats_that_compare():
    assert [leaf_number(x) for x in (True, Fraction(1, 2), Decimal("0.25"), "about 12.5", "-3e2x")] == [
        1.0,
        0.5,
        0.25,
        12.5,
        -300.0,
    ]
    assert leaf_number(float("nan")) == leaf_number(Decimal("sNaN")) == NAN
    assert leaf_number(10**400) == -leaf_number(-(10**400)) == leaf_number(1e308) < leaf_number(np.inf) < NAN
    assert leaf_number(None) is leaf_number("many") is leaf_number(b"1") is None


def test_kinds_of_numbers_are_told_apart_but_not_whether_numpy_made_them():
    assert (
        leaf_label(1.5)
        == leaf_label(np.float32(1.5))
        != leaf_label(1)
        == leaf_label(np.int8(1))
        != leaf_label(True)
        == leaf_label(np.bool_(False))
    )
    assert leaf_label(Fraction(2)) == leaf_label(Fraction(1)) != leaf_label(Decimal(1)) != leaf_label(1.0)
    assert leaf_label("1") != leaf_label(1) != leaf_label(b"1") != leaf_label(None)


def test_missing_values_of_pandas_are_labels():
    coding = Coding.of([1.5, pd.NA, pd.NaT, None] * 2)
    assert len(np.unique(coding.table([1.5, pd.NA, pd.NaT, None]), axis=0)) == 4


def test_leaves_are_found_by_their_paths():
    leaves, _ = leaves_of({"a": [1, (None,)], "b": np.array([[1.5]])})
    assert leaves == {("a", 0): 1, ("a", 1, 0): None, ("b", 0, 0): 1.5}
    for container, inside in (
        (Told(1, "a"), {("count",): 1, ("group",): "a"}),
        (Told, {(): Told}),
        (1 + 2j, {("real",): 1, ("imag",): 2}),
        ({"b", "a"}, {(0,): "a", (1,): "b"}),
        (pd.Series([1.5], index=["u"]), {("u",): 1.5}),
        (MappingProxyType({"x": 1}), {("x",): 1}),
    ):
        assert leaves_of(container)[0] == inside


def test_wide_outputs_are_cut():
    assert Coding.of([np.zeros(MAX_COLUMNS + 9), np.ones(MAX_COLUMNS + 9)]).table(
        [np.zeros(MAX_COLUMNS + 9)]
    ).shape == (1, MAX_COLUMNS)
    assert Coding.of([[*range(MAX_COLUMNS + 9)], [1]]).table([[1]]).shape[1] <= 2 * MAX_COLUMNS + 2


def test_further_looks_come_first():
    coding = Coding.of([(1, 2), (3, 4)], {"sum": sum, "none": lambda _: float("nan")})
    assert coding.names[:2] == ("sum", "none")
    assert coding.table([(5, 6)]).tolist() == [[11.0, NAN, 5.0, 6.0]]


def test_in_the_column_of_numbers_nothing_is_no_number_and_not_zero():
    assert Coding.of([3, None, 0, None]).table([0, None, "none"])[:, 0].tolist() == [0.0, NAN, NAN]
    coding = Coding.of([[1, 2], [1], [0, 0], [1]])
    assert coding.table([[0, 0], [0]])[:, :2].tolist() == [[0.0, 0.0], [0.0, NAN]]
