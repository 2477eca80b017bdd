"""A likelihood of coded responses: its score and information against differences, whatever the distribution."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from toolkit.analysis.regression.responses import ResponseModel, block_diagonal
from toolkit.analysis.regression.rows import People


def three_responses(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first predictor splits the first response from the others, the second splits the others."""
    first, second = expit(eta)
    law = np.stack([first, (1 - first) * second, (1 - first) * (1 - second)], axis=1)
    by_first = (first * (1 - first))[:, None] * np.stack([np.ones_like(first), -second, second - 1], axis=1)
    by_second = ((1 - first) * second * (1 - second))[:, None] * np.array([0.0, 1.0, -1.0])
    return law, np.stack([by_first, by_second])


@pytest.mark.parametrize("with_jeffreys", [False, True])
def test_score_and_information_agree_with_differences(with_jeffreys: bool) -> None:
    rng = np.random.default_rng(1)
    columns = np.column_stack([np.ones(60), rng.normal(size=60)]), np.ones((60, 1))
    people = People(60, weights=rng.uniform(0.5, 2, 60))
    model = ResponseModel(three_responses, columns, rng.integers(3, size=60), people, with_jeffreys)
    at, steps = np.array([0.3, -0.4, 0.2]), 1e-5 * np.eye(3)
    point = model.evaluate(at)
    slopes = [(model.evaluate(at + h).loglike - model.evaluate(at - h).loglike) / 2e-5 for h in steps]
    assert point.score == pytest.approx(slopes, abs=1e-6)
    bends = [(model.evaluate(at - h).score - model.evaluate(at + h).score) / 2e-5 for h in steps]
    assert model.observed_information(at) == pytest.approx(np.array(bends), abs=1e-5)
    if not with_jeffreys:
        assert model.scores(at).sum(axis=0) == pytest.approx(point.score)
        law = softmax(np.zeros(3))  # at equal shares the information is that of counts
        equal = np.array([np.log(0.5), 0.0, 0.0])
        assert model.distribution(model.predictors(equal))[0][0] == pytest.approx(law)


def test_blocks_stand_on_the_diagonal() -> None:
    assert block_diagonal([np.ones((1, 1)), 2 * np.ones((2, 2))]).tolist() == [[1, 0, 0], [0, 2, 2], [0, 2, 2]]
