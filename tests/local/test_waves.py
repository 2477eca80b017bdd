"""Waves: privacy losses by enumeration of all series, estimates by closed forms and enumeration."""

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from tests.local.memos import draw_memos, draw_wave
from tests.slowly import each
from toolkit import Design, crosswise, forced, k_ary, kuk, mangat, warner
from toolkit.local.waves import (
    Memo,
    epsilon_of,
    largest_ratio_changing,
    largest_ratio_lost_memos,
    largest_ratio_unchanged,
    make_count_weight,
)

MEMO = Memo(warner("3/4"), warner("3/4"))
OTHERS = [MEMO, Memo(forced("1/6", "1/6"), warner("9/10")), Memo(forced("1/3", "1/10"), crosswise("1/5"))]


def law(memo: Memo, truths: tuple[int, ...]) -> np.ndarray:
    """Return Pr(series of reports | series of truths), by summing over the memos of both truths."""
    a, b = memo.permanent.matrix, memo.fresh.matrix
    found = []
    for reports in itertools.product((0, 1), repeat=len(truths)):
        total = 0.0
        for memos in itertools.product((0, 1), repeat=2):
            chance = a[0, memos[0]] * a[1, memos[1]]
            for truth, report in zip(truths, reports, strict=True):
                chance *= b[memos[truth], report]
            total += chance
        found.append(total)
    return np.array(found)


def test_reports_of_an_unchanged_truth_cost_what_the_reference_says() -> None:
    expected = {1: 0.510825624, 2: 0.847297860, 3: 1.005521866, 5: 1.087712998, 10: 1.098567130}
    for reports, epsilon in expected.items():
        assert abs(MEMO.epsilon(reports) - epsilon) < 1e-9
    assert MEMO.epsilon(300) <= math.log(3) + 1e-12
    assert abs(10 * MEMO.design.epsilon - 5.108) < 5e-4  # ten answers that are each drawn afresh


def test_a_changing_truth_costs_what_the_reference_says() -> None:
    for fresh, epsilon in (("3/4", 1.021651248), ("9/10", 1.694595721), ("99/100", 4.026478401)):
        memo = Memo(warner("3/4"), warner(fresh))
        assert abs(memo.epsilon(2, truth="changing") - epsilon) < 1e-9
        assert abs(memo._two_wave_design.epsilon - epsilon) < 1e-6
    assert abs(MEMO.epsilon(4, truth="changing") - 1.982277793) < 1e-9
    assert abs(MEMO.epsilon(6, truth="changing") - 3.032694979) < 1e-9
    certain = Design([[1, 0], [0, 1]], 1, ("no", "yes"))
    assert Memo(warner("3/4"), certain).epsilon(2, truth="changing") == math.inf
    assert abs(Memo(warner("4/7"), certain).epsilon(9) - math.log(4 / 3)) < 1e-12  # mixed reports are impossible


def test_memos_that_may_be_lost_cost_what_the_reference_says() -> None:
    """Warner 3/4 on 3/4 costs as much as fresh draws in every wave, up to about ten waves; if the fresh noise is weak
    or there are many waves, a stored memo reveals more about a truth that changes.
    """
    for reports, epsilon in ((1, 0.510825624), (2, 1.021651248), (4, 4 * 0.5108256238), (12, 6.304905945)):
        assert abs(MEMO.epsilon(reports, truth="changing", memo="lost") - epsilon) < 1e-9
    weak = Memo(warner("3/4"), warner("99/100"))
    assert abs(weak.epsilon(2, truth="changing", memo="lost") - 4.026478401) < 1e-9
    assert weak.epsilon(2, truth="changing", memo="lost") > 2 * weak.epsilon(1)
    assert abs(MEMO.epsilon(10, memo="lost") - 10 * MEMO.epsilon(1)) < 1e-9
    certain = Memo(warner("3/4"), Design([[1, 0], [0, 1]], 1, ("no", "yes")))
    assert certain.epsilon(2, truth="changing", memo="lost") == math.inf
    assert abs(certain.epsilon(2, memo="lost") - 2 * math.log(3)) < 1e-12


