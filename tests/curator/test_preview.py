"""Before the charge: the cost and the noise, from public arguments alone."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit import Curator, Ledger, Pure, Zcdp
from toolkit.central.release import CellNoise, Preview

VERBS = {
    "count": lambda c: c.count(by={"g": ["a", "b"]}, epsilon="1/2"),
    "sum": lambda c: c.sum("x", bounds=(-1, 3), missing="drop", by={"g": ["a", "b"]}, epsilon="1/2"),
    "histogram": lambda c: c.histogram("g", options=["a", "b"], epsilon="1/2"),
    "filled mean": lambda c: c.mean("x", bounds=(0, 1), missing=0, epsilon="1/2"),
}


def curator(neighbors: str = "replace", rows: int = 40) -> Curator:
    data = pd.DataFrame({"x": np.linspace(0, 1, rows), "g": ["a", "b"] * (rows // 2)})
    return Curator(data, Ledger(Pure(1)), neighbors)


@pytest.mark.parametrize("name", VERBS)
def test_a_preview_says_the_standard_error_that_the_release_has(name: str) -> None:
    keeper = curator()
    before = VERBS[name](keeper.preview)
    assert keeper.ledger.spent == Pure(0)
    found = VERBS[name](keeper)
    assert before.se() == pytest.approx(np.max(found.se))
    assert (before.loss, before.charged, before.fits) == (Pure("1/2"), Pure("1/2"), True)
    assert before.label == keeper.ledger.entries()[0].label
    assert before.mechanism == "Laplace"


@pytest.mark.parametrize("verb", ["mean", "variance", "std"])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_the_error_of_a_mean_is_a_number_over_n(verb: str, neighbors: str) -> None:
    """20,000 evenly spread values: the preview is within 5 % of the standard error of the release."""
    data = pd.DataFrame({"x": np.linspace(0, 10, 20_000)})
    keeper = Curator(data, Ledger(Pure(10)), neighbors)
    before = getattr(keeper.preview, verb)("x", bounds=(0, 10), missing="drop", epsilon=1)
    found = getattr(keeper, verb)("x", bounds=(0, 10), missing="drop", epsilon=1)
    assert before.se(20_000) == pytest.approx(found.se, rel=0.05)
    with pytest.raises(ValueError, match="got no n"):
        before.se()
    told, filled = (getattr(one, verb)("x", bounds=(0, 10), missing=5, epsilon=1) for one in (keeper.preview, keeper))
    assert told.se(20_000) == pytest.approx(filled.se, rel=0.05)


@pytest.mark.parametrize("verb", ["covariance", "correlation"])
def test_the_error_of_a_pair_is_a_number_over_n(verb: str) -> None:
    """All pairs of 200 evenly spread values."""
    x, y = np.meshgrid(np.linspace(0, 10, 200), np.linspace(-1, 1, 200))
    keeper = Curator(pd.DataFrame({"x": x.ravel(), "y": y.ravel()}), Ledger(Pure(10**4)), "add_remove")
    more: dict[str, Any] = {"bounds": {"x": (0, 10), "y": (-1, 1)}, "missing": "drop", "epsilon": 100}
    before, found = (getattr(one, verb)("x", "y", **more) for one in (keeper.preview, keeper))
    assert before.se(40_000) == pytest.approx(found.se, rel=0.05)


def test_the_error_of_several_means_is_the_largest() -> None:
    data = pd.DataFrame({"x": np.linspace(0, 10, 20_000), "y": np.linspace(0, 1, 20_000)})
    keeper, more = Curator(data, Ledger(Pure(10)), "add_remove"), {"missing": "drop", "epsilon": 1}
    bounds = {"x": (0, 10), "y": (0, 1)}
    before, found = (one.mean(["x", "y"], bounds=bounds, **more) for one in (keeper.preview, keeper))
    assert before.se(20_000) == pytest.approx(found.se[0], rel=0.05)
    assert found.se[0] > 5 * found.se[1]


@pytest.mark.parametrize("verb", ["mean", "variance"])
def test_a_preview_tells_how_many_cells_there_are(verb: str) -> None:
    before = getattr(curator().preview, verb)("x", bounds=(0, 1), missing="drop", by={"g": ["a", "b", "c"]}, epsilon=1)
    assert "; cells 3; " in repr(before)


def test_nothing_is_read_and_what_the_verb_refuses_is_refused() -> None:
    keeper = curator()
    keeper.preview.count(lambda row: pytest.fail(f"{row} was read"), epsilon=1)
    with pytest.raises(ValueError, match="at least one"):
        keeper.preview.count(by={"g": []}, epsilon=1)
    with pytest.raises(ValueError, match="must be drawn with rng=None"):
        keeper.preview.count(by={"g": ["a"]}, epsilon=1, rng=np.random.default_rng(1))
    with pytest.raises(AttributeError, match=r"a curator has bounds, choose, .* got `nothing`"):
        _ = keeper.preview.nothing
    assert "mean" in dir(keeper.preview)


def test_a_preview_is_the_same_for_every_frame_with_these_columns() -> None:
    one, other = (
        Curator(pd.DataFrame({"x": x, "g": g}), Ledger(Pure(1)), "add_remove").preview.mean(
            "x", bounds=(0, 9), missing="drop", by={"g": ["a"]}, epsilon=1
        )
        for x, g in (([1.0, 2.0], ["a", "b"]), ([np.nan], [""]))
    )
    assert one == other


def test_what_does_not_fit_is_said_and_so_is_the_price_in_another_currency() -> None:
    keeper = Curator(pd.DataFrame({"x": [1.0]}), Ledger(Zcdp("1/10")), "add_remove")
    dear = keeper.preview.median("x", bounds=(0, 9), epsilon=1)
    assert (dear.charged, dear.fits, dear.noise) == (Zcdp("1/8"), False, None)
    assert repr(dear) == (
        "<Preview of 0.5 quantile of x: cost ε = 1; charged ρ = 0.125; fits into the ledger no; "
        "RecursiveQuantiles mechanism>"
    )
    with pytest.raises(ValueError, match="depends on the data"):
        dear.se(100)
    cheap = keeper.preview.mean("x", bounds=(0, 9), missing="drop", rho="1/20")
    assert "about" in cheap._repr_html_()
    assert "<td>yes</td>" in cheap._repr_html_()
    plain = Preview("Laplace", Pure(1), label="count", charged=Pure(1), fits=True, noise=CellNoise(3, 2.5))
    assert "standard error of a cell 2.5" in repr(plain)
