"""`Query`: what is asked of a table, checked; `Release`: a statistic as public arguments describe it.

A verb of the curator only describes: nothing of the frame is read before `Curator._run` has charged the ledger, and
a preview is the description itself.
"""

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from toolkit.budget.charges import Entry, price_of
from toolkit.budget.ledger import Ledger
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import NO_END
from toolkit.central.noise.laws import NoiseBasis
from toolkit.central.selection import root_below
from toolkit.central.sensitivity import Sensitivity
from toolkit.core.arrays import Label
from toolkit.core.checks import Number, exact, positive, refuse
from toolkit.core.covers import Covers
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.inference.digits import concise, short
from toolkit.core.inference.intervals import Affine
from toolkit.core.loss import Loss
from toolkit.core.publishing import ReleaseFacts
from toolkit.core.randomness import Rng
from toolkit.frames.frame import Frame
from toolkit.frames.persons import ONE, Caps, Persons
from toolkit.frames.sums import SUM_BITS, Axis, Bounds, Grouping, Variable, written

Data = TypeVar("Data")
CHANGED = object()
"""Instead of an estimate: the table has not the public number of rows, so the noise would be for another table."""


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
        """Exactly one of the two, above 0."""
        if epsilon is not None and rho is None:
            return cls(positive(epsilon, "epsilon", NO_END), True)
        if rho is not None and epsilon is None:
            return cls(positive(rho, "rho", NO_END), False)
        consequence = "epsilon buys Laplace noise; rho buys Gaussian noise, in a ledger with a Zcdp ceiling"
        refuse("exactly one of `epsilon` and `rho` must be given", "none" if epsilon is None else "both", consequence)

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


@dataclass(frozen=True)
class Noise:
    """What noise does to a cell, in the column's unit: its standard deviation, where a cell is one number; else the
    standard error is about `per_value`, divided by the number of values, if they are spread evenly between the
    bounds.
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

    @cached_property
    def caps(self) -> Caps:
        return ONE if self.persons is None else self.persons.caps

    @cached_property
    def charge(self) -> dict[str, Any]:
        if self.persons is None:
            return {"neighbors": self.neighbors, "unit": "row"}
        return {"neighbors": self.neighbors, "unit": "person", "terms": self.persons.words}

    @cached_property
    def facts(self) -> dict[str, Any]:
        person = "each row is a person" if self.persons is None else self.persons.sentence
        return {"neighbors": self.neighbors, "person": person}


@dataclass(frozen=True, eq=False)
class Release(Generic[Data]):
    """A statistic, described by public arguments alone.

    Parameters
    ----------
    label : what it is, for the ledger and the estimate.
    mechanism : its noise, which knows its price.
    unit : whom the promise is about.
    read : computes integers of the frame; called after the charge.
    draw : makes an estimate of these integers and a source of randomness.
    query : what a document says was asked: keys, condition, bounds.
    missing : what becomes of missing values.
    notes : what a reader must not miss.
    noise : the noise of a cell, for a preview; None where the error depends on the data.
    noise_unit : what the noise is counted in, for a document.
    steps : what `draw` does to the noisy numbers, for a document.
    facts_after : what the estimate adds to `query`: keys that were found.
    finish : turns the documented estimate into another one, from what was released alone.
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
        persons = "" if self.unit.persons is None else self.unit.persons.words
        mechanism, neighbors = f"{estimate.method} mechanism", f"neighbors: {self.unit.neighbors}"
        return replace(
            estimate,
            labels=(label,) if len(estimate.labels) == 1 and not estimate.axes else estimate.labels,
            n=self.unit.n,
            method=", ".join(filter(None, (label, self.missing, persons, mechanism, neighbors))),
            notes=(*estimate.notes, *notes),
        )

    def document(self, estimate: Estimate, ledger: Ledger, entry: Entry) -> Estimate:
        noise, basis = self.mechanism.facts(), estimate.basis
        if isinstance(self.mechanism, Laplace | Gaussian):
            noise["unit"] = self.noise_unit
        if isinstance(basis.basis if isinstance(basis, Affine) else basis, NoiseBasis):
            noise["sd"] = float(np.ravel(estimate.se)[0]) if np.size(estimate.se) else noise.get("sd")
        query = {"statistic": self.label, **self.query}
        if self.facts_after is not None:
            query |= self.facts_after(estimate)
        if self.missing:
            query["missing"] = self.missing.removeprefix("missing ")
        facts = ReleaseFacts(query, self.unit.facts, noise, ledger.facts(entry), self.steps, ledger.register)
        return replace(estimate, release=facts)


