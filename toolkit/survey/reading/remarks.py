"""What must be said wherever a collection is read: that it is a rehearsal, that it still runs, and who could
answer.
"""

from collections.abc import Sequence

from toolkit.survey.reading.steps import Shown, steps_note
from toolkit.survey.spec import Survey

TRIED_OUT = "This is a rehearsal: its reports were made to try the survey out, not to learn from."
OPEN_ACCESS = (
    "Access is open: whoever has the link can answer, and as often as they like; nothing in the reports "
    "would show it. "
    "Links that work once (access by token or blind) prevent it."
)
FLOODED = (
    "Until it is closed, whoever sends many reports of their own and watches these results can tell what one "
    "other person sent, though not the answer behind it."
)


def remarks(survey: Survey, shown: Shown, by: Sequence[str] = ()) -> tuple[str, ...]:
    """The sentences about a collection, besides that it is a rehearsal, which its reports say themselves."""
    everybody = survey.access == "open"
    flooded = everybody and shown.moving and not survey.rehearsal
    said = (steps_note(survey, shown, by), OPEN_ACCESS if everybody else "", FLOODED if flooded else "")
    return tuple(sentence for sentence in said if sentence)
