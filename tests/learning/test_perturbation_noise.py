import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi, gamma

from toolkit.learning import PrivateLogisticRegression
from toolkit.learning import perturbation as laws
from toolkit.learning.perturbation import Ball, Cube, GaussianPerturbation, best_push_noise, cubic_laplace


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(1, 2), Fraction(7), Fraction(10**6)])
@pytest.mark.parametrize(("size", "max_entry"), [(1, 1.0), (21, 1 / math.sqrt(21)), (500, 0.3)])
def test_a_shift_in_cells_costs_epsilon_and_rounding_adds_next_to_nothing(epsilon, size, max_entry) -> None:
    cube = Cube(epsilon, size, max_entry)
    cell = Fraction(2) ** cube.exponent
    assert cube.shift * cell >= 2 * Fraction(max_entry)
    assert 1 <= cube.scale / (2 * max_entry / float(epsilon)) < 1 + 2.0**-29
    assert cell * 2**30 * size <= min(2 * Fraction(max_entry), 2 * Fraction(max_entry) / epsilon)
    assert np.isfinite(cube.draw(np.random.default_rng(1))).all()


def test_the_law_with_the_smallest_variance_is_taken() -> None:
    for size in (2, 5, 21, 200):
        cube, ball = best_push_noise(Fraction(1), 0.1, size, 1 / math.sqrt(size)), Ball(Fraction(1), size)
        assert isinstance(cube, Cube)
        assert cube.epsilon == 1 - Fraction(0.1)
        assert (ball.sd / 0.9 / cube.sd) ** 2 == pytest.approx(3 * size / (size + 2), rel=1e-8)
        assert best_push_noise(Fraction(1), 0.0, size, 1.0) == ball


def test_a_delta_makes_noise_gaussian_for_many_columns_only() -> None:
    """With a delta the noise is never larger than without.

    What is Pure is Approx as well: for delta = 1e-6, noise on a cube is less up to about 60 columns.
    """
    kinds = []
    for size in (2, 21, 50, 70, 400):
        pure, either = (best_push_noise(Fraction(1), 0.1, size, size**-0.5, delta) for delta in (0.0, 1e-6))
        assert either.sd <= pure.sd
        kinds.append(type(either))
    assert kinds == [Cube, Cube, Cube, GaussianPerturbation, GaussianPerturbation]


@pytest.mark.slow
def test_entries_have_the_spread_that_is_said() -> None:
    """Of 80 vectors with 21 entries. Entries of one vector share its radius, whose square has a variation
    of 0.42; the mean square is within five standard errors.
    """
    rng = np.random.default_rng(4)
    for law in (Ball(Fraction(1), 21), Cube(Fraction(1), 21, 1 / math.sqrt(21))):
        squares = np.array([np.mean(law.draw(rng) ** 2) for _ in range(80)]) / law.sd**2
        assert abs(squares.mean() - 1) < 5 * squares.std() / math.sqrt(80)
        assert squares.std() / math.sqrt(80) < 0.08
        assert law.sd * math.sqrt(21) < law.length_bound


def test_normal_entries_have_the_spread_that_is_said() -> None:
    """Of 400: the mean square within five standard errors."""
    law = GaussianPerturbation(Fraction(1), 400, 1e-6, 0.1)
    entries = law.draw(np.random.default_rng(4)) / law.sd
    assert np.mean(entries**2) == pytest.approx(1, abs=5 * math.sqrt(2 / 400))


@pytest.mark.parametrize("size", [1, 21, 1000])
def test_a_push_of_four_times_the_longest_is_negligible(size) -> None:
    """The length of a ball, and the radius of a cube, as the laws say."""
    ball, cube, normal = (
        Ball(Fraction(9), size),
        Cube(Fraction(9), size, 0.3),
        GaussianPerturbation(Fraction(1), size, 1e-6, 0.1),
    )
    for law, length_bound in (
        (gamma(size), ball.length_bound / ball.scale),
        (gamma(size + 1), cube.length_bound / cube.scale / math.sqrt(size)),
        (chi(size), normal.length_bound / normal.sd),
    ):
        assert law.logsf(4 * length_bound) < -100
        assert law.logsf(length_bound) > -150


def test_bounds_make_the_push_cubic_and_a_row_norm_alone_makes_it_round(monkeypatch) -> None:
    drawn = []
    monkeypatch.setattr(laws, "cubic_laplace", lambda *said: drawn.append(said) or cubic_laplace(*said))
    rows, labels = np.eye(4), [0, 1, 0, 1]
    PrivateLogisticRegression(1, row_norm=1, missing="drop").fit(rows, labels)
    assert drawn == []
    PrivateLogisticRegression(1, missing="middle", bounds=(0, 1)).fit(rows, labels)
    ((scale, size, rng),) = drawn
    assert (size, rng) == (5, None)
    left = 63 / 64 - math.log1p(1 / 8)  # without the solver's 64th and what the determinants cost at C = 1/2
    cell = 2.0 ** Cube(Fraction(left), 5, 1 / math.sqrt(5)).exponent
    assert float(scale) * cell == pytest.approx(2 / math.sqrt(5) / left, rel=1e-6)


def test_a_radius_is_a_sum_that_is_accepted_with_its_share(monkeypatch) -> None:
    """Of two entries: all draws that decide whether a radius is kept; (2 r + 1) of 2 r + 2 i for each i = 1, 2."""
    scripted = []

    class Sampler:
        def draw(self, missing, _):
            (asked, numbers), *scripted[:] = scripted
            assert asked == missing
            return np.array(numbers)

    monkeypatch.setattr(laws, "laplace_sampler", lambda _: Sampler())
    monkeypatch.setattr(laws, "_uniform_in_cube", lambda radius, size, _: (radius, size))
    for r in range(4):
        kept = 0
        for pair in itertools.product(range(2 * r + 2), range(2 * r + 4)):
            below = {2 * r + 2: pair[0], 2 * r + 4: pair[1], 202: 0, 204: 0}  # the last two for a radius of 100
            monkeypatch.setattr(laws, "big_below", lambda most, _, below=below: below[most])
            scripted[:] = [(3, [r, -7, 0]), (1, [-1]), (1, [0]), (3, [100, 0, 0])]  # the last for what is not kept
            radius, size = cubic_laplace(2, 2)
            assert size == 2
            kept += radius == r
        assert kept == (2 * r + 1) ** 2
    monkeypatch.undo()
    assert [laws._uniform_in_cube(radius, 3, None).dtype for radius in (2**62 - 1, 2**62)] == [np.int64, object]
