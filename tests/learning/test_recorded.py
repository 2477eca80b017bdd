"""What learners ask of their samplers, and what they do with it: in place of noise stands a recorder, so that
one fit is enough. One person moves what noise is added to by at most what is charged, and nothing that is
learnt depends on that person but through noisy numbers.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import log1p, sqrt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.dummy import DummyClassifier

from tests.recorder import Draw, Meeting, recorded, share
from toolkit import Approx, Ledger, Pure, Zcdp, learning
from toolkit.learning import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateSVC,
    Thresholdout,
    choose_classifier,
    descent,
)
from toolkit.learning.perturbation import HuberHinge, ObjectivePerturbation, gradient_tolerance
from toolkit.learning.tables import Scale

BOUNDS: dict[str, Any] = {"bounds": (-1, 1), "missing": "middle"}
PLAIN: dict[str, Any] = {"row_norm": 1, "fit_intercept": False, "missing": "middle"}
SUMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "PrivateLogisticRegression": (PrivateLogisticRegression, {"epsilon": 1, "method": "output", **BOUNDS}),
    "logistic, Gaussian": (PrivateLogisticRegression, {"rho": 1, "method": "output", **PLAIN}),
    "PrivateSVC": (PrivateSVC, {"epsilon": 1, "method": "output", "C": 0.5, **PLAIN}),
    "PrivateLinearRegression": (PrivateLinearRegression, {"rho": 1, "target_bounds": (-1, 1), **BOUNDS}),
    "linear, no intercept": (PrivateLinearRegression, {"rho": 1, "target_bounds": (-1, 1), **PLAIN}),
    "PrivatePCA": (PrivatePCA, {"rho": 1, **BOUNDS}),
}
SEEN = {"choose_classifier", "best_of", "Thresholdout"}  # below, each in tests of its own
ENGINES: dict[str, Callable[[Any], Any]] = {
    "numpy": np.array,
    "lists": lambda rows: [list(row) for row in rows],
    "pandas": lambda rows: pd.DataFrame(rows, columns=["u", "v"]),
    "polars": lambda rows: pl.DataFrame(rows, schema=["u", "v"], orient="row"),
    "pyarrow": lambda rows: pa.table({"u": [row[0] for row in rows], "v": [row[1] for row in rows]}),
}
OTHERS = [((0.5, -0.5), 0), ((0.2, 0.9), 1), ((-1.0, 0.1), 1)]
PEOPLE = [((1.0, 1.0), 1), ((-1.0, -1.0), 1), ((1e308, -1e308), 0), ((1.0, 1.0), 0), ((0.0, 1e9), 1), ((0.0, 0.0), 7)]


def test_every_learner_has_a_case() -> None:
    assert set(learning.__all__) == {name for name in SUMS if name.startswith("Private")} | SEEN


def learnt(model: Any) -> str:
    """All that can be seen of a fitted learner."""
    state = {name: value for name, value in vars(model).items() if name not in ("ledger", "rng")}
    return repr((sorted(state.items(), key=lambda item: item[0]), model))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("name", SUMS)
def test_one_person_moves_what_is_computed_by_at_most_what_is_charged(
    name: str, neighbors: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And by more than a sixth of it: of the logistic loss less than a half is reached, in Gaussian noise the
    square of that.
    """
    kind, said = SUMS[name]
    meeting, met, told = Meeting(monkeypatch), [], set()
    for person in [*PEOPLE, None] if neighbors == "add_remove" else PEOPLE:
        rows, labels = zip(*OTHERS, *([person] if person else []), strict=True)
        ledger = Ledger(Zcdp(10) if "rho" in said else Pure(10))
        learner = kind(**said, neighbors=neighbors, ledger=ledger)
        one, model = meeting.of(lambda: learner.fit(ENGINES[engine](list(rows)), np.array(labels)))  # noqa: B023
        met.append(one)
        told.add(learnt(model))
    assert len(told) == 1, "something else than a noisy number depends on one person"
    pairs = combinations(met, 2) if neighbors == "replace" else ((one, met[-1]) for one in met)
    assert Fraction(1, 6) < max(share(x, y, ledger.spent) for x, y in pairs) <= 1


