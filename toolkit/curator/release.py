"""`Query`: a checked request to a table; `PlannedRelease`: a statistic described by public arguments alone.

The methods of a curator only create such descriptions. The frame is not read before `Curator._run` has charged the
ledger, and a preview is computed from the description alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from toolkit.budget.charges import Entry, price_of
from toolkit.budget.ledger import Ledger
from toolkit.budget.publishing import ReleaseFacts
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import NO_FINITE_NOISE
from toolkit.central.noise.laws import NoiseBasis
from toolkit.central.release import CellNoise, Preview, loss_and_notes
from toolkit.central.selection import sqrt_rounded_down
from toolkit.central.sensitivity import Sensitivity
from toolkit.central.statistics import Statistic
from toolkit.central.tables import Composed, side_by_side
from toolkit.core.arrays import Label
from toolkit.core.checks import Number, check_positive, exact_fraction, reject
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Affine
from toolkit.core.loss import Loss
from toolkit.core.randomness import Rng
from toolkit.curator.weights import Weights
from toolkit.frames.frame import Frame
from toolkit.frames.persons import ONE_ROW, Caps, Persons
from toolkit.frames.sums import SUM_BITS, Axis, Bounds, Grouping, Variable, format_number

Data = TypeVar("Data")
CHANGED = object()
"""A marker returned instead of an estimate if the number of rows has changed, because the noise would be wrong."""


class PricedMechanism(Protocol):
    """The interface of a mechanism with a privacy loss and a description for published documents."""

    @property
    def loss(self) -> Loss: ...

    def _describe(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Price:
    """The privacy loss of a release: an epsilon for Laplace noise, or a rho for Gaussian noise."""

    amount: Fraction
    is_epsilon: bool

    @classmethod
    def of(cls, epsilon: Number | None, rho: Number | None) -> "Price":
        """Check that exactly one of `epsilon` and `rho` is given, and that it is above 0."""
        if epsilon is not None and rho is None:
            return cls(check_positive(epsilon, "epsilon", NO_FINITE_NOISE), True)
        if rho is not None and epsilon is None:
            return cls(check_positive(rho, "rho", NO_FINITE_NOISE), False)
        consequence = "epsilon gives Laplace noise; rho gives Gaussian noise, in a ledger with a Zcdp ceiling"
        reject("exactly one of `epsilon` and `rho` must be given", "none" if epsilon is None else "both", consequence)

    @lru_cache(maxsize=256)  # noqa: B019  (amounts and sensitivities are public and small)
    def noise(self, sensitivity: Sensitivity) -> Laplace | Gaussian:
        """Return Laplace noise for the L1 sensitivity, or Gaussian noise for the L2 sensitivity."""
        if self.is_epsilon:
            return Laplace.for_epsilon(self.amount, sensitivity=sensitivity.l1)
        return Gaussian.for_rho(self.amount, sensitivity=sensitivity.l2)

    @property
    def selection_epsilon(self) -> Fraction:
        """The epsilon of an exponential mechanism with this loss; for rho it solves rho = epsilon**2 / 8."""
        return self.amount if self.is_epsilon else sqrt_rounded_down(8 * self.amount)


@dataclass(frozen=True)
class Unit:
    """The unit of protection: the neighbor relation, the limits per person, and the number of rows if it is public."""

    neighbors: str
    persons: Persons | None = None
    n: int | None = None

    @cached_property
    def caps(self) -> Caps:
        return ONE_ROW if self.persons is None else self.persons.caps

    @cached_property
    def charge(self) -> dict[str, Any]:
        if self.persons is None:
            return {"neighbors": self.neighbors, "unit": "row"}
        return {"neighbors": self.neighbors, "unit": "person", "terms": self.persons.description}

    @cached_property
    def facts(self) -> dict[str, Any]:
        person = "each row is a person" if self.persons is None else self.persons.sentence
        return {"neighbors": self.neighbors, "person": person}


@dataclass(frozen=True, eq=False)
class PlannedRelease(Generic[Data]):
    """A statistic, described by public arguments alone.

    Parameters
    ----------
    label : the name of the statistic, for the ledger and the estimate.
    mechanism : the mechanism that adds noise or chooses, with its loss.
    unit : the unit of protection.
    read : a function that computes integers from the frame; it is called after the charge.
    draw : a function that makes an estimate from these integers and a source of randomness.
    query : the public request, for published documents: keys, condition, bounds.
    missing : how missing values are treated.
    notes : caveats of the statistic.
    row_notes : caveats of the selected rows.
    noise : a function that returns the noise of a cell, for a preview; None if the error depends on the data.
    noise_unit : the unit of the noise, for published documents.
    steps : the postprocessing in `draw`, for published documents.
    facts_after : a function that returns additions to `query` that depend on the estimate, such as released keys.
    finish : a function that makes the result from the documented estimate; it uses only released values.
    """

    label: str
    mechanism: PricedMechanism
    unit: Unit
    read: Callable[[], Data]
    draw: Callable[[Data, Rng], Any]
    query: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""
    notes: tuple[str, ...] = ()
    row_notes: tuple[str, ...] = ()
    noise: Callable[[], CellNoise] | None = None
    noise_unit: str = "rows"
    steps: tuple[str, ...] = ()
    facts_after: Callable[[Estimate], Mapping[str, Any]] | None = None
    finish: Callable[[Estimate], Any] | None = None

    def describe(self, estimate: Estimate) -> Estimate:
        """Add the label, the method and the notes to the estimate, and to the counts released with it."""
        notes = (*self.notes, *self.row_notes)
        if estimate.counts is not None:
            counts = self._described(estimate.counts, f"values behind {self.label}", self.row_notes)
            estimate = replace(estimate, counts=counts)
        return self._described(estimate, self.label, notes)

    def _described(self, estimate: Estimate, label: str, notes: tuple[str, ...]) -> Estimate:
        persons = "" if self.unit.persons is None else self.unit.persons.description
        mechanism, neighbors = f"{estimate.method} mechanism", f"neighbors: {self.unit.neighbors}"
        return replace(
            estimate,
            labels=(label,) if len(estimate.labels) == 1 and not estimate.axes else estimate.labels,
            n=self.unit.n,
            method=", ".join(filter(None, (label, self.missing, persons, mechanism, neighbors))),
            notes=(*estimate.notes, *notes),
        )

    def document(self, estimate: Estimate, ledger: Ledger, entry: Entry) -> Estimate:
        """Attach the public information about the release: the query, the noise and the ledger's entry."""
        noise, basis = self.mechanism._describe(), estimate.basis
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
    """A request to a table: its rows, cells and privacy loss, before any cell of the table is read."""

    frame: Frame
    unit: Unit
    price: Price
    rows: Grouping
    weights: Weights | None = None

    def by(self, *axes: Axis) -> "Query":
        return replace(self, rows=self.rows.by(*axes))

    def variable(self, label: Label, bounds: object, missing: object, bits: int = SUM_BITS) -> Variable:
        """Return a column with its bounds and the treatment of its missing values."""
        # The column is checked first, because dates can never be added up.
        column, limits = self.frame.column(label, must_be_numeric=True), Bounds.of(bounds, bits)
        fill, missing_rule = resolve_missing(missing, limits)
        return Variable(label, limits, fill, column.name, missing_rule)

    def release(
        self,
        statistic: str,
        mechanism: PricedMechanism,
        read: Callable[[], Data],
        draw: Callable[[Data, Rng], Any],
        *,
        variables: Sequence[Variable] = (),
        query: Mapping[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        **more: Any,
    ) -> PlannedRelease[Data]:
        """Describe a release of this query; `more` holds further fields of `PlannedRelease`."""
        rows, facts = self.rows, dict[str, Any]()
        if rows.axes:
            facts |= {"by": {axis.name: list(axis.labels) for axis in rows.axes}, "keys": "given"}
        if rows.where.description:
            facts["where"] = rows.where.description
        if variables:
            facts["bounds"] = {
                variable.name: {part: str(getattr(variable.limits, part)) for part in ("low", "high", "step")}
                for variable in variables
            }
        missing = dict.fromkeys(variable.missing_rule for variable in variables)
        if len(missing) > 1:
            missing = {", ".join(f"{variable.name}: {variable.missing_rule}" for variable in variables): None}
        return PlannedRelease(
            statistic,
            mechanism,
            self.unit,
            read,
            draw,
            facts | dict(query or {}),
            "".join(missing),
            notes,
            rows.where.notes,
            **more,
        )


STEPS = "grid steps of the bounds"
PRODUCTS = "products of grid steps of the bounds"


def noisy_sums(
    query: Query,
    label: str,
    statistics: Sequence[Statistic],
    reads: Sequence[Callable[[], Iterable[Any]]],
    variables: Sequence[Variable] = (),
    noise_unit: str = "rows",
    notes: tuple[str, ...] = (),
) -> PlannedRelease[Any]:
    """Describe a release of noisy integer sums for each cell, and the estimates from these sums.

    Several statistics, one for each variable, share the privacy loss evenly.
    """
    rows, several = query.rows, len(reads) > 1
    price = replace(query.price, amount=query.price.amount / len(statistics))
    mechanisms = tuple(price.noise(statistic.sensitivity) for statistic in statistics)
    mechanism = Composed(mechanisms) if several else mechanisms[0]

    def read() -> list[list[int] | None]:
        return [statistic.integers(sums()) for statistic, sums in zip(statistics, reads, strict=True)]

    def draw(numbers: list[list[int] | None], rng: Rng) -> Any:
        estimates = []
        for statistic, additive, integers in zip(statistics, mechanisms, numbers, strict=True):
            if integers is None:
                return CHANGED
            noisy, law = additive._perturb_integers(integers, rng)
            estimates.append(statistic.estimate(noisy, law, as_scalar=not rows.axes and not several))
        estimate = side_by_side(estimates) if several else estimates[0]
        names = [variable.name for variable in variables] if several else []
        fields = cells_by(rows, "column", names) | {
            "method": type(mechanisms[0]).__name__,
            **loss_and_notes(mechanism.loss, rng),
        }
        counts = None if estimate.counts is None else replace(estimate.counts, **fields)
        return replace(estimate, counts=counts, **fields)

    def noise() -> CellNoise:
        laws = [additive._integer_law for additive in mechanisms]
        noises = [statistic.noise(law) for statistic, law in zip(statistics, laws, strict=True)]
        return replace(max(noises, key=lambda noise: noise.se_times_n or 0), n_cells=rows.n_cells * len(noises))

    more: dict[str, Any] = {"noise": noise, "noise_unit": noise_unit, "notes": notes, "variables": variables}
    return query.release(f"{label}{rows.description}", mechanism, read, draw, **more)


def cells_by(rows: Grouping, axis: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the labels and axes of a table's cells, with a further axis inside each cell if `names` are given."""
    if not names:
        return {"labels": rows.labels if rows.axes else ("value",), "axes": rows.names}
    keys = [label if isinstance(label, tuple) else (label,) for label in rows.labels]
    labels = tuple((*key, name) if rows.axes else name for key in keys for name in names)
    return {"labels": labels, "axes": (*rows.names, axis)}


def resolve_missing(missing: object, limits: Bounds) -> tuple[Fraction | None, str]:
    """Return the number that replaces missing values, or None to drop them, and a description."""
    if isinstance(missing, str) and missing == "drop":
        return None, "missing dropped"
    if missing is None:
        remedy = 'write missing="drop" to drop them, or the number that replaces them'
        reject("`missing` must be given for missing values", "nothing", remedy)
    if isinstance(missing, str) and not any(map(str.isdigit, missing)):
        remedy = 'write missing="drop" to drop them'
        reject('`missing` must be "drop" or a number', repr(missing)[:40], remedy)
    fill = exact_fraction(missing, "missing")  # type: ignore[arg-type]
    if not limits.low <= fill <= limits.high:
        rule = '`missing` must be "drop" or a number within the bounds'
        reject(rule, missing, f"write missing={format_number(float(limits.low))}, for example")
    return fill, f"missing counted as {format_number(float(fill))}"


def by_column(values: Any, label: Label, argument: str) -> Any:
    """Return the entry of `values` for one column; a single value of `missing` applies to all columns."""
    if isinstance(values, Mapping):
        if label not in values:
            reject(
                f"`{argument}` must have an entry for each column",
                "fewer",
                f"add the columns that are not in {argument}={{…}}",
            )
        return values[label]
    if argument == "bounds":
        rule = "`bounds` must be a mapping from column to (low, high) when several columns are given"
        reject(rule, type(values).__name__, 'write bounds={"x": (0, 1), "y": (0, 100)}', TypeError)
    return values


def preview_of(release: PlannedRelease[Any], ledger: Ledger) -> Preview:
    """Preview a release from public arguments alone."""
    mechanism = release.mechanism
    loss, charged = price_of(mechanism, ledger.ceiling)
    fits = ledger.fits(mechanism, **release.unit.charge)
    noise = None if release.noise is None else release.noise()
    return Preview(type(mechanism).__name__, loss, label=release.label, charged=charged, fits=fits, noise=noise)
