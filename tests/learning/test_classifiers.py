import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from toolkit import Ledger
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.learning import PrivateLinearRegression, PrivateLogisticRegression, PrivatePCA, PrivateSVC
from toolkit.learning.classifiers import default_strength
from toolkit.learning.perturbation import LogisticLoss, minimize_objective

LEARNERS = [PrivateLogisticRegression, PrivateSVC]


def two_groups(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    labels = np.arange(n) % 2
    return rng.normal(size=(n, 2)) * 5 + 20 * labels[:, None], labels


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("asked", [{"epsilon": 5}, {"epsilon": 2, "delta": 1e-6}], ids=["pure", "approx"])
def test_two_groups_are_told_apart(learner, asked) -> None:
    X, y = two_groups()  # noqa: N806
    for method in ("objective", "output"):
        model = learner(**asked, method=method, missing="middle", bounds=(-20, 40), rng=np.random.default_rng(4)).fit(
            X, y
        )
        assert model.score(X, y) > 0.95  # the worst of 480 fits with other seeds had 0.9575


def test_what_it_cost_and_what_it_promises_is_in_the_repr() -> None:
    X, y = two_groups(100)  # noqa: N806
    model = PrivateLogisticRegression(1, missing="middle", bounds=(-20, 40))
    assert repr(model) == (
        "<PrivateLogisticRegression: each fit costs ε = 1; promise whatever one person's row is replaced by "
        "(replace); noise in the objective; classes 0 and 1, spelled exactly; rows with other labels "
        "are ignored; missing numbers count as the middle of the bounds>"
    )
    assert repr(model.fit(X, y)) == (
        "<PrivateLogisticRegression: cost ε = 1; promise whatever one person's row is replaced by (replace); "
        "noise in the objective; fitted to 100 rows, 2 columns, C = 0.5; classes 0 and 1, spelled "
        "exactly; rows with other labels are ignored; missing numbers count as the middle of the bounds>"
    )
    assert "whatever one person&#x27;s row" in model._repr_mimebundle_()["text/html"]
    private = PrivateSVC(rho=0.5, method="output", missing="middle", bounds=(-20, 40), neighbors="add_remove").fit(X, y)
    assert "cost ρ = 0.5; promise whether or not one person's row is there (add_remove)" in repr(private)
    assert "100" not in repr(private)  # how many there are is private
    drawn = PrivateSVC(1, missing="middle", bounds=(-20, 40), rng=np.random.default_rng(1)).fit(X, y)
    assert "cost simulated, no privacy claim" in repr(drawn)
    assert "ε" not in repr(drawn)
    assert drawn.loss_ is None
    assert "not stated yet" in repr(PrivateSVC())


def test_a_fit_with_a_very_large_epsilon_warns() -> None:
    """A simulation with the same epsilon does not warn, because it promises nothing."""
    weak = {"epsilon": 100, "missing": "middle", "bounds": (-20, 40)}
    with pytest.warns(UserWarning, match="a promise should be at most"):
        PrivateLogisticRegression(**weak).fit(*two_groups(40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateLogisticRegression(**weak, rng=np.random.default_rng(1)).fit(*two_groups(40))
        PrivateLogisticRegression(**weak | {"epsilon": 1}).fit(*two_groups(40))


def test_a_ledger_is_charged_before_any_cell_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge that the ledger cannot pay is rejected."""
    read: list[object] = []

    def unread(_: object) -> np.ndarray:
        read.append(ledger.spent)
        raise RuntimeError("what a cell says")

    monkeypatch.setattr("toolkit.learning.tables.to_floats", unread)
    ledger = Ledger(Pure(1), neighbors="replace")
    model = PrivateLogisticRegression(0.75, missing="middle", bounds=(0, 1), ledger=ledger)
    with pytest.raises(RuntimeError, match="got an error that is not shown: the charge remains") as caught:
        model.fit(np.ones((3, 1)), [0, 1, 1])
    assert caught.value.__context__ is None
    assert read == [Pure(0.75)]  # charged, although the data could not be read
    with pytest.raises(ValueError, match="remain"):
        model.fit(np.ones((3, 1)), [0, 1, 1])
    assert len(read) == 1
    assert ledger.entries()[0].mechanism == "PrivateLogisticRegression"
    assert ledger.entries()[0].neighbors == "replace"


def test_a_ledger_counts_the_currency_of_its_ceiling() -> None:
    X, y = two_groups(50)  # noqa: N806
    ledger = Ledger(Zcdp(1))
    PrivateLogisticRegression(rho=0.25, method="output", missing="middle", bounds=(-20, 40), ledger=ledger).fit(X, y)
    PrivateLogisticRegression(1, delta=1e-6, method="output", missing="middle", bounds=(-20, 40), ledger=ledger).fit(
        X, y
    )
    first, second = ledger.entries()
    assert first.charged == Zcdp(0.25)
    assert second.loss == Approx(1, 1e-6)
    assert 0.02 < second.charged.rho < 0.04
    with pytest.raises(ValueError, match="generator"):
        PrivateLogisticRegression(
            1, missing="middle", bounds=(-20, 40), ledger=Ledger(Pure(1)), rng=np.random.default_rng(1)
        ).fit(X, y)


def test_a_ledger_of_simulations_takes_a_generator_and_nothing_is_promised() -> None:
    said = {"epsilon": 1, "missing": "middle", "bounds": (-20, 40), "ledger": Ledger(Pure(2), simulated=True)}
    first, second = (PrivateSVC(**said, rng=np.random.default_rng(1)).fit(*two_groups(40)) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert first.loss_ is None


def test_copies_share_the_ledger_and_a_pickle_leaves_it_behind() -> None:
    X, y = two_groups(60)  # noqa: N806
    ledger = Ledger(Pure(1))
    model = PrivateLogisticRegression(0.2, missing="middle", bounds=(-20, 40), ledger=ledger)
    assert clone(model).ledger is ledger
    assert clone(make_pipeline(FunctionTransformer(), model))[-1].ledger is ledger
    cross_val_score(model, X, y, cv=3)
    assert ledger.spent == Pure("3/5")
    sent = pickle.loads(pickle.dumps(model.fit(X, y)))  # noqa: S301
    np.testing.assert_array_equal(sent.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="pickled"):
        sent.fit(X, y)
    assert ledger.spent == Pure("4/5")


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda table: pl.DataFrame({k: list(v) for k, v in table.items()})])
def test_a_frame_of_any_kind_gives_the_same_weights(frame) -> None:
    X, y = two_groups(60)  # noqa: N806
    table = {"age": X[:, 0], "hours": X[:, 1]}
    bounds = {"hours": (-20, 40), "age": (-20, 40)}
    learner = PrivateLogisticRegression(1, missing="middle", bounds=bounds, rng=np.random.default_rng(2))
    named = learner.fit(frame(table), pd.Series(y))
    plain = PrivateLogisticRegression(1, missing="middle", bounds=(-20, 40), rng=np.random.default_rng(2)).fit(
        X.tolist(), list(y)
    )
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    assert named.feature_names_in_.tolist() == ["age", "hours"]
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(frame({"hours": X[:, 1], "age": X[:, 0]}))
    with pytest.raises(ValueError, match="is expecting 2 features"):
        plain.predict(X[:, :1])


@pytest.mark.parametrize("kind", ["default", "pandas", "polars"])
def test_a_pipeline_of_public_steps_ends_in_a_private_classifier(kind) -> None:
    """Categories are listed, and scales are bounds: nothing is learnt from the data before it is paid for."""
    X, y = two_groups(60)  # noqa: N806
    frame = pd.DataFrame({"group": np.where(y, "a", "b"), "age": X[:, 0]})
    encoder = OneHotEncoder(categories=[["a", "b"]], sparse_output=False)
    steps = make_column_transformer((encoder, ["group"]), ("passthrough", ["age"]))
    ledger = Ledger(Pure(1))
    last = PrivateLogisticRegression(1, missing="middle", bounds=[(0, 1), (0, 1), (-20, 40)], ledger=ledger)
    model = make_pipeline(steps, last).set_output(transform=kind).fit(frame, y)
    assert model.predict_proba(frame).shape == (60, 2)
    assert ledger.spent == Pure(1)
    assert getattr(model[-1], "feature_names_in_", [])[-1:] == ([] if kind == "default" else ["passthrough__age"])
    found = OneHotEncoder().fit_transform(frame[["group"]])
    with pytest.raises(TypeError, match="dense"):
        last.fit(found, y)


def test_invalid_cells_and_labels_change_only_the_weights() -> None:
    """Cells that are no numbers and labels that are no classes change weights and nothing else."""
    X, y = two_groups(40)  # noqa: N806
    hostile, labels = X.astype(object), y.astype(object)
    hostile[0, 0], hostile[1, 1], hostile[2, 0], hostile[3, 1] = np.nan, np.inf, "text", None
    labels[4], labels[5], labels[6] = None, 7, "x"
    for learner in LEARNERS:
        for method in ("objective", "output"):
            model = learner(1, method=method, missing="middle", bounds=(-20, 40)).fit(hostile, labels)
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.decision_function(hostile)).all()
            assert model.classes_.tolist() == [0, 1]
    PrivateLogisticRegression(1, missing="middle", bounds=(0, 1)).fit(
        [["a"], [None]], ["x", "y"]
    )  # nothing of it is a class


def test_a_row_of_an_unknown_class_pulls_at_nothing() -> None:
    X, y = two_groups(40)  # noqa: N806
    fits = []
    for last in (X[39], [1e9, -1e9]):
        table, labels = np.vstack([X[:39], last]), [*y[:39], 5]
        learner = PrivateLogisticRegression(
            1, method="output", missing="middle", bounds=(-20, 40), rng=np.random.default_rng(3)
        )
        fits.append(learner.fit(table, labels).coef_)
    np.testing.assert_array_equal(*fits)


def test_nobody_at_all_is_no_error_where_coming_and_going_is_hidden() -> None:
    empty = np.zeros((0, 2))
    PrivateLogisticRegression(1, method="output", missing="middle", bounds=(0, 1), neighbors="add_remove").fit(
        empty, []
    )
    with pytest.raises(ValueError, match="there must be rows"):
        PrivateLogisticRegression(1, missing="middle", bounds=(0, 1)).fit(empty, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked", [{"epsilon": 1e-9}, {"epsilon": 1e6}, {"epsilon": 1e-3, "delta": 1e-300}, {"epsilon": 1e-6, "delta": 1e-6}]
)
@pytest.mark.parametrize("n", [1, 7])
def test_very_little_and_very_much_privacy_and_one_person_are_no_error(asked, n) -> None:
    X, y = two_groups(n)  # noqa: N806
    for learner in LEARNERS:
        for method in ("objective", "output"):
            assert np.isfinite(
                learner(**asked, method=method, missing="middle", bounds=(-20, 40)).fit(X, y).coef_
            ).all()


def test_classes_of_two_types_stay_what_they_are() -> None:
    X, y = two_groups(40)  # noqa: N806
    model = PrivateLogisticRegression(10, classes=("none", 1), missing="middle", bounds=(-20, 40))
    model.fit(X, [1 if one else "none" for one in y])
    assert set(model.predict(X).tolist()) <= {"none", 1}


def test_many_columns_are_no_trouble() -> None:
    X = np.random.default_rng(1).uniform(size=(30, 150))  # noqa: N806
    assert PrivateLogisticRegression(1, missing="middle", bounds=(0, 1)).fit(X, X[:, 0] > 0.5).coef_.shape == (1, 150)


def test_a_corner_must_have_a_width() -> None:
    for width in (0, 0.99e-3, 1.01):
        with pytest.raises(ValueError, match="width"):
            PrivateSVC(1, missing="middle", bounds=(0, 1), width=width).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "said", [{"C": 1e6}, {"C": 1e-9}, {"delta": "1e-300"}, {"width": 0.001}, {"width": 1}], ids=str
)
def test_the_last_values_that_parameters_can_be_are_taken(said) -> None:
    learner = PrivateSVC(100, method="output", missing="middle", bounds=(0, 1), **said)
    assert np.isfinite(learner.fit([[0.0], [1.0]], [0, 1]).coef_).all()


def test_much_epsilon_gives_the_minimum_itself() -> None:
    """Coefficients in the units of the data, against the minimum of the same objective."""
    X, y = two_groups()  # noqa: N806
    model = PrivateLogisticRegression(1e6, C=2.0, missing="middle", bounds=(-20, 40)).fit(X, y)
    rows = np.column_stack([(X - 10) / 30, np.ones(len(X))]) / np.sqrt(3) * (2 * y - 1)[:, None]
    weights = minimize_objective(np.clip(rows.T, -1, 1), LogisticLoss(), 0.5, np.zeros(3), 1e-8) / np.sqrt(3)
    slopes = weights[:2] / 30
    np.testing.assert_allclose(model.coef_[0], slopes, atol=1e-3)
    np.testing.assert_allclose(model.intercept_[0], weights[2] - slopes.sum() * 10, atol=1e-2)
    assert pytest.approx(2.0) == model.C_
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X) == 1, model.predict_proba(X)[:, 1] > 0.5)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])
    model.coef_, model.intercept_ = np.zeros((1, 2)), np.zeros(1)
    assert set(model.predict(X)) == {0}  # above 0 is the second class


def test_c_follows_from_public_numbers_and_a_small_epsilon_lowers_it() -> None:
    assert default_strength(Pure(2), 20, "output", 0.25) == pytest.approx(0.02)
    assert default_strength(Zcdp(0.1), 20, "output", 0.25) == pytest.approx(0.02)
    assert default_strength(Zcdp(0.1), 20, "descent", 0.25) == pytest.approx(0.2)
    assert default_strength(Pure(10**20), 2, "output", 0.25) == 1e6
    assert default_strength(Pure("1e-20"), 2, "output", 0.25) == 1e-9
    for curvature in (0.25, 1.0):  # the determinants, ln(1 + curvature C), cost at most an eighth of epsilon
        strength = default_strength(Pure(2), 20, "objective", curvature)
        assert curvature * strength == pytest.approx(2 / 8)
        assert default_strength(Approx(2, 1e-6), 5, "objective", curvature) == strength
    X, y = two_groups(40)  # noqa: N806
    model = PrivateLogisticRegression(0.5, C=1000, missing="middle", bounds=(-20, 40)).fit(X, y)
    assert pytest.approx(4 * np.expm1(0.5 * 63 / 64 / 2)) == model.C_


TABLES = {
    "whole numbers": np.ones((4, 1), dtype=int),
    "floats": np.ones((4, 1)),
    "truth values": np.ones((4, 1), dtype=bool),
    "masked": np.ma.masked_array([[1]] * 4),
    "list": [[1]] * 4,
    "pandas, none missing": pd.DataFrame({"a": [1, 1, 1, 1]}),
    "pandas, one missing": pd.DataFrame({"a": [1, None, 1, 1]}),
    "polars": pl.DataFrame({"a": [1, 1, 1, 1]}),
    "pyarrow": pa.table({"a": [1, 1, 1, 1]}),
}


@pytest.mark.parametrize("kind", TABLES)
def test_no_type_of_a_table_says_that_no_number_is_missing(kind: str) -> None:
    """Types are guessed from data: one missing number makes floats of pandas' whole numbers."""
    ledger, x, y = Ledger(Zcdp(10)), TABLES[kind], [0, 1, 0, 1]
    price: dict[str, Any] = {"bounds": (0, 1), "ledger": ledger}
    learners = [
        PrivateLogisticRegression(1, **price),
        PrivateSVC(1, classes=(0, 1), **price),
        PrivateLinearRegression(rho=1, target_bounds=(0, 1), **price),
        PrivatePCA(1, rho=1, **price),
    ]
    for learner in learners:
        assert "missing numbers not stated yet" in repr(learner)
        with pytest.raises(ValueError, match="`missing` must state how missing numbers are treated, got nothing"):
            learner.fit(x, y)
    assert ledger.entries() == ()


def test_missing_must_be_said_and_is_what_was_said() -> None:
    X, y = two_groups(40)  # noqa: N806
    X[3, 0], X[5] = np.nan, np.nan
    ledger = Ledger(Pure(10))
    said = {"epsilon": 1, "bounds": (-20, 40), "method": "output"}
    with pytest.raises(ValueError, match="`missing` must state how missing numbers are treated, got nothing"):
        PrivateLogisticRegression(**said, ledger=ledger).fit(np.zeros((4, 1)), [0, 1, 0, 1])
    for wrong in ("mean", 41, True):
        with pytest.raises((TypeError, ValueError), match="missing"):
            PrivateLogisticRegression(**said, missing=wrong, ledger=ledger).fit(X, y)
    assert ledger.entries() == ()

    def weights(table: np.ndarray, labels: np.ndarray, missing: object, **more: object) -> np.ndarray:
        learner = PrivateLogisticRegression(**said, **more, C=0.1, missing=missing, rng=np.random.default_rng(3))
        return learner.fit(table, labels).coef_

    for intercept in (True, False):
        more = {"fit_intercept": intercept}
        for missing, fill in (("middle", 10), (-7, -7), (0.5, 0.5)):
            filled = np.where(np.isnan(X), fill, X)
            np.testing.assert_array_equal(weights(X, y, missing, **more), weights(filled, y, "drop", **more))
        # A dropped row weighs as one without a label.
        labels = np.where(np.isnan(X).any(axis=1), 7, y)
        np.testing.assert_array_equal(
            weights(X, y, "drop", **more), weights(np.nan_to_num(X), labels, "middle", **more)
        )
    assert "missing numbers leave their row out" in repr(PrivateSVC(1, missing="drop"))
    assert "missing numbers count as 3" in repr(PrivateSVC(1, missing=3))


def test_how_many_labels_are_known_is_told_for_a_price() -> None:
    ledger = Ledger(Pure(10**7))
    model = PrivateSVC(1, classes=("No", "Yes"), bounds=(0, 1), missing="drop", ledger=ledger)
    labels = ["No"] * 30 + ["no", "Yes", None, 1, ["Yes"], "yes"]
    told = model.count_labeled(labels, epsilon=10**6)
    assert told.value == pytest.approx(31, abs=0.01)
    (entry,) = ledger.entries()
    assert (entry.loss, entry.neighbors, entry.label) == (Pure(10**6), "replace", "rows with a known label")
    assert "rows with a known label about 31 (standard error" in repr(model)
    assert repr(model).endswith(", ε = 1,000,000)>")
    assert model.fit(np.ones((36, 1)), labels).labeled_rows_ is told
    assert "each fit costs" not in repr(model)
    model.set_params(ledger=None, rng=np.random.default_rng(1)).count_labeled(labels, epsilon=1)
    assert "cost ε = 1;" in repr(model)  # a count that is simulated does not make the fit so
    with pytest.raises(TypeError, match="y holds text, got a number"):
        PrivateSVC(1, ledger=ledger).count_labeled(np.array(["a", "b"]), epsilon=1)
    assert len(ledger.entries()) == 2
    with pytest.raises(ValueError, match="`neighbors` must be one of"):
        PrivateSVC(1, neighbors="both").count_labeled([0, 1], epsilon=1)
    drawn = PrivateSVC(1, rng=np.random.default_rng(1))
    drawn.count_labeled([0, 1, 2], epsilon=1)
    assert "simulated, no privacy claim" in repr(drawn)
