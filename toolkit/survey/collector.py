"""`Collector`: start a collection, watch it, close it, read it; from a notebook or the command line."""

import warnings
import weakref
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.core.checks import refuse
from toolkit.survey import background
from toolkit.survey.consent.statement import THIS_MACHINE, check_reach
from toolkit.survey.export import write
from toolkit.survey.reading.stepwise_disclosure import in_steps, look, steps_note
from toolkit.survey.reading.survey_results import remarks
from toolkit.survey.reading.table import table
from toolkit.survey.reading.turnout import checked_groups
from toolkit.survey.results import Results, estimate
from toolkit.survey.spec import Survey
from toolkit.survey.storage.editions import other_page
from toolkit.survey.storage.waves import follow
from toolkit.survey.store import State, Store, StoreError, open_store, settled

if TYPE_CHECKING:
    import pandas as pd

PORT, _PUBLIC_URL, KEY_FILE = "port", "public url", "issuer's key"


@dataclass(frozen=True)
class Status:
    """How a collection stands. `reports`: how many are shown, which moves in the same steps as the results;
    `stored`: how many there are. `serving`: whether you run a server of it on this machine; `log`: what last
    went wrong there.
    """

    state: str
    reports: int
    cap: int | None
    serving: bool
    url: str | None
    log: tuple[str, ...] = ()
    stored: int = 0


class Collector:
    """A running or finished collection: its database, and its server, which goes on when this object is gone.

    Make one with `toolkit.collect(survey)`, or for an existing database with `Collector.attach(database)`.
    """

    def __init__(self, database: str) -> None:
        self.database = settled(database)
        self._store: Store = open_store(self.database)
        weakref.finalize(self, self._store.close)  # nobody closes a variable of a notebook
        self.survey: Survey = self._store.survey()

    @classmethod
    def attach(cls, database: str) -> "Collector":
        """The collection in a database, as after a kernel's restart; its server runs on if it did.

        Results do not depend on the page; if this code makes another one than the collection's, a warning
        says so.
        """
        check_there(database)
        found = cls(database)
        other = other_page(found.survey, found._store.editions())
        if other is not None and found._store.state() is not State.CLOSED:
            told = f"This code makes another page than the collection's: {other}."
            warnings.warn(
                f"{told} Results are read as before; to serve it, use that version, or amend=True.", stacklevel=2
            )
        return found

    @classmethod
    def _made(cls, survey: Survey, database: str, *, amend: bool = False, again: str | None = None) -> "Collector":
        with closing(open_store(settled(database))) as store:
            if amend:
                store.amend(survey)
            if again is None:
                store.create(survey)
            else:
                with closing(open_store(settled(again), readonly=True)) as earlier:
                    follow(store, survey, earlier, (PORT, _PUBLIC_URL))
        return cls(database)

    @property
    def url(self) -> str:
        """The link for respondents: what you said that they use, or the server's own address."""
        url = self.status().url
        if url is None:
            refuse(
                "there must be a server to link to", "none", "start it again with collect()", background.CollectError
            )
        return url

    def status(self) -> Status:
        server = background.find(self.database)
        url = self._store.setting(_PUBLIC_URL) or (server.url if server else None)
        log = background.last_words(self.database)
        state, stored = self._store.state(), self._store.count()
        shown = stored if state is State.CLOSED else in_steps(self.survey, stored)
        return Status(state.value, shown, self.survey.cap, server is not None, url, log, stored)

    def reports(self) -> "pd.DataFrame":
        """The reports, one row a person, in random order: all of a closed collection; of another one in whole
        steps.

        While a collection is open, a report is not seen as it comes, but with `survey.step` others, and
        nothing is seen below `survey.minimum`; every reader sees the same. The frame's `attrs["remarks"]` say
        how much of it this is.
        """
        shown = look(self._store, self.survey)
        frame = table(self.survey, shown.bodies)
        frame.attrs["remarks"] = list(remarks(self.survey, shown))
        if len(frame) < shown.there:
            warnings.warn(steps_note(self.survey, shown), stacklevel=2)
        return frame

    def results(
        self, by: Sequence[str] | str | None = None, *, method: str | None = None, minimum: int | None = None
    ) -> Results:
        """Estimates for each question, in all or by plain questions; of an open collection in steps, as for
        `reports`.

        `method` : "mle" for shares inside 0 to 1. `minimum` : the people below which no group is shown, if
        another number than the survey's; the results then say so. See `toolkit.survey.results.estimate`.
        """
        groups = checked_groups(self.survey, by)
        shown = look(self._store, self.survey, groups)
        found = estimate(self.survey, table(self.survey, shown.bodies), by, method=method, minimum=minimum)
        told = (*found.remarks, *remarks(self.survey, shown, groups))
        return replace(found, remarks=told, complete=not shown.moving)

    def export(self, path: str | Path) -> Path:
        """Write what `reports` shows to a .csv or .parquet file for your eyes only, and beside it the
        codebook; a warning says if that is not all.
        """
        frame = self.reports()
        return write(frame, path, self.survey, remarks=frame.attrs["remarks"])

    def preview(self) -> Any:
        """The form as respondents see it, here and without a network."""
        return self.survey.preview()

    def invitations(self, count: int) -> list[str]:
        """That many links that work once. They are not kept here. Whoever has the list can tell nothing from
        the reports, but can see whose link was used, and use a link that is not theirs.
        """
        from toolkit.survey.serving.access import digest, invitations, link

        if self.survey.access == "open":
            refuse("links that work once need access by token or blind", "open", "everybody may answer anyway")
        if self._store.state() is State.CLOSED:
            refuse("invitations need a collection that is not closed", "closed", "nobody could use them")
        url, tokens = self.url, invitations(count)  # without an address no token is made
        self._store.invite(digest(token) for token in tokens)
        return [link(url, token) for token in tokens]

    def pause(self) -> None:
        """Take no more reports for now; phones keep theirs and try again."""
        self._store.set_state(State.PAUSED)

    def resume(self) -> None:
        """Take reports again."""
        self._store.set_state(State.OPEN)

    def close(self) -> Status:
        """End the collection for good: no more reports, no server, and no trace of their order in the
        database.
        """
        server = background.find(self.database)
        if server is not None:
            server.stop()
        self._store.set_state(State.CLOSED)
        return self.status()

    def kept(self, name: str) -> str | None:
        """What is kept with the collection of how it is served."""
        return self._store.setting(name)

    def keep(self, name: str, value: str) -> None:
        """Keep it with the collection, unless it is kept already: a server with few rights may read it and
        not write it.
        """
        if self._store.setting(name) != value:
            self._store.remember(name, value)

    def release(self) -> None:
        """Let the connection to the database go; it is made again at the next use."""
        self._store.close()

    def qr(self, path: str | Path) -> None:
        """Write the link as a QR code to a PNG file."""
        from toolkit.survey.sharing import qr_png

        qr_png(self.url, str(path))

    def __repr__(self) -> str:
        status = self.status()
        count = f"{status.stored:,} report{'' if status.stored == 1 else 's'}"
        return f"<Collector of {self.survey.name!r}: {status.state}, {count}>"


