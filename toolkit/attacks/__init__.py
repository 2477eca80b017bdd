"""Why we bother, and whether it works: attacks on what was released, and an audit for anything that claims to
be private.
"""

from dataclasses import dataclass

from toolkit.attacks import (
    anonymity,
    averaging,
    differencing,
    gallery,
    linkage,
    marginals,
    membership,
    reconstruction,
    streams,
)
from toolkit.attacks import anonymity as intersection
from toolkit.attacks import gallery as slides
from toolkit.attacks import membership as canaries
from toolkit.attacks.audit import Verdict, audit, exact_delta, exact_epsilon
from toolkit.attacks.audit.bounds import advantage
from toolkit.attacks.audit.replay import replay
from toolkit.attacks.audit.running import law_of
from toolkit.core.inference.digits import concise

__all__ = [
    "Breach",
    "Verdict",
    "advantage",
    "anonymity",
    "audit",
    "averaging",
    "canaries",
    "differencing",
    "exact_delta",
    "exact_epsilon",
    "gallery",
    "intersection",
    "law_of",
    "linkage",
    "marginals",
    "membership",
    "reconstruction",
    "replay",
    "slides",
    "streams",
]


@dataclass(frozen=True)
class Breach:
    """One attack in words.

    Parameters
    ----------
    attack : str
        What was done.
    released : str
        What had been published.
    knew : str
        What the attacker knew besides.
    learned : str
        What they learned.
    score : float, optional
        How well.
    measure : str
        What the score measures.

    Examples
    --------
    >>> Breach("linkage", "a table without names", "a voters' list", "one diagnosis").learned
    'one diagnosis'
    """

    attack: str
    released: str
    knew: str
    learned: str
    score: float | None = None
    measure: str = ""

    __repr__ = concise
