"""`Additive`, the base class of mechanisms that add noise, with the estimates and previews that they return."""

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from toolkit.central.noise.grid import Noisy, PrivateValue, read
from toolkit.central.noise.laws import NoiseBasis, NoiseLaw
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, check_level, reject
from toolkit.core.covers import NOISE, Covers
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.inference.digits import concise, short
from toolkit.core.loss import Loss
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.sampling import LatticeSampler


def released(
    value: Noisy,
    law: NoiseLaw,
    *,
    loss: Loss | None = None,
    method: str = "",
    rng: Rng = None,
    labels: Sequence[str | int] | None = None,
) -> Estimate:
    """Return an `Estimate` whose error is that of the noise alone, without sampling error; n stays private."""
    number = cast("float | Array", value)  # whole numbers stay whole, in int64
    scalar, size = not isinstance(value, np.ndarray), np.size(value)
    names: tuple[str | int, ...] = ("value",) if scalar else tuple(range(size))
    if labels is not None:
        names = tuple(getattr(labels, "tolist", lambda: labels)())
    if len(names) != size:
        reject("`labels` must name each entry of `value`", f"{len(names)} labels", f"there are {size} entries")
    return Estimate(
        value=number,
        se=law.sd if scalar else np.full(size, law.sd),
        labels=names,
        cov=equal_diagonal(law.sd * law.sd, size),
        n=None,
        covers=NOISE,
        method=method,
        basis=NoiseBasis(number, law),
        **paid(loss, rng),
    )


def released_choice(
    value: float | Sequence[float],
    loss: Loss,
    covers: Covers,
    method: str,
    rng: Rng,
    notes: tuple[str, ...] = (),
    *,
    labels: tuple[Any, ...] = ("value",),
    axes: tuple[str, ...] = (),
) -> Estimate:
    """Return a chosen number, or several with labels, without a standard error, which would depend on the data."""
    several = isinstance(value, Sequence)
    return Estimate(
        value=np.array(value) if isinstance(value, Sequence) else value,
        se=np.full(np.size(value), math.nan) if several else math.nan,
        labels=labels,
        cov=None if several else np.full((1, 1), math.nan),
        n=None,
        covers=covers,
        method=method,
        axes=axes,
        **paid(loss, rng, *notes),
    )


def paid(loss: Loss | None, rng: Rng, *notes: str) -> dict[str, Any]:
    """Return the loss and the notes of an estimate; a simulation has no loss and a note about it."""
    return {"loss": loss, "notes": notes} if rng is None else {"loss": None, "notes": (*notes, SIMULATED)}


