"""The editions of a collection: its first page and its amended pages.

A page consists of the survey, the texts around it and the files that randomize; respondents agree to its hash, and an
ethics board can compare this hash. A different version of the code makes a different page, which is never served by
accident: the toolkit reports which version created the collection, and serves its own page only if the collection is
amended. Then both hashes are stored with their versions, and reports from the earlier page, which may still wait on
phones, remain valid. Questions and designs cannot be amended, because all reports in a table must have the same
randomization probabilities. The next wave has its own collection, with the same panel and the same links.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from toolkit.core.checks import reject
from toolkit.core.loss import Pure
from toolkit.survey.client import toolkit_version
from toolkit.survey.consent.statement import loss
from toolkit.survey.questions.survey_fields import Panel, check_panel
from toolkit.survey.spec import Survey
from toolkit.survey.storage.protocol import Edition
from toolkit.texts.phrases import phrases

_AMENDABLE_FIELDS = ("title", "consent", "words", "closes", "protection")
_CORRECTION_ADVICE = (
    "reports cannot be mixed; use another database. To correct a text of an open survey, close that collection, which "
    "keeps its reports, and collect the corrected survey in a new one; if designs and options are the same, "
    "estimate() accepts both tables, one below the other"
)


def new_edition(survey: Survey) -> Edition:
    """Return the edition of a survey that this version of the toolkit publishes."""
    return Edition(survey.hash, toolkit_version(), json.dumps(survey.to_dict()))


def read_survey(edition: Edition) -> Survey:
    """Return the survey of an edition."""
    try:
        return Survey.from_collection(json.loads(edition.survey_json))
    except (ValueError, TypeError, KeyError) as problem:
        rule = "a collection's survey must be readable by this toolkit"
        reject(rule, f"one of toolkit {edition.toolkit_version} ({problem})", "use that version")


def page_mismatch(survey: Survey, editions: Sequence[Edition]) -> str | None:
    """Describe both pages if this code generates a page that respondents have not seen; otherwise return None."""
    if survey.hash in {edition.hash for edition in editions}:
        return None
    last_edition = editions[-1]
    expected = f"{last_edition.hash[:12]} of toolkit {last_edition.toolkit_version}"
    return f"{survey.hash[:12]} of toolkit {toolkit_version()} for {expected}"


def check_page(survey: Survey, editions: Sequence[Edition]) -> None:
    """Reject a page that respondents have not seen, because the survey or the version of the code differs."""
    received, last_edition = page_mismatch(survey, editions), editions[-1]
    if received is None:
        return
    if survey.rehearsal != read_survey(last_edition).rehearsal:
        rule = "a rehearsal and the real survey must have separate databases"
        if survey.rehearsal:
            reject(rule, "a rehearsal in the database of real reports", "nothing was started; use another database")
        consequence = "nothing was started; close and delete the rehearsal (toolkit close, delete), or use another"
        reject(rule, "the real survey in the database of a rehearsal", consequence)
    if _changed_fields(survey, last_edition):
        reject("a database holds one collection", "one of another survey", _CORRECTION_ADVICE)
    if _changed_fields(survey, last_edition, ignored_fields=()):
        hint = "if it is the same survey with corrected texts, amend the collection (toolkit serve --amend)"
        reject("a database holds one collection", "one of another survey", f"use another database; or, {hint}")
    reject(
        "a collection must be served with the page with which it was created",
        received,
        f"use toolkit {last_edition.toolkit_version} as it was then, or amend the collection (toolkit serve --amend): "
        "people see this page from then on, and reports from the earlier page remain valid",
    )


def check_amendment(survey: Survey, last_edition: Edition) -> None:
    """Reject an amendment of a field on which reports depend."""
    changed = _changed_fields(survey, last_edition)
    if changed:
        rule = (
            f"an amended survey may differ only in {', '.join(_AMENDABLE_FIELDS)} and in the toolkit's texts and files"
        )
        consequence = "reports would no longer be answers to one survey; collect in another database"
        reject(rule, f"a different {changed[0]!r}", consequence)
    if _all_labels(survey) != _all_labels(read_survey(last_edition)):
        rule = "an amended survey must show every option by the same label"
        reject(
            rule, "other labels in its `words`", "a report would mean different answers; collect in another database"
        )


def check_same_questions(survey: Survey, edition: Edition) -> None:
    """Reject collections whose reports are not answers to the same questions."""
    changed = _changed_fields(survey, edition, (*_AMENDABLE_FIELDS, "cap", "panel")) or ["words"] * (
        _all_labels(survey) != _all_labels(read_survey(edition))
    )
    if changed:
        rule = "collections to merge must belong to the same survey"
        reject(rule, f"a different {changed[0]!r}", "nothing was created")


def _all_labels(survey: Survey) -> list[str]:
    """Return the labels of all options in every language, because a survey's `words` can change them."""
    return [
        question.label(option, language, phrases(language, survey.words))
        for language in survey.languages
        for question in survey.questions
        for option in (*question.options, *question.report_options)
    ]


