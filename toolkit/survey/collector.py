"""`Collector` starts, monitors, closes and reads a collection, from a notebook or the command line."""

import socket
import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.core.checks import reject, warn
from toolkit.survey.export import write
from toolkit.survey.results import Results, estimate
from toolkit.survey.results.table import checked_groups, reports_table
from toolkit.survey.serving import background
from toolkit.survey.serving.options import DEFAULTS, THIS_MACHINE, ServeOptions, check_network_exposure
from toolkit.survey.spec import Survey
from toolkit.survey.storage import Collection, State, StoreError, absolute_url, open_store
from toolkit.survey.storage.editions import page_mismatch
from toolkit.survey.storage.stepwise_disclosure import disclose, disclosed_count, disclosure_note, disclosure_remarks

if TYPE_CHECKING:
    import pandas as pd


PORT_SETTING, _PUBLIC_URL_SETTING, KEY_FILE_SETTING = "port", "public url", "issuer's key"


@dataclass(frozen=True)
class Status:
    """The status of a collection.

    Parameters
    ----------
    state : str
        "draft", "open", "paused" or "closed".
    n_reports : int
        Number of reports in the results; this number grows in steps.
    cap : int or None
        Largest number of reports that the survey accepts.
    is_serving : bool
        Whether a server of the same user is running on this machine.
    url : str or None
        The link for respondents.
    log : tuple of str
        The most recent errors of the server.
    n_stored : int
        Number of stored reports.
    n_outstanding_uses : int
        Number of station uses that have been neither spent nor returned.

    Examples
    --------
    With an open collection::

        collector.status().state  # "open"
    """

    state: str
    n_reports: int
    cap: int | None
    is_serving: bool
    url: str | None
    log: tuple[str, ...] = ()
    n_stored: int = 0
    n_outstanding_uses: int = 0


