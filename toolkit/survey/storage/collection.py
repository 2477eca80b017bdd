"""A collection in a database: what must happen in which order, whichever database it is.

Everything that a promise depends on is here, once; `sqlite.py` and `postgres.py` only say it in their
dialects, by the protocols of `engine.py`. A writing session has locked the collection before it is handed
out, so of several servers one decides at a time, and what it read stays true until it has written: the cap is
exact, a token is spent once, and a collection that was closed takes nothing more. Where there is neither cap
nor token, nothing but its key decides about a report: there servers share the lock, and only closing excludes
them.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

from toolkit.core.checks import refuse
from toolkit.survey.spec import Survey
from toolkit.survey.storage.admission import Decision, Head, decide
from toolkit.survey.storage.editions import check_amendment, check_page, edition_of, survey_of
from toolkit.survey.storage.engine import Engine, Session
from toolkit.survey.storage.mixing import LEAST, Pool, mixed
from toolkit.survey.storage.protocol import HASH_BYTES, Edition, Entry, Outcome, State, StoreError
from toolkit.survey.storage.waves import in_panel, with_panel
from toolkit.survey.writing.dates import is_over
from toolkit.survey.writing.survey_fields import Panel

PAGE = 2000
"""Reports read at a time; between two pages no transaction is open, so that a slow reader holds up nobody."""

_SHOWN = "shown"  # how settings begin that say which reports a reader has seen

_NEXT = {
    State.DRAFT: (State.OPEN, State.CLOSED),
    State.OPEN: (State.PAUSED, State.CLOSED),
    State.PAUSED: (State.OPEN, State.CLOSED),
    State.CLOSED: (),
}
_NEXT_NAMES = {
    state: " or ".join(later.value for later in following) or "nothing else" for state, following in _NEXT.items()
}


class Collection:
    """A `Store` over an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.RLock()
        self._seen: tuple[str, int] | None = None
        self._is_shared = False  # whether servers may add reports side by side: nothing but the key decides about one
        self._known: tuple[str, Survey] | None = None

    def create(self, survey: Survey, panel: Panel | None = None) -> None:
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

    def amend(self, survey: Survey) -> None:
        with self._lock, self._engine.writing(patient=True) as session:
            head, editions = self._head(session), session.editions()
            if head.state is State.CLOSED:
                refuse("`amend` needs a collection that is not closed", "closed", "nobody would see the page")
            amended = in_panel(survey, editions[-1])
            check_amendment(amended, editions[-1])
            if amended.waves > 1 and amended.panel is None:
                amended = replace(amended, panel=Panel.new(amended.loss))
            if amended.hash != editions[-1].hash:
                session.publish(edition_of(amended))

    def survey(self) -> Survey:
        with self._lock, self._engine.reading() as session:
            self._head(session)
            return survey_of(session.editions()[-1])

    def editions(self) -> list[Edition]:
        with self._lock, self._engine.reading() as session:
            self._head(session)
            return session.editions()

    def hash(self) -> str:
        with self._lock, self._engine.reading() as session:
            return self._head(session).hash

    def state(self) -> State:
        with self._lock, self._engine.reading() as session:
            return self._head(session).state

    def set_state(self, state: State) -> None:
        with self._lock:
            with self._engine.writing(patient=True) as session:
                head = self._head(session)
                if state is not head.state and state not in _NEXT[head.state]:
                    refuse(
                        f"a {head.state.value} collection may become {_NEXT_NAMES[head.state]}",
                        state.value,
                        "it stays as it is",
                    )
                if state is not State.CLOSED:
                    session.move(state)
                elif not head.swept:
                    session.forget(_SHOWN)
                    asked = self._survey(session, head)
                    session.sweep(again=asked.wave < asked.waves)
            if state is State.CLOSED:
                self._engine.finish()

    def add(self, batch: Sequence[Entry]) -> list[Outcome]:
        if not batch:
            return []
        with self._lock:
            with self._engine.writing(shared=self._is_shared) as session:
                head = self._today(session)
                several = self._survey(session, head).waves > 1
                made = (
                    self._shared(session, head, batch)
                    if self._is_shared
                    else _alone(session, head, batch, hold=several)
                )
            if made.passes and (several or len(made.passes) < LEAST):
                self._engine.wipe()
            return made.outcomes

    def _shared(self, session: Session, head: Head, batch: Sequence[Entry]) -> Decision:
        """Others may store a report of the same key in this very moment; then theirs was first."""
        found = session.found(sorted({entry.key for entry in batch}))
        made = decide(batch, head, held=0, found=found, known=set())
        late = session.keep(dict(sorted(made.reports.items()))) if made.reports else set()
        return decide(batch, head, held=0, found=found | late, known=set()) if late else made

    def count(self) -> int:
        with self._lock, self._engine.reading() as session:
            self._head(session)
            return session.held()

    def reports(self) -> Iterator[str]:
        return (body for _, body in self.rows())

    def rows(self) -> Iterator[tuple[bytes, str]]:
        after = b""
        while True:
            with self._lock, self._engine.reading() as session:
                self._head(session)
                pooled = [(key, body) for key, body in session.pool().reports.items() if key > after]
                page = sorted([*session.page(after, PAGE), *pooled])[:PAGE]
            if not page:
                return
            yield from page
            after = page[-1][0]

    def invite(self, hashes: Iterable[bytes]) -> None:
        invited = sorted(set(hashes))
        if any(not isinstance(one, bytes) or len(one) != HASH_BYTES for one in invited):
            refuse("`hashes` must be SHA-256 values of 32 bytes", "others", "no token could ever match them")
        with self._lock, self._engine.writing(patient=True) as session:
            head = self._head(session)
            if head.access == "open":
                refuse(
                    "`invite` needs a survey with access by token or blind", "open", "everybody may answer it anyway"
                )
            if head.state is State.CLOSED:
                refuse("`invite` needs a collection that is not closed", "closed", "nobody could use the invitation")
            session.invite(invited)

    def guests(self) -> list[bytes]:
        with self._lock, self._engine.reading() as session:
            self._head(session)
            return session.guests()

    def issue(self, invitation: bytes, blinded: bytes) -> bool:
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
        with self._lock, self._engine.reading() as session:
            self._head(session)
            return session.setting(name)

    def remember(self, name: str, value: str) -> None:
        with self._lock, self._engine.writing(patient=True) as session:
            self._head(session)
            session.remember(name, value)

    def swap(self, name: str, before: str | None, after: str) -> bool:
        with self._lock, self._engine.writing(patient=True) as session:
            if self._head(session).state is State.CLOSED or session.setting(name) != before:
                return False
            session.remember(name, after)
            return True

    def once(self, name: str, value: str) -> str:
        with self._lock, self._engine.writing(patient=True) as session:
            self._head(session)
            known = session.setting(name)
            if known is None:
                session.remember(name, value)
            return value if known is None else known

    def migrate(self) -> int:
        with self._lock:
            return self._engine.migrate()

    def delete(self) -> None:
        with self._lock:
            with self._engine.reading() as session:
                state = self._head(session).state
            if state is not State.CLOSED:  # which is final: nobody opens it again meanwhile
                refuse(
                    "a collection must be closed before it is deleted",
                    state.value,
                    "close it first; nothing was deleted",
                )
            self._engine.remove()

    def close(self) -> None:
        with self._lock:
            self._engine.close()

    def _head(self, session: Session) -> Head:
        """The collection, which must be the same as the last time: a database may be exchanged under a
        running server.
        """
        head = session.head() or _gone()
        if self._seen not in (None, (head.hash, head.identity)):
            refuse(
                "the database must hold the same collection as before",
                "another one",
                "nothing was read or stored",
                StoreError,
            )
        self._seen = head.hash, head.identity
        self._is_shared = head.access == "open" and head.cap is None
        return head

    def _today(self, session: Session) -> Head:
        """The collection as phones meet it: after its last day it is closed, although nobody has closed it
        yet.
        """
        head = self._head(session)
        closes = self._survey(session, head).closes
        return head if closes is None or not is_over(closes) else replace(head, state=State.CLOSED)

    def _survey(self, session: Session, head: Head) -> Survey:
        """What is asked and until when; read once, as servers are started again when it is amended."""
        if self._known is None or self._known[0] != head.hash:
            self._known = head.hash, survey_of(session.editions()[-1])
        return self._known[1]


