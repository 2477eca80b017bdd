"""Exports as survey tools document them, written from known answers: every form of every tool, with all kinds of
labels.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.survey.samples import survey
from toolkit import Question, Survey, forced
from toolkit.survey.exchange.xlsform import choice_names

LABELS: dict[str, list[Any]] = {
    "words": ["beer", "wine", "none"],
    "commas": ["Beer, cold", "Wine, red, or white", "None of these"],
    "blanks": ["root beer", "red wine", "beer"],
    "numbers": [18, 25, 40],
    "positions": [1, 2, 3],
    "right to left": ["بيرة، باردة", "نبيذ أحمر", "لا شيء"],
    "words for nothing": ["NA", "None", "nan"],
    "words for ticks": ["yes", "no", "x"],
    "marks": ["a/b", "c. d", "e [f] (g)"],
}

TEXTS = {"city": "Which place?", "cheated": "Cheated?", "tried": "What have you tried?", "age": "Age?"}


def asked(labels: str) -> Survey:
    """Return a survey with a choice, a protected question, boxes and a number."""
    options = LABELS[labels]
    return survey(
        Question("city", TEXTS["city"], options=options),
        Question("cheated", TEXTS["cheated"], design=forced("1/6", "1/6"), mode="physical"),
        Question("tried", TEXTS["tried"], options=options, multiple=True, required=False),
        Question("age", TEXTS["age"], bounds=(0, 99), required=False),
        check=False,
    )


@dataclass(frozen=True)
class Person:
    """The answers of one person: positions of options, a report, ticked positions, and a number."""

    city: int
    cheated: str
    tried: list[int] | None
    age: float | None


PEOPLE = [
    Person(0, "yes", [0, 2], 20),
    Person(1, "no", [1], 30.5),
    Person(2, "no", [], None),
    Person(0, "no", [0, 1, 2], 99),
    Person(1, "yes", [2], 0),
    Person(2, "yes", [0], 41.25),
]


@dataclass(frozen=True)
class Export:
    """A file, the arguments that read it, and whether it shows that somebody ticked nothing."""

    rows: list[list[str]]
    arguments: dict[str, Any] = field(default_factory=dict)
    shows_empty: bool = True
    separator: str = ","
    encoding: str = "utf-8"
    first_line: str = ""
    decimal: str = "."

    def content(self) -> bytes:
        out = io.StringIO()
        csv.writer(out, delimiter=self.separator).writerows(self.rows)
        return (self.first_line + out.getvalue()).encode(self.encoding)


def expected(options: Sequence[Any], export: Export) -> dict[str, list[Any]]:
    """Return the table that must be read from an export of `PEOPLE`."""
    sets = [None if person.tried is None else f"[{','.join(map(str, person.tried))}]" for person in PEOPLE]
    return {
        "city": [options[person.city] for person in PEOPLE],
        "cheated": [person.cheated for person in PEOPLE],
        "tried": [None if ticked == "[]" and not export.shows_empty else ticked for ticked in sets],
        "age": [person.age for person in PEOPLE],
    }


def number(person: Person, decimal: str = ".") -> str:
    return "" if person.age is None else format(person.age, "g").replace(".", decimal)


def ticks(person: Person, k: int, yes: str | Sequence[str], no: str) -> list[str]:
    """Return the cells of one column for each option."""
    ticked = [yes] * k if isinstance(yes, str) else yes
    return [ticked[index] if index in (person.tried or []) else no for index in range(k)]


def qualtrics(options: list[str], heads: list[str], texts: list[str], cells: Callable[[Person], list[str]]) -> Any:
    """Write three header rows, and a preview, a test, spam and an unfinished row that must not be read."""
    head = ["StartDate", "Status", "Finished", "ResponseId", "city", "cheated", *heads, "age"]
    wordings = [
        "Start Date",
        "Response Type",
        "Finished",
        "Response ID",
        TEXTS["city"],
        TEXTS["cheated"],
        *texts,
        "Age?",
    ]
    ids = [f'{{"ImportId":"{index}"}}' for index in range(len(head))]
    rows = [head, wordings, ids]
    bad = [("Survey Preview", "True"), ("Survey Test", "True"), ("Spam", "True"), ("IP Address", "False")]
    rows += [
        ["2026-01-01", status, done, f"R_x{i}", *["never"] * (len(head) - 4)] for i, (status, done) in enumerate(bad)
    ]
    for index, person in enumerate(PEOPLE):
        row = ["2026-01-01", "IP Address", "True", f"R_{index}", options[person.city], person.cheated.title()]
        rows.append([*row, *cells(person), number(person)])
    return rows


def qualtrics_exports(options: list[str]) -> Iterator[tuple[str, Export]]:
    k, text = len(options), TEXTS["tried"]
    codes = {str(index + 1): option for index, option in enumerate(options)}
    numbers = list(codes)

    def one_column(names: list[str]) -> Any:
        shown = [names[index] for index in range(k)]
        cells = lambda person: [",".join(shown[index] for index in person.tried)]  # noqa: E731
        return qualtrics(shown, ["tried"], [text], cells)

    yield "labels in one column", Export(one_column(options), shows_empty=False)
    arguments = {"codes": {"city": codes, "tried": codes}}
    yield "codes in one column", Export(one_column(numbers), arguments, shows_empty=False, encoding="utf-8-sig")
    heads, texts = [f"tried_{x}" for x in numbers], [f"{text} - Selected Choice - {option}" for option in options]
    for name, yes, no in (("labels", options, ""), ("1", "1", ""), ("1 and 0", "1", "0")):
        rows = qualtrics(options, heads, texts, lambda person, yes=yes, no=no: ticks(person, k, yes, no))
        yield f"columns of {name}", Export(rows, shows_empty=bool(no), encoding="utf-16", separator="\t")
    skipping = [f"tried_{number}" for number in (4, 1, 7)]
    rows = qualtrics(options, skipping, texts, lambda person: ticks(person, k, options, ""))
    yield "columns whose numbers skip", Export(rows, shows_empty=False)


def limesurvey_exports(options: list[str]) -> Iterator[tuple[str, Export]]:
    k = len(options)
    shapes = [("Y and blank", "Y", ""), ("Y and N", "Y", "N"), ("Yes and No", "Yes", "No"), ("1 and 2", "1", "2")]
    for name, yes, no in shapes:
        for heads in ([f"tried[SQ{i + 1:03}]" for i in range(k)], [f"{TEXTS['tried']} [{x}]" for x in options]):
            rows = [["id", "submitdate", "lastpage", "city", "cheated", *heads, "age"]]
            rows += [["900", "", "1", *["never"] * (k + 3)]]
            for index, person in enumerate(PEOPLE):
                start = [str(index), "2026-01-01 10:00:00", "3", options[person.city], person.cheated[0].upper()]
                rows.append([*start, *ticks(person, k, yes, no), number(person, ",")])
            kind = "codes" if heads[0].startswith("tried") else "wordings"
            yield f"{name}, {kind}", Export(rows, shows_empty=bool(no), separator=";", encoding="utf-8-sig")


def redcap_exports(options: list[str]) -> Iterator[tuple[str, Export]]:
    k = len(options)
    codes = {str(index + 1): option for index, option in enumerate(options)}
    for name, heads, yes, no, done in (
        ("raw", [f"tried___{i + 1}" for i in range(k)], "1", "0", ("0", "2")),
        (
            "labelled",
            [f"{TEXTS['tried']} (choice={x})" for x in options],
            "Checked",
            "Unchecked",
            ("Incomplete", "Complete"),
        ),
    ):
        is_raw = name == "raw"
        head = ["record_id", "exams_timestamp", "city", "cheated", *heads, "age", "exams_complete"]
        wordings = [
            "Record ID",
            "Survey Timestamp",
            *(TEXTS[x] for x in ("city", "cheated")),
            *heads,
            "Age?",
            "Complete?",
        ]
        rows = [head if is_raw else wordings]
        rows += [["901", "[not completed]", "", "", *[no] * k, "", done[0]]]  # never opened
        rows += [["902", "2026-01-01", "never", "", *[no] * k, "never", done[0]]]
        for index, person in enumerate(PEOPLE):
            city = list(codes)[person.city] if is_raw else options[person.city]
            cheated = str(int(person.cheated == "yes")) if is_raw else person.cheated.title()
            start = [str(index), "2026-01-01 10:00", city, cheated]
            rows.append([*start, *ticks(person, k, yes, no), number(person), done[1]])
        yield name, Export(rows, {"codes": {"city": codes}} if is_raw else {})


def kobo_exports(options: list[str], names: list[str]) -> Iterator[tuple[str, Export]]:
    """Choice names are those that `write_xlsform` gives the options."""
    k = len(options)
    for kind, shown in (("names", names), ("labels", options)):
        for shape in ("one column", "separate columns", "both"):
            heads = ["page/tried"] if shape != "separate columns" else []
            heads += [f"page/tried/{name}" for name in shown] if shape != "one column" else []
            rows = [["_id", "_submission_time", "_validation_status", "page/city", "page/cheated", *heads, "page/age"]]
            rows += [["900", "2026-01-01", "Not approved", *["never"] * (len(heads) + 3)]]
            for index, person in enumerate(PEOPLE):
                cells = [" ".join(shown[index] for index in person.tried or [])] if shape != "separate columns" else []
                cells += ticks(person, k, "1", "0") if shape != "one column" else []
                start = [str(index), "2026-01-01", "", shown[person.city], person.cheated]
                rows.append([*start, *cells, number(person)])
            export = Export(rows, shows_empty=shape != "one column", separator=";", first_line="sep=;\r\n")
            yield f"{kind}, {shape}", export


def exports(labels: str) -> dict[str, Export]:
    """Return every form of every tool, by name."""
    made = asked(labels)
    options = list(map(str, LABELS[labels]))
    tools = {
        "qualtrics": qualtrics_exports(options),
        "limesurvey": limesurvey_exports(options),
        "redcap": redcap_exports(options),
        "kobo": kobo_exports(options, choice_names(made["tried"])),
    }
    return {f"{tool}: {name}": export for tool, shapes in tools.items() for name, export in shapes}
