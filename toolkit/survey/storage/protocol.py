"""What a collection is made of, whichever database holds it: states, outcomes, entries and editions.

What is kept of a report is the phone's random key and its body; there is no column for a time, an order, an
address or a token.
"""

import re
from dataclasses import dataclass
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
        if not isinstance(self.body, str) or _UNSTORABLE.search(self.body):
            rule = "`body` must be text that a database can hold"
            refuse(rule, "something else", "a zero or half a character cannot be stored")

    def __repr__(self) -> str:
        return "<Entry>"


@dataclass(frozen=True)
class Edition:
    """A page that people see: hash of all that they agree to, version of the toolkit that made it, survey as JSON."""

    hash: str
    toolkit: str
    survey: str


def _bytes(value: object, name: str, length: int) -> None:
    if not isinstance(value, bytes) or len(value) != length:
        refuse(f"`{name}` must be {length} bytes", "others", "equal ones must be recognized")