def _gone() -> NoReturn:
    refuse("the database must hold a collection", "none", "create one first", StoreError)


def _alone(session: Session, head: Head, batch: Sequence[Entry], *, hold: bool) -> Decision:
    """Nobody else writes meanwhile. With tokens, reports and passes join the pool, and others leave it,
    unless it is to `hold` all of them: see `mixing.py`.
    """
    held, pool = session.standing()
    keys = sorted({entry.key for entry in batch})
    found = session.found(keys) | (pool.reports.keys() & set(keys))
    passes = sorted({entry.pass_ for entry in batch if entry.pass_ is not None})
    known = _known(session, head.access, pool, passes)
    others = sorted(set(passes) - known) if head.access == "token" else []
    invited = known | session.invited(others) if others else known
    made = decide(batch, head, held=held, found=found, known=known, invited=invited)
    if made.reports and head.access == "open":
        session.keep(dict(sorted(made.reports.items())))
    elif made.reports:
        session.mix(*mixed(pool, made.reports, made.passes, hold=hold), len(made.reports))
    return made


def _known(session: Session, access: str, pool: Pool, passes: Sequence[bytes]) -> set[bytes]:
    """The passes that may be used (token mode), or that were used (blind mode)."""
    if access == "open" or not passes:
        return set()
    return (
        session.unspent(passes) - pool.passes
        if access == "token"
        else session.spent(passes) | (pool.passes & set(passes))
    )
