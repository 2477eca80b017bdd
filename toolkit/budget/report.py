"""The charges of a ledger as a data frame, as Markdown and as HTML."""

import html
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.budget.charges import Entry, Publication, components, symbols
from toolkit.core.extras import extra
from toolkit.core.loss import Loss, format_amount
from toolkit.texts.document import Document

if TYPE_CHECKING:
    import pandas as pd

_NAMES = {"ε": "epsilon", "δ": "delta", "ρ": "rho"}
_ROWS, _SEGMENTS = 20, 12
NOT_SAID = "not said"
_COLORS = ("#33648c", "#7fa8c9")  # neighboring segments also differ in lightness


def frame_of(entries: Iterable[Entry], ceiling: Loss) -> "pd.DataFrame":
    pd = extra("pandas")

    names = [_NAMES[symbol] for symbol in symbols(ceiling)]
    rows = [
        (
            entry.label,
            entry.mechanism,
            entry.unit or NOT_SAID,
            str(entry.loss),
            *map(float, components(entry.charged)),
            *map(float, components(entry.total)),
        )
        for entry in entries
    ]
    columns = ["label", "mechanism", "unit", "loss", *names, *(f"total {name}" for name in names)]
    return pd.DataFrame(rows, columns=columns, index=pd.RangeIndex(1, len(rows) + 1, name="number"))


class Report(str):
    """A Markdown text that a notebook renders and a terminal prints line by line.

    Examples
    --------
    >>> from toolkit import Ledger, Pure
    >>> Ledger(Pure(1)).report()
    # What was released from ledger ...
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return str(self)

    def save(self, path: str | Path) -> Path:
        """Save the report as a document.

        Parameters
        ----------
        path : str or Path
            The path of a .html, .docx, .pdf or .md file.

        Returns
        -------
        Path
            The path of the file.
        """
        return Document.from_markdown(self).save(path)


def report_of(entries: Sequence[Entry], summary: str, name: str, publications: Sequence[Publication]) -> Report:
    """Return a Markdown table with one line per charge, which lists its publications and their hashes."""
    documents = defaultdict(list)
    for publication in publications:
        documents[publication.entry].append(f"{publication.file} (SHA-256 {publication.sha256[:16]}…)")
    lines = [
        f"# What was released from ledger {name}",
        "",
        f"{summary[0].upper()}{summary[1:]}.",
        "",
        "| | released | mechanism | unit | loss | charged | total | published in |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for entry in entries:
        cells = (
            str(entry.number),
            entry.label,
            entry.mechanism,
            f"{entry.unit or NOT_SAID}{f': {entry.terms}' if entry.terms else ''}",
            *(str(loss) for loss in (entry.loss, entry.charged, entry.total)),
            "; ".join(documents[entry.number]),
        )
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return Report("\n".join(lines) + "\n")


def _cell(text: str) -> str:
    """Format a text for a cell of a Markdown table, on one line and with escaped bars."""
    return "".join(mark if mark.isprintable() else " " for mark in text).replace("|", chr(92) + "|")


def html_of(entries: Sequence[Entry], ceiling: Loss, summary: str) -> str:
    """Return HTML with one bar per component of the ceiling and a table of the latest charges."""
    bars = "".join(_bar(entries, ceiling, index) for index in range(len(components(ceiling))))
    columns = "".join(f"<th>{symbol} charged</th>" for symbol in symbols(ceiling))
    head = f"<tr><th></th><th>label</th><th>mechanism</th><th>unit</th><th>loss</th>{columns}</tr>"
    earlier = len(entries) - _ROWS
    body = "".join(_row(entry) for entry in entries[-_ROWS:])
    if earlier > 0:
        body = f"<tr><td></td><td colspan='9' style='text-align:left'>… {earlier:,} earlier</td></tr>{body}"
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return f"<div><p>{html.escape(summary)}</p>{bars}{table}</div>"


def _row(entry: Entry) -> str:
    texts = "".join(
        f"<td style='text-align:left'>{html.escape(text)}</td>"
        for text in (entry.label, entry.mechanism, entry.unit or NOT_SAID, str(entry.loss))
    )
    numbers = "".join(f"<td>{format_amount(part)}</td>" for part in components(entry.charged))
    return f"<tr><th>{entry.number}</th>{texts}{numbers}</tr>"


def _bar(entries: Sequence[Entry], ceiling: Loss, index: int) -> str:
    """Return a bar that shows the share of the ceiling spent under each label, largest share first."""
    limit = components(ceiling)[index]
    sums: dict[str, Fraction] = defaultdict(Fraction)
    for entry in entries:
        sums[entry.label] += components(entry.charged)[index]
    ranked = sorted(sums.items(), key=itemgetter(1), reverse=True)
    segments = ranked[:_SEGMENTS] + (
        [("others", sum((amount for _, amount in ranked[_SEGMENTS:]), Fraction(0)))] if ranked[_SEGMENTS:] else []
    )
    symbol = symbols(ceiling)[index]
    filled = "".join(_segment(label, amount, limit, symbol, i) for i, (label, amount) in enumerate(segments) if amount)
    style = "display:flex;flex:1;height:1.2em;border:1px solid #888"
    summary = f"{symbol}: {format_amount(sum(sums.values(), Fraction(0)))} of {format_amount(limit)} spent"
    bar = f"<div role='img' aria-label='{summary}' title='{summary}' style='{style}'>{filled}</div>"
    return (
        f"<div style='display:flex;max-width:40em;margin:0.2em 0'><span style='width:1.5em'>{symbol}</span>{bar}</div>"
    )


def _segment(label: str, amount: Fraction, limit: Fraction, symbol: str, index: int) -> str:
    width, color = float(100 * amount / limit), _COLORS[index % 2]
    title = html.escape(f"{label or 'no label'}: {symbol} = {format_amount(amount)}")
    return f"<div style='width:{width:.3f}%;background:{color}' title='{title}'></div>"
