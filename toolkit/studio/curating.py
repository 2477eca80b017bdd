"""The curator's page: statistics of a confidential table, with privacy cost and noise shown before each release.

No row of the table is read before a release is charged. Only the names of the columns are read, and for a CSV file only
if the curator states that the first line contains them. The curator enters types, bounds and categories, or spends
budget on a private proposal of bounds. If the rows are a sample, the curator names the column of its weights and states
how they were made. The plan is stored in a TOML file next to the table, and the spent budget is stored in the file of
the ledger.
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
from toolkit.core.estimate import Estimate
from toolkit.core.extras import MissingExtraError
from toolkit.core.loss import Pure
from toolkit.curator.curator import Curator
from toolkit.curator.synthetic import SyntheticTable
from toolkit.frames.values import OTHER
from toolkit.studio import notebooks
from toolkit.studio.editing import edit_text
from toolkit.studio.folder import SESSION_SUFFIX, TABLE_SUFFIXES, ConflictError, Folder, fingerprint
from toolkit.studio.tables import TableFile, number_or_nan

STATISTICS = ("count", "histogram", "mean", "sum", "std", "median", "bounds", "synthesize")
"""Statistics that can be planned. `bounds` is a private proposal of bounds, which is charged like the others."""

_BOUNDED = ("mean", "sum", "std", "median")
_NUMERIC = (*_BOUNDED, "bounds")
_NEW = {"ceiling": "1", "neighbors": "replace", "columns": {}, "statistics": []}


class CuratorPage:
    """The actions of the curator's page, for all tables of a folder."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._unpublished: dict[str, Estimate | SyntheticTable] = {}

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
            "weights": self._weights_state(source, session),
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
        if isinstance(weights := session.get("weights"), Mapping) and weights.get("column"):
            new["weights"] = dict(weights)
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
        # A statistic that was released or that has a problem has no hash, so nothing matches it.
        if self._statistic_state(source, session, statistics[index]).get("hash", object()) != hash:
            raise ConflictError(self.state(table))
        names, keywords, _ = curator_call(statistics[index], _column_settings(source, session))
        frame, ledger = source.read(), self._open_ledger(table, session, create=True)
        # The name is chosen before the charge, because no step after the charge may fail.
        name = self._unused_name(table, len(ledger.entries()) + 1)
        curator = Curator(frame, ledger, neighbors=session["neighbors"], **_weights_of(statistics[index], session))
        result = getattr(curator, statistics[index]["verb"])(*names, **keywords)
        released = {"released": len(ledger.entries()), "file": name, "numbers": _estimate_of(result).to_csv()}
        if isinstance(result, SyntheticTable):
            released["measured"] = [" × ".join(axes) for axes in result.measured]
        statistics[index] = {**statistics[index], **released}
        self._write(table, session)
        self._unpublished[name] = result
        return self.publish(table, name)

    def publish(self, table: str, name: str) -> dict[str, Any]:
        """Write the pages of a release and the rows of a synthetic table, which are computed from released numbers.

        If this fails, it can be tried again while the studio is running.
        """
        if name not in self._unpublished:
            reject(
                "a release to publish must be one of this run of the studio", "another", "find its numbers in the plan"
            )
        result = self._unpublished[name]
        try:
            _estimate_of(result).publish(self.folder.root / f"{name}.html", overwrite=True)
            if isinstance(result, SyntheticTable):
                self.folder.write(_rows_file(name), result.frame.to_csv(index=False).encode())
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else str(problem)
            return {
                **self.state(table),
                "unpublished": f"The release is stored, but its page was not written: {reason}",
            }
        del self._unpublished[name]
        return self.state(table)

    def rows(self, table: str, name: str) -> dict[str, str]:
        """Return the rows of a published synthetic table as CSV text, with the name of their file."""
        session, _ = self._session(table)
        if not any(statistic.get("file") == name and "measured" in statistic for statistic in session["statistics"]):
            reject("`name` must be the name of a released synthetic table", "another", "load the page again")
        file = _rows_file(name)
        return {"file": file, "text": self.folder.existing(file, ".csv").read_text(encoding="utf-8")}

    def _unused_name(self, table: str, number: int) -> str:
        """Return the first unused name for published files, starting from this number."""
        while any(
            self.folder.path(f"{(name := f'{Path(table).stem}-release-{number:02d}')}{ending}").exists()
            for ending in (".csv", ".json", ".html", _rows_file(""))
        ):
            number += 1
        return name

    def notebook(self, table: str, hash: str) -> dict[str, Any]:  # noqa: A002
        """Write the session as a notebook of Python code."""
        session = self._unchanged(table, hash)
        source, calls = self._open_table(table, session), []
        weights: dict[str, Any] = {}
        for statistic in session["statistics"]:
            code = curator_call(statistic, _column_settings(source, session))[2]
            weights |= (own_weights := _weights_of(statistic, session))
            calls.append(f"{'weighted' if own_weights else 'curator'}.{statistic['verb']}({code})")
        name = f"{Path(table).stem}-release.ipynb"
        ledger = self._ledger_path(table).name
        content = notebooks.curator_notebook(source, session["neighbors"], calls, ledger, weights)
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

    def _weights_state(self, source: TableFile, session: Mapping[str, Any]) -> dict[str, str]:
        """Return the reason why the weights are refused, if they are."""
        if not session.get("weights") or source.header is None:
            return {}
        try:
            arguments = _weights_of({"weighted": True}, session)
            _curator(source, session, self._open_ledger(source.path.name, session), arguments)
        except (ValueError, TypeError) as problem:
            return {"problem": str(problem)}
        return {}

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
            weights = _weights_of(statistic, session)
            is_public = session["neighbors"] == "replace" and not weights
            if statistic["verb"] == "count" and is_public and "by" not in keywords:
                reject(
                    "rows must be counted by a column",
                    "a count of all rows",
                    "with neighbors by replacement the number of rows is public",
                )
            ledger = self._open_ledger(source.path.name, session)
            curator = _curator(source, session, ledger, weights)
            preview = getattr(curator.preview, statistic["verb"])(*names, **keywords)
        except (ValueError, TypeError, MissingExtraError) as problem:
            return {"problem": str(problem)}
        noise, name, verb = preview.noise, "weighted" if weights else "curator", statistic["verb"]
        facts = {
            "price": str(preview.loss),
            "fits": preview.fits,
            "sd": None if noise is None else noise.sd,
            "per_value": None if noise is None else noise.se_times_n,
            "code": "\n".join([*notebooks.weighted_curator(session["neighbors"], weights), f"{name}.{verb}({code})"]),
        }
        context = [session["neighbors"], session["ceiling"], source.header, source.schema()]
        return {**facts, "hash": fingerprint(json.dumps([context, facts]).encode())}

    def _released_state(self, statistic: Mapping[str, Any]) -> dict[str, Any]:
        header, *rows = [*csv.reader(io.StringIO(statistic.get("numbers", "")))] or [[]]
        is_published = statistic.get("file") not in self._unpublished
        released = {"released": statistic["released"], "file": statistic.get("file"), "published": is_published}
        measured = {"measured": statistic["measured"]} if "measured" in statistic else {}
        return {**released, **measured, "columns": header, "rows": rows}


