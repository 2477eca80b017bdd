"""`Additive`, mechanisms that add noise; and what every mechanism hands out: an estimate, or a preview of one."""

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from toolkit.central.noise.grid import Answer, Noisy, read
from toolkit.central.noise.laws import NoiseBasis, NoiseLaw
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, refuse
from toolkit.core.checks import level as check_level
from toolkit.core.covers import NOISE, Covers
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.inference.digits import short
from toolkit.core.loss import Loss
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.sampling import LatticeSampler


def released(
    value: Noisy, law: NoiseLaw, *, loss: Loss, method: str, rng: Rng, labels: Sequence[str | int] | None
) -> Estimate:
    """An `Estimate` whose error is the noise alone: that of the data is not in it, and n stays private."""
    number = cast("float | Array", value)  # whole numbers stay whole, in int64
    scalar, size = not isinstance(value, np.ndarray), np.size(value)
    names: tuple[str | int, ...] = ("value",) if scalar else tuple(range(size))
    if labels is not None:
        names = tuple(getattr(labels, "tolist", lambda: labels)())
    if len(names) != size:
        refuse("`labels` must name each entry of `value`", f"{len(names)} labels", f"there are {size} entries")
    return Estimate(
        value=number,
        se=law.sd if scalar else np.full(size, law.sd),
        labels=names,
        cov=equal_diagonal(law.sd * law.sd, size),
        n=None,
        loss=loss if rng is None else None,
        covers=NOISE,
        method=method,
        notes=() if rng is None else (SIMULATED,),
        basis=NoiseBasis(number, law),
    )


def chosen(value: float, loss: Loss, covers: Covers, method: str, rng: Rng, notes: tuple[str, ...] = ()) -> Estimate:
    """A chosen number. No standard error is released: it would depend on the data."""
    return Estimate(
        value=value,
        se=math.nan,
        labels=("value",),
        cov=np.full((1, 1), math.nan),
        n=None,
        loss=loss if rng is None else None,
        covers=covers,
        method=method,
        notes=(*notes, *(() if rng is None else (SIMULATED,))),
    )


def html_table(name: str, rows: Sequence[tuple[str, str]]) -> str:
    """A table of two columns below its name."""
    body = "".join(f"<tr><th>{html.escape(one)}</th><td>{html.escape(text)}</td></tr>" for one, text in rows)
    head = f"<thead><tr><th colspan='2'>{html.escape(name)}</th></tr></thead>"
    return f"<table>{head}<tbody>{body}</tbody></table>"


def equal_diagonal(variance: float, size: int) -> Array:
    """A matrix with one value on its diagonal and zeros elsewhere, as a view of 2 * size - 1 numbers.

    Row i is the window that starts at size - 1 - i, so that a million uncorrelated entries need no square of a million.
    """
    if size == 1:
        return np.array([[variance]])
    band = np.zeros(2 * size - 1)
    band[size - 1] = variance
    return np.lib.stride_tricks.sliding_window_view(band, size)[::-1]


@dataclass(frozen=True, repr=False)
class Preview:
    """Scale, error and cost of a mechanism, before anything is spent.

    Parameters
    ----------
    mechanism : str
        Its name.
    scale : float
        The size of the noise, in the unit of the value.
    error : float
        The bound that the noise exceeds with probability at most 1 - level.
    level : float
        Probability that the noise stays within the error.
    loss : Loss
        What a release costs.

    Examples
    --------
    >>> from toolkit import Laplace
    >>> Laplace.for_epsilon(1).preview()
    <Preview Laplace: noise scale 1; error at 95 % ± 3; cost ε = 1>
    """

    mechanism: str
    scale: float
    error: float
    level: float
    loss: Loss

    def __repr__(self) -> str:
        return f"<Preview {self.mechanism}: {'; '.join(f'{name} {text}' for name, text in self._rows())}>"

    def _repr_html_(self) -> str:
        return html_table(self.mechanism, self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("noise scale", short(self.scale)),
            (f"error at {100 * self.level:g} %", f"± {short(self.error)}"),
            ("cost", str(self.loss)),
        ]


