"""The questions in the form that the scripts use; everything that follows from the survey is computed here."""

import pytest

from tests.survey.samples import MEMO, cheated, faculty, panel, survey
from toolkit import crosswise, k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.survey.questions.question import LONGEST_ANSWER, Question
from toolkit.survey.serving.page import page_content
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import page_words_by_language


def items(*questions, **changes):
    """Return the questions as the page receives them, by name."""
    made = Survey("Campus", list(questions), consent="You may stop.", **{"ceiling": 20, **changes})
    data = page_content(made)
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
        "mark": "2",
        "colour": 1,
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
        "practice": ["ask:practice"],
        "understood": ["ask:understood"],
        "cheated": ["ask:cheated", "sent:cheated"],
        "stolen": ["ask:stolen"],
        "paid": ["ask:paid"],
        "work": ["ask:work"],
    }
    notes = ["practice_note", "check_note", "auto_note", "guided_note", "physical_note", "plain_note"]
    assert [item["before"][0] for item in found.values()] == [
        ("note", {"en": page_words_by_language(["en"])["en"][name]}) for name in notes
    ]
    assert {name for name, item in found.items() if item.get("choices", 0) is item.get("reports")} == {"stolen", "paid"}
    assert {name for name, item in found.items() if item.get("sends") == "we_would_send"} == {"practice"}
    assert [item["heading"] for item in found.values()] == ["practice", "check_title"] + ["question"] * 4


def test_paragraphs_before_a_field_are_in_order():
    """A question that may be left out says so."""
    asked = Question("paid", "Paid?", design=crosswise("1/4"), mode="physical", instructions="Compare.", help="Think.")
    comment = Question("comment", "Else?", free_text=True, required=False, warning="Name nobody.")
    found = items(asked, comment)
    kinds = [(kind, text["en"].split(".")[0]) for kind, text in found["paid"]["before"]]
    assert kinds[:3] == [("note", "Think"), ("note", "Keep your real answer to yourself"), ("lead", "Compare")]
    assert (kinds[3][0], len(kinds)) == ("odds", 4)
    assert found["paid"]["before"][3][1]["en"].count("\n") == 1, "the odds, a line each"
    assert [kind for kind, _ in found["comment"]["before"]] == ["note", "lead"]
    assert (found["paid"]["legend"]["en"], found["comment"]["legend"]["en"]) == ("Paid?", "Else? (optional)")


def test_questions_in_random_order_never_say_as_before():
    """The first question is not known in advance; the randomized report is still shown for two questions."""
    again = [Question(f"q{i}", "Have you?", design=warner(p="3/4")) for i in range(4)]
    for order, folded in ((True, set()), (["q1", "q2"], {"q3"})):
        found = items(*again, practice=False, random_order=order)
        assert {name for name, item in found.items() if "again" in dict(item["before"])} == folded
        assert [name for name, item in found.items() if len(item["screens"]) > 1] == ["q0", "q1"]


def test_choices_in_random_order_are_listed_and_declining_keeps_its_place():
    options = ["never", "prefer not to say", "often"]
    plain = Question("plain", "How often?", options=options, required=False, random_order=True)
    hidden = Question("hidden", "Have you?", design=crosswise("1/4"), mode="guided", random_order=True)
    found = items(plain, hidden, WORK)
    assert {name: item["mixed"] for name, item in found.items() if name in ("plain", "hidden", "work")} == {
        "plain": [0, 2], "hidden": [0, 1], "work": []
    }  # fmt: skip


def test_conditions_refer_to_questions_by_index():
    """They name the codes of options."""
    hours = Question("hours", "How many hours?", bounds=(0, 80), show_if={"work": ["yes"]})
    found = items(CHEATED, WORK, hours)
    assert found["hours"]["show_if"] == [[1, [1]]]
    assert found["work"]["show_if"] == found["cheated"]["show_if"] == []


