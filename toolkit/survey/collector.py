"""`Collector` starts, monitors, closes and reads a collection, from a notebook or the command line."""

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
    """The status of a collection.

    Parameters
    ----------
    state : str
        "draft", "open", "paused" or "closed".
    reports : int
        Number of reports in the results, which grows in the same steps as the results.
    cap : int or None
        Largest number of reports that the survey accepts.
    serving : bool
        Whether a server of the same user is running on this machine.
    url : str or None
        The link for respondents.
    log : tuple of str
        The last errors of the server.
    stored : int
        Number of stored reports.
    uses_out : int
        Number of uses that were given to stations and are neither used nor returned.

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
    """A running or finished collection, with its database and its server.

    Create one with `toolkit.collect(survey)`, or for an existing database with `Collector.attach(database)`. The server
    keeps running when this object is deleted.

    Parameters
    ----------
    database : str
        URL of the database: sqlite:///file.db, or postgresql://user@host/database?schema=name.

    Examples
    --------
    With a collection that is open::

        collector = Collector.attach("sqlite:///campus.db")
        collector.results(by="faculty")
    """

    def __init__(self, database: str) -> None:
        self.database = absolute_url(database)
        self._store: Collection = open_store(self.database)
        weakref.finalize(self, self._store.close)  # users of notebooks do not close their variables
        self.survey: Survey = self._store.survey()

    @classmethod
    def attach(cls, database: str) -> "Collector":
        """Find the collection in a database, for example after a restart of the kernel.

        A server that is running keeps running. Results do not depend on the page; if this version of the toolkit makes
        another page than the collection's, a warning says so.

        Parameters
        ----------
        database : str
            URL of the database.

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
        """The link for respondents: the public URL of the collection, or else the address of its server."""
        url = self.status().url
        if url is None:
            reject("a link needs a running server", "none", "start it again with collect()", background.CollectError)
        return url

    def status(self) -> Status:
        """Return the status of the collection.

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

        While a collection is open, reports are disclosed in steps of `survey.step`, and none below `survey.minimum`.
        Every reader gets the same reports.

        Returns
        -------
        pandas.DataFrame
            All reports of a closed collection, and whole steps of an open one; `attrs["remarks"]` describe the
            difference.
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
        """Estimate each question, overall or by groups; results of an open collection advance in steps as `reports` do.

        Parameters
        ----------
        by : str or sequence of str, optional
            Plain questions whose answers define the groups.
        method : str, optional
            "mle" for shares inside 0 to 1; by default the estimates are unbiased.
        minimum : int, optional
            Number of people below which an estimate is withheld, by default the survey's. The results mention a
            different number.

        Returns
        -------
        Results
            The estimates, as from `toolkit.survey.results.estimate`.
        """
        groups = checked_groups(self.survey, by)
        visible = disclose(self._store, self.survey, groups)
        results = estimate(self.survey, table(self.survey, visible.bodies), by, method=method, minimum=minimum)
        notes = (*results.remarks, *disclosure_remarks(self.survey, visible, groups))
        return replace(results, remarks=notes, complete=not visible.is_open)

    def export(self, path: str | Path, *, language: str | None = None) -> Path:
        """Write the table of `reports` to a file that only its owner can read, with a codebook beside it.

        Parameters
        ----------
        path : str or Path
            A .csv, .parquet or .feather file, or with labels a .sav file for SPSS or a .dta file for Stata.
        language : str, optional
            Language of the labels, by default the first of the survey.

        Returns
        -------
        Path
            The file. The remarks of its codebook tell whether reports are missing.
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
        """Write a report on a closed collection for readers; estimates of groups below its minimum are withheld.

        Parameters
        ----------
        path : str or Path
            A .html, .docx, .pdf or .md file.
        by : str or sequence of str, optional
            Plain questions whose answers define the groups.
        level : float
            Confidence level of the intervals.
        method : str, optional
            "mle" for shares inside 0 to 1; by default the estimates are unbiased.
        registration : str or Path, optional
            File of a preregistration; the report then marks exploratory results.

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
            rule = "a report needs a closed collection"
            reject(rule, "one that is not", "it would soon be out of date; close() the collection, or use results()")
        results = self.results(by, method=method)
        return (results if registration is None else results.registered(registration)).report(path, level=level)

    def invitations(self, count: int) -> list[str]:
        """Make personal links, each of which works once.

        The collection does not store them. They reveal nothing about the reports, but a person who has the list can see
        whose link was used, and use other people's links.

        Parameters
        ----------
        count : int
            Number of links.

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
            reject("links that work once need access by token or blind", "open", "everybody may answer without one")
        if self._store.state() is State.CLOSED:
            reject("invitations need a collection that is not closed", "closed", "nobody could use them")
        url, tokens = self.url, new_tokens(count)  # `url` raises an error before a token is made
        self._store.invite(token_hash(token) for token in tokens)
        return [token_link(url, token) for token in tokens]

    def station(self, uses: int) -> str:
        """Make a link for a station, a device of the researchers on which `uses` people can answer.

        Open it once on the device while there is a network; people can then answer without one. The link admits that
        many reports, whoever holds it, and reveals nothing about reports that were sent. A second link, opened on the
        same device, adds its uses.

        Parameters
        ----------
        uses : int
            Number of people.

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
            rule = "a station needs a survey with a [field] section"
            reject(rule, "none", 'add [field] with station = "kiosk" or "interviewer", and access = "token"')
        link, tokens = new_station_link(self.url, uses)
        self._store.invite((token_hash(token) for token in tokens), station=True)
        return link

    def pause(self) -> None:
        """Accept no reports for now; phones keep theirs and try again."""
        self._store.set_state(State.PAUSED)

    def resume(self) -> None:
        """Accept reports again."""
        self._store.set_state(State.OPEN)

    def close(self, *, anyway: bool = False) -> Status:
        """Close the collection for good: stop its server and remove all traces of the reports' order.

        The key that decrypts the reports of stations is deleted as well. A station returns its unused uses when it is
        removed from its tablet.

        Parameters
        ----------
        anyway : bool
            Whether to give up outstanding uses of stations, and the reports that wait on their tablets.

        Returns
        -------
        Status
            The status after closing.

        Raises
        ------
        ValueError
            If stations have outstanding uses, unless `anyway`.
        """
        out = self._store.uses_out()
        if out and not anyway:
            rule = "stations must return their unused uses before a collection is closed"
            remedy = (
                "reports that wait on tablets could never be decrypted. Let every tablet send its reports, and remove "
                "its station; or give them up with close(anyway=True) or `toolkit close --anyway`"
            )
            reject(rule, f"{out:,} that {'is' if out == 1 else 'are'} out", remedy)
        server = background.find(self.database)
        if server is not None:
            server.stop()
        self._store.set_state(State.CLOSED)
        return self.status()

    def _set(self, name: str, value: str) -> None:
        """Store a setting unless it has this value already, since a server may lack the privilege to write settings."""
        if self._store.get_setting(name) != value:
            self._store.set_setting(name, value)

    def _disconnect(self) -> None:
        """Close the connection to the database; it is opened again at the next use."""
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
    """Collect answers on respondents' own phones: create the database, open the collection, and serve the form.

    The server is a separate process that keeps running when the notebook's kernel ends; the same call finds it again. A
    notebook shows the link, its QR code, the number of reports and, in steps from the survey's minimum on, the
    estimates so far.

    Parameters
    ----------
    survey : Survey, str or Path
        A survey, or its .toml or .json file.
    database : str, optional
        URL: sqlite:///file.db (default sqlite:///survey.db), or postgresql://user@host/database?schema=name.
    watch : bool
        Whether to display the collection in a notebook.
    rehearsal : bool
        Whether this is a trial with invented people (`toolkit.rehearse`) or colleagues. All screens, results and files
        say so, its reports cannot be mixed with real ones, and the default database is sqlite:///rehearsal.db.
    host : str
        Address to listen on. Other machines can be served only with `certificate` and `private_key`.
    port : int
        Port to listen on. The default 0 chooses a free port once and stores it with the collection, so that links
        remain valid when the server is started again.
    certificate, private_key : str or Path, optional
        PEM files for TLS.
    issuer_key : str or Path, optional
        PEM file of the key that signs blind tokens; generated if it does not exist.
    public_url : str, optional
        The address that respondents use, if there is a proxy.
    prefix : str
        The path below which the proxy forwards requests.
    plain_http_beyond_this_machine : bool
        Whether to serve other machines without TLS; anybody on the network could then change the page.
    workers : int
        Number of server processes, which keep a collection available if one dies but do not make it faster. More than
        one needs PostgreSQL.
    amend : bool
        Whether to continue a collection that another version of the toolkit created, or whose title, consent or words
        were corrected. Respondents see the new page from then on, and reports from the earlier page stay valid.
    again : str, optional
        The database of the previous wave, which may be closed. Its links work in this wave as well, and its port is
        reused, because phones find their stored draws only under the same scheme, host and port.

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
    """Return the function that displays a collection; it is imported first, because a package may be missing."""
    from toolkit.show.widgets.collector_view import display_collector

    return display_collector


