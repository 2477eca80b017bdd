"""What a collection is made of, whichever database holds it: states, outcomes, entries and editions; and who is let in.

What is kept of a report is the phone's random key and its body; there is no column for a time, an order, an
address or a token. What becomes of each report of a batch is decided by one pure function, `decide`.

The order of its checks is a promise to phones. A key that is there already comes before all but one: a phone
that did not hear our answer sends again, and must hear that all is well although its token is spent by now,
the cap reached or the collection closed. Its body is not compared with the stored one: the answer would tell a
person who knows a key which guess of a report is right. First of all comes the token, spent or not: without a
token the response does not reveal whether the key exists. (Closing removes the tokens, and with them this
check; that a key exists is then the most that somebody who knows it can learn.)
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from enum import Enum

from toolkit.core.checks import refuse

KEY_BYTES, HASH_BYTES = 16, 32
LARGEST = 512
"""Reports that a server stores at a time."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # zero, and halves of characters


class State(Enum):
    """Where a collection stands: draft → open ⇄ paused → closed. Closed is final."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class Outcome(Enum):
    """What became of one report. STORED and REPEATED are both good news: it is there, once."""

    STORED = "stored"
    REPEATED = "repeated"  # the key was there already, whatever its body: to compare would tell what was stored
    PAUSED = "paused"  # draft or paused: later, perhaps
    CLOSED = "closed"
    FULL = "full"  # the survey's cap is reached
    SPENT = "spent"  # the token is unknown or used up


class StoreError(Exception):
    """The store cannot answer now (locked, no room, no database).

    A batch is stored in whole or not at all. Which of the two may be unknown, if the connection broke in the last
    moment: sending it again is right in any case.

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
    """One report on its way into the store, without a `repr` of its content, which would end in a log. `pass_` is None
    in open mode, else the SHA-256 of the token (token mode) or of the nonce (blind mode).
    """

    key: bytes
    body: str
    pass_: bytes | None = None

    def __post_init__(self) -> None:
        """What no database could hold is refused here, so that it cannot spoil a batch."""
        _bytes(self.key, "key", KEY_BYTES)
        if self.pass_ is not None:
            _bytes(self.pass_, "pass_", HASH_BYTES)
        if not isinstance(self.body, str) or _UNSTORABLE.search(self.body):
            rule = "`body` must be text that a database can hold"
            refuse(rule, "something else", "a zero or half a character cannot be stored")


@dataclass(frozen=True)
class Edition:
    """A page that people see: hash of all that they agree to, version of the toolkit that made it, survey as JSON."""

    hash: str
    toolkit: str
    survey: str


def _bytes(value: object, name: str, length: int) -> None:
    if not isinstance(value, bytes) or len(value) != length:
        refuse(f"`{name}` must be {length} bytes", "others", "equal ones must be recognized")


@dataclass(frozen=True)
class Head:
    """What a collection is, as one row of the database says it. `swept` : closed, and nothing is left to tidy.
    `identity` tells collections of the same survey apart, where the database can; it is compared and means nothing
    else.
    """

    hash: str
    access: str
    cap: int | None
    state: State
    swept: bool = False
    identity: int = 0


@dataclass(frozen=True)
class Decision:
    """Outcomes in the order of the batch, and what to write: reports by key, and the passes that they use up."""

    outcomes: list[Outcome] = field(default_factory=list)
    reports: dict[bytes, str] = field(default_factory=dict)
    passes: set[bytes] = field(default_factory=set)


def decide(
    batch: Sequence[NewReport],
    head: Head,
    *,
    count: int,
    existing: Set[bytes],
    known: Set[bytes],
    invited: Set[bytes] = frozenset(),
) -> Decision:
    """Take the entries one after the other, as if each had come alone.

    `count` is the number of reports in the store, `existing` the keys of this batch that are there; `known` are the
    passes of this batch that are unspent (token mode) or that are spent (blind mode), `invited` those that were ever
    handed out (token mode).
    """
    decision = Decision()

    def outcome(entry: NewReport) -> Outcome:
        if head.access == "token" and head.state is not State.CLOSED and entry.pass_ not in invited:
            return Outcome.SPENT
        if entry.key in existing or entry.key in decision.reports:
            return Outcome.REPEATED
        if head.state is not State.OPEN:
            return Outcome.CLOSED if head.state is State.CLOSED else Outcome.PAUSED
        if head.cap is not None and count + len(decision.reports) >= head.cap:
            return Outcome.FULL
        return Outcome.STORED if _may_pass(entry.pass_, head.access, known, decision.passes) else Outcome.SPENT

    for entry in batch:
        decision.outcomes.append(outcome(entry))
        if decision.outcomes[-1] is Outcome.STORED:
            decision.reports[entry.key] = entry.body
            if head.access != "open" and entry.pass_ is not None:  # in open mode a pass means nothing and is not kept
                decision.passes.add(entry.pass_)
    return decision


def _may_pass(pass_: bytes | None, access: str, known: Set[bytes], used: Set[bytes]) -> bool:
    if access == "open":
        return True
    return pass_ is not None and pass_ not in used and (pass_ in known) == (access == "token")
