"""Which neighbours to look at closely, and which events on them are worth fresh runs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from toolkit.attacks.audit.coding import Coding
from toolkit.attacks.audit.events import Event, search
from toolkit.attacks.audit.neighbors import Pair
from toolkit.attacks.audit.running import FEWEST, Runner

_FINALISTS = 3  # of more pairs, half of the runs choose so many, and the other half look at them
_CONFIRMED = 2

Outputs = dict[object, list[Any]]


@dataclass(frozen=True)
class Candidate:
    """Two neighbours, and the events to confirm: those likelier on the first, and those likelier on the
    second.
    """

    name: str
    pair: Pair
    there: list[Event]
    back: list[Event]

    def best(self, measure: str) -> float:
        """The largest promise or excess of its events."""
        return max(float(getattr(event, measure)) for event in (*self.there, *self.back))


@dataclass(frozen=True)
class Search:
    """How to look for events: on which neighbours, against which claimed epsilon and delta, and with which
    features.
    """

    run: Runner
    pairs: dict[str, Pair]
    target: tuple[float, float]
    looks: dict[str, Callable[[Any], float]] | None = None
    last_bits: bool = True

    def __call__(self, runs: int) -> tuple[Coding, list[Candidate]]:
        """The coding of outputs, and the best one or two pairs, the one with the largest excess over the
        claim first.
        """
        if len(self.pairs) <= _FINALISTS:
            coding, found = self._looked(self.pairs, self.drawn(self.pairs.values(), runs))
            return coding, found[:_CONFIRMED]
        outputs = self.drawn(self.pairs.values(), runs // 2)
        finalists = {one.name: one.pair for one in self._looked(self.pairs, outputs)[1][:_FINALISTS]}
        more = self.drawn(finalists.values(), runs - runs // 2)
        coding, found = self._looked(finalists, {key: outputs[key] + drawn for key, drawn in more.items()})
        return coding, found[:_CONFIRMED]

    def drawn(self, pairs: Iterable[Pair], runs: int) -> Outputs:
        """Outputs of so many runs in all, for each input; an input of several pairs is run once for them
        all.
        """
        inputs = distinct(pairs)
        return {key: self.run(value, max(runs // len(inputs), FEWEST)) for key, value in inputs.items()}

    def _looked(self, pairs: dict[str, Pair], outputs: Outputs) -> tuple[Coding, list[Candidate]]:
        coding = Coding.of(list(chain.from_iterable(outputs.values())), self.looks)
        tables = {key: coding.table(drawn) for key, drawn in outputs.items()}
        found = []
        for name, (a, b) in pairs.items():
            first, second = tables[identity(a)], tables[identity(b)]
            found.append(
                Candidate(
                    name,
                    (a, b),
                    *search(first, second, coding.names, target=self.target, last_bits=self.last_bits),
                )
            )
        return coding, _ordered(found)


def _ordered(found: Sequence[Candidate]) -> list[Candidate]:
    """By excess and by promise in turn: where nothing exceeds the claim, what comes nearest to it."""
    orders = [sorted(found, key=lambda one: -one.best(measure)) for measure in ("excess", "promise")]
    return list({one.name: one for both in zip(*orders, strict=True) for one in both}.values())


def distinct(pairs: Iterable[Pair]) -> dict[object, Any]:
    """Every input once."""
    return {identity(value): value for value in chain.from_iterable(pairs)}


def identity(value: Any) -> object:
    """What two inputs share if they are the same: how a number or text is written, the bytes of an array,
    else the object.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value.dtype.str, value.shape, value.tobytes()
    return (
        (type(value), repr(value)) if value is None or isinstance(value, str | int | float | np.generic) else id(value)
    )
