import json
from typing import Any

import pytest

from tests.survey.samples import DESIGNS
from toolkit import Design, crosswise, forced, forced_options, k_ary, kuk, mangat, triangular, unrelated, warner
from toolkit.local import numeric, oracles
from toolkit.local.catalogue import CATALOGUE, make_example
from toolkit.local.waves import Memo
from toolkit.survey.questions.question_fields import read_design

THREE = {"warner": {"p": "3/4"}}
DECK = {"-3": 0.25, "0": 0.5, "3": 0.25}
WRITTEN: list[tuple[dict[str, Any], Any]] = [
    ({"warner": {"p": "2/3"}}, warner(p="2/3")),
    ({"warner": {"epsilon": 1.0}}, warner(epsilon=1.0)),
    ({"forced": {"yes": "1/6", "no": "1/6"}}, forced(yes="1/6", no="1/6")),
    ({"unrelated": {"p": 0.7, "prevalence": 0.3}}, unrelated(p=0.7, prevalence=0.3)),
    ({"mangat": {"p": 0.5}}, mangat(0.5)),
    ({"kuk": {"p_yes": "4/5", "p_no": "1/5", "draws": 2}}, kuk("4/5", "1/5", draws=2)),
    ({"crosswise": {"p": "1/4"}}, crosswise("1/4")),
    ({"triangular": {"p": "1/4"}}, triangular("1/4")),
    ({"k_ary": {"options": ["a", "b", "c"], "epsilon": 1}}, k_ary(["a", "b", "c"], epsilon=1)),
    ({"forced_options": {"options": 3, "probabilities": ["1/6"] * 3}}, forced_options(3, ["1/6"] * 3)),
    ({"best": {"options": 8, "epsilon": 1.0}}, oracles.best(8, 1.0)),
    ({"subset": {"options": 8, "epsilon": 1.0, "size": 2}}, oracles.subset(8, 1.0, size=2)),
    ({"unary": {"options": 8, "epsilon": 1.0}}, oracles.unary(8, 1.0)),
    ({"optimized_unary": {"options": 8, "epsilon": 1.0}}, oracles.optimized_unary(8, 1.0)),
    ({"local_hash": {"options": 8, "epsilon": 1.0}}, oracles.local_hash(8, 1.0)),
    ({"tick_boxes": {"options": 8, "epsilon": 1.0, "most": 1}}, oracles.tick_boxes(8, 1.0, most=1)),
    ({"one_bit": {"bounds": [0, 80], "epsilon": 1.0}}, numeric.one_bit((0, 80), 1.0)),
    ({"piecewise": {"bounds": [0, 80], "epsilon": 1.0}}, numeric.piecewise((0, 80), 1.0)),
    ({"hybrid": {"bounds": [0, 80], "epsilon": 1.0}}, numeric.hybrid((0, 80), 1.0)),
    ({"local_laplace": {"bounds": [0, 80], "epsilon": 1.0}}, numeric.local_laplace((0, 80), 1.0)),
    ({"additive": {"bounds": [0, 20], "noise": DECK}}, numeric.additive((0, 20), {-3: 0.25, 0: 0.5, 3: 0.25})),
    (
        {"multiplicative": {"bounds": [1, 30], "noise": {"1/2": 0.5, "3/2": 0.5}}},
        numeric.multiplicative((1, 30), {"1/2": 0.5, "3/2": 0.5}),
    ),
    ({"square_wave": {"bounds": [0, 80], "epsilon": 1.0}}, numeric.square_wave((0, 80), 1.0)),
    (
        {"matrix": {"matrix": [["3/4", "1/4"], [0.25, 0.75]], "options": ["no", "yes"], "name": "mine"}},
        Design([[3, 1], [1, 3]], 4, ("no", "yes"), name="mine"),
    ),
]


