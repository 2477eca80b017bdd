"""Families are declared by the keyword `epsilon`, and must not exceed it."""

import math
import re
from fractions import Fraction
from functools import partial

import pytest

from tests.slowly import each
from toolkit import Design, crosswise, forced, k_ary, mangat, plan, triangular, unrelated, warner
from toolkit.local.catalogue import makers, parameter_requirements
from toolkit.planning.families import check_family, is_randomizer, make_randomizer, round_down
from toolkit.planning.split import budget_for

OPTIONS = {"options": 5, "bounds": (0, 80)}
FAMILIES = {
    name: partial(maker, **{key: OPTIONS[key] for key in parameter_requirements(maker) if key in OPTIONS})
    for name, maker in makers().items()
    if "epsilon" in parameter_requirements(maker)
}


@pytest.mark.parametrize("maker", [mangat, triangular, forced, unrelated], ids=lambda maker: maker.__name__)
def test_a_design_with_a_probability_is_never_given_an_epsilon(maker):
    """mangat(0.7) and triangular(0.7) have an infinite epsilon, and crosswise(0.7) one of 0.847."""
    own = re.escape(f"{maker.__name__}({', '.join(f'{name}=…' for name in parameter_requirements(maker))})")
    with pytest.raises(
        ValueError, match=rf"must take the keyword `epsilon`, got {maker.__name__}\(.*give the design itself, {own}"
    ):
        plan(maker, prevalence=0.1, epsilon=0.7, n=500)
    with pytest.raises(ValueError, match="must take the keyword `epsilon`"):
        budget_for({"cheated": (maker, 0.1)}, epsilon=0.7)


def test_a_crosswise_question_can_be_planned_by_its_epsilon():
    found = plan(crosswise, prevalence=0.1, epsilon=0.7, n=500)
    assert found.epsilon == 0.7
    assert 0.7 * (1 - 1e-6) < found.design.epsilon <= 0.7
    assert found.se == plan(warner, prevalence=0.1, epsilon=0.7, n=500).se


@pytest.mark.slow
@each(name=FAMILIES)
def test_every_family_of_the_catalogue_keeps_the_epsilon_it_is_given(name):
    for i in range(1, 40):
        epsilon = i / 10 if i % 2 else math.log(1 + i)
        assert make_randomizer(FAMILIES[name], epsilon).epsilon <= epsilon


def test_a_family_that_exceeds_its_epsilon_is_rejected():
    """The cost is checked at every epsilon that is tried."""
    with pytest.raises(ValueError, match=r"costs at most the epsilon it is given, got 0.693147 for 0.5 from twothirds"):
        make_randomizer(twothirds, 0.5)
    assert make_randomizer(twothirds, 0.7) == warner("2/3")
    with pytest.raises(ValueError, match="costs at most"):
        plan(lambda epsilon: warner(p=0.5 + epsilon / 2), prevalence=0.1, epsilon=0.3, margin=0.1)


def twothirds(epsilon):  # noqa: ARG001
    return warner("2/3")


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (lambda e: warner(epsilon=e), r"got f\(e\): .*or a function with the parameter `epsilon`"),
        (lambda epsilon, /: warner(epsilon=epsilon), "must take the keyword `epsilon`"),
        (lambda **epsilon: warner(**epsilon), "must take the keyword `epsilon`"),
        (Design, "must take the keyword `epsilon`, got Design"),
        (Fraction, "must take the keyword `epsilon`, got Fraction"),
        (min, r"must take the keyword `epsilon`, got min\(\): give the design itself, min\(…\)"),
        (print, "must take the keyword `epsilon`, got print"),
        (
            k_ary,
            (
                r"must need nothing but `epsilon`, got k_ary\(options, epsilon\): .*functools.partial\(k_ary, "
                r"options=…\)"
            ),
        ),
        (partial(warner, "2/3"), "exactly one of `p` and `epsilon`"),
        (lambda epsilon: epsilon, "must make a randomizer, got float"),
    ],
)
def test_what_is_no_family_is_refused_with_what_to_write(family, message):
    with pytest.raises((ValueError, TypeError), match=message):
        plan(family, prevalence=0.1, epsilon=0.7, n=500)


def test_a_family_may_take_other_keywords_and_be_any_callable():
    class Mine:
        def __call__(self, *, epsilon, label="mine"):
            return warner(epsilon=epsilon), label

    check_family(Mine())
    check_family(lambda *, epsilon=1.0: warner(epsilon=epsilon))
    with pytest.raises(TypeError, match="must make a randomizer, got tuple"):
        make_randomizer(Mine(), 1.0)


def test_a_randomizer_is_told_from_what_makes_one():
    assert is_randomizer(warner("3/4"))
    assert not any(map(is_randomizer, (warner, partial(k_ary, 3), Design, None)))


@pytest.mark.slow
def test_the_float_of_a_promise_never_says_more():
    for i in range(1, 300):
        for j in range(1, 30):
            found = round_down(Fraction(j, i))
            assert Fraction(repr(found)) <= Fraction(j, i) < Fraction(repr(math.nextafter(found, math.inf)))
