"""The items of a form for the page's scripts, in which all values that follow from the survey are precomputed.

An item is a question of the survey, the practice question, or the check of the method. It contains the screens on which
it appears, their texts, and the choices.
"""

import string
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from toolkit.local.design import Design
from toolkit.survey.consent.device_check import DeviceTry, device_tries, quoted
from toolkit.survey.consent.wheel import fill_slots, wheel
from toolkit.survey.questions.question import LONGEST_ANSWER, insert_answers
from toolkit.survey.spec import Survey
from toolkit.texts.multilingual import is_right_to_left

Words = Mapping[str, Mapping[str, str]]
"""The texts of the interface, by language."""
Item = dict[str, Any]

# The screen after the answer, which shows the randomized report. A practice question shows the report below the answer.
_RESULT_SCREEN = {"auto": "sent"}
_SETS = ("subset", "unary", "capped_boxes")  # randomizers whose reports are sets of options
_COLOURS = 4  # the number of colors for the sectors of a wheel
_MAX_RADIO = 8  # largest number of whole numbers shown as radio buttons; more become a number field
_SHOW_RESULT = 2  # number of questions with the same odds whose randomized report is shown


def question_items(
    entries: Sequence[Item], words: Words, intro: Sequence[Item] = (), shuffled_names: Collection[str] = ()
) -> list[Item]:
    """Build the items of a survey's questions; conditions refer to other questions by index.

    `shuffled_names` are the names of the questions in random order, before and after which any other question may come.
    """
    indices = {question["name"]: index for index, question in enumerate(entries)}
    items = [_build_item(question, words, heading="question", sends="we_send") for question in entries]
    earlier = list(intro)  # items that every respondent has seen before
    for item in items:
        same = [other for other in earlier if other["odds"] == item["odds"]]
        _shorten_repeated(
            item, same, [other for other in same if not {item["name"], other["name"]} & {*shuffled_names}]
        )
        item["once"] = not any(len(other["screens"]) > 1 for other in earlier)
        if not item["show_if"]:
            earlier.append(item)
        item["show_if"] = [[indices[name], codes] for name, codes in (item["show_if"] or {}).items()]
    return items


def _shorten_repeated(item: Item, same: Sequence[Item], shown_before: Sequence[Item]) -> None:
    """Collapse odds that were shown before, and limit how often the randomized report is shown for the same odds."""
    if item["odds"] is not None and any(other["heading"] == "question" for other in shown_before):
        item["before"] = [("again" if kind == "odds" else kind, text) for kind, text in item["before"]]
    if sum("rows" in other or len(other["screens"]) > 1 for other in same) >= _SHOW_RESULT:
        item["screens"] = item["screens"][:1]


def practice_item(question: Item, words: Words, index: int = 0) -> Item:
    """Build a practice question, whose answers are never sent."""
    item = _build_item(question, words, note="practice_note", heading="practice", sends="we_would_send")
    name = f"{question['name']}{index + 1}" if index else question["name"]
    before = [paragraph for paragraph in item["before"] if paragraph[0] != "odds"]
    item |= {"name": name, "screens": [f"ask:{name}"], "before": before}
    return {**item, "rows": question["rows"]} if question["mode"] == "auto" else item


def check_items(survey: Survey, words: Words) -> list[Item]:
    """Build the item that checks whether the method was understood, with the choices and the solution of each try."""
    if survey.check == "device":
        device = device_tries(survey.questions, words, survey.words)
        tries, right = [_check_try(device_try, words) for device_try in device], "right_device"
    else:
        labels = [_texts(words, name) for name in ("check_yes", "check_no")]
        tries, right = [_check_try((_texts(words, "check_question"), labels, 1), words)], "right"
        tries[0]["wrong"] = "wrong"
    note = ("note", _texts(words, "check_note"))
    item = {"name": "understood", "mode": "check", "heading": "check_title", "screens": ["ask:understood"]}
    return [{**item, "tries": tries, "right": right, "before": [note], "odds": None}]


