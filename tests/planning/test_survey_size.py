"""The people that a whole survey needs: one row for each goal, and which of them decides."""

import pytest

from toolkit import forced, warner
from toolkit.planning import plan, plan_survey

DIE = forced("1/6", "1/6")
GOALS = [
    {"margin": 0.03},
    {"margin": 0.06, "subgroup": "1/4"},
    {"difference": (0.1, 0.2)},
    {"slope": 0.5, "intercept": -1},
]


def needed(goals=GOALS, **options):
    return plan_survey({"cheated": DIE}, {"cheated": goals}, prevalence={"cheated": 0.1}, **options)


@pytest.mark.slow
def test_every_wish_has_its_row_and_the_greatest_decides() -> None:
    """A die and a tenth: 1718 for 3 points, 430 in a quarter, 689 in each half, 497 for a slope."""
    found = needed(response=0.5)
    assert [(row.purpose, row.n, row.people, row.invited) for row in found.rows] == [
        ("margin", 1718, 1718, 3436),
        ("margin", 430, 1720, 3440),
        ("difference", 689, 1378, 2756),
        ("slope", 497, 497, 994),
    ]
    assert [row.binding for row in found.rows] == [False, True, False, False]
    assert (found.n, found.invited) == (1720, 3440)
    table = found.to_frame()
    assert list(table.columns[:5]) == ["question", "purpose", "group", "share", "target"]
    assert table.share.tolist() == [1, 0.25, 0.5, 1]
    assert "1/4 of the people" in found._repr_html_()


def test_clusters_and_weights_cost_people() -> None:
    """Twenty people a cluster, correlated by 0.05: 2083 instead of 1718; unequal weights: 2112."""
    assert needed([{"margin": 0.03}], deff=1.95).n == 2083
    assert needed([{"margin": 0.03}], weighting=1.2292143).n == 2112
    assert needed([{"margin": 0.06}, {"margin": 0.03}], response=0.5).invited == 2 * 1718
    assert needed({"slope": 0.5, "intercept": -1}, weighting=1.2292143).n == 611  # 497 * 1.2292, upwards


def test_notes_say_what_was_not_accounted_for() -> None:
    slope, margin = {"slope": 0.5, "intercept": -1}, {"margin": 0.03}
    for goals, options, words in (
        ([margin], {}, []),
        ([margin, slope], {}, ["the number of people for a slope is approximate and ignores clusters"]),
        ([margin], {"population": 10_000}, ["the finite population correction is not applied"]),
    ):
        first, *others = needed(goals, **options).notes
        assert first.startswith("n are people whose reports arrive")
        assert [note.partition(",")[0] for note in others] == words


def test_a_test_is_that_of_the_houses_plan() -> None:
    found = plan_survey({"a": DIE}, {"a": {"detect": 0.1}}, prevalence={"a": 0})
    assert found.n == plan(DIE, prevalence=0, detect=0.1, power=0.8).n == 277
    assert found.rows[0].target == "0.1 from 0 with power 0.8"


@pytest.mark.slow
def test_unequal_groups_need_what_the_smaller_one_needs() -> None:
    """Of 1/4 and 3/4 of the people the first must be a quarter of all."""
    (row,) = needed({"difference": (0.1, 0.2), "groups": ("1/4", "3/4")}).rows
    assert row.people == 4 * row.n
    assert row.n < 689 < row.people


@pytest.mark.parametrize(
    ("goal", "options", "words"),
    [
        ({"margin": 0.03}, {"population": 3000, "response": 0.5}, "3,436 people to invite, got 3,000"),
        ({"width": 0.03}, {}, "must have one of margin, detect, difference, slope, got 0 of them"),
        ({"margin": 0.03, "detect": 0.2}, {}, "got 2 of them"),
        ({"margin": 0.03, "power": 0.8}, {}, "may have margin, subgroup, assurance, got power"),
        ({"margin": 0.03, "subgroup": 2}, {}, "a share above 0"),
        ({"margin": 0.03, "subgroup": 0}, {}, "a share above 0"),
        ({"difference": (0.1, 0.2), "groups": (1, 1)}, {}, "shares of two groups"),
        ({"difference": (0.1, 0.2), "groups": ("1/2", 0)}, {}, "shares of two groups"),
        ({"difference": (0.1, 0.2), "groups": ("1/3",) * 3}, {}, "shares of two groups, got 3 of them"),
        ("margin", {}, "must be a mapping"),
        ([], {}, "there must be at least one goal"),
    ],
)
def test_what_cannot_be_planned_is_refused(goal, options, words) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        needed(goal if isinstance(goal, list) else [goal], **options)


def test_wishes_need_a_question_and_a_guess() -> None:
    with pytest.raises(ValueError, match="randomized questions, got 'paid': they are cheated"):
        plan_survey({"cheated": DIE}, {"paid": GOALS}, prevalence={})
    for designs, prevalence in ((DIE, {}), ({"cheated": DIE}, 0.1)):
        with pytest.raises(TypeError, match="designs, goals and guesses must be mappings"):
            plan_survey(designs, {"cheated": GOALS}, prevalence=prevalence)
    with pytest.raises(ValueError, match="a guess for each question"):
        plan_survey({"cheated": warner("3/4")}, {"cheated": {"margin": 0.03}}, prevalence={})
