"""What becomes of each report of a batch: one pure function, the same for every database.

The order of the checks is a promise to phones. A key that is there already comes before all but one: a phone
that did not hear our answer sends again, and must hear that all is well although its token is spent by now,
the cap reached or the collection closed. Its body is not compared with the stored one: the answer would tell
whoever knows a key which guess of a report is right. First of all comes the token, spent or not: who never
had one learns nothing, not even that a key is there. (Closing removes the tokens, and with them this check;
that a key is there is then the most that somebody who knows it can learn.)
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
    """Outcomes in the order of the batch, and what is to be written: reports by key, and the passes that they
    use up.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    reports: dict[bytes, str] = field(default_factory=dict)
    passes: set[bytes] = field(default_factory=set)


def decide(
    batch: Sequence[Entry],
    head: Head,
    *,
    held: int,
    found: Set[bytes],
    known: Set[bytes],
    invited: Set[bytes] = frozenset(),
) -> Decision:
    """Take the entries one after the other, as if each had come alone.

    `held` is the number of reports in the store, `found` the keys of this batch that are there; `known` are
    the passes of this batch that are unspent (token mode) or that are spent (blind mode), `invited` those
    that were ever handed out (token mode).

    >>> head = Head("ab", "open", 1, State.OPEN)
    >>> one, other = Entry(bytes(16), "1"), Entry(bytes([1] * 16), "2")
    >>> [outcome.value for outcome in decide([one, one, other], head, held=0, found=set(), known=set()).outcomes]
    ['stored', 'repeated', 'full']
    """
    made = Decision()
    for entry in batch:
        outcome = _outcome(entry, head, held, found, known, invited, made)
        if outcome is Outcome.STORED:
            made.reports[entry.key] = entry.body
            if head.access != "open" and entry.pass_ is not None:  # in open mode a pass means nothing and is not kept
                made.passes.add(entry.pass_)
        made.outcomes.append(outcome)
    return made


def _outcome(
    entry: Entry, head: Head, held: int, found: Set[bytes], known: Set[bytes], invited: Set[bytes], made: Decision
) -> Outcome:
    if head.access == "token" and head.state is not State.CLOSED and entry.pass_ not in invited:
        return Outcome.SPENT
    if entry.key in found or entry.key in made.reports:
        return Outcome.REPEATED
    if head.state is not State.OPEN:
        return Outcome.CLOSED if head.state is State.CLOSED else Outcome.PAUSED
    if head.cap is not None and held + len(made.reports) >= head.cap:
        return Outcome.FULL
    return Outcome.STORED if _may_pass(entry.pass_, head.access, known, made.passes) else Outcome.SPENT


def _may_pass(pass_: bytes | None, access: str, known: Set[bytes], used: Set[bytes]) -> bool:
    if access == "open":
        return True
    if pass_ is None or pass_ in used:
        return False
    return (pass_ in known) == (access == "token")
