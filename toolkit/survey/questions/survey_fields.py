"""Checks of a survey's fields, which return values in their final form, and the panel of several waves."""

import datetime as dt
import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

from toolkit.core.checks import check_choice, check_integer, exact_fraction, reject
from toolkit.core.loss import Amount, Pure
from toolkit.survey.questions.declaring import field_names_checked_by, plain_data
from toolkit.survey.questions.errors import reject_unknown, run_field_check
from toolkit.survey.questions.question_fields import checked_flag
from toolkit.texts.multilingual import Frozen, Text, checked_language, checked_string, checked_words, in_language
from toolkit.texts.phrases import PROMISE_PREFIX, base_language, phrases

PROTECTION_FIELDS = (
    "legal_basis",
    "subjects",
    "processors",
    "transfers",
    "officer",
    "authority",
    "review",
    "necessity",
)
"""Fields of a data protection impact assessment that cannot be derived from the survey."""

ARM = "arm"
"""The question whose answer is a person's randomly drawn arm, in surveys with experimental arms."""

BY_LINK = "link"
"""The value of `completion` for a payment code that is part of each personal link."""

STATION_KINDS = ("kiosk", "interviewer")
"""Kinds of stations: an unattended kiosk, and a device that an interviewer hands over."""

DEFAULT_STEP = 10
"""Default number of new reports after which the results of an open collection are updated."""

MOST_WAVES = 24
"""Maximum number of waves."""

MOST_ARMS = 8
"""Maximum number of experimental arms."""

MOST_LANGUAGES = 100
"""Maximum number of languages of a survey."""

MOST_REPORTS = 10**9
"""Maximum number of reports in a collection."""

PERSON = "person"
"""The field and column that links a phone's reports across waves; only in surveys with several waves."""

UNDERSTOOD = "understood"
"""The column with the result of the comprehension check."""

CHANNEL, PAPER, PHONE = "channel", "paper", "phone"
"""The column with the origin of a report, and its two values; present if reports were entered from paper sheets."""

REHEARSAL = "REHEARSAL"
"""The column that marks every row of a rehearsal, even in copies; no question can have this name."""


def checked_prose(value: object, name: str, survey: Any, most: int) -> Text:
    """Check and return a required text by language."""
    return in_language(checked_words(value, name, most), survey.languages[0])


def checked_closing_text(value: object, name: str, survey: Any, most: int) -> Text | None:
    """Check and return an optional text for the final screens, by language."""
    return None if value is None else checked_prose(value, name, survey, most)


def checked_statement(value: object, name: str, survey: Any) -> Text | None:
    """Check and return an optional statement of the researchers, by language."""
    return None if value is None else _required_statement(value, name, survey)


def _required_statement(value: object, name: str, survey: Any) -> Text:
    """Check and return a required statement by language; reject a single letter."""
    text = checked_prose(value, name, survey, 2000)
    if any(sum(map(str.isalnum, sentence)) < 2 for sentence in text.values()):
        reject(f"`{name}` must be a statement", "a single letter", "people, or a board, must be able to rely on it")
    return text


def statements(survey: Any) -> dict[str, Text | None]:
    """Return the statements of the researchers by field name."""
    return {name: getattr(survey, name) for name in field_names_checked_by(type(survey), checked_statement)}


def closing_texts(survey: Any) -> dict[str, Text | None]:
    """Return the texts for the final screens by field name."""
    return {name: getattr(survey, name) for name in field_names_checked_by(type(survey), checked_closing_text)}


