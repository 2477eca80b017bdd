"""The comprehension check about the randomization device, which asks what a given outcome means for the report."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from toolkit.core.checks import reject
from toolkit.local.design import Design, has_matrix
from toolkit.local.matrix.devices import Device
from toolkit.survey.consent.instructions import device_of, device_words, instructions, outcome_words
from toolkit.survey.consent.linter import SHEET_TRIES
from toolkit.survey.consent.page_data import consent_layers, page_words, practicable, practice_question, shown_question
from toolkit.survey.consent.statement import Layer
from toolkit.survey.consent.wheel import fill_slots, sectors
from toolkit.survey.questions.question import Question
from toolkit.texts.multilingual import is_right_to_left
from toolkit.texts.phrases import Own, phrases
from toolkit.texts.voice import Voice

Interface = Mapping[str, Mapping[str, str]]
"""The texts of the interface, by language."""

DeviceTry = tuple[dict[str, str], list[dict[str, str]], int]
"""The question, its answers, and the index of the right answer; texts by language."""

SheetTry = tuple[Question, int]
"""One try of the check as a question on paper, and the index of its right answer."""

TRIES = 2
"""The number of tries, each about a different case."""

_FROM_RIGHT = "\u200f"


def device_tries(questions: Sequence[Question], interface: Interface, own_words: Own | None = None) -> list[DeviceTry]:
    """Return the questions of a check about a wheel or a device, one per try; the answer "Nothing" is always wrong."""
    subjects = (
        [practice_question(questions, list(interface), own_words)]
        if practicable(questions)
        else _weakest_first(questions)
    )
    if subjects[0].mode == "auto":  # the reports yes and no are marked A and B, as on the wheel
        options, reports = _labels(subjects[0], interface, own_words)
        marks = zip("AB", reports, strict=True)
        marked = [
            {code: f"{_with_direction_mark(mark, code)} – {device_try[code]}" for code in interface}
            for mark, device_try in marks
        ]
        stops = [dict.fromkeys(interface, mark) for mark in "AB"]
        return [
            _make_try("check_wheel", interface, marked, right, at=stops[right], answer=options[1 - right])
            for right in (1, 0)
        ]
    for question in subjects:
        if tries := _order_tries(question, interface, own_words):
            return tries
        if (device := device_of(question)) is not None:
            rules = {code: " ".join(lines) for code, lines in _outcome_lines(question, interface, own_words).items()}
            tries = _outcome_tries(question, device, interface, own_words)
            return [
                ({code: f"{rules[code]} {device_try[0][code]}" for code in interface}, device_try[1], device_try[2])
                for device_try in tries
            ]
    rule = '`check = "device"` needs a wheel, a known device, forced answers or a crosswise design'
    reject(rule, f"{subjects[0].name!r} with none of these", "write check = true, or false")


def sheet_tries(survey: Any, questions: Sequence[Question] = ()) -> list[SheetTry]:
    """Return the tries of the check on paper, about the least private question with a suitable device, or []."""
    interface, own_words = page_words(survey), survey.words
    for question in _weakest_first(questions or survey.questions) if survey.check == "device" else []:
        device = device_of(question)
        if device is not None:
            tries, lines = (
                _outcome_tries(question, device, interface, own_words),
                _outcome_lines(question, interface, own_words),
            )
        elif instructions(question, next(iter(interface)), own_words):
            tries, lines = _order_tries(question, interface, own_words), {}
        else:
            continue
        if tries:
            sentences = {code: phrases(code, own_words, "paper")["sheet_check"] for code in interface}
            beside = [{code: "\n".join([sentences[code], *lines.get(code, [])]) for code in interface}, sentences]
            return [_as_question(*arguments) for arguments in zip(tries, SHEET_TRIES, beside, strict=True)]
    return []


def paper_layers(survey: Any, language: str) -> list[Layer]:
    """Return the consent layers of a survey on paper."""
    return consent_layers(survey, language, check="device" if sheet_tries(survey) else False, paper=True)


def guess_probabilities(n_answers: int) -> tuple[Fraction, Fraction]:
    """Return the probabilities that random answers are right on the first try, and on one of two tries."""
    once = Fraction(1, n_answers)
    return once, once + (1 - once) * once


def quoted(phrasebook: Mapping[str, str], label: str) -> str:
    """Return a label in quotation marks, without isolates, since the surrounding sentence already has them.

    A label that begins with a right-to-left mark is isolated as right-to-left text, even if a Latin letter follows.
    """
    text = fill_slots(phrasebook["quoted"].replace("\u2068", "").replace("\u2069", ""), label=label)
    return text.replace("\u2068", "\u2067") if label.startswith(_FROM_RIGHT) else text


def _as_question(device_try: DeviceTry, name: str, help_text: dict[str, str]) -> SheetTry:
    text, labels, right = device_try
    codes = [next(iter(label.values())) for label in labels]  # a label that is a number is also its code
    options = [
        label_code if label_code.isdecimal() else f"answer {number}" for number, label_code in enumerate(codes, start=1)
    ]
    return Question(name, text, options=options, labels=dict(zip(options, labels, strict=True)), help=help_text), right


def _make_try(
    name: str, interface: Interface, reports: Sequence[Mapping[str, str]], right: int, **labels: Mapping[str, str]
) -> DeviceTry:
    """Return one try with three answers: the right report, another report, and "nothing"."""
    text = {}
    for code, page in interface.items():
        slots = {slot: label[code] if slot == "at" else quoted(page, label[code]) for slot, label in labels.items()}
        text[code] = page[name].format(**slots)
    return _three_answers(text, interface, reports, right)


def _three_answers(
    text: dict[str, str],
    interface: Interface,
    reports: Sequence[Mapping[str, str]],
    right: int,
    wrong: int | None = None,
) -> DeviceTry:
    other = (0 if right else len(reports) - 1) if wrong is None or wrong == right else wrong
    indices = sorted((right, other))
    nothing = {code: phrasebook["check_nothing"] for code, phrasebook in interface.items()}
    return text, [*(dict(reports[index]) for index in indices), nothing], indices.index(right)


def _with_direction_mark(mark: str, code: str) -> str:
    """Prefix a Latin letter with a direction mark in right-to-left languages; the first letter sets the direction."""
    return f"{_FROM_RIGHT}{mark}" if is_right_to_left(code) else mark


def _labels(
    question: Question, interface: Interface, own_words: Any
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return the labels of a question's options and of its reports, by language."""
    page_question = shown_question(question, list(interface), own_words=own_words)
    return [option["label"] for option in page_question["options"]], [
        option["label"] for option in page_question["reports"]
    ]


