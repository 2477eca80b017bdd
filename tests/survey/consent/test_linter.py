"""Problems that the linter reports, each next to the most similar text that it accepts."""

import json
import math
import warnings
from typing import Any

import pytest

from tests.survey.samples import MEMO, cheated, faculty, panel, survey
from toolkit import Design, crosswise, k_ary, kuk, mangat, triangular, warner
from toolkit.local.numeric import additive
from toolkit.survey.consent.linter import MAX_SUBMISSION_BYTES, RESERVED, check_size, max_answer_bytes
from toolkit.survey.consent.page_data import page_words
from toolkit.survey.questions.errors import SurveyError
from toolkit.survey.questions.question import Question, accepts, localized_question
from toolkit.survey.spec import Survey
from toolkit.texts.phrases import LANGUAGES, REWORDABLE, page_words_by_language, phrases

LAW = {"faculty": ["law"]}
COMMENT = Question("comment", "Anything else?", free_text=True, required=False)
WARNED = Question("comment", "Anything else?", free_text=True, required=False, warning="Do not say what you answered.")


def agree(name: str, epsilon: float = 1.0) -> Question:
    return Question(name, f"Do you agree with {name}?", design=k_ary(5, epsilon=epsilon))


def refused(message: str, *questions: Question, **changes: Any) -> None:
    with pytest.raises((SurveyError, ValueError), match=message):
        survey(*questions, **changes)


def test_names_are_there_once_and_are_not_used_by_the_results() -> None:
    refused(r"a unique `name`, got 'cheated' 2 times", cheated(), cheated())
    for name in RESERVED:
        refused("must not be called practice, key", Question(name, "What?", free_text=True))
    for name in ("cheated_", "cheated__2"):  # columns of files for SPSS and Stata
        refused(
            "not have the name of another question followed by _", cheated(), Question(name, "What?", free_text=True)
        )
    with pytest.raises(ValueError, match="at least one question"):
        Survey("Exams", [], consent="We study exams.")


def test_skip_logic_on_a_randomized_answer_is_refused() -> None:
    follow_up = Question("why", "Why?", options=["time", "grades"], show_if={"cheated": ["yes"]})
    message = (
        "question 'why': `show_if` must not depend on a randomized question, got 'cheated': whether .* would reveal"
    )
    refused(message, cheated(), follow_up)
    also = Question("again", "Again?", design=warner(p="2/3"), show_if={"faculty": ["law"], "cheated": ["yes"]})
    refused("must not depend on a randomized question", faculty(), cheated(), also)
    assert survey(faculty(), cheated(show_if=LAW))


def test_conditions_name_options_of_earlier_plain_choices() -> None:
    refused(r"question before this one, got 'faculty', which comes later", cheated(show_if=LAW), faculty())
    refused(r"question before this one, got 'faculty', which is not in the survey", cheated(show_if=LAW))
    refused(r"question before this one, got 'cheated', which comes later", cheated(show_if={"cheated": ["yes"]}))
    refused(
        r"must name options of 'faculty' \(arts, law\), got 'Law'", faculty(), cheated(show_if={"faculty": ["Law"]})
    )
    many = faculty(options=[*"abcdefghi"])
    refused(r"'faculty' \(a, b, c, d, e, f, g, h\), got 'Law'", many, cheated(show_if={"faculty": ["Law"]}))
    age = Question("age", "Age?", bounds=(0, 99))
    refused(
        "a plain single-choice question, got 'age' with answers of kind number", age, cheated(show_if={"age": [20]})
    )
    ticks = faculty(multiple=True)
    refused("a plain single-choice question, got 'faculty' with answers of kind ticks", ticks, cheated(show_if=LAW))


def test_a_randomized_question_cannot_be_left_out() -> None:
    message = "question 'cheated': a randomized question must be required, got required = false: .*prefer not to say"
    refused(message, cheated(required=False))
    assert survey(faculty(required=False), cheated())


