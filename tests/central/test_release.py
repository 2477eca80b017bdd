import math
import multiprocessing
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tests.central.catalogue import BAD_NUMBERS, MECHANISMS
from tests.recorder import recorded
from toolkit.central import Gaussian, Laplace
from toolkit.central import laplace as laplace_module
from toolkit.central.noise.grid import grid_exponent, round_to_steps
from toolkit.core.sampling import LatticeSampler


@pytest.mark.parametrize(
    "make", [lambda: Laplace.for_epsilon(1), lambda: Gaussian.for_loss(1, 1e-5)], ids=["laplace", "gaussian"]
)
def test_precision_attack_all_outputs_lie_on_one_grid(make: Callable[[], Laplace | Gaussian]) -> None:
    """Haney and others (2022): an output near 0 with finer low bits than f=1 allows would prove f=0. Here
    none has finer bits.
    """
    mechanism = make()
    outputs = {
        f: np.array(mechanism.release(np.full(20_000, f), np.random.default_rng(5)).value)
        for f in (0.0, 1.0, 1 / 3, -0.1)
    }
    exponent = grid_exponent(Fraction(1), Fraction(mechanism.scale))
    for output in outputs.values():
        near = output[np.abs(output) < 0.25]
        assert len(near) > 500
        assert np.all(np.ldexp(output, -exponent) % 1 == 0)
    naive = np.random.default_rng(5).laplace(size=20_000)
    near = naive[np.abs(naive) < 0.25]
    assert np.mean(np.ldexp(near, 53) % 1 != 0) > 0.1  # the attack works on the textbook's way


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_minus_zero_never_appears(mechanism: Laplace | Gaussian, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LatticeSampler, "draw", lambda _self, size, _rng: np.zeros(size, dtype=np.int64))
    laplace_module._grid_noise.cache_clear()  # it holds on to the method that was there before
    for value in (-0.0, 0.0, np.float32(-0.0), -1e-300, np.array([-0.0, 0.0, -1e-300])):
        found = np.atleast_1d(mechanism.release(value).value)
        assert np.all(found == 0)
        assert not np.signbit(found).any()
    laplace_module._grid_noise.cache_clear()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_types_and_shapes_of_releases(mechanism: Laplace | Gaussian) -> None:
    whole = mechanism.sensitivity >= 1
    assert type(mechanism.release(5).value) is (int if whole else float)
    assert type(mechanism.release(np.int16(5)).value) is (int if whole else float)
    assert type(mechanism.release(5.0).value) is float
    assert type(mechanism.release(np.float32(5)).value) is float
    for values in ([1, 2, 3], np.array([1, 2, 3]), np.array([1, 2, 3], dtype=np.uint8)):
        kind = np.int64 if whole and not (isinstance(mechanism, Laplace) and mechanism.norm == "l2") else np.float64
        assert mechanism.release(values).value.dtype == kind
    for values in ([1.0, 2, 3], np.array([1, 2, 3], dtype=np.float32)):
        assert mechanism.release(values).value.dtype == np.float64
    assert mechanism.release([1.0, 2.0], labels=["a", "b"]).labels == ("a", "b")
    with pytest.raises(ValueError, match="`labels` must name each entry"):
        mechanism.release([1.0, 2.0], labels=["a"])


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_extreme_values_are_released_without_warning_or_infinity(mechanism: Laplace | Gaussian) -> None:
    largest = sys.float_info.max
    for value in (1e308, -1e308, largest, 5e-324, 2**62, 2**63 - 1, -(2**63), 2**80, np.iinfo(np.int64).min):
        assert math.isfinite(mechanism.release(value).value)
    real = mechanism.release(np.array([largest, -largest, 1e300, 5e-324]))
    assert np.isfinite(real.value).all()
    assert real.value[2] == 1e300  # noise of scale 10 is far below the last bit
    whole = mechanism.release(np.array([2**63 - 1, -(2**63), 0]))
    assert whole.value[0] > 2**62
    assert whole.value[1] < -(2**62)