class Collector:
    """A running or finished collection, with its database and its server.

    Create a collector with `toolkit.collect(survey)`, or for an existing database with `Collector.attach(database)`.
    The server keeps running when this object is deleted.

    Parameters
    ----------
    database : str
        URL of the database: sqlite:///file.db, or postgresql://user@host/database?schema=name.

    Examples
    --------
    With an open collection::

        collector = Collector.attach("sqlite:///campus.db")
        collector.results(by="faculty")
    """

    def __init__(self, database: str) -> None:
        self.database = absolute_url(database)
        self._store: Collection = open_store(self.database)
        weakref.finalize(self, self._store.close)  # users of notebooks do not close their objects

    @cached_property
    def survey(self) -> Survey:
        """The survey of the latest page."""
        return self._store.survey()

    @classmethod
    def attach(cls, database: str) -> "Collector":
        """Find the collection in a database, for example after a restart of the kernel.

        A running server is not affected. A warning is issued if this version of the toolkit generates a page that
        differs from the collection's page. The results do not depend on the page.

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
        check_database_exists(database)
        collector = cls(database)
        mismatch = page_mismatch(collector.survey, collector._store.editions())
        if mismatch is not None and collector._store.state() is not State.CLOSED:
            warn(
                f"This version of the toolkit generates a different page from the collection's: {mismatch}. Results do "
                "not depend on the page; to serve the collection, use the version that created it, or amend=True."
            )
        return collector

    @classmethod
    def _create(cls, survey: Survey, database: str, *, amend: bool, previous_database: str | None) -> "Collector":
        collector = cls(database)
        if amend:
            collector._store.amend(survey)
        if previous_database is None:
            collector._store.create(survey)
        else:
            with closing(open_store(absolute_url(previous_database), readonly=True)) as previous_wave:
                collector._store.create_next_wave(survey, previous_wave, (PORT_SETTING, _PUBLIC_URL_SETTING))
        return collector

    @property
    def url(self) -> str:
        """The link for respondents: the public URL of the collection, or otherwise the address of its server."""
        url = self.status().url
        if url is None:
            reject("a link needs a running server", "none", "start it again with collect()", background.CollectError)
        return url

    def status(self) -> Status:
        """Return the status of the collection.

        Returns
        -------
        Status
            The state, the number of reports, and the server.
        """
        server = background.find_server(self.database)
        url = self._store.get_setting(_PUBLIC_URL_SETTING) or (server.url if server else None)
        log = background.log_tail(self.database)
        state, n_stored = self._store.state(), self._store.count_reports()
        n_reports = n_stored if state is State.CLOSED else disclosed_count(self.survey, n_stored)
        n_uses = self._store.count_outstanding_uses()
        return Status(state.value, n_reports, self.survey.cap, server is not None, url, log, n_stored, n_uses)

    def reports(self) -> "pd.DataFrame":
        """Read the reports, one row per person, in random order.

        While a collection is open, reports are disclosed in steps of `survey.step`, beginning when there are
        `survey.minimum` reports. Every reader gets the same reports.

        Returns
        -------
        pandas.DataFrame
            All reports of a closed collection, or the disclosed reports of an open collection; `attrs["remarks"]`
            states how many are missing.
        """
        visible = disclose(self._store, self.survey)
        frame = reports_table(self.survey, visible.bodies)
        frame.attrs["remarks"] = list(disclosure_remarks(self.survey, visible))
        if len(frame) < visible.n_stored:
            warn(disclosure_note(self.survey, visible))
        return frame

    def results(
        self, by: Sequence[str] | str | None = None, *, method: str | None = None, minimum: int | None = None
    ) -> Results:
        """Estimate each question, overall or by group.

        Results of an open collection use the reports that `reports` returns, so they change in the same steps.

        Parameters
        ----------
        by : str or sequence of str, optional
            Plain questions whose answers define the groups.
        method : str, optional
            "mle" for maximum likelihood, which keeps shares between 0 and 1; by default the estimates are unbiased.
        minimum : int, optional
            Number of people below which an estimate is withheld; by default the survey's minimum. If a different number
            is given, the results mention it.

        Returns
        -------
        Results
            The estimates, as returned by `toolkit.survey.results.estimate`.
        """
        groups = checked_groups(self.survey, by)
        visible = disclose(self._store, self.survey, groups)
        results = estimate(self.survey, reports_table(self.survey, visible.bodies), by, method=method, minimum=minimum)
        notes = (*results.remarks, *disclosure_remarks(self.survey, visible, groups))
        return replace(results, remarks=notes, complete=not visible.is_open)

    def export(self, path: str | Path, *, language: str | None = None) -> Path:
        """Write the table of `reports` to a file that only its owner can read, with a codebook beside it.

        Parameters
        ----------
        path : str or Path
            A .csv, .parquet or .feather file, or a file with labels for SPSS (.sav) or Stata (.dta).
        language : str, optional
            Language of the labels; by default the survey's first language.

        Returns
        -------
        Path
            The file. The remarks in its codebook state whether reports are missing.
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
        """Write a report on a closed collection, which withholds estimates for groups below the survey's minimum.

        Parameters
        ----------
        path : str or Path
            A .html, .docx, .pdf or .md file.
        by : str or sequence of str, optional
            Plain questions whose answers define the groups.
        level : float
            Confidence level of the intervals.
        method : str, optional
            "mle" for maximum likelihood, which keeps shares between 0 and 1; by default the estimates are unbiased.
        registration : str or Path, optional
            Preregistration file; the report marks as exploratory any result that was not registered.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ValueError
            If the collection is not closed, or the registration belongs to another survey.
        """
        if self._store.state() is not State.CLOSED:
            rule = "a report needs a closed collection"
            why = "the report would soon be out of date; close() the collection, or use results()"
            reject(rule, "one that is not closed", why)
        results = self.results(by, method=method)
        return (results if registration is None else results.registered(registration)).report(path, level=level)

    def invitations(self, count: int) -> list[str]:
        """Make personal links, each of which works once.

        The collection stores only their hashes. The links reveal nothing about the reports, but a person who has the
        list can see which links were used, and can use other people's links.

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
            reject("single-use links need access by token or blind", "open", "everybody may answer without a link")
        if self._store.state() is State.CLOSED:
            reject("invitations need a collection that is not closed", "closed", "nobody could use them")
        url, tokens = self.url, new_tokens(count)  # `url` raises an error before a token is made
        self._store.invite(token_hash(token) for token in tokens)
        return [token_link(url, token) for token in tokens]

    def station(self, uses: int) -> str:
        """Make a link for a station, a device of the researchers on which `uses` people can answer.

        Open the link once on the device while it is online; people can then answer offline. Anybody who has the link
        can send this number of reports, but learns nothing about reports that were sent. If a second link is opened on
        the same device, its uses are added to the remaining uses of the first link.

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
        self._store.invite((token_hash(token) for token in tokens), for_station=True)
        return link

    def pause(self) -> None:
        """Stop accepting reports for now; phones keep their reports and try again later."""
        self._store.set_state(State.PAUSED)

    def resume(self) -> None:
        """Accept reports again."""
        self._store.set_state(State.OPEN)

    def close(self, *, anyway: bool = False) -> Status:
        """Close the collection permanently: stop its server and remove all traces of the order of the reports.

        The key that decrypts reports from stations is deleted as well. A station returns its remaining uses when it is
        removed from its tablet.

        Parameters
        ----------
        anyway : bool
            Whether to close even if stations have outstanding uses; reports that are still waiting on a tablet are
            lost.

        Returns
        -------
        Status
            The status after closing.

        Raises
        ------
        ValueError
            If stations have outstanding uses and `anyway` is false.
        """
        n_uses = self._store.count_outstanding_uses()
        if n_uses and not anyway:
            rule = "stations must return their remaining uses before a collection is closed"
            remedy = (
                "reports that wait on tablets could never be decrypted. Let every tablet send its reports, and remove "
                "its station; or give these reports up with close(anyway=True) or `toolkit close --anyway`"
            )
            reject(rule, f"{n_uses:,} outstanding {'use' if n_uses == 1 else 'uses'}", remedy)
        server = background.find_server(self.database)
        if server is not None:
            server.stop()
        self._store.set_state(State.CLOSED)
        return self.status()

    def _store_setting(self, name: str, value: str) -> None:
        """Store a setting unless it already has this value, since a server may lack the privilege to write settings."""
        if self._store.get_setting(name) != value:
            self._store.set_setting(name, value)

    def _disconnect(self) -> None:
        """Close the connection to the database; it is opened again at the next use."""
        self._store.close()

    def __repr__(self) -> str:
        status = self.status()
        count = f"{status.n_stored:,} report{'' if status.n_stored == 1 else 's'}"
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
    previous_wave: str | None = None,
) -> Collector:
    """Collect answers on respondents' own phones: create the database, open the collection, and serve the form.

    The server is a separate process that keeps running after the notebook's kernel ends; the same call reconnects to
    it. A notebook shows the link, its QR code and the number of reports. Once the survey's minimum is reached, it also
    shows the estimates so far, which change in steps.

    Parameters
    ----------
    survey : Survey, str or Path
        A survey, or its .toml or .json file.
    database : str, optional
        URL of the database: sqlite:///file.db (default sqlite:///survey.db), or
        postgresql://user@host/database?schema=name.
    watch : bool
        Whether to display the collection in a notebook.
    rehearsal : bool
        Whether this is a trial with simulated people (`toolkit.rehearse`) or colleagues. All screens, results and
        files are marked as a rehearsal, its reports cannot be mixed with real ones, and the default database is
        sqlite:///rehearsal.db.
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
        The address that respondents use, if the server is behind a proxy.
    prefix : str
        The path below which the proxy forwards requests.
    plain_http_beyond_this_machine : bool
        Whether to serve other machines without TLS, although anybody on the network could then change the page.
    workers : int
        Number of server processes, which keep a collection available if one dies but do not make it faster. More than
        one process requires PostgreSQL.
    amend : bool
        Whether to continue a collection that was created by a different version of the toolkit, or whose title, consent
        text or page texts were corrected. From then on respondents see the new page; reports from the earlier page
        remain valid.
    previous_wave : str, optional
        The database of the previous wave, which may be closed. Its links work in this wave as well, and its port is
        reused, because phones find their stored draws only under the same scheme, host and port.

    Returns
    -------
    Collector
        The running collection.

    Examples
    --------
    With an open collection::

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
        previous_wave=previous_wave,
    )
    display = _import_display() if watch and _in_a_notebook() else None
    collector = start(survey, database, options)
    if display is not None:
        display(collector)
    return collector


def _import_display() -> Callable[[Collector], None]:
    """Return the function that displays a collection; a missing package is thus reported before the server starts."""
    from toolkit.show.widgets.collector_view import display_collector

    return display_collector


def _in_a_notebook() -> bool:
    """Return whether this code runs in a Jupyter kernel."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def start(survey: Survey | str | Path, database: str | None = None, options: ServeOptions = DEFAULTS) -> Collector:
    """Open a collection and start its server in the background, unless one is already running."""
    background.check_system()
    collector, options = prepare(survey, database, options)
    if background.find_server(collector.database) is None:
        port = options.port or int(collector._store.get_setting(PORT_SETTING) or 0)
        server = background.launch(collector.database, replace(options, port=port))
        collector._store_setting(PORT_SETTING, str(server.port))
    return collector