@pytest.mark.parametrize(
    "option",
    [
        "prefer not to say", "I'd rather not say", "no_answer", "Keine Angabe", "Je préfère ne pas répondre",
        "Prefiero no decirlo", "أفضّل عدم الإجابة",
    ],
)  # fmt: skip
def test_a_randomized_question_cannot_be_declined_by_a_plain_one_before_it(option: str) -> None:
    gate = Question("gate", "May we ask you something personal?", options=["yes", option])
    message = "question 'cheated': .*can be declined, got 'gate' with .*an option of the design"
    refused(message, gate, cheated(show_if={"gate": ["yes"]}))
    named = Question("gate", "May we ask?", options=["go", "stop"], labels={"stop": option})
    refused("can be declined, got 'gate' with 'stop'", named, cheated(show_if={"gate": ["go"]}))
    plain = Question("year", "Year?", options=[1, 2], show_if={"gate": ["yes"]})
    assert survey(gate, plain, cheated())  # declining a plain question reveals nothing that matters here


def test_a_randomized_question_cannot_be_evaded_by_leaving_out_a_plain_one() -> None:
    message = "'faculty' must be required, because a randomized question depends on it"
    refused(message, faculty(required=False), cheated(show_if=LAW))
    assert survey(faculty(required=False), Question("lecture", "Which?", options=["a", "b"], show_if=LAW), cheated())


def test_a_page_has_neighbors_that_do_not_depend_on_one_another() -> None:
    first, second = (Question(name, f"{name}?", options=["a", "b"], page="you") for name in ("first", "second"))
    assert survey(first, second, cheated())
    assert survey(faculty(), first, Question("third", "Third?", options=["a", "b"], show_if=LAW, page="you"), cheated())
    message = "question 'second': questions with the same `page` must be neighbors, got 'cheated' between: move it"
    refused(message, first, cheated(), second)
    third = Question("third", "Third?", bounds=(0, 1), show_if={"first": ["a"]}, page="you")
    refused("'third': `show_if` must name a question on an earlier page, got 'first' on", first, second, third)
    assert survey(first, second, Question("third", "Third?", bounds=(0, 1), show_if={"first": ["a"]}), cheated())


def test_a_text_inserts_only_earlier_plain_answers_that_all_its_readers_have_given() -> None:
    why = Question("why", "Why {answer:faculty}?", options=["a", "b"])
    hidden = Question("cheated", "Cheated in {answer:faculty}?", design=warner("2/3"))
    assert survey(faculty(), why, hidden).questions[2].inserted_names == ("faculty",)
    message = r"question 'why': {answer:…} must name a question before this one, got 'faculty': its answer is not known"
    refused(message, why, faculty())
    refused(
        "must not name a randomized question, got 'faculty': .* show the true answer",
        Question("faculty", "Law?", design=warner("2/3")),
        why,
    )
    for kind in ({"bounds": (0, 9)}, {"options": ["a", "b"], "multiple": True}):
        refused("must name a plain single-choice question", Question("faculty", "Where?", **kind), why)
    refused(
        "single-choice question, got 'arm'", Question("why", "{answer:arm}?", bounds=(0, 1)), arms={"a": 0.5, "b": 0.5}
    )
    neighbors = [Question(one.name, one.text, options=one.options, page="p") for one in (faculty(), why)]
    refused("must name a question on an earlier page, got 'faculty'", *neighbors)
    refused("must have answered 'faculty', got people who may not", faculty(required=False), why)
    course = Question("course", "Course?", options=["a", "b"], show_if=LAW)
    after = {"text": "Why {answer:course}?", "options": ["a", "b"]}
    assert survey(faculty(), course, Question("why", **after, show_if=LAW))
    assert survey(faculty(required=False), Question("why", why.text, options=["a", "b"], show_if=LAW))
    refused("must have answered 'course'", faculty(), course, Question("why", **after))
    refused(
        "must have answered 'course'", faculty(), course, Question("why", **after, show_if={"faculty": ["arts", "law"]})
    )
    many = Question("many", "Which?", options=[*range(501)])
    refused("at most 1000 versions", many, faculty(), Question("why", "{answer:many} {answer:faculty}", bounds=(0, 1)))
    braces = Question("note", "Note?", free_text=True, warning="Not {answer:faculty}.")
    refused("only `text` and `help` can contain {answer:…}, got 'faculty'", faculty(), braces)
    assert survey(faculty(), Question("note", "{faculty} {answer}?", options=["a", "b"]))  # these are only braces