def _estimate_of(result: Estimate | SyntheticTable) -> Estimate:
    """Return the released numbers; those of a synthetic table are its measured counts."""
    return result.marginals if isinstance(result, SyntheticTable) else result


def _rows_file(name: str) -> str:
    return f"{name}-rows.csv"


def _curator(source: TableFile, session: Mapping[str, Any], ledger: Ledger, weights: Mapping[str, Any]) -> Curator:
    """Return a curator of the table without its rows, which checks arguments and computes costs."""
    if source.header is not None and weights:
        kinds = {column.name: column.kind for column in source.columns}
        _check_holds_numbers(weights["weights"], kinds.get(weights["weights"]))
    return Curator(source.empty(), ledger, neighbors=session["neighbors"], **weights)


def _weights_of(statistic: Mapping[str, Any], session: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a curator that describe the weights of a statistic; they are empty without weights."""
    if not statistic.get("weighted"):
        return {}
    weights = session.get("weights")
    if not isinstance(weights, Mapping) or not weights.get("column"):
        reject("a weighted statistic must have weights", "none", "choose the column of the weights")
    arguments = {"weights": weights["column"]}
    if {"low", "high"} <= set(weights):
        arguments["weight_bounds"] = (weights["low"], weights["high"])
    if weights.get("fixed") is True:
        arguments["weights_are_fixed"] = True
    return arguments | ({"deff": weights["deff"]} if weights.get("deff") else {})


def _check_holds_numbers(name: str, kind: str | None) -> None:
    if kind == "text":
        reject(
            f"`{name}` must hold numbers",
            "text",
            "declare it as numbers; cells that are not numbers then count as missing",
        )


def _column_settings(source: TableFile, session: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the curator's settings for each column, with the kind of its cells as `type`."""
    return {column.name: {**session["columns"].get(column.name, {}), "type": column.kind} for column in source.columns}


def curator_call(statistic: Mapping[str, Any], columns: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any], str]:
    """Return the positional and keyword arguments for a method of the curator, and their Python code."""
    method = check_choice(statistic.get("verb"), "verb", STATISTICS)
    names: list[Any] = []
    keywords: dict[str, Any] = {}
    if method == "synthesize":
        names = [_public_options(statistic, columns)]
    elif method != "count":
        names = [statistic.get("column", "")]
        keywords = _column_arguments(method, names[0], columns)
    if (by := statistic.get("by")) and method not in ("histogram", "bounds", "synthesize"):
        keywords["by"] = {by: _categories(by, columns.get(by, {}))}
    keywords["epsilon"] = statistic.get("epsilon")
    code = ", ".join([*map(repr, names), *(f"{name}={value!r}" for name, value in keywords.items())])
    return names, keywords, code


def _column_arguments(method: str, name: object, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bounds or the categories that a statistic of one column needs."""
    if not (isinstance(name, str) and name):
        reject("a statistic must have a column", "none", "choose one")
    column = columns.get(name, {})
    if method in _NUMERIC:
        _check_holds_numbers(name, column.get("type"))
    if method == "histogram":
        return {"options": _categories(name, column)}
    if method not in _BOUNDED:
        return {}
    if not {"low", "high"} <= set(column):
        reject(f"`{name}` must have bounds", "none", "enter them, or pay for a proposal of bounds")
    bounds = {"bounds": (column["low"], column["high"])}
    return bounds if method == "median" else {**bounds, "missing": "drop"}


def _public_options(statistic: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the options of each column of a synthetic table; with `other`, the last one is for all other values."""
    names = statistic.get("columns")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        reject("a synthetic table must have a list of columns", "none", "choose its columns")
    other = [OTHER] if statistic.get("other") else []
    return {name: [*_categories(name, columns.get(name, {})), *other] for name in names}


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
