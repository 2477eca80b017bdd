"""What is asked, as the scripts take it: everything that follows from the survey is worked out here."""

import pytest

from toolkit import crosswise, k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.survey.language.words import interface
from toolkit.survey.question import LONGEST_ANSWER, Question
from toolkit.survey.serving.page import content
from toolkit.survey.spec import Survey


def items(*questions, **changes):
    """The questions as the page gets them, by name."""
    made = Survey("Campus", list(questions), consent="You may stop.", **{"ceiling": 20, **changes})
    data = content(made)
    return {item["name"]: item for item in [*data["intro"], *data["questions"]]}


CHEATED = Question("cheated", "Have you cheated?", design=warner(p="3/4"))
STOLEN = Question("stolen", "Have you stolen?", design=warner(p="2/3"), mode="guided")
PAID = Question("paid", "Have you paid?", design=crosswise("1/4"), mode="physical", instructions="Compare.")
WORK = Question("work", "Do you work?", options=["no", "yes"])


def test_reports_have_neutral_names_that_differ():
    found = items(CHEATED, Question("travel", "How?", design=k_ary(30, epsilon=0.5)))
    assert [report["named"]["en"] for report in found["cheated"]["reports"]] == ["A – “No”", "B – “Yes”"]
    assert [report["stopped"]["en"][-2:] for report in found["cheated"]["reports"]] == ["A.", "B."]
    marks = [report["named"]["en"].partition(" ")[0] for report in found["travel"]["reports"]]
    assert (marks[:2], marks[25:28], len(set(marks))) == (["A", "B"], ["Z", "27", "28"], 30)


def test_only_guided_questions_have_a_wheel_of_orders():
    found = items(CHEATED, STOLEN, PAID)
    assert {name for name, item in found.items() if "wheel" in item} == {"stolen"}
    assert found["stolen"]["wheel"][1] == {
        "size": 1,
        "named": {"en": "2 – Tap your real answer."},
        "stopped": {"en": "The wheel stopped at 2. Tap your real answer."},
    }
    assert [sector["named"]["en"] for sector in found["stolen"]["wheel"]] == [
        "1 – Tap “No”, whatever your real answer is.",
        "2 – Tap your real answer.",
        "3 – Tap “Yes”, whatever your real answer is.",
    ]


def test_screens_words_and_choices_follow_from_the_mode():
    found = items(CHEATED, STOLEN, PAID, WORK)
    assert {name: item["screens"] for name, item in found.items()} == {
        "practice": ["ask:practice", "sent:practice"],
        "understood": ["ask:understood", "told:understood"],
        "cheated": ["ask:cheated", "sent:cheated"],
        "stolen": ["ask:stolen"],
        "paid": ["ask:paid"],
        "work": ["ask:work"],
    }
    notes = ["practice_note", "check_note", "auto_note", "guided_note", "physical_note", "plain_note"]
    assert [item["before"][0] for item in found.values()] == [
        ("note", {"en": interface(["en"])["en"][name]}) for name in notes
    ]
    assert {name for name, item in found.items() if item["choices"] is item["reports"]} == {"stolen", "paid"}
    assert {name for name, item in found.items() if item["given"] == "you_tapped"} == {"stolen", "paid"}
    assert {name for name, item in found.items() if item.get("sends") == "we_would_send"} == {"practice"}
    assert [item["heading"] for item in found.values()] == ["practice", "check_title"] + ["question"] * 4


def test_what_stands_before_a_field_comes_in_order_and_what_may_be_left_out_says_so():
    asked = Question(
        "paid", "Paid?", design=crosswise("1/4"), mode="physical", instructions="Compare.", help="Think."
    )
    comment = Question("comment", "Else?", free_text=True, required=False, warning="Name nobody.")
    found = items(asked, comment)
    kinds = [(kind, text["en"].split(".")[0]) for kind, text in found["paid"]["before"]]
    assert kinds[:3] == [
        ("note", "Think"),
        ("note", "Keep your real answer to yourself"),
        ("lead", "Compare"),
    ]
    assert (kinds[3][0], len(kinds)) == ("odds", 4)
    assert found["paid"]["before"][3][1]["en"].count("\n") == 1, "the odds, a line each"
    assert [kind for kind, _ in found["comment"]["before"]] == ["note", "lead"]
    assert (found["paid"]["legend"]["en"], found["comment"]["legend"]["en"]) == ("Paid?", "Else? (optional)")


def test_a_condition_names_the_place_of_a_question_and_the_codes_of_its_options():
    hours = Question("hours", "How many hours?", bounds=(0, 80), show_if={"work": ["yes"]})
    found = items(CHEATED, WORK, hours)
    assert found["hours"]["show_if"] == [[1, [1]]]
    assert found["work"]["show_if"] == found["cheated"]["show_if"] == []


KINDS = {
    "choice": (CHEATED, [0, 1], None, "Please give an answer first."),
    "ticks": (
        Question("q", "Which?", design=oracles.tick_boxes(["a", "b"], 1.0)),
        [[0], [1]],
        None,
        "Please give an answer first.",
    ),
    "capped": (
        Question("q", "Which?", design=oracles.tick_boxes(["a", "b", "c"], 1.0, most=2, how="capped")),
        [[0], [1], [2]],
        "Tick at most 2.",
        "Tick at most 2.",
    ),
    "number": (
        Question("q", "How many?", design=numeric.one_bit(("1/80000", 80), 1.0)),
        [0.0000125, 80],
        "A number from 0.0000125 to 80",
        "Please write a number from 0.0000125 to 80.",
    ),
    "text": (
        Question("q", "What?", free_text=True, warning="No names."),
        [],
        "Your answer",
        "Please give an answer first.",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_beside_a_field_is_said_in_whole_sentences_with_all_digits(kind):
    question, truths, hint, problem = KINDS[kind]
    item = items(question, practice=False, check=False)[question.name]
    assert item["truths"] == truths
    assert (item["hint"] and item["hint"]["en"], item["problem"]["en"]) == (hint, problem)
    assert item.get("most") == (2 if kind == "capped" else None)


def test_only_what_is_written_has_a_field_and_words_end_where_the_server_ends_them():
    assert items(KINDS["number"][0])["q"]["field"]["max"] == 80
    assert items(KINDS["text"][0])["q"]["field"]["maxlength"] == LONGEST_ANSWER
    assert items(KINDS["ticks"][0])["q"]["field"] is None


def test_reports_that_are_sets_are_marked():
    four = ["bus", "car", "bike", "foot"]
    designs = {
        "subset": oracles.subset(four, 0.5),
        "unary": oracles.unary(four, 1.0),
        "capped": oracles.tick_boxes(four, 1.0, most=2, how="capped"),
        "box": oracles.tick_boxes(four, 1.0, how="random"),
        "hash": oracles.local_hash(four, 1.0),
        "one": k_ary(four, epsilon=1),
    }
    found = items(
        *(Question(name, "Which?", design=design) for name, design in designs.items()),
        practice=False,
        check=False,
    )
    assert {name for name, item in found.items() if item["sets"]} == {"subset", "unary", "capped"}


def test_a_lone_brace_in_the_researcher_s_own_words_stays_what_it_is():
    words = {"en": {"quoted": "{ {label} }"}}
    asked = Survey("Campus", [STOLEN], consent="Stop.", words=words)
    (item,) = content(asked)["questions"]
    assert item["reports"][0]["named"]["en"] == "A – { No }"