def test_a_question_with_a_permanent_answer_has_one_text() -> None:
    memo = Question("cheated", "In {answer:faculty}?", design=MEMO)
    with pytest.raises(SurveyError, match="a question with a memo must have the same text for everybody"):
        Survey("Exams", [faculty(), memo], consent="Why.", waves=2, ceiling=9)


def test_an_inserted_answer_does_not_make_a_plain_twin_of_a_randomized_question() -> None:
    deed = Question("deed", "Which?", options=["a", "b"], labels={"b": "cheated on an exam"})
    direct = Question("direct", "Have you ever {answer:deed}?", options=["no", "yes"])
    refused("'direct': a plain question must not have the text of a randomized question", deed, direct, cheated())
    other = Question("other", "Have you often {answer:deed}?", options=["no", "yes"])
    assert survey(deed, other, cheated())


def test_a_plain_question_must_not_ask_what_a_randomized_one_asks() -> None:
    twin = Question("direct", "HAVE you ever cheated, on an exam!", options=["no", "yes"])
    message = "must not have the text of a randomized question"
    refused(f"question 'direct': a plain question {message}, got the text of 'cheated'", cheated(), twin)
    languages = {"en": "Exams?", "de": "Have you ever cheated on an exam?"}
    refused(message, cheated(), Question("direct", languages, options=["no", "yes"]))
    again = Question("again", "Have you ever cheated on an exam?", design=warner(p="2/3"))
    assert survey(cheated(), again)  # asked twice, charged twice


def test_free_text_beside_a_sensitive_question_needs_a_warning() -> None:
    refused("'comment': free text in a survey with randomized questions needs a `warning`", cheated(), COMMENT)
    assert survey(cheated(), WARNED)
    assert survey(faculty(), COMMENT)


def test_the_total_loss_stays_below_the_ceiling_unless_it_is_raised() -> None:
    message = r"at most epsilon 3, the survey's `ceiling`, got 3\.693 \(cheated 0\.693, a 2, b 1\): .*raise `ceiling`"
    refused(message, cheated(), agree("a", 2.0), agree("b", 1.0))
    assert survey(cheated(), agree("a", 2.0), agree("b", 1.0), ceiling=4)
    assert survey(agree("a", 1.0), agree("b", 1.0), agree("c", 1.0)).loss.epsilon == pytest.approx(3, abs=1e-6)
    refused("at most epsilon 0.5", cheated(), ceiling=0.5)


@pytest.mark.parametrize("design", [mangat("1/2"), triangular("1/4"), additive((0, 9), {0: 0.5, 1: 0.5})])
def test_a_report_that_proves_an_answer_must_be_allowed_explicitly(design: Any) -> None:
    question = Question("asked", "What?", design=design)
    message = "question 'asked': a report must not be able to prove an answer"
    refused(f"{message}, .*write ceiling=math.inf, in TOML ceiling = inf", question, check=False)
    refused(message, question, ceiling=1e300, check=False)
    assert math.isinf(survey(question, ceiling=math.inf, check=False).loss.epsilon)


def test_every_text_is_there_in_every_language() -> None:
    two = ["en", "de"]
    title, consent = {"en": "Exams", "de": "Prüfungen"}, {"en": "We study.", "de": "Wir forschen."}

    def made(question: Question, **changes: Any) -> None:
        Survey(**{"title": title, "questions": [question], "consent": consent, "languages": two, **changes})

    both = {"en": "Have you?", "de": "Haben Sie?"}
    made(Question("asked", both, design=warner(p="2/3")))
    incomplete: list[tuple[str, Question]] = [
        ("`text`", Question("asked", "Have you?", design=warner(p="2/3"))),
        ("`help`", Question("asked", both, design=warner(p="2/3"), help={"en": "Think."})),
        ("`instructions`", Question("asked", both, design=crosswise("1/4"), mode="physical", instructions="Two.")),
        ("`warning`", Question("asked", both, free_text=True, warning="Beware.")),
        ("`labels.yes`", Question("asked", both, design=warner(p="2/3"), labels={"yes": "Yes, I have"})),
    ]
    for field, question in incomplete:
        message = rf"question 'asked': {field} must be given in every language .*\(en, de\), got none in de"
        with pytest.raises(SurveyError, match=message):
            made(question)
    message = r"the option 'arts' must have a label in every language \(en, de\), got none: write labels=\{'arts': "
    with pytest.raises(SurveyError, match=message + r".*, in TOML labels.arts = \{en"):
        made(Question("asked", both, options=["arts", "law"]))
    made(Question("asked", both, options=[1, 2, "3–4", "yes"]))
    with pytest.raises(ValueError, match="`title` must be given in every language"):
        made(Question("asked", both, design=warner(p="2/3")), title="Exams")
    with pytest.raises(ValueError, match="`consent` must be given in every language"):
        made(Question("asked", both, design=warner(p="2/3")), consent="We study.")


