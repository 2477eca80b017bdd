"""Reports that all agree, and reports that contradict their design, with a sample as without."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.analysis.reference_survey import COINS, DIE, WARNER
from tests.slowly import each
from toolkit import Design, Question, Survey, crosswise, k_ary, warner
from toolkit.analysis import Sample, association, estimates, plain
from toolkit.local import numeric, oracles
from toolkit.local.anchor import attention_counts, corrected_counts
from toolkit.local.waves import Memo
from toolkit.survey import results

N = 300
ALIKE = Sample(weights=np.ones(N))
WEIGHTS = np.tile([1.0, 3.0], N // 2)
KISH = WEIGHTS.sum() ** 2 / (WEIGHTS**2).sum()
WEIGHTED = Sample(weights=WEIGHTS)
CLUSTERS = Sample(weights=WEIGHTS, clusters=np.arange(N) // 10)


def _frame(yes: int) -> pd.DataFrame:
    return pd.DataFrame({"a": ["no"] * (N - yes) + ["yes"] * yes, "g": np.arange(N) // 2 % 2})


@pytest.mark.parametrize("sample", [None, ALIKE, WEIGHTED, CLUSTERS])
def test_a_contradiction_is_told_and_never_printed_as_zero(sample: Sample | None) -> None:
    """290 no of 300 by a die that makes at least 50 yes: it was "-0.231 to -0.169" and a reassuring note."""
    found = estimates(_frame(10), {"a": DIE}, sample=sample)
    one = found["a"]
    assert one.contradicted
    assert one.interval().empty
    assert np.isnan(one.interval().low)
    assert "no share fits at 95 %" in repr(one)
    assert one.notes[0].startswith("no share agrees with these reports at 95 %")
    assert "do not publish it as a share" in found._repr_html_()
    assert ("3e-13" in found._repr_html_()) == (sample in (None, ALIKE))
    assert found.summary()["95 % interval"].tolist() == ["no share fits"]
    assert found.to_frame()["empty"].tolist() == [True]
    assert found.plot() is not None
    by_group = estimates(_frame(10), {"a": DIE}, by="g", sample=sample)
    assert all(one.contradicted for one in by_group["a"].values())


@pytest.mark.slow
def test_people_who_weigh_the_same_contradict_their_design_as_counts_do() -> None:
    for yes in (0, 10, 30, 40, 45, 100, 260, 290, 300):
        counted, drawn = (estimates(_frame(yes), {"a": DIE}, sample=sample)["a"] for sample in (None, ALIKE))
        assert counted.fit is not None
        assert drawn.fit is not None
        assert counted.fit.p == drawn.fit.p
        assert counted.contradicted == drawn.contradicted
        assert counted.se == pytest.approx(drawn.se, rel=1e-9)


def test_what_the_design_can_make_has_an_interval_by_its_clusters() -> None:
    drawn = estimates(_frame(100), {"a": DIE}, sample=CLUSTERS)["a"]
    own = CLUSTERS.mean(DIE.scores(_frame(100).a))
    assert not drawn.contradicted
    low, high = own.interval()
    assert tuple(drawn.interval(method="t")) == pytest.approx((max(low, 0), high), rel=1e-12)
    assert drawn.interval().method == "wilson"
    assert drawn.notes == ()


@pytest.mark.slow
def test_false_alarms_at_the_edge_are_as_rare_as_they_are_claimed_to_be() -> None:
    """Nobody has it; weights 1 and 3, in clusters. A contradiction is told at p below 0.05, so in at most 5 %
    of surveys: more than 18 of 100 would then have a chance of 5e-7.
    """
    reports = np.random.default_rng(4).random((100, N)) < 1 / 6
    told = [estimates(pd.DataFrame({"a": row}), {"a": DIE}, sample=CLUSTERS)["a"] for row in reports]
    assert sum(one.contradicted for one in told) <= 18


def _all(design: Design, code: int) -> pd.DataFrame:
    return pd.DataFrame({"a": [design.report_options[code]] * N, "g": np.arange(N) // 2 % 2})


@pytest.mark.slow
@each(
    design=[DIE, COINS, crosswise("0.15"), warner("1/4"), k_ary(4, epsilon=1.0)],
    sample=[None, ALIKE, WEIGHTED, CLUSTERS],
)
def test_where_all_reports_agree_the_error_is_that_of_the_design(design: Design, sample: Any) -> None:
    """sqrt(variance at the nearest share / people): a share at 0 or 1 has no sampling error, so that weights
    count by Kish, and clusters not at all.
    """
    people = np.floor(KISH) if sample in (WEIGHTED, CLUSTERS) else N
    for code in (0, 1):
        found = estimates(_all(design, code), {"a": design}, sample=sample)["a"]
        right = np.sqrt(design.variance(np.clip(found.value, 0, 1), 1) / people)
        assert np.asarray(found.se) == pytest.approx(np.asarray(right), rel=1e-9)
        assert np.min(found.se) > 0
        assert np.diag(found.cov) == pytest.approx(np.atleast_1d(right) ** 2)


def test_a_die_that_says_no_three_hundred_times_errs_by_three_points() -> None:
    """sqrt(1/6 * 5/6 / 300) / (2/3)."""
    right = np.sqrt(5 / 36 / 300) * 1.5
    for method in ("moment", "simplex", "mle"):
        assert DIE.estimate_counts([300, 0], method).se == pytest.approx(right, rel=1e-12)
    low, high = DIE.estimate_counts([2, 0]).interval(0.95, "wald")
    assert (low, high) == pytest.approx((0, -0.25 + 1.959964 * np.sqrt(5 / 36 / 2) * 1.5), abs=1e-6)


def test_an_option_that_nobody_reports_has_the_error_of_the_design() -> None:
    """Of three options the last is in no report: it has the share 0, so the chance of its report is q."""
    design = k_ary(3, epsilon=1.0)
    p, q = design.matrix[0, 0], design.matrix[0, 1]
    right = np.sqrt(q * (1 - q) / 100) / (p - q)
    by_matrix = design.estimate_counts([50, 50, 0])
    by_support = oracles.subset(3, 1.0, size=1).estimate_counts([50, 50, 0], 100)
    for found in (by_matrix, by_support):
        assert found.se[2] == pytest.approx(right, rel=1e-9)
        assert found.cov[2, 2] == pytest.approx(right**2, rel=1e-9)
        assert found.se[0] == pytest.approx(np.sqrt(0.25 / 99) / (p - q), rel=1e-9)
    assert oracles.unary(3, 1.0).estimate_counts([50, 50, 0], 100).se.min() > 0.1
    boxes = oracles.tick_boxes(3, 1.0, how="random").estimate_counts([0, 5, 10], [10, 10, 10])
    assert boxes.se.min() > 0.1
    assert np.diag(boxes.cov).min() > 0.01


@pytest.mark.parametrize("sample", [None, ALIKE, CLUSTERS])
def test_groups_that_agree_do_not_make_a_difference_certain(sample: Sample | None) -> None:
    found = estimates(_all(DIE, 0), {"a": DIE}, by="g", sample=sample)
    one, other = found["a"].values()
    assert found.differences(0).se.item() == pytest.approx(np.hypot(one.se, other.se), rel=1e-9)
    assert found.differences(0).p.item() == pytest.approx(1)
    assert found.homogeneity("a").p == pytest.approx(1)


@pytest.mark.parametrize("yes", [(0, 30, 0), (20, 0, 30), (0, 100, 140)])
def test_walds_test_of_groups_counts_the_error_of_those_that_agree(yes: tuple[int, ...]) -> None:
    """Two differences from the first of three groups: W = d' V**-1 d, by the errors of the groups themselves."""
    groups = np.repeat([0, 1, 2], [60, 100, 140])
    reports = np.concatenate([np.arange(size) < count for size, count in zip((60, 100, 140), yes, strict=True)])
    frame = pd.DataFrame({"a": np.where(reports, "yes", "no"), "g": groups})
    found = estimates(frame, {"a": DIE}, by="g", sample=ALIKE)
    first, *others = found["a"].values()
    gaps = np.array([float(one) - float(first) for one in others])
    cov = first.se**2 + np.diag([one.se**2 for one in others])
    test = found.homogeneity("a", "wald")
    assert test.statistic == pytest.approx((N - 2) / (2 * (N - 1)) * gaps @ np.linalg.solve(cov, gaps), rel=1e-9)
    assert test.df == (2, N - 2)


