"""What becomes of each report of a batch: one pure function, the same for every database.

The order of the checks is a promise to phones. A key that is there already comes before all but one: a phone
that did not hear our answer sends again, and must hear that all is well although its token is spent by now,
the cap reached or the collection closed. Its body is not compared with the stored one: the answer would tell a
person who knows a key which guess of a report is right. First of all comes the token, spent or not: without a
token the response does not reveal whether the key exists. (Closing removes the tokens, and with them this
check; that a key exists is then the most that somebody who knows it can learn.)
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from toolkit.survey.storage.protocol import Entry, Outcome, State


@dataclass(frozen=True)
class Head:
    """What a collection is, as one row of the database says it. `swept`: closed, and nothing is left to tidy.

    `identity` tells collections of the same survey apart, where the database can; it is compared and means
    nothing else.
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
    batch: Sequence[Entry],
    head: Head,
    *,
    count: int,
    existing: Set[bytes],
    known: Set[bytes],
    invited: Set[bytes] = frozenset(),
) -> Decision:
    """Take the entries one after the other, as if each had come alone.

    `count` is the number of reports in the store, `existing` the keys of this batch that are there; `known` are
    the passes of this batch that are unspent (token mode) or that are spent (blind mode), `invited` those
    that were ever handed out (token mode).

    >>> head = Head("ab", "open", 1, State.OPEN)
    >>> one, other = Entry(bytes(16), "1"), Entry(bytes([1] * 16), "2")
    >>> [outcome.value for outcome in decide([one, one, other], head, count=0, existing=set(), known=set()).outcomes]
    ['stored', 'repeated', 'full']
    """
    decision = Decision()

    def outcome(entry: Entry) -> Outcome:
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
