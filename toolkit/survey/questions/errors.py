"""Errors and warnings about a survey, with the question and the field concerned."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NoReturn, TypeVar

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
