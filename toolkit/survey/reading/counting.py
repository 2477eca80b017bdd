"""How often each report came, by group: counted where the reports are, in whatever engine holds them."""

from collections.abc import Mapping, Sequence
from typing import Any

from toolkit.core.checks import refuse
from toolkit.survey.question import Question
from toolkit.survey.reading.table import UNDERSTOOD
from toolkit.survey.spec import Survey
from toolkit.survey.writing.problem import naming

Counts = Mapping[Any, int]
Group = tuple[Any, ...]


def checked_groups(survey: Survey, by: Sequence[str] | str | None) -> tuple[str, ...]:
    """The names of plain choices, or of the comprehension check, that reports may be grouped by."""
    names = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    for name in names:
        if name == UNDERSTOOD and survey.check:
            continue
        question = survey[name]
        if question.randomized or question.kind != "choice":
            refuse(
                "`by` must name plain questions with options",
                f"{name!r}, which is {'randomized' if question.randomized else 'a ' + question.kind}",
                "people cannot be sorted by an answer that is hidden; ask it plainly, or estimate the joint design",
            )
    return names


def counted(reports: Any, name: str, by: Sequence[str] = ()) -> dict[Group, dict[Any, int]]:
    """For each group the number of times that each value of a column occurs; missing values are left out.

    `reports` is a frame of pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis: the counting is done there, and only the
    counts come here.
    """
    import narwhals as nw

    frame = nw.from_native(reports).lazy()
    columns = [*by, name]
    missing = [column for column in columns if column not in frame.collect_schema().names()]
    if missing:
        refuse("the reports must have a column for each question", f"none called {', '.join(missing)}", "columns go by name")
    found = frame.select(columns).drop_nulls().group_by(columns).agg(nw.len().alias(_COUNT)).collect("pandas")
    groups: dict[Group, dict[Any, int]] = {}
    for row in found.sort(columns).iter_rows():
        group = groups.setdefault(row[:-2], {})
        group[row[-2]] = group.get(row[-2], 0) + int(row[-1])
    return groups


_COUNT = "number of people"  # no question can be called so: names have no spaces


def refuse_strange(question: Question, values: Mapping[Any, Any]) -> None:
    """All values must be reports that the question can have; which one is not is not said, as it is somebody's."""
    with naming(f"question {question.name!r}"):
        strange = sum(not question.accepts(value) for value in values.values())
        if strange:
            refuse("the column must hold reports of this question", f"{strange} kinds of value that are none", "check the survey")
