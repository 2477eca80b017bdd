from fractions import Fraction
from types import SimpleNamespace

import pytest

from toolkit.core import composition as pld
from toolkit.core.composition import _on_grid, optimal_epsilon, pld_epsilon


@pytest.mark.slow
def test_it_is_never_below_the_exact_optimum_and_near_it() -> None:
    steps = {Fraction(1, 20): 100}
    found, exact = pld_epsilon(steps, Fraction(1, 10**6)), optimal_epsilon(steps, Fraction(1, 10**6))
    assert exact <= found <= exact * Fraction(101, 100)


def test_what_the_transforms_may_lose_is_taken_from_delta_before_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[float] = []
    law = SimpleNamespace(get_epsilon_for_delta=lambda delta: asked.append(delta) or 0.5)
    law.compose = law.self_compose = lambda _: law
    tool = SimpleNamespace(
        identity=lambda **_: law,
        from_privacy_parameters=lambda *_, **__: law,
        DifferentialPrivacyParameters=lambda *_: None,
    )
    monkeypatch.setattr(pld, "_module", lambda _: tool)
    assert pld_epsilon({Fraction(1, 2): 3}, Fraction(1, 10**9)) == Fraction(1, 2)
    assert asked == [float(Fraction(99, 10**11))]


def test_a_delta_in_the_reach_of_floating_point_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a delta of at least"):
        pld_epsilon({Fraction(1, 10): 3}, Fraction(1, 10**12))


@pytest.mark.slow
def test_many_different_losses_become_few_kinds_none_of_them_smaller() -> None:
    """Ten thousand compositions on a grid of 2**18 points took minutes; each loss alone was shifted up on
    that grid.
    """
    steps = {Fraction(i, 10**6 + 3): 1 for i in range(1, 10_001)}
    kinds, interval = _on_grid(steps)
    assert len(kinds) < 300
    assert sum(kinds.values()) == 10_000
    above = sorted(kind for kind, times in kinds.items() for _ in range(times))
    for epsilon, kind in zip(sorted(steps), above, strict=True):
        assert epsilon <= Fraction(kind) < epsilon + Fraction(interval)
        assert Fraction(kind) % Fraction(interval) == 0


def test_losses_with_a_common_unit_are_taken_as_they_are() -> None:
    assert _on_grid({Fraction(1, 10): 50, Fraction(1, 4): 20}) == ({0.1: 50, 0.25: 20}, 0.05)
    assert _on_grid({}) == ({}, 1.0)
