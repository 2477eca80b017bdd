"""Instructions for randomizing by hand with a coin, a die, slips or a birthday, on a phone and on paper."""

from collections.abc import Sequence

from toolkit.local.birthdays import month_span
from toolkit.local.design import Design, has_matrix
from toolkit.local.matrix.devices import Device, Step
from toolkit.survey.questions.question import Question
from toolkit.texts.multilingual import text_in
from toolkit.texts.phrases import Own, phrases
from toolkit.texts.voice import Voice

InstructionLine = tuple[str, tuple[str, ...]]
"""A sentence, and the outcomes of the device to which it applies."""

_DEVICES = {"a coin": "device_coin", "two coins, one after the other": "device_two_coins", "a die": "device_die"}


def device_of(question: Question) -> Device[Design] | None:
    """Return the device of a question that is randomized by hand; None for custom instructions and birthdays."""
    if question.design is None or question.instructions is not None or question.innocent is not None:
        return None
    devices = question.design.devices() if has_matrix(question.design) else ()
    return next((device for device in devices if device.exact and device._is_simple_to_use), None)


def instructions(question: Question, language: str, own_words: Own | None = None) -> list[InstructionLine]:
    """Return the instructions line by line, from the researcher's text, the innocent question, or the device."""
    if question.instructions is not None:
        return [(text_in(question.instructions, language), ())]
    voice = Voice(phrases(language, own_words, "paper"))
    if question.innocent is not None:
        return [(line, ()) for line in _innocent_question(question, question.innocent["born"], language, voice)]
    device = device_of(question)
    if device is None:
        return []
    use = voice.say("device_use", device=device_words(device, voice))
    return [(use, ()), *((_step_sentence(step, question, language, voice), step.outcomes) for step in device.steps)]


def device_words(device: Device[Design], voice: Voice) -> str:
    if device._n_slips:
        return voice.say("device_slips", count=voice.number(device._n_slips))
    return voice.say(_DEVICES[device.name])


def _innocent_question(question: Question, birthdays: str, language: str, voice: Voice) -> list[str]:
    """Return the innocent question about a birthday, and the rule that combines both answers into a report."""
    names = voice.phrases["months"].split("|")
    first, last = month_span(birthdays)
    months = names[first] if first == last else voice.say("to", first=names[first], last=names[last])
    labels = [voice.quoted(question.label(option, language, voice.phrases)) for option in question.report_options]
    triangular = has_matrix(question.design) and question.design.procedure == "triangular"
    slots = ("neither", "one") if triangular else ("different", "same")
    kind = "innocent_triangular" if triangular else "innocent_crosswise"
    return [voice.say("innocent_ask", months=months), voice.say(kind, **dict(zip(slots, labels, strict=True)))]


def _step_sentence(step: Step, question: Question, language: str, voice: Voice) -> str:
    def name(option: str | int | None) -> str:
        return voice.quoted(question.label(option, language, voice.phrases))  # type: ignore[arg-type]

    outcomes = outcome_words(step.outcomes, voice)
    if step.truth is not None:
        return voice.say("device_case", answer=name(step.truth), outcomes=outcomes, report=name(step.report))
    if step.report is None:
        return voice.say("device_truth", outcomes=outcomes)
    return voice.say("device_say", outcomes=outcomes, report=name(step.report))


def outcome_words(outcomes: Sequence[str], voice: Voice) -> str:
    """Describe outcomes in words: consecutive numbers as a range, and faces of coins by their names."""
    if outcomes[0].isdigit() and len(outcomes) > 2:
        return voice.say("to", first=outcomes[0], last=outcomes[-1])
    faces = ["–".join(voice.phrases.get(face, face) for face in outcome.split("-")) for outcome in outcomes]
    return voice.join_words(faces, "or")