def checked_protection(value: object, _name: str, survey: Any) -> Frozen[str, Text] | None:
    """Check and return the texts of the section `protection` by name and language; a review is a date."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        reject("`protection` must be a table", type(value).__name__, "write [protection] before it", TypeError)
    reject_unknown(value, PROTECTION_FIELDS, "`protection`")
    return Frozen({key: run_field_check(key, _protection_text, text, key, survey) for key, text in value.items()})


def _protection_text(value: object, key: str, survey: Any) -> Text:
    if key == "review" and not isinstance(value, Mapping):
        value = str(read_day(value, key))
    return _required_statement(value, f"protection.{key}", survey)


def checked_count(value: object, name: str, _survey: object, most: int = MOST_REPORTS) -> int:
    """Check and return a positive whole number."""
    return check_integer(value, name, maximum=most)


def checked_optional_count(value: object, name: str, survey: Any) -> int | None:
    """Check and return a positive whole number or None."""
    return None if value is None else checked_count(value, name, survey)


def checked_choice(value: object, name: str, _survey: object, allowed: Sequence[str]) -> str:
    """Check and return one of the allowed values."""
    return check_choice(value, name, allowed)


def checked_epsilon(value: Any, *_: object) -> Amount:
    """Check and return an epsilon as an exact number, which may be infinite."""
    return Pure(math.inf if value == "inf" else value).amount


def checked_practice(value: object, *_: object) -> bool | int:
    """Check and return the number of practice questions; True means one."""
    if not isinstance(value, bool) and value not in (2, 3):
        reject("`practice` must be true or false, or 2 or 3 practice questions", repr(value)[:40], "write true for one")
    return value if isinstance(value, bool) else int(value)


def checked_check(value: object, *_: object) -> bool | str:
    """Check and return the kind of comprehension check, or False for none."""
    if value is not True and value is not False and value != "device":
        reject('`check` must be true or false, or "device"', repr(value)[:40], "write one of these", TypeError)
    return value


def checked_completion(value: object, name: str, survey: Any) -> str | None:
    """Check and return the completion code; one code per link requires personal links."""
    if value == BY_LINK and survey.access == "open":
        reject(f'`completion` "{BY_LINK}" needs access by token or blind', "open", "everybody has the same link")
    return None if value is None else checked_string(value, name, 40)


def checked_household(value: object, name: str, survey: Any) -> bool:
    """Check and return whether several people may answer on one phone."""
    if checked_flag(value, name) and (survey.access != "open" or survey.waves > 1):
        received = f"access {survey.access!r}" if survey.access != "open" else f"{survey.waves} waves"
        reject("`household` needs open access, and one wave", received, "a phone could not tell people apart")
    return bool(value)


def checked_field(value: object, _name: str, survey: Any) -> Frozen[str, Any] | None:
    """Check and return the settings of stations; `auto` states whether these devices may learn the truth."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        reject("`field` must be a table", type(value).__name__, "write [field] before it", TypeError)
    reject_unknown(value, ("station", "auto"), "`field`")
    if survey.access != "token" or survey.waves > 1:
        received = f"{survey.waves} waves" if survey.waves > 1 else f"access {survey.access!r}"
        reject(
            '`field` needs access "token", and one wave', received, "each use of a station is a link that works once"
        )
    if strange := [code for code in survey.languages if base_language(code) is None]:
        rule = "a survey with stations must be in languages of the toolkit"
        reject(rule, repr(strange[0]), "the consent text for phones is not true on a station")
    auto = checked_flag(value.get("auto", False), "field.auto")
    return Frozen({"station": check_choice(value.get("station"), "field.station", STATION_KINDS), "auto": auto})


