"""A collection in a database: which operations happen in which order, independent of the database.

`add` checks and stores a batch in one transaction and returns when it is durable, so that a phone can rely on the
response. After any failure, sending the same report again is right, because its key is stored once.

All that the promises depend on is in this module. `sqlite.py` and `postgres.py` implement the methods of `engine.py`
in their dialects, and document what their files reveal while a collection is open. A writing session locks the
collection before it is handed out: of several servers one decides at a time, and what it has read stays true until it
commits. So the cap is exact, a token is spent once, and a closed collection takes nothing more.

With open access only its key decides about a report, as long as there is room below the cap for a full batch of every
server that adds reports at this moment. Then servers share the lock, and only closing excludes them. The cap stays
exact: of the servers that share the lock, the last one to take it has seen all the others and left room for each.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import NoReturn

from toolkit.core.checks import reject
from toolkit.survey.questions.survey_fields import Panel, check_panel, is_over
from toolkit.survey.spec import Survey
from toolkit.survey.storage.editions import (
    check_amendment,
    check_next_wave,
    check_page,
    new_edition,
    read_survey,
    with_existing_panel,
    with_panel,
)
from toolkit.survey.storage.engine import Engine, Session
from toolkit.survey.storage.mixing import MIN_POOL, Pool, mix
from toolkit.survey.storage.protocol import (
    HASH_BYTES,
    MAX_BATCH,
    CollectionInfo,
    Decision,
    Edition,
    NewReport,
    Outcome,
    State,
    StoreError,
    decide,
)

PAGE_SIZE = 2000
"""Reports per page. Between two pages no transaction is open, so that a slow reader blocks nobody."""

# Settings with these prefixes are deleted on closing: which reports readers have seen, and the key of stations.
_DISCLOSURE_PREFIX, _STATION_PREFIX = "shown", "station"
# This setting has the SHA-256 of each use that a station was given, in hexadecimal digits.
_USES_SETTING = f"{_STATION_PREFIX} uses"

PAPER_SETTING = "paper"
"""Setting with the secret that derives keys from the numbers of sheets; without it no report leads to its sheet."""

_TRANSITIONS = {
    State.DRAFT: (State.OPEN, State.CLOSED),
    State.OPEN: (State.PAUSED, State.CLOSED),
    State.PAUSED: (State.OPEN, State.CLOSED),
    State.CLOSED: (),
}


class Collection:
    """A survey, its reports, and the tokens that admit further reports, in a database.

    Every method is one transaction and may be called from any thread.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.RLock()
        self._identity: tuple[str, int] | None = None
        self._is_shared = True  # servers may add reports concurrently until the cap is near
        self._survey_cache: tuple[str, Survey] | None = None
        self._edition_cache: tuple[Edition, Survey] | None = None

    @contextmanager
    def _reading(self) -> Iterator[tuple[Session, CollectionInfo]]:
        with self._lock, self._engine.reading() as session:
            yield session, self._check_info(session)

    @contextmanager
    def _writing(self) -> Iterator[tuple[Session, CollectionInfo]]:
        with self._lock, self._engine.writing(patient=True) as session:
            yield session, self._check_info(session)

    def create(self, survey: Survey, panel: Panel | None = None) -> None:
        """Create the collection as a draft; another collection in the database is rejected, the same one is not."""
        with self._lock:
            with self._engine.creating() as session:
                if session.info() is None:
                    new = with_panel(survey, panel)
                    session.insert_collection(CollectionInfo(new.hash, new.access, new.cap, State.DRAFT))
                    session.add_edition(new_edition(new))
                info, editions = session.info() or _reject_missing(), session.editions()
            check_page(with_existing_panel(survey, editions[-1]), editions)
            self._identity = info.hash, info.identity
            if info.state is State.CLOSED and not info.is_cleaned:  # its closing was interrupted
                self._engine.finish_closing()

    def create_next_wave(self, survey: Survey, earlier: "Collection", settings: Sequence[str] = ()) -> None:
        """Create the collection of the next wave, and invite everybody who was invited to the earlier one.

        The `settings` of the earlier one are copied unless this one has its own: phones find what they have drawn
        only under the same address.
        """
        previous = earlier.survey()
        check_next_wave(survey, previous)
        if previous.panel is None:
            version = earlier.editions()[-1].toolkit
            received = f"one of toolkit {version} without"
            reject("the previous wave must have a panel", received, "use that version until the last wave")
        self.create(survey, previous.panel)
        rule = "a wave must follow one wave before"
        # The collection may have existed before, with another panel.
        check_panel(self.survey(), previous, rule, "people of another study would be admitted")
        for name in settings:
            if (value := earlier.get_setting(name)) is not None:
                self.set_default(name, value)
        if survey.access != "open":
            self.invite(earlier.invitations())

    def amend(self, survey: Survey) -> None:
        """Publish another page with the same questions; reports to the earlier pages stay valid."""
        with self._writing() as (session, info):
            editions = session.editions()
            if info.state is State.CLOSED:
                reject("`amend` needs a collection that is not closed", "closed", "nobody would see the page")
            amended = with_existing_panel(survey, editions[-1])
            check_amendment(amended, editions[-1])
            if amended.waves > 1 and amended.panel is None:
                amended = replace(amended, panel=Panel.new(amended.loss))
            if amended.hash != editions[-1].hash:
                session.add_edition(new_edition(amended))

    def survey(self) -> Survey:
        """Return the survey as its latest page shows it."""
        last = self.editions()[-1]
        if self._edition_cache is None or self._edition_cache[0] != last:
            self._edition_cache = last, read_survey(last)
        return self._edition_cache[1]

    def editions(self) -> list[Edition]:
        """Return the pages that respondents have seen, oldest first."""
        with self._reading() as (session, _):
            return session.editions()

    def state(self) -> State:
        """Return the state of the collection."""
        with self._reading() as (_, info):
            return info.state

    def set_state(self, state: State) -> None:
        """Change the state.

        Closing removes the tokens and rewrites the reports in the order of their keys; it may be repeated. A wave that
        is not the last keeps its list of invitations, but nothing that reveals who answered.
        """
        with self._lock:
            with self._writing() as (session, info):
                if state is not info.state and state not in _TRANSITIONS[info.state]:
                    targets = " or ".join(later.value for later in _TRANSITIONS[info.state]) or "nothing else"
                    reject(
                        f"a {info.state.value} collection may become {targets}",
                        state.value,
                        "its state was not changed",
                    )
                if state is not State.CLOSED:
                    session.set_state(state.value)
                elif not info.is_cleaned:
                    for setting in (_DISCLOSURE_PREFIX, _STATION_PREFIX, PAPER_SETTING):
                        session.delete_settings(setting)
                    survey = self._survey(session, info)
                    session.close(keep_invitations=survey.wave < survey.waves)
            if state is State.CLOSED:
                self._engine.finish_closing()

    def add(self, batch: Sequence[NewReport]) -> list[Outcome]:
        """Store a batch in one transaction; return the outcomes in the same order when they are durable."""
        if not batch:
            return []
        with self._lock:
            has_waves, decision = False, None
            if self._is_shared and len(batch) <= MAX_BATCH:
                with self._engine.writing(shared=True) as session:
                    decision = _add_shared(session, self._current_info(session), batch)
            if decision is None:
                with self._engine.writing() as session:
                    info = self._current_info(session)
                    has_waves = self._survey(session, info).waves > 1
                    decision = _add_exclusive(session, info, batch, hold=has_waves)
            if decision.passes and (has_waves or len(decision.passes) < MIN_POOL):
                self._engine.wipe_log()
            return decision.outcomes

    def add_paper_reports(self, batch: Sequence[NewReport]) -> list[Outcome]:
        """Store reports from paper, all of them or none, with any access and in any state but closed."""
        with self._writing() as (session, info):
            if info.state is State.CLOSED:
                reject(
                    "a collection that takes reports on paper must not be closed", "a closed one", "nothing was stored"
                )
            count, pool = session.count_and_pool()
            keys = sorted({entry.key for entry in batch})
            existing_keys = session.existing_keys(keys) | (pool.reports.keys() & set(keys))
            # People who answer on paper have no token and do not depend on the server's state.
            as_open = replace(info, access="open", state=State.OPEN)
            decision = decide(batch, as_open, count=count, existing_keys=existing_keys, recorded=set())
            if Outcome.FULL in decision.outcomes:
                reject(f"all reports must fit below the cap of {info.cap}", "too many", "nothing was stored")
            if decision.reports:
                session.insert(dict(sorted(decision.reports.items())))
            return decision.outcomes

    def merge_reports(self, others: Iterable["Collection"]) -> None:
        """Copy the reports of closed collections of the same survey, page by page, each key once."""
        for other in others:
            rows = other.rows()
            while reports := dict(islice(rows, PAGE_SIZE)):
                with self._writing() as (session, _):
                    for key in session.existing_keys(list(reports)):
                        del reports[key]
                    session.insert(reports)

    def count(self) -> int:
        """Return the number of reports."""
        with self._reading() as (session, _):
            return session.count()

    def reports(self) -> Iterator[str]:
        """Yield the bodies of all reports in the order of their random keys, without a lock between two pages."""
        return (body for _, body in self.rows())

    def rows(self) -> Iterator[tuple[bytes, str]]:
        """Yield the key and the body of every report, in the order of keys."""
        after = b""
        while True:
            with self._reading() as (session, _):
                pooled = [(key, body) for key, body in session.count_and_pool()[1].reports.items() if key > after]
                page = sorted([*session.page(after, PAGE_SIZE), *pooled])[:PAGE_SIZE]
            if not page:
                return
            yield from page
            after = page[-1][0]

    def invite(self, hashes: Iterable[bytes], *, station: bool = False) -> None:
        """Admit the holder of each token with one of these SHA-256 hashes, once.

        Tokens of a `station` are recorded as its uses, so that those that are out can be counted.
        """
        invited = sorted(set(hashes))
        if any(not isinstance(value, bytes) or len(value) != HASH_BYTES for value in invited):
            reject("`hashes` must be SHA-256 values of 32 bytes", "other values", "no token could match them")
        with self._writing() as (session, info):
            if info.access == "open":
                rule = "`invite` needs a survey with access by token or blind"
                reject(rule, "open", "everybody may answer it anyway")
            if info.state is State.CLOSED:
                reject("`invite` needs a collection that is not closed", "closed", "nobody could use the invitation")
            session.invite(invited)
            if station:
                session.set_setting(_USES_SETTING, (session.get_setting(_USES_SETTING) or "") + b"".join(invited).hex())

    def uses_out(self) -> int:
        """Return the number of unspent uses of stations, for each of which a report may wait on a tablet."""
        with self._reading() as (session, _):
            return len(_open_uses(session))

    def return_uses(self, hashes: Sequence[bytes]) -> None:
        """Spend the uses that a station returns; hashes that are not uses of stations are ignored."""
        with self._lock, self._engine.writing() as session:
            self._check_info(session)
            session.spend(sorted(_open_uses(session) & set(hashes)))

    def invitations(self) -> list[bytes]:
        """Return the SHA-256 of all tokens that were invited, sorted, for the next wave."""
        with self._reading() as (session, _):
            return session.invitations()

    def issue(self, invitation: bytes, blinded: bytes) -> bool:
        """Return whether an invitation admits a signature of this message: its first one, or the same again."""
        with self._lock:
            with self._engine.writing() as session:
                good = self._issue(session, invitation, blinded)
            if good:
                self._engine.wipe_log()
            return good

    def _issue(self, session: Session, invitation: bytes, blinded: bytes) -> bool:
        info = self._current_info(session)
        if info.access != "blind":
            reject("`issue` needs a survey with blind access", info.access, "there is nothing to sign")
        if info.state is not State.OPEN:
            return False
        earlier = session.issued(invitation)
        if earlier is not None:
            return earlier == blinded
        if not session.unspent([invitation]):
            return False
        session.issue(invitation, blinded)
        return True

    def get_setting(self, name: str) -> str | None:
        """Return a setting of the collection, such as the port of its server, or None."""
        with self._reading() as (session, _):
            return session.get_setting(name)

    def set_setting(self, name: str, value: str) -> None:
        """Store a setting with the collection, for all of its servers."""
        with self._writing() as (session, _):
            session.set_setting(name, value)

    def compare_and_set(self, name: str, expected: str | None, value: str) -> bool:
        """Set a setting if its value is `expected` and the collection is open; return whether it was set.

        Settings named "shown…" are deleted on close, because they distinguish earlier reports from later ones.
        """
        with self._writing() as (session, info):
            if info.state is State.CLOSED or session.get_setting(name) != expected:
                return False
            session.set_setting(name, value)
            return True

    def set_default(self, name: str, value: str) -> str:
        """Set a setting unless it exists; return its value."""
        with self._writing() as (session, _):
            if (existing := session.get_setting(name)) is not None:
                return existing
            session.set_setting(name, value)
            return value

    def migrate(self) -> int:
        """Upgrade tables of an older version; return the version that they had."""
        with self._lock:
            return self._engine.migrate()

    def delete(self) -> None:
        """Delete a closed collection, with its reports and all that is in its file or schema."""
        with self._lock:
            state = self.state()
            # Closed is final: nobody can open it again meanwhile.
            if state is not State.CLOSED:
                rule = "a collection must be closed before it is deleted"
                reject(rule, state.value, "close it first; nothing was deleted")
            self._engine.remove()

    def close(self) -> None:
        """Close the connection to the database; the state of the collection stays."""
        with self._lock:
            self._engine.close()

    def _check_info(self, session: Session) -> CollectionInfo:
        """Return the description of the collection, and check that its database was not exchanged under a server."""
        info = session.info() or _reject_missing()
        if self._identity not in (None, (info.hash, info.identity)):
            rule = "the database must hold the same collection as before"
            reject(rule, "another one", "nothing was read or stored", StoreError)
        self._identity = info.hash, info.identity
        self._is_shared = info.access == "open"
        return info

    def _current_info(self, session: Session) -> CollectionInfo:
        """Return the description that applies to phones: after its last day a collection counts as closed."""
        info = self._check_info(session)
        closes = self._survey(session, info).closes
        return info if closes is None or not is_over(closes) else replace(info, state=State.CLOSED)

    def _survey(self, session: Session, info: CollectionInfo) -> Survey:
        """Return the survey, cached: servers are restarted when it is amended."""
        if self._survey_cache is None or self._survey_cache[0] != info.hash:
            self._survey_cache = info.hash, read_survey(session.editions()[-1])
        return self._survey_cache[1]


