import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import accumulate

import numpy as np
import pytest
from scipy.stats import chi2, kstest, laplace, ncx2

from tests.slowly import each
from toolkit.core import randomness
from toolkit.core import sampling as inversion
from toolkit.core import sampling as noise
from toolkit.core.sampling import Inversion, LatticeSampler, discrete_gaussian, discrete_laplace

PRECISE = Context(prec=120)
SMALL = [("laplace", Fraction(1, 10)), ("laplace", Fraction(7, 3)), ("gauss", Fraction(1)), ("gauss", Fraction(50, 3))]
STEPS = [("laplace", Fraction(100)), ("gauss", Fraction(5000))]
LARGE = [
    *STEPS,
    ("laplace", Fraction(2**31, 7)),
    ("laplace", Fraction(2**52)),
    ("gauss", Fraction(2**62)),
    ("gauss", Fraction(2**104)),
]


def lattice_sampler(family: str, parameter: Fraction) -> LatticeSampler:
    return (
        LatticeSampler(1 / parameter, Fraction(0))
        if family == "laplace"
        else LatticeSampler(Fraction(0), 1 / (2 * parameter))
    )


def rho(family: str, parameter: Fraction, k: int) -> Fraction:
    """e**-(k / scale) or e**-(k**2 / (2 variance)) to 120 digits, straight from the formula."""
    exponent = k / parameter if family == "laplace" else k**2 / (2 * parameter)
    return Fraction(PRECISE.exp(PRECISE.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))))


@cache
def true_edges(family: str, parameter: Fraction, shift: int) -> list[Fraction]:
    """Cumulative probabilities of the steps, or of 0, -1, 1, -2, … where a step is one integer, to 60 digits
    and more.
    """
    weights: list[Fraction] = []
    while not weights or weights[-1] > Fraction(1, 10**70):
        weights.append(rho(family, parameter, len(weights) << shift))
    if shift == 0:
        weights = [weights[0], *(weight for weight in weights[1:] for _ in range(2))]
    total = sum(weights)
    return [part / total for part in accumulate(weights)]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "parameter"), SMALL + STEPS)
def test_a_16_bit_word_is_decided_only_if_all_of_it_is_in_one_cell(family: str, parameter: Fraction) -> None:
    """Proof by enumeration: all 65,536 words against edges computed independently to 60 digits."""
    sampler = lattice_sampler(family, parameter)
    edges = [Fraction(0), *true_edges(family, parameter, sampler.shift)]
    table = sampler._steps._lookup_table()
    for cell in np.unique(table[table >= 0]).tolist():
        words = np.flatnonzero(table == cell).tolist()  # the first and the last are inside: then all are
        assert edges[cell] * 2**16 <= words[0]
        assert words[-1] + 1 <= edges[cell + 1] * 2**16
    assert np.count_nonzero(table == -1) < 0.2 * 2**16


@pytest.mark.slow
@pytest.mark.parametrize("bits", [64, 128])
@pytest.mark.parametrize(("family", "parameter"), SMALL + STEPS)
def test_the_edges_enclose_the_cumulative_probabilities(family: str, parameter: Fraction, bits: int) -> None:
    sampler = lattice_sampler(family, parameter)
    low, high = sampler._edges(bits)
    for lower, upper, edge in zip(low, high, true_edges(family, parameter, sampler.shift), strict=False):
        assert lower - Fraction(1, 10**18) <= edge * 2**bits <= upper + Fraction(1, 10**18)
        assert upper - lower <= 3
    assert 1 - Fraction(low[-1], 2**bits) < Fraction(1, 2**20)


