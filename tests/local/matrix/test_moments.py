"""Scores of every randomizer in the catalogue: their mean is the unbiased estimate."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from tests.slowly import each
from toolkit import Design, forced, k_ary, kuk, warner
from toolkit.core.randomness import integer_drawer
from toolkit.local import numeric, oracles
from toolkit.local.catalogue import CATALOGUE, make_example
from toolkit.local.matrix.moments import (
    _mixtures_of_others,
    forced_form,
    interval_basis,
    make_score_matrix,
    scored_option_code,
    scores_from_support,
)
from toolkit.local.numeric.scrambling import Scrambled


def test_every_binary_and_k_ary_design_has_the_forced_form() -> None:
    for design in (warner(0.3), warner("2/3"), k_ary(7, epsilon=1.0)):
        form = forced_form(design.weights)
        assert form is not None
        assert np.array_equal(form.truth_weight * np.eye(len(design.options)) + form.forced_weights, design.weights)


def test_other_tables_do_not() -> None:
    assert forced_form(kuk(0.8, 0.2, draws=2).weights) is None
    assert forced_form(np.array([[7, 2, 1], [2, 5, 3], [1, 1, 8]])) is None
    assert forced_form(np.array([[6, 2, 2], [2, 6, 2], [2, 1, 7]])) is None


def test_scores_invert_the_matrix_for_square_and_wide_tables() -> None:
    for design in (k_ary(5, epsilon=0.7), kuk(0.6, 0.35, draws=6), warner(0.1)):
        score = make_score_matrix(design.matrix, forced_form(design.weights), design.denominator)
        assert np.allclose(design.matrix @ score, np.eye(len(design.options)), atol=1e-10)
        assert np.allclose(score.sum(axis=1), 1, atol=1e-10)


def test_people_without_an_option_are_a_mixture_of_the_others() -> None:
    """People without an option are split in proportion to the other shares, or equally if all of these are zero."""
    assert np.allclose(
        _mixtures_of_others(np.array([0.5, 0.3, 0.2]), 3),
        [[0, 0.6, 0.4], [5 / 7, 0, 2 / 7], [5 / 8, 3 / 8, 0]],
        atol=1e-12,
    )
    assert np.allclose(_mixtures_of_others(np.array([1.0, 0, 0]), 3), [[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]], atol=1e-12)


def test_intervals_compare_each_option_with_the_estimated_others() -> None:
    """For any matrix, intervals compare each option with the estimated mixture of the others."""
    matrix, counts = (
        Design([[7, 2, 1, 0], [2, 4, 3, 1], [1, 1, 3, 5]], 10, ("a", "b", "c"), (0, 1, 2, 3)).matrix,
        [9, 0, 4, 7],
    )
    score = make_score_matrix(matrix, None, 10)
    basis, value = interval_basis(matrix, score, np.array(counts), None, np.ones(3)), counts @ score / 20
    assert value[1] < 0
    for j, mixed in enumerate(([0, 0, 1], [value[0], 0, value[2]], [1, 0, 0])):
        without = mixed / np.sum(mixed) @ matrix
        speaks = [matrix[j, y] > max(matrix[i, y] for i in range(3) if i != j) for y in range(4)]
        halves = [[row @ speaks, row @ np.invert(speaks)] for row in (np.array(counts), matrix[j], without)]
        assert np.allclose([basis.counts[j], basis.probs_with[j], basis.probs_without[j]], halves)
        assert basis.spread_with[j] == pytest.approx(matrix[j] @ score[:, j] ** 2)
        assert basis.spread_without[j] == pytest.approx(without @ score[:, j] ** 2)
        ends = sorted(matrix[i] @ speaks for i in range(3) if i != j)
        assert [side[j] for side in basis.support_range_without] == pytest.approx(ends)
    likely = np.array([10, 1, 5, 8]) / 24
    spread = score.T @ np.diag(likely) @ score - np.outer(likely @ score, likely @ score)
    assert basis.joint is not None
    assert np.allclose(basis.joint.cov, spread / 20)
    two = interval_basis(matrix[:2], make_score_matrix(matrix[:2], None, 10), np.array(counts), None, np.ones(2))
    assert (two.counts.tolist(), two.joint) == (
        [counts],
        None,
    )  # with two options, each kind of report counts by itself


SCORED = [name for name in CATALOGUE if name != "square_wave"]
MORE = {
    "capped boxes": oracles.tick_boxes(["a", "b", "c"], 4.0, most=1, how="capped"),
    "one of one": oracles.subset(4, 2.0),
    "two options": oracles.unary(["no", "yes"], 1.0),
    "two cards": kuk("4/5", "1/5", draws=2),
}


def sent(randomizer, n: int = 97) -> list:
    """Return reports of people with different answers, in the form that phones send."""
    draw, truths = integer_drawer(np.random.default_rng(11)), (0, 1)
    if randomizer.answer_kind == "ticks":
        return [randomizer._draw_report([i % 3], draw) for i in range(n)]
    return [randomizer._draw_report(truths[i % 3 == 0], draw) for i in range(n)]


@pytest.mark.slow
@each(name=SCORED)
def test_the_mean_score_is_unbiased_and_its_spread_is_the_standard_error(name: str) -> None:
    """The mean score equals the unbiased estimate, and the standard deviation of the scores gives the standard
    error.
    """
    check(make_example(name))


@pytest.mark.parametrize("name", MORE)
def test_so_it_is_in_the_forms_that_the_catalogue_has_no_example_of(name: str) -> None:
    check(MORE[name])


def check(randomizer) -> None:
    reports = sent(randomizer)
    estimate, scores = randomizer._estimate_from_raw_reports(reports), randomizer.scores(reports)
    assert scores.shape == (97, *np.shape(estimate.value))
    known = (~np.isnan(scores)).sum(axis=0)
    assert np.allclose(np.nanmean(scores, axis=0), estimate.value, rtol=1e-12, atol=1e-12)
    se = np.nanstd(scores, axis=0, ddof=1) / np.sqrt(known)
    assert np.allclose(se, estimate.se, rtol=1e-9)
    if not isinstance(randomizer, Scrambled):  # a case in which limits are not needed
        low, high = randomizer._score_range()
        assert np.nanmin(scores) >= np.min(low) - 1e-9
        assert np.nanmax(scores) <= np.max(high) + 1e-9
    for place, option in enumerate(randomizer.options):
        one = randomizer.scores(reports, option=option)
        assert one.shape == (97,)
        if scores.ndim == 2:
            assert np.array_equal(one, scores[:, place], equal_nan=True)


@pytest.mark.parametrize("name", [name for name in CATALOGUE if make_example(name).matrix is not None])
def test_the_mean_score_is_one_for_the_option_and_zero_for_others(name: str) -> None:
    """The expected score is one for people who have the option and zero for all others."""
    design = make_example(name)
    every = list(design.report_options)
    for place, option in enumerate(design.options):
        mean = design.matrix @ design.scores(every, option=option)
        assert np.allclose(mean, np.eye(len(design.options))[place], atol=1e-12)


def test_a_dies_scores_are_those_of_the_formula() -> None:
    assert forced("1/6", "1/6").scores([0, 1]) == pytest.approx([-0.25, 1.25])
    assert forced("1/6", "1/6").scores([0, 1], option="no") == pytest.approx([1.25, -0.25])
    bit = numeric.one_bit((-1, 1), 1.0)
    c = (math.e + 1) / (math.e - 1)
    assert bit.scores([0, 1]) == pytest.approx([-c, c], rel=1e-6)


def test_codes_labels_booleans_and_series_have_the_same_scores() -> None:
    design = warner("3/4")
    expected = design.scores([0, 1, 1])
    for reports in (
        ["no", "yes", "yes"],
        [False, True, True],
        np.array([0, 1, 1], dtype=np.int8),
        pd.Series(["no", "yes", "yes"]),
    ):
        assert np.array_equal(design.scores(reports), expected)


def test_who_was_not_asked_about_a_box_has_no_score_for_it() -> None:
    box = make_example("tick_boxes")
    scores = box.scores([[0, 1], [2, 0]])
    assert np.isnan(scores).sum() == 14
    assert scores[0, 0] > 1
    assert scores[1, 2] < 0


def test_a_distribution_has_no_scores_and_says_what_it_has() -> None:
    with pytest.raises(TypeError, match=r"not a mean; use `estimate` or `quantiles`"):
        make_example("square_wave").scores([1, 2])


def test_of_many_options_one_must_be_named() -> None:
    many = oracles.subset(5000, 1.0)
    reports = many.randomize([3, 4], np.random.default_rng(0))
    assert many.scores(reports, option=3).shape == (2,)
    with pytest.raises(ValueError, match=r"up to 2048 of them, got 5000 options: select one"):
        many.scores(reports)


def test_an_option_that_is_none_is_refused() -> None:
    design = k_ary(["a", "b", "c"], epsilon=1.0)
    for option in ("d", 0, True):
        with pytest.raises(ValueError, match="must be one of the design's options"):
            design.scores(["a"], option=option)
    with pytest.raises(ValueError, match="a question for a number has no options"):
        numeric.one_bit((0, 1), 1.0).scores([0], option="yes")


def test_reports_of_another_randomizer_have_no_scores() -> None:
    with pytest.raises(ValueError, match="a report must have"):
        oracles.subset(8, 1.0).scores([[0, 1], [0, 1, 2, 3, 4, 5, 6]])
    with pytest.raises(ValueError, match="reports must not be missing"):
        warner("3/4").scores([1, None])


def test_of_two_options_the_last_is_meant_unless_both_may_hold() -> None:
    assert scored_option_code(("no", "yes"), None) == 1
    assert scored_option_code(("no", "yes"), None, last_by_default=False) is None
    limits = (np.array(-1.0), np.array(2.0))
    made = scores_from_support(lambda code: np.array([code == 0]), limits, ("a", "b"), None, last_by_default=False)
    assert made.tolist() == [[2.0, -1.0]]


def test_a_report_equally_likely_under_another_option_is_not_counted() -> None:
    """The limits are Clopper and Pearson's limits for "a" alone, although "b" is equally likely for people with the
    first option.
    """
    design = Design([[4, 4, 2], [2, 4, 4], [3, 1, 6]], 10, ("a", "b", "c"))
    found = design.estimate_counts([28, 20, 52]).interval(method="exact")
    assert found.high[0] == pytest.approx((beta.ppf(0.975, 29, 72) - 0.2) / (0.4 - 0.2))
    assert found.low[2] == pytest.approx((beta.ppf(0.025, 52, 49) - 0.4) / (0.6 - 0.4))
