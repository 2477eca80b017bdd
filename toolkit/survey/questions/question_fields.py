"""Checks of a question's fields; each check returns the value in its final form.

Designs can be given by name, as in `{warner = {p = "2/3"}}`, or in the form that `to_dict` writes.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence, Sized
from contextlib import suppress
from fractions import Fraction
from typing import Any, TypeVar

from toolkit.core.arrays import Labels
from toolkit.core.checks import check_choice, check_labels, reject
from toolkit.local.birthdays import born, count_days, innocuous_share
from toolkit.local.catalogue import CATALOGUE, Maker, check_arguments, makers, parameter_requirements, restore
from toolkit.local.design import Design, has_matrix
from toolkit.local.numeric.grid import checked_bounds
from toolkit.local.protocol import Randomizer
from toolkit.local.questionnaire import Likert, likert
from toolkit.local.waves import KIND as MEMO
from toolkit.local.waves import Memo
from toolkit.survey.questions.errors import SurveyError, error_location
from toolkit.texts.multilingual import Frozen, Text, checked_string, checked_words
from toolkit.texts.odds import NEEDS_SECRET_ANSWER

MOST_OPTIONS = 1000
"""Maximum number of options of a question."""

_LONGEST_OPTION = 100
_LONGEST_LABEL = 300
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def checked_flag(value: object, name: str, *_: object) -> bool:
    """Return a boolean; reject anything else."""
    if not isinstance(value, bool):
        reject(f"`{name}` must be true or false", type(value).__name__, "write true or false", TypeError)
    return value


def checked_name(value: object, *_: object) -> str:
    """Check and return the name of a question, which becomes the name of a column."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        rule = "a question's `name` must be up to 40 of a–z, 0–9 and _, starting with a letter"
        reject(rule, repr(value)[:60], "it becomes a column of the results")
    return value


def checked_text(value: object, name: str, _question: object, most: int) -> str | Text | None:
    """Check and return a text of a question; only the field `text` is required."""
    if value is None and name != "text":
        return None
    return checked_words(value, name, most)


def checked_design(value: object, *_: object) -> Randomizer | None:
    """Check the design, and return the randomizer of a single report."""
    if value is None:
        return None
    design = value.distribution if isinstance(value, Likert) else value
    design = _single_report_design(design) if isinstance(design, Memo) else design
    if not isinstance(design, Randomizer):
        reject(
            "`design` must be a randomizer", type(design).__name__, 'make one, for example warner(p="2/3")', TypeError
        )
    design._browser_data()  # raises an error if a browser could not draw the design exactly
    return design


def _single_report_design(memo: Memo) -> Design:
    """Return the design of a single report of a memo; phones must be able to draw it exactly."""
    if not memo._design_is_exact:
        rule = "the denominators of a memo's two designs must multiply to at most 2**32"
        why = 'the odds in the consent text would differ from those of the draws; use fractions, as in warner("3/4")'
        reject(rule, f"{memo.permanent.denominator:,} and {memo.fresh.denominator:,}", why)
    return memo.design


_SAME_AS_DESIGN = "other answers would not be protected; leave the field out, or make it equal"


def checked_options(value: Any, name: str, question: Any) -> Labels:
    """Check and return the options: the options of the design, or the given options of a plain question."""
    design = question.design
    if design is None:
        given_fields = _given_answer_fields(question)
        if len(given_fields) != 1:
            rule = "a question without a `design` must have exactly one of `options`, `bounds` and `free_text`"
            reject(rule, " and ".join(given_fields) or "none", "this determines the kind of answer")
        check_option_count(value)
        options = check_labels(value, name) if given_fields == ["options"] else ()
    else:
        options = design.options
        if value is not None and tuple(value) != options:
            rule = f"a randomized question has the options of its design, in their order ({_option_list(options)})"
            reject(rule, _option_list(value), _SAME_AS_DESIGN)
        _check_options(design.report_options)
    _check_options(options)
    return options


def _given_answer_fields(question: Any) -> list[str]:
    """Return the names of the given fields that determine the kind of answer to a plain question."""
    given = {name: getattr(question, name) for name in ("options", "bounds", "free_text")}
    return [name for name, value in given.items() if value is not None and value is not False]


def _option_list(options: Any) -> str:
    return ", ".join(map(str, options[:8])) + (", …" if len(options) > 8 else "")


