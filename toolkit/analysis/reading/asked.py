"""`Asked`: what an analysis must know of a question: every randomizer has it, and so have plain answers."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeGuard, runtime_checkable

from toolkit.core.arrays import Array, Labels
from toolkit.core.checks import refuse
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Pure
from toolkit.local.catalogue import restore
from toolkit.local.design import Design
from toolkit.local.protocol import AnswerKind


@runtime_checkable
class Asked(Protocol):
    """A part of `Randomizer`; of plain answers the loss is None, as nothing is promised."""

    @property
    def name(self) -> str: ...
    @property
    def asks(self) -> AnswerKind: ...
    @property
    def options(self) -> Labels: ...
    @property
    def report_options(self) -> Labels: ...
    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None: ...
    @property
    def matrix(self) -> Array | None: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def loss(self) -> Pure | None: ...
    def accepts(self, report: object) -> bool: ...
    def estimate_sent(
        self, reports: Sequence[Any], times: Sequence[int] | None = None, method: Any = "moment", /
    ) -> Estimate: ...
    def scores_sent(self, reports: Sequence[Any], /) -> Array: ...
    def describe(self) -> str: ...


def checked_designs(designs: Any) -> dict[str, Asked]:
    """What was asked in each column: the object itself, or the data that its `to_dict` wrote."""
    if not isinstance(designs, dict) or not designs:
        refuse("`designs` must be randomizers by column", type(designs).__name__, "{'report': design}", TypeError)
    found = {}
    for name, design in designs.items():
        if not isinstance(name, str):
            refuse("columns must be named by text", type(name).__name__, "{'report': design}", TypeError)
        rule = f"the design of {name!r} must be a randomizer, or what its to_dict wrote"
        if isinstance(design, str):
            refuse(rule, "a word", "write warner('3/4') and not 'warner': its numbers matter", TypeError)
        made = restore(design) if isinstance(design, dict) else design
        if not isinstance(made, Asked) or isinstance(made, type):
            refuse(rule, type(design).__name__, "see toolkit.local, or plain(…)", TypeError)
        found[name] = made
    return found


def with_matrix(asked: Asked) -> TypeGuard[Design]:
    """Whether a table holds the probabilities of its reports."""
    return asked.matrix is not None


def estimated_labels(asked: Asked) -> Labels:
    """What the entries of an estimate are called: options, of two of them the last one, the points of a
    distribution, or the mean.

    >>> from toolkit import k_ary, warner
    >>> estimated_labels(warner("3/4")), estimated_labels(k_ary(("a", "b", "c"), epsilon=1.0))
    (('yes',), ('a', 'b', 'c'))
    """
    if not asked.options:
        points: Labels = getattr(asked, "labels", ("mean",))
        return points
    return asked.options[1:] if len(asked.options) == 2 and asked.asks == "choice" else asked.options


def of_shares(asked: Asked) -> bool:
    """Whether shares are estimated, of options or of the points of a distribution; else it is a mean."""
    return asked.bounds is None or hasattr(asked, "labels")


def is_single(asked: Asked) -> bool:
    """Whether an estimate is one number."""
    return len(estimated_labels(asked)) == 1 and asked.asks != "ticks" and not hasattr(asked, "labels")
