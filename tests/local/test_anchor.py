"""An anchor question measures how many people follow the instructions, and corrects for people who answer at random."""

import numpy as np
import pytest
from scipy.stats import beta, norm

from tests.slowly import each
from toolkit import crosswise, forced, k_ary, kuk, warner
from toolkit.local.anchor import (
    _interval_basis,
    attention,
    attention_counts,
    corrected,
    corrected_counts,
    describe_random_share,
)
from toolkit.local.compliance import Compliance

# R's cWise (github.com/YukiAtsusaka/cWise, documentation of bc.est): its simulated data of 2,000 people with p = p' =
# 0.15 have 1,427 and 1,541 reports of "same": naive 0.1950, corrected 0.1053604, attentive 0.7728571, standard error
# 0.0208 (200 bootstraps).
CWISE = crosswise(0.15)
PAIRS = np.array([[165, 408], [294, 1133]])  # the same totals, with pairs as frequent as in the model


def people(design, anchor, prevalence, attentive, n, rng):
    """Return reports of n people on a question and on an anchor whose true answer is the first option for all
    of them.
    """
    shares = [1 - prevalence, prevalence] if np.ndim(prevalence) == 0 else prevalence
    truth = rng.choice(len(shares), n, p=shares)
    follows = rng.random(n) < attentive
    answers = [design.randomize(truth, rng), anchor.randomize(np.zeros(n, dtype=int), rng)]
    random = [rng.integers(0, len(d.report_options), n) for d in (design, anchor)]
    return [np.where(follows, real, noise) for real, noise in zip(answers, random, strict=True)]


def test_the_numbers_of_the_r_package_are_reproduced():
    assert PAIRS.sum(axis=1).tolist() == [573, 1427]
    assert PAIRS.sum(axis=0).tolist() == [459, 1541]
    assert CWISE.estimate_counts(PAIRS.sum(axis=1)).value == pytest.approx(0.1950, abs=1e-4)
    assert attention_counts(CWISE, PAIRS.sum(axis=0)).value == pytest.approx(0.7728571, abs=1e-7)
    assert attention_counts(CWISE, {"same": 1541, "different": 459}).value == pytest.approx(0.7728571, abs=1e-7)
    estimate = corrected_counts(CWISE, PAIRS)
    assert estimate.value == pytest.approx(0.1053604, abs=1e-7)
    assert estimate.se == pytest.approx(0.0208, rel=0.1)  # the standard deviation of 200 bootstraps is known to 5 %