@pytest.mark.parametrize("sample", [None, ALIKE])
def test_questions_that_agree_have_the_error_of_both_designs(sample: Any) -> None:
    """The answers agree person by person. All say no to both: two randomizations at the share 0, independent of
    each other.
    """
    frame = _all(DIE, 0).assign(b=["no"] * N)
    gap = estimates(frame, {"a": DIE, "b": WARNER}, sample=sample).difference("a", "b")
    assert gap.se == pytest.approx(np.sqrt(DIE.variance(0.0, N) + WARNER.variance(0.0, N)), rel=1e-9)
    assert gap.basis.df == N - 1
    both = estimates(_frame(100).assign(b=_frame(100).a), {"a": DIE, "b": DIE}, sample=sample)
    assert both.difference("a", "b").se > 0.02
    assert np.min(association(frame, {"a": DIE, "b": WARNER}, sample=sample).table.se) > 0.01


@pytest.mark.parametrize("scale", [1e-50, 1 / N, 1.0, 100.0])
def test_the_error_of_questions_that_agree_ignores_the_weights_scale(scale: float) -> None:
    """Of weights that add up to 1 there was none."""
    frame = _all(DIE, 0).assign(b=["no"] * N)
    found = estimates(frame, {"a": DIE, "b": WARNER}, sample=Sample(weights=scale * WEIGHTS)).difference("a", "b")
    assert found.se == pytest.approx(np.sqrt((DIE.variance(0.0, 1) + WARNER.variance(0.0, 1)) / KISH), rel=1e-9)


