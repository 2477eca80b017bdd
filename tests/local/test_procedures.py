"""The procedure that produces a report follows from how a design was made, never from its name."""

import math
from fractions import Fraction
from typing import Any

import pytest

from toolkit import Design, crosswise, forced, forced_options, k_ary, kuk, mangat, triangular, unrelated, warner
from toolkit.local.birthdays import born, estimate_shift, innocuous_share
from toolkit.local.catalogue import restore

YES_NO = ("no", "yes")
MADE = {
    "forced": forced("1/6", "1/6"),
    "crosswise": crosswise("1/4"),
    "triangular": triangular("1/4"),
    "unrelated": unrelated("2/3", "1/4"),
}
COMMON = ("weights", "denominator", "options", "report_options")


def renamed(design: Design, name: str = "mine", **procedure: Any) -> Design:
    return Design(**{field: getattr(design, field) for field in COMMON}, name=name, **procedure)


def old_data(design: Design, **changes: Any) -> dict[str, Any]:
    """The data that versions without this field wrote."""
    data = {field: getattr(design, field) for field in COMMON} | {"name": design.name}
    return {**data, "weights": design.weights.tolist(), "options": [*design.options]} | {
        "report_options": [*design.report_options],
        **changes,
    }


@pytest.mark.parametrize("procedure", MADE)
def test_makers_say_how_a_report_is_produced(procedure: str) -> None:
    assert MADE[procedure].procedure == procedure
    assert all(device.design.procedure in (procedure, None) for device in MADE[procedure].devices())


def test_forced_options_force_and_other_designs_say_nothing() -> None:
    assert forced_options(3, ["1/6"] * 3).procedure == "forced"
    others = [warner("5/6"), mangat("2/3"), kuk("4/5", "1/5"), k_ary(3, epsilon=1.0)]
    assert {design.procedure for design in others} == {None}


@pytest.mark.parametrize("name", ["forced", "enforced", "crosswise", "triangular", "unrelated"])
def test_a_name_says_nothing(name: str) -> None:
    design = Design([[5, 1], [1, 5]], 6, YES_NO, name=name)
    assert design.procedure is None
    assert design.describe() == warner("5/6").describe()
    assert innocuous_share(design) is None
    assert restore(design.to_dict()) == design
    assert restore(design.to_dict()).procedure is None


@pytest.mark.parametrize("p", [0.1, math.pi / 7, Fraction(1, 3), "2/7", 0.9, 1e-7, 0, 1])
def test_reports_that_compare_answers_make_a_crosswise_design(p: Any) -> None:
    assert crosswise(p).procedure == "crosswise"
    assert renamed(crosswise(p)).procedure == "crosswise"


def test_the_labels_of_options_do_not_change_a_design() -> None:
    """Designs with equal integers and procedures behave alike under any labels."""
    for procedure, design in MADE.items():
        other = renamed(design, procedure=procedure)
        assert other.describe() == design.describe()
        assert innocuous_share(other) == innocuous_share(design)
        assert restore(other.to_dict()) == other
        assert restore(other.to_dict()).procedure == procedure
    assert estimate_shift(renamed(crosswise(born("jan-apr"))), 0.1) == estimate_shift(crosswise(born("jan-apr")), 0.1)


def test_data_of_older_versions_have_the_procedure_that_their_name_had() -> None:
    for procedure, design in MADE.items():
        assert design.to_dict() == old_data(design), "the hash of a survey stays what it was"
        assert restore(old_data(design)) == design
        assert restore(old_data(design)).procedure == procedure
    assert restore(old_data(MADE["forced"], name="enforced")).procedure == "forced"
    assert restore(old_data(MADE["forced"], name="enforced")).to_dict() == old_data(MADE["forced"], name="enforced")
    assert restore(old_data(MADE["crosswise"], report_options=["a", "b"])).procedure == "crosswise"
    assert restore(old_data(MADE["crosswise"], report_options=["same", "different"])).procedure is None
    assert restore(old_data(MADE["forced"], name="triangular")).procedure is None, "nothing to go by"


@pytest.mark.parametrize(
    ("procedure", "design"),
    [
        ("crosswise", MADE["triangular"]),
        ("crosswise", k_ary(3, epsilon=1.0)),
        ("triangular", MADE["crosswise"]),
        ("unrelated", k_ary(3, epsilon=1.0)),
    ],
)
def test_a_procedure_with_other_probabilities_is_refused(procedure: Any, design: Design) -> None:
    with pytest.raises(ValueError, match=f"must be those of a {procedure} design"):
        renamed(design, procedure=procedure)
    with pytest.raises(ValueError, match="`procedure` must be one of forced, crosswise, triangular, unrelated"):
        renamed(design, procedure="coin")


def test_an_unrelated_question_that_nobody_is_asked_has_no_share() -> None:
    assert innocuous_share(unrelated(1, "1/4")) is None
