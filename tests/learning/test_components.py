import numpy as np
import pytest
from sklearn.decomposition import PCA

from toolkit import Ledger
from toolkit.core.loss import Zcdp
from toolkit.learning import PrivatePCA


def cloud(n: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.clip(rng.normal(size=(n, 3)) @ [[3, 1, 0], [0, 1, 0], [0, 0, 0.3]] + [1, -2, 3], -10, 10)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("bounds", [(-10, 10), None])
def test_much_rho_gives_the_components_of_scikit_learn(neighbors, bounds) -> None:
    x = cloud(400)
    row_norm = None if bounds else 30
    ours = PrivatePCA(2, rho=1e13, missing="middle", bounds=bounds, row_norm=row_norm, neighbors=neighbors).fit(x)
    theirs = PCA(2).fit(x)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-3)
    np.testing.assert_allclose(ours.mean_, x.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-3)
    unit = 10 if bounds else 1
    np.testing.assert_allclose(ours.explained_variance_ * unit**2, theirs.explained_variance_ * 399 / 400, rtol=1e-2)
    np.testing.assert_allclose(np.abs(ours.transform(x)) * unit, np.abs(theirs.transform(x)), atol=0.02)


def test_all_components_give_the_rows_back() -> None:
    x = cloud(50)
    model = PrivatePCA(rho=1, missing="middle", bounds=(-10, 10)).fit(x)
    np.testing.assert_allclose(model.inverse_transform(model.transform(x)), x, atol=1e-9)
    assert model.get_feature_names_out().tolist() == ["privatepca0", "privatepca1", "privatepca2"]


def test_a_ledger_pays_and_the_repr_says_what_it_cost() -> None:
    ledger = Ledger(Zcdp(1))
    model = PrivatePCA(1, rho="1/4", missing="middle", bounds=(-10, 10), ledger=ledger).fit(cloud(50))
    assert ledger.spent == Zcdp("1/4")
    assert repr(model) == (
        "<PrivatePCA: cost ρ = 0.25; promise whatever one person's row is replaced by (replace); noise on "
        "the sums of squares and products; components 1 of 3; "
        "missing numbers count as the middle of the bounds>"
    )
    assert "each fit costs ρ = 0.25" in repr(PrivatePCA(1, rho="1/4"))
    with pytest.raises(ValueError, match="at most the number of columns"):
        PrivatePCA(4, rho=1, missing="middle", bounds=(-10, 10), ledger=ledger).fit(cloud(50))
    assert len(ledger.entries()) == 1


def test_hostile_cells_and_nobody_at_all_are_no_error() -> None:
    x = cloud(30).astype(object)
    x[0, 0], x[1, 1], x[2, 2] = None, np.inf, "text"
    assert np.isfinite(PrivatePCA(rho=1, missing="middle", bounds=(-10, 10)).fit(x).transform(x)).all()
    nobody = PrivatePCA(rho=1, missing="middle", bounds=(-10, 10), neighbors="add_remove").fit(np.zeros((0, 2)))
    assert np.isfinite(nobody.components_).all()


def test_dropped_rows_with_missing_numbers_do_not_move_the_mean() -> None:
    """With missing="drop" the components are those of the complete rows."""
    x = cloud(400)
    x[:100, 1] = np.nan
    model = PrivatePCA(rho=1e13, bounds=(-10, 10), missing="drop").fit(x)
    np.testing.assert_allclose(model.mean_, x[100:].mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(PCA().fit(x[100:]).components_), atol=1e-3)
