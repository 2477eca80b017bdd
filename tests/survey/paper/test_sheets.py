"""The printed sheets in every language: devices, codes, ranges, conditions, and the numbers of sheets and pages."""

import html
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

import toolkit.survey.paper
from tests.survey.samples import cheated, faculty, survey
from toolkit import Question, Survey, crosswise, forced, forced_options, kuk, unrelated, warner
from toolkit.local import born, numeric
from toolkit.survey.paper.coding import serial_numbers
from toolkit.survey.paper.sheets import _environment, _question_section, printable_survey, printed_pages
from toolkit.survey.spec import STATEMENT_FIELDS
from toolkit.texts.phrases import LANGUAGES, page_words_by_language, phrases
from toolkit.texts.voice import Voice

DIE = forced("1/6", "1/6")


def printed(made: Survey, kind: str = "form", copies: int = 1) -> str:
    code = made.languages[0]
    page = printed_pages(made, code, serial_numbers(made, copies))[f"{kind}.{code}.html"]
    return re.sub(r">\s+<", "><", page.partition("</style>")[2])


def test_a_sheet_cannot_insert_an_answer() -> None:
    why = Question("why", "Why {answer:faculty}?", options=["a", "b"])
    with pytest.raises(ValueError, match="a paper form or of another program's form must be the same for everybody"):
        printed(survey(faculty(), why, cheated(design=DIE)))


