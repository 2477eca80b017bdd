"""Shell and Python code for every step of the studio, and notebooks that continue the work.

A survey may come from somebody else, and people copy and run this code. Therefore every name in the code is quoted.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.studio.checking import design_kinds
from toolkit.studio.tables import TableFile


def database_names(file: str) -> dict[str, str]:
    """Return the names of a survey's databases; for survey.toml they are the defaults of the command line."""
    stem = Path(file).stem
    names = ("survey.db", "rehearsal.db") if stem == "survey" else (f"{stem}.db", f"{stem}-rehearsal.db")
    return dict(zip(("real", "rehearsal"), names, strict=True))


def code_by_screen(file: str, data: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return, for each screen, the equivalent shell commands and Python code."""
    quoted, stem = shlex.quote(file), Path(file).stem
    check, assessment = f"toolkit check {quoted}", shlex.quote(f"{stem}-assessment.html")
    real, rehearsal = (f"sqlite:///{name}" for name in database_names(file).values())
    # The commands use the databases of survey.toml by default.
    database, rehearsal_database = ("" if stem == "survey" else _database_option(url) for url in (real, rehearsal))
    load = f"from toolkit import Survey\n\nsurvey = Survey.load({file!r})"
    attach = f"from toolkit.survey import Collector\n\ncollector = Collector.attach({real!r})"
    group = next((question["name"] for question in _plain_questions(data)), None)
    by = "" if group is None else f"by={group!r}"
    return {
        "questions": {"shell": check, "python": f"{load}\nsurvey"},
        "protection": {"shell": f"{check} --n 1000", "python": f"{load}\nsurvey.plan(1000)"},
        "who": {"shell": f"{check} --dpia {assessment}", "python": f"{load}\nprint(survey.consent_text())"},
        "preview": {
            "shell": f"toolkit paper {quoted} {shlex.quote(f'{stem}-paper')}",
            "python": f"{load}\nsurvey.preview()",
        },
        "rehearse": {
            "shell": f"toolkit serve {quoted} --rehearsal{rehearsal_database}\n"
            f"toolkit results{_database_option(rehearsal)}",
            "python": f"from toolkit import collect, rehearse\n\ncollector = collect({file!r}, database={rehearsal!r}, "
            "rehearsal=True)\nrehearse(collector, 200)\ncollector.results()",
        },
        "open": {
            "shell": f"toolkit serve {quoted}{database}",
            "python": f"from toolkit import collect\n\ncollector = collect({file!r}, database={real!r})\ncollector.url",
        },
        "invite": {"shell": f"toolkit invite 50{database}", "python": f"{attach}\ncollector.invitations(50)"},
        "station": {"shell": f"toolkit station new 50{database}", "python": f"{attach}\ncollector.station(50)"},
        "collect": {
            "shell": "\n".join(f"toolkit {command}{database}" for command in ("status", "pause", "resume", "close")),
            "python": f"{attach}\ncollector.status()",
        },
        "results": {
            "shell": _result_commands(stem, group, database),
            "python": f"{attach}\nresults = collector.results({by})\nresults.summary()",
        },
        "analyse": {"shell": f"jupyter lab {shlex.quote(f'{stem}.ipynb')}", "python": f"{attach}\ncollector.reports()"},
    }


def _database_option(url: str) -> str:
    return f" --database {shlex.quote(url)}"


def _result_commands(stem: str, group: str | None, database: str) -> str:
    by = "" if group is None else f" --by {shlex.quote(group)}"
    report, export = shlex.quote(f"{stem}-report.html"), shlex.quote(f"{stem}-reports.csv")
    return "\n".join(
        f"toolkit {command}{database}" for command in (f"results{by}", f"report {report}", f"export {export}")
    )


def _plain_questions(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the plain single-choice questions, whose answers can form groups."""
    tables = [table for table in data.get("questions", []) if isinstance(table, Mapping)]
    plain = [table for table in tables if "design" not in table and table.get("options") and not table.get("multiple")]
    return [table for table in plain if isinstance(table.get("name"), str)]


def analysis_notebook(file: str, data: Mapping[str, Any], which: str = "real") -> bytes:
    """Return a notebook that estimates the answers of a survey, compares groups, plots them and fits a model."""
    database = f"sqlite:///{database_names(file)[which]}"
    tables = [table for table in data.get("questions", []) if isinstance(table, Mapping)]
    groups = [question["name"] for question in _plain_questions(data)]
    kinds = design_kinds()
    yes_no = [table["name"] for table in tables if "yesno" in map(kinds.get, table.get("design", {}))]
    title = data.get("title", file)
    title = title if isinstance(title, str) else next(iter(title.values()), file)
    cells: list[str | list[str]] = [
        f"# {_plain_text(title)}\n\nWritten by the studio for `{file}`. Run it in the folder of the survey.",
        [
            "from toolkit.survey import Collector",
            "",
            f"collector = Collector.attach({database!r})",
            "collector.status()",
        ],
        "## Estimates\n\nEach estimate has its interval. The true answers are not stored anywhere.",
        ["results = collector.results()", "results"],
        ["results.plot()"],
    ]
    if groups:
        cells += [
            f"## By group\n\nGrouped by answers to {_plain_text(groups[0])}. Groups of too few people are not shown.",
            [f"by_group = collector.results(by={groups[0]!r})", "by_group.summary()"],
            ["by_group.plot() if by_group.group_estimates else by_group"],
        ]
    if groups and yes_no:
        cells += _model_cells(yes_no[0], groups[0])
    cells += ["## For a paper", [f"results.summary().to_csv({f'{Path(file).stem}-results.csv'!r}, index=False)"]]
    return _notebook(cells)


def _model_cells(outcome: str, group: str) -> list[str | list[str]]:
    """Return cells that regress the answers to a yes/no question on a grouping question."""
    subject = f"The odds of {_plain_text(outcome)} by {_plain_text(group)}."
    return [
        f"## A model\n\n{subject} The model accounts for the randomization of answers.",
        [
            "from toolkit.analysis import logistic",
            "",
            "reports = collector.reports()",
            f"frame = reports.dropna(subset={[outcome, group]!r})",
            f"design = collector.survey[{outcome!r}].design",
            f"fit = logistic({f'{outcome} ~ C({group})'!r}, frame, design, penalty='jeffreys')",
            "fit.to_frame()",
        ],
    ]


def curator_notebook(
    source: TableFile, neighbors: str, calls: Sequence[str], ledger: str, weights: Mapping[str, Any] | None = None
) -> bytes:
    """Return a notebook of a curator's session; the releases are commented out, so that none is charged again.

    The calls begin with the name of their curator: `curator`, or `weighted` if there are weights.
    """
    name = source.path.name
    imports = "OTHER, Curator, Ledger" if any(call.startswith("curator.synthesize") for call in calls) else ""
    cells: list[str | list[str]] = [
        f"# Releases from {_plain_text(name)}\n\nA cell that releases is charged **again** whenever it is run.",
        [
            "import pandas as pd" if source.is_csv else "import pyarrow.parquet as pq",
            f"from toolkit import {imports or 'Curator, Ledger'}",
            "",
            *_read_table(source),
            f"ledger = Ledger.open({ledger!r})",
            f"curator = Curator(table, ledger, neighbors={neighbors!r})",
            *weighted_curator(neighbors, weights or {}),
            "ledger",
        ],
        "## Price and noise\n\nPreviews charge nothing and read no rows.",
        *([call.replace(".", ".preview.", 1)] for call in calls),
        "## The releases\n\nRemove the `#` to release again.",
        *([f"# {call}"] for call in calls),
        "## The ledger",
        ["ledger.report()"],
    ]
    return _notebook(cells)


def weighted_curator(neighbors: str, weights: Mapping[str, Any]) -> list[str]:
    """Return the line of code that makes the curator of a weighted sample; there is none without weights."""
    arguments = "".join(f", {key}={value!r}" for key, value in weights.items())
    return [f"weighted = Curator(table, ledger, neighbors={neighbors!r}{arguments})"] if weights else []


def _read_table(source: TableFile) -> list[str]:
    """Return code that reads a table by its schema, so that no type depends on the cells."""
    name = source.path.name
    if not source.is_csv:
        return [f"table = pq.read_table({name!r})"]
    names = [column.name for column in source.columns]
    numbers = [column.name for column in source.columns if column.kind == "number"]
    schema = f"header={0 if source.header else None}, names={names!r}, dtype=str, keep_default_na=False, na_values=['']"
    return [
        f"table = pd.read_csv({name!r}, {schema})",
        *(f"table[{column!r}] = pd.to_numeric(table[{column!r}], errors='coerce')" for column in numbers),
    ]


def _plain_text(text: str) -> str:
    """Escape a text for one line of Markdown, so that it cannot create an image, element, formula or heading."""
    return re.sub(r"[\\`*_{}\[\]<>#!|$&~]", r"\\\g<0>", " ".join(text.split()))


def _notebook(cells: Sequence[str | list[str]]) -> bytes:
    """Return a notebook file; a text becomes a Markdown cell, and a list of lines becomes a code cell."""
    body: list[dict[str, Any]] = []
    for index, cell in enumerate(cells):
        source = cell if isinstance(cell, str) else "\n".join(cell)
        kind = "markdown" if isinstance(cell, str) else "code"
        code: dict[str, Any] = {} if kind == "markdown" else {"execution_count": None, "outputs": []}
        body.append({"cell_type": kind, "id": f"cell-{index}", "metadata": {}, "source": source, **code})
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return f"{json.dumps({'cells': body, 'metadata': kernel, 'nbformat': 4, 'nbformat_minor': 5}, indent=1)}\n".encode()
