"""Designs as people write them in a file, `{warner = {p = "2/3"}}`, and as `to_dict` writes them."""

from collections.abc import Mapping, Sized
from typing import Any

from toolkit.core.checks import refuse
from toolkit.local.birthdays import born
from toolkit.local.catalogue import Maker, check_arguments, makers, parameters, restore
from toolkit.local.likert import likert
from toolkit.local.protocol import Randomizer
from toolkit.local.waves import KIND as MEMO
from toolkit.local.waves import Memo
from toolkit.survey.writing.question_fields import check_count, checked_innocent
from toolkit.survey.writing.unknown_fields import naming
from toolkit.texts.odds import NEEDS_SECRET_ANSWER

_AS_A_MEMO = 'write design = {memo = {permanent = {warner = {p = "3/4"}}, fresh = {warner = {p = "3/4"}}}}'

_MOST_CELLS = 10_000


def read_design(data: object, **question: object) -> Randomizer | Memo:
    """Return the randomizer that a file describes: one maker with its arguments, or the integers themselves.

    `question` are the options, the bounds and the innocent question around it: a maker that needs them takes them from
    there.
    """
    if not isinstance(data, Mapping):
        rule = "`design` must be a table"
        refuse(rule, type(data).__name__, 'write for example design = {warner = {p = "2/3"}}', TypeError)
    if data.get("kind") == MEMO:
        return Memo.from_dict(dict(data))
    if set(data) == {MEMO}:
        return _memo(data[MEMO], question)
    if set(data) == {"likert"}:
        return _likert(data["likert"])
    if "weights" in data or "kind" in data:
        return restore(dict(data))
    known = makers()
    if len(data) != 1 or not set(data) <= set(known):
        received = ", ".join(map(str, data))[:80] or "nothing"
        rule = f"`design` must name one of {', '.join([*known, 'likert', MEMO])}"
        refuse(rule, received, 'write for example design = {warner = {p = "2/3"}}')
    ((name, arguments),) = data.items()
    if not isinstance(arguments, Mapping):
        rule = f"`design.{name}` must be a table of its arguments"
        refuse(rule, type(arguments).__name__, _example(name, known[name]), TypeError)
    return _call_maker(name, known[name], arguments, question)


def _likert(arguments: Any) -> Randomizer:
    """The shares of the points of a scale."""
    if not isinstance(arguments, Mapping) or set(arguments) != {"points", "epsilon"}:
        known = ", ".join(map(str, arguments)) if isinstance(arguments, Mapping) else type(arguments).__name__
        rule = "`design.likert` must have points and epsilon"
        refuse(rule, known[:80] or "nothing", "write design = {likert = {points = 5, epsilon = 0.8}}")
    return likert(arguments["points"], arguments["epsilon"]).distribution


def _memo(parts: object, question: Mapping[str, Any]) -> Memo:
    """Both designs of a memo, each as a file describes a design."""
    if not isinstance(parts, Mapping) or set(parts) != {"permanent", "fresh"}:
        received = ", ".join(map(str, parts))[:80] if isinstance(parts, Mapping) else type(parts).__name__
        refuse("`design.memo` must have the designs permanent and fresh", received or "nothing", _AS_A_MEMO)
    designs: dict[str, Any] = {}
    for name in ("permanent", "fresh"):
        with naming(f"design.memo.{name}"):
            designs[name] = read_design(parts[name], **question)
    return Memo(**designs)


def _call_maker(name: str, maker: Maker, arguments: Mapping[str, Any], question: Mapping[str, Any]) -> Randomizer:
    known = parameters(maker)
    around = {key: value for key, value in question.items() if key in known and value is not None}
    if (innocent := question.get("innocent")) is not None and name in NEEDS_SECRET_ANSWER:
        around["prevalence" if "prevalence" in known else "p"] = born(checked_innocent(innocent)["born"])
    filled = {**around, **arguments}
    check_count(filled.get("options"))
    rows = filled.get("matrix")
    cells = sum(len(row) for row in rows if isinstance(row, Sized)) if isinstance(rows, list) else 0
    if cells > _MOST_CELLS:
        refuse(f"`design.{name}` must have at most {_MOST_CELLS:,} probabilities", f"{cells:,}", "take k_ary")
    check_arguments(maker, filled, said=f"design.{name}", example=_example(name, maker))
    return maker(**filled)


def _example(name: str, maker: Maker) -> str:
    arguments = ", ".join(f"{key} = …" for key in parameters(maker))
    return f"write design = {{{name} = {{{arguments}}}}}"
