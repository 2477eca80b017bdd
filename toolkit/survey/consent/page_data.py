"""The data of the page: texts and labels in every language, the odds, and the numbers for the random draws."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from toolkit.local.protocol import Randomizer
from toolkit.local.questions import warner
from toolkit.survey.consent import statement as consent
from toolkit.survey.consent.instructions import instructions
from toolkit.survey.questions.question import Question, localized_question, loss_over_waves
from toolkit.survey.questions.survey_fields import closing_texts, question_units, statements
from toolkit.texts.multilingual import Text, in_language, isolate_digit_groups
from toolkit.texts.odds import WEAK_EPSILON
from toolkit.texts.phrases import (
    PROMISE_PREFIX,
    STATION,
    Own,
    page_words_by_language,
    phrases,
    rehearsal_mark,
    rehearsal_words,
    station_words,
)


def page_words(survey: Any) -> dict[str, dict[str, str]]:
    """Return all texts of the page by language; the review before sending contains only statements that apply."""
    check, access = survey.check, survey.access
    modes = {question.mode for question in survey.questions if question.draw_probabilities is None}
    review = {  # sentences on what is sent and what stays on the phone, and whether they apply
        "review_note": True,
        "review_tries" if check == "device" else "review_check": bool(check),
        f"review_{access}": access != "open",
        "review_arms": survey.arms is not None,
        "review_auto": "auto" in modes,
        "review_tapped": bool(modes & {"guided", "physical"}),
        "review_plain": "plain" in modes,
    }
    pages = page_words_by_language(survey.languages, _own_words(survey))
    if survey.is_station:
        pages = {code: {**texts, **station_words(code)} for code, texts in pages.items()}
    for code, texts in pages.items():
        texts["review_note"] = " ".join(texts[name] for name, is_so in review.items() if is_so)
        if access == "blind":
            texts["end_403"] = texts["used_blind"]
        if survey.household:
            texts["end_already"] = texts["already_household"]
        if survey.waves > 1:
            sentences = phrases(code, survey.words)
            texts["review_note"] += f" {sentences['review_person']}"
            texts["keeps_nothing"] += f" {sentences['new_draws']}"
            texts |= {"end_already": sentences["already_waves"], "new_draws": sentences["new_draws"]}
    return pages


def _own_words(survey: Any) -> dict[str, dict[str, str]]:
    """Return the researcher's own texts for the page except the promise, with marked headings in a rehearsal."""
    own_words = {
        code: {key: text for key, text in texts.items() if not key.startswith(PROMISE_PREFIX)}
        for code, texts in (survey.words or {}).items()
    }
    return rehearsal_words(survey.languages, own_words) if survey.rehearsal else own_words


def headings(survey: Any) -> dict[str, str]:
    """Return the title in each language, with a prefix if the survey is a rehearsal."""
    marks = {code: f"{rehearsal_mark(code)}: " if survey.rehearsal else "" for code in survey.languages}
    return {code: f"{mark}{survey.title[code]}" for code, mark in marks.items()}


def consent_layers(
    survey: Any, language: str, *, check: bool | str | None = None, paper: bool = False
) -> list[consent.Layer]:
    """Return the consent text in layers: the consequence, who asks, what can be learned, what is stored, and choices.

    `check` replaces the survey's comprehension check.
    """
    own_words = consent.stated_layers(statements(survey), survey.consent[language], language, survey.words, paper=paper)
    if survey.household and not paper:
        own_words.append(consent.Layer("stored", (), (phrases(language, survey.words)["household"],)))
    if survey.is_station and not paper:
        own_words.insert(0, consent.Layer("who", (phrases(language, None, STATION)["station_own"],)))
    check = survey.check if check is None else check
    send = page_words(survey)[language]["send"]
    return consent.merge_layers([*consent.promise(survey, language, check, send, paper=paper), *own_words])


def practicable(questions: Sequence[Question]) -> list[Question]:
    return [question for question in questions if question.mode in ("auto", "guided")]


def is_deniable(questions: Sequence[Question]) -> bool:
    """Return whether nobody can be sure of an answer; otherwise practice questions and the check would mislead."""
    return bool(questions) and max(question.loss.epsilon for question in questions) <= WEAK_EPSILON


def practice_question(
    questions: Sequence[Question], languages: Sequence[str], own_words: Own | None = None, *, again: bool = False
) -> Question:
    """Return a practice question that is as private as the least private real question; its answer is never sent."""
    text = {code: phrases(code, own_words)["practice_2" if again else "practice"] for code in languages}
    weakest = max(practicable(questions), key=lambda question: question.loss.epsilon)
    yes_or_no = weakest.options == weakest.report_options == ("no", "yes")
    design = weakest.design if yes_or_no else warner(epsilon=weakest.loss.epsilon)
    return Question("practice", text, design=design, mode=weakest.mode)


