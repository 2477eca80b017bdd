"""A collection in a database: what must happen in which order, whichever database it is.

`add` checks and stores a batch in one transaction and returns when it is durable, so that an answer to a phone
can be trusted; whatever went wrong, sending the same report again is right, because its key is stored once.

Everything that a promise depends on is here, once; `sqlite.py` and `postgres.py` only say it in their
dialects, by the verbs of `engine.py`, and tell what their files still show while a collection runs. A writing
session has locked the collection before it is handed out, so of several servers one decides at a time, and what
it read stays true until it has written: the cap is exact, a token is spent once, and a collection that was
closed takes nothing more. Without tokens, and as long as there is room below the cap for a full batch of every
server that adds reports in this moment, nothing but its key decides about a report: there servers share the lock, and
only closing excludes them. The cap stays exact: of those that hold the lock together, the last one to take it has seen
all the others, and left room for each.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import NoReturn

from toolkit.core.checks import refuse
from toolkit.survey.questions.survey_fields import Panel, check_panel, is_over
from toolkit.survey.spec import Survey
from toolkit.survey.storage.editions import (
    check_amendment,
    check_next,
    check_page,
    edition_of,
    in_panel,
    survey_of,
    with_panel,
)
from toolkit.survey.storage.engine import Engine, Session
from toolkit.survey.storage.mixing import LEAST, Pool, mix
from toolkit.survey.storage.protocol import (
    HASH_BYTES,
    LARGEST,
    Decision,
    Edition,
    Head,
    NewReport,
    Outcome,
    State,
    StoreError,
    decide,
)

PAGE = 2000
"""Reports read at a time; between two pages no transaction is open, so that a slow reader holds up nobody."""

_SHOWN = "shown"  # how settings begin that say which reports a reader has seen
_STATION = "station"  # and those of stations: the key that opens what they have sealed
_USES = f"{_STATION} uses"  # the SHA-256 of each use that a station was given, in hexadecimal digits

PAPER_SETTING = "paper"
"""The setting with the secret that makes keys of the numbers of sheets; without it no report leads to its sheet."""

_NEXT = {
    State.DRAFT: (State.OPEN, State.CLOSED),
    State.OPEN: (State.PAUSED, State.CLOSED),
    State.PAUSED: (State.OPEN, State.CLOSED),
    State.CLOSED: (),
}


class Collection:
    """One survey, the reports to it, and who may still send one, in a database. Every method may be called from any
    thread; each is one transaction.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.RLock()
        self._seen: tuple[str, int] | None = None
        self._is_shared = True  # whether servers may add reports side by side, until the cap is near
        self._known: tuple[str, Survey] | None = None
        self._read: tuple[Edition, Survey] | None = None

    @contextmanager
    def _reading(self) -> Iterator[tuple[Session, Head]]:
        with self._lock, self._engine.reading() as session:
            yield session, self._head(session)

    @contextmanager
    def _changing(self) -> Iterator[tuple[Session, Head]]:
        with self._lock, self._engine.writing(patient=True) as session:
            yield session, self._head(session)

    def create(self, survey: Survey, panel: Panel | None = None) -> None:
        """Make the collection, as a draft; the same survey again is fine, anything else in the database is refused."""
        with self._lock:
            with self._engine.making() as session:
                if session.head() is None:
                    new = with_panel(survey, panel)
                    session.begin(Head(new.hash, new.access, new.cap, State.DRAFT))
                    session.publish(edition_of(new))
                there, editions = session.head() or _gone(), session.editions()
            check_page(in_panel(survey, editions[-1]), editions)
            self._seen = there.hash, there.identity
            if there.state is State.CLOSED and not there.swept:  # somebody was interrupted while closing it
                self._engine.finish()

    def follow(self, survey: Survey, earlier: "Collection", settings: Sequence[str] = ()) -> None:
        """Make the collection of the next wave, and invite all who were invited to the earlier one. `settings` of that
        are taken over where this one has none: phones find what they have drawn only under the same address.
        """
        before = earlier.survey()
        check_next(survey, before)
        if before.panel is None:
            version = earlier.editions()[-1].toolkit
            received = f"one of toolkit {version} without"
            refuse("the wave before must have a panel", received, "go on with that toolkit to the last wave")
        self.create(survey, before.panel)
        rule = "a wave must follow one wave before"
        check_panel(self.survey(), before, rule, "people of another study would be let in")  # it may have been there
        for name in settings:
            if (value := earlier.setting(name)) is not None:
                self.once(name, value)
        if survey.access != "open":
            self.invite(earlier.invitations())

    def amend(self, survey: Survey) -> None:
        """Show another page from now on, with the same questions; reports to the earlier ones stay good."""
        with self._changing() as (session, head):
            editions = session.editions()
            if head.state is State.CLOSED:
                refuse("`amend` needs a collection that is not closed", "closed", "nobody would see the page")
            amended = in_panel(survey, editions[-1])
            check_amendment(amended, editions[-1])
            if amended.waves > 1 and amended.panel is None:
                amended = replace(amended, panel=Panel.new(amended.loss))
            if amended.hash != editions[-1].hash:
                session.publish(edition_of(amended))

    def survey(self) -> Survey:
        last = self.editions()[-1]
        if self._read is None or self._read[0] != last:
            self._read = last, survey_of(last)
        return self._read[1]

    def editions(self) -> list[Edition]:
        """The pages that people have seen, oldest first."""
        with self._reading() as (session, _):
            return session.editions()

    def state(self) -> State:
        with self._reading() as (_, head):
            return head.state

    def set_state(self, state: State) -> None:
        """Move on. Closing removes the tokens and rewrites the reports in the order of keys; it may be repeated. Of a
        wave that is not the last, the list of those who were invited stays, and nothing that tells who answered.
        """
        with self._lock:
            with self._changing() as (session, head):
                if state is not head.state and state not in _NEXT[head.state]:
                    following = " or ".join(later.value for later in _NEXT[head.state]) or "nothing else"
                    refuse(f"a {head.state.value} collection may become {following}", state.value, "it stays as it is")
                if state is not State.CLOSED:
                    session.set_state(state.value)
                elif not head.swept:
                    for setting in (_SHOWN, _STATION, PAPER_SETTING):
                        session.forget(setting)
                    survey = self._survey(session, head)
                    session.close(again=survey.wave < survey.waves)
            if state is State.CLOSED:
                self._engine.finish()

    def add(self, batch: Sequence[NewReport]) -> list[Outcome]:
        """Store a batch in one transaction; the outcomes in the same order, when they are durable."""
        if not batch:
            return []
        with self._lock:
            several, decision = False, None
            if self._is_shared and len(batch) <= LARGEST:
                with self._engine.writing(shared=True) as session:
                    decision = _add_shared(session, self._today(session), batch)
            if decision is None:
                with self._engine.writing() as session:
                    head = self._today(session)
                    several = self._survey(session, head).waves > 1
                    decision = _add_alone(session, head, batch, hold=several)
            if decision.passes and (several or len(decision.passes) < LEAST):
                self._engine.wipe()
            return decision.outcomes

    def enter(self, batch: Sequence[NewReport]) -> list[Outcome]:
        """Store reports that no phone has sent, all of them or none, until it is closed, whatever the access is."""
        with self._changing() as (session, head):
            if head.state is State.CLOSED:
                refuse("a collection must not be closed for reports on paper", "closed", "nothing was stored")
            count, pool = session.count_and_pool()
            keys = sorted({entry.key for entry in batch})
            existing = session.existing_keys(keys) | (pool.reports.keys() & set(keys))
            taking = replace(head, access="open", state=State.OPEN)
            decision = decide(batch, taking, count=count, existing=existing, known=set())
            if Outcome.FULL in decision.outcomes:
                refuse(f"there must be room for all below the cap of {head.cap}", "too many", "nothing was stored")
            if decision.reports:
                session.insert(dict(sorted(decision.reports.items())))
            return decision.outcomes

    def gather(self, others: Iterable["Collection"]) -> None:
        """Take over the reports of closed collections of the same survey, a page at a time, each key once."""
        for other in others:
            rows = other.rows()
            while reports := dict(islice(rows, PAGE)):
                with self._changing() as (session, _):
                    for key in session.existing_keys(list(reports)):
                        del reports[key]
                    session.insert(reports)

    def count(self) -> int:
        with self._reading() as (session, _):
            return session.count()

    def reports(self) -> Iterator[str]:
        """The bodies of all reports, in the order of their random keys; no lock is held between two of them."""
        return (body for _, body in self.rows())

    def rows(self) -> Iterator[tuple[bytes, str]]:
        """The same, each with its key."""
        after = b""
        while True:
            with self._reading() as (session, _):
                pooled = [(key, body) for key, body in session.count_and_pool()[1].reports.items() if key > after]
                page = sorted([*session.page(after, PAGE), *pooled])[:PAGE]
            if not page:
                return
            yield from page
            after = page[-1][0]

    def invite(self, hashes: Iterable[bytes], *, station: bool = False) -> None:
        """Let in the holder of each token with this SHA-256; one that was let in before is not let in again. Those of a
        `station` are noted as its uses, so that they can be counted while they are out.
        """
        invited = sorted(set(hashes))
        if any(not isinstance(one, bytes) or len(one) != HASH_BYTES for one in invited):
            refuse("`hashes` must be SHA-256 values of 32 bytes", "others", "no token could ever match them")
        with self._changing() as (session, head):
            if head.access == "open":
                rule = "`invite` needs a survey with access by token or blind"
                refuse(rule, "open", "everybody may answer it anyway")
            if head.state is State.CLOSED:
                refuse("`invite` needs a collection that is not closed", "closed", "nobody could use the invitation")
            session.invite(invited)
            if station:
                session.remember(_USES, (session.setting(_USES) or "") + b"".join(invited).hex())

    def uses_out(self) -> int:
        """How many uses of stations are neither spent nor taken back: for each a sealed report may wait on a tablet."""
        with self._reading() as (session, _):
            return len(_uses_out(session))

    def take_back(self, hashes: Sequence[bytes]) -> None:
        """Spend the uses that a station will never need; what is not a use of a station stays as it is."""
        with self._lock, self._engine.writing() as session:
            self._head(session)
            session.spend(sorted(_uses_out(session) & set(hashes)))

    def invitations(self) -> list[bytes]:
        """The SHA-256 of all tokens that were let in, in their order: for the next wave."""
        with self._reading() as (session, _):
            return session.invitations()

    def issue(self, invitation: bytes, blinded: bytes) -> bool:
        """Whether an invitation is good for a signature of this blinded message: the first time, or the same again."""
        with self._lock:
            with self._engine.writing() as session:
                good = self._issue(session, invitation, blinded)
            if good:
                self._engine.wipe()
            return good

    def _issue(self, session: Session, invitation: bytes, blinded: bytes) -> bool:
        head = self._today(session)
        if head.access != "blind":
            refuse("`issue` needs a survey with blind access", head.access, "there is nothing to sign")
        if head.state is not State.OPEN:
            return False
        earlier = session.issued(invitation)
        if earlier is not None:
            return earlier == blinded
        if not session.unspent([invitation]):
            return False
        session.issue(invitation, blinded)
        return True

    def setting(self, name: str) -> str | None:
        """What was remembered of how the collection is served, such as its port; None if nothing was."""
        with self._reading() as (session, _):
            return session.setting(name)

    def remember(self, name: str, value: str) -> None:
        """Keep a setting with the collection, for every later server."""
        with self._changing() as (session, _):
            session.remember(name, value)

    def swap(self, name: str, before: str | None, after: str) -> bool:
        """Change a setting if it is still `before` and the collection is not closed; whether that was so. Settings
        whose name begins with "shown" go when it is closed: they tell earlier reports from later ones.
        """
        with self._changing() as (session, head):
            if head.state is State.CLOSED or session.setting(name) != before:
                return False
            session.remember(name, after)
            return True

    def once(self, name: str, value: str) -> str:
        """Keep a setting if there is none, and say which there is."""
        with self._changing() as (session, _):
            if (known := session.setting(name)) is not None:
                return known
            session.remember(name, value)
            return value

    def migrate(self) -> int:
        """Bring the tables of an older version to today's; the version that they had."""
        with self._lock:
            return self._engine.migrate()

    def delete(self) -> None:
        """Remove a closed collection for good, with its reports and all that is in its file or schema."""
        with self._lock:
            state = self.state()
            if state is not State.CLOSED:  # which is final: nobody opens it again meanwhile
                rule = "a collection must be closed before it is deleted"
                refuse(rule, state.value, "close it first; nothing was deleted")
            self._engine.remove()

    def close(self) -> None:
        """Close the connection, not the collection."""
        with self._lock:
            self._engine.close()

    def _head(self, session: Session) -> Head:
        """The collection, which must be that of the last time: a database may be exchanged under a running server."""
        head = session.head() or _gone()
        if self._seen not in (None, (head.hash, head.identity)):
            rule = "the database must hold the same collection as before"
            refuse(rule, "another one", "nothing was read or stored", StoreError)
        self._seen = head.hash, head.identity
        self._is_shared = head.access == "open"
        return head

    def _today(self, session: Session) -> Head:
        """The collection as phones meet it: after its last day it is closed, although nobody has closed it yet."""
        head = self._head(session)
        closes = self._survey(session, head).closes
        return head if closes is None or not is_over(closes) else replace(head, state=State.CLOSED)

    def _survey(self, session: Session, head: Head) -> Survey:
        """What is asked and until when; read once, as servers are started again when it is amended."""
        if self._known is None or self._known[0] != head.hash:
            self._known = head.hash, survey_of(session.editions()[-1])
        return self._known[1]