def checked_random_order(value: object, name: str, survey: Any) -> bool | tuple[str, ...]:
    """Check and return whether questions are in random order, or the names of the questions that are."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) or not isinstance(value, Sequence):
        rule = "`random_order` must be true or false, or a list of questions"
        reject(rule, type(value).__name__, 'write true, or ["cheated", "stolen"]', TypeError)
    names = [checked_string(question, name, 40) for question in value]
    if len(names) < 2 or len({*names}) < len(names):
        received = len(names) if len(names) < 2 else "repeated names"
        reject("`random_order` must name two or more questions, each once", received, "they exchange positions")
    heads = [survey.questions[unit[0]].name for unit in _components(survey.questions)]
    if strange := [question for question in names if question not in heads]:
        is_question = strange[0] in [question.name for question in survey.questions]
        received = f"{strange[0]!r}"[:60] + (", which follows another" if is_question else ", which is not a question")
        moves = "it moves with the question that it depends on, or with the first on its page: name that one instead"
        why = moves if is_question else "correct the name"
        reject("`random_order` must name questions of the survey that move by themselves", received, why)
    return tuple(names)


def question_units(questions: Sequence[Any], random_order: bool | Sequence[str]) -> tuple[list[list[int]], list[int]]:
    """Return lists of indices of questions that stay together, and the indices of the lists that are in random order.

    A question, those that depend on it, and all questions on their pages stay together, in their order.
    """
    moving = [
        unit
        for unit in _components(questions)
        if random_order is True or (random_order and questions[unit[0]].name in random_order)
    ]
    rest = {*range(len(questions))}.difference(*moving)
    units = sorted([*moving, *([index] for index in rest)])
    return units, [index for index, unit in enumerate(units) if unit in moving]


def _components(questions: Sequence[Any]) -> list[list[int]]:
    """Return indices of questions that depend on one another or share a page, without the question about the arm.

    A question depends on those that its `show_if` names, and on those whose answers its texts contain.
    """

    def is_joined(unit: Sequence[int], question: Any) -> bool:
        others = [questions[index] for index in unit]
        names = {*(question.show_if or ()), *question.inserted_names}
        on_page = question.page is not None and question.page in [other.page for other in others]
        return on_page or any(other.name in names for other in others)

    components: list[list[int]] = []
    for index, question in enumerate(questions):
        if question.draw_probabilities is None:
            joined = [unit for unit in components if is_joined(unit, question)]
            components = [unit for unit in components if unit not in joined]
            components.append([*chain.from_iterable(joined), index])
    return sorted(map(sorted, components))


def checked_arms(value: object, *_: object) -> Frozen[str, Fraction] | None:
    """Check and return the exact probabilities of the arms."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not 2 <= len(value) <= MOST_ARMS:
        rule = f"`arms` must be a mapping from 2 to {MOST_ARMS} names to shares"
        reject(rule, type(value).__name__, "write {direct = 0.3, randomized = 0.7}", TypeError)
    shares = {checked_string(arm, "arms", 40): exact_fraction(share, f"arms.{arm}") for arm, share in value.items()}
    total = sum(shares.values())
    if total != 1 or min(shares.values()) <= 0:
        reject("the shares of `arms` must be above 0 and add up to 1", f"{float(total):g}", "everybody is in one arm")
    if math.lcm(*(share.denominator for share in shares.values())) > 2**32:
        reject("the shares of `arms` must have a common denominator up to 2**32", "a larger one", "round them")
    return Frozen(shares)


def checked_wave(value: object, name: str, survey: Any) -> int:
    """Check and return the number of the wave."""
    wave = check_integer(value, name)
    if wave > survey.waves:
        reject(f"`wave` must be at most `waves`, {survey.waves}", wave, "people read how often they are asked")
    return wave


@dataclass(frozen=True)
class Panel:
    """A panel of the same people over several waves, created with the first collection and passed on to later waves.

    Parameters
    ----------
    identity : str
        A random identifier of 128 bits, under which phones store their draws and the waves that they have answered.
    total_epsilon : Fraction or float
        The maximum total epsilon of all waves, as announced in the first wave.

    Examples
    --------
    >>> Panel.new(Pure("1/2")).to_dict()["loss"]
    '1/2'
    """

    identity: str
    total_epsilon: Amount

    @classmethod
    def new(cls, loss: Pure) -> "Panel":
        """Create a panel with a new random identifier.

        Parameters
        ----------
        loss : Pure
            The maximum total privacy loss of all waves.

        Returns
        -------
        Panel
            The panel.
        """
        return cls(secrets.token_hex(16), loss.amount)

    def to_dict(self) -> dict[str, Any]:
        """Return the panel as plain data for JSON.

        Returns
        -------
        dict
            The value of the survey field `panel`.
        """
        return {"identity": self.identity, "loss": plain_data(self.total_epsilon)}


def checked_panel(value: object, name: str, survey: Any) -> Panel | None:
    """Check and return the panel, or None before a collection exists."""
    if value is None or isinstance(value, Panel):
        return value
    fields = ["identity", "loss"]
    if not isinstance(value, Mapping) or sorted(value) != fields or survey.waves == 1:
        rule = f"`panel` must have the fields {', '.join(fields)}, in a survey with `waves`"
        reject(rule, "something else", "leave it out: it is created with the collection of the first wave")
    if not re.fullmatch("[0-9a-f]{32}", str(value["identity"])):
        reject("a panel's identity must be 32 hexadecimal digits", "something else", "leave `panel` out")
    return Panel(value["identity"], checked_epsilon(value["loss"], name, survey))


