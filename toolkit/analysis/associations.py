"""`association`: the joint table of two randomized answers, with the odds ratio, phi and a test of independence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from toolkit.analysis.estimating import CountSource, estimates
from toolkit.analysis.homogeneity import TableTest, chi_squared
from toolkit.analysis.plain import as_design
from toolkit.analysis.regression.rows import design_of_question
from toolkit.analysis.reports import Designs, QuestionModel, checked_designs, has_matrix
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
    """Equal-tailed intervals from draws of a posterior."""

    draws: Array
    methods: tuple[str, ...] = ("bayes",)

    def interval(self, level: float, method: str) -> Interval:
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2])
        return Interval(float(low), float(high), level, method)


@dataclass(frozen=True, eq=False, repr=False)
class Association:
    """The association of two randomized answers of the same people, as returned by `association`.

    Parameters
    ----------
    names : tuple of str
        Names of the two questions.
    design : Design
        The joint design, whose reports are pairs of reports.
    table : Estimate
        Shares of the pairs of answers.
    shape : tuple of int
        Numbers of options of the two questions.
    counts : array or None
        Counts of the pairs of reports; None for a sample.
    sample_test : TableTest or None
        The test of independence of a sample.

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
    sample_test: TableTest | None = None

    def odds_ratio(self) -> Estimate:
        """Estimate the odds ratio: the odds of the second trait with the first trait, divided by the odds without it.

        Returns
        -------
        Estimate
            The odds ratio, with an interval that is computed on the logarithmic scale.
        """
        return self.log_odds_ratio().map(np.exp, np.exp)

    def log_odds_ratio(self) -> Estimate:
        """Estimate ln(p11 p00 / (p10 p01)); 0 if the answers are independent.

        Returns
        -------
        Estimate
            The log odds ratio by the delta method, or a posterior median if a share is not above 0.
        """

        def gradient(shares: Array) -> Array:
            return np.array([1, -1, -1, 1]) / shares

        return self._function("log odds ratio", lambda x: np.log(x) @ np.array([1, -1, -1, 1]), gradient)

    def phi(self) -> Estimate:
        """Estimate the correlation of two yes/no answers.

        Returns
        -------
        Estimate
            Phi by the delta method, or a posterior median if a share is not above 0.
        """
        return self._function("phi", _phi, lambda shares: _numeric_gradient(_phi, shares))

    def difference(self) -> Estimate:
        """Estimate Pr(second | first) - Pr(second | not first).

        Returns
        -------
        Estimate
            The difference by the delta method, or a posterior median if a share is not above 0.
        """

        def value(x: Array) -> Any:
            return x[..., 3] / (x[..., 2] + x[..., 3]) - x[..., 1] / (x[..., 0] + x[..., 1])

        return self._function("difference", value, lambda shares: _numeric_gradient(value, shares))

    def test(self) -> TableTest:
        """Test whether the answers are independent.

        Returns
        -------
        TableTest
            Pearson's chi-squared test of the reports; for a sample Rao and Scott's F test.
        """
        counts = np.ones((2, 2)) if self.counts is None else self.counts
        observed = counts[counts.any(axis=1)][:, counts.any(axis=0)]
        if min(observed.shape) < 2 or (self.sample_test is not None and not self.sample_test.df[0]):
            rule = "both questions must have at least two different reports"
            reject(rule, "a question with a single report", "a constant has no association")
        result = chi_squared(observed) if self.sample_test is None else self.sample_test
        return replace(result, method=f"independence: {result.method}")

    def _function(self, name: str, value: Callable[[Array], Any], gradient: Callable[[Array], Array]) -> Estimate:
        """Estimate a function of the four shares by the delta method, or by draws if a share is not above 0."""
        if self.shape != (2, 2):
            rule = "both questions must have two answers"
            reject(rule, f"{self.shape[0]} and {self.shape[1]}", "use .table and .test() for more")
        shares, df = np.asarray(self.table.value), int(getattr(self.table.basis, "df", 0))
        if shares.min() > 0:
            slope = gradient(shares)
            point, se = float(value(shares)), float(np.sqrt(slope @ np.asarray(self.table.cov) @ slope))
            basis: Any = Student(point, se, df) if df else Normal(point, se)
            notes: tuple[str, ...] = ()
            method = "by the delta method"
        else:
            draws = value(self._draws)
            point, se, basis = float(np.median(draws)), float(draws.std()), Draws(draws)
            notes, method = (_FROM_DRAWS,), "the median of its posterior"
        return replace(
            self.table,
            value=point,
            se=se,
            labels=(name,),
            cov=np.array([[se**2]]),
            method=f"{self.design.name} design, {name} {method}",
            notes=notes,
            basis=basis,
            fit=None,
        )

    @cached_property
    def _draws(self) -> Array:
        """Draws from the posterior of the shares with a flat prior; draws with a share of 0 are left out."""
        if self.counts is None:
            rule = "for a sample the share of every pair must be above 0"
            reject(rule, "a share of 0 or below", "an odds ratio needs it; see .table")
        counts = self.counts.ravel()
        shares = (counts + 1) / (counts + 1).sum()
        score = np.linalg.pinv(self.design.matrix)
        proposal_cov = score.T @ (np.diag(shares) - np.outer(shares, shares)) @ score / counts.sum()
        draws = simplex_draws(self.design.matrix, counts[None], proposal_cov[None])[0]
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
    """Estimate the association of two randomized answers given by the same people.

    Parameters
    ----------
    data : frame or array
        A frame as for `estimates`, or a table of counts with one row for each report of the first question and one
        column for each report of the second.
    designs : mapping or Survey
        A mapping of two columns to designs that have a matrix; or the survey that asked both questions.
    questions : pair of str, optional
        The two questions, if `designs` has more than two.
    sample : Sample, optional
        The sampling design, unless people were drawn with equal probability.
    missing : sequence, optional
        Codes for missing answers, besides empty cells.

    Returns
    -------
    Association
        The table of shares, with odds ratio, correlation, difference and test.

    Examples
    --------
    >>> from toolkit import forced, warner
    >>> pair = association([[849, 438], [402, 311]], {"a": forced("1/6", "1/6"), "b": warner("3/4")})
    >>> pair.phi()
    <Estimate 0.338 (standard error 0.081; 95 % interval 0.180 to 0.496); n = 2,000; covers ...>
    >>> pair.test()
    <TableTest p = 2.211e-05: statistic 17.998, df 1, independence: Pearson's chi-squared of the reports>
    """
    models = _pair_of_models(designs, questions)
    (first_name, first), (second_name, second) = models.items()
    names = first_name, second_name
    if not (has_matrix(first) and has_matrix(second)):
        reject("both designs must have a matrix", "one without", "its reports have no joint table", TypeError)
    joint, shape = first.joint(second), (len(first.options), len(second.options))
    kinds = (len(first.report_options), len(second.report_options))
    if isinstance(data, list | tuple) or (isinstance(data, np.ndarray) and data.ndim == 2):
        counts = as_array(data)
        if counts.shape != kinds:
            rule = f"a table of counts must be {kinds[0]} by {kinds[1]}"
            reject(rule, f"shape {counts.shape}", "its cells are pairs of reports")
        checked = checked_counts(counts.ravel(), counts.size)
        return Association(names, joint, joint.estimate_counts(checked), shape, checked.reshape(kinds))
    findings = estimates(data, models, sample=sample, missing=missing)
    if not isinstance(findings.source, CountSource):
        test = findings.source.independence(*names)  # type: ignore[attr-defined]
        return Association(names, joint, findings.joint(*names), shape, None, test)
    pair_counts = findings.source.pair_counts(*names)
    return Association(names, joint, joint.estimate_counts(pair_counts.ravel()), shape, pair_counts)


