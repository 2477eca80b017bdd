"""From one wave to the next: the same panel, and the same links, in a collection of its own."""

from collections.abc import Sequence

from toolkit.core.checks import refuse
from toolkit.survey.spec import Survey
from toolkit.survey.storage.protocol import Store
from toolkit.survey.writing.survey_fields import check_panel


def check_next(survey: Survey, before: Survey) -> None:
    """Refuse a survey that is not the wave after this one, of the same panel and with the same access."""
    rule = "the next wave must have as many waves, and the same questions with a memo: name, text, design"
    check_panel(survey, before, rule, "what phones have drawn would not fit it")
    if survey.wave != before.wave + 1:
        refuse(
            f"the wave after wave {before.wave} must be number {before.wave + 1}",
            f"number {survey.wave}",
            "people are told which one it is",
        )
    if survey.access != before.access:
        refuse(
            f"the next wave must have the same access, {before.access}",
            survey.access,
            "the same links must work",
        )


def follow(store: Store, survey: Survey, earlier: Store, settings: Sequence[str] = ()) -> None:
    """Make the collection of the next wave, and let in whoever was let in to the earlier one, whether they
    answered it or not.

    `settings` that the earlier one was served with are taken over, unless it has its own: phones find what
    they have drawn only under the same address.
    """
    check_next(survey, earlier.survey())
    store.create(survey)
    for name in settings:
        if (kept := earlier.setting(name)) is not None:
            store.once(name, kept)
    if survey.access != "open":
        store.invite(earlier.guests())
