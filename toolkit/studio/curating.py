"""The curator's page: statistics of a confidential table, with privacy cost and noise shown before each release.

No row of the table is read before a release is charged. Only the names of the columns are read, and for a CSV file only
if the curator states that the first line contains them. The curator enters types, bounds and categories, or spends
budget on a private proposal of bounds. The plan is stored in a TOML file next to the table, and the spent budget is
stored in the file of the ledger.
"""

import csv
import io
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkit.budget.ledger import Ledger
from toolkit.core.checks import check_choice, exact_fraction, reject
from toolkit.core.loss import Pure
from toolkit.curator.curator import Curator
from toolkit.studio import notebooks
from toolkit.studio.editing import edit_text
from toolkit.studio.folder import SESSION_SUFFIX, TABLE_SUFFIXES, ConflictError, Folder, fingerprint
from toolkit.studio.tables import TableFile, number_or_nan

STATISTICS = ("count", "histogram", "mean", "sum", "std", "median", "bounds")
"""Statistics that can be planned. `bounds` is a private proposal of bounds, which is charged like the others."""

_BOUNDED = ("mean", "sum", "std", "median")
_NUMERIC = (*_BOUNDED, "bounds")
_NEW = {"ceiling": "1", "neighbors": "replace", "columns": {}, "statistics": []}


