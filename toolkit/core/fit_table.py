"""`FitTable`: the printable table of a fitted model, and tables as LaTeX."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolkit.core.arrays import Array
from toolkit.core.estimate import Estimate
from toolkit.core.extras import extra
from toolkit.core.inference.digits import format_limits

if TYPE_CHECKING:
    import pandas as pd

Cells = tuple[str, ...]
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


@dataclass(frozen=True, repr=False)
class FitTable:
    """A table of text that can be printed, displayed in notebooks, and written as LaTeX or HTML.

    Parameters
    ----------
    title : str
        Title of the table.
    head : tuple of str
        Names of the columns; the first column holds the names of the rows.
    rows : tuple of tuple of str
        The coefficients.
    measures : tuple of tuple of str
        Measures of the whole fit: number of people, likelihood, privacy loss.
    notes : tuple of str
        Lines below the table.

    Examples
    --------
    >>> import numpy as np
    >>> from toolkit import warner
    >>> from toolkit.analysis import logistic
    >>> coin = warner("3/4")
    >>> fit = logistic(coin.randomize(np.arange(200) % 3 == 0, rng=np.random.default_rng(1)), np.ones((200, 0)), coin)
    >>> fit.summary().head[:3]
    ('', 'estimate', 'se')
    """

    title: str
    head: Cells
    rows: tuple[Cells, ...]
    measures: tuple[Cells, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        cells = [self.head, *self.rows, *self.measures]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            row[0].ljust(widths[0])
            + "".join(f"  {cell.rjust(width)}" for cell, width in zip(row[1:], widths[1:], strict=True))
            for row in cells
        ]
        if self.measures:
            lines.insert(1 + len(self.rows), "-" * max(map(len, lines)))
        return "\n".join([self.title, *(line.rstrip() for line in lines), *self.notes])

    __repr__ = __str__

    def to_html(self) -> str:
        """Write the table as HTML; names are escaped.

        Returns
        -------
        str
            The table, with its title as a caption and its notes below.
        """
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.head)
        body = "".join(map(_html_row, self.rows))
        measures = "".join(map(_html_row, self.measures))
        notes = "<br>".join(map(html.escape, self.notes))
        return (
            f"<table><caption style='text-align:left'>{html.escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{f'<tbody>{measures}</tbody>' if measures else ''}"
            f"<tfoot><tr><td colspan='{len(self.head)}' style='text-align:left'>{notes}</td></tr></tfoot></table>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_latex(self, path: str | Path | None = None) -> str | None:
        """Write the table as a LaTeX tabular (with booktabs), with the notes as LaTeX comments below it.

        Parameters
        ----------
        path : path, optional
            File to write; without it, the text is returned.

        Returns
        -------
        str or None
            The text, if no path is given.
        """
        blocks = [[self.head], self.rows, *([self.measures] if self.measures else [])]
        cells = [[map(_escaped_latex, row) for row in block] for block in blocks]
        return latex(cells, "l" + "r" * (len(self.head) - 1), (self.title, *self.notes), path)

    def to_frame(self) -> "pd.DataFrame":
        """Return the cells of the table as a data frame of text.

        Returns
        -------
        pandas.DataFrame
            One row per coefficient and measure, with their names as the index.
        """
        rows = [*self.rows, *self.measures]
        index = [row[0] for row in rows]
        return extra("pandas", "analysis").DataFrame(
            [row[1:] for row in rows], index=index, columns=list(self.head[1:])
        )


def _html_row(row: Cells) -> str:
    name, *cells = map(html.escape, row)
    return f"<tr><th>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _escaped_latex(text: str) -> str:
    """Escape text for LaTeX, with minus signs in math mode."""
    return re.sub(r"-(?=\d)", "$-$", escape(text))


def format_p_value(p: float) -> str:
    """Format a p-value with three decimals."""
    return "—" if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def coefficient_rows(coefficients: Estimate, limits: Array) -> list[Cells]:
    """Return label, estimate, standard error, statistic, p-value and limits of each coefficient as text."""
    test = coefficients.test()
    columns = zip(coefficients.text_rows(), np.atleast_1d(test.statistic), np.atleast_1d(test.p), strict=True)
    errors = np.atleast_1d(coefficients.se)
    return [
        (str(label), value, se, f"{z:.2f}", format_p_value(float(p)), format_limits(low, high, float(error)))
        for ((label, value, se, _), z, p), (low, high), error in zip(columns, limits, errors, strict=True)
    ]


def latex(
    blocks: Iterable[Iterable[Iterable[str]]], columns: str, comments: Iterable[str], path: str | Path | None
) -> str | None:
    """Write a LaTeX tabular of blocks of escaped cells, with a rule above each block and comments below.

    Without a path, the text is returned.
    """
    lines = [rf"\begin{{tabular}}{{{columns}}}"]
    for index, block in enumerate(blocks):
        lines += [r"\midrule" if index else r"\toprule", *(" & ".join(row) + r" \\" for row in block)]
    lines += [r"\bottomrule", r"\end{tabular}", *(f"% {' '.join(comment.split())}" for comment in comments)]
    text = "\n".join(lines) + "\n"
    if path is None:
        return text
    Path(path).write_text(text, encoding="utf-8")
    return None


def escape(text: str) -> str:
    """Escape the characters of a text that LaTeX would interpret."""
    return "".join(_LATEX.get(letter, letter) for letter in text)
