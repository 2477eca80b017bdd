"""The catalogue of all randomizers; and a design that is added with one function and one line, and is then known to
survey files, phones, plans, audits and consent texts.
"""

import inspect
import json
from inspect import isabstract

import numpy as np
import pytest

import reference
from tests.commands.shell import said
from toolkit import Design, Survey, plan
from toolkit.audit import audit
from toolkit.core.randomness import integer_drawer
from toolkit.local import numeric, oracles, questions
from toolkit.local.catalogue import (
    CATALOGUE,
    NamedMaker,
    check_arguments,
    make_example,
    makers,
    parameter_requirements,
    restore,
)
from toolkit.local.sampled_randomizer import MatrixFreeRandomizer
from toolkit.survey.consent.page_data import shown_survey


def test_every_maker_of_the_three_rooms_is_listed():
    """Every public function that returns a randomizer is in the catalogue under its name."""
    listed = makers()
    made = [
        name
        for name, maker in vars(questions).items()
        if inspect.isfunction(maker) and maker.__module__ == questions.__name__
    ]
    made += [name for room in (oracles, numeric) for name in room.__all__ if inspect.isfunction(getattr(room, name))]
    assert {name for name in made if not name.startswith("_")} - {"limit", "ratio"} == set(listed) - {"matrix"}


def test_every_kind_of_randomizer_is_made_by_one_that_is_listed():
    made = {thing for room in (oracles, numeric) for thing in vars(room).values() if isinstance(thing, type)}
    kinds = {kind for listed in CATALOGUE.values() for kind in listed.classes}
    assert {kind for kind in made if issubclass(kind, MatrixFreeRandomizer) and not isabstract(kind)} <= kinds
    assert {type(make_example(name)) for name in CATALOGUE} <= kinds | {Design}


NO_ANSWERS = [
    [["SECRET"]], [["SECRET"], "SECRET"], [[["SECRET"]]], [{"SECRET": 1}], {"SECRET": 1}, [(["SECRET"],)], [object()],
    [None], [np.nan], [10**400], [2**63], [1 + 2j], [np.array([7])], np.full((2, 2, 2), 7), np.full((2, 2), "SECRET"),
]  # fmt: skip


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("verb", ["randomize", "estimate"])
def test_what_is_neither_an_answer_nor_a_report_is_refused_in_our_words(name, verb):
    """The values include ragged lists, unhashable labels and numbers that no machine type holds; messages quote none of
    them.
    """
    for wrong in NO_ANSWERS:
        with pytest.raises((ValueError, TypeError), match=r"must (be|have|hold|lie|not)\b.*, got ") as caught:
            getattr(make_example(name), verb)(wrong)
        assert "SECRET" not in str(caught.value)


def test_a_maker_says_what_it_takes_and_needs():
    assert parameter_requirements(questions.k_ary) == {"options": True, "epsilon": True}
    assert parameter_requirements(questions.crosswise) == {"p": False, "epsilon": False}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["yes", "maybe"], "`a design` takes yes, no, got 'maybe'"),
        (["yes"], "`a design` needs no, got only yes: write so"),
        ([], "`a design` needs yes, got nothing: write so"),
    ],
)
def test_wrong_and_missing_arguments_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        check_arguments(questions.forced, given, display_name="a design", example="write so")
    check_arguments(questions.forced, ["no", "yes"], display_name="a design", example="write so")


def two_coins() -> Design:
    """Two coins: two heads force a yes, two tails force a no, else the truth."""
    return Design([[3, 1], [1, 3]], 4, ("no", "yes"), name="two_coins")


FILE = """
title = "Exams"
consent = "Why we ask."
[[questions]]
name = "cheated"
text = "Have you ever cheated on an exam?"
design = {two_coins = {}}
"""


@pytest.fixture
def added(monkeypatch):
    """One function and one line are enough; nothing else is edited."""
    monkeypatch.setitem(CATALOGUE, "two_coins", NamedMaker(two_coins, {}))


@pytest.fixture
def survey(added, tmp_path):  # noqa: ARG001
    (tmp_path / "exams.toml").write_text(FILE)
    return Survey.load(tmp_path / "exams.toml")


def test_a_survey_file_calls_for_a_new_design_and_keeps_it(survey, tmp_path):
    assert survey["cheated"].design == two_coins()
    survey.save(tmp_path / "again.toml")
    assert Survey.load(tmp_path / "again.toml").hash == survey.hash
    assert restore(json.loads(json.dumps(two_coins().to_dict()))) == two_coins()


def test_a_phone_draws_a_new_design_and_the_results_go_back_through_it(survey):
    shown = shown_survey(survey)["questions"][0]["randomizer"]
    assert (shown["weights"], shown["denominator"]) == ([[3, 1], [1, 3]], 4)
    draw = integer_drawer(np.random.default_rng(1))
    reports = [survey["cheated"].design._draw_report(truth, draw) for truth in [1] * 300 + [0] * 700]
    estimate = survey["cheated"].design._estimate_from_raw_reports(reports)
    assert abs(estimate.value - 0.3) < 4 * estimate.se


def test_people_are_told_the_odds_of_a_new_design(survey):
    assert "3 times in 4" in survey.consent_text()
    assert two_coins().devices()[0].exact


@pytest.mark.usefixtures("added")
def test_a_new_design_can_be_planned_in_python_and_in_the_shell(capsys):
    assert plan(two_coins(), prevalence=0.1, n=1000).se == pytest.approx(two_coins().variance(0.1, 1000) ** 0.5)
    assert "1,000 people, epsilon 1.099," in said(capsys, "plan", "two_coins", "--prevalence", "0.1", "--n", "1000")


def test_a_new_design_can_be_audited():
    verdict = audit(two_coins(), runs=2000, rng=np.random.default_rng(1))
    assert not verdict.violated


def test_the_reference_lists_a_new_design(monkeypatch):
    """The table of designs in docs/reference/toolkit.md is made from the catalogue."""
    monkeypatch.setitem(CATALOGUE, "two_coins", NamedMaker(two_coins, {}))
    line = "| `two_coins` | yes or no | Two coins: two heads force a yes, two tails force a no, else the truth. |"
    assert line in reference.expand("```{designs}\n```")
