"""How many people who do not follow the instructions would explain an estimate: by putting them in."""

import math

import pytest

from toolkit import crosswise, forced, k_ary, kuk, warner
from toolkit.analysis import Sample, tipping_point
from toolkit.analysis.tipping import WAYS
from toolkit.local.compliance import Compliance

DIE = forced("1/6", "1/6")


@pytest.mark.parametrize("design", [DIE, warner("3/4"), crosswise("0.15")], ids=["die", "warner", "crosswise"])
@pytest.mark.parametrize("way", ["random", "self_protective"])
def test_as_many_people_as_it_says_move_the_null_to_the_estimate(design, way: str) -> None:
    """The bias of `Compliance`, which is computed another way."""
    null = 0.02 if way == "random" else 0.6
    for yes in (300, 400, 450):
        estimate = design.estimate_counts([1000 - yes, yes])
        share = tipping_point(estimate, null).explains[way]
        if not math.isnan(share):
            moved = null + Compliance(**{way: share}).bias(design, null)
            assert moved == pytest.approx(estimate.value)


def test_a_crosswise_survey_of_few_carriers_is_easily_explained_by_random_answers() -> None:
    """Of a share of 2 %, ten per cent of random answers make 6.8 %."""
    design = crosswise("0.15")
    seen = 0.85 + 0.068 * (0.15 - 0.85)
    estimate = design.estimate_counts([round(1e6 * (1 - seen)), round(1e6 * seen)])
    assert tipping_point(estimate, 0.02).explains["random"] == pytest.approx(0.1, abs=1e-4)


def test_silence_explains_no_high_estimate_and_false_claims_no_low_one() -> None:
    high = tipping_point(DIE.estimate_counts([600, 400]), 0)
    assert math.isnan(high.explains["self_protective"])
    assert high.explains["self_incriminating"] == pytest.approx((0.4 - 1 / 6) / (5 / 6))
    low = tipping_point(DIE.estimate_counts([800, 200]), 0.5)
    assert math.isnan(low.explains["self_incriminating"])
    assert low.explains["self_protective"] == pytest.approx(1 - 0.2 / 0.5)


def test_fewer_people_than_explain_it_are_enough_to_doubt_it() -> None:
    found = tipping_point(DIE.estimate_counts([600, 400]), 0)
    assert 0 < found.doubt["random"] < found.explains["random"]
    wide = tipping_point(DIE.estimate_counts([8, 3]), 0)
    assert wide.doubt == dict.fromkeys(WAYS, 0.0)
    assert list(found.to_frame().columns) == ["explains", "doubt"]


def test_a_sample_needs_its_design() -> None:
    estimate = Sample().mean(DIE.scores([0] * 60 + [1] * 40))
    with pytest.raises(ValueError, match="give design="):
        tipping_point(estimate)
    assert tipping_point(estimate, design=DIE).explains["random"] == pytest.approx(0.7)


def test_what_has_no_two_answers_is_refused() -> None:
    with pytest.raises(ValueError, match="of one share, got 3 values"):
        tipping_point(k_ary(3, epsilon=1.0).estimate_counts([1, 2, 3]))
    with pytest.raises(ValueError, match="two answers and two reports"):
        tipping_point(kuk("4/5", "1/5", draws=2).estimate_counts([5, 5, 5]))
    with pytest.raises(ValueError, match="shape"):
        tipping_point(DIE.estimate_counts([5, 5]), design=kuk("4/5", "1/5", draws=2))
    with pytest.raises(TypeError, match="must be an Estimate, got float"):
        tipping_point(0.2)
    with pytest.raises(ValueError, match="between 0 and 1"):
        tipping_point(DIE.estimate_counts([5, 5]), 2)
