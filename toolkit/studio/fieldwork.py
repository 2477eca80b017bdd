"""Actions on the collections of a folder: rehearse, open, invite, close, read results and write documents."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from toolkit.core.checks import check_choice, check_integer, reject
from toolkit.studio import notebooks
from toolkit.studio.checking import placeholders, recorded_warnings
from toolkit.studio.folder import ConflictError, Folder, fingerprint
from toolkit.studio.surveys import Surveys
from toolkit.survey.client import qr_path
from toolkit.survey.collector import Collector, delete, start
from toolkit.survey.exchange.books import write_codebook
from toolkit.survey.exchange.web_forms import TOOLS, write_web_form
from toolkit.survey.exchange.xlsform import write_xlsform
from toolkit.survey.paper.kit import write_kit
from toolkit.survey.questions.question import readable_text
from toolkit.survey.rehearsal import rehearse
from toolkit.survey.serving.background import find_server
from toolkit.survey.serving.options import ServeOptions
from toolkit.survey.spec import Survey
from toolkit.survey.storage.stepwise_disclosure import first_disclosure_count

_MAX_SIMULATED = 5000
_REPORTS = (".html", ".docx", ".pdf", ".md")
_EXPORTS = (".csv", ".parquet", ".feather", ".sav", ".dta")


class _ForeignDatabaseError(ValueError):
    """The database with this survey's name contains the collection of a different survey."""


