"""List experiment and item sum: two means, and the answers that a list reveals."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from toolkit.analysis import item_sum, list_experiment
from toolkit.analysis.latent.list_counts import ListExperiment, double_list, list_with_direct


def of_two_lists(short, long, items: int) -> ListExperiment:
    """The result for the counts of people with the short list and of people with the long list."""
    treatment = np.repeat([False, True], [len(short), len(long)])
    return list_experiment(np.concatenate([short, long]), treatment=treatment, items=items)


def told() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(77)
    long = rng.random(1500) < 0.5
    counts = rng.binomial(4, 0.4, 1500) + (long & (rng.random(1500) < 0.2))
    return counts[~long], counts[long]


def test_a_list_experiment_has_the_reference_numbers() -> None:
    found = of_two_lists(*told(), items=4)
    assert isinstance(found, ListExperiment)
    assert abs(found.estimate.value - 0.149333333) < 1e-9
    assert abs(found.estimate.se - 0.050436928) < 1e-9
    assert np.allclose(found.carriers_by_count, [0.030667, 0.029333, 0.053333, 0.034667, 0.001333], atol=1e-6)
    assert abs(found.carriers_by_count.sum() - found.estimate.value) < 1e-12
    assert found.test.p == 1
    assert found.estimate.loss is None
    assert found.estimate.interval().method == "t"


def test_who_tells_none_or_all_is_counted() -> None:
    found = of_two_lists([0, 1, 2, 1], [0, 0, 3, 1], items=2)
    assert (found.share_counting_none, found.share_counting_all) == (0.5, 0.25)


def test_a_list_that_changes_its_other_answers_is_noticed() -> None:
    """People also deny other items if they have the long list, which no share of carriers can explain."""
    rng = np.random.default_rng(1)
    found = of_two_lists(rng.binomial(4, 0.6, 800), rng.binomial(4, 0.3, 800), items=4)
    assert found.test.p < 1e-6
    assert found.estimate.value < 0


@pytest.mark.slow
def test_the_design_effect_test_has_its_size() -> None:
    """500 honest experiments: at 5 % a binomial is above 42 with probability 5e-4; Bonferroni has fewer."""
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(500):
        short, long = rng.binomial(3, 0.5, 100), rng.binomial(3, 0.5, 100) + (rng.random(100) < 0.1)
        alarms += of_two_lists(short, long, items=3).test.p < 0.05
    assert alarms <= 42


def test_an_item_sum_is_welchs_difference() -> None:
    rng = np.random.default_rng(3)
    short, long = rng.normal(10, 2, 50), rng.normal(13, 5, 30)
    found = item_sum(pd.Series(short), long.tolist())
    assert abs(found.value - (long.mean() - short.mean())) < 1e-12
    se = np.sqrt(long.var(ddof=1) / 30 + short.var(ddof=1) / 50)
    assert abs(found.se - se) < 1e-12
    assert found.basis.df == 34  # Welch and Satterthwaite's 34.7, rounded down
    assert item_sum([1.0, 1.0], [2.0, 2.0]).value == 1


def test_bad_lists_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 3, and to 4 on the long list, got 1 of 5"):
        of_two_lists([0, 4, 1], [0, 4], items=3)
    with pytest.raises(ValueError, match="`long` must be finite, got 1 of 2"):
        item_sum([1.0, 2.0], [np.nan, 1.0])
    with pytest.raises(ValueError, match="at least two answers"):
        item_sum([1.0], [2.0, 3.0])
    with pytest.raises(TypeError, match="`short` must be numbers"):
        item_sum(["a", "b"], [2.0, 3.0])
    with pytest.raises(ValueError, match="`items` must be at least 1"):
        of_two_lists([0, 1], [0, 1], items=0)
    assert of_two_lists([0, 3], [0, 4], items=3).estimate.n == 4
    for one in (-1, 0.5, 5):
        with pytest.raises(ValueError, match="from 0 to 3, and to 4 on the long list, got 1 of 4"):
            of_two_lists([0, 3], [0, one], items=3)
    with pytest.raises(ValueError, match="`treatment` given as codes must lie in 0"):
        double_list([0, 1, 1], [0, 1, 1], [0, 1, 2], items=3)
    with pytest.raises(ValueError, match="the same people, got lengths 4, 3, 4"):
        double_list([0, 1, 1, 2], [0, 1, 1], [0, 0, 1, 1], items=3)
    with pytest.raises(ValueError, match="the same people, got lengths 4, 4, 3"):
        list_with_direct([0, 1, 1, 2], [0, 1, 1], [0, 0, 1, 1], items=3)


@pytest.mark.parametrize(
    "kind", [bool, int, float, lambda yes: ("no", "yes")[yes]], ids=["bool", "int", "float", "text"]
)
def test_groups_and_direct_answers_may_be_given_in_any_form(kind) -> None:
    treated, direct = [yes % 2 == 1 for yes in range(12)], [person > 7 for person in range(12)]
    counts = [1, 2, 2, 3, 0, 2, 1, 1, 2, 2, 1, 3]
    given, answered = list(map(kind, treated)), list(map(kind, direct))
    for function, options in ((list_experiment, {}), (list_with_direct, {"direct": answered})):
        plain = {"direct": direct} if options else {}
        found = function(counts, treatment=given, items=3, **options).estimate
        expected = function(counts, treatment=treated, items=3, **plain).estimate
        assert (found.value, found.se) == (expected.value, expected.se)


def test_an_estimate_of_lists_states_its_people_and_variance() -> None:
    """The estimate also states its degrees of freedom."""
    told, treated, direct = [1, 2, 2, 3, 0, 2, 1, 1, 2, 2, 1, 3], np.arange(12) % 2 == 1, np.arange(12) > 7
    for found, n, df in ((list_with_direct(told, treated, direct, items=3).estimate, 12, 10),
                         (item_sum([1.0, 1.0, 1.0], [2.0, 2.0]), 5, 3)):  # fmt: skip
        assert (found.n, found.basis.df) == (n, df)
        assert found.cov.item() == pytest.approx(found.se**2, nan_ok=True)


def test_sums_without_spread_are_the_same_or_surely_not() -> None:
    treated = [1, 1, 0, 0]
    same, other = (double_list([most, most, 1, 1], [1, 1, 1, 1], treated, items=3)[1] for most in (1, 2))
    assert (same.statistic, same.p) == (0, 1)
    assert (other.statistic, other.p) == (np.inf, 0)


def test_a_list_and_a_direct_question_are_combined_with_their_tests() -> None:
    """Numbers of an independent code; the standard error also by a bootstrap of 4,000 (.0374)."""
    rng = np.random.default_rng(6)
    n = 3000
    x = rng.normal(size=n)
    z = rng.random(n) < 1 / (1 + np.exp(0.8 - 0.5 * x))
    direct = z & (rng.random(n) < 0.5)
    count = rng.binomial(4, 1 / (1 + np.exp(0.2 - 0.3 * x)))
    treated = rng.random(n) < 0.5
    found = list_with_direct(count + (treated & z), treated, direct, items=4)
    assert found.confessed == pytest.approx(0.161)
    assert float(found.estimate) == pytest.approx(0.356841006, abs=1e-9)
    assert found.estimate.se == pytest.approx(0.036569343, abs=1e-9)
    assert float(found.difference_if_confessed) == pytest.approx(1.084121, abs=1e-6)
    assert found.difference_if_confessed.se == pytest.approx(0.093288, abs=1e-6)
    assert float(found.effect_on_confessions) == pytest.approx(0.013234, abs=1e-6)


def test_a_double_list_counts_the_correlation_of_its_answers() -> None:
    """The same people answer both lists. Numbers of an independent code; as if independent, the standard error
    would be .043748.
    """
    rng = np.random.default_rng(7)
    n = 1500
    x = rng.normal(size=n)
    z = rng.random(n) < 1 / (1 + np.exp(0.8 - 0.5 * x))
    u = 0.7 * rng.normal(size=n)
    one = rng.binomial(4, 1 / (1 + np.exp(0.2 - 0.3 * x - u)))
    two = rng.binomial(4, 1 / (1 + np.exp(0.1 - 0.2 * x - u)))
    treated = rng.random(n) < 0.5
    share, test = double_list(one + (treated & z), two + (~treated & z), treated, items=4)
    assert float(share) == pytest.approx(0.301546942, abs=1e-9)
    assert share.se == pytest.approx(0.036413685, abs=1e-9)
    assert test.statistic == pytest.approx(-1.254527, abs=1e-6)
    assert test.p == pytest.approx(0.209650, abs=1e-6)


def test_the_design_effect_test_has_the_reference_number() -> None:
    """Blair and Imai (2012), section 3.1: of each combination of a count and the trait the share that follows
    from two distribution functions, none of which may be negative; here each by a normal test of its own, and
    Bonferroni over all 2 (items + 1).
    """
    short = np.repeat([0, 1, 2, 3], [20, 40, 60, 30])
    long = np.repeat([0, 1, 2, 3, 4], [38, 60, 60, 18, 4])

    def below(counts: np.ndarray, most: int) -> tuple[float, float]:
        """The share of counts up to a limit, and its variance."""
        share = sum(int(count <= most) for count in counts) / len(counts)
        return share, share * (1 - share) / len(counts)

    z = []
    for y in range(4):
        for one, other in ((below(short, y), below(long, y)), (below(long, y), below(short, y - 1))):
            se = np.sqrt(one[1] + other[1])
            z.append((one[0] - other[0]) / se if se else 0.0)
    found = of_two_lists(short, long, items=3)
    assert found.test.statistic == pytest.approx(min(z), rel=1e-9)
    assert found.test.p == pytest.approx(8 * norm.cdf(min(z)), rel=1e-9)
    assert 0.01 < found.test.p < 0.9


def test_the_published_list_experiment_of_the_race_survey() -> None:
    """Blair and Imai, Political Analysis 20 (2012), table 1: 1991 National Race and Politics Survey, "a black family
    moving next door", 589 people with three items and 624 with four. Published: 6.8 % (5.0), and of those with 0 to 3
    of the other items -1.7, 1.0, 2.0 and 5.4 % who have the trait.
    """
    short, long = np.repeat([0, 1, 2, 3], [8, 132, 222, 227]), np.repeat([0, 1, 2, 3, 4], [19, 123, 229, 219, 34])
    found = of_two_lists(short, long, items=3)
    assert (round(found.estimate.value, 3), round(found.estimate.se, 3)) == (0.068, 0.050)
    assert found.carriers_by_count == pytest.approx([-0.017, 0.010, 0.020, 0.054], abs=6e-4)
    # The negative share of -1.7 % (0.8): by itself it is below 0 at about 2 %, with Bonferroni it is not.
    assert found.test.statistic == pytest.approx(-0.0169 / 0.0084, abs=0.03)
    assert found.test.p > 0.05


def test_too_few_people_are_refused_or_left_without_a_number() -> None:
    """Warnings are errors in these tests."""
    told, on = [0, 1, 2, 1, 2, 3, 1, 2], [0] * 4 + [1] * 4
    found = list_with_direct(told, on, [0] * 8, items=3)
    assert np.isnan(found.difference_if_confessed.value)
    assert "fewer than two people" in found.difference_if_confessed.notes[-1]
    assert np.isnan(found.effect_on_confessions.se)
    for call in (
        lambda: list_with_direct(told, [0] * 8, on, items=3),
        lambda: double_list([1, 2], [1, 2], [True, False], items=3),
    ):
        with pytest.raises(ValueError, match="answers from at least two people"):
            call()


def test_what_only_a_fit_takes_is_refused_with_counts() -> None:
    told, treatment = [0, 1, 2, 1, 0, 0, 3, 1], [0, 0, 0, 0, 1, 1, 1, 1]
    with pytest.raises(ValueError, match="`method`, `constrained`, `floor`, `direct` must go with a formula"):
        list_experiment(told, treatment=treatment, items=2, method="ml", constrained=False, floor=True, direct=told)
    with pytest.raises(ValueError, match="`data` must go with a formula"):
        list_experiment(told, {"x": told}, treatment=treatment, items=2)
    with pytest.raises(ValueError, match="a formula must go with `data`"):
        list_experiment("count ~ 1", treatment=treatment, items=2)
    with pytest.raises(ValueError, match="the same people, got lengths 8, 7"):
        list_experiment(told, treatment=treatment[1:], items=2)
