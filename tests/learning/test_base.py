import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from toolkit import Ledger
from toolkit.core.loss import Pure
from toolkit.learning import PrivateLinearRegression, PrivateLogisticRegression, PrivatePCA, PrivateSVC
from toolkit.learning.base import LeftBehind
from toolkit.learning.base import PrivateLearner as Learner

FRESH = "every fit draws fresh noise, and is charged anew"
NEVER_BY_DATA = {
    "check_dtype_object": "a cell that is no number is missing: no cell decides an error",
    "check_fit_idempotent": FRESH,
}
NO_LABEL = {
    "check_classifiers_classes": "the classes are given: to see which there are would be a release",
    "check_classifiers_regression_target": "a label that is no class pulls at nothing: it is no error",
    "check_classifier_not_supporting_multiclass": "likewise: a third label is no error",
    "check_supervised_y_no_nan": "likewise: a missing label is no error",
}
BY_CHANCE = dict.fromkeys(("check_supervised_y_2d", "check_regressors_int", "check_regressor_data_not_an_array"), FRESH)
ROWS = {"row_norm": 10, "missing": "middle"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("learner", "failing", "perhaps"),
    [
        (PrivateLogisticRegression(50, **ROWS, method="output"), NO_LABEL, {}),
        (PrivateSVC(50, **ROWS), NO_LABEL, {}),
        (
            PrivateLinearRegression(rho=5, **ROWS, target_bounds=(-100, 100)),
            {"check_supervised_y_no_nan": "a row without a target counts as none: it is no error"},
            BY_CHANCE,
        ),
        (PrivatePCA(rho=50, **ROWS), {}, {}),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Learner) else "",
)
def test_scikit_learn_checks_fail_only_where_privacy_requires_it(learner, failing, perhaps) -> None:
    """The failing checks are due to noise, or to decisions that must not depend on the data."""
    surely = NEVER_BY_DATA | failing
    found = check_estimator(learner, expected_failed_checks=surely | perhaps, on_fail=None)
    assert [one["check_name"] for one in found if one["status"] == "failed"] == []
    assert {one["check_name"] for one in found if one["status"] == "xfail"} - set(perhaps) == set(surely)


EVERY = {
    **dict.fromkeys(("epsilon", "rho", "delta", "bounds", "row_norm", "missing", "ledger", "rng")),
    "neighbors": "replace",
}
CLASSIFIER = {"method": "objective", "C": None, "classes": (0, 1), "steps": 100, "rate": 1, "people": None}
LEARNERS = {
    PrivateLogisticRegression: {**CLASSIFIER, "fit_intercept": True},
    PrivateSVC: {**CLASSIFIER, "fit_intercept": True, "width": 0.5},
    PrivateLinearRegression: {"target_bounds": None, "fit_intercept": True},
    PrivatePCA: {"n_components": None},
}


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_a_learner_is_not_told_it_takes_to_be_so(learner) -> None:
    assert learner().get_params() == EVERY | LEARNERS[learner]


CLASSIFIERS = [
    ({}, "exactly one of"),
    ({"epsilon": 1, "rho": 1}, "exactly one of"),
    ({"epsilon": 0}, "above 0"),
    ({"epsilon": 1, "delta": 1}, "between 1e-300 and 1"),
    ({"epsilon": 1, "delta": "9e-301"}, "between 1e-300 and 1"),
    ({"rho": 1, "delta": 0.1}, "must be given only with `epsilon`"),
    ({"rho": 1}, "needs `epsilon`"),
    ({"epsilon": 1, "method": "magic"}, "must be one of"),
    ({"epsilon": 1, "C": -1}, "above 0"),
    ({"epsilon": 1, "C": 1.01e6}, "between 1e-9 and 1e6"),
    ({"epsilon": 1, "C": 0.99e-9}, "between 1e-9 and 1e6"),
    ({"epsilon": 1, "classes": (1, 1)}, "two labels"),
    ({"epsilon": 1, "classes": (1, 2, 3)}, "two labels"),
    ({"epsilon": 1, "classes": "ab"}, "two labels"),
    ({"epsilon": 1, "classes": (1, None)}, "texts or numbers"),
    ({"epsilon": 1, "neighbors": "add_remove"}, "needs neighbors='replace'"),
    ({"epsilon": 1, "neighbors": "both"}, "must be one of"),
    ({"epsilon": 1, "rng": 3}, "numpy.random.Generator"),
    ({"epsilon": 1, "bounds": None}, "must be given"),
]
DESCENTS = [
    ({"epsilon": 1}, "needs `rho`"),
    ({"epsilon": 1, "delta": 1e-6, "rate": 0.1}, "needs neighbors='add_remove'"),
    ({"rho": 1, "rate": 0.1, "neighbors": "add_remove", "people": 9}, "needs `epsilon` with `delta`"),
    ({"rho": 1, "neighbors": "add_remove"}, "`people` must be given"),
    ({"rho": 1, "steps": 0}, "at least 1"),
    ({"rho": 1, "rate": 0}, "above 0"),
    ({"rho": 1, "rate": 2}, "between 0 and 1"),
    ({"epsilon": 1, "delta": 1e-15, "rate": 0.1, "neighbors": "add_remove", "people": 9}, "`delta` must be larger"),
]
REGRESSIONS = [
    ({"epsilon": 1}, "need `rho`"),
    ({"rho": 1, "target_bounds": None}, "must be \\(low, high\\)"),
    ({"rho": 1, "target_bounds": (1, 1)}, "must be below the upper"),
    ({"rho": 1, "bounds": None}, "must be given"),
]


@pytest.mark.parametrize(
    ("make", "said", "error"),
    [
        *((PrivateLogisticRegression, *one) for one in CLASSIFIERS),
        *((PrivateLogisticRegression, {"method": "descent"} | said, error) for said, error in DESCENTS),
        *((PrivateLinearRegression, {"target_bounds": (0, 1)} | said, error) for said, error in REGRESSIONS),
    ],
)
def test_what_parameters_cannot_be_is_refused_before_anything_is_charged(make, said, error) -> None:
    ledger = Ledger(Pure(10))
    learner = make(**{"missing": "middle", "bounds": (0, 1), "ledger": ledger} | said)
    with pytest.raises((TypeError, ValueError), match=error):
        learner.fit([[0.0], [1.0]], [0, 1])
    assert ledger.entries() == ()
    assert "each fit costs" in repr(learner)


def test_a_ledger_that_was_left_behind_refuses_every_fit() -> None:
    for verb in (LeftBehind().charge, LeftBehind().source):
        with pytest.raises(ValueError, match="n_jobs=1"):
            verb(np.random.default_rng(1))


def test_a_learner_that_was_not_fitted_says_so() -> None:
    with pytest.raises(NotFittedError, match="call `fit`"):
        Learner()._rows_to_predict([[1.0]])
