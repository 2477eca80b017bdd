"""`Fitted`: what all models share once they are fitted: coefficients with their errors, a table, a comparison."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from toolkit.analysis.regression.rows import People, Rows
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse
from toolkit.core.covers import SAMPLED, Covers
from toolkit.core.estimate import Estimate
from toolkit.core.inference.digits import concise
from toolkit.core.inference.intervals import Interval, Normal, Student
from toolkit.core.inference.significance import Significance
from toolkit.core.inference.special import chdtrc, fdtrc
from toolkit.core.loss import Loss

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Comparison:
    """Whether a larger model says more than a smaller one inside it: a statistic, its degrees of freedom, p."""

    statistic: float
    df: float
    p: float
    method: str

    __repr__ = concise


@dataclass(frozen=True, eq=False)
class FitProvenance:
    """What two fits must share to be compared: the rows, their reports, designs and weights, and how the
    errors were made.
    """

    reports: tuple[Any, ...]
    columns: Array
    error: str
    penalized: bool
    df: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A fitted model; `value`, `se`, `labels`, `cov`, `n`, `loss` and so on are those of its coefficients.

    Parameters
    ----------
    coefficients : Estimate
        The coefficients.
    log_likelihood : float
        At the coefficients, without any penalty; weighted where people have weights.
    rows : mapping
        How many rows were used, and how many were left out, by where a value was missing; people, where a row stands
        for several.
    title : str
        What was fitted, in a few words.
    provenance : FitProvenance
        What another fit must share to be compared with this one.
    """

    coefficients: Estimate
    log_likelihood: float
    rows: Mapping[str, int]
    title: str
    provenance: FitProvenance
    ratios: ClassVar[str] = ""
    """What the exponential of a coefficient is called; nothing where it has no meaning."""

    @property
    def value(self) -> Array:
        return np.asarray(self.coefficients.value)

    @property
    def se(self) -> Array:
        return np.asarray(self.coefficients.se)

    @property
    def cov(self) -> Array:
        return np.asarray(self.coefficients.cov)

    @property
    def labels(self) -> tuple[str | int, ...]:
        return self.coefficients.labels

    @property
    def n(self) -> int | None:
        return self.coefficients.n

    @property
    def loss(self) -> Loss | None:
        return self.coefficients.loss

    @property
    def covers(self) -> Covers:
        return self.coefficients.covers

    @property
    def method(self) -> str:
        return self.coefficients.method

    @property
    def notes(self) -> tuple[str, ...]:
        return self.coefficients.notes

    def __getitem__(self, label: str) -> Estimate:
        """One coefficient by its label, by itself; for sums and differences there is `contrast`."""
        weights = self._weights({label: 1.0})
        return part_of(self.coefficients, int(np.argmax(weights)))

    def contrast(self, weights: Mapping[str, float]) -> Estimate:
        """Estimate a weighted sum of coefficients, with the error that their covariance gives.

        Coefficients come from the same people: they must not be subtracted as if they were independent.

        Parameters
        ----------
        weights : mapping
            Weights by label, {"female": 1, "male": -1}.

        Returns
        -------
        Estimate
            With the same kind of interval as the coefficients.
        """
        by = self._weights(weights)
        value, se = float(by @ self.value), float(np.sqrt(by @ self.cov @ by))
        label = " + ".join(f"{weight:g} × {name}" for name, weight in weights.items())
        return _alone(self.coefficients, value, se, label)

    def _weights(self, weights: Mapping[str, float]) -> Array:
        """One weight for each coefficient, zero where none was named."""
        row = np.zeros(len(self.labels))
        for label, weight in weights.items():
            if label not in self.labels:
                known = ", ".join(map(str, self.labels))
                refuse("a coefficient must be one of the labels", repr(label), f"they are {known}")
            row[self.labels.index(label)] = weight
        return row

    def interval(self, level: float = 0.95) -> Interval:
        """An interval for each coefficient: by the normal law, or by t where a sample has degrees of freedom."""
        return self.coefficients.interval(level)

    def test(self, null: float = 0, sides: int = 2, *, direction: str | None = None) -> Significance:
        """A test of each coefficient, for itself."""
        return self.coefficients.test(null, sides, direction=direction)

    def to_frame(self, exp: bool = False, level: float = 0.95) -> "pd.DataFrame":
        """Return one row per coefficient: estimate, standard error, limits, statistic and p-value of the test of zero.

        Parameters
        ----------
        exp : bool
            Whether the estimate and the limits are exponentials (odds ratios for the logit link), with a standard
            error by the delta method; statistic and p stay those of the coefficient.
        level : float
            Confidence level.

        Returns
        -------
        pandas.DataFrame
            One row per coefficient.
        """
        frame = self.coefficients.to_frame(level)
        tests = self.test()
        frame = frame.assign(statistic=tests.statistic, p=tests.p)
        if exp:
            if not self.ratios:
                rule = "`exp` needs a link whose coefficients are logarithms of ratios"
                refuse(rule, "another", "their exponentials have no meaning")
            grown = np.exp(frame[["estimate", "low", "high"]])
            frame = frame.assign(**grown, se=frame["se"] * grown["estimate"]).rename(columns={"estimate": self.ratios})
        return frame

    def compare(self, smaller: "Fitted") -> Comparison:
        """Test this model against a smaller one inside it, fitted to the same rows.

        By the likelihood ratio, on chi-squared; with weights, strata or clusters, where there is no likelihood of the
        sample, by Wald's statistic of the coefficients that the smaller one lacks, on F.

        Parameters
        ----------
        smaller : Fitted
            A model of the same kind with fewer coefficients.

        Returns
        -------
        Comparison
            Statistic, degrees of freedom and p-value.
        """
        added = self._added(smaller)
        if self.provenance.penalized or smaller.provenance.penalized:
            refuse("models to compare must not be penalized", "penalty='jeffreys'", "their heights are no likelihoods")
        if self.provenance.df is None:
            statistic = max(2 * (self.log_likelihood - smaller.log_likelihood), 0.0)
            more = len(self.labels) - len(smaller.labels)
            return Comparison(statistic, more, float(chdtrc(more, statistic)), "likelihood ratio")
        if len(added) != len(self.labels) - len(smaller.labels):
            rule = "the smaller model must have the coefficients of the larger, less some"
            refuse(rule, "others", "Wald's test sets coefficients to zero; write both formulas alike")
        if self.provenance.error != "robust" or self.provenance.df < len(added):
            consequence = "F has no degrees of freedom left"
            refuse("there must be more sampling units than coefficients to test", str(self.provenance.df), consequence)
        gone, count, df = self.value[added], len(added), self.provenance.df
        wald = float(gone @ np.linalg.solve(self.cov[np.ix_(added, added)], gone))
        scaled = (df - count + 1) / (df * count) * wald
        return Comparison(scaled, count, float(fdtrc(count, df - count + 1, scaled)), "Wald, F")

    def _added(self, smaller: "Fitted") -> list[int]:
        """Places of the coefficients that the smaller model lacks."""
        mine, other = self.provenance, smaller.provenance
        same = len(mine.reports) == len(other.reports) and all(
            np.array_equal(one, two) for one, two in zip(mine.reports, other.reports, strict=True)
        )
        if type(self) is not type(smaller) or not same:
            rule = "models to compare must be of one kind, through the same designs and rows"
            refuse(rule, "others", "their likelihoods are of different data")
        added = [place for place, label in enumerate(self.labels) if label not in smaller.labels]
        left = other.columns - mine.columns @ np.linalg.lstsq(mine.columns, other.columns, rcond=None)[0]
        if len(self.labels) <= len(smaller.labels) or np.abs(left).max(initial=0) > 1e-8 * np.abs(other.columns).max(
            initial=1
        ):
            consequence = "compare(smaller) tests what was added"
            refuse("the other model must be a smaller one inside this one", "another", consequence)
        return added

    def __repr__(self) -> str:
        rows = [("", "estimate", "se", "95 % interval", "p"), *self._text_rows()]
        widths = [max(len(row[place]) for row in rows) for place in range(5)]
        lines = [
            row[0].ljust(widths[0])
            + "".join(f"  {cell.rjust(width)}" for cell, width in zip(row[1:], widths[1:], strict=True))
            for row in rows
        ]
        return "\n".join([self.title, *lines, self._foot(), *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("", "estimate", "standard error", "95 % interval", "p"))
        cells = "".join(
            f"<tr><th>{html.escape(row[0])}</th>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>"
            for row in self._text_rows()
        )
        notes = "".join(f"<br>Note: {html.escape(note)}" for note in self.notes)
        return (
            f"<table><caption style='text-align:left'>{html.escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{cells}</tbody><tfoot><tr>"
            "<td colspan='5' "
            f"style='text-align:left'>{html.escape(self._foot())}{notes}</td></tr></tfoot></table>"
        )

    def _text_rows(self) -> list[tuple[str, str, str, str, str]]:
        chances = np.atleast_1d(self.test().p)
        return [
            (str(label), value, se, limits, p_value(float(p)))
            for (label, value, se, limits), p in zip(self.coefficients.text_rows(), chances, strict=True)
        ]

    def _foot(self) -> str:
        estimate = self.coefficients
        size = f"n = {estimate.n:,}" + (
            "" if np.isnan(self.log_likelihood) else f"; log-likelihood {self.log_likelihood:.2f}"
        )
        loss = "no privacy claim" if estimate.loss is None else f"privacy loss {estimate.loss}"
        return f"{size}; covers {estimate.covers}; {loss}; {estimate.method}"


def p_value(p: float) -> str:
    """A p-value as it is printed.

    >>> p_value(0.0123), p_value(1e-9)
    ('0.012', '< 0.001')
    """
    return "—" if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def part_of(whole: Estimate, place: int) -> Estimate:
    """One entry of an estimate by itself, with the same kind of interval."""
    value, se = float(np.asarray(whole.value)[place]), float(np.asarray(whole.se)[place])
    return _alone(whole, value, se, whole.labels[place])


def _alone(whole: Estimate, value: float, se: float, label: str | int) -> Estimate:
    """A number that was made of an estimate with several, with the same kind of interval."""
    basis = Student(value, se, whole.basis.df) if isinstance(whole.basis, Student) else Normal(value, se)
    return replace(whole, value=value, se=se, labels=(label,), cov=np.array([[se**2]]), basis=basis)


def covers_of(people: People) -> Covers:
    """What the errors account for, in words."""
    if not people.complex:
        return SAMPLED
    return Covers(SAMPLED.sources, f"({', '.join(people.described)}; {people.df:,} df)")


def as_estimate(
    value: Array,
    cov: Array,
    labels: tuple[str, ...],
    people: People,
    loss: Loss | None,
    method: str,
    notes: tuple[str, ...],
) -> Estimate:
    """Coefficients with t intervals where the sample has degrees of freedom, else with normal ones."""
    se = np.sqrt(np.diag(cov))
    basis = Student(value, se, people.df) if people.complex else Normal(value, se)
    return Estimate(value, se, labels, cov, people.n, loss, covers_of(people), method, notes, basis)


def provenance_of(rows: Rows, form: str, kind: str, jeffreys: bool) -> FitProvenance:
    """What another fit must share with this one to be compared with it."""
    matrices = tuple(design.matrix for design in rows.channel.designs)
    shared = (form, *matrices, rows.channel.which, rows.channel.codes, rows.people.mass)
    return FitProvenance(
        shared, rows.covariates.matrix, kind, jeffreys, rows.people.df if rows.people.complex else None
    )
