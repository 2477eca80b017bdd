import math

import numpy as np
import pytest

from data import make_attack_data as made
from toolkit.audit.bounds import advantage
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.teaching.attacks import membership as attack


def area(scores):
    """Return the mean area over many studies; members and outsiders are compared within each study."""
    return float(np.mean([attack.roc(members, outsiders).area for members, outsiders in scores]))


def signs(d, n, studies, noise_sd=0.0, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(studies):
        people = rng.choice([-1.0, 1.0], (2 * n, d))
        scores = attack.inner_product(people[:n].mean(axis=0) + noise_sd * rng.normal(size=d), people)
        yield scores[:n], scores[n:]


@pytest.mark.parametrize(("d", "n"), [(20, 100), (100, 100), (400, 100), (400, 30)])
def test_the_area_of_the_inner_product_is_close_to_its_closed_form(d, n):
    """The simulated area is within 0.02 of the formula.

    With 80 studies, the standard error of the mean area is below 0.005.
    """
    assert area(signs(d, n, 80)) == pytest.approx(attack.inner_product_area(d, n), abs=0.02)


@pytest.mark.parametrize("noise_sd", [0.05, 0.2, 1.0])
def test_noise_on_the_mean_lowers_the_area_as_theory_says(noise_sd):
    expected = attack.inner_product_area(200, 100, noise_variance=noise_sd**2)
    assert area(signs(200, 100, 80, noise_sd)) == pytest.approx(expected, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Laplace", "Gaussian"])
def test_a_private_mean_leaves_the_area_that_its_noise_does(kind):
    """60 studies of 100 + 100 people: the standard error of the mean area is below 0.006."""
    d, n = 100, 100
    strong = Laplace.for_epsilon(1, sensitivity=2 * d / n)
    mechanism = strong if kind == "Laplace" else Gaussian.for_loss(1, 1e-5, sensitivity=2 * math.sqrt(d) / n)
    sd = math.sqrt(2) * strong.scale if kind == "Laplace" else mechanism.scale
    found = attack.simulate(d, n, mechanism, studies=60, rng=np.random.default_rng(1))
    assert found == pytest.approx(attack.inner_product_area(d, n, noise_variance=sd**2), abs=0.02)
    assert found < attack.inner_product_area(d, n) - 0.1


def test_the_mean_is_released_by_the_mechanism_that_is_given():
    """A release without information leaves a coin flip; an estimate is read by its value."""
    rng = np.random.default_rng(1)
    assert attack.simulate(200, 20, lambda mean: 0 * mean, studies=2, rng=rng) == 0.5
    assert attack.simulate(200, 20, Laplace.for_epsilon(10**6), studies=2, rng=rng) > 0.9


def pools(d, n, studies, score, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(studies):
        p = rng.uniform(0.1, 0.9, d)
        people = (rng.random((2 * n, d)) < p).astype(float)
        scores = score(people[:n].mean(axis=0), people, p)
        yield scores[:n], scores[n:]


@pytest.mark.slow
def test_frequencies_of_snps_tell_members_as_closely_as_theory_says():
    """A squared entry, centered and scaled, has the variance (1 - 4 p q) / (p q)."""
    d, n = 300, 100
    variance = np.linspace(0.1, 0.9, 2001) * np.linspace(0.9, 0.1, 2001)
    expected = attack.inner_product_area(d, n, kurtosis=float(np.mean((1 - 4 * variance) / variance)))
    assert area(pools(d, n, 60, attack.inner_product)) == pytest.approx(expected, abs=0.02)


def test_more_columns_help_the_attacker_and_more_people_the_members():
    areas = [attack.inner_product_area(d, n) for d, n in ((50, 200), (200, 200), (200, 50))]
    assert areas == sorted(areas)
    assert attack.inner_product_area(10, 10**6) == pytest.approx(0.5, abs=0.002)


def test_members_of_the_planted_study_are_found():
    rows, shares = made.genomes()
    people = np.array([[int(letter) for letter in snps] for _, snps in rows])
    inside = np.array([group == "study" for group, _ in rows])
    p = np.array([float(share) for _, share in shares])
    scores = attack.inner_product(people[inside].mean(axis=0), people, p)
    assert attack.roc(scores[inside], scores[~inside]).area > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Laplace", "Gaussian"])
def test_differential_privacy_keeps_every_threshold_within_its_bound(kind):
    """One member or one outsider per study, classified by comparing Q with the midpoint; 3000 studies, false-alarm rate
    1e-6 (Hoeffding). The means of all studies are released in one row, because the noise does not depend on them.
    """
    epsilon, delta, d, n, trials = 1.0, 1e-3 if kind == "Gaussian" else 0.0, 4, 6, 3000
    laplace = Laplace.for_epsilon(epsilon, sensitivity=2 * d / n)
    mechanism = laplace if kind == "Laplace" else Gaussian.for_loss(epsilon, delta, sensitivity=2 * math.sqrt(d) / n)
    rng = np.random.default_rng(5)
    people, member = rng.choice([-1.0, 1.0], (trials, n + 1, d)), rng.integers(0, 2, trials) == 1
    means = np.where(member[:, None], people[:, :n].mean(axis=1), people[:, 1:].mean(axis=1))
    released = np.reshape(mechanism.release(means.ravel(), rng).value, means.shape)
    scores = [attack.inner_product(mean, group[:1])[0] for mean, group in zip(released, people, strict=True)]
    right = np.count_nonzero((np.array(scores) > d / n / 2) == member)
    margin = math.sqrt(math.log(1e6) / (2 * trials))
    assert 0.5 < right / trials <= (1 + advantage(epsilon, delta)) / 2 + margin
    assert attack.promised_advantage(epsilon, delta) == advantage(epsilon, delta)


def test_without_noise_the_same_attack_breaks_that_bound():
    rng, right, d, n = np.random.default_rng(5), 0, 60, 6
    for _ in range(1000):
        people = rng.choice([-1.0, 1.0], (n + 1, d))
        member = bool(rng.integers(0, 2))
        score = attack.inner_product((people[:n] if member else people[1:]).mean(axis=0), people[:1])[0]
        right += (score > d / n / 2) == member
    assert right / 1000 > (1 + advantage(1.0)) / 2 + math.sqrt(math.log(1e6) / 2000)


def test_fill_nates_moves_the_weight_on_income():
    """The published weights alone reveal which of two hospitals has his record."""
    rng = np.random.default_rng(1)
    income = rng.lognormal(size=(2, 200, 1))
    smokes = np.where(rng.random((2, 200)) < 0.5 - 0.2 * np.tanh(income[..., 0] - 1), 1.0, -1.0)
    income[1, 0], smokes[1, 0] = 10_000.0, 1.0
    weights = [attack.fit(np.hstack([np.ones((200, 1)), x]), y)[1] for x, y in zip(income, smokes, strict=True)]
    assert abs(weights[1]) < 0.01 < abs(weights[0])


def test_the_curve_counts_ties_as_one_half_and_runs_from_corner_to_corner():
    curve = attack.roc([1, 1], [1, 1])
    assert curve.area == 0.5
    assert (curve.false_alarms[0], curve.hits[0], curve.false_alarms[-1], curve.hits[-1]) == (0, 0, 1, 1)
    assert attack.roc([2, 3], [0, 1]).advantage == 1
    with pytest.raises(ValueError, match="members and outsiders"):
        attack.roc([], [1])


def test_the_area_is_the_chance_that_a_member_scores_higher():
    rng = np.random.default_rng(1)
    members, outsiders = rng.integers(2, 9, 40), rng.integers(0, 7, 30)
    above = np.sign(members[:, None] - outsiders[None, :])
    curve = attack.roc(members, outsiders)
    assert curve.area == pytest.approx(np.mean((above + 1) / 2))
    best = max(np.mean(members >= level) - np.mean(outsiders >= level) for level in range(10))
    assert curve.advantage == pytest.approx(best)


def test_scores_are_their_sums_over_columns():
    rng = np.random.default_rng(1)
    p, m, people = rng.uniform(0.1, 0.9, 5), rng.uniform(0.1, 0.9, 5), rng.integers(0, 2, (4, 5))
    terms = [[(m[j] - p[j]) * (x[j] - p[j]) / (p[j] * (1 - p[j])) for j in range(5)] for x in people]
    np.testing.assert_allclose(attack.inner_product(m, people, p), np.sum(terms, axis=1))


def test_the_ridge_is_a_row_of_its_root_for_each_weight():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    more, none = np.vstack([x, math.sqrt(7) * np.eye(3)]), np.concatenate([y, np.zeros(3)])
    np.testing.assert_allclose(attack.fit(x, y, ridge=7.0), np.linalg.lstsq(more, none)[0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: attack.roc([1, np.nan], [0, 1]), "NaN"),
        (lambda: attack.inner_product([0.5, 0.5, 0.5], [[1, 0]]), "`mean` must be one number for each column"),
        (lambda: attack.inner_product([0.5, 0.5], [[1, 0]], [0, 0.5]), "between 0 and 1"),
        (lambda: attack.fit([[1.0, 0.0]], [1, -1]), "one entry per row"),
        (lambda: attack.fit([[1.0, 1.0], [2.0, 2.0]], [1, -1]), "must be independent"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_its_own_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()