def prepare(
    survey: Survey | str | Path,
    database: str | None = None,
    options: ServeOptions = DEFAULTS,
    *,
    store_key_path: bool = True,
) -> tuple[Collector, ServeOptions]:
    """Create the collection if necessary and open it, without starting a server.

    The returned options contain the file of the issuer's key, if the collection has one. With `store_key_path` the path
    of this file is stored with the collection. Different servers may use different files.
    """
    survey = survey if isinstance(survey, Survey) else _load_survey_file(survey)
    survey = replace(survey, rehearsal=True) if options.rehearsal else survey
    check_network_exposure(survey, options)
    _check_previous_wave_stopped(options.previous_wave)
    default = "sqlite:///rehearsal.db" if survey.rehearsal else "sqlite:///survey.db"
    url = default if database is None else database
    collector = Collector._create(survey, url, amend=options.amend, previous_database=options.previous_wave)
    running = background.find_server(collector.database)
    if options.amend and running is not None:
        running.stop()  # the server still serves the earlier page
    _open_draft(collector)
    if collector.survey.field is not None:
        from toolkit.survey.serving.station import StationKey

        StationKey.load_or_create(collector._store)
    if options.public_url is not None:
        collector._store_setting(_PUBLIC_URL_SETTING, options.public_url)
    return collector, replace(options, issuer_key=_prepare_issuer_key(collector, options.issuer_key, store_key_path))


