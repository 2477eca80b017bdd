import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.survey.storage import mixing
from toolkit.survey.storage.mixing import MIN_POOL, Pool, mix


def people(start: int, count: int) -> tuple[dict[bytes, str], set[bytes]]:
    """Return this many reports and passes; those of the n-th person contain the number n."""
    numbers = range(start, start + count)
    return {number.to_bytes(16): f"{number}" for number in numbers}, {number.to_bytes(32) for number in numbers}


@pytest.mark.slow
@given(st.lists(st.integers(1, 70), max_size=12))
def test_nobody_is_lost_or_doubled_and_few_never_leave(sizes: list[int]) -> None:
    pool, start = Pool(), 0
    reports: dict[bytes, str] = {}
    passes: set[bytes] = set()
    for size in sizes:
        joined = people(start, size)
        start += size
        pool, left = mix(pool, *joined)
        assert len(left.reports) == len(left.token_hashes)
        assert len(left.reports) == 0 or len(left.reports) >= MIN_POOL
        assert not reports.keys() & left.reports.keys()
        assert not passes & left.token_hashes
        reports |= left.reports
        passes |= left.token_hashes
        assert (reports | dict(pool.reports), passes | pool.token_hashes) == people(0, start)
        assert min(start, MIN_POOL) <= len(pool.reports) == len(pool.token_hashes) < 2 * MIN_POOL


@pytest.mark.slow
@given(
    st.dictionaries(st.binary(min_size=16, max_size=16), st.text()), st.frozensets(st.binary(min_size=32, max_size=32))
)
def test_what_is_written_is_read_and_does_not_tell_in_which_order_it_came(
    reports: dict[bytes, str], passes: frozenset[bytes]
) -> None:
    pool = Pool(reports, passes if reports else frozenset())
    backwards = Pool(dict(reversed(list(pool.reports.items()))), pool.token_hashes)
    assert Pool.from_text(pool.to_text()) == pool
    assert pool.to_text() == backwards.to_text()


@pytest.mark.slow
def test_passes_match_reports_with_at_most_the_stated_odds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The share is 1 / 20 for those that left the pool, and 1 / (people in it) for those that stay: 1,000 collections
    of 50 people, who answer one by one.

    The test counts people whose pass left at one time and whose report at another. There are 100,000 pairs of such a
    pass and such a report, at most one in ten of which belongs to one person; so the share has a standard error below
    sqrt(0.1 / 100,000) = 0.001 if pairs are nearly independent. The random choices are the same in every run.
    """
    chance = random.Random(2026)  # noqa: S311
    monkeypatch.setattr(mixing, "SystemRandom", lambda: chance)
    places: Counter[tuple[int, int]] = Counter()
    collections = 1000
    for _ in range(collections):
        pool, when = Pool(), 0
        left: dict[tuple[str, int], int] = {}
        for person in range(50):
            pool, gone = mix(pool, *people(person, 1))
            when += bool(gone.reports)
            left |= {("report", int.from_bytes(key)): when for key in gone.reports}
            left |= {("pass", int.from_bytes(one)): when for one in gone.token_hashes}
        places.update((left.get(("pass", person), 0), left.get(("report", person), 0)) for person in range(50))
    assert set(left.values()) == {1, 2, 3, 4}
    for passing, reported in places:
        pairs = collections * MIN_POOL * MIN_POOL  # ten passes and ten reports each time, and ten stay
        told = 1 / MIN_POOL if (passing, reported) == (0, 0) else 1 / (2 * MIN_POOL)
        assert places[passing, reported] / pairs <= told + 0.0032, (passing, reported)
    assert places[1, 1] / pairs == pytest.approx(1 / (2 * MIN_POOL), abs=0.0032)


def test_the_lots_are_drawn_by_the_operating_system() -> None:
    assert mixing.SystemRandom.__module__ == "random"
    draws = [mix(Pool(), *people(0, 2 * MIN_POOL)) for _ in range(20)]
    assert len({stays.to_text() for stays, _ in draws}) > 10


@pytest.mark.slow
def test_which_passes_and_reports_stay_is_by_lot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 25 people 10 stay, each as often as any other, whatever their key or hash: in 2,000 runs 800 times on average;
    a deviation of 132 is six standard deviations. The random choices are the same in every run.
    """
    chance = random.Random(11)  # noqa: S311
    monkeypatch.setattr(mixing, "SystemRandom", lambda: chance)
    stays: Counter[bytes] = Counter()
    together = 0
    for _ in range(2000):
        pool, _ = mix(Pool(), *people(0, 25))
        stays.update([*pool.reports, *pool.token_hashes])
        together += len({int.from_bytes(one) for one in pool.reports} & set(map(int.from_bytes, pool.token_hashes)))
    assert len(stays) == 50
    assert all(abs(number - 800) < 132 for number in stays.values())
    assert abs(together - 2000 * 25 * 0.4**2) < 500  # as two independent choices: 8,000, standard deviation below 80