CASES = {
    "crosswise, other anchor": (crosswise("1/6"), crosswise("1/4"), 0.1),
    "forced": (forced("1/6", "1/3"), forced("1/6", "1/6"), 0.2),
    "cards": (kuk("7/10", "3/10", draws=2), warner("3/4"), 0.3),
    "three options": (k_ary(["a", "b", "c"], epsilon=1.5), k_ary(["x", "y", "z"], epsilon=2.0), [0.5, 0.3, 0.2]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_corrected_estimate_is_right_and_so_is_its_error(name):
    """2,000 surveys of 2,000 people: the mean is within 4.5 standard errors, and the standard deviation within 6.5 % of
    the stated error. The standard error of a standard deviation of 2,000 values is 1.6 %: false alarms below 1e-4, and
    an error that is 10 % wrong is detected with power 0.98.
    """
    design, anchor, truth = CASES[name]
    shares = np.array([1 - truth, truth] if np.ndim(truth) == 0 else truth)
    follow = np.multiply.outer(shares @ design.matrix, anchor.matrix[0])
    law = 0.8 * follow + 0.2 / follow.size
    tables = (
        np.random.default_rng(sum(map(ord, name))).multinomial(2000, law.ravel(), size=2000).reshape(-1, *law.shape)
    )
    found = [corrected_counts(design, table, anchor_design=anchor, truth=anchor.options[0]) for table in tables]
    values = np.array([np.atleast_1d(estimate.value) for estimate in found])
    errors = np.array([np.atleast_1d(estimate.se) for estimate in found])
    right = np.atleast_1d(truth)
    assert np.all(np.abs(values.mean(axis=0) - right) < 4.5 * values.std(axis=0) / np.sqrt(len(found)) + 0.001)
    assert values.std(axis=0, ddof=1) == pytest.approx(errors.mean(axis=0), rel=0.065)
    limits = [estimate.interval() for estimate in found]
    covered = np.mean([(one.low <= right) & (right <= one.high) for one in limits], axis=0)
    assert covered == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("name", CASES)
def test_reports_and_their_table_give_one_estimate(name):
    design, anchor, truth = CASES[name]
    first, second = people(design, anchor, truth, 0.8, 500, np.random.default_rng(1))
    table = np.zeros((len(design.report_options), len(anchor.report_options)), dtype=int)
    np.add.at(table, (first, second), 1)
    by_reports = corrected(design, first, second, anchor_design=anchor, truth=anchor.options[0])
    by_table = corrected_counts(design, table, anchor_design=anchor, truth=anchor.options[0])
    assert np.array_equal(by_reports.cov, by_table.cov)
    assert np.array_equal(by_reports.value, by_table.value)


def test_a_report_that_nobody_gave_has_its_row_in_the_table():
    design, anchor = CASES["cards"][:2]
    by_reports = corrected(design, [0] * 30 + [1] * 10, [0] * 39 + [1], anchor_design=anchor)
    by_table = corrected_counts(design, [[30, 0], [9, 1], [0, 0]], anchor_design=anchor)
    assert by_reports.value == by_table.value


def test_errors_are_those_of_person_by_person_scores():
    """The share of followers is a mean of scores; the corrected share is a ratio of two means, with an error by the
    delta method.
    """
    design, table = warner("3/4"), np.array([[3, 4], [2, 11]])
    first, second = (np.repeat(index.ravel(), table.ravel()) for index in np.indices(table.shape))
    care, worth = np.array([2.0, -2.0])[1 - second], np.array([-0.5, 1.5])[first]
    found = attention_counts(design, table.sum(axis=0), truth="yes")
    assert found.se == pytest.approx(np.std(care, ddof=1) / np.sqrt(20))
    for n in (2, 20):  # if all reports agree, the error assumes random answers, or that all people follow
        nobody, all_of_them = (attention_counts(design, [n, 0], truth=truth) for truth in ("yes", "no"))
        assert (nobody.value, nobody.se) == pytest.approx((-2, np.sqrt(4 / n)))
        assert (all_of_them.value, all_of_them.se) == pytest.approx((2, np.sqrt(3 / n)))
    naive, follow = worth.mean(), care.mean()
    slopes = np.array([1 / follow, -(naive - 0.5) / follow**2])
    both = corrected_counts(design, table, truth="yes")
    assert both.value == pytest.approx(0.5 + (naive - 0.5) / follow)
    assert both.se == pytest.approx(np.sqrt(slopes @ np.cov(worth, care) @ slopes / 20))
    assert np.isnan(corrected_counts(design, [[0, 0], [0, 1]], truth="yes").se)
    assert np.isnan(attention_counts(design, [0, 1]).se)
    assert corrected_counts(design, [[0, 1], [0, 1]], truth="yes").se == pytest.approx(1 / 2)  # of -1/2 and 3/2, halved


def test_that_one_person_answers_both_questions_is_in_the_error():
    """If the pairs are separated, the covariance is lost and the error differs."""
    torn = np.outer(PAIRS.sum(axis=1), PAIRS.sum(axis=0)) / PAIRS.sum()
    assert corrected_counts(CWISE, PAIRS).se < 0.97 * corrected_counts(CWISE, torn.round()).se


def test_when_everybody_follows_nothing_changes_but_the_error():
    exact = np.array([[1500, 8500]])  # the anchor's reports if nobody answers at random
    table = np.vstack([exact * 0.3, exact * 0.7]).round()
    assert attention_counts(CWISE, table.sum(axis=0)).value == pytest.approx(1)
    naive = CWISE.estimate_counts(table.sum(axis=1))
    assert corrected_counts(CWISE, table).value == pytest.approx(naive.value)
    assert corrected_counts(CWISE, table).se > naive.se


def test_the_anchor_finds_the_share_that_was_planted_and_no_more():
    design = forced("1/6", "1/3")
    arrived = Compliance(random=0.3)._effective_design(design).matrix[0]
    assert attention_counts(design, (arrived * 1e6).round()).value == pytest.approx(0.7, abs=1e-5)
    assert attention(design, ["no"] * 75 + ["yes"] * 25).n == 100


def test_the_truth_of_the_anchor_may_be_another_option():
    design = warner("3/4")
    assert attention_counts(design, [25, 75], truth="yes").value == pytest.approx(1)
    assert attention_counts(design, [25, 75]).value == pytest.approx(-1)


def test_an_interval_stays_within_0_and_1_and_notes_its_assumption():
    """The note says that inattentive answers are assumed to be random."""
    estimate = corrected_counts(CWISE, [[16, 41], [29, 114]])
    assert estimate.interval().low == 0
    assert corrected_counts(CWISE, [[29, 114], [16, 41]]).interval().high == 1  # the opposite case
    assert "at random" in estimate.notes[-1]
    assert "22.7" in corrected_counts(CWISE, PAIRS).method


def test_corrected_shares_that_no_share_agrees_with_say_so():
    estimate = corrected_counts(CWISE, [[20, 20], [120, 840]])
    assert estimate.interval().empty
    assert "no share fits at 95 %: p = " in repr(estimate)
    assert "no share agrees with these reports" in estimate.notes[0]
    assert estimate.to_frame()["empty"].all()


def test_reports_that_all_agree_have_no_interval_of_width_zero():
    assert np.isnan(corrected_counts(CWISE, [[1, 0], [0, 29]]).interval().low)
    low, high = attention_counts(warner(1), [20, 0]).interval()
    assert 0.6 < low < high == pytest.approx(1)


def test_what_cannot_be_corrected_is_refused():
    with pytest.raises(ValueError, match="some people followed the instructions"):
        corrected_counts(CWISE, [[10, 5], [10, 5]])
    with pytest.raises(ValueError, match="some people followed the instructions"):
        corrected_counts(warner("3/4"), [[5, 5], [5, 5]])  # exactly as many as chance alone gives
    with pytest.raises(ValueError, match="must be of the same people, got 3 and 2"):
        corrected(CWISE, [True, False, True], [True, False])
    with pytest.raises(ValueError, match="must be 2 by 2"):
        corrected_counts(CWISE, [1, 2, 3, 4])
    with pytest.raises(ValueError, match="`truth` must be an option"):
        attention(CWISE, [True, False], truth="perhaps")
    with pytest.raises(ValueError, match="must not be uniform"):
        attention(forced("1/2", "1/4"), [True, False])


def test_a_report_that_both_give_alike_does_not_speak_for_those_who_follow():
    row = np.array([1 / 2, 1 / 3, 1 / 6])
    basis = _interval_basis(np.array([5, 3, 2]), row, row, 0.5, 0.1)
    assert np.allclose(basis.support_range_without, 1 / 3)  # the first report alone


@pytest.mark.parametrize("counts", [[833, 167], [667, 333], [60, 40]])
def test_the_exact_interval_of_compliance_is_that_of_the_share_of_noes(counts):
    """Clopper and Pearson's limits for the share of no reports, which is 1/2 if nobody follows and 5/6 if all people
    follow.
    """
    no, yes = counts
    low, high = beta.ppf(0.025, no, yes + 1), beta.ppf(0.975, no + 1, yes)
    found = attention_counts(forced("1/6", "1/6"), counts)
    limits = np.clip((np.array([low, high]) - 1 / 2) * 3, 0, 1)
    assert np.allclose([*found.interval(method="exact")], limits, atol=1e-9)
    for method in ("wilson", "exact", "bayes", "wald"):
        assert found.interval(method=method).low < found.value < found.interval(method=method).high + 1e-3


def test_people_who_protect_themselves_are_never_called_followers() -> None:
    """Half of 4000 people always say no, the others follow: 7/8 of the anchor's reports are no, not 3/4."""
    told = describe_random_share(attention_counts(warner("3/4"), [3500, 500]))
    assert told.startswith("there are more harmless answers than the design allows")
    few = attention_counts(warner("3/4"), [83, 17])  # two standard errors above 1, which the interval still contains
    assert not few.interval().empty
    assert describe_random_share(few).startswith("there are more harmless answers")
    some = attention_counts(warner("3/4"), [675, 325])
    high, low = (100 * (1 - limit) for limit in some.interval())
    assert describe_random_share(some).startswith(f"about 30 % ({low:.0f} to {high:.0f}) answered at random")
    for counts in ([3000, 1000], [755, 245]):  # as expected under the design, plus a few more that chance explains
        exact = describe_random_share(attention_counts(warner("3/4"), counts))
        assert exact.startswith("about 0 % (0 to ")
    assert "cannot show people who always give the harmless answer" in exact
    assert describe_random_share(attention_counts(warner("3/4"), [10, 990])).startswith("there are fewer true answers")


@each(harmless=range(0, 1001, 50))
def test_no_count_of_reports_is_called_full_compliance(harmless: int) -> None:
    told = describe_random_share(attention_counts(warner("3/4"), [harmless, 1000 - harmless]))
    assert "followed the instructions" not in told


def test_the_score_interval_of_followers_is_wilsons() -> None:
    """Of three options, followers report the true one with probability p and the other people with probability 1/3."""
    anchor, true, n = k_ary(["x", "y", "z"], epsilon=2.0), 160, 300
    found = attention_counts(anchor, [true, 80, 60]).interval(method="wilson")
    z2, chance = norm.ppf(0.975) ** 2, true / n
    middle = (chance + z2 / 2 / n) / (1 + z2 / n)
    reach = np.sqrt(z2 / n * (chance * (1 - chance) + z2 / 4 / n)) / (1 + z2 / n)
    limits = (np.array([middle - reach, middle + reach]) - 1 / 3) / (anchor.matrix[0, 0] - 1 / 3)
    assert tuple(found) == pytest.approx(tuple(limits), abs=1e-12)


def test_a_corrected_share_outside_zero_to_one_has_a_note() -> None:
    """A corrected share outside 0 to 1 has a note, which names no method that is not available."""
    estimate = corrected_counts(CWISE, [[3, 10], [12, 75]])
    assert estimate.value < 0
    assert not estimate.interval().empty
    assert estimate.notes[0] == ("the estimate lies outside 0 to 1, as an unbiased estimate may; use it in averages")
