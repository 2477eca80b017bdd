"""The privacy statement for respondents, which is generated from the designs so that it is true."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from toolkit.core.checks import reject
from toolkit.core.loss import Pure
from toolkit.survey.questions.question import Question, insert_answers, loss_over_waves
from toolkit.survey.questions.survey_fields import Day
from toolkit.texts.multilingual import Text, text_in
from toolkit.texts.odds import WEAK_EPSILON, LabelFunction, asks_innocent, odds_sentences, outcome_sentences
from toolkit.texts.phrases import LANGUAGES, PROMISE_PREFIX, STATION, Own, phrases
from toolkit.texts.voice import Voice

OPTIONAL = ("withdrawal", "hashes")
"""Optional statements; without the first, respondents read that a report cannot be withdrawn."""

Stated = Mapping[str, Text | None]
"""The researchers' statements about themselves and the study, by name."""


def missing_statements(stated: Stated) -> list[str]:
    """Return the names of required statements that are missing."""
    return [name for name, text in stated.items() if text is None and name not in OPTIONAL]


@dataclass(frozen=True)
class Layer:
    """A section of the consent text, with sentences that are always shown and sentences that can be expanded."""

    name: str
    open: tuple[str, ...]
    more: tuple[str, ...] = ()

    def title(self, language: str, own_words: Own | None = None) -> str | None:
        """Return the section's heading; the first section has none."""
        return None if self.name == "head" else phrases(language, own_words)[f"section_{self.name}"]

    def __add__(self, other: "Layer") -> "Layer":
        return Layer(self.name, self.open + other.open, self.more + other.more)


_SECTIONS = {  # the section of each of the researchers' statements, and whether it is shown expanded
    "controller": ("who", True),
    "contact": ("who", True),
    "purpose": ("who", False),
    "approval": ("who", False),
    "hashes": ("who", False),
    "retention": ("stored", False),
    "publication": ("stored", False),
    "withdrawal": ("choice", True),
}


def stated_layers(
    stated: Stated, consent: str, language: str, own_words: Own | None = None, *, paper: bool = False
) -> list[Layer]:
    """Return the researchers' own texts as layers, with a note on demonstrations if a statement is missing."""
    voice = Voice(phrases(language, own_words))
    demonstration = (voice.say("demonstration"),) if missing_statements(stated) else ()
    layers = [Layer("who", (*re.split(r"\n\s*\n", consent), *demonstration))]
    for name, text in stated.items():
        if text is not None and not (paper and name == "hashes"):
            (section, is_open), sentences = _SECTIONS[name], (voice.say(name, words=text[language]),)
            layers.append(Layer(section, sentences) if is_open else Layer(section, (), sentences))
    return layers


def merge_layers(layers: Sequence[Layer]) -> list[Layer]:
    """Join layers with the same name, and return the sections in reading order."""
    by_name: dict[str, Layer] = {}
    for layer in layers:
        by_name[layer.name] = by_name[layer.name] + layer if layer.name in by_name else layer
    return [by_name[name] for name in ("head", "who", "learn", "stored", "choice") if name in by_name]


_LONGEST = 120


def promise(survey: Any, language: str, check: bool | str, send: str, *, paper: bool) -> list[Layer]:
    """Return the statement in four sections: the consequence, what can be learned, what is stored, and the choices.

    The odds are not included, because they are shown with each question. `check` is the comprehension check, `send` the
    label of the send button, and `paper` states whether sheets are handed in. Several waves are described together; a
    later wave never promises less than the first wave.
    """
    questions, waves, own_words, first_wave_loss = survey.questions, survey.waves, survey.words, earlier_loss(survey)
    if paper:
        _check_paper(questions, waves)
    voice = Voice(
        phrases(language, own_words, *([STATION] if survey.is_station else []), *_extra_phrases(questions, paper))
    )
    randomized = [question for question in questions if question.randomized]
    stored = _storage_layer(questions, voice, check, survey.access, paper, waves)
    back = [] if paper else [voice.say("may_stop", send=send)]
    back += [] if survey.withdrawal is not None else [voice.say("final_paper" if paper else "final")]
    choice = Layer(
        "choice",
        (" ".join(back), *_arm_sentences(questions, voice)),
        tuple(last_day_sentences(survey.closes, language, own_words)),
    )
    if not randomized:
        return [Layer("head", (voice.say("head_plain"),)), stored, choice]
    left_out = [
        voice.say(f"no_skip{'_paper' * paper}"),
        *_declining_sentence(randomized, language, voice, waves, first_wave_loss),
    ]
    return merge_layers(
        [
            Layer("head", (_head_sentence(questions, voice, waves, first_wave_loss),)),
            _randomization_layer(randomized, voice, paper),
            _loss_layer(randomized, language, voice, waves, first_wave_loss, later=survey.wave > 1),
            _unprotected_layer(questions, language, voice, paper),
            *([] if paper else [_trust_layer(randomized, voice)]),
            stored,
            Layer("choice", (), (" ".join(left_out),)),
            choice,
            *_wave_layers(voice, survey.access, waves, survey.wave),
        ]
    )


