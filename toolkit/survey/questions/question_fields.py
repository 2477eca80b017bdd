"""What a question may be made of: its arguments, checked and brought to their final form.

Designs are read as people write them in a file, `{warner = {p = "2/3"}}`, and as `to_dict` writes them.
"""

from collections.abc import Mapping, Sequence, Sized
from typing import Any

from toolkit.core.arrays import Labels
from toolkit.core.checks import choice, labels, refuse
from toolkit.local.birthdays import born, days, innocent_share
from toolkit.local.catalogue import Maker, check_arguments, makers, parameters, restore
from toolkit.local.design import Design, has_matrix
from toolkit.local.numeric.grid import checked_bounds
from toolkit.local.protocol import Randomizer
from toolkit.local.questionnaire import Likert, likert
from toolkit.local.waves import KIND as MEMO
from toolkit.local.waves import Memo
from toolkit.survey.questions.files import naming
from toolkit.texts.multilingual import Frozen, Text, checked_words
from toolkit.texts.odds import NEEDS_SECRET_ANSWER

LONGEST = {"text": 2000, "help": 4000, "instructions": 4000, "warning": 2000}
"""Characters of each text of a question."""

MOST_OPTIONS = 1000
"""That a question may have, so that somebody finds an answer among them."""

_LONGEST_OPTION = 100
_LONGEST_LABEL = 300


def flag(value: object, name: str) -> bool:
    """Return a truth value; refuse anything else."""
    if not isinstance(value, bool):
        refuse(f"`{name}` must be true or false", type(value).__name__, "nothing else is defined", TypeError)
    return value


def normalize(args: dict[str, Any]) -> dict[str, Any]:
    design = args["design"].distribution if isinstance(args["design"], Likert) else args["design"]
    memo = design if isinstance(design, Memo) else None
    design = design if memo is None else _one_report(memo, args["mode"])
    args = {**args, "design": design}
    if design is not None and not isinstance(design, Randomizer):
        refuse(
            "`design` must be a randomizer", type(design).__name__, 'make one, for example warner(p="2/3")', TypeError
        )
    for name in ("required", "multiple", "free_text", "whole"):
        flag(args[name], name)
    words = {
        key: None if args[key] is None and key != "text" else checked_words(args[key], key, longest)
        for key, longest in LONGEST.items()
    }
    fields = {**args, **words, **(_plain(args) if design is None else _randomized(args, design))}
    reports = () if design is None else design.report_options
    _check_options(fields["options"])
    _check_options(reports)
    _check_whole(fields)
    labels = _labels(args["labels"], (*fields["options"], *reports))
    rest = {"labels": labels, "anchor": _anchor(args["anchor"], fields), "show_if": _condition(args["show_if"])}
    return {**fields, **rest, "memo": memo, "innocent": _innocent(args["innocent"], design, fields["mode"])}


def checked_innocent(question: object) -> dict[str, str]:
    """Return the innocent question as it was written; its months are checked where they are counted."""
    if not isinstance(question, Mapping) or set(question) != {"born"} or not isinstance(question["born"], str):
        rule = "`innocent` must be the months of a birthday"
        refuse(
            rule, type(question).__name__, 'write {"born": "jan-apr"}, in TOML innocent = {born = "jan-apr"}', TypeError
        )
    return dict(question)


def _innocent(innocent: object, design: Any, mode: str) -> Frozen[str, str] | None:
    """Months whose days are the share that the design was made with."""
    if innocent is None:
        return None
    months = checked_innocent(innocent)["born"]
    share = innocent_share(design) if design is not None and has_matrix(design) else None
    if share is None or mode != "physical":
        rule = '`innocent` needs mode "physical" and a crosswise, triangular or unrelated design'
        refuse(rule, f"{getattr(design, 'name', 'no design')} in mode {mode!r}", "there is no other question")
    if share != born(months):
        rule = f"the innocent share of the design must be that of the days, {float(days(months)):g} of 365.25"
        refuse(
            rule, share, f'leave it out in a file, and write {design.name}(toolkit.local.born("{months}")) in Python'
        )
    return Frozen({"born": months})


def _one_report(memo: Memo, mode: object) -> Design:
    """The design of one report of a memo, whose odds people are told: those that a phone draws with."""
    if mode != "auto":
        rule = '`mode` must be "auto" with a memo'
        refuse(rule, repr(mode)[:40], "no wheel, die or sheet of paper keeps an answer for later waves")
    if not memo.is_exact:
        rule = "the denominators of a memo's two designs must multiply to at most 2**32"
        why = 'the odds that people read would not be those that are drawn; take fractions, as warner("3/4")'
        refuse(rule, f"{memo.permanent.denominator:,} and {memo.fresh.denominator:,}", why)
    return memo.design


def _randomized(args: dict[str, Any], design: Randomizer) -> dict[str, Any]:
    design.browser_data()  # refuses what a browser could not draw exactly
    hidden = "an answer beside them would not be hidden; leave it out, or make it equal"
    options = design.options
    if args["options"] is not None and tuple(args["options"]) != options:
        rule = f"a randomized question has the options of its design, in their order ({_said(options)})"
        refuse(rule, _said(args["options"]), hidden)
    bounds = design.bounds
    if args["bounds"] is not None and checked_bounds(args["bounds"]) != bounds:
        refuse("a randomized question has the bounds of its design", args["bounds"], hidden)
    if args["multiple"] or args["free_text"]:
        refuse(
            "`multiple` and `free_text` are for plain questions", "a design too", "the design says what is asked for"
        )
    mode = choice(args["mode"], "mode", ("auto", "guided", "physical"))
    if mode != "auto" and design.matrix is None:
        rule = f'`mode` must be "auto" with {design.name}'
        refuse(rule, repr(mode), "only a design that is a matrix can be drawn by hand")
    unworded = has_matrix(design) and design.procedure == "unrelated"  # there are built-in words for comparisons only
    plain = args["instructions"] is None and (args["innocent"] is None or unworded)
    if mode == "physical" and plain and not any(one.exact and one.by_hand for one in design.devices()):  # type: ignore[attr-defined]
        rule = 'a question in mode "physical" needs `instructions`, or a design that a coin, a die or slips draw'
        refuse(rule, design.name, f"people must know what to do; {_advice(design)}")
    return {"options": options, "mode": mode, "bounds": bounds}