def start(
    survey: Survey | str | Path,
    *,
    database: str | None = None,
    rehearsal: bool = False,
    host: str = THIS_MACHINE,
    port: int = 0,
    certificate: str | Path | None = None,
    private_key: str | Path | None = None,
    issuer_key: str | Path | None = None,
    public_url: str | None = None,
    prefix: str = "",
    plain_http_beyond_this_machine: bool = False,
    workers: int = 1,
    amend: bool = False,
    again: str | None = None,
) -> Collector:
    """Start collecting: make the database, open the collection, serve the form; or find the one that runs
    already.

    Parameters
    ----------
    survey : a survey, or the .toml or .json file that it is in.
    database : sqlite:///file.db, or postgresql://user@host/database?schema=name; sqlite:///survey.db if left
    out. rehearsal : to try it out, with invented people or colleagues: every screen, result and file says so,
    nothing of it can be
        mixed with real reports, and the database is sqlite:///rehearsal.db unless another is named.
    host, port : where to listen. Beyond this machine it needs `certificate` and `private_key` (PEM files).
    The port is chosen
        once and kept with the collection, so that links and QR codes stay good when the server is started
        again.
    issuer_key : PEM file of the key that signs blind tokens; made if there is none.
    public_url, prefix : the address that respondents use, and the path below which requests come, if a proxy
    stands in front. plain_http_beyond_this_machine : serve without TLS to other machines; anybody on the way
    could change the page. workers : processes at the same address, so that one may die and the others go on;
    with PostgreSQL only. It is not faster. amend : go on with a collection that another version of the
    toolkit made, or whose title, consent or words were corrected:
        people see the new page from now on, and reports of the earlier one stay good. Questions and designs
        must be the same.
    again : the database of the wave before, which may be closed: its links work in this one, too, and its
        port is taken over. Phones find what they have drawn only under the same scheme, host and port.
    """
    background.check_system()
    made: dict[str, Any] = {"rehearsal": rehearsal, "amend": amend, "again": again, "issuer_key": issuer_key}
    collector, key = prepare(survey, database, host=host, public_url=public_url, **made)
    if background.find(collector.database) is None:
        options = {
            "host": host,
            "port": port or collector.kept(PORT),
            "certificate": certificate,
            "private_key": private_key,
            "issuer_key": key,
            "plain_http_beyond_this_machine": plain_http_beyond_this_machine,
            "prefix": prefix or None,
            "workers": workers,
        }
        server = background.launch(collector.database, options)
        collector.keep(PORT, str(server.port))
    return collector