def check_option_count(options: object) -> None:
    """Reject too many options, given as a list or as a number, before processing them."""
    n_options = options if isinstance(options, int) else len(options) if isinstance(options, Sized) else 0
    if n_options > MOST_OPTIONS:
        rule = f"a question must have at most {MOST_OPTIONS} options"
        why = "nobody could find an answer among more"
        reject(rule, n_options if n_options < 10**20 else "a number of more than 20 digits", why)


def _check_options(options: Labels) -> None:
    check_option_count(options)
    for option in options:
        if isinstance(option, str):
            checked_words(option, "options", _LONGEST_OPTION)


def checked_labels(value: object, _name: str, question: Any) -> Frozen[str | int, str | Text]:
    """Check and return the labels by option; options are compared as text, because all keys of a file are strings."""
    if value is not None and not isinstance(value, Mapping):
        rule = "`labels` must be a mapping from option to label"
        reject(rule, type(value).__name__, 'write {"yes": "Yes, I have"}, in TOML {yes = "Yes, I have"}', TypeError)
    options = {str(option): option for option in (*question.options, *question.report_options)}
    for key in value or {}:
        if str(key) not in options:
            received, why = repr(key)[:60], "no other answer can be given"
            reject(f"`labels` must name options ({', '.join([*options][:8]) or 'there are none'})", received, why)
    return Frozen(
        {
            options[str(key)]: checked_words(label, f"labels.{key}", _LONGEST_LABEL)
            for key, label in (value or {}).items()
        }
    )


def checked_mode(value: object, name: str, question: Any) -> str:
    """Check and return the mode of a question, which is "plain" without a design."""
    design = question.design
    if question.memo is not None and value != "auto":
        rule = '`mode` must be "auto" with a memo'
        reject(rule, repr(value)[:40], "only the phone can store an answer for later waves")
    if design is None:
        check_choice(value, name, ("auto", "plain"))
        return "plain"
    mode = check_choice(value, name, ("auto", "guided", "physical"))
    if mode != "auto" and design.matrix is None:
        rule = f'`mode` must be "auto" with {design.name}'
        reject(rule, repr(mode), "only a design with a matrix can be drawn by hand")
    return mode


def checked_instructions(value: object, name: str, question: Any, most: int) -> str | Text | None:
    """Check the instructions for randomizing by hand, which are optional if a common device can realize the design."""
    design = question.design
    if value is not None:
        if design is None:
            reject("`instructions` are for randomized questions", "a plain question", "use `text` or `help` instead")
        return checked_words(value, name, most)
    by_months = question.innocent is not None and getattr(design, "procedure", None) != "unrelated"
    if (
        question.mode == "physical"
        and not by_months
        and not any(device.exact and device._is_simple_to_use for device in design.devices())
    ):
        rule = 'a question in mode "physical" needs `instructions`, or a design that a coin, a die or slips draw'
        reject(rule, design.name, f"people must know what to do; {_device_advice(design)}")
    return None


def _device_advice(design: Any) -> str:
    nearest = next((device for device in design.devices() if device._is_simple_to_use), None)
    if nearest is None:
        return "use fewer options"
    weights, denominator = nearest.design.weights.tolist(), nearest.design.denominator
    return f"the nearest device is {nearest!r}: use its design, {weights} of {denominator}"


def checked_anchor(value: object, _name: str, question: Any) -> str | int | None:
    """Check and return the option that is everybody's true answer, or None."""
    if value is None:
        return None
    if question.multiple or not question.options or (question.randomized and question.design.answer_kind != "choice"):
        reject("`anchor` needs a single-choice question", "another kind", "it is everybody's true answer")
    if isinstance(value, bool) or value not in question.options:
        reject("`anchor` must be one of the options", repr(value)[:60], "it is everybody's true answer")
    return question.options[question.options.index(value)]  # type: ignore[no-any-return]


