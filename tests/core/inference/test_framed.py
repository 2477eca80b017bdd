"""Tables as frames: in the order of their keys, never sorted."""

import numpy as np
import pytest

from toolkit import Estimate
from toolkit.core.estimate import said


def table(axes: tuple[str, ...], labels: tuple[object, ...]) -> Estimate:
    value = np.arange(1.0, len(labels) + 1)
    return Estimate(value, np.ones(len(labels)), labels, None, None, None, "noise", axes=axes)


def test_a_table_by_two_columns_has_an_index_of_two_levels_in_the_order_given() -> None:
    labels = (("south", "m"), ("south", "f"), ("north", "m"), ("north", "f"))
    frame = table(("region", "sex"), labels).to_frame()
    assert list(frame.index.names) == ["region", "sex"]
    assert frame.index.tolist() == list(labels)
    assert list(frame.columns) == ["estimate", "se", "low", "high"]


def test_a_cross_tab_keeps_the_order_of_both() -> None:
    labels = tuple((region, sex) for region in ("south", "north", "east") for sex in ("m", "f"))
    estimate = table(("region", "sex"), labels)
    wide = estimate.to_frame(wide="sex")
    assert (wide.index.tolist(), wide.columns.tolist()) == (["south", "north", "east"], ["m", "f"])
    assert wide.to_numpy().tolist() == [[1, 2], [3, 4], [5, 6]]
    assert (wide.index.name, wide.columns.name) == ("region", "sex")
    tall = estimate.to_frame(wide="region")
    assert tall.columns.tolist() == ["south", "north", "east"]
    assert tall.loc["f", "east"] == 6


def test_a_cross_tab_of_three_columns_has_two_levels_left() -> None:
    labels = tuple((a, b, c) for a in (2, 1) for b in ("y", "x") for c in ("q", "p"))
    wide = table(("a", "b", "c"), labels).to_frame(wide="b")
    assert list(wide.index.names) == ["a", "c"]
    assert wide.index.tolist() == [(2, "q"), (2, "p"), (1, "q"), (1, "p")]
    assert wide.loc[(1, "p")].tolist() == [6, 8]


def test_one_column_is_no_cross_tab() -> None:
    estimate = table(("region",), ("north", "south"))
    assert estimate.to_frame().index.name == "region"
    with pytest.raises(ValueError, match="only a table by two or more columns"):
        estimate.to_frame(wide="region")
    with pytest.raises(ValueError, match="`wide` must be one of a, b"):
        table(("a", "b"), ((1, 2),)).to_frame(wide="c")


def test_keys_of_several_columns_are_said_side_by_side() -> None:
    estimate = table(("region", "sex"), (("north", "f"), ("north", "m")))
    assert said(("north", "f")) == "north, f"
    assert "north, f: 1.0 (se 1.0)" in repr(estimate)
    assert "<th>north, f</th>" in estimate._repr_html_()


def test_a_contrast_of_cells_is_no_table_any_more() -> None:
    labels = (("n", "f"), ("n", "m"))
    estimate = Estimate(
        np.array([3.0, 1.0]), np.ones(2), labels, np.eye(2), None, None, "noise", axes=("region", "sex")
    )
    gap = estimate.contrast({("n", "f"): 1, ("n", "m"): -1})
    assert (float(gap), gap.axes) == (2.0, ())