@pytest.mark.parametrize("memo", [*OTHERS, Memo(warner("3/4"), warner("99/100"))])
@pytest.mark.parametrize("truth", ["unchanged", "changing"])
def test_lost_memos_cost_the_worst_of_all_ways_to_lose_them_enumerated(memo: Memo, truth: str) -> None:
    """Three waves; all ways to assign them to phones, including a return to the first phone, and all truths."""
    series = list(itertools.product((0, 1), repeat=3))
    truths = series if truth == "changing" else [series[0], series[-1]]
    worst = 0.0
    for phones in ((0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0), (0, 1, 2)):
        runs = [[wave for wave in range(3) if phones[wave] == phone] for phone in set(phones)]
        laws = np.ones((len(truths), len(series)))
        for row, told in enumerate(truths):
            for run in runs:
                seen = law(memo, tuple(told[wave] for wave in run)).reshape((2,) * len(run))
                laws[row] *= [seen[tuple(reports[wave] for wave in run)] for reports in series]
        assert np.allclose(laws.sum(axis=1), 1)
        worst = max(worst, np.log(laws.max(axis=0) / laws.min(axis=0)).max())
    assert abs(memo.epsilon(3, truth=truth, memo="lost") - worst) < 1e-12


@each(reports=[1, 2, 3, 4], memo=OTHERS)
def test_costs_are_those_of_all_series_enumerated(memo: Memo, reports: int) -> None:
    laws = np.array([law(memo, truths) for truths in itertools.product((0, 1), repeat=reports)])
    assert np.allclose(laws.sum(axis=1), 1)
    worst = np.log(laws.max(axis=0) / laws.min(axis=0)).max()
    assert abs(memo.epsilon(reports, truth="changing") - worst) < 1e-12
    same = laws[[0, -1]]
    assert abs(memo.epsilon(reports) - np.log(same.max(axis=0) / same.min(axis=0)).max()) < 1e-12


@pytest.mark.parametrize("memo", OTHERS)
def test_an_unchanged_truth_costs_at_most_the_permanent_answer(memo: Memo) -> None:
    """An unchanged truth never costs more than the permanent answer, and one report goes through both designs."""
    costs = [memo.epsilon(reports) for reports in range(1, 12)]
    assert costs == sorted(costs)
    assert costs[-1] <= memo.permanent.epsilon
    assert abs(costs[0] - memo.design.epsilon) < 1e-12
    assert np.allclose(memo.design.matrix, memo.permanent.matrix @ memo.fresh.matrix)
    assert memo.epsilon(1, truth="changing") == costs[0]


def test_two_waves_are_no_product() -> None:
    """Rows are truths 00, 01, 10, 11; a = b = 3/4."""
    expected = [
        [0.4375, 0.1875, 0.1875, 0.1875],
        [0.234375, 0.390625, 0.140625, 0.234375],
        [0.234375, 0.140625, 0.390625, 0.234375],
        [0.1875, 0.1875, 0.1875, 0.4375],
    ]
    assert np.allclose(MEMO._two_wave_design.matrix, expected, atol=1e-12)
    for memo in OTHERS:
        laws = [law(memo, truths) for truths in itertools.product((0, 1), repeat=2)]
        assert np.allclose(memo._two_wave_design.matrix, laws, atol=1e-9)


def given(*draws: int) -> Callable[[int], int]:
    """Repeat draws that were already made."""
    left = iter(draws)
    return lambda _: next(left)


def waves() -> tuple[np.ndarray, np.ndarray]:
    pairs = np.repeat(np.arange(4), [820, 430, 390, 360])
    return pairs // 2, pairs % 2


def test_change_and_flows_have_the_reference_numbers() -> None:
    first, second = waves()
    assert abs(MEMO.estimate(first).value) < 1e-12
    assert abs(MEMO.estimate(second).value - 0.08) < 1e-12
    change = MEMO.change(first, second)
    assert abs(change.value - 0.08) < 1e-12
    assert abs(change.se - 0.057257656) < 1e-9
    assert change.loss.epsilon == MEMO._truth_flows(first, second).loss.epsilon == MEMO.epsilon(2, truth="changing")
    assert MEMO.estimate(first).loss.epsilon == MEMO.epsilon()
    flows = MEMO._truth_flows(first, second)
    assert flows.labels == ("no → no", "no → yes", "yes → no", "yes → yes")
    assert np.allclose(flows.value, [0.848, 0.152, 0.072, -0.072])
    assert np.allclose(flows.se, [0.0540158, 0.04619865, 0.04453313, 0.04135291], atol=1e-7)
    assert abs(flows.value[1] - flows.value[2] - change.value) < 1e-12


