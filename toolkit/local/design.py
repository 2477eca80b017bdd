"""`Design`: the matrix by which an answer is randomized before it leaves the person's device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeGuard, cast, get_args

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Array, ArrayLike, Codes, Labels, Values, project_onto_simplex
from toolkit.core.checks import (
    DENOMINATOR_LIMIT,
    Number,
    check_choice,
    check_integer,
    check_labels,
    explain_call,
    reject,
)
from toolkit.core.covers import SAMPLED
from toolkit.core.estimate import Estimate
from toolkit.core.inference.fit import boundary_note, fit_notes
from toolkit.core.randomness import DrawBelow, Rng, check_rng
from toolkit.core.rounding import log_up
from toolkit.local.matrix import encoding, likelihood, moments, tables
from toolkit.local.matrix.devices import Device, nearest_devices
from toolkit.local.protocol import Randomizer, Respondents, is_code

Method = Literal["moment", "mle", "simplex"]
Procedure = Literal["forced", "crosswise", "triangular", "unrelated"]
"""The procedure by which respondents produce a report, if the probabilities do not determine it."""

COMPARISON_REPORTS = ("different", "same")
"""The reports of a crosswise design."""
NEITHER_REPORTS = ("neither", "at least one")
"""The reports of a triangular design."""

_RELATIVE_TOLERANCE = 1e-12


@explain_call(
    'Design([[3, 1], [1, 3]], 4, ("no", "yes"))',
    denominator="the integer weights are divided by it; for probabilities use Design.from_matrix(matrix, options)",
    options="they are the labels of the rows",
    prior="the share of people with each answer, before the report is seen",
    seed="rng=numpy.random.default_rng(1) is for a simulation; real answers use none",
)
@dataclass(frozen=True, eq=False, repr=False)
class Design(Randomizer):
    """A stochastic matrix of integers: Pr(report | truth) = weights[truth, report] / denominator.

    Phones draw reports with these integers, and epsilon is computed from them exactly.

    Parameters
    ----------
    weights : table of int
        One row per truth and one column per report; every row sums to `denominator`.
    denominator : int
        At most 2**32, so that one 32-bit word is enough to draw a report.
    options : sequence of str or int
        Labels of the truths.
    report_options : sequence of str or int, optional
        Labels of the reports; the options if left out.
    name : str
        The name of the design; nothing depends on it.
    procedure : {"forced", "crosswise", "triangular", "unrelated"}, optional
        The procedure by which people produce a report without a phone. In a forced procedure a device dictates some
        answers. The other procedures use an innocuous question. People compare its answer with the sensitive answer
        (crosswise), say whether either answer is yes (triangular), or answer only one of the two questions (unrelated).
        If left out, the reports "different" and "same" imply a crosswise design; "neither" and "at least one" imply a
        triangular design.

    Examples
    --------
    >>> design = Design([[3, 1], [1, 3]], 4, ("no", "yes"))
    >>> design.estimate_counts({"no": 60, "yes": 40})
    <Estimate 0.300 (standard error 0.098; 95 % interval 0.119 to 0.496); n = 100; covers sampling and ...>
    """

    weights: npt.NDArray[np.int64]
    denominator: int
    options: Labels
    report_options: Labels
    name: str
    procedure: Procedure | None

    answer_kind = "choice"

    def __init__(
        self,
        weights: ArrayLike,
        denominator: int,
        options: Sequence[str | int],
        report_options: Sequence[str | int] | None = None,
        name: str = "custom",
        procedure: Procedure | None = None,
    ) -> None:
        table, total = tables.in_lowest_terms(weights, denominator)  # so that equal matrices give equal designs
        object.__setattr__(self, "weights", table)
        object.__setattr__(self, "denominator", total)
        object.__setattr__(self, "options", check_labels(options, "options"))
        reports = options if report_options is None else report_options
        object.__setattr__(self, "report_options", check_labels(reports, "report_options"))
        object.__setattr__(self, "name", str(name))
        tables.check_table(table, total, len(self.options), len(self.report_options))
        object.__setattr__(self, "procedure", _checked_procedure(procedure, table, self.report_options))
        if not (
            self._forced_form.truth_weight != 0
            if self._forced_form
            else np.linalg.matrix_rank(self.matrix) == len(self.options)
        ):
            consequence = "the reports would say nothing about some answers"
            reject("the rows must be linearly independent", "dependent rows", consequence)

    @classmethod
    def from_matrix(
        cls,
        matrix: Sequence[Sequence[Number]],
        options: Sequence[str | int],
        report_options: Sequence[str | int] | None = None,
        name: str = "custom",
        procedure: Procedure | None = None,
    ) -> "Design":
        """Make a design from probabilities: exact up to a denominator of 2**32, otherwise rounded toward more privacy.

        Parameters
        ----------
        matrix : table of number
            Pr(report | truth), one row per truth, as fractions, strings such as "2/3", or floats.
        options : sequence of str or int
            Labels of the truths.
        report_options : sequence of str or int, optional
            Labels of the reports; the options if left out.
        name : str
            The name of the design.
        procedure : {"forced", "crosswise", "triangular", "unrelated"}, optional
            The procedure by which people produce a report, as for `Design`.

        Returns
        -------
        Design
            The design with integer weights.

        Examples
        --------
        >>> Design.from_matrix([["2/3", "1/3"], ["1/3", "2/3"]], ("no", "yes")).denominator
        3
        """
        weights, denominator = tables.private_weights(tables.read_probability_rows(matrix), DENOMINATOR_LIMIT)
        return cls(weights, denominator, options, report_options, name, procedure)

    @cached_property
    def matrix(self) -> Array:
        """Pr(report | truth) as floats, where rows are truths and columns are reports; rows sum to one."""
        matrix = self.weights / self.denominator
        matrix.setflags(write=False)
        return matrix

    @cached_property
    def epsilon(self) -> float:
        """The largest ln(max / min) in a column, rounded up; infinite if a zero rules out an answer."""
        most, least = self.weights.max(axis=0), self.weights.min(axis=0)
        if np.any(least == 0):
            return float("inf")
        return log_up(max(Fraction(int(a), int(b)) for a, b in set(zip(most.tolist(), least.tolist(), strict=True))))

    @cached_property
    def _forced_form(self) -> moments.ForcedForm | None:
        return moments.forced_form(self.weights)

    @cached_property
    def _score_matrix(self) -> Array:
        return moments.make_score_matrix(self.matrix, self._forced_form, self.denominator)

    def randomize(self, answers: Values, rng: Rng = None) -> Any:
        """Randomize answers given as booleans, codes or labels; the reports have the same type.

        Parameters
        ----------
        answers : value, sequence, array or Series
            One answer, or one per person.
        rng : numpy.random.Generator, optional
            A generator for simulations. Leave it out for real answers, which use the operating system's randomness.

        Returns
        -------
        value or array
            A report per answer.

        Examples
        --------
        >>> Design([[3, 1], [1, 3]], 4, ("no", "yes")).randomize(["yes", "no", "yes"], rng=np.random.default_rng(0))
        array(['yes', 'no', 'yes'], dtype='<U3')
        """
        generator = check_rng(rng)
        encoded = encoding.encode(answers, self.options, "answers")
        return encoded.to_input_type(self._randomize_codes(encoded.codes, generator), self.report_options)

    def _randomize_codes(self, truths: Codes, rng: Rng = None) -> Codes:
        return encoding.draw_reports(self.weights, self._forced_form, truths, rng)

    def _draw_report(self, truth: int, draw: DrawBelow) -> int:
        # The weights of a row divide the integers below the denominator into one interval for each report.
        return int(np.searchsorted(np.cumsum(self.weights[truth]), draw(self.denominator), side="right"))

    def _accepts(self, report: object) -> bool:
        return is_code(report, len(self.report_options))

    def estimate(self, reports: Values, method: Method = "moment") -> Estimate:
        """Estimate the shares of the truths; for a binary design, the prevalence of the last option.

        Parameters
        ----------
        reports : sequence, array or Series
            Booleans, codes or labels, one per person.
        method : {"moment", "mle", "simplex"}
            "moment" is unbiased and may lie outside 0 to 1; "mle" and "simplex" are restricted to this range and are
            for display. Intervals always belong to the unbiased estimate.

        Returns
        -------
        Estimate
            Shares with their errors.

        Examples
        --------
        >>> Design([[3, 1], [1, 3]], 4, ("no", "yes")).estimate([True, False, True, True]).value
        1.0
        """
        return self.estimate_counts(encoding.tally(reports, self.report_options, "reports"), method)

    def estimate_counts(self, counts: ArrayLike | Mapping[Any, int], method: Method = "moment") -> Estimate:
        """Estimate from counts by label, {"no": 713, "yes": 287}, or in the order of the reports, (no, yes).

        Parameters
        ----------
        counts : mapping or sequence
            Counts by label, as in {"no": 713, "yes": 287} or `value_counts()` of pandas, in any order; or a sequence in
            the order of `report_options`. The repr of the design shows this order: no first, yes second.
        method : {"moment", "mle", "simplex"}
            As for `estimate`.

        Returns
        -------
        Estimate
            Shares with their errors.

        Examples
        --------
        >>> design = Design([[5, 1], [1, 5]], 6, ("no", "yes"))
        >>> design
        <Design custom: 2 options (no, yes), 2 reports (no, yes), epsilon 1.609>
        >>> design.estimate_counts({"yes": 287, "no": 713}).value == design.estimate_counts([713, 287]).value
        True
        """
        labels = self.report_options
        numbers = encoding.checked_counts(encoding.counts_in_order(counts, labels), len(labels), labels)
        n = int(numbers.sum())
        shares = numbers @ self._score_matrix / n
        cov = np.full((len(shares),) * 2, np.nan)
        if n > 1:
            cov = moments.score_covariance(self._score_matrix, numbers / n, shares, self._forced_form) / (n - 1)
        if check_choice(method, "method", ("moment", "mle", "simplex")) == "simplex":
            shares = project_onto_simplex(shares)
        elif method == "mle":
            form = None if self._forced_form is None else self._forced_form.probabilities(self.denominator)
            shares = likelihood.maximize(self.matrix, numbers, form)
            if self._forced_form is not None:  # closed form: the covariance of the unbiased estimate
                cov = self.covariance(shares, n)
            else:
                cov = moments.information_covariance(self.matrix, shares) / n
        cov = self._replace_zero_variances(cov, numbers @ self._score_matrix / n, n)
        return self._make_estimate(shares, cov, method, numbers)

    def _replace_zero_variances(self, cov: Array, shares: Array, n: int) -> Array:
        """Replace zero variances, which occur if all reports agree about an option, by theoretical variances.

        The theoretical variances are evaluated at the nearest shares between 0 and 1. If a theoretical variance is also
        zero, because an answer is not hidden, one person is added for each option.
        """
        tolerance = _RELATIVE_TOLERANCE * float(np.max(self._score_matrix**2))
        is_zero = np.diag(cov) * n <= tolerance
        if not is_zero.any():
            return cov
        nearest = project_onto_simplex(shares)
        theoretical = self.covariance(nearest, n)
        if np.any(np.diag(theoretical)[is_zero] * n <= tolerance):
            theoretical = self.covariance((n * nearest + 1) / (n + len(nearest)), n)
        return np.where(np.outer(is_zero, is_zero), theoretical, cov)

    def _make_estimate(self, shares: Array, cov: Array, method: str, counts: Array) -> Estimate:
        methods = {"moment": "unbiased", "mle": "maximum likelihood", "simplex": "projected to the simplex"}
        se = np.sqrt(np.maximum(np.diag(cov), 0))
        binary = len(self.options) == 2
        basis = moments.interval_basis(self.matrix, self._score_matrix, counts, self._forced_form, se)
        fit = likelihood.agreement_test(self.matrix, self._forced_form, counts, basis)
        impossible_note = (
            likelihood.impossible_count_note(counts, self.matrix, self.report_options[1])
            if self.matrix.shape == (2, 2)
            else ""
        )
        notes = fit_notes(fit, basis, impossible_note)
        if method == "moment" and not notes:
            notes = boundary_note(float(shares[1]) if binary else shares)
        return Estimate(
            value=float(shares[1]) if binary else shares,
            se=float(se[1]) if binary else se,
            labels=self.options[1:] if binary else self.options,
            cov=cov[1:, 1:] if binary else cov,
            n=basis.n,
            loss=self.loss,
            covers=SAMPLED,
            method=f"{self.name} design, {methods[method]}",
            notes=notes,
            basis=basis,
            fit=fit,
        )

    def _estimate_from_raw_reports(
        self, reports: Sequence[int], times: Sequence[int] | None = None, method: Method = "moment"
    ) -> Estimate:
        counts = None if times is None else encoding.checked_times(times, len(reports))
        numbers = encoding.count_codes(np.asarray(reports), counts, len(self.report_options))
        return self.estimate_counts(numbers, method)

    def variance(self, prevalence: ArrayLike, n: int, *, respondents: Respondents = "sample") -> float | Array:
        """Return the theoretical variance of the unbiased estimate.

        Parameters
        ----------
        prevalence : float or sequence
            The true share of the second option if there are two, otherwise all shares.
        n : int
            The number of people who answer.
        respondents : {"sample", "fixed"}
            "sample": people are a random sample, as in a survey. "fixed": only the randomization varies; papers on
            local differential privacy report this variance.

        Returns
        -------
        float or array
            One number for two options, otherwise one per option.

        Examples
        --------
        >>> Design([[3, 1], [1, 3]], 4, ("no", "yes")).variance(0.5, n=100)
        0.01
        """
        variances = np.diag(self.covariance(prevalence, n, respondents=respondents))
        return float(variances[1]) if len(self.options) == 2 else variances

    def covariance(self, prevalence: ArrayLike, n: int, *, respondents: Respondents = "sample") -> Array:
        """Return the theoretical covariance matrix of the unbiased shares of all options.

        Parameters
        ----------
        prevalence : float or sequence
            The true share of the second option if there are two, otherwise all shares.
        n : int
            The number of people who answer.
        respondents : {"sample", "fixed"}
            As for `variance`.

        Returns
        -------
        array
            One row and one column per option.
        """
        fixed = check_choice(respondents, "respondents", ("sample", "fixed")) == "fixed"
        shares = encoding.checked_distribution(prevalence, len(self.options), "prevalence")
        return moments.score_covariance(
            self._score_matrix, shares @ self.matrix, shares, self._forced_form, fixed_respondents=fixed
        ) / check_integer(n, "n")

    def posterior(self, prior: ArrayLike) -> Array:
        """Return Pr(truth | report) for an observer with a given prior.

        Parameters
        ----------
        prior : float or sequence
            The share of the second option if there are two, otherwise all shares, before the report is seen.

        Returns
        -------
        array
            A table with a row per truth and a column per report.

        Examples
        --------
        >>> Design([[3, 1], [1, 3]], 4, ("no", "yes")).posterior(0.1)[1].round(3)
        array([0.036, 0.25 ])
        """
        joint = encoding.checked_distribution(prior, len(self.options), "prior")[:, None] * self.matrix
        with np.errstate(invalid="ignore"):
            return np.asarray(joint / joint.sum(axis=0))

    def joint(self, other: "Design") -> "Design":
        """Return the design of two questions that are randomized independently, which is the Kronecker product.

        Code a of this design and code b of the other become code a * (number of the other's options) + b; labels are
        joined by " / ". The epsilons add; their sum is slightly smaller if denominators are rounded.

        Parameters
        ----------
        other : Design
            The design of the second question.

        Returns
        -------
        Design
            The joint design.
        """
        return Design.from_matrix(
            tables.kronecker_rows(self.weights, self.denominator, other.weights, other.denominator),
            tables.join_labels(self.options, other.options),
            tables.join_labels(self.report_options, other.report_options),
            f"{self.name} × {other.name}",
        )

    def devices(self) -> "tuple[Device[Design], ...]":
        """Return devices (coins, dice, cards, digits, birthdays) that realize this design or approximate it.

        Returns
        -------
        tuple of Device
            The devices, closest first.

        Examples
        --------
        >>> Design([[5, 1], [1, 5]], 6, ("no", "yes")).devices()[0]
        <Device a die: 1: say "no". 2: say "yes". 3–6: answer truthfully. epsilon 1.609, exact>
        """

        def make_design(weights: list[list[int]], outcomes: int) -> Design:
            # Rounding may break a symmetry that the procedure requires.
            same = self.procedure and _procedure_fits(self.procedure, np.array(weights), self.report_options)
            procedure = self.procedure if same else None
            return Design(weights, outcomes, self.options, self.report_options, self.name, procedure)

        return nearest_devices(
            self.weights, self.denominator, self.options, self.report_options, self._forced_form, make_design
        )

    def scores(self, reports: Values, option: str | int | None = None) -> Array:
        codes = encoding.encode(reports, self.report_options, "reports").codes
        return moments.scores_from_table(self._score_matrix, codes, self.options, option)

    def _scores_of_raw_reports(self, reports: Sequence[int]) -> Array:
        return moments.scores_from_table(self._score_matrix, np.asarray(reports), self.options, None)

    def _score_range(self) -> tuple[Array, Array]:
        return np.asarray(self._score_matrix.min(axis=0)), np.asarray(self._score_matrix.max(axis=0))

    def to_dict(self) -> dict[str, Any]:
        data = {
            "name": self.name,
            "options": list(self.options),
            "report_options": list(self.report_options),
            "denominator": self.denominator,
            "weights": self.weights.tolist(),
        }
        # The procedure is included only if the other fields do not imply it, so that hashes of older surveys remain
        # valid.
        implied = self._implied_procedure()
        return data if self.procedure == implied else {**data, "procedure": self.procedure or ""}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Design":
        """Read the design that `to_dict` wrote.

        Parameters
        ----------
        data : dict
            Data as returned by `to_dict`.

        Returns
        -------
        Design
            An equal design.
        """
        fields = {"name", "options", "report_options", "denominator", "weights"}
        if not isinstance(data, dict) or set(data) - {"procedure"} != fields:
            rule = f"a design must have the fields {', '.join(sorted(fields))}"
            reject(rule, "others", "write it with to_dict()")
        if "procedure" in data:
            return cls(**{**data, "procedure": data["procedure"] or None})
        design = cls(**data)
        implied = design._implied_procedure()
        return design if design.procedure == implied else cls(**data, procedure=implied)

    def _implied_procedure(self) -> Procedure | None:
        """Return the procedure that the name implies in files of earlier versions, which contain no procedure."""
        by_name: dict[str, Procedure] = {"crosswise": "crosswise", "triangular": "triangular", "unrelated": "unrelated"}
        procedure = "forced" if "forced" in self.name else by_name.get(self.name)
        if procedure is not None and _procedure_fits(procedure, self.weights, self.report_options):
            return procedure
        return _infer_procedure(self.weights, self.report_options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Design) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.weights.tobytes(), self.denominator, self.options, self.report_options))

    def __repr__(self) -> str:
        parts = [
            f"{len(labels)} {kind} {encoding.format_labels(labels)}"
            for kind, labels in (("options", self.options), ("reports", self.report_options))
        ]
        return f"<Design {self.name}: {', '.join(parts)}, epsilon {self.epsilon:.4g}>"


def has_matrix(randomizer: Randomizer | None) -> TypeGuard[Design]:
    """Return whether a randomizer has a matrix, and therefore devices and a computable bias under non-compliance."""
    return randomizer is not None and randomizer.matrix is not None


def _procedure_fits(procedure: str, weights: npt.NDArray[np.int64], report_options: Labels) -> bool:
    """Return whether a design with these weights and reports can be carried out by a procedure."""
    if procedure == "forced":
        return True
    if weights.shape != (2, 2):
        return False
    if procedure == "crosswise":  # the last report means that both answers are the same
        return np.array_equal(weights, weights[::-1, ::-1]) and report_options[0] != COMPARISON_REPORTS[1]
    return procedure == "unrelated" or weights[1, 0] == 0


def _infer_procedure(weights: npt.NDArray[np.int64], report_options: Labels) -> Procedure | None:
    """Infer the procedure from the labels of the reports: whether two answers are the same, or whether both are no."""
    by_name: dict[Labels, Procedure] = {COMPARISON_REPORTS: "crosswise", NEITHER_REPORTS: "triangular"}
    procedure = by_name.get(report_options)
    return procedure if procedure is not None and _procedure_fits(procedure, weights, report_options) else None


def _checked_procedure(procedure: object, weights: npt.NDArray[np.int64], report_options: Labels) -> Procedure | None:
    """Check a procedure against the weights and the reports; infer it if it is None."""
    if procedure is None:
        return _infer_procedure(weights, report_options)
    valid = cast("Procedure", check_choice(procedure, "procedure", get_args(Procedure)))
    if not _procedure_fits(valid, weights, report_options):
        reject(f"the weights and reports must be those of a {valid} design", "others", "leave `procedure` out")
    return valid
