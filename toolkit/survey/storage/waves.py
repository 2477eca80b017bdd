"""From one wave to the next: the same panel, and the same links, in a collection of its own."""

import json
from collections.abc import Sequence
from dataclasses import replace

from toolkit.core.checks import refuse
from toolkit.core.loss import Pure
from toolkit.survey.consent.statement import loss
from toolkit.survey.spec import Survey
from toolkit.survey.storage.protocol import Edition, Store
from toolkit.survey.writing.survey_fields import Panel, check_panel


def with_panel(survey: Survey, panel: Panel | None = None) -> Survey:
    """The survey of a new collection: of a first wave with a panel of its own, of a later one with that
    which is handed on.
    """
    if survey.waves == 1:
        return survey
    if panel is None and survey.wave > 1:
        refuse(
            f"wave {survey.wave} must follow the collection of wave {survey.wave - 1}",
            "none",
            "phones would take it for another study, and people would be asked more often than they were "
            "told; name its database by again= (toolkit serve --again)",
        )
    if panel is None and survey.panel is not None:
        refuse(
            "the panel of a first wave must be made with its collection",
            "one of another collection",
            "two studies would know the same people by one number; leave `panel` out",
        )
    return replace(survey, panel=panel or Panel.new(survey.loss))


def in_panel(survey: Survey, last: Edition) -> Survey:
    """The survey as a collection that is there already shows it: with the panel that was made for it."""
    kept = json.loads(last.survey).get("panel")
    return survey if kept is None or survey.panel or survey.waves == 1 else replace(survey, panel=kept)


def check_next(survey: Survey, before: Survey) -> None:
    """Refuse a survey that is not the wave after this one, of the same panel and with the same access, or
    that passes what people were told.
    """
    rule = (
        "the next wave must have as many waves, and the same questions with a memo: names, designs, and in "
        "every language texts and labels"
    )
    check_panel(survey, before, rule, "what phones have drawn would not fit it")
    if survey.wave != before.wave + 1:
        refuse(
            f"the wave after wave {before.wave} must be number {before.wave + 1}",
            f"number {survey.wave}",
            "people are told which one it is",
        )
    if survey.access != before.access:
        refuse(f"the next wave must have the same access, {before.access}", survey.access, "the same links must work")
    if survey.ceiling > before.ceiling:
        refuse(
            f"the next wave must have a `ceiling` of at most {Pure(before.ceiling).epsilon:.4g}",
            f"{Pure(survey.ceiling).epsilon:.4g}",
            "it belongs to the panel, as what people were told does",
        )
    own, told = loss(survey.questions, survey.waves), before.loss
    if not own <= told:
        refuse(
            f"the next wave must cost at most epsilon {told.epsilon:.4g} in {survey.waves} waves",
            f"{own.epsilon:.4g}",
            "people were told so of all waves together when they began; take designs that cost no more",
        )


def follow(store: Store, survey: Survey, earlier: Store, settings: Sequence[str] = ()) -> None:
    """Make the collection of the next wave, and let in whoever was let in to the earlier one, whether they
    answered it or not.

    `settings` that the earlier one was served with are taken over, unless it has its own: phones find what
    they have drawn only under the same address.
    """
    before = earlier.survey()
    check_next(survey, before)
    if before.panel is None:
        refuse(
            "the wave before must have a panel",
            f"one of toolkit {earlier.editions()[-1].toolkit} without",
            "go on with that toolkit to the last wave",
        )
    store.create(survey, before.panel)
    check_panel(  # it may have been there before
        store.survey(), before, "a wave must follow one wave before", "people of another study would be let in"
    )
    for name in settings:
        if (kept := earlier.setting(name)) is not None:
            store.once(name, kept)
    if survey.access != "open":
        store.invite(earlier.guests())
