"""The audit catches every planted fault on its first run, and clears everything of ours."""

import math
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from tests.teaching.attacks.faults import FAULTS
from toolkit import crosswise, forced, forced_options, k_ary, kuk, mangat, triangular, unrelated, warner
from toolkit.audit import running
from toolkit.audit.auditor import ExactAudit, _claim, _judge, audit
from toolkit.audit.bounds import epsilon_bound
from toolkit.audit.running import shapes
from toolkit.audit.verdict import Trial
from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.selection import Exponential, NoisyMax, PermuteAndFlip
from toolkit.central.sparse import AboveThreshold
from toolkit.core.loss import Approx, Pure
from toolkit.local import numeric, oracles
from toolkit.local.questionnaire import Questionnaire
from toolkit.teaching.attacks.gallery import EXHIBITS

SHAPES = {name: pair for name, pair in shapes(4).items() if name in ("one above", "half up, half down", "crossed")}
BOXES = (np.array([True, True, True]), np.array([False, False, False]))


@pytest.mark.slow
def test_the_default_audit_catches_the_fault_on_its_first_run():
    """With fewer runs all faults, and their repairs, are audited in test_gallery.py."""
    verdict = EXHIBITS["float noise"].audit(rng=np.random.default_rng(1))
    assert verdict.violated, verdict
    assert verdict.epsilon > 1
    assert verdict.delta > 0


# Faults that show in a fifth of the default runs, with p-values below 1e-24 on each of three seeds; and one that
# the default misses on one seed of three: with these runs p-values are below 2e-9 on each of eight.
OTHER_RUNS = {
    "a noisy maximum that tells its value": 40_000,
    "noise from a cache": 40_000,
    "the last cell makes the total": 40_000,
    "cells in order of appearance": 40_000,
    "Gaussian noise, delta forgotten": 500_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_the_default_audit_catches_further_planted_faults(name):
    """These faults are not in the gallery.

    The margin is thinnest for the k-ary design and the sparse vector: p-values up to 5e-6 on each of eight seeds,
    where 9e-5 refutes.
    """
    fault = FAULTS[name]
    assert audit(
        fault.mechanism,
        fault.neighbors,
        epsilon=fault.epsilon,
        delta=fault.delta,
        runs=OTHER_RUNS.get(name, 200_000),
        rng=np.random.default_rng(1),
    ).violated


def test_the_faults_that_are_audited_with_other_runs_are_there():
    assert set(FAULTS) > set(OTHER_RUNS)


def noisy_count(value, rng):
    """Geometric noise: exactly epsilon 1 for counts that differ by one."""
    return int(value + rng.geometric(1 - math.exp(-1)) - rng.geometric(1 - math.exp(-1)))


MIXED = {
    "None or a number": lambda y: y if y >= 4 else None,
    "a text or a number": lambda y: y if y >= 4 else "few",
    "texts": lambda y: f"{y} people" if y >= 4 else "few",
    "lists of two lengths": lambda y: [y] if y >= 4 else [],
    "lists of many lengths": lambda y: [1] * max(y - 8, 0),
    "tuples with a gap": lambda y: (y, 1.5) if y >= 4 else (y, None),
    "NaN": lambda y: float(y) if y >= 4 else float("nan"),
    "ints and floats": lambda y: y if y >= 4 else -0.5,
    "numbers and truth values": lambda y: y if y >= 4 else False,
    "NumPy's numbers and Python's": lambda y: np.int64(y) if y >= 4 else Fraction(y, 2),
    "arrays of two shapes": lambda y: np.full(2 if y >= 4 else 3, y),
    "mappings": lambda y: {"count": y, "note": ""} if y >= 4 else {"note": "few"},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MIXED)
def test_a_true_claim_stands_when_outputs_mix_kinds_and_lengths(kind):
    """A rare kind once changed how a whole batch was read: five of six such audits refuted. Each does now at
    most 1e-4 of times.

    Twelve kinds: 1.2e-3 in all. When this was written, 204 audits of these kinds, 17 of each, refuted none.
    """
    told = MIXED[kind]
    verdict = audit(
        lambda x, rng: told(noisy_count(x, rng)), (10, 11), epsilon=1, runs=20_000, rng=np.random.default_rng(1)
    )
    assert verdict, verdict
    assert verdict.epsilon > 0.6 or kind == "lists of many lengths"


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


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_every_mechanism_and_design_of_ours_is_cleared(name):
    """A true claim is refuted with probability at most 1e-4; fewer than forty audits: 4e-3."""
    mechanism, neighbors, epsilon = OURS[name]
    verdict = audit(mechanism, neighbors, epsilon=epsilon, runs=5_000, seconds=1, rng=np.random.default_rng(3))
    assert verdict, verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["warner", "k-ary", "unary", "one bit", "piecewise", "square wave", "subset", "Laplace"]
)
def test_the_bound_comes_near_the_claim_where_the_claim_is_tight(name):
    """Else clearing would mean nothing: most of epsilon must be found, and no more than all of it."""
    mechanism, neighbors, _ = OURS[name]
    verdict = audit(mechanism, neighbors, runs=20_000, seconds=math.inf, rng=np.random.default_rng(4))
    assert 0.75 * mechanism.loss.epsilon < verdict.epsilon <= mechanism.loss.epsilon