def _order_tries(question: Question, interface: Interface, own_words: object) -> list[DeviceTry]:
    """Return the tries of a check about a crosswise design or forced answers; none for other designs."""
    options, reports = _labels(question, interface, own_words)
    if question.mode == "physical" and has_matrix(question.design) and question.design.procedure == "crosswise":
        pairs = ((options[0], options[-1], 0), (options[-1], options[-1], 1))
        return [
            _make_try("check_pair", interface, reports, right, first=first, second=second)
            for first, second, right in pairs
        ]
    forced = _forced_reports(question)
    cases = [(right, -1 if right == 0 else 0) for right in (*reversed(forced), *forced)][:TRIES]
    return [
        _make_try("check_order", interface, reports, right, report=reports[right], answer=options[truth])
        for right, truth in cases
    ]


def _outcome_tries(
    question: Question, device: Device[Design], interface: Interface, own_words: Own | None
) -> list[DeviceTry]:
    """Return two exercises on outcomes of the device, preferably ones for which the report differs from the truth."""
    _, reports = _labels(question, interface, own_words)
    cases = [
        (step.outcomes[0], truth, truth if step.report is None else step.report)
        for step in device.steps
        for truth in (question.options if step.truth is None else [step.truth])
    ]
    cases.sort(key=lambda case: case[1] == case[2])
    first = cases[0]
    other = next(case for case in cases if case[2] != first[2])  # every device has at least two reports
    indices, tries = {report: index for index, report in enumerate(question.report_options)}, []
    for outcome, truth, report in (first, other):
        text = {}
        for code in interface:
            voice = Voice(phrases(code, own_words, "paper"))
            answer = voice.quoted(question.label(truth, code, voice.phrases))
            outcome_text = outcome_words((outcome,), voice)
            text[code] = voice.say(
                "check_outcome", device=device_words(device, voice), outcome=outcome_text, answer=answer
            )
        tries.append(_three_answers(text, interface, reports, indices[report], indices.get(truth)))
    return tries


def _weakest_first(questions: Sequence[Question]) -> list[Question]:
    return sorted(
        (question for question in questions if question.randomized), key=lambda question: -question.loss.epsilon
    )


def _outcome_lines(question: Question, interface: Interface, own_words: Own | None) -> dict[str, list[str]]:
    """Return the instructions for each outcome of a device, by language."""
    return {code: [line for line, _ in instructions(question, code, own_words)[1:]] for code in interface}


def _forced_reports(question: Question) -> list[int]:
    """Return the codes of the reports that some outcome forces regardless of the truth."""
    design = question.design
    if not has_matrix(design) or not (question.mode == "guided" or design.procedure == "forced"):
        return []
    return sorted(says[0] for _, _, says in sectors(design) if len(set(says)) == 1)
