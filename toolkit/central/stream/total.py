"""`RunningTotal`: a total that is published every period, at a privacy loss that is fixed in advance."""

import os
import threading
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from toolkit.central.noise.grid import NO_FINITE_NOISE
from toolkit.central.noise.laws import NoiseBasis
from toolkit.central.release import loss_and_notes
from toolkit.central.stream.calibration import best_factorization, calibrated_noise
from toolkit.central.stream.factorization import Factorization
from toolkit.central.stream.roots import SquareRoot
from toolkit.central.stream.trees import Tree
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, check_integer, check_neighbors, check_positive, explain_call, reject
from toolkit.core.covers import NOISE
from toolkit.core.estimate import Estimate
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng

MOST_PERIODS = 10_000
LATE_DATA = "late data count in the period in which they arrive; published totals are never revised"


@explain_call(
    "RunningTotal.for_epsilon(1.0, periods=52)",
    periods="it is how often the total is published altogether: periods=52 for weekly totals of a year",
)
class RunningTotal:
    """A total that is published with noise after each of a fixed number of periods.

    All periods together cost a single loss. The factorization of the matrix of totals depends on the loss and the
    number of periods. Under Pure, fresh integer noise is added to every period or to blocks of periods; under Zcdp, the
    square root of the matrix is used. Counts may depend on earlier releases. Late data count in the period in which
    they arrive; past periods are never computed again.

    The object holds the counts, and its noise must not be drawn twice, so it cannot be copied, pickled, or used in a
    forked process. A running total is lost when its process ends; `Ledger.every` stores a running total in a file.

    Parameters
    ----------
    loss : Pure, Zcdp or Approx
        The cost of all periods together. For Approx, the noise is calibrated to the largest Zcdp that it allows. A
        ledger with a Zcdp ceiling is charged this Zcdp.
    periods : int
        The total number of periods; counts for further periods are rejected.
    window : int, optional
        The number of most recent periods to sum; by default, all periods so far.
    neighbors : {"add_remove", "replace"}
        "add_remove": a record is added or removed. "replace": a record changes, or moves to another period.
    sensitivity : int
        The largest change of one period's count that one record, or person, can cause.
    per_person : int, optional
        By default, the guarantee is for one record in one period (event level). With a number, it is for a whole
        person, who is counted in at most this number of periods (user level); `Visits` enforces this limit.
    factorization : Tree or SquareRoot, optional
        The factorization of the matrix of totals; by default, the factorization with the smallest error.
    rng : numpy.random.Generator, optional
        A generator for simulations, whose estimates state no loss; the default is the operating system's randomness.

    References
    ----------
    Dwork, Naor, Pitassi and Rothblum (2010); Chan, Shi and Song (2011); Henzinger, Kalinin and Upadhyay (2025).

    Examples
    --------
    >>> total = RunningTotal.for_epsilon(1.0, periods=52)
    >>> total
    <RunningTotal: 0 of 52 periods; ε = 1 for all of them; noise sd at most 9.7; a tree of 2 levels: ...>
    >>> total.add(17).labels
    ('total after 1 of 52 periods',)
    """

    def __init__(
        self,
        loss: Loss,
        periods: int,
        *,
        window: int | None = None,
        neighbors: str = "add_remove",
        sensitivity: int = 1,
        per_person: int | None = None,
        factorization: Factorization | None = None,
        rng: Rng = None,
    ) -> None:
        self.loss, self.periods = loss, _check_periods(periods)
        noise_loss = _noise_loss(loss)
        self.window = None if window is None else check_integer(window, "window")
        self.neighbors, self.sensitivity = check_neighbors(neighbors), check_integer(sensitivity, "sensitivity")
        self.per_person = None if per_person is None else _check_per_person(per_person, self.periods)
        step, n_periods = self.sensitivity * (2 if neighbors == "replace" else 1), self.per_person or 1
        if factorization is None:
            factorization = best_factorization(noise_loss, self.periods, window=self.window, per_person=n_periods)
        else:
            self._check_factorization(factorization)
        self._noise, self._decoder = (
            calibrated_noise(factorization, noise_loss, step, n_periods),
            factorization._decoder(),
        )
        self._rng, self._lock, self._process = check_rng(rng), threading.Lock(), os.getpid()
        self._counts, self._measurements = list[int](), list[tuple[int, ...]]()

    @classmethod
    def for_epsilon(cls, epsilon: Number, *, periods: int, **options: Any) -> "RunningTotal":
        """Make the running total that costs Pure(epsilon) for all periods together.

        Parameters
        ----------
        epsilon : number
            The cost of all periods together.
        periods : int
            The total number of periods.
        **options : Any
            Further parameters of `RunningTotal`: `window`, `neighbors`, `sensitivity`, `per_person`, `factorization`,
            `rng`.

        Returns
        -------
        RunningTotal
            A running total before its first period.
        """
        return cls(Pure(check_positive(epsilon, "epsilon", NO_FINITE_NOISE)), periods, **options)

    @classmethod
    def for_rho(cls, rho: Number, *, periods: int, **options: Any) -> "RunningTotal":
        """Make the running total that costs Zcdp(rho) for all periods together.

        Parameters
        ----------
        rho : number
            The cost of all periods together.
        periods : int
            The total number of periods.
        **options : Any
            Further parameters of `RunningTotal`: `window`, `neighbors`, `sensitivity`, `per_person`, `factorization`,
            `rng`.

        Returns
        -------
        RunningTotal
            A running total before its first period.
        """
        return cls(Zcdp(check_positive(rho, "rho", NO_FINITE_NOISE)), periods, **options)

    @classmethod
    def for_loss(cls, epsilon: Number, delta: Number, *, periods: int, **options: Any) -> "RunningTotal":
        """Make the running total that costs Approx(epsilon, delta) for all periods together.

        Parameters
        ----------
        epsilon : number
            The cost of all periods together.
        delta : number
            The delta of all periods together.
        periods : int
            The total number of periods.
        **options : Any
            Further parameters of `RunningTotal`: `window`, `neighbors`, `sensitivity`, `per_person`, `factorization`,
            `rng`.

        Returns
        -------
        RunningTotal
            A running total before its first period.

        Examples
        --------
        >>> round(float(RunningTotal.for_loss(1, 1e-6, periods=52).sd.max()), 2)
        9.73
        """
        return cls(Approx(check_positive(epsilon, "epsilon", NO_FINITE_NOISE), delta), periods, **options)

    @property
    def _settings(self) -> dict[str, Any]:
        """All parameters except the loss and the generator, as JSON values for a stream's file."""
        names = ("periods", "window", "neighbors", "sensitivity", "per_person")
        return {name: getattr(self, name) for name in names} | {"way": self.factorization._settings}

    @classmethod
    def _from_settings(cls, loss: Loss, settings: Mapping[str, Any], rng: Rng = None) -> "RunningTotal":
        """Make a running total before its first period from the settings in a stream's file."""
        options = dict(settings)
        kind, *sizes = options.pop("way")  # the key of files written since version 1
        factorization = {"tree": Tree, "root": SquareRoot}[kind](options["periods"], *sizes)
        return cls(loss, factorization=factorization, rng=rng, **options)

    @property
    def zcdp(self) -> Zcdp | None:
        """The cost of the noise in concentrated privacy; None for Laplace noise, whose cost is `loss`."""
        loss = self._noise.loss
        return loss if isinstance(loss, Zcdp) else None

    def _check_factorization(self, factorization: Factorization) -> None:
        if not isinstance(factorization, Tree | SquareRoot):
            rule = "`factorization` must be a Tree or a SquareRoot"
            reject(rule, type(factorization).__name__, "omit it to use the best factorization", TypeError)
        if (factorization.periods, factorization.window) != (self.periods, self.window):
            received = f"a factorization for periods={factorization.periods}, window={factorization.window}"
            reject("`factorization` must have the same periods and window", received, "its matrices depend on both")
        if isinstance(factorization, SquareRoot) and isinstance(self.loss, Pure):
            rule = "a SquareRoot needs a Zcdp or an Approx loss"
            reject(rule, self.loss, "with Laplace noise a Tree has a smaller error")

    @property
    def factorization(self) -> Factorization:
        """The matrix factorization, which determines the measurements and the decoding of totals."""
        return self._noise.factorization

    @property
    def period(self) -> int:
        """The number of completed periods."""
        return len(self._measurements)

    @property
    def _seeded(self) -> bool:
        """Whether the noise comes from a generator, which is for simulations only."""
        return self._rng is not None

    @property
    def sd(self) -> Array:
        """The standard deviation of the noise at every period, which does not depend on the data."""
        return self._noise.sd

    @property
    def unit(self) -> str:
        """The unit of privacy: a record (event level) or a person (user level)."""
        if self.per_person is None:
            return "event level: one record in one period"
        return f"user level: one person, in at most {self.per_person:,} of the periods"

    def group(self, k: int) -> Loss:
        """Return the loss of k records together, such as the records of one person: k epsilon, or k**2 rho.

        Parameters
        ----------
        k : int
            The number of records.

        Returns
        -------
        Pure, Zcdp or Approx
            The loss of the group.
        """
        return self.loss.group(k)

    def add(self, count: int) -> Estimate:
        """Add the count of the next period, and publish the noisy total of all periods so far or of the window.

        If records can also leave, publish arrivals and departures as two totals.

        Parameters
        ----------
        count : int
            The count of the period, at least 0.

        Returns
        -------
        Estimate
            The noisy total.
        """
        if os.getpid() != self._process:
            rule = "`add` must be called in the process that made the object"
            reject(rule, "another process", "both processes would publish the same period")
        number = _check_count(count)
        with self._lock:
            if self.period == self.periods:
                rule = f"a running total ends with its last period, {self.periods}"
                consequence = "its loss covers these periods only; a new total has its own loss"
                reject(rule, f"period {self.periods + 1}", consequence, RuntimeError)
            before = self.period
            try:
                self._counts.append(number)
                exact = self.factorization.encode(self._counts)
                noise = self._noise.sampler.draw(len(exact), self._rng)
                return self._publish(tuple(value + int(step) for value, step in zip(exact, noise, strict=True)))
            except BaseException:
                # After an interrupt nothing is published either, so it must be possible to add the period again.
                self._rewind(before)
                raise

    def _resume(self, counts: list[int], measurements: list[tuple[int, ...]]) -> Estimate | None:
        """Restore the history of an earlier object without new noise, and return its last estimate."""
        with self._lock:
            if self.period or len(counts) != len(measurements) or len(counts) > self.periods:
                reject("a total must resume before its first period", f"period {self.period}", "make a new total")
            self._counts = list(counts)
            last = None
            for noisy in measurements:
                last = self._publish(tuple(noisy))
            return last

    def _rewind(self, period: int) -> None:
        del self._counts[period:], self._measurements[period:]
        self._decoder = self.factorization._decoder()
        for noisy in self._measurements:
            self._decoder.decode(noisy)

    @property
    def _history(self) -> tuple[list[int], list[tuple[int, ...]]]:
        """The counts, which are as confidential as the data, and their noisy measurements."""
        return list(self._counts), list(self._measurements)

    def _publish(self, noisy: tuple[int, ...]) -> Estimate:
        """Return the estimate after one more period, from its noisy measurements."""
        self._measurements.append(noisy)
        number = self._decoder.decode(noisy)
        value: float = number if isinstance(number, int) else float(number)
        law = self._noise.law(self.period)
        statistic = "total" if self.window is None else f"sum of the last {min(self.window, self.period):,}"
        notes = (f"one loss for all {self.periods:,} periods together", LATE_DATA)
        return Estimate(
            value=value,
            se=law.sd,
            labels=(f"{statistic} after {self.period:,} of {self.periods:,} periods",),
            cov=np.array([[law.sd**2]]),
            n=None,
            covers=NOISE,
            method=f"RunningTotal mechanism, neighbors: {self.neighbors}, {self.unit}",
            basis=NoiseBasis(value, law),
            **loss_and_notes(self.loss, self._rng, *notes),
        )

    def __reduce__(self) -> NoReturn:
        reject(
            "a RunningTotal must not be copied or pickled", "a copy", "both would publish the same period", TypeError
        )

    def __repr__(self) -> str:
        window = "" if self.window is None else f" of the last {self.window:,}"
        mark = "; simulated, no privacy claim" if self._seeded else ""
        return (
            f"<RunningTotal{window}: {self.period:,} of {self.periods:,} periods; {self.loss} for all of them; "
            f"noise sd at most {self.sd.max():.3g}; {self.factorization.description}; neighbors: {self.neighbors}; "
            f"{self.unit}{mark}>"
        )


