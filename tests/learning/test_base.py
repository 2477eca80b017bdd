import numpy as np
import pytest

from toolkit.learning.base import PROMISES, LeftBehind
from toolkit.learning.base import PrivateLearner as Learner


def test_both_relations_have_a_promise() -> None:
    assert set(PROMISES) == {"replace", "add_remove"}


def test_a_ledger_that_was_left_behind_refuses_every_fit() -> None:
    for verb in (LeftBehind().charge, LeftBehind().source):
        with pytest.raises(ValueError, match="n_jobs=1"):
            verb(np.random.default_rng(1))


def test_a_learner_that_was_not_fitted_says_so() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="call `fit`"):
        Learner()._rows_to_predict([[1.0]])
