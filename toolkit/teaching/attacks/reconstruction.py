"""Reconstruction attacks: too many accurate answers determine the data (Dinur and Nissim 2003).

Each person has a secret bit. A query is a set of people, and its answer is the number of ones in this set. If all
subsets are answered with errors of at most alpha, a table with at most 4 alpha wrong bits can be found. If random
subsets are answered with noise well below sqrt(n), least squares or linear programming finds nearly all bits.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from toolkit.audit.running import protocol, unwrap_estimate
from toolkit.core.arrays import Array, ArrayLike, Mask
from toolkit.core.checks import check_choice, check_integer, float_array, reject
from toolkit.core.extras import chunks
from toolkit.core.randomness import Rng, check_rng

Method = Literal["least_squares", "linear_program"]

_MAX_EXHAUSTIVE_BITS = 14
_CHUNK = 256  # queries per step of the progress bar


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The reconstructed secret bits.

    Parameters
    ----------
    bits : Mask
        The bits.
    fractional : Array
        The fractional solution before rounding.

    Examples
    --------
    >>> Reconstruction(np.array([True, False]), np.array([0.9, 0.1])).bits.tolist()
    [True, False]
    """

    bits: Mask
    fractional: Array

    def accuracy(self, secret: ArrayLike) -> float:
        """Compute the share of bits that are right; random guessing gives about one half.

        Parameters
        ----------
        secret : array-like
            The true bits.

        Returns
        -------
        float
            The share.
        """
        return float(np.mean(self.bits == (_checked_bits(secret, len(self.bits)) != 0)))


def _checked_bits(secret: ArrayLike, n_people: int) -> Array:
    bits = float_array(secret, "secret")
    if bits.shape != (n_people,):
        reject("`secret` must be one bit for each person", bits.shape, f"give {n_people} bits")
    return bits


def queries(n: int, n_queries: int | None = None, rng: Rng = None) -> Mask:
    """Draw random sets of people; each person is in a set with probability one half.

    Parameters
    ----------
    n : int
        The number of people.
    n_queries : int, optional
        The number of sets; by default n log2(n)**2, rounded up.
    rng : Generator, optional
        A generator for simulations; by default, a new generator.

    Returns
    -------
    Mask
        A row per set.

    Examples
    --------
    >>> queries(16, rng=np.random.default_rng(1)).shape
    (256, 16)
    """
    n_people = check_integer(n, "n", minimum=2)
    n_sets = (
        math.ceil(n_people * math.log2(n_people) ** 2) if n_queries is None else check_integer(n_queries, "n_queries")
    )
    return (check_rng(rng) or np.random.default_rng()).integers(0, 2, (n_sets, n_people), dtype=np.uint8).astype(bool)


def answers(secret: ArrayLike, subsets: Mask, mechanism: object = None, rng: Rng = None) -> Array:
    """Release the number of ones in each set, by a mechanism.

    Parameters
    ----------
    secret : array-like
        The true bits.
    subsets : Mask
        The sets, one row each.
    mechanism : object, optional
        An object with `release(value, rng)`, or a function of all counts; None answers exactly.
    rng : Generator, optional
        A generator for simulations.

    Returns
    -------
    Array
        An answer per set.

    Examples
    --------
    >>> answers([1, 0, 1], np.array([[True, True, False], [True, False, True]])).tolist()
    [1.0, 2.0]
    """
    counts = subsets.astype(np.float32) @ _checked_bits(secret, subsets.shape[1]).astype(np.float32)
    exact_counts = np.round(counts).astype(np.int64)
    if mechanism is None:
        return exact_counts.astype(float)
    return np.asarray(unwrap_estimate(protocol(mechanism)[0](exact_counts, rng)), dtype=float)


