"""How often each report came, by group: counted where the reports are, in whatever engine holds them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolkit.core.checks import is_missing, refuse
from toolkit.core.extras import extra
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
                "people cannot be sorted by an answer that is hidden; ask it plainly, or estimate the joint "
                "design",
            )
    return names


def counted(reports: Any, name: str, by: Sequence[str] = ()) -> dict[Group, dict[Any, int]]:
    """For each group the number of times that each value of a column occurs; missing values are left out.

    `reports` is a frame of pandas, polars, pyarrow, DuckDB, Dask, PySpark or Ibis: the counting is done
    there, and only the counts come here.
    """
    nw = extra("narwhals")

    columns = [*by, name]
    chosen = _columns(reports, columns).drop_nulls()
    found = chosen.group_by(columns).agg(nw.len().alias(_COUNT)).collect("pandas")
    groups: dict[Group, dict[Any, int]] = {}
    for row in sorted(found.iter_rows(), key=in_order):
        if any(map(is_missing, row)):  # NaN, which not every engine calls missing
            continue
        group = groups.setdefault(row[:-2], {})
        group[row[-2]] = group.get(row[-2], 0) + int(row[-1])
    return groups


def in_order(row: Iterable[Any]) -> tuple[tuple[bool, Any], ...]:
    """A key to sort rows by: numbers before texts, as options may be both (1, 2, 3, "undisclosed") and Python
    compares them not.

    >>> sorted([("b", 1), (2, 1), ("a", 1), (1, 1)], key=in_order)
    [(1, 1), (2, 1), ('a', 1), ('b', 1)]
    """
    return tuple((isinstance(value, str), value) for value in row)


def rows_by(reports: Any, names: Sequence[str]) -> list[tuple[tuple[Any, ...], int]]:
    """How many rows have each combination of values in the columns, what is missing included; without
    columns, all rows.
    """
    nw = extra("narwhals")

    if not names:
        count = nw.from_native(reports).lazy().select(nw.len().alias(_COUNT)).collect("pandas")
        return [((), int(count.item(0, _COUNT)))]
    found = _columns(reports, names).group_by(names).agg(nw.len().alias(_COUNT)).collect("pandas")
    return [(tuple(map(_plain, row[:-1])), int(row[-1])) for row in found.iter_rows()]


def has_column(reports: Any, name: str) -> bool:
    """Whether a frame has a column of that name."""
    nw = extra("narwhals")

    return name in nw.from_native(reports).lazy().collect_schema().names()


def _columns(reports: Any, names: Sequence[str]) -> Any:
    """The named columns of a frame, not computed yet."""
    nw = extra("narwhals")

    frame = nw.from_native(reports).lazy()
    missing = [name for name in names if name not in frame.collect_schema().names()]
    if missing:
        refuse(
            "the reports must have a column for each question",
            f"none called {', '.join(missing)}",
            "columns go by name",
        )
    return frame.select(list(names))


def _plain(value: Any) -> Any:
    """A whole number as one, also where an engine made floats of a column because something in it is
    missing.
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


_COUNT = "number of people"  # no question can be called so: names have no spaces


def refuse_strange(question: Question, values: Mapping[Any, Any]) -> None:
    """All values must be reports that the question can have; which one is not is not said, as it is
    somebody's.
    """
    with naming(f"question {question.name!r}"):
        strange = sum(not question.accepts(value) for value in values.values())
        if strange:
            refuse(
                "the column must hold reports of this question",
                f"{strange} kinds of value that are none",
                "check the survey",
            )
