"""Repeated questions to one respondent: fresh reports reveal the truth, but a repeated first report does not."""

from dataclasses import dataclass

import numpy as np

from toolkit.audit.running import law_of
from toolkit.core.arrays import Array, Label
from toolkit.core.checks import check_integer, reject
from toolkit.core.randomness import Rng
from toolkit.local.protocol import Randomizer


@dataclass(frozen=True, eq=False)
class Belief:
    """The beliefs of an observer before and after each report.

    Parameters
    ----------
    options : tuple
        The options.
    beliefs : Array
        A row per report and a column per option; the first row is the belief before any report.

    Examples
    --------
    >>> Belief(("no", "yes"), np.array([[0.5, 0.5], [0.25, 0.75]])).beliefs[-1].tolist()
    [0.25, 0.75]
    """

    options: tuple[str | int, ...]
    beliefs: Array

    def sure_after(self, belief: float = 0.99) -> int | None:
        """Return the number of reports after which the belief in an option is at least `belief`.

        Parameters
        ----------
        belief : float
            The probability.

        Returns
        -------
        int or None
            The number of reports; None if no option reaches the probability.
        """
        is_sure = np.flatnonzero(self.beliefs.max(axis=1) >= belief)
        return int(is_sure[0]) if len(is_sure) else None


def ask_again(design: Randomizer, answer: Label, times: int, *, remembered: bool = False, rng: Rng = None) -> Belief:
    """Ask one person several times, and update a uniform prior by Bayes' rule after each report.

    Parameters
    ----------
    design : object
        A randomizer with `options` and a distribution of reports (integer weights, or `law(answer)`).
    answer : object
        The true answer.
    times : int
        The number of reports.
    remembered : bool
        Whether the person repeats the first report, as in waves with memoization; the observer knows this.
    rng : Generator, optional
        A generator for simulations; by default, the operating system's randomness.

    Returns
    -------
    Belief
        The beliefs after each report.

    Examples
    --------
    >>> from toolkit import warner
    >>> ask_again(warner(p="2/3"), "yes", 40, rng=np.random.default_rng(1)).sure_after(0.99)
    15
    """
    laws = [law_of(design, option) for option in design.options]
    if any(law is None for law in laws):
        reject(
            "`design` must have a known distribution of reports",
            type(design).__name__,
            "write warner(0.7), for example",
            TypeError,
        )
    n_reports = check_integer(times, "times")
    reports = design.randomize([answer] * (1 if remembered else n_reports), rng)
    loglike = np.zeros((n_reports + 1, len(laws)))
    with np.errstate(divide="ignore"):
        for i, report in enumerate(np.asarray(reports).tolist()):
            loglike[i + 1] = loglike[i] + np.log([float(law[report]) for law in laws if law])
    if remembered:
        loglike[1:] = loglike[1]
    odds = np.exp(loglike - loglike.max(axis=1, keepdims=True))
    return Belief(tuple(design.options), odds / odds.sum(axis=1, keepdims=True))
