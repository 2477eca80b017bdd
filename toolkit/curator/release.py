"""`Release`: a statistic as public arguments describe it. One function charges, reads, draws and documents it.

A verb of the curator only describes: nothing of the frame is read before `run` has charged the ledger, and a
preview is the description itself.
"""

import hashlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from toolkit.budget.ledger import Ledger
from toolkit.budget.record import Entry
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import NO_END
from toolkit.central.noise.laws import NoiseBasis
from toolkit.central.selection import root_below
from toolkit.central.sensitivity import Sensitivity
from toolkit.core.checks import Number, positive, refuse
from toolkit.core.estimate import Estimate
from toolkit.core.inference.digits import concise
from toolkit.core.inference.intervals import Affine
from toolkit.core.loss import Loss
from toolkit.core.publishing import ReleaseFacts
from toolkit.core.randomness import Rng
from toolkit.frames.persons import Persons

Data = TypeVar("Data")
_LONGEST_LABEL = 200


class Mechanism(Protocol):
    """What a release needs of a mechanism: its price, and what a document says of it."""

    @property
    def loss(self) -> Loss: ...

    def facts(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Price:
    """An amount of epsilon, which buys Laplace noise, or of rho, which buys Gaussian noise."""

    amount: Fraction
    is_epsilon: bool

    @classmethod
    def of(cls, epsilon: Number | None, rho: Number | None) -> "Price":
        """Exactly one of the two."""
        if epsilon is not None and rho is None:
            return cls(positive(epsilon, "epsilon", NO_END), True)
        if rho is not None and epsilon is None:
            return cls(positive(rho, "rho", NO_END), False)
        refuse(
            "exactly one of `epsilon` and `rho` must be given",
            "none" if epsilon is None else "both",
            "epsilon buys Laplace noise; rho buys Gaussian noise, in a ledger with a Zcdp ceiling",
        )

    @lru_cache(maxsize=256)  # noqa: B019  (amounts and sensitivities are public, and small)
    def noise(self, sensitivity: Sensitivity) -> Laplace | Gaussian:
        """Noise for the sensitivity: in L1 for Laplace, in L2 for Gaussian noise."""
        if self.is_epsilon:
            return Laplace.for_epsilon(self.amount, sensitivity=sensitivity.l1)
        return Gaussian.for_rho(self.amount, sensitivity=sensitivity.l2)

    @property
    def choice(self) -> Fraction:
        """The epsilon of one exponential mechanism that it buys: rho = epsilon**2 / 8."""
        return self.amount if self.is_epsilon else root_below(8 * self.amount)

    def share(self, parts: int) -> "Price":
        """An equal part of it."""
        return self if parts == 1 else Price(self.amount / parts, self.is_epsilon)


@dataclass(frozen=True)
class Noise:
    """What noise does to a cell, in the column's unit.

    Parameters
    ----------
    cells : int
        How many cells are released.
    sd : float, optional
        Its standard deviation, where a cell is one number.
    per_value : float, optional
        Else the standard error is about this, divided by the number of values, if they are spread evenly
        between the bounds.
    """

    cells: int
    sd: float | None = None
    per_value: float | None = None

    __repr__ = concise


@dataclass(frozen=True)
class Unit:
    """Whom a promise is about: the neighbors, how much is used of a person, and n where it is public."""

    neighbors: str
    persons: Persons | None = None
    n: int | None = None

    @property
    def charge(self) -> dict[str, Any]:
        """What the ledger is told."""
        if self.persons is None:
            return {"neighbors": self.neighbors, "unit": "row"}
        return {"neighbors": self.neighbors, "unit": "person", "terms": self.persons.words}

    @property
    def facts(self) -> dict[str, Any]:
        """What a document says."""
        person = "each row is a person" if self.persons is None else self.persons.sentence
        return {"neighbors": self.neighbors, "person": person}


@dataclass(frozen=True, eq=False)
class Release(Generic[Data]):
    """A statistic, described by public arguments alone.

    Parameters
    ----------
    label : str
        What it is, for the ledger and the estimate.
    mechanism : Mechanism
        Its noise, which knows its price.
    unit : Unit
        Whom the promise is about.
    read : callable
        Computes integers of the frame; called after the charge.
    draw : callable
        Makes an estimate of these integers and a source of randomness.
    query : mapping
        What a document says was asked: keys, condition, bounds.
    missing : str
        What becomes of missing values.
    notes : tuple of str
        What a reader must not miss.
    noise : callable, optional
        The noise of a cell, for a preview; None where the error depends on the data.
    noise_unit : str
        What the noise is counted in, for a document.
    steps : tuple of str
        What `draw` does to the noisy numbers, for a document.
    facts_after : callable, optional
        What the estimate adds to `query`: keys that were found.
    finish : callable, optional
        Turns the documented estimate into another one, from what was released alone.
    """

    label: str
    mechanism: Mechanism
    unit: Unit
    read: Callable[[], Data]
    draw: Callable[[Data, Rng], Any]
    query: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""
    notes: tuple[str, ...] = ()
    noise: Callable[[], Noise] | None = None
    noise_unit: str = "rows"
    steps: tuple[str, ...] = ()
    facts_after: Callable[[Estimate], Mapping[str, Any]] | None = None
    finish: Callable[[Estimate], Estimate] | None = None

    def describe(self, estimate: Estimate, label: str, notes: tuple[str, ...]) -> Estimate:
        """The estimate with its label, its method in words, and its notes."""
        persons = self.unit.persons
        words = [
            label,
            self.missing,
            "" if persons is None else persons.words,
            f"{estimate.method} mechanism",
            f"neighbors: {self.unit.neighbors}",
        ]
        return replace(
            estimate,
            labels=(label,) if len(estimate.labels) == 1 and not estimate.axes else estimate.labels,
            n=self.unit.n,
            method=", ".join(filter(None, words)),
            notes=(*estimate.notes, *notes),
        )

    def document(self, estimate: Estimate, ledger: Ledger, entry: Entry) -> Estimate:
        """The estimate with all that is public about it, for `publish`."""
        noise, basis = self.mechanism.facts(), estimate.basis
        if isinstance(self.mechanism, Laplace | Gaussian):
            noise["unit"] = self.noise_unit
        if isinstance(basis.basis if isinstance(basis, Affine) else basis, NoiseBasis):
            noise["sd"] = float(np.ravel(estimate.se)[0]) if np.size(estimate.se) else noise.get("sd")
        query = {"statistic": self.label, **self.query, **(self.facts_after or _nothing)(estimate)}
        if self.missing:
            query["missing"] = self.missing.removeprefix("missing ")
        facts = ReleaseFacts(query, self.unit.facts, noise, ledger.facts(entry), self.steps, ledger.register)
        return replace(estimate, release=facts)


def _nothing(_: Estimate) -> Mapping[str, Any]:
    return {}


def run(release: Release[Any], ledger: Ledger, rng: Rng) -> Any:
    """Charge, read, draw, document: in this order, whatever the statistic."""
    source = ledger.source(rng)
    entry = ledger.charge(release.mechanism, ledger_label(release.label), **release.unit.charge)
    estimate = _untold(lambda: release.draw(release.read(), source))
    if not isinstance(estimate, Estimate):
        return estimate
    estimate = release.document(release.describe(estimate, release.label, release.notes), ledger, entry)
    return estimate if release.finish is None else release.finish(estimate)


def _untold(read: Callable[[], Data]) -> Data:
    """What is made of the frame. If that fails, only that it failed is said: the charge remains."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return read()
    except Exception:
        failed = True
    # Outside of `except`, so that the error, which may quote data, is not chained.
    assert failed
    refuse("a frame must be readable by its engine", "a failure that is not told", "the charge remains", RuntimeError)


def ledger_label(label: str) -> str:
    """A label as the ledger takes it: one that is too long ends with the SHA-256 of all of it."""
    if len(label) <= _LONGEST_LABEL:
        return label
    digest = hashlib.sha256(label.encode()).hexdigest()
    return f"{label[: _LONGEST_LABEL - len(digest) - 2]}… {digest}"