def _open_uses(session: Session) -> set[bytes]:
    """Return the uses of stations that are neither spent nor returned."""
    handed_out = bytes.fromhex(session.get_setting(_USES_SETTING) or "")
    uses = [handed_out[start : start + HASH_BYTES] for start in range(0, len(handed_out), HASH_BYTES)]
    return session.unspent(uses) - session.count_and_pool()[1].passes


def _reject_missing() -> NoReturn:
    reject("the database must hold a collection", "none", "create one first", StoreError)


def _add_shared(session: Session, info: CollectionInfo, batch: Sequence[NewReport]) -> Decision | None:
    """Store a batch while other servers may do so; return None if an exclusive lock is needed.

    Another server may store a report of the same key at this moment, and is then the first. The number of writers is
    read before the number of reports: a writer that commits in between is counted twice, and none is missed.
    """
    if info.access != "open" or (info.cap is not None and session.writers() * MAX_BATCH + session.count() > info.cap):
        return None
    existing_keys = session.existing_keys(sorted({entry.key for entry in batch}))
    decision = decide(batch, info, count=0, existing_keys=existing_keys, recorded=set())
    stored_first = session.insert(dict(sorted(decision.reports.items()))) if decision.reports else set()
    return (
        decide(batch, info, count=0, existing_keys=existing_keys | stored_first, recorded=set())
        if stored_first
        else decision
    )


