"""The charges of a ledger as a data frame, as Markdown, as HTML and as a record for the registry of deployments."""

import html
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.budget.charges import Entry, Publication, components, symbols, zero_loss
from toolkit.core.extras import extra
from toolkit.core.loss import Approx, Loss, Pure, Zcdp, format_amount
from toolkit.core.rounding import to_decimal
from toolkit.texts.document import Document

if TYPE_CHECKING:
    import pandas as pd

_NAMES = {"ε": "epsilon", "δ": "delta", "ρ": "rho"}
_ROWS, _SEGMENTS = 20, 12
NOT_SAID = "not stated"
_COLORS = ("#33648c", "#7fa8c9")  # neighboring segments also differ in lightness


def entries_to_frame(entries: Iterable[Entry], ceiling: Loss) -> "pd.DataFrame":
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


def make_report(entries: Sequence[Entry], summary: str, name: str, publications: Sequence[Publication]) -> Report:
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
    """Format a string for a cell of a Markdown table, on one line and with escaped pipes."""
    return "".join(mark if mark.isprintable() else " " for mark in text).replace("|", chr(92) + "|")


def entries_to_html(entries: Sequence[Entry], ceiling: Loss, summary: str) -> str:
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


# The fields of the registry's records (schema of 2026, which rejects other fields) that a ledger cannot fill in.
_HINTS: dict[str, dict[str, str | list[str]]] = {
    "basic": {
        "name": "the title of the data product",
        "data_curators": ["who holds the data"],
        "intended_use": "who uses the data product, and for what",
        "data_product_type": "Summary statistics | Machine learning model | Dataset | Synthetic data | Interactive API "
        "| SQL queries",
        "data_product_region": "the region that the data describe",
        "description": "what is published",
        "publication_date": "YYYY-MM-DD",
        "data_product_sector": "the sector; this field may be left out",
    },
    "dp_variant": {
        "data_domain": "the columns, and the values that each can have",
        "unprotected_quantities": "what was published or chosen from the data without noise, or none",
    },
    "privacy_loss": {},
    "deployment_model": {
        "actors": "who must be trusted, and with what",
        "data_source_type": "Static | Dynamic",
        "access_type": "Interactive | Non-interactive",
    },
    "accounting": {"post_processing": "what was changed after the noise was added, or nothing"},
    "implementation": {
        "preprocessing_and_hyperparameter_tuning": "how bounds, groups and parameters were chosen",
        "justification": "why this privacy loss and these mechanisms",
    },
    "administrative": {"sources": ["links to documentation"], "registry_authors": ["who wrote this record"]},
}
_VARIANTS = {Pure: "Pure DP", Approx: "Approximate DP", Zcdp: "Zero-concentrated DP"}
_NEIGHBORS = {
    "replace": "Two tables are neighbors if they differ in the record of one {}.",
    "add_remove": "Two tables are neighbors if one of them has one {} more.",
    None: "FILL IN: which tables are neighbors",
}


def deployment_of(
    entries: Sequence[Entry], ceiling: Loss, neighbors: str | None, unit: str | None, name: str
) -> dict[str, object]:
    """Return a record for the Differential Privacy Deployments Registry; unknown fields begin with FILL IN."""
    spent = components(entries[-1].total if entries else zero_loss(ceiling))
    names = [_NAMES[symbol] for symbol in symbols(ceiling)]
    facts: dict[str, dict[str, object]] = {
        "dp_variant": {"variant_name": _VARIANTS[type(ceiling)]},
        "privacy_loss": {
            "privacy_unit": f"{unit.capitalize()}-level" if unit else "FILL IN: the unit",
            "privacy_unit_details": _NEIGHBORS[neighbors].format(unit or "unit"),
            "privacy_parameters": dict(zip(names, map(_six_digits_up, spent), strict=True)),
            "details": f"The total of all charges, rounded up. The ledger allows a total of {ceiling}.",
        },
        "deployment_model": {
            "model_name": "Central",
            "release_type": "Many releases" if len(entries) > 1 else "One release",
        },
        "accounting": {"composition": "Losses of one type are added exactly, before each release."},
        "implementation": {
            "mechanisms": [
                f"{entry.label}: {entry.mechanism or 'FILL IN: mechanism'}, {entry.loss}" for entry in entries
            ]
        },
        "administrative": {"notes": f"Charges are recorded in ledger {name}."},
    }
    sections = {section: facts.get(section, {}) | _to_do(hints) for section, hints in _HINTS.items()}
    return {
        "url_slug": "FILL IN: name-curator-year",
        "status": "Draft",
        "tier": "FILL IN: 1 | 2 | 3",
        "deployment": sections,
    }


def _to_do(hints: Mapping[str, str | list[str]]) -> dict[str, object]:
    return {
        name: f"FILL IN: {hint}" if isinstance(hint, str) else [f"FILL IN: {line}" for line in hint]
        for name, hint in hints.items()
    }


def _six_digits_up(amount: Fraction) -> float:
    """Round an exact amount up to six significant digits, so that a loss is never understated."""
    return float(to_decimal(amount, Context(prec=6, rounding=ROUND_CEILING)))


def yaml_lines(record: Mapping[str, object], indent: int = 0) -> Iterator[str]:
    """Yield the lines of a YAML document; texts are written as in JSON, which YAML includes."""
    for key, value in record.items():
        start = f"{' ' * indent}{key}:"
        if isinstance(value, Mapping):
            yield start
            yield from yaml_lines(value, indent + 2)
        elif isinstance(value, list):
            yield start if value else f"{start} []"
            yield from (f"{' ' * (indent + 2)}- {_yaml_value(line)}" for line in value)
        else:
            yield f"{start} {_yaml_value(value)}"


def _yaml_value(value: object) -> str:
    """Format a text or a number; YAML 1.1 reads 2e-07 as a text, but 2.0e-07 as a number."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("e", ".0e") if isinstance(value, float) and "." not in text else text
