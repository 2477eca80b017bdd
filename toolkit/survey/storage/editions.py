"""Which page a collection shows: the one that it was made with, or one that was amended on purpose.

A page is the survey, the words around it and the files that randomize; its hash is what people agree to and what an
ethics board compares. Other code makes another page. It is not served by accident: the toolkit says which version made
the collection, and goes on with this page only if the collection is amended. Then both hashes are kept, each with its
version, and reports that were made by the earlier page, and still wait on phones, stay good. Questions and designs
cannot be amended: one table of reports must come from one set of odds. The next wave has a collection of its own, with
the same panel and the same links.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from toolkit.core.checks import refuse
from toolkit.core.loss import Pure
from toolkit.survey.client import toolkit_version
from toolkit.survey.consent.statement import loss
from toolkit.survey.questions.survey_fields import Panel, check_panel
from toolkit.survey.spec import Survey
from toolkit.survey.storage.protocol import Edition
from toolkit.texts.phrases import phrases

_AMENDABLE = ("title", "consent", "words", "closes", "protection")
_CORRECTED = (
    "reports cannot be mixed; take another database. To correct a text of an open survey, close that collection, which "
    "keeps its reports, and collect the corrected survey in a new one; where designs and options are the same, "
    "estimate() takes both tables, one below the other"
)


def edition_of(survey: Survey) -> Edition:
    return Edition(survey.hash, toolkit_version(), json.dumps(survey.to_dict()))


def survey_of(edition: Edition) -> Survey:
    try:
        return Survey.from_collection(json.loads(edition.survey))
    except (ValueError, TypeError, KeyError) as problem:
        rule = "a collection's survey must be readable by this toolkit"
        refuse(rule, f"one of toolkit {edition.toolkit} ({problem})", "use that version")


def other_page(survey: Survey, editions: Sequence[Edition]) -> str | None:
    """Which page people have seen, if this code makes another one of the survey than they have seen; else None."""
    if survey.hash in {edition.hash for edition in editions}:
        return None
    last = editions[-1]
    return f"{survey.hash[:12]} of toolkit {toolkit_version()} for {last.hash[:12]} of toolkit {last.toolkit}"


def check_page(survey: Survey, editions: Sequence[Edition]) -> None:
    """Refuse what people have not seen: another survey, or this one as another code shows it."""
    received, last = other_page(survey, editions), editions[-1]
    if received is None:
        return
    if survey.rehearsal != survey_of(last).rehearsal:
        rule = "a rehearsal and the real survey must have databases of their own"
        if survey.rehearsal:
            refuse(rule, "a rehearsal where real reports are", "nothing was started; take another database")
        consequence = "nothing was started; close and delete the rehearsal (toolkit close, delete), or take another"
        refuse(rule, "the real survey where a rehearsal is", consequence)
    if _changed(survey, last):
        refuse("a database holds one collection", "one of another survey", _CORRECTED)
    if _changed(survey, last, allowed=()):
        same = "if it is the same survey with corrected words, amend the collection (toolkit serve --amend)"
        refuse("a database holds one collection", "one of another survey", f"take another database; or, {same}")
    refuse(
        "a collection must be served with the page that it was made with",
        received,
        f"use toolkit {last.toolkit} as it was then, or amend the collection (toolkit serve --amend): "
        "people see this page from then on, and reports of the earlier one stay good",
    )


def check_amendment(survey: Survey, last: Edition) -> None:
    """Refuse to amend what reports depend on."""
    changed = _changed(survey, last)
    if changed:
        rule = f"an amended survey may differ in {', '.join(_AMENDABLE)} and in the toolkit's own words and files"
        consequence = "reports would no longer be answers to one survey; collect in another database"
        refuse(rule, f"others in {changed[0]}", consequence)
    if _labels(survey) != _labels(survey_of(last)):
        rule = "an amended survey must show every option by the same label"
        refuse(rule, "others, by its `words`", "one report would mean different answers; collect in another database")


def check_same(survey: Survey, first: Edition) -> None:
    """Refuse collections whose reports are not answers to the same questions."""
    changed = _changed(survey, first, (*_AMENDABLE, "cap", "panel")) or ["words"] * (
        _labels(survey) != _labels(survey_of(first))
    )
    if changed:
        refuse("collections to merge must be of one survey", f"others in {changed[0]}", "nothing was made")


def _labels(survey: Survey) -> list[str]:
    """How all options of all questions are shown, in every language: words of one's own may name them."""
    return [
        question.label(option, code, phrases(code, survey.words))
        for code in survey.languages
        for question in survey.questions
        for option in (*question.options, *question.report_options)
    ]


def _changed(survey: Survey, last: Edition, allowed: Sequence[str] = _AMENDABLE) -> list[str]:
    """What differs between two surveys as they are written, but for what may differ."""
    old, new = json.loads(last.survey), json.loads(json.dumps(survey.to_dict()))
    return [name for name in sorted(old.keys() | new.keys()) if name not in allowed and old.get(name) != new.get(name)]


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