def test_a_page_states_once_that_its_questions_are_not_protected():
    """The page's script shows the note; each question keeps its other paragraphs."""
    age = Question("age", "How old?", bounds=(0, 99), help="In years.", page="you")
    found = items(CHEATED, WORK, age)
    assert found["age"]["page"] == "you"
    assert "page" not in found["work"]
    assert [text["en"] for _, text in found["age"]["before"]] == ["In years."]
    assert [text["en"][:13] for _, text in found["work"]["before"]] == ["This question"]


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
        "A number from {low} to {high}",
        "Please write a number from {low} to {high}.",
    ),
    "text": (
        Question("q", "What?", free_text=True, warning="No names."),
        [],
        "Your answer",
        "Please give an answer first.",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_hints_beside_a_field_are_complete_sentences(kind):
    """Their numbers have all digits."""
    question, truths, hint, problem = KINDS[kind]
    item = items(question, practice=False, check=False)[question.name]
    assert item["truths"] == truths
    assert (item["hint"] and item["hint"]["en"], item["problem"]["en"]) == (hint, problem)
    assert item.get("most") == (2 if kind == "capped" else None)


def test_only_questions_for_writing_have_a_field():
    """A text ends at the server's limit."""
    number = items(KINDS["number"][0])["q"]
    assert (number["field"]["type"], number["field"]["inputmode"]) == ("text", "decimal")
    assert (number["limits"], number["first"], number["whole"]) == ([0.0000125, 80], 0, False)
    assert items(Question("q", "How many?", bounds=(0, 80)))["q"]["field"]["inputmode"] == "decimal"
    assert items(KINDS["text"][0])["q"]["field"]["maxlength"] == LONGEST_ANSWER
    assert items(KINDS["ticks"][0])["q"]["field"] is None


def test_many_whole_numbers_in_a_row_are_written_and_not_listed():
    ages = items(Question("q", "How old?", design=k_ary(list(range(18, 31)), epsilon=1)))["q"]
    assert (ages["limits"], ages["first"], ages["whole"]) == ([18, 30], 18, True)
    assert ages["field"]["inputmode"] == "numeric"
    assert ages["hint"]["en"].startswith("A whole number")
    below = Question("q", "How cold?", design=k_ary(list(range(-5, 6)), epsilon=1))
    assert items(below)["q"]["field"]["inputmode"] == "text", "not every keypad has a minus"
    others = [list(range(8)), list(range(0, 20, 2)), [str(i) for i in range(9)]]
    for options in others:
        assert items(Question("q", "Which?", design=k_ary(options, epsilon=1)))["q"]["field"] is None
    named = Question("q", "Which?", design=k_ary(list(range(9)), epsilon=1), labels={0: "never"})
    assert items(named)["q"]["field"] is None


def test_optional_questions_have_a_choice_for_no_answer():
    """Questions with several answers have an option for none of these."""

    def last(question):
        return items(question, practice=False)["q"]["labels"][-1]["en"]

    assert last(KINDS["ticks"][0]) == "None of these"
    assert last(Question("q", "Which?", options=["a", "b"], required=False)) == "No answer"
    assert last(Question("q", "Which?", options=["a", "b"])) == "b"


@pytest.mark.slow
def test_neighbouring_sectors_differ_in_colour():
    """The last one differs from the first, too."""
    for count in range(2, 15):
        found = items(Question("q", "Which?", design=k_ary(count, epsilon=1), mode="guided"), practice=False)["q"]
        for parts in (found["reports"], found["wheel"]):
            colours = [part["colour"] for part in parts]
            assert all(one != other for one, other in zip(colours, colours[1:] + colours[:1], strict=True))
            assert set(colours) <= {0, 1, 2, 3}


def test_repeated_odds_are_collapsed():
    """After two questions with the same odds, the result screen is left out."""
    again = [Question(f"q{i}", "Have you?", design=warner(p="3/4")) for i in range(4)]
    found = items(*again, practice=False)
    kinds = {name: [kind for kind, _ in item["before"]][-1] for name, item in found.items() if name[0] == "q"}
    assert kinds == {"q0": "odds", "q1": "again", "q2": "again", "q3": "again"}
    assert [len(found[f"q{i}"]["screens"]) for i in range(4)] == [2, 2, 1, 1]
    some = Question("some", "Have you?", design=warner(p="3/4"), show_if={"work": ["yes"]})
    found = items(WORK, some, CHEATED, practice=False)
    assert [found[name]["before"][-1][0] for name in ("some", "cheated")] == ["odds", "odds"]


def test_latin_marks_are_isolated_in_arabic():
    """The number behind the mark therefore comes last."""
    text = {"en": "Have you?", "ar": "هل؟"}
    asked = Question("q", text, design=warner(p="3/4"))
    made = page_content(Survey(text, [asked], consent=text, languages=("en", "ar")))["questions"][0]
    assert made["reports"][1]["named"] == {"en": "B – “Yes”", "ar": "\u2067B – «\u2068نعم\u2069»\u2069"}


def test_practice_explains_questions_with_the_same_odds():
    """A practiced step is not explained again."""
    found = items(*(Question(f"q{i}", "Have you?", design=warner(p="3/4")) for i in range(3)))
    assert [kind for kind, _ in found["practice"]["before"]] == ["note"], "the wheel shows it, and a sentence below"
    assert found["practice"]["rows"][0]["en"] == (
        "If your answer is “No”, we receive “No” 3 times in 4 (●●●○) and “Yes” 1 time in 4 (●○○○)."
    )
    assert [found[f"q{i}"]["before"][-1][0] for i in range(3)] == ["odds", "again", "again"]
    assert [found[f"q{i}"]["once"] for i in range(3)] == [True, False, False], "that the draw stays is told once"
    assert [len(found[f"q{i}"]["screens"]) for i in range(3)] == [2, 1, 1]
    guided = [Question(f"g{i}", "Have you?", design=warner(p="3/4"), mode="guided") for i in range(3)]
    found = items(*guided, CHEATED, practice=False)
    assert len(found["cheated"]["screens"]) == 2, "what chance has made of an answer was not shown yet"
    weaker = items(CHEATED, Question("other", "Have you?", design=warner(p="2/3")))
    assert [weaker[name]["before"][-1][0] for name in ("cheated", "other")] == ["odds", "odds"]


def test_the_steps_of_a_check_speak_of_a_trial_only_where_there_is_one():
    def steps(*questions, **changes):
        return page_content(Survey("Campus", list(questions), consent="Stop.", ceiling=20, **changes))["verify"]

    assert steps(CHEATED) == [f"verify_{step}" for step in range(1, 6)]
    assert "verify_4" not in steps(PAID, WORK)
    assert "verify_4" not in steps(STOLEN)


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
        *(Question(name, "Which?", design=design) for name, design in designs.items()), practice=False, check=False
    )
    assert {name for name, item in found.items() if item["sets"]} == {"subset", "unary", "capped"}


