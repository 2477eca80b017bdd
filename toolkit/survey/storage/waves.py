"""From one wave to the next: the same panel, and the same links, in a collection of its own."""

import json
from dataclasses import replace

from toolkit.core.checks import refuse
from toolkit.core.loss import Pure
from toolkit.survey.consent.statement import loss
from toolkit.survey.spec import Survey
from toolkit.survey.storage.protocol import Edition
from toolkit.survey.writing.survey_fields import Panel, check_panel


def with_panel(survey: Survey, panel: Panel | None = None) -> Survey:
    """The survey of a new collection: a first wave gets a panel of its own, a later one the panel before it."""
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
        consequence = "two studies would know the same people by one number; leave `panel` out"
        refuse("the panel of a first wave must be made with its collection", "one of another collection", consequence)
    return replace(survey, panel=panel or Panel.new(survey.loss))


def in_panel(survey: Survey, last: Edition) -> Survey:
    """The survey as a collection that is there already shows it: with the panel that was made for it."""
    panel = json.loads(last.survey).get("panel")
    return survey if panel is None or survey.panel or survey.waves == 1 else replace(survey, panel=panel)


def check_next(survey: Survey, before: Survey) -> None:
    """Refuse a survey that is not the next wave of the same panel, or that costs more than people were told."""
    rule = (
        "the next wave must have as many waves, and the same questions with a memo: names, designs, and in "
        "every language texts and labels"
    )
    check_panel(survey, before, rule, "what phones have drawn would not fit it")
    if survey.wave != before.wave + 1:
        rule = f"the wave after wave {before.wave} must be number {before.wave + 1}"
        refuse(rule, f"number {survey.wave}", "people are told which one it is")
    if survey.access != before.access:
        refuse(f"the next wave must have the same access, {before.access}", survey.access, "the same links must work")
    if survey.ceiling > before.ceiling:
        rule = f"the next wave must have a `ceiling` of at most {Pure(before.ceiling).epsilon:.4g}"
        refuse(rule, f"{Pure(survey.ceiling).epsilon:.4g}", "it belongs to the panel, as what people were told does")
    own, promised = loss(survey.questions, survey.waves), before.loss
    if not own <= promised:
        rule = f"the next wave must cost at most epsilon {promised.epsilon:.4g} in {survey.waves} waves"
        consequence = "people were told so of all waves together when they began; take designs that cost no more"
        refuse(rule, f"{own.epsilon:.4g}", consequence)