def _in_a_notebook() -> bool:
    """Tell whether this code runs in a Jupyter kernel."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def start(survey: Survey | str | Path, database: str | None = None, options: ServeOptions = DEFAULTS) -> Collector:
    """Open a collection and start its server in the background, unless one is already running."""
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
    """Create the collection if necessary and open it, without starting a server.

    The options are returned with the file of the issuer's key, if the collection has one. With `keep_key` the path of
    this file is stored with the collection. Several servers may each have their own file.
    """
    survey = survey if isinstance(survey, Survey) else _load_survey(survey)
    survey = replace(survey, rehearsal=True) if options.rehearsal else survey
    check_network_exposure(survey, options.host, options.public_url)
    _check_earlier(options.again)
    default = "sqlite:///rehearsal.db" if survey.rehearsal else "sqlite:///survey.db"
    url = default if database is None else database
    collector = Collector._make(survey, url, amend=options.amend, again=options.again)
    running = background.find(collector.database)
    if options.amend and running is not None:
        running.stop()  # it serves the earlier page
    _open(collector)
    if collector.survey.field is not None:
        from toolkit.survey.serving.station import StationKey

        StationKey.of(collector._store)
    if options.public_url is not None:
        collector._set(_PUBLIC_URL, options.public_url)
    return collector, replace(options, issuer_key=_issuer_key(collector, options.issuer_key, keep_key))


def check_exists(database: str) -> None:
    """Raise an error that lists the databases in the folder if an SQLite file does not exist."""
    url = absolute_url(database)
    path = Path(url.removeprefix("sqlite:///"))
    if not url.startswith("sqlite:///") or path.exists():
        return
    others = ", ".join(sorted(file.name for file in path.parent.glob("*.db"))[:5])
    rule = "there must be a collection in the database"
    consequence = f"this folder has {others}" if others else "create one with collect(survey), or use another database"
    reject(rule, f"no file {path.name!r} in {str(path.parent)!r}", consequence, StoreError)


def _check_earlier(again: str | None) -> None:
    """Reject a previous wave whose server is still running, because the next wave needs its port."""
    running = None if again is None else background.find(absolute_url(again))
    if running is not None:
        rule = "the previous wave must have no server when the next one starts"
        consequence = "it uses the port that phones know; close that wave first (toolkit close with its --database)"
        reject(rule, f"one that is running at {running.url}", consequence, background.CollectError)


def _load_survey(path: object) -> Survey:
    if not isinstance(path, str | Path):
        rule = "`survey` must be a Survey, or the path of its file"
        reject(rule, type(path).__name__, "make one with Survey(…)", TypeError)
    return Survey.load(path)


def _open(collector: Collector) -> None:
    """Open a draft; leave a paused collection paused, and reject a closed one."""
    state = collector._store.state()
    if state is State.CLOSED:
        consequence = "closing is final: use another database"
        reject("the collection must not be closed", "closed", consequence, background.CollectError)
    if state is State.DRAFT:
        collector.resume()


def _issuer_key(collector: Collector, path: str | Path | None, keep: bool) -> Path | None:
    """Return the file of the key that signs blind tokens; generate the key the first time."""
    if collector.survey.access != "blind":
        return None
    from toolkit.survey.serving.blind import IssuerKey
    from toolkit.survey.serving.process import ISSUER, load_issuer_key

    store = collector._store
    target = Path(path or store.get_setting(KEY_FILE) or "issuer-key.pem").absolute()
    if not target.exists():
        if store.get_setting(ISSUER) is not None:
            rule = "the file of the issuer's key must exist"
            reject(rule, f"no file {target}", "restore it, or give its path as issuer_key=")
        IssuerKey.generate().save(str(target))
    load_issuer_key(store, target)
    if keep:
        collector._set(KEY_FILE, str(target))
    return target


class RetryError(RuntimeError):
    """The server could not start, but may if it is tried again: the database was unreachable, or the port in use."""


def serve(survey: Survey | str | Path, database: str | None = None, options: ServeOptions = DEFAULTS) -> None:
    """Collect answers in this process, which systemd, a container or a terminal supervises.

    Errors are written to stderr, and SIGTERM and SIGINT stop the server after the requests that have begun. It holds
    the same lock as a background server, so `status` and `close` of the same user find it.

    Raises `RetryError` if trying again may help. A given port or key file is not stored with the collection: each of
    several servers has its own, and a server needs no privilege to write anything but reports.
    """
    background.check_system()
    from toolkit.survey.serving import process
    from toolkit.survey.serving.lock import LockedError

    # Outside of `try`, because loading an invalid survey again does not help.
    survey = survey if isinstance(survey, Survey) else Survey.load(survey)
    try:
        collector, prepared = prepare(survey, database, options, keep_key=options.issuer_key is None)
        port = options.port or _port(collector, options.host)
        collector._disconnect()  # the server opens its own connection
        state = background.lock_path(collector.database)
        process.serve(collector.database, replace(prepared, port=port), state=state)
    except (StoreError, LockedError, OSError) as problem:
        raise RetryError(str(problem)) from None


def _port(collector: Collector, host: str) -> int:
    """Return the collection's port; if it has none yet, choose a free port and store it."""
    if (stored := collector._store.get_setting(PORT)) is not None:
        return int(stored)
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
        port: int = free.getsockname()[1]
    collector._set(PORT, str(port))
    return port


_SQLITE = (
    "Not deleted: copies and backups of the file, snapshots of its disk, and its freed disk blocks, which keep their "
    "content until they are overwritten (this is harmless on encrypted disks)."
)
_POSTGRES = (
    "Not deleted: dumps and other backups of the database, its write-ahead log (WAL) and archives of it, lagging "
    "replicas, and the freed disk blocks of the tables. The operator of the database decides how long these are kept."
)
_EXPORTS = "Not deleted: exported files and results computed from the reports."


def describe_deletable(database: str) -> tuple[str, str]:
    """Return the title of a collection and a sentence about it; raise an error if it is open or has a server."""
    check_exists(database)
    with closing(open_store(absolute_url(database))) as store:
        survey = store.survey()
        _check_deletable(store, absolute_url(database))
        title = survey.title[survey.languages[0]]
        return title, f"{title!r} is closed and holds {store.count():,} reports."


def delete(database: str) -> list[str]:
    """Delete a closed collection; return sentences about copies that remain elsewhere.

    The reports, the tables or the file, the log and the lock file of the server are deleted. Copies that others have
    made are beyond the program's reach.
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
            "a collection must have no server when it is deleted",
            "one that is running",
            "stop it first; nothing was deleted",
        )
