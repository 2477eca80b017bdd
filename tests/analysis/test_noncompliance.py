"""How many people who do not follow the instructions would explain an estimate: by putting them in.

Numbers of differences and slopes were computed by two codes that share nothing with ours: formulas for shares, and a
likelihood with the mixed matrix maximized by BFGS; by a die, women 469 of 1230, men 393 of 1170.
"""

import itertools
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from tests.analysis.reference_survey import CROSSWISE, DIE, WARNER, survey
from toolkit import crosswise, k_ary, kuk
from toolkit.analysis import Sample, compliance_sensitivity, identification_bounds, logistic, multinomial, tipping_point
from toolkit.analysis.noncompliance import BEHAVIORS
from toolkit.local import anchor
from toolkit.local.compliance import Compliance

DESIGNS = pytest.mark.parametrize("design", [DIE, WARNER, CROSSWISE], ids=["die", "warner", "crosswise"])


@DESIGNS
@pytest.mark.parametrize("behavior", ["random", "self_protective"])
def test_as_many_people_as_it_says_move_the_null_to_the_estimate(design, behavior: str) -> None:
    """The bias of `Compliance`, which is computed another way."""
    null = 0.02 if behavior == "random" else 0.6
    for yes in (300, 400, 450):
        estimate = design.estimate_counts([1000 - yes, yes])
        share = tipping_point(estimate, null).explains[behavior]
        if not math.isnan(share):
            moved = null + Compliance(**{behavior: share}).bias(design, null)
            assert moved == pytest.approx(estimate.value)


def test_random_answers_easily_explain_a_crosswise_survey() -> None:
    """Few of the people are carriers. Of a share of 2 %, ten per cent of random answers make 6.8 %."""
    seen = 0.85 + 0.068 * (0.15 - 0.85)
    estimate = CROSSWISE.estimate_counts([round(1e6 * (1 - seen)), round(1e6 * seen)])
    assert tipping_point(estimate, 0.02).explains["random"] == pytest.approx(0.1, abs=1e-4)


def test_silence_explains_no_high_estimate_and_false_claims_no_low_one() -> None:
    high = tipping_point(DIE.estimate_counts([600, 400]), 0)
    assert math.isnan(high.explains["self_protective"])
    assert math.isnan(tipping_point(DIE.estimate_counts([200, 800]), 0).explains["random"])  # it would take 1.9 of all
    assert high.explains["self_incriminating"] == pytest.approx((0.4 - 1 / 6) / (5 / 6))
    low = tipping_point(DIE.estimate_counts([800, 200]), 0.5)
    assert math.isnan(low.explains["self_incriminating"])
    assert low.explains["self_protective"] == pytest.approx(1 - 0.2 / 0.5)


def test_fewer_people_than_explain_it_are_enough_to_doubt_it() -> None:
    found = tipping_point(DIE.estimate_counts([600, 400]), 0)
    assert 0 < found.doubt["random"] < found.explains["random"]
    wide = tipping_point(DIE.estimate_counts([8, 3]), 0)
    assert wide.doubt == dict.fromkeys(BEHAVIORS, 0.0)
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


WOMEN, MEN = (DIE.estimate_counts(counts) for counts in ([761, 469], [777, 393]))
BOTH = {"women": WOMEN, "men": MEN}


@pytest.mark.parametrize(
    ("behavior", "shares", "value", "se"),
    [
        ("self_protective", (0.05, 0.05), 0.071690, 0.030892),
        ("self_protective", (0.1, 0.1), 0.075672, None),
        ("self_protective", (0.1, 0.0), 0.131655, None),
        ("self_protective", (0.0, 0.1), 0.012122, 0.031015),
        ("random", (0.1, 0.0), 0.048322, None),
        ("random", (0.0, 0.1), 0.095455, None),
    ],
)
def test_a_difference_of_shares_under_other_conduct(behavior, shares, value, se) -> None:
    found = compliance_sensitivity(BOTH, behavior=behavior).at(*shares)
    assert float(found) == pytest.approx(value, abs=1e-6)
    assert se is None or found.se == pytest.approx(se, abs=1e-6)