def test_a_sheet_prints_an_image_with_its_description(tmp_path) -> None:
    """The digits of the image's data are not isolated as those of texts are, and three images do not fit on a page."""
    (tmp_path / "card.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    image = {"file": tmp_path / "card.png", "alt": 'A "red" card'}
    shown = cheated(design=DIE, image=image)
    form = printed(survey(faculty(), shown))
    assert f'<img src="{shown.image["data"]}" alt="A &quot;red&quot; card">' in form
    many = [Question(f"q{n}", f"{n}?", options=["a", "b"], image=image) for n in range(4)]
    assert printed(survey(*many, check=False)).count("page 1 of 2") == 1


def test_a_die_in_the_respondents_hand_realizes_the_design_exactly() -> None:
    form = printed(survey(faculty(), cheated(design=DIE)))
    assert "Use a die, anew for this question. Let nobody see what comes out." in form
    assert "1: choose “No”, whatever your answer is." in form
    assert "2: choose “Yes”," in form
    assert "3 to 6: choose your real answer." in form
    assert form.count("<li>") == 4
    faces = re.findall(r"aria-label='(\d)'>(.*?)</svg>", form)
    pips = {number: re.findall(r"<circle cx='(\d+)' cy='(\d+)' r='2'/>", face) for number, face in faces}
    drawn = ("...|.o.|...", "o..|...|..o", "o..|.o.|..o", "o.o|...|o.o", "o.o|.o.|o.o", "o.o|o.o|o.o")
    places = {"5": 0, "12": 1, "19": 2}
    for number, picture in enumerate(drawn, 1):
        seen = [["."] * 3 for _ in range(3)]
        for x, y in pips.pop(str(number)):
            seen[places[y]][places[x]] = "o"
        assert "|".join(map("".join, seen)) == picture
    assert pips == {}


def test_every_page_says_which_sheet_and_page_it_is_and_of_which_survey() -> None:
    many = [Question(f"q{i}", f"Which of these is number {i}?", options=[1, 2, 3], help="x " * 100) for i in range(30)]
    made = survey(*many)
    numbers = serial_numbers(made, 3)
    form = printed_pages(made, "en", numbers)["form.en.html"]
    heads = re.findall(r"Survey (\w{8}) · Sheet \u2066([\d ]+)\u2069 · page (\d+) of (\d+)", form)
    pages = int(heads[0][3])
    assert pages > 1
    assert [(hashed, serial.replace(" ", ""), int(page)) for hashed, serial, page, _ in heads] == [
        (made.hash[:8], number, page) for number in numbers for page in range(1, pages + 1)
    ]
    assert form.count("class='sheet'") == 3 * pages


def test_short_answers_share_a_row_and_lines_wrap() -> None:
    """A line of text has at most seventy letters."""

    def asked(labels: list[str], text: str = "Which?") -> tuple[str, float]:
        question = Question("q", text, options=[*range(len(labels))], labels=dict(enumerate(labels)))
        made = survey(question)
        return _question_section(made["q"], made, "en", Voice(phrases("en", None, "paper")))

    six, seven, wide = [f"{i}xx" for i in range(6)], [*"abcdefg"], ["a" * 27, "b" * 27]
    labels = (six, seven, wide, ["a" * 27, "b" * 28], [f"{i}xxxx" for i in range(6)])
    assert ["class='boxes row'" in asked(some)[0] for some in labels] == [True, False, True, False, False]
    row = 4.5 + 11 + 5.5 + 1.4  # millimeters: around the page, the boxes, a line and what is below it
    assert [asked(six, "x" * size)[1] for size in (70, 71)] == pytest.approx([row, row + 5.5])
    boxes = [["a" * 65, *"bcdefg"], ["a" * 66, *"bcdefg"]]
    assert [asked(some)[1] - row for some in boxes] == pytest.approx([3 + 7 * 6.5 - 11, 3 + 8 * 6.5 - 1 - 11])


def test_a_question_that_fits_on_no_page_is_refused() -> None:
    with pytest.raises(ValueError, match="must fit on a page, got long"):
        printed(survey(Question("long", "Which?", options=list(range(200)))))


def test_the_page_to_keep_speaks_of_paper_and_not_of_a_phone() -> None:
    made = survey(faculty(), cheated(design=DIE))
    kept = printed(made, "consent")
    assert not any(word in kept for word in ("phone", "browser", "airplane", "birthday", "server’s"))
    assert "We receive only what you tick" in kept
    assert "handwriting or its number" in kept
    assert "This page is yours to keep." in kept
    said = ["Who asks", "What can be learned", "What is stored", "Your choice"]
    assert re.findall(r"<h2>(.*?)</h2>", kept) == said


def test_the_interviewer_page_has_no_answers() -> None:
    """The kit has rules, a script, materials, practice and a log."""
    page = printed(survey(faculty(), cheated(design=DIE)), "interviewer")
    assert "<h1>For the interviewer</h1>" in page
    assert "Each person uses a die." in page
    for heading in ("What you need", "What you say", "Practice, before the sheet is filled in", "Log, without answers"):
        assert f">{heading}</h" in page
    assert "3 to 6: choose your real answer." in page
    assert "never note who got which number" in page
    told = {name: one for name, one in phrases("en", None, "paper").items() if re.match(r"(interviewer|script)_", name)}
    assert len(told) == 8
    assert [name for name, text in told.items() if html.escape(text, quote=False) not in page] == []
    assert "<th>Sheets handed out</th>" in page
    job = Question("job", "Do you work?", options=["no", "yes"])
    mood = Question("mood", "Mood?", design=forced_options(["a", "b", "c"], ["1/10"] * 3))
    page = printed(survey(job, mood, cheated(design=DIE), ceiling=9), "interviewer")
    assert "3 to 6: choose your real answer." in page  # people practice with a device for a yes/no question
    assert "choose “b”" not in page


def test_slips_and_a_spinner_are_there_where_a_design_needs_them() -> None:
    made = survey(cheated(design=unrelated("2/3", "1/4")), ceiling=9)
    cut = printed(made, "devices")
    assert re.findall(r"<b>(\d+)</b>", cut) == [str(n) for n in range(1, 13)]
    assert re.findall(r">(\d+)</text>", cut) == [str(n) for n in range(1, 13)]
    assert "12 slips: cut them out" in cut
    edges = re.findall(r"M0 0L(\S+) (\S+?)'", cut)
    numbers = re.findall(r"<text x='(\S+)' y='(\S+)'>", cut)
    # degrees clockwise from twelve o'clock; a number in the middle of its sector
    for points, first in ((edges, 0), (numbers, 15)):
        angles = [math.degrees(math.atan2(float(x), -float(y))) % 360 for x, y in points]
        assert angles == pytest.approx([first + 30 * n for n in range(12)], abs=0.01)
    assert "devices.en.html" not in printed_pages(survey(cheated(design=DIE)), "en", ["1"])


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "design",
    [warner("3/5"), warner("3/4"), warner("1/3"), DIE, kuk("7/10", "2/10"), unrelated("2/3", "1/4")],
    ids=["tenths", "quarters", "mirrored", "die", "kuk", "unrelated"],
)
def test_every_page_is_worded_in_every_language(design, language) -> None:
    asked = Question("x", {language: "X"}, design=design)
    made = Survey({language: "T"}, [asked], consent={language: "C"}, languages=[language], ceiling=9)
    pages = printed_pages(made, language, serial_numbers(made, 1))
    for page in pages.values():
        assert not re.search(r"[{}]|×|6 ×", page.split("</style>")[1])
        assert f"<html lang='{language}' dir='{'rtl' if language == 'ar' else 'ltr'}'>" in page
    device = next(one for one in design.devices() if one.exact and one._is_simple_to_use)
    assert device.design == design


