"""`ReleaseFacts`: the public facts about a release, and the documents that publish it."""

import datetime as dt
import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from toolkit import __version__
from toolkit.core.checks import reject
from toolkit.core.covers import Covers, ErrorSource
from toolkit.core.estimate import Estimate
from toolkit.core.inference.digits import format_short, round_up
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.tables import COUNTS, NUMBERS, key_columns
from toolkit.texts.document import Document

SCHEMA = "toolkit.release/1"
_OTHER_FILES = (".xlsx", ".xls", ".ods", ".tsv", ".txt", ".parquet", ".feather", ".sav", ".dta", ".xml", ".tex", ".doc")
_UNITS = {
    ("person", "replace"): "one person, whose record is exchanged for another",
    ("person", "add_remove"): "one person, who comes or goes",
    ("record", "replace"): "one record, which is exchanged for another",
    ("record", "add_remove"): "one record, which comes or goes",
}


class PublicationRegister(Protocol):
    """The interface of a ledger's list of published documents."""

    def add(self, entry: int, file: str, digest: str) -> None: ...


@dataclass(frozen=True, eq=False)
class ReleaseFacts:
    """The public facts about a release, as mappings of names to texts, numbers, booleans, lists and mappings.

    `query` describes the statistic, `unit` the people whom the guarantee protects, `noise` the mechanism, and `ledger`
    the entry and its cost. `steps` lists the post-processing of the released numbers, and `register` records
    publications.
    """

    query: Mapping[str, Any]
    unit: Mapping[str, Any]
    noise: Mapping[str, Any]
    ledger: Mapping[str, Any]
    steps: tuple[str, ...] = ()
    register: PublicationRegister | None = field(default=None, repr=False)

    def after(self, step: str) -> "ReleaseFacts":
        """Return the facts with one more step of post-processing."""
        return replace(self, steps=(*self.steps, step))

    def publish(
        self,
        estimate: Estimate,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        level: float = 0.95,
        overwrite: bool = False,
    ) -> Path:
        """Write the three files of `Estimate.publish`, and record the publication in the ledger."""
        files = _files(path, overwrite=overwrite)
        table = estimate.to_csv(level).encode("utf-8", "backslashreplace")
        facts = self._document(estimate, files["csv"].name, hashlib.sha256(table).hexdigest(), level)
        name = self.query["statistic"] if title is None else title
        files["csv"].write_bytes(table)
        page = page_text(name, facts, promise_of(estimate.loss, self.unit.get("one", "person")), estimate.covers)
        if files["page"].suffix == ".md":
            files["page"].write_bytes(page.encode("utf-8", "backslashreplace"))
        else:
            Document.from_markdown(page).save(files["page"])
        document = json.dumps({"title": name, **facts}, indent=2, ensure_ascii=False, default=str) + "\n"
        files["json"].write_bytes(document.encode("utf-8", "backslashreplace"))
        if self.register is not None:
            self.register.add(self.ledger["entry"], files["json"].name, facts["table"]["sha256"])
        return files["json"]

    def _document(self, estimate: Estimate, file: str, digest: str, level: float) -> dict[str, Any]:
        keys = dict.fromkeys(key_columns(estimate.axes), "a key of the table") | NUMBERS
        keys |= {} if estimate.counts is None else COUNTS
        if ErrorSource.SAMPLING in estimate.covers.sources:
            keys["se"] = NUMBERS["se"].replace("the noise", "the sample and the noise")
        return {
            "schema": SCHEMA,
            "table": {"file": file, "sha256": digest, "cells": len(estimate.labels), "columns": keys},
            "query": dict(self.query),
            "unit": dict(self.unit),
            "noise": dict(self.noise),
            "ledger": dict(self.ledger),
            "estimate": {
                "covers": str(estimate.covers),
                "level": level,
                "method": estimate.method,
                "n": estimate.n,
                "notes": list(estimate.notes),
            },
            "post_processing": list(self.steps),
            "randomness": "operating system" if estimate.loss is not None else "a generator: simulated",
            "software": f"toolkit {__version__}",
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
        }


