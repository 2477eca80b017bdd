"""How much there is to read and to do: before the first question, and in all; and the time that people are told."""

import re
from pathlib import Path

import pytest

from toolkit import Survey, warner
from toolkit.survey.question import Question
from toolkit.texts.phrases import LANGUAGES, interface

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CAMPUS = Survey.load(Path(__file__).parents[2] / "data" / "campus.toml")
STARTER = Survey.load(next(Path(__file__).parents[2].glob("toolkit/verbs/starter/*.toml")))
SAID = {
    "controller": "University of Example",
    "contact": "research@university.example",
    "purpose": "To learn how exams are taken",
    "retention": "Five years",
    "publication": "Only totals",
    "approval": "Ethics board, number 12",
}


def exams(*verbs):
    asked = [
        Question(verb, f"Have you ever {verb}?", design=warner(p="3/4" if len(verbs) == 1 else "2/3")) for verb in verbs
    ]
    return Survey("Exams", asked, consent="We are a research group of this university.", **SAID)


# Words and screens before the first question, at most. Before the consent was layered, and practice and check were a
# screen each, they were 565 and 5, 565 and 5, 626 and 5, 839 and 5.
SURVEYS = {
    "one": (exams("cheated"), 250, 3),
    "four": (exams("cheated", "stolen", "paid", "lied"), 250, 3),
    "starter": (STARTER, 310, 3),
    "campus": (CAMPUS, 330, 3),
}


def walk(person, words):
    """The words on each screen, when it is left; where the first question is; and how often one taps."""
    page, counts, taps, first = person.page, [], 0, None
    read = lambda: len(page.evaluate("() => document.body.innerText").split())  # noqa: E731
    asked = re.compile("^" + words["question"].split("{")[0])
    person.open().press(words["take_part"])
    counts.append(0)
    while not person.button(words["send"]).count():
        if first is None and page.locator("h1 .count").filter(has_text=asked).count():
            first = len(counts)
        if page.locator("label.choice, textarea, input[type=text]").count():
            typed, boxes = page.locator("textarea, input[type=text]"), page.locator("label.choice input:enabled")
            if person.button(words["turn"]).count():
                person.press(words["turn"])
                taps += 1
            typed.fill("20") if typed.count() else boxes.first.check()
            shown = read()
            person.press(words["continue"])
            taps += 2
            if page.locator("label.choice input:disabled").count():
                shown = read()
                person.press(words["next"])
                taps += 1
        else:
            shown = read()
            person.press(words["next"])
            taps += 1
        counts.append(shown)
    counts.append(read())
    person.press(words["send"]).sees(words["thanks"])
    counts.append(read())
    return counts, first, taps + 2


@pytest.mark.parametrize("name", SURVEYS)
def test_there_is_little_to_read_before_the_first_question_and_the_time_is_what_it_takes(phone, name):
    survey, most, screens = SURVEYS[name]
    words = interface(["en"])["en"]
    person = phone(survey, locale="en").open()
    consent = len(person.page.evaluate("() => document.body.innerText").split())
    told = int(person.page.get_by_text("Takes about").inner_text().split()[2])
    counts, first, taps = walk(person, words)
    counts[0] = consent
    assert sum(counts[:first]) <= most
    assert first == screens
    assert abs(told - (60 / 200 * sum(counts) + taps) / 60) <= 1, "200 words a minute, and a second for each tap"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_stays_below_three_hundred_words(phone, language):
    """Of one question: a translation may take a few words more."""
    words = interface([language])[language]
    said = {name: {language: text} for name, text in SAID.items()}
    asked = [Question("cheated", {language: "Cheated?"}, design=warner(p="3/4"))]
    survey = Survey({language: "Exams"}, asked, consent={language: "We study exams."}, languages=[language], **said)
    person = phone(survey, locale=language).open()
    consent = len(person.page.evaluate("() => document.body.innerText").split())
    counts, first, _ = walk(person, words)
    assert consent + sum(counts[1:first]) <= 300
