"""The curator's half: a table that stays here, statistics with price and noise before they are paid for, a ledger.

No row of a table is read before something is paid for. The names of its columns are, of CSV if the curator says that
the first line holds them. Types, bounds and categories are typed in, or a proposal of bounds is paid for. What is
planned is kept beside the table, in a TOML file; what was spent, in the ledger's own.
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
from toolkit.core.checks import choice, exact, reject
from toolkit.core.loss import Pure
from toolkit.curator.curator import Curator
from toolkit.studio import notebooks
from toolkit.studio.editing import edited
from toolkit.studio.folder import SESSION, TABLES, ConflictError, Folder, fingerprint
from toolkit.studio.tables import TableFile, number

VERBS = ("count", "histogram", "mean", "sum", "std", "median", "bounds")
"""Statistics that can be queued; `bounds` is a proposal of limits, which is paid for as all others."""

_BOUNDED = ("mean", "sum", "std", "median")
_OF_NUMBERS = (*_BOUNDED, "bounds")
_NEW = {"ceiling": "1", "neighbors": "replace", "columns": {}, "statistics": []}


class Curating:
    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._unpublished: dict[str, Any] = {}

    def state(self, table: str) -> dict[str, Any]:
        """Return what is planned, what it would cost, what was released and what the ledger says."""
        session, content = self._session(table)
        source = self._table(table, session)
        return {
            "table": table,
            "hash": fingerprint(content),
            "session": session,
            "header": source.header,
            "typed": not source.is_csv,
            "columns": source.schema(),
            "ledger": self._spent(table, session),
            "statistics": [self._statistic(source, session, one) for one in session["statistics"]],
        }

    def save(self, table: str, hash: str, session: Mapping[str, Any]) -> dict[str, Any]:  # noqa: A002
        """Write what is planned; what was released stays as it is."""
        before = self._unchanged(table, hash)
        released = [one for one in before["statistics"] if "released" in one]
        planned = [one for one in session.get("statistics", []) if isinstance(one, Mapping) and "released" not in one]
        if self._ledger_path(table).exists() and any(
            session.get(name) != before[name] for name in ("ceiling", "neighbors")
        ):
            reject("a ledger keeps its ceiling and its promise", "others", "a budget that can be raised is none")
        choice(session.get("neighbors"), "neighbors", ("replace", "add_remove"))
        Pure(exact(session.get("ceiling", ""), "ceiling"))
        new = {**{name: session.get(name, _NEW[name]) for name in _NEW}, "statistics": [*released, *planned]}
        if isinstance(header := session.get("header"), bool):
            new["header"] = header
        self._write(table, new)
        return self.state(table)

    def release(self, table: str, place: object, hash: str) -> dict[str, Any]:  # noqa: A002
        """Charge the ledger, read the table, keep what was released, publish it: in this order.

        `hash` is that of the statistic as it was shown, with its price: what would be charged otherwise is refused.
        """
        session, _ = self._session(table)
        statistics = session["statistics"]
        if not isinstance(place, int) or not 0 <= place < len(statistics):
            reject("a statistic must be one that is planned", repr(place)[:40], "each is released once")
        source = self._table(table, session)
        if self._statistic(source, session, statistics[place]).get("hash") != hash:
            raise ConflictError(self.state(table))
        names, keywords, _ = call(statistics[place], _about(source, session))
        frame, ledger = source.read(), self._ledger(table, session, make=True)
        name = self._free(table, len(ledger.entries()) + 1)
        curator = Curator(frame, ledger, neighbors=session["neighbors"])
        estimate = getattr(curator, statistics[place]["verb"])(*names, **keywords)
        released = {"released": len(ledger.entries()), "file": name, "numbers": estimate.to_csv()}
        statistics[place] = {**statistics[place], **released}
        self._write(table, session)
        self._unpublished[name] = estimate
        return self.publish(table, name)

    def publish(self, table: str, name: str) -> dict[str, Any]:
        """Write the pages of what was released; if that fails, it can be done again as long as the studio runs."""
        if name not in self._unpublished:
            reject("only what was released since the start can be published", "another", "its numbers are in the plan")
        try:
            self._unpublished[name].publish(self.folder.root / f"{name}.html", overwrite=True)
        except (OSError, ValueError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else str(problem)
            return {**self.state(table), "unpublished": f"It is released and kept, but its page was not written: {why}"}
        del self._unpublished[name]
        return self.state(table)

    def _free(self, table: str, number: int) -> str:
        """A name under which nothing was published yet; found before something is paid for."""
        while any(
            self.folder.path(f"{(name := f'{Path(table).stem}-release-{number:02d}')}{ending}").exists()
            for ending in (".csv", ".json", ".html")
        ):
            number += 1
        return name

    def notebook(self, table: str, hash: str) -> dict[str, Any]:  # noqa: A002
        """Write the Python of the whole session as a notebook."""
        session = self._unchanged(table, hash)
        source, calls = self._table(table, session), []
        for one in session["statistics"]:
            verb = choice(one.get("verb"), "verb", VERBS)
            calls.append(f"{verb}({call(one, _about(source, session))[2]})")
        name = f"{Path(table).stem}-release.ipynb"
        content = notebooks.curated(source, session["neighbors"], calls, self._ledger_path(table).name)
        self.folder.write(name, content, new=True)  # somebody may have gone on in it
        return {"file": name}

    def _file(self, table: str) -> str:
        return f"{Path(table).stem}{SESSION}"

    def _ledger_path(self, table: str) -> Path:
        return self.folder.path(f"{Path(table).stem}-budget.db")

    def _session(self, table: str) -> tuple[dict[str, Any], bytes]:
        self.folder.path(table, *TABLES)
        path = self.folder.path(self._file(table))
        content = path.read_bytes() if path.exists() else b""
        session = {**_NEW, **tomllib.loads(content.decode())}
        if not isinstance(session["columns"], dict) or not isinstance(session["statistics"], list):
            reject("a plan of releases must have columns and statistics", "others", f"correct or delete {path.name}")
        return {**session, "columns": {**session["columns"]}, "statistics": [*session["statistics"]]}, content

    def _unchanged(self, table: str, expected: str) -> dict[str, Any]:
        """The plan, if it is still the one that the page shows."""
        session, content = self._session(table)
        if fingerprint(content) != expected:
            raise ConflictError(self.state(table))
        return session

    def _write(self, table: str, session: Mapping[str, Any]) -> None:
        _, content = self._session(table)
        self.folder.write(self._file(table), edited(content.decode(), {"table": table, **session}).encode())

    def _table(self, table: str, session: Mapping[str, Any]) -> TableFile:
        types = {
            name: about.get("type", "") for name, about in session["columns"].items() if isinstance(about, Mapping)
        }
        header = session.get("header")
        return TableFile(self.folder.existing(table, *TABLES), header if isinstance(header, bool) else None, types)

    def _ledger(self, table: str, session: Mapping[str, Any], *, make: bool = False) -> Ledger:
        """That of the table; before the first release one in memory, so that nothing is decided by looking."""
        path = self._ledger_path(table)
        if path.exists():
            return Ledger.open(path)
        ceiling = Pure(exact(session["ceiling"], "ceiling"))
        return Ledger(ceiling, path if make else None, neighbors=session["neighbors"] if make else None)

    def _spent(self, table: str, session: Mapping[str, Any]) -> dict[str, Any]:
        ledger: Any = self._ledger(table, session)  # its ceiling is always a Pure one
        entries = [
            {"number": one.number, "label": one.label, "epsilon": one.charged.epsilon} for one in ledger.entries()
        ]
        amounts = {name: getattr(ledger, name).epsilon for name in ("ceiling", "spent", "remaining")}
        return {**amounts, "entries": entries, "file": self._ledger_path(table).name, "begun": bool(entries)}

    def _statistic(self, source: TableFile, session: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
        """One line of the queue: its price and noise, or its published numbers; or why it is refused."""
        if "released" in one:
            head, *rows = [*csv.reader(io.StringIO(one.get("numbers", "")))] or [[]]
            line = {"released": one["released"], "file": one.get("file"), "columns": head, "rows": rows}
            return {**line, "published": one.get("file") not in self._unpublished}
        try:
            if source.header is None:
                reject("the first line must be known", "nothing about it", "say whether it names the columns")
            names, keywords, code = call(one, _about(source, session))
            if one["verb"] == "count" and session["neighbors"] == "replace" and "by" not in keywords:
                reject(
                    "rows must be counted by a column", "all of them", "how many there are is public by your promise"
                )
            ledger = self._ledger(source.path.name, session)
            curator = Curator(source.empty(), ledger, neighbors=session["neighbors"])
            preview = getattr(curator.preview, one["verb"])(*names, **keywords)
        except (ValueError, TypeError) as problem:
            return {"problem": str(problem)}
        noise = preview.noise
        facts = {
            "price": str(preview.loss),
            "fits": preview.fits,
            "sd": None if noise is None else noise.sd,
            "per_value": None if noise is None else noise.per_value,
            "code": f"curator.{one['verb']}({code})",
        }
        promise = [session["neighbors"], session["ceiling"], source.header, source.schema()]
        return {**facts, "hash": fingerprint(json.dumps([promise, facts]).encode())}


def _about(source: TableFile, session: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the curator says of each column, with the kind of its cells."""
    return {column.name: {**session["columns"].get(column.name, {}), "type": column.kind} for column in source.columns}


