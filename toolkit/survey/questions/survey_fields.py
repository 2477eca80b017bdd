"""Checks of a survey's fields, each of which converts a value to its final form, and the panel of several waves."""

import datetime as dt
import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from toolkit.core.checks import check_choice, check_integer, exact_fraction, reject
from toolkit.core.loss import Amount, Pure
from toolkit.survey.questions.declaring import names_checked_by
from toolkit.survey.questions.errors import in_field
from toolkit.survey.questions.files import reject_unknown
from toolkit.survey.questions.question_fields import flag
from toolkit.survey.questions.strict_json import as_plain
from toolkit.texts.multilingual import Frozen, Text, checked_language, checked_string, checked_words, in_language
from toolkit.texts.phrases import OWN, base_language, phrases

PROTECTION = (*("legal_basis", "subjects", "processors", "transfers", "officer", "authority", "review", "necessity"),)
"""Fields of a data protection impact assessment that do not follow from the survey."""

ARM = "arm"
"""The randomly drawn arm of a person, in a survey with experimental arms; `show_if` may name it."""

BY_LINK = "link"
"""The code for payment that is part of each personal link."""

STATIONS = ("kiosk", "interviewer")
"""Kinds of stations: an unattended kiosk, and a device that an interviewer hands over."""

STEP = 10
"""Default number of reports by which the results of an open collection advance."""

MOST_WAVES = 24
"""Largest number of waves."""

MOST_ARMS = 8
"""Largest number of experimental arms."""

MOST_LANGUAGES = 100
"""Largest number of languages of a survey."""

MOST_REPORTS = 10**9
"""Largest number of reports of a collection."""

PERSON = "person"
"""The field and column that joins a phone's reports, in surveys of several waves only."""

UNDERSTOOD = "understood"
"""The column with the result of the comprehension check."""

CHANNEL, PAPER, PHONE = "channel", "paper", "phone"
"""The column with the origin of a report, if some were entered from sheets of paper."""

REHEARSAL = "REHEARSAL"
"""The column that marks every row of a rehearsal, also in copies; no question can have this name."""


def prose(value: object, name: str, survey: Any, most: int) -> Text:
    """Return a required text by language."""
    return in_language(checked_words(value, name, most), survey.languages[0])


def closing_text(value: object, name: str, survey: Any, most: int) -> Text | None:
    """Return an optional text for final screens, by language."""
    return None if value is None else prose(value, name, survey, most)


def statement(value: object, name: str, survey: Any) -> Text | None:
    """Return an optional statement of the researchers, by language."""
    return None if value is None else _stated(value, name, survey)


def _stated(value: object, name: str, survey: Any) -> Text:
    """Return a statement by language; reject a single letter."""
    text = prose(value, name, survey, 2000)
    if any(sum(map(str.isalnum, sentence)) < 2 for sentence in text.values()):
        reject(f"`{name}` must be a statement", "a single letter", "people, or a board, must be able to rely on it")
    return text


def statements(survey: Any) -> dict[str, Text | None]:
    """Return the statements of the researchers, by the name of the field."""
    return {name: getattr(survey, name) for name in names_checked_by(type(survey), statement)}


def closing_texts(survey: Any) -> dict[str, Text | None]:
    """Return the texts for final screens, by the name of the field."""
    return {name: getattr(survey, name) for name in names_checked_by(type(survey), closing_text)}


