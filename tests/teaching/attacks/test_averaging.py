import math

import numpy as np
import pytest

from toolkit import k_ary, warner
from toolkit.audit.bounds import advantage
from toolkit.local import numeric
from toolkit.teaching.attacks.averaging import Belief, ask_again

DESIGN = warner(p="2/3")


@pytest.mark.slow
def test_forty_fresh_reports_betray_nearly_everyone():
    """The majority of 41 reports is wrong with probability 0.014; more than 12 wrong majorities among 200 people have
    probability below 1e-4.
    """
    paths = [ask_again(DESIGN, "yes", 41, rng=np.random.default_rng(seed)) for seed in range(200)]
    right = sum(path.beliefs[-1, 1] > 0.5 for path in paths)
    assert right >= 188


@pytest.mark.slow
def test_a_remembered_report_reveals_no_more_when_it_is_repeated():
    """The success rate attains the bound for one report, e**eps / (1 + e**eps) = 2/3; 600 people, four standard
    errors.
    """
    paths = [ask_again(DESIGN, "yes", 41, remembered=True, rng=np.random.default_rng(seed)) for seed in range(600)]
    right = np.mean([path.beliefs[-1, 1] > 0.5 for path in paths])
    assert all(path.beliefs[-1].max() == pytest.approx(2 / 3) for path in paths)
    assert right == pytest.approx((1 + advantage(DESIGN.epsilon)) / 2, abs=4 * math.sqrt(2 / 9 / 600))


def test_the_belief_never_passes_what_the_reports_cost_together():
    path = ask_again(DESIGN, "yes", 30, rng=np.random.default_rng(1))
    for times, belief in enumerate(path.beliefs):
        assert belief.max() <= 1 / (1 + math.exp(-times * DESIGN.epsilon)) + 1e-12


def test_the_belief_is_bayes_rule():
    path = ask_again(k_ary(["a", "b", "c"], epsilon=1.0), "b", 1, rng=np.random.default_rng(1))
    assert sorted(path.beliefs[1]) == pytest.approx(
        sorted([math.e / (math.e + 2), 1 / (math.e + 2), 1 / (math.e + 2)]), rel=1e-6
    )
    assert path.beliefs[0].tolist() == pytest.approx([1 / 3] * 3)
    belief = Belief(("a", "b", "c"), np.array([[0.5, 0.3, 0.2], [0.25, 0, 0.75]]))
    assert (belief.sure_after(0.75), belief.sure_after(0.76)) == (1, None)
    assert ask_again(DESIGN, "yes", 3000, rng=np.random.default_rng(1)).beliefs[-1] == pytest.approx([0, 1])


def test_how_soon_an_observer_is_sure():
    path = ask_again(DESIGN, "no", 60, rng=np.random.default_rng(2))
    sure = path.sure_after(0.99)
    assert path.beliefs[sure].max() >= 0.99 > path.beliefs[sure - 1].max()
    assert ask_again(DESIGN, "no", 5, remembered=True).sure_after(0.99) is None


def test_what_tells_no_law_is_refused():
    class Mute:
        options = ("no", "yes")

    with pytest.raises(TypeError, match="must have a known distribution of reports"):
        ask_again(Mute(), "no", 3)
    assert numeric.one_bit((0, 1), 1.0).options == ()
