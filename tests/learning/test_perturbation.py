from decimal import Context, Decimal

import numpy as np
import pytest

from tests.recorder import recorded
from tests.slowly import each
from toolkit.core.loss import Approx, Pure, Zcdp
from toolkit.learning.perturbation import (
    Ball,
    Cube,
    GaussianPerturbation,
    HuberHinge,
    LogisticLoss,
    ObjectivePerturbation,
    OutputPerturbation,
    gradient_tolerance,
    minimize_objective,
)

LOGISTIC = LogisticLoss()
PRECISE = Context(prec=50)


def moved(loss, ridge: float, one: np.ndarray, other: np.ndarray) -> float:
    """How far the minimum moves from one table to another, in units of 2 / ridge."""
    allowed = gradient_tolerance(one.shape[1], loss, ridge, len(one))
    none = np.zeros(len(one))
    ends = [minimize_objective(rows, loss, ridge, none, allowed) for rows in (one, other)]
    return float(np.linalg.norm(ends[0] - ends[1]) * ridge / 2)


def test_the_hinge_reaches_the_bound_so_that_half_of_it_is_wrong() -> None:
    """All others at 0: the mean of 20 losses plus lambda |w|**2 is a ridge of 2 lambda 20 on their sum."""
    one, other = np.zeros((1, 20)), np.zeros((1, 20))
    one[0, 0], other[0, 0] = 1, -1
    for strength in (0.1, 1.0, 5.0):
        assert moved(HuberHinge(0.01), 2 * strength * 20, one, other) == pytest.approx(1.0, abs=1e-9)
    noise = OutputPerturbation(Pure(1), 4.0, HuberHinge(0.01), 1, 20)
    assert float(noise.sensitivity) == pytest.approx(0.5, rel=1e-9)  # 2 C, and not C, as is seen above


def test_the_logistic_loss_comes_near_the_bound_in_two_dimensions() -> None:
    """99,999 people at (0, -1), one who goes from (cos a, sin a) to (-cos a, sin a); lambda = 0.01."""
    one = np.zeros((2, 10**5))
    one[1], one[:, 0] = -1, (np.cos(0.5), np.sin(0.5))
    other = one.copy()
    other[0, 0] *= -1
    assert 0.69 < moved(LOGISTIC, 2 * 0.01 * 10**5, one, other) < 1


@pytest.mark.slow
@pytest.mark.parametrize("loss", [LOGISTIC, HuberHinge(0.1)], ids=str)
def test_a_search_for_the_worst_pair_stays_within_the_sensitivity(loss) -> None:
    """From random tables uphill: each time the best of random changes of one table is kept."""
    rng, ridge, worst = np.random.default_rng(7), 0.8, 0.0

    def short(rows: np.ndarray) -> np.ndarray:
        return rows / np.maximum(np.linalg.norm(rows, axis=0), 1)

    for _ in range(3):
        best, value = short(rng.normal(size=(2, 5)) * 2), 0.0
        for _ in range(60):
            tried = short(best + 0.5 * rng.normal(size=best.shape) * (rng.random(5) < 0.5))
            shift = moved(loss, ridge, tried[:, :4], tried[:, [0, 1, 2, 4]])
            best, value = (tried, shift) if shift > value else (best, value)
        worst = max(worst, value)
    assert 0.4 < worst <= 1


def test_noise_on_the_weights_is_for_twice_c_or_for_c() -> None:
    for loss in (Pure(0.5), Zcdp(0.1), Approx(1, 1e-6)):
        both = [OutputPerturbation(loss, 2.0, LOGISTIC, 3, 100, n) for n in ("replace", "add_remove")]
        assert both[0].mechanism.loss == loss
        assert float(both[0].sensitivity) == pytest.approx(1.0, rel=1e-6)
        assert float(both[1].sensitivity) == pytest.approx(0.5, rel=0.05)
        assert both[0].sensitivity > 1
        assert both[1].sensitivity > 0.5
        assert both[0].mechanism.sensitivity == both[0].sensitivity