def _extra_phrases(questions: Sequence[Question], paper: bool) -> list[str]:
    """Return the name of the additional table of phrases that the statement needs, if it needs one."""
    return ["paper"] if paper or any(question.innocent is not None for question in questions) else []


def _arm_sentences(questions: Sequence[Question], voice: Voice) -> list[str]:
    """Return the sentence stating that questions are chosen at random, if the survey has arms."""
    return [voice.say("arms")] if any(question.draw_probabilities is not None for question in questions) else []


def _check_paper(questions: Sequence[Question], waves: int) -> None:
    if waves > 1:
        reject("a survey with waves cannot be asked on paper", f"{waves} waves", "paper cannot store a phone's draws")
    if any(question.draw_probabilities is not None for question in questions):
        reject(
            "a survey with arms cannot be asked on paper", "arms", "print one survey per arm and assign them at random"
        )


def _unprotected_layer(questions: Sequence[Question], language: str, voice: Voice, paper: bool) -> Layer:
    """Return the sentences that name the unprotected questions."""
    direct = [question for question in questions if question.draw_probabilities is None]
    plain = [voice.quoted(_short_text(question, language)) for question in direct if not question.randomized]
    if not plain:
        return Layer("learn", ())
    sentence = voice.say("plain_paper" if paper else "plain_some", questions=voice.join_words(plain))
    return Layer("learn", (voice.say("plain_open"),), (sentence,))


def last_day_sentences(last: Day | None, language: str, own_words: Own | None) -> list[str]:
    """Return the sentence about the survey's last day, if it has one; custom texts must then include this sentence."""
    if last is None:
        return []
    sentences = phrases(language, own_words)
    if "until" not in sentences:
        rule = f"`words` must contain {PROMISE_PREFIX}until in a survey with a last day"
        reject(rule, f"none in {language!r}", "people must know the last day")
    return [Voice(sentences).say("until", date=last.isoformat())]


def odds(
    question: Question, language: str, own_words: Own | None = None, *, waves: int = 1, with_ratio: bool = False
) -> list[str]:
    """Return the sentences on how often each answer leads to each report, and on what the reports can prove.

    `with_ratio` adds a sentence with the largest likelihood ratio.
    """
    if question.design is None:
        return []
    voice = Voice(phrases(language, own_words), with_icons=True)
    lines = odds_sentences(question.design, voice, _label_function(question, language, voice), with_ratio=with_ratio)
    return lines if waves == 1 else [*lines, voice.say("odds_waves")]


def odds_by_answer(question: Question, language: str, own_words: Own | None) -> list[str]:
    """Return, for each answer to a question, a sentence on its possible reports and their frequencies."""
    voice = Voice(phrases(language, own_words), with_icons=True)
    return outcome_sentences(question.design, voice, _label_function(question, language, voice))


def _label_function(question: Question, language: str, voice: Voice) -> LabelFunction:
    return lambda option: question.label(option, language, voice.phrases)


def odds_of_questions(questions: Sequence[Question], language: str, own_words: Own | None, waves: int) -> list[str]:
    """Return the odds of every randomized question, one paragraph each."""
    voice = Voice(phrases(language, own_words))
    return [
        f"{voice.quoted(_short_text(question, language))}\n{' '.join(odds(question, language, own_words, waves=waves))}"
        for question in questions
        if question.randomized
    ]


def earlier_loss(survey: Any) -> Pure:
    """Return the loss that the first wave promised; zero before there is a collection."""
    return Pure(0 if survey.panel is None else survey.panel.total_epsilon)