def _said(options: Any) -> str:
    return ", ".join(map(str, options[:8])) + (", …" if len(options) > 8 else "")


def _advice(design: Any) -> str:
    near = next((one for one in design.devices() if one.by_hand), None)
    return (
        "take fewer options"
        if near is None
        else f"nearest comes {near!r}: take its design, {near.design.weights.tolist()} of {near.design.denominator}"
    )


def _plain(args: dict[str, Any]) -> dict[str, Any]:
    kinds = [key for key in ("options", "bounds", "free_text") if args[key] is not None and args[key] is not False]
    if len(kinds) != 1:
        rule = "a question without a `design` must have exactly one of `options`, `bounds` and `free_text`"
        refuse(rule, " and ".join(kinds) or "none", "it says what is asked for")
    if args["multiple"] and kinds != ["options"]:
        refuse("`multiple` needs `options`", kinds[0], "there is nothing to tick")
    if args["instructions"] is not None:
        refuse("`instructions` are for randomized questions", "a plain one", "say it in `text` or `help`")
    choice(args["mode"], "mode", ("auto", "plain"))
    check_count(args["options"])
    options = labels(args["options"], "options") if kinds == ["options"] else ()
    return {
        "options": options,
        "mode": "plain",
        "bounds": checked_bounds(args["bounds"]) if kinds == ["bounds"] else None,
    }


def _check_whole(fields: dict[str, Any]) -> None:
    """Whole numbers are demanded where a number is asked for, between bounds that are whole."""
    if not fields["whole"]:
        return
    if fields["bounds"] is None:
        refuse("`whole` needs a question for a number", "another kind", "give it `bounds`")
    if any(bound.denominator != 1 for bound in fields["bounds"]):
        low, high = map(float, fields["bounds"])
        refuse("`bounds` must be whole numbers where answers must be", f"{low:g} and {high:g}", "write [0, 80]")


def check_count(options: object) -> None:
    """Refuse too many options, or too large a number of them, before anything is made of them."""
    count = options if isinstance(options, int) else len(options) if isinstance(options, Sized) else 0
    if count > MOST_OPTIONS:
        rule = f"a question must have at most {MOST_OPTIONS} options"
        why = "nobody finds an answer among more"
        refuse(rule, count if count < 10**20 else "a number of more than 20 digits", why)


def _check_options(options: Labels) -> None:
    check_count(options)
    for option in options:
        if isinstance(option, str):
            checked_words(option, "options", _LONGEST_OPTION)


def _labels(named: object, options: Labels) -> Frozen[str | int, str | Text]:
    """By option; in a file all keys are strings, so options are known by how they are written."""
    if named is not None and not isinstance(named, Mapping):
        rule = "`labels` must be words by option"
        refuse(rule, type(named).__name__, 'write {"yes": "Yes, I have"}, in TOML {yes = "Yes, I have"}', TypeError)
    known = {str(option): option for option in options}
    for key in named or {}:
        if str(key) not in known:
            listed = ", ".join([*known][:8]) or "there are none"
            refuse(
                f"`labels` must name options ({listed})", repr(key)[:60], "an answer beside them would not be hidden"
            )
    return Frozen(
        {known[str(key)]: checked_words(words, f"labels.{key}", _LONGEST_LABEL) for key, words in (named or {}).items()}
    )


def _anchor(anchor: object, fields: dict[str, Any]) -> str | int | None:
    if anchor is None:
        return None
    design, options = fields["design"], fields["options"]
    if fields["multiple"] or not options or (design is not None and design.asks != "choice"):
        refuse(
            "`anchor` needs a question with one answer out of several", "another kind", "it is everybody's true answer"
        )
    if isinstance(anchor, bool) or anchor not in options:
        refuse("`anchor` must be one of the options", repr(anchor)[:60], "it is everybody's true answer")
    return options[options.index(anchor)]  # type: ignore[no-any-return]


def _condition(condition: object) -> Frozen[str, Labels] | None:
    if condition is None:
        return None
    if not isinstance(condition, Mapping) or not condition:
        rule = "`show_if` must be options by question"
        refuse(rule, type(condition).__name__, 'write {"faculty": ["law"]}, in TOML {faculty = ["law"]}', TypeError)
    for options in condition.values():
        if isinstance(options, str) or not isinstance(options, Sequence) or not options:
            rule = "`show_if` must give a list of options"
            refuse(rule, type(options).__name__, 'write {"faculty": ["law"]}, in TOML {faculty = ["law"]}', TypeError)
    return Frozen({str(name): tuple(options) for name, options in condition.items()})


_AS_A_MEMO = 'write design = {memo = {permanent = {warner = {p = "3/4"}}, fresh = {warner = {p = "3/4"}}}}'

_MOST_CELLS = 10_000


def read_design(data: object, **question: object) -> Randomizer | Memo:
    """Return the randomizer that a file describes; `question` is what stands around it, for makers that need it."""
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
