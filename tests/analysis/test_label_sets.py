"""Counted equals `Sample(weights=1)`, for every verb and all labels: inside, reports are codes."""

import json
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.local.test_label_sets import SETS
from toolkit import Question, Survey, k_ary
from toolkit.analysis import Sample, association, estimates, logistic, multinomial, plain, predictor
from toolkit.core.estimate import Estimate
from toolkit.core.randomness import integer_drawer
from toolkit.local import numeric, oracles
from toolkit.local.design import Design
from toolkit.local.questionnaire import likert
from toolkit.studio.surveys import EXAMPLES
from toolkit.survey import results
from toolkit.survey.results.table import reports_table

N = 300
ALIKE = Sample(weights=np.ones(N))
TWO = {name: labels for name, labels in SETS.items() if len(labels) == 2} | {"first two": (1, 2)}


def _people(design: Design, seed: int) -> list[Any]:
    codes = np.random.default_rng(seed).choice(len(design.report_options), N, p=_law(design))
    return [design.report_options[code] for code in codes]


def _law(design: Design) -> np.ndarray:
    shares = np.arange(1, len(design.options) + 1) / sum(range(len(design.options) + 1))
    return np.asarray(shares @ design.matrix)


def _frame(**columns: list[Any]) -> pd.DataFrame:
    """Columns of both kinds stay objects."""
    return pd.DataFrame({name: pd.Series(cells, dtype=_dtype(cells)) for name, cells in columns.items()})


def _dtype(cells: list[Any]) -> Any:
    return object if len({type(cell) for cell in cells}) > 1 else None


