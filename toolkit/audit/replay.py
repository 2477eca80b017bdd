"""Record and replay: runs of a mechanism on two neighbors with the same noise.

Independent noise hides the effect of one person. With the same noise, the effect is visible after one run instead of
thousands. For mechanisms that add noise, the difference of the two outputs is the difference of the statistics, which
must not exceed the declared sensitivity.
"""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolkit.audit.running import named_pairs, pairs_for, protocol, takes_rng, unwrap_estimate
from toolkit.core.checks import Number, check_choice, exact_fraction, reject
from toolkit.core.inference.digits import concise


@dataclass(frozen=True)
class Replay:
    """The result of running a mechanism on a pair of neighbors with the same noise.

    Parameters
    ----------
    pair : str
        The name of the pair.
    moved : float
        The distance between the outputs in the norm; it is infinite if their shapes differ or an output is not a
        number.
    sensitivity : float
        The declared sensitivity.
    same_flow : bool
        Whether both runs used the same randomness; otherwise the noise differed and `moved` means little.

    Examples
    --------
    >>> Replay("10 and 11", moved=1.0, sensitivity=1.0, same_flow=True).moved
    1.0
    """

    pair: str
    moved: float
    sensitivity: float
    same_flow: bool

    __repr__ = concise

    @property
    def exceeds(self) -> bool:
        """Whether the output moved further than the declared sensitivity and rounding errors allow."""
        return self.same_flow and self.moved > self.sensitivity * (1 + 1e-6)


def replay(
    mechanism: object,
    neighbors: object = None,
    *,
    sensitivity: Number | None = None,
    norm: str = "l1",
    n_seeds: int = 5,
) -> list[Replay]:
    """Run a mechanism on neighbors with the same noise, and measure how far the output moves.

    Parameters
    ----------
    mechanism : object
        A mechanism, as for `audit`, that accepts `rng`.
    neighbors : tuple or list or dict, optional
        The pairs of inputs, as for `audit`.
    sensitivity : Number, optional
        The declared sensitivity; the default is the sensitivity of the mechanism.
    norm : str
        The norm of the sensitivity, "l1" or "l2".
    n_seeds : int
        The number of seeds; each seed gives different noise.

    Returns
    -------
    list of Replay
        The largest movement of the outputs for each pair of inputs.

    References
    ----------
    Re:cord-play, arXiv 2602.17454 (2026).

    Examples
    --------
    >>> def mean(salaries, rng):  # assumes numbers from 0 to 100, but does not clamp them
    ...     return np.mean(salaries) + rng.laplace(scale=100 / len(salaries))
    >>> replay(mean, ([20, 30], [20, 9000]), sensitivity=50)[0].exceeds
    True
    """
    check_choice(norm, "norm", ("l1", "l2"))
    if not takes_rng(mechanism):
        reject("`mechanism` must take `rng`", "none", "its noise cannot be replayed", TypeError)
    declared = sensitivity if sensitivity is not None else getattr(mechanism, "sensitivity", None)
    if declared is None:
        reject("`sensitivity` must be given", "none", "the distance of the outputs is compared with it", TypeError)
    limit = float(exact_fraction(declared, "sensitivity"))
    pairs = named_pairs(neighbors) if neighbors is not None else pairs_for(mechanism)
    run, _ = protocol(mechanism)
    replays = []
    for name, (a, b) in pairs.items():
        trials = [_replay_pair(run, a, b, seed, norm) for seed in range(n_seeds)]
        moved = [distance for distance, same in trials if same] or [distance for distance, _ in trials]
        replays.append(Replay(name, max(moved), limit, any(same for _, same in trials)))
    return replays


def _replay_pair(run: Any, a: Any, b: Any, seed: int, norm: str) -> tuple[float, bool]:
    """Return the distance of the outputs with the same noise, and whether both runs used the same randomness."""
    first = np.random.default_rng(seed)
    second = copy.deepcopy(first)
    outputs = [np.asarray(unwrap_estimate(run(*given)), dtype=float) for given in ((a, first), (b, second))]
    same = bool(first.bit_generator.state == second.bit_generator.state)
    if outputs[0].shape != outputs[1].shape or not np.all(np.isfinite(np.concatenate([x.ravel() for x in outputs]))):
        return np.inf, True
    gap = np.abs(outputs[0] - outputs[1]).ravel()
    return float(gap.sum() if norm == "l1" else np.sqrt(gap @ gap)), same
