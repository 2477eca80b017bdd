"""Tables of findings for a paper: percentages with the digits that the errors justify, as text and as LaTeX."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.analysis.reports import GroupEstimate, QuestionModel, model_estimates_shares
from toolkit.core.inference.digits import decimals_of, format_fixed, format_fixed_range


@dataclass(frozen=True)
class TableRow:
    """One option of a question in a group, with numbers as text.

    All rows of a question have the same unit and number of decimals.
    """

    finding: GroupEstimate
    option: str | int
    estimate: str
    se: str
    interval: str
    method: str
    deff: float
    outside: bool = False


def is_outside(shares: Any) -> Any:
    """Return, entry by entry, whether shares lie outside [0, 1] by more than rounding error."""
    return (np.asarray(shares) < -1e-9) | (np.asarray(shares) > 1 + 1e-9)


def format_rows(estimates: Iterable[GroupEstimate], level: float, *, are_shares: bool) -> list[TableRow]:
    """Return the rows of one question: shares in percent with errors in points; an empty interval has no limits."""
    scale, unit = (100.0, " %") if are_shares else (1.0, "")
    rows = [(finding, *row) for finding in estimates for row in _numbers(finding, level, scale)]
    decimals = decimals_of([numbers for _, _, numbers, empty, *_ in rows if empty is None])
    return [
        TableRow(
            finding,
            option,
            format_fixed(numbers[0], decimals, unit),
            format_fixed(numbers[1], decimals, " points" if are_shares else ""),
            empty or format_fixed_range(numbers[2], numbers[3], decimals, unit),
            method,
            deff,
            are_shares and bool(is_outside(numbers[0] / scale)),
        )
        for finding, option, numbers, empty, method, deff in rows
    ]


def _numbers(
    finding: GroupEstimate, level: float, scale: float
) -> list[tuple[str | int, list[float], str | None, str, float]]:
    """Return, for each option, its numbers, the reason if it has no limits, the method, and the design effect.

    The numbers are value, standard error, low and high limit.
    """
    estimate, interval = finding.estimate, finding.estimate.interval(level)
    columns = [np.atleast_1d(column) for column in (estimate.value, estimate.se, interval.low, interval.high)]
    empty = np.broadcast_to(interval.empty, len(estimate.labels))
    reason = f"no {'value' if estimate.fit is None else estimate.fit.quantity} fits"
    return [
        (
            option,
            [scale * float(column[i]) for column in columns],
            reason if empty[i] else None,
            interval.method,
            finding._deff_of(i),
        )
        for i, option in enumerate(estimate.labels)
    ]


def paper_rows(
    designs: Mapping[str, QuestionModel],
    by: Sequence[str],
    estimates: Iterable[GroupEstimate],
    level: float,
    ungrouped: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Return one row of text for each question, group and option; `ungrouped` is a column for rows in no group."""
    findings = list(estimates)
    sampled = any(finding.weighted is not None for finding in findings)
    return [
        {
            "question": name,
            **{key: str(value) for key, value in zip(by, line.finding.group, strict=True)},
            "answer": str(line.option),
            "n": line.finding.used,
            "missing": line.finding.missing,
            **ungrouped,
            "estimate": line.estimate,
            "SE": line.se,
            f"{100 * level:g} % interval": line.interval,
            "method": line.method,
            **(_sample_columns(line) if sampled else {}),
            "design": design.name.replace("_", " "),
            "ε": f"{design.epsilon:.3g}".replace("inf", "∞"),
        }
        for name, design in designs.items()
        for line in format_rows(
            [row for row in findings if row.question == name], level, are_shares=model_estimates_shares(design)
        )
    ]


def _sample_columns(line: TableRow) -> dict[str, Any]:
    """Return the columns on the sampling design; a dash stands for a missing number."""
    df = "—" if line.finding.df is None else f"{line.finding.df:,}"
    deff = "—" if np.isnan(line.deff) else f"{line.deff:.2f}"
    return {"weighted": "yes" if line.finding.weighted else "no", "df": df, "deff": deff}
