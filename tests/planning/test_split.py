from fractions import Fraction
from functools import partial

import pytest

from toolkit import k_ary, warner
from toolkit.planning.split import budget_for

ASKED = {"cheated": (warner, 0.1), "transport": (partial(k_ary, 4), [0.25] * 4), "drugs": (warner, 0.5)}


@pytest.mark.slow
def test_the_largest_margin_cannot_be_made_smaller_by_moving_budget():
    found = budget_for(ASKED, epsilon=2.0)
    margins = list(found.margins.values())
    assert max(margins) == pytest.approx(min(margins), rel=2e-3)
    for giver in ASKED:
        moved = {name: share * (0.97 if name == giver else 1.02) for name, share in found.shares.items()}
        assert budget_for(ASKED, epsilon=2.0, weights=moved).largest > found.largest


@pytest.mark.slow
def test_the_parts_add_up_to_at_most_the_whole_exactly():
    for epsilon in ("1/3", 0.7, 2.0, 5):
        found = budget_for(ASKED, epsilon=epsilon)
        assert sum(Fraction(repr(share)) for share in found.shares.values()) <= Fraction(str(epsilon))
        assert sum(found.shares.values()) == pytest.approx(float(Fraction(str(epsilon))))
        for name, design in found.designs.items():
            assert design.epsilon <= found.shares[name]


def test_weights_are_shares_in_any_unit():
    found = budget_for(ASKED, epsilon=2.0, weights={"cheated": 2, "transport": 1, "drugs": 1})
    assert list(found.shares.values()) == pytest.approx([1.0, 0.5, 0.5])
    assert found.largest == max(found.margins.values()) > min(found.margins.values())
    assert found.gain == (found.largest / max(found.one_question_margins.values())) ** 2


@pytest.mark.slow
def test_like_questions_get_like_parts_and_one_random_question_is_better():
    found = budget_for(dict.fromkeys("abcd", (warner, 0.2)), epsilon=1.0)
    assert list(found.shares.values()) == pytest.approx([0.25] * 4, rel=1e-3)
    one, split = warner(epsilon=1.0).variance(0.2, 250), warner(epsilon=0.25).variance(0.2, 1000)
    assert found.gain == pytest.approx(split / one, rel=5e-3)
    assert "one random question each needs" in repr(found)
    assert list(found.to_frame().index) == list("abcd")


def test_with_plenty_of_budget_everybody_answers_all():
    assert "better than one random question" in repr(budget_for(dict.fromkeys("ab", (warner, 0.2)), epsilon=12.0))


def test_what_cannot_be_split_is_refused():
    with pytest.raises(ValueError, match="at least one question"):
        budget_for({}, epsilon=1.0)
    for wrong in ({"a": warner}, {"a": (warner,)}, {"a": "ab"}, [("a", (warner, 0.1))]):
        with pytest.raises(TypeError, match="each question must be a family and a guess"):
            budget_for(wrong, epsilon=1.0)
    with pytest.raises(ValueError, match="a fixed design"):
        budget_for({"cheated": (warner("3/4"), 0.1)}, epsilon=1.0)
    with pytest.raises(ValueError, match="name every question"):
        budget_for(ASKED, epsilon=1.0, weights={"cheated": 1})


@pytest.mark.slow
def test_what_is_split_is_what_is_said_to_be_split():
    """5/7 has no float: what is said is a little less, and the parts add up to no more than that."""
    found = budget_for(ASKED, epsilon="5/7")
    said = Fraction(repr(found.epsilon))
    assert sum(Fraction(repr(share)) for share in found.shares.values()) <= said <= Fraction(5, 7)
