"""Randomizers of many options: the contract on small instances, the limit, published numbers and errors."""

import itertools
import math
import re
import sys
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from tests.local.channel import NoDraw, law_of
from tests.local.oracles import contract
from tests.local.oracles.contract import CHECKS, Check, support_table
from tests.slowly import case, each
from toolkit import Design, Pure, k_ary
from toolkit.local import oracles
from toolkit.local.oracles import hashing
from toolkit.local.oracles.hashing import LocalHash
from toolkit.local.oracles.oracle import Oracle
from toolkit.local.oracles.random_box import RandomBox
from toolkit.local.oracles.subset import Subset
from toolkit.local.oracles.ticks import CappedBoxes
from toolkit.local.oracles.unary import Unary

SMALL = {
    "subset of 5, size 2": Subset(("a", "b", "c", "d", "e"), 2, 3, 1),
    "subset of 6, size 3": Subset(tuple(range(6)), 3, 5, 2),
    "subset of 4, size 1": Subset(("n", "s", "e", "w"), 1, 3, 1),
    "subset of 2": Subset(("no", "yes"), 1, 3, 1),
    "subset of 3, size 2": Subset(("p", "q", "r"), 2, 4, 1),
    "optimized unary of 4": Unary(tuple(range(4)), 2, 1, 4),
    "uneven unary of 3": Unary(tuple(range(3)), 4, 1, 5),
    "unary of 2": Unary(("no", "yes"), 3, 1, 4),
    "hash of 5 to 3": LocalHash(tuple(range(5)), 3, 2, 1),
    "hash of 4 to 4": LocalHash(tuple(range(4)), 4, 3, 1),
    "hash of 7 to 2": LocalHash(tuple(range(7)), 2, 3, 1),
    "hash of 3 to 6": LocalHash(("x", "y", "z"), 6, 5, 1),
}


SLOW = (
    contract.check_intervals_hold_their_level_by_enumeration,
    contract.check_many_draws_follow_the_channel,
    contract.check_variances_and_covariances_by_enumeration,
)


