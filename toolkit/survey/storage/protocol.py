"""What a collection's store must do, whichever database is behind it: states, outcomes, entries, and the
verbs.

A collection is one survey, the reports to it, and who may still send one. What is kept of a report is the
phone's random key and its body; there is no column for a time, an order, an address or a token. `add` checks
and stores a batch in one transaction and returns when it is durable, so that an answer to a phone can be
trusted; whatever went wrong, sending the same report again is right, because its key is stored once.

What the files still show while a collection runs, and what closing it does about that, is told in `sqlite.py`
and `postgres.py`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from toolkit.core.checks import refuse
from toolkit.survey.spec import Survey
from toolkit.survey.writing.survey_fields import Panel

KEY_BYTES, HASH_BYTES = 16, 32


class State(Enum):
    """Where a collection stands: draft → open ⇄ paused → closed. Closed is final."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class Outcome(Enum):
    """What became of one report. STORED and REPEATED are both good news: it is there, once."""

    STORED = "stored"
    # the same key was there already, whatever its body: to compare them would tell what was stored
    REPEATED = "repeated"
    PAUSED = "paused"  # draft or paused: later, perhaps
    CLOSED = "closed"
    FULL = "full"  # the survey's cap is reached
    SPENT = "spent"  # the token is unknown or used up


class StoreError(Exception):
    """The store cannot answer now (locked, no room, no database); the message never quotes a report.

    Nothing is half stored. Whether all of it was stored may be unknown, if the connection broke in the last
    moment; sending the same again after `retry_after` seconds is right in any case.
    """

    def __init__(self, message: str, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, repr=False)
class Entry:
    """One report on its way into the store. It has no `repr` of its content: that would end in a log.

    `pass_` is None in open mode, else the SHA-256 of the token (token mode) or of the nonce (blind mode).

    >>> Entry(bytes(16), "{}")
    <Entry>
    """

    key: bytes
    body: str
    pass_: bytes | None = None

    def __post_init__(self) -> None:
        """What no database could hold is refused here, so that it cannot spoil a batch."""
        _bytes(self.key, "key", KEY_BYTES)
        if self.pass_ is not None:
            _bytes(self.pass_, "pass_", HASH_BYTES)
        if not isinstance(self.body, str) or "\0" in self.body or not _encodes(self.body):
            refuse(
                "`body` must be text that a database can hold",
                "something else",
                "a zero or half a character cannot be stored",
            )

    def __repr__(self) -> str:
        return "<Entry>"


@dataclass(frozen=True)
class Edition:
    """A page that people see: the hash of all that they agree to, the toolkit that made it, and the survey,
    as JSON.
    """

    hash: str
    toolkit: str
    survey: str


class Store(Protocol):
    """A collection in a database. Every method may be called from any thread; each is one transaction."""

    def create(self, survey: Survey, panel: Panel | None = None) -> None:
        """Make the collection, as a draft. The same survey again is fine; a database with anything else in it
        is refused. `panel`: that of the wave before; a first wave gets one of its own.
        """

    def amend(self, survey: Survey) -> None:
        """Show people another page from now on, with the same questions; reports to the earlier ones stay
        good.
        """

    def survey(self) -> Survey:
        """The survey, as it was created or last amended."""

    def hash(self) -> str:
        """The survey's hash when it was created: another one today means that the client's code has changed
        since.
        """

    def editions(self) -> list[Edition]:
        """The pages that people have seen, oldest first."""

    def state(self) -> State: ...

    def set_state(self, state: State) -> None:
        """Move on. Closing removes the tokens and rewrites the reports in the order of their random keys; it
        may be repeated. Of a wave that is not the last, the list of those who were invited stays, and nothing
        that tells who has answered.
        """

    def add(self, batch: Sequence[Entry]) -> list[Outcome]:
        """Store a batch in one transaction; the outcomes in the same order, when they are durable."""

    def count(self) -> int:
        """How many reports there are."""

    def reports(self) -> Iterator[str]:
        """Their bodies, in the order of their random keys; no lock is held between two of them."""

    def rows(self) -> Iterator[tuple[bytes, str]]:
        """The same, each with its key."""

    def invite(self, hashes: Iterable[bytes]) -> None:
        """Let in whoever has the token with this SHA-256. One that was let in before is not let in again,
        spent or not.
        """

    def guests(self) -> list[bytes]:
        """The SHA-256 of all tokens that were let in, in their order: for the next wave."""

    def issue(self, invitation: bytes, blinded: bytes) -> bool:
        """Whether an invitation is good for a signature of this blinded message (by SHA-256): the first time,
        or the same again.
        """

    def setting(self, name: str) -> str | None:
        """What was remembered of how the collection is served, such as its port; None if nothing was."""

    def remember(self, name: str, value: str) -> None:
        """Keep a setting with the collection, whoever serves it next."""

    def swap(self, name: str, before: str | None, after: str) -> bool:
        """Keep a setting if it still is what it was before and the collection is not closed; whether that was
        so.

        Settings whose name begins with "shown" go when the collection is closed: they tell earlier reports
        from later ones.
        """

    def once(self, name: str, value: str) -> str:
        """Keep a setting if there is none, and say which there is."""

    def migrate(self) -> int:
        """Bring the tables of an older version to today's; the version that they had."""

    def delete(self) -> None:
        """Remove the collection for good, with its reports and all that is in its file or schema; it must be
        closed.
        """

    def close(self) -> None:
        """Close the connection, not the collection."""


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bytes(value: object, name: str, length: int) -> None:
    if not isinstance(value, bytes) or len(value) != length:
        refuse(f"`{name}` must be {length} bytes", "others", "equal ones must be recognized")
