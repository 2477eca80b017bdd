"""A table of the export formats of survey tools, with rules for rows that are not real responses."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from toolkit.analysis.reports import cell_key
from toolkit.core.checks import is_missing, reject
from toolkit.survey.exchange.raw_files import RawTable

REASONS = ("preview", "test", "spam", "unfinished", "not approved", "other trial")
"""The reasons why a row is not a real response."""

JSPSYCH_TRIAL = "toolkit-form"
"""The type of the trial in which the toolkit's plugin for jsPsych asks a form; its rows have the reports."""

_NOTHING = "nothing was read"


@dataclass(frozen=True)
class RowRule:
    """A rule that leaves out rows whose cells match a pattern; column and pattern are regular expressions."""

    column: str
    pattern: str
    reason: str


@dataclass(frozen=True)
class Tool:
    """A program that exports answers.

    A file was exported by the program if the name of a column matches `marker`. `separator` separates the options in
    one cell, and `form_end` matches the last column of each form if a file has several forms. All are regular
    expressions.
    """

    marker: str
    rules: tuple[RowRule, ...]
    separator: str = r"\s*[;,|]\s*|\s+"
    form_end: str = ""


TOOLS = {
    "qualtrics": Tool(
        r"ResponseI[dD]",
        (
            RowRule("Status", r".*preview.*|1|9|17", "preview"),
            RowRule("Status", r".*test.*|2", "test"),
            RowRule("Status", r".*spam.*|8|12|40", "spam"),
            RowRule("Finished", r"false|0", "unfinished"),
        ),
        separator=",",
    ),
    "limesurvey": Tool(r"submitdate|Date submitted", (RowRule("submitdate|Date submitted", "|n/a", "unfinished"),)),
    "kobo": Tool(
        r"_id|_uuid|_submission_time|_validation_status|KEY|meta[/-]instanceID|SubmissionDate|ReviewState",
        (
            RowRule(r"_validation_status", r"(validation_status_)?not[ _]approved", "not approved"),
            RowRule(r"(__system[/-])?ReviewState", r"rejected", "not approved"),
        ),
        separator=r"\s+",
    ),
    "redcap": Tool(
        r"record_id|redcap_\w+|\w+___\w+|.* \(choice=.*\)|Complete\?|\w+_complete",
        (
            RowRule(r"\w+_complete|Complete\?.*", r"|0|incomplete", "unfinished"),
            RowRule(r"\w+_timestamp|Survey Timestamp.*", r"\[not completed\]", "unfinished"),
        ),
        form_end=r"\w+_complete|Complete\?.*",
    ),
    "jspsych": Tool(
        r"trial_type|trial_index",
        (RowRule("trial_type", rf"(?!{JSPSYCH_TRIAL}$).*", "other trial"), RowRule("declined", r"true", "unfinished")),
    ),
}
"""The export formats as documented by these programs. Qualtrics also writes `Status` as a number."""

ANY = Tool("", ())
"""A program that is not in the table."""


def find_tool(raw: RawTable, source: str | None, reserved: Iterable[str]) -> Tool:
    """Return the tool called `source`, or recognize it by columns that are not in `reserved`."""
    if source is not None:
        if source not in TOOLS:
            reject(f"`source` must be one of {', '.join(TOOLS)}", repr(source)[:40], _NOTHING)
        return TOOLS[source]
    if raw.book is not None:
        return ANY
    if raw.has_import_ids:
        return TOOLS["qualtrics"]
    names = set(raw.frame) - set(reserved)
    return next((tool for tool in TOOLS.values() if any(re.fullmatch(tool.marker, name) for name in names)), ANY)


@dataclass(frozen=True)
class RowSelection:
    """The rows that are real responses, and for each question the rows in which its form was not answered."""

    rows: list[bool]
    counts: Mapping[str, int] = field(default_factory=dict)
    unanswered: Mapping[str, list[bool]] = field(default_factory=dict)

    def message(self) -> str:
        """Describe how many rows were left out, and why."""
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in self.counts.items())
        return f"{sum(self.counts.values()):,} of {len(self.rows):,} rows left out ({reasons})"

    def advice(self) -> str:
        """Return the argument with which the rows that were left out can be read."""
        return f"keep={list(self.counts)}"


