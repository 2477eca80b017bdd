import numpy as np
import pandas as pd
import pytest

from toolkit import Ledger
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.learning import PrivateLinearRegression


def line(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.uniform(0, [10, 1], (n, 2))
    return x, 20 + x @ [3.0, -7.0] + rng.normal(size=n)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_much_rho_gives_least_squares(neighbors) -> None:
    x, y = line(300)
    learner = PrivateLinearRegression(
        rho=1e12, missing="middle", bounds=[(0, 10), (0, 1)], target_bounds=(0, 60), neighbors=neighbors
    )
    model = learner.fit(x, y)
    wanted = np.linalg.lstsq(np.column_stack([x, np.ones(300)]), y, rcond=None)[0]
    np.testing.assert_allclose([*model.coef_, model.intercept_], wanted, atol=1e-3)
    without = PrivateLinearRegression(
        rho=1e12, missing="middle", bounds=[(0, 10), (0, 1)], target_bounds=(-60, 60), fit_intercept=False
    ).fit(x, y)
    np.testing.assert_allclose(without.coef_, np.linalg.lstsq(x, y, rcond=None)[0], atol=1e-2)
    assert without.intercept_ == 0


def test_a_line_is_found_among_twenty_thousand() -> None:
    """Over 60 fits the slope had a standard deviation of 0.011; the bound is nine of them."""
    x, y = line(20_000)
    ledger = Ledger(Zcdp(1))
    model = PrivateLinearRegression(
        rho=0.1, missing="middle", bounds=[(0, 10), (0, 1)], target_bounds=(0, 60), ledger=ledger
    )
    assert "fitted" not in repr(model)
    model.fit(x, y)
    assert abs(model.coef_[0] - 3) < 0.1
    assert model.score(x, y) > 0.8
    assert ledger.spent == Zcdp(0.1)
    assert "cost ρ = 0.1; promise whatever one person's row is replaced by" in repr(model)
    assert "; fitted to 2 columns; " in repr(model)
    model.fit(pd.DataFrame(x, columns=["a", "b"]), y)
    np.testing.assert_array_equal(model.predict(x), model.predict(pd.DataFrame(x, columns=["a", "b"])))


def test_few_people_give_something_finite_and_no_error() -> None:
    for n in (1, 2, 5):
        x, y = line(n)
        model = PrivateLinearRegression(1, delta=1e-6, missing="middle", bounds=(0, 10), target_bounds=(0, 60)).fit(
            x, y
        )
        assert np.isfinite(model.predict(x)).all()
        assert model.loss_ == Approx(1, 1e-6)


def test_invalid_cells_and_targets_raise_no_error() -> None:
    """Cells and targets that are no numbers are no error and a row without target is none."""
    frame = pd.DataFrame({"a": [1.0, None, np.inf, 4.0]})
    said = {"rho": 1.0, "missing": "middle", "bounds": (0, 10), "target_bounds": (0, 60)}
    fits = []
    for last in (4.0, 9.0):
        frame.iloc[3, 0] = last
        learner = PrivateLinearRegression(**said, rng=np.random.default_rng(1))
        fits.append(learner.fit(frame, ["x", np.inf, 7, None]).coef_)
    np.testing.assert_array_equal(*fits)


def test_a_target_of_text_is_refused_by_its_type() -> None:
    learner = PrivateLinearRegression(rho=1, missing="middle", bounds=(0, 1), target_bounds=(0, 1))
    with pytest.raises(TypeError, match="must hold numbers"):
        learner.fit([[0.0]], np.array(["x"]))
    with pytest.raises(ValueError, match="requires y"):
        learner.fit([[0.0]], None)


def test_how_many_targets_are_known_is_told_for_a_price() -> None:
    learner = PrivateLinearRegression(rho=1, bounds=(0, 1), target_bounds=(0, 1))
    told = learner.count_labeled([1, None, "x", 2.0, np.nan], epsilon=10**6)
    assert told.value == pytest.approx(2, abs=0.01)
    ledger = Ledger(Pure(1), neighbors="add_remove")
    with pytest.raises(TypeError, match="y must hold numbers, got text"):
        PrivateLinearRegression(rho=1, bounds=(0, 1), target_bounds=(0, 1), ledger=ledger).count_labeled(
            pd.Series(["1", "2"], dtype="str"), epsilon=1
        )
    assert ledger.spent == Pure(0)
