"""Errors and warnings about a survey, each with its question and field, and the rejection of unknown fields."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn, TypeVar

from toolkit.core.checks import reject

Value = TypeVar("Value")


class SurveyError(ValueError):
    """An invalid survey; the message gives the location, the rule, what was received, and the reason or remedy.

    Parameters
    ----------
    message : str
        The complete message, which begins with the file and the question.
    question : str, optional
        The name of the question; None if the error is about the whole survey.
    field : str, optional
        The field of the question or survey, such as "cap" or "protection.review"; None if the error is about several
        fields.
    reason : str, optional
        The message without file and question, for interfaces that show these separately.

    Examples
    --------
    >>> from toolkit import Question
    >>> try:
    ...     Question("cheated", "", free_text=True)
    ... except SurveyError as error:
    ...     error.question, error.field, error.reason
    ('cheated', 'text', '`text` must not be empty, got an empty string: people must be able to read it.')
    """

    def __init__(
        self, message: str, *, question: str | None = None, field: str | None = None, reason: str | None = None
    ) -> None:
        super().__init__(message)
        self.question, self.field = question, field
        self.reason = message if reason is None else reason


class SurveyWarning(UserWarning):
    """A warning about a survey that can be used but probably has a flaw.

    Parameters
    ----------
    message : str
        A description of the possible flaw and its remedy.
    question : str, optional
        The name of the question; None if the warning is about the survey.
    field : str, optional
        The field of the question or survey; None if the warning is about several fields.

    Examples
    --------
    >>> SurveyWarning("Look again.", field="consent").field
    'consent'
    """

    def __init__(self, message: str, *, question: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.question, self.field, self.reason = question, field, message


@contextmanager
def error_location(where: str = "", *, question: str | None = None, field: str | None = None) -> Iterator[None]:
    """Convert errors raised inside the context to a `SurveyError` with their location.

    The message begins with `where`, or else with the question. Locations nest: the field "review" inside
    "protection" is reported as "protection.review".
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        inner = error if isinstance(error, SurveyError) else SurveyError(str(error))
        prefix = where or (f"question {question!r}" if question and not inner.question else "")
        raise SurveyError(
            f"{prefix}: {inner}" if prefix else str(inner),
            question=inner.question or question,
            field=".".join(filter(None, (field, inner.field))) or None,
            reason=inner.reason,
        ) from None


def reject_field(field: str, rule: str, received: object, consequence: str) -> NoReturn:
    """Reject the value of a field, with a message like that of `reject`."""
    reject(rule, received, consequence, partial(SurveyError, field=field))


def run_field_check(field: str, check: Callable[..., Value], *args: object) -> Value:
    """Call `check` with `args`; an error is raised with the name of the field."""
    with error_location(field=field):
        return check(*args)


_ORDER = (
    "the only such field is `random_order`, of a survey for its questions and of a question for its options: an order "
    "that depends on answers reveals them"
)
_QUOTA = "there are no such rules, since being turned away would reveal an answer; `cap` limits the number of reports"
_SKIP = (
    "the only such rule is `show_if`, which depends on plain questions only: others would reveal a randomized answer"
)
_TIME = "there are no such rules, since the time that an answer takes reveals something about it"
_OTHER = (
    "an answer outside of the options would not be protected: make it an option of the design (a plain question "
    "may have required = false)"
)
_DEFAULT = "nothing is selected in advance, since leaving it unchanged would look like an answer"
_REPEAT = "an answer is randomized once and sent once: repeating it would weaken the protection"
_PERSON = "nothing about the respondent is stored except the reports"

_REASONS_BY_FIELDS = {
    _ORDER: "order order_by randomize randomize_order randomise_order rotate shuffle",
    _QUOTA: "quota quotas screen_out screenout strata",
    _SKIP: "branch filter goto hide_if jump logic relevance relevant skip skip_if skip_to visible_if",
    _TIME: "record_time time_limit timer timestamps timing",
    _OTHER: "allow_other allow_skip dont_know no_answer optional other prefer_not_to_say",
    _DEFAULT: "default initial preselected",
    _REPEAT: "edit_after_send repeat reroll retry",
    _PERSON: "cookies email geolocation ip metadata paradata tracking user_agent",
}


def reject_unknown(data: Mapping[str, Any], allowed: Collection[str], owner: str) -> None:
    """Reject unknown fields; explain the absence of a field that other tools have."""
    for field in data:
        if field not in allowed:
            normalized = str(field).lower().replace("-", "_")
            why = next((reason for reason, names in _REASONS_BY_FIELDS.items() if normalized in names.split()), None)
            rule = f"{owner} has the fields {', '.join(allowed)}"
            reject_field(str(field), rule, repr(field)[:60], why or "check its spelling")
