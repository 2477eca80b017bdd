"""The audit catches every planted fault on its first run, and clears everything of ours."""

import time

import numpy as np
import pytest

from toolkit import crosswise, forced, forced_options, k_ary, kuk, mangat, triangular, unrelated, warner
from toolkit.attacks.audit import audit
from toolkit.attacks.bounds import epsilon_bound
from toolkit.attacks.gallery import EXHIBITS, float_laplace
from toolkit.attacks.neighbours import shapes
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.selection import AboveThreshold, Exponential, NoisyMax, PermuteAndFlip
from toolkit.core.loss import Pure
from toolkit.local import numeric, oracles
from toolkit.local.questionnaire import Questionnaire

SHAPES = {name: pair for name, pair in shapes(4).items() if name in ("one above", "half up, half down", "crossed")}
BOXES = (np.array([True, True, True]), np.array([False, False, False]))


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_default_audit_catches_the_fault_on_its_first_run_within_ten_seconds(name):
    """With fewer runs the same faults, and their repairs, are audited in test_gallery.py."""
    start = time.process_time()
    verdict = EXHIBITS[name].audit(rng=np.random.default_rng(1))
    assert time.process_time() - start < 10
    assert verdict.violated, verdict
    assert verdict.epsilon > 1
    assert verdict.delta > 0


def chooser(mechanism):
    def choose(scores, rng):
        return mechanism.choose(range(len(scores)), scores, rng=rng)

    return choose


def sparse(answers, rng):
    alarm = AboveThreshold(1, epsilon=1, sensitivity=1, rng=rng)
    return [alarm.ask(float(answer)) if alarm.open else None for answer in answers]


def questionnaire(person, rng):
    """What one person sends: a report on the question that was drawn, nothing on the other."""
    asked = Questionnaire((("a", warner(epsilon=1.0)), ("b", k_ary(["x", "y", "z"], epsilon=1.0))), 1)
    reports = asked.randomize({"a": [person[0]], "b": [person[1]]}, rng)
    return [reports[name][0] if len(reports[name]) else None for name in ("a", "b")]


OURS = {
    "warner": (warner(p="2/3"), None, None),
    "forced": (forced("1/6", "1/6"), None, None),
    "unrelated": (unrelated("2/3", "1/4"), None, None),
    "mangat": (mangat("2/3"), None, None),
    "kuk": (kuk("3/10", "6/10", draws=2), None, None),
    "crosswise": (crosswise("1/4"), None, None),
    "triangular": (triangular("1/4"), None, None),
    "k-ary": (k_ary(["a", "b", "c", "d", "e"], epsilon=1.0), None, None),
    "joint": (warner(p="2/3").joint(warner(p="3/4")), None, None),
    "forced options": (forced_options(["a", "b", "c"], ["1/6", "1/6", "1/6"]), None, None),
    "questionnaire": (questionnaire, (("no", "x"), ("yes", "z")), 1),
    "subset": (oracles.subset(16, 1.0), None, None),
    "unary": (oracles.unary(8, 1.0), None, None),
    "optimized unary": (oracles.optimized_unary(8, 1.0), None, None),
    "local hash": (oracles.local_hash(20, 1.0), None, None),
    "tick boxes": (oracles.tick_boxes(["a", "b", "c"], 1.0), BOXES, None),
    "one bit": (numeric.one_bit((0, 10), 1.0), None, None),
    "piecewise": (numeric.piecewise((0, 10), 1.0), None, None),
    "hybrid": (numeric.hybrid((0, 10), 1.0), None, None),
    "local Laplace": (numeric.local_laplace((0, 10), 1.0), None, None),
    "square wave": (numeric.square_wave((0, 10), 1.0), None, None),
    "Laplace": (Laplace.for_epsilon(1), None, None),
    "Laplace on fractions": (Laplace.for_epsilon(1, sensitivity=0.25), None, None),
    "Laplace on a histogram": (Laplace.for_epsilon(1, sensitivity=2), (np.array([1, 0, 3]), np.array([0, 1, 3])), None),
    "Laplace in length": (Laplace.for_epsilon(1, norm="l2"), (np.array([0.0, 0.0]), np.array([0.6, 0.8])), None),
    "Gaussian": (Gaussian.for_loss(1, 0.01), None, None),
    "Gaussian, concentrated": (Gaussian.for_rho(0.5), None, None),
    "exponential": (chooser(Exponential.for_epsilon(1)), SHAPES, 1),
    "permute and flip": (chooser(PermuteAndFlip.for_epsilon(1)), SHAPES, 1),
    "noisy max": (chooser(NoisyMax.for_epsilon(1)), SHAPES, 1),
    "sparse vector": (sparse, SHAPES, 1),
}


@pytest.mark.parametrize("name", OURS)
def test_every_mechanism_and_design_of_ours_is_cleared(name):
    """A true claim is refuted with probability at most 1e-4; fewer than forty audits: 4e-3."""
    mechanism, neighbours, epsilon = OURS[name]
    verdict = audit(mechanism, neighbours, epsilon=epsilon, runs=20_000, seconds=1, rng=np.random.default_rng(3))
    assert verdict, verdict


