import itertools
import threading
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from toolkit.central.stream import Visits


def test_a_person_is_counted_once_a_period_and_in_so_many_periods() -> None:
    visits = Visits(2)
    weeks = [["ann", "ann", "bob"], ["ann"], ["ann", "bob"], ["bob", "cid"]]
    assert [visits.count(week) for week in weeks] == [2, 1, 1, 1]
    assert visits.counts == {"ann": 2, "bob": 2, "cid": 1}
    assert repr(visits) == "<Visits: each person in at most 2 periods>"


def test_one_person_moves_a_limited_number_of_counts_by_one() -> None:
    """This holds whatever the others do. All ways in which one person may come in four periods, beside all ways of
    another.
    """
    ways = list(itertools.product((False, True), repeat=4))
    for other in ways:
        base = _counts(other, (False,) * 4)
        for mine in ways:
            moved = np.subtract(_counts(other, mine), base)
            assert set(moved) <= {0, 1}
            assert moved.sum() == min(2, sum(mine))


def _counts(other: tuple[bool, ...], mine: tuple[bool, ...]) -> list[int]:
    visits = Visits(2)
    return [visits.count(["b"] * b + ["a", "a"] * a) for b, a in zip(other, mine, strict=True)]


@pytest.mark.parametrize(
    "people",
    [
        [1, 2, 2, None],
        (1, 2),
        np.array([1, 2, 1]),
        pd.Series([1, 2, np.nan]),
        pd.Series(["a", "b", None], dtype="string"),
        pl.Series(["a", None, "b"]),
        iter([1, 2]),
        [1, [7], 2, (3, [4]), np.float32("nan"), Decimal("NaN"), Decimal("sNaN"), pd.NA, pd.NaT],
    ],
    ids=lambda people: type(people).__name__,
)
def test_any_list_of_names_is_taken_and_nobody_is_not_counted(people: object) -> None:
    assert Visits(1).count(people) == 2


def test_it_goes_on_after_a_restart() -> None:
    first = Visits(2)
    first.count(["ann"]), first.count(["ann"])
    again = Visits(2, first.counts)
    assert again.count(["ann", "bob"]) == 1
    assert first.counts == {"ann": 2}


def test_a_text_is_no_list_of_names() -> None:
    with pytest.raises(TypeError, match="`people` must be a list of names, got a text"):
        Visits(1).count("ann")


def test_two_threads_do_not_count_the_same_person_twice() -> None:
    """The second thread counts nobody whom the first has counted."""

    class Slow(dict):  # type: ignore[type-arg]
        def get(self, *place: object) -> object:
            time.sleep(0.005)
            return super().get(*place)

    visits, counts = Visits(1), list[int]()
    visits._seen = Slow()
    threads = [threading.Thread(target=lambda: counts.append(visits.count(["ann", "bob"]))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts) == [0, 2]