def checked_protection(value: object, _name: str, survey: Any) -> Frozen[str, Text] | None:
    """Return the texts of the section `protection`, by name and language; a review is a date."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        reject("`protection` must be a table", type(value).__name__, "write [protection] before it", TypeError)
    reject_unknown(value, PROTECTION, "`protection`")
    return Frozen({key: in_field(key, _protection_text, text, key, survey) for key, text in value.items()})


def _protection_text(value: object, key: str, survey: Any) -> Text:
    if key == "review" and not isinstance(value, Mapping):
        value = str(read_day(value, key))
    return _stated(value, f"protection.{key}", survey)


def count(value: object, name: str, _survey: object, most: int = MOST_REPORTS) -> int:
    """Return a positive whole number."""
    return check_integer(value, name, maximum=most)


def optional_count(value: object, name: str, survey: Any) -> int | None:
    """Return a positive whole number, or None."""
    return None if value is None else count(value, name, survey)


def one_of(value: object, name: str, _survey: object, allowed: Sequence[str]) -> str:
    """Return one of the allowed values."""
    return check_choice(value, name, allowed)


def amount(value: Any, *_: object) -> Amount:
    """Return an exact epsilon, which may be infinite."""
    return Pure(math.inf if value == "inf" else value).amount


def checked_practice(value: object, *_: object) -> bool | int:
    """Return the number of practice questions; True means one."""
    if not isinstance(value, bool) and value not in (2, 3):
        reject("`practice` must be true or false, or 2 or 3 practice questions", repr(value)[:40], "write true for one")
    return value if isinstance(value, bool) else int(value)


def checked_check(value: object, *_: object) -> bool | str:
    """Return the kind of comprehension check, or False for none."""
    if value is not True and value is not False and value != "device":
        reject('`check` must be true or false, or "device"', repr(value)[:40], "write one of these", TypeError)
    return value


def checked_completion(value: object, name: str, survey: Any) -> str | None:
    """Return the code for payment, which needs personal links if each link has its own."""
    if value == BY_LINK and survey.access == "open":
        reject("`completion` by link needs access by token or blind", "open", "everybody has the same link")
    return None if value is None else checked_string(value, name, 40)


def checked_household(value: object, name: str, survey: Any) -> bool:
    """Return whether several people may answer on one phone."""
    if flag(value, name) and (survey.access != "open" or survey.waves > 1):
        received = f"access {survey.access!r}" if survey.access != "open" else f"{survey.waves} waves"
        reject("`household` needs open access, and one wave", received, "a phone could not tell people apart")
    return bool(value)


def checked_field(value: object, _name: str, survey: Any) -> Frozen[str, Any] | None:
    """Return the settings of stations; `auto` tells whether these devices may learn the truth."""
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
    auto = flag(value.get("auto", False), "field.auto")
    return Frozen({"station": check_choice(value.get("station"), "field.station", STATIONS), "auto": auto})


def checked_arms(value: object, *_: object) -> Frozen[str, Fraction] | None:
    """Return the exact probabilities of the arms."""
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
    """Return the number of the wave."""
    wave = check_integer(value, name)
    if wave > survey.waves:
        reject(f"`wave` must be at most `waves`, {survey.waves}", wave, "people read how often they are asked")
    return wave


@dataclass(frozen=True)
class Panel:
    """A panel of the same people over several waves, created with the first collection and passed on.

    Parameters
    ----------
    identity : str
        128 random bits, under which phones store their draws and the waves that they have answered.
    loss : Fraction or float
        The largest total epsilon of all waves, which the first wave promised.

    Examples
    --------
    >>> Panel.new(Pure("1/2")).to_dict()["loss"]
    '1/2'
    """

    identity: str
    loss: Amount

    @classmethod
    def new(cls, loss: Pure) -> "Panel":
        """Make a panel with a new random identity.

        Parameters
        ----------
        loss : Pure
            The largest total privacy loss of all waves.

        Returns
        -------
        Panel
            The panel.
        """
        return cls(secrets.token_hex(16), loss.amount)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON.

        Returns
        -------
        dict
            The value of a survey's field `panel`.
        """
        return {"identity": self.identity, "loss": as_plain(self.loss)}


def checked_panel(value: object, name: str, survey: Any) -> Panel | None:
    """Return the panel, or None before there is a collection."""
    if value is None or isinstance(value, Panel):
        return value
    fields = ["identity", "loss"]
    if not isinstance(value, Mapping) or sorted(value) != fields or survey.waves == 1:
        rule = f"`panel` must have the fields {', '.join(fields)}, in a survey with `waves`"
        reject(rule, "others", "leave it out: it is created with the collection of the first wave")
    if not re.fullmatch("[0-9a-f]{32}", str(value["identity"])):
        reject("a panel's identity must be 32 hexadecimal digits", "others", "leave `panel` out")
    return Panel(value["identity"], amount(value["loss"], name, survey))


