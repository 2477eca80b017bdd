"""The operations on a collection and their order, which are the same for every database.

`add` checks and stores a batch in one transaction and returns when it is durable, so that a phone can rely on the
response. After any failure, it is correct to send the same report again, because its key is stored only once.

This module contains all code on which the guarantees depend. `sqlite.py` and `postgres.py` implement the methods of
`engine.py` in their dialects, and document what their files reveal while a collection is open. A writing session first
locks the collection, so that only one server decides at a time, and the data that it has read do not change until it
commits. Therefore the cap is exact, a token is spent once, and a closed collection accepts no more reports.

With open access, only the key of a report decides whether it is stored, as long as the cap leaves room for a full batch
from every server that is adding reports. In this case servers share the lock, and only closing excludes them. The cap
stays exact: the last server to take the shared lock has seen all the others and left room for each of them.
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

READ_BATCH = 2000
"""Number of reports read at once. No transaction is open in between, so that a slow reader blocks nobody."""

# Settings with these prefixes are deleted on closing: the keys of disclosed reports, and the key of stations.
_DISCLOSURE_PREFIX, _STATION_PREFIX = "shown", "station"
# This setting holds the SHA-256 hash of every station token, in hexadecimal digits.
_USES_SETTING = f"{_STATION_PREFIX} uses"

PAPER_SETTING = "paper"
"""Setting with the secret that derives keys from sheet numbers; without it, no report can be traced to its sheet."""

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
        self._is_shared = True  # whether servers may add reports concurrently, until the cap is near
        self._cached_survey: tuple[str, Edition, Survey] | None = None  # the collection's hash, its last edition

    @contextmanager
    def _reading(self) -> Iterator[tuple[Session, CollectionInfo]]:
        with self._lock, self._engine.reading() as session:
            yield session, self._check_info(session)

    @contextmanager
    def _writing(self) -> Iterator[tuple[Session, CollectionInfo]]:
        with self._lock, self._engine.writing(wait_longer=True) as session:
            yield session, self._check_info(session)

    def create(self, survey: Survey, panel: Panel | None = None) -> None:
        """Create the collection as a draft, unless it exists; reject a database with a different collection."""
        with self._lock:
            with self._engine.creating() as session:
                if session.info() is None:
                    created = with_panel(survey, panel)
                    session.insert_collection(CollectionInfo(created.hash, created.access, created.cap, State.DRAFT))
                    session.add_edition(new_edition(created))
                info, editions = session.info() or _reject_missing(), session.editions()
            survey = with_existing_panel(survey, editions[-1])
            check_page(survey, editions)
            if editions[-1] == new_edition(survey):  # then there is no need to read it back
                self._cached_survey = info.survey_hash, editions[-1], survey
            self._identity = info.survey_hash, info.identity
            if info.state is State.CLOSED and not info.is_rewritten:  # the closing of this collection was interrupted
                self._engine.finish_closing()

    def create_next_wave(
        self, survey: Survey, previous_wave: "Collection", copied_settings: Sequence[str] = ()
    ) -> None:
        """Create the collection of the next wave, and invite everybody who was invited to the previous one.

        Each of `copied_settings`, such as the port, is copied unless this collection has its own value: phones find
        their stored draws only under the same address.
        """
        previous = previous_wave.survey()
        check_next_wave(survey, previous)
        if previous.panel is None:
            version = previous_wave.editions()[-1].toolkit_version
            received = f"a collection of toolkit {version} without one"
            reject("the previous wave must have a panel", received, "use that version until the last wave")
        self.create(survey, previous.panel)
        rule = "a wave must follow only one previous wave"
        # The collection may already have existed with a different panel.
        check_panel(self.survey(), previous, rule, "people of another study would be admitted")
        for name in copied_settings:
            if (value := previous_wave.get_setting(name)) is not None:
                self.set_default(name, value)
        if survey.access != "open":
            self.invite(previous_wave.invitation_hashes())

    def amend(self, survey: Survey) -> None:
        """Publish a new page with the same questions; reports from earlier pages remain valid."""
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
        """Return the survey of the latest edition."""
        with self._reading() as (session, info):
            edition = session.editions()[-1]
        if self._cached_survey is None or self._cached_survey[1] != edition:
            self._cached_survey = info.survey_hash, edition, read_survey(edition)
        return self._cached_survey[2]

    def editions(self) -> list[Edition]:
        """Return the editions that respondents have seen, oldest first."""
        with self._reading() as (session, _):
            return session.editions()

    def state(self) -> State:
        """Return the state of the collection."""
        with self._reading() as (_, info):
            return info.state

    def set_state(self, state: State) -> None:
        """Change the state.

        Closing removes the tokens and rewrites the reports in the order of their keys; it may be repeated. Every wave
        except the last keeps its list of invitations, but no data that reveal who answered.
        """
        with self._lock:
            with self._writing() as (session, info):
                if state is not info.state and state not in _TRANSITIONS[info.state]:
                    targets = " or ".join(target.value for target in _TRANSITIONS[info.state]) or "nothing else"
                    reject(
                        f"a {info.state.value} collection may become {targets}",
                        state.value,
                        "its state was not changed",
                    )
                if state is not State.CLOSED:
                    session.set_state(state.value)
                elif not info.is_rewritten:
                    for prefix in (_DISCLOSURE_PREFIX, _STATION_PREFIX, PAPER_SETTING):
                        session.delete_settings(prefix)
                    survey = self._survey(session, info)
                    session.close(keep_invitations=survey.wave < survey.waves)
            if state is State.CLOSED:
                self._engine.finish_closing()

    def add(self, batch: Sequence[NewReport]) -> list[Outcome]:
        """Store a batch in one transaction; when it is durable, return the outcomes in the same order."""
        if not batch:
            return []
        with self._lock:
            has_waves, decision = False, None
            if self._is_shared and len(batch) <= MAX_BATCH:
                with self._engine.writing(is_shared=True) as session:
                    decision = _add_shared(session, self._current_info(session), batch)
            if decision is None:
                with self._engine.writing() as session:
                    info = self._current_info(session)
                    has_waves = self._survey(session, info).waves > 1
                    decision = _add_exclusive(session, info, batch, keep_all=has_waves)
            if decision.token_hashes and (has_waves or len(decision.token_hashes) < MIN_POOL):
                self._engine.wipe_log()
            return decision.outcomes

    def add_paper_reports(self, batch: Sequence[NewReport]) -> list[Outcome]:
        """Store reports from paper, all of them or none, for any access and in any state except closed."""
        with self._writing() as (session, info):
            if info.state is State.CLOSED:
                reject(
                    "a collection that takes reports on paper must not be closed", "a closed one", "nothing was stored"
                )
            count, pool = session.count_and_pool()
            keys = sorted({entry.key for entry in batch})
            existing_keys = session.existing_keys(keys) | (pool.reports.keys() & set(keys))
            # People who answer on paper need no token, and the server may be paused.
            paper_info = replace(info, access="open", state=State.OPEN)
            decision = decide(batch, paper_info, n_stored=count, existing_keys=existing_keys, recorded_hashes=set())
            if Outcome.FULL in decision.outcomes:
                reject(f"all reports must fit below the cap of {info.cap}", "too many", "nothing was stored")
            if decision.reports:
                session.insert_reports(decision.reports)
            return decision.outcomes

    def merge_reports(self, sources: Iterable["Collection"]) -> None:
        """Copy the reports of closed collections of the same survey in batches, each key once."""
        for source in sources:
            rows = source.rows()
            while reports := dict(islice(rows, READ_BATCH)):
                with self._writing() as (session, _):
                    for key in session.existing_keys(list(reports)):
                        del reports[key]
                    session.insert_reports(reports)

    def count_reports(self) -> int:
        """Return the number of reports."""
        with self._reading() as (session, _):
            return session.count_reports()

    def reports(self) -> Iterator[str]:
        """Yield the bodies of all reports in the order of their random keys, without a lock between two batches."""
        return (body for _, body in self.rows())

    def rows(self) -> Iterator[tuple[bytes, str]]:
        """Yield the key and the body of every report, sorted by key."""
        after_key = b""
        while True:
            with self._reading() as (session, _):
                pooled = [(key, body) for key, body in session.count_and_pool()[1].reports.items() if key > after_key]
                rows = sorted([*session.report_page(after_key, READ_BATCH), *pooled])[:READ_BATCH]
            if not rows:
                return
            yield from rows
            after_key = rows[-1][0]

    def invite(self, hashes: Iterable[bytes], *, for_station: bool = False) -> None:
        """Admit the holder of each token with one of these SHA-256 hashes, once.

        With `for_station` the tokens are recorded as uses of a station, so that outstanding uses can be counted.
        """
        invited_hashes = sorted(set(hashes))
        if any(not isinstance(value, bytes) or len(value) != HASH_BYTES for value in invited_hashes):
            reject("`hashes` must be SHA-256 values of 32 bytes", "other values", "no token could match them")
        with self._writing() as (session, info):
            if info.access == "open":
                rule = "`invite` needs a survey with access by token or blind"
                reject(rule, "open", "everybody may answer it anyway")
            if info.state is State.CLOSED:
                reject("`invite` needs a collection that is not closed", "closed", "nobody could use the invitation")
            session.invite(invited_hashes)
            if for_station:
                uses = (session.get_setting(_USES_SETTING) or "") + b"".join(invited_hashes).hex()
                session.set_setting(_USES_SETTING, uses)

    def count_outstanding_uses(self) -> int:
        """Return the number of unspent station uses, for each of which a report may still be on a tablet."""
        with self._reading() as (session, _):
            return len(_outstanding_use_hashes(session))

    def return_uses(self, hashes: Sequence[bytes]) -> None:
        """Spend the uses that a station returns; hashes that are not uses of stations are ignored."""
        with self._lock, self._engine.writing() as session:
            self._check_info(session)
            session.spend(sorted(_outstanding_use_hashes(session) & set(hashes)))

    def invitation_hashes(self) -> list[bytes]:
        """Return the SHA-256 hashes of all invited tokens, sorted, for the next wave."""
        with self._reading() as (session, _):
            return session.invitation_hashes()

    def issue(self, invitation: bytes, blinded_hash: bytes) -> bool:
        """Reserve an invitation for the signature of one message; return whether this message may be signed.

        A message may be signed if it is the first message for the invitation, or equal to the first.
        """
        with self._lock:
            with self._engine.writing() as session:
                is_allowed = self._issue(session, invitation, blinded_hash)
            if is_allowed:
                self._engine.wipe_log()
            return is_allowed

    def _issue(self, session: Session, invitation: bytes, blinded_hash: bytes) -> bool:
        info = self._current_info(session)
        if info.access != "blind":
            reject("`issue` needs a survey with blind access", info.access, "there is nothing to sign")
        if info.state is not State.OPEN:
            return False
        issued_hash = session.issued_hash(invitation)
        if issued_hash is not None:
            return issued_hash == blinded_hash
        if not session.unspent_hashes([invitation]):
            return False
        session.issue(invitation, blinded_hash)
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
        """Upgrade tables of an older version; return their previous version."""
        with self._lock:
            return self._engine.migrate()

    def delete(self) -> None:
        """Delete a closed collection with its reports and everything else in its file or schema."""
        with self._lock:
            state = self.state()
            # Closed is final, so nobody can reopen the collection in the meantime.
            if state is not State.CLOSED:
                rule = "a collection must be closed before it is deleted"
                reject(rule, state.value, "close it first; nothing was deleted")
            self._engine.remove()

    def close(self) -> None:
        """Close the connection to the database; this does not change the state of the collection."""
        with self._lock:
            self._engine.close()

    def _check_info(self, session: Session) -> CollectionInfo:
        """Return the description of the collection; reject a database that was replaced while a server was running."""
        info = session.info() or _reject_missing()
        if self._identity not in (None, (info.survey_hash, info.identity)):
            rule = "the database must hold the same collection as before"
            reject(rule, "a different one", "nothing was read or stored", StoreError)
        self._identity = info.survey_hash, info.identity
        self._is_shared = info.access == "open"
        return info

    def _current_info(self, session: Session) -> CollectionInfo:
        """Return the description that applies to phones: a collection counts as closed after its last day."""
        info = self._check_info(session)
        closes = self._survey(session, info).closes
        return info if closes is None or not is_over(closes) else replace(info, state=State.CLOSED)

    def _survey(self, session: Session, info: CollectionInfo) -> Survey:
        """Return the survey; it is cached, because servers are restarted when it is amended."""
        if self._cached_survey is None or self._cached_survey[0] != info.survey_hash:
            edition = session.editions()[-1]
            self._cached_survey = info.survey_hash, edition, read_survey(edition)
        return self._cached_survey[2]


def _outstanding_use_hashes(session: Session) -> set[bytes]:
    """Return the hashes of station uses that are neither spent nor returned."""
    all_uses = bytes.fromhex(session.get_setting(_USES_SETTING) or "")
    uses = [all_uses[start : start + HASH_BYTES] for start in range(0, len(all_uses), HASH_BYTES)]
    return session.unspent_hashes(uses) - session.count_and_pool()[1].token_hashes


def _reject_missing() -> NoReturn:
    reject("the database must hold a collection", "none", "create one first", StoreError)


def _add_shared(session: Session, info: CollectionInfo, batch: Sequence[NewReport]) -> Decision | None:
    """Store a batch while other servers may do the same; return None if an exclusive lock is needed.

    Another server may store a report with the same key first. The number of writers is read before the number of
    reports, so that a writer that commits in between is counted twice rather than missed.
    """
    if info.access != "open" or (
        info.cap is not None and session.count_writers() * MAX_BATCH + session.count_reports() > info.cap
    ):
        return None
    existing_keys = session.existing_keys(sorted({entry.key for entry in batch}))
    decision = decide(batch, info, n_stored=0, existing_keys=existing_keys, recorded_hashes=set())
    stored_by_others = session.insert_reports(decision.reports) if decision.reports else set()
    return (
        decide(batch, info, n_stored=0, existing_keys=existing_keys | stored_by_others, recorded_hashes=set())
        if stored_by_others
        else decision
    )


def _add_exclusive(session: Session, info: CollectionInfo, batch: Sequence[NewReport], *, keep_all: bool) -> Decision:
    """Store a batch under an exclusive lock; with tokens, the batch goes through the pool of `mixing.py`."""
    count, pool = session.count_and_pool()
    keys = sorted({entry.key for entry in batch})
    existing_keys = session.existing_keys(keys) | (pool.reports.keys() & set(keys))
    token_hashes = sorted({entry.token_hash for entry in batch if entry.token_hash is not None})
    recorded = _recorded_hashes(session, info.access, pool, token_hashes)
    spent_or_unknown = sorted(set(token_hashes) - recorded) if info.access == "token" else []
    invited = recorded | session.invited_hashes(spent_or_unknown) if spent_or_unknown else recorded
    decision = decide(
        batch, info, n_stored=count, existing_keys=existing_keys, recorded_hashes=recorded, invited_hashes=invited
    )
    if decision.reports and info.access == "open":
        session.insert_reports(decision.reports)
    elif decision.reports:
        session.flush_pool(
            *mix(pool, decision.reports, decision.token_hashes, keep_all=keep_all), len(decision.reports)
        )
    return decision


def _recorded_hashes(session: Session, access: str, pool: Pool, token_hashes: Sequence[bytes]) -> set[bytes]:
    """Return the token hashes that are unspent (access by token) or spent (blind access)."""
    if access == "open" or not token_hashes:
        return set()
    if access == "token":
        return session.unspent_hashes(token_hashes) - pool.token_hashes
    return session.spent_hashes(token_hashes) | (pool.token_hashes & set(token_hashes))
