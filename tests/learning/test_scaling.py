import numpy as np
import pytest

from toolkit.learning.tables import make_scale

HOSTILE = np.array([[np.nan, np.inf], [-np.inf, 1e308], [0.0, 0.0], [5.0, -3.0], [1e-320, 1e300]])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("bounds", "row_norm"), [((0, 10), None), (None, 2.0), ([(0, 1), (-5, 5)], 0.5)])
def test_no_row_is_longer_than_one(bounds, row_norm, intercept) -> None:
    rows = make_scale(bounds, row_norm, features=2, intercept=intercept).rows(HOSTILE)
    assert rows.shape == (2 + intercept, 5)
    assert np.isfinite(rows).all()
    assert (rows**2).sum(axis=0).max() <= 1


def test_wide_rows_at_the_corners_of_their_bounds_have_norm_at_most_one() -> None:
    """The norms of rows with 333 columns are computed exactly in integers."""
    rng = np.random.default_rng(1)
    values = rng.choice([-3.0, 7.0], (1000, 333))
    rows = make_scale((-3, 7), None, features=333).rows(values)
    lengths = [sum(float(entry).as_integer_ratio()[0] ** 2 for entry in row * 2.0**60) for row in rows.T[:20]]
    assert max(lengths) <= 2**120  # exact, in integers
    assert (rows**2).sum(axis=0).min() > 1 - 1e-9


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("bounds", "row_norm"),
    [
        ((0, 10), None),
        ((-3, 7), 0.5),
        ((-3, 7), 1.1),
        ((0, 10), 5.0),  # no row is as long, and the constant is the widest
        (None, 2.0),
        ([(0, 1), (-5, 5)], 1.3),
        ((0.1, 0.3), None),
        ([(1e16, 1e16 + 2), (1e16, 1e16 + 6)], None),  # floats have no middle here
    ],
)
def test_no_entry_is_wider_than_said_and_one_is_as_wide(bounds, row_norm, intercept) -> None:
    scaling = make_scale(bounds, row_norm, features=2, intercept=intercept)
    ends = [-np.inf, np.inf, np.nan, 0, *scaling.low, *scaling.high, *scaling.middle]
    max_entry = np.abs(scaling.rows(np.array([(a, b) for a in ends for b in ends]))).max()
    assert max_entry <= scaling.max_entry
    assert max_entry == pytest.approx(scaling.max_entry, rel=1e-10)


def test_a_column_is_scaled_to_minus_one_and_one() -> None:
    """A column goes to minus one and one and the constant is as large as one of them."""
    rows = make_scale((0, 1), None, features=20).rows(np.array([[0.0, 1.0] * 10]))
    np.testing.assert_allclose(rows[:, 0], [*[-1, 1] * 10, 1] / np.sqrt(21), rtol=1e-10)


def test_a_missing_number_is_the_middle() -> None:
    scaling = make_scale([(0, 10), (-1, 3)], None, features=2)
    np.testing.assert_array_equal(scaling.rows(np.array([[np.nan, np.nan]])), scaling.rows(np.array([[5, 1]])))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("bounds", "row_norm"), [((0, 10), None), (None, 20.0), ([(0, 10), (-15, 5)], 1.2)])
def test_coefficients_give_the_score_of_rows_that_were_not_cut(bounds, row_norm, intercept) -> None:
    rng = np.random.default_rng(2)
    scaling = make_scale(bounds, row_norm, features=2, intercept=intercept)
    values, weights = rng.uniform(3, 5, (50, 2)) * [1, -1] + [0, 8], rng.normal(size=2 + intercept)
    slopes, constant = scaling.coefficients(weights)
    uncut = np.linalg.norm((values - scaling.middle) / scaling.half, axis=1) <= scaling.row_norm
    assert uncut.sum() > 5
    np.testing.assert_allclose((values @ slopes + constant)[uncut], (weights @ scaling.rows(values))[uncut], rtol=1e-13)


def test_without_intercept_the_score_is_zero_at_zero() -> None:
    assert make_scale((0, 10), None, features=1, intercept=False).coefficients(np.array([2.0]))[1] == 0


@pytest.mark.parametrize(
    ("bounds", "row_norm", "error"),
    [
        (None, None, "must not be read from the data"),
        ((1, 0), None, "must be below the upper"),
        ((0, float("inf")), None, "finite"),
        ([(0, 1)] * 3, None, "a pair for each column"),
        ({"a": (0, 1)}, None, "must name each column"),
        (None, 0, "above 0"),
        (None, 1.01e100, "1e100"),
        (None, 0.99e-100, "1e100"),
        ((0, 1.01e100), None, "within ±1e"),
        ((-1.01e100, 0), None, "within ±1e"),
        ((1, 1), None, "must be below the upper"),
    ],
)
def test_scales_that_make_no_sense_are_refused(bounds, row_norm, error) -> None:
    with pytest.raises(ValueError, match=error):
        make_scale(bounds, row_norm, features=2, names=["a", "b"])


def test_bounds_by_name_are_in_the_order_of_the_columns() -> None:
    scaling = make_scale({"b": (0, 1), "a": (5, 9)}, None, features=2, names=["a", "b"])
    assert scaling.low.tolist() == [5, 0]


def test_the_largest_scales_are_taken() -> None:
    assert [make_scale(None, norm, features=2).row_norm for norm in (1e-100, 1e100)] == [1e-100, 1e100]
    assert make_scale((-1e100, 1e100), None, features=2).high.tolist() == [1e100, 1e100]