class Additive(ABC):
    """A value goes in, the value with noise comes out. Each law adds its scale, its error, and the noise itself."""

    loss: Loss
    sensitivity: Fraction

    @property
    @abstractmethod
    def whole_law(self) -> NoiseLaw:
        """The law of the noise that is added to whole numbers."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """The size of the noise, in the unit of the value."""

    @abstractmethod
    def error(self, level: Number = 0.95) -> float:
        """The bound that the noise exceeds with probability at most 1 - level."""

    @abstractmethod
    def _whole_noise(self, size: int) -> tuple[LatticeSampler, int]:
        """What draws the noise of so many whole numbers, and how many of its last bits are rounded away."""

    @abstractmethod
    def _noisy(self, answer: Answer, rng: Rng) -> tuple[Noisy, NoiseLaw]:
        """The value with noise, and the law of what was added."""

    def preview(self, level: Number = 0.95) -> Preview:
        """Tell scale, error and cost, before anything is spent.

        Parameters
        ----------
        level : Number
            Probability that the noise stays within the error.

        Returns
        -------
        Preview
            The three numbers.
        """
        return Preview(type(self).__name__, self.scale, self.error(level), check_level(level), self.loss)

    def facts(self) -> dict[str, Any]:
        """Tell what a document says of it: sensitivity and scale, by which a reader checks the loss.

        Returns
        -------
        dict
            As JSON can hold it.
        """
        name = type(self).__name__
        norm = f"L{getattr(self, 'norm', 'l2')[1:]}"
        words = {"mechanism": name, "words": f"{name} noise"}
        return words | {"sensitivity": str(self.sensitivity), "norm": norm, "scale": self.scale}

    def whole_facts(self) -> dict[str, Any]:
        """Tell the same of noise that is added to counts, as a part of another mechanism.

        Returns
        -------
        dict
            As JSON can hold it.
        """
        facts = self.facts()
        del facts["words"]
        return {"noise": facts.pop("mechanism"), **facts, "sd": self.whole_law.sd}

    def integers(self, values: Sequence[int], rng: Rng = None) -> tuple[list[int], NoiseLaw]:
        """Add whole noise to integers of any size; the sensitivity must be at least 1.

        Parameters
        ----------
        values : sequence of int
            What a statistic is then computed from.
        rng : Generator, optional
            For simulation.

        Returns
        -------
        tuple
            The integers with noise, and the law of the noise.
        """
        sampler, bits = self._whole_noise(len(values))
        noise = (sampler.draw(len(values), check_rng(rng)) + (1 << bits >> 1)) >> bits
        return [value + step for value, step in zip(values, noise.tolist(), strict=True)], self.whole_law

    def noisy(self, value: object, rng: Rng = None) -> Noisy:
        """Add noise to a value, without an estimate around it.

        Parameters
        ----------
        value : int or float or Fraction or sequence
            As for `release`.
        rng : Generator, optional
            For simulation.

        Returns
        -------
        int or float or NDArray
            The value with noise.
        """
        source, answer = check_rng(rng), read(value)
        return self._noisy(answer, source)[0]

    def release(self, value: object, rng: Rng = None, *, labels: Sequence[str | int] | None = None) -> Estimate:
        """Release the value with noise.

        Parameters
        ----------
        value : int or float or Fraction or sequence
            A number, or a one-dimensional array or list of numbers; finite.
        rng : Generator, optional
            None draws from the operating system. A Generator is for simulation: the estimate says so, and
            claims no loss.
        labels : sequence, optional
            A name for each entry.

        Returns
        -------
        Estimate
            Covers the noise, and says what it cost.
        """
        source, answer = check_rng(rng), read(value)
        noisy, law = self._noisy(answer, source)
        return released(noisy, law, loss=self.loss, method=type(self).__name__, rng=source, labels=labels)