def test_equal_cheating_never_removes_a_difference() -> None:
    """Unequal cheating of two per cent removes it."""
    found = compliance_sensitivity(BOTH)
    assert found.tipping["men"].explains["self_protective"] == pytest.approx(0.119075, abs=1e-6)
    assert math.isnan(found.tipping["everybody"].explains["self_protective"])
    doubt = found.tipping["men"].doubt["self_protective"]
    assert 0.018 < doubt < 0.02
    assert found.at(0, doubt).interval().low == pytest.approx(0, abs=1e-8)
    assert compliance_sensitivity(BOTH, behavior="random").tipping["women"].explains["random"] == pytest.approx(
        0.276677, abs=1e-6
    )
    assert compliance_sensitivity(BOTH, behavior="carriers").tipping["men"].explains["carriers"] == pytest.approx(
        0.169231, abs=1e-6
    )
    assert repr(found).startswith("<Sensitivity to self_protective: 0.0681 becomes 0 by women no share")
    alone = compliance_sensitivity(WOMEN, null=0.45)
    share = alone.tipping["everybody"].explains["self_protective"]
    assert float(alone.at(share)) == pytest.approx(0.45, abs=1e-8)
    nothing = compliance_sensitivity({"a": WOMEN, "b": DIE.estimate_counts([761, 469])})
    assert nothing.tipping["a"].doubt["self_protective"] == 0


FIT = logistic("forced ~ female + age10", survey(), DIE)


@pytest.mark.parametrize(
    ("behavior", "men", "women", "value", "se"),
    [
        ("self_protective", 0.0, 0.0, 0.372136, 0.149537),
        ("self_protective", 0.1, 0.1, 0.370819, 0.151204),
        ("self_protective", 0.0, 0.1, 0.663308, None),
        ("self_protective", 0.05, 0.0, 0.229927, None),
        ("self_protective", 0.1, 0.0, 0.080619, None),
        ("random", 0.1, 0.1, 0.444317, 0.177436),
        ("random", 0.0, 0.1, 0.290611, None),
        ("carriers", 0.1, 0.1, 0.396031, None),
        ("carriers", 0.1, 0.0, 0.178151, None),
    ],
)
def test_a_slope_under_other_conduct(behavior, men, women, value, se) -> None:
    found = compliance_sensitivity(FIT, "female", by="female", behavior=behavior)
    assert found.groups == ("female = 0", "female = 1")
    slope = found.at(men, women)
    assert float(slope) == pytest.approx(value, abs=1e-6)
    assert se is None or slope.se == pytest.approx(se, rel=2e-5)


@pytest.mark.slow
def test_the_tipping_points_of_a_slope() -> None:
    fit = logistic("forced ~ female + age10", survey(), DIE, se="expected")
    found = compliance_sensitivity(fit, "female", by="female").tipping["female = 0"]
    assert found.explains["self_protective"] == pytest.approx(0.125835, abs=1e-6)
    assert found.doubt["self_protective"] == pytest.approx(0.028644, abs=1e-5)
    carriers = compliance_sensitivity(fit, "female", by=survey().female, behavior="carriers").tipping["0"]
    assert carriers.explains["carriers"] == pytest.approx(0.176500, abs=1e-6)


@pytest.mark.slow
def test_margins_options_and_arrays_of_groups_are_read_again_too() -> None:
    """Two options are the same model as a logistic one, and the order of two groups does not matter."""
    margin = compliance_sensitivity(FIT, lambda fit: fit.margins("female"), by="female").at(0.1, 0.0)
    again = logistic("forced ~ female + age10", survey(), DIE)
    assert float(margin) < float(again.margins("female"))
    options = multinomial("forced ~ female + age10", survey(), DIE)
    slope = compliance_sensitivity(options, f"{options.options[1]}: female", by="female").at(0.1, 0.0)
    assert float(slope) == pytest.approx(0.080619, abs=1e-5)
    table = compliance_sensitivity(FIT, "female", by="female").to_frame((0, 0.1))
    assert table.index.names == ["female = 0", "female = 1"]
    assert table["estimate"].tolist() == pytest.approx([0.372136, 0.663308, 0.080619, 0.370819], abs=1e-6)
    alone = compliance_sensitivity(WOMEN, null=0.25).to_frame((0.0, 0.1))
    assert len(alone) == 2


def test_people_with_designs_of_their_own_have_the_conduct_of_their_group() -> None:
    """Here by turns the same die under two names: all as if everybody had one."""
    turns = survey().assign(d=np.tile(["one", "two"], 1200))
    fit = logistic("forced ~ female + age10", turns, {"one": DIE, "two": DIE}, design_by="d")
    one, two = (compliance_sensitivity(which, "female", by="female").at(0.02, 0.1) for which in (FIT, fit))
    assert (two.value, two.se) == pytest.approx((one.value, one.se), rel=1e-6)


