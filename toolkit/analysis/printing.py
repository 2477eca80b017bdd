"""Findings as a table for a paper: percent with the digits that the errors allow, as text and as LaTeX."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolkit.analysis.found import Found
from toolkit.core.inference.digits import decimals_of, fixed, fixed_between
from toolkit.local.protocol import Randomizer

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


def paper_rows(
    designs: Mapping[str, Randomizer], by: Sequence[str], found: Iterable[Found], level: float
) -> list[dict[str, Any]]:
    """One line for each question, group and option, as text; one number of decimals a question."""
    rows, everything = [], list(found)
    for name, design in designs.items():
        scale, unit = (100.0, " %") if design.bounds is None else (1.0, "")
        lines = [
            (one, *line) for one in everything if one.question == name for line in _lines(one, level, scale)
        ]
        decimals = decimals_of([numbers for _, _, numbers, empty, _ in lines if not empty])
        for one, option, numbers, empty, method in lines:
            limits = "no value fits" if empty else fixed_between(numbers[2], numbers[3], decimals, unit)
            rows.append(
                {
                    "question": name,
                    **{key: str(value) for key, value in zip(by, one.group, strict=True)},
                    "answer": str(option),
                    "n": one.used,
                    "missing": one.missing,
                    "estimate": fixed(numbers[0], decimals, unit),
                    "SE": fixed(numbers[1], decimals, " points" if unit else ""),
                    f"{100 * level:g} % interval": limits,
                    "method": method,
                    "design": design.name.replace("_", " "),
                    "ε": f"{design.epsilon:.3g}".replace("inf", "∞"),
                }
            )
    return rows


def _lines(one: Found, level: float, scale: float) -> list[tuple[str | int, list[float], bool, str]]:
    made = []
    for option, estimate in one.entries():
        interval = estimate.interval(level)
        numbers = [scale * float(part) for part in (estimate.value, estimate.se, interval.low, interval.high)]
        made.append((option, numbers, bool(interval.empty), interval.method))
    return made


def latex(table: Any, designs: Mapping[str, str]) -> str:
    """A frame of text as a tabular; the designs in words stand below it, as comments."""
    lines = [r"\begin{tabular}{" + "l" * len(table.columns) + "}", r"\toprule"]
    lines += [_line(table.columns), r"\midrule"]
    lines += [_line(row) for row in table.itertuples(index=False)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [f"% {name}: {' '.join(words.split())}" for name, words in designs.items()]
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[Any]) -> str:
    return " & ".join(escaped(str(cell)) for cell in cells) + r" \\"


def escaped(text: str) -> str:
    r"""Text in which LaTeX reads nothing but text.

    >>> print(escaped("50 % of a_b & c"))
    50 \% of a\_b \& c
    """
    return "".join(_LATEX.get(letter, letter) for letter in text)