def test_a_language_needs_words_for_the_page_and_for_the_promise() -> None:
    refused(f"all its texts in 'it'.*the toolkit has {', '.join(LANGUAGES)}", languages=["it"])
    refused("must have all its texts in 'it'|without promise_", languages=["it"], words={"it": {"next": "Avanti"}})
    refused(r"`words` must be in a language of the survey \(en\), got 'it'", words={"it": {"next": "Avanti"}})
    refused("`words.en.next` must be plain text", words={"en": {"next": "\x00"}})
    assert page_words(survey(words={"en": {"next": "Go on"}}))["en"]["next"] == "Go on"


def test_the_longest_submission_fits_into_what_a_server_takes() -> None:
    many = [Question(f"text_{place}", "Anything?", free_text=True) for place in range(8)]
    with pytest.raises(ValueError, match=f"must stay below {MAX_SUBMISSION_BYTES} bytes, got"):
        check_size(many)
    check_size(many[:7])


def test_the_linter_bounds_the_length_of_submissions_tightly() -> None:
    """Codes of three digits, and four bytes per character."""
    name, boxes = "n" * 40, [*range(1000)]
    asked: list[tuple[dict[str, Any], Any]] = [
        ({"free_text": True}, "😀" * 2000),
        ({"bounds": (-(10**300), 10**300)}, -1.2345678901234567e-289),
        ({"options": boxes, "multiple": True}, boxes),
        ({"options": boxes[:12], "multiple": True}, boxes[:12]),
    ]
    for given, answer in asked:
        question = Question(name, "?", **given)
        assert accepts(question, answer)
        true = len(json.dumps({name: answer}, separators=(",", ":"), ensure_ascii=False).encode())
        assert true <= max_answer_bytes([question]) <= true + 30 + 3 * len(question.options)
    assert max_answer_bytes([question, question]) == 2 * max_answer_bytes([question])


def test_a_wheel_must_say_what_people_can_keep_in_mind() -> None:
    """Four answers with a report each require four sentences in a random order, which nobody follows."""
    weights = [[5, 2, 2, 1], [1, 5, 2, 2], [2, 1, 5, 2], [2, 2, 1, 5]]
    latin = Design(weights, 10, options=["a", "b", "c", "d"])
    message = "question 'cheated': a guided question with more than 3 options .* got 4 options"
    refused(message, cheated(design=latin, mode="guided"))
    survey(cheated(design=latin))
    survey(cheated(design=Design([[5, 3, 2], [2, 5, 3], [3, 2, 5]], 10, options=["a", "b", "c"]), mode="guided"))
    survey(cheated(design=k_ary(12, epsilon=1.0), mode="guided"))
    survey(cheated(design=kuk("4/5", "1/5", draws=2), mode="guided"))


@pytest.mark.parametrize(
    "words",
    [
        "Is your birthday in January? Say whether both answers are the same.",
        "Does your phone number end in 1?", "Sind Sie im Januar geboren?", "¿Es su cumpleaños en enero?",
        "Was your mother born between January and March?", "Is your house number even?",
        "Does your ID number end in 1?", "Is your star sign Aries?", "Endet Ihre Ausweisnummer auf 1?",
        "Ist Ihre Mutter im Januar geboren?", "Ist Ihr Sternzeichen Widder?",
        "Votre mère est-elle née en janvier ?", "Le numéro de votre rue est-il pair ?",
        "¿Nació su madre en enero?", "¿Termina su DNI en 1?", "هل رقم منزلك زوجي؟", "هل برجك الحمل؟",
    ],
)  # fmt: skip
def test_what_others_can_look_up_is_warned_of(words: str) -> None:
    asked = {"design": crosswise("3/10"), "mode": "physical"}
    with pytest.warns(UserWarning, match="asks for something that others may find out"):
        survey(cheated(**asked, instructions=words))
    survey(cheated(**asked, instructions="Think of a friend whose birthday nobody here can find out."))
    survey(cheated(mode="physical", instructions=words))  # Warner's design does not depend on any other question
    survey(cheated(design=crosswise("1/4"), mode="physical"))  # slips replace the other question


