"""`Plan`: a solved survey, with everything that follows from it."""

import html
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolkit.core.extras import extra
from toolkit.local.protocol import Randomizer
from toolkit.planning.accuracy import Case
from toolkit.planning.four_ways import Way, answers_at, check_delta, four_ways, other_guesses
from toolkit.planning.search import Target, in_words, people_for

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Plan:
    """How many people, how private, how precise: all quantities of a plan.

    Parameters
    ----------
    design : Randomizer
        What hides each answer.
    solved : str
        The quantity that was unknown.
    epsilon : float
        What one person loses in all.
    n : int
        Reports that must arrive; `invited` are the people to ask so that n arrive.
    margin : float
        Half the width of an interval of `level`, and that of the smallest subgroup if one was named.
    level : float
        Confidence level.
    prevalence : float or list
        The guessed truth.
    se : float
        The standard error of the option with the largest.
    power : float or None
        Of the test of size 1 - `level` that tells `detect` from `prevalence`, with its estimate on the side of
        `detect`; the notes say how it was found.
    detect : float or list or None
        The truth to tell.
    bias : float
        How far the estimate would be off if the people who do not comply were not corrected for; n and margin are with
        the correction.
    notes : tuple of str
        What a reader must not miss.
    case : Case
        The question and its field.
    target : Target
        What was asked for, or found.

    Examples
    --------
    >>> from toolkit import plan, warner
    >>> plan(warner, prevalence=0.2, n=1000, epsilon=1.0).solved
    'margin'
    """

    design: Randomizer
    solved: str
    epsilon: float
    n: int
    margin: float
    level: float
    prevalence: Any
    se: float
    power: float | None = None
    detect: Any = None
    bias: float = 0.0
    notes: tuple[str, ...] = ()
    case: Case = field(kw_only=True)
    target: Target = field(kw_only=True)

    @property
    def invited(self) -> int:
        """How many people to ask, given how many of them answer."""
        return self.case.field.invited(self.n)

    @property
    def direct_margin(self) -> float:
        """The margin of n people asked directly, if everybody told the truth."""
        return float(self.case.accuracy(self.epsilon).without_noise().margin(self.n))

    @property
    def multiplier(self) -> float:
        """How many times as many people are needed as if they were asked directly, for the same variance."""
        accuracy = self.case.accuracy(self.epsilon)
        direct = accuracy.without_noise().variance(self.n).max()
        return float(accuracy.variance(self.n).max() / direct) if direct > 0 else math.inf

    def ways(self, delta: float = 1e-6) -> tuple[Way, ...]:
        """Compute direct, local, shuffled and central at this epsilon and n.

        Parameters
        ----------
        delta : float
            Of the promise of shuffled reports.

        Returns
        -------
        tuple of Way
            One for each way.
        """
        return four_ways(self.case, self.epsilon, self.n, self.target, check_delta(delta))

    def compare(self, delta: float = 1e-6) -> "pd.DataFrame":
        """Compare four ways to keep the same promise: errors, people needed for this plan's goal, and whom to trust.

        Local and central keep epsilon alone, shuffled (epsilon, delta). `local epsilon` is what protects a person if
        the shuffler fails. Margins are by the normal approximation, to which the central way adds its Laplace noise as
        it is; of a plan with `assurance` those of the shuffled and the central way are of the expected width all the
        same.

        Parameters
        ----------
        delta : float
            Of the promise of shuffled reports.

        Returns
        -------
        pandas.DataFrame
            One row for each way.
        """
        pd = extra("pandas")

        ways = self.ways(delta)
        rows = [(w.epsilon, w.delta, w.local_epsilon, w.noise_se, w.se, w.margin, w.n_needed, w.trust) for w in ways]
        columns = ("epsilon", "delta", "local epsilon", "noise se", "se", "margin", "n needed", "who must be trusted")
        return pd.DataFrame(rows, columns=columns, index=pd.Index([way.name for way in ways], name="way"))

    def sensitivity(self, prevalences: "tuple[Any, ...] | list[Any] | None" = None) -> "pd.DataFrame":
        """Compute how the answer moves if the guessed prevalence is wrong.

        Parameters
        ----------
        prevalences : sequence, optional
            Other truths; around the guess without them.

        Returns
        -------
        pandas.DataFrame
            The solved quantity at each truth; NaN where it is out of reach.
        """
        pd = extra("pandas")
        guesses = tuple(prevalences) if prevalences is not None else other_guesses(self.prevalence)
        answers = answers_at(self.case, self.solved, self.epsilon, self.n, self.target, guesses)
        return pd.DataFrame({"prevalence": list(guesses), self.solved: answers})

    @property
    def shares(self) -> bool:
        """Whether shares are estimated, with margins in percentage points, or a mean in its own unit."""
        return self.design.bounds is None

    def direct_n(self) -> int:
        """Compute how many people direct questioning would need, if everybody told the truth.

        Returns
        -------
        int
            For the same target.
        """
        return people_for(self.case.accuracy(self.epsilon).without_noise(), self.target)

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("people whose reports must arrive", f"{self.n:,}"),
            ("epsilon, what one person loses at most", f"{self.epsilon:.4g}"),
            (f"margin at {100 * self.level:g} %", in_words(self.margin, shares=self.shares)),
            ("the same, asked directly", in_words(self.direct_margin, shares=self.shares)),
        ]
        if self.invited != self.n:
            rows.insert(1, ("people to invite", f"{self.invited:,}"))
        if self.power is not None:
            rows.append((f"power to detect {self.detect}", f"{self.power:.3g}"))
        if self.bias:
            rows.append(("bias if nobody corrects for those who do not comply", f"{self.bias:+.3g}"))
        return rows

    def __repr__(self) -> str:
        power = f", power {self.power:.3g} to detect {self.detect}" if self.power is not None else ""
        return (
            f"<Plan: {self.n:,} people, epsilon {self.epsilon:.4g}, margin "
            f"{in_words(self.margin, shares=self.shares)} "
            f"at {100 * self.level:g} %{power}; solved for {self.solved}; {self.design.name}>"
        )

    def _repr_html_(self) -> str:
        names = {"n": "people whose", "epsilon": "epsilon,", "margin": "margin", "power": "power"}
        cells = "".join(_row(name, text, solved=name.startswith(names[self.solved])) for name, text in self._rows())
        foot = [f"{self.design.name} design; prevalence guessed as {_guess(self.prevalence)}", *self.notes]
        words = "<br>".join(html.escape(note) for note in foot)
        return (
            f"<table><tbody>{cells}</tbody><tfoot><tr><td colspan='2' "
            f"style='text-align:left'>{words}</td></tr></tfoot></table>"
        )


def _row(name: str, text: str, *, solved: bool) -> str:
    cell = f"<strong>{html.escape(text)}</strong>" if solved else html.escape(text)
    return f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{cell}</td></tr>"


def _guess(prevalence: object) -> str:
    return f"{prevalence:g}" if isinstance(prevalence, int | float) else "given shares"
