"""Types of a collection in any database (states, outcomes, reports, editions), and the rule that admits reports.

The database stores the phone's random key and the body of a report; it has no column for a time, an order, an address
or a token. One pure function, `decide`, determines the outcome of each report of a batch.

The order of its checks is a promise to phones. Only the check of the token precedes that of the key: a phone that
missed our response sends its report again, and must hear that it is stored, although by then its token is spent, the
cap is reached or the collection is closed. The body is not compared with the stored one, because the outcome would
confirm a guess of a report to anybody who knows its key. The token comes first, spent or not: without one the response
does not reveal whether a key exists. (Closing removes the tokens, and with them this check. From then on a person who
knows a key can learn that it exists, and nothing more.)
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from enum import Enum

from toolkit.core.checks import reject

KEY_BYTES, HASH_BYTES = 16, 32
MAX_BATCH = 512
"""Reports that a server stores in one batch."""
# Null characters and lone surrogates.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class State(Enum):
    """The state of a collection: draft → open ⇄ paused → closed. Closed is final."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class Outcome(Enum):
    """The outcome of one report; after STORED and REPEATED it is stored exactly once."""

    STORED = "stored"
    REPEATED = "repeated"  # the key exists; its body is not compared, which would reveal what was stored
    PAUSED = "paused"  # draft or paused: try again later
    CLOSED = "closed"
    FULL = "full"  # the survey's cap is reached
    SPENT = "spent"  # the token is unknown or used up


class StoreError(Exception):
    """The store is unavailable: it is locked, its disk is full, or there is no database.

    A batch is stored as a whole or not at all. If the connection broke during the commit, either may be true; sending
    the batch again is right in both cases.

    Parameters
    ----------
    message : str
        What went wrong; it never quotes a report.
    retry_after : int
        Seconds after which to send again.

    Examples
    --------
    >>> StoreError("the disk must have room, got none: nothing was stored.", retry_after=30).retry_after
    30
    """

    def __init__(self, message: str, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, repr=False)
class NewReport:
    """One report to store.

    `pass_` is None with open access, else the SHA-256 of the token (access by token) or of the nonce (blind access).
    There is no `repr` of the content, because it would end up in a log.
    """

    key: bytes
    body: str
    pass_: bytes | None = None

    def __post_init__(self) -> None:
        """Reject here what no database could store, so that it cannot make a batch fail."""
        _bytes(self.key, "key", KEY_BYTES)
        if self.pass_ is not None:
            _bytes(self.pass_, "pass_", HASH_BYTES)
        if not isinstance(self.body, str) or _UNSTORABLE.search(self.body):
            rule = "`body` must be text that a database can hold"
            reject(rule, "other text or no text", "null characters and lone surrogates cannot be stored")


@dataclass(frozen=True)
class Edition:
    """A page that respondents see: hash of all that they agree to, version of the toolkit, and survey as JSON."""

    hash: str
    toolkit: str
    survey: str


def _bytes(value: object, name: str, length: int) -> None:
    if not isinstance(value, bytes) or len(value) != length:
        reject(f"`{name}` must be {length} bytes", "another value", "duplicates could not be recognized")


@dataclass(frozen=True)
class CollectionInfo:
    """The row of the database that describes a collection.

    `is_cleaned` is true when a closed collection has been rewritten. `identity` distinguishes collections of the same
    survey, where the database can; it is compared and has no other meaning.
    """

    hash: str
    access: str
    cap: int | None
    state: State
    is_cleaned: bool = False
    identity: int = 0


@dataclass(frozen=True)
class Decision:
    """Outcomes in the order of the batch, and what to write: reports by key, and the passes that they spend."""

    outcomes: list[Outcome] = field(default_factory=list)
    reports: dict[bytes, str] = field(default_factory=dict)
    passes: set[bytes] = field(default_factory=set)


def decide(
    batch: Sequence[NewReport],
    info: CollectionInfo,
    *,
    count: int,
    existing_keys: Set[bytes],
    recorded: Set[bytes],
    invited: Set[bytes] = frozenset(),
) -> Decision:
    """Decide the outcomes of a batch, as if its reports had arrived one after the other.

    Parameters
    ----------
    batch : sequence of NewReport
        The reports.
    info : CollectionInfo
        The collection.
    count : int
        Number of stored reports.
    existing_keys : set of bytes
        Keys of this batch that are stored.
    recorded : set of bytes
        Passes of this batch that are unspent (access by token) or spent (blind access).
    invited : set of bytes
        Passes of this batch that were ever handed out (access by token).
    """
    decision = Decision()

    def outcome(entry: NewReport) -> Outcome:
        if info.access == "token" and info.state is not State.CLOSED and entry.pass_ not in invited:
            return Outcome.SPENT
        if entry.key in existing_keys or entry.key in decision.reports:
            return Outcome.REPEATED
        if info.state is not State.OPEN:
            return Outcome.CLOSED if info.state is State.CLOSED else Outcome.PAUSED
        if info.cap is not None and count + len(decision.reports) >= info.cap:
            return Outcome.FULL
        return Outcome.STORED if _is_admitted(entry.pass_, info.access, recorded, decision.passes) else Outcome.SPENT

    for entry in batch:
        decision.outcomes.append(outcome(entry))
        if decision.outcomes[-1] is Outcome.STORED:
            decision.reports[entry.key] = entry.body
            # With open access a pass has no meaning and is not stored.
            if info.access != "open" and entry.pass_ is not None:
                decision.passes.add(entry.pass_)
    return decision


def _is_admitted(pass_: bytes | None, access: str, recorded: Set[bytes], used: Set[bytes]) -> bool:
    if access == "open":
        return True
    return pass_ is not None and pass_ not in used and (pass_ in recorded) == (access == "token")
