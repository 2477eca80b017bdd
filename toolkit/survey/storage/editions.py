"""Which page a collection shows: the one that it was made with, or one that was amended on purpose.

A page is the survey, the words around it and the files that randomize; its hash is what people agree to and what an
ethics board compares. Other code makes another page. It is not served by accident: the toolkit says which version made
the collection, and goes on with this page only if the collection is amended. Then both hashes are kept, each with its
version, and reports that were made by the earlier page, and still wait on phones, stay good. Questions and designs
cannot be amended: one table of reports must come from one set of odds.
"""

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from toolkit.core.checks import refuse
from toolkit.survey.spec import Survey
from toolkit.survey.storage.protocol import Edition
from toolkit.texts.phrases import phrases

_AMENDABLE = ("title", "consent", "words", "closes", "protection")
_CORRECTED = (
    "reports cannot be mixed; take another database. To correct a text of an open survey, close that collection, which "
    "keeps its reports, and collect the corrected survey in a new one; where designs and options are the same, "
    "estimate() takes both tables, one below the other"
)


def toolkit_version() -> str:
    """The version of the toolkit at hand, as pip knows it."""
    try:
        return version("privacy-survey-toolkit")
    except PackageNotFoundError:  # run from a folder, without being installed
        return "unknown"


def edition_of(survey: Survey) -> Edition:
    """The page that this code makes of a survey."""
    return Edition(survey.hash, toolkit_version(), json.dumps(survey.to_dict()))


def survey_of(edition: Edition) -> Survey:
    """The survey of an edition, read by this code."""
    try:
        return Survey.from_collection(json.loads(edition.survey))
    except (ValueError, TypeError, KeyError) as problem:
        rule = "a collection's survey must be readable by this toolkit"
        refuse(rule, f"one of toolkit {edition.toolkit} ({problem})", "use that version")


def other_page(survey: Survey, editions: Sequence[Edition]) -> str | None:
    """Which page people have seen, if this code makes another one of the survey; None if it makes one that
    they have seen.
    """
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
    if "panel" not in old:  # an earlier toolkit made none: it comes with the amendment
        new.pop("panel", None)
    return [name for name in sorted(old.keys() | new.keys()) if name not in allowed and old.get(name) != new.get(name)]
