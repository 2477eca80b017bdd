import numpy as np
import pytest

from toolkit.central.stream import RunningTotal, Tree
from toolkit.central.stream.comparison import NAMES
from toolkit.core.loss import Pure, Zcdp
from toolkit.show import stream


def test_every_way_has_a_line_and_crossings_are_marked_and_said():
    ax = stream.errors(Zcdp("1/2"), max_periods=60)
    lines = {line.get_label(): line for line in ax.lines}
    assert set(NAMES) <= set(lines)
    for name, below in (("binary tree", 13), ("binary tree, averaged from below", 6)):
        assert f"{name} first below fresh noise for every period with {below}" in repr(ax)
    assert [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"][:2] == [13, 6]
    assert lines["fresh noise for every period"].get_ydata()[-1] == pytest.approx(60**0.5)


def test_the_square_root_is_not_drawn_for_laplace_noise():
    ax = stream.errors(Pure(1), max_periods=20)
    assert "square root" not in {line.get_label() for line in ax.lines}
    assert "no method below fresh noise" in repr(ax)


def test_what_was_published_is_drawn_with_intervals_and_the_truth():
    total = RunningTotal.for_epsilon(1, periods=5, rng=np.random.default_rng(1))
    told = [total.add(count) for count in (5, 3, 8, 1, 2)]
    ax = stream.published_totals(told, np.cumsum([5, 3, 8, 1, 2]))
    assert ax.lines[0].get_ydata().tolist() == [estimate.value for estimate in told]
    assert ax.lines[1].get_ydata().tolist() == [5, 8, 16, 17, 19]
    band = ax.collections[0].get_paths()[0].vertices
    for week, estimate in enumerate(told, 1):
        heights = band[band[:, 0] == week, 1]
        assert (heights.min(), heights.max()) == pytest.approx(tuple(estimate.interval()))
    assert "5 published numbers, 95 % intervals up to ± " in repr(ax)
    with pytest.raises(ValueError, match="`estimates` must not be empty"):
        stream.published_totals([])


def test_the_blocks_that_are_added_up_cover_each_period_once():
    """After period 12, a tree of threes over 13 periods adds a block of 9 and one of 3."""
    ax = stream.blocks(Tree(13, branches=3, levels=3), 12)
    styles = {patch.get_label(): patch.get_facecolor() for patch in ax.patches if patch.get_label()}
    assert sorted(styles) == ["added up", "complete", "not yet complete"]
    spans = {label: [] for label in styles}
    for patch in ax.patches:
        label = next(label for label, colour in styles.items() if colour == patch.get_facecolor())
        spans[label].append((patch.get_x() + 0.44, patch.get_x() + patch.get_width() - 0.44))
    assert sorted(spans["added up"]) == [pytest.approx((1, 9)), pytest.approx((10, 12))]
    assert spans["not yet complete"] == [pytest.approx((13, 13))]
    assert len(ax.patches) == 13 + 4 + 1
    assert [label.get_text() for label in ax.get_yticklabels()] == ["single periods", "blocks of 3", "blocks of 9"]
    assert "the sum of 2 blocks: periods 1 to 9, 10 to 12" in repr(ax)


def test_blocks_are_those_of_a_period_of_a_tree_over_all_periods():
    assert "the sum of 1 block: periods 1>" in repr(stream.blocks(Tree(4, branches=2, levels=2), 1))
    with pytest.raises(ValueError, match="must be a period of the tree"):
        stream.blocks(Tree(4), 5)
    with pytest.raises(ValueError, match="must have no window"):
        stream.blocks(Tree(4, window=2), 1)
