"""A mechanism that is made by hand, not by `for_epsilon`, is checked: no claim without its noise."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from toolkit.central import Exponential, Gaussian, Laplace
from toolkit.central.publishing.agreeing import AgreeingTables, Margins
from toolkit.central.publishing.keys import KeyThreshold, RangeFinder, TopK
from toolkit.central.publishing.quantiles import RecursiveQuantiles
from toolkit.central.publishing.spanning import SpanningTables
from toolkit.central.robust.admissible import PowerLaw, SmoothGaussian, SmoothLaplace
from toolkit.central.robust.estimators import Huber, Mean
from toolkit.central.robust.inverse import InverseSensitivity, Quantile
from toolkit.central.robust.releases import SmoothSensitivity
from toolkit.central.selection import NoisyMax, PermuteAndFlip
from toolkit.central.stream import SquareRoot, Tree
from toolkit.central.tables import Composed
from toolkit.core.checks import exact_fraction
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.frames.sums import QUANTILE_BITS, Bounds
from toolkit.teaching.robust.asymptotic import AvellaMedina
from toolkit.teaching.robust.descent import NoisyDescent

EPSILON = ("epsilon|the loss", [Pure(0), Pure(math.inf)])
KIND = ("`loss` must be", [Approx(1, "1e-6"), 1.0])
NEIGHBORS = ("neighbors", ["friends", None])
COUNT = [0, -1, 1.5, True, "two"]
HALVES = (exact_fraction("1/2", "q"),)
MADE: list[tuple[Any, dict[str, Any], dict[str, list[tuple[str, list[Any]]]]]] = [
    (Laplace, {"loss": Pure(1)}, {
        "loss": [EPSILON, KIND], "sensitivity": [("sensitivity", [0, -1, math.inf])], "norm": [("`norm`", ["l3"])],
    }),
    (Laplace, {"loss": Pure(10**200), "sensitivity": 1}, {"sensitivity": [("sensitivity / epsilon", ["1e-200"])]}),
    (Gaussian, {"loss": Zcdp("1/2"), "variance": 1}, {
        "variance": [("`variance` must be above 0", [0, -1]), ("large enough", ["0.999999"]), ("`sigma`", [10**602])],
        "sensitivity": [("sensitivity", [0, -1]), ("large enough", ["1.000001"])],
        "loss": [("`loss` must be", [Pure(1)]), ("large enough", [Zcdp("0.499999"), Approx(1, "0.126")]),
                 ("epsilon must be above 0", [Approx(0, "1/2"), Approx(math.inf, "1/2"), Approx(1, 0), Approx(1, 1)])],
    }),
    (Exponential, {"loss": Pure(1)}, {"loss": [EPSILON, KIND], "sensitivity": [("sensitivity", [0, -1])]}),
    (Exponential, {"loss": Pure(10**200), "sensitivity": 1}, {"sensitivity": [("2 sensitivity", ["1e-200"])]}),
    (KeyThreshold, {"loss": Approx(1, "1e-6"), "neighbors": "replace"}, {
        "loss": [("`loss` must be", [Approx(0, "1/2"), Approx(1, 0), Approx(1, 1), Pure(1)])], "neighbors": [NEIGHBORS],
        "keys_per_person": [("`keys_per_person`", COUNT)], "rows_per_person": [("`rows_per_person`", COUNT)],
        "rho": [("`rho` must be small", [HALVES[0]])],
    }),
    (RangeFinder, {"noise": Laplace.for_epsilon(1), "first_power": -300, "last_power": 300}, {
        "first_power": [("`powers`", [300, -301, 0.5])], "last_power": [("`powers`", [-300, 301])],
        "beta": [("`beta`", [0, 1])],
    }),
    (TopK, {"loss": Pure(1), "k": 3, "neighbors": "replace", "rows_per_person": 2, "max_total_change": 2}, {
        "loss": [EPSILON, KIND], "k": [("`k`", COUNT)], "neighbors": [NEIGHBORS],
        "rows_per_person": [("`rows_per_person`", COUNT)], "max_total_change": [("`max_total_change`", [1, 7, 2.5])],
    }),
    (RecursiveQuantiles, {"loss": Pure(1), "quantiles": HALVES, "neighbors": "replace"}, {
        "loss": [EPSILON, KIND], "neighbors": [NEIGHBORS], "rows_per_person": [("`rows_per_person`", COUNT)],
        "quantiles": [
            ("increasing shares", [(), HALVES * 2, (exact_fraction(1.5, "q"),), (exact_fraction(-0.5, "q"),)]),
        ],
    }),
    (Margins, {"axis_sizes": (2, 2), "table_axes": ((0,),), "variances": (1,)}, {
        "variances": [("`variances`", [(0,), ()])],
    }),
    (AgreeingTables, {"loss": Pure(1), "axis_sizes": (2, 3), "table_axes": ((0,), (0, 1), ()), "l1_sensitivity": 1,
                      "squared_l2_sensitivity": 1}, {
        "loss": [KIND], "axis_sizes": [("`axis_sizes`", [(0, 3), (2, 1.5)])],
        "l1_sensitivity": [("`l1_sensitivity`", COUNT)],
        "squared_l2_sensitivity": [("`squared_l2_sensitivity`", COUNT)],
        "table_axes": [("`table_axes`", [(), ((0,), (0,)), ((1, 0),), ((0, 0),), ((2,),), ((-1,),)])],
    }),
    (SpanningTables, {"loss": Pure(1), "axis_sizes": (2, 3), "l1_sensitivity": 1, "squared_l2_sensitivity": 1}, {
        "loss": [KIND], "axis_sizes": [("`axis_sizes`", [(0, 3), (2, 1.5), (2,), ()])],
        "l1_sensitivity": [("`l1_sensitivity`", COUNT)],
        "squared_l2_sensitivity": [("`squared_l2_sensitivity`", COUNT)],
    }),
    (PowerLaw, {"loss": Pure(1), "m": 3}, {"loss": [EPSILON], "m": [("`m`", [0, 3.5]), ("epsilon / 2", [1, 2])]}),
    (SmoothLaplace, {"loss": Approx(1, "1e-6")}, {
        "loss": [("`epsilon`", [Approx(0, "1e-6")]), ("`delta`", [Approx(1, 0), Approx(1, 1)])],
    }),
    (SmoothGaussian, {"loss": Approx(1, "1e-6")}, {
        "loss": [("`epsilon`", [Approx(0, "1e-6")]), ("`delta`", [Approx(1, 0), Approx(1, 1)])],
    }),
    (AvellaMedina, {"estimator": Huber(1), "epsilon": 1, "delta": "1e-6"}, {
        "estimator": [("psi must be bounded", [Mean()])], "epsilon": [("`epsilon`", [0, -1])],
        "delta": [("`delta`", [0, 2, -1])],
    }),
    (NoisyDescent, {
        "estimator": Huber(1), "bounds": (0, 9), "loss": Pure(1), "n": 9, "steps": 3, "rate": 1, "start": 5,
        "neighbors": "replace",
    }, {
        "estimator": [("psi must be bounded", [Mean()])], "bounds": [("bounds", [(9, 0), (1, 1), None])],
        "loss": [EPSILON, KIND], "n": [("`n`", COUNT)], "steps": [("`steps`", COUNT)], "rate": [("`rate`", [0, -1])],
        "start": [("`start`", ["x", None, math.nan])], "neighbors": [NEIGHBORS],
    }),
    (SquareRoot, {"periods": 4}, {"periods": [("`periods`", COUNT)]}),
    (Tree, {"periods": 4, "branches": 2, "levels": 3}, {
        "periods": [("`periods`", COUNT), ("must fit into `periods`", [3])], "branches": [("`branches`", [*COUNT, 1])],
        "levels": [("`levels`", COUNT)],
    }),
    (InverseSensitivity, {"statistic": Quantile("1/2"), "bounds": Bounds.of((0, 9)), "loss": Pure(1)}, {
        "loss": [EPSILON, KIND], "affected_groups": [("`affected_groups`", COUNT)],
        "rows_per_person": [("`rows_per_person`", COUNT)],
        "statistic": [("`statistic` must be", [Huber, "median", 3])],
    }),
]  # fmt: skip
CASES = [
    pytest.param(make, given, {field: bad}, message, id=f"{make.__name__}-{field}-{bad!r}"[:60])
    for make, given, changes in MADE
    for field, messages in changes.items()
    for message, values in messages
    for bad in values
]


@pytest.mark.parametrize(("make", "given", "change", "message"), CASES)
def test_what_makes_no_promise_cannot_be_made(make: Any, given: dict, change: dict, message: str) -> None:
    make(**given)
    with pytest.raises((ValueError, TypeError), match=message):
        make(**given | change)


NOISE, LIMITS, MIDDLE = Laplace.for_epsilon(1), Bounds.of((0, 9), QUANTILE_BITS), Quantile("1/2")
LOSS, ONE = Approx(1, "1e-6"), {"neighbors": "replace", "rows_per_person": 1}
DEFAULTS: list[tuple[Any, ...]] = [
    (Laplace(Pure(2)), Laplace.for_epsilon(2), Laplace(Pure(2), 1, "l1")),
    (Gaussian(Zcdp("1/2"), 1), Gaussian.for_rho("1/2"), Gaussian(Zcdp("1/2"), 1, 1)),
    (Gaussian.for_loss(1, "1e-6"), Gaussian.for_loss(1, "1e-6", sensitivity=1)),
    *((kind(Pure(2)), kind.for_epsilon(2), kind(Pure(2), 1)) for kind in (Exponential, PermuteAndFlip, NoisyMax)),
    (Exponential.for_rho("1/8"), Exponential(Pure(1), 1)),
    (KeyThreshold(LOSS, "replace"), KeyThreshold.for_loss(1, "1e-6", neighbors="replace"),
     KeyThreshold(LOSS, "replace", 1, 1, None)),
    (KeyThreshold.for_rho(1, "1e-6", neighbors="replace"), KeyThreshold.for_rho(1, "1e-6", keys_per_person=1, **ONE)),
    (RangeFinder(NOISE), RangeFinder(NOISE, -31, 32, Fraction(1, 1000))),
    (TopK.for_epsilon(1, 3, neighbors="replace"), TopK(Pure(1), 3, "replace", 1, 3)),
    (TopK.for_rho(1, 3, neighbors="replace"), TopK.for_rho(1, 3, max_total_change=3, **ONE)),
    (RecursiveQuantiles(Pure(1), HALVES, "replace"), RecursiveQuantiles.for_epsilon(1, HALVES, neighbors="replace"),
     RecursiveQuantiles(Pure(1), HALVES, "replace", 1, False)),
    (RecursiveQuantiles.for_rho(1, HALVES, neighbors="replace"),
     RecursiveQuantiles.for_rho(1, HALVES, is_grouped=False, **ONE)),
    (PowerLaw(Pure(1)), PowerLaw.for_epsilon(1), PowerLaw(Pure(1), 6)),
    (InverseSensitivity(MIDDLE, LIMITS, Pure(1)), InverseSensitivity.for_epsilon(1, "median", bounds=(0, 9)),
     InverseSensitivity(MIDDLE, LIMITS, Pure(1), 1, 1)),
    (Tree(9), Tree(9, 2, 1, None)),
    (Tree(9, levels=2), Tree(9, 2, 2, None)),
]  # fmt: skip


@pytest.mark.parametrize("made", DEFAULTS, ids=lambda made: type(made[0]).__name__)
def test_what_is_not_said_is_one_row_one_group_one_step_of_a_score(made: tuple[Any, ...]) -> None:
    """By hand and by what buys it, and as it would be said."""
    assert all(one == made[-1] for one in made)


@pytest.mark.parametrize("together", [2, 6])
def test_what_one_person_moves_together_is_between_one_option_and_all(together: int) -> None:
    assert TopK(Pure(1), 3, "replace", 2, together).rate == exact_fraction(f"1/{6 + together}", "rate")


@pytest.mark.parametrize(
    "make", [Laplace, Exponential, partial(InverseSensitivity, Quantile("1/2"), Bounds.of((0, 9)))]
)
def test_the_cost_is_told_as_a_float(make: Any) -> None:
    assert make(loss=Pure("1/4")).loss.epsilon == 0.25


THIRDS = {"sensitivity": "3", "norm": "L1", "scale": 6.0, "sd": pytest.approx(1 / (math.sqrt(2) * math.sinh(1 / 12)))}


@pytest.mark.parametrize(
    ("mechanism", "words", "numbers"),
    [
        (Exponential(Pure(1), 3), "the exponential mechanism", {"sensitivity": "3", "rate": "1/6"}),
        (NoisyMax(Pure(1), 3), "NoisyMax", {"sensitivity": "3", "rate": "1/6"}),
        (
            Composed((Laplace(Pure("1/2"), 3),) * 2),
            "Laplace noise for each column",
            {"parts": [Laplace(Pure("1/2"), 3)._describe() | {"loss": "ε = 0.5"}] * 2},
        ),
        (
            KeyThreshold(Approx("1/2", "1e-6"), "add_remove", keys_per_person=3),
            "Laplace noise on counts, which are compared with a threshold",
            THIRDS | {"noise": "Laplace", "threshold": 87, "keys a person": 3},
        ),
        (
            RangeFinder(Laplace(Pure("1/2"), 3), -1, 1, Fraction(1, 10)),
            "Laplace noise on counts, which are compared with a threshold",
            THIRDS | {"noise": "Laplace", "threshold": 21, "bins": 6},
        ),
        (
            TopK(Pure(1), 3, "replace", 2, 2),
            "the exponential mechanism chose them, one after the other",
            {"rounds": 3, "rate": "1/8"},
        ),
        (
            RecursiveQuantiles(Pure(1), tuple(Fraction(k, 10) for k in range(1, 10)), "replace"),
            "the exponential mechanism chose each, the middle one first",
            {"levels": 4, "epsilon a level": "0.25"},
        ),
        (
            AgreeingTables(Pure("1/2"), (1,), ((0,),), 3, 1),
            "Laplace noise in every table, before they were made to agree",
            {"tables": [THIRDS | {"noise": "Laplace", "loss": "ε = 0.5"}]},
        ),
        (InverseSensitivity(Quantile("1/2"), Bounds.of((0, 9)), Pure(1)), "InverseSensitivity", {}),
        (SmoothSensitivity.for_epsilon(1, "median", n=3, bounds=(0, 9)), "SmoothSensitivity", {}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_facts_are_those_by_which_a_reader_checks_the_loss(mechanism: Any, words: str, numbers: dict) -> None:
    """Sensitivity over scale is epsilon, and twice sensitivity times rate; what depends on data is not among them."""
    assert mechanism._describe() == {"mechanism": type(mechanism).__name__, "words": words, **numbers}
