"""`KeyThreshold`: counts of keys that nobody has listed; those that enough people share are released."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np

from toolkit.central.gaussian import Gaussian
from toolkit.central.laplace import Laplace
from toolkit.central.noise.grid import NO_END, proper
from toolkit.central.noise.laws import NoiseBasis
from toolkit.central.publishing.tails import least_reach, tail_of, threshold_words
from toolkit.central.release import equal_diagonal
from toolkit.central.sensitivity import root_up
from toolkit.core.checks import Number, positive, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.covers import NOISE
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.loss import Approx, Zcdp
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.sampling.noise import exp_enclosure

_BITS = 256
_SHOWS = "the chance that a rare key shows"


@dataclass(frozen=True)
class KeyThreshold:
    """Whole noise on the count of every key that occurs; a key is released if count + noise reaches a threshold.

    A person counts in at most `keys` keys, at most `rows` times in each. With L = keys * rows (twice that
    under "replace") the noise is discrete Laplace with q = e**(-epsilon / L), and the threshold is rows + k
    for the least k with p = Pr[noise >= k] so small that (1 - p)**keys >= 1 - delta and p <= 1 - q.

    That is (epsilon, delta): let E be that none of the j keys that one person alone holds appears. On E the outputs
    with and without the person differ in the other keys only, by a factor of at most e**(epsilon (L - j) / L), and
    Pr[E] >= (1 - p)**j >= 1 - delta. The other way round the factor is at most e**(epsilon (L - j) / L) / (1 - p)**j <=
    e**epsilon, because 1 - p >= q. A replaced person has such keys on both sides; the two inequalities hold together.

    With `rho` the noise is Gaussian, for half of delta: epsilon is what Zcdp(rho) converts to at delta / 2, and (1 -
    p)**keys >= 1 / (1 + delta / 2). A set of outputs with more than e**-epsilon / (1 - p)**j of the law without noise
    on the j keys needs no bound, and for the others what is missing is at most 1 / (1 - p)**j - 1.

    >>> KeyThreshold.for_loss(1, 1e-6, neighbors="add_remove").threshold
    15
    >>> KeyThreshold.for_rho(0.0235, 1e-6, neighbors="add_remove").threshold
    25

    References
    ----------
    Korolova, Kenthapadi, Mishra and Ntoulas (2009); Desfontaines, Voss, Gipson and Mandayam (2022).
    """

    loss: Approx
    neighbors: str
    keys: int = 1
    rows: int = 1
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        check_neighbors(self.neighbors)
        whole(self.keys, "keys")
        whole(self.rows, "rows")
        if not isinstance(self.loss, Approx) or not 0 < self.loss.slack < 1 or self.loss.amount == 0:
            refuse("`loss` must be Approx(epsilon, delta), both above 0 and delta below 1", self.loss, NO_END)
        if self.rho is not None and not Zcdp(self.rho).to_approx(self.loss.slack / 2) <= self.loss:
            refuse(f"`rho` must be small enough for {self.loss}", float(self.rho), "the claim would not hold")

    @classmethod
    def for_loss(
        cls, epsilon: Number, delta: Number, *, neighbors: str, keys: int = 1, rows: int = 1
    ) -> "KeyThreshold":
        """Laplace noise that costs Approx(epsilon, delta)."""
        return cls(Approx(positive(epsilon, "epsilon", NO_END), proper(delta, _SHOWS)), neighbors, keys, rows)

    @classmethod
    def for_rho(cls, rho: Number, delta: Number, *, neighbors: str, keys: int = 1, rows: int = 1) -> "KeyThreshold":
        """Gaussian noise of Zcdp(rho); with the threshold it costs an Approx with this delta.

        Where a person has many keys its thresholds are lower: at (1, 1e-6) from three keys on.
        """
        amount, slack = positive(rho, "rho", NO_END), proper(delta, _SHOWS)
        return cls(Approx(Zcdp(amount).to_approx(slack / 2).amount, slack), neighbors, keys, rows, amount)

    @property
    def people(self) -> int:
        """How many people a neighbor differs by: one, or the one who goes and the one who comes."""
        return 2 if self.neighbors == "replace" else 1

    @cached_property
    def noise(self) -> Laplace | Gaussian:
        if self.rho is None:
            reach = self.people * self.keys * self.rows
            return Laplace.for_epsilon(Fraction(self.loss.amount), sensitivity=reach)
        # Counts are not negative, so the squares of who goes and who comes add up.
        return Gaussian.for_rho(self.rho, sensitivity=root_up(self.people * self.keys * self.rows**2))

    @cached_property
    def threshold(self) -> int:
        """The least noisy count that is released."""
        slack, most = self.loss.slack, Fraction(1)
        least = 1 - slack if self.rho is None else 1 / (1 + slack / 2)
        if isinstance(self.noise, Laplace):
            most = 1 - Fraction(exp_enclosure(1 / self.noise.exact_scale, _BITS)[1], 2**_BITS)

        def enough(share: Fraction) -> bool:
            return share <= most and (1 - share) ** self.keys >= least

        return self.rows + least_reach(tail_of(self.noise), enough)

    def facts(self) -> dict[str, Any]:
        """What a document says of it."""
        words = {"mechanism": type(self).__name__, "words": threshold_words(self.noise)}
        return words | self.noise.whole_facts() | {"threshold": self.threshold, "keys a person": self.keys}

    def release(self, counts: Mapping[Any, int], rng: Rng = None) -> Estimate:
        """The keys that reach the threshold with their noisy counts, the largest first.

        `counts` holds every key that occurs; equal noisy counts are told in its order, which must follow
        from the keys alone.
        """
        source, keys = check_rng(rng), list(counts)
        drawn = self.noise.release(np.array([*counts.values(), 0], dtype=np.int64), rng=source)  # never empty
        values, law = np.asarray(drawn.value)[:-1], cast("NoiseBasis", drawn.basis).law
        above = np.flatnonzero(values >= self.threshold)
        order = above[np.argsort(-values[above], kind="stable")]
        counts_above = values[order]
        return Estimate(
            value=counts_above,
            se=np.full(len(counts_above), law.sd),
            labels=tuple(keys[place] for place in order.tolist()),
            cov=equal_diagonal(law.sd**2, len(counts_above)) if len(counts_above) else None,
            n=None,
            loss=self.loss if source is None else None,
            covers=NOISE,
            method=f"{type(self.noise).__name__} threshold",
            notes=(self.note, *(() if source is None else (SIMULATED,))),
            basis=NoiseBasis(counts_above, law),
        )

    @property
    def note(self) -> str:
        return (
            f"keys whose noisy count reached {self.threshold}; how many did not is not told. A count near "
            "the threshold is shown only where its noise was high, so such counts are too high on average"
        )