def loss(questions: Sequence[Question], waves: int = 1, first_wave_loss: Pure = Pure(0)) -> Pure:  # noqa: B008 (a frozen value)
    """Return the largest privacy loss of one respondent over all waves.

    The result is at least `first_wave_loss`, the loss that the first wave promised. An anchor counts like any other
    question, because the promise must hold even for people whose true answer differs. Questions that only some
    people are asked count fully, and only the arm with the largest loss counts. The practice question is never sent
    and costs nothing. Plain answers are not protected and are not included.
    """
    arms = next((question.options for question in questions if question.draw_probabilities is not None), (None,))
    losses = (
        sum(
            (
                loss_over_waves(question, waves).amount
                for question in questions
                if not question.arms or arm in question.arms
            ),
            Pure(0).amount,
        )
        for arm in arms
    )
    return Pure(max(*losses, first_wave_loss.amount))


def needs_secret_answer(question: Question) -> bool:
    """Return whether a question needs an innocent question whose answer nobody else knows."""
    explained = question.instructions is not None or question.innocent is not None  # otherwise a device is used
    is_innocent = question.design is not None and asks_innocent(question.design)
    return question.mode == "physical" and is_innocent and explained


def _head_sentence(questions: Sequence[Question], voice: Voice, waves: int, first_wave_loss: Pure) -> str:
    spent = loss(questions, waves, first_wave_loss).epsilon
    if math.isinf(spent):
        return voice.say("head_proof")
    if spent > WEAK_EPSILON:
        return voice.say(
            "head_each"
            if all(loss_over_waves(question, waves).epsilon <= WEAK_EPSILON for question in questions)
            else "head_weak"
        )
    if not all(question.randomized or question.draw_probabilities is not None for question in questions):
        return voice.say("head_some")
    return voice.say("head_one" if len(questions) == 1 else "head_all")


def _randomization_layer(randomized: Sequence[Question], voice: Voice, paper: bool) -> Layer:
    """Return the section on how answers are randomized; manual steps are collapsed, as each question repeats them."""
    modes = {"paper"} if paper else {question.mode for question in randomized}
    lines = tuple(voice.say(f"how_{mode}") for mode in ("auto", "paper") if mode in modes)
    more = [f"how_{mode}" for mode in ("guided", "physical") if mode in modes]
    more += ["innocent"] if any(map(needs_secret_answer, randomized)) else []
    more += ["innocent_days"] if any(question.innocent is not None for question in randomized) else []
    return Layer("learn", lines, tuple(map(voice.say, more)))


def _loss_layer(
    randomized: Sequence[Question], language: str, voice: Voice, waves: int, first_wave_loss: Pure, *, later: bool
) -> Layer:
    """Return the section on how much all reports together improve a guess, or whether they can prove an answer."""
    spent = loss(randomized, waves, first_wave_loss).epsilon
    if math.isinf(spent):
        # A later wave states nothing about the other questions, because an earlier wave may have asked more of them.
        rest = [] if later else _loss_details(randomized, language, voice, waves)
        return Layer("learn", (voice.say("total_none"),), tuple(rest))
    guess = voice.guess_frequency(spent)
    more: tuple[str, ...] = ()
    if guess is None:
        sentence = voice.say("total_sure")
    elif waves == 1:
        sentence, more = voice.say("total", guess=guess), (voice.say("total_once"),)
    else:
        sentence = voice.say("total_waves", guess=guess, waves=voice.number(waves))
        same = voice.guess_frequency(_epsilon_if_unchanged(randomized, waves, first_wave_loss))
        more = (voice.say("total_same", guess=same),) if same != guess else ()
    raised = (voice.say("total_raised", limit=voice.guess_frequency(WEAK_EPSILON)),) if spent > WEAK_EPSILON else ()
    return Layer("learn", (sentence, *raised), more)


def _epsilon_if_unchanged(randomized: Sequence[Question], waves: int, first_wave_loss: Pure) -> float:
    """Return the total epsilon of all waves if answers do not change and the phone keeps its memos."""
    saved = sum(
        (
            loss_over_waves(question, waves).amount - Pure(question.memo.epsilon(waves)).amount
            for question in randomized
            if question.memo
        ),
        Pure(0).amount,
    )
    return Pure(loss(randomized, waves, first_wave_loss).amount - saved).epsilon