@pytest.mark.parametrize(("data", "made"), WRITTEN, ids=[next(iter(data)) for data, _ in WRITTEN])
def test_every_maker_can_be_written_by_name(data: dict[str, Any], made: Any) -> None:
    assert read_design(data) == made


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_example_of_every_maker_is_read_by_name(name: str) -> None:
    assert read_design({name: dict(CATALOGUE[name].example)}) == make_example(name)


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_the_integers_are_read_back(design: Any) -> None:
    assert read_design(json.loads(json.dumps(design.to_dict()))) == design


def test_designs_take_options_and_bounds_from_the_question() -> None:
    """A design may also have its own text."""
    assert read_design({"k_ary": {"epsilon": 1.0}}, options=["a", "b"], bounds=None).options == ("a", "b")  # type: ignore[attr-defined]
    assert read_design({"k_ary": {"epsilon": 1.0, "options": ["x", "y"]}}, options=["a", "b"]).options == ("x", "y")  # type: ignore[attr-defined]
    assert read_design({"one_bit": {"epsilon": 1.0}}, bounds=[0, 8]) == numeric.one_bit((0, 8), 1.0)
    assert read_design({"warner": {"p": "2/3"}}, options=["no", "yes"]) == warner(p="2/3")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("warner", r"`design` must be a table, got str: write for example design = {warner"),
        ({}, "must name one of warner, forced, .*got nothing"),
        ({"warner": {"p": 0.7}, "forced": {}}, "must name one of .*got warner, forced"),
        ({"coin": {"p": 0.7}}, "must name one of .*got coin"),
        ({"__import__": {"name": "os"}}, "must name one of"),
        (
            {"warner": 0.7},
            (
                r"`design.warner` must be a table of its arguments, got float: write design = {warner = {p = …, "
                r"epsilon = …}}"
            ),
        ),
        ({"warner": {"q": 0.7}}, "`design.warner` takes p, epsilon, got 'q'"),
        ({"warner": {"p": 0.5}}, "must differ from 1/2"),
        ({"warner": {"p": True}}, "must be a number"),
        ({"k_ary": {"epsilon": 1.0}}, "`design.k_ary` needs options, got only epsilon"),
        ({"one_bit": {}}, "`design.one_bit` needs bounds, got nothing"),
        ({"kind": "coin"}, "`kind` must be one of"),
        ({"matrix": {"matrix": [[0] * 10_000, [0]]}}, "must have at most 10,000 probabilities, got 10,001: use k_ary"),
        ({"matrix": {"matrix": [[0] * 9_999, [0]]}}, "`design.matrix` needs options|row"),
        ({"weights": [[1, 0], [0, 1]]}, "a design must have the fields"),
        ({"memo": 3}, "`design.memo` must have the designs permanent and fresh, got int: write design = {memo"),
        ({"memo": {"permanent": THREE}}, "must have the designs permanent and fresh, got permanent"),
        ({"memo": {}}, "must have the designs permanent and fresh, got nothing"),
        ({"memo": {"permanent": THREE, "fresh": {"warnr": {}}}}, "design.memo.fresh: `design` must name one of"),
        ({"kind": "memo"}, "the data of a 'memo' must have that kind"),
    ],
)
def test_what_is_no_design_is_refused_with_an_example(data: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        read_design(data)


def test_a_memo_is_written_as_two_designs_and_read_back() -> None:
    memo = Memo(warner("3/4"), forced("1/6", "1/6"))
    assert read_design({"memo": {"permanent": THREE, "fresh": {"forced": {"yes": "1/6", "no": "1/6"}}}}) == memo
    assert read_design(memo.to_dict()) == memo


def test_a_likert_scale_is_written_by_its_points() -> None:
    assert read_design({"likert": {"points": 5, "epsilon": 0.8}}) == k_ary([1, 2, 3, 4, 5], epsilon=0.8)
    for wrong in ({"points": 5}, {"points": 5, "epsilon": 1, "p": 1}, 5, {}):
        with pytest.raises(ValueError, match=r"must have points and epsilon, got .*write design = \{likert"):
            read_design({"likert": wrong})
    with pytest.raises(ValueError, match="`points` must be at most"):
        read_design({"likert": {"points": 10**9, "epsilon": 1}})