def _files(path: str | os.PathLike[str], *, overwrite: bool) -> dict[str, Path]:
    """Return the paths of the table, the page and the facts, after checking that they can be written."""
    if not isinstance(path, str | os.PathLike):
        reject("`path` must be a text or a Path", type(path).__name__, "files are written there", TypeError)
    base = Path(path)
    suffix = base.suffix.lower()
    if suffix in _OTHER_FILES:
        rule = "`path` must have no suffix, or one of .csv, .json, .md, .html, .docx and .pdf"
        consequence = f'publish("{base.stem}") writes {base.stem}.csv, which spreadsheets open'
        reject(rule, base.suffix, f"{consequence}; to_frame() is for other files")
    page = suffix if suffix in (".html", ".docx", ".pdf") else ".md"
    base = base.with_suffix("") if suffix in (".csv", ".json", page) else base
    suffixes = {"csv": ".csv", "page": page, "json": ".json"}
    files = {name: base.with_name(f"{base.name}{suffix}") for name, suffix in suffixes.items()}
    if not base.parent.is_dir():
        reject("`path` must be in an existing folder", str(base.parent), "nothing was written; create the folder first")
    existing = [file.name for file in files.values() if file.exists()]
    if existing and not overwrite:
        reject("a publication must not replace another", ", ".join(existing), "overwrite=True replaces the files")
    return files


def page_text(title: str, facts: Mapping[str, Any], promise: str, covers: Covers) -> str:
    """Return the page for readers: the statistic, its error, and its privacy loss."""
    query, unit, noise, ledger = (facts[part] for part in ("query", "unit", "noise", "ledger"))
    table, estimate = facts["table"], facts["estimate"]
    level = f"{100 * estimate['level']:g}"
    spent = f"spent {ledger['before']} before, {ledger['after']} after, of {ledger['ceiling']}"
    spread = f", standard deviation {format_short(noise['sd'])} in a cell" if noise.get("sd") else ""
    lines = [f"# {title}", ""]
    if facts["randomness"] != "operating system":
        lines += ["**Simulated: drawn with a generator. These numbers protect nobody.**", ""]
    lines += [
        f"- What: {query['statistic']}; {table['cells']:,} cell{'s' * (table['cells'] != 1)}, in {table['file']}.",
        *([f"- Only rows where {query['where']}."] if query.get("where") else []),
        *(
            f"- Values of {name}: clamped to {limits['low']} to {limits['high']}, in steps of {limits['step']}."
            for name, limits in query.get("bounds", {}).items()
        ),
        *([f"- Missing values: {query['missing']}."] if query.get("missing") else []),
        *([f"- Weights: {query['weights']}."] if query.get("weights") else []),
        f"- Noise: {noise.get('words', noise['mechanism'])}{spread}; no number here is exact.",
        f"- Error: {_error_words(covers, level, clamped=bool(query.get('bounds')))}.",
        f"- Whom it protects: {_UNITS[unit.get('one', 'person'), unit['neighbors']]}; {unit['person']}.",
        f"- Cost: {ledger['loss']}. {promise}",
        *([f"- Charged: {ledger['charged']}; {ledger['terms']}."] if ledger.get("terms") else []),
        f"- Ledger {ledger['id']}, entry {ledger['entry']}: {spent}.",
        *(f"- Afterwards: {step}." for step in facts["post_processing"]),
        *(f"- Note: {note}." for note in estimate["notes"]),
        f"- Made on {facts['date']} with {facts['software']}; SHA-256 of the table {table['sha256']}.",
    ]
    return "\n".join(lines) + "\n"


def _error_words(covers: Covers, level: str, *, clamped: bool) -> str:
    """Describe the error; errors in ranks have no interval in the table's unit."""
    omitted = [] if ErrorSource.SAMPLING in covers.sources else ["who was asked"]
    omitted += ["what was clamped"] if clamped else []
    coverage = f"covers {covers.words} alone{', not ' * bool(omitted)}{', nor '.join(omitted)}"
    size = f"how far it is off in {covers.unit} is in the notes" if covers.unit else f"intervals of {level} %"
    return f"{coverage}; {size}"


def promise_of(loss: Loss | None, unit: str = "person") -> str:
    """Return a sentence about what a loss guarantees to one person or record."""
    if isinstance(loss, Pure):
        return f"Through one {unit} no outcome becomes more than {_factor(loss.epsilon)} times as probable."
    if isinstance(loss, Approx):
        return (
            f"Through one {unit} the probability of any set of outcomes becomes at most {_factor(loss.epsilon)} times "
            f"as large, plus δ = {loss.delta:g}."
        )
    if isinstance(loss, Zcdp):
        return f"That is at most ε = {_format_rounded_up(loss.to_approx('1e-6').epsilon, 4)} with δ = 1e-06."
    return "It claims no privacy."


def _factor(epsilon: float) -> str:
    return f"e^{epsilon:g}" if epsilon > 600 else _format_rounded_up(math.exp(epsilon), 3)


def _format_rounded_up(value: float, digits: int) -> str:
    return f"{value:g}" if math.isinf(value) else f"{round_up(value, digits):f}"