@pytest.mark.parametrize(
    ("share", "words", "hint"),
    [
        ("1/3", "Was that person born in January, February, March or April?", True),
        ("1/4", "Ist diese Person zwischen Januar und März geboren?", True),
        ("1/6", "هل وُلد هذا الشخص في يناير أو فبراير؟", True),
        ("1/3", "Throw a die: is it 1 or 2? You may march on.", False),
        ("481/1461", "Was that person born in January, February, March or April?", False),
        ("3/10", "Was that person born in January?", False),
    ],
)
def test_twelfths_beside_months_are_hinted_at(share: str, words: str, hint: bool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        survey(cheated(design=crosswise(share), mode="physical", instructions=words))
    said = [str(one.message) for one in caught if "months differ in length" in str(one.message)]
    assert len(said) == hint
    assert all(f"assumes {share} of all birthdays" in line for line in said)


def test_a_memo_needs_waves_and_waves_need_a_memo() -> None:
    refused("a question with a memo needs a survey with at least 2 `waves`", cheated(design=MEMO))
    refused("a survey with `waves` must have a question with a memo, got 2 waves and no memo", waves=2)


def test_the_name_of_the_joining_number_is_reserved_in_panels() -> None:
    """No question of a panel may have the name of the number that joins waves."""
    named = Question("person", "Are you a person?", options=["no", "yes"])
    assert survey(named)["person"] == localized_question(named, "en")
    with pytest.raises(ValueError, match=r"must not be called .*, person, got 'person'"):
        panel(cheated(design=MEMO), named)


def test_words_of_one_s_own_must_say_what_being_asked_again_means() -> None:
    page = {name: word for name, word in page_words_by_language(["en"])["en"].items() if name != "direction"}
    said = page | {f"promise_{name}": sentence for name, sentence in phrases("en").items()}
    made = panel(cheated(design=MEMO), languages=["it"], words={"it": said})
    assert "We ask the same people up to 2 times." in made.consent_text()
    assert "at different times is sent, too" in page_words(made)["it"]["review_note"]
    lacking = {"it": {name: text for name, text in said.items() if name not in ("promise_new_draws", "promise_until")}}
    survey(cheated(), languages=["it"], words=lacking)  # which is asked once, and without a last day
    refused("contain promise_until in a survey with a last day", languages=["it"], words=lacking, closes="2026-12-01")
    with pytest.raises(ValueError, match="`words` must contain promise_new_draws in a survey with waves, got none"):
        panel(cheated(design=MEMO), languages=["it"], words=lacking)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Yes\u202e", "U\\+202E \\(RIGHT-TO-LEFT OVERRIDE"),
        ("Yes\u2066", "U\\+2066 \\(LEFT-TO-RIGHT ISOLATE"),
        ("Yes\u200f", "U\\+200F \\(RIGHT-TO-LEFT MARK"),
        ("Yes\u200b", "U\\+200B \\(ZERO WIDTH SPACE"),
        ("Yes\u3164", "U\\+3164 \\(HANGUL FILLER"),
        ("Yes\nNo", "U\\+000A"),
        ("Yes\tNo", "U\\+0009"),
        ("Yes”, we receive “Yes” 1 time in 2. Or, if you say “Yes", "U\\+201D \\(RIGHT DOUBLE QUOTATION MARK"),
        *((f"Yes{mark}", f"U\\+{ord(mark):04X}") for mark in '"„«»‟「ʺˮ″❞〃🙷⠀'),
        ("Yes’’, we receive ‘‘Yes", "U\\+2019"),
    ],
)
def test_no_label_can_make_the_promise_read_otherwise(label: str, name: str) -> None:
    refused(f"question 'cheated': .*got {name}", cheated(labels={"yes": label}))
    refused(f"question 'ways': .*got {name}", Question("ways", "How?", options=[label, "no"]))