def _add_exclusive(session: Session, info: CollectionInfo, batch: Sequence[NewReport], *, hold: bool) -> Decision:
    """Store a batch under an exclusive lock; with tokens, reports and passes go through the pool of `mixing.py`."""
    count, pool = session.count_and_pool()
    keys = sorted({entry.key for entry in batch})
    existing_keys = session.existing_keys(keys) | (pool.reports.keys() & set(keys))
    passes = sorted({entry.pass_ for entry in batch if entry.pass_ is not None})
    recorded = _recorded(session, info.access, pool, passes)
    others = sorted(set(passes) - recorded) if info.access == "token" else []
    invited = recorded | session.invited(others) if others else recorded
    decision = decide(batch, info, count=count, existing_keys=existing_keys, recorded=recorded, invited=invited)
    if decision.reports and info.access == "open":
        session.insert(dict(sorted(decision.reports.items())))
    elif decision.reports:
        session.flush_pool(*mix(pool, decision.reports, decision.passes, hold=hold), len(decision.reports))
    return decision


def _recorded(session: Session, access: str, pool: Pool, passes: Sequence[bytes]) -> set[bytes]:
    """Return the passes that are unspent (access by token) or spent (blind access)."""
    if access == "open" or not passes:
        return set()
    if access == "token":
        return session.unspent(passes) - pool.passes
    return session.spent(passes) | (pool.passes & set(passes))
