import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from toolkit import Design, crosswise, forced, k_ary, kuk, warner

weights = hnp.arrays(
    np.int64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=5), elements=st.integers(0, 40)
)

WIDE = Design([[5, 2, 1, 2], [1, 5, 3, 1], [2, 1, 1, 6]], 10, ("a", "b", "c"), (1, 2, 3, 4))


def _design(table: np.ndarray) -> Design | None:
    """Return a design from a random table, or None if the table is not a valid design."""
    truths, reports = table.shape
    sums = table.sum(axis=1)
    if truths > reports or np.any(sums == 0) or np.any(table.sum(axis=0) == 0):
        return None
    if np.linalg.matrix_rank(table / sums[:, None]) < truths:
        return None
    rows = [[Fraction(int(w), int(total)) for w in row] for row, total in zip(table, sums, strict=True)]
    return Design.from_matrix(rows, list(range(truths)), list(range(reports)))


@pytest.mark.slow
@given(weights)
def test_every_stochastic_matrix_has_an_unbiased_estimator(table: np.ndarray) -> None:
    design = _design(table)
    if design is None:
        return
    for truth, row in enumerate(design.matrix):
        values = [np.atleast_1d(design.estimate_counts(tally).value) for tally in np.eye(len(row), dtype=int)]
        mean = row @ np.array(values)
        expected = np.eye(len(design.options))[truth]
        condition = np.abs(values).max()
        assert np.allclose(mean, expected[-1:] if len(expected) == 2 else expected, atol=1e-9 * condition)


@pytest.mark.slow
@given(weights, st.integers(0, 2**32 - 1))
def test_the_maximum_likelihood_of_every_matrix_is_certified(table: np.ndarray, seed: int) -> None:
    design = _design(table)
    if design is None:
        return
    counts = np.random.default_rng(seed).multinomial(
        50, np.full(len(design.options), 1 / len(design.options)) @ design.matrix
    )
    found = np.atleast_1d(design.estimate_counts(counts, method="mle").value)
    shares = np.array([1 - found[0], found[0]]) if len(design.options) == 2 else found
    seen = counts > 0
    ratios = design.matrix[:, seen] @ (counts[seen] / (shares @ design.matrix)[seen]) / 50
    assert shares.min() >= 0
    assert ratios.max() <= 1 + 1e-8


@pytest.mark.slow
@given(weights, weights)
def test_joint_designs_add_their_epsilons(first: np.ndarray, second: np.ndarray) -> None:
    one, two = _design(first), _design(second)
    if one is None or two is None:
        return
    both = one.joint(two)
    assert np.allclose(both.matrix, np.kron(one.matrix, two.matrix), atol=1e-9)
    assert both.epsilon == pytest.approx(one.epsilon + two.epsilon, rel=1e-6)


def test_joint_estimates_the_joint_table() -> None:
    one, two = warner("3/4"), forced("1/6", "1/6")
    both, rng = one.joint(two), np.random.default_rng(8)
    table = np.array([0.5, 0.2, 0.1, 0.2])
    truth = rng.choice(4, 40_000, p=table)
    reports = one.randomize(truth // 2, rng) * 2 + two.randomize(truth % 2, rng)
    estimate = both.estimate(reports)
    assert both.options == ("no / no", "no / yes", "yes / no", "yes / yes")
    # 4.5 standard errors in each of four cells: false alarms 3e-5
    assert np.all(np.abs(estimate.value - table) < 4.5 * estimate.se)


def test_one_report_has_an_estimate_but_no_standard_error() -> None:
    estimate = warner("3/4").estimate([True])
    assert float(estimate) == 1.5
    assert math.isnan(estimate.se)
    assert warner("3/4").estimate_counts([1, 1]).se == pytest.approx(1)  # 2 sqrt(1/4 / (n - 1))
    assert estimate.interval().high == 1
    assert "1.5 (standard error —;" in repr(estimate)


def test_equal_matrices_are_equal_designs_in_lowest_terms() -> None:
    assert Design([[6, 2], [2, 6]], 8, ("no", "yes"), name="warner") == warner("3/4")
    assert warner("2/3").devices()[0].design == warner("2/3")


def test_designs_are_values() -> None:
    design = warner("3/4")
    assert design == warner(0.75)
    assert design != forced("1/4", "1/4")
    assert len({design, warner("6/8")}) == 1
    assert pickle.loads(pickle.dumps(design)) == design  # noqa: S301
    with pytest.raises(AttributeError):
        design.denominator = 5
    with pytest.raises(ValueError, match="read-only"):
        design.weights[0, 0] = 5
    with pytest.raises(ValueError, match="read-only"):
        design.matrix[0, 0] = 5


def test_covariances_of_k_options_sum_to_zero() -> None:
    estimate = k_ary(4, epsilon=1.0).estimate_counts([10, 20, 30, 40])
    assert np.allclose(estimate.cov.sum(axis=0), 0, atol=1e-12)
    assert np.allclose(np.sqrt(np.diag(estimate.cov)), estimate.se)


def test_posterior_of_an_impossible_report_is_undefined_but_silent() -> None:
    assert np.isnan(Design([[4, 0], [1, 3]], 4, ("no", "yes")).posterior(0.0)[:, 1]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 1], [1, 1]], 2, ("a", "b")), "must be linearly independent"),
        (([[1, 1], [1, 2]], 2, ("a", "b")), "must sum to `denominator`"),
        (([[3, -1], [1, 1]], 2, ("a", "b")), "must not be negative"),
        (([[2, 0], [2, 0]], 2, ("a", "b")), "each report must be possible"),
        (([[1, 1, 0], [0, 1, 1]], 2, ("a", "b")), "must be 2 by 2"),
        (([1, 1], 2, ("a", "b")), "must be a table of integers"),
        (([[0.5, 0.5], [0.1, 0.9]], 1, ("a", "b")), "must be a table of integers"),
        (([[2**33 - 1, 1], [1, 2**33 - 1]], 2**33, ("a", "b")), "at most 2\\*\\*32"),
        (([[1, 1], [0, 2]], 2, ("a", "b", "c")), "must be 3 by 3"),
    ],
)
def test_tables_that_are_no_design_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Design(*arguments)


