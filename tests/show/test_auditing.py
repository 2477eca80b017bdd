"""Figures of audits: their numbers, marks and words."""

import numpy as np
import pytest

from toolkit.show import auditing

RNG = np.random.default_rng(1)
NEAR = RNG.normal(0, 1, 4000), RNG.normal(0.2, 1, 4000)
FAR = RNG.normal(0, 1, 4000), RNG.normal(3, 1, 4000)


def marks(ax):
    return [line.get_marker() for line in ax.lines if line.get_marker() in ("o", "D", "^", "v")]


def test_outcomes_about_as_likely_on_both_are_within_the_band():
    ax = auditing.outcome_ratios(*NEAR, epsilon=1)
    assert set(marks(ax)) == {"o"}
    assert len(marks(ax)) == 12
    assert ax.get_title(loc="left") == "No outcome speaks against the promise"


def test_outcomes_beyond_the_band_stand_out_by_mark_and_colour():
    ax = auditing.outcome_ratios(*FAR, epsilon=1)
    dots = [line for line in ax.lines if line.get_marker() in ("o", "D")]
    assert {dot.get_marker() for dot in dots} == {"o", "D"}
    assert len({dot.get_color() for dot in dots}) == 2
    assert "break the promise" in ax.get_title(loc="left")


@pytest.mark.slow
def test_the_dots_are_the_logarithms_of_what_was_seen():
    ax = auditing.outcome_ratios([0, 0, 0, 1], [0, 1, 1, 1], epsilon=1)
    dots = [float(line.get_ydata()[0]) for line in ax.lines if line.get_marker() == "o"]
    assert dots == pytest.approx([np.log(3), -np.log(3)])


def test_an_outcome_never_seen_on_one_side_is_an_arrow():
    ax = auditing.outcome_ratios(np.repeat([0, 1], 300), np.repeat([0, 2], 300), epsilon=1)
    assert marks(ax) == ["o", "^", "v"]
    assert "2 of 3 cells" in repr(ax)


@pytest.mark.slow
def test_a_true_ratio_on_the_band_is_rarely_refuted():
    """At most one picture in a hundred refutes a true ratio on the edge of the band.

    Warner's design at its own epsilon, ln 2: every cell is on the edge. At most 14 of 400: false alarms 3e-5.
    """
    yes = np.random.default_rng(5).binomial(1000, [[1 / 3, 2 / 3]] * 400)
    bars = [auditing._log_ratios(*(np.array([1000 - one, one]) for one in pair)) for pair in yes]
    refuted = sum(bool(np.any((low > np.log(2)) | (high < -np.log(2)))) for low, high, _ in bars)
    assert refuted <= 14


def test_curves_are_drawn_by_the_number_of_runs_and_the_claim_is_a_line():
    ax = auditing.bounds_against_runs({"one": [(100_000, 0.9), (1000, 0.4)], "other": [(1000, 1.5)]}, epsilon=1)
    assert ax.lines[0].get_xdata().tolist() == [1000, 100_000]
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()
    assert set(ax.lines[-1].get_ydata()) == {1}
    assert ax.get_xticks().tolist() == [1000, 100_000]
    assert ax.xaxis.get_minorticklocs().size == 0
    assert ax.get_ylim()[1] > 1.5


@pytest.mark.parametrize("wrong", [[[1, 2]], []])
def test_outcomes_must_be_numbers(wrong):
    for runs in ((wrong, [1, 2]), ([1, 2], wrong)):
        with pytest.raises(ValueError, match="one per run"):
            auditing.outcome_ratios(*runs, epsilon=1)
