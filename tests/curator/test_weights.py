"""The weights of a curator: arguments that are refused before any charge, and what a missing weight counts as."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit import Curator, Ledger, Pure
from toolkit.central.robust import Huber
from toolkit.curator.weights import Weights
from toolkit.frames.frame import Frame

FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0], "w": [1.0, 2.0, np.nan], "g": ["a", "b", "a"]})
FIXED: dict[str, Any] = {"weights": "w", "weight_bounds": (0, 50), "weights_are_fixed": True}


def curator(frame: Any = FRAME, neighbors: str = "replace", ceiling: Any = None, **more: Any) -> Curator:
    return Curator(frame, Ledger(ceiling or Pure(10**9), simulated=True), neighbors, **{**FIXED, **more})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights_are_fixed": False}, "weights calibrated on the data .* depend on other people's rows"),
        ({"weights_are_fixed": 1}, "weights_are_fixed=True"),
        ({"weight_bounds": None}, "`weight_bounds` must be given with `weights`, got nothing"),
        ({"weight_bounds": (-1, 50)}, "`weight_bounds` must not be negative, got -1"),
        ({"weight_bounds": (50, 0)}, "must be below"),
        ({"weights": None}, "must be given with `weights`, got no `weights`"),
        ({"weights": "nothing"}, "must be one of"),
        ({"weights": "g"}, "numbers"),
        ({"deff": 0}, "`deff` must be above 0"),
        ({"deff": 10**400}, "`deff` must be between 1/1,000,000 and 1,000,000, got another number"),
        ({"deff": Fraction(1, 10**400)}, "`deff` must be between"),
    ],
)
def test_wrong_arguments_are_refused_with_the_reason(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        curator(**arguments)


OTHERS: dict[str, Any] = {
    "tables": lambda c: c.count(by=[{"g": ["a", "b"]}, {}], epsilon=1),
    "means": lambda c: c.mean(["x", "w"], bounds={"x": (0, 4), "w": (0, 4)}, missing="drop", epsilon=1),
    "variance": lambda c: c.variance("x", bounds=(0, 4), missing="drop", epsilon=1),
    "std": lambda c: c.std("x", bounds=(0, 4), missing="drop", epsilon=1),
    "covariance": lambda c: c.covariance("x", "w", bounds={"x": (0, 4), "w": (0, 4)}, missing="drop", epsilon=1),
    "correlation": lambda c: c.correlation("x", "w", bounds={"x": (0, 4), "w": (0, 4)}, missing="drop", epsilon=1),
    "quantile": lambda c: c.quantile("x", 0.5, bounds=(0, 4), epsilon=1),
    "median": lambda c: c.median("x", bounds=(0, 4), epsilon=1),
    "smooth median": lambda c: c.median("x", bounds=(0, 4), method="smooth", missing=1, epsilon=1),
    "location": lambda c: c.location("x", estimator=Huber(1), bounds=(0, 4), epsilon=1),
    "trimmed_mean": lambda c: c.trimmed_mean("x", trim=0.1, bounds=(0, 4), missing=1, epsilon=1),
    "iqr": lambda c: c.iqr("x", bounds=(0, 4), missing=1, epsilon=1),
    "keys": lambda c: c.keys("g", delta=0.001, epsilon=1),
    "bounds": lambda c: c.bounds("x", epsilon=1),
    "top": lambda c: c.top("g", 1, options=["a", "b"], epsilon=1),
    "synthesize": lambda c: c.synthesize({"g": ["a", "b"], "x": [1, 2]}, epsilon=1),
    "choose": lambda c: c.choose([0, 1], lambda *_: 0, sensitivity=1, epsilon=1),
}


def test_every_method_is_weighted_or_refused() -> None:
    weighted, unreleased = {"count", "histogram", "sum", "mean"}, {"rehearse"}
    methods = {name for name in dir(Curator) if not name.startswith("_") and callable(getattr(Curator, name))}
    assert methods - weighted - unreleased == set(OTHERS) - {"tables", "means", "smooth median"}


@pytest.mark.parametrize("name", OTHERS)
def test_a_statistic_without_a_weighted_form_is_refused_before_any_charge(name: str) -> None:
    keeper = curator()
    for subject in (keeper, keeper.preview):
        with pytest.raises(ValueError, match="releases count, histogram, sum and mean"):
            OTHERS[name](subject)
    assert keeper.ledger.entries() == ()


@pytest.mark.parametrize(("bounds", "expected"), [((0, 50), 3), ((1, 50), 4), (("3/2", 50), 5), ((0, 1), 2)])
def test_weights_are_clipped_and_a_missing_one_counts_as_the_lower_bound(bounds: Any, expected: float) -> None:
    for neighbors in ("replace", "add_remove"):
        assert float(curator(neighbors=neighbors, weight_bounds=bounds).count(epsilon=10**7)) == pytest.approx(
            expected, abs=0.01
        )


def test_hostile_weights_decide_no_error_and_no_shape() -> None:
    hostile = pd.DataFrame({"x": [1.0, np.nan, np.inf], "w": [np.inf, -np.inf, np.nan], "g": ["a", None, "?"]})
    seen = set()
    for frame in (FRAME, hostile):
        for deff in (None, 2):
            found = curator(frame, deff=deff).mean("x", bounds=(0, 4), missing="drop", by={"g": ["a", "b"]}, epsilon=1)
            assert np.all(np.isfinite([found.value, found.se, *found.interval()]))
            seen.add((deff, found.labels, found.notes, found.method, str(found.release.query)))
    assert len(seen) == 2


def test_a_curator_names_its_weights() -> None:
    assert "weights w, clipped to 0 to 50" in repr(curator())
    assert curator()._weights is not None
    assert Weights.of(Frame(FRAME), None, None, None, are_fixed=False) is None
    assert curator()._weights.largest == pytest.approx(50, rel=1e-3)
