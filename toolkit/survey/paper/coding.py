"""Serial numbers of sheets with check digits, codes of boxes, and the parsing of typed cells."""

import hashlib
import hmac
import re
import secrets
import unicodedata
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import Any

from toolkit.survey.consent.page_data import as_number
from toolkit.survey.questions.question import Question, accepts, printed_answers
from toolkit.survey.questions.strict_json import json_digest
from toolkit.survey.spec import Survey
from toolkit.texts.multilingual import visible_form
from toolkit.texts.phrases import Own, phrases

MODULUS = 97
NO_ANSWER = "-"
"""The entry for a missing or illegible answer."""

_DIGITS = 7


class NumberCell(str):
    """The text of a numeric spreadsheet cell, in which a point is always a decimal point."""


def serial_remainder(survey: Survey) -> int:
    """Return the remainder modulo 97 of the serial numbers in all editions with these questions."""
    fields = [
        [question.name, question.kind, list(question.options), list(question.report_options)]
        for question in survey.questions
    ]
    return int(json_digest(fields)[:12], 16) % MODULUS


def serial_numbers(survey: Survey, copies: int) -> list[str]:
    """Draw distinct random serial numbers, whose last two digits are check digits.

    A wrong digit changes the remainder, because the prime 97 does not divide a difference of digits times a power of
    ten. Nor does it divide 9 or 99 times such a number, so exchanging two digits changes the remainder as well.
    """
    remainder, numbers = (
        serial_remainder(survey),
        secrets.SystemRandom().sample(range(10 ** (_DIGITS - 1), 10**_DIGITS), copies),
    )
    return [f"{number}{(remainder - 100 * number) % MODULUS:02}" for number in numbers]


def is_serial(survey: Survey, text: str) -> bool:
    """Return whether a text is the serial number of a sheet with these questions."""
    return len(text) == _DIGITS + 2 and text.isdecimal() and int(text) % MODULUS == serial_remainder(survey)


def report_key(survey: Survey, serial: str, secret: str) -> bytes:
    """Return the key of a sheet's report, which depends only on the serial number, so that a sheet counts once.

    The secret of the collection prevents others from finding the sheet of a report by trying all serial numbers.
    """
    return hmac.digest(secret.encode(), f"{serial_remainder(survey)} {serial}".encode(), "sha256")[:16]


def legacy_report_key(survey: Survey, serial: str) -> bytes:
    """Return the key under which earlier versions of the toolkit stored a sheet's report."""
    return hashlib.sha256(f"{serial_remainder(survey)} {serial}".encode()).digest()[:16]


def box_codes(question: Question) -> list[int]:
    """Return the codes beside the boxes: numeric options are used as codes, and other options get unused numbers."""
    options = printed_answers(question)
    if question.kind == "ticks":  # the code 0 means none of the options
        return list(range(1, len(options) + 1))
    codes = [int(option) if re.fullmatch("0|[1-9][0-9]{0,8}", str(option)) else None for option in options]
    free_codes = (number for number in count(1) if number not in codes)
    return [next(free_codes) if number is None else number for number in codes]


def read_cell(survey: Survey, question: Question, text: str) -> Any:
    """Parse a cell by code or by label in any language; return None for an invalid answer."""
    value = _parsed_answer(survey, question, text)
    return value if accepts(question, value) else None


def _parsed_answer(survey: Survey, question: Question, text: str) -> Any:
    if question.kind == "text":
        return text
    plain = normalize_text(text)
    if question.kind == "number":
        return _parsed_number(question, plain.replace(",", ".").replace("−", "-"), isinstance(text, NumberCell))
    names = _box_by_name(question, survey.languages, survey.words)
    if question.kind == "choice":
        return names.get(plain)
    marks = [plain] if plain in names else [mark for mark in re.split(r"[\s,;]+", plain) if mark]
    if marks == ["0"]:
        return []
    indices = [names.get(mark) for mark in marks]
    return None if None in indices or len(set(indices)) < len(indices) else sorted(indices)


def _parsed_number(question: Question, text: str, is_exact: bool) -> int | float | None:
    """Parse a typed number; return None if a point in it could be a decimal point or a thousands separator."""
    if not re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", text):
        return None
    grouped = not is_exact and re.fullmatch(r"-?[1-9][0-9]{0,2}\.[0-9]{3}", text)
    return None if grouped and accepts(question, int(text.replace(".", ""))) else as_number(Fraction(text))


@lru_cache
def _box_by_name(question: Question, languages: tuple[str, ...], own_words: Own | None) -> dict[str, int]:
    """Map each accepted entry to its box: codes, and labels (in any language) that belong to only one box."""
    boxes = enumerate(zip(printed_answers(question), codes_with_labels(question, languages, own_words), strict=True))
    labelled = {
        (normalize_text(str(text)), index) for index, (option, (_, labels)) in boxes for text in (option, *labels)
    }
    counts = Counter(name for name, _ in labelled)
    labels = {name: index for name, index in labelled if counts[name] == 1}
    return labels | {str(code): index for index, code in enumerate(box_codes(question))}


def normalize_text(text: str) -> str:
    """Normalize a text for comparison: lower case, digits of any script as 0 to 9, no invisible characters."""
    digits = "".join(str(unicodedata.decimal(character)) if character.isdecimal() else character for character in text)
    return visible_form(digits).casefold().strip()


def codes_with_labels(
    question: Question, languages: Sequence[str], own_words: Own | None
) -> list[tuple[int, Sequence[str]]]:
    """Return each code of a question with its labels, one for each language of the survey."""
    labels = [
        [question.label(option, code, phrases(code, own_words)) for code in languages]
        for option in printed_answers(question)
    ]
    return list(zip(box_codes(question), labels, strict=True))
