import json
import warnings

import pytest

from toolkit import crosswise, forced, k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.show.widgets.answer_card import AnswerCard, _wheel_sectors, card_data, draw_card
from toolkit.survey.questions.question import Question

TEXT = {"en": "Have you ever cheated?", "de": "Haben Sie schon einmal geschummelt?"}


def words_in(question: Question, language: str | None = None) -> list[str]:
    return [text.get_text() for text in draw_card(card_data(question, language)).axes[0].texts]


def test_the_card_speaks_the_language_that_was_asked_for_or_the_first():
    question = Question(
        "cheated", TEXT, design=warner(p="3/4"), help={"en": "At any school.", "de": "An jeder Schule."}
    )
    assert (card_data(question, None)["text"], card_data(question, None)["help"]) == (TEXT["en"], "At any school.")
    german = card_data(question, "de")
    assert (german["text"], german["help"], german["options"]) == (TEXT["de"], "An jeder Schule.", ["Nein", "Ja"])


def test_the_face_is_plain_data_that_json_keeps():
    for design in (warner(p="3/4"), oracles.tick_boxes(5, 1.0), numeric.local_laplace((0, 20), 1.0986122886681098)):
        face = card_data(Question("q", "Which?", design=design), None)
        assert json.loads(json.dumps(face)) == face


def test_limits_are_put_into_the_words():
    assert (
        card_data(Question("q", "Hours?", design=numeric.one_bit((-1.5, 80), 1.0)), None)["words"]["number"]
        == "A number from -1.5 to 80."
    )
    boxes = oracles.tick_boxes(40, 1.0, most=1)
    assert card_data(Question("q", "Which?", design=boxes), None)["words"]["most"] == "Tick at most 1."


def test_labels_of_options_and_reports_are_the_question_s():
    design = k_ary(["a", "b"], epsilon=1.0)
    face = card_data(Question("q", "Which?", design=design, labels={"a": "Apples", "b": "Pears"}), None)
    assert face["options"] == face["reports"] == ["Apples", "Pears"]


def test_the_picture_shows_the_question_the_odds_and_what_to_press():
    shown = words_in(Question("cheated", "Have you ever cheated on an exam?", design=warner(p="3/4")))
    assert shown[0] == "Have you ever cheated on an exam?"
    assert "3 times in 4" in shown[1]
    assert shown[2:] == ["No", "Yes", "run the cell to answer"]


@pytest.mark.parametrize(
    ("question", "buttons"),
    [
        (Question("q", "Which?", design=oracles.tick_boxes(["a", "b"], 1.0)), ["☐ a", "☐ b"]),
        (Question("q", "Hours?", design=numeric.one_bit((0, 80), 1.0)), ["A number from 0 to 80", "Answer"]),
        (Question("q", "Cheated?", design=warner(p="3/4"), mode="guided"), ["Let chance decide"]),
        (Question("q", "Cheated?", design=warner(p="3/4"), mode="physical", instructions="Throw."), ["No", "Yes"]),
        (Question("q", "A?", design=crosswise("1/4"), mode="physical", instructions="Own."), ["Different", "Same"]),
        (Question("q", "Which?", design=k_ary(100, epsilon=1.0)), [*map(str, range(9)), "…"]),
    ],
)
def test_the_picture_has_the_fields_of_each_kind(question, buttons):
    assert words_in(question)[2:-1] == buttons


def test_the_picture_is_as_high_as_its_lines():
    """A button surrounds its label."""
    for many in (1, 15):
        face = card_data(Question("q", "Cheated? " * many, design=warner(p="3/4")), None)
        figure = draw_card(face)
        (ax,) = figure.axes
        title, odds, *labels, _ = ax.texts
        lines = [one.get_text().count("\n") + 1 for one in (title, odds)]
        height = 1 + 0.2 * lines[0] + 0.16 * lines[1]
        assert (figure.get_size_inches()[1], ax.get_ylim()[1]) == pytest.approx((height, height))
        assert [one.get_position() for one in (title, odds)] == [
            pytest.approx((0.15, height - 0.12)),
            pytest.approx((0.15, height - 0.22 - 0.2 * lines[0])),
        ]
        for label, box in zip(labels, ax.patches, strict=True):
            assert box.get_width() == pytest.approx(0.22 + 0.085 * len(label.get_text()))
            centre = box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2
            assert label.get_position() == pytest.approx(centre)
        first, second = ax.patches
        assert second.get_x() == pytest.approx(first.get_x() + first.get_width() + 0.16)


def test_long_words_end_inside_the_picture():
    title = words_in(Question("q", "Have you " + "really " * 60 + "cheated?", design=warner(p="3/4")))[0]
    assert title.endswith("…")
    assert title.count("\n") == 1


@pytest.mark.slow
def test_a_script_that_the_picture_s_font_lacks_makes_no_noise():
    card = AnswerCard(Question("q", "你作弊过吗？", design=warner(p="3/4")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "image/png" in card._repr_mimebundle_()[0]


@pytest.mark.parametrize("design", [warner(p="3/4"), forced("1/6", "1/6"), crosswise("1/4")])
def test_the_sectors_of_a_wheel_are_as_large_as_the_chances_of_the_design(design):
    wheel = _wheel_sectors(Question("cheated", "Cheated?", design=design, mode="guided"))
    for answer, row in enumerate(design.weights.tolist()):
        said = [sum(one["size"] for one in wheel if one["says"][answer] == report) for report in range(len(row))]
        assert said == row
    assert _wheel_sectors(Question("cheated", "Cheated?", design=design)) is None