def test_a_model_without_a_maximum_has_no_number() -> None:
    """The estimate is missing where some conduct leaves the likelihood without a maximum."""
    table = compliance_sensitivity(FIT, "female", by="female", behavior="self_incriminating").to_frame((0.0, 0.3))
    assert table["estimate"].isna().any()
    assert table.iloc[0].notna().all()


@pytest.mark.slow
def test_the_tipping_point_is_found_just_before_the_model_has_no_maximum() -> None:
    """Honest people of the dice game (Höglinger and Jann, PLOS ONE 13, 2018), by crosswise with two harmless questions.
    Beyond 22.3 % random answers no share is the likeliest. The share 0.008 of the direct question is reached before: by
    hand, where the slope of the log-likelihood there is zero.
    """
    versions = {0.1595: (117, 417), 0.1971: (155, 384)}
    reports = np.concatenate([np.repeat([0, 1], counts) for counts in versions.values()])
    frame = {"report": reports, "p": np.repeat(list(versions), [sum(counts) for counts in versions.values()])}
    fit = logistic("report ~ 1", frame, {p: crosswise(p) for p in versions}, design_by="p")

    def slope(share: float) -> float:
        total = 0.0
        for p, (different, same) in versions.items():
            yes = (1 - share) * (1 - p + (2 * p - 1) * 0.008) + share / 2  # of "same"
            total += (2 * p - 1) * (same / yes - different / (1 - yes))
        return total

    doubt = compliance_sensitivity(fit, lambda one: one.margins(), behavior="random", null=0.008)
    by_hand = scipy.optimize.brentq(slope, 0.1, 0.3)
    assert doubt.tipping["everybody"].explains["random"] == pytest.approx(by_hand, abs=1e-6)
    assert np.isnan(doubt.to_frame([0.25])["estimate"]).all()


def test_bounds_hold_whatever_those_who_do_not_follow_have() -> None:
    pairs = {
        share: [identification_bounds(one, share, behavior="self_protective") for one in (WOMEN, MEN)]
        for share in (0.05, 0.1)
    }
    women, men = pairs[0.05]
    assert (women.low, women.high) == pytest.approx((0.334451, 0.384451), abs=1e-6)
    assert (men.low, men.high) == pytest.approx((0.266346, 0.316346), abs=1e-6)
    for share, (low, high) in {0.05: (0.018105, 0.118105), 0.1: (-0.031895, 0.168105)}.items():
        apart = pairs[share][0] - pairs[share][1]
        assert (apart.low, apart.high) == pytest.approx((low, high), abs=1e-6)
        below, above = zip(
            *((one.low - one.interval.low, one.interval.high - one.high) for one in pairs[share]), strict=True
        )
        reach = [math.hypot(below[0], above[1]), math.hypot(above[0], below[1])]
        assert [apart.low - apart.interval.low, apart.interval.high - apart.high] == pytest.approx(reach)
    anything = identification_bounds(WOMEN, 0.05)
    assert anything.low < women.low
    assert anything.high >= women.high
    assert repr(identification_bounds(WOMEN, "1/20")) == repr(anything)
    none = identification_bounds(WOMEN, 0)
    assert (none.low, none.high) == pytest.approx((WOMEN.value, WOMEN.value))
    assert tuple(none.interval) == pytest.approx(tuple(WOMEN.interval()))
    wide = identification_bounds(WOMEN, (0.0, 0.1), behavior="self_protective")
    assert (wide.low, wide.high) == pytest.approx((WOMEN.value, 0.396951 + 0.05), abs=1e-6)


@pytest.mark.parametrize("behavior", BEHAVIORS)
@DESIGNS
def test_bounds_hold_the_truth_of_every_mixture(design, behavior: str) -> None:
    """Expected counts of a population, so that nothing is left to chance."""
    for share, followers, others in ((0.1, 0.3, 0.0), (0.1, 0.3, 1.0), (0.2, 0.05, 0.5)):
        row = design.matrix[:, 1]
        last = {"random": 0.5}.get(behavior, float((row[1] > row[0]) == (behavior == "self_incriminating")))
        seen = (1 - share) * (row[0] + (row[1] - row[0]) * followers) + share * last
        counts = [round(10**9 * (1 - seen)), round(10**9 * seen)]
        found = identification_bounds(design.estimate_counts(counts), share, behavior=behavior)
        truth = (1 - share) * followers + share * others
        assert found.low - 1e-6 <= truth <= found.high + 1e-6
        loose = identification_bounds(design.estimate_counts(counts), share)
        assert loose.low - 1e-6 <= truth <= loose.high + 1e-6


