"""Errors and warnings about a survey, with the question and the field that they are about."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NoReturn, TypeVar

from toolkit.core.checks import reject

Value = TypeVar("Value")


class SurveyError(ValueError):
    """A survey that cannot be used as it is: the message says where, the rule, what was received, and why.

    Parameters
    ----------
    message : str
        The whole message, with the file and the question in front of it.
    question : str, optional
        The name of the question that it is about; None if it is about the survey.
    field : str, optional
        The field of the question, or of the survey, such as "cap" or "protection.review"; None if it is about
        several.
    reason : str, optional
        The message without file and question, where these are shown apart from it.

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
    """A survey that can be used, but should be looked at again.

    Parameters
    ----------
    message : str
        What may be wrong, and what to do about it.
    question : str, optional
        The name of the question that it is about; None if it is about the survey.
    field : str, optional
        The field of the question, or of the survey; None if it is about several.

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
    """Raise errors from inside as a `SurveyError` that knows where they arose.

    `where`, or else the question, is put in front of the message. Locations nest: a field "review" inside of
    "protection" is "protection.review".
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        inner = error if isinstance(error, SurveyError) else SurveyError(str(error))
        before = where or (f"question {question!r}" if question and not inner.question else "")
        raise SurveyError(
            f"{before}: {inner}" if before else str(inner),
            question=inner.question or question,
            field=".".join(filter(None, (field, inner.field))) or None,
            reason=inner.reason,
        ) from None


def refuse_field(field: str, rule: str, received: object, consequence: str) -> NoReturn:
    """Refuse the value of a field, with a message as that of `reject`."""
    reject(rule, received, consequence, partial(SurveyError, field=field))


def in_field(field: str, check: Callable[..., Value], *args: object) -> Value:
    """Call `check` with `args`; errors are raised with the name of this field."""
    with error_location(field=field):
        return check(*args)