def panel_terms(survey: Any) -> dict[str, Any]:
    """Return the properties of a survey that must not change over waves, so that a phone's draws remain valid."""
    codes = survey.languages
    with_memo = [question for question in survey.questions if question.memo is not None]
    terms = {
        "number of waves": survey.waves,
        "kind, of a rehearsal and a real collection": survey.rehearsal,
        "list of questions with a memo": [question.name for question in with_memo],
    }
    for question in with_memo:
        options = (*question.options, *question.report_options)
        labels = {
            code: [question.label(option, code, phrases(code, survey.words)) for option in options] for code in codes
        }
        for name in ("text", "help", "instructions", "warning"):
            text = getattr(question, name)
            versions = None if text is None else {code: text[code] for code in codes}
            terms[f"{name} of {question.name!r}"] = versions
        terms |= {
            f"labels of {question.name!r}": labels,
            f"design of {question.name!r}": question.memo.to_dict(),
            f"mode or condition of {question.name!r}": [question.mode, question.show_if],
        }
    return terms


def check_panel(survey: Any, earlier: Any, rule: str, consequence: str) -> None:
    """Reject two surveys that are not waves of one panel, with the given rule and consequence."""
    if survey.waves == 1:
        reject(rule, "a survey without waves", consequence)
    terms, before = panel_terms(survey), panel_terms(earlier)
    if other := next((name for name, term in before.items() if terms.get(name) != term), None):
        reject(rule, f"other {other}" if "labels" in other else f"another {other}", consequence)
    if None not in (survey.panel, earlier.panel) and survey.panel != earlier.panel:
        reject(rule, "another panel", consequence)


def checked_languages(value: object, name: str, _survey: object) -> tuple[str, ...]:
    """Return the language codes of a survey, each once."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        reject("`languages` must be a list of codes", type(value).__name__, 'write ["en", "de"]', TypeError)
    check_integer(len(value), name, maximum=MOST_LANGUAGES)
    codes = tuple(checked_language(code) for code in value)
    if len(set(codes)) < len(codes):
        reject("`languages` must be distinct", ", ".join(codes), "people choose one of them")
    return codes


def own_words(value: object, _name: str, survey: Any) -> Frozen[str, Text] | None:
    """Return the researcher's own texts of the interface, by language and name."""
    if not value:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(texts, Mapping) for texts in value.values()):
        why = 'write {"it": {"next": "Avanti"}}, in TOML {it = {next = "Avanti"}}'
        reject("`words` must be texts by language and name", type(value).__name__, why, TypeError)
    if unused := [code for code in value if code not in survey.languages]:
        rule = f"`words` must be in a language of the survey ({', '.join(survey.languages)})"
        reject(rule, repr(unused[0])[:40], "nobody would see them")
    for code, texts in value.items():
        if base_language(code) and (ours := next((key for key in texts if str(key).startswith(OWN)), None)):
            rule = f"`words` must not contain sentences of the promise in {code!r}, a language of the toolkit"
            reject(rule, repr(ours)[:60], "a promise that could be reworded could become untrue; leave it out")
    return Frozen(
        {
            code: Frozen({str(key): checked_string(text, f"words.{code}.{key}", 2000) for key, text in texts.items()})
            for code, texts in value.items()
        }
    )


Day = dt.date
_LAST_ZONE = dt.timezone(dt.timedelta(hours=-12))  # the last time zone in which a day ends


def read_day(value: object, name: str, *_: object) -> Day | None:
    """Parse a day from a TOML date or from text; None stays None."""
    if value is None or (isinstance(value, dt.date) and not isinstance(value, dt.datetime)):
        return value
    try:
        return dt.date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        rule = f"`{name}` must be a day, as in 2026-12-01"
        reject(rule, repr(value)[:40], "people read a day without an hour")


def is_over(day: Day, now: dt.datetime | None = None) -> bool:
    """Return whether a day has ended everywhere: "until this day" holds by every person's own clock."""
    return (now or dt.datetime.now(dt.UTC)).astimezone(_LAST_ZONE).date() > day