@pytest.mark.parametrize("label", ["Yes, I’ve", "l’État", "‘so’", "می\u200cخواهم", "👩\u200d🔬", "18–24 (a/b)", "نعم"])
def test_apostrophes_joined_letters_and_other_scripts_are_fine_in_labels(label: str) -> None:
    survey(cheated(labels={"yes": label}))


def test_labels_must_not_contain_quotation_marks_of_own_words() -> None:
    """This applies to quotation marks that the researcher's own words define."""
    own = {"en": {"quoted": "*{label}*"}}
    survey(cheated(labels={"yes": "*Yes*"}))
    refused("ASTERISK", cheated(labels={"yes": "*Yes*"}), words=own)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Maybe", "May\u200dbe"),
        ("Yes", "\u0423es"),  # Cyrillic U
        ("No", "\u039do"),  # Greek Nu
        ("Yes", "Yes\ufe0f"),
        ("Yes", "Yes "),
        ("Yes, often", "Yes,\u00a0 often"),
        ("Caf\u00e9", "Cafe\u0301"),
    ],
)
def test_labels_that_look_the_same_are_the_same(one: str, other: str) -> None:
    refused("question 'cheated': options must have different labels", cheated(labels={"yes": one, "no": other}))
    refused("different labels in en, got 'Yes' twice", cheated(labels={"no": "Yes"}))
    refused("different labels in en", Question("ways", "How?", options=[one, other]))


def test_no_text_turns_round_what_stands_beside_it() -> None:
    with pytest.raises(ValueError, match="`title` must not change the direction of writing"):
        Survey("a\u202eb", [cheated()], consent="Why.")
    for changes in ({"consent": "a\u202eb"}, {"contact": "a\u202eb"}):
        refused("must not change the direction of writing", **changes)
    refused("`help` must not change the direction of writing", cheated(help="a\u202db"))
    refused("`words.en.next` must not change the direction of writing", words={"en": {"next": "\u202etxeN"}})
    survey(cheated(help="\u2068نعم\u2069 \u200e(yes)"))


@pytest.mark.parametrize(
    "claim",
    [
        "Nothing ever leaves this phone: I take part",
        "Nobody will find out: I take part",
        "Your answer stays on this phone",
        "I take part, completely anonymous",
        "I take part, completely an\u200bonymous",
        "I take part, completely \u0430nonym\u043eus",  # with two Cyrillic letters
        "Nichts verlässt dieses Telefon",
        "Rien ne quitte ce téléphone",
        "Nada sale de este teléfono",
        "لا شيء يغادر هذا الهاتف",
    ],
)
def test_buttons_and_titles_cannot_say_what_happens_to_answers(claim: str) -> None:
    """Only the page itself states what happens to answers."""
    refused("must not say what happens to answers", words={"en": {"take_part": claim}})
    with pytest.raises(ValueError, match=r"`title.en` must not say what happens to answers"):
        Survey(claim, [cheated()], consent="Why.")
    with pytest.warns(UserWarning, match="`consent` says what happens to answers"):
        survey(consent=claim)
    with pytest.warns(UserWarning, match="`cheated.help` says what happens to answers"):
        survey(cheated(help=claim))