def test_devices_that_can_be_looked_up_are_marked() -> None:
    notes = {device.name: device.note for device in kuk("7/10", "2/10").devices()}
    assert "only if nobody who sees the report can look it up" in notes["the last digit of a phone number"]
    assert "look it up" not in notes["one of ten slips numbered 1 to 10"] + notes["a die"]


def test_own_instructions_come_before_a_device() -> None:
    """The ticked boxes are the report."""
    question = Question("paid", "Paid?", design=crosswise("1/4"), mode="physical", instructions="Think of a birthday.")
    form = printed(survey(question))
    assert "Think of a birthday." in form
    assert re.findall(r"<small>(\d)</small><bdi>(\w+)</bdi>", form) == [("1", "Different"), ("2", "Same")]


def test_a_birthday_needs_no_device() -> None:
    question = Question(
        "paid", "Paid?", design=crosswise(born("jan-mar")), mode="physical", innocent={"born": "jan-mar"}
    )
    assert "in one of these months: January to March?" in printed(survey(question))


def test_questions_for_writing_have_a_line() -> None:
    """The sheet then does not ask for ticks alone."""
    hours = Question("hours", "Hours?", bounds=(0, 80), help="In a week.", required=False)
    made, ticked = survey(hours, cheated(design=DIE)), survey(faculty(), cheated(design=DIE))
    form = printed(made)
    assert form.count("<p class='line'></p>") == 1
    assert "Please write only where you are asked to" in printed(made, "consent")
    assert "<p>In a week.</p><p>A number from 0 to 80</p>" in form
    assert "Hours? (may be left empty)" in form
    assert "class='line'" not in printed(ticked)
    assert "Please only tick boxes" in printed(ticked, "consent")


