"""Strict parsing of submissions: since anybody can send one, nothing is guessed, repaired or quoted."""

import json
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from toolkit.survey.consent.linter import max_answer_bytes
from toolkit.survey.questions import strict_json
from toolkit.survey.questions.question import Question, accepts
from toolkit.survey.questions.survey_fields import PERSON
from toolkit.survey.spec import Survey, is_asked

_KEY = re.compile(r"[0-9a-f]{32}")
TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")
_NONCE = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"([0-9a-f]{2}){64,1024}")
_MAX_DIGITS = 17
_PADDING_BLOCK = 256  # padded lengths are multiples of this number of bytes
_UNDERSTOOD_VALUES: dict[bool | str, tuple[type, tuple[object, ...]]] = {
    True: (bool, (True, False)),
    False: (type(None), (None,)),
    "device": (int, (0, 1, 2)),
}
"""The type and the values of the answer to the comprehension check; for `"device"` it is the right try, or 0."""
_NOT_SEPARATE = object()  # the default of `token`, which cannot be None because any JSON value may be sent as a token
_WRITER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class PayloadError(ValueError):
    """An invalid submission; the message states the violated rule and quotes nothing."""


class OtherSurveyError(PayloadError):
    """A submission to another survey, or to an earlier version of this one."""


@dataclass(frozen=True)
class BlindToken:
    """A random nonce and its signature, which prove that some invited person sent a report without revealing who."""

    nonce: bytes
    signature: bytes


@dataclass(frozen=True)
class Submission:
    """One person's report. `body` is JSON in canonical form; because of `key`, sending it twice is harmless."""

    key: bytes
    body: str
    token: str | BlindToken | None


def padded_length(survey: Survey, signature_bytes: int = 0) -> int:
    """Return the length in bytes to which every report is padded with spaces, so that its size reveals nothing.

    This is at least the length of the longest possible report. `signature_bytes` is the length of a blind token's
    signature.
    """
    overhead = 300 + 40 * len(survey.questions) + (200 + 2 * signature_bytes if signature_bytes else 0)
    return -(-(max_answer_bytes(survey.questions) + overhead) // _PADDING_BLOCK) * _PADDING_BLOCK


def parse_submission(
    survey: Survey, raw: bytes, page_hashes: Collection[str] | None = None, *, token: object = _NOT_SEPARATE
) -> Submission:
    """Parse a submission; raise `PayloadError` for anything that an unmodified page would not send.

    `page_hashes` are the hashes that a submission may contain, by default only the survey's hash. Stations send the
    `token` separately.
    """
    data = parse_json(raw)
    if token is not _NOT_SEPARATE and isinstance(data, dict) and "token" not in data:
        data["token"] = token
    has_waves, needs_token = survey.waves > 1, survey.access != "open"
    fields = ["survey", "key", "answers", "understood"]
    fields += [*(["token"] if needs_token else []), *([PERSON] if has_waves else [])]
    if not isinstance(data, dict) or set(data) != set(fields):
        raise PayloadError(f"A submission must have exactly the fields {', '.join(fields)}.")
    if not isinstance(data["survey"], str) or data["survey"] not in (
        [survey.hash] if page_hashes is None else page_hashes
    ):
        raise OtherSurveyError(
            "This submission is for another survey, or for an earlier version of this one: load the page again."
        )
    if not isinstance(data["key"], str) or not _KEY.fullmatch(data["key"]):
        raise PayloadError("The key must be 32 hexadecimal digits.")
    checked_token = None if survey.access == "open" else _parse_token(data["token"], survey.access)
    understood = data["understood"]
    if (
        type(understood) is not _UNDERSTOOD_VALUES[survey.check][0]
        or understood not in _UNDERSTOOD_VALUES[survey.check][1]
    ):
        values = ", ".join(json.dumps(value) for value in _UNDERSTOOD_VALUES[survey.check][1])
        raise PayloadError(f"`understood` must be {values.replace(', ', ' or ')} in this survey.")
    if has_waves and (not isinstance(data[PERSON], str) or not _KEY.fullmatch(data[PERSON])):
        raise PayloadError("The number that links waves must be 32 hexadecimal digits.")
    answers = _check_answers(survey, data["answers"])
    person = {PERSON: data[PERSON]} if has_waves else {}
    body = _WRITER.encode({"answers": answers, "understood": understood, **person})
    return Submission(bytes.fromhex(data["key"]), body, checked_token)


def parse_json(raw: bytes) -> Any:
    """Parse strict JSON; the error reveals only that the bytes are not valid."""
    # An exception raised in an `except` clause would refer to the decoder's exception and thereby to the body.
    with suppress(ValueError):
        return strict_json.loads(raw, max_digits=_MAX_DIGITS)
    raise PayloadError("It must be JSON in UTF-8, without repeated fields, NaN, infinities or very long numbers.")


def _parse_token(token: object, access: str) -> str | BlindToken:
    if access == "token":
        if not isinstance(token, str) or not TOKEN.fullmatch(token):
            raise PayloadError("The token must be 22 letters, digits, - and _.")
        return token
    if not isinstance(token, dict) or set(token) != {"nonce", "signature"}:
        raise PayloadError("The token must have exactly the fields nonce, signature.")
    for name, pattern in (("nonce", _NONCE), ("signature", _SIGNATURE)):
        if not isinstance(token[name], str) or not pattern.fullmatch(token[name]):
            raise PayloadError(f"The token's {name} must have the right number of hexadecimal digits.")
    return BlindToken(bytes.fromhex(token["nonce"]), bytes.fromhex(token["signature"]))


def _check_answers(survey: Survey, answers: object) -> dict[str, Any]:
    names = [question.name for question in survey.questions]
    if not isinstance(answers, dict) or list(answers) != names:
        raise PayloadError("`answers` must contain every question of the survey once, in order.")
    for question in survey.questions:
        _check_answer(survey, question, answers)
    return answers


def _check_answer(survey: Survey, question: Question, answers: dict[str, Any]) -> None:
    value = answers[question.name]
    if not is_asked(survey, question, answers):
        if value is not None:
            raise PayloadError(f"The question {question.name} is not asked after these plain answers: it must be null.")
    elif value is None:
        if question.required:
            raise PayloadError(f"The question {question.name} must be answered.")
    elif not accepts(question, value):
        raise PayloadError(f"The question {question.name} has no such answer.")