def check_database_exists(database: str) -> None:
    """Reject an SQLite file that does not exist; the error lists the databases in the folder."""
    url = absolute_url(database)
    path = Path(url.removeprefix("sqlite:///"))
    if not url.startswith("sqlite:///") or path.exists():
        return
    existing = ", ".join(sorted(file.name for file in path.parent.glob("*.db"))[:5])
    rule = "there must be a collection in the database"
    consequence = (
        f"this folder has {existing}" if existing else "create one with collect(survey), or use another database"
    )
    reject(rule, f"no file {path.name!r} in {str(path.parent)!r}", consequence, StoreError)


def _check_previous_wave_stopped(previous_database: str | None) -> None:
    """Reject a previous wave whose server is still running, because the next wave needs its port."""
    running = None if previous_database is None else background.find_server(absolute_url(previous_database))
    if running is not None:
        rule = "the previous wave must have no server when the next one starts"
        consequence = "it uses the port that phones know; close that wave first (toolkit close with its --database)"
        reject(rule, f"one that is running at {running.url}", consequence, background.CollectError)


def _load_survey_file(path: object) -> Survey:
    if not isinstance(path, str | Path):
        rule = "`survey` must be a Survey, or the path of its file"
        reject(rule, type(path).__name__, "make one with Survey(…)", TypeError)
    return Survey.load(path)


def _open_draft(collector: Collector) -> None:
    """Open a draft, keep a paused collection paused, and reject a closed one."""
    state = collector._store.state()
    if state is State.CLOSED:
        consequence = "closing is final: use another database"
        reject("the collection must not be closed", "closed", consequence, background.CollectError)
    if state is State.DRAFT:
        collector.resume()


def _prepare_issuer_key(collector: Collector, path: str | Path | None, store_path: bool) -> Path | None:
    """Return the file of the key that signs blind tokens; generate the key the first time."""
    if collector.survey.access != "blind":
        return None
    from toolkit.survey.serving.blind import IssuerKey
    from toolkit.survey.serving.process import ISSUER_SETTING, load_issuer_key

    store = collector._store
    file = Path(path or store.get_setting(KEY_FILE_SETTING) or "issuer-key.pem").absolute()
    if not file.exists():
        if store.get_setting(ISSUER_SETTING) is not None:
            rule = "the issuer's key file must exist"
            reject(rule, f"no file {file}", "restore it, or give its path as issuer_key=")
        IssuerKey.generate().save(str(file))
    load_issuer_key(store, file)
    if store_path:
        collector._store_setting(KEY_FILE_SETTING, str(file))
    return file


