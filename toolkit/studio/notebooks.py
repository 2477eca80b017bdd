"""The same in the shell and in Python: lines for every step of the studio, and notebooks that go on from there.

A survey may come from somebody else, and people copy these lines and run them. So every name in them is quoted.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.studio.tables import TableFile


def databases(file: str) -> dict[str, str]:
    """Return where a survey's reports are: named as the shell names them, for the file that it calls survey.toml."""
    stem = Path(file).stem
    names = ("survey.db", "rehearsal.db") if stem == "survey" else (f"{stem}.db", f"{stem}-rehearsal.db")
    return dict(zip(("real", "rehearsal"), names, strict=True))


def steps(file: str, data: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return for each screen what one would type instead: in a shell of this folder, and in Python."""
    word, stem = shlex.quote(file), Path(file).stem
    sheet, paper = shlex.quote(f"{stem}-assessment.html"), shlex.quote(f"{stem}-paper")
    real, tried = (f"sqlite:///{name}" for name in databases(file).values())
    named = "" if stem == "survey" else f" --database {shlex.quote(real)}"
    tried_named = "" if stem == "survey" else f" --database {shlex.quote(tried)}"
    load = f"from toolkit import Survey\n\nsurvey = Survey.load({file!r})"
    attach = f"from toolkit.survey import Collector\n\ncollector = Collector.attach({real!r})"
    group = next((one["name"] for one in _plain_questions(data)), None)
    by = "" if group is None else f"by={group!r}"
    return {
        "questions": {"shell": f"toolkit check {word}", "python": f"{load}\nsurvey"},
        "protection": {"shell": f"toolkit check {word} --n 1000", "python": f"{load}\nsurvey.plan(1000)"},
        "who": {"shell": f"toolkit check {word} --dpia {sheet}", "python": f"{load}\nprint(survey.consent_text())"},
        "preview": {"shell": f"toolkit paper {word} {paper}", "python": f"{load}\nsurvey.preview()"},
        "rehearse": {
            "shell": f"toolkit serve {word} --rehearsal{tried_named}\ntoolkit results --database {shlex.quote(tried)}",
            "python": f"from toolkit import collect, rehearse\n\ntried = collect({file!r}, database={tried!r}, "
            "rehearsal=True)\nrehearse(tried, 200)\ntried.results()",
        },
        "open": {
            "shell": f"toolkit serve {word}{named}",
            "python": f"from toolkit import collect\n\ncollector = collect({file!r}, database={real!r})\ncollector.url",
        },
        "invite": {"shell": f"toolkit invite 50{named}", "python": f"{attach}\ncollector.invitations(50)"},
        "station": {"shell": f"toolkit station new 50{named}", "python": f"{attach}\ncollector.station(50)"},
        "collect": {
            "shell": f"toolkit status{named}\ntoolkit pause{named}\ntoolkit resume{named}\ntoolkit close{named}",
            "python": f"{attach}\ncollector.status()",
        },
        "results": {
            "shell": f"toolkit results{'' if group is None else f' --by {shlex.quote(group)}'}{named}\n"
            f"toolkit report {shlex.quote(f'{stem}-report.html')}{named}\n"
            f"toolkit export {shlex.quote(f'{stem}-reports.csv')}{named}",
            "python": f"{attach}\nresults = collector.results({by})\nresults.summary()",
        },
        "analyse": {"shell": f"jupyter lab {shlex.quote(f'{stem}.ipynb')}", "python": f"{attach}\ncollector.reports()"},
    }


def _plain_questions(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Questions whose answers make groups."""
    tables = [one for one in data.get("questions", []) if isinstance(one, Mapping)]
    plain = [one for one in tables if "design" not in one and one.get("options") and not one.get("multiple")]
    return [one for one in plain if isinstance(one.get("name"), str)]


def analysis(file: str, data: Mapping[str, Any], which: str = "real") -> bytes:
    """Return a notebook for a survey: load, estimate, compare groups, model, draw."""
    database = f"sqlite:///{databases(file)[which]}"
    tables = [one for one in data.get("questions", []) if isinstance(one, Mapping)]
    groups = [one["name"] for one in _plain_questions(data)]
    shares = [one["name"] for one in tables if set(one.get("design", {})) & {"warner", "forced", "crosswise"}]
    title = data.get("title", file)
    title = title if isinstance(title, str) else next(iter(title.values()), file)
    cells: list[str | list[str]] = [
        f"# {_plain_text(title)}\n\nWritten by the studio for `{file}`. Run it from the folder in which it is.",
        [
            "from toolkit.survey import Collector",
            "",
            f"collector = Collector.attach({database!r})",
            "collector.status()",
        ],
        "## Estimates\n\nEach with its interval; the true answers are nowhere.",
        ["results = collector.results()", "results"],
        ["results.plot()"],
    ]
    if groups:
        cells += [
            f"## By group\n\nBy answers to {_plain_text(groups[0])}; groups of too few people are not shown.",
            [f"by_group = collector.results(by={groups[0]!r})", "by_group.summary()"],
            ["by_group.plot() if by_group.group_estimates else by_group"],
        ]
    if groups and shares:
        cells += _model(shares[0], groups[0])
    cells += ["## For a paper", [f"results.summary().to_csv({f'{Path(file).stem}-results.csv'!r}, index=False)"]]
    return _notebook(cells)


def _model(share: str, group: str) -> list[str | list[str]]:
    """Cells that fit the odds of a yes/no question by a group."""
    about = f"The odds of {_plain_text(share)} by {_plain_text(group)}; the model knows how answers were randomized."
    return [
        f"## A model\n\n{about}",
        [
            "from toolkit.analysis import logistic",
            "",
            "reports = collector.reports()",
            f"frame = reports.dropna(subset={[share, group]!r})",
            f"design = collector.survey[{share!r}].design",
            f"fit = logistic({f'{share} ~ C({group})'!r}, frame, design, penalty='jeffreys')",
            "fit.to_frame()",
        ],
    ]


def curated(source: TableFile, neighbors: str, calls: Sequence[str], ledger: str) -> bytes:
    """Return a notebook of a curator's session: the same statistics again would be paid for again."""
    name = source.path.name
    cells: list[str | list[str]] = [
        f"# What was released of {_plain_text(name)}\n\nA cell that releases is paid for **again** when it is run.",
        [
            "import pandas as pd" if source.is_csv else "import pyarrow.parquet as pq",
            "from toolkit import Curator, Ledger",
            "",
            *_reading(source),
            f"ledger = Ledger.open({ledger!r})",
            f"curator = Curator(table, ledger, neighbors={neighbors!r})",
            "ledger",
        ],
        "## Price and noise, before\n\nNothing is paid or read here.",
        *([f"curator.preview.{call}"] for call in calls),
        "## The releases\n\nTake the first character away to release again.",
        *([f"# curator.{call}"] for call in calls),
        "## The ledger",
        ["ledger.report()"],
    ]
    return _notebook(cells)


def _reading(source: TableFile) -> list[str]:
    """Lines that read a table by its schema: no cell decides the type of a column."""
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
    """A text in one line of Markdown that shows as it is: it makes no image, element, formula or heading."""
    return re.sub(r"[\\`*_{}\[\]<>#!|$&~]", r"\\\g<0>", " ".join(text.split()))


def _notebook(cells: Sequence[str | list[str]]) -> bytes:
    """Text as Markdown, lists of lines as code."""
    body: list[dict[str, Any]] = []
    for place, cell in enumerate(cells):
        source = cell if isinstance(cell, str) else "\n".join(cell)
        kind = "markdown" if isinstance(cell, str) else "code"
        code: dict[str, Any] = {} if kind == "markdown" else {"execution_count": None, "outputs": []}
        body.append({"cell_type": kind, "id": f"cell-{place}", "metadata": {}, "source": source, **code})
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return f"{json.dumps({'cells': body, 'metadata': kernel, 'nbformat': 4, 'nbformat_minor': 5}, indent=1)}\n".encode()
