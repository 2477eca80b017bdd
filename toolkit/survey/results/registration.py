"""Preregistration of a survey: questions, sample size and analyses, recorded before data are collected."""

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolkit.core.checks import check_integer, check_level, reject
from toolkit.planning import plan as solve
from toolkit.survey.plan import plan_table
from toolkit.survey.questions import files
from toolkit.survey.questions.errors import error_location, reject_unknown
from toolkit.survey.results.table import checked_groups
from toolkit.survey.spec import Survey
from toolkit.texts.document import Block, Document
from toolkit.texts.multilingual import text_in

_TEXTS = {
    "stopping": "When the collection ends",
    "exclusions": "Which reports are left out",
    "missing": "What is done about missing reports",
}
_FIELDS = ("n", *_TEXTS, "level", "questions", "groups", "contrasts", "prevalence", "subgroup", "power", "hypotheses")
_CONTRAST = ("question", "by", "reference")


@dataclass(frozen=True)
class Registration:
    """The preregistration of a survey.

    Parameters
    ----------
    survey_hash : str
        The hash of the survey.
    date : str
        The day of the registration, for example 2026-12-01.
    plan : mapping
        The fields of the plan.

    Examples
    --------
    >>> plan = {
    ...     "n": 500,
    ...     "stopping": "At 500.",
    ...     "exclusions": "None.",
    ...     "missing": "Left out.",
    ...     "questions": ["cheated"],
    ... }
    >>> Registration("ab", "2026-12-01", plan).status("cheated", ())
    'registered'
    """

    survey_hash: str
    date: str
    plan: Mapping[str, Any]

    @classmethod
    def load(cls, path: str | Path) -> "Registration":
        """Read a file that was written by `register`.

        Parameters
        ----------
        path : str or Path
            The .md file.

        Returns
        -------
        Registration
            The registration.

        Raises
        ------
        ValueError
            If the file is not a registration, or was changed.
        """
        text = Path(path).read_text(encoding="utf-8")
        try:
            data = json.loads(text.rpartition("```\n{")[2].partition("\n```")[0].join(["{", ""]))
            registration, seal = cls(data["survey"], data["date"], data["plan"]), data["sha256"]
        except (ValueError, KeyError, TypeError, RecursionError):
            reject("the file must be a registration", "something else", "`toolkit register` writes one")
        if registration.seal != seal:
            reject("a registration must not be changed", "one that was changed", "register the change separately")
        return registration

    @property
    def seal(self) -> str:
        """The SHA-256 hash of the registration, in hexadecimal."""
        data = json.dumps([self.survey_hash, self.date, dict(self.plan)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(data.encode()).hexdigest()

    def check(self, survey: Survey) -> None:
        """Raise an error if a survey is neither the registered survey nor its rehearsal.

        Parameters
        ----------
        survey : Survey
            The survey.

        Raises
        ------
        ValueError
            If the survey has a different hash.
        """
        if _registered_hash(survey) != self.survey_hash:
            rule = f"the survey must be the one that was registered on {self.date} (hash {self.survey_hash[:12]}…)"
            reject(rule, "one with another hash", "later changes are not registered")

    def status(self, question: str, by: Sequence[str] = (), reference: object = None) -> str:
        """Return whether an estimate, or a difference from a reference group, was registered.

        Parameters
        ----------
        question : str
            Name of the question.
        by : sequence of str
            Questions by which people are grouped.
        reference : object, optional
            The reference group of a difference.

        Returns
        -------
        str
            "registered" or "exploratory".
        """
        groups = [_as_list(item) for item in self.plan.get("groups", [])]
        planned = question in self.plan["questions"] and (not by or _as_list(by) in groups)
        if reference is not None:
            contrast = [
                (item["question"], _as_list(item["by"]), item["reference"]) for item in self.plan.get("contrasts", [])
            ]
            planned = (question, _as_list(by), reference) in contrast
        return "registered" if planned else "exploratory"


def _registered_hash(survey: Survey) -> str:
    """Return the hash of the real survey, which its rehearsal and later collections share."""
    return replace(survey, rehearsal=False, panel=None).hash


def _as_list(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def register(survey: Survey, plan: Mapping[str, Any] | str | Path, path: str | Path) -> Registration:
    """Write a preregistration with questions, designs, epsilon, sample size, margins, power and planned analyses.

    Parameters
    ----------
    survey : Survey
        The survey.
    plan : mapping, str or Path
        The fields of the plan, or a .toml file that contains them. The fields `n`, `stopping`, `exclusions` and
        `missing` are required. Optional fields are `level`, `questions` (by default all), `groups`, `contrasts`
        (question, by, reference), `prevalence` and `subgroup` as for `Survey.plan`, `power` ({question = {prevalence,
        detect}}), and `hypotheses`.
    path : str or Path
        The .md file to write, which `Registration.load` reads.

    Returns
    -------
    Registration
        The registration, which `Results.registered` accepts.

    Raises
    ------
    ValueError
        If a field is missing, unknown or inconsistent with the survey.

    Examples
    --------
    >>> import tempfile
    >>> from toolkit import Question, warner
    >>> cheated = Question("cheated", "Have you ever cheated?", design=warner("3/4"))
    >>> survey = Survey("Exams", [cheated], consent="We are a research group.")
    >>> plan = {"n": 800, "stopping": "after a week", "exclusions": "none", "missing": "left out"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     registration = register(survey, plan, f"{folder}/registration.md")
    """
    fields = _checked_plan(survey, files.read(plan) if isinstance(plan, str | Path) else plan)
    today = dt.datetime.now(dt.UTC).date().isoformat()
    registration = Registration(_registered_hash(survey), today, fields)
    target = Path(path)
    if target.suffix != ".md":
        reject("a registration must end in .md", repr(target.suffix), "nothing was written")
    _registration_document(survey, registration).save(target)
    return registration


def _checked_plan(survey: Survey, plan: object) -> dict[str, Any]:
    if not isinstance(plan, Mapping):
        reject("a plan must be a table of fields", type(plan).__name__, f"they are {', '.join(_FIELDS)}", TypeError)
    reject_unknown(plan, list(_FIELDS), "a plan")
    for name in ("n", *_TEXTS):
        if name not in plan:
            reject(f"a plan must have `{name}`", "none", 'write "none" if there is nothing to say')
    fields = {"questions": [question.name for question in survey.questions if question.kind != "text"], **plan}
    fields |= {"n": check_integer(plan["n"], "n"), "level": check_level(plan.get("level", 0.95))}
    fields |= {name: _as_list(fields[name]) for name in ("questions", "groups", "hypotheses") if name in fields}
    for name in [*fields["questions"], *fields.get("power", {})]:
        survey[name]
    for groups in fields.get("groups", []):
        checked_groups(survey, groups)
    for contrast in fields.get("contrasts", []):
        with error_location("contrasts"):
            reject_unknown(contrast, list(_CONTRAST), "a contrast")
            for name in _CONTRAST:
                if name not in contrast:
                    reject(f"a contrast must have `{name}`", "none", "it defines what is compared")
            checked_groups(survey, contrast["by"])
            survey[contrast["question"]]
    return fields


def _registration_document(survey: Survey, record: Registration) -> Document:
    fields, language = record.plan, survey.languages[0]
    epsilon = f"{survey.loss.epsilon:.4g}"
    facts = f"Registered on {record.date}; hash of the survey {record.survey_hash}; epsilon in all {epsilon}."
    blocks = [Block("h1", f"Pre-registration: {survey.name}"), Block("p", facts)]
    blocks += [Block("h2", "Hypotheses"), *(Block("li", question) for question in fields.get("hypotheses", ["None."]))]
    rows = [("question", "wording", "design", "epsilon")]
    for question in survey.questions:
        how = (
            "plain"
            if question.design is None
            else f"{question.design.name}, {question.mode}: {question.design.describe()}"
        )
        rows.append(
            (
                question.name,
                text_in(question.text, language),
                how,
                f"{question.loss.epsilon:.4g}" if question.randomized else "—",
            )
        )
    blocks += [Block("h2", "Questions and designs"), Block("table", rows=tuple(rows))]
    blocks += [Block("h2", "People"), Block("p", f"{fields['n']:,} people are planned.")]
    for name, title in _TEXTS.items():
        blocks += [Block("h3", title), Block("p", str(fields[name]))]
    options = {name: fields[name] for name in ("prevalence", "subgroup") if name in fields}
    planned = survey.plan(fields["n"], level=fields["level"], **options)
    blocks += [Block("h2", "Margins"), Block("table", rows=tuple(plan_table(planned)))]
    blocks += [Block("li", note) for note in planned.notes] + _power_blocks(survey, fields)
    blocks += [Block("h2", "Analyses"), *_analysis_blocks(fields)]
    data = {"survey": record.survey_hash, "date": record.date, "plan": fields, "sha256": record.seal}
    sealed = json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True)
    return Document((*blocks, Block("h2", "For programs"), Block("code", sealed)), "en")


def _power_blocks(survey: Survey, fields: Mapping[str, Any]) -> list[Block]:
    rows = []
    for name, wish in fields.get("power", {}).items():
        design = survey[name].design
        if design is None:
            reject("`power` must name randomized questions", f"{name!r}, which is plain", "leave it out")
        with error_location(f"power of {name!r}"):
            if not isinstance(wish, Mapping) or "detect" not in wish:
                rule = "its fields must be prevalence and detect"
                reject(rule, "other fields", "write {prevalence = 0.1, detect = 0.2}")
            solution = solve(design, n=fields["n"], level=fields["level"], **wish)
        rows.append((name, str(wish["prevalence"]), str(wish["detect"]), f"{solution.power:.3f}"))
    if not rows:
        return []
    return [Block("h2", "Power"), Block("table", rows=(("question", "null", "alternative", "power"), *rows))]


def _analysis_blocks(fields: Mapping[str, Any]) -> list[Block]:
    how = f"Unbiased estimates from the designs, with {100 * fields['level']:g} % intervals"
    lines = [f"{how}, of {', '.join(fields['questions'])}."]
    lines += [f"The same by {' and '.join(_as_list(item))}." for item in fields.get("groups", [])]
    lines += [
        f"Differences of {item['question']} by {' and '.join(_as_list(item['by']))}, from {item['reference']}."
        for item in fields.get("contrasts", [])
    ]
    return [Block("li", line) for line in [*lines, "All else is exploratory, and results say so."]]