def _uses_out(session: Session) -> set[bytes]:
    handed_out = bytes.fromhex(session.setting(_USES) or "")
    uses = [handed_out[start : start + HASH_BYTES] for start in range(0, len(handed_out), HASH_BYTES)]
    return session.unspent(uses) - session.count_and_pool()[1].passes


def _gone() -> NoReturn:
    refuse("the database must hold a collection", "none", "create one first", StoreError)


def _add_shared(session: Session, head: Head, batch: Sequence[NewReport]) -> Decision | None:
    """Others may store a report of the same key in this very moment; then theirs was first. None if it must be alone.
    The writers are read before the count: one that commits in between is taken twice, and none is missed.
    """
    if head.access != "open" or (head.cap is not None and session.writers() * LARGEST + session.count() > head.cap):
        return None
    existing = session.existing_keys(sorted({entry.key for entry in batch}))
    decision = decide(batch, head, count=0, existing=existing, known=set())
    late = session.insert(dict(sorted(decision.reports.items()))) if decision.reports else set()
    return decide(batch, head, count=0, existing=existing | late, known=set()) if late else decision


def _add_alone(session: Session, head: Head, batch: Sequence[NewReport], *, hold: bool) -> Decision:
    """Nobody else writes meanwhile. With tokens, reports and passes go through the pool: see `mixing.py`."""
    count, pool = session.count_and_pool()
    keys = sorted({entry.key for entry in batch})
    existing = session.existing_keys(keys) | (pool.reports.keys() & set(keys))
    passes = sorted({entry.pass_ for entry in batch if entry.pass_ is not None})
    known = _known(session, head.access, pool, passes)
    others = sorted(set(passes) - known) if head.access == "token" else []
    invited = known | session.invited(others) if others else known
    decision = decide(batch, head, count=count, existing=existing, known=known, invited=invited)
    if decision.reports and head.access == "open":
        session.insert(dict(sorted(decision.reports.items())))
    elif decision.reports:
        session.flush_pool(*mix(pool, decision.reports, decision.passes, hold=hold), len(decision.reports))
    return decision


def _known(session: Session, access: str, pool: Pool, passes: Sequence[bytes]) -> set[bytes]:
    """The passes that may be used (token mode), or that were used (blind mode)."""
    if access == "open" or not passes:
        return set()
    if access == "token":
        return session.unspent(passes) - pool.passes
    return session.spent(passes) | (pool.passes & set(passes))