@pytest.mark.parametrize("name", [*SUMS, "objective", "descent"])
def test_the_ledger_pays_before_a_row_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: dict[str, Any] = {"objective": {"epsilon": 1}, "descent": {"rho": 1, "steps": 1}}
    kind, said = SUMS.get(name) or (PrivateSVC, {"method": name, **inside[name], **PLAIN})
    ledger, plain, seen = Ledger(Zcdp(10) if "rho" in said else Pure(10)), Scale.rows, []

    def watched(self: Scale, values: Any) -> Any:
        seen.append(ledger.spent.amount)
        return plain(self, values)

    monkeypatch.setattr(Scale, "rows", watched)
    kind(**said, ledger=ledger).fit(X, Y)
    assert seen == [1]
    assert [entry.neighbors for entry in ledger.entries()] == ["replace"]


def weights(model: Any) -> np.ndarray:
    """In the unit of rows without bounds and intercept."""
    return np.ravel(model.coef_)


def unit_of(fit: Callable[[], Any], noise: list[int]) -> tuple[list[Draw], np.ndarray]:
    """What a fit asked for, and how far each weight moves with one unit of this noise."""
    with recorded() as drawn:
        quiet = weights(fit())
    with recorded(noise) as again:
        moved = weights(fit()) - quiet
    assert again == drawn
    return drawn, moved / max(map(abs, noise))


X, Y = np.array([[1.0, 0.0], [-0.5, 0.5], [0.0, -1.0]]), np.array([0, 1, 1])


@pytest.mark.parametrize(("neighbors", "times"), [("replace", 2), ("add_remove", 1)])
@pytest.mark.parametrize("said", [{"epsilon": 2}, {"rho": "1/8"}])
def test_noise_on_the_weights_is_for_two_c_or_one_and_lands_there(
    said: dict[str, Any], neighbors: str, times: int
) -> None:
    """What the solver may miss is added twice: of both neighbors; of private rows, of 10**8."""
    learner = PrivateSVC(**said, method="output", C=0.5, **PLAIN, neighbors=neighbors)
    (draw,), moved = unit_of(lambda: learner.fit(X, Y), [2**34, 0])
    assert moved[1] == 0
    scale = draw.scale if "epsilon" in said else sqrt(draw.scale)
    missed = gradient_tolerance(3 if neighbors == "replace" else 10**8, HuberHinge(0.5), 2.0, 2)
    assert (missed > 1e-3) == (neighbors == "add_remove")
    expected = (times + 2 * missed) * 0.5 / (2 if "epsilon" in said else sqrt(2 / 8))
    assert draw.law == ("radial" if "epsilon" in said else "gaussian")
    assert draw.size == 2
    assert float(scale) * moved[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("neighbors", "times"), [("replace", 2), ("add_remove", 1)])
def test_every_step_of_a_descent_draws_its_noise_and_takes_all_of_it(neighbors: str, times: int) -> None:
    """w = -pace noise / people after one step from 0; with the ridge and the curvature of the hinge."""
    said = {"rho": "1/2", "method": "descent", "C": 1, **PLAIN, "neighbors": neighbors}
    learner = PrivateSVC(**said, steps=1, people=3)
    (draw,), moved = unit_of(lambda: learner.fit(X, Y), [2**40, -(2**40)])
    pace = 1 / (1 / (2 * 0.5) + 1 / 3)
    np.testing.assert_allclose(moved * 2.0**30, [-pace / 3, pace / 3], rtol=1e-9)
    assert draw.law == "gaussian"
    assert draw.size == 2
    assert sqrt(draw.scale) / 2**30 == pytest.approx(times, rel=1e-8)  # sqrt(steps / (2 rho)) gradients
    assert draw.scale >= (times * (2**30 + Fraction(71, 100))) ** 2  # each rounded by up to half the root of 2
    with recorded() as drawn:
        PrivateSVC(**said, steps=7, people=3).fit(X, Y)
    assert [(one.law, one.size) for one in drawn] == [("gaussian", 2)] * 7
    assert [sqrt(one.scale) / 2**30 for one in drawn] == pytest.approx([times * sqrt(7)] * 7, rel=1e-8)


