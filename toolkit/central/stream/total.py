"""`RunningTotal`: a total that is published every period, for one loss that is fixed before the first."""

import os
import threading
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from toolkit.central.noise.grid import NO_END
from toolkit.central.noise.laws import NoiseBasis
from toolkit.central.stream.roots import SquareRoot
from toolkit.central.stream.trees import Tree
from toolkit.central.stream.ways import Way, best, noise_for
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, explains, positive, refuse, whole
from toolkit.core.checks import neighbors as check_neighbors
from toolkit.core.covers import NOISE
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.loss import Approx, Loss, Pure, Zcdp
from toolkit.core.randomness import Rng, check_rng

MOST_PERIODS = 10_000
LATE = "late data count in the period in which they arrive; what was published is never made anew"


@explains(
    "RunningTotal.for_epsilon(1.0, periods=52)",
    periods="it is how often the total is published in all: periods=52 for every week of a year",
)
class RunningTotal:
    """The total of all periods so far, with noise, after each of a fixed number of periods.

    All periods together cost one loss. What is measured, and how totals are read off, is chosen for the loss
    and the number of periods: fresh noise for every period or for blocks of them (Pure, whole noise), or the
    square root of the matrix of totals (Zcdp). Counts may depend on what was published before. Late data
    count in the period in which they arrive: a period that is over is never computed again.

    The object holds the counts, and its noise must not be drawn twice: it cannot be copied, pickled, or used
    in a forked process. It ends with its process; `Ledger.every` keeps one in a file.

    Parameters
    ----------
    loss : Pure, Zcdp or Approx
        The cost of all periods together. For Approx the noise is that of the largest Zcdp within it, which a
        ledger with a Zcdp ceiling is charged.
    periods : int
        How many there will be; the next one is refused.
    window : int, optional
        The number of latest periods to sum; left out, the total is of all periods so far.
    neighbors : {"add_remove", "replace"}
        "add_remove": a record comes or goes; "replace": it changes, or moves to another period.
    sensitivity : int
        How far one record, or person, can move the count of one period.
    per_person : int, optional
        Left out, the promise is about one record in one period (event level). With a number it is about a whole
        person, who is counted in at most that number of periods (user level); `Visits` sees to that.
    way : Tree or SquareRoot, optional
        How totals are put together; the best is chosen if it is left out.
    rng : numpy.random.Generator, optional
        For simulation; the estimates then claim no loss.

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
        way: Way | None = None,
        rng: Rng = None,
    ) -> None:
        self.loss, self.periods = loss, _periods(periods)
        drawn = _noise_for(loss)
        self.window = None if window is None else whole(window, "window")
        self.neighbors, self.sensitivity = check_neighbors(neighbors), whole(sensitivity, "sensitivity")
        self.per_person = None if per_person is None else _times(per_person, self.periods)
        reach, times = self.sensitivity * (2 if neighbors == "replace" else 1), self.per_person or 1
        chosen = best(drawn, self.periods, window=self.window, times=times) if way is None else self._fitting(way)
        self._noise, self._reader = noise_for(chosen, drawn, reach, times), chosen.reader()
        self._rng, self._lock, self._process = check_rng(rng), threading.Lock(), os.getpid()
        self._counts, self._noisy = list[int](), list[tuple[int, ...]]()

    @classmethod
    def for_epsilon(cls, epsilon: Number, *, periods: int, **rest: Any) -> "RunningTotal":
        """Make the running total that costs Pure(epsilon) for all periods together.

        Parameters
        ----------
        epsilon : number
            The cost of all periods together.
        periods : int
            How many periods there will be.
        **rest : Any
            As for `RunningTotal`: `window`, `neighbors`, `sensitivity`, `per_person`, `way`, `rng`.

        Returns
        -------
        RunningTotal
            Before its first period.
        """
        return cls(Pure(positive(epsilon, "epsilon", NO_END)), periods, **rest)

    @classmethod
    def for_rho(cls, rho: Number, *, periods: int, **rest: Any) -> "RunningTotal":
        """Make the running total that costs Zcdp(rho) for all periods together.

        Parameters
        ----------
        rho : number
            The cost of all periods together.
        periods : int
            How many periods there will be.
        **rest : Any
            As for `RunningTotal`: `window`, `neighbors`, `sensitivity`, `per_person`, `way`, `rng`.

        Returns
        -------
        RunningTotal
            Before its first period.
        """
        return cls(Zcdp(positive(rho, "rho", NO_END)), periods, **rest)

    @classmethod
    def for_loss(cls, epsilon: Number, delta: Number, *, periods: int, **rest: Any) -> "RunningTotal":
        """Make the running total that costs Approx(epsilon, delta) for all periods together.

        Parameters
        ----------
        epsilon : number
            The cost of all periods together.
        delta : number
            The delta of all periods together.
        periods : int
            How many periods there will be.
        **rest : Any
            As for `RunningTotal`: `window`, `neighbors`, `sensitivity`, `per_person`, `way`, `rng`.

        Returns
        -------
        RunningTotal
            Before its first period.

        Examples
        --------
        >>> round(float(RunningTotal.for_loss(1, 1e-6, periods=52).sd.max()), 2)
        9.73
        """
        return cls(Approx(positive(epsilon, "epsilon", NO_END), delta), periods, **rest)

    @property
    def settings(self) -> dict[str, Any]:
        """All but the loss and the generator, as JSON can hold it: a file that keeps a stream has it."""
        way = self.way
        form = ["root", way.window] if isinstance(way, SquareRoot) else ["tree", way.branches, way.levels, way.window]
        names = ("periods", "window", "neighbors", "sensitivity", "per_person")
        return {name: getattr(self, name) for name in names} | {"way": form}

    @classmethod
    def from_settings(cls, loss: Loss, settings: Mapping[str, Any], rng: Rng = None) -> "RunningTotal":
        """Make a new total with these settings, before its first period.

        Parameters
        ----------
        loss : Pure, Zcdp or Approx
            The cost of all periods together.
        settings : mapping
            As `settings` gives them.
        rng : numpy.random.Generator, optional
            For simulation; the estimates then claim no loss.

        Returns
        -------
        RunningTotal
            Before its first period.
        """
        rest = dict(settings)
        kind, *sizes = rest.pop("way")
        way = {"tree": Tree, "root": SquareRoot}[kind](rest["periods"], *sizes)
        return cls(loss, way=way, rng=rng, **rest)

    @property
    def zcdp(self) -> Zcdp | None:
        """What the noise costs in concentrated privacy; None for Laplace noise, of which the loss tells."""
        drawn = self._noise.loss
        return drawn if isinstance(drawn, Zcdp) else None

    def _fitting(self, way: Way) -> Way:
        if not isinstance(way, Tree | SquareRoot):
            refuse("`way` must be a Tree or a SquareRoot", type(way).__name__, "None chooses", TypeError)
        if (way.periods, way.window) != (self.periods, self.window):
            received = f"one for periods={way.periods}, window={way.window}"
            refuse("`way` must have the same periods and window", received, "it is made for them")
        if isinstance(way, SquareRoot) and isinstance(self.loss, Pure):
            refuse(
                "a SquareRoot needs a Zcdp or an Approx loss", self.loss, "with Laplace noise it is worse than others"
            )
        return way

    @property
    def way(self) -> Way:
        """What is measured with noise, and how totals are read off."""
        return self._noise.way

    @property
    def period(self) -> int:
        """How many periods are over."""
        return len(self._noisy)

    @property
    def seeded(self) -> bool:
        """Whether the noise comes from a Generator: for simulation only."""
        return self._rng is not None

    @property
    def sd(self) -> Array:
        """The standard deviation of the noise in every period's number, known before the first."""
        return self._noise.sd

    @property
    def level(self) -> str:
        """Whom the promise is about."""
        if self.per_person is None:
            return "event level: one record in one period"
        return f"user level: one person, in at most {self.per_person:,} of the periods"

    def group(self, k: int) -> Loss:
        """Return what k records together lose, as of one person who comes k times: k epsilon, or k**2 rho.

        Parameters
        ----------
        k : int
            How many records.

        Returns
        -------
        Pure, Zcdp or Approx
            The loss of the group.
        """
        return self.loss.group(k)

    def add(self, count: int) -> Estimate:
        """Add the next period's count, and publish the total so far, or of the window, with noise.

        Where some go as well as come, those who come and those who go are two totals.

        Parameters
        ----------
        count : int
            Of the period, at least 0.

        Returns
        -------
        Estimate
            The total with its noise.
        """
        if os.getpid() != self._process:
            rule = "`add` must stay in the process that made the object"
            refuse(rule, "another process", "both would publish one period")
        number = _count(count)
        with self._lock:
            if self.period == self.periods:
                rule = f"a running total ends with its last period, {self.periods}"
                consequence = "the loss was fixed for so many; a new total is a new loss"
                refuse(rule, f"period {self.periods + 1}", consequence, RuntimeError)
            before = self.period
            try:
                self._counts.append(number)
                exact = self.way.measure(self._counts)
                noise = self._noise.sampler.draw(len(exact), self._rng)
                return self._told(tuple(value + int(more) for value, more in zip(exact, noise, strict=True)))
            except BaseException:  # an interrupt, too: nothing was published, so the period is still to come
                self._return_to(before)
                raise

    def continued(self, counts: list[int], noisy: list[tuple[int, ...]]) -> Estimate | None:
        """Go on where another one stopped, of which all counts and all noisy numbers were kept. No noise is drawn.

        Parameters
        ----------
        counts : list of int
            The count of each period.
        noisy : list of tuple of int
            What was published of each period, before totals were read off.

        Returns
        -------
        Estimate or None
            Its last number once more.
        """
        with self._lock:
            if self.period or len(counts) != len(noisy) or len(counts) > self.periods:
                refuse("a total goes on from the first period", f"period {self.period}", "make a new one")
            self._counts = list(counts)
            last = None
            for numbers in noisy:
                last = self._told(tuple(numbers))
            return last

    def _return_to(self, period: int) -> None:
        del self._counts[period:], self._noisy[period:]
        self._reader = self.way.reader()
        for numbers in self._noisy:
            self._reader.read(numbers)

    @property
    def kept(self) -> tuple[list[int], list[tuple[int, ...]]]:
        """The counts, which are as confidential as the data, and what was measured of them, with noise."""
        return list(self._counts), list(self._noisy)

    def _told(self, noisy: tuple[int, ...]) -> Estimate:
        """The estimate after one more period, of which the noisy numbers are given."""
        self._noisy.append(noisy)
        number = self._reader.read(noisy)
        value: float = number if isinstance(number, int) else float(number)
        law = self._noise.law(self.period)
        of = "total" if self.window is None else f"sum of the last {min(self.window, self.period):,}"
        return Estimate(
            value=value,
            se=law.sd,
            labels=(f"{of} after {self.period:,} of {self.periods:,} periods",),
            cov=np.array([[law.sd**2]]),
            n=None,
            loss=None if self.seeded else self.loss,
            covers=NOISE,
            method=f"RunningTotal mechanism, neighbors: {self.neighbors}, {self.level}",
            notes=(f"one loss for all {self.periods:,} periods together", LATE) + ((SIMULATED,) if self.seeded else ()),
            basis=NoiseBasis(value, law),
        )

    def __reduce__(self) -> NoReturn:
        refuse("a RunningTotal must not be copied or pickled", "a copy", "both would publish", TypeError)

    def __repr__(self) -> str:
        of = "" if self.window is None else f" of the last {self.window:,}"
        mark = "; simulated, no privacy claim" if self.seeded else ""
        return (
            f"<RunningTotal{of}: {self.period:,} of {self.periods:,} periods; {self.loss} for all of them; "
            f"noise sd at most {self.sd.max():.3g}; {self.way.words}; neighbors: {self.neighbors}; "
            f"{self.level}{mark}>"
        )


def _noise_for(loss: Loss) -> Pure | Zcdp:
    if not isinstance(loss, Pure | Approx | Zcdp):
        refuse("`loss` must be Pure, Zcdp or Approx", type(loss).__name__, "noise is fitted to it", TypeError)
    positive(loss.amount, "the loss", NO_END)
    return Zcdp.within(loss) if isinstance(loss, Approx) else loss


def _periods(value: int) -> int:
    number = whole(value, "periods")
    if number > MOST_PERIODS:
        refuse(f"`periods` must be at most {MOST_PERIODS:,}", number, "publish less often")
    return number


def _times(value: int, periods: int) -> int:
    number = whole(value, "per_person")
    if number > periods:
        refuse("`per_person` must be at most `periods`", number, f"there are {periods}")
    return number


def _count(value: object) -> int:
    """A whole number by its type, at least 0, cut to 64 bits, which moves no two further apart; it is never told."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        refuse("a count must be a whole number", type(value).__name__, "whole noise is added", TypeError)
    if value < 0:
        refuse("a count must be at least 0", "a negative number", "it is of what came in the period")
    return min(int(value), 2**63 - 1)
