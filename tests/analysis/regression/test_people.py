"""The variance of a sum over a sample: by strata, clusters and counts, against loops over them."""

import numpy as np
import pytest

from toolkit.analysis.regression.rows import people

RNG = np.random.default_rng(3)
PARTS = RNG.normal(size=(120, 3))
STRATA, CLUSTERS = np.repeat(["north", "south", "west"], 40), np.tile(np.arange(8), 15)


def by_hand(parts: np.ndarray, strata: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    total = np.zeros((parts.shape[1],) * 2)
    for stratum in np.unique(strata):
        units = np.unique(clusters[strata == stratum])
        sums = np.array([parts[(strata == stratum) & (clusters == unit)].sum(axis=0) for unit in units])
        total += len(units) * np.cov(sums.T, ddof=1)
    return total


def test_units_within_strata_are_told_apart() -> None:
    them = people(120, None, None, STRATA, CLUSTERS)
    assert np.allclose(them.scatter(PARTS), by_hand(PARTS, STRATA, CLUSTERS))
    assert them.df == 24 - 3


def test_without_clusters_persons_are_the_units() -> None:
    assert np.allclose(people(120, None, None, STRATA, None).scatter(PARTS), by_hand(PARTS, STRATA, np.arange(120)))
    plain = people(120, None, None, None, None)
    assert np.allclose(plain.scatter(PARTS), 120 * np.cov(PARTS.T))
    assert (plain.df, plain.complex, plain.n) == (119, False, 120)


@pytest.mark.parametrize("clustered", [True, False])
def test_a_row_that_stands_for_many_is_as_many_rows(clustered: bool) -> None:
    times = RNG.integers(1, 5, 120)
    rows = np.repeat(np.arange(120), times)
    clusters = CLUSTERS if clustered else None
    counted = people(120, None, times, STRATA, clusters)
    spread = people(len(rows), None, None, STRATA[rows], None if clusters is None else clusters[rows])
    assert counted.n == spread.n
    assert counted.df == spread.df
    assert np.allclose(counted.scatter(PARTS), spread.scatter(PARTS[rows]))


def test_a_stratum_with_one_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="every stratum must have two sampling units, got 1 with one"):
        people(3, None, None, np.array([1, 1, 2]), None).scatter(np.ones((3, 1)))
