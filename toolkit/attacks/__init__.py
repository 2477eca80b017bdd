"""Why we bother, and whether it works: attacks on what was released, and an audit for anything that claims to
be private.
"""

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
from toolkit.attacks.breach import Breach

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