@pytest.mark.parametrize("name", ["warner", "k-ary", "unary", "one bit", "piecewise", "square wave", "subset", "Laplace"])
def test_the_bound_comes_near_the_claim_where_the_claim_is_tight(name):
    """Else clearing would mean nothing: most of epsilon must be found, and no more than all of it."""
    mechanism, neighbours, _ = OURS[name]
    verdict = audit(mechanism, neighbours, runs=60_000, seconds=3, rng=np.random.default_rng(4))
    assert 0.75 * mechanism.epsilon < verdict.epsilon <= mechanism.epsilon


def test_a_true_claim_is_refuted_no_more_often_than_the_level_says():
    """Twelve bits that tell nothing, and one that is tight, so that there is much to be misled by.

    At level 0.8 at most 20 % of audits may refute. The bounds are cautious: on these seeds none does. If the runs of the
    search were used again to confirm, 22 would, and if the error were not shared among the events, 7. The threshold of 5
    was set after these counts were seen; on 120 seeds that had no part in it (1000 to 1119) none refutes either.
    """

    def tight(bit, rng):
        return np.append(rng.random(12) < 0.5, bit ^ (rng.random() < 1 / 3))

    seeds = (np.random.default_rng(seed) for seed in range(120))
    refuted = sum(audit(tight, (0, 1), epsilon="0.6931471805599454", runs=1600, level=0.8, rng=rng).violated for rng in seeds)
    assert refuted <= 5


def test_the_bound_is_that_of_the_best_trial_with_the_error_shared_among_all():
    verdict = audit(EXHIBITS["half the noise"].broken, (0.0, 1.0), epsilon=1, runs=8000, level=0.99, rng=np.random.default_rng(1))
    tail = 0.9 * 0.01 / (2 * len(verdict.tried))
    bounds = [epsilon_bound(trial.seen, trial.n, trial.other, trial.m, tail=tail) for trial in verdict.tried]
    assert verdict.epsilon == pytest.approx(max(bounds))
    assert len(verdict.tried) == 4  # two directions, and two ways to look at a number


def test_the_release_path_is_audited_by_default_and_a_generator_repeats_the_audit():
    first, second = (audit(warner(p="2/3"), runs=4000, rng=np.random.default_rng(9)) for _ in range(2))
    assert first == second
    assert audit(warner(p="2/3"), runs=4000)


def test_without_a_claim_there_is_a_bound_and_no_verdict():
    verdict = audit(float_laplace, (0.0, 1.0), runs=20_000, rng=np.random.default_rng(1))
    assert verdict.claim is None
    assert not verdict.violated
    assert verdict.epsilon > 3


def test_looking_past_the_last_bits_finds_the_textbook_noise_to_be_what_the_textbook_says():
    verdict = audit(float_laplace, (0.0, 1.0), epsilon=1, last_bits=False, rng=np.random.default_rng(1))
    assert verdict
    assert verdict.epsilon > 0.85


def test_a_design_that_lies_about_its_law_is_caught_by_its_draws():
    class Liar:
        options = report_options = ("no", "yes")
        weights, denominator, loss = np.array([[2, 1], [1, 2]]), 3, Pure(0.7)

        def randomize(self, answers, rng):
            return [answer if rng.random() < 0.64 else "yes" for answer in answers]

    verdict = audit(Liar(), rng=np.random.default_rng(1))
    assert verdict.violated


def test_a_design_that_claims_less_than_its_law_costs_is_refuted_by_enumeration_alone():
    verdict = audit(warner(p="2/3"), epsilon="0.693", runs=400, rng=np.random.default_rng(1))
    assert verdict.violated
    assert verdict.evidence.startswith("a proof")


def test_a_feature_of_ones_own_can_be_looked_at():
    """The sum of two shuffled shares hides in no single entry."""

    def hidden(bit, rng):
        mask = int(rng.integers(0, 2**30))
        return mask, mask ^ bit

    plain = audit(hidden, (0, 1), epsilon=1, runs=4000, rng=np.random.default_rng(1))
    told = audit(hidden, (0, 1), epsilon=1, runs=4000, rng=np.random.default_rng(1), features={"parity": lambda o: o[0] ^ o[1]})
    assert told.violated
    assert told.epsilon > plain.epsilon or plain.violated


def test_outputs_of_several_lengths_and_kinds_are_audited():
    def chatty(bit, rng):
        return ["yes"] * int(rng.integers(1, 4) + bit)

    assert audit(chatty, (0, 1), epsilon=0.1, runs=4000, rng=np.random.default_rng(1)).violated


def test_slow_mechanisms_are_run_less_often_and_the_verdict_says_so():
    def slow(value, rng):
        time.sleep(0.001)
        return value + rng.geometric(0.5)

    verdict = audit(slow, (0, 1), epsilon=50, seconds=0.5, rng=np.random.default_rng(1))
    assert verdict.runs < 5000
    assert "instead of" in verdict.notes[0]


def test_a_function_that_needs_a_generator_gets_one_and_one_that_does_not_keeps_its_default():
    def needs(value, rng):
        return value + rng.geometric(0.5)

    def has(value, rng=None):
        return value if rng is None else -1

    assert audit(needs, (0, 1), runs=2000).epsilon < 3
    assert audit(has, (0, 1), epsilon=1, runs=2000).violated


def test_a_delta_without_epsilon_and_nothing_to_run_are_refused():
    with pytest.raises(ValueError, match="`delta` must come with `epsilon`"):
        audit(warner(p="2/3"), delta=0.1)
    with pytest.raises(TypeError, match="it cannot be run"):
        audit(3, (0, 1))
