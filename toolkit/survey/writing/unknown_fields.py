"""Fields that a survey's file must not have, and why some that other tools offer are not offered here."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from toolkit.core.checks import refuse


class SurveyError(ValueError):
    """A survey that cannot be used as it is: the message says where, the rule, what was received, and why.

    Examples
    --------
    >>> issubclass(SurveyError, ValueError)
    True
    """


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Make errors that are raised inside say where they happened.

    >>> with naming("question 'cheated'"):
    ...     raise ValueError("`p` must differ from 1/2")
    Traceback (most recent call last):
    toolkit.survey.writing.unknown_fields.SurveyError: question 'cheated': `p` must differ from 1/2
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        raise SurveyError(f"{where}: {error}") from None


_ORDER = (
    "such rules are not offered, since an order that depends on answers tells them; questions come as they are listed"
)
_QUOTA = "such rules are not offered, since being turned away would tell an answer; `cap` limits the number of reports"
_SKIP = (
    "the only such rule is `show_if`, which depends on plain questions alone: any other would tell a randomized answer"
)
_TIME = "such rules are not offered, since how long an answer takes tells something about it"
_BESIDE = (
    "an answer beside the options would not be hidden: make it one of the design's (a plain question "
    "may be required = false)"
)
_CHOSEN = "nothing is chosen beforehand, since leaving it so would look like an answer"
_AGAIN = "an answer is drawn once and sent once: drawing again would wear the protection off"
_WHO = "nothing about the respondent is kept but the reports"

_WHY = {
    _ORDER: "order order_by random_order randomize_order randomise_order rotate shuffle",
    _QUOTA: "quota quotas screen_out screenout strata",
    _SKIP: "branch filter goto hide_if jump logic relevance relevant skip skip_if skip_to visible_if",
    _TIME: "record_time time_limit timer timestamps timing",
    _BESIDE: "allow_other allow_skip dont_know no_answer optional other prefer_not_to_say",
    _CHOSEN: "default initial preselected",
    _AGAIN: "edit_after_send repeat reroll retry",
    _WHO: "cookies email geolocation ip metadata paradata tracking user_agent",
}


def refuse_unknown(fields: Mapping[str, Any], known: Collection[str], what: str) -> None:
    """Refuse a field that is not known, with the reason if it is one that people expect."""
    for field in fields:
        if field not in known:
            spelled = str(field).lower().replace("-", "_")
            why = next((reason for reason, names in _WHY.items() if spelled in names.split()), None)
            refuse(f"{what} has the fields {', '.join(known)}", repr(field)[:60], why or "check its spelling")
