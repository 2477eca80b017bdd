"""Answer too many questions too well, and the data can be computed from the answers (Dinur and Nissim 2003).

Everybody in a table has one secret bit. A query is a set of people, its answer the number of ones among them.
With all subsets answered within alpha, some table can be found that is wrong in at most 4 alpha places; with
random subsets and noise well below the root of n, least squares or linear programming find nearly all bits.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from toolkit.audit.running import protocol, value_of
from toolkit.core.arrays import Array, ArrayLike, Mask
from toolkit.core.checks import choice, floats, refuse, whole
from toolkit.core.extras import chunks
from toolkit.core.randomness import Rng, check_rng

Method = Literal["least_squares", "linear_program"]

_MOST_EXHAUSTIVE = 14
_PIECE = 256  # queries per piece; some dozens of pieces, so that the bar moves


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """The bits that were found.

    Parameters
    ----------
    bits : Mask
        The bits.
    fractional : Array
        The real numbers that were rounded to them.

    Examples
    --------
    >>> Reconstruction(np.array([True, False]), np.array([0.9, 0.1])).bits.tolist()
    [True, False]
    """

    bits: Mask
    fractional: Array

    def share(self, secret: ArrayLike) -> float:
        """Compute which share of the secret bits was found; a coin finds one half.

        Parameters
        ----------
        secret : array-like
            The true bits.

        Returns
        -------
        float
            The share.
        """
        return float(np.mean(self.bits == (_bits(secret, len(self.bits)) != 0)))


def _bits(secret: ArrayLike, people: int) -> Array:
    bits = floats(secret, "secret")
    if bits.shape != (people,):
        refuse("`secret` must be one bit for each person", bits.shape, f"there are {people} people")
    return bits


def queries(n: int, count: int | None = None, rng: Rng = None) -> Mask:
    """Draw random sets of people.

    Parameters
    ----------
    n : int
        People.
    count : int, optional
        How many sets; n log2(n)**2 if left out.
    rng : Generator, optional
        For simulation; None draws from a fresh generator.

    Returns
    -------
    Mask
        A row per set.

    Examples
    --------
    >>> queries(16, rng=np.random.default_rng(1)).shape
    (256, 16)
    """
    people = whole(n, "n", least=2)
    number = math.ceil(people * math.log2(people) ** 2) if count is None else whole(count, "count")
    return (check_rng(rng) or np.random.default_rng()).integers(0, 2, (number, people), dtype=np.uint8).astype(bool)


def answers(secret: ArrayLike, asked: Mask, mechanism: object = None, rng: Rng = None) -> Array:
    """Answer the counts of ones in each set, by a mechanism.

    Parameters
    ----------
    secret : array-like
        The true bits.
    asked : Mask
        The sets, a row each.
    mechanism : object, optional
        Anything with `release(value, rng)`, or a function of all counts; None answers exactly.
    rng : Generator, optional
        For simulation.

    Returns
    -------
    Array
        An answer per set.

    Examples
    --------
    >>> answers([1, 0, 1], np.array([[True, True, False], [True, False, True]])).tolist()
    [1.0, 2.0]
    """
    counts = asked.astype(np.float32) @ _bits(secret, asked.shape[1]).astype(np.float32)
    exact = np.round(counts).astype(np.int64)
    if mechanism is None:
        return exact.astype(float)
    return np.asarray(value_of(protocol(mechanism)[0](exact, rng)), dtype=float)


def _bounded(alpha: float) -> Callable[..., Array]:
    """Make noise that is uniform between -alpha and alpha.

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
    >>> bool(abs(_bounded(2.0)(np.zeros(1), np.random.default_rng(1))[0]) <= 2)
    True
    """

    def mechanism(counts: Array, rng: Rng) -> Array:
        return counts + (rng or np.random.default_rng()).uniform(-alpha, alpha, len(counts))

    return mechanism


def rounded(step: int) -> Callable[..., Array]:
    """Make a mechanism that rounds counts: an error of at most half a step, and no randomness at all.

    Parameters
    ----------
    step : int
        Counts are rounded to its multiples.

    Returns
    -------
    callable
        The mechanism.

    Examples
    --------
    >>> rounded(5)(np.array([12, 14])).tolist()
    [10.0, 15.0]
    """
    whole(step, "step", least=1)

    def mechanism(counts: Array) -> Array:
        return np.asarray(np.round(counts / step) * step)

    return mechanism


def reconstruct(
    asked: Mask, told: ArrayLike, *, method: Method = "least_squares", noise_sd: float = 0.0
) -> Reconstruction:
    """Find the secret bits from random sets and the answers about them.

    Parameters
    ----------
    asked : Mask
        The sets, a row each.
    told : array-like
        An answer per set.
    method : str
        "least_squares" minimizes the sum of squared errors; "linear_program" the sum of their sizes, with every
        bit between 0 and 1 (HiGHS): slower, and not misled by a few wild answers.
    noise_sd : float
        Of the answers, if known: least squares are drawn towards one half. Of all linear guesses that is the
        best, and a much better one where there are hardly more answers than people.

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
    >>> secret, asked = rng.integers(0, 2, 64), queries(64, rng=rng)
    >>> reconstruct(asked, answers(secret, asked, _bounded(2), rng)).share(secret)
    1.0
    """
    heard = floats(told, "told")
    if heard.shape != (len(asked),):
        refuse("`told` must be one answer for each query", heard.shape, f"there are {len(asked)} queries")
    if not np.isfinite(heard).all():
        refuse("`told` must be finite numbers", "others", "no table is near them")
    choice(method, "method", ("least_squares", "linear_program"))
    estimate = _least_squares(asked, heard, noise_sd) if method == "least_squares" else _linear_program(asked, heard)
    return Reconstruction(estimate > 0.5, estimate)


def _least_squares(subsets: Mask, answers: Array, noise_sd: float) -> Array:
    """With noise of variance v, and bits of mean 1/2 and variance 1/4 before, the penalty is 4 v |x - 1/2|**2."""
    n, pull = subsets.shape[1], max(4 * noise_sd**2, 1e-9)
    gram, moment = pull * np.eye(n), np.full(n, pull / 2)
    for part in chunks(len(subsets), _PIECE, "reading answers"):
        piece = subsets[part].astype(float)
        gram += piece.T @ piece
        moment += piece.T @ answers[part]
    return np.asarray(np.linalg.solve(gram, moment))


def _linear_program(subsets: Mask, answers: Array) -> Array:
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    count, n = subsets.shape
    over, under = eye_array(count), -eye_array(count)
    solution = linprog(
        np.concatenate([np.zeros(n), np.ones(2 * count)]),
        A_eq=hstack([csr_array(subsets.astype(float)), over, under]).tocsc(),
        b_eq=answers,
        bounds=[(0, 1)] * n + [(0, None)] * (2 * count),
        method="highs",
    )
    return np.asarray(solution.x[:n])


def exhaustive(told: ArrayLike, alpha: float) -> Reconstruction:
    """Find a table that agrees with all 2**n subset sums; by theorem it is wrong in at most 4 alpha places.

    Parameters
    ----------
    told : array-like
        `told[mask]` answers the set of the people i whose bit 2**i is set in mask.
    alpha : float
        The largest error of an answer.

    Returns
    -------
    Reconstruction
        The first table that agrees.

    Examples
    --------
    >>> exhaustive([0, 1, 0, 1], alpha=0).bits
    array([ True, False])
    """
    heard = floats(told, "told")
    n = len(heard).bit_length() - 1
    if len(heard) != 1 << n or not 1 <= n <= _MOST_EXHAUSTIVE:
        refuse(f"`told` must hold 2**n answers, n from 1 to {_MOST_EXHAUSTIVE}", len(heard), "all subsets are asked")
    masks = np.arange(1 << n, dtype=np.uint32)
    for part in chunks(1 << n, max(1, 2**20 >> n), "trying tables"):
        overlaps = np.bitwise_count(masks[part, None] & masks[None, :])
        passed = np.flatnonzero(np.all(np.abs(overlaps - heard) <= alpha, axis=1))
        if len(passed):
            bits = (int(masks[part][passed[0]]) >> np.arange(n)) & 1
            return Reconstruction(bits.astype(bool), bits.astype(float))
    refuse("some table must agree with all answers within `alpha`", alpha, "the errors are larger than that")


def subset_sums(secret: ArrayLike) -> npt.NDArray[np.int64]:
    """Compute the exact answers to all 2**n subsets, in the order of `exhaustive`.

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
    sums, bits = np.zeros(1, dtype=np.int64), floats(secret, "secret").astype(np.int64)
    if len(bits) > _MOST_EXHAUSTIVE:
        refuse(f"`secret` must hold at most {_MOST_EXHAUSTIVE} bits", len(bits), "all subsets are asked")
    for bit in bits:
        sums = np.concatenate([sums, sums + bit])
    return sums