@pytest.mark.slow
@pytest.mark.parametrize("check", SLOW, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", SMALL)
def test_every_oracle_keeps_what_takes_longer_to_be_seen(name: str, check: Check) -> None:
    check(SMALL[name])


@pytest.mark.slow
@each(name=SMALL)
def test_every_oracle_keeps_the_contract(name: str) -> None:
    for check in (one for one in CHECKS if one not in SLOW):
        with case(check.__name__):
            check(SMALL[name])


MAKERS = (oracles.subset, oracles.unary, oracles.optimized_unary, oracles.local_hash, oracles.best)


@each(make=MAKERS)
def test_epsilon_is_just_below_the_one_asked_for(make: type) -> None:
    for k, epsilon in itertools.product((2, 3, 16, 128, 1000), (0.01, 0.1, 0.5, 1, 2, 4, 8, "1/3", 1.1)):
        oracle = make(k, epsilon)
        assert oracle.loss <= Pure(epsilon), (k, epsilon)
        asked = float(Pure(epsilon).epsilon)
        assert asked - oracle.epsilon < 2e-6 * asked, (k, epsilon)


# MSE divided by the limit: shared by the papers' formulas, for k-ary, symmetric unary, optimized unary,
# optimized local hashing, binary local hashing, subset selection; and the best size and the limit's standard
# error at n = 1000. Ye and Barg (2018) for the limit; Wang et al. (2017) for the unary encodings and local
# hashing.
RATIOS = """
.5 2    1   .0646 1.00 3.88 3.94 4.07 3.94 1.00
.5 16   6   .1174 2.80 1.16 1.15 1.16 1.21 1.00
1  2    1   .0342 1.00 3.56 3.79 3.89 3.79 1.00
1  5    1   .0495 1.00 1.67 1.65 1.67 1.90 1.00
1  10   3   .0548 1.40 1.34 1.29 1.30 1.56 1.00
1  16   4   .0570 1.92 1.23 1.17 1.18 1.44 1.00
1  128  34  .0602 12.2 1.08 1.02 1.02 1.29 1.00
1  1000 269 .0606 92   1.07 1.00 1.01 1.27 1.00
2  10   1   .0243 1.00 1.71 1.54 1.53 2.89 1.00
4  50   1   .0086 1.00 2.74 1.58 1.58 14.7 1.00
"""


@pytest.mark.parametrize("line", RATIOS.strip().splitlines())
def test_ratios_to_the_limit_are_those_of_the_literature(line: str) -> None:
    epsilon, k, size, se, *printed = line.split()
    eps, options = float(epsilon), int(k)
    least = oracles.limit(options, eps)
    assert least.size == int(size)
    assert f"{least.se(options, 1000):.4f}".lstrip("0") == se
    found = [
        oracles.subset(options, eps, size=1).ratio_to_limit,
        oracles.unary(options, eps).ratio_to_limit,
        oracles.optimized_unary(options, eps).ratio_to_limit,
        oracles.local_hash(options, eps).ratio_to_limit,
        oracles.local_hash(options, eps, values=2).ratio_to_limit,
        oracles.best(options, eps).ratio_to_limit,
    ]
    for value, shown in zip(found, printed, strict=True):
        digits = len(shown.partition(".")[2])
        assert abs(value - float(shown)) <= 0.5 * 10**-digits + 1e-6, (value, shown)


@pytest.mark.slow
@each(k=[2, 3, 4, 5, 10, 16, 50, 128, 1000])
def test_subset_attains_the_limit_and_no_size_is_better(k: int) -> None:
    for epsilon in (0.25, 0.5, 1, 2, 3, 4, 6):
        best, factor = oracles.best(k, epsilon), math.exp(epsilon)
        assert best.ratio_to_limit < 1.0001, epsilon
        sizes = np.arange(1, k)
        risks = (k - 1) ** 2 * (sizes * factor + k - sizes) ** 2 / (k * sizes * (k - sizes) * (factor - 1) ** 2)
        assert best.size == 1 + np.argmin(risks), epsilon
        assert math.isclose(oracles.limit(k, epsilon).risk, risks.min(), rel_tol=1e-12), epsilon
        assert all(best.ratio_to_limit <= make(k, epsilon).ratio_to_limit + 1e-6 for make in MAKERS), epsilon


def test_the_limit_of_two_options_is_warners_design() -> None:
    """Two options: the standard error is coth(epsilon / 2) / 2 / sqrt(n) at a share of one half; the design effect is
    coth**2.
    """
    for epsilon, effect in ((0.5, 16.67), (1, 4.68), (2, 1.72), (3, 1.22)):
        assert round(oracles.limit(2, epsilon).se(2, 1) ** 2 * 4, 2) == effect
        assert round(4 * oracles.best(["no", "yes"], epsilon).variance(0.5, 1), 2) == effect


@pytest.mark.slow
@each(
    make=[oracles.subset, oracles.unary, oracles.optimized_unary, oracles.local_hash],
    k=[2, 5, 16, 128, 1000],
    epsilon=[0.5, 1, 2, 4],
)
def test_measured_error_is_within_three_percent_of_theory(make: type, k: int, epsilon: float) -> None:
    """Mean squared error of real reports over options and surveys, with a fixed seed.

    With at least 40,000 squared errors per case, the standard error of their mean is 0.7 % (options are correlated, by
    at most -1/(k-1), so k = 2 counts once, with surveys of ten people). The tolerance of 3 % is more than 4 standard
    errors; false alarms 5e-5 per case.
    """
    oracle, rng, n = make(k, epsilon), np.random.default_rng(k * 1000 + int(epsilon * 10)), 40 if k > 2 else 10
    surveys = max(40_000 // (k if k > 2 else 1), 60)
    truth = 1 / np.arange(1, k + 1)
    truth /= truth.sum()
    answers = rng.choice(k, p=truth, size=surveys * n)
    reports = oracle.randomize(answers, rng)
    counts = support_table(oracle, reports).reshape(surveys, n, k).sum(axis=1)
    errors = (counts / n - float(oracle._support_law.q)) / oracle._support_law.slope - truth
    measured, theory = np.square(errors).mean(axis=0).sum(), np.diag(oracle.covariance(truth, n)).sum()
    assert abs(measured / theory - 1) < 0.03


def test_a_subset_of_size_one_is_k_ary_randomized_response() -> None:
    subset, design = oracles.best(["bus", "car", "bike"], 1.0), k_ary(["bus", "car", "bike"], epsilon=1.0)
    assert subset.k_ary() == design
    assert subset.epsilon == design.epsilon
    drawn = [randomizer.randomize(["car"] * 30, np.random.default_rng(1)).tolist() for randomizer in (subset, design)]
    assert drawn[0] == drawn[1]
    counts = [30, 50, 20]
    one, other = subset.estimate_counts(counts, 100), design.estimate_counts(counts)
    assert np.allclose(one.value, other.value)
    assert np.allclose(one.cov, other.cov)
    for method in ("wilson", "exact", "wald", "bayes"):
        assert np.allclose([*one.interval(0.9, method)], [*other.interval(0.9, method)])
    assert np.allclose(subset.covariance([0.2, 0.3, 0.5], 9), design.covariance([0.2, 0.3, 0.5], 9))
    with pytest.raises(ValueError, match="size 2"):
        Subset(tuple(range(5)), 2, 3, 1).k_ary()


def test_a_subset_of_size_one_is_k_ary_response_up_to_the_table_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A subset of size one becomes a design, unless it has more options than a table may have."""
    monkeypatch.setattr(sys.modules[Subset.__module__], "TABLE_LIMIT", 3)
    assert Subset(("a", "b", "c"), 1, 3, 1).k_ary().weights.tolist() == [[3, 1, 1], [1, 3, 1], [1, 1, 3]]
    with pytest.raises(ValueError, match="of at most 3 options, got 4 options"):
        Subset(("a", "b", "c", "d"), 1, 3, 1).k_ary()


def test_a_binary_oracle_speaks_of_the_last_option_as_a_design_does() -> None:
    oracle = oracles.best(["no", "yes"], 1.0)
    reports = oracle.randomize([True, False, True], np.random.default_rng(2))
    assert reports.dtype == bool
    estimate = oracle.estimate(reports)
    assert isinstance(estimate.value, float)
    assert estimate.labels == ("yes",)
    assert isinstance(oracle.variance(0.3, 100), float)


def test_reports_are_read_in_every_form() -> None:
    oracle = oracles.subset(16, 1.0)
    packed = oracle.randomize(np.arange(16), np.random.default_rng(3))
    table = np.unpackbits(packed, axis=1, bitorder="little").astype(bool)
    lists = [np.flatnonzero(row).tolist() for row in table]
    counts = [oracle.tally(form)[0].tolist() for form in (packed, table, lists, list(packed))]
    assert counts.count(counts[0]) == 4
    assert packed.shape == (16, 2)
    assert oracle.randomize(3).shape == (2,)


# --- published errors of other packages


def test_a_true_one_is_flipped_as_often_as_promised() -> None:
    """pure-ldp's RAPPOR client never flips a 1 to 0 (5000 of 5000 kept), so its epsilon is infinite.

    Our probability is checked exactly by enumeration, and with 20,000 draws from the system's randomness (6.5 standard
    errors, false alarms 2e-10).
    """
    small = Unary(("a", "b", "c"), 3, 1, 4)
    kept = sum(chance for report, chance in law_of(lambda draw: small._draw_report(1, draw)).items() if 1 in report)
    assert kept == small._support_law.p < 1
    for oracle in (oracles.unary(8, 1.0), oracles.optimized_unary(8, 1.0)):
        kept_share = oracle.tally(oracle.randomize(np.full(20_000, 5)))[0][5] / 20_000
        p = float(oracle._support_law.p)
        assert abs(kept_share - p) < 6.5 * math.sqrt(p * (1 - p) / 20_000)


def test_asking_again_costs_again_and_nothing_here_calls_itself_permanent() -> None:
    """multi-freq-ldpy redraws its "permanent" answers at every call: 400 calls recover the value at the price of one.

    Here a report is a value that can be stored and sent again, and a second draw is a second loss: the enumerated
    distribution of two reports has exactly twice the epsilon, and losses add up to it.
    """
    small = Unary(("a", "b"), 3, 1, 4)
    laws = [
        law_of(lambda draw, code=code: [small._draw_report(code, draw), small._draw_report(code, draw)].__str__())
        for code in (0, 1)
    ]
    assert max(laws[0][y] / laws[1][y] for y in laws[0]) == small._odds**2
    assert small.loss + small.loss == small.loss.group(2)
    names = {name for thing in (Oracle, Subset, Unary, LocalHash, oracles) for name in dir(thing)}
    assert not [name for name in names if "permanent" in name or "memo" in name]


@pytest.mark.slow
def test_estimates_are_not_clipped_and_renormalized() -> None:
    """multi-freq-ldpy: at k = 128, epsilon 1, n = 10,000, clipping and renormalizing moves the top option by -0.078.

    400 surveys with a fixed seed; 4.5 standard errors, false alarms 7e-6.
    """
    oracle, rng = oracles.optimized_unary(128, 1.0), np.random.default_rng(8)
    truth = 1 / np.arange(1, 129)
    truth /= truth.sum()
    top = [oracle.estimate(oracle.randomize(rng.choice(128, 10_000, p=truth), rng)).value[0] for _ in range(400)]
    assert abs(np.mean(top) - truth[0]) < 4.5 * math.sqrt(oracle.variance(truth, 10_000)[0] / 400)


# --- errors are raised before anything is drawn


@each(epsilon=[0, -1, math.nan, math.inf, True, "x", None, 23, 1e-12], make=MAKERS)
def test_an_impossible_epsilon_is_refused(make: type, epsilon: object) -> None:
    with pytest.raises((ValueError, TypeError), match=r"epsilon|number"):
        make(16, epsilon)


@each(options=[1, 0, True, "abc", ["a"], ["a", "a"], [1.5, 2]], make=MAKERS)
def test_impossible_options_are_refused(make: type, options: object) -> None:
    with pytest.raises((ValueError, TypeError), match="`options` must"):
        make(options, 1.0)


@each(answers=[["a", "zebra"], ["a", None], [0, 7], [0.5], [math.nan], [[0, 1]], []], make=MAKERS)
def test_bad_answers_are_refused_before_anything_is_drawn_and_never_quoted(make: type, answers: list[object]) -> None:
    with pytest.raises(ValueError, match=r"answers (must|given)") as error:
        make(["a", "b", "c"], 1.0).randomize(answers, NoDraw())
    assert "zebra" not in str(error.value)


def test_a_seed_is_not_a_generator() -> None:
    with pytest.raises(TypeError, match="default_rng"):
        oracles.subset(16, 1.0).randomize([1], rng=3)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda: Subset(("a", "b", "c"), 3, 3, 1), "`size` must be below 3, the number of options"),
        (lambda: Subset(("a", "b", "c"), 1, 1, 1), "`inside` must be above `outside`"),
        (lambda: Subset(("a", "b", "c"), 1, 2**32, 1), "the weights must sum to at most 2**32"),
        (lambda: Unary(("a", "b"), 4, 1, 4), "`other` < `own` < `denominator` must hold"),
        (lambda: Unary(("a", "b"), 2, 2, 4), "`other` < `own` < `denominator` must hold"),
        (lambda: Unary(("a", "b"), 3, 0, 4), "`other` must be at least 1"),
        (lambda: Unary(("a", "b"), 1, 3, 4), "`other` < `own` < `denominator` must hold"),
        (lambda: Unary(("a", "b"), 3, 1, 2**33), "`denominator` must be at most 2**32"),
        (lambda: LocalHash(("a", "b"), 1, 3, 1), "`values` must be at least 2"),
        (lambda: LocalHash(("a", "b"), 3, 1, 1), "`inside` must be above `outside`"),
        (lambda: oracles.subset(4, 1.0, size=4), "got 4: a set of all options says nothing"),
        (lambda: Subset.from_dict({"kind": "unary"}), "the data of a 'subset' must have that kind and"),
        (lambda: Subset.from_dict(oracles.unary(3, 1.0).to_dict()), "the data of a 'subset' must have that kind and"),
        (
            lambda: oracles.subset(16, 1.0).tally(np.zeros((3, 4), dtype=np.uint8)),
            "reports must be 2 packed bytes or 16 truth",
        ),
        (lambda: oracles.subset(16, 1.0).tally([[1, 1, 2, 3]]), "a report must be distinct option codes in 0 … 15"),
        (lambda: oracles.subset(16, 1.0).tally([[1, 99]]), "a report must be distinct option codes in 0 … 15"),
        (lambda: oracles.subset(12, 1.0).tally(np.full((3, 2), 255, dtype=np.uint8)), "reports must be on 12 options"),
        (lambda: oracles.local_hash(16, 1.0).tally([[9, 0, 0, 0, 0]]), "reports must hold integers from 0 to 3"),
        (lambda: oracles.local_hash(16, 1.0).tally([[4, 0, 0, 0, 0]]), "reports must hold integers from 0 to 3"),
        (lambda: oracles.local_hash(16, 1.0).tally([[-1, 0, 0, 0, 0]]), "reports must hold integers from 0 to 3"),
        (lambda: oracles.local_hash(16, 1.0).tally([[0, 0]]), "reports must be rows of 5 integers: the value"),
        (lambda: oracles.unary(3, 1.0).estimate_counts([1, 2, 9], 5), "`counts` must lie between 0 and n = 5"),
        (lambda: oracles.unary(3, 1.0).estimate_counts([1, 2], 5), "`counts` must hold one number for each of 3"),
        (lambda: oracles.unary(3, 1.0).estimate_counts([1, 2, -1], 5), "`counts` must lie between 0 and n = 5"),
        (
            lambda: oracles.unary(3, 1.0).estimate_counts([1, 2, 3], 5, method="mle"),
            "`method` must be one of moment, simplex",
        ),
        (
            lambda: oracles.unary(3, 1.0).variance([0.5, 0.6, 0.1], 5),
            "`prevalence` must be shares from 0 to 1 that sum",
        ),
        (
            lambda: oracles.unary(3, 1.0).variance([0.5, 0.5, 0], 5, respondents="both"),
            "`respondents` must be one of sample, fixed",
        ),
    ],
)
def test_what_cannot_be_is_refused(broken: object, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        broken()  # type: ignore[operator]


@pytest.mark.parametrize(
    "make",
    [
        lambda options: Subset(options, 1, 3, 1),
        lambda options: Unary(options, 3, 1, 4),
        lambda options: LocalHash(options, 3, 3, 1),
        lambda options: RandomBox(options, 3, 1),
        lambda options: CappedBoxes(options, 2, 1, 4),
    ],
    ids=["a set", "bits", "a hash", "one box", "boxes"],
)
def test_options_are_looked_at_whatever_makes_the_randomizer(make: Callable[[object], Oracle]) -> None:
    assert make(["a", "b", "c"]).options == ("a", "b", "c")
    with pytest.raises(ValueError, match="`options` must be distinct"):
        make(["a", "b", "a"])


@each(make=MAKERS)
def test_one_report_has_no_covariances_and_none_is_no_survey(make: type) -> None:
    oracle = make(3, 1.0)
    one = oracle.randomize([2])
    assert oracle.estimate(one).cov.shape == (3, 3)
    assert np.isnan(oracle.estimate(one).cov).all()
    with pytest.raises(ValueError, match="reports must hold at least one entry"):
        oracle.tally(one[:0])


def test_the_repr_of_an_oracle_gives_its_epsilon_and_its_variance() -> None:
    """The repr also compares the variance with the limit for unbiased estimates."""
    assert repr(Unary(range(5), 2, 1, 4)).startswith("<Unary of 5 options: epsilon 1.099, variance ")
    assert repr(LocalHash(range(5), 3, 3, 1)).startswith("<LocalHash of 5 options, 3 values: epsilon 1.099, variance ")
    for size, words in ((1, "size 1 (k-ary)"), (2, "size 2")):
        assert repr(Subset(range(5), size, 3, 1)).startswith(f"<Subset of 5 options, {words}: epsilon 1.099, variance ")


def test_a_hash_has_as_many_factors_as_the_last_option_has_binary_digits() -> None:
    assert [LocalHash(range(k), 3, 2, 1).n_digits for k in (2, 3, 4, 5, 8, 9)] == [1, 2, 2, 3, 3, 4]


@pytest.mark.parametrize("values", [100, 200, 300, 40_000])
def test_a_hash_to_many_values_is_drawn_without_overflow(values: int) -> None:
    """Sums of two residues fit into the type of the reports. A report that is almost never false supports its truth."""
    rng, oracle = np.random.default_rng(5), LocalHash(tuple(range(8)), values, 10**9, 1)
    for code in (0, 7):
        supports, people = oracle.tally(oracle.randomize(np.full(300, code), rng))
        assert (supports[code], people) == (300, 300)


def test_a_hash_is_drawn_in_bulk_by_the_rule_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of seven integers, three keep the value, and two each lead to one of the others."""
    oracle, every = LocalHash(range(2), 3, 3, 2), np.arange(7, dtype=np.uint64)
    monkeypatch.setattr(hashing, "below", lambda bound, *_: every if bound == 7 else every % np.uint64(3))
    draws = [iter((i % 3, i)) for i in range(7)]
    one_by_one = [oracle._draw_report(1, lambda _, own=own: next(own)) for own in draws]
    assert oracle.randomize(np.ones(7, dtype=int)).tolist() == one_by_one
    assert [(value - factor) % 3 for value, factor in one_by_one] == [0, 0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("reports", [["n", "e", "n"], np.array(["n", "e", "n"]), [0, 2, 0], [[0], [2], [0]]], ids=str)
def test_sets_of_one_are_read_as_options_and_as_phones_send_them(reports: object) -> None:
    assert SMALL["subset of 4, size 1"].tally(reports)[0].tolist() == [2, 0, 1, 0]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_set_holds_as_many_options_as_was_said(size: int) -> None:
    counts, n = (oracle := Subset(range(5), size, 3, 1)).tally(oracle.randomize(np.arange(5)))
    assert (counts.sum(), n) == (5 * size, 5)


def test_subset_reports_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="4 options"):
        oracles.subset(16, 1.0).tally([[1, 2, 3]])


@pytest.mark.slow
@pytest.mark.parametrize("make", [oracles.subset, oracles.unary])
def test_memory_stays_near_the_packed_reports(make: type) -> None:
    """128 bytes per report at k = 1024 and less than 40 MB of overhead: a million reports fit into 200 MB."""
    oracle, answers = make(1024, 1.0), np.random.default_rng(1).integers(0, 1024, 40_000)
    tracemalloc.start()
    reports = oracle.randomize(answers, np.random.default_rng(2))
    oracle.estimate(reports)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reports.nbytes == 128 * len(answers)
    assert peak - reports.nbytes < 40e6


def test_beyond_2048_options_covariances_are_left_out_and_nothing_else() -> None:
    oracle, rng = oracles.optimized_unary(5000, 1.0), np.random.default_rng(1)
    estimate = oracle.estimate(oracle.randomize(rng.integers(0, 5000, 10_000), rng))
    assert np.all(np.isfinite(estimate.se))
    assert estimate.cov is None
    assert estimate.rescaled(2.0).cov is None
    with pytest.raises(ValueError, match="covariances are available for up to 2048 options"):
        oracle.covariance(np.full(5000, 1 / 5000), 10_000)
    last = oracles.optimized_unary(2048, 1.0).estimate_counts(np.full(2048, 10), 100)
    assert last.cov.shape == (2048, 2048)
    assert [any("covariances" in note for note in one.notes) for one in (last, estimate)] == [False, True]


def test_a_design_has_no_second_estimator_of_its_own() -> None:
    """The k-ary design and the oracle give the same results, so the formula does not exist in two versions."""
    design: Design = k_ary(5, epsilon=0.7)
    truth = np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    assert np.allclose(design.variance(truth, 11), oracles.subset(5, 0.7, size=1).variance(truth, 11))


@pytest.mark.slow
@pytest.mark.parametrize("make", [oracles.best, oracles.optimized_unary, oracles.local_hash])
def test_a_million_options_are_estimated_in_little_memory(make: object) -> None:
    """Only rows are computed: 56 megabytes and 0.3 s were observed. A table of covariances would need 7 terabytes."""
    k, n = 10**6, 10**6
    oracle = make(k, 1.0)  # type: ignore[operator]
    counts = np.random.default_rng(1).binomial(n, float(oracle._support_law.q), size=k)
    tracemalloc.start()
    estimate = oracle.estimate_counts(counts, n)
    limits = estimate.interval()
    shown = repr(estimate) + estimate._repr_html_()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
    assert estimate.cov is None
    assert np.all(limits.empty | (limits.low <= limits.high))
    assert np.array_equal(np.isnan(limits.low), limits.empty)
    assert "… 999994 more" in shown
    assert "999,000 more" in shown
    assert len(shown) < 300_000


@pytest.mark.slow
def test_boxes_by_the_hundred_thousand_need_no_table_either() -> None:
    k, rng = 10**5, np.random.default_rng(1)
    for boxes, n in (
        (oracles.tick_boxes(k, 1.0, how="random"), np.full(k, 30)),
        (oracles.tick_boxes(k, 1.0, most=1), 3 * 10**6),
    ):
        tracemalloc.start()
        estimate = boxes.estimate_counts(rng.binomial(n, 0.4, size=k), n)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 100e6
        assert estimate.cov is None
        assert np.all(np.isfinite(estimate.value))
        assert any("covariances between options are left out" in note for note in estimate.notes)


def test_k_ary_response_with_very_many_options_needs_no_table() -> None:
    """At a large epsilon the best set has one option for any number of options; the repr does not build a k by
    k table.
    """
    best = oracles.best(100_000, 13.0)
    assert best.size == 1
    assert best.describe().startswith("We receive your real answer about ")
    assert "Otherwise we receive one of the 99,999 other answers" in best.describe()
    with pytest.raises(ValueError, match="a design is a table, of at most 2048 options"):
        best.k_ary()
