"""The same respondent asked again: fresh coins each time, and the truth comes out. A remembered report gives
nothing away twice.
"""

from dataclasses import dataclass

import numpy as np

from toolkit.audit.running import law_of
from toolkit.core.arrays import Array, Label
from toolkit.core.checks import refuse, whole
from toolkit.core.randomness import Rng
from toolkit.local.protocol import Randomizer


@dataclass(frozen=True, eq=False)
class Belief:
    """What an observer believes after each report.

    Parameters
    ----------
    options : tuple
        The options.
    beliefs : Array
        One row per report and one column per option; the first row is before.

    Examples
    --------
    >>> Belief(("no", "yes"), np.array([[0.5, 0.5], [0.25, 0.75]])).beliefs[-1].tolist()
    [0.25, 0.75]
    """

    options: tuple[str | int, ...]
    beliefs: Array

    def sure_after(self, belief: float = 0.99) -> int | None:
        """Count the reports after which some option is believed this much.

        Parameters
        ----------
        belief : float
            A probability.

        Returns
        -------
        int or None
            None if never.
        """
        sure = np.flatnonzero(self.beliefs.max(axis=1) >= belief)
        return int(sure[0]) if len(sure) else None


def ask_again(design: Randomizer, answer: Label, times: int, *, remembered: bool = False, rng: Rng = None) -> Belief:
    """Ask one person several times, and update an even belief by Bayes' rule after each report.

    Parameters
    ----------
    design : object
        Anything with `options` and a law (integer weights, or `law(answer)`).
    answer : object
        The true answer.
    times : int
        How often to ask.
    remembered : bool
        Whether the person sends the first report again each time, as waves with memory do; the observer knows it.
    rng : Generator, optional
        For simulation.

    Returns
    -------
    Belief
        After each report.

    Examples
    --------
    >>> from toolkit import warner
    >>> ask_again(warner(p="2/3"), "yes", 40, rng=np.random.default_rng(1)).sure_after(0.99)
    21
    """
    laws = [law_of(design, option) for option in design.options]
    if any(law is None for law in laws):
        refuse("`design` must tell its law", type(design).__name__, "the observer computes with it", TypeError)
    number = whole(times, "times")
    drawn = design.randomize([answer] * (1 if remembered else number), rng)
    logs = np.zeros((number + 1, len(laws)))
    with np.errstate(divide="ignore"):
        for i, report in enumerate(np.asarray(drawn).tolist()):
            logs[i + 1] = logs[i] + np.log([float(law[report]) for law in laws if law])
    if remembered:
        logs[1:] = logs[1]
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    return Belief(tuple(design.options), odds / odds.sum(axis=1, keepdims=True))