def call(one: Mapping[str, Any], columns: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any], str]:
    """Return the arguments of a curator's verb, and how they are written in Python."""
    verb = choice(one.get("verb"), "verb", VERBS)
    names = [] if verb == "count" else [one.get("column", "")]
    keywords: dict[str, Any] = {}
    if names and not (isinstance(names[0], str) and names[0]):
        reject("a statistic must have a column", "none", "choose one")
    about = columns.get(names[0], {}) if names else {}
    if verb in _OF_NUMBERS and about.get("type") == "text":
        reject(f"`{names[0]}` must hold numbers", "text", "say so; then a cell that is not a number counts as missing")
    if verb in _BOUNDED:
        if not {"low", "high"} <= set(about):
            reject(f"`{names[0]}` must have bounds", "none", "say what is possible, or pay for a proposal of bounds")
        keywords["bounds"] = (about["low"], about["high"])
        keywords |= {} if verb == "median" else {"missing": "drop"}
    if verb == "histogram":
        keywords["options"] = _categories(names[0], about)
    if one.get("by") and verb not in ("histogram", "bounds"):
        keywords["by"] = {one["by"]: _categories(one["by"], columns.get(one["by"], {}))}
    keywords["epsilon"] = one.get("epsilon")
    code = ", ".join([*map(repr, names), *(f"{name}={value!r}" for name, value in keywords.items())])
    return names, keywords, code


def _categories(name: object, about: Mapping[str, Any]) -> Sequence[Any]:
    """What can be in a column, in the type of its cells."""
    options = about.get("options")
    if not isinstance(options, list) or not options:
        reject(f"`{name}` must have categories", "none", "write what is possible; it is not read from the data")
    if about.get("type") == "text":
        return [str(option) for option in options]
    if about.get("type") != "number":
        return options
    values = [number(option) for option in options]
    if not all(map(math.isfinite, values)):
        reject(f"categories of `{name}` must be numbers", "text", "it holds numbers, so no row could have another")
    return [int(value) if value.is_integer() else value for value in values]
