from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from toolkit import Ledger
from toolkit.core.loss import Approx, Zcdp
from toolkit.learning import PrivateLogisticRegression, PrivateSVC
from toolkit.learning.descent import NoisyGradientDescent, sampled_epsilon, sampled_sigma
from toolkit.learning.perturbation import LogisticLoss, minimize_objective

LOGISTIC = LogisticLoss()


def descent(loss, *, neighbors="replace", steps=50, rate=Fraction(1), people=1000, size=3) -> NoisyGradientDescent:
    return NoisyGradientDescent(loss, 10.0, LOGISTIC, size, people, neighbors, steps, rate)


def test_everybody_at_every_step_adds_up_in_zcdp() -> None:
    """(2 / n) sqrt(T / (2 rho)) for the mean of gradients under "replace", half of it under "add_remove"."""
    assert descent(Zcdp("1/2")).sigma == pytest.approx(2 * np.sqrt(50))
    assert descent(Zcdp("1/2"), neighbors="add_remove").sigma == pytest.approx(np.sqrt(50))
    for steps in range(1, 40):  # never rounded down
        assert 0 <= Fraction(descent(Zcdp("1/7"), steps=steps).sigma) ** 2 / (14 * steps) - 1 < 1e-11
    within = Zcdp.within(Approx(1, 1e-6)).rho
    assert descent(Approx(1, 1e-6)).sigma == pytest.approx(2 * np.sqrt(50 / (2 * within)), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "epsilon"), [(0.025, 1, 400, 4.098), (0.01, 1, 1000, 2.437), (1, 20, 50, 1.661)]
)
def test_random_parts_cost_what_the_reference_says(rate, sigma, steps, epsilon) -> None:
    """By Rényi's divergence at delta 1e-6, with all orders; with few of them it is never less."""
    found = sampled_epsilon(sigma, 1e-6, rate, steps)
    assert epsilon - 5e-4 <= found <= 1.005 * epsilon


@pytest.mark.slow
def test_the_noise_for_random_parts_is_within_the_cost_and_hardly_more() -> None:
    sigma = sampled_sigma(2.0, 1e-6, 0.1, 60)
    assert sampled_epsilon(sigma, 1e-6, 0.1, 60) <= 2 < sampled_epsilon(0.99 * sigma, 1e-6, 0.1, 60)


def test_what_another_library_says_of_random_parts_is_told_a_little_above(monkeypatch) -> None:
    accountant = SimpleNamespace(compose=lambda *_: None, get_epsilon=lambda _: 2.0)
    event, relation = lambda *_: None, SimpleNamespace(ADD_OR_REMOVE_ONE=None)
    names = {"RdpAccountant": lambda *_: accountant, "PoissonSampledDpEvent": event, "GaussianDpEvent": event}
    library = SimpleNamespace(NeighboringRelation=relation, **names)
    monkeypatch.setattr("toolkit.learning.descent.extra", lambda _: library)
    assert 2 < sampled_epsilon(1.0, 1e-6, 0.1, 5) < 2.00001


def test_the_smallest_noise_is_found_for_up_to_a_million_gradients(monkeypatch) -> None:
    """A plan of more noisy gradients than that is rejected."""
    monkeypatch.setattr("toolkit.learning.descent.sampled_epsilon", lambda sigma, *_: 900_000 / sigma)
    for epsilon in (2.0, 9e6):
        assert 1 <= sampled_sigma(epsilon, 1e-6, 0.1, 7) * epsilon / 900_000 < 1.002
    with pytest.raises(ValueError, match="`epsilon` must be larger for so many steps"):
        sampled_sigma(0.8, 1e-6, 0.1, 7)


@pytest.mark.parametrize(("epsilon", "steps", "size"), [(0.5, 7, 3), (2, 1000, 1), (9, 1, 40)])
def test_the_smallest_delta_is_1000_times_the_cost_of_the_grid(epsilon, steps, size) -> None:
    """(1 + e**epsilon) times 2**-60 for each entry of each step."""
    least = 1000 * (1 + np.exp(epsilon)) * steps * size / 2**60
    said = {"neighbors": "add_remove", "rate": Fraction(1, 10), "steps": steps, "size": size}
    assert descent(Approx(epsilon, least * (1 + 1e-9)), **said).n_steps == steps
    with pytest.raises(ValueError, match="`delta` must be larger"):
        descent(Approx(epsilon, least * (1 - 1e-9)), **said)


def test_the_share_of_people_in_a_step_is_the_rate() -> None:
    noisy = descent(Approx(1, 1e-6), neighbors="add_remove", rate=Fraction(1, 10))
    drawn = noisy._sampled_people(40_000, np.random.default_rng(3))
    assert abs(drawn.mean() - 0.1) < 5 * np.sqrt(0.09 / 40_000)


def test_without_noise_it_arrives_at_the_minimum() -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(3, 1000))
    rows /= np.linalg.norm(rows, axis=0)
    there = minimize_objective(rows, LOGISTIC, 10.0, np.zeros(3), 1e-9)
    np.testing.assert_allclose(descent(Zcdp(10**15), steps=200).weights(lambda: [rows], None), there, atol=1e-3)


def test_no_noise_is_finer_than_the_grid_allows(monkeypatch) -> None:
    monkeypatch.setattr("toolkit.learning.descent.sampled_sigma", lambda *_: 0.01)
    quiet = descent(Approx(25, 0.5), neighbors="add_remove", steps=1, rate=Fraction(1, 100))
    assert quiet.sigma == 0.25


@pytest.mark.slow
def test_a_classifier_learns_by_descent_and_a_ledger_pays_for_all_steps() -> None:
    rng = np.random.default_rng(5)
    rows = rng.uniform(-1, 1, (2000, 2))
    labels = (rows[:, 0] > rows[:, 1]).astype(int)
    ledger = Ledger(Zcdp(1))
    model = PrivateLogisticRegression(
        rho=0.5, method="descent", steps=30, missing="middle", bounds=(-1, 1), ledger=ledger
    ).fit(rows, labels)
    assert model.score(rows, labels) > 0.9  # noise of 2 sqrt(30) on sums of some 500
    assert ledger.spent == Zcdp("1/2")
    assert "noise on every step" in repr(model)
    part = PrivateSVC(
        2,
        delta=1e-6,
        method="descent",
        steps=60,
        rate="1/10",
        people=2000,
        neighbors="add_remove",
        missing="middle",
        bounds=(-1, 1),
    ).fit(rows, labels)
    assert part.score(rows, labels) > 0.9
    assert part.loss_ == Approx(2, 1e-6)
