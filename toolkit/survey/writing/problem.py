"""`SurveyError`: what is wrong with a survey, with the file and the question that it is wrong in."""

from collections.abc import Iterator
from contextlib import contextmanager


class SurveyError(ValueError):
    """A survey that cannot be used as it is; the message says where, which rule, what was received, and why
    it matters.
    """


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Errors raised inside say where they happened.

    >>> with naming("question 'cheated'"):
    ...     raise ValueError("`p` must differ from 1/2")
    Traceback (most recent call last):
    toolkit.survey.writing.problem.SurveyError: question 'cheated': `p` must differ from 1/2
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        raise SurveyError(f"{where}: {error}") from None