def _bounded_noise(alpha: float) -> Callable[..., Array]:
    """Make a mechanism that adds uniform noise between -alpha and alpha.

    Parameters
    ----------
    alpha : float
        The largest error.

    Returns
    -------
    callable
        The mechanism.

    Examples
    --------
    >>> bool(abs(_bounded_noise(2.0)(np.zeros(1), np.random.default_rng(1))[0]) <= 2)
    True
    """

    def mechanism(counts: Array, rng: Rng) -> Array:
        return counts + (rng or np.random.default_rng()).uniform(-alpha, alpha, len(counts))

    return mechanism


def rounding_mechanism(step: int) -> Callable[..., Array]:
    """Make a mechanism that rounds counts, with an error of at most half a step and no randomness.

    Parameters
    ----------
    step : int
        Counts are rounded to multiples of this step.

    Returns
    -------
    callable
        The mechanism.

    Examples
    --------
    >>> rounding_mechanism(5)(np.array([12, 14])).tolist()
    [10.0, 15.0]
    """
    check_integer(step, "step", minimum=1)

    def mechanism(counts: Array) -> Array:
        return np.asarray(np.round(counts / step) * step)

    return mechanism


def reconstruct(
    subsets: Mask, responses: ArrayLike, *, method: Method = "least_squares", noise_sd: float = 0.0
) -> Reconstruction:
    """Reconstruct the secret bits from random sets and their answers.

    Parameters
    ----------
    subsets : Mask
        The sets, one row each.
    responses : array-like
        An answer per set.
    method : str
        "least_squares" minimizes the sum of squared errors. "linear_program" minimizes the sum of absolute errors
        with every bit between 0 and 1 (HiGHS); it is slower, and robust to a few outlying answers.
    noise_sd : float
        The standard deviation of the noise, if known. The least squares solution is then shrunk toward one half. This
        is the best linear estimate, which is much better if there are only slightly more answers than people.

    Returns
    -------
    Reconstruction
        The bits.

    References
    ----------
    I. Dinur and K. Nissim, Revealing information while preserving privacy (2003); C. Dwork, F. McSherry and K.
    Talwar, The price of privacy and the limits of LP decoding (2007).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> secret, subsets = rng.integers(0, 2, 64), queries(64, rng=rng)
    >>> reconstruct(subsets, answers(secret, subsets, _bounded_noise(2), rng)).accuracy(secret)
    1.0
    """
    answered = float_array(responses, "responses")
    if answered.shape != (len(subsets),):
        reject("`responses` must be one answer for each query", answered.shape, f"give {len(subsets)} answers")
    if not np.isfinite(answered).all():
        reject("`responses` must be finite numbers", "others", "drop queries without an answer")
    check_choice(method, "method", ("least_squares", "linear_program"))
    estimate = (
        _least_squares(subsets, answered, noise_sd) if method == "least_squares" else _linear_program(subsets, answered)
    )
    return Reconstruction(estimate > 0.5, estimate)


def _least_squares(subsets: Mask, answers: Array, noise_sd: float) -> Array:
    """Solve least squares with a penalty of 4 v |x - 1/2|**2, for noise of variance v and a prior of variance 1/4."""
    n, penalty = subsets.shape[1], max(4 * noise_sd**2, 1e-9)
    gram, moment = penalty * np.eye(n), np.full(n, penalty / 2)
    for chunk in chunks(len(subsets), _CHUNK, "reading answers"):
        rows = subsets[chunk].astype(float)
        gram += rows.T @ rows
        moment += rows.T @ answers[chunk]
    return np.asarray(np.linalg.solve(gram, moment))


def _linear_program(subsets: Mask, answers: Array) -> Array:
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    n_queries, n = subsets.shape
    over, under = eye_array(n_queries), -eye_array(n_queries)
    solution = linprog(
        np.concatenate([np.zeros(n), np.ones(2 * n_queries)]),
        A_eq=hstack([csr_array(subsets.astype(float)), over, under]).tocsc(),
        b_eq=answers,
        bounds=[(0, 1)] * n + [(0, None)] * (2 * n_queries),
        method="highs",
    )
    return np.asarray(solution.x[:n])