def _noise_loss(loss: Loss) -> Pure | Zcdp:
    """Return the loss to which the noise is calibrated: for Approx, the largest Zcdp that it allows."""
    if not isinstance(loss, Pure | Approx | Zcdp):
        reject("`loss` must be Pure, Zcdp or Approx", type(loss).__name__, "noise is calibrated to it", TypeError)
    check_positive(loss.amount, "the loss", NO_FINITE_NOISE)
    return Zcdp.within(loss) if isinstance(loss, Approx) else loss


def _check_periods(value: int) -> int:
    number = check_integer(value, "periods")
    if number > MOST_PERIODS:
        reject(f"`periods` must be at most {MOST_PERIODS:,}", number, "publish less often")
    return number


def _check_per_person(value: int, periods: int) -> int:
    number = check_integer(value, "per_person")
    if number > periods:
        reject("`per_person` must be at most `periods`", number, f"there are {periods} periods")
    return number


def _check_count(value: object) -> int:
    """Return a count as an int of at most 64 bits; error messages never quote it."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        reject("a count must be a whole number", type(value).__name__, "pass the number of records", TypeError)
    if value < 0:
        reject("a count must be at least 0", "a negative number", "publish departures as a separate total")
    # Clipping large counts never increases the distance between two counts.
    return min(int(value), 2**63 - 1)