@pytest.mark.parametrize("sample", [None, ALIKE])
def test_a_group_of_whom_nobody_answered_both_questions_has_no_difference(sample: Sample | None) -> None:
    frame = _frame(100).assign(b=_frame(150).a)
    frame.loc[frame.g == 1, "b"] = None
    found = estimates(frame, {"a": DIE, "b": DIE}, by="g", missing="drop", sample=sample)
    for some, none in (found.difference("a", "b").values(), found.joint("a", "b").values()):
        assert np.isfinite(some.se).all()
        assert np.isnan(none.value).all()
    frame.loc[2, "b"] = "no"
    alone = estimates(frame, {"a": DIE, "b": DIE}, by="g", missing="drop", sample=sample).difference("a", "b")[1]
    assert (alone.value, alone.n) == (pytest.approx(0), 1)
    assert np.isnan(alone.se)


@pytest.mark.parametrize("sample", [None, ALIKE])
def test_what_is_no_share_of_a_matrix_is_never_certain_either(sample: Sample | None) -> None:
    bit, boxes = numeric.one_bit((0, 10), 1.0), oracles.tick_boxes(["x", "y"], 1.0, how="capped", most=1)
    frame = pd.DataFrame({"bit": [1] * N, "boxes": ["[]"] * N, "plain": ["f"] * N, "ticks": ["[0]"] * N})
    asked: Any = {"bit": bit, "boxes": boxes, "plain": plain(["f", "m"])}
    asked["ticks"] = plain(["x", "y"], multiple=True)
    found = estimates(frame, asked, sample=sample)
    assert found["bit"].se == pytest.approx(np.sqrt(bit.variance(10, N)), rel=1e-9)
    assert found["boxes"].se == pytest.approx(np.sqrt(boxes.variance(0.0, N)), rel=1e-9)
    # nothing hides these: as if one more had given each answer
    one = np.sqrt(1 / 302 * 301 / 302 / N)
    assert found["plain"].se == pytest.approx(one, rel=1e-9)
    assert found["ticks"].se == pytest.approx([one, one], rel=1e-9)
    assert numeric.piecewise((0, 10), 1.0).estimate([3] * 20).se > 1