@dataclass(frozen=True, eq=False)
class Query:
    """What is asked of a table: which rows, in which cells, for which price. Nothing of it was read."""

    frame: Frame
    unit: Unit
    price: Price
    rows: Grouping

    def by(self, *axes: Axis) -> "Query":
        return replace(self, rows=self.rows.by(*axes))

    def variable(self, label: Label, bounds: object, missing: object, bits: int = SUM_BITS) -> Variable:
        """A column clamped to bounds, and what becomes of its missing values."""
        # The column first: dates cannot be added up, whatever bounds they are given.
        column, limits = self.frame.column(label, numbers=True), Bounds.of(bounds, bits)
        fill, words = resolve_missing(missing, limits)
        return Variable(label, limits, fill, column.name, words)

    def release(
        self,
        statistic: str,
        mechanism: Mechanism,
        read: Callable[[], Data],
        draw: Callable[[Data, Rng], Any],
        *,
        variables: Sequence[Variable] = (),
        query: Mapping[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        **more: Any,
    ) -> Release[Data]:
        rows, facts = self.rows, dict[str, Any]()
        if rows.axes:
            facts |= {"by": {axis.name: list(axis.labels) for axis in rows.axes}, "keys": "given"}
        if rows.where.words:
            facts["where"] = rows.where.words
        if variables:
            facts["bounds"] = {
                one.name: {part: str(getattr(one.limits, part)) for part in ("low", "high", "step")}
                for one in variables
            }
        missing = dict.fromkeys(one.missing for one in variables)
        if len(missing) > 1:
            missing = {", ".join(f"{one.name}: {one.missing}" for one in variables): None}
        return Release(
            statistic,
            mechanism,
            self.unit,
            read,
            draw,
            facts | dict(query or {}),
            "".join(missing),
            (*notes, *rows.where.notes),
            **more,
        )


def chosen_by_cell(
    values: Sequence[float],
    labels: tuple[Any, ...],
    axes: tuple[str, ...],
    loss: Loss,
    covers: Covers,
    method: str,
    rng: Rng,
) -> Estimate:
    """Chosen numbers of the cells of a table. No standard error is released: it would depend on the data."""
    return Estimate(
        value=np.array(values),
        se=np.full(len(values), math.nan),
        labels=labels,
        cov=None,
        n=None,
        loss=loss if rng is None else None,
        covers=covers,
        method=method,
        notes=() if rng is None else (SIMULATED,),
        axes=axes,
    )


def resolve_missing(missing: object, limits: Bounds) -> tuple[Fraction | None, str]:
    """What a missing value counts as, None if it is dropped, and the words for it."""
    if isinstance(missing, str) and missing == "drop":
        return None, "missing dropped"
    if missing is None:
        remedy = 'write missing="drop" to leave them out, or the number to put there'
        refuse("`missing` must say what a missing value counts as", "nothing", remedy)
    if isinstance(missing, str) and not any(map(str.isdigit, missing)):
        remedy = 'write missing="drop" to leave them out'
        refuse('`missing` must be "drop" or a number', repr(missing)[:40], remedy)
    fill = exact(missing, "missing")  # type: ignore[arg-type]
    if not limits.low <= fill <= limits.high:
        rule = '`missing` must be "drop" or a number within the bounds'
        refuse(rule, missing, "values beyond them are clamped")
    return fill, f"missing counted as {written(float(fill))}"


def by_column(values: Any, label: Label, name: str) -> Any:
    """What is values for one of several columns: bounds by name, what is missing by name or for all."""
    if isinstance(values, Mapping):
        if label not in values:
            refuse(f"`{name}` must have an entry for each column", "fewer", "each column has its own")
        return values[label]
    if name == "bounds":
        remedy = 'write bounds={"x": (0, 1), "y": (0, 100)}'
        refuse("`bounds` of several columns must be values by name", type(values).__name__, remedy, TypeError)
    return values


@dataclass(frozen=True, repr=False)
class Preview:
    """Cost and noise of a statistic, before it is paid for.

    Parameters
    ----------
    label : str
        What would stand in the ledger.
    mechanism : str
        The kind of noise or choice.
    loss : Loss
        What it costs.
    charged : Loss
        That in the ledger's currency.
    fits : bool
        Whether the ledger would pay for it now.
    noise : object, optional
        The law of the noise; None where the error depends on the data.

    Examples
    --------
    >>> import pandas as pd
    >>> from toolkit import Curator, Ledger, Pure
    >>> people = pd.DataFrame({"pay": [1800, 2100, 2600]})
    >>> curator = Curator(people, Ledger(Pure(1), neighbors="replace"), neighbors="replace")
    >>> curator.preview.mean("pay", bounds=(0, 9000), missing="drop", epsilon=0.5).fits
    True
    """

    label: str
    mechanism: str
    loss: Loss
    charged: Loss
    fits: bool
    noise: Noise | None

    def se(self, n: int | None = None) -> float:
        """Return the standard error of a cell.

        Exact where a cell is one number with noise, else about right for values spread evenly between the bounds.

        Parameters
        ----------
        n : int, optional
            How many values the cell has; needed of a mean or a spread.

        Returns
        -------
        float
            Of the noise alone.
        """
        if self.noise is not None and self.noise.sd is not None:
            return self.noise.sd
        if self.noise is None or self.noise.per_value is None or n is None:
            rule = "the error must follow from public things alone"
            consequence = "of a mean or a spread say the number of values; of a quantile it depends on the data"
            refuse(rule, "none that does" if self.noise is None else "no n", consequence)
        return self.noise.per_value / n

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("cost", str(self.loss))]
        if type(self.charged) is not type(self.loss):
            rows.append(("charged", str(self.charged)))
        rows.append(("fits into the ledger", "yes" if self.fits else "no"))
        if self.noise is not None:
            rows.append(("cells", f"{self.noise.cells:,}"))
            if self.noise.sd is not None:
                rows.append(("standard error of a cell", short(self.noise.sd)))
            elif self.noise.per_value is not None:
                error = f"about {short(self.noise.per_value)} / number of values"
                rows.append(("standard error of a cell", error))
        return rows

    def __repr__(self) -> str:
        facts = "; ".join(f"{name} {text}" for name, text in self._rows())
        return f"<Preview of {self.label}: {facts}; {self.mechanism} mechanism>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in self._rows())
        head = f"<thead><tr><th colspan='2'>{html.escape(self.label)}</th></tr></thead>"
        return f"<table>{head}<tbody>{rows}</tbody></table>"


def preview_of(release: Release[Any], ledger: Ledger) -> Preview:
    """From public things alone."""
    mechanism = release.mechanism
    loss, charged = price_of(mechanism, ledger.ceiling)
    fits = ledger.fits(mechanism, **release.unit.charge)
    noise = None if release.noise is None else release.noise()
    return Preview(release.label, type(mechanism).__name__, loss, charged, fits, noise)
