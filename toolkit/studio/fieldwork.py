"""Collections of the folder's surveys: rehearse, open, invite, watch, close, read; as the shell's commands do it."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolkit.core.checks import choice, reject, whole
from toolkit.studio import notebooks
from toolkit.studio.checking import examples, quiet
from toolkit.studio.folder import ConflictError, Folder, fingerprint
from toolkit.studio.surveys import Surveys
from toolkit.survey.client import qr_path
from toolkit.survey.collector import Collector, delete, start
from toolkit.survey.exchange.books import write_codebook
from toolkit.survey.exchange.xlsform import write_xlsform
from toolkit.survey.paper.kit import write_kit
from toolkit.survey.rehearsal import rehearse
from toolkit.survey.serving.background import find
from toolkit.survey.serving.options import ServeOptions
from toolkit.survey.spec import Survey
from toolkit.survey.storage.stepwise_disclosure import first_disclosure
from toolkit.texts.multilingual import text_in

_MOST_INVENTED = 5000
_REPORTS = (".html", ".docx", ".pdf", ".md")
_EXPORTS = (".csv", ".parquet", ".feather", ".sav", ".dta")


class _ForeignError(ValueError):
    """A database has the name of this survey's, and holds what is not this survey's."""


class Fieldwork:
    """The collections of a folder: of each survey a real one and a rehearsal."""

    def __init__(self, folder: Folder, surveys: Surveys) -> None:
        self.folder, self._surveys = folder, surveys

    def _database(self, file: str, which: str) -> tuple[Path, str]:
        name = notebooks.databases(file)[choice(which, "which", ("real", "rehearsal"))]
        path = self.folder.path(name)
        return path, f"sqlite:///{path}"

    @contextmanager
    def _collector(self, file: str, which: str) -> Iterator[Collector]:
        path, database = self._database(file, which)
        with quiet():
            collector = Collector.attach(database)
        try:
            if collector.survey.rehearsal != (which == "rehearsal"):  # a file of another survey may be named so
                rule = "a rehearsal and a real collection must have databases of their own"
                other = "a rehearsal" if collector.survey.rehearsal else "a real collection"
                consequence = "it stays as it is; give the file of this survey another name"
                reject(rule, f"{other} in {path.name!r}", consequence, _ForeignError)
            yield collector
        finally:
            collector._disconnect()

    def state(self, file: str) -> dict[str, Any]:
        """Return how the real collection and the rehearsal of a survey stand; None where there is none.

        The hash is that of all that an action on them rests on: the survey's file, and each collection but its reports.
        """
        both = {which: self._state(file, which) for which in ("real", "rehearsal")}
        facts = ("state", "serving", "url", "survey", "uses_out")
        states = [collection and [collection[name] for name in facts] for collection in both.values()]
        basis = [fingerprint(self.folder.read(file)), states]
        return {**both, "hash": fingerprint(json.dumps(basis).encode())}

    def _check(self, file: str, expected: str) -> None:
        """Refuse what a page asks for that shows another file, or another state of a collection."""
        if (now := self.state(file))["hash"] != expected:
            raise ConflictError(now)

    def _state(self, file: str, which: str) -> dict[str, Any] | None:
        if not self._database(file, which)[0].exists():
            return None
        with suppress(_ForeignError), self._collector(file, which) as collector:
            status = collector.status()
            return {
                "state": status.state,
                "reports": status.reports,
                "stored": status.stored,
                "cap": status.cap,
                "serving": status.serving,
                "url": status.url,
                "qr": None if status.url is None else qr_path(status.url),
                "beyond": status.url is not None and _is_beyond(status.url),
                "log": list(status.log),
                "step": collector.survey.step,
                "first": _first(collector.survey),
                "access": collector.survey.access,
                "survey": collector.survey.hash,
                "current": self._is_current(file, collector.survey),
                "station": collector.survey.field is not None,
                "uses_out": status.uses_out,
                "groups": _groups(collector.survey),
                "texts": _texts(collector.survey),
            }
        return None

    def _is_current(self, file: str, collected: Survey) -> bool:
        try:
            with quiet():
                survey = self._surveys.load(file)
        except ValueError:
            return False
        survey = replace(survey, rehearsal=True) if collected.rehearsal else survey
        return {**survey.to_dict(), "panel": None} == {**collected.to_dict(), "panel": None}

    def rehearse(self, file: str, people: object, hash: str) -> dict[str, Any]:  # noqa: A002
        """Let invented people answer; a rehearsal of an earlier version of the survey is deleted first."""
        count = whole(people, "people", most=_MOST_INVENTED)
        self._check(file, hash)
        with quiet():
            survey = self._surveys.load(file)
        path, database = self._database(file, "rehearsal")
        if path.exists():
            with self._collector(file, "rehearsal") as earlier:
                over = earlier.status().state == "closed" or not self._is_current(file, earlier.survey)
                if over:
                    earlier.close(anyway=True)
            if over:
                delete(database)
        with quiet():
            collector = start(survey, database, ServeOptions(rehearsal=True, issuer_key=self._issuer_key(survey)))
        try:
            stored = rehearse(collector, count)
        finally:  # invented people are gone: nobody else would end their server
            collector._disconnect()
            if (server := find(database)) is not None:
                server.stop()
        return {"stored": stored, **self.state(file)}

    def _issuer_key(self, survey: Survey) -> Path | None:
        return self.folder.path("issuer-key.pem") if survey.access == "blind" else None

    def open(
        self,
        file: str,
        hash: str,  # noqa: A002
        reach: dict[str, Any] | None = None,
        amend: bool = False,
    ) -> dict[str, Any]:
        """Open the real collection and serve it, on this machine or as `reach` says."""
        self._check(file, hash)
        if not self._database(file, "real")[0].exists() and (words := examples(self._surveys.data(file))):
            consequence = "write your own first, as questions and answers stay as they are when the survey is open"
            reject("a survey must be in your words", f"the example {words[0][2]!r}", consequence)
        with quiet():
            survey = self._surveys.load(file)
            key, address = self._issuer_key(survey), self._reach(reach or {})
            options = ServeOptions(issuer_key=key, amend=amend is True, **address)
            start(survey, self._database(file, "real")[1], options)._disconnect()
        return self.state(file)

    def _reach(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Where it listens and what people open; files of TLS must be in the folder, too."""
        known = ("host", "public_url", "certificate", "private_key", "plain_http_beyond_this_machine")
        if strange := [name for name in settings if name not in known]:
            reject(f"`reach` has the fields {', '.join(known)}", repr(strange[0])[:40], "nothing else is defined")
        options = {name: value for name, value in settings.items() if value not in (None, "", False)}
        for name in ("certificate", "private_key"):
            if name in options:
                options[name] = self.folder.path(options[name])
        return options

    def invite(self, file: str, count: object, hash: str) -> dict[str, Any]:  # noqa: A002
        """Return links that work once; they are kept nowhere."""
        self._check(file, hash)
        with self._collector(file, "real") as collector:
            return {"links": collector.invitations(whole(count, "count", most=100_000))}

    def station(self, file: str, count: int, hash: str) -> dict[str, Any]:  # noqa: A002
        """Return a link for a device of the researchers, on which so many people can answer; it is kept nowhere."""
        self._check(file, hash)
        with self._collector(file, "real") as collector:
            link = collector.station(count)
        return {"url": link, "qr": qr_path(link), "beyond": _is_beyond(link)}

    def change(self, file: str, which: str, verb: str, hash: str, anyway: bool = False) -> dict[str, Any]:  # noqa: A002
        """Pause, resume or close a collection; closing gives up uses of stations only if `anyway` says so."""
        self._check(file, hash)
        choice(verb, "verb", ("pause", "resume", "close"))
        options = {"anyway": anyway is True} if verb == "close" else {}
        with self._collector(file, which) as collector:
            getattr(collector, verb)(**options)
        return self.state(file)

    def results(self, file: str, which: str, by: str | None = None) -> dict[str, Any]:
        """Return the estimates as a table of text, what to know about them, and a picture."""
        with quiet(), self._collector(file, which) as collector:
            results, texts = collector.results(by or None), _texts(collector.survey)
        table = results.summary() if results.group_estimates else None
        picture: dict[str, Any] = {}
        if results.group_estimates:
            try:
                sheet = results.plot()
                sheet.figure.savefig(image := io.StringIO(), format="svg", bbox_inches="tight")
                picture = {"svg": image.getvalue(), "alt": sheet.alt}
            except (ValueError, ImportError) as problem:  # distributions alone, too many groups, or no matplotlib
                picture = {"alt": str(problem)}
        return {
            "columns": [] if table is None else [str(name) for name in table.columns],
            "rows": [] if table is None else [[str(cell) for cell in row] for row in table.to_numpy().tolist()],
            "texts": texts,
            "notes": results.notes(),
            "complete": results.complete,
            **picture,
        }

    def write(
        self,
        file: str,
        what: str,
        hash: str,  # noqa: A002
        ending: str = "",
        which: str = "real",
        by: str | None = None,
    ) -> dict[str, Any]:
        """Write a report, an export, a codebook, sheets of paper, a form or a notebook into the folder."""
        self._surveys.unchanged(file, hash)
        choice(what, "what", ("report", "export", "codebook", "paper", "xlsform", "notebook", "assessment"))
        stem = Path(file).stem
        kinds = {"report": _REPORTS, "export": _EXPORTS, "codebook": (*_REPORTS, ".json", ".xml")}
        suffix = choice(ending, "ending", kinds[what]) if what in kinds else ""
        fixed = {"export": f"{stem}-reports{suffix}", "xlsform": f"{stem}-form.xlsx", "notebook": f"{stem}.ipynb"}
        name = {**fixed, "assessment": f"{stem}-assessment.html"}.get(what, f"{stem}-{what}{suffix}")
        path = self.folder.path(name)
        with quiet() as messages:
            if what in ("report", "export"):
                with self._collector(file, which) as collector:
                    collector.report(path, by or None) if what == "report" else collector.export(path)
            elif what == "notebook":
                self._surveys.load(file)  # refused if something is wrong with it: names could be any text
                content = notebooks.analysis(file, self._surveys.data(file), which)
                self.folder.write(name, content, new=True)  # somebody may have gone on in it
            elif what == "assessment":
                language = self._surveys.load(file).languages[0]
                self.folder.write(name, self._surveys.seen(file, "assessment", language)[0].encode())
            else:
                survey = self._surveys.load(file)
                makers = {"codebook": write_codebook, "paper": write_kit, "xlsform": write_xlsform}
                makers[what](survey, path)  # type: ignore[operator]
        return {"file": name, "notes": [str(one.message) for one in messages]}


def _is_beyond(link: str) -> bool:
    """Whether other devices could open it."""
    return "//127.0.0.1" not in link


def _first(survey: Survey) -> int | None:
    """How many reports there must be before an open collection shows some; None if it never does."""
    return None if survey.waves > 1 else first_disclosure(survey)


def _texts(survey: Survey) -> dict[str, str]:
    """What people read, by the name of each question: in the first language of the survey."""
    return {one.name: text_in(one.text, survey.languages[0]) for one in survey.questions}


def _groups(survey: Survey) -> list[str]:
    """Plain questions with one answer out of several."""
    return [one.name for one in survey.questions if not one.randomized and one.kind == "choice" and one.chances is None]
