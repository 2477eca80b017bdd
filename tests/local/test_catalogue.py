import inspect
from inspect import isabstract

import pytest

from toolkit import Design
from toolkit.local import numeric, oracles, questions
from toolkit.local.catalogue import CATALOGUE, check_arguments, example, makers, parameters
from toolkit.local.sampled_randomizer import Drawn


def test_every_maker_of_the_three_rooms_is_listed():
    """What returns a randomizer and has a public name can be called for by it."""
    listed = makers()
    made = [
        name
        for name, maker in vars(questions).items()
        if inspect.isfunction(maker) and maker.__module__ == questions.__name__
    ]
    made += [name for room in (oracles, numeric) for name in room.__all__ if inspect.isfunction(getattr(room, name))]
    assert {name for name in made if not name.startswith("_")} - {"limit", "ratio"} == set(listed) - {"matrix"}


def test_every_kind_of_randomizer_is_made_by_one_that_is_listed():
    made = {thing for room in (oracles, numeric) for thing in vars(room).values() if isinstance(thing, type)}
    kinds = {kind for listed in CATALOGUE.values() for kind in listed.kinds}
    assert {kind for kind in made if issubclass(kind, Drawn) and not isabstract(kind)} <= kinds
    assert {type(example(name)) for name in CATALOGUE} <= kinds | {Design}


def test_a_maker_says_what_it_takes_and_needs():
    assert parameters(questions.k_ary) == {"options": True, "epsilon": True}
    assert parameters(questions.crosswise) == {"p": False, "epsilon": False}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["yes", "maybe"], "`a design` takes yes, no, got 'maybe'"),
        (["yes"], "`a design` needs no, got only yes: write so"),
        ([], "`a design` needs yes, got nothing: write so"),
    ],
)
def test_wrong_and_missing_arguments_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        check_arguments(questions.forced, given, said="a design", example="write so")
    check_arguments(questions.forced, ["no", "yes"], said="a design", example="write so")
