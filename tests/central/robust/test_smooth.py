import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.central.robust.sensitivities import sensitivities
from tests.slowly import each
from toolkit.central.robust.ranks import RankStatistic
from toolkit.central.robust.smooth import distance, local_sensitivity, neighbors, smooth_sensitivity, tables

Q = Fraction(17, 20)
SMALL: dict[str, tuple[str, int, tuple[int, ...], dict[str, int]]] = {
    "median of 3": ("median", 3, (0, 1, 3, 4, 9), {}),
    "median of 5": ("median", 5, (0, 2, 3, 7), {}),
    "median of 7": ("median", 7, (0, 1, 4), {}),
    "midpoint of 2": ("midpoint", 2, (0, 1, 3, 4, 9), {}),
    "midpoint of 4": ("midpoint", 4, (0, 1, 3, 4, 9), {}),
    "midpoint of 6": ("median", 6, (0, 2, 3), {}),
    "minimum of 4": ("rank", 4, (0, 1, 3, 9), {"rank": 1}),
    "maximum of 3": ("rank", 3, (0, 1, 3, 9), {"rank": 3}),
    "mean of 3": ("trimmed", 3, (0, 1, 3, 9), {"trim": 0}),
    "trimmed of 5": ("trimmed", 5, (0, 2, 3, 7), {"trim": 1}),
    "trimmed of 6": ("trimmed", 6, (0, 2, 7), {"trim": 2}),
    "quartiles of 2": ("iqr", 2, (0, 1, 3, 4, 9), {}),
    "quartiles of 4": ("iqr", 4, (0, 2, 3, 7), {}),
    "quartiles of 5": ("iqr", 5, (0, 2, 3, 7), {}),
    "quartiles of 8": ("iqr", 8, (0, 2, 7), {}),
}


def function_of(name: str, n: int, options: dict[str, int]) -> Any:
    statistic = RankStatistic.from_name(name, n, **options)
    return lambda values: Fraction(statistic._evaluate(sorted(values)), statistic.divisor)


@pytest.mark.slow
@each(case=SMALL)
def test_formulas_equal_all_tables_and_all_neighbors_as_fractions(case: str) -> None:
    """And the smooth sensitivity of neighbors differs by a factor of at most 1/q, which some reach."""
    name, n, domain, options = SMALL[case]
    function, bounds = function_of(name, n, options), (domain[0], domain[-1])
    smooth = {}
    for table in tables(domain, n):
        smooth[table] = smooth_sensitivity(name, table, bounds=bounds, q=Q, **options)
        assert smooth[table] == smooth_sensitivity(function, table, domain=domain, q=Q)
        assert local_sensitivity(name, table, bounds=bounds, **options) == local_sensitivity(
            function, table, domain=domain
        )
    worst = max(Q * smooth[table] / smooth[near] for table in smooth for near in neighbors(table, domain))
    assert worst <= 1
    assert worst == 1 or n == 2


HALVES = [Fraction(5, 2), Fraction(7, 2), Fraction(9, 2), 5, 5]
QUARTILES = [8, 21, 27, 32, 35, 37, 38, 39, 40]
CASES: list[tuple[str, list[int], tuple[int, int], dict[str, int], list[Any], float, float]] = [
    ("median", [2, 4, 5, 7, 9], (0, 10), {}, [2, 4, 5, 7, 9, 10], 6.065307, 2.426123),
    ("median", [0, 0, 0, 0, 100], (0, 100), {}, [0, 100, 100], 90.483742, 60.653066),
    ("median", [*range(1, 8)], (0, 1000), {}, [1, 2, 3, *range(996, 1001)], 737.854948, 222.237640),
    ("midpoint", [1, 3, 6, 8], (0, 10), {}, HALVES, 3.704091, 2.5),
    ("trimmed", [0, 2, 5, 6, 10], (0, 10), {"trim": 1}, [Fraction(8, 3), Fraction(10, 3)], 3.016125, 8 / 3),
    ("iqr", [1, 2, 3, 5, 8, 13, 21, 34], (0, 40), {}, QUARTILES, 23.706183, 12.737144),
    ("rank", [3, 5, 6, 9], (0, 10), {"rank": 1}, [3, 5, 6, 9, 10], 6.703200, 3.032653),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_seven_cases_computed_by_brute_force_elsewhere(case: int) -> None:
    name, values, bounds, options, expected, tenth, half = CASES[case]
    found = sensitivities(name, values, bounds=bounds, most=len(expected) - 1, **options)
    assert found == expected
    for beta, smooth in ((0.1, tenth), (0.5, half)):
        assert smooth_sensitivity(name, values, bounds=bounds, beta=beta, **options) == pytest.approx(smooth, abs=5e-7)


def test_floats_and_fractions_agree_on_a_sample_and_values_are_clamped() -> None:
    values = np.random.default_rng(3).lognormal(3, 1, 301)
    for name, options in (("median", {}), ("trimmed", {"trim": 30}), ("iqr", {})):
        exactly = smooth_sensitivity(name, values.tolist(), bounds=(0, 100), q=Q, **options)
        nearly = smooth_sensitivity(name, values, bounds=(0, 100), beta=-math.log(Q), **options)
        assert nearly == pytest.approx(float(exactly), rel=1e-12)
        clamped = np.clip(values, 0, 100).tolist()
        assert smooth_sensitivity(name, clamped, bounds=(0, 100), q=Q, **options) == exactly


@pytest.mark.slow
def test_what_the_search_leaves_out_is_never_the_largest() -> None:
    """Against every k, on samples with ties, gaps and outliers."""
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 10, 51):
        for _ in range(20):
            values = rng.choice([0, 1, 1, 2, 30, 31, 100], n).tolist()
            every = sensitivities("median", values, bounds=(0, 100), most=n)
            plain = max(Q**k * reach for k, reach in enumerate(every))
            assert smooth_sensitivity("median", values, bounds=(0, 100), q=Q) == plain


