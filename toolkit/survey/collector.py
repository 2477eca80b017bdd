"""`Collector`: start a collection, watch it, close it, read it, delete it; from a notebook or the command line."""

import socket
import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.checks import reject
from toolkit.survey.consent.statement import THIS_MACHINE, check_network_exposure
from toolkit.survey.export import write
from toolkit.survey.results import Results, estimate
from toolkit.survey.results.table import checked_groups, table
from toolkit.survey.serving import background
from toolkit.survey.serving.options import DEFAULTS, ServeOptions
from toolkit.survey.spec import Survey
from toolkit.survey.storage import Collection, State, StoreError, absolute_url, open_store
from toolkit.survey.storage.editions import page_mismatch
from toolkit.survey.storage.stepwise_disclosure import disclose, disclosed_count, disclosure_note, disclosure_remarks

if TYPE_CHECKING:
    import pandas as pd


PORT, _PUBLIC_URL, KEY_FILE = "port", "public url", "issuer's key"


@dataclass(frozen=True)
class Status:
    """How a collection stands.

    Parameters
    ----------
    state : str
        "draft", "open", "paused" or "closed".
    reports : int
        Reports that are shown, which moves in the same steps as the results.
    cap : int or None
        Reports that the survey takes at most.
    serving : bool
        Whether you run a server of it on this machine.
    url : str or None
        The link for respondents.
    log : tuple of str
        What last went wrong in the server.
    stored : int
        Reports that there are.
    uses_out : int
        Uses that were given to stations and are neither spent nor given back.

    Examples
    --------
    With a collection that is open::

        collector.status().state  # "open"
    """

    state: str
    reports: int
    cap: int | None
    serving: bool
    url: str | None
    log: tuple[str, ...] = ()
    stored: int = 0
    uses_out: int = 0