def _check_try(device_try: DeviceTry, words: Words) -> Item:
    legend, labels, right = device_try
    wrong = {code: book["wrong_twice"].format(report=quoted(book, labels[right][code])) for code, book in words.items()}
    indices = list(range(len(labels)))
    return {"legend": legend, "labels": labels, "choices": labels, "mixed": indices, "right": right, "wrong": wrong}


def _build_item(question: Item, words: Words, note: str | None = None, **texts: str) -> Item:
    """Build the item of a question, with neutral names for reports, a wheel in guided mode, and the possible truths."""
    name, mode, randomizer = question["name"], question["mode"], question["randomizer"] or {}
    tapped = mode in ("guided", "physical")
    options = [_with_quoted_label(option, words) for option in question["options"]]
    reports = _with_colours(
        [
            _report_choice(_with_quoted_label(report, words), index, words)
            for index, report in enumerate(question["reports"])
        ]
    )
    item = {
        **question,
        **texts,
        "options": options,
        "reports": reports,
        "choices": reports if tapped else options,
        "labels": _labels(question, reports if tapped else options, words),
        "legend": _legend_texts(question, words),
        "screens": [f"ask:{name}", *([f"{_RESULT_SCREEN[mode]}:{name}"] if mode in _RESULT_SCREEN else [])],
        "odds": _odds_texts(question),
        "before": _paragraphs(question, _texts(words, f"{mode}_note" if note is None else note)),
        "mixed": question.get("mixed", []),
        "sets": randomizer.get("kind") in _SETS,
        "turns": mode == "auto" and "kind" not in randomizer,
        "truths": question["bounds"]
        or [[code] if question["kind"] == "ticks" else code for code in range(len(question["options"]))],
        **_field_data(question, question["reports" if tapped else "options"], randomizer.get("most"), words),
    }
    if "weights" in question:  # its answer is drawn at random and never shown
        item["screens"] = []
    if mode == "guided":
        sectors = wheel(Design.from_dict(randomizer), question["options"], reports, words)
        item["wheel"] = _with_colours(
            [_sector_texts(sector, index, words) for index, sector in enumerate(sectors, start=1)]
        )
    return item


def _with_colours(parts: Sequence[Item]) -> list[Item]:
    """Number the colors of a wheel's sectors so that adjacent sectors differ, including the last and the first."""
    last = len(parts) - 1
    return [
        {**part, "colour": 1 if index == last and index and index % _COLOURS == 0 else index % _COLOURS}
        for index, part in enumerate(parts)
    ]


def _labels(question: Item, choices: Sequence[Item], words: Words) -> list[Mapping[str, str]]:
    """Return the labels of all choices, with a label for "none of these" or "no answer" if the question allows it."""
    none = "none_of_these" if question["kind"] == "ticks" else None if question["required"] else "no_answer"
    return [choice["label"] for choice in choices] + ([] if none is None else [_texts(words, none)])


def _report_choice(report: Item, index: int, words: Words) -> Item:
    """Name a report "B – “Yes”", with a neutral letter first: a "yes" drawn at random is not a confession."""
    # Isolated as right-to-left text, a name that begins with a Latin letter does not reverse an Arabic line.
    mark = string.ascii_uppercase[index] if index < 26 else str(index + 1)
    names = {
        code: f"\u2067{mark} – {text}\u2069" if is_right_to_left(code) else f"{mark} – {text}"
        for code, text in report["quoted"].items()
    }
    return {**report, "mark": mark, "named": names, "stopped": _texts(words, "stopped", at=mark)}


def _with_quoted_label(option: Item, words: Words) -> Item:
    return {
        **option,
        "quoted": {code: fill_slots(words[code]["quoted"], label=option["label"][code]) for code in words},
    }


def _sector_texts(sector: Item, index: int, words: Words) -> Item:
    """Describe a sector of the wheel, with its numbered instruction and the text shown when the wheel stops there."""
    order, stopped = sector["order"], _texts(words, "stopped", at=str(index))
    names = {code: f"{index} – {order[code]}" for code in words}
    stopped = {code: f"{stopped[code]} {order[code]}" for code in words}
    return {"size": sector["size"], "mark": str(index), "named": names, "stopped": stopped}


