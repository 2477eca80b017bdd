"""Fitted coefficients as an `Estimate`, and what two fits must share to be compared."""

import numpy as np

from toolkit.analysis.regression.fitted import Footing
from toolkit.analysis.regression.reading.people import People
from toolkit.analysis.regression.reading.rows import Rows
from toolkit.core.arrays import Array
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Normal, Student


def covered(people: People) -> str:
    """What the errors account for, in words."""
    if not people.complex:
        return "sampling and randomization"
    return f"sampling ({', '.join(people.described)}; {people.df:,} df) and randomization"


def as_estimate(value: Array, cov: Array, labels: tuple[str, ...], rows: Rows, method: str) -> Estimate:
    """Coefficients with t intervals where the sample has degrees of freedom, else with normal ones."""
    se, people = np.sqrt(np.diag(cov)), rows.people
    return Estimate(
        value=value,
        se=se,
        labels=labels,
        cov=cov,
        n=people.n,
        loss=rows.channel.loss,
        covers=covered(people),
        method=method,
        notes=rows.notes,
        basis=Student(value, se, people.df) if people.complex else Normal(value, se),
    )


def footing_of(rows: Rows, form: str, kind: str, jeffreys: bool) -> Footing:
    """What another fit must share with this one to be compared with it."""
    matrices = tuple(design.matrix for design in rows.channel.designs)
    shared = (form, *matrices, rows.channel.which, rows.channel.codes, rows.people.mass)
    return Footing(shared, rows.covariates.matrix, kind, jeffreys, rows.people.df if rows.people.complex else None)
