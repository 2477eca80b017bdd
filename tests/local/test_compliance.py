"""How far people who do not follow the instructions move an estimate."""

import numpy as np
import pytest

from tests.slowly import each
from toolkit import Design, crosswise, forced, k_ary, kuk, mangat, triangular, unrelated, warner
from toolkit.local import numeric, oracles
from toolkit.local.compliance import DEVIATIONS, Compliance, bias_of_one_percent, report_scores, worst_shift

DESIGNS = [
    warner("2/3"),
    warner("1/4"),
    forced("1/6", "1/3"),
    unrelated("2/3", "1/4"),
    mangat("2/3"),
    kuk("7/10", "3/10", draws=2),
    crosswise("1/6"),
    triangular("1/4"),
    k_ary(["a", "b", "c"], epsilon=1.5),
]


def shares_of(design):
    return np.array([0.85, 0.15]) if len(design.options) == 2 else np.array([0.5, 0.3, 0.2])


@each(design=DESIGNS, way=DEVIATIONS)
def test_the_bias_is_what_the_estimator_makes_of_the_mixed_reports(design, way):
    """The expected counts of a survey of 10**9 people are put through the design's own
    estimator.
    """
    conduct, shares = Compliance(**{way: 0.2}), shares_of(design)
    arrived = (shares @ conduct._effective_design(design).matrix * 1e9).round().astype(np.int64)
    estimate = design.estimate_counts(arrived)
    off = np.atleast_1d(estimate.value) - shares[-np.size(estimate.value) :]
    given = 0.15 if len(shares) == 2 else shares.tolist()
    assert conduct.bias(design, given) == pytest.approx(off[np.argmax(np.abs(off))], abs=1e-7)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_the_design_that_reports_really_come_from_estimates_the_truth(design):
    real = Compliance(self_protective=0.1, random=0.1, candid=0.1)._effective_design(design)
    shares = shares_of(design)
    arrived = (shares @ real.matrix * 1e9).round().astype(np.int64)
    assert np.atleast_1d(real.estimate_counts(arrived).value) == pytest.approx(
        shares[1:] if len(shares) == 2 else shares, abs=1e-6
    )


def test_closed_forms_of_the_literature():
    """If a share g always says no, x becomes x - g (d + c x) / c; if a share r answers Warner's question at random, x
    becomes x + r (1/2 - x).
    """
    die, c, d = forced("1/6", "1/6"), 2 / 3, 1 / 6
    assert Compliance(self_protective=0.2).bias(die, 0.05) == pytest.approx(-0.2 * (d + c * 0.05) / c)
    assert 0.05 + Compliance(self_protective=0.2).bias(die, 0.05) == pytest.approx(-0.01)
    assert 0.02 + Compliance(random=0.1).bias(crosswise("1/6"), 0.02) == pytest.approx(0.02 + 0.1 * 0.48)


def test_a_die_left_aside_moves_the_estimate_away_from_one_half():
    """Truthful reports are over-corrected: (x - 1/6) / (2/3) instead of x."""
    die = forced("1/6", "1/6")
    assert 0.3 + Compliance(candid=0.1).bias(die, 0.3) == pytest.approx(0.9 * 0.3 + 0.1 * (0.3 - 1 / 6) / (2 / 3))


def test_the_harmless_report_is_found_by_the_design_and_not_by_its_label():
    """The harmless report counts as evidence against "yes", whatever its label.

    In a crosswise design with p below one half, people without the trait mostly report “same”.
    """
    seen = Compliance(self_protective=0.25)._effective_design(crosswise("1/6"))
    assert seen.matrix[:, 1] == pytest.approx(0.75 * crosswise("1/6").matrix[:, 1] + 0.25)


def test_the_harmless_report_is_weighed_against_the_likeliest_other_truth():
    """“x” is nine times as likely for the first option as for the last, but equally likely for the second; “y”
    is not.
    """
    design = Design([[9, 7, 4], [8, 3, 9], [1, 5, 14]], 20, ("a", "b", "c"), ("x", "y", "z"))
    seen = Compliance(self_protective=0.25)._effective_design(design)
    assert seen.matrix - 0.75 * design.matrix == pytest.approx(np.tile([0, 0.25, 0], (3, 1)))