@pytest.mark.parametrize("matrix", [[[0.5, 0.4], [0.1, 0.9]], [[0.5, 0.5], [1.0]], [["x", 1], [0, 1]]])
def test_matrices_that_are_no_distribution_are_refused(matrix: object) -> None:
    with pytest.raises(ValueError, match="must"):
        Design.from_matrix(matrix, ("a", "b"))


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ([1, 2, 3], ValueError, "one number for each of 2 reports"),
        ([[1, 2]], ValueError, "one number for each of 2 reports"),
        ([-1, 2], ValueError, "must not be negative"),
        ([0, 0], ValueError, "at least one report"),
        ([0.5, 1.5], TypeError, "whole numbers"),
        ([math.nan, 1], TypeError, "whole numbers"),
        (["1", "2"], TypeError, "whole numbers"),
    ],
)
def test_counts_that_count_nothing_are_refused(counts: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        warner("3/4").estimate_counts(counts)


def test_the_order_of_counts_is_in_the_repr_docstring_and_message() -> None:
    """An earlier version silently took [287, 713] for 713 yes reports."""
    assert "(no, yes)" in (Design.estimate_counts.__doc__ or "").splitlines()[0]
    assert (
        repr(crosswise("1/4")) == "<Design crosswise: 2 options (no, yes), 2 reports (different, same), epsilon 1.099>"
    )
    assert "20 options (1, 2, 3, 4, 5, 6, 7, 8, …)" in repr(k_ary(range(1, 21), epsilon=1))
    with pytest.raises(ValueError, match=r"their order is \(no, yes\); by label it is \{'no': …, 'yes': …\}"):
        forced("1/6", "1/6").estimate_counts([287, 713, 0])
    by_label = [forced("1/6", "1/6").estimate_counts(dict(pairs)).value for pairs in (PAIRS, PAIRS[::-1])]
    assert by_label == [forced("1/6", "1/6").estimate_counts([713, 287]).value] * 2


PAIRS = [("no", 713), ("yes", 287)]


@pytest.mark.parametrize("prevalence", [-0.1, 1.1, [0.5, 0.6], [0.2, 0.3, 0.5], math.nan])
def test_prevalences_are_distributions(prevalence: object) -> None:
    with pytest.raises(ValueError, match="`prevalence` must"):
        warner("3/4").variance(prevalence, 10)


def test_unknown_methods_and_fields_are_refused() -> None:
    design = warner("3/4")
    with pytest.raises(ValueError, match="`method` must be one of moment, mle, simplex"):
        design.estimate([1, 0], method="median")
    with pytest.raises(ValueError, match="`method` must be one of wilson, exact, bayes, wald"):
        design.estimate([1, 0]).interval(method="agresti")
    with pytest.raises(ValueError, match="`respondents` must be one of"):
        design.variance(0.5, 10, respondents="others")
    with pytest.raises(ValueError, match="must have the fields"):
        Design.from_dict({**design.to_dict(), "extra": 1})


def test_what_a_row_is_short_of_one_goes_to_its_largest_probability() -> None:
    """The row sums exceed 1 by two billionths, within the tolerance of decimals; subtracted from a probability of a
    billionth, they would leave nothing.
    """
    rows = [["0.000000001", "0.5", "0.500000001"], ["0.5", "0.000000001", "0.499999999"], ["0.25", "0.25", "0.5"]]
    design = Design.from_matrix(rows, ("a", "b", "c"))
    assert design.matrix[0] == pytest.approx([1e-9, 0.5, 0.499999999], abs=1.5 / 2**32)
    assert design.weights.min() > 0


def test_where_all_reports_agree_the_error_is_that_of_the_nearest_shares() -> None:
    """The unbiased estimate from 40 reports that are all "b" is (-14/3, 8/3, 3); the nearest shares are (0,
    1/3, 2/3).
    """
    design = Design([[3, 2, 5], [3, 5, 2], [2, 2, 6]], 10, ("a", "b", "c"))
    found = design.estimate_counts([0, 40, 0])
    assert found.value == pytest.approx([-14 / 3, 8 / 3, 3])
    assert found.cov == pytest.approx(design.covariance([0, 1 / 3, 2 / 3], 40))


def test_equal_reports_without_randomization_have_an_error() -> None:
    """Twenty of twenty say no: the error is that of a share of 1/22, as if one more person had given each answer."""
    assert warner(1).estimate_counts([20, 0]).se == pytest.approx(math.sqrt(21 / 22**2 / 20))


def test_of_many_reports_the_error_is_still_that_of_the_reports() -> None:
    """A tenth of yes reports contradicts Warner's design, so the error of the nearest share would be misleading."""
    people = 10**8
    found = warner("3/4").estimate_counts([people - people // 10, people // 10])
    assert found.se == pytest.approx(2 * math.sqrt(0.1 * 0.9 / (people - 1)))


def test_an_estimate_outside_0_to_1_has_a_note() -> None:
    """The note says "the estimate" for a single share, and otherwise the number of options concerned."""
    for design, counts, which in (
        (warner("3/4"), [80, 20], "the estimate lies"),
        (k_ary(3, epsilon=1.0), [50, 40, 15], "1 of 3 estimates lie"),
    ):
        (note,) = design.estimate_counts(counts).notes
        assert note.startswith(f"{which} outside 0 to 1")
        assert design.estimate_counts(counts, method="mle").notes == ()


@pytest.mark.parametrize("design", [kuk("4/5", "1/5", draws=3), WIDE], ids=["cards", "three options"])
def test_the_error_of_maximum_likelihood_is_the_inverse_information(design: Design) -> None:
    """The Fisher information by steps from each option to the last: n times the sum over reports of slope times slope
    over probability.
    """
    counts = 50 + 7 * np.arange(len(design.report_options))
    found = design.estimate_counts(counts, method="mle")
    shares = np.atleast_1d(found.value)
    shares = np.array([1 - shares[0], shares[0]]) if len(shares) == 1 else shares
    steps = np.eye(len(shares))[:, :-1] - np.eye(len(shares))[:, -1:]
    slopes = steps.T @ design.matrix
    inverse = steps @ np.linalg.inv(counts.sum() * (slopes / (shares @ design.matrix)) @ slopes.T) @ steps.T
    assert shares.min() > 0.01
    assert np.allclose(found.se, np.sqrt(np.diag(inverse))[-np.size(found.value) :], rtol=1e-6)


def test_a_prevalence_that_misses_1_by_rounding_is_1() -> None:
    design = k_ary(3, epsilon=1.0)
    near = np.array([np.nextafter(1, 2), 0, -np.finfo(float).eps])
    assert design.variance(near, 10) == pytest.approx(design.variance([1, 0, 0], 10))
    with pytest.raises(ValueError, match="must be shares from 0 to 1 that sum to 1"):
        design.variance([1.001, -0.001, 0], 10)


def test_no_variance_is_zero_where_a_share_misses_1_by_rounding() -> None:
    """All answers agree and nothing hides them: the error is computed with one more person for each option."""
    design, rounding = warner("1"), np.finfo(float).eps
    exact, near = (
        design._replace_zero_variances(np.zeros((2, 2)), np.array([off, 1 - off]), 10) for off in (0, rounding)
    )
    assert exact[1, 1] > 0.005
    assert near == pytest.approx(exact)