class Collector:
    """A running or finished collection: its database, and its server, which goes on when this object is gone.

    Make one with `toolkit.collect(survey)`, or for an existing database with `Collector.attach(database)`.

    Parameters
    ----------
    database : str
        Its URL: sqlite:///file.db, or postgresql://user@host/database?schema=name.

    Examples
    --------
    With a collection that is open::

        collector = Collector.attach("sqlite:///campus.db")
        collector.results(by="faculty")
    """

    def __init__(self, database: str) -> None:
        self.database = absolute_url(database)
        self._store: Collection = open_store(self.database)
        weakref.finalize(self, self._store.close)  # nobody closes a variable of a notebook
        self.survey: Survey = self._store.survey()

    @classmethod
    def attach(cls, database: str) -> "Collector":
        """Find the collection in a database, as after a kernel's restart; its server runs on if it did.

        Results do not depend on the page; if this code makes another one than the collection's, a warning says so.

        Parameters
        ----------
        database : str
            Its URL.

        Returns
        -------
        Collector
            The collection.

        Raises
        ------
        StoreError
            If there is no collection in the database.
        """
        check_exists(database)
        collector = cls(database)
        other = page_mismatch(collector.survey, collector._store.editions())
        if other is not None and collector._store.state() is not State.CLOSED:
            warnings.warn(
                f"This code makes another page than the collection's: {other}. Results are read as before; to serve "
                "it, use that version, or amend=True.",
                stacklevel=2,
            )
        return collector

    @classmethod
    def _make(cls, survey: Survey, database: str, *, amend: bool, again: str | None) -> "Collector":
        with closing(open_store(absolute_url(database))) as store:
            if amend:
                store.amend(survey)
            if again is None:
                store.create(survey)
            else:
                with closing(open_store(absolute_url(again), readonly=True)) as earlier:
                    store.create_next_wave(survey, earlier, (PORT, _PUBLIC_URL))
        return cls(database)

    @property
    def url(self) -> str:
        """The link for respondents: what you said that they use, or the server's own address."""
        url = self.status().url
        if url is None:
            reject(
                "there must be a server to link to", "none", "start it again with collect()", background.CollectError
            )
        return url

    def status(self) -> Status:
        """Say how the collection stands.

        Returns
        -------
        Status
            State, number of reports, and server.
        """
        server = background.find(self.database)
        url = self._store.get_setting(_PUBLIC_URL) or (server.url if server else None)
        log = background.log_tail(self.database)
        state, stored = self._store.state(), self._store.count()
        visible = stored if state is State.CLOSED else disclosed_count(self.survey, stored)
        out = self._store.uses_out()
        return Status(state.value, visible, self.survey.cap, server is not None, url, log, stored, out)

    def reports(self) -> "pd.DataFrame":
        """Read the reports, one row per person, in random order.

        While a collection is open, a report is not seen as it comes, but with `survey.step` others, and
        nothing is seen below `survey.minimum`; every reader sees the same.

        Returns
        -------
        pandas.DataFrame
            All reports of a closed collection, of another one in whole steps; `attrs["remarks"]` say how much this is.
        """
        visible = disclose(self._store, self.survey)
        frame = table(self.survey, visible.bodies)
        frame.attrs["remarks"] = list(disclosure_remarks(self.survey, visible))
        if len(frame) < visible.stored:
            warnings.warn(disclosure_note(self.survey, visible), stacklevel=2)
        return frame

    def results(
        self, by: Sequence[str] | str | None = None, *, method: str | None = None, minimum: int | None = None
    ) -> Results:
        """Estimate each question, in all or by plain questions; of an open collection in steps, as for `reports`.

        Parameters
        ----------
        by : str or sequence of str, optional
            Plain questions whose answers make the groups.
        method : str, optional
            "mle" for shares inside 0 to 1; else unbiased.
        minimum : int, optional
            People below which no estimate is shown, if not the survey's number; the results then say so.

        Returns
        -------
        Results
            Estimates, as of `toolkit.survey.results.estimate`.
        """
        groups = checked_groups(self.survey, by)
        visible = disclose(self._store, self.survey, groups)
        results = estimate(self.survey, table(self.survey, visible.bodies), by, method=method, minimum=minimum)
        notes = (*results.remarks, *disclosure_remarks(self.survey, visible, groups))
        return replace(results, remarks=notes, complete=not visible.is_open)

    def export(self, path: str | Path, *, language: str | None = None) -> Path:
        """Write what `reports` shows to a file for your eyes only, and the codebook beside it.

        Parameters
        ----------
        path : str or Path
            A .csv, .parquet or .feather file; or for SPSS .sav, for Stata .dta, with labels.
        language : str, optional
            Of those labels; by default the first of the survey.

        Returns
        -------
        Path
            The file; the remarks of its codebook say if these are not all reports.
        """
        frame = self.reports()
        return write(frame, path, self.survey, remarks=frame.attrs["remarks"], language=language)

    def report(
        self,
        path: str | Path,
        by: Sequence[str] | str | None = None,
        *,
        level: float = 0.95,
        method: str | None = None,
        registration: str | Path | None = None,
    ) -> Path:
        """Write a report for readers of a closed collection; estimates of fewer people than its minimum are withheld.

        Parameters
        ----------
        path : str or Path
            A .html, .docx, .pdf or .md file.
        by : str or sequence of str, optional
            Plain questions whose answers make the groups.
        level : float
            Level of the intervals.
        method : str, optional
            "mle" for shares inside 0 to 1; else unbiased.
        registration : str or Path, optional
            What was registered before; the report then says what is exploratory.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ValueError
            If the collection is not closed, or another survey was registered.
        """
        if self._store.state() is not State.CLOSED:
            rule = "a report must be of a closed collection"
            reject(rule, "one that goes on", "it would be out of date at once; close() it, or see results()")
        results = self.results(by, method=method)
        return (results if registration is None else results.registered(registration)).report(path, level=level)

    def invitations(self, count: int) -> list[str]:
        """Make links that work once.

        They are not kept here. The list tells nothing of the reports; but a person who has it can see whose link
        was used, and use a link that is not theirs.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        list of str
            The links.

        Raises
        ------
        ValueError
            If access is open, or the collection is closed.
        """
        from toolkit.survey.serving.access import new_tokens, token_hash, token_link

        if self.survey.access == "open":
            reject("links that work once need access by token or blind", "open", "everybody may answer anyway")
        if self._store.state() is State.CLOSED:
            reject("invitations need a collection that is not closed", "closed", "nobody could use them")
        url, tokens = self.url, new_tokens(count)  # without an address no token is made
        self._store.invite(token_hash(token) for token in tokens)
        return [token_link(url, token) for token in tokens]

    def station(self, uses: int) -> str:
        """Make a link for one station: a device of yours on which so many people can answer, also without a network.

        Open it there once, with a network. Whoever has it can send as many reports; it tells nothing of those that are
        sent. A second link, opened on the same device, adds its uses.

        Parameters
        ----------
        uses : int
            How many people.

        Returns
        -------
        str
            The link.

        Raises
        ------
        ValueError
            If the survey has no stations, or the collection is closed.
        """
        from toolkit.survey.serving.access import token_hash
        from toolkit.survey.serving.station import new_station_link

        if self.survey.field is None:
            rule = "a station needs a survey that says how it is asked there"
            reject(rule, "none", 'write [field] and station = "kiosk" or "interviewer" into it, and access = "token"')
        link, tokens = new_station_link(self.url, uses)
        self._store.invite((token_hash(token) for token in tokens), station=True)
        return link

    def pause(self) -> None:
        """Take no more reports for now; phones keep theirs and try again."""
        self._store.set_state(State.PAUSED)

    def resume(self) -> None:
        """Take reports again."""
        self._store.set_state(State.OPEN)

    def close(self, *, anyway: bool = False) -> Status:
        """End the collection for good: no more reports, no server, no trace of their order in the database.

        The key that opens what stations have sealed goes with it. A station gives its unused uses back when it is
        removed from its tablet.

        Parameters
        ----------
        anyway : bool
            Whether to give up the uses of stations that are still out, and the reports that wait for them on tablets.

        Returns
        -------
        Status
            How it stands now.

        Raises
        ------
        ValueError
            If uses of stations are out, unless `anyway`.
        """
        out = self._store.uses_out()
        if out and not anyway:
            rule = "a collection must have back the uses that its stations were given before it is closed"
            remedy = (
                "what waits for them on tablets could never be opened. Let every tablet send what waits, and remove "
                "its station; or give them up with close(anyway=True) or `toolkit close --anyway`"
            )
            reject(rule, f"{out:,} that {'is' if out == 1 else 'are'} out", remedy)
        server = background.find(self.database)
        if server is not None:
            server.stop()
        self._store.set_state(State.CLOSED)
        return self.status()

    def _set(self, name: str, value: str) -> None:
        """Store a setting; nothing is written if it has this value already, because a server may not be allowed to."""
        if self._store.get_setting(name) != value:
            self._store.set_setting(name, value)

    def _disconnect(self) -> None:
        """Let the connection to the database go; it is made again at the next use."""
        self._store.close()

    def __repr__(self) -> str:
        status = self.status()
        count = f"{status.stored:,} report{'' if status.stored == 1 else 's'}"
        return f"<Collector of {self.survey.name!r}: {status.state}, {count}>"


