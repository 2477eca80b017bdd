import numpy as np
import pytest

from toolkit.attacks.anonymity import bands, generalize, k_anonymity, left_over

PEOPLE = {"zip": [1, 1, 1, 2, 2, 2], "age": [30, 40, 50, 30, 40, 50]}
ILL = ["flu", "gout", "cold", "flu", "cold", "flu"]


def releases(k=2):
    return [generalize(PEOPLE, {name: []}, k=k) for name in PEOPLE]


def test_one_release_leaves_the_values_of_the_class():
    by_zip, by_age = releases()
    assert left_over(ILL, [by_zip]) == [{"flu", "gout", "cold"}] * 3 + [{"flu", "cold"}] * 3
    assert left_over(ILL, [by_age]) == [{"flu"}, {"gout", "cold"}, {"cold", "flu"}] * 2


def test_two_releases_leave_what_both_allow_in_any_order():
    both = left_over(ILL, releases())
    assert both == [{"flu"}, {"gout", "cold"}, {"cold", "flu"}, {"flu"}, {"cold"}, {"cold", "flu"}]
    assert both == left_over(ILL, releases()[::-1])


def test_the_truth_is_never_ruled_out_and_more_releases_never_leave_more():
    rng = np.random.default_rng(1)
    frame = {name: rng.integers(0, 6, 300) for name in ("a", "b", "c")}
    ill, made = rng.integers(0, 8, 300), [generalize(frame, {name: []}, k=2) for name in frame]
    one, two, three = (left_over(ill, made[:number]) for number in (1, 2, 3))
    assert all(truth in left for truth, left in zip(ill.tolist(), three, strict=True))
    assert all(c <= b <= a for a, b, c in zip(one, two, three, strict=True))


def test_who_was_dropped_is_neither_exposed_nor_helped():
    frame = {"age": [77, 30, 31, 32]}
    release = generalize(frame, {"age": bands(10)}, k=2, suppress=0.3)
    assert release.kept.tolist() == [False, True, True, True]
    assert k_anonymity(release.columns, ["age"]) == 3
    assert left_over(["gout", "flu", "flu", "flu"], [release]) == [{"flu", "gout"}] + [{"flu"}] * 3


def test_releases_of_other_people_are_refused():
    with pytest.raises(ValueError, match="must be made from these people"):
        left_over(["flu"], releases())
    with pytest.raises(ValueError, match="must be made from these people"):
        left_over(ILL, [])
