"""`Publishable`: what an estimate that was released can do to become a document."""

import datetime as dt
import hashlib
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from toolkit.core.above import above
from toolkit.core.checks import refuse
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.publishing.tidying import TIDIED, tidied
from toolkit.core.publishing.writing import (
    COUNTS,
    NUMBERS,
    SCHEMA,
    csv_text,
    json_text,
    key_columns,
    page_text,
)

if TYPE_CHECKING:
    from toolkit.core.publishing.facts import Release


class Publishable:
    """The verbs `publish` and `tidied` of an `Estimate`."""

    if TYPE_CHECKING:
        value: Any
        labels: tuple[Any, ...]
        axes: tuple[str, ...]
        counts: "Publishable | None"
        loss: Loss | None
        n: int | None
        covers: str
        method: str
        notes: tuple[str, ...]
        release: Release | None

        @property
        def whole(self) -> bool: ...

        def _rows(self, level: float) -> list[tuple[Any, float, float, float, float, bool]]: ...

    def publish(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        level: float = 0.95,
        overwrite: bool = False,
    ) -> Path:
        """Write `path`.csv, `path`.json and `path`.md: the table, what is public about it, a page for people.
        A path that ends in one of the three is that of all three: "income.csv" is "income".

        Nothing in them was read from the data but the released numbers: not how many values were clamped, nor
        how many rows were left out. The ledger writes down that it was published; see `ledger.report()`. A
        file that is there already stays, unless `overwrite` is said. Returns the path of the JSON.
        """
        release = self.release
        if release is None:
            refuse(
                "only what a curator released can be published",
                "another estimate",
                "a document says what it cost and which ledger paid",
            )
        if not isinstance(path, str | os.PathLike):
            refuse("`path` must be a text or a Path", type(path).__name__, "files are written there", TypeError)
        base = Path(path)
        base = base.with_suffix("") if base.suffix.lower() in (".csv", ".json", ".md") else base
        files = {kind: base.with_name(f"{base.name}.{kind}") for kind in ("csv", "md", "json")}
        if not base.parent.is_dir():
            rule = "`path` must lie in a folder that is there"
            refuse(rule, str(base.parent), "nothing was written; make it first, or name another")
        there = [file.name for file in files.values() if file.exists()]
        if there and not overwrite:
            refuse("a publication must not replace another", ", ".join(there), "say overwrite=True if it should")
        table = self._csv(level).encode("utf-8", "backslashreplace")
        facts = self._document(release, files["csv"].name, hashlib.sha256(table).hexdigest(), level)
        name = release.query["statistic"] if title is None else title
        files["csv"].write_bytes(table)
        page = page_text(name, facts, promise_of(self.loss, release.unit.get("one", "person")))
        files["md"].write_bytes(page.encode("utf-8", "backslashreplace"))
        files["json"].write_bytes(json_text({"title": name, **facts}).encode("utf-8", "backslashreplace"))
        if release.register is not None:
            release.register.add(release.ledger["entry"], files["json"].name, facts["table"]["sha256"])
        return files["json"]

    def tidied(self, total: int | None = None) -> Self:
        """The same table made presentable: no count below 0, all whole, with this total (their own, if not
        given).

        For display beside the raw table, never in its place: it is biased, and so it has no standard error.
        """
        if self.release is not None and "tables" in self.release.query:
            refuse("only one table can be tidied", "several", "tidied apart they would not agree any more")
        cells = tidied(self.value, total)
        unknown = np.full(len(cells), math.nan)
        return replace(  # type: ignore[type-var]
            self,
            value=cells,
            se=unknown,
            cov=None,
            basis=None,
            notes=(*self.notes, TIDIED),
            release=self._after(TIDIED),
        )

    def _after(self, step: str) -> "Release | None":
        """What is public about it, after one more step."""
        return None if self.release is None else self.release.after(step)

    def _csv(self, level: float) -> str:
        numbers = np.atleast_1d(self.value).tolist() if self.whole else [row[1] for row in self._rows(level)]
        rows = [
            (label, number, se, low, high)
            for number, (label, _, se, low, high, _) in zip(numbers, self._rows(level), strict=True)
        ]
        behind = None if self.counts is None else [(row[1], row[2]) for row in self.counts._rows(level)]
        return csv_text(self.axes, rows, self.whole, behind)

    def _document(self, release: "Release", file: str, digest: str, level: float) -> dict[str, Any]:
        keys = dict.fromkeys(key_columns(self.axes), "a key of the table") | NUMBERS
        keys |= {} if self.counts is None else COUNTS
        return {
            "schema": SCHEMA,
            "table": {
                "file": file,
                "sha256": digest,
                "cells": len(self.labels),
                "columns": keys,
            },
            "query": dict(release.query),
            "unit": dict(release.unit),
            "noise": dict(release.noise),
            "ledger": dict(release.ledger),
            "estimate": {
                "covers": self.covers,
                "level": level,
                "method": self.method,
                "n": self.n,
                "notes": list(self.notes),
            },
            "post_processing": list(release.steps),
            "randomness": "operating system" if self.loss is not None else "a generator: simulated",
            "software": f"toolkit {above('toolkit', '__version__')}",
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
        }


def promise_of(loss: Loss | None, one: str = "person") -> str:
    """What a loss says, in a sentence.

    >>> promise_of(Pure(1))
    'Through one person no outcome becomes more than 2.72 times as probable.'
    """
    if isinstance(loss, Pure):
        return f"Through one {one} no outcome becomes more than {_factor(loss.epsilon)} times as probable."
    if isinstance(loss, Approx):
        return (
            f"Through one {one} no outcome becomes more than {_factor(loss.epsilon)} times as probable, "
            f"but for a chance of {loss.delta:g}."
        )
    if isinstance(loss, Zcdp):
        told = loss.to_approx("1e-6")
        return f"That is at most ε = {told.epsilon:.4g} but for a chance of 1e-06."
    return "It claims no privacy."


def _factor(epsilon: float) -> str:
    """e**epsilon, rounded up to three digits."""
    if epsilon > 600:
        return f"e^{epsilon:g}"
    power = math.exp(epsilon)
    digits = 2 - math.floor(math.log10(power))
    up = math.ceil(power * 10**digits * (1 - 1e-12)) / 10**digits
    return f"{up:.{max(digits, 0)}f}"
