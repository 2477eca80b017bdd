"""Figures for those who design a survey: their numbers and their words."""

import numpy as np
import pytest

from toolkit import crosswise, k_ary, warner
from toolkit.local import oracles
from toolkit.local.compliance import Compliance
from toolkit.show import designing

THREE = k_ary(["bus", "car", "bike"], epsilon=2.0).estimate_counts([500, 300, 200])


def test_the_lines_are_the_truth_plus_the_bias_of_each_conduct():
    ax = designing.noncompliance_lines(crosswise("1/6"), 0.1, max_share=0.2)
    ends = [float(line.get_ydata()[-1]) for line in ax.lines[:3]]
    biases = [Compliance(**{way: 0.2}).bias(crosswise("1/6"), 0.1) for way in ("self_protective", "random", "candid")]
    assert ends == pytest.approx([0.1 + bias for bias in biases])
    assert all(line.get_ydata()[0] == pytest.approx(0.1) for line in ax.lines)


@pytest.mark.slow
def test_what_is_no_share_is_grey_and_in_sight_and_no_line_is_cut_off():
    for design, prevalence in ((warner("3/4"), 0.1), (warner("9/10"), 0.5)):
        ax = designing.noncompliance_lines(design, prevalence)
        low, high = ax.get_ylim()
        assert low < 0 < high
        assert all(low < y < high for line in ax.lines for y in line.get_ydata())


def test_lines_of_conduct_differ_by_more_than_colour():
    lines = designing.noncompliance_lines(warner("3/4"), 0.1).lines[:3]
    assert len({line.get_linestyle() for line in lines}) == 3


def test_options_are_rows_in_their_order_and_a_missed_truth_stands_out():
    truth = [0.3, *THREE.value[1:]]
    ax = designing.option_shares(THREE, truth=truth)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["bus", "car", "bike"]
    assert [line.get_marker() for line in ax.lines if line.get_marker() in "oD" and len(line.get_xdata()) == 1] == [
        "D",
        "o",
        "o",
    ]
    assert "2 of 3 hold the true share" in repr(ax)
    assert ax.lines[-1].get_xdata() == pytest.approx(truth)


def test_the_interval_drawn_is_that_of_the_level():
    narrow, wide = (designing.option_shares(THREE, level=level).lines[0].get_xdata() for level in (0.5, 0.99))
    assert np.ptp(narrow) < np.ptp(wide)
    assert narrow[0] == pytest.approx(THREE.interval(0.5).low[0])


def test_the_curves_over_the_number_of_options_are_ratios_to_the_limit():
    ax = designing.options_against_k(1.0, ks=(2, 10, 64))
    k_ary_line, *_, subset_line = ax.lines
    assert k_ary_line.get_ydata()[1] == pytest.approx(oracles.subset(10, 1.0, size=1).ratio_to_limit)
    assert subset_line.get_ydata() == pytest.approx([1, 1, 1], abs=1e-6)
    assert ax.get_ylim()[1] >= max(k_ary_line.get_ydata())


def test_only_yes_and_no_have_one_line():
    with pytest.raises(ValueError, match="must have two options"):
        designing.noncompliance_lines(k_ary(3, epsilon=1.0), 0.1)
