import json
import math
from fractions import Fraction

import pytest

from toolkit import warner
from toolkit.local import numeric, oracles
from toolkit.local.numeric.grid import laplace_browser_data
from toolkit.local.numeric.laplace import LocalLaplace
from toolkit.local.numeric.scrambling import Scrambled

DERIVED = {
    "warner": (warner(epsilon=1.0), {}),
    "subset": (oracles.subset(16, 1.0), {}),
    "boxes": (oracles.tick_boxes(6, 1.0), {}),
    "hybrid": (numeric.hybrid((-273.15, 1e6), 1.0), {"span": [20005463, 20]}),
    "square wave": (numeric.square_wave((0, 20), 1.0), {"span": [20, 1]}),
    "laplace": (numeric.local_laplace((0, 20), 0.5), {"span": [20, 1], "s": 131040, "t": 1}),
    "laplace, a third": (
        LocalLaplace(Fraction(0), Fraction(1, 3), 6, Fraction(4, 5)),
        {"span": [1, 3], "s": 15, "t": 2},
    ),
    "additive": (
        numeric.additive(("-1/3", 3), {"-1/6": "1/7", "5/4": "2/7", 2: "4/7"}, step="1/9"),  # in twelfths of a third
        {"span": [10, 3], "cards": [{"start": start, "slope": 4} for start in (-18, 33, 60)]},
    ),
    "multiplicative": (
        numeric.multiplicative((-2, 4), {0: "1/4", "-2/3": "1/4", "5/6": "1/2"}, step="1/2"),  # in twelfths
        {"span": [6, 1], "cards": [{"start": 0, "slope": 0}, {"start": 16, "slope": -4}, {"start": -20, "slope": 5}]},
    ),
    "a billion": (
        Scrambled(Fraction(0), Fraction(10), 10, "additive", (Fraction(0), Fraction(10**9)), (1, 1)),
        {"span": [10, 1], "cards": [{"start": 0, "slope": 1}, {"start": 10**9, "slope": 1}]},
    ),
}


@pytest.mark.parametrize("name", DERIVED)
def test_a_browser_gets_the_saved_file_and_its_derived_integers(name):
    """The browser receives the dictionary that Python writes, and the integers that follow from it."""
    randomizer, derived = DERIVED[name]
    assert randomizer._browser_data() == {**randomizer.to_dict(), **derived}
    assert not set(derived) & set(randomizer.to_dict()), "no file of a survey holds them"


@pytest.mark.parametrize(("steps", "kind"), [(17592, int), (17593, str)])
def test_the_scale_of_noise_is_sent_exactly(steps, kind):
    """The scale is sent as a number if its multiples are exact, and otherwise as a string.

    2**44 lies between the two cases: below it, 2**9 multiples are smaller than 2**53. 10007 is a prime.
    """
    sent = LocalLaplace(Fraction(0), Fraction(1), steps, Fraction(10007, 10**9))._browser_data()
    assert (sent["s"], sent["t"]) == (kind(steps * 10**9), kind(10007))


def test_a_budget_of_many_digits_goes_as_strings_and_comes_back_whole():
    noise = LocalLaplace(Fraction(0), Fraction(1), 2**16, Fraction("1.2345678901234567"))
    sent = json.loads(json.dumps(noise._browser_data()))
    assert [type(part) for part in sent["budget"]] == [str, str]
    assert Fraction(int(sent["budget"][0]), int(sent["budget"][1])) == noise.budget


def sent_integers(data: object) -> list[int]:
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        return [number for part in data for number in sent_integers(part)]
    return [data] if isinstance(data, int) else []


@pytest.mark.parametrize(
    ("scale", "budget", "s", "t", "parts"),
    [
        (Fraction(2**44 - 1, 7), Fraction(1, 2**53 - 1), 2**44 - 1, 7, [1, 2**53 - 1]),
        (Fraction(2**44, 7), Fraction(1, 2**53), "17592186044416", "7", [1, "9007199254740992"]),
        (Fraction(1, 2**53 - 1), Fraction(2**53 - 1), 1, 2**53 - 1, [2**53 - 1, 1]),
        (Fraction(1, 2**53), Fraction(2**53), "1", "9007199254740992", ["9007199254740992", 1]),
    ],
)
def test_what_may_pass_the_integers_of_a_browser_is_sent_as_text(scale, budget, s, t, parts):
    assert laplace_browser_data(scale, budget) == {"budget": parts, "s": s, "t": t}
    assert laplace_browser_data(Fraction(2**43 - 1), budget)["s"] == 2**43 - 1
    with pytest.raises(ValueError, match="`epsilon` must be larger for answers in a browser"):
        laplace_browser_data(Fraction(2**43), budget)


@pytest.mark.parametrize("epsilon", [1.0, math.log(3), 1e-7, 0.10000000000000002, 21.999999999999996])
def test_every_integer_that_a_browser_gets_is_one_that_it_can_hold(epsilon):
    sent = numeric.local_laplace((0, 20), epsilon)._browser_data()
    assert max(map(abs, sent_integers(sent))) < 2**53


@pytest.mark.parametrize(
    ("randomizer", "message"),
    [
        (numeric.one_bit((0, 0.12345678901234567), 1.0), "`bounds` must have fewer digits"),
        (numeric.square_wave((-(2**53), 0), 1.0), "`bounds` must have fewer digits"),
        (numeric.piecewise((Fraction(1, 3**20), Fraction(1, 2**30)), 1.0), "`bounds` must have fewer digits"),
        (numeric.local_laplace((0, 1), 1e-9), "`epsilon` must be larger"),
        (numeric.additive((0, 1), {"0.12345678901234567": 0.5, 1: 0.5}), "`noise` must have fewer digits"),
        (numeric.additive((0, 1), {2**52: 0.5, -(2**52) - 1: 0.5}), "`noise` must have fewer digits"),
        (
            numeric.multiplicative((0, 10**15), {"1e-16": 0.5, "3e-16": 0.5}, step=10**15),
            "`noise` must have fewer digits",
        ),
        (numeric.multiplicative((1, 2**16), {2**38: 0.5, 1: 0.5}), "`noise` must have fewer digits"),
        (numeric.additive((0, 10), {2**52 - 10: 0.5, 0: 0.5}), "`noise` must have fewer digits"),
    ],
)
def test_what_a_browser_would_round_is_refused_with_its_reason(randomizer, message):
    with pytest.raises(ValueError, match=f"{message} for answers in a browser, got"):
        randomizer._browser_data()
    last = numeric.additive(
        (0, 10), {2**52 - 11: 0.5, 0: 0.5}
    )._browser_data()  # twice the farthest report can be represented as well
    assert last["cards"][0] == {"start": 2**52 - 11, "slope": 1}
