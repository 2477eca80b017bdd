"""Any randomizer back from its plain data, whatever its kind."""

from typing import Any

from toolkit.core.checks import refuse
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

_KINDS = (CappedBoxes, Hybrid, LocalHash, LocalLaplace, OneBit, Piecewise, RandomBox, Scrambled, SquareWave, Subset, Unary)


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
