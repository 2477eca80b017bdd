import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from toolkit.learning import PrivateLogisticRegression
from toolkit.teaching.attacks import membership


def crowd(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (n, 3))
    return rows, (rows[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


CANARY = (np.array([1.0, -1.0, 1.0]), 0)


@pytest.mark.slow
def test_one_look_at_the_weights_of_a_classifier_finds_the_canary() -> None:
    rows, labels = crowd()
    found = membership.canary_game(LogisticRegression().fit, rows, labels, CANARY, games=3)
    assert found.area == found.advantage == 1
    inside, outside = membership._canary_scores(LogisticRegression().fit, rows, labels, CANARY, games=2)
    assert len(set(inside)) == len(set(outside)) == 1  # a deterministic function of its data


@pytest.mark.slow
def test_a_private_one_keeps_it_within_the_promise() -> None:
    """Epsilon 1 allows an advantage of 0.462. With 60 games of each kind, the best threshold exceeds it by more than
    0.35 for at most one seed in ten (Massart's inequality, for both kinds); the seed is fixed.
    """
    rows, labels = crowd()
    rng = np.random.default_rng(2)

    def learn(X, y):  # noqa: N803
        return PrivateLogisticRegression(1, missing="middle", bounds=(-1, 1), rng=rng).fit(X, y)

    found = membership.canary_game(learn, rows, labels, CANARY, games=60)
    assert found.advantage < membership.promised_advantage(1) + 0.35
    assert found.area < 0.75


def test_what_is_no_table_or_no_row_of_it_is_refused() -> None:
    with pytest.raises(ValueError, match="the canary a row"):
        membership.canary_game(LogisticRegression().fit, [[1.0]], [1], ([1.0, 2.0], 1))


@pytest.mark.parametrize(("label", "sign"), [(1, 1), (0, -1)])
def test_scores_are_the_models_own_with_the_sign_of_the_label(label: int, sign: int) -> None:
    """A model whose score depends on the sum of its training data and on the row in question."""

    class Sum:
        classes_, made = (0, 1), 0

        def __init__(self, rows: np.ndarray, labels: np.ndarray) -> None:
            Sum.made += 1
            self.taught = rows.sum() + 100 * labels.sum()

        def decision_function(self, rows: list[np.ndarray]) -> list[float]:
            return [self.taught + 1000 * np.sum(row) for row in rows]

    rows, labels = np.array([[1.0], [2.0]]), np.array([1, 1])
    inside, outside = membership._canary_scores(Sum, rows, labels, ([5.0], label), games=2)
    assert inside == [sign * (5107 + 100 * label)] * 2
    assert outside == [sign * 5203] * 2
    assert rows.tolist() == [[1], [2]]  # the arguments are not modified
    membership.canary_game(Sum, rows, labels, ([5.0], label))
    assert Sum.made == 4 + 100  # fifty games of each kind by default