def _same(one: Estimate, other: Estimate) -> None:
    """Values and errors; intervals are made otherwise. The variance of a group of n has the divisor n - 1
    where it was counted, and (N - 1) n / N where it is a domain of a sample of N, as in R's survey package.
    """
    assert one.labels == other.labels
    assert np.asarray(one.value) == pytest.approx(np.asarray(other.value), abs=1e-12)
    factor = np.sqrt((one.n - 1) / one.n * N / (N - 1))
    assert factor * np.asarray(one.se) == pytest.approx(np.asarray(other.se), rel=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_shares_and_differences_are_those_that_were_counted(name: str) -> None:
    design = k_ary(SETS[name], epsilon=1.0)
    frame = _frame(a=_people(design, 1), g=list(np.random.default_rng(2).choice([True, False], N)))
    counted, drawn = estimates(frame, {"a": design}), estimates(frame, {"a": design}, sample=ALIKE)
    _same(counted["a"], drawn["a"])
    direct = design.estimate(frame.a)
    _same(direct, drawn["a"])
    scores = design.scores(frame.a)
    assert np.asarray(ALIKE.mean(scores).value) == pytest.approx(np.asarray(direct.value))
    groups = [estimates(frame, {"a": design}, by="g", sample=sample) for sample in (None, ALIKE)]
    for group in (True, False):
        _same(groups[0]["a"][group], groups[1]["a"][group])
    gaps = [one.differences(True).difference for one in groups]
    assert gaps[0].to_numpy() == pytest.approx(gaps[1].to_numpy(), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_pairs_of_answers_are_those_that_were_counted(name: str) -> None:
    design = k_ary(SETS[name], epsilon=1.0)
    frame = _frame(a=_people(design, 1), b=_people(design, 2))
    both = {"a": design, "b": design}
    _same(association(frame, both).table, association(frame, both, sample=ALIKE).table)
    found = [estimates(frame, both, sample=sample) for sample in (None, ALIKE)]
    _same(*(one.joint("a", "b") for one in found))


@pytest.mark.parametrize("name", TWO)
def test_a_difference_of_two_questions_is_that_of_their_estimates(name: str) -> None:
    """With [1, 0] it was -0.066 where 0.474 is right."""
    design = k_ary(TWO[name], epsilon=1.0)
    first, last = design.report_options
    frame = _frame(a=[last] * 200 + [first] * 100, b=[last] * 100 + [first] * 200)
    right = design.estimate(frame.a).value - design.estimate(frame.b).value
    assert right > 0.4
    for sample in (None, ALIKE):
        found = estimates(frame, {"a": design, "b": design}, sample=sample)
        assert found.difference("a", "b").value == pytest.approx(right)


@pytest.mark.parametrize("name", SETS)
def test_regressions_read_the_labels_that_estimates_read(name: str) -> None:
    design = k_ary(SETS[name], epsilon=3.0)
    x = np.random.default_rng(4).random(N)
    frame = _frame(y=_people(design, 3), x=x.tolist())
    fit = logistic if len(design.options) == 2 else multinomial
    found, drawn = (fit("y ~ x", frame, design, sample=sample) for sample in (None, ALIKE))
    assert found.value == pytest.approx(drawn.value, abs=1e-9)
    codes = [design.report_options.index(report) for report in frame.y]
    by_code = k_ary(tuple(f"option {label}" for label in design.options), epsilon=3.0)
    assert found.value == pytest.approx(fit("y ~ x", frame.assign(y=codes), by_code).value, abs=1e-9)
    mean = found.margins().value if len(design.options) > 2 else [found.margins().value]
    assert np.sum(mean) == pytest.approx(1, abs=1e-9) or len(design.options) == 2


@pytest.mark.parametrize("name", TWO)
def test_a_hidden_predictor_reads_the_labels_that_estimates_read(name: str) -> None:
    design = k_ary(TWO[name], epsilon=3.0)
    outcome = np.random.default_rng(6).normal(size=N)
    frame = _frame(a=_people(design, 3)).assign(z=outcome)
    told = frame.assign(a=[("no", "yes")[design.report_options.index(report)] for report in frame.a])
    found, drawn = (predictor("z ~ a", frame, {"a": design}, sample=sample) for sample in (None, ALIKE))
    words = predictor("z ~ a", told, {"a": k_ary(("no", "yes"), epsilon=3.0)})
    assert found.value == pytest.approx(drawn.value, abs=1e-7)
    assert found.value == pytest.approx(words.value, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("column", [[1, 2], [1.0, 2.0], ["1", "2"]])
def test_texts_that_look_like_numbers_are_found_by_what_they_look_like(column: list[Any]) -> None:
    """Of the labels "1", "2", "3" nobody reported the last: as codes 1 and 2 would be "2" and "3"."""
    design = k_ary(("1", "2", "3"), epsilon=3.0)
    frame = pd.DataFrame({"a": column * 150})
    right = design.estimate_counts([150, 150, 0]).value
    assert estimates(frame, {"a": design})["a"].value == pytest.approx(right)
    assert estimates(frame, {"a": design}, sample=ALIKE)["a"].value == pytest.approx(right)
    assert multinomial("a ~ 1", frame, design, penalty="jeffreys").margins().value[2] < 0.1


@pytest.mark.parametrize(
    ("labels", "cells"),
    [
        ((False, True), [True, False, True]),
        ((True, False), [True, False, True]),
        ((date(2026, 1, 2), date(2026, 1, 1)), pd.to_datetime(["2026-01-02", "2026-01-01", "2026-01-02"])),
        ((date(2026, 1, 2), date(2026, 1, 1)), [date(2026, 1, 2), date(2026, 1, 1), date(2026, 1, 2)]),
        (("2026-01-02", "2026-01-01"), [date(2026, 1, 2), date(2026, 1, 1), date(2026, 1, 2)]),
    ],
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_plain_answers_may_be_truth_values_and_dates(labels: Any, cells: Any, frame: Any) -> None:
    data = frame({"a": list(cells) * 100})
    asked = plain(labels)
    found = [estimates(data, {"a": asked}, sample=sample)["a"] for sample in (None, ALIKE)]
    _same(*found)
    last = [cell for cell in cells if str(cell).startswith(str(labels[-1]))]
    assert found[0].value == pytest.approx(len(last) / 3)


@pytest.mark.parametrize("labels", [(False, True), (date(2026, 1, 1), date(2026, 1, 2))])
def test_what_cannot_be_written_to_json_is_no_label_of_a_design(labels: Any) -> None:
    with pytest.raises(TypeError, match="strings or whole numbers"):
        k_ary(labels, epsilon=1.0)


SENT = {
    "subset": oracles.subset([5, 4, 3, 2, 1, 0], 1.0, size=2),
    "subset of one": oracles.subset([2, 1, 0], 1.0, size=1),
    "unary": oracles.unary([2, 1, 0], 1.0),
    "local hash": oracles.local_hash([3, 2, 1, 0], 1.0),
    "capped boxes": oracles.tick_boxes([2, 1, 0], 2.0, how="capped", most=1),
    "bit": numeric.one_bit((1, 5), 1.0),
    "likert": likert(5, 1.0).distribution,
}


@pytest.mark.parametrize("kind", SENT)
def test_what_phones_send_is_the_same_counted_and_drawn(kind: str) -> None:
    randomizer, draw = SENT[kind], integer_drawer(np.random.default_rng(8))
    truths = np.random.default_rng(9).integers(0, 2, N).tolist()
    boxes = randomizer.answer_kind == "ticks"
    cells = [randomizer._draw_report([truth] if boxes else truth, draw) for truth in truths]
    if isinstance(randomizer, Design):
        cells = [randomizer.report_options[code] for code in cells]
    frame = pd.DataFrame({"a": [str(cell) if isinstance(cell, list) else cell for cell in cells]})
    found = [estimates(frame, {"a": randomizer}, sample=sample)["a"] for sample in (None, ALIKE)]
    assert found[0].labels == found[1].labels
    assert np.asarray(found[0].value) == pytest.approx(np.asarray(found[1].value), abs=1e-9)
    assert np.asarray(found[0].se) == pytest.approx(np.asarray(found[1].se), rel=1e-6)


@pytest.mark.slow
def test_the_starter_survey_is_estimated_with_a_sample() -> None:
    """Its Likert question was refused: codes 0 … 4 are not all among the labels 1 … 5."""
    survey = Survey.load(EXAMPLES["exam"])
    draw, rng = integer_drawer(np.random.default_rng(8)), np.random.default_rng(9)
    bodies = []
    for _ in range(N):
        answers = {question.name: _sent(question, draw, rng) for question in survey.questions}
        bodies.append(json.dumps({"answers": answers, "understood": True}))
    reports = reports_table(survey, bodies)
    found = [results.estimate(survey, reports, sample=sample) for sample in (None, ALIKE)]
    assert "pressure" in [one.question for one in found[1].group_estimates]
    for one, other in zip(found[0].group_estimates, found[1].group_estimates, strict=True):
        assert one.question == other.question
        assert np.asarray(one.estimate.value) == pytest.approx(np.asarray(other.estimate.value), abs=1e-9)


def _sent(question: Question, draw: Any, rng: np.random.Generator) -> Any:
    """What a phone sends: a code, a list of codes or a number."""
    if question.kind == "text":
        return None
    low, high = (0, len(question.options) - 1) if question.bounds is None else map(int, question.bounds)
    truth = int(rng.integers(low, high + 1))
    given = [truth] if question.kind == "ticks" else truth
    return given if question.design is None else question.design._draw_report(given, draw)
