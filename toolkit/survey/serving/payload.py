"""What arrives from a phone, read strictly: the sender is anybody, so nothing is guessed, repaired or quoted."""

import json
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from toolkit.survey.consent.linter import largest
from toolkit.survey.questions import strict_json
from toolkit.survey.questions.question import Question, accepts
from toolkit.survey.questions.survey_fields import PERSON
from toolkit.survey.spec import Survey, is_asked

_KEY = re.compile(r"[0-9a-f]{32}")
TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")
_NONCE = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"([0-9a-f]{2}){64,1024}")
_MOST_DIGITS = 17
_BLOCK = 256  # of whose multiples a full length is one
_UNDERSTOOD_VALUES: dict[bool | str, tuple[type, tuple[object, ...]]] = {
    True: (bool, (True, False)),
    False: (type(None), (None,)),
    "device": (int, (0, 1, 2)),
}
"""What is sent about the question on the method; about the device the try that was right, 0 for none."""
_WRITER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class PayloadError(ValueError):
    """A submission that is refused; the message says which rule it breaks and nothing of what it held."""


class OtherSurveyError(PayloadError):
    """A submission to another survey, or to this one as it was before it was changed."""


@dataclass(frozen=True)
class BlindToken:
    """Proof that some invited person sent this, without saying which: a random nonce and its signature."""

    nonce: bytes
    signature: bytes


@dataclass(frozen=True)
class Submission:
    """One person's reports: `body` is JSON in one spelling, `key` makes sending it twice harmless."""

    key: bytes
    body: str
    token: str | BlindToken | None


def padded_length(survey: Survey, signature: int = 0) -> int:
    """Bytes to which every report is filled up with spaces, so that its size tells nothing of it: no fewer than the
    longest possible one has. `signature` is the size of that of a blind token.
    """
    frame = 300 + 40 * len(survey.questions) + (200 + 2 * signature if signature else 0)
    return -(-(largest(survey.questions) + frame) // _BLOCK) * _BLOCK


def parse_submission(survey: Survey, raw: bytes, pages: Collection[str] | None = None, *apart: object) -> Submission:
    """The submission that the bytes hold; raises `PayloadError` for everything that an honest phone would not send.
    `pages` are the hashes that it may name: without them, the survey's own. A token that came `apart` from it, from
    a station, is taken as its own.
    """
    data = parse_json(raw)
    if apart and isinstance(data, dict) and "token" not in data:
        data["token"] = apart[0]
    has_waves, needs_token = survey.waves > 1, survey.access != "open"
    fields = ["survey", "key", "answers", "understood"]
    fields += [*(["token"] if needs_token else []), *([PERSON] if has_waves else [])]
    if not isinstance(data, dict) or set(data) != set(fields):
        raise PayloadError(f"A submission must have exactly the fields {', '.join(fields)}.")
    if not isinstance(data["survey"], str) or data["survey"] not in ([survey.hash] if pages is None else pages):
        raise OtherSurveyError(
            "This submission is for another survey, or for an earlier version of this one: load the page again."
        )
    if not isinstance(data["key"], str) or not _KEY.fullmatch(data["key"]):
        raise PayloadError("The key must be 32 hexadecimal digits.")
    token = None if survey.access == "open" else _token(data["token"], survey.access)
    understood = data["understood"]
    if (
        type(understood) is not _UNDERSTOOD_VALUES[survey.check][0]
        or understood not in _UNDERSTOOD_VALUES[survey.check][1]
    ):
        values = ", ".join(json.dumps(one) for one in _UNDERSTOOD_VALUES[survey.check][1])
        raise PayloadError(f"`understood` must be {values.replace(', ', ' or ')} in this survey.")
    if has_waves and (not isinstance(data[PERSON], str) or not _KEY.fullmatch(data[PERSON])):
        raise PayloadError("The number that joins waves must be 32 hexadecimal digits.")
    answers = _answers(survey, data["answers"])
    person = {PERSON: data[PERSON]} if has_waves else {}
    body = _WRITER.encode({"answers": answers, "understood": understood, **person})
    return Submission(bytes.fromhex(data["key"]), body, token)


def parse_json(raw: bytes) -> Any:
    """Strict JSON out of bytes from a stranger; the error never says more than that it is none."""
    with suppress(
        ValueError
    ):  # and not `except`: an error that another one was the context of would carry the body along
        return strict_json.loads(raw, digits=_MOST_DIGITS)
    raise PayloadError("It must be JSON in UTF-8, without repeated fields and without strange numbers.")


def _token(token: object, access: str) -> str | BlindToken:
    if access == "token":
        if not isinstance(token, str) or not TOKEN.fullmatch(token):
            raise PayloadError("The token must be 22 letters, digits, - and _.")
        return token
    if not isinstance(token, dict) or set(token) != {"nonce", "signature"}:
        raise PayloadError("The token must have exactly the fields nonce, signature.")
    for name, pattern in (("nonce", _NONCE), ("signature", _SIGNATURE)):
        if not isinstance(token[name], str) or not pattern.fullmatch(token[name]):
            raise PayloadError(f"The token's {name} must be hexadecimal digits, as many as it has.")
    return BlindToken(bytes.fromhex(token["nonce"]), bytes.fromhex(token["signature"]))


def _answers(survey: Survey, answers: object) -> dict[str, Any]:
    names = [question.name for question in survey.questions]
    if not isinstance(answers, dict) or list(answers) != names:
        raise PayloadError("`answers` must hold every question of the survey once, in order.")
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
