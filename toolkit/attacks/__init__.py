"""Why we bother, and whether it works: attacks on what was released, and an audit for anything that claims to be private."""

from toolkit.attacks import (
    anonymity,
    averaging,
    differencing,
    gallery,
    intersection,
    linkage,
    marginals,
    membership,
    reconstruction,
)
from toolkit.attacks.audit import Verdict, audit, exact_delta, exact_epsilon
from toolkit.attacks.audit.replay import replay
from toolkit.attacks.breach import Breach

__all__ = [
    "Breach",
    "Verdict",
    "anonymity",
    "audit",
    "averaging",
    "differencing",
    "exact_delta",
    "exact_epsilon",
    "gallery",
    "intersection",
    "linkage",
    "marginals",
    "membership",
    "reconstruction",
    "replay",
]
