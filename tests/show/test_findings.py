import re
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from tests.survey.results.test_printing import asked, frame
from tests.survey.samples import DESIGNS, cheated, survey, survey_with
from toolkit import Question
from toolkit.show import estimate_intervals, findings
from toolkit.survey.results import estimate


@pytest.mark.slow
def test_shares_stand_on_one_axis_in_percent_and_a_mean_on_its_own():
    """A mean of ten drinks was once drawn as a share of 1000 %."""
    found = estimate(asked(), frame())
    shares, drinks = found.plot().figure.axes
    assert shares.get_xlabel() == "share of people"
    assert drinks.get_xlabel() == "mean of drinks"
    found.plot().figure.draw_without_rendering()
    assert not any("%" in label.get_text() for label in drinks.get_xticklabels())
    assert all("%" in label.get_text() for label in shares.get_xticklabels())
    places = [line.get_xdata()[0] for line in drinks.lines if len(line.get_xdata()) == 1]
    assert places == [found["drinks"].value]
    (bar,) = [line for line in drinks.lines if len(line.get_xdata()) == 2]
    assert tuple(bar.get_xdata()) == tuple(found["drinks"].interval())


def test_groups_share_a_row_and_have_a_legend_with_distinct_marks():
    """The legend gives the labels of the groups."""
    shares, _ = estimate(asked(), frame(), by="faculty").plot().figure.axes
    assert [text.get_text() for text in shares.get_legend().get_texts()] == ["faculty Arts & Letters", "faculty Law"]
    assert [label.get_text() for label in shares.get_yticklabels()] == ["year: second or later", "cheated: Yes"]
    marks = [line.get_marker() for line in shares.get_legend().get_lines()]
    assert len(set(marks)) == 2


def by_city(*names):
    city = Question("city", "City?", options=names)
    rng = np.random.default_rng(1)
    reports = pd.DataFrame({"city": rng.choice(names, 900), "cheated": rng.choice(["no", "yes"], 900)})
    return estimate(survey(city, cheated(), check=False), reports, by="city")


def test_with_many_groups_each_has_a_row_and_no_mark_is_used_twice():
    """Of six each has a mark of its own. A name of 34 letters stands there whole."""
    (ax,) = by_city(*"abcde", "f" * 14, "g" * 15).plot().figure.axes
    assert ax.get_legend() is None
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        *(f"cheated: Yes (city {name})" for name in ("a", "b", "c", "d", "e", "f" * 14)),
        f"cheated: Yes (city {'g' * 14}…",
    ]
    (six,) = by_city(*"abcdef").plot().figure.axes
    assert len({line.get_marker() for line in six.get_legend().get_lines()}) == 6
    assert [label.get_text() for label in six.get_yticklabels()] == ["cheated: Yes"]


def test_more_estimates_than_a_picture_holds_are_refused(monkeypatch):
    results = by_city(*"abcdefg")
    for most, refused in ((7, False), (6, True)):
        monkeypatch.setattr(findings, "_MAX_ROWS", most)
        with pytest.raises(ValueError, match="at most 6 estimates, got 7") if refused else nullcontext():
            results.plot()


@pytest.mark.slow
def test_the_words_say_every_number_in_its_unit():
    found = estimate(asked(), frame(), by="faculty")
    said = found.plot().alt
    arts = found["cheated"]["arts"]
    low, high = arts.interval()
    assert (
        f"cheated: Yes (faculty Arts & Letters) {100 * arts.value:.0f} % ({100 * low:.0f} % to "
        f"{100 * high:.0f} %)" in said
    )
    assert re.search(r"drinks \(faculty Law\) [\d.]+ \([\d.]+ to [\d.]+\)", said)
    bundle, _ = found.plot()._repr_mimebundle_()
    assert {"text/html", "image/png", "text/plain"} == set(bundle)


def test_contradicted_and_outside_estimates_are_explained_in_words():
    """This concerns a dot outside its interval, and reports that fit no share."""
    outside = estimate(survey(cheated(), check=False), pd.DataFrame({"cheated": ["yes"] * 25 + ["no"] * 75})).plot()
    assert "an unbiased estimate can lie outside 0 to 100 %" in outside.figure.axes[0].get_xlabel()
    strange = estimate(survey(cheated(), check=False), pd.DataFrame({"cheated": ["no"] * 60})).plot()
    assert "no share fits" in strange.alt
    assert any("no share fits" in text.get_text() for text in strange.figure.axes[0].texts)


@pytest.mark.slow
def test_a_group_that_left_a_question_empty_is_said_and_stops_nothing():
    gap = frame(60).assign(cheated=lambda one: one["cheated"].where(one["faculty"] == "arts"))
    sheet = estimate(asked(), gap, by="faculty", minimum=0).plot()
    assert "nobody answered" in sheet.alt
    assert sheet._repr_mimebundle_()


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_every_randomizer_can_be_drawn_or_says_why_not(name):
    question = survey_with(DESIGNS[name], check=False)["asked"]
    sent = _reports(question)
    found = estimate(survey_with(DESIGNS[name], check=False), pd.DataFrame({"asked": sent}))
    if len(found["asked"].labels) > 12:
        with pytest.raises(ValueError, match="only distributions"):
            found.plot()
    else:
        found.plot().figure.draw_without_rendering()


def _reports(question):
    from toolkit.survey.rehearsal import report
    from toolkit.survey.results.table import report_cell

    truths = {
        "choice": question.options[-1] if question.options else 0,
        "ticks": list(question.options[:1]),
        "number": 1,
    }
    rng = np.random.default_rng(5)
    return [report_cell(question, report(question, truths[question.kind], rng)) for _ in range(60)]


def test_with_nothing_to_draw_the_reason_is_said():
    with pytest.raises(ValueError, match="there must be something to draw, got no findings"):
        estimate(asked(), frame()[:0]).plot()


def test_a_picture_of_results_is_not_drawn_as_if_they_were_estimates():
    """It ended in an error of Python's own."""
    found = estimate(asked(), frame(), by="faculty")
    with pytest.raises(TypeError, match=r"got the results of a survey: use results.plot\(\)"):
        estimate_intervals(found)
    with pytest.raises(TypeError, match="got one: write"):
        estimate_intervals(estimate(asked(), frame())["cheated"])
    with pytest.raises(TypeError, match="got float"):
        estimate_intervals([0.3])
    assert "arts" in repr(estimate_intervals(found["cheated"]))


@pytest.mark.slow
def test_it_can_be_written_to_a_file(tmp_path):
    estimate(asked(), frame()).plot(level=0.9).save(tmp_path / "results.png")
    assert (tmp_path / "results.png").read_bytes().startswith(b"\x89PNG")