def checked_condition(value: object, *_: object) -> Frozen[str, Labels] | None:
    """Check and return the condition of a question: for each earlier question, the options that fulfill it."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not value:
        rule = "`show_if` must be a mapping from question to options"
        reject(rule, type(value).__name__, 'write {"faculty": ["law"]}, in TOML {faculty = ["law"]}', TypeError)
    for options in value.values():
        if isinstance(options, str) or not isinstance(options, Sequence) or not options:
            rule = "`show_if` must give a list of options"
            reject(rule, type(options).__name__, 'write {"faculty": ["law"]}, in TOML {faculty = ["law"]}', TypeError)
    return Frozen({str(question_name): tuple(options) for question_name, options in value.items()})


def checked_range(value: Any, _name: str, question: Any) -> tuple[Fraction, Fraction] | None:
    """Check and return the range of a number: the range of the design, or the given range of a plain question."""
    bounds = None if value is None else checked_bounds(value)
    if bounds is not None and question.whole is True and any(bound.denominator != 1 for bound in bounds):
        low, high = map(float, bounds)
        rule = "`bounds` must be whole numbers if answers must be whole numbers"
        reject(rule, f"{low:g} and {high:g}", "write [0, 80]")
    if question.design is None:
        return bounds
    if bounds is not None and bounds != question.design.bounds:
        reject("a randomized question has the bounds of its design", value, _SAME_AS_DESIGN)
    return question.design.bounds  # type: ignore[no-any-return]


def checked_plain_flag(value: object, name: str, question: Any) -> bool:
    """Check `multiple` or `free_text`, which only a plain question may set to true."""
    if checked_flag(value, name) and question.randomized:
        rule = "`multiple` and `free_text` are for plain questions"
        reject(rule, "a design as well", "the design determines the kind of answer")
    if value and name == "multiple" and not question.options:
        kind = "free_text" if question.bounds is None else "bounds"
        reject("`multiple` needs `options`", kind, "there is nothing to tick")
    return bool(value)


def checked_whole_flag(value: object, name: str, question: Any) -> bool:
    """Check `whole`, which only a question with bounds may set to true."""
    if not checked_flag(value, name):
        return False
    if question.bounds is None:
        reject("`whole` needs a question for a number", "another kind", "give it `bounds`")
    return True


def checked_random_order(value: object, name: str, question: Any) -> bool:
    """Check `random_order`, which only a question with options may set to true."""
    if checked_flag(value, name) and not question.options:
        reject("`random_order` needs a question with options", "another kind", "there is nothing to order")
    return bool(value)


def checked_page(value: object, name: str, question: Any) -> str | None:
    """Check and return the page of a plain question; a protected question has a page to itself."""
    if value is None:
        return None
    if question.randomized:
        why = "its odds and its report are shown beside it: leave `page` out"
        reject("`page` must be left out of a randomized question, which has a page to itself", "a page", why)
    return checked_string(value, name, 40)


def checked_innocent(value: object, _name: str, question: Any) -> Frozen[str, str] | None:
    """Check and return the innocent question, whose months must match the innocent share of the design."""
    if value is None:
        return None
    design, mode, months = question.design, question.mode, innocent_months(value)
    share = innocuous_share(design) if design is not None and has_matrix(design) else None
    if share is None or mode != "physical":
        rule = '`innocent` needs mode "physical" and a crosswise, triangular or unrelated design'
        reject(rule, f"{getattr(design, 'name', 'no design')} in mode {mode!r}", "leave `innocent` out")
    if share != born(months):
        rule = f"the innocent share of the design must be {float(count_days(months)):g} of 365.25 days"
        reject(
            rule,
            share,
            f'leave it out in a file, and write {design.procedure}(toolkit.local.born("{months}")) in Python',
        )
    return Frozen({"born": months})


def innocent_months(innocent: object) -> str:
    """Return the months of the innocent question, which are checked when their days are counted."""
    if not isinstance(innocent, Mapping) or set(innocent) != {"born"} or not isinstance(innocent["born"], str):
        rule = "`innocent` must be the months of a birthday"
        reject(
            rule, type(innocent).__name__, 'write {"born": "jan-apr"}, in TOML innocent = {born = "jan-apr"}', TypeError
        )
    return innocent["born"]


Product = TypeVar("Product")
_MEMO_EXAMPLE = 'write design = {memo = {permanent = {warner = {p = "3/4"}}, fresh = {warner = {p = "3/4"}}}}'

_MOST_CELLS = 10_000


def read_design(data: object, **question_fields: object) -> Randomizer | Memo:
    """Return the randomizer that a file describes; `question_fields` are other fields that the factory may need."""
    if not isinstance(data, Mapping):
        rule = "`design` must be a table"
        reject(rule, type(data).__name__, 'write for example design = {warner = {p = "2/3"}}', TypeError)
    if data.get("kind") == MEMO:
        return Memo.from_dict(dict(data))
    if set(data) == {MEMO}:
        return _read_memo(data[MEMO], question_fields)
    if set(data) == {"likert"}:
        return _read_likert(data["likert"])
    if "weights" in data or "kind" in data:
        return restore(dict(data))
    available = makers()
    if len(data) != 1 or not set(data) <= set(available):
        received = ", ".join(map(str, data))[:80] or "nothing"
        rule = f"`design` must name one of {', '.join([*available, 'likert', MEMO])}"
        reject(rule, received, 'write for example design = {warner = {p = "2/3"}}')
    ((name, arguments),) = data.items()
    if not isinstance(arguments, Mapping):
        rule = f"`design.{name}` must be a table of its arguments"
        reject(rule, type(arguments).__name__, _usage_example(name, available[name]), TypeError)
    return _named_design(name, available[name], arguments, question_fields)


def _read_likert(arguments: Any) -> Randomizer:
    """Return the design that estimates the distribution on a Likert scale."""
    if not isinstance(arguments, Mapping) or set(arguments) != {"points", "epsilon"}:
        received = ", ".join(map(str, arguments)) if isinstance(arguments, Mapping) else type(arguments).__name__
        rule = "`design.likert` must have points and epsilon"
        reject(rule, received[:80] or "nothing", "write design = {likert = {points = 5, epsilon = 0.8}}")
    return _call_maker(likert, arguments, {"points": 5, "epsilon": 1.0}).distribution


def _read_memo(data: object, question_fields: Mapping[str, Any]) -> Memo:
    """Build the memo from the two designs in the file."""
    if not isinstance(data, Mapping) or set(data) != {"permanent", "fresh"}:
        received = ", ".join(map(str, data))[:80] if isinstance(data, Mapping) else type(data).__name__
        reject("`design.memo` must have the designs permanent and fresh", received or "nothing", _MEMO_EXAMPLE)
    designs: dict[str, Any] = {}
    for name in ("permanent", "fresh"):
        with error_location(f"design.memo.{name}"):
            designs[name] = read_design(data[name], **question_fields)
    return Memo(**designs)


def _named_design(
    name: str, maker: Maker, arguments: Mapping[str, Any], question_fields: Mapping[str, Any]
) -> Randomizer:
    accepted = parameter_requirements(maker)
    inherited = {key: value for key, value in question_fields.items() if key in accepted and value is not None}
    if (innocent := question_fields.get("innocent")) is not None and name in NEEDS_SECRET_ANSWER:
        inherited["prevalence" if "prevalence" in accepted else "p"] = born(innocent_months(innocent))
    filled = {**inherited, **arguments}
    check_option_count(filled.get("options"))
    rows = filled.get("matrix")
    cells = sum(len(row) for row in rows if isinstance(row, Sized)) if isinstance(rows, list) else 0
    if cells > _MOST_CELLS:
        reject(f"`design.{name}` must have at most {_MOST_CELLS:,} probabilities", f"{cells:,}", "use k_ary")
    check_arguments(maker, filled, display_name=f"design.{name}", example=_usage_example(name, maker))
    return _call_maker(maker, filled, {"epsilon": 1.0, **CATALOGUE[name].example})


def _call_maker(
    maker: Callable[..., Product], arguments: Mapping[str, Any], valid_arguments: Mapping[str, Any]
) -> Product:
    """Call the factory of a design; an error names the argument that causes it."""
    try:
        return maker(**arguments)
    except (ValueError, TypeError) as error:
        message = str(error)
    corrected = ((name, {**arguments, name: valid_arguments[name]}) for name in arguments if name in valid_arguments)
    raise SurveyError(message, field=next((name for name, values in corrected if _succeeds(maker, values)), None))


def _succeeds(maker: Callable[..., Any], arguments: Mapping[str, Any]) -> bool:
    """Return whether a factory accepts these arguments."""
    with suppress(ValueError, TypeError), warnings.catch_warnings(action="ignore"):
        maker(**arguments)
        return True
    return False


def _usage_example(name: str, maker: Maker) -> str:
    arguments = ", ".join(f"{key} = …" for key in parameter_requirements(maker))
    return f"write design = {{{name} = {{{arguments}}}}}"