@pytest.mark.slow
def test_a_true_claim_is_refuted_no_more_often_than_the_level_says():
    """Twelve bits that tell nothing, and one that is tight, so that there is much to be misled by.

    At level 0.8 at most 20 % of audits may refute. The bounds are cautious: of sixty audits one did. If the runs of
    the search were used again to confirm, two of three would. A rate of 5 % exceeds the threshold with
    probability 2e-4; that the error is shared among the events is tested below.
    """

    def tight(bit, rng):
        return np.append(rng.random(12) < 0.5, bit ^ (rng.random() < 1 / 3))

    options = {"epsilon": "0.6931471805599454", "runs": 1600, "level": 0.8, "seconds": math.inf}
    refuted = sum(audit(tight, (0, 1), **options, rng=np.random.default_rng(seed)).violated for seed in range(12))
    assert refuted <= 4


@pytest.mark.slow
def test_the_bound_is_that_of_the_best_trial():
    """The error is shared among all trials, and one of them receives half of it."""
    verdict = audit(
        EXHIBITS["half the noise"].broken, (0.0, 1.0), epsilon=1, runs=8000, level=0.99, rng=np.random.default_rng(1)
    )
    assert sum(trial.share for trial in verdict.tried) == pytest.approx(1)
    assert sorted({round(trial.share * 2 * (len(verdict.tried) - 1), 9) for trial in verdict.tried}) == [
        1,
        len(verdict.tried) - 1,
    ]
    bounds = [
        epsilon_bound(trial.count, trial.n, trial.other, trial.m, error=0.9 * 0.01 * trial.share)
        for trial in verdict.tried
    ]
    assert verdict.epsilon == pytest.approx(max(bounds))
    assert verdict.delta == max(trial.delta for trial in verdict.tried)


def test_the_p_value_of_the_claim_counts_how_many_events_were_tried():
    """Twenty events with a p-value of 0.004 each are what one expects among 250 true ones: no case at level 0.95."""
    trials = [Trial("pair", "event", 9, 99, 1, 99, 1.0, 0.1, 0.004, share=1 / 20)] * 20
    assert _judge(trials, None, None, 0.05, has_claim=True) == (False, "p-value of the claim 0.08")
    alone = [Trial("pair", "event", 9, 99, 1, 99, 1.0, 0.1, 0.004, share=1.0)]
    assert _judge(alone, None, None, 0.05, has_claim=True) == (True, "p-value of the claim 0.004")
    assert _judge(alone, None, None, 0.0044, has_claim=True)[0] is False  # a tenth of the error is left to the draws
    quiet = Trial("pair", "event", 1, 99, 1, 99, 0.0, 0.0, 0.6, share=0.5)
    assert _judge([quiet, *trials[:1]], None, None, 0.05, has_claim=True) == (False, "p-value of the claim 0.08")


