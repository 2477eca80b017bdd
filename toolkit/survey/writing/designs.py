"""Designs as people write them in a file, `{warner = {p = "2/3"}}`, and as `to_dict` writes them."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from toolkit.core.checks import refuse
from toolkit.local import questions
from toolkit.local.design import Design
from toolkit.local.protocol import Randomizer

_QUESTIONS = ("warner", "forced", "unrelated", "mangat", "kuk", "crosswise", "triangular", "k_ary", "forced_options")
_ORACLES = ("best", "subset", "unary", "optimized_unary", "local_hash", "tick_boxes")
_NUMERIC = ("one_bit", "piecewise", "hybrid", "local_laplace", "additive", "multiplicative", "square_wave")


def read_design(data: Any, **question: Any) -> Randomizer:
    """The randomizer that a file describes: one maker with its arguments, or the integers themselves.

    `question` are the options and the bounds of the question around it: a maker that needs them takes them from there.

    >>> read_design({"k_ary": {"epsilon": 1.0}}, options=["never", "once", "often"])
    <Design k_ary: 3 options, 3 reports, epsilon 1>
    """
    from toolkit.local.restore import restore

    if not isinstance(data, Mapping):
        refuse("`design` must be a table", type(data).__name__, 'write for example design = {warner = {p = "2/3"}}', TypeError)
    if "weights" in data or "kind" in data:
        return restore(dict(data))
    known = makers()
    if len(data) != 1 or not set(data) <= set(known):
        received = ", ".join(map(str, data))[:80] or "nothing"
        refuse(f"`design` must name one of {', '.join(known)}", received, 'write for example design = {warner = {p = "2/3"}}')
    ((name, arguments),) = data.items()
    if not isinstance(arguments, Mapping):
        rule = f"`design.{name}` must be a table of its arguments"
        refuse(rule, type(arguments).__name__, _example(name, known[name]), TypeError)
    return _made(name, known[name], arguments, question)


def makers() -> dict[str, Callable[..., Randomizer]]:
    """Everything that makes a randomizer, by name; `matrix` is for those who know their own."""
    from toolkit.local import numeric, oracles

    rooms = ((questions, _QUESTIONS), (oracles, _ORACLES), (numeric, _NUMERIC))
    return {name: getattr(room, name) for room, names in rooms for name in names} | {"matrix": Design.from_matrix}


def _made(name: str, maker: Callable[..., Randomizer], arguments: Mapping[str, Any], question: Mapping[str, Any]) -> Randomizer:
    parameters = inspect.signature(maker).parameters
    for argument in arguments:
        if argument not in parameters:
            refuse(f"`design.{name}` takes {', '.join(parameters)}", repr(argument)[:40], "check its spelling")
    taken = {key: value for key, value in question.items() if key in parameters and value is not None}
    filled = {**taken, **arguments}
    for key, parameter in parameters.items():
        if parameter.default is inspect.Parameter.empty and key not in filled:
            refuse(f"`design.{name}` needs {key}", f"only {', '.join(filled) or 'nothing'}", _example(name, maker))
    return maker(**filled)


def _example(name: str, maker: Callable[..., Randomizer]) -> str:
    arguments = ", ".join(f"{key} = …" for key in inspect.signature(maker).parameters)
    return f"write design = {{{name} = {{{arguments}}}}}"
