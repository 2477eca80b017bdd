"""Disclosure of an open collection in steps, so that no two results before closing differ by one person's report.

A person who sees the estimates before and after somebody answers can subtract them. Therefore the disclosed reports
stay the same until a whole step of reports can be added at once; in tables by group, each group changes in such steps.
A person who sends nine reports after somebody else's could subtract them from a step of ten. Therefore, whenever
reports are disclosed, another whole step, drawn at random from all waiting reports, is withheld. The draw does not
depend on the keys, because phones choose them. If somebody knows nine reports of a step, the tenth person's report is
in that step only half of the time. At most 3 in 4 guesses made at that step are therefore right, compared with 1 in 2
for a coin toss. Guesses made after later steps can be right more often. The keys of disclosed reports are stored with
the collection: every reader gets the same reports, and nobody learns more by asking repeatedly, from another machine,
or after a restart. In a rehearsal nothing is withheld.

The protection has limits. With open access, a person can send so many reports that few of the waiting reports are from
other people. This person can then read a single report from the results, though never the answer behind it. Closing
discloses all remaining reports together: fewer than two steps, and in tables by group fewer than two more steps of each
group. Tables by different questions change independently, so that somebody who watches several of them may learn more.
Plain answers may reveal whose report is in a step. A copy of the database of an open collection distinguishes disclosed
reports from later ones until closing removes the keys.
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
    "Until it is closed, anybody who sends many reports and watches these results can infer what one other person "
    "sent, though not the answer behind it."
)

_SETTING_PREFIX = "shown"  # settings with this prefix are deleted when the collection is closed
_MAX_ATTEMPTS = 20
_RNG = SystemRandom()

Keys = frozenset[bytes]
QuestionNames = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class DisclosedReports:
    """The reports that a reader gets, in the order of their random keys, and the number of stored reports."""

    state: State
    bodies: tuple[str, ...]
    n_stored: int

    @property
    def is_open(self) -> bool:
        """Whether more reports can be disclosed later."""
        return self.state is not State.CLOSED


def disclose(store: Collection, survey: Survey, by: Sequence[str] = ()) -> DisclosedReports:
    """Return all reports of a closed collection, or whole steps of an open one, beginning at the minimum.

    An open collection with several waves discloses no reports. Otherwise the number that links the waves would let a
    reader connect the reports that were disclosed first with the people who answered first.
    """
    for _ in range(_MAX_ATTEMPTS):
        state = store.state()
        if state is State.CLOSED:
            bodies = tuple(store.reports())
            return DisclosedReports(state, bodies, len(bodies))
        if survey.waves > 1:
            return DisclosedReports(state, (), store.count_reports())
        # Read the smaller set before the larger one, and both before the reports. Since all of them only grow, each
        # set then contains the previous one.
        previous = {names: store.get_setting(_setting_name(names)) for names in reversed(_groupings(survey, by))}
        rows = dict(store.rows())
        keys = _advance_disclosure(store, survey, previous, rows)
        if keys is not None:
            visible = tuple(rows[key] for key in sorted(keys))
            return DisclosedReports(state, visible if len(visible) >= survey.minimum else (), len(rows))
    reject("the results must be free to be read", "other readers at the same time", "try again", StoreError)


def _groupings(survey: Survey, by: Sequence[str]) -> list[QuestionNames]:
    """Return the groupings by which reports are disclosed: first without and then with the groups of `by`.

    Both include the questions that decide whether a randomized question is asked. Otherwise the estimate of a question
    that few people are asked could change because of a single report.
    """
    condition_names = {name for question in survey.questions if question.randomized for name in question.show_if or {}}
    return list(dict.fromkeys((tuple(sorted(condition_names)), tuple(sorted({*condition_names, *by})))))


def _advance_disclosure(
    store: Collection, survey: Survey, previous: dict[QuestionNames, str | None], rows: Mapping[bytes, str]
) -> Keys | None:
    """Return the keys to disclose now, first overall and then by group, or None if another reader was faster."""
    keys: Keys = frozenset(rows)
    for names, text in reversed(previous.items()):
        disclosed = _decode_keys(text)
        groups = {key: _group_of(rows[key], names) for key in keys}
        keys = enlarge_disclosed(disclosed, groups, survey.step, withheld_count(survey))
        if keys != disclosed and not store.compare_and_set(_setting_name(names), text, _encode_keys(keys)):
            return None
    return keys


def withheld_count(survey: Survey) -> int:
    """Return the number of waiting reports to withhold: a step, or none in a rehearsal or if the step is one."""
    return 0 if survey.rehearsal or survey.step == 1 else survey.step


def disclosed_count(survey: Survey, n_reports: int) -> int:
    """Return how many of `n_reports` reports are disclosed while a collection is open."""
    n_visible = (n_reports - withheld_count(survey)) // survey.step * survey.step
    return n_visible if n_visible >= survey.minimum else 0


def first_disclosure_count(survey: Survey, by: Sequence[str] = ()) -> int:
    """Return the number of reports at which an open collection discloses its first step.

    With groups this is a lower bound, attained when all people are in one group: first a step of all reports is
    withheld, then a step of each group.
    """
    return -(-survey.minimum // survey.step) * survey.step + withheld_count(survey) * len(_groupings(survey, by))


def enlarge_disclosed(
    disclosed: AbstractSet[bytes], groups: Mapping[bytes, Any], step: int, n_withheld: int = 0
) -> Keys:
    """Add whole steps of each group to the disclosed keys.

    `groups` contains the group of every key. The withheld reports are drawn at random. If none are withheld, the
    smallest keys are disclosed first.
    """
    waiting: dict[Any, list[bytes]] = {}
    for key in sorted(groups.keys() - disclosed):
        waiting.setdefault(groups[key], []).append(key)
    added: list[bytes] = []
    for group_keys in waiting.values():
        count = max((len(group_keys) - n_withheld) // step * step, 0)
        added += _RNG.sample(group_keys, count) if n_withheld else group_keys[:count]
    return frozenset(disclosed) | frozenset(added)


def disclosure_note(survey: Survey, disclosed: DisclosedReports, by: Sequence[str] = ()) -> str:
    """Return a sentence on how much of the collection is disclosed and why, or "" for a closed collection."""
    if not disclosed.is_open:
        return ""
    if survey.waves > 1:
        reason = "so that nobody who sees whose links were used learns which reports came with these links"
        count = disclosed.n_stored // survey.step * survey.step
        return (
            f"While a collection of several waves is {disclosed.state.value}, only the number of its reports is "
            f"shown, at least {count:,}; all reports are shown when it is closed, {reason}."
        )
    groupings, n_visible, n_withheld = _groupings(survey, by), len(disclosed.bodies), withheld_count(survey)
    scopes = [f" of each group by {', '.join(names)}" if names else " of all" for names in groupings]
    scope = scopes[-1] if groupings[-1] else ""
    waiting = " and then ".join(f"the last {n_withheld:,}{each if scope else ''}" for each in scopes)
    withheld_text = f", and {waiting} wait" if n_withheld else ""
    opening = (
        f"While the collection is {disclosed.state.value}, it is shown in steps of {survey.step:,}{scope}"
        f"{withheld_text}"
    )
    stored = "1 is" if disclosed.n_stored == 1 else f"{disclosed.n_stored:,} are"
    if not n_visible:
        earliest = f"{'at the earliest ' if scope else ''}from {first_disclosure_count(survey, by):,} reports on"
        return f"{opening}: {earliest}. So far {stored} stored."
    later = "" if scope else f"; the next at {n_visible + n_withheld + survey.step:,}"
    reason = "so that until it is closed no two looks differ by one person's report"
    return f"{opening}, {reason}. Here are {n_visible:,} of {disclosed.n_stored:,} reports{later}."


def disclosure_remarks(survey: Survey, disclosed: DisclosedReports, by: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the remarks on the results of a collection; its reports already have the remark on a rehearsal."""
    is_open_access = survey.access == "open"
    can_flood = is_open_access and disclosed.is_open and not survey.rehearsal
    sentences = (
        disclosure_note(survey, disclosed, by),
        OPEN_ACCESS_REMARK if is_open_access else "",
        FLOODED if can_flood else "",
    )
    return tuple(filter(None, sentences))


def _setting_name(names: QuestionNames) -> str:
    return f"{_SETTING_PREFIX} by {', '.join(names)}" if names else _SETTING_PREFIX


def _group_of(body: str, names: QuestionNames) -> tuple[Any, ...]:
    """Return the answers by which a report is grouped, as codes; missing answers form a separate group."""
    if not names:
        return ()
    report = json.loads(body)
    return tuple(report[UNDERSTOOD] if name == UNDERSTOOD else report["answers"][name] for name in names)


def _encode_keys(keys: Iterable[bytes]) -> str:
    """Encode keys as text; they are sorted, so that the order of their disclosure is not stored."""
    return base64.b64encode(b"".join(sorted(keys))).decode()


def _decode_keys(text: str | None) -> Keys:
    keys = base64.b64decode(text or "")
    return frozenset(keys[start : start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES))
