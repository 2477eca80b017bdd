"""`Verdict`: the trials of an audit and the bounds that follow from them."""

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolkit.core.extras import extra
from toolkit.core.inference.digits import concise
from toolkit.core.loss import Loss

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Trial:
    """One event on one pair of neighbors, with its counts in fresh runs and the resulting bounds.

    Parameters
    ----------
    pair : str
        The pair of neighbors.
    event : str
        A description of the event.
    count : int
        The number of runs on the first input in which the event occurred.
    n : int
        The number of runs on the first input.
    other : int
        The number of runs on the second input in which the event occurred.
    m : int
        The number of runs on the second input.
    epsilon : float
        The lower bound on epsilon.
    delta : float
        The lower bound on delta.
    p_value : float
        The p-value of the claim from this event alone.
    share : float
        The share of the audit's error that was allotted to this event before the runs.

    Examples
    --------
    >>> Trial("10 and 11", "above 12", count=90, n=1000, other=30, m=1000, epsilon=0.6, delta=0.01, p_value=1e-6).count
    90
    """

    pair: str
    event: str
    count: int
    n: int
    other: int
    m: int
    epsilon: float
    delta: float
    p_value: float
    share: float = 1.0

    __repr__ = concise


@dataclass(frozen=True, repr=False)
class Verdict:
    """The outcome of an audit.

    Parameters
    ----------
    claim : Loss or None
        The loss that was claimed.
    epsilon : float
        The lower bound on epsilon, with confidence `level`.
    delta : float
        The lower bound on delta at the claimed epsilon.
    violated : bool
        Whether the claim is refuted.
    evidence : str
        A description of the strength of the evidence against the claim.
    level : float
        The confidence level of the bounds and of the verdict.
    tried : tuple of Trial
        The events that were confirmed on fresh runs.
    pairs : tuple of str
        The pairs of neighbors that were tried.
    runs : int
        The number of runs of the mechanism.
    exact : float or None
        The epsilon found by enumeration, if the mechanism declares its output distribution.
    notes : tuple of str
        Remarks for the reader.

    Examples
    --------
    >>> import numpy as np
    >>> from toolkit.audit import audit
    >>> audit(lambda x, rng: x + rng.laplace(), (0, 1), epsilon=0.1, runs=5000, rng=np.random.default_rng(1)).violated
    True
    """

    claim: Loss | None
    epsilon: float
    delta: float
    violated: bool
    evidence: str
    level: float
    tried: tuple[Trial, ...]
    pairs: tuple[str, ...]
    runs: int
    exact: float | None = None
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """True if the claim is not refuted, for `assert audit(mechanism, neighbors)`."""
        return not self.violated

    def __repr__(self) -> str:
        return f"<Verdict: {self._headline()}; {self.evidence}>"

    def _headline(self) -> str:
        claim = f"claimed {self.claim}" if self.claim is not None else "nothing claimed"
        bound = f"ε at least {_number(self.epsilon)} at {100 * self.level:g} %"
        exact = f", exactly {_number(self.exact)}" if self.exact is not None else ""
        return f"{'REFUTED' if self.violated else 'not refuted'}: {claim}, {bound}{exact}"

    def to_frame(self) -> "pd.DataFrame":
        """Make a table of the trials.

        Returns
        -------
        DataFrame
            One row per trial, best first.
        """
        names = ("pair", "event", "count", "n", "other", "m", "epsilon", "delta", "p_value")
        rows = sorted(self.tried, key=lambda trial: (-trial.epsilon, trial.p_value))
        return extra("pandas").DataFrame(
            [[getattr(trial, name) for name in names] for trial in rows], columns=list(names)
        )

    def _neighbors(self) -> str:
        return "1 pair of neighbors" if len(self.pairs) == 1 else f"{len(self.pairs)} pairs of neighbors"

    def _repr_html_(self) -> str:
        rows = [
            ("verdict", self._headline()),
            ("evidence", self.evidence),
            ("tried", f"{self._neighbors()}, {len(self.tried)} events confirmed, {self.runs:,} runs"),
            *(("note", note) for note in self.notes),
        ]
        best = max(self.tried, key=lambda trial: trial.epsilon, default=None)
        if best is not None:
            text = f"{best.event}: {best.count:,} of {best.n:,} against {best.other:,} of {best.m:,} ({best.pair})"
            rows.insert(2, ("best event", text))
        body = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
        return f"<table><tbody>{body}</tbody></table>"


def _number(value: float | None) -> str:
    return "∞" if value == math.inf else f"{value:.3g}"
