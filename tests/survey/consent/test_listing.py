from pathlib import Path

from tests.survey.samples import cheated, survey
from toolkit import Question, Survey

CAMPUS = Survey.load(Path(__file__).parents[3] / "data" / "campus.toml")


def test_a_survey_shows_its_questions_as_a_table():
    shown = CAMPUS._repr_html_()
    assert shown.count("<tr>") == 2 + len(CAMPUS.questions)
    parts = ("Have you", "Arts and humanities", "0 to 80", "free text", "not protected", "answer is no", "<tfoot>")
    assert [part for part in (*parts, f"{CAMPUS.loss.epsilon:.4g}") if part not in shown] == []


def test_texts_are_shown_as_text_and_conditions_in_words():
    asked = survey(
        Question("faculty", "<b>Which?</b>", options=["arts", "law"], required=True),
        cheated(show_if={"faculty": ["law"]}),
        Question("age", "Age?", bounds=(18, 99), required=False),
        check=False,
    )
    shown = asked._repr_html_()
    assert "<b>Which" not in shown
    assert "&lt;b&gt;Which" in shown
    assert "warner design, auto; only if faculty is law" in shown
    assert "as it is; optional" in shown
    assert "18 to 99" in shown


def test_many_options_are_cut_and_counted():
    many = Question("city", "City?", options=[f"c{i}" for i in range(30)])
    assert "c7 and 22 more" in survey(many, check=False)._repr_html_()
