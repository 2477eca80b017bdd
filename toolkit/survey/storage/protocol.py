"""Types of a collection in any database (states, outcomes, reports, editions), and the rule that admits reports.

The database stores the phone's random key and the body of a report; it has no column for times, for the order of
reports, for addresses or for tokens. A pure function, `decide`, determines the outcome of each report of a batch.

Phones rely on the order of the checks in `decide`. Only the check of the token precedes the check of the key. A phone
that missed the response sends its report again, and must learn that the report is stored, even if its token is spent by
then, the cap is reached or the collection is closed. The body is not compared with the stored body, because the outcome
would confirm a guess of a report to anybody who knows its key. The token is checked first, even if it is spent, so that
only a person with a token can learn from the response whether a key exists. (Closing removes the tokens and thereby
this check. From then on a person who knows a key can learn that it exists, and nothing more.)
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from enum import Enum

from toolkit.core.checks import reject

KEY_BYTES, HASH_BYTES = 16, 32
MAX_BATCH = 512
"""Largest number of reports that a server stores in one batch."""
# Null characters and lone surrogates.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class State(Enum):
    """The state of a collection: draft → open ⇄ paused → closed. Closed is final."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class Outcome(Enum):
    """The outcome of sending one report; after either STORED or REPEATED, the report is stored exactly once."""

    STORED = "stored"
    REPEATED = "repeated"  # the key exists; its body is not compared, because that would reveal what was stored
    PAUSED = "paused"  # the collection is a draft or paused: try again later
    CLOSED = "closed"
    FULL = "full"  # the survey's cap is reached
    SPENT = "spent"  # the token is unknown or already used


class StoreError(Exception):
    """The store is unavailable: it is locked, its disk is full, or there is no database.

    A batch is stored as a whole or not at all. If the connection broke during the commit, both are possible, and
    sending the batch again is correct in either case.

    Parameters
    ----------
    message : str
        A description of the failure, which never quotes a report.
    retry_after : int
        The number of seconds after which to send the batch again.

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

    `token_hash` is None with open access, otherwise the SHA-256 hash of the token (access by token) or of the nonce
    (blind access). `repr` does not show the content, because it could end up in a log.
    """

    key: bytes
    body: str
    token_hash: bytes | None = None

    def __post_init__(self) -> None:
        """Reject values that no database could store, because they would make a whole batch fail."""
        _check_bytes(self.key, "key", KEY_BYTES)
        if self.token_hash is not None:
            _check_bytes(self.token_hash, "token_hash", HASH_BYTES)
        if not isinstance(self.body, str) or _UNSTORABLE.search(self.body):
            rule = "`body` must be text that a database can hold"
            reject(rule, "other text or no text", "null characters and lone surrogates cannot be stored")


@dataclass(frozen=True)
class Edition:
    """A published page: the hash of everything respondents agree to, the toolkit's version, and the survey as JSON."""

    hash: str
    toolkit_version: str
    survey_json: str


def _check_bytes(value: object, name: str, length: int) -> None:
    if not isinstance(value, bytes) or len(value) != length:
        reject(f"`{name}` must be {length} bytes", "another value", "duplicates could not be recognized")


@dataclass(frozen=True)
class CollectionInfo:
    """The row of the database that describes a collection.

    `is_rewritten` is true once a closed collection has been rewritten in the order of keys. `identity` distinguishes
    collections of the same survey if the database supports this; its value has no other meaning.
    """

    survey_hash: str
    access: str
    cap: int | None
    state: State
    is_rewritten: bool = False
    identity: int = 0


@dataclass(frozen=True)
class Decision:
    """Outcomes in the order of the batch, reports to store by key, and hashes of the tokens that they spend."""

    outcomes: list[Outcome] = field(default_factory=list)
    reports: dict[bytes, str] = field(default_factory=dict)
    token_hashes: set[bytes] = field(default_factory=set)


def decide(
    batch: Sequence[NewReport],
    info: CollectionInfo,
    *,
    n_stored: int,
    existing_keys: Set[bytes],
    recorded_hashes: Set[bytes],
    invited_hashes: Set[bytes] = frozenset(),
) -> Decision:
    """Decide the outcomes of a batch as if its reports had arrived one after the other.

    Parameters
    ----------
    batch : sequence of NewReport
        The reports.
    info : CollectionInfo
        The collection.
    n_stored : int
        Number of stored reports.
    existing_keys : set of bytes
        Keys of this batch that are already stored.
    recorded_hashes : set of bytes
        Token hashes of this batch that are unspent (access by token) or spent (blind access).
    invited_hashes : set of bytes
        Token hashes of this batch that were ever invited (access by token).
    """
    decision = Decision()

    def outcome(entry: NewReport) -> Outcome:
        if info.access == "token" and info.state is not State.CLOSED and entry.token_hash not in invited_hashes:
            return Outcome.SPENT
        if entry.key in existing_keys or entry.key in decision.reports:
            return Outcome.REPEATED
        if info.state is not State.OPEN:
            return Outcome.CLOSED if info.state is State.CLOSED else Outcome.PAUSED
        if info.cap is not None and n_stored + len(decision.reports) >= info.cap:
            return Outcome.FULL
        return (
            Outcome.STORED
            if _is_admitted(entry.token_hash, info.access, recorded_hashes, decision.token_hashes)
            else Outcome.SPENT
        )

    for entry in batch:
        decision.outcomes.append(outcome(entry))
        if decision.outcomes[-1] is Outcome.STORED:
            decision.reports[entry.key] = entry.body
            # With open access, a token has no meaning and is not stored.
            if info.access != "open" and entry.token_hash is not None:
                decision.token_hashes.add(entry.token_hash)
    return decision


def _is_admitted(token_hash: bytes | None, access: str, recorded_hashes: Set[bytes], spent_hashes: Set[bytes]) -> bool:
    if access == "open":
        return True
    return (
        token_hash is not None
        and token_hash not in spent_hashes
        and (token_hash in recorded_hashes) == (access == "token")
    )