@pytest.mark.parametrize("beta", [1 / 6, 0.03])
def test_values_are_sorted_once_and_then_read_at_most_three_times(beta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at a distance of k people is to read about k values at each end of a window: together at most
    3 n, also where all values agree. `benchmarks/central.py` has the times.
    """
    sorts: list[int] = []
    looks: list[int] = []
    reach, sort = RankStatistic._sensitivity_at, np.sort

    def looking(self: RankStatistic, ordered: Any, low: Any, high: Any, k: int) -> Any:
        looks.append(k)
        return reach(self, ordered, low, high, k)

    monkeypatch.setattr(RankStatistic, "_sensitivity_at", looking)
    monkeypatch.setattr(np, "sort", lambda values: sorts.append(len(values)) or sort(values))
    values = np.random.default_rng(1).lognormal(np.log(30_000), 0.75, 10**5)
    for data in (values, values[:1000], values * 0 + 5):
        sorts.clear()
        looks.clear()
        smooth_sensitivity("median", data, bounds=(0, 10**6), beta=beta)
        assert sorts == [len(data)]
        assert sum(looks) <= 3 * len(data)


def test_noise_for_the_local_sensitivity_reveals_a_neighbor() -> None:
    """A scale of 0 and one of 100: the event "exactly 0" has probability 1 on the one, 0 on the other."""
    one, other = [0, 0, 0, 0, 100], [0, 0, 0, 100, 100]
    assert distance(tuple(one), tuple(other)) == 1
    assert [local_sensitivity("median", table, bounds=(0, 100)) for table in (one, other)] == [0, 100]
    smooth = [smooth_sensitivity("median", table, bounds=(0, 100), q=Q) for table in (one, other)]
    assert smooth == [Q * 100, 100]


def test_bad_arguments_are_refused_with_the_reason() -> None:
    for call, message in (
        (lambda: local_sensitivity("median", [1, 2, 3]), "two finite numbers, got NoneType"),
        (lambda: local_sensitivity("median", [1, 2, 3], bounds=(3, 1)), "must be below the upper"),
        (lambda: local_sensitivity("median", [1, 2, 3], bounds=(0, math.inf)), "two finite numbers"),
        (lambda: local_sensitivity("mode", [1, 2, 3], bounds=(0, 9)), "must be one of median"),
        (lambda: local_sensitivity("median", [], bounds=(0, 9)), "`n` must be at least 1"),
        (lambda: local_sensitivity("rank", [1, 2], bounds=(0, 9)), "`rank` must be given"),
        (lambda: local_sensitivity("rank", [1, 2], bounds=(0, 9), rank=3), "at most the number of values"),
        (lambda: local_sensitivity("median", [1, 2], bounds=(0, 9), trim=1), "`trim` must be given"),
        (lambda: local_sensitivity("trimmed", [1, 2], bounds=(0, 9), trim=1), "must leave a value"),
        (lambda: local_sensitivity("midpoint", [1, 2, 3], bounds=(0, 9)), 'use "median"'),
        (lambda: local_sensitivity("iqr", [1], bounds=(0, 9)), "at least 2 values"),
        (lambda: local_sensitivity(max, [1, 2]), "`domain` must be given"),
        (lambda: local_sensitivity(max, [1, 2], domain=[0, 1]), "values of the `domain`"),
        (lambda: smooth_sensitivity(max, [1] * 20, domain=range(20), beta=1), "at most 100,000 tables"),
        (lambda: smooth_sensitivity("median", [1, 2], bounds=(0, 9)), "exactly one of `beta` and `q`"),
        (lambda: smooth_sensitivity("median", [1, 2], bounds=(0, 9), beta=0), "`beta` must be above 0"),
        (lambda: smooth_sensitivity("median", [1, 2], bounds=(0, 9), beta=-1), "`beta` must be above 0"),
        (lambda: smooth_sensitivity("median", [1, 2], bounds=(0, 9), q=1), "`q` must lie between 0 and 1"),
        (lambda: smooth_sensitivity("median", np.array([1, np.nan]), bounds=(0, 9), beta=1), "must be finite"),
        (lambda: smooth_sensitivity("median", [1, math.nan], bounds=(0, 9), q=Q), "must be finite numbers"),
        (lambda: smooth_sensitivity("median", ["SECRET"], bounds=(0, 9), q=Q), "^(?!.*SECRET).*must be finite numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
