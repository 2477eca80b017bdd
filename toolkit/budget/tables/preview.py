"""`Preview`: what a statistic would cost and how noisy it would be, before anything is paid or read.

A preview runs the verb itself up to the charge, on a copy of the curator that stops there: so it refuses what
the verb refuses, and what it says follows from public arguments alone.
"""

import copy
import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from toolkit.budget.charges import Priced, price_of
from toolkit.core.checks import refuse
from toolkit.core.digits import concise
from toolkit.core.inference.digits import short
from toolkit.core.loss import Loss

if TYPE_CHECKING:
    from toolkit.budget.keeper import Keeper


@dataclass(frozen=True)
class Noise:
    """What noise does to a cell, in the column's unit: its standard deviation where a cell is one number;
    else about `per_value` divided by the number of values, if they are spread evenly between the bounds.
    """

    cells: int
    sd: float | None = None
    per_value: float | None = None

    __repr__ = concise


@dataclass(frozen=True, repr=False)
class Preview:
    """Cost and noise of a statistic.

    Parameters
    ----------
    label : what would stand in the ledger.
    loss : what it costs; `charged` is that in the ledger's currency.
    fits : whether the ledger would pay for it now.
    noise : None where the error depends on the data.
    """

    label: str
    mechanism: str
    loss: Loss
    charged: Loss
    fits: bool
    noise: Noise | None

    def se(self, n: int | None = None) -> float:
        """The standard error of a cell; of a mean or a spread about so much for n values in it."""
        if self.noise is not None and self.noise.sd is not None:
            return self.noise.sd
        if self.noise is None or self.noise.per_value is None or n is None:
            refuse(
                "the error must follow from public things alone",
                "none that does" if self.noise is None else "no n",
                "of a mean or a spread say the number of values; of a quantile it depends on the data",
            )
        return self.noise.per_value / n

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("cost", str(self.loss))]
        if type(self.charged) is not type(self.loss):
            rows.append(("charged", str(self.charged)))
        rows.append(("fits into the ledger", "yes" if self.fits else "no"))
        if self.noise is not None:
            rows.append(("cells", f"{self.noise.cells:,}"))
            if self.noise.sd is not None:
                rows.append(("standard error of a cell", short(self.noise.sd)))
            elif self.noise.per_value is not None:
                rows.append(("standard error of a cell", f"about {short(self.noise.per_value)} / number of values"))
        return rows

    def __repr__(self) -> str:
        said = "; ".join(f"{name} {text}" for name, text in self._rows())
        return f"<Preview of {self.label}: {said}; {self.mechanism} mechanism>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in self._rows())
        head = f"<thead><tr><th colspan='2'>{html.escape(self.label)}</th></tr></thead>"
        return f"<table>{head}<tbody>{rows}</tbody></table>"


class Previews:
    """The verbs of a curator, each of which returns a `Preview`."""

    def __init__(self, keeper: "Keeper") -> None:
        self._keeper = keeper

    def __getattr__(self, verb: str) -> Callable[..., Preview]:
        if verb.startswith("_") or not callable(getattr(type(self._keeper), verb, None)):
            if not verb.startswith("_") and not hasattr(self._keeper, verb):
                getattr(self._keeper, verb)  # refused, with the verbs that there are
            raise AttributeError(f"a curator has no verb {verb!r}")
        stand_in = copy.copy(self._keeper)
        stand_in._paid = self._stop  # type: ignore[method-assign,assignment]

        def previewed(*arguments: Any, **options: Any) -> Preview:
            try:
                getattr(stand_in, verb)(*arguments, **options)
            except _Reached as reached:
                return reached.preview
            refuse("only a verb that charges has a preview", verb, "nothing would be charged")

        return previewed

    def __dir__(self) -> list[str]:
        kind = type(self._keeper)
        return [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]

    def _stop(
        self,
        mechanism: Priced,
        label: str,
        _compute: Callable[[], Any],
        noise: Callable[[], Noise] | None = None,
        _receipt: object = None,
    ) -> NoReturn:
        ledger = self._keeper.ledger
        loss, charged = price_of(mechanism, ledger.ceiling)
        fits = ledger.fits(mechanism, neighbors=self._keeper.neighbors, **self._keeper._about)
        raise _Reached(Preview(label, type(mechanism).__name__, loss, charged, fits, noise() if noise else None))


class _Reached(Exception):  # noqa: N818  (it ends a preview, and is no error)
    """The charge was reached."""

    def __init__(self, preview: Preview) -> None:
        super().__init__()
        self.preview = preview