@pytest.mark.parametrize(("flows", "variance"), [((0.65, 0.05, 0.05, 0.25), 6.25), ((0.6, 0.1, 0.04, 0.26), 6.3464)])
def test_a_memo_makes_a_change_more_precise_than_fresh_answers(flows: tuple[float, ...], variance: float) -> None:
    """Variance per person, by enumeration of pairs of reports; fresh draws of the same one-report design have 7.60 for
    the first flows, two separate samples 7.92.
    """
    without, given = MEMO.design.matrix[:, 1]
    scores = (np.array([0, 1, -1, 0])) / (given - without)
    seen = np.array(flows) @ MEMO._two_wave_design.matrix
    assert abs(seen @ scores**2 - (seen @ scores) ** 2 - variance) < 1e-9
    if flows[1] == 0.05:
        fresh = np.array(flows) @ np.kron(MEMO.design.matrix, MEMO.design.matrix)
        assert abs(fresh @ scores**2 - (fresh @ scores) ** 2 - 7.60) < 1e-9
        assert abs(2 * MEMO.design.variance(0.3, 1) - 7.92) < 1e-9


@pytest.mark.slow
def test_the_change_is_unbiased_and_its_interval_covers() -> None:
    """300 panels of 400 people, in which 6 % change to yes and 4 % to no: the mean is within 4 of its standard errors,
    and at least 270 intervals cover; false alarms 6e-5 and 2e-4.
    """
    rng, values, covered = np.random.default_rng(6), [], 0
    first = rng.random(400) < 0.3
    for _ in range(300):
        first = rng.random(400) < 0.3
        second = np.where(first, rng.random(400) < 1 - 0.04 / 0.3, rng.random(400) < 0.06 / 0.7)
        memos = draw_memos(MEMO, 400, rng)
        waves = [draw_wave(MEMO, memos, truths.astype(int), rng) for truths in (first, second)]
        found = MEMO.change(*waves)
        low, high = found.interval()
        values.append(found.value)
        covered += low <= 0.02 <= high
    assert abs(np.mean(values) - 0.02) < 4 * np.std(values) / math.sqrt(300)
    assert covered >= 270


def test_who_stays_reports_from_one_memo() -> None:
    rng = np.random.default_rng(1)
    memos, truths = draw_memos(MEMO, 100_000, rng), np.zeros(100_000, dtype=int)
    same, again = draw_wave(MEMO, memos, truths, rng), draw_wave(MEMO, memos, truths, rng)
    both = np.mean((same == 1) & (again == 1))
    assert abs(both - 0.1875) < 4.5 * math.sqrt(0.1875 * 0.8125 / 100_000)  # false alarms 7e-6