def test_draws_that_do_not_follow_the_stated_law_refute_a_claim():
    """A tenth of the error is reserved for this test."""
    quiet = [Trial("pair", "event", 1, 99, 1, 99, 0.0, 0.0, 1.0, share=1.0)]
    told = ExactAudit(1.0, violated=False)
    assert _judge(quiet, told, 0.004, 0.05, has_claim=True) == (
        True,
        "the outputs do not follow the declared distribution",
    )
    assert _judge(quiet, told, 0.006, 0.05, has_claim=True)[0] is False
    assert _judge(quiet, ExactAudit(2.0, violated=True), 1.0, 0.05, has_claim=True)[0] is True


@pytest.mark.slow
def test_a_slow_machine_changes_neither_the_runs_nor_the_verdict(monkeypatch):
    """The clock is read for the pace only: however fast it goes, if there is still time for all runs."""

    def timed(seconds):
        clock = count(0.0, seconds)
        monkeypatch.setattr(running.time, "perf_counter", lambda: next(clock))
        return audit(EXHIBITS["half the noise"].broken, (0.0, 1.0), epsilon=1, runs=4000, rng=np.random.default_rng(1))

    # between two looks at the clock 20 runs are made; 0.2 s would be 40 s for all
    plain, loaded = timed(0.025), timed(0.2)
    assert plain == loaded
    assert plain.notes == ()


@pytest.mark.slow
def test_the_release_method_is_audited_by_default():
    """A generator makes the audit reproducible."""
    first, second = (audit(warner(p="2/3"), runs=4000, rng=np.random.default_rng(9)) for _ in range(2))
    assert first == second
    assert audit(warner(p="2/3"), runs=4000, level="0.9999999999")  # false alarms 1e-10


@pytest.mark.slow
def test_without_a_claim_there_is_a_bound_and_no_verdict():
    verdict = audit(EXHIBITS["float noise"].broken, (0.0, 1.0), runs=20_000, rng=np.random.default_rng(1))
    assert verdict.claim is None
    assert not verdict.violated
    assert verdict.epsilon > 3


@pytest.mark.slow
def test_without_the_last_bits_float_noise_satisfies_its_claim():
    """The textbook noise then has nearly the epsilon of the textbook."""
    verdict = audit(
        EXHIBITS["float noise"].broken, (0.0, 1.0), epsilon=1, last_bits=False, rng=np.random.default_rng(1)
    )
    assert verdict
    assert verdict.epsilon > 0.85


@pytest.mark.slow
def test_a_design_that_lies_about_its_law_is_caught_by_its_draws():
    class Liar:
        options = report_options = ("no", "yes")
        weights, denominator, loss = np.array([[2, 1], [1, 2]]), 3, Pure(0.7)

        def randomize(self, answers, rng):
            return [answer if rng.random() < 0.64 else "yes" for answer in answers]

    verdict = audit(Liar(), rng=np.random.default_rng(1))
    assert verdict.violated


def test_a_design_that_claims_too_little_is_refuted_by_enumeration():
    """The evidence is a proof, because the law of the design costs more than it claims."""
    verdict = audit(warner(p="2/3"), epsilon="0.693", runs=400, rng=np.random.default_rng(1))
    assert verdict.violated
    assert verdict.evidence.startswith("a proof")