def _pair_of_models(designs: Designs, questions: Sequence[str]) -> dict[str, QuestionModel]:
    """Return the two selected designs by question."""
    if hasattr(designs, "questions"):
        by_name = {question.name: design_of_question(designs, question.name) for question in designs.questions}
        designs = {name: design for name, design in by_name.items() if design is not None}
    if unknown := [str(name) for name in questions if name not in designs]:
        reject(
            "`questions` must name two of the designs",
            ", ".join(unknown),
            f"there are {', '.join(map(str, designs))}"[:200],
        )
    selection = {name: designs[name] for name in questions} if questions else dict(designs)
    models = {name: as_design(model) for name, model in checked_designs(selection).items()}
    if len(models) != 2:
        remedy = f"name two by questions=(…): {', '.join(map(str, models))}"[:200]
        reject("`designs` must be two", len(models), f"an association concerns two answers; {remedy}")
    return models


def _phi(x: Array) -> Any:
    first, second = x[..., 2] + x[..., 3], x[..., 1] + x[..., 3]
    return (x[..., 3] - first * second) / np.sqrt(first * (1 - first) * second * (1 - second))


def _numeric_gradient(function: Callable[[Array], Any], shares: Array) -> Array:
    """Return the gradient by central differences, which are exact to ten digits for smooth functions."""
    steps = np.eye(len(shares)) * 1e-5
    return np.array([(function(shares + step) - function(shares - step)) / 2e-5 for step in steps])
