"""Findings as a table for a paper: percent with the digits that the errors allow, as text and as LaTeX."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolkit.analysis.reports import GroupEstimate, QuestionModel, of_shares
from toolkit.core.inference.digits import decimals_of, fixed, fixed_between

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{MINUS SIGN}": "$-$",
    "ε": r"$\varepsilon$",
    "∞": r"$\infty$",
    "—": "---",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
}


@dataclass(frozen=True)
class TableRow:
    """One option of one question in one group: numbers as text, in one unit and with the same decimals per question."""

    finding: GroupEstimate
    option: str | int
    estimate: str
    se: str
    interval: str
    method: str
    deff: float
    outside: bool = False


def is_outside(shares: Any) -> Any:
    """Whether a share lies outside 0 to 1, entry by entry; rounding is not enough for that."""
    return (np.asarray(shares) < -1e-9) | (np.asarray(shares) > 1 + 1e-9)


def lines_of(estimates: Iterable[GroupEstimate], level: float, *, share: bool) -> list[TableRow]:
    """The lines of one question; shares in percent, errors in points, and where no value fits, no limits."""
    scale, unit = (100.0, " %") if share else (1.0, "")
    rows = [(one, *row) for one in estimates for row in _numbers(one, level, scale)]
    decimals = decimals_of([numbers for _, _, numbers, empty, *_ in rows if empty is None])
    return [
        TableRow(
            one,
            option,
            fixed(numbers[0], decimals, unit),
            fixed(numbers[1], decimals, " points" if share else ""),
            empty or fixed_between(numbers[2], numbers[3], decimals, unit),
            method,
            deff,
            share and bool(is_outside(numbers[0] / scale)),
        )
        for one, option, numbers, empty, method, deff in rows
    ]


def _numbers(
    finding: GroupEstimate, level: float, scale: float
) -> list[tuple[str | int, list[float], str | None, str, float]]:
    """Option; value, standard error and limits; in words why there are none; how they were made; design effect."""
    estimate, interval = finding.estimate, finding.estimate.interval(level)
    columns = [np.atleast_1d(part) for part in (estimate.value, estimate.se, interval.low, interval.high)]
    empty = np.broadcast_to(interval.empty, len(estimate.labels))
    why = f"no {'value' if estimate.fit is None else estimate.fit.of} fits"
    return [
        (
            option,
            [scale * float(column[i]) for column in columns],
            why if empty[i] else None,
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
    """One line for each question, group and option, as text; `ungrouped` : a column for rows in no group."""
    everything = list(estimates)
    drawn = any(one.weighted is not None for one in everything)
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
            **(_sample_columns(line) if drawn else {}),
            "design": design.name.replace("_", " "),
            "ε": f"{design.epsilon:.3g}".replace("inf", "∞"),
        }
        for name, design in designs.items()
        for line in lines_of([one for one in everything if one.question == name], level, share=of_shares(design))
    ]


def _sample_columns(line: TableRow) -> dict[str, Any]:
    """What a reader must know of a sample; a dash where there is none."""
    df = "—" if line.finding.df is None else f"{line.finding.df:,}"
    deff = "—" if np.isnan(line.deff) else f"{line.deff:.2f}"
    return {"weighted": "yes" if line.finding.weighted else "no", "df": df, "deff": deff}


def latex(
    parts: Iterable[Iterable[Iterable[str]]], columns: str, comments: Iterable[str], path: str | Path | None
) -> str | None:
    """Parts of a table, their cells escaped, with a rule above each, and comments below; the text without a path."""
    lines = [rf"\begin{{tabular}}{{{columns}}}"]
    for place, part in enumerate(parts):
        lines += [r"\midrule" if place else r"\toprule", *(" & ".join(row) + r" \\" for row in part)]
    lines += [r"\bottomrule", r"\end{tabular}", *(f"% {' '.join(comment.split())}" for comment in comments)]
    text = "\n".join(lines) + "\n"
    if path is None:
        return text
    Path(path).write_text(text, encoding="utf-8")
    return None


def escape(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