def log_ratio(ridge: float, scale: float, rest: list[float], loss=LOGISTIC) -> float:
    """The largest log ratio of the exact densities of the weight, over pairs that differ in one row; the
    push has the density e**(-|b| / scale) and the Jacobian is the Hessian.
    """
    w, logs = np.linspace(-30, 30, 2401), []
    pull = sum((z * loss.slope(z * w) for z in rest), ridge * w)
    bend = sum((z * z * loss.second_derivative(z * w) for z in rest), ridge + 0 * w)
    for z in np.linspace(-1, 1, 21):
        force, hessian = pull + z * loss.slope(z * w), bend + z * z * loss.second_derivative(z * w)
        logs.append(np.log(hessian) - np.abs(force) / scale)
    return float(np.ptp(np.array(logs), axis=0).max())


RESTS = [[], [-0.1] * 10, [1.0, -0.5], [-0.02] * 80]


@pytest.mark.slow
@each(loss=[LOGISTIC, HuberHinge(0.5)], ridge=[0.3, 1.0, 5.0, 50.0], rest=RESTS)
def test_the_exact_density_of_objective_perturbation_keeps_to_epsilon(loss, ridge, rest) -> None:
    for epsilon in (0.5, 2.0):
        noise = ObjectivePerturbation(Pure(epsilon), ridge, loss, 1, 100, 1.0)
        assert log_ratio(noise.ridge, noise.push_noise.scale, rest, loss) <= float(noise.epsilon_for_objective)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [LOGISTIC, HuberHinge(0.5)], ids=["logistic", "hinge"])
def test_cubic_noise_is_private_in_the_plane_and_half_of_it_is_not(loss) -> None:
    """Two columns with bounds: entries of up to 1/sqrt(2). Log densities of the weights over pairs in which
    one row, at a corner, in the middle of an edge or at 0, is replaced by another.
    """
    noise = ObjectivePerturbation(Pure(1), 0.3, loss, 2, 100, 1 / np.sqrt(2))
    assert isinstance(noise.push_noise, Cube)
    side = np.linspace(-30, 30, 241)
    w = np.array(np.meshgrid(side, side)).reshape(2, -1)
    corners = [np.array([a, b]) / np.sqrt(2) for a in (-1, 0, 1) for b in (-1, 0, 1)]

    def log_density(rows: list[np.ndarray], scale: float) -> np.ndarray:
        pull, bend = noise.ridge * w, noise.ridge * np.eye(2)[:, :, None]
        for row in rows:
            margin = row @ w
            pull = pull + row[:, None] * loss.slope(margin)
            bend = bend + np.outer(row, row)[:, :, None] * loss.second_derivative(margin)
        return np.log(bend[0, 0] * bend[1, 1] - bend[0, 1] ** 2) - np.abs(pull).max(axis=0) / scale

    for rest in ([], [corners[0] * 0.1, corners[2]]):
        worst = [
            np.ptp([log_density([*rest, row], noise.push_noise.scale * share) for row in corners], axis=0).max()
            for share in (1.0, 0.5)
        ]
        assert worst[0] <= float(noise.epsilon_for_objective) < worst[1]


def test_without_the_jacobian_half_would_be_promised_and_0_637_be_lost() -> None:
    """Chaudhuri, Monteleoni and Sarwate's correction left out: the push alone pays for epsilon = 0.5."""
    assert log_ratio(0.3, 2 / 0.5, [-0.1] * 10) > 0.637


def test_what_the_determinants_and_the_solver_cost_is_taken_from_epsilon() -> None:
    for epsilon in (0.01, 0.5, 3.0, 50.0):
        for ridge in (1e-3, 1.0, 100.0):
            noise = ObjectivePerturbation(Pure(epsilon), ridge, LOGISTIC, 4, 1000, 1.0)
            assert noise.ridge >= ridge
            assert noise.determinants <= float(noise.epsilon_for_objective) / 2 * (1 + 1e-12)
            ratio = PRECISE.divide(Decimal(LOGISTIC.curvature), Decimal(noise.ridge))
            assert 0 <= Decimal(noise.determinants) / PRECISE.ln(PRECISE.add(1, ratio)) - 1 < 1e-13  # rounded up
            paid = noise.push_noise.epsilon + noise.mechanism.loss.amount
            assert paid + noise.determinants <= epsilon * (1 + 1e-15)
            assert noise.mechanism.scale < noise.push_noise.scale / noise.ridge / 100  # little noise for the solver


