"""Two hidden answers of the same people; reference numbers by the delta method, computed independently."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from tests.analysis.reference_survey import DIE, DIRECT, LIKERT, WARNER, survey
from toolkit import Question, Survey, forced, kuk
from toolkit.analysis import Sample, association, plain
from toolkit.analysis.homogeneity import chi_squared, homogeneity, wald_f
from toolkit.local import numeric

PAIR = {"a": DIE, "b": WARNER}
FOUND = association([[849, 438], [402, 311]], PAIR)


def people() -> pd.DataFrame:
    """2000 people of whom 30 % have a; b is had by half of them, and by 15 % of the others."""
    rng = np.random.default_rng(2026)
    a = rng.random(2000) < 0.3
    b = rng.random(2000) < np.where(a, 0.5, 0.15)
    drawn = rng.random(2000)
    first = np.where(drawn < 1 / 6, False, np.where(drawn < 1 / 3, True, a))
    second = np.where(rng.random(2000) < 0.75, b, ~b)
    return pd.DataFrame({"a": first, "b": second})


def test_the_joint_table() -> None:
    assert FOUND.table.value == pytest.approx([0.603125, 0.112125, 0.147875, 0.136875])
    assert association(np.array([[849, 438], [402, 311]]), PAIR).table.value.tolist() == FOUND.table.value.tolist()
    assert FOUND.table.se == pytest.approx([0.02495484, 0.02177903, 0.02011265, 0.01794732], abs=5e-9)


def test_odds_ratio_phi_and_difference() -> None:
    for found, value, se in (
        (FOUND.log_odds_ratio(), 1.605210930, 0.391505665),
        (FOUND.phi(), 0.338049933, 0.080584573),
        (FOUND.difference(), 0.323921442, 0.077315788),
    ):
        assert (found.value, found.se) == pytest.approx((value, se), abs=5e-9)
    odds, low_high = FOUND.odds_ratio(), np.exp(1.605210930 + 1.959964 * 0.391505665 * np.array([-1, 1]))
    assert odds.value == pytest.approx(np.exp(1.605210930))
    assert tuple(odds.interval()) == pytest.approx(low_high, rel=1e-6)
    raw = people().astype(int)
    assert np.corrcoef(raw.a, raw.b)[0, 1] == pytest.approx(0.0949, abs=5e-5)  # noise hides most of it


def test_independence_is_pearsons_test_of_the_reports() -> None:
    found = FOUND.test()
    assert (found.statistic, found.df) == pytest.approx((17.997942, 1), abs=1e-6)
    three = association([[30, 20, 10, 5, 5], [10, 20, 30, 5, 5]], {"a": DIE, "b": LIKERT})
    assert three.test().df == 4
    with pytest.raises(ValueError, match="two answers, got 2 and 5"):
        three.phi()


def test_of_a_single_report_nothing_can_be_said() -> None:
    with pytest.raises(ValueError, match="at least two different reports"):
        association([[10, 0], [0, 0]], {"a": DIE, "b": DIE}).test()


def test_a_frame_gives_the_same_as_its_counts() -> None:
    found = association(people(), PAIR)
    assert found.counts.tolist() == [[849, 438], [402, 311]]
    assert found.phi().value == FOUND.phi().value
    assert repr(found).startswith("<Association of a and b: no / no: 0.603 (se 0.025); ")
    ranks = people().assign(b=np.arange(2000) % 5)
    by_rank = association(ranks, {"a": DIE, "b": LIKERT}).counts
    assert by_rank.tolist() == pd.crosstab(ranks.a, ranks.b).to_numpy().tolist()


def test_who_misses_one_of_them_is_left_out() -> None:
    frame = people().astype(object)
    frame.loc[:9, "b"] = None
    frame.loc[5:19, "a"] = "refused"
    assert association(frame, PAIR, missing=("refused",)).table.n == 1980


def test_a_sample_goes_through_its_clusters() -> None:
    frame = people()
    alike = association(frame, PAIR, sample=Sample(weights=np.ones(2000)))
    assert alike.phi().value == pytest.approx(FOUND.phi().value)
    assert alike.phi().se == pytest.approx(FOUND.phi().se, rel=1e-6)
    assert alike.phi().interval().method == "t"
    assert alike.test().p == pytest.approx(2.2e-5, rel=0.5)
    clustered = association(frame, PAIR, sample=Sample(clusters=np.arange(2000) % 50))
    assert clustered.test().df == (1, 49)


@pytest.mark.slow
def test_where_a_share_is_not_above_zero_the_posterior_speaks() -> None:
    """One truth asked twice: the odds ratio has no bound, and phi is near 1, which no delta method says."""
    data = survey()
    twice = association(data, {"forced": DIE, "warner": WARNER})
    assert twice.table.value.min() < 0
    phi, odds = twice.phi(), twice.odds_ratio()
    low, high = phi.interval()
    assert 0.8 < low < phi.value < high <= 1
    assert odds.interval().low > 20
    assert phi.interval().method == "bayes"
    assert phi.method == "forced × warner design, phi the median of its posterior"
    assert "unbiased" not in odds.method
    assert FOUND.phi().method == "forced × warner design, phi by the delta method"
    assert "flat prior" in phi.notes[0]
    with pytest.raises(ValueError, match="a posterior alone"):
        phi.test()
    with pytest.raises(ValueError, match="the share of every pair must be above 0"):
        association(data, {"forced": DIE, "warner": WARNER}, sample=Sample(weights=np.ones(2400))).phi()


@pytest.mark.slow
def test_a_share_of_exactly_zero_has_no_delta_method() -> None:
    for counts, how in (([[50, 1], [30, 40]], "by the delta method"), ([[50, 0], [30, 40]], "its posterior")):
        found = association(counts, {"a": DIRECT, "b": DIRECT}).log_odds_ratio()
        assert how in found.method
        assert found.cov.item() == found.se**2
        assert np.isfinite(found.se)


@pytest.mark.parametrize(
    ("data", "designs", "words"),
    [
        ([[1, 2], [3, 4]], {"a": DIE}, "`designs` must be two, got 1"),
        ([[1, 2, 3]], PAIR, "must be 2 by 2"),
        ([[1, 2], [3, -4]], PAIR, "must not be negative"),
        ([[1, 2], [3, 4]], {"a": DIE, "b": numeric.one_bit((0, 1), 1.0)}, "must have a matrix"),
        (pd.DataFrame({"a": [1, 0]}), PAIR, "none called b"),
    ],
)
def test_what_has_no_joint_table_is_refused(data, designs, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        association(data, designs)


def test_independence_in_a_sample_is_the_two_sided_test_by_t() -> None:
    """Of two by two answers Rao and Scott's F is the square of p11 - p1 p1 over its standard error by the delta
    method, with its slopes by hand; 49 degrees of freedom of 50 clusters; the p-value by scipy.
    """
    found = association(people(), PAIR, sample=Sample(clusters=np.arange(2000) % 50))
    shares, cov = np.asarray(found.table.value), np.asarray(found.table.cov)
    first, second = shares[2] + shares[3], shares[1] + shares[3]
    slope = np.array([0.0, -first, -second, 1 - first - second])
    t = (shares[3] - first * second) / np.sqrt(slope @ cov @ slope)
    test = found.test()
    assert test.statistic == pytest.approx(t**2, rel=1e-6)
    assert test.p == pytest.approx(2 * scipy.stats.t.sf(abs(t), 49), rel=1e-6)
    turned = association(people().assign(b=lambda frame: ~frame.b), PAIR, sample=Sample(weights=np.ones(2000)))
    assert turned.test().statistic > 9  # against each other: as far from independence
    assert turned.test().p < 0.01


KUK = kuk("4/5", "1/5", draws=2)


def test_more_reports_than_truths_are_compared_by_likelihood() -> None:
    """Twice what three shares gain over one, each the highest of ten thousand."""
    same = homogeneity(KUK, [[150, 100, 50], [150, 100, 50]])
    assert (same.statistic, same.df) == (pytest.approx(0, abs=1e-9), 1)
    counts = np.array([[150, 100, 50], [140, 100, 60], [160, 95, 45]])
    apart, shares = homogeneity(KUK, counts), np.linspace(0, 1, 10_001)[:, None]
    logs = np.log(KUK.matrix[0] * (1 - shares) + KUK.matrix[1] * shares)
    ratio = 2 * ((logs @ counts.T).max(axis=0).sum() - (logs @ counts.sum(axis=0)).max())
    assert (apart.statistic, apart.df, apart.method) == (pytest.approx(ratio, abs=1e-4), 2, "likelihood ratio")
    assert apart.p == pytest.approx(scipy.stats.chi2.sf(ratio, 2), abs=1e-4)
    assert 0.01 < apart.p < 0.9


@pytest.mark.slow
def test_under_equal_shares_the_p_value_is_small_as_often_as_it_says() -> None:
    """60 surveys of 2 x 300 people: 3 below .05 on average; more than 12 are a false alarm of 1e-5."""
    rng, law = np.random.default_rng(3), np.array([0.7, 0.3]) @ KUK.matrix
    small = sum(homogeneity(KUK, rng.multinomial(300, law, size=2)).p <= 0.05 for _ in range(60))
    assert small <= 12


def test_reports_that_nobody_gave_are_left_out() -> None:
    assert chi_squared([[5, 0, 5], [4, 0, 6]]).df == 1
    assert chi_squared([[5], [4]]).p == 1


def test_nothing_to_compare_is_refused() -> None:
    for table in ([[5, 5]], [[5, 5], [0, 0]]):
        with pytest.raises(ValueError, match="at least two groups"):
            homogeneity(DIE, table)
        with pytest.raises(ValueError, match="at least two groups"):
            homogeneity(KUK, [[*row, 1] if any(row) else [0, 0, 0] for row in table])
    with pytest.raises(ValueError, match="must have 2 columns"):
        homogeneity(forced("1/6", "1/6"), [[1, 2, 3], [1, 2, 3]])
    with pytest.raises(ValueError, match="more clusters than differences"):
        wald_f(np.zeros(4), np.eye(4), 3)


def test_a_survey_says_how_both_answers_were_hidden() -> None:
    questions = [
        Question("a", "Did you?", design=DIE),
        Question("b", "Did you, too?", design=WARNER),
        Question("c", "Are you older than 40?", options=["no", "yes"]),
        Question("d", "Which grade?", bounds=(0, 10)),
    ]
    asked = Survey("Two", questions, consent="Why.", check=False)
    frame = people().assign(c=np.arange(2000) % 2 == 0)
    found = association(frame, asked, questions=("a", "b"))
    assert found.table.value == pytest.approx(association(frame, PAIR).table.value)
    plain = association(frame, asked, questions=("a", "c"))
    assert plain.names == ("a", "c")
    assert np.sum(plain.table.value) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"must be two, got 3: .* name two by questions="):
        association(frame, asked)
    with pytest.raises(ValueError, match="`questions` must name two of the designs, got d: there are a, b, c"):
        association(frame, asked, questions=("a", "d"))


def test_tables_to_compare_must_hold_counts() -> None:
    for table, error in (([[0.6, 0.4], [0.5, 0.5]], TypeError), ([[1, -2], [3, 4]], ValueError)):
        with pytest.raises(error, match="`counts` must"):
            homogeneity(WARNER, table)


def test_plain_answers_are_associated_by_their_counts() -> None:
    both = association([[30, 10], [10, 30]], {"a": plain(["no", "yes"]), "b": plain(["no", "yes"])})
    assert float(both.phi()) == pytest.approx(0.5)
