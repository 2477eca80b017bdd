from typing import NoReturn

import numpy as np
import pytest

from toolkit.central.noise.grid import Answer, Noisy, add_whole
from toolkit.central.noise.laws import GeometricLaw, NoiseLaw
from toolkit.central.release import Additive
from toolkit.core.loss import Pure
from toolkit.core.randomness import Rng


class Seven(Additive):
    """Adds 7 to everything: no mechanism, but all that the shared road needs."""

    loss = Pure(1)
    scale = 7.0
    whole_law = GeometricLaw(7.0)

    def error(self, level: float = 0.95) -> float:
        return 7 * level

    def _whole_noise(self, size: int) -> NoReturn:
        raise NotImplementedError

    def _noisy(self, answer: Answer, _: Rng) -> tuple[Noisy, NoiseLaw]:
        return add_whole(answer, np.full(answer.size, 7)), GeometricLaw(self.scale)


def test_a_release_is_the_value_with_the_noise_and_says_by_what_and_at_what_cost():
    estimate = Seven().release([1, 2], labels=["a", "b"])
    assert estimate.value.tolist() == [8, 9]
    assert (estimate.labels, estimate.method, estimate.loss, estimate.covers) == (("a", "b"), "Seven", Pure(1), "noise")
    assert estimate.notes == ()
    assert "simulated" in Seven().release(1, np.random.default_rng(1)).notes[0]


def test_what_does_not_say_how_it_draws_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        type("Silent", (Additive,), {"scale": 1.0, "error": Seven.error})()
