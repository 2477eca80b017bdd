"""Two waves joined by person: exact numbers, and the people who are left out."""

import pandas as pd
import polars as pl
import pytest

from tests.survey.samples import MEMO, panel
from toolkit.analysis import Sample, estimates
from toolkit.survey.results import estimate
from toolkit.survey.results.comparing import _wave_notes, estimate_between_waves

COUNTS = [820, 430, 390, 360]
"""Pairs of reports no-no, no-yes, yes-no, yes-yes: those of `Memo`'s own reference."""


def frame(reports: list[str | None], people: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"cheated": reports, "faculty": ["arts"] * len(people), "understood": True, "person": people})


def waves() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 2,000 people in both waves, in a different order in the second wave, and some people in only one
    of them.
    """
    pairs = [pair for pair, count in enumerate(COUNTS) for _ in range(count)]
    people = [f"{place:032x}" for place in range(len(pairs))]
    said = ("no", "yes")
    first = frame([said[pair // 2] for pair in pairs] + ["yes"] * 3, [*people, "f" * 32, "e" * 32, "d" * 32])
    second = frame([said[pair % 2] for pair in pairs] + ["no"], [*people, "a" * 32])
    return first, second.sample(frac=1, random_state=3)


def results():
    first, second = waves()
    return estimate(panel(), first), estimate(panel(wave=2), second)


@pytest.mark.slow
def test_change_and_flows_are_those_of_the_memo_of_people_in_both_waves():
    first, second = results()
    change = second.change(first, "cheated")
    assert abs(change.value - 0.08) < 1e-12
    assert abs(change.se - 0.057257656) < 1e-9
    assert change.n == 2000
    assert change.loss.epsilon == MEMO.epsilon(2, truth="changing")
    flows = second.flows(first, "cheated")
    assert abs(flows.value - [0.848, 0.152, 0.072, -0.072]).max() < 1e-12
    told = "of people in both waves; in the earlier only 3, in the later only 1"
    assert told in change.notes
    assert told in flows.notes


def test_each_wave_is_estimated_as_any_survey_and_the_number_is_no_answer():
    first, _ = results()
    yes = 390 + 360 + 3
    assert abs(first["cheated"].value - (yes / 2003 - 3 / 8) * 4) < 1e-12
    assert "person" not in set(first.to_frame()["question"])
    table = waves()[0]
    found = estimates(table, {"cheated": MEMO.design})["cheated"]
    assert abs(found.value - first["cheated"].value) < 1e-15


def test_waves_later_in_the_panel_and_other_engines_join_alike():
    first, second = waves()
    later = estimate(panel(waves=4, wave=4), pl.from_pandas(second))
    assert abs(later.change(estimate(panel(waves=4), pl.from_pandas(first)), "cheated").value - 0.08) < 1e-12


@pytest.mark.slow
def test_a_number_that_comes_twice_in_a_wave_is_left_out_of_both():
    first, second = waves()
    copied = pd.concat([second, frame(["yes", "no"], [f"{0:032x}", f"{1999:032x}"])])
    found = estimate(panel(wave=2), copied).change(estimate(panel(), first), "cheated")
    assert found.n == 1998
    assert any(note.startswith("2 of the numbers that link waves occurred more than once") for note in found.notes)
    pairs = [(a, b) for a, b, count in ((0, 0, 819), (0, 1, 430), (1, 0, 390), (1, 1, 359)) for _ in range(count)]
    assert found.value == pytest.approx(MEMO.change(*zip(*pairs, strict=True)).value, abs=1e-12)


def test_missing_reports_are_counted_between_waves():
    """A row without the joining number joins nothing."""
    first, second = (frame(["yes", None, "no", "no"], ["a", "b", "c", None]), frame(["no"] * 3, ["a", "b", None]))
    question = panel()["cheated"]
    found = estimate_between_waves(question, first, second, type(MEMO).change)
    assert found.n == 1
    assert found.value == -4
    assert found.notes == (
        "of people in both waves; in the earlier only 1, in the later only 0",
        "1 sent no report on this question in one of the waves",
    )


@pytest.mark.parametrize(("earlier", "later", "told"), [(0, 0, 0), (1, 0, 1), (0, 29, 1), (30, 0, 0), (30, 31, 0)])
def test_a_few_in_one_wave_only_are_warned_of(earlier, later, told):
    notes = _wave_notes(earlier, later, 0, 0, minimum=30)
    assert sum("publish one of the two" in note for note in notes) == told == len(notes) - 1


@pytest.mark.slow
def test_what_cannot_be_compared_is_refused():
    first, second = results()
    with pytest.raises(ValueError, match="`earlier` must be the results of an earlier wave, got wave 2 for wave 1"):
        first.change(second, "cheated")
    with pytest.raises(ValueError, match="`earlier` must be the results of an earlier wave, got wave 2 for wave 2"):
        second.change(second, "cheated")
    with pytest.raises(ValueError, match="both results must belong to the same panel, got another number of waves"):
        second.change(estimate(panel(waves=3), waves()[0]), "cheated")
    with pytest.raises(ValueError, match="needs a question with a memo, got 'faculty'"):
        second.flows(first, "faculty")
    with pytest.raises(KeyError, match="the question must be one of cheated, faculty"):
        second.change(first, "stolen")
    with pytest.raises(ValueError, match="somebody must be in both waves, got nobody"):
        estimate(panel(wave=2), frame(["yes"], ["x"])).change(first, "cheated")
    with pytest.raises(ValueError, match="a change between waves needs results for all people, got by faculty"):
        estimate(panel(wave=2), waves()[1], by="faculty").change(first, "cheated")
    weighted = estimate(panel(wave=2), waves()[1], sample=Sample(weights=[1.0] * 2001))
    with pytest.raises(
        ValueError, match="a change between waves needs results for all people, got a sample with weights"
    ):
        weighted.change(first, "cheated")
    lacking = waves()[1].drop(columns="person")
    with pytest.raises(ValueError, match="reports of waves must have the column person, got none"):
        estimate(panel(wave=2), lacking).change(first, "cheated")


def few_in_both(both: int, people: int = 40, minimum: int = 30):
    """Return two waves of this many people each, some of whom are in both."""
    numbers = [f"{place:032x}" for place in range(2 * people - both)]
    first, second = frame(["yes"] * people, numbers[:people]), frame(["no"] * people, numbers[-people:])
    return estimate(panel(minimum=minimum), first), estimate(panel(wave=2, minimum=minimum), second)


@pytest.mark.slow
def test_of_fewer_people_than_the_minimum_in_both_waves_nothing_is_shown():
    """An earlier version showed one person in both waves as a change of -4, which revealed both of their reports."""
    for both in (1, 29):
        first, second = few_in_both(both)
        for verb in (second.change, second.flows):
            with pytest.raises(ValueError, match="at least 30 people must be in both waves, got fewer"):
                verb(first, "cheated")
    for minima in ((30, 1), (1, 30)):  # the larger minimum of two surveys applies
        (first, _), (_, second) = (few_in_both(29, minimum=minimum) for minimum in minima)
        with pytest.raises(ValueError, match="at least 30 people must be in both waves"):
            second.change(first, "cheated")
    first, second = few_in_both(30)
    assert second.change(first, "cheated").n == 30
    assert "publish one of the two" in " ".join(second.change(first, "cheated").notes)
    for both in (19, 20):  # this also applies if there are no others
        first, second = few_in_both(both, people=20)
        with pytest.raises(ValueError, match="at least 30 people"):
            second.change(first, "cheated")
    first, second = few_in_both(1, minimum=1)
    assert second.change(first, "cheated").n == 1
