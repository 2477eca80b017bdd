"""What is shown of an open collection: it moves in steps, so that until it is closed no two looks differ by
one person's report.

Whoever sees an estimate before and after somebody answers can take the difference. So what was shown last
stays until a whole step of reports can be added at once; by group each group moves so. And whoever sends nine
reports of their own after somebody's could take these off ten that appear: so another whole step is held back
whenever some are shown, drawn by lot out of all that wait. Keys are made by phones, and decide nothing. Whom
nine of a step are known to belong to is then shown with the tenth person half of the time: of guesses that
are made at that step at most 3 in 4 are right, where a coin is right half of the time. Guesses that wait for
later steps can be right more often. The keys of what was shown are kept with the collection: every reader
sees the same, and none sees more by asking often, elsewhere, or again after a restart. In a rehearsal nobody
is held back.

What this does not do: whoever sends many reports of their own, as anybody can where access is open, drives
the others out of those that wait, and reads a single report off the results, though never the answer behind
it; closing shows the rest at once, which is fewer than two steps, and by group as many more of each group;
tables by different questions move each for itself, so that somebody who watches several of them may learn
more; plain answers may tell whose report is among those of one step; and a copy of the database of an open
collection tells those that were shown from those that came later, until closing removes that, too.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from random import SystemRandom
from typing import Any

from toolkit.core.checks import refuse
from toolkit.survey.questions.survey_fields import UNDERSTOOD
from toolkit.survey.spec import OPEN_ACCESS, Survey
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.protocol import KEY_BYTES, State, StoreError

FLOODED = (
    "Until it is closed, whoever sends many reports of their own and watches these results can tell what one "
    "other person sent, though not the answer behind it."
)

_SETTING = "shown"  # the store forgets settings that begin so when the collection is closed
_TRIES = 20
_LOT = SystemRandom()

Keys = frozenset[bytes]
Names = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Shown:
    """The reports that a reader gets, in the order of their random keys, and how many are `there` in all."""

    state: State
    bodies: tuple[str, ...]
    there: int

    @property
    def moving(self) -> bool:
        """Whether more can come."""
        return self.state is not State.CLOSED


def look(store: Collection, survey: Survey, by: Sequence[str] = ()) -> Shown:
    """Return all reports of a closed collection; of another whole steps of them, none below the minimum. Of an open one
    of several waves, none: which were shown first would tell, by the number that joins waves, who came first.
    """
    for _ in range(_TRIES):
        state = store.state()
        if state is State.CLOSED:
            bodies = tuple(store.reports())
            return Shown(state, bodies, len(bodies))
        if survey.waves > 1:
            return Shown(state, (), store.count())
        # The narrower before the wider, and both before the reports, which only become more: each holds the
        # one before it.
        before = {names: store.setting(_setting(names)) for names in reversed(_sorted_by(survey, by))}
        rows = dict(store.rows())
        chosen = _moved(store, survey, before, rows)
        if chosen is not None:
            seen = tuple(rows[key] for key in sorted(chosen))
            return Shown(state, seen if len(seen) >= survey.minimum else (), len(rows))
    refuse("the collection must be free to look at", "others who look at the same time", "try again", StoreError)


def _sorted_by(survey: Survey, by: Sequence[str]) -> list[Names]:
    """What people are sorted by, first always, then for these groups: also by what decides whether a question is asked,
    else the estimate of a question that few are asked could move by one of them.
    """
    deciding = {name for question in survey.questions if question.randomized for name in question.show_if or {}}
    return list(dict.fromkeys((tuple(sorted(deciding)), tuple(sorted({*deciding, *by})))))


def _moved(
    store: Collection, survey: Survey, before: dict[Names, str | None], rows: Mapping[bytes, str]
) -> Keys | None:
    """The keys to show now, first of all and of these by group; None if another reader was faster."""
    chosen: Keys = frozenset(rows)
    for names, text in reversed(before.items()):
        earlier = _unpacked(text)
        groups = {key: _group(rows[key], names) for key in chosen}
        chosen = enlarged(earlier, groups, survey.step, held_back(survey))
        if chosen != earlier and not store.swap(_setting(names), text, _packed(chosen)):
            return None
    return chosen


def held_back(survey: Survey) -> int:
    """Return how many waiting reports are held back: a step; none of a rehearsal, or with a step of one."""
    return 0 if survey.rehearsal or survey.step == 1 else survey.step


def in_steps(survey: Survey, count: int) -> int:
    """Return how many of `count` reports are shown while a collection is open."""
    seen = (count - held_back(survey)) // survey.step * survey.step
    return seen if seen >= survey.minimum else 0


def first_look(survey: Survey, by: Sequence[str] = ()) -> int:
    """Return how many reports there must be before some are shown while a collection is open; of groups at the least,
    which is where all people are in one: of all some are held back, and then some of each group.
    """
    return -(-survey.minimum // survey.step) * survey.step + held_back(survey) * len(_sorted_by(survey, by))


def enlarged(shown: AbstractSet[bytes], groups: Mapping[bytes, Any], step: int, held: int = 0) -> Keys:
    """Return those that were shown, and whole steps more from each group, without those that are held back, which are
    drawn by lot; where none are, the smallest keys come first.
    """
    waiting: dict[Any, list[bytes]] = {}
    for key in sorted(groups.keys() - shown):
        waiting.setdefault(groups[key], []).append(key)
    added: list[bytes] = []
    for others in waiting.values():
        count = max((len(others) - held) // step * step, 0)
        added += _LOT.sample(others, count) if held else others[:count]
    return frozenset(shown) | frozenset(added)


def steps_note(survey: Survey, shown: Shown, by: Sequence[str] = ()) -> str:
    """Return how much of the collection is seen, and why not all of it; "" for a closed one."""
    if not shown.moving:
        return ""
    if survey.waves > 1:
        why = "so that nobody who sees whose links were used learns which reports came with them"
        count = shown.there // survey.step * survey.step
        return (
            f"While a collection of several waves is {shown.state.value}, only how many reports there are is "
            f"shown, at least {count:,}; all of them when it is closed, {why}."
        )
    sorts, seen, withheld = _sorted_by(survey, by), len(shown.bodies), held_back(survey)
    parts = [f" of each group by {', '.join(names)}" if names else " of all" for names in sorts]
    groups = parts[-1] if sorts[-1] else ""
    waiting = " and then ".join(f"the last {withheld:,}{part if groups else ''}" for part in parts)
    back = f", and {waiting} wait" if withheld else ""
    begun = f"While the collection is {shown.state.value}, it is shown in steps of {survey.step:,}{groups}{back}"
    stored = "1 is" if shown.there == 1 else f"{shown.there:,} are"
    if not seen:
        earliest = f"{'at the earliest ' if groups else ''}from {first_look(survey, by):,} reports on"
        return f"{begun}: {earliest}. So far {stored} stored."
    later = "" if groups else f"; the next at {seen + withheld + survey.step:,}"
    why = "so that until it is closed no two looks differ by one person's report"
    return f"{begun}, {why}. Here are {seen:,} of {shown.there:,} reports{later}."


def remarks(survey: Survey, shown: Shown, by: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the sentences about a collection; that it is a rehearsal, its reports say themselves."""
    everybody = survey.access == "open"
    flooded = everybody and shown.moving and not survey.rehearsal
    sentences = (steps_note(survey, shown, by), OPEN_ACCESS if everybody else "", FLOODED if flooded else "")
    return tuple(filter(None, sentences))


def _setting(names: Names) -> str:
    return f"{_SETTING} by {', '.join(names)}" if names else _SETTING


def _group(body: str, names: Names) -> tuple[Any, ...]:
    """What a report is sorted by, as its code; what is missing makes a group of its own."""
    if not names:
        return ()
    person = json.loads(body)
    return tuple(person[UNDERSTOOD] if name == UNDERSTOOD else person["answers"][name] for name in names)


def _packed(keys: Iterable[bytes]) -> str:
    """Keys as text, in their own order: the order in which they were shown is not kept."""
    return base64.b64encode(b"".join(sorted(keys))).decode()


def _unpacked(text: str | None) -> Keys:
    keys = base64.b64decode(text or "")
    return frozenset(keys[place : place + KEY_BYTES] for place in range(0, len(keys), KEY_BYTES))