@pytest.mark.parametrize(("family", "parameter"), [("laplace", Fraction(7, 3)), ("gauss", Fraction(50, 3))])
def test_a_prefix_on_an_edge_gets_more_bits_and_then_the_right_cell(
    family: str, parameter: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uniform numbers just below and just above each of the first edges, to 2**-124: 64 bits alone cannot
    tell them apart.
    """
    sampler = lattice_sampler(family, parameter)
    for cell, edge in enumerate(true_edges(family, parameter, 0)[:12]):
        digits = int(edge * 2**128)
        for offset, expected in ((-16, cell), (16, cell + 1)):
            stream = [(digits + offset) >> 64, (digits + offset) & (2**64 - 1)]
            if stream[0] != digits >> 64:
                continue
            monkeypatch.setattr(inversion, "words", lambda _n, _b, _r, s=stream: np.array([s.pop(0)], dtype=np.uint64))
            assert sampler._steps.draw_one() == expected
            assert stream == []


@pytest.mark.slow
@pytest.mark.parametrize(("family", "parameter"), LARGE)
def test_the_quick_threshold_and_the_series_are_close_to_the_true_power(family: str, parameter: Fraction) -> None:
    """The threshold is never above the power, and the series is within 20 units of it. All steps that have a row in
    the tables, at both ends and inside each step.
    """
    sampler = lattice_sampler(family, parameter)
    m = 1 << sampler.shift
    rng = np.random.default_rng(3)
    places = np.unique([0, 1, m // 2, m - 1, *rng.integers(0, m, 6)])
    for step in range(0, len(sampler._sure), 7):
        ratio = Fraction(*PRECISE.exp(_decimal(-sampler.exponent(step, m))).as_integer_ratio())
        assert sampler._sure[step] <= ratio * 2**16 < sampler._sure[step] + 2
        series = sampler._series(np.full(len(places), step), places)
        for place, power in zip(places.tolist(), series.tolist(), strict=True):
            exact = Fraction(*PRECISE.exp(_decimal(-sampler.exponent(step, place))).as_integer_ratio())
            assert abs(power - exact * 2**32) < 20
            assert exact * 2**16 >= sampler._sure[step]
    assert int(noise._MARGIN) > 20


def _decimal(number: Fraction) -> Decimal:
    return PRECISE.divide(Decimal(number.numerator), Decimal(number.denominator))


@pytest.mark.parametrize(("family", "parameter"), LARGE)
def test_the_exponent_is_the_log_ratio_of_the_law(family: str, parameter: Fraction) -> None:
    sampler = lattice_sampler(family, parameter)
    for step, place in ((0, 0), (0, 1), (3, (1 << sampler.shift) - 1), (200, 1)):
        n, start = (step << sampler.shift) + place, step << sampler.shift
        expected = (n - start) / parameter if family == "laplace" else (n**2 - start**2) / (2 * parameter)
        assert sampler.exponent(step, place) == expected


def probabilities(family: str, parameter: float, edges: np.ndarray) -> np.ndarray:
    """Pr[k < edge], as differences: by direct summation up to parameter 10**4, else by the continuous law."""
    scale = parameter if family == "laplace" else parameter**0.5
    if scale <= 1000:
        k = np.arange(-60 * int(scale + 1), 60 * int(scale + 1) + 1)
        weight = np.exp(-np.abs(k) / parameter) if family == "laplace" else np.exp(-(k**2) / (2 * parameter))
        below = np.searchsorted(k, edges)
        cumulative = np.concatenate([[0], np.cumsum(weight / weight.sum())])
        return np.diff(cumulative[below])
    from scipy.stats import norm

    law = laplace(scale=scale) if family == "laplace" else norm(scale=scale)
    return np.diff(law.cdf(edges - 0.5))


def statistic(drawn: np.ndarray, edges: np.ndarray, share: np.ndarray) -> float:
    observed = np.histogram(drawn, bins=edges)[0]
    return float(((observed - len(drawn) * share) ** 2 / (len(drawn) * share)).sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "parameter"),
    [("laplace", s) for s in (1, 2.5, 50, 63, 64, 1000, 2**31, 2**52)]
    + [("gauss", v) for v in (1, 6.25, 2500, 5000, 10**6, 2**62, 2**104)],
)
def test_chi_squared_accepts_the_scale_and_rejects_scales_two_percent_off(family: str, parameter: float) -> None:
    """A million draws, false alarms 1e-6; the power against 2 % is computed from the non-central law and
    above 0.999.
    """
    rng = np.random.default_rng(20240811)
    draw: Callable[..., np.ndarray] = discrete_laplace if family == "laplace" else discrete_gaussian
    drawn = draw(Fraction(parameter), 1_000_000, rng)
    scale = parameter if family == "laplace" else parameter**0.5
    inner = np.unique(np.round(np.linspace(-3, 3, 41) * scale)).astype(np.int64)
    edges = np.concatenate([[-(2**62)], inner, [2**62]])
    if scale <= 1000:
        edges[0], edges[-1] = -60 * int(scale + 1), 60 * int(scale + 1) + 1
    right = probabilities(family, parameter, edges)
    cells = len(right) - 1
    limit = chi2.isf(1e-6, cells)
    assert statistic(drawn, edges, right) < limit
    for factor in (0.98, 1.02):
        wrong = probabilities(family, parameter * (factor if family == "laplace" else factor**2), edges)
        assert ncx2.sf(limit, cells, 1e6 * ((right - wrong) ** 2 / wrong).sum()) > 0.999
        assert statistic(drawn, edges, wrong) > limit


@pytest.mark.slow
@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
def test_few_draws_and_many_draws_have_one_law(draw: Callable[..., np.ndarray]) -> None:
    """Draws in eights use Python's integers, draws in thousands use arrays; two-sample chi-squared, false
    alarms 1e-6.
    """
    rng = np.random.default_rng(4)
    for parameter in (3, 10**4):
        few = np.concatenate([draw(parameter, 8, rng) for _ in range(4000)])
        many = draw(parameter, len(few), rng)
        edges = np.unique(np.quantile(many, np.linspace(0, 1, 17)).astype(np.int64))
        a, b = (np.bincount(np.searchsorted(edges, part), minlength=len(edges) + 1) for part in (few, many))
        assert chi2.sf(((a - b) ** 2 / np.maximum(a + b, 1)).sum(), len(edges)) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "parameter"), [("laplace", 64), ("laplace", 100), ("gauss", 64**2), ("gauss", 100**2)]
)
def test_zero_is_counted_once_in_few_draws_of_a_large_scale(family: str, parameter: int) -> None:
    """20,000 draws in eights against the distribution, with a separate cell for 0; false alarms 1e-6.

    The power against a law in which minus zero counts, too, is computed from the non-central law and above
    0.999.
    """
    rng, scale = np.random.default_rng(41), parameter if family == "laplace" else int(parameter**0.5)
    draw: Callable[..., np.ndarray] = discrete_laplace if family == "laplace" else discrete_gaussian
    drawn = np.concatenate([draw(parameter, 8, rng) for _ in range(2500)])
    edges = np.array([-60 * (scale + 1), -scale, 0, 1, scale, 60 * (scale + 1) + 1])
    right = probabilities(family, parameter, edges)
    limit = chi2.isf(1e-6, len(right) - 1)
    twice = right + np.array([0, 0, right[2], 0, 0])
    twice /= twice.sum()
    assert ncx2.sf(limit, len(right) - 1, len(drawn) * ((twice - right) ** 2 / right).sum()) > 0.999
    assert statistic(drawn, edges, right) < limit


@pytest.mark.parametrize(("family", "parameter"), STEPS)
def test_of_one_place_and_two_signs_minus_zero_alone_is_drawn_again(
    family: str, parameter: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All places of the steps 0 and 1, with a word that keeps every one of them."""
    sampler = lattice_sampler(family, parameter)
    for step in (0, 1):
        monkeypatch.setattr(sampler._steps, "draw_one", lambda _rng, step=step: step)
        monkeypatch.setattr(noise, "words", lambda _count, _bits, _rng: np.zeros(1, dtype=np.uint64))
        for place in range(1 << sampler.shift):
            for negative in (False, True):
                stream = [2 * place + negative, 2 * place]
                monkeypatch.setattr(noise, "big_below", lambda _bound, _rng, stream=stream: stream.pop(0))
                size = (step << sampler.shift) + place
                assert sampler.draw_one() == (-size if negative else size)
                assert len(stream) == (0 if negative and not size else 1)


@pytest.mark.parametrize(("family", "parameter"), LARGE)
def test_one_draw_is_kept_with_the_probability_of_its_place(
    family: str, parameter: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words of 16 bits below e**-x keep it, those above do not; between them 64 bits more decide. What is not
    kept is followed by the first place of the step, which always is.
    """
    sampler = lattice_sampler(family, parameter)
    width = 1 << sampler.shift
    for step, place in ((0, width - 1), (1, width // 2), (3, width - 1), (40, width // 2)):
        low, here = (rho(family, parameter, step * width + one) for one in (0, place))
        cut = int(here / low * 2**16)
        monkeypatch.setattr(sampler._steps, "draw_one", lambda _rng, step=step: step)
        for word, more, kept in ((cut - 1, 5, True), (cut, 0, True), (cut, 2**64 - 1, False), (cut + 1, 5, False)):
            places, quick, rest = {2 * width: [2 * place, 0]}, [word, 0], [more]
            monkeypatch.setattr(noise, "big_below", lambda bound, _rng, stream=places: stream[bound].pop(0))
            monkeypatch.setattr(noise, "words", lambda _count, _bits, _rng, stream=quick: [stream.pop(0)])
            monkeypatch.setattr(randomness, "words", lambda _count, _bits, _rng, stream=rest: [stream.pop(0)])
            assert sampler.draw_one() == step * width + (place if kept else 0)


@pytest.mark.slow
def test_a_tiny_scale_is_all_zeros_and_a_huge_one_has_no_limit() -> None:
    assert not discrete_laplace(Fraction(1, 10**6), 100_000).any()
    assert not discrete_gaussian(Fraction(1, 10**12), 100_000).any()
    drawn = discrete_laplace(2**60, 3000, np.random.default_rng(6))
    assert drawn.dtype == object
    assert all(type(k) is int for k in drawn)
    assert kstest([k / 2**60 for k in drawn], laplace.cdf).pvalue > 1e-6
    assert max(abs(k) for k in discrete_laplace(10**300, 20)) > 2**900
    assert discrete_gaussian(4**60, 5).dtype == object


@pytest.mark.parametrize(("scale", "kind"), [(2**53 - 1, np.int64), (2**53, object), (2**53 + 1, object)])
def test_the_type_of_the_result_depends_on_the_scale_alone(scale: int, kind: type) -> None:
    assert {discrete_laplace(scale, size).dtype for size in (0, 1, 9, 100)} == {np.dtype(kind)}


def test_no_sum_of_64_bit_noise_can_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the largest fast scale the largest step and place stay inside int64; a step beyond is refused, not wrapped."""
    sampler = LatticeSampler(Fraction(1, 2**53 - 1), Fraction(0))
    assert ((noise._STEP_LIMIT - 1) << sampler.shift) + (1 << sampler.shift) <= 2**62
    monkeypatch.setattr(Inversion, "draw", lambda _self, size, _rng: np.arange(size) + noise._STEP_LIMIT - 99)
    with pytest.raises(OverflowError, match=r"2\*\*-700"):
        sampler.draw(100)


def test_the_series_decides_only_where_its_error_cannot_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact arithmetic decides within 32 units of the series, which is within 20 of the truth."""
    sampler, gaps = lattice_sampler("gauss", Fraction(10**6)), np.arange(-34, 35)
    step, place = np.full(len(gaps), 3), np.full(len(gaps), (1 << sampler.shift) // 2)
    uniform = sampler._series(step, place).astype(np.int64) + gaps
    for exact in (True, False):
        monkeypatch.setattr(noise, "words", lambda *_: (uniform & 0xFFFF).astype(np.uint64))
        monkeypatch.setattr(noise, "falls_below", lambda *_, exact=exact: exact)
        kept = sampler._keep(step, place, uniform >> 16, None)
        assert kept.tolist() == (gaps < (33 if exact else -32)).tolist()


def test_a_step_without_a_row_in_the_tables_is_decided_exactly() -> None:
    """Far out in the Gaussian tail, offsets beyond the first are nearly always rejected, offset 0 never."""
    sampler = lattice_sampler("gauss", Fraction(10**6))
    far = len(sampler._sure) + 5
    step = np.array([far, far])
    kept = sampler._keep(
        step, np.array([0, (1 << sampler.shift) - 1]), np.array([65535, 65535]), np.random.default_rng(1)
    )
    assert kept.tolist() == [True, False]


@pytest.mark.parametrize("parameter", [Fraction(10**6), Fraction(2**62)])
def test_the_middle_of_a_step_without_a_row_is_not_decided_by_the_last_row(
    parameter: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times as far out as the tables go the coin is much more often no: words between the two powers
    tell them apart.
    """
    sampler = lattice_sampler("gauss", parameter)
    near = np.array([len(sampler._sure)])  # the first of them
    monkeypatch.setattr(noise, "falls_below", lambda *_: True)
    assert sampler._keep(near, np.array([1]), np.array([65535]), None).tolist() == [True]
    monkeypatch.undo()
    last, middle = len(sampler._sure) - 1, 1 << sampler.shift >> 1
    exact, clipped = (float(PRECISE.exp(_decimal(-sampler.exponent(step, middle)))) for step in (4 * last, last))
    assert exact < 0.9 * clipped
    quick = np.array([0.98 * exact, (exact + clipped) / 2, 1.02 * exact]) * 2**16
    kept = sampler._keep(np.full(3, 4 * last), np.full(3, middle), quick.astype(np.int64), np.random.default_rng(1))
    assert kept.tolist() == [True, False, False]


@each(draw=[discrete_laplace, discrete_gaussian], bad=[0, -1, float("nan"), float("inf"), True, "abc", None])
def test_a_scale_must_be_a_positive_number(draw: Callable[..., np.ndarray], bad: object) -> None:
    with pytest.raises((ValueError, TypeError), match="must be"):
        draw(bad, 1)


def test_a_generator_repeats_its_noise_and_the_system_never_does() -> None:
    for size in (4, 5000):
        first, second = (discrete_laplace(2**40, size, np.random.default_rng(3)) for _ in range(2))
        assert first.tolist() == second.tolist()
        assert not set(discrete_laplace(2**40, size).tolist()) & set(discrete_laplace(2**40, size).tolist())


def _send_noise(connection: "multiprocessing.connection.Connection") -> None:
    connection.send(discrete_laplace(2**40, 16).tolist())


@pytest.mark.slow
def test_forks_threads_and_pickles_never_repeat_noise() -> None:
    """144 draws over 2**41 values: a chance repetition has probability below 1e-8."""
    context = multiprocessing.get_context("fork")
    discrete_laplace(2**40, 5000)  # the tables exist before the fork
    seen: list[int] = []
    pipes = [context.Pipe() for _ in range(4)]
    processes = [context.Process(target=_send_noise, args=(end,)) for _, end in pipes]
    for process in processes:
        process.start()
    for (receiver, _), process in zip(pipes, processes, strict=True):
        seen += receiver.recv()
        process.join()
    with ThreadPoolExecutor(4) as pool:
        for part in pool.map(lambda _: discrete_laplace(2**40, 16).tolist(), range(4)):
            seen += part
    sampler = pickle.loads(pickle.dumps(discrete_laplace))  # noqa: S301
    seen += sampler(2**40, 16).tolist()
    assert len(set(seen)) == len(seen)