def shown_survey(survey: Any) -> dict[str, Any]:
    codes, own_words = survey.languages, survey.words
    others = {question.name: question for question in survey.questions}
    rounds = [
        practice_question(survey.questions, codes, own_words, again=index % 2 > 0) for index in range(survey.practice)
    ]
    questions = [shown_question(question, codes, others, own_words, survey.waves) for question in survey.questions]
    layers = {code: consent_layers(survey, code) for code in codes}
    endings = {
        name: {code: isolate_digit_groups(text[code]) for code in codes}
        for name, text in closing_texts(survey).items()
        if text is not None
    }
    page = {
        "title": headings(survey),
        "languages": list(codes),
        "access": survey.access,
        "consent": {code: [_shown_layer(layer, code, own_words) for layer in layers[code]] for code in codes},
        "practice": [
            {**shown_question(question, codes, own_words=own_words), "rows": _rows(question, codes, own_words)}
            for question in rounds
        ],
        "check": survey.check,
        "questions": questions,
        **endings,
        **({"household": True} if survey.household else {}),
        **({"random_order": _shuffled_names(survey)} if survey.random_order else {}),
        **({} if survey.completion is None else {"completion": survey.completion}),
    }
    for code in codes:
        takes = phrases(code, own_words)["takes"].format(minutes=minutes(page, code))
        page["consent"][code][-1]["open"].append(takes)
    if survey.waves == 1:
        return page
    panel = {"identity": None} if survey.panel is None else survey.panel.to_dict()
    return {**page, "panel": panel.pop("identity"), **panel, "waves": survey.waves, "wave": survey.wave}


def _shown_layer(layer: consent.Layer, language: str, own_words: Own | None) -> dict[str, Any]:
    sections = {"open": [*map(isolate_digit_groups, layer.open)], "more": [*map(isolate_digit_groups, layer.more)]}
    return {"name": layer.name, "title": layer.title(language, own_words), **sections}


def _rows(question: Question, languages: Sequence[str], own_words: Own | None) -> list[dict[str, str]]:
    """Return, for each answer, a sentence on its possible reports in each language."""
    sentences = {code: consent.odds_by_answer(question, code, own_words) for code in languages}
    return [{code: sentences[code][truth] for code in languages} for truth in range(len(question.options))]


_SECONDS_PER_WORD, _SECONDS_PER_QUESTION = 60 / 200, 4  # 200 words per minute, and seconds to think and tap
_EXTRA_WORDS = 30  # additional words on a question's screen, such as notes, buttons and steps
_REVIEW_WORDS = 12  # words per question on the review screen


def minutes(page: Mapping[str, Any], language: str) -> int:
    """Return the duration of a survey in minutes, rounded up, if people read all texts that are not collapsed.

    Odds that were shown before are collapsed, unless the questions are in random order, and the randomized report is
    shown for at most two questions with the same odds.
    """

    def count_words(*texts: str | None) -> int:
        return sum(len(text.split()) for text in texts if text is not None)

    read = sum(count_words(layer["title"], *layer["open"]) for layer in page["consent"][language])
    entries = [*page["practice"], *(entry for entry in page["questions"] if "weights" not in entry)]
    earlier_odds: list[str] = []
    mixed = page.get("random_order", ())
    for entry in entries:
        texts = [entry[name] and entry[name][language] for name in ("text", "help", "instructions", "warning")]
        read += _EXTRA_WORDS + count_words(*texts, *(option["label"][language] for option in entry["options"]))
        odds = " ".join(entry["odds"][language]) if entry["odds"] else ""
        read += count_words(odds) if odds not in earlier_odds or entry["name"] in mixed else 0
        read += _EXTRA_WORDS if entry["mode"] == "auto" and earlier_odds.count(odds) < 2 else 0
        earlier_odds.append(odds)
    read += 2 * _EXTRA_WORDS * bool(page["check"]) + _REVIEW_WORDS * len(page["questions"]) + 2 * _EXTRA_WORDS
    return math.ceil((_SECONDS_PER_WORD * read + _SECONDS_PER_QUESTION * (len(entries) + bool(page["check"]) + 2)) / 60)