@pytest.mark.slow
def test_a_feature_of_ones_own_can_be_looked_at():
    """The sum of two shuffled shares hides in no single entry."""

    def hidden(bit, rng):
        mask = int(rng.integers(0, 2**30))
        return mask, mask ^ bit

    plain = audit(hidden, (0, 1), epsilon=1, runs=4000, rng=np.random.default_rng(1))
    told = audit(
        hidden, (0, 1), epsilon=1, runs=4000, rng=np.random.default_rng(1), features={"parity": lambda o: o[0] ^ o[1]}
    )
    assert told.violated
    assert told.epsilon > plain.epsilon or plain.violated


@pytest.mark.slow
def test_outputs_of_several_lengths_and_kinds_are_audited():
    def chatty(bit, rng):
        return ["yes"] * int(rng.integers(1, 4) + bit)

    assert audit(chatty, (0, 1), epsilon=0.1, runs=4000, rng=np.random.default_rng(1)).violated


@pytest.mark.slow
def test_slow_mechanisms_are_run_less_often_and_the_verdict_says_so(monkeypatch):
    """A millisecond a run."""
    clock = [0.0]
    monkeypatch.setattr(running.time, "perf_counter", lambda: clock[0])

    def slow(value, rng):
        clock[0] += 0.001
        return value + rng.geometric(0.5)

    verdict = audit(slow, (0, 1), epsilon=50, seconds=0.5, rng=np.random.default_rng(1))
    assert verdict.runs < 5000
    assert (
        "runs instead of 200,000: at the speed of the first runs, more would take longer than 0.5 s" in verdict.notes[0]
    )
    said = int(verdict.notes[0].split()[0].replace(",", ""))
    confirming = verdict.tried[0].n + verdict.tried[0].m
    assert abs(2 * confirming - said) <= 4  # half of the runs confirm, on either input as many


def test_a_function_that_requires_a_generator_gets_one():
    """A function whose generator is optional keeps its default."""

    def needs(value, rng):
        return value + rng.laplace()

    def has(value, rng=None):
        return value if rng is None else -1

    rarely = "0.9999999999"  # a true claim is refuted once in ten billion times
    assert not audit(needs, (0, 1), epsilon=1, runs=2000, last_bits=False, level=rarely).violated
    assert audit(has, (0, 1), epsilon=1, runs=2000).violated


def test_a_delta_without_epsilon_and_nothing_to_run_are_refused():
    with pytest.raises(ValueError, match="`delta` must come with `epsilon`"):
        audit(warner(p="2/3"), delta=0.1)
    assert [_claim(None, 1, delta) for delta in (0, 0.1)] == [Pure(1), Approx(1, 0.1)]
    with pytest.raises(TypeError, match="it cannot be run"):
        audit(3, (0, 1))


@pytest.mark.parametrize("pairs", [[(0, 1)], [(0, 1), (2, 3)], [(i, i + 1) for i in range(0, 10, 2)]], ids=len)
def test_all_runs_are_made_half_to_search_and_half_to_confirm(pairs):
    """But for what no whole number of runs on each input can be; the second pair has two fifths of the latter."""
    verdict = audit(lambda x, rng: x + rng.integers(0, 3), pairs, epsilon=1, runs=8000, seconds=math.inf)
    assert 7900 <= verdict.runs <= 8000
    for bound in ("epsilon", "delta"):  # the best of all trials
        assert getattr(verdict, bound) == max(getattr(trial, bound) for trial in verdict.tried)
    confirmed = {trial.pair.removesuffix(", reversed"): trial.n + trial.m for trial in verdict.tried}
    assert sorted(confirmed.values()) == ([4000] if len(pairs) == 1 else [1600, 2400])


def test_where_there_is_no_time_at_all_four_hundred_runs_are_made(monkeypatch):
    clock = count(0.0, 100.0)
    monkeypatch.setattr(running.time, "perf_counter", lambda: next(clock))
    verdict = audit(lambda x: x, (0, 1), epsilon=1, runs=2000)
    assert verdict.notes[0].startswith("400 runs instead of 2,000")