def sweep(
    n: int,
    levels: Sequence[float],
    *,
    noise: Callable[[float], Any] = _bounded,
    count: int | None = None,
    repeats: int = 3,
    method: Method = "least_squares",
    rng: Rng = None,
) -> list[tuple[float, float]]:
    """Compute the share of bits found at each level of noise, mean of a few random tables.

    Parameters
    ----------
    n : int
        People.
    levels : sequence of float
        Levels of noise.
    noise : callable
        `noise(level)` makes the mechanism.
    count : int, optional
        Queries; 4 n if left out, so that the threshold is near the root of n.
    repeats : int
        Tables per level.
    method : str
        As for `reconstruct`.
    rng : Generator, optional
        For simulation; None draws from a fresh generator.

    Returns
    -------
    list of tuple
        (level, share) for the picture.

    Examples
    --------
    >>> [(level, share)] = sweep(32, [0.0], repeats=1, rng=np.random.default_rng(1))
    >>> share
    1.0
    """
    source = check_rng(rng) or np.random.default_rng()
    size, shares = 4 * n if count is None else count, np.zeros((len(levels), repeats))
    for part in chunks(len(levels) * repeats, 1, "reconstructing"):
        place, repeat = divmod(part.start, repeats)
        secret, subsets = source.integers(0, 2, n), queries(n, size, source)
        released = answers(secret, subsets, noise(levels[place]), source)
        shares[place, repeat] = reconstruct(subsets, released, method=method).share(secret)
    return [(float(level), float(share)) for level, share in zip(levels, shares.mean(axis=1), strict=True)]