def test_an_anchor_and_a_second_arm_narrow_or_contradict_bounds() -> None:
    follow = anchor.attention_counts(DIE, [1600, 400])
    by_anchor = identification_bounds(WOMEN, follow)
    halved = [identification_bounds(WOMEN, 1 - limit, level=0.975) for limit in follow.interval(0.975)]
    low, high = min(halved, key=lambda one: one.low), max(halved, key=lambda one: one.high)
    assert (by_anchor.low, by_anchor.high) == pytest.approx((low.low, high.high), abs=1e-8)
    assert [*by_anchor.interval][:2] == pytest.approx((low.interval.low, high.interval.high), abs=1e-8)
    assert by_anchor.interval.level == 0.95
    other = WARNER.estimate_counts([560, 440])
    both = identification_bounds([WOMEN, other], 0.1)
    assert both.low == max(identification_bounds(one, 0.1).low for one in (WOMEN, other))
    assert both.high == min(identification_bounds(one, 0.1).high for one in (WOMEN, other))
    with pytest.raises(ValueError, match="arms must have a share in common"):
        identification_bounds([WOMEN, DIE.estimate_counts([8300, 1700])], 0.01)


def test_what_cannot_be_asked_of_conduct_is_refused() -> None:
    with pytest.raises(ValueError, match="`quantity` must name the result"):
        compliance_sensitivity(FIT)
    with pytest.raises(ValueError, match="`by` must have two values, got 3"):
        compliance_sensitivity(FIT, "female", by=np.arange(2400) % 3)
    with pytest.raises(ValueError, match="one value for each row of the fit, got 10 for 2400"):
        compliance_sensitivity(FIT, "female", by=np.arange(10))
    with pytest.raises(ValueError, match="a share below 1 for each of women, men"):
        compliance_sensitivity(BOTH).at(0.1, 0.1, 0.1)
    with pytest.raises(ValueError, match="a share below 1 for each of women, men"):
        compliance_sensitivity(BOTH).at(0.1, 1)
    with pytest.raises(ValueError, match="two estimates by name, got 3"):
        compliance_sensitivity(BOTH | {"others": MEN})
    with pytest.raises(ValueError, match="must still differ from those of others"):
        compliance_sensitivity(BOTH, behavior="carriers").at(0.9)


def test_bounds_hold_the_share_whoever_does_not_follow() -> None:
    """All counts of 100 people who use a die: a tenth does not follow, of whom none, or all who can, have the trait,
    and who report 0 or 1. Exact, so without false alarms; over 432 such cells the least was .9477 (30 people).
    """
    n, off = 100, 0.1
    limits = np.array(
        [[*identification_bounds(DIE.estimate_counts([n - k, k]), off).interval][:2] for k in range(n + 1)]
    )
    for share, report in itertools.product((0.01, 0.05, 0.2, 0.5), (0, 1)):
        for among in (0.0, min(share, off)):
            yes = (1 - off) / 6 + (share - among) * 4 / 6 + off * report
            law = scipy.stats.binom.pmf(np.arange(n + 1), n, yes)
            assert law @ ((limits[:, 0] <= share) & (share <= limits[:, 1])) > 0.947


def test_an_anchor_that_contradicts_its_design_bounds_nothing() -> None:
    with pytest.raises(ValueError, match="there are more harmless answers than the design allows"):
        identification_bounds(WARNER.estimate_counts([70, 50]), anchor.attention(WARNER, ["no"] * 119 + ["yes"]))
    with pytest.raises(ValueError, match="there must be an estimate"):
        identification_bounds([], 0.1)


def test_more_than_half_of_the_people_may_explain_an_estimate() -> None:
    estimate, behavior = DIE.estimate_counts([36, 64]), "self_incriminating"
    share = compliance_sensitivity(estimate, behavior=behavior).tipping["everybody"].explains[behavior]
    assert share == pytest.approx(tipping_point(estimate).explains[behavior]) == pytest.approx(0.568)
