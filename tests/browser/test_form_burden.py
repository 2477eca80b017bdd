"""How much there is to read and to do: before the first question, and in all; and the time that people are told."""

from pathlib import Path

import pytest

from toolkit import Survey, warner
from toolkit.studio.surveys import EXAMPLES
from toolkit.survey.questions.question import Question
from toolkit.texts.phrases import LANGUAGES, page_words_by_language

pytestmark = pytest.mark.browser

CAMPUS = Survey.load(Path(__file__).parents[2] / "data" / "campus.toml")
STARTER = Survey.load(EXAMPLES["exam"])
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


STATE = """([send, turn, asked]) => {
  const all = (css) => [...document.querySelectorAll(css)];
  const has = (name) => all("button").some((one) => one.textContent === name);
  return {
    words: document.body.innerText.split(/\\s+/).filter(Boolean).length, send: has(send), turn: has(turn),
    question: all("h1 .count").some((one) => one.textContent.startsWith(asked)),
    typed: all("textarea, input[type=text]").length, boxes: all("label.choice input:enabled").length,
    told: all("label.choice input:disabled").length,
  };
}"""
CHECK = "() => document.querySelector('label.choice input:enabled').click()"


def walk(person, words):
    """The words on each screen, when it is left; where the first question is; and how often one taps."""
    names = [words["send"], words["turn"], words["question"].split("{")[0]]
    read = lambda: person.page.evaluate(STATE, names)  # noqa: E731
    counts, taps, first = [read()["words"]], 0, None
    person.press(words["take_part"])
    while not (screen := read())["send"]:
        if first is None and screen["question"]:
            first = len(counts)
        if screen["turn"]:
            person.press(words["turn"])
            taps += 1
        if screen["typed"]:
            person.fill("20")
        elif screen["boxes"] or screen["turn"]:
            person.page.evaluate(CHECK)
        if screen["typed"] or screen["boxes"] or screen["turn"]:
            counts.append(read()["words"])
            person.press(words["continue"])
            taps += 2
            if (screen := read())["told"]:
                counts[-1] = screen["words"]
                person.press(words["next"])
                taps += 1
        else:
            counts.append(screen["words"])
            person.press(words["next"])
            taps += 1
    counts.append(read()["words"])
    person.press(words["send"]).sees(words["thanks"])
    counts.append(read()["words"])
    return counts, first, taps + 2


@pytest.mark.parametrize("name", SURVEYS)
def test_reading_before_the_first_question_is_short_and_timed(phone, name):
    """There is little to read before the first question and the time is what it takes."""
    survey, most, screens = SURVEYS[name]
    words = page_words_by_language(["en"])["en"]
    person = phone(survey, locale="en").open()
    told = int(person.page.get_by_text("Takes about").inner_text().split()[2])
    counts, first, taps = walk(person, words)
    assert sum(counts[:first]) <= most
    assert first == screens
    assert abs(told - (60 / 200 * sum(counts) + taps) / 60) <= 1, "200 words a minute, and a second for each tap"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_stays_below_three_hundred_words(phone, language):
    """Of one question: a translation may take a few words more."""
    words = page_words_by_language([language])[language]
    said = {name: {language: text} for name, text in SAID.items()}
    asked = [Question("cheated", {language: "Cheated?"}, design=warner(p="3/4"))]
    survey = Survey({language: "Exams"}, asked, consent={language: "We study exams."}, languages=[language], **said)
    person = phone(survey, locale=language).open()
    counts, first, _ = walk(person, words)
    assert sum(counts[:first]) <= 300