def test_one_percent_is_a_hundredth_of_everybody():
    table = bias_of_one_percent(warner("3/4"), 0.1)
    assert list(table) == list(DEVIATIONS)
    assert table == pytest.approx({way: Compliance(**{way: 0.5}).bias(warner("3/4"), 0.1) / 50 for way in DEVIATIONS})


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_no_conduct_moves_an_estimate_farther_than_agreed_lies(design):
    given = 0.15 if len(design.options) == 2 else shares_of(design).tolist()
    assert max(map(abs, bias_of_one_percent(design, given).values())) <= worst_shift(design, given) + 1e-12


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_the_worst_shift_is_reached_by_the_best_single_lie(design):
    """Replace one report in a hundred by the same report; each report is tried, with the design's own estimator."""
    shares, given = shares_of(design), 0.15 if len(design.options) == 2 else shares_of(design).tolist()
    honest, moves = shares @ design.matrix, []
    for lie in np.eye(len(honest)):
        counts = ((0.99 * honest + 0.01 * lie) * 1e9).round().astype(np.int64)
        value = np.atleast_1d(design.estimate_counts(counts).value)
        moves.append(np.abs(value - shares[-len(value) :]).max())
    assert worst_shift(design, given) == pytest.approx(max(moves), abs=1e-7)


def test_published_sizes_at_epsilon_one():
    """A share b of liars moves yes/no estimates by about 2.2 b, and estimates of 16 options by about 10 b: b / (p - q)
    at the end of the scale.
    """
    span = [np.ptp(report_scores(design), axis=0).max() for design in (warner(epsilon=1.0), k_ary(16, epsilon=1.0))]
    assert span == pytest.approx([2.16, 10.3], abs=0.05)


def test_oracles_boxes_and_numbers_have_a_worst_shift_too():
    subset, bit = oracles.subset(16, 1.0), numeric.one_bit((0, 80), 1.0)
    p, q = float(subset._support_law.p), float(subset._support_law.q)
    assert worst_shift(subset, np.full(16, 1 / 16)) == pytest.approx(0.01 * ((1 - q) / (p - q) - 1 / 16))
    assert worst_shift(bit, 20) == pytest.approx(0.01 * (bit.scores([1])[0] - 20))
    assert worst_shift(bit, 70) == pytest.approx(0.01 * (70 - bit.scores([0])[0]))
    assert worst_shift(numeric.local_laplace((0, 80), 1.0), 20) == np.inf
    with pytest.raises(TypeError, match="its estimate is not a mean"):
        worst_shift(numeric.square_wave((0, 80), 1.0), 20)


def test_liars_who_choose_their_box_move_it_far_more_than_those_who_cannot():
    """990 honest people, a tenth of whom are asked about each of ten boxes; ten liars all report a yes for box 0."""
    boxes = oracles.tick_boxes(10, 1.0, how="random")
    p, q = float(boxes._support_law.p), float(boxes._support_law.q)
    honest = 99 * (q + 0.2 * (p - q))
    fooled = (((honest + 10) / 109) - q) / (p - q)
    assert worst_shift(boxes, 0.2) == pytest.approx(fooled - 0.2)
    capped = oracles.tick_boxes(10, 1.0, most=1)
    assert worst_shift(boxes, 0.2) > 3 * worst_shift(capped, 0.2)


def test_shares_must_be_shares_and_somebody_must_follow():
    with pytest.raises(ValueError, match="`random` must lie between 0 and 1"):
        Compliance(random=1.5)
    with pytest.raises(ValueError, match="some people must follow"):
        Compliance(self_protective=0.5, random=0.5)


def test_equal_biases_report_the_first_option():
    """People who answer at random move 1/2 and 1/6 equally far towards 1/3; a difference of 1e-12 does not change the
    sign.
    """
    design = k_ary(["a", "b", "c"], epsilon=1.5)
    for more in (0, 1e-12, -1e-12):
        assert Compliance(random=0.3).bias(design, [1 / 2 + more, 1 / 3 - more, 1 / 6]) < -0.04
