import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chisquare

from toolkit import k_ary, mangat, warner
from toolkit.audit import auditor
from toolkit.audit.auditor import _pearson, enumerate_laws, exact_delta, exact_epsilon, misfit_p_value
from toolkit.audit.running import law_of, pairs_for

DESIGN = warner(p="2/3")


def test_the_enumerated_epsilon_is_the_designs_own():
    for design in (DESIGN, k_ary(["a", "b", "c"], epsilon=1), mangat("2/3")):
        assert enumerate_laws(design, pairs_for(design), None).epsilon == design.epsilon


def test_a_claim_is_refuted_when_it_is_less_than_the_law_by_the_last_digit():
    pairs = pairs_for(DESIGN)
    assert not enumerate_laws(DESIGN, pairs, (DESIGN.epsilon, 0.0)).violated
    assert enumerate_laws(DESIGN, pairs, (math.nextafter(math.log(2), 0), 0.0)).violated


def test_delta_is_what_exceeds_the_claim():
    yes, no = (law_of(DESIGN, answer) for answer in ("yes", "no"))
    assert exact_delta(yes, no, 0.0) == Fraction(1, 3)
    assert exact_delta(yes, no, math.inf) == 0
    assert float(exact_delta(yes, no, 0.5)) == pytest.approx(2 / 3 - math.exp(0.5) / 3)
    assert not enumerate_laws(DESIGN, pairs_for(DESIGN), (0.5, 0.2)).violated
    assert enumerate_laws(DESIGN, pairs_for(DESIGN), (0.5, 0.1)).violated


def test_the_worst_pair_and_its_worse_direction_decide():
    """Of "no" a yes is never told: what tells them apart has probability 1/2 on one side, and 0 on the other."""
    laws = {"no": {"no": 1}, "yes": {"no": "1/2", "yes": "1/2"}, "maybe": {"no": "9/10", "yes": "1/10"}}
    told = SimpleNamespace(law=laws.__getitem__)
    for pairs in ([("no", "yes"), ("no", "maybe")], [("yes", "no")], [("maybe", "no"), ("yes", "no")]):
        named = dict(enumerate(pairs))
        assert enumerate_laws(told, named, (1.0, 0.49)).violated
        assert not enumerate_laws(told, named, (1.0, 0.5)).violated
    assert not enumerate_laws(told, {0: ("no", "maybe")}, (1.0, 0.1)).violated


def test_delta_is_that_of_the_worse_direction():
    """Three reports, true with 3/4, of two that say no and one who has it or has not, in sixty-fourths."""
    has, has_not = ({k: Fraction(n, 64) for k, n in enumerate(law)} for law in ((9, 33, 19, 3), (27, 27, 9, 1)))
    assert exact_delta(has, has_not, 0.5) == exact_delta(has_not, has, 0.5)
    assert float(exact_delta(has, has_not, 0.5)) == pytest.approx((27 - 9 * math.exp(0.5)) / 64)


def test_floats_are_probabilities_too():
    laws = {0: 0.5, 1: 0.5}, {0: 0.25, 1: 0.75}
    assert exact_epsilon(*laws) == pytest.approx(math.log(2))
    assert exact_delta(*laws, 0.0) == Fraction(1, 4)


def test_delta_takes_an_epsilon_that_numpy_computed():
    law = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert exact_delta(law, {0: Fraction(1)}, np.float64(1.0)) == exact_delta(law, {0: Fraction(1)}, 1.0)


def test_an_output_that_only_one_input_can_give_makes_epsilon_infinite():
    assert exact_epsilon({0: Fraction(1)}, {0: Fraction(1, 2), 1: Fraction(1, 2)}) == math.inf


def test_the_likelier_input_may_be_either():
    even, odd = ({0: first, 1: 1 - first} for first in (Fraction(1, 2), Fraction(9, 10)))
    assert exact_epsilon(even, odd) == exact_epsilon(odd, even) == pytest.approx(math.log(5))


def test_what_tells_no_law_is_not_enumerated():
    assert enumerate_laws(print, {"pair": (0, 1)}, (1.0, 0.0)) is None
    assert enumerate_laws(DESIGN, {"one of them": ("yes", "maybe")}, (1.0, 0.0)) is None


def test_draws_that_follow_the_law_pass_and_others_do_not():
    """False-alarm rate 1e-3 on a fixed seed."""

    class Biased:
        options = report_options = ("no", "yes")
        weights, denominator = np.array([[2, 1], [1, 2]]), 3

        def __init__(self, honest):
            self.honest = honest

        def randomize(self, answers, rng):
            return np.where(
                rng.random(len(answers)) < self.honest, answers, np.where(np.array(answers) == "no", "yes", "no")
            )

    rng = np.random.default_rng(1)
    assert misfit_p_value(DESIGN, pairs_for(DESIGN), rng) > 1e-3
    assert misfit_p_value(Biased(2 / 3), pairs_for(DESIGN), rng) > 1e-3
    assert misfit_p_value(Biased(0.64), pairs_for(DESIGN), rng) < 1e-9


def test_the_misfit_is_pearsons_with_rare_outputs_pooled():
    """Outputs that are expected fewer than ten times are pooled.

    Of 1,000 draws five each of two, which are ten together.
    """
    law = {"a": Fraction(1, 200), "b": Fraction(1, 200), "c": Fraction(39, 100), "d": Fraction(3, 5)}
    drawn = [*"a" * 9, *"b" * 7, *"c" * 400, *"d" * 584]
    assert _pearson(law, drawn) == pytest.approx(chisquare([16, 400, 584], [10, 390, 600]).pvalue)
    assert _pearson(law, drawn[:16]) == 1  # one group alone
    assert _pearson(law | {"e": Fraction(0)}, [*drawn, "e"]) == 0


def test_the_misfit_is_the_smallest_times_the_number_of_inputs(monkeypatch):
    """Each input is drawn from once, in whichever pairs it stands."""
    p_values = iter([0.3, 0.02, 0.5])
    monkeypatch.setattr(auditor, "_pearson", lambda _, drawn: (len(drawn) == 20_000) * next(p_values))
    assert misfit_p_value(k_ary([*"abc"], epsilon=1), {"1": ("a", "b"), "2": ("b", "c")}, None) == pytest.approx(0.06)
    assert next(p_values, None) is None


def test_an_impossible_output_is_a_misfit_for_certain():
    class Surprise:
        options, report_options = ("no", "yes"), ("no", "yes")
        weights, denominator = np.array([[2, 1], [1, 2]]), 3

        def randomize(self, answers, _):
            return ["maybe"] * len(answers)

    assert misfit_p_value(Surprise(), {"pair": ("no", "yes")}, None) == 0