def test_boxes_of_which_several_may_be_ticked_say_so_and_have_one_for_none() -> None:
    form = printed(survey(Question("ate", "What?", options=["a", "b"], multiple=True)))
    assert "<p>Tick all that apply.</p>" in form
    assert re.findall(r"<small>(\d)</small><bdi>([\w ]+)</bdi>", form) == [
        ("1", "a"),
        ("2", "b"),
        ("0", "None of these"),
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_is_asked_a_question_that_not_everybody_is_asked_is_said(language) -> None:
    work = Question("work", {language: "W"}, options=["no", "yes"])
    asked = Question("x", {language: "X"}, design=DIE, show_if={"work": ["yes"]})
    made = Survey({language: "T"}, [work, asked], consent={language: "C"}, languages=[language], ceiling=9)
    voice = Voice(phrases(language, None, "paper"))
    line = voice.say("paper_if", answers=voice.quoted(voice.phrases["yes"]), question=voice.quoted("W"))
    assert f"<section><p>{line}</p><p><b>X</b></p>" in printed(made)
    assert printed(made).count(f"<p>{line}</p>") == 1


def test_every_text_of_a_survey_is_escaped() -> None:
    text, escaped = "<i x='a\"b'>&", "&lt;i x=&#x27;a&quot;b&#x27;&gt;&amp;"
    labels = {"no": "<i>& no", "yes": "<i>& yes"}
    written = {"mode": "physical", "instructions": f"{text} do"}
    asked = [
        Question("plain", f"{text} plain", options=["no", "yes"], labels=labels, help=f"{text} help"),
        Question("several", f"{text} several", options=["a<i", "b"], multiple=True),
        Question("free", f"{text} free", free_text=True, warning=f"{text} warning"),
        cheated(design=DIE, labels=labels, show_if={"plain": ["yes"]}),
        Question("own", f"{text} own", design=crosswise("1/4"), **written),
        Question("slips", f"{text} slips", design=unrelated("2/3", "1/4")),
    ]
    own_words = {"en": {"none_of_these": f"{text} none"}}
    stated = {name: f"{text} {name}" for name in STATEMENT_FIELDS}
    made = Survey(
        f"{text} title", asked, consent=f"{text} consent", help=f"{text} help", words=own_words, ceiling=9, **stated
    )
    pages = printed_pages(made, "en", ["183103819"])
    assert [name.partition(".")[0] for name in pages] == ["consent", "form", "interviewer", "devices"]
    for page in pages.values():
        assert "<i" not in page.replace("<input", "")
        assert escaped in page
    for words in ("title", "consent", "help", *(name for name in STATEMENT_FIELDS if name != "hashes")):
        assert f"{escaped} {words}" in pages["consent.en.html"]
    assert all(f"<bdi>&lt;i&gt;&amp; {label}</bdi>" in pages["form.en.html"] for label in ("no", "yes"))
    for words in ("title", "plain", "help", "free", "warning", "own", "do", "none"):
        assert f"{escaped} {words}" in pages["form.en.html"]


def test_no_template_passes_a_text_by_unescaped() -> None:
    assert _environment().autoescape is True
    templates = sorted(Path(toolkit.survey.paper.__file__).with_name("templates").glob("*.j2"))
    assert len(templates) == 6
    for template in templates:
        assert not re.search(r"\|\s*safe|autoescape|[Mm]arkup", template.read_text(encoding="utf-8"))
    assert _environment().from_string("{{ text }}").render(text="a<b\n&'") == "a&lt;b<br>&amp;&#x27;"


def test_what_no_hand_can_draw_is_refused_or_left_out() -> None:
    hours = Question("hours", "Hours?", design=numeric.one_bit((0, 80), 1.0))
    for question in (hours, cheated(design=warner(epsilon=1))):
        with pytest.raises(ValueError, match=f"a coin, a die or slips draw exactly, got {question.name}"):
            printed(survey(question))
    rest, left_out = printable_survey(survey(faculty(), hours, cheated(design=DIE)))
    assert left_out == ("hours",)
    assert [question.name for question in rest.questions] == ["faculty", "cheated"]


def test_a_device_that_a_sheet_cannot_ask_about_is_not_asked_about() -> None:
    """The wheel is only on phones, and the toolkit cannot know what the researcher's own text of the other question
    asks for.
    """
    words = {"mode": "physical", "instructions": "Do as we said."}
    wheel, own = Question("far", "F?", design=warner(epsilon=1)), unrelated("2/3", "1/4")
    rest, left_out = printable_survey(
        survey(wheel, Question("own", "O?", design=own, **words), check="device", ceiling=9)
    )
    assert (rest.check, left_out) == (False, ("far",))
    assert "about the method" not in printed(rest) + printed(rest, "consent")


def test_the_page_to_keep_says_where_help_is_in_the_order_to_dial() -> None:
    words = {"en": "Call 0800 111", "ar": "اتصل 0800 111"}
    made = Survey(words, [Question("x", words, design=DIE)], consent=words, languages=["en", "ar"], help=words)
    kept = [printed(replace(made, languages=[code]), "consent") for code in made.languages]
    assert "<h2>If you need help</h2><p>Call 0800 111</p>" in kept[0]
    assert f"<h2>{page_words_by_language(['ar'])['ar']['help_title']}</h2><p>اتصل \u20660800 111\u2069</p>" in kept[1]


def test_numbers_on_paper_say_which_can_be_written() -> None:
    asked = [Question("age", "Age?", bounds=(18, 99), whole=True), Question("km", "Far?", bounds=(0, "9.5"))]
    form = printed(Survey("Exams", asked, consent="Why.", languages=["de"]))
    assert "<p>Eine ganze Zahl von 18 bis 99</p><p class='line'>" in form
    assert "<p>Eine Zahl von 0 bis 9,5</p><p class='line'>" in form