def _changed_fields(survey: Survey, edition: Edition, ignored_fields: Sequence[str] = _AMENDABLE_FIELDS) -> list[str]:
    """Return the fields in which a survey differs from an edition, except for `ignored_fields`."""
    old, new = json.loads(edition.survey_json), json.loads(json.dumps(survey.to_dict()))
    return [name for name in old | new if name not in ignored_fields and old.get(name) != new.get(name)]


def with_panel(survey: Survey, panel: Panel | None = None) -> Survey:
    """Return the survey of a new collection; the first wave gets a new panel, which later waves share."""
    if survey.waves == 1:
        return survey
    if panel is None and survey.wave > 1:
        reject(
            f"wave {survey.wave} must follow the collection of wave {survey.wave - 1}",
            "none",
            "phones would take it for another study, and people would be asked more often than they were "
            "told; pass its database as previous_wave= (toolkit serve --previous-wave)",
        )
    if panel is None and survey.panel is not None:
        consequence = "two studies would identify the same people by the same number; leave `panel` out"
        rule = "the panel of a first wave must be created with its collection"
        reject(rule, "the panel of another collection", consequence)
    return replace(survey, panel=panel or Panel.new(survey.loss))


def with_existing_panel(survey: Survey, last_edition: Edition) -> Survey:
    """Return the survey with the panel of an existing collection."""
    panel = json.loads(last_edition.survey_json).get("panel")
    return survey if panel is None or survey.panel or survey.waves == 1 else replace(survey, panel=panel)


def check_next_wave(survey: Survey, previous: Survey) -> None:
    """Reject a survey that is not the next wave of the same panel, or whose privacy loss exceeds the promise."""
    rule = (
        "the next wave must have the same number of waves, and the same questions with a memo: names, designs, and in "
        "every language texts and labels"
    )
    check_panel(survey, previous, rule, "the draws stored on phones would not match it")
    if survey.wave != previous.wave + 1:
        rule = f"the wave after wave {previous.wave} must be number {previous.wave + 1}"
        reject(rule, f"number {survey.wave}", "people are told the number of the wave")
    if survey.access != previous.access:
        reject(f"the next wave must have the same access, {previous.access}", survey.access, "the same links must work")
    if survey.ceiling > previous.ceiling:
        rule = f"the next wave must have a `ceiling` of at most {Pure(previous.ceiling).epsilon:.4g}"
        reject(rule, f"{Pure(survey.ceiling).epsilon:.4g}", "it is part of what the panel was told")
    total, promised = loss(survey.questions, survey.waves), previous.loss
    if not total <= promised:
        rule = f"the next wave must cost at most epsilon {promised.epsilon:.4g} in {survey.waves} waves"
        consequence = "in the first wave, people were told this total of all waves; use designs that cost no more"
        reject(rule, f"{total.epsilon:.4g}", consequence)