class CuratorPage:
    """The actions of the curator's page, for all tables of a folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._unpublished: dict[str, Any] = {}

    def state(self, table: str) -> dict[str, Any]:
        """Return the plan with its privacy costs, the released statistics and the state of the ledger."""
        session, content = self._session(table)
        source = self._open_table(table, session)
        return {
            "table": table,
            "hash": fingerprint(content),
            "session": session,
            "header": source.header,
            "typed": not source.is_csv,
            "columns": source.schema(),
            "ledger": self._ledger_state(table, session),
            "statistics": [self._statistic_state(source, session, planned) for planned in session["statistics"]],
        }

    def save(self, table: str, hash: str, session: Mapping[str, Any]) -> dict[str, Any]:  # noqa: A002
        """Write the plan; released statistics do not change."""
        before = self._unchanged(table, hash)
        released = [statistic for statistic in before["statistics"] if "released" in statistic]
        planned = [
            statistic
            for statistic in session.get("statistics", [])
            if isinstance(statistic, Mapping) and "released" not in statistic
        ]
        if self._ledger_path(table).exists() and any(
            session.get(name) != before[name] for name in ("ceiling", "neighbors")
        ):
            reject(
                "the ceiling and the neighbors of a ledger must not change",
                "other values",
                "a budget that can be raised limits nothing",
            )
        check_choice(session.get("neighbors"), "neighbors", ("replace", "add_remove"))
        Pure(exact_fraction(session.get("ceiling", ""), "ceiling"))
        new = {**{name: session.get(name, _NEW[name]) for name in _NEW}, "statistics": [*released, *planned]}
        if isinstance(header := session.get("header"), bool):
            new["header"] = header
        self._write(table, new)
        return self.state(table)

    def release(self, table: str, index: object, hash: str) -> dict[str, Any]:  # noqa: A002
        """Charge the ledger, read the table, store the release and publish it, in this order.

        `hash` identifies the statistic and its cost as the page shows them. If the hash differs, nothing is charged.
        """
        session, _ = self._session(table)
        statistics = session["statistics"]
        if not isinstance(index, int) or not 0 <= index < len(statistics):
            reject("`index` must be the index of a planned statistic", repr(index)[:40], "load the page again")
        source = self._open_table(table, session)
        if self._statistic_state(source, session, statistics[index]).get("hash") != hash:
            raise ConflictError(self.state(table))
        names, keywords, _ = curator_call(statistics[index], _column_settings(source, session))
        frame, ledger = source.read(), self._open_ledger(table, session, create=True)
        # The name is chosen before the charge, because no step after the charge may fail.
        name = self._unused_name(table, len(ledger.entries()) + 1)
        curator = Curator(frame, ledger, neighbors=session["neighbors"])
        estimate = getattr(curator, statistics[index]["verb"])(*names, **keywords)
        released = {"released": len(ledger.entries()), "file": name, "numbers": estimate.to_csv()}
        statistics[index] = {**statistics[index], **released}
        self._write(table, session)
        self._unpublished[name] = estimate
        return self.publish(table, name)

    def publish(self, table: str, name: str) -> dict[str, Any]:
        """Write the pages of a release; if this fails, it can be tried again while the studio is running."""
        if name not in self._unpublished:
            reject(
                "a release to publish must be one of this run of the studio", "another", "find its numbers in the plan"
            )
        try:
            self._unpublished[name].publish(self.folder.root / f"{name}.html", overwrite=True)
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else str(problem)
            return {
                **self.state(table),
                "unpublished": f"The release is stored, but its page was not written: {reason}",
            }
        del self._unpublished[name]
        return self.state(table)

    def _unused_name(self, table: str, number: int) -> str:
        """Return the first unused name for published files, starting from this number."""
        while any(
            self.folder.path(f"{(name := f'{Path(table).stem}-release-{number:02d}')}{ending}").exists()
            for ending in (".csv", ".json", ".html")
        ):
            number += 1
        return name

    def notebook(self, table: str, hash: str) -> dict[str, Any]:  # noqa: A002
        """Write the session as a notebook of Python code."""
        session = self._unchanged(table, hash)
        source, calls = self._open_table(table, session), []
        for statistic in session["statistics"]:
            method = check_choice(statistic.get("verb"), "verb", STATISTICS)
            calls.append(f"{method}({curator_call(statistic, _column_settings(source, session))[2]})")
        name = f"{Path(table).stem}-release.ipynb"
        content = notebooks.curator_notebook(source, session["neighbors"], calls, self._ledger_path(table).name)
        # An existing notebook is never overwritten: it may have been edited.
        self.folder.write(name, content, new=True)
        return {"file": name}

    def _session_file(self, table: str) -> str:
        return f"{Path(table).stem}{SESSION_SUFFIX}"

    def _ledger_path(self, table: str) -> Path:
        return self.folder.path(f"{Path(table).stem}-budget.db")

    def _session(self, table: str) -> tuple[dict[str, Any], bytes]:
        self.folder.path(table, *TABLE_SUFFIXES)
        path = self.folder.path(self._session_file(table))
        content = path.read_bytes() if path.exists() else b""
        session = {**_NEW, **tomllib.loads(content.decode())}
        if not isinstance(session["columns"], dict) or not isinstance(session["statistics"], list):
            reject(
                "a plan of releases must have a table `columns` and a list `statistics`",
                "other types",
                f"correct or delete {path.name}",
            )
        return {**session, "columns": {**session["columns"]}, "statistics": [*session["statistics"]]}, content

    def _unchanged(self, table: str, expected: str) -> dict[str, Any]:
        """Return the plan, or raise ConflictError if it differs from the plan that the page shows."""
        session, content = self._session(table)
        if fingerprint(content) != expected:
            raise ConflictError(self.state(table))
        return session

    def _write(self, table: str, session: Mapping[str, Any]) -> None:
        _, content = self._session(table)
        self.folder.write(self._session_file(table), edit_text(content.decode(), {"table": table, **session}).encode())

    def _open_table(self, table: str, session: Mapping[str, Any]) -> TableFile:
        types = {
            name: column.get("type", "") for name, column in session["columns"].items() if isinstance(column, Mapping)
        }
        header = session.get("header")
        return TableFile(
            self.folder.existing(table, *TABLE_SUFFIXES), header if isinstance(header, bool) else None, types
        )

    def _open_ledger(self, table: str, session: Mapping[str, Any], *, create: bool = False) -> Ledger:
        """Return the ledger of the table; before the first release it is in memory, so that viewing creates no file."""
        path = self._ledger_path(table)
        if path.exists():
            return Ledger.open(path)
        ceiling = Pure(exact_fraction(session["ceiling"], "ceiling"))
        return Ledger(ceiling, path if create else None, neighbors=session["neighbors"] if create else None)

    def _ledger_state(self, table: str, session: Mapping[str, Any]) -> dict[str, Any]:
        # The ceiling is always a `Pure` loss.
        ledger: Any = self._open_ledger(table, session)
        entries = [
            {"number": entry.number, "label": entry.label, "epsilon": entry.charged.epsilon}
            for entry in ledger.entries()
        ]
        amounts = {name: getattr(ledger, name).epsilon for name in ("ceiling", "spent", "remaining")}
        return {**amounts, "entries": entries, "file": self._ledger_path(table).name, "begun": bool(entries)}

    def _statistic_state(
        self, source: TableFile, session: Mapping[str, Any], statistic: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the cost and noise of a planned statistic, the reason for its rejection, or its released numbers."""
        if "released" in statistic:
            return self._released_state(statistic)
        try:
            if source.header is None:
                reject(
                    "it must be known whether the first line names the columns",
                    "no answer",
                    "answer the question above",
                )
            names, keywords, code = curator_call(statistic, _column_settings(source, session))
            if statistic["verb"] == "count" and session["neighbors"] == "replace" and "by" not in keywords:
                reject(
                    "rows must be counted by a column",
                    "a count of all rows",
                    "with neighbors by replacement the number of rows is public",
                )
            ledger = self._open_ledger(source.path.name, session)
            curator = Curator(source.empty(), ledger, neighbors=session["neighbors"])
            preview = getattr(curator.preview, statistic["verb"])(*names, **keywords)
        except (ValueError, TypeError) as problem:
            return {"problem": str(problem)}
        noise = preview.noise
        facts = {
            "price": str(preview.loss),
            "fits": preview.fits,
            "sd": None if noise is None else noise.sd,
            "per_value": None if noise is None else noise.se_times_n,
            "code": f"curator.{statistic['verb']}({code})",
        }
        context = [session["neighbors"], session["ceiling"], source.header, source.schema()]
        return {**facts, "hash": fingerprint(json.dumps([context, facts]).encode())}

    def _released_state(self, statistic: Mapping[str, Any]) -> dict[str, Any]:
        header, *rows = [*csv.reader(io.StringIO(statistic.get("numbers", "")))] or [[]]
        is_published = statistic.get("file") not in self._unpublished
        released = {"released": statistic["released"], "file": statistic.get("file"), "published": is_published}
        return {**released, "columns": header, "rows": rows}


