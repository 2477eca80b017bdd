"""What every mechanism hands out: the released number with its interval, and the preview of one before it is
paid for.
"""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from toolkit.central.noise.grid import Noisy
from toolkit.central.noise.laws import NoiseBasis, NoiseLaw
from toolkit.core.arrays import Array
from toolkit.core.checks import refuse
from toolkit.core.covers import NOISE, Covers
from toolkit.core.estimate import SIMULATED, Estimate
from toolkit.core.inference.digits import short
from toolkit.core.loss import Loss
from toolkit.core.randomness import Rng


def released(
    value: Noisy, law: NoiseLaw, *, loss: Loss, method: str, rng: Rng, labels: Sequence[str | int] | None
) -> Estimate:
    """An `Estimate` whose error is the noise alone; the data's own error is not in it, and n is left
    private. Drawn with a generator it claims no loss.
    """
    number = cast("float | Array", value)  # whole numbers stay whole, in int64
    scalar = not isinstance(value, np.ndarray)
    size = np.size(value)
    names = (
        tuple(getattr(labels, "tolist", lambda: labels)())
        if labels is not None
        else ("value",)
        if scalar
        else tuple(range(size))
    )
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
    """A number whose error in its own unit depends on the data, and is not told: no standard error, no
    interval. Drawn with a generator it claims no loss.
    """
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


def chosen_by_cell(
    values: Sequence[float],
    labels: tuple[Any, ...],
    axes: tuple[str, ...],
    loss: Loss,
    covers: Covers,
    method: str,
    rng: Rng,
) -> Estimate:
    """Such numbers of the cells of a table."""
    return Estimate(
        value=np.array(values),
        se=np.full(len(values), math.nan),
        labels=labels,
        cov=None,
        n=None,
        loss=loss if rng is None else None,
        covers=covers,
        method=method,
        notes=() if rng is None else (SIMULATED,),
        axes=axes,
    )


def equal_diagonal(variance: float, size: int) -> Array:
    """A matrix with one value on its diagonal and zeros elsewhere, as a view of 2 * size - 1 numbers.

    Row i is the window that starts at size - 1 - i, so that a million uncorrelated entries need no square of
    a million.

    >>> equal_diagonal(2.0, 2)
    array([[2., 0.],
           [0., 2.]])
    """
    if size == 1:
        return np.array([[variance]])
    band = np.zeros(2 * size - 1)
    band[size - 1] = variance
    return np.lib.stride_tricks.sliding_window_view(band, size)[::-1]


@dataclass(frozen=True, repr=False)
class Preview:
    """Scale, error and cost of a mechanism, before anything is spent."""

    mechanism: str
    scale: float
    error: float
    level: float
    loss: Loss

    def __repr__(self) -> str:
        return f"<Preview {self.mechanism}: {'; '.join(f'{name} {text}' for name, text in self._rows())}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in self._rows()
        )
        return (
            "<table><thead><tr><th "
            f"colspan='2'>{html.escape(self.mechanism)}</th></tr></thead><tbody>{rows}</tbody></table>"
        )

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("noise scale", short(self.scale)),
            (f"error at {100 * self.level:g} %", f"± {short(self.error)}"),
            ("cost", str(self.loss)),
        ]
