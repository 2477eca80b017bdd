"""What people are promised before they answer: generated from the designs, consequences first, so that it is
true.
"""

import math
from collections.abc import Sequence

from toolkit.core.checks import refuse
from toolkit.core.loss import Pure
from toolkit.survey.consent.odds import USUAL, sentences
from toolkit.survey.consent.voice import Voice
from toolkit.survey.language.phrases import OWN, Own, phrases
from toolkit.survey.language.text import in_language
from toolkit.survey.question import Question
from toolkit.survey.writing.dates import Day

_LONGEST = 120


def promise(
    questions: Sequence[Question],
    language: str,
    *,
    check: bool,
    access: str,
    own: Own | None = None,
    last: Day | None = None,
) -> list[str]:
    """What follows for the respondent, how it is done, what it comes to in all, what must be trusted, what is
    stored, until when.

    The first paragraph is the consequence. The odds are told with each question, and not here.
    """
    voice = Voice(phrases(language, own))
    randomized = [question for question in questions if question.randomized]
    if not randomized:
        return [voice.say("head_plain"), _stored(voice, check, access), *until(last, language, own)]
    paragraphs = [_head(questions, voice), _how(randomized, voice), _total(randomized, voice)]
    plain = [voice.quoted(_short(question, language)) for question in questions if not question.randomized]
    if plain:
        paragraphs.append(voice.say("plain_some", questions=voice.listed(plain)))
    return [
        *paragraphs,
        _trust(randomized, voice),
        _stored(voice, check, access),
        *until(last, language, own),
    ]


def until(last: Day | None, language: str, own: Own | None = None) -> list[str]:
    """The last day on which reports are taken, if there is one: words of one's own must then have the
    sentence for it.
    """
    words = phrases(language, own)
    if last is None:
        return []
    if "until" not in words:
        refuse(
            f"`words` must hold {OWN}until where a survey has a last day",
            f"none in {language!r}",
            "people must be told of it",
        )
    return [Voice(words).say("until", date=last.isoformat())]


def odds(question: Question, language: str, own: Own | None = None, *, icons: bool = False) -> list[str]:
    """What is received for each answer to a randomized question, how often, and what that proves at most."""
    if question.design is None:
        return []
    voice = Voice(phrases(language, own), icons)
    return sentences(question.design, voice, lambda option: question.label(option, language, voice.phrases))


def odds_in_all(questions: Sequence[Question], language: str, own: Own | None = None) -> list[str]:
    """The odds of every randomized question, one paragraph each, for paper: frequencies are drawn too."""
    voice = Voice(phrases(language, own))
    asked = [question for question in questions if question.randomized]
    return [
        f"{voice.quoted(_short(question, language))}\n{' '.join(odds(question, language, own, icons=True))}"
        for question in asked
    ]


def loss(questions: Sequence[Question]) -> Pure:
    """What one respondent spends at most: the losses of all reports, added up.

    An anchor is counted like any other: that its answer is everybody's cannot be proven here, and a promise
    must hold anyway. A question that some people are not asked is counted too. The practice question is never
    sent, and costs nothing. Plain answers are not protected, and no number could say what they cost.
    """
    return Pure(sum((question.loss.amount for question in questions), Pure(0).amount))


def _head(questions: Sequence[Question], voice: Voice) -> str:
    spent, all_of_them = loss(questions).epsilon, all(question.randomized for question in questions)
    if math.isinf(spent):
        return voice.say("head_proof")
    if spent > USUAL:
        return voice.say(
            "head_each" if all(question.loss.epsilon <= USUAL for question in questions) else "head_weak"
        )
    if not all_of_them:
        return voice.say("head_some")
    return voice.say("head_one" if len(questions) == 1 else "head_all")


def _how(randomized: Sequence[Question], voice: Voice) -> str:
    modes = {question.mode for question in randomized}
    told = [voice.say(f"how_{mode}") for mode in ("auto", "guided", "physical") if mode in modes]
    return " ".join([*told, voice.say("before")])


def _total(randomized: Sequence[Question], voice: Voice) -> str:
    spent = loss(randomized).epsilon
    if math.isinf(spent):
        return voice.say("total_none")
    told = [voice.say("total", factor=voice.factor(spent))]
    if spent > USUAL:
        told.append(voice.say("total_raised", limit=voice.factor(USUAL)))
    return " ".join(told)


def _trust(randomized: Sequence[Question], voice: Voice) -> str:
    modes = {question.mode for question in randomized}
    told = [voice.say("trust_phone")] if modes != {"physical"} else []
    return " ".join([*told, *([voice.say("trust_self")] if "physical" in modes else [])])


def _stored(voice: Voice, check: bool, access: str) -> str:
    told = [voice.say("stored"), *([voice.say("stored_check")] if check else [])]
    return " ".join([*told, *([voice.say(f"stored_{access}")] if access != "open" else [])])


def _short(question: Question, language: str) -> str:
    words = " ".join(in_language(question.text, language)[language].split())
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST].rstrip()}…"
