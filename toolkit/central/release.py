"""`AdditiveMechanism`, the base class of mechanisms that add noise, with their estimates and previews."""

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from toolkit.central.noise.grid import Noisy, PrivateValue, read_private_value
from toolkit.central.noise.laws import NoiseBasis, NoiseLaw
from toolkit.core.arrays import Array
from toolkit.core.checks import Number, check_level, reject
from toolkit.core.covers import NOISE, Covers
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.inference.digits import concise, format_short
from toolkit.core.loss import Loss
from toolkit.core.randomness import Rng, check_rng
from toolkit.core.sampling import LatticeSampler


def noise_estimate(
    value: Noisy,
    law: NoiseLaw,
    *,
    loss: Loss | None = None,
    method: str = "",
    rng: Rng = None,
    labels: Sequence[str | int] | None = None,
) -> Estimate:
    """Return an `Estimate` whose error covers the noise but not sampling; n stays private."""
    number = cast("float | Array", value)  # whole numbers remain integers, in int64
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
        cov=constant_diagonal(law.sd * law.sd, size),
        n=None,
        covers=NOISE,
        method=method,
        basis=NoiseBasis(number, law),
        **loss_and_notes(loss, rng),
    )


def selection_estimate(
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
    """Return the estimate of one selected number, or of several numbers with labels.

    The estimate has no standard error, because a standard error would depend on the data.
    """
    has_several = isinstance(value, Sequence)
    return Estimate(
        value=np.array(value) if isinstance(value, Sequence) else value,
        se=np.full(np.size(value), math.nan) if has_several else math.nan,
        labels=labels,
        cov=None if has_several else np.full((1, 1), math.nan),
        n=None,
        covers=covers,
        method=method,
        axes=axes,
        **loss_and_notes(loss, rng, *notes),
    )


def loss_and_notes(loss: Loss | None, rng: Rng, *notes: str) -> dict[str, Any]:
    """Return the `loss` and `notes` of an estimate; a simulation has no loss and an additional note."""
    return {"loss": loss, "notes": notes} if rng is None else {"loss": None, "notes": (*notes, SIMULATED)}


def html_table(heading: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return an HTML table with two columns and a heading."""
    body = "".join(f"<tr><th>{html.escape(label)}</th><td>{html.escape(text)}</td></tr>" for label, text in rows)
    head = f"<thead><tr><th colspan='2'>{html.escape(heading)}</th></tr></thead>"
    return f"<table>{head}<tbody>{body}</tbody></table>"


def constant_diagonal(variance: float, n_rows: int) -> Array:
    """Return a square matrix with `variance` on its diagonal and zeros elsewhere, as a view of 2 * n_rows - 1 numbers.

    Row i is the window that starts at n_rows - 1 - i, so memory grows linearly with the number of rows.
    """
    if n_rows == 1:
        return np.array([[variance]])
    band = np.zeros(2 * n_rows - 1)
    band[n_rows - 1] = variance
    return np.lib.stride_tricks.sliding_window_view(band, n_rows)[::-1]


@dataclass(frozen=True)
class CellNoise:
    """The effect of noise on one of `n_cells` cells, in the unit of the column.

    If a cell is a single noisy number, `sd` is its standard deviation. Otherwise the standard error is approximately
    `se_times_n` divided by the number of values, if the values are spread evenly between the bounds.
    """

    n_cells: int = 1
    sd: float | None = None
    se_times_n: float | None = None

    __repr__ = concise


@dataclass(frozen=True, repr=False)
class Preview:
    """The cost and noise of a mechanism or of a curator's statistic, before anything is spent.

    Parameters
    ----------
    mechanism : str
        The kind of noise or selection.
    loss : Loss
        The cost of a release.
    scale : float, optional
        The scale of the noise, in the unit of the value.
    error : float, optional
        The bound that the noise exceeds with probability at most 1 - level.
    level : float, optional
        The probability that the noise stays within the error.
    label : str
        The statistic, as it would be listed in the ledger.
    charged : Loss, optional
        The cost of the statistic, converted to the kind of loss that the ledger adds up.
    fits : bool, optional
        Whether the remaining budget of the ledger covers the statistic.
    noise : CellNoise, optional
        The noise on a cell of the statistic; None if the error depends on the data.

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

        It is exact if a cell is a single noisy number. Otherwise it is an approximation for values that are spread
        evenly between the bounds.

        Parameters
        ----------
        n : int, optional
            The number of values in the cell; required for a mean or a measure of spread.

        Returns
        -------
        float
            The standard error due to the noise alone.
        """
        if self.noise is not None and self.noise.sd is not None:
            return self.noise.sd
        if self.noise is None or self.noise.se_times_n is None or n is None:
            rule = "the standard error must follow from public arguments alone"
            consequence = "a mean or a measure of spread needs n; the error of a quantile depends on the data"
            reject(rule, "an error that depends on the data" if self.noise is None else "no n", consequence)
        return self.noise.se_times_n / n

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        if self.scale is not None and self.level is not None and self.error is not None:
            rows.append(("noise scale", format_short(self.scale)))
            rows.append((f"error at {100 * self.level:g} %", f"± {format_short(self.error)}"))
        rows.append(("cost", str(self.loss)))
        if self.charged is not None and type(self.charged) is not type(self.loss):
            rows.append(("charged", str(self.charged)))
        if self.fits is not None:
            rows.append(("fits into the ledger", "yes" if self.fits else "no"))
        if self.noise is not None:
            rows.append(("cells", f"{self.noise.n_cells:,}"))
            if self.noise.sd is not None:
                rows.append(("standard error of a cell", format_short(self.noise.sd)))
            elif self.noise.se_times_n is not None:
                error = f"about {format_short(self.noise.se_times_n)} / number of values"
                rows.append(("standard error of a cell", error))
        return rows

    def __repr__(self) -> str:
        facts = "; ".join(f"{name} {text}" for name, text in self._rows())
        if self.label:
            return f"<Preview of {self.label}: {facts}; {self.mechanism} mechanism>"
        return f"<Preview {self.mechanism}: {facts}>"

    def _repr_html_(self) -> str:
        return html_table(self.label or self.mechanism, self._rows())


class AdditiveMechanism(ABC):
    """A mechanism that adds noise to a value; subclasses define the scale, error and distribution of the noise."""

    loss: Loss
    sensitivity: Fraction

    @property
    @abstractmethod
    def _integer_law(self) -> NoiseLaw:
        """The distribution of the noise that is added to integers."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """The size of the noise, in the unit of the value."""

    @abstractmethod
    def error(self, level: Number = 0.95) -> float:
        """Return the bound that the noise exceeds with probability at most 1 - level."""

    @abstractmethod
    def _integer_sampler(self, n_entries: int) -> tuple[LatticeSampler, int]:
        """Return a sampler of noise for `n_entries` integers, and the number of low bits to round off."""

    @abstractmethod
    def _add_noise(self, answer: PrivateValue, rng: Rng) -> tuple[Noisy, NoiseLaw]:
        """Return the noisy value and the distribution of the noise."""

    def preview(self, level: Number = 0.95) -> Preview:
        """Return the scale, the error and the cost, without spending anything.

        Parameters
        ----------
        level : Number
            The probability that the noise stays within the error.

        Returns
        -------
        Preview
            The scale, the error and the cost.
        """
        return Preview(type(self).__name__, self.loss, self.scale, self.error(level), check_level(level))

    def _describe(self) -> dict[str, Any]:
        """Describe the mechanism for publication, with the sensitivity and the scale that determine the loss."""
        name = type(self).__name__
        norm = f"L{getattr(self, 'norm', 'l2')[1:]}"
        words = {"mechanism": name, "words": f"{name} noise"}
        return words | {"sensitivity": str(self.sensitivity), "norm": norm, "scale": self.scale}

    def _describe_noise(self) -> dict[str, Any]:
        """Describe the noise on counts, as one entry in the description of a larger mechanism."""
        facts = self._describe()
        del facts["words"]
        return {"noise": facts.pop("mechanism"), **facts, "sd": self._integer_law.sd}

    def _perturb_integers(self, values: Sequence[int], rng: Rng = None) -> tuple[list[int], NoiseLaw]:
        """Add integer noise to integers of any size; return the sums and the distribution of the noise.

        The sensitivity must be at least 1.
        """
        sampler, bits = self._integer_sampler(len(values))
        noise = (sampler.draw(len(values), check_rng(rng)) + (1 << bits >> 1)) >> bits
        return [value + step for value, step in zip(values, noise.tolist(), strict=True)], self._integer_law

    def _perturb(self, value: object, rng: Rng = None) -> Noisy:
        """Return the noisy value as a plain number or array."""
        source, answer = check_rng(rng), read_private_value(value)
        return self._add_noise(answer, source)[0]

    def release(self, value: object, rng: Rng = None, *, labels: Sequence[str | int] | None = None) -> Estimate:
        """Release the value with noise.

        Parameters
        ----------
        value : int or float or Fraction or sequence
            A finite number, or a one-dimensional array or list of finite numbers.
        rng : Generator, optional
            A generator for simulations. The estimate then states that it is simulated, and claims no loss. The default
            is the operating system's randomness.
        labels : sequence, optional
            A name for each entry.

        Returns
        -------
        Estimate
            An estimate with the error of the noise and the privacy loss.
        """
        source, answer = check_rng(rng), read_private_value(value)
        noisy, law = self._add_noise(answer, source)
        return noise_estimate(noisy, law, loss=self.loss, method=type(self).__name__, rng=source, labels=labels)