PART = {"epsilon": 2, "delta": "1e-6", "method": "descent", "neighbors": "add_remove", "people": 3, **PLAIN}


def test_the_noise_of_a_step_over_a_random_part_is_that_of_the_accountant(monkeypatch: pytest.MonkeyPatch) -> None:
    """For delta less the thousandth that is kept for the grid."""
    asked = []
    monkeypatch.setattr(descent, "sampled_sigma", lambda *said: asked.append(said) or 4.0)
    with recorded() as drawn:
        PrivateSVC(**PART, rate="1/4", steps=3).fit(X, Y)
    assert asked == [(2.0, pytest.approx(0.999e-6, rel=1e-12), 0.25, 3)]
    assert [sqrt(one.scale) / 2**30 for one in drawn] == pytest.approx([4.0] * 3, rel=1e-8)


def test_a_step_over_a_random_part_takes_the_gradients_of_that_part_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 0 every row of the hinge pulls with all of its length; half of three people are 1.5."""
    monkeypatch.setattr(descent, "sampled_sigma", lambda *_: 4.0)
    signs = np.where(Y == 1, 1, -1)[:, None]
    pace = 1 / (1 / (2 * 0.5) + 1 / 3)
    possible = [
        pace / 1.5 * (signs * X)[list(part)].sum(axis=0) for k in range(4) for part in combinations(range(3), k)
    ]
    seen = set()
    for seed in range(40):
        with recorded():
            model = PrivateSVC(**PART, C=1, rate="1/2", steps=1, rng=np.random.default_rng(seed)).fit(X, Y)
        near = [np.allclose(weights(model), one, atol=1e-8) for one in possible]
        assert sum(near) == 1
        seen.add(near.index(True))
    # All parts come in 40 draws with a probability of 96 %, and with these seeds.
    assert len(seen) == 8


@pytest.mark.parametrize("bounded", [True, False])
def test_the_push_is_for_a_shift_by_two_and_what_the_determinants_leave(bounded: bool) -> None:
    """Of the hinge at C = 1/8: ln(1 + C / (2 width)); one part in 64 of epsilon is the solver's. Rows of
    zeros pull at nothing, so that the minimum is -C times the push.
    """
    said: dict[str, Any] = {"epsilon": 2, "C": 0.125, "width": 1, "fit_intercept": False}
    learner = PrivateSVC(**said, **(BOUNDS if bounded else {"row_norm": 1, "missing": "middle"}))
    (push, solver), moved = unit_of(lambda: learner.fit(0 * X, Y), [2**30, 0])
    half = sqrt(2) if bounded else 1  # rows of two columns with bounds are shortened by this
    reach, left = 2 / half, 2 * 63 / 64 - log1p(0.125 / 2)
    assert push.law == ("cubic" if bounded else "radial")
    assert float(push.scale) * -moved[0] * half / 0.125 == pytest.approx(reach / left, rel=1e-6)
    assert (solver.law, solver.size, moved[1]) == ("radial", 2, 0)
    _, last = unit_of(lambda: learner.fit(0 * X, Y), [0, 0, 2**30, 0])
    max_entry = 1 / half
    missed = ObjectivePerturbation(Pure(2), 8.0, HuberHinge(1.0), 2, 3, max_entry).tolerance
    assert float(solver.scale) * last[0] * half * 2 / 64 == pytest.approx(2 * missed * 0.125, rel=1e-6)


def moments(kind: Any, said: dict[str, Any]) -> list[Draw]:
    with recorded() as drawn:
        kind(**said).fit(X, Y)
    return drawn


@pytest.mark.parametrize(("neighbors", "squared"), [("replace", (2, 4.5)), ("add_remove", (1, 33 / 16))])
def test_moments_get_noise_for_one_row_by_the_relation(neighbors: str, squared: tuple[float, float]) -> None:
    """By Gaussian noise of variance squared / (2 rho), in steps of 2**-30 and the grid below them."""
    said = {"rho": "1/2", "neighbors": neighbors, "row_norm": 1, "missing": "middle"}
    for kind, more, square, size in (
        (PrivatePCA, {}, squared[0], 6),
        (PrivateLinearRegression, {"target_bounds": (-1, 1)}, squared[1], 11),
    ):
        (draw,) = moments(kind, {**said, **more})
        assert (draw.law, draw.size) == ("gaussian", size)
        grid = round(np.log2(sqrt(draw.scale / square)))
        assert sqrt(draw.scale) / 2**grid == pytest.approx(sqrt(square), rel=1e-6)


def test_what_components_are_made_of_has_the_noise() -> None:
    said = {"rho": "1/2", "row_norm": 1, "missing": "middle", "n_components": 1}
    (draw,) = moments(PrivatePCA, said)
    sigma = int(sqrt(draw.scale))
    with recorded() as _:
        quiet = PrivatePCA(**said).fit(X)
    with recorded([0, 0, sigma]) as _:
        loud = PrivatePCA(**said).fit(X)
    # one standard deviation on the sum of a column times the constant: sqrt(2) / sqrt(2), times the units
    unit = sqrt(3) / sqrt(2 / 3) / sqrt(2)
    assert (loud.mean_ - quiet.mean_)[0] * 3 == pytest.approx(sqrt(2) * unit, rel=1e-6)
    assert loud.mean_[1] == quiet.mean_[1]


def test_a_holdout_compares_noisy_numbers_and_tells_a_noisy_one() -> None:
    """On the threshold 2 sigma, on each difference 4 sigma, on each answer sigma."""
    train, held = [1, 0, 0, 0], [1, 1, 0, 0]
    with recorded() as drawn:
        reuse = Thresholdout(4, threshold=0.5, sigma=0.25, answers=2)
        assert not reuse.ask(train, held).from_holdout
    bar, question = drawn
    assert question.scale == 2 * bar.scale
    step = 0.5 / float(bar.scale)  # the threshold's noise has the scale 2 sigma
    assert np.log2(step) == pytest.approx(round(np.log2(step)), abs=1e-6)
    quarter = round(0.25 / step)
    for noise, above in (([0, quarter - 1], False), ([0, quarter], True), ([-quarter, 0], True)):
        with recorded([*noise, 0, 0]) as drawn:
            reuse = Thresholdout(4, threshold=0.5, sigma=0.25, answers=2)
            assert reuse.ask(train, held).from_holdout is above
    with recorded([-quarter, 0, 0, 2**30]) as drawn:
        told = Thresholdout(4, threshold=0.5, sigma=0.25, answers=2).ask(train, held)
    assert [one.law for one in drawn] == ["laplace"] * 4  # threshold, question, a fresh threshold, the answer
    assert drawn[2].scale == drawn[0].scale
    assert told.value != 0.5
    assert (told.value - 0.5) / 2**30 * float(drawn[3].scale) == pytest.approx(0.25, rel=1e-6)


def constant(label: int) -> Any:
    return DummyClassifier(strategy="constant", constant=label).fit([[0], [0]], [0, 1])


def test_a_classifier_is_chosen_by_the_right_answers_at_half_of_epsilon() -> None:
    ledger, learners = Ledger(Pure(10)), [constant(0), constant(1)]
    with recorded(choices=[0]) as drawn:
        found = choose_classifier(learners, [[0]] * 5, [1, 1, 1, 0, 1], epsilon=3, ledger=ledger)
    assert drawn == [Draw("choice", Fraction(3, 2), 2, (1, 4))]
    assert found is learners[0]  # that was drawn, not the better one
    assert ledger.spent == Pure(3)


def test_an_approximate_promise_is_charged_as_it_is_asked_for() -> None:
    ledger = Ledger(Approx(10, "1/10"))
    PrivatePCA(epsilon=1, delta="1e-6", row_norm=1, missing="middle", ledger=ledger).fit(X)
    assert ledger.spent == Approx(1, "1e-6")