def _wave_layers(voice: Voice, access: str, waves: int, wave: int) -> list[Layer]:
    """Return the sentences about being asked several times, in a survey with waves."""
    if waves == 1:
        return []
    often = voice.say("waves", waves=voice.number(waves), wave=voice.number(wave))
    numbers = {name: voice.number(count) for name, count in unique_patterns(waves).items()}
    links = () if access == "open" else (voice.say("waves_links", **numbers),)
    stored = Layer("stored", (), (voice.say("waves_stored"), voice.say("waves_phone"), *links))
    return [Layer("choice", (often,)), stored]


def unique_patterns(waves: int, n_people: int = 60) -> dict[str, int]:
    """Return the expected number of people whose links were used in a unique pattern of waves.

    The entry `alone` of the result is this number, rounded up. Somebody who reads the list of used links once in each
    wave can identify the reports of these people. The number is the maximum over all times at which between one tenth
    and nine tenths of all people have answered. If everybody answers each wave with probability 4/5, then 4 of 60
    people have a unique pattern after four waves, and 22 after eight waves.
    """
    certain, shares = 10**waves, []  # probabilities are whole numbers over the denominator `certain`
    for tenths in range(1, 10):
        chances = [tenths**used * (10 - tenths) ** (waves - used) for used in range(waves + 1)]
        others = [chance * (certain - chance) ** (n_people - 1) for chance in chances]
        shares.append(sum(math.comb(waves, used) * alone for used, alone in enumerate(others)))
    return {"waves": waves, "people": n_people, "alone": -(-n_people * max(shares) // certain**n_people)}


def _loss_details(randomized: Sequence[Question], language: str, voice: Voice, waves: int) -> list[str]:
    certain = [question for question in randomized if math.isinf(loss_over_waves(question, waves).epsilon)]
    rest = loss([question for question in randomized if question not in certain], waves).epsilon
    guess = voice.guess_frequency(rest)
    if len(certain) == len(randomized) or guess is None:
        return []
    names = voice.join_words([voice.quoted(_short_text(question, language)) for question in certain])
    return [voice.say("total_rest", questions=names, guess=guess)]


def _declining_sentence(
    randomized: Sequence[Question], language: str, voice: Voice, waves: int, first_wave_loss: Pure
) -> list[str]:
    """Return the sentence stating that "prefer not to say" is protected like all answers, if a design includes it."""
    labels = [
        question.label(option, language, voice.phrases)
        for question in randomized
        if (option := declining_option(question)) is not None
    ]
    if not labels:
        return []
    names = voice.join_words([voice.quoted(label) for label in dict.fromkeys(labels)], "or")
    # The same person may decline all questions, so the total loss is compared with the limit.
    hidden = loss(randomized, waves, first_wave_loss).epsilon <= WEAK_EPSILON
    return [voice.say("may_decline", answers=names), *([voice.say("decline_hidden")] if hidden else [])]


def _trust_layer(randomized: Sequence[Question], voice: Voice) -> Layer:
    modes = {question.mode for question in randomized}
    names = {"trust_phone": modes != {"physical"}, "trust_self": "physical" in modes}
    return Layer("learn", (), tuple(voice.say(name) for name, is_so in names.items() if is_so))


def _storage_layer(
    questions: Sequence[Question], voice: Voice, check: bool | str, access: str, paper: bool, waves: int
) -> Layer:
    again = "_waves" if access == "token" and waves > 1 else ""
    anchor = ["anchor"] if any(question.anchor is not None for question in questions) else []
    if paper:
        writes = any(question.kind in ("text", "number") for question in questions)
        names = ["stored_paper", "writes_paper" if writes else "ticks_paper"]
        more = [*(["stored_tries_paper"] if check == "device" else []), *anchor]
    else:
        tries = ["stored_tries" if check == "device" else "stored_check"] if check else []
        names, more = ["stored"], ["stored_more", *tries, f"stored_{access}{again}", *anchor]
    return Layer("stored", (" ".join(map(voice.say, names)),), tuple(map(voice.say, more)))


def _short_text(question: Question, language: str) -> str:
    text = " ".join(insert_answers(text_in(question.text, language)).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()}…"


def declining_option(question: Question) -> str | int | None:
    """Return the option for declining to answer, if there is one."""
    for option in question.options:
        label = question.labels.get(option, "")
        text = " ".join([str(option), *([label] if isinstance(label, str) else label.values())])
        text = text.lower().replace("_", " ")
        if any(phrase in text for phrase in _refusal_labels()):
            return option
    return None


@cache
def _refusal_labels() -> tuple[str, ...]:
    return tuple(phrase for language in LANGUAGES for phrase in phrases(language)["refusing"].split("|"))
