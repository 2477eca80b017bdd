import numpy as np
import pandas as pd
import polars as pl
import pytest

from data import make_attack_data as made
from toolkit.teaching.attacks.anonymity import (
    background,
    bands,
    generalize,
    homogeneity,
    k_anonymity,
    possible_values,
    prefixes,
)

GRADES = pd.DataFrame(made.grades(), columns=["course", "year", "grade"])
QUASI = ["course", "year"]

# The example of Machanavajjhala et al. (2007), figure 2: it is 4-anonymous, but all members of one class have cancer.
INPATIENTS = pd.DataFrame(
    {
        "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
        "age": ["<30"] * 4 + [">=40"] * 4 + ["3*"] * 4,
        "ill": [
            "heart", "heart", "virus", "virus", "cancer", "heart", "virus", "virus", "cancer", "cancer",
            "cancer", "cancer",
        ],
    }
)  # fmt: skip


def test_the_published_example_is_four_anonymous_and_not_diverse():
    assert k_anonymity(INPATIENTS, ["zip", "age"]) == 4
    (given,) = homogeneity(INPATIENTS, ["zip", "age"], "ill")
    assert (given.quasi, given.size, given.value) == (("130**", "3*"), 4, "cancer")


def test_background_knowledge_leaves_one_illness():
    """The Japanese patient of the paper: a heart disease is nearly ruled out, so it must be the virus."""
    known = {"zip": "130**", "age": "<30"}
    assert background(INPATIENTS, "ill", known) == {"heart": 0.5, "virus": 0.5}
    assert background(INPATIENTS, "ill", known, ruled_out=["heart"]) == {"virus": 1.0}
    with pytest.raises(ValueError, match="nobody is left"):
        background(INPATIENTS, "ill", {"zip": "999"})


@pytest.mark.parametrize("frame", [GRADES, pl.from_pandas(GRADES)], ids=["pandas", "polars"])
def test_homogeneity_is_found_in_every_planted_class_and_in_no_other(frame):
    found = {(given.quasi[0], given.quasi[1]): given.value for given in homogeneity(frame, QUASI, "grade")}
    planted = {(course, year): grade for course, grade in made.COURSES.items() if grade for year in (1, 2, 3)}
    assert found == planted
    assert k_anonymity(frame, QUASI) == 12


def test_a_class_with_a_single_grade_is_100_anonymous_but_disclosed():
    """All hundred students have the same grade, so k-anonymity does not protect it."""
    frame = {"course": ["logic"] * 100, "grade": ["B"] * 100}
    assert k_anonymity(frame, ["course"]) == 100
    assert homogeneity(frame, ["course"], "grade")[0].size == 100


@pytest.mark.parametrize("k", [2, 5, 20])
def test_generalising_reaches_k_and_drops_no_more_than_allowed(k):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"age": rng.integers(18, 90, 800), "zip": [f"{z:05d}" for z in rng.integers(13000, 13100, 800)]}
    )
    coarse = generalize(frame, {"age": bands(5, 10, 20), "zip": prefixes(4, 3)}, k, max_suppressed=0.05)
    assert k_anonymity(coarse.columns, ["age", "zip"]) >= k
    assert coarse.suppressed <= 40
    assert len(coarse.columns["age"]) == 800 - coarse.suppressed


def test_generalised_values_contain_the_original_ones():
    frame = {"age": np.array([21, 24, 39, 38])}
    coarse = generalize(frame, {"age": bands(5, 20)}, 2, max_suppressed=0)
    assert coarse.columns["age"].tolist() == ["20 to 24", "20 to 24", "35 to 39", "35 to 39"]
    assert coarse.steps == {"age": 1}


def test_what_cannot_be_reached_is_refused():
    with pytest.raises(ValueError, match="be attainable"):
        generalize({"age": np.array([1, 2])}, {"age": bands(5)}, 3, max_suppressed=0)


def test_rows_are_suppressed_before_values_are_made_coarser():
    """At most `max_suppressed` of the rows are dropped."""
    ages = {"age": [20] * 18 + [70, 71]}
    kept = generalize(ages, {"age": bands(5)}, 2, max_suppressed=0.1)
    assert (kept.steps, kept.suppressed) == ({"age": 0}, 2)
    assert generalize(ages, {"age": bands(5)}, 2, max_suppressed=0.09).steps == {"age": 1}


def test_the_column_is_made_coarser_where_more_rows_are_won():
    """With coarser ages nobody is unique; with coarser places all people still are."""
    frame = {"age": [20, 21, 30, 31], "zip": ["1000", "1000", "2000", "2000"]}
    coarse = generalize(frame, {"zip": prefixes(3), "age": bands(5)}, 2, max_suppressed=0)
    assert coarse.steps == {"zip": 0, "age": 1}


PEOPLE = {"zip": [1, 1, 1, 2, 2, 2], "age": [30, 40, 50, 30, 40, 50]}
ILL = ["flu", "gout", "cold", "flu", "cold", "flu"]


def releases(k=2):
    return [generalize(PEOPLE, {name: []}, k=k) for name in PEOPLE]


def test_one_release_leaves_the_values_of_the_class():
    by_zip, by_age = releases()
    assert possible_values(ILL, [by_zip]) == [{"flu", "gout", "cold"}] * 3 + [{"flu", "cold"}] * 3
    assert possible_values(ILL, [by_age]) == [{"flu"}, {"gout", "cold"}, {"cold", "flu"}] * 2


def test_two_releases_leave_what_both_allow_in_any_order():
    both = possible_values(ILL, releases())
    assert both == [{"flu"}, {"gout", "cold"}, {"cold", "flu"}, {"flu"}, {"cold"}, {"cold", "flu"}]
    assert both == possible_values(ILL, releases()[::-1])


def test_the_truth_is_never_ruled_out_and_more_releases_never_leave_more():
    rng = np.random.default_rng(1)
    frame = {name: rng.integers(0, 6, 300) for name in ("a", "b", "c")}
    ill, made = rng.integers(0, 8, 300), [generalize(frame, {name: []}, k=2) for name in frame]
    one, two, three = (possible_values(ill, made[:number]) for number in (1, 2, 3))
    assert all(truth in left for truth, left in zip(ill.tolist(), three, strict=True))
    assert all(c <= b <= a for a, b, c in zip(one, two, three, strict=True))


def test_who_was_dropped_is_neither_exposed_nor_helped():
    frame = {"age": [77, 30, 31, 32]}
    release = generalize(frame, {"age": bands(10)}, k=2, max_suppressed=0.3)
    assert release.kept_rows.tolist() == [False, True, True, True]
    assert k_anonymity(release.columns, ["age"]) == 3
    assert possible_values(["gout", "flu", "flu", "flu"], [release]) == [{"flu", "gout"}] + [{"flu"}] * 3


def test_releases_of_other_people_are_refused():
    with pytest.raises(ValueError, match="must be made from these people"):
        possible_values(["flu"], releases())
    with pytest.raises(ValueError, match="must be made from these people"):
        possible_values(ILL, [])
