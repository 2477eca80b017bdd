import math

import numpy as np
import pytest

from toolkit import Laplace, warner
from toolkit.show import promises

FIRST, SECOND = {0: 0.5, 1: 0.3, 2: 0.2}, {0: 0.2, 1: 0.3, 2: 0.5}


def counts(epsilon, *true, reach=12):
    mechanism, grid = Laplace.for_epsilon(epsilon), np.arange(-reach, reach + 1)
    return [dict(zip(grid.tolist(), mechanism.pmf(grid - value), strict=True)) for value in true]


def marks(ax, kind):
    return next(line for line in ax.lines if line.get_marker() == kind).get_ydata().tolist()


def test_the_outlines_are_the_probabilities_in_the_order_of_the_outputs():
    ax = promises.output_laws({"a": {2: 0.2, 0: 0.5, 1: 0.3}, "b": SECOND})
    outlines = [patch.get_data().values.tolist() for patch in ax.patches if not patch.get_fill()]
    assert outlines == [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


def test_outlines_differ_by_more_than_colour():
    styles = [p.get_linestyle() for p in promises.output_laws({"a": FIRST, "b": SECOND}).patches if not p.get_fill()]
    assert len(set(styles)) == 2


def test_an_output_that_one_table_cannot_give_has_the_height_zero():
    ax = promises.output_laws({"a": {"no": 1.0}, "b": {"no": 0.5, "yes": 0.5}})
    assert [p.get_data().values.tolist() for p in ax.patches if not p.get_fill()] == [[1.0, 0.0], [0.5, 0.5]]


def test_laws_of_anything_but_neighbors_can_have_their_own_title():
    """The title replaces the one that speaks of neighboring tables."""
    laws = {"few people": {1: 0.5, 2: 0.5}, "many": {1: 0.9, 2: 0.1}}
    assert promises.output_laws(laws, title="By people").get_title(loc="left") == "By people"


@pytest.mark.parametrize(("size", "every"), [(12, 1), (13, 2), (24, 2), (25, 3)])
def test_at_most_a_dozen_outputs_are_named_and_the_middle_one_is(size, every):
    law = dict.fromkeys(range(size), 1 / size)
    named = [int(label.get_text()) for label in promises.output_laws({"a": law, "b": law}).get_xticklabels()]
    assert named == list(range(size // 2 % every, size, every))
    assert len(named) <= 13
    assert size // 2 in named


def test_one_law_or_four_are_refused():
    for laws in ({"a": FIRST}, dict.fromkeys("abcd", FIRST)):
        with pytest.raises(ValueError, match="must have two or three entries"):
            promises.output_laws(laws)


def test_the_ratio_of_laplace_counts_lies_on_the_edges_of_the_band():
    """Counts of neighbors attain the bound in both directions."""
    first, second = counts(0.7, 0, 1)
    ax = promises.ratios(first, second, epsilon=0.7)
    assert sorted({round(value, 9) for value in marks(ax, "o")}) == pytest.approx([math.exp(-0.7), math.exp(0.7)])
    assert marks(ax, "D") == []
    assert "all of 25 outputs are within" in repr(ax)


def test_what_leaves_the_band_is_marked_by_shape_and_counted():
    first, second = counts(0.7, 0, 1)
    ax = promises.ratios(first, second, epsilon=0.6)
    assert len(marks(ax, "D")) == 25
    assert "25 of 25 outputs leave it" in repr(ax)


def test_every_ratio_is_the_first_over_the_second():
    ax = promises.ratios(FIRST, SECOND, epsilon=1)
    assert marks(ax, "o") == pytest.approx([2.5, 1.0, 0.4])


def test_a_small_finite_ratio_lies_inside_the_picture():
    """The axis reaches as far below 1 as the smallest ratio asks for, also where all large ratios are small."""
    ax = promises.ratios({0: 0.01, 1: 0.99}, {0: 0.4, 1: 0.6}, epsilon=0.1)
    assert marks(ax, "D") == pytest.approx([0.025, 1.65])
    assert ax.get_ylim()[0] < 0.025


def test_infinite_ratios_are_drawn_at_the_edge_of_the_picture():
    """Outputs that are impossible under both laws have a ratio of one."""
    ax = promises.ratios({0: 1.0, 1: 0.0, 2: 0.0}, {0: 0.5, 1: 0.5, 2: 0.0}, epsilon=1)
    low, high = ax.get_ylim()
    assert marks(ax, "D") == pytest.approx([low])
    assert marks(ax, "o") == pytest.approx([2.0, 1.0])
    assert low < math.exp(-1) < math.exp(1) < high


@pytest.mark.slow
def test_the_ticks_of_the_ratio_stand_where_they_say():
    for epsilon in (0.1, 0.5, 2.0, 6.0):
        ax = promises.ratios(*counts(epsilon, 0, 1), epsilon=epsilon)
        for place, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True):
            top, _, bottom = label.get_text().partition("/")
            assert place == pytest.approx(float(top) / float(bottom or 1))


def test_the_edges_of_the_belief_band_are_posteriors_of_a_design():
    """The edges are attained by a design with that epsilon.

    Warner's design reaches the bound, so its posteriors must lie on the edge of the band, to the last bit
    that is drawn.
    """
    design, prior = warner(p="3/4"), 0.2
    no, yes = design.posterior(prior)[1]
    assert "2 of 2 observers are within" in repr(promises.belief_band(design.epsilon, [(prior, no), (prior, yes)]))
    assert "0 of 2 observers are within" in repr(
        promises.belief_band(design.epsilon - 0.01, [(prior, no), (prior, yes)])
    )


@pytest.mark.slow
def test_beliefs_outside_the_band_are_marked_by_shape():
    ax = promises.belief_band(0.5, [(0.5, 0.5), (0.2, 0.6)])
    assert marks(ax, "D") == [0.6]
    assert "observers" not in repr(promises.belief_band(0.5))