@pytest.mark.parametrize(
    ("loss", "size", "max_entry", "kind"),
    [
        (Pure(1), 3, 1.0, Ball),
        (Pure(1), 3, 0.6, Cube),
        (Pure(10**6), 3, 0.6, Cube),
        (Approx(1, 1e-6), 400, 0.05, GaussianPerturbation),
    ],
)
def test_the_tolerance_leaves_room_for_half_a_cell_of_the_push(loss, size, max_entry, kind) -> None:
    noise = ObjectivePerturbation(loss, 5.0, LOGISTIC, size, 100, max_entry)
    push = noise.push_noise
    assert isinstance(push, kind)
    with recorded([1]) as _:
        cell = float(np.abs(push.draw(None)).max())  # one step of noise
    room = noise.tolerance - gradient_tolerance(100, LOGISTIC, noise.ridge, size, push.length_bound)
    assert np.sqrt(size) * cell / 2 <= room
    assert room == pytest.approx(np.sqrt(size) * max(2.0, 2 * push.sd) / 2**30, rel=1e-3)


@pytest.mark.slow
def test_gaussian_noise_in_the_objective_keeps_to_delta_on_the_line() -> None:
    """delta = integral of (p - e**epsilon q)+ over the exact densities, for pairs in one dimension."""
    noise = ObjectivePerturbation(Approx(1.0, 1e-3), 5.0, LOGISTIC, 1, 100, 1.0)
    sigma = GaussianPerturbation(noise.epsilon_for_objective, 1, 1e-3, noise.determinants).sd
    assert lost(noise, sigma) <= 1e-3
    assert lost(noise, sigma / 5) > 1e-3  # so that the comparison can fail


def lost(noise: ObjectivePerturbation, sigma: float, epsilon: float = 1.0) -> float:
    w, pairs = np.linspace(-12, 12, 24001), [(1.0, -1.0), (1.0, 0.0), (0.5, -1.0)]
    rest, found = [-0.1] * 10, []
    for pair in pairs:
        densities = []
        for z in pair:
            rows = [*rest, z]
            force = sum(r * LOGISTIC.slope(r * w) for r in rows) + noise.ridge * w
            hessian = sum(r * r * LOGISTIC.second_derivative(r * w) for r in rows) + noise.ridge
            densities.append(hessian * np.exp(-((force / sigma) ** 2) / 2))
        p, q = (density / (density.sum() * 0.001) for density in densities)
        found += [np.maximum(a - np.exp(epsilon) * b, 0).sum() * 0.001 for a, b in ((p, q), (q, p))]
    return float(max(found))


@pytest.mark.slow
def test_a_push_has_the_law_that_was_calibrated() -> None:
    """The mean length of Gamma(3, scale) and the variance of a normal entry: within 5 standard errors."""
    rng = np.random.default_rng(8)
    pure = ObjectivePerturbation(Pure(1), 5.0, LOGISTIC, 3, 100, 1.0)
    lengths = [np.linalg.norm(pure.push_noise.draw(rng)) for _ in range(120)]
    assert abs(np.mean(lengths) / (3 * pure.push_noise.scale) - 1) < 5 / np.sqrt(3 * 120)
    cubic = ObjectivePerturbation(Pure(1), 5.0, LOGISTIC, 3, 100, 1 / np.sqrt(3))
    largest = [np.abs(cubic.push_noise.draw(rng)).max() for _ in range(120)]
    assert abs(np.mean(largest) / (3 * cubic.push_noise.scale) - 1) < 5 / np.sqrt(3 * 120)
    gauss = GaussianPerturbation(cubic.epsilon_for_objective, 3, 1e-6, cubic.determinants)
    squares = np.concatenate([gauss.draw(rng) for _ in range(120)]) ** 2 / gauss.sd**2
    assert abs(squares.mean() - 1) < 5 * np.sqrt(2 / 360)
