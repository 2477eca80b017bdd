"""What was asked: randomizers and plain answers, told apart from what is neither."""

import pytest

from tests.survey.samples import DESIGNS
from toolkit import warner
from toolkit.analysis import plain
from toolkit.analysis.reports import QuestionModel, checked_designs, estimated_labels, is_single, of_shares


@pytest.mark.parametrize("name", DESIGNS)
def test_every_randomizer_is_something_that_was_asked(name: str) -> None:
    assert isinstance(DESIGNS[name], QuestionModel)
    assert of_shares(DESIGNS[name]) == (DESIGNS[name].asks != "number" or name == "square_wave")


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
        ({"report": 0.75}, "must be a randomizer, or what its to_dict wrote, got float"),
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