def _legend_texts(question: Item, words: Words) -> dict[str, str]:
    """Return the text of the question, and whether it is optional."""
    return {
        code: question["text"][code] + ("" if question["required"] else f" {words[code]['optional']}") for code in words
    }


def _paragraphs(question: Item, note: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
    """Return the paragraphs between a question and its field, as pairs of kind and text by language."""
    note_texts = None if "page" in question else note  # a page shows the note once, for all its questions
    paragraphs = [("note", question.get("help")), ("note", note_texts), ("lead", question.get("instructions"))]
    paragraphs += [("lead", question.get("warning")), ("odds", _odds_texts(question))]
    return [(kind, text) for kind, text in paragraphs if text is not None]


def _odds_texts(question: Item) -> dict[str, str] | None:
    """Return the sentences about the odds of a question's reports."""
    odds = question.get("odds")
    return None if odds is None else {code: "\n".join(odds[code]) for code in odds}


def odds_by_question(items: Sequence[Item]) -> list[dict[str, str]]:
    """Return the sentences about the odds, once for all questions with the same odds, below the questions' texts."""
    texts: list[tuple[dict[str, str], dict[str, str]]] = []
    for item in items:
        if item["odds"] is None:
            continue
        question = {code: insert_answers(text) for code, text in item["text"].items()}
        earlier = next((text for same, text in texts if same == item["odds"]), None)
        if earlier is None:
            texts.append((item["odds"], question))
        else:
            earlier |= {code: f"{earlier[code]}\n{text}" for code, text in question.items()}
    return [{code: f"{text[code]}\n{same[code]}" for code in same} for same, text in texts]


def verification_steps(items: Sequence[Item]) -> list[str]:
    """Return the names of the verification steps; the trial needs a question that the phone randomizes."""
    has_trial = any(item["mode"] == "auto" for item in items)
    return [f"verify_{step}" for step in range(1, 6) if has_trial or step != 4]


def _texts(words: Words, name: str, **values: str) -> dict[str, str]:
    """Return a text of the interface in every language, with values filled in."""
    return {code: fill_slots(words[code][name], **values) for code in words}


def _field_data(question: Item, choices: Sequence[Item], most: int | None, words: Words) -> Item:
    """Return the hint, the error message and the attributes of a field, and the limits of a number."""
    is_integer_choice = _is_integer_range(choices) if question["kind"] == "choice" else False
    is_whole = is_integer_choice or question.get("whole", False)
    kind = "whole" if is_whole else question["kind"]
    limits = [choices[0]["value"], choices[-1]["value"]] if is_integer_choice else question["bounds"] or [0, 0]
    hint = kind if kind in ("number", "whole", "text") else None if most is None else "most"
    problem = f"wrong_{kind}" if kind in ("number", "whole") else "choose" if most is None else "most"
    digits = "text" if limits[0] < 0 else "numeric" if is_whole else "decimal"  # some numeric keypads have no minus
    number: Item = {"type": "text", "inputmode": digits, "maxlength": 40}
    attributes: Item = {"number": number, "whole": number, "text": {"rows": 5, "maxlength": LONGEST_ANSWER}}
    field = {
        "hint": None if hint is None else _texts(words, hint, n=str(most)),
        "problem": _texts(words, problem, n=str(most)),
        "field": {**attributes[kind], "autocomplete": "off"} if kind in attributes else None,
        "limits": limits,
        "whole": is_whole,
        "first": limits[0] if is_integer_choice else 0,
    }
    return field if most is None else {**field, "most": most}


def _is_integer_range(choices: Sequence[Item]) -> bool:
    """Return whether the choices are many consecutive whole numbers whose labels are the numbers themselves."""
    values = [choice["value"] for choice in choices]
    return (
        len(values) > _MAX_RADIO
        and all(isinstance(value, int) for value in values)
        and all(after == before + 1 for before, after in pairwise(values))
        and all(set(choice["label"].values()) == {str(choice["value"])} for choice in choices)
    )