@pytest.mark.parametrize("mechanism", [Laplace.for_epsilon(1, sensitivity=2), Gaussian.for_rho("1/8", sensitivity=2)])
def test_integers_of_any_size_get_the_drawn_noise_rounded(mechanism: Laplace | Gaussian) -> None:
    """The noise is rounded to the nearest integer, halves upwards."""
    unit = 1 << mechanism._integer_sampler(4)[1]
    noise = [3 * unit + unit // 2, -2 * unit - unit // 2, unit // 2 - 1 if unit > 1 else 0, -5 * unit]
    rounded = [math.floor(Fraction(one, unit) + Fraction(1, 2)) for one in noise]
    integers = mechanism._perturb_integers
    for values, draw in (([10**30, -5, 0, 7], integers), ([10**9, -5, 0, 7], mechanism._perturb)):
        with recorded(noise) as drawn:
            found = draw(values)
        assert list(found[0] if draw == integers else found) == np.add(values, rounded, dtype=object).tolist()
        assert [one.size for one in drawn] == [4]


def test_a_length_has_no_whole_noise_and_of_one_number_it_is_the_size() -> None:
    length, size = (Laplace.for_epsilon(1, sensitivity=3, norm=norm) for norm in ("l2", "l1"))
    with pytest.raises(ValueError, match="integer noise requires the norm 'l1'"):
        length._perturb_integers([1, 2])
    for value in (2, 2.5):
        with recorded():
            one, other = (mechanism.release(value).interval() for mechanism in (length, size))
        assert (one.low, one.high) == (other.low, other.high)


def test_noise_of_a_huge_scale_is_cut_not_wrapped() -> None:
    mechanism = Laplace.for_epsilon("1/100000000000000000000")
    values = np.concatenate([mechanism.release(np.zeros(50, dtype=np.int64)).value for _ in range(4)])
    assert set(np.sign(values)) == {-1, 1}
    assert np.isin(values, [2**63 - 1, -(2**63)]).mean() > 0.5
    assert abs(Laplace.for_epsilon(1e-300).release(1).value) > 1e280
    assert abs(Laplace.for_epsilon(1e-300).release(1.5).value) > 1e280


def test_what_is_refused_does_not_depend_on_the_private_value() -> None:
    for mechanism in MECHANISMS:
        messages = set()
        for value in (float("nan"), float("inf"), -float("inf"), [1.0, float("nan")], np.array([7.5, -np.inf])):
            with pytest.raises(ValueError, match="must be finite") as caught:
                mechanism.release(value)
            messages.add(str(caught.value))
        assert len(messages) == 1
        for value in (True, Decimal(1), "1", None, np.array([1], dtype=object), np.ma.masked_array([1.0]), 1j):
            with pytest.raises(TypeError, match="`value` must"):
                mechanism.release(value)


@pytest.mark.parametrize("bad", BAD_NUMBERS, ids=repr)
def test_parameters_must_be_positive_numbers(bad: object) -> None:
    number: float = bad  # type: ignore[assignment]
    makers: list[Callable[[], object]] = [
        lambda: Laplace.for_epsilon(1, sensitivity=number),
        lambda: Gaussian.for_loss(1, 1e-6, sensitivity=number),
        lambda: Gaussian.for_rho(1, sensitivity=number),
        lambda: Laplace.epsilon_for(error=1, sensitivity=number),
    ]
    if bad != 1e301:
        makers += [
            lambda: Laplace.for_epsilon(number),
            lambda: Gaussian.for_loss(number, 1e-6),
            lambda: Gaussian.for_rho(number),
        ]
    for make in makers:
        with pytest.raises((ValueError, TypeError), match=r"`(epsilon|sensitivity|rho)` must"):
            make()


@pytest.mark.parametrize("delta", [0, 1, 1.5, -1e-9, float("nan"), True])
def test_delta_must_lie_strictly_between_0_and_1(delta: float) -> None:
    with pytest.raises((ValueError, TypeError), match="`delta` must"):
        Gaussian.for_loss(1, delta)


def test_a_scale_beyond_floats_and_a_seed_are_refused() -> None:
    with pytest.raises(ValueError, match="sensitivity / epsilon"):
        Laplace.for_epsilon("1e-301")
    with pytest.raises(TypeError, match="`rng` must be None"):
        Laplace.for_epsilon(1).release(1, rng=7)  # type: ignore[arg-type]


def _pair(mechanism: Laplace) -> tuple[float, ...]:
    return tuple(mechanism.release([0.0, 0.0]).value)


def _send_release(connection: "multiprocessing.connection.Connection") -> None:
    connection.send([_pair(Laplace.for_epsilon(1)) for _ in range(8)])


@pytest.mark.slow
def test_forks_threads_and_pickles_never_repeat_a_release() -> None:
    """72 pairs of draws, each over 2**31 values and more: a chance repetition has probability below 1e-14."""
    mechanism = Laplace.for_epsilon(1)
    _pair(mechanism)
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe() for _ in range(4)]
    processes = [context.Process(target=_send_release, args=(end,)) for _, end in pipes]
    for process in processes:
        process.start()
    seen = [value for receiver, _ in pipes for value in receiver.recv()]
    for process in processes:
        process.join()
    with ThreadPoolExecutor(4) as pool:
        seen += pool.map(lambda _: _pair(mechanism), range(32))
    copies = [pickle.loads(pickle.dumps(mechanism)) for _ in range(8)]  # noqa: S301
    assert set(copies) == {mechanism}
    seen += map(_pair, copies)
    assert len(set(seen)) == len(seen) == 72


