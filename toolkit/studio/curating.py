"""The curator's half: a table that stays here, statistics with price and noise before they are paid for, a ledger.

Of a table only the names of its columns are read before something is paid for; of Parquet also their types, which are
written in the file. Bounds and categories are typed in, or a proposal is paid for. What is planned is kept beside the
table, in a TOML file; what was spent, in the ledger's own.
"""

import csv
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from toolkit.budget.ledger import Ledger
from toolkit.core.checks import choice, exact, refuse
from toolkit.core.extras import extra
from toolkit.core.loss import Pure
from toolkit.curator.curator import Curator
from toolkit.curator.release import Preview
from toolkit.studio import notebooks
from toolkit.studio.editing import edited
from toolkit.studio.folder import SESSION, TABLES, ConflictError, Folder, fingerprint

VERBS = ("count", "histogram", "mean", "sum", "std", "median", "bounds")
"""Statistics that can be queued; `bounds` is a proposal of limits, which is paid for as all others."""

_BOUNDED = ("mean", "sum", "std", "median")
_NEW = {"ceiling": "1", "neighbors": "replace", "columns": {}, "statistics": []}


class Curating:
    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._frames: dict[str, tuple[int, Any]] = {}
        self._unpublished: dict[str, Any] = {}

    def state(self, table: str) -> dict[str, Any]:
        """Return what is planned, what it would cost, what was released and what the ledger says."""
        session, content = self._session(table)
        return {
            "table": table,
            "hash": fingerprint(content),
            "session": session,
            "columns": self._columns(table),
            "ledger": self._spent(table, session),
            "statistics": [self._statistic(table, session, one) for one in session["statistics"]],
        }

    def save(self, table: str, hash: str, session: Mapping[str, Any]) -> dict[str, Any]:  # noqa: A002
        """Write what is planned; what was released stays as it is."""
        before = self._unchanged(table, hash)
        released = [one for one in before["statistics"] if "released" in one]
        planned = [one for one in session.get("statistics", []) if isinstance(one, Mapping) and "released" not in one]
        if self._ledger_path(table).exists() and any(
            session.get(name) != before[name] for name in ("ceiling", "neighbors")
        ):
            refuse("a ledger keeps its ceiling and its promise", "others", "a budget that can be raised is none")
        choice(session.get("neighbors"), "neighbors", ("replace", "add_remove"))
        Pure(exact(session.get("ceiling", ""), "ceiling"))
        new = {**{name: session.get(name, _NEW[name]) for name in _NEW}, "statistics": [*released, *planned]}
        self._write(table, new)
        return self.state(table)

    def release(self, table: str, place: object, hash: str) -> dict[str, Any]:  # noqa: A002
        """Charge the ledger, read the table, keep what was released, publish it: in this order.

        `hash` is that of the statistic as it was shown, with its price: what would be charged otherwise is refused.
        """
        session, _ = self._session(table)
        statistics = session["statistics"]
        if not isinstance(place, int) or not 0 <= place < len(statistics):
            refuse("a statistic must be one that is planned", repr(place)[:40], "each is released once")
        if self._statistic(table, session, statistics[place]).get("hash") != hash:
            raise ConflictError(self.state(table))
        names, keywords, _ = call(statistics[place], session["columns"])
        ledger = self._ledger(table, session, make=True)
        name = self._free(table, len(ledger.entries()) + 1)
        estimate = getattr(self._curator(table, session, ledger), statistics[place]["verb"])(*names, **keywords)
        released = {"released": len(ledger.entries()), "file": name, "numbers": estimate.to_csv()}
        statistics[place] = {**statistics[place], **released}
        self._write(table, session)
        self._unpublished[name] = estimate
        return self.publish(table, name)

    def publish(self, table: str, name: str) -> dict[str, Any]:
        """Write the pages of what was released; if that fails, it can be done again as long as the studio runs."""
        if name not in self._unpublished:
            refuse("only what was released since the start can be published", "another", "its numbers are in the plan")
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
        calls = []
        for one in session["statistics"]:
            verb = choice(one.get("verb"), "verb", VERBS)
            calls.append(f"{verb}({call(one, session['columns'])[2]})")
        name = f"{Path(table).stem}-release.ipynb"
        content = notebooks.curated({**session, "table": table}, calls, self._ledger_path(table).name)
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
            refuse("a plan of releases must have columns and statistics", "others", f"correct or delete {path.name}")
        return {**session, "columns": {**session["columns"]}, "statistics": [*session["statistics"]]}, content

    def _unchanged(self, table: str, known: str) -> dict[str, Any]:
        """The plan, if it is still the one that the page shows."""
        session, content = self._session(table)
        if fingerprint(content) != known:
            raise ConflictError(self.state(table))
        return session

    def _write(self, table: str, session: Mapping[str, Any]) -> None:
        _, content = self._session(table)
        self.folder.write(self._file(table), edited(content.decode(), {"table": table, **session}).encode())

    def _columns(self, table: str) -> list[dict[str, str]]:
        """Names of columns, and types where the file has them in writing; no row is read."""
        path = self.folder.path(table, *TABLES)
        try:
            if path.suffix.lower() == ".parquet":
                schema = extra("pyarrow.parquet").read_schema(path)
                return [{"name": str(one.name), "type": str(one.type)} for one in schema]
            with path.open(newline="", encoding="utf-8-sig") as file:
                return [{"name": name, "type": ""} for name in next(csv.reader(file), [])]
        except (ValueError, csv.Error):
            _refuse_table(path)

    def _frame(self, table: str) -> Any:
        path = self.folder.path(table, *TABLES)
        changed = path.stat().st_mtime_ns
        if self._frames.get(table, (None,))[0] != changed:
            pandas = extra("pandas")
            read = pandas.read_parquet if path.suffix.lower() == ".parquet" else pandas.read_csv
            try:
                self._frames[table] = (changed, read(path))
            except Exception:
                _refuse_table(path)
        return self._frames[table][1]

    def _curator(self, table: str, session: Mapping[str, Any], ledger: Ledger) -> Curator:
        return Curator(self._frame(table), ledger, neighbors=session["neighbors"])

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

    def _statistic(self, table: str, session: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
        """One line of the queue: its price and noise, or its published numbers; or why it is refused."""
        if "released" in one:
            head, *rows = [*csv.reader(io.StringIO(one.get("numbers", "")))] or [[]]
            line = {"released": one["released"], "file": one.get("file"), "columns": head, "rows": rows}
            return {**line, "published": one.get("file") not in self._unpublished}
        try:
            names, keywords, code = call(one, session["columns"])
            if one["verb"] == "count" and session["neighbors"] == "replace" and "by" not in keywords:
                refuse(
                    "rows must be counted by a column", "all of them", "how many there are is public by your promise"
                )
            curator = self._curator(table, session, self._ledger(table, session))
            preview: Preview = getattr(curator.preview, one["verb"])(*names, **keywords)
        except (ValueError, TypeError) as problem:
            return {"problem": str(problem)}
        noise = preview.noise
        shown = {
            "price": str(preview.loss),
            "fits": preview.fits,
            "sd": None if noise is None else noise.sd,
            "per_value": None if noise is None else noise.per_value,
            "code": f"curator.{one['verb']}({code})",
        }
        promise = [session["neighbors"], session["ceiling"]]
        return {**shown, "hash": fingerprint(json.dumps([promise, shown]).encode())}


def _refuse_table(path: Path) -> NoReturn:
    """In words of our own: a reader's may quote a cell."""
    refuse("a table must be readable", f"{path.name}, which is not", "save it as UTF-8, with commas")


def call(one: Mapping[str, Any], columns: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any], str]:
    """Return the arguments of a curator's verb, and how they are written in Python."""
    verb = choice(one.get("verb"), "verb", VERBS)
    names = [] if verb == "count" else [one.get("column", "")]
    keywords: dict[str, Any] = {}
    if names and not (isinstance(names[0], str) and names[0]):
        refuse("a statistic must have a column", "none", "choose one")
    about = columns.get(names[0], {}) if names else {}
    if verb in _BOUNDED:
        if not {"low", "high"} <= set(about):
            refuse(f"`{names[0]}` must have bounds", "none", "say what is possible, or pay for a proposal of bounds")
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
    options = about.get("options")
    if not isinstance(options, list) or not options:
        refuse(f"`{name}` must have categories", "none", "write what is possible; it is not read from the data")
    return options