def select_rows(
    tool: Tool, raw: RawTable, columns: Mapping[str, Sequence[str]], keep: Sequence[str] | str
) -> RowSelection:
    """Select the rows that are real responses; `columns` contains the columns of each question.

    If a file has several forms, a row is left out if none of the forms that ask a question was finished. In the other
    rows the answers in an unfinished form are missing. In a form that was never opened, all boxes are 0; its answers
    are missing whatever the value of `keep`.
    """
    allowed = _checked_reasons(keep)
    used = {column for names in columns.values() for column in names}
    forms = [form for form in _forms(tool, list(raw.frame)) if used & set(form)]
    rules = [rule for rule in tool.rules if rule.reason not in allowed]
    reasons = [_reasons(rules, raw, [name for name in form if name not in used]) for form in forms]
    # A row is kept if at least one of its forms is kept.
    stays = [None in row for row in zip(*reasons, strict=True)] or [True] * len(raw.frame)
    counts = Counter(row[0] for row in zip(*reasons, strict=True) if None not in row)
    selection = RowSelection(stays, {reason: counts[reason] for reason in REASONS if counts[reason]})
    if not any(stays):
        rule = "at least one row must be a person's completed response"
        reject(rule, selection.message(), f"{_NOTHING}; pass {selection.advice()} to read them")
    if not tool.form_end:
        return selection
    unanswered = {}
    for form, form_reasons in zip(forms, reasons, strict=True):
        opened = _reasons(tool.rules, raw, [name for name in form if name not in used])
        empty = _is_empty(raw, [column for column in form if column in used])
        triples = zip(form_reasons, opened, empty, strict=True)
        marks = [reason is not None or (status is not None and blank) for reason, status, blank in triples]
        for name in (name for name, names in columns.items() if set(names) & set(form)):
            unanswered[name] = [mark for mark, stay in zip(marks, stays, strict=True) if stay]
    return replace(selection, unanswered=unanswered)


def _checked_reasons(keep: Sequence[str] | str) -> set[str]:
    reasons = {keep} if isinstance(keep, str) else set(keep)
    if unknown := sorted(map(str, reasons - {*REASONS, "all"})):
        rule = f'`keep` must be "all", or some of {", ".join(REASONS)}'
        reject(rule, ", ".join(map(repr, unknown))[:60], _NOTHING)
    return set(REASONS) if "all" in reasons else reasons


def _forms(tool: Tool, names: list[str]) -> list[list[str]]:
    """Split columns after each column that ends a form; if there is none, the whole file is one form."""
    forms: list[list[str]] = [[]]
    for name in names:
        forms[-1].append(name)
        if tool.form_end and re.fullmatch(tool.form_end, name):
            forms.append([])
    return forms


def _reasons(rules: Iterable[RowRule], raw: RawTable, names: Sequence[str]) -> list[str | None]:
    """Return the reason given by the first rule that each row matches, or None."""
    reasons: list[str | None] = [None] * len(raw.frame)
    for rule in rules:
        for name in (name for name in names if re.fullmatch(rule.column, name)):
            texts = _texts(raw, name)
            matches = {text: re.fullmatch(rule.pattern, text) is not None for text in set(texts)}
            reasons = [
                why or (rule.reason if matches[text] else None) for why, text in zip(reasons, texts, strict=True)
            ]
    return reasons


def _texts(raw: RawTable, name: str) -> list[str]:
    """Return a column as lower-case texts, with labels in place of codes."""
    labels = {cell_key(code): cell_key(label) for code, label in raw.labels.get(name, {}).items()}
    cells = raw.frame[name].tolist()
    keys = {cell: "" if is_missing(cell) else cell_key(cell) for cell in set(cells)}
    return [labels.get(keys[cell], keys[cell]) for cell in cells]


def _is_empty(raw: RawTable, names: Sequence[str]) -> list[bool]:
    """Return whether these columns contain only unticked boxes, for each row."""
    boxes = re.compile(r".*(___\w+|\(choice=.*\))")
    blank = [{"", "0", "unchecked"} if boxes.fullmatch(name) else {""} for name in names]
    columns = [_texts(raw, name) for name in names]
    return [all(text in empty for text, empty in zip(row, blank, strict=True)) for row in zip(*columns, strict=True)]