def test_a_generator_repeats_and_marks_what_it_repeats() -> None:
    first, second = (Gaussian.for_rho(1).release(5.0, np.random.default_rng(2)) for _ in range(2))
    assert first.value == second.value
    assert first.notes
    assert pickle.loads(pickle.dumps(first)).interval() == first.interval()  # noqa: S301


def test_a_level_that_is_not_said_is_95_percent_and_a_sensitivity_1() -> None:
    assert all(mechanism.error() == mechanism.error(0.95) for mechanism in MECHANISMS)
    for norm in ("l1", "l2"):
        length = Laplace.for_epsilon(1, norm=norm)
        assert length.error() == length.error(0.95, dimension=1)
    said = {"error": 6, "level": 0.95, "sensitivity": 1}
    assert Laplace.epsilon_for(error=6) == Laplace.epsilon_for(**said)
    assert Gaussian.epsilon_for(error=6, delta="1e-6") == Gaussian.epsilon_for(delta="1e-6", **said)


def test_mechanisms_are_values() -> None:
    assert Laplace.for_epsilon("1/2") == Laplace.for_epsilon(0.5) != Laplace.for_epsilon(0.25)
    assert repr(Laplace.for_epsilon(0.5)) == "<Laplace scale 2; sensitivity 1 (l1); ε = 0.5>"
    assert repr(Gaussian.for_rho(0.5)) == "<Gaussian scale 1; sensitivity 1 (l2); ρ = 0.5>"
    assert round_to_steps(Fraction(1, 2), 0) == 1


def test_a_preview_tells_scale_error_and_cost_and_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace_module, "laplace_sampler", None)
    mechanism = Laplace.for_epsilon(0.5, sensitivity=2)
    assert mechanism.preview() == mechanism.preview(0.95)
    preview = mechanism.preview(0.9)
    assert repr(preview) == "<Preview Laplace: noise scale 4; error at 90 % ± 9.21; cost ε = 0.5>"
    assert all(part in preview._repr_html_() for part in ("Laplace", "9.21", "90 %", "ε = 0.5"))