def prepare(
    survey: Survey | str | Path,
    database: str | None = None,
    *,
    rehearsal: bool = False,
    amend: bool = False,
    again: str | None = None,
    host: str = THIS_MACHINE,
    public_url: str | None = None,
    issuer_key: str | Path | None = None,
    keep: bool = True,
) -> tuple[Collector, Path | None]:
    """The collection, made if need be, and open; and the file of its issuer's key, if it has one. No server
    is started.

    `keep`: whether the place of that file is kept with the collection; where several servers are, each may
    have its own.
    """
    given = survey if isinstance(survey, Survey) else _loaded(survey)
    asked = given.as_rehearsal() if rehearsal else given
    check_reach(asked, host, public_url)
    _check_earlier(again)
    usual = "sqlite:///rehearsal.db" if asked.rehearsal else "sqlite:///survey.db"
    collector = Collector._made(asked, usual if database is None else database, amend=amend, again=again)
    running = background.find(collector.database)
    if amend and running is not None:
        running.stop()  # it shows the earlier page
    _open(collector)
    if public_url is not None:
        collector.keep(_PUBLIC_URL, public_url)
    return collector, _issuer_key(collector, issuer_key, keep)


def check_there(database: str) -> None:
    """Refuse a file that is not there before one is made; of files beside it the names are told."""
    url = settled(database)
    path = Path(url.removeprefix("sqlite:///"))
    if not url.startswith("sqlite:///") or path.exists():
        return
    beside = ", ".join(sorted(one.name for one in path.parent.glob("*.db"))[:5])
    refuse(
        "there must be a collection in the database",
        f"no file {path.name!r} in {str(path.parent)!r}",
        f"databases there are: {beside}" if beside else "collect(survey) makes one; or name another database",
        StoreError,
    )


def _check_earlier(again: str | None) -> None:
    """The wave before must have ended its server: it has the port that phones know."""
    running = None if again is None else background.find(settled(again))
    if running is not None:
        refuse(
            "the wave before must have no server when the next one starts",
            f"one that runs at {running.url}",
            "it has the port that phones know; close that wave first (toolkit close with its --database)",
            background.CollectError,
        )


def _loaded(path: object) -> Survey:
    if not isinstance(path, str | Path):
        refuse(
            "`survey` must be a Survey, or the path of its file",
            type(path).__name__,
            "make one with Survey(…)",
            TypeError,
        )
    return Survey.load(path)


def _open(collector: Collector) -> None:
    """A draft is opened; what was paused stays so, and what was closed is closed."""
    state = State(collector.status().state)
    if state is State.CLOSED:
        refuse(
            "the collection must not be closed",
            "closed",
            "closing is final: use another database",
            background.CollectError,
        )
    if state is State.DRAFT:
        collector.resume()


def _issuer_key(collector: Collector, path: str | Path | None, keep: bool) -> Path | None:
    """The file of the key that signs blind tokens: made once, then the same from whatever folder the
    collection is served.
    """
    if collector.survey.access != "blind":
        return None
    from toolkit.survey.serving.blind import IssuerKey
    from toolkit.survey.serving.process import ISSUER, own_key

    store = collector._store
    target = Path(path or store.setting(KEY_FILE) or "issuer-key.pem").absolute()
    if not target.exists():
        if store.setting(ISSUER) is not None:
            refuse(
                "the collection's issuer key must be there",
                f"no file {target}",
                "bring it back, or name it by issuer_key=",
            )
        IssuerKey.generate().save(str(target))
    own_key(store, target)
    if keep:
        collector.keep(KEY_FILE, str(target))
    return target