def collect(
    survey: Survey | str | Path,
    *,
    database: str | None = None,
    watch: bool = True,
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
    """Collect answers on respondents' own phones: make the database, open the collection, serve the form.

    The server is a process of its own, which goes on when the notebook's kernel ends; the same call finds it
    again. A notebook shows the link, its QR code, the number of reports and, from the survey's minimum on, in
    steps, the estimates so far.

    Parameters
    ----------
    survey : Survey, str or Path
        A survey, or the .toml or .json file that it is in.
    database : str, optional
        URL: sqlite:///file.db (default sqlite:///survey.db), or postgresql://user@host/database?schema=name.
    watch : bool
        Whether to show it, in a notebook.
    rehearsal : bool
        Try it out, with invented people (`toolkit.rehearse`) or colleagues: every screen, result and file says so,
        nothing of it can be mixed with real reports, and the database is sqlite:///rehearsal.db unless another is
        named.
    host : str
        Where to listen. Beyond this machine it needs `certificate` and `private_key`.
    port : int
        Chosen once and kept with the collection, so that links stay good when the server is started again.
    certificate, private_key : str or Path, optional
        PEM files for TLS.
    issuer_key : str or Path, optional
        PEM file of the key that signs blind tokens; made if there is none.
    public_url : str, optional
        The address that respondents use, if a proxy stands in front.
    prefix : str
        The path below which the proxy passes requests on.
    plain_http_beyond_this_machine : bool
        Serve without TLS to other machines; anybody on the way could change the page.
    workers : int
        Processes at the same address, so that one may die and the others go on; PostgreSQL only, and not faster.
    amend : bool
        Go on with a collection that another version of the toolkit made, or whose title, consent or words were
        corrected: people see the new page from now on, and reports of the earlier one stay good.
    again : str, optional
        The database of the wave before, which may be closed: its links work in this one as well, and its port is
        taken over. Phones find what they have drawn only under the same scheme, host and port.

    Returns
    -------
    Collector
        The running collection.

    Examples
    --------
    With a collection that is open::

        collector = collect(survey, database="sqlite:///campus.db")
        collector.url, collector.status(), collector.results(), collector.close()
    """
    options = ServeOptions(
        rehearsal=rehearsal,
        host=host,
        port=port,
        certificate=certificate,
        private_key=private_key,
        issuer_key=issuer_key,
        public_url=public_url,
        prefix=prefix,
        plain_http_beyond_this_machine=plain_http_beyond_this_machine,
        workers=workers,
        amend=amend,
        again=again,
    )
    view = _view() if watch and _in_a_notebook() else None
    collector = start(survey, database, options)
    if view is not None:
        view(collector)
    return collector


def _view() -> Callable[[Collector], None]:
    """What shows a collection live; fetched before one is started, because a package may be missing."""
    from toolkit.show.widgets.collector_view import display_collector

    return display_collector


def _in_a_notebook() -> bool:
    """Whether a kernel runs this: only then is there somebody to show it to."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def start(survey: Survey | str | Path, database: str | None = None, options: ServeOptions = DEFAULTS) -> Collector:
    """Open a collection and start its server in the background, or find the server that runs already."""
    background.check_system()
    collector, options = prepare(survey, database, options)
    if background.find(collector.database) is None:
        port = options.port or int(collector._store.get_setting(PORT) or 0)
        server = background.launch(collector.database, replace(options, port=port))
        collector._set(PORT, str(server.port))
    return collector


def prepare(
    survey: Survey | str | Path, database: str | None = None, options: ServeOptions = DEFAULTS, *, keep_key: bool = True
) -> tuple[Collector, ServeOptions]:
    """Make the collection if need be, and open it; no server starts.

    The options are returned with the file of the issuer's key, if the collection has one. With `keep_key` its path is
    stored with the collection; each of several servers may have a file of its own.
    """
    survey = survey if isinstance(survey, Survey) else _load_survey(survey)
    survey = replace(survey, rehearsal=True) if options.rehearsal else survey
    check_network_exposure(survey, options.host, options.public_url)
    _check_earlier(options.again)
    usual = "sqlite:///rehearsal.db" if survey.rehearsal else "sqlite:///survey.db"
    url = usual if database is None else database
    collector = Collector._make(survey, url, amend=options.amend, again=options.again)
    running = background.find(collector.database)
    if options.amend and running is not None:
        running.stop()  # it shows the earlier page
    _open(collector)
    if collector.survey.field is not None:
        from toolkit.survey.serving.station import StationKey

        StationKey.of(collector._store)
    if options.public_url is not None:
        collector._set(_PUBLIC_URL, options.public_url)
    return collector, replace(options, issuer_key=_issuer_key(collector, options.issuer_key, keep_key))


def check_exists(database: str) -> None:
    """Refuse a file that is not there before one is made; of files beside it the names are told."""
    url = absolute_url(database)
    path = Path(url.removeprefix("sqlite:///"))
    if not url.startswith("sqlite:///") or path.exists():
        return
    beside = ", ".join(sorted(one.name for one in path.parent.glob("*.db"))[:5])
    rule = "there must be a collection in the database"
    consequence = f"databases there are: {beside}" if beside else "collect(survey) makes one; or name another database"
    reject(rule, f"no file {path.name!r} in {str(path.parent)!r}", consequence, StoreError)


def _check_earlier(again: str | None) -> None:
    """The wave before must have ended its server: it has the port that phones know."""
    running = None if again is None else background.find(absolute_url(again))
    if running is not None:
        rule = "the wave before must have no server when the next one starts"
        consequence = "it has the port that phones know; close that wave first (toolkit close with its --database)"
        reject(rule, f"one that runs at {running.url}", consequence, background.CollectError)


def _load_survey(path: object) -> Survey:
    if not isinstance(path, str | Path):
        rule = "`survey` must be a Survey, or the path of its file"
        reject(rule, type(path).__name__, "make one with Survey(…)", TypeError)
    return Survey.load(path)


def _open(collector: Collector) -> None:
    """A draft is opened; what was paused stays so, and what was closed is closed."""
    state = collector._store.state()
    if state is State.CLOSED:
        consequence = "closing is final: use another database"
        reject("the collection must not be closed", "closed", consequence, background.CollectError)
    if state is State.DRAFT:
        collector.resume()


def _issuer_key(collector: Collector, path: str | Path | None, keep: bool) -> Path | None:
    """The file of the key that signs blind tokens: made once, then the same from any folder."""
    if collector.survey.access != "blind":
        return None
    from toolkit.survey.serving.blind import IssuerKey
    from toolkit.survey.serving.process import ISSUER, load_issuer_key

    store = collector._store
    target = Path(path or store.get_setting(KEY_FILE) or "issuer-key.pem").absolute()
    if not target.exists():
        if store.get_setting(ISSUER) is not None:
            rule = "the collection's issuer key must be there"
            reject(rule, f"no file {target}", "bring it back, or name it by issuer_key=")
        IssuerKey.generate().save(str(target))
    load_issuer_key(store, target)
    if keep:
        collector._set(KEY_FILE, str(target))
    return target


class RetryError(RuntimeError):
    """The server could not begin, but may if it is tried again: the database or the address was not free or absent."""


def serve(survey: Survey | str | Path, database: str | None = None, options: ServeOptions = DEFAULTS) -> None:
    """Collect answers from this process, where processes are supervised already: systemd, a container, a terminal.

    Nothing goes to the background, errors are written to stderr, and SIGTERM and SIGINT end it when what has begun is
    finished. It holds the same lock as a server in the background, so `status` and `close` of the same user find it.

    Raises `AgainError` if trying again may help. A port or a key's file that is given is not stored with the
    collection: each of several servers has its own, and a server need not have the right to write more than reports.
    """
    background.check_system()
    from toolkit.survey.serving import process
    from toolkit.survey.serving.lock import LockedError

    survey = survey if isinstance(survey, Survey) else Survey.load(survey)  # what is wrong with it stays wrong
    try:
        collector, prepared = prepare(survey, database, options, keep_key=options.issuer_key is None)
        port = options.port or _port(collector, options.host)
        collector._disconnect()  # the server has a connection of its own
        state = background.lock_path(collector.database)
        process.serve(collector.database, replace(prepared, port=port), state=state)
    except (StoreError, LockedError, OSError) as problem:
        raise RetryError(str(problem)) from None


def _port(collector: Collector, host: str) -> int:
    """The collection's own port; if it has none yet, a free one, which is stored."""
    if (known := collector._store.get_setting(PORT)) is not None:
        return int(known)
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
        port: int = free.getsockname()[1]
    collector._set(PORT, str(port))
    return port


_SQLITE = (
    "Not reached: copies and backups of the file, snapshots of its disk, and the blocks where it lay, which keep its "
    "content until they are written to again (encrypted disks are safe from that)."
)
_POSTGRES = (
    "Not reached: dumps and other backups of the database, its log of changes (WAL) and where that is archived, "
    "replicas that lag, and the blocks where the tables lay. Whoever runs the database decides how long these live."
)
_EXPORTS = "Not reached: exported files, and what was computed from the reports."


def describe_deletable(database: str) -> tuple[str, str]:
    """The title of a collection and a sentence about it, if it may be deleted: closed, and without a server."""
    check_exists(database)
    with closing(open_store(absolute_url(database))) as store:
        survey = store.survey()
        _check_deletable(store, absolute_url(database))
        title = survey.title[survey.languages[0]]
        return title, f"{title!r} is closed and holds {store.count():,} reports."


def delete(database: str) -> list[str]:
    """Remove a closed collection; sentences on what is beyond reach, and on what is left to do. What a program can keep
    of the promise of retention is to take away what it made: the reports, the tables or the file, the log and the
    note of its server. Copies were made by others, and only they can delete them.
    """
    url = absolute_url(database)
    with closing(open_store(url)) as store:
        _check_deletable(store, url)
        key = store.get_setting(KEY_FILE)
        store.delete()
    state = background.lock_path(url)
    log = background.log_path(state)
    for path in (state, log, log.with_name(f"{log.name}.1")):
        path.unlink(missing_ok=True)
    keys = (
        []
        if key is None
        else [f"The key that signed its blind tokens is in {key}: delete it, if no other collection uses it."]
    )
    return [_SQLITE if url.startswith("sqlite") else _POSTGRES, _EXPORTS, *keys]


def _check_deletable(store: Collection, url: str) -> None:
    state = store.state()
    if state is not State.CLOSED:
        reject("a collection must be closed before it is deleted", state.value, "close it first; nothing was deleted")
    if background.find(url) is not None:
        reject(
            "a collection must have no server when it is deleted", "one that runs", "stop it first; nothing was deleted"
        )