def _column_settings(source: TableFile, session: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the curator's settings for each column, with the kind of its cells as `type`."""
    return {column.name: {**session["columns"].get(column.name, {}), "type": column.kind} for column in source.columns}


def curator_call(statistic: Mapping[str, Any], columns: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any], str]:
    """Return the positional and keyword arguments for a method of the curator, and their Python code."""
    method = check_choice(statistic.get("verb"), "verb", STATISTICS)
    names = [] if method == "count" else [statistic.get("column", "")]
    keywords: dict[str, Any] = {}
    if names and not (isinstance(names[0], str) and names[0]):
        reject("a statistic must have a column", "none", "choose one")
    column = columns.get(names[0], {}) if names else {}
    if method in _NUMERIC and column.get("type") == "text":
        reject(
            f"`{names[0]}` must hold numbers",
            "text",
            "declare it as numbers; cells that are not numbers then count as missing",
        )
    if method in _BOUNDED:
        if not {"low", "high"} <= set(column):
            reject(f"`{names[0]}` must have bounds", "none", "enter them, or pay for a proposal of bounds")
        keywords["bounds"] = (column["low"], column["high"])
        keywords |= {} if method == "median" else {"missing": "drop"}
    if method == "histogram":
        keywords["options"] = _categories(names[0], column)
    if (by := statistic.get("by")) and method not in ("histogram", "bounds"):
        keywords["by"] = {by: _categories(by, columns.get(by, {}))}
    keywords["epsilon"] = statistic.get("epsilon")
    code = ", ".join([*map(repr, names), *(f"{name}={value!r}" for name, value in keywords.items())])
    return names, keywords, code


def _categories(name: object, column: Mapping[str, Any]) -> Sequence[Any]:
    """Return the categories of a column, converted to the type of its cells."""
    options = column.get("options")
    if not isinstance(options, list) or not options:
        reject(f"`{name}` must have categories", "none", "enter them; they are not read from the data")
    if column.get("type") == "text":
        return [str(option) for option in options]
    if column.get("type") != "number":
        return options
    values = [number_or_nan(option) for option in options]
    if not all(map(math.isfinite, values)):
        reject(f"categories of `{name}` must be numbers", "text", "the column holds numbers, so text matches no row")
    return [int(value) if value.is_integer() else value for value in values]