def exhaustive(responses: ArrayLike, alpha: float) -> Reconstruction:
    """Find a table that agrees with all 2**n subset sums and therefore has at most 4 alpha wrong bits.

    Parameters
    ----------
    responses : array-like
        `responses[mask]` is the answer for the set of people i whose bit 2**i is set in mask.
    alpha : float
        The largest error of an answer.

    Returns
    -------
    Reconstruction
        The first table that agrees with the answers.

    Examples
    --------
    >>> exhaustive([0, 1, 0, 1], alpha=0).bits
    array([ True, False])
    """
    answered = float_array(responses, "responses")
    n = len(answered).bit_length() - 1
    if len(answered) != 1 << n or not 1 <= n <= _MAX_EXHAUSTIVE_BITS:
        reject(
            f"`responses` must hold 2**n answers, n from 1 to {_MAX_EXHAUSTIVE_BITS}",
            len(answered),
            "write one answer for each subset",
        )
    masks = np.arange(1 << n, dtype=np.uint32)
    for chunk in chunks(1 << n, max(1, 2**20 >> n), "trying tables"):
        sums = np.bitwise_count(masks[chunk, None] & masks[None, :])
        matches = np.flatnonzero(np.all(np.abs(sums - answered) <= alpha, axis=1))
        if len(matches):
            bits = (int(masks[chunk][matches[0]]) >> np.arange(n)) & 1
            return Reconstruction(bits.astype(bool), bits.astype(float))
    reject(
        "some table must agree with all answers within `alpha`", alpha, "the errors are larger; give a larger `alpha`"
    )


def subset_sums(secret: ArrayLike) -> npt.NDArray[np.int64]:
    """Compute the exact sums of all 2**n subsets, in the order of `exhaustive`.

    Parameters
    ----------
    secret : array-like
        The true bits.

    Returns
    -------
    NDArray
        The sums.

    Examples
    --------
    >>> subset_sums([1, 0])
    array([0, 1, 0, 1])
    """
    sums, bits = np.zeros(1, dtype=np.int64), float_array(secret, "secret").astype(np.int64)
    if len(bits) > _MAX_EXHAUSTIVE_BITS:
        reject(f"`secret` must hold at most {_MAX_EXHAUSTIVE_BITS} bits", len(bits), "write one answer for each subset")
    for bit in bits:
        sums = np.concatenate([sums, sums + bit])
    return sums


def sweep(
    n: int,
    levels: Sequence[float],
    *,
    noise: Callable[[float], Any] = _bounded_noise,
    n_queries: int | None = None,
    repeats: int = 3,
    method: Method = "least_squares",
    rng: Rng = None,
) -> list[tuple[float, float]]:
    """Compute the share of reconstructed bits at each level of noise, averaged over random tables.

    Parameters
    ----------
    n : int
        The number of people.
    levels : sequence of float
        The levels of noise.
    noise : callable
        A function that makes the mechanism of a level; by default, its noise is uniform from -level to level.
    n_queries : int, optional
        The number of queries; by default 4 n, so that the threshold is near the square root of n.
    repeats : int
        The number of tables per level.
    method : str
        The method of `reconstruct`.
    rng : Generator, optional
        A generator for simulations; by default, a new generator.

    Returns
    -------
    list of tuple
        Pairs of (level, share).

    Examples
    --------
    >>> [(level, share)] = sweep(32, [0.0], repeats=1, rng=np.random.default_rng(1))
    >>> share
    1.0
    """
    source = check_rng(rng) or np.random.default_rng()
    n_sets, shares = 4 * n if n_queries is None else n_queries, np.zeros((len(levels), repeats))
    for chunk in chunks(len(levels) * repeats, 1, "reconstructing"):
        index, repeat = divmod(chunk.start, repeats)
        secret, subsets = source.integers(0, 2, n), queries(n, n_sets, source)
        released = answers(secret, subsets, noise(levels[index]), source)
        shares[index, repeat] = reconstruct(subsets, released, method=method).accuracy(secret)
    return [(float(level), float(accuracy)) for level, accuracy in zip(levels, shares.mean(axis=1), strict=True)]
