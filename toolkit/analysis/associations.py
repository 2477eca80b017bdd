"""`association`: two hidden answers of the same people, their joint table, odds ratio, phi, and independence;
`homogeneity`: whether groups have the same shares.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.analysis.estimating import CountSource, estimates
from toolkit.analysis.homogeneity import TableTest, chi_squared
from toolkit.analysis.plain import as_design
from toolkit.analysis.regression.rows import design_of
from toolkit.analysis.reports import Designs, checked_designs, with_matrix
from toolkit.analysis.sampling.sample import Sample
from toolkit.core.arrays import Array, as_array
from toolkit.core.checks import explain_call, reject
from toolkit.core.estimate import Estimate
from toolkit.core.inference.intervals import Interval, Normal, Student
from toolkit.core.inference.posterior import simplex_draws
from toolkit.local.design import Design
from toolkit.local.matrix.encoding import checked_counts

_FROM_DRAWS = "a share is not above 0, so this is the median of the posterior from a flat prior"


@dataclass(frozen=True, eq=False)
class Draws:
    """Equal-tailed intervals of draws from a posterior."""

    draws: Array
    methods: tuple[str, ...] = ("bayes",)

    def interval(self, level: float, method: str) -> Interval:
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2])
        return Interval(float(low), float(high), level, method)


@dataclass(frozen=True, eq=False, repr=False)
class Association:
    """Two hidden answers of the same people, as `association` returns them.

    Parameters
    ----------
    names : tuple of str
        The two questions.
    design : Design
        Both designs together: a report is a pair of reports.
    table : Estimate
        The share of each pair of answers.
    shape : tuple of int
        How many options each question has.
    counts : array or None
        How often each pair of reports came; None of a sample.
    drawn : TableTest or None
        The test of a sample.

    Examples
    --------
    >>> from toolkit import forced, warner
    >>> pair = association([[849, 438], [402, 311]], {"a": forced("1/6", "1/6"), "b": warner("3/4")})
    >>> pair.names, pair.table.n
    (('a', 'b'), 2000)
    """

    names: tuple[str, str]
    design: Design
    table: Estimate
    shape: tuple[int, int]
    counts: Array | None
    drawn: TableTest | None = None

    def odds_ratio(self) -> Estimate:
        """Estimate how many times larger the odds of the second are among those who have the first.

        Returns
        -------
        Estimate
            With an interval made on the logarithm.
        """
        return self.log_odds_ratio().map(np.exp, np.exp)

    def log_odds_ratio(self) -> Estimate:
        """Estimate ln(p11 p00 / (p10 p01)); 0 if the answers are independent.

        Returns
        -------
        Estimate
            By the delta method; the median of a posterior where a share is not above 0.
        """

        def gradient(shares: Array) -> Array:
            return np.array([1, -1, -1, 1]) / shares

        return self._function("log odds ratio", lambda x: np.log(x) @ np.array([1, -1, -1, 1]), gradient)

    def phi(self) -> Estimate:
        """Estimate the correlation of two yes/no answers.

        Returns
        -------
        Estimate
            By the delta method; the median of a posterior where a share is not above 0.
        """
        return self._function("phi", _phi, lambda shares: _numeric_gradient(_phi, shares))

    def difference(self) -> Estimate:
        """Estimate Pr(second | first) - Pr(second | not first).

        Returns
        -------
        Estimate
            By the delta method; the median of a posterior where a share is not above 0.
        """

        def value(x: Array) -> Any:
            return x[..., 3] / (x[..., 2] + x[..., 3]) - x[..., 1] / (x[..., 0] + x[..., 1])

        return self._function("difference", value, lambda shares: _numeric_gradient(value, shares))

    def test(self) -> TableTest:
        """Test whether the answers may be independent.

        Returns
        -------
        TableTest
            Pearson's chi-squared of the reports; of a sample Rao and Scott's F of them.
        """
        counts = np.ones((2, 2)) if self.counts is None else self.counts
        seen = counts[counts.any(axis=1)][:, counts.any(axis=0)]
        if min(seen.shape) < 2 or (self.drawn is not None and not self.drawn.df[0]):
            rule = "of each question at least two reports must have come"
            reject(rule, "only one of a question", "nothing can go together with it")
        result = chi_squared(seen) if self.drawn is None else self.drawn
        return replace(result, method=f"independence: {result.method}")

    def _function(self, name: str, value: Callable[[Array], Any], gradient: Callable[[Array], Array]) -> Estimate:
        """A function of the four shares: by the delta method; by draws where a share is not above 0."""
        if self.shape != (2, 2):
            rule = "both questions must have two answers"
            reject(rule, f"{self.shape[0]} and {self.shape[1]}", "use .table and .test() for more")
        shares, df = np.asarray(self.table.value), int(getattr(self.table.basis, "df", 0))
        if shares.min() > 0:
            slope = gradient(shares)
            point, se = float(value(shares)), float(np.sqrt(slope @ np.asarray(self.table.cov) @ slope))
            basis: Any = Student(point, se, df) if df else Normal(point, se)
            notes: tuple[str, ...] = ()
            how = "by the delta method"
        else:
            draws = value(self._draws)
            point, se, basis = float(np.median(draws)), float(draws.std()), Draws(draws)
            notes, how = (_FROM_DRAWS,), "the median of its posterior"
        return replace(
            self.table,
            value=point,
            se=se,
            labels=(name,),
            cov=np.array([[se**2]]),
            method=f"{self.design.name} design, {name} {how}",
            notes=notes,
            basis=basis,
            fit=None,
        )

    @cached_property
    def _draws(self) -> Array:
        if self.counts is None:
            rule = "of a sample every pair must have a share above 0"
            reject(rule, "one that has not", "an odds ratio needs it; see .table")
        counts = self.counts.ravel()
        likely = (counts + 1) / (counts + 1).sum()
        score = np.linalg.pinv(self.design.matrix)
        spread = score.T @ (np.diag(likely) - np.outer(likely, likely)) @ score / counts.sum()
        draws = simplex_draws(self.design.matrix, counts[None], spread[None])[0]
        return np.asarray(draws[(draws > 0).all(axis=1)])

    def __repr__(self) -> str:
        cells = "; ".join(f"{label}: {value} (se {se})" for label, value, se, _ in self.table.text_rows(9))
        return f"<Association of {' and '.join(self.names)}: {cells}; n = {self.table.n:,}>"


@explain_call('association([[849, 438], [402, 311]], {"a": forced("1/6", "1/6"), "b": warner("3/4")})')
def association(
    data: Any,
    designs: Designs,
    *,
    questions: Sequence[str] = (),
    sample: Sample | None = None,
    missing: Sequence[Any] = (),
) -> Association:
    """Estimate how two hidden answers of the same people go together.

    Parameters
    ----------
    data : frame or array
        A frame as for `estimates`; or a table of counts, one row for each report of the first question and one column
        for each report of the second.
    designs : mapping or Survey
        Two designs by column, each with a matrix; or the survey that asked both.
    questions : pair of str, optional
        The two questions, where `designs` has more.
    sample : Sample, optional
        How people were drawn, if not all alike.
    missing : sequence, optional
        What stands for no answer, besides empty cells.

    Returns
    -------
    Association
        The table of shares, its odds ratio, correlation, difference and test.

    Examples
    --------
    >>> from toolkit import forced, warner
    >>> pair = association([[849, 438], [402, 311]], {"a": forced("1/6", "1/6"), "b": warner("3/4")})
    >>> pair.phi()
    <Estimate 0.338 (standard error 0.081; 95 % interval 0.180 to 0.496); n = 2,000; covers ...>
    >>> pair.test()
    <TableTest p = 2.211e-05: statistic 17.998, df 1, independence: Pearson's chi-squared of the reports>
    """
    if hasattr(designs, "questions"):
        all_of_them = {one.name: design_of(designs, one.name) for one in designs.questions}
        designs = {name: design for name, design in all_of_them.items() if design is not None}
    if unknown := [str(name) for name in questions if name not in designs]:
        reject(
            "`questions` must name two of the designs",
            ", ".join(unknown),
            f"there are {', '.join(map(str, designs))}"[:200],
        )
    wanted = {name: designs[name] for name in questions} if questions else dict(designs)
    models = {name: as_design(model) for name, model in checked_designs(wanted).items()}
    if len(models) != 2:
        remedy = f"name two by questions=(…): {', '.join(map(str, models))}"[:200]
        reject("`designs` must be two", len(models), f"an association is of two answers; {remedy}")
    (a, first), (b, second) = models.items()
    names = a, b
    if not (with_matrix(first) and with_matrix(second)):
        reject("both designs must have a matrix", "one that has none", "its reports have no joint table", TypeError)
    joint, shape = first.joint(second), (len(first.options), len(second.options))
    kinds = (len(first.report_options), len(second.report_options))
    if isinstance(data, list | tuple) or (isinstance(data, np.ndarray) and data.ndim == 2):
        counts = as_array(data)
        if counts.shape != kinds:
            reject(f"a table of counts must be {kinds[0]} by {kinds[1]}", f"shape {counts.shape}", "reports by reports")
        checked = checked_counts(counts.ravel(), counts.size)
        return Association(names, joint, joint.estimate_counts(checked), shape, checked.reshape(kinds))
    findings = estimates(data, models, sample=sample, missing=missing)
    if not isinstance(findings.source, CountSource):
        test = findings.source.independence(*names)  # type: ignore[attr-defined]
        return Association(names, joint, findings.joint(*names), shape, None, test)
    seen = findings.source.pair_counts(*names)
    return Association(names, joint, joint.estimate_counts(seen.ravel()), shape, seen)


def _phi(x: Array) -> Any:
    first, second = x[..., 2] + x[..., 3], x[..., 1] + x[..., 3]
    return (x[..., 3] - first * second) / np.sqrt(first * (1 - first) * second * (1 - second))


def _numeric_gradient(function: Callable[[Array], Any], at: Array) -> Array:
    """Central differences: exact to ten digits for the smooth functions here."""
    steps = np.eye(len(at)) * 1e-5
    return np.array([(function(at + step) - function(at - step)) / 2e-5 for step in steps])