def test_one_person_of_a_group_has_the_error_of_the_device() -> None:
    bit = numeric.one_bit((0, 10), 1.0)
    frame = pd.DataFrame({"bit": [1] * N, "g": np.arange(N) > 0})
    alone = estimates(frame, {"bit": bit}, by="g", sample=ALIKE)["bit"][False]
    assert alone.se == pytest.approx(np.sqrt(bit.variance(10, 1)), rel=1e-9)


def test_anchors_and_waves_that_agree_are_not_certain() -> None:
    design = crosswise("0.15")
    assert attention_counts(design, [0, 50]).se > 0.05
    assert attention_counts(design, [50, 0]).se > 0.05
    assert corrected_counts(design, [[0, 50], [0, 0]]).se != 0
    memo = Memo(warner("3/4"), warner("3/4"))
    change = memo.change([0] * 50, [0] * 50)
    law = memo._two_wave_design.covariance([1, 0, 0, 0], 50)
    assert change.se == pytest.approx(np.sqrt(law[1, 1] + law[2, 2] - 2 * law[1, 2]), rel=1e-9)


def test_reports_that_agree_have_the_error_of_the_design() -> None:
    """This holds in the results of a survey. A group of two who report the same had the standard error 0."""
    questions = [Question("cheated", "Cheated?", design=DIE), Question("sex", "Sex?", options=["f", "m"])]
    survey = Survey("Exams", questions, consent="Why.", check=False)
    frame = pd.DataFrame({"cheated": ["yes", "yes", "no", "yes", "no"], "sex": ["f", "f", "m", "m", "m"]})
    for sample in (None, Sample(weights=np.ones(5))):
        found = results.estimate(survey, frame, by="sex", sample=sample, minimum=0)
        assert found["cheated"]["f"].se == pytest.approx(np.sqrt(DIE.variance(1.0, 2)), rel=1e-9)


def test_a_few_people_are_worth_as_many_reports_as_their_weights_say() -> None:
    """Who sent nothing outweighs all others. These are worth 121 / 27 people, so four, and counts are their cumulated
    shares, rounded; of two boxes, of which each was asked about one, 7 / 3 and 8 / 3 people, so two each.
    """
    sample = Sample(weights=[4, 1, 1, 1, 2, 2, 20])
    frame = pd.DataFrame({"a": [*"abbbcc", None]})
    found = estimates(frame, {"a": k_ary(list("abc"), epsilon=1.0)}, sample=sample)["a"]
    assert found.basis.kish == pytest.approx([121 / 27] * 3)
    assert found.basis.shares.counts[:, 0].tolist() == [1, 2, 1]
    boxes = oracles.tick_boxes(["x", "y"], 4.0, how="random")
    cells = ["[0, 1]", "[0, 0]", "[1, 0]", "[1, 0]", "[0, 1]", "[1, 1]", None]
    asked = estimates(pd.DataFrame({"a": cells}), {"a": boxes}, sample=sample)["a"]
    assert asked.basis.kish == pytest.approx([7 / 3, 8 / 3])
    assert asked.fit.p == pytest.approx(boxes.estimate_counts([2, 1], [2, 2]).fit.p)
    three = oracles.tick_boxes(["x", "y", "z"], 4.0, how="random")
    some = estimates(pd.DataFrame({"a": cells}), {"a": three}, sample=sample)["a"]
    assert (asked.basis.df, some.basis.df) == (2, 2)  # nobody was asked about z


def test_reports_that_agree_have_no_design_effect() -> None:
    """Weights of many digits: their mean score differs from the scores by rounding alone."""
    weights = np.random.default_rng(1).uniform(0.5, 2, N)
    found = estimates(_all(DIE, 0), {"a": DIE}, by="g", sample=Sample(weights=weights))
    assert found.to_frame().deff.isna().all()
    assert found.summary().deff.tolist() == ["—", "—"]