def test_a_lone_brace_in_the_researcher_s_own_words_stays_what_it_is():
    words = {"en": {"quoted": "{ {label} }"}}
    asked = Survey("Campus", [STOLEN], consent="Stop.", words=words)
    (item,) = page_content(asked)["questions"]
    assert item["reports"][0]["named"]["en"] == "A – { No }"


def test_questions_with_the_same_odds_share_their_sentences():
    """The sentences appear once, below the texts of the questions."""
    asked = [
        cheated(),
        Question("stolen", "Have you ever stolen?", design=warner("2/3")),
        faculty(),
        Question("paid", "Have you ever paid?", design=warner("3/4")),
    ]
    same, other = _odds(survey(*asked, ceiling=9))
    assert same.startswith("Have you ever cheated on an exam?\nHave you ever stolen?\nIf your answer is “Yes”, we")
    assert other.startswith("Have you ever paid?\nIf your answer is “Yes”, we receive “Yes” 3 times in 4")
    assert _odds(survey(faculty())) == []


def _odds(made):
    """The folded text follows the section on what can be learned, under its own heading."""
    more = [text for layer in page_content(made)["consent"]["en"] if layer["name"] == "learn" for text in layer["more"]]
    head = "What we receive for each protected question, and how often"
    return more[more.index(head) + 1 :] if head in more else []


def test_a_wheel_is_shown_of_one_draw_and_not_of_a_memo():
    shown = page_content(
        panel(cheated(design=MEMO), Question("paid", "Paid?", design=warner("3/4")), waves=2, ceiling=9)
    )
    assert [item["turns"] for item in shown["questions"]] == [False, True]
    assert shown["intro"][0]["turns"]
    assert all(item["reports"] for item in shown["questions"])