def shown_question(
    question: Question,
    languages: Sequence[str],
    others: Mapping[str, Question] | None = None,
    own_words: Own | None = None,
    waves: int = 1,
) -> dict[str, Any]:
    """Return the page's data for one question; `others` are the questions that `show_if` may name."""

    def in_languages(label: str | Text | None) -> dict[str, str] | None:
        text = None if label is None else in_language(label, languages[0])
        return None if text is None else {code: isolate_digit_groups(text[code]) for code in languages}

    def choices(options: Sequence[str | int]) -> list[dict[str, Any]]:
        labels = [{code: local.label(option, code, sentences[code]) for code in languages} for option in options]
        return [{"value": option, "label": label} for option, label in zip(options, labels, strict=True)]

    sentences = {code: phrases(code, own_words) for code in languages}
    local, randomizer = localized_question(question, languages[0]), question.memo or question.design
    return {
        "name": question.name,
        "kind": question.kind,
        "mode": question.mode,
        "text": in_languages(question.text),
        "help": in_languages(question.help),
        "options": choices(question.options),
        "reports": choices(question.report_options),
        "randomizer": None if randomizer is None else randomizer._browser_data(),
        "odds": {code: _odds(local, code, own_words, waves) for code in languages} if question.randomized else None,
        "deniable": loss_over_waves(question, waves).epsilon <= WEAK_EPSILON if question.randomized else None,
        "instructions": _instructions(local, languages, own_words),
        "show_if": question.show_if and _option_codes(question.show_if, others or {}),
        "required": question.required,
        "bounds": None if question.bounds is None else [as_number(bound) for bound in question.bounds],
        "warning": in_languages(question.warning),
        "scale": scale(question.design) if question.design is not None and question.kind == "number" else None,
        **({"image": {**question.image, "alt": in_languages(question.image["alt"])}} if question.image else {}),
        **_optional_entries(question),
    }


def _optional_entries(question: Question) -> dict[str, Any]:
    """Return the entries that only some questions have."""
    return {
        **({"whole": True} if question.whole else {}),
        **({"page": question.page} if question.page else {}),
        **({"mixed": _shuffled_choices(question)} if question.random_order else {}),
        **({} if question.draw_probabilities is None else {"weights": _weights(question.draw_probabilities)}),
    }


def _shuffled_names(survey: Any) -> list[str]:
    """Return the names of the questions that are asked in random order."""
    units, mixed = question_units(survey.questions, survey.random_order)
    return [survey.questions[index].name for unit in mixed for index in units[unit]]


def _shuffled_choices(question: Question) -> list[int]:
    """Return the indices of the choices that are shuffled; the option for declining keeps its position."""
    choices = question.report_options if question.mode in ("guided", "physical") else question.options
    refusal = consent.declining_option(question)
    return [index for index, choice in enumerate(choices) if choice != refusal]


def _odds(question: Question, language: str, own_words: Own | None, waves: int) -> list[str]:
    """Return the odds, with a note that they are approximate for birthdays, because births vary by season."""
    note = [] if question.innocent is None else [phrases(language, own_words, "paper")["innocent_days"]]
    return [*consent.odds(question, language, own_words, waves=waves), *note]


def _instructions(question: Question, languages: Sequence[str], own_words: Own | None) -> dict[str, str] | None:
    """Return the instructions for manual randomization by language, or None if nothing is randomized by hand."""
    if question.mode != "physical" and question.instructions is None:
        return None
    lines = {code: [line for line, _ in instructions(question, code, own_words)] for code in languages}
    return {code: "\n".join(steps) for code, steps in lines.items()}


def _weights(chances: Sequence[Fraction]) -> list[int]:
    """Return probabilities as integer weights, from which a phone draws."""
    whole = math.lcm(*(share.denominator for share in chances))
    return [int(share * whole) for share in chances]


def _option_codes(
    conditions: Mapping[str, Sequence[str | int]], others: Mapping[str, Question]
) -> dict[str, list[int]]:
    return {name: [others[name].options.index(option) for option in options] for name, options in conditions.items()}


def scale(design: Randomizer) -> dict[str, Any]:
    """Return the display of a numeric report on the question's scale: `zero + step * report`, with `decimals` decimals.

    With `bits`, the reports 0 and 1 mean no and yes. A window of likely reports is centered on the true answer.
    """
    data = design._browser_data()
    span, unit = Fraction(*data["span"]), getattr(design, "unit", None)  # a deck's reports have a unit
    if unit is not None:
        return {"bits": False, "zero": 0, "step": float(unit), "decimals": 12}
    bits, step = "keep" in data, span / data["steps"]
    ahead = Fraction(data.get("width", 1) - 1, 2) + (2 if bits else 0)
    zero = float(Fraction(*data["low"]) - ahead * step)
    decimals = max(0, 2 - math.floor(math.log10(span)))
    return {"bits": bits, "zero": zero, "step": float(step), "decimals": decimals}


def as_number(value: Fraction) -> int | float:
    """Return a bound as an integer if it is a whole number, and otherwise as a float."""
    return int(value) if value.denominator == 1 else float(value)