def test_labels_and_frames_are_read_as_everywhere() -> None:
    memo = Memo(warner("3/4"), warner("4/5"))
    assert memo.estimate(pd.Series([0, 1, 1, 0])).n == 4
    assert math.isnan(memo.change([1], [0]).se)
    moved = memo.change([0, 0], [0, 1])
    assert moved.se == pytest.approx(moved.value)  # d / 2 and d / 2
    low, high = memo.change([0, 0, 0], [0, 0, 1]).interval(0.2, method="t")
    assert (high - low) / 2 / memo.change([0, 0, 0], [0, 0, 1]).se == pytest.approx(student.ppf(0.6, 2))
    alike = memo.change([0, 0], [0, 0])  # which has the error of two people who both stayed at no
    assert alike.se == pytest.approx(math.sqrt(memo.change([0] * 8, [0] * 8).se ** 2 * 4))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(TypeError, match="`permanent` must be a design with two options and two reports"):
        Memo(k_ary(3, epsilon=1.0), warner("3/4"))
    with pytest.raises(TypeError, match="`fresh` must be a design with two options"):
        Memo(warner("3/4"), kuk(0.8, 0.2, draws=3))
    with pytest.raises(TypeError, match="`fresh` must be a design"):
        Memo(warner("3/4"), None)
    with pytest.raises(ValueError, match="both waves must be of the same people, got 2 and 3 reports"):
        MEMO.change([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="`truth` must be one of unchanged, changing"):
        MEMO.epsilon(2, truth="fixed")
    with pytest.raises(ValueError, match="`memo` must be one of kept, lost"):
        MEMO.epsilon(2, memo="here")
    with pytest.raises(ValueError, match="`reports` must be at least 1"):
        MEMO.epsilon(0)


@pytest.mark.parametrize("memo", OTHERS[:2])
def test_what_a_device_sends_has_the_law_of_two_waves_over_all_draws(memo: Memo) -> None:
    """All draws of memos and all fresh draws of both waves are counted: memos are drawn once, fresh noise in
    each wave.
    """
    kept, sent = memo.permanent.denominator, memo.fresh.denominator
    counts = np.zeros((4, 4), dtype=object)
    for zero, one in itertools.product(range(kept), repeat=2):
        drawn = [[memo._draw_report(truth, given(zero, one, last)) for last in range(sent)] for truth in (0, 1)]
        times = [np.bincount(reports, minlength=2) for reports in drawn]
        for first, second in itertools.product((0, 1), repeat=2):
            counts[2 * first + second] += np.outer(times[first], times[second]).ravel()
    told = memo._two_wave_design.weights.astype(object)
    assert np.all(counts * memo._two_wave_design.denominator == told * (kept * sent) ** 2)


def test_it_is_written_and_read_and_says_what_it_is() -> None:
    for memo in OTHERS:
        data = json.loads(json.dumps(memo.to_dict()))
        assert Memo.from_dict(data) == memo
        assert memo._browser_data() == {**memo.to_dict(), "options": list(memo.permanent.options)}
        assert memo._design_is_exact
    assert (
        Memo(warner("3/4"), warner("3/4"))
        .describe()
        .startswith("If your answer is “yes”, we receive “yes” 5 times in 8")
    )
    assert "epsilon of all of them together is infinite" in Memo(mangat("1/2"), warner("3/4")).describe()
    fine = warner(epsilon=1.0)
    assert not Memo(fine, fine)._design_is_exact
    for wrong in ({}, [], {**MEMO.to_dict(), "kind": "design"}, {"kind": "memo", "permanent": {}}):
        with pytest.raises(ValueError, match="the data of a 'memo' must have that kind and the fields"):
            Memo.from_dict(wrong)


def test_what_no_series_can_prove_costs_nothing_more() -> None:
    """A memo that is never no: impossible series are left out of the worst case."""
    chance = make_count_weight([[1, 1], [0, 2]], [[4, 0], [0, 4]])
    assert largest_ratio_unchanged(chance, 2) == math.inf
    assert largest_ratio_changing(chance, 2) == math.inf


def test_ratios_are_fractions_and_those_of_runs_multiply() -> None:
    """Warner 3/4 on 3/4: one report has probabilities 5/8 and 3/8."""
    chance = make_count_weight([[3, 1], [1, 3]], [[3, 1], [1, 3]])
    assert largest_ratio_unchanged(chance, 1) == largest_ratio_changing(chance, 1) == Fraction(5, 3)
    assert largest_ratio_unchanged(chance, 2) == Fraction(7, 3)
    assert largest_ratio_lost_memos(lambda run: largest_ratio_unchanged(chance, run), 2) == Fraction(25, 9)
    costs = {1: Fraction(2), 2: Fraction(5), 3: Fraction(6), 4: Fraction(11), 5: Fraction(1)}
    assert [largest_ratio_lost_memos(costs.__getitem__, reports) for reports in (1, 2, 3, 4, 5)] == [2, 5, 10, 25, 50]
    assert largest_ratio_lost_memos({1: Fraction(2), 2: math.inf}.__getitem__, 2) == math.inf
    assert epsilon_of(Fraction(1)) == 0
    assert epsilon_of(math.inf) == math.inf
