"""One list of all randomizers by name: what a survey file and the command line may call for, and what data is turned back into."""

import inspect
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from toolkit.core.checks import refuse
from toolkit.local import numeric, oracles, questions
from toolkit.local.design import Design
from toolkit.local.numeric.bounded import Hybrid, OneBit, Piecewise
from toolkit.local.numeric.laplace import LocalLaplace
from toolkit.local.numeric.scrambling import Scrambled
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.local.oracles.hashing import LocalHash
from toolkit.local.oracles.subset import Subset
from toolkit.local.oracles.ticks import CappedBoxes, RandomBox
from toolkit.local.oracles.unary import Unary
from toolkit.local.protocol import Randomizer

Maker: TypeAlias = Callable[..., Randomizer]

_QUESTIONS = ("warner", "forced", "unrelated", "mangat", "kuk", "crosswise", "triangular", "k_ary", "forced_options")
_ORACLES = ("best", "subset", "unary", "optimized_unary", "local_hash", "tick_boxes")
_NUMERIC = ("one_bit", "piecewise", "hybrid", "local_laplace", "additive", "multiplicative", "square_wave")

_KINDS = (CappedBoxes, Hybrid, LocalHash, LocalLaplace, OneBit, Piecewise, RandomBox, Scrambled, SquareWave, Subset, Unary)


def makers() -> dict[str, Maker]:
    """Everything that makes a randomizer, by name; `matrix` is for those who know their own."""
    rooms = ((questions, _QUESTIONS), (oracles, _ORACLES), (numeric, _NUMERIC))
    return {name: getattr(room, name) for room, names in rooms for name in names} | {"matrix": Design.from_matrix}


def parameters(maker: Maker) -> dict[str, bool]:
    """What a maker takes, by name, and whether it must be given.

    >>> parameters(questions.forced), parameters(questions.warner)
    ({'yes': True, 'no': True}, {'p': False, 'epsilon': False})
    """
    return {name: one.default is one.empty for name, one in inspect.signature(maker).parameters.items()}


def check_arguments(maker: Maker, given: Collection[str], *, said: str, example: str) -> None:
    """Refuse a name that the maker does not know, and a call that lacks one; `said` and `example` are the writer's words."""
    known = parameters(maker)
    for name in given:
        if name not in known:
            refuse(f"`{said}` takes {', '.join(known)}", repr(name)[:40], "check its spelling")
    for name, needed in known.items():
        if needed and name not in given:
            refuse(f"`{said}` needs {name}", f"only {', '.join(given)}" if given else "nothing", example)


def restore(data: dict[str, Any]) -> Randomizer:
    """The randomizer that `to_dict` wrote; data without a kind is a design's.

    >>> from toolkit.local.oracles import subset
    >>> restore(subset(16, 1.0).to_dict()) == subset(16, 1.0)
    True
    """
    if not isinstance(data, dict):
        refuse("a randomizer's data must be a dictionary", type(data).__name__, "write it with to_dict()", TypeError)
    if "kind" not in data:
        return Design.from_dict(data)
    for cls in _KINDS:
        if cls.name == data["kind"]:
            return cls.from_dict(data)
    known = ", ".join(cls.name for cls in _KINDS)
    refuse(f"`kind` must be one of {known}", repr(data["kind"])[:40], "nothing else is defined")
