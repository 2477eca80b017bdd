import math
from functools import partial

import numpy as np
import pytest

from toolkit import k_ary, warner
from toolkit.local import numeric, oracles
from toolkit.local.shuffling.amplification import shuffled
from toolkit.planning.accuracy import PlanInputs
from toolkit.planning.fieldwork import Field
from toolkit.planning.search import Target, epsilon_for
from toolkit.planning.trust_models import TRUST_TEXTS, _shuffled, check_delta, default_guesses, trust_models


@pytest.mark.parametrize(
    ("randomizer", "expected"),
    [
        (warner("3/4"), 1),
        (k_ary(5, epsilon=1.0), 2),
        (oracles.best(30, 1.0), 2),
        (oracles.subset(2, 1.0), 1),
        (oracles.local_hash(3, 1.0), 2),
        (numeric.one_bit((0, 80), 1.0), 80),
        (oracles.tick_boxes(10, 1.0, most=1), 2),
        (oracles.tick_boxes(10, 1.0), 10),
    ],
    ids=["yes or no", "five options", "subset", "subset of two", "hash of three", "mean", "one tick", "ticks"],
)
def test_how_far_one_person_moves_what_a_curator_publishes(randomizer, expected):
    assert randomizer._sensitivity == expected


@pytest.mark.slow
def test_every_way_says_whom_to_trust_and_direct_promises_nothing():
    direct, local, hidden, central = trust_models(PlanInputs(warner, 0.2, 0.95), 1.0, 1000, Target(margin=0.1), 1e-6)
    assert [way.trust for way in (direct, local, hidden, central)] == list(TRUST_TEXTS.values())
    assert direct.epsilon == math.inf
    assert direct.noise_se == 0
    assert local.local_epsilon == 1.0 < hidden.local_epsilon
    assert direct.margin < central.margin < hidden.margin < local.margin
    assert direct.n_needed <= central.n_needed <= hidden.n_needed <= local.n_needed


@pytest.mark.slow
def test_what_a_population_cannot_give_is_not_a_number():
    case = PlanInputs(warner, 0.2, 0.95, field=Field(population=500))
    ways = trust_models(case, 0.5, 400, Target(margin=0.02), 1e-6)
    assert math.isnan(ways[1].n_needed)
    assert not math.isnan(ways[0].n_needed)


@pytest.mark.slow
def test_no_way_asks_more_people_than_there_are():
    """The search for the curator's number did not know the population."""
    case = PlanInputs(warner, 0.2, 0.95, field=Field(population=500))
    for margin in (0.002, 0.01, 0.03, 0.1):
        needed = [way.n_needed for way in trust_models(case, 0.5, 400, Target(margin=margin), 1e-6)]
        assert all(math.isnan(n) or n <= 500 for n in needed)
    assert math.isnan(trust_models(case, 0.5, 400, Target(margin=0.002), 1e-6)[3].n_needed)


@pytest.mark.slow
def test_the_margin_of_a_curator_is_that_of_laplace_noise():
    """100 people at epsilon 0.05, nearly all of one mind: the noise governs, 95 % of it lies within ln 20 scales."""
    central = trust_models(PlanInputs(warner, 1e-6, 0.95), 0.05, 100, Target(margin=0.5), 1e-6)[3]
    assert central.margin == pytest.approx(math.log(20) / (100 * 0.05), rel=1e-4)
    assert central.se == pytest.approx(math.sqrt(2) / (100 * 0.05), rel=1e-4)
    assert central.margin > 1.08 * 1.959964 * central.se


@pytest.mark.slow
def test_a_curator_of_three_answers_splits_the_budget_too():
    """Each of three published answers has a third of the budget or of the people."""
    for one_question_each, noise in (
        (True, 3.0),
        (False, 3.0),
    ):  # a third of the people behind each, or a third of epsilon
        case = PlanInputs(warner, 0.2, 0.95, field=Field(questions=3, one_question_each=one_question_each))
        central = trust_models(case, 2.0, 3000, Target(margin=0.1), 1e-6)[3]
        assert central.noise_se == pytest.approx(noise * math.sqrt(2) / (3000 * 2.0), rel=1e-9)


@pytest.mark.slow
def test_anything_with_the_protocol_is_compared():
    for family, truth in ((partial(oracles.best, 12), [1 / 12] * 12), (partial(numeric.hybrid, (0, 1)), 0.5)):
        ways = trust_models(PlanInputs(family, truth, 0.95), 1.0, 2000, Target(margin=0.1), 1e-6)
        assert ways[3].margin < ways[2].margin < ways[1].margin


@pytest.mark.slow
@pytest.mark.parametrize(
    "field", [Field(), Field(subgroup_share=0.5, questions=2), Field(questions=2, one_question_each=False)], ids=str
)
def test_the_planned_number_of_shuffled_people_suffices(field):
    """One per cent fewer are not enough. Of several questions each has its own shuffler: those who got it hide each
    other, in all subgroups.
    """
    case, target = PlanInputs(warner, 0.2, 0.95, field=field), Target(margin=0.08)
    needed = int(_shuffled(case, 1.0, 1000, target, 1e-6)[2])

    def loss(n):
        together, at_once = (
            (n // 2, 1) if field.questions == 2 and field.one_question_each else (n, field.questions_each)
        )
        return at_once * shuffled(case.randomizer(epsilon_for(case, target, n)), together, 1e-6).epsilon

    assert loss(needed) <= 1 < loss(int(0.99 * needed))


def test_other_guesses_hold_the_guess_itself():
    assert default_guesses(0.2) == (0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
    assert default_guesses(0.9) == (0, 0.45, 0.5, 0.675, 0.9, 1)
    nearer = [[0.25] * 4, [0.45, 0.3, 0.15, 0.1], [0.65, 0.35, 0.05, -0.05]]
    assert np.allclose(default_guesses(nearer[2]), nearer, atol=1e-15)


def test_a_promise_fails_with_a_chance_above_0_and_below_1():
    assert check_delta(1e-300) == 1e-300
    assert check_delta(math.nextafter(1, 0)) < 1
    for delta in (0, 1):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            check_delta(delta)