ABSOLUTE = {
    "en": [
        "We cannot learn your real answer, whatever we do.",
        "We can never know what you really answered.",
        "There is no way for us to find out your answer.",
        "It is impossible for us to learn your true answer.",
        "We have no way of knowing your answers.",
        "Not even we can find out what you said.",
        "Your true answer remains unknown to us.",
        "Your answers can never be traced back to you.",
        "No matter what we try, it stays with you.",
        "We couldn’t tell your real answer even if we wanted to.",
    ],
    "de": [
        "Wir können Ihre wahre Antwort nicht erfahren, was immer wir tun.",
        "Wir werden nie erfahren, was Sie wirklich geantwortet haben.",
        "Es ist unmöglich, Ihre wahre Antwort herauszufinden.",
        "Wir haben keine Möglichkeit, Ihre Antwort zu erkennen.",
        "Ihre wahre Antwort bleibt uns verborgen.",
        "Egal was wir tun, sie bleibt bei Ihnen.",
    ],
    "fr": [
        "Nous ne pouvons pas apprendre votre vraie réponse, quoi que nous fassions.",
        "Nous ne saurons jamais ce que vous avez répondu.",
        "Il nous est impossible de connaître votre réponse.",
        "Nous n’avons aucun moyen de savoir ce que vous avez répondu.",
        "Votre vraie réponse ne sera jamais connue.",
    ],
    "es": [
        "No podemos conocer su respuesta real, hagamos lo que hagamos.",
        "Nunca sabremos qué respondió usted.",
        "Es imposible averiguar su verdadera respuesta.",
        "Ni siquiera nosotros podemos saber lo que respondió.",
        "Su respuesta real no se conocerá nunca.",
    ],
    "ar": [
        "لا يمكننا أن نعرف إجابتك الحقيقية مهما فعلنا.",
        "لن نعرف أبدًا ما أجبت به.",
        "يستحيل علينا معرفة إجابتك.",
        "إجابتك الحقيقية لا يعرفها أحد.",
    ],
}
HARMLESS = (
    "We cannot tell you the results before June. We do not know yet when they are published.",
    "Please answer as you really think; you need not tell us your name.",
    "We see your answers to the plain questions as you give them. If you do not know the answer, leave it out.",
    "We never share your answers with your teachers.",
    "Wir können die Ergebnisse nicht vor Juni veröffentlichen. Wenn Sie es nicht wissen, wählen Sie „weiß nicht“.",
    "Wir wissen, dass es nicht leicht ist, darüber zu sprechen. Bitte antworten Sie ehrlich.",
    "Nous ne pouvons pas publier les résultats avant juin. Si vous ne savez pas, choisissez « je ne sais pas ».",
    "No podemos publicar los resultados antes de junio. Si no sabe la respuesta, elija «no lo sé».",
    "لا يمكننا نشر النتائج قبل يونيو. إذا كنت لا تعرف فاختر «لا أعرف».",
)


@pytest.mark.parametrize(("language", "claim"), [(code, text) for code, texts in ABSOLUTE.items() for text in texts])
def test_claims_of_perfect_secrecy_are_warned_of_in_all_languages(language: str, claim: str) -> None:
    """What an observer can learn about an answer changes by a factor that the page states; no more absolute claim is
    true.
    """
    assert ABSOLUTE.keys() == set(LANGUAGES)
    texts = {"consent": {language: claim}, "languages": [language]}
    with pytest.warns(UserWarning, match="`consent` says what happens to answers"):
        Survey({language: "T"}, [Question("a", {language: "A"}, options=[1, 2])], **texts)


def test_what_claims_nothing_of_answers_is_not_warned_of() -> None:
    for text in HARMLESS:
        survey(consent=text)


def test_the_warning_beside_free_text_is_read_for_claims() -> None:
    with pytest.warns(UserWarning, match="`words.warning` says what happens to answers"):
        survey(Question("words", "Words?", free_text=True, warning=ABSOLUTE["en"][0]))


def test_what_asks_may_be_put_otherwise() -> None:
    survey(words={"en": {"take_part": "Yes, I take part", "send": "Off it goes"}})
    survey(consent="You can stop at any time before you send, and then nothing is sent.")
    for language in LANGUAGES:  # the page's own requests claim nothing
        survey(
            words={
                "en": {
                    name: text
                    for name, text in page_words_by_language([language])[language].items()
                    if name in REWORDABLE
                }
            }
        )


def test_a_promise_in_a_known_language_cannot_be_reworded() -> None:
    """It is rejected, since it would otherwise be ignored silently."""
    words = {"de": {"promise_head_plain": "Alles ist geheim."}}
    with pytest.raises(ValueError, match=r"must not contain sentences .* in 'de'.*got 'promise_head_plain'"):
        Survey(
            {"de": "T"},
            [Question("a", {"de": "A"}, options=[1, 2])],
            consent={"de": "C"},
            languages=["de"],
            words=words,
        )
