"""`Preview`: what a release would cost and how noisy it would be, before anything is paid or read."""

import html
from dataclasses import dataclass
from typing import Any

from toolkit.budget.charges import price_of
from toolkit.budget.ledger import Ledger
from toolkit.core.checks import refuse
from toolkit.core.inference.digits import short
from toolkit.core.loss import Loss
from toolkit.curator.release import Noise, Release


@dataclass(frozen=True, repr=False)
class Preview:
    """Cost and noise of a statistic.

    Parameters
    ----------
    label : str
        What would stand in the ledger.
    mechanism : str
        The kind of noise or choice.
    loss : Loss
        What it costs.
    charged : Loss
        That in the ledger's currency.
    fits : bool
        Whether the ledger would pay for it now.
    noise : Noise or None
        None where the error depends on the data.
    """

    label: str
    mechanism: str
    loss: Loss
    charged: Loss
    fits: bool
    noise: Noise | None

    @classmethod
    def of(cls, release: Release[Any], ledger: Ledger) -> "Preview":
        """What is known of a release before it is run."""
        mechanism = release.mechanism
        loss, charged = price_of(mechanism, ledger.ceiling)
        fits = ledger.fits(mechanism, **release.unit.charge)
        noise = None if release.noise is None else release.noise()
        return cls(release.label, type(mechanism).__name__, loss, charged, fits, noise)

    def se(self, n: int | None = None) -> float:
        """The standard error of a cell.

        Parameters
        ----------
        n : int, optional
            The number of values in the cell; needed of a mean or a spread, whose error it decides.

        Returns
        -------
        float
            Exact where a cell is one number with noise, else about right for values that are spread evenly
            between the bounds.
        """
        if self.noise is not None and self.noise.sd is not None:
            return self.noise.sd
        if self.noise is None or self.noise.per_value is None or n is None:
            rule = "the error must follow from public things alone"
            consequence = "of a mean or a spread say the number of values; of a quantile it depends on the data"
            refuse(rule, "none that does" if self.noise is None else "no n", consequence)
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
                error = f"about {short(self.noise.per_value)} / number of values"
                rows.append(("standard error of a cell", error))
        return rows

    def __repr__(self) -> str:
        facts = "; ".join(f"{name} {text}" for name, text in self._rows())
        return f"<Preview of {self.label}: {facts}; {self.mechanism} mechanism>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in self._rows())
        head = f"<thead><tr><th colspan='2'>{html.escape(self.label)}</th></tr></thead>"
        return f"<table>{head}<tbody>{rows}</tbody></table>"