def html_table(name: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return a table of two columns below its name."""
    body = "".join(f"<tr><th>{html.escape(label)}</th><td>{html.escape(text)}</td></tr>" for label, text in rows)
    head = f"<thead><tr><th colspan='2'>{html.escape(name)}</th></tr></thead>"
    return f"<table>{head}<tbody>{body}</tbody></table>"


def equal_diagonal(variance: float, size: int) -> Array:
    """Return a matrix with one value on its diagonal and zeros elsewhere, as a view of 2 * size - 1 numbers.

    Row i is the window that starts at size - 1 - i, so that a million uncorrelated entries need no square of a million.
    """
    if size == 1:
        return np.array([[variance]])
    band = np.zeros(2 * size - 1)
    band[size - 1] = variance
    return np.lib.stride_tricks.sliding_window_view(band, size)[::-1]


@dataclass(frozen=True)
class CellNoise:
    """The effect of noise on a cell in the unit of its column.

    `sd` is its standard deviation if a cell is one number with noise. Otherwise the standard error is about `per_value`
    divided by the number of values, if these are evenly spread between the bounds.
    """

    cells: int = 1
    sd: float | None = None
    per_value: float | None = None

    __repr__ = concise


@dataclass(frozen=True, repr=False)
class Preview:
    """The cost and noise of a mechanism or of a curator's statistic, before anything is spent.

    Parameters
    ----------
    mechanism : str
        The kind of noise or choice.
    loss : Loss
        What a release costs.
    scale : float, optional
        The scale of the noise of a mechanism, in the unit of the value.
    error : float, optional
        The bound that this noise exceeds with probability at most 1 - level.
    level : float, optional
        The probability that the noise stays within the error.
    label : str
        The statistic, as it would stand in the ledger.
    charged : Loss, optional
        What the statistic costs, in the ledger's currency.
    fits : bool, optional
        Whether the ledger would pay for the statistic now.
    noise : CellNoise, optional
        The noise of a cell of the statistic; None where the error depends on the data.

    Examples
    --------
    >>> from toolkit import Curator, Laplace, Ledger, Pure
    >>> Laplace.for_epsilon(1).preview()
    <Preview Laplace: noise scale 1; error at 95 % ± 3; cost ε = 1>
    >>> import pandas as pd
    >>> people = pd.DataFrame({"pay": [1800, 2100, 2600]})
    >>> curator = Curator(people, Ledger(Pure(1), neighbors="replace"), neighbors="replace")
    >>> curator.preview.mean("pay", bounds=(0, 9000), missing="drop", epsilon=0.5).fits
    True
    """

    mechanism: str
    loss: Loss
    scale: float | None = None
    error: float | None = None
    level: float | None = None
    label: str = ""
    charged: Loss | None = None
    fits: bool | None = None
    noise: CellNoise | None = None

    def se(self, n: int | None = None) -> float:
        """Return the standard error of a cell.

        Exact where a cell is one number with noise, else about right for values spread evenly between the bounds.

        Parameters
        ----------
        n : int, optional
            How many values the cell has; needed of a mean or a spread.

        Returns
        -------
        float
            Of the noise alone.
        """
        if self.noise is not None and self.noise.sd is not None:
            return self.noise.sd
        if self.noise is None or self.noise.per_value is None or n is None:
            rule = "the error must follow from public things alone"
            consequence = "of a mean or a spread say the number of values; of a quantile it depends on the data"
            reject(rule, "none that does" if self.noise is None else "no n", consequence)
        return self.noise.per_value / n

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        if self.scale is not None and self.level is not None and self.error is not None:
            rows.append(("noise scale", short(self.scale)))
            rows.append((f"error at {100 * self.level:g} %", f"± {short(self.error)}"))
        rows.append(("cost", str(self.loss)))
        if self.charged is not None and type(self.charged) is not type(self.loss):
            rows.append(("charged", str(self.charged)))
        if self.fits is not None:
            rows.append(("fits into the ledger", "yes" if self.fits else "no"))
        if self.noise is not None:
            rows.append(("cells", f"{self.noise.cells:,}"))
            if self.noise.sd is not None:
                rows.append(("standard error of a cell", short(self.noise.sd)))
            elif self.noise.per_value is not None:
                error = f"about {short(self.noise.per_value)} / number of values"
                rows.append(("standard error of a cell", error))
        return rows

    def __repr__(self) -> str:
        facts = "; ".join(f"{name} {text}" for name, text in self._rows())
        if self.label:
            return f"<Preview of {self.label}: {facts}; {self.mechanism} mechanism>"
        return f"<Preview {self.mechanism}: {facts}>"

    def _repr_html_(self) -> str:
        return html_table(self.label or self.mechanism, self._rows())


class Additive(ABC):
    """A mechanism that returns a value with noise; subclasses define its scale, its error and its law."""

    loss: Loss
    sensitivity: Fraction

    @property
    @abstractmethod
    def _integer_law(self) -> NoiseLaw:
        """The law of the noise that is added to whole numbers."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """The size of the noise, in the unit of the value."""

    @abstractmethod
    def error(self, level: Number = 0.95) -> float:
        """Return the bound that the noise exceeds with probability at most 1 - level."""

    @abstractmethod
    def _integer_noise(self, size: int) -> tuple[LatticeSampler, int]:
        """Return a sampler of noise for `size` whole numbers, and the number of low bits to round off."""

    @abstractmethod
    def _add_noise(self, answer: PrivateValue, rng: Rng) -> tuple[Noisy, NoiseLaw]:
        """Return the value with noise, and the law of the noise."""

    def preview(self, level: Number = 0.95) -> Preview:
        """Return scale, error and cost before anything is spent.

        Parameters
        ----------
        level : Number
            Probability that the noise stays within the error.

        Returns
        -------
        Preview
            The three numbers.
        """
        return Preview(type(self).__name__, self.loss, self.scale, self.error(level), check_level(level))

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for a document, with the sensitivity and the scale that determine the loss."""
        name = type(self).__name__
        norm = f"L{getattr(self, 'norm', 'l2')[1:]}"
        words = {"mechanism": name, "words": f"{name} noise"}
        return words | {"sensitivity": str(self.sensitivity), "norm": norm, "scale": self.scale}

    def _describe_noise(self) -> dict[str, Any]:
        """Describe the noise on counts, as a part of another mechanism."""
        facts = self._describe()
        del facts["words"]
        return {"noise": facts.pop("mechanism"), **facts, "sd": self._integer_law.sd}

    def _perturb_integers(self, values: Sequence[int], rng: Rng = None) -> tuple[list[int], NoiseLaw]:
        """Add integer noise to integers of any size, and return its law; the sensitivity must be at least 1."""
        sampler, bits = self._integer_noise(len(values))
        noise = (sampler.draw(len(values), check_rng(rng)) + (1 << bits >> 1)) >> bits
        return [value + step for value, step in zip(values, noise.tolist(), strict=True)], self._integer_law

    def _perturb(self, value: object, rng: Rng = None) -> Noisy:
        """Return the value with noise, without an estimate around it."""
        source, answer = check_rng(rng), read(value)
        return self._add_noise(answer, source)[0]

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
        noisy, law = self._add_noise(answer, source)
        return released(noisy, law, loss=self.loss, method=type(self).__name__, rng=source, labels=labels)