def panel_terms(survey: Any) -> dict[str, Any]:
    """Return the properties of a survey that must not change between waves, so that a phone's draws remain valid."""
    languages = survey.languages
    with_memo = [question for question in survey.questions if question.memo is not None]
    terms = {
        "number of waves": survey.waves,
        "kind, of a rehearsal and a real collection": survey.rehearsal,
        "list of questions with a memo": [question.name for question in with_memo],
    }
    for question in with_memo:
        options = (*question.options, *question.report_options)
        labels = {
            language: [question.label(option, language, phrases(language, survey.words)) for option in options]
            for language in languages
        }
        for name in ("text", "help", "instructions", "warning"):
            text = getattr(question, name)
            versions = None if text is None else {language: text[language] for language in languages}
            terms[f"{name} of {question.name!r}"] = versions
        terms |= {
            f"labels of {question.name!r}": labels,
            f"design of {question.name!r}": question.memo.to_dict(),
            f"image of {question.name!r}": question.image,
            f"mode or condition of {question.name!r}": [question.mode, question.show_if],
        }
    return terms


def check_panel(survey: Any, earlier_survey: Any, rule: str, consequence: str) -> None:
    """Reject a survey that is not in the panel of an earlier wave; the error states the rule and consequence."""
    if survey.waves == 1:
        reject(rule, "a survey without waves", consequence)
    terms, earlier_terms = panel_terms(survey), panel_terms(earlier_survey)
    if changed := next((name for name, term in earlier_terms.items() if terms.get(name) != term), None):
        reject(rule, f"other {changed}" if "labels" in changed else f"another {changed}", consequence)
    if None not in (survey.panel, earlier_survey.panel) and survey.panel != earlier_survey.panel:
        reject(rule, "another panel", consequence)


def checked_languages(value: object, name: str, _survey: object) -> tuple[str, ...]:
    """Check and return the language codes of a survey; repeated codes are rejected."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        reject("`languages` must be a list of codes", type(value).__name__, 'write ["en", "de"]', TypeError)
    check_integer(len(value), name, maximum=MOST_LANGUAGES)
    codes = tuple(checked_language(code) for code in value)
    if len(set(codes)) < len(codes):
        reject("`languages` must be distinct", ", ".join(codes), "people choose one of them")
    return codes


def checked_own_words(value: object, _name: str, survey: Any) -> Frozen[str, Text] | None:
    """Check and return the researcher's own texts for the interface, by language and name."""
    if not value:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(texts, Mapping) for texts in value.values()):
        why = 'write {"it": {"next": "Avanti"}}, in TOML {it = {next = "Avanti"}}'
        reject("`words` must be texts by language and name", type(value).__name__, why, TypeError)
    if unused := [code for code in value if code not in survey.languages]:
        rule = f"`words` must be in a language of the survey ({', '.join(survey.languages)})"
        reject(rule, repr(unused[0])[:40], "nobody would see them")
    for code, texts in value.items():
        if base_language(code) and (ours := next((key for key in texts if str(key).startswith(PROMISE_PREFIX)), None)):
            rule = f"`words` must not contain sentences of the promise in {code!r}, a language of the toolkit"
            reject(rule, repr(ours)[:60], "a promise that could be reworded could become untrue; leave it out")
    return Frozen(
        {
            code: Frozen({str(key): checked_string(text, f"words.{code}.{key}", 2000) for key, text in texts.items()})
            for code, texts in value.items()
        }
    )


Day = dt.date
_LAST_ZONE = dt.timezone(dt.timedelta(hours=-12))  # the time zone in which a day ends last


def read_day(value: object, name: str, *_: object) -> Day | None:
    """Return a day given as a TOML date or as text; None is returned unchanged."""
    if value is None or (isinstance(value, dt.date) and not isinstance(value, dt.datetime)):
        return value
    try:
        return dt.date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        rule = f"`{name}` must be a day, as in 2026-12-01"
        reject(rule, repr(value)[:40], "respondents see a day without an hour")


def is_over(day: Day, now: dt.datetime | None = None) -> bool:
    """Return whether a day has ended in every time zone, because "until this day" refers to each person's clock."""
    return (now or dt.datetime.now(dt.UTC)).astimezone(_LAST_ZONE).date() > day
