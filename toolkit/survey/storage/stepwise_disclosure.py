"""Disclosure of an open collection in steps, so that no two results before closing differ by one person's report.

A person who sees an estimate before and after somebody answers can take the difference. So the disclosed reports stay
the same until a whole step of reports can be added at once, and in tables by group each group advances in such steps.
A person who sends nine reports after somebody else's could subtract them from a step of ten. So whenever reports are
disclosed another whole step, drawn at random from all waiting reports, is withheld; keys are made by phones and have no
influence. Somebody who knows nine reports of a step then sees the tenth person's in it half of the time: at most 3 in 4
guesses at that step are right, where a coin is right half of the time. Guesses that wait for later steps can be right
more often. The keys of disclosed reports are stored with the collection: every reader gets the same reports, and nobody
gets more by asking often, elsewhere, or after a restart. In a rehearsal nothing is withheld.

Limits: where access is open, a person who sends many reports displaces all others from those that wait, and can read a
single report from the results, though never the answer behind it. Closing discloses the rest at once, which is fewer
than two steps, and in tables by group as many more of each group. Tables by different questions advance independently,
so that somebody who watches several of them may learn more. Plain answers may reveal whose report is in a step. A copy
of the database of an open collection distinguishes disclosed reports from later ones until closing removes the keys.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from random import SystemRandom
from typing import Any

from toolkit.core.checks import reject
from toolkit.survey.questions.survey_fields import UNDERSTOOD
from toolkit.survey.spec import OPEN_ACCESS_REMARK, Survey
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.protocol import KEY_BYTES, State, StoreError

FLOODED = (
    "Until it is closed, whoever sends many reports of their own and watches these results can tell what one "
    "other person sent, though not the answer behind it."
)

_SETTING = "shown"  # settings with this prefix are deleted when the collection is closed
_MAX_ATTEMPTS = 20
_RNG = SystemRandom()

Keys = frozenset[bytes]
Names = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class DisclosedReports:
    """The reports that a reader gets, in the order of their random keys, and the number that is `stored`."""

    state: State
    bodies: tuple[str, ...]
    stored: int

    @property
    def is_open(self) -> bool:
        """Whether more reports can be disclosed later."""
        return self.state is not State.CLOSED


def disclose(store: Collection, survey: Survey, by: Sequence[str] = ()) -> DisclosedReports:
    """Return all reports of a closed collection, and those of an open one in whole steps from the minimum on.

    An open collection of several waves discloses none: by the number that joins waves, the reports that were disclosed
    first would reveal who came first.
    """
    for _ in range(_MAX_ATTEMPTS):
        state = store.state()
        if state is State.CLOSED:
            bodies = tuple(store.reports())
            return DisclosedReports(state, bodies, len(bodies))
        if survey.waves > 1:
            return DisclosedReports(state, (), store.count())
        # Read the narrower set before the wider one, and both before the reports, whose number only grows: so each
        # set contains the one before it.
        previous = {names: store.get_setting(_setting(names)) for names in reversed(_groupings(survey, by))}
        rows = dict(store.rows())
        keys = _advance(store, survey, previous, rows)
        if keys is not None:
            visible = tuple(rows[key] for key in sorted(keys))
            return DisclosedReports(state, visible if len(visible) >= survey.minimum else (), len(rows))
    reject("the results must be free to be read", "other readers at the same time", "try again", StoreError)


def _groupings(survey: Survey, by: Sequence[str]) -> list[Names]:
    """Return the groupings by which reports are disclosed: first without, then with the groups of `by`.

    Questions that decide whether a randomized question is asked belong to both. Otherwise the estimate of a question
    that few people are asked could change by one of them.
    """
    deciding = {name for question in survey.questions if question.randomized for name in question.show_if or {}}
    return list(dict.fromkeys((tuple(sorted(deciding)), tuple(sorted({*deciding, *by})))))


def _advance(
    store: Collection, survey: Survey, previous: dict[Names, str | None], rows: Mapping[bytes, str]
) -> Keys | None:
    """Return the keys to disclose now, first in all and then by group, or None if another reader was faster."""
    keys: Keys = frozenset(rows)
    for names, text in reversed(previous.items()):
        earlier = _unpack(text)
        groups = {key: _group_of(rows[key], names) for key in keys}
        keys = enlarge(earlier, groups, survey.step, withheld_count(survey))
        if keys != earlier and not store.compare_and_set(_setting(names), text, _pack(keys)):
            return None
    return keys


def withheld_count(survey: Survey) -> int:
    """Return the number of waiting reports to withhold: a step, or none in a rehearsal and with a step of one."""
    return 0 if survey.rehearsal or survey.step == 1 else survey.step


def disclosed_count(survey: Survey, count: int) -> int:
    """Return how many of `count` reports are disclosed while a collection is open."""
    visible = (count - withheld_count(survey)) // survey.step * survey.step
    return visible if visible >= survey.minimum else 0


def first_disclosure(survey: Survey, by: Sequence[str] = ()) -> int:
    """Return the number of reports from which on an open collection discloses some.

    With groups it is a lower bound, attained when all people are in one group: first a step of all reports is withheld,
    then a step of each group.
    """
    return -(-survey.minimum // survey.step) * survey.step + withheld_count(survey) * len(_groupings(survey, by))


def enlarge(disclosed: AbstractSet[bytes], groups: Mapping[bytes, Any], step: int, withheld: int = 0) -> Keys:
    """Add whole steps of each group to the disclosed keys.

    The withheld reports are drawn at random. Where none are withheld, the smallest keys come first.
    """
    waiting: dict[Any, list[bytes]] = {}
    for key in sorted(groups.keys() - disclosed):
        waiting.setdefault(groups[key], []).append(key)
    added: list[bytes] = []
    for others in waiting.values():
        count = max((len(others) - withheld) // step * step, 0)
        added += _RNG.sample(others, count) if withheld else others[:count]
    return frozenset(disclosed) | frozenset(added)


def disclosure_note(survey: Survey, disclosed: DisclosedReports, by: Sequence[str] = ()) -> str:
    """Return a sentence on how much of the collection is disclosed and why; "" for a closed one."""
    if not disclosed.is_open:
        return ""
    if survey.waves > 1:
        reason = "so that nobody who sees whose links were used learns which reports came with them"
        count = disclosed.stored // survey.step * survey.step
        return (
            f"While a collection of several waves is {disclosed.state.value}, only how many reports there are is "
            f"shown, at least {count:,}; all of them when it is closed, {reason}."
        )
    groupings, visible, withheld = _groupings(survey, by), len(disclosed.bodies), withheld_count(survey)
    scopes = [f" of each group by {', '.join(names)}" if names else " of all" for names in groupings]
    scope = scopes[-1] if groupings[-1] else ""
    waiting = " and then ".join(f"the last {withheld:,}{each if scope else ''}" for each in scopes)
    withheld_text = f", and {waiting} wait" if withheld else ""
    opening = (
        f"While the collection is {disclosed.state.value}, it is shown in steps of {survey.step:,}{scope}"
        f"{withheld_text}"
    )
    stored = "1 is" if disclosed.stored == 1 else f"{disclosed.stored:,} are"
    if not visible:
        earliest = f"{'at the earliest ' if scope else ''}from {first_disclosure(survey, by):,} reports on"
        return f"{opening}: {earliest}. So far {stored} stored."
    later = "" if scope else f"; the next at {visible + withheld + survey.step:,}"
    reason = "so that until it is closed no two looks differ by one person's report"
    return f"{opening}, {reason}. Here are {visible:,} of {disclosed.stored:,} reports{later}."


def disclosure_remarks(survey: Survey, disclosed: DisclosedReports, by: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the remarks on the results of a collection, except that of a rehearsal, which its reports have."""
    is_open_access = survey.access == "open"
    can_flood = is_open_access and disclosed.is_open and not survey.rehearsal
    sentences = (
        disclosure_note(survey, disclosed, by),
        OPEN_ACCESS_REMARK if is_open_access else "",
        FLOODED if can_flood else "",
    )
    return tuple(filter(None, sentences))


def _setting(names: Names) -> str:
    return f"{_SETTING} by {', '.join(names)}" if names else _SETTING


def _group_of(body: str, names: Names) -> tuple[Any, ...]:
    """Return the answers by which a report is grouped, as codes; missing answers form a group of their own."""
    if not names:
        return ()
    person = json.loads(body)
    return tuple(person[UNDERSTOOD] if name == UNDERSTOOD else person["answers"][name] for name in names)


def _pack(keys: Iterable[bytes]) -> str:
    """Encode keys as text, sorted, so that the order of their disclosure is not stored."""
    return base64.b64encode(b"".join(sorted(keys))).decode()


def _unpack(text: str | None) -> Keys:
    keys = base64.b64decode(text or "")
    return frozenset(keys[start : start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES))