class Fieldwork:
    """The collections of a folder: a real collection and a rehearsal for each survey."""

    def __init__(self, folder: Folder, surveys: Surveys) -> None:
        self.folder, self._surveys = folder, surveys

    def _database(self, file: str, which: str) -> tuple[Path, str]:
        name = notebooks.database_names(file)[check_choice(which, "which", ("real", "rehearsal"))]
        path = self.folder.path(name)
        return path, f"sqlite:///{path}"

    @contextmanager
    def _collector(self, file: str, which: str) -> Iterator[Collector]:
        path, database = self._database(file, which)
        with recorded_warnings():
            collector = Collector.attach(database)
        try:
            # For example, the rehearsal of `a.toml` and the real collection of `a-rehearsal.toml` share a file name.
            if collector.survey.rehearsal != (which == "rehearsal"):
                rule = "a rehearsal and a real collection must have separate databases"
                other = "a rehearsal" if collector.survey.rehearsal else "a real collection"
                remedy = "it is left unchanged; rename the file of this survey"
                reject(rule, f"{other} in {path.name!r}", remedy, _ForeignDatabaseError)
            yield collector
        finally:
            collector._disconnect()

    def state(self, file: str) -> dict[str, Any]:
        """Return the state of the real collection and of the rehearsal; None for a collection that does not exist.

        The hash covers everything that an action depends on: the survey's file, and the state of each collection except
        its reports.
        """
        both = {which: self._collection_state(file, which) for which in ("real", "rehearsal")}
        facts = ("state", "serving", "url", "survey", "uses_out")
        states = [collection and [collection[name] for name in facts] for collection in both.values()]
        basis = [fingerprint(self.folder.read(file)), states]
        return {**both, "hash": fingerprint(json.dumps(basis).encode())}

    def _check_version(self, file: str, expected: str) -> None:
        """Raise ConflictError if the page shows a different version of the file or of a collection."""
        if (current_state := self.state(file))["hash"] != expected:
            raise ConflictError(current_state)

    def _collection_state(self, file: str, which: str) -> dict[str, Any] | None:
        if not self._database(file, which)[0].exists():
            return None
        with suppress(_ForeignDatabaseError), self._collector(file, which) as collector:
            status = collector.status()
            return {
                "state": status.state,
                "reports": status.n_reports,
                "stored": status.n_stored,
                "cap": status.cap,
                "serving": status.is_serving,
                "url": status.url,
                "qr": None if status.url is None else qr_path(status.url),
                "beyond": status.url is not None and _is_remote(status.url),
                "log": list(status.log),
                "step": collector.survey.step,
                "first": _first_disclosure(collector.survey),
                "access": collector.survey.access,
                "survey": collector.survey.hash,
                "current": self._is_current(file, collector.survey),
                "station": collector.survey.field is not None,
                "uses_out": status.n_outstanding_uses,
                "groups": _grouping_questions(collector.survey),
                "texts": _question_texts(collector.survey),
            }
        return None

    def _is_current(self, file: str, collected: Survey) -> bool:
        try:
            with recorded_warnings():
                survey = self._surveys.load(file)
        except ValueError:
            return False
        survey = replace(survey, rehearsal=True) if collected.rehearsal else survey
        return {**survey.to_dict(), "panel": None} == {**collected.to_dict(), "panel": None}

    def rehearse(self, file: str, people: object, hash: str) -> dict[str, Any]:  # noqa: A002
        """Collect the answers of simulated people; a rehearsal of an earlier version of the survey is deleted first."""
        count = check_integer(people, "people", maximum=_MAX_SIMULATED)
        self._check_version(file, hash)
        with recorded_warnings():
            survey = self._surveys.load(file)
        path, database = self._database(file, "rehearsal")
        if path.exists():
            with self._collector(file, "rehearsal") as earlier:
                outdated = earlier.status().state == "closed" or not self._is_current(file, earlier.survey)
                if outdated:
                    earlier.close(anyway=True)
            if outdated:
                delete(database)
        with recorded_warnings():
            collector = start(survey, database, ServeOptions(rehearsal=True, issuer_key=self._issuer_key(survey)))
        try:
            stored = rehearse(collector, count)
        finally:
            collector._disconnect()
            # Only this function uses the server of the rehearsal, so it must stop the server.
            if (server := find_server(database)) is not None:
                server.stop()
        return {"stored": stored, **self.state(file)}

    def _issuer_key(self, survey: Survey) -> Path | None:
        return self.folder.path("issuer-key.pem") if survey.access == "blind" else None

    def open(
        self,
        file: str,
        hash: str,  # noqa: A002
        network: dict[str, Any] | None = None,
        amend: bool = False,
    ) -> dict[str, Any]:
        """Open the real collection and serve it, on this machine or with the settings in `network`."""
        self._check_version(file, hash)
        if not self._database(file, "real")[0].exists() and (texts := placeholders(self._surveys.data(file))):
            remedy = "replace it first, as questions and answers cannot change once the survey is open"
            reject("a survey must not contain placeholders", f"the placeholder {texts[0][2]!r}", remedy)
        with recorded_warnings():
            survey = self._surveys.load(file)
            key, server_options = self._issuer_key(survey), self._network_exposure(network or {})
            options = ServeOptions(issuer_key=key, amend=amend is True, **server_options)
            start(survey, self._database(file, "real")[1], options)._disconnect()
        return self.state(file)

    def _network_exposure(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the options that determine who can reach the server; TLS files must be in the folder."""
        fields = ("host", "public_url", "certificate", "private_key", "plain_http_beyond_this_machine")
        if unknown := [name for name in settings if name not in fields]:
            reject(f"`network` must have only the fields {', '.join(fields)}", repr(unknown[0])[:40], "remove it")
        options = {name: value for name, value in settings.items() if value not in (None, "", False)}
        for name in ("certificate", "private_key"):
            if name in options:
                options[name] = self.folder.path(options[name])
        return options

    def invite(self, file: str, count: object, hash: str) -> dict[str, Any]:  # noqa: A002
        """Return single-use links; they are not stored."""
        self._check_version(file, hash)
        with self._collector(file, "real") as collector:
            return {"links": collector.invitations(check_integer(count, "count", maximum=100_000))}

    def station(self, file: str, count: int, hash: str) -> dict[str, Any]:  # noqa: A002
        """Return a link for a shared device on which `count` people can answer; it is not stored."""
        self._check_version(file, hash)
        with self._collector(file, "real") as collector:
            link = collector.station(count)
        return {"url": link, "qr": qr_path(link), "beyond": _is_remote(link)}

    def change(self, file: str, which: str, verb: str, hash: str, anyway: bool = False) -> dict[str, Any]:  # noqa: A002
        """Pause, resume or close a collection; closing with outstanding uses of stations requires `anyway`."""
        self._check_version(file, hash)
        check_choice(verb, "verb", ("pause", "resume", "close"))
        options = {"anyway": anyway is True} if verb == "close" else {}
        with self._collector(file, which) as collector:
            getattr(collector, verb)(**options)
        return self.state(file)

    def results(self, file: str, which: str, by: str | None = None) -> dict[str, Any]:
        """Return the estimates as a table of text, with notes and a plot."""
        with recorded_warnings(), self._collector(file, which) as collector:
            results, texts = collector.results(by or None), _question_texts(collector.survey)
        table = results.summary() if results.group_estimates else None
        picture: dict[str, Any] = {}
        if results.group_estimates:
            try:
                sheet = results.plot()
                sheet.figure.savefig(image := io.StringIO(), format="svg", bbox_inches="tight")
                picture = {"svg": image.getvalue(), "alt": sheet.alt}
            # The results may have only distributions or too many groups, or matplotlib may be missing.
            except (ValueError, ImportError) as problem:
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
        document: str,
        hash: str,  # noqa: A002
        ending: str = "",
        which: str = "real",
        by: str | None = None,
    ) -> dict[str, Any]:
        """Write a report, export, codebook, notebook, or a form on paper or for another program, into the folder."""
        self._surveys.unchanged(file, hash)
        documents = ("report", "export", "codebook", "paper", "xlsform", *TOOLS, "notebook", "assessment")
        check_choice(document, "document", documents)
        stem = Path(file).stem
        kinds = {"report": _REPORTS, "export": _EXPORTS, "codebook": (*_REPORTS, ".json", ".xml")}
        suffix = check_choice(ending, "ending", kinds[document]) if document in kinds else ""
        names = {"export": f"{stem}-reports{suffix}", "xlsform": f"{stem}-form.xlsx", "notebook": f"{stem}.ipynb"}
        name = {**names, "assessment": f"{stem}-assessment.html"}.get(document, f"{stem}-{document}{suffix}")
        path = self.folder.path(name)
        with recorded_warnings() as messages:
            if document in ("report", "export"):
                with self._collector(file, which) as collector:
                    collector.report(path, by or None) if document == "report" else collector.export(path)
            elif document == "notebook":
                # Loading rejects an invalid survey, whose names could be arbitrary text.
                self._surveys.load(file)
                content = notebooks.analysis_notebook(file, self._surveys.data(file), which)
                # An existing notebook is never overwritten: it may have been edited.
                self.folder.write(name, content, new=True)
            elif document == "assessment":
                language = self._surveys.load(file).languages[0]
                self.folder.write(name, self._surveys.preview(file, "assessment", language)[0].encode())
            else:
                survey = self._surveys.load(file)
                makers: dict[str, Callable[..., Any]] = {tool: partial(write_web_form, tool=tool) for tool in TOOLS}
                makers |= {"codebook": write_codebook, "paper": write_kit, "xlsform": write_xlsform}
                makers[document](survey, path)
        return {"file": name, "notes": [str(warning.message) for warning in messages]}


def _is_remote(link: str) -> bool:
    """Return whether other devices could open a link."""
    return "//127.0.0.1" not in link


def _first_disclosure(survey: Survey) -> int | None:
    """Return the number of reports at which an open collection first shows results; None if it never does."""
    return None if survey.waves > 1 else first_disclosure_count(survey)


def _question_texts(survey: Survey) -> dict[str, str]:
    """Return the text of each question by name, in the first language of the survey."""
    return {question.name: readable_text(question, survey.languages[0]) for question in survey.questions}


def _grouping_questions(survey: Survey) -> list[str]:
    """Return the names of plain single-choice questions, whose answers can form groups."""
    return [
        question.name
        for question in survey.questions
        if not question.randomized and question.kind == "choice" and question.draw_probabilities is None
    ]
