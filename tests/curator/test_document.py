"""The documents of all methods of a curator: they suffice to check the loss, and reveal nothing about the data."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit import Approx, Ledger, Pure, Zcdp
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.robust import Huber
from toolkit.curator.curator import Curator

BY = {"g": ["a", "b"]}
VERBS: dict[str, Any] = {
    "count": lambda c: c.count(by=BY, epsilon=0.5),
    "sum": lambda c: c.sum("x", bounds=(0, 80), missing=0, epsilon=0.5),
    "mean": lambda c: c.mean("x", bounds=(0, 80), missing="drop", by=BY, epsilon=0.5),
    "means": lambda c: c.mean(["x", "y"], bounds={"x": (0, 80), "y": (0, 1)}, missing="drop", epsilon=0.5),
    "variance": lambda c: c.variance("x", bounds=(0, 80), missing="drop", epsilon=0.5),
    "std": lambda c: c.std("x", bounds=(0, 80), missing=1, epsilon=0.5),
    "correlation": lambda c: c.correlation("x", "y", bounds={"x": (0, 80), "y": (0, 1)}, missing="drop", epsilon=0.5),
    "histogram": lambda c: c.histogram("g", options=["a", "b"], epsilon=0.5),
    "quantile": lambda c: c.quantile("x", 0.5, bounds=(0, 80), epsilon=0.5),
    "location": lambda c: c.location("x", estimator=Huber(3), bounds=(0, 80), epsilon=0.5),
    "iqr": lambda c: c.iqr("x", bounds=(0, 80), missing=1, epsilon=0.5),
}


def frame(last: tuple[float, float, str] = (3.0, 0.5, "a")) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    found = pd.DataFrame({"x": rng.gamma(4, 8, 60), "y": rng.random(60), "g": rng.choice(["a", "b"], 60)})
    found.loc[59] = list(last)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_every_release_can_be_published_and_its_document_hides_the_data(name: str, tmp_path: Path) -> None:
    """The document of a release does not depend on the values of the data."""
    seen = []
    for last in ((3.0, 0.5, "a"), (1e9, -7.0, "?"), (np.nan, np.inf, "b")):
        ledger = Ledger(Approx(1, 1e-6))
        found = VERBS[name](Curator(frame(last), ledger, "replace"))
        told = json.loads(found.publish(tmp_path / "t", overwrite=True).read_text(encoding="utf-8"))
        assert told["table"].pop("sha256")
        assert told["ledger"].pop("id") == ledger.id
        seen.append(told)
        page = (tmp_path / "t.md").read_text(encoding="utf-8")
        assert "1.65 times as probable" in page
        if name in ("mean", "means"):
            assert "count" in (tmp_path / "t.csv").read_text().splitlines()[0]
    assert seen[0] == seen[1] == seen[2]
    assert seen[0]["ledger"]["exact loss"] == "pure 1/2"
    assert seen[0]["ledger"]["before"] == "ε = 0, δ = 0"
    assert seen[0]["query"]["statistic"] == seen[0]["ledger"]["label"]
    if name in ("sum", "mean", "variance", "quantile", "iqr", "location"):
        assert seen[0]["query"]["bounds"]["x"]["high"] == "80"


def test_a_count_tells_enough_to_check_it() -> None:
    """Discrete Laplace with scale 2 / 0.5: the standard deviation of a cell is 5.642150."""
    found = VERBS["count"](Curator(frame(), Ledger(Approx(1, 1e-6)), "replace"))
    noise = found.release.noise
    assert (noise["mechanism"], noise["sensitivity"], noise["norm"], noise["scale"]) == ("Laplace", "2", "L1", 4.0)
    assert noise["sd"] == pytest.approx(5.642150, abs=1e-6)


def test_totals_before_and_after_are_those_of_the_ledger() -> None:
    ledger = Ledger(Zcdp(1))
    keeper = Curator(frame(), ledger, "replace")
    keeper.count(by=BY, rho="1/4")
    found = keeper.count(by=BY, rho="1/8")
    told = found.release.ledger
    assert (told["entry"], told["before"], told["after"], told["ceiling"]) == (2, "ρ = 0.25", "ρ = 0.375", "ρ = 1")


def test_noise_is_told_with_its_norm() -> None:
    assert Laplace.for_epsilon(1, sensitivity=3)._describe() == {
        "mechanism": "Laplace", "words": "Laplace noise", "sensitivity": "3", "norm": "L1", "scale": 3.0,
    }  # fmt: skip
    assert Gaussian.for_rho("1/2")._describe()["norm"] == "L2"


def test_sensitivity_and_scale_are_told_with_their_unit() -> None:
    keeper = Curator(frame(), Ledger(Pure(10)), "replace")
    assert keeper.count(by=BY, epsilon=1).release.noise["unit"] == "rows"
    limits = {"bounds": (0, 10), "missing": "drop", "by": BY, "epsilon": 1}
    assert keeper.mean("x", **limits).release.noise["unit"] == "grid steps of the bounds"
    assert keeper.variance("x", **limits).release.noise["unit"] == "products of grid steps of the bounds"
    filled = {"bounds": (0, 10), "missing": 1, "epsilon": 1}
    assert keeper.sum("x", **filled).release.noise["unit"] == "grid steps of the bounds"
    assert keeper.variance("x", **filled).release.noise["unit"] == "products of grid steps of the bounds"


def test_a_readable_page_names_no_class_and_no_missing_interval(tmp_path: Path) -> None:
    """The page for readers mentions an interval only if the release has one."""
    keeper = Curator(frame(), Ledger(Pure(10)), "replace")
    counted = keeper.count(by=BY, epsilon=1)
    chosen = keeper.quantile("x", [0.25, 0.5], bounds=(0, 100), epsilon=1)
    pages = []
    for name, one in (("counted", counted), ("chosen", chosen)):
        one.publish(tmp_path / name)
        pages.append((tmp_path / f"{name}.md").read_text(encoding="utf-8"))
    assert "- Error: covers noise alone, not who was asked; intervals of 95 %." in pages[0]
    assert "- Noise: the exponential mechanism chose each, the middle one first;" in pages[1]
    assert "not who was asked, nor what was clamped; how far it is off in ranks is in the notes." in pages[1]
    assert "- Whom it protects: one person, whose record is exchanged for another; each row is" in pages[1]