class RetryError(RuntimeError):
    """The server could not start, but a retry may succeed: the database was unreachable, or the port was in use."""


def serve(survey: Survey | str | Path, database: str | None = None, options: ServeOptions = DEFAULTS) -> None:
    """Collect answers in this process, for use under systemd, in a container or in a terminal.

    Errors are written to stderr. On SIGTERM or SIGINT the server finishes the requests in progress and stops. It holds
    the same lock as a background server, so that `status` and `close` find it if the same user calls them.

    Raises `RetryError` if a retry may succeed. A port or a key file in `options` is not stored with the collection,
    because servers may use different ports and files, and need only the privilege to write reports.
    """
    background.check_system()
    from toolkit.survey.serving import process
    from toolkit.survey.serving.lock import LockedError

    # This is outside of `try`, because a retry would not help if the survey is invalid.
    survey = survey if isinstance(survey, Survey) else Survey.load(survey)
    try:
        collector, prepared = prepare(survey, database, options, store_key_path=options.issuer_key is None)
        port = options.port or _choose_port(collector, options.host)
        collector._disconnect()  # the server opens its own connection
        lock_file = background.lock_path(collector.database)
        process.serve(collector.database, replace(prepared, port=port), lock_file=lock_file)
    except (StoreError, LockedError, OSError) as problem:
        raise RetryError(str(problem)) from None


def _choose_port(collector: Collector, host: str) -> int:
    """Return the port of the collection; if it has none yet, choose a free port and store it."""
    if (stored := collector._store.get_setting(PORT_SETTING)) is not None:
        return int(stored)
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
        port: int = free.getsockname()[1]
    collector._store_setting(PORT_SETTING, str(port))
    return port


_SQLITE_COPIES = (
    "Not deleted: copies and backups of the file, snapshots of its disk, and its freed disk blocks, which keep their "
    "content until they are overwritten (this is harmless on encrypted disks)."
)
_POSTGRES_COPIES = (
    "Not deleted: dumps and other backups of the database, its write-ahead log (WAL) and archives of it, lagging "
    "replicas, and the freed disk blocks of the tables. The operator of the database decides how long these are kept."
)
_EXPORTED_COPIES = "Not deleted: exported files and results computed from the reports."


def describe_deletable(database: str) -> tuple[str, str]:
    """Return a collection's title and a description; raise an error if it is open or has a running server."""
    check_database_exists(database)
    with closing(open_store(absolute_url(database))) as store:
        survey = store.survey()
        _check_deletable(store, absolute_url(database))
        title = survey.title[survey.languages[0]]
        return title, f"{title!r} is closed and holds {store.count_reports():,} reports."


def delete(database: str) -> list[str]:
    """Delete a closed collection; return messages about copies that may remain elsewhere.

    This deletes the tables or the file with the reports, and the server's log and lock file. It cannot delete copies
    that others have made.
    """
    url = absolute_url(database)
    with closing(open_store(url)) as store:
        _check_deletable(store, url)
        key_file = store.get_setting(KEY_FILE_SETTING)
        store.delete()
    lock_file = background.lock_path(url)
    log = background.log_path(lock_file)
    for path in (lock_file, log, log.with_name(f"{log.name}.1")):
        path.unlink(missing_ok=True)
    keys = (
        []
        if key_file is None
        else [f"The key that signed its blind tokens is in {key_file}: delete it, if no other collection uses it."]
    )
    return [_SQLITE_COPIES if url.startswith("sqlite") else _POSTGRES_COPIES, _EXPORTED_COPIES, *keys]


def _check_deletable(store: Collection, url: str) -> None:
    state = store.state()
    if state is not State.CLOSED:
        reject("a collection must be closed before it is deleted", state.value, "close it first; nothing was deleted")
    if background.find_server(url) is not None:
        reject(
            "a collection must have no server when it is deleted",
            "one that is running",
            "stop it first; nothing was deleted",
        )
