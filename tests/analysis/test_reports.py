"""What was asked: randomizers and plain answers, told apart from what is neither."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from tests.slowly import each
from tests.survey.samples import DESIGNS
from toolkit import crosswise, forced, k_ary, kuk, warner
from toolkit.analysis import plain
from toolkit.analysis.reports import (
    UNREADABLE,
    QuestionModel,
    Reader,
    checked_designs,
    estimated_labels,
    is_single,
    model_estimates_shares,
)
from toolkit.local import numeric, oracles


@each(name=DESIGNS)
def test_every_randomizer_is_something_that_was_asked(name: str) -> None:
    assert isinstance(DESIGNS[name], QuestionModel)
    assert model_estimates_shares(DESIGNS[name]) == (DESIGNS[name].answer_kind != "number" or name == "square_wave")


def test_estimates_have_a_label_for_each_thing_that_is_estimated() -> None:
    assert estimated_labels(plain(["f", "m"])) == ("m",)
    assert estimated_labels(plain(["f", "m"], multiple=True)) == ("f", "m")
    assert estimated_labels(plain(bounds=(0, 9))) == ("mean",)
    assert len(estimated_labels(DESIGNS["square_wave"])) > 10
    assert [is_single(DESIGNS[name]) for name in ("warner", "one_bit", "square_wave", "random_box")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("designs", "words"),
    [
        ({"report": "warner"}, "write warner\\('3/4'\\) and not 'warner'"),
        ({"report": 0.75}, "must be a randomizer, or the dictionary of its `to_dict`, got float"),
        ({}, "`designs` must be randomizers by column"),
        ([warner("3/4")], "`designs` must be randomizers by column, got list"),
        ({1: warner("3/4")}, "named by text"),
        ({"report": warner}, "must be a randomizer"),
    ],
)
def test_what_is_no_design_is_refused(designs, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        checked_designs(designs)


def test_a_saved_design_is_as_good_as_itself() -> None:
    assert checked_designs({"report": warner("3/4").to_dict()}) == {"report": warner("3/4")}


DIE = Reader("report", forced("1/6", "1/6"), (9, "refused"))


@each(cell=["yes", " YES ", "Y", "true", "1", 1, 1.0, True, np.True_, np.int8(1), "Sí", Decimal(1)])
def test_yes_is_read_in_all_its_forms(cell) -> None:
    assert DIE.read(cell) == 1


@pytest.mark.parametrize("cell", ["no", "No", "n", "False", "0", 0, 0.0, False, np.False_, "nein"])
def test_and_no(cell) -> None:
    assert DIE.read(cell) == 0


@pytest.mark.parametrize("cell", [None, np.nan, pd.NA, pd.NaT, "", "  ", 9, 9.0, "9", "Refused"])
def test_what_is_missing_is_no_report(cell) -> None:
    assert DIE.read(cell) is None


@pytest.mark.parametrize("cell", ["maybe", 2, -1, 0.5, "yes no", np.inf])
def test_all_else_is_strange(cell) -> None:
    assert DIE.read(cell) is UNREADABLE


def test_the_direction_of_a_crosswise_report_is_never_guessed() -> None:
    reader = Reader("report", crosswise("0.15"))
    assert [reader.read(cell) for cell in ("Same", "different")] == [1, 0]
    assert all(reader.read(cell) is UNREADABLE for cell in (0, 1, True, "yes"))
    with pytest.raises(ValueError, match=r"\(different, same\), got 3 of 5 rows with something else: map them"):
        reader.read_all([("same", 2), (1, 3)])


def test_numbers_are_labels_where_labels_are_numbers() -> None:
    cards = Reader("cards", kuk("4/5", "1/5", draws=2))
    assert [cards.read(cell) for cell in (0, "1", 2.0)] == [0, 1, 2]
    assert cards.read(True) is UNREADABLE
    points = Reader("points", k_ary([1, 2, 3], epsilon=1.0))
    assert [points.read(cell) for cell in (1, 3, 0)] == [0, 2, UNREADABLE]


def test_labels_that_differ_in_their_case_alone_are_read_as_written() -> None:
    reader = Reader("unit", k_ary(["kg", "KG", "g"], epsilon=1.0))
    assert [reader.read(cell) for cell in ("kg", "KG", "Kg", "G")] == [0, 1, UNREADABLE, 2]


def test_sets_and_numbers_are_read_as_phones_send_them() -> None:
    subset = Reader("set", oracles.subset(8, 1.0))
    size = subset.design.size
    assert subset.read(str(list(range(size)))) == list(range(size))
    assert subset.read(np.arange(size)) == list(range(size))
    assert subset.read("[0, 99]") is UNREADABLE
    assert subset.read("nothing") is UNREADABLE
    bit = Reader("bit", numeric.one_bit((0, 80), 1.0), (-9,))
    assert [bit.read(cell) for cell in (0, 1.0, "1", -9, 2)] == [0, 1, 1, None, UNREADABLE]


def test_a_missing_code_must_not_be_a_report() -> None:
    for code in (0, "Yes", "n"):
        with pytest.raises(ValueError, match="both a report and a missing answer"):
            Reader("report", warner("3/4"), (code,))
