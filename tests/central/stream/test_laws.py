import numpy as np
import pytest

from toolkit.central.noise.laws import GeometricLaw
from toolkit.central.stream.calibration import GeometricSumLaw


@pytest.mark.parametrize(("scale", "count"), [(0.3, 2), (1.0, 1), (2.0, 3), (3.0, 8)])
def test_the_law_of_a_sum_is_the_convolution(scale: float, count: int) -> None:
    reach = int(scale * 120) + 40
    one = GeometricLaw(scale).pmf(np.arange(-reach, reach + 1))
    whole = one
    for _ in range(count - 1):
        whole = np.convolve(whole, one)
    place = np.abs(np.arange(len(whole)) - len(whole) // 2)
    law = GeometricSumLaw(scale, count)
    assert law.sd == pytest.approx(float(np.sqrt(np.sum(whole * place**2))))
    for error in (0, 1, round(law.sd), round(3 * law.sd)):
        assert law.tail_probability(error) == pytest.approx(float(whole[place > error].sum()), abs=1e-11)
    for level in (0.5, 0.95, 0.999):
        inside = int(law.two_sided_quantile(level))
        assert whole[place <= inside].sum() >= level - 1e-11
        assert whole[place <= inside - 1].sum() < level


def test_large_scales_have_the_law_of_real_noise() -> None:
    fine, coarse = GeometricSumLaw(300.0, 12), GeometricSumLaw(30_000.0, 12)
    assert coarse.two_sided_quantile(0.95) / fine.two_sided_quantile(0.95) == pytest.approx(100, rel=1e-3)
    assert GeometricSumLaw(1e6, 1).two_sided_quantile(0.95) == pytest.approx(-1e6 * np.log(0.05), rel=1e-5)


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_the_law_of_real_noise_is_that_of_whole_noise_half_a_step_on(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = GeometricSumLaw(200.0, count)
    monkeypatch.setattr("toolkit.central.stream.calibration._MOST_TERMS", 10**6)
    for error in (0, 100, 500, 2000):
        assert law._smooth_tail(error + 0.5) == pytest.approx(law.tail_probability(error), rel=1e-4)  # type: ignore[arg-type]
