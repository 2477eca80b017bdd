"""Why we bother, and whether it works: attacks on what was released, and an audit for anything that claims to be private."""

from toolkit.attacks import (
    anonymity,
    audit,
    averaging,
    bounds,
    breach,
    differencing,
    enumeration,
    intersection,
    linkage,
    marginals,
    membership,
    neighbours,
    reconstruction,
    replay,
    running,
)

__all__ = [
    "anonymity",
    "audit",
    "averaging",
    "bounds",
    "breach",
    "differencing",
    "enumeration",
    "intersection",
    "linkage",
    "marginals",
    "membership",
    "neighbours",
    "reconstruction",
    "replay",
    "running",
]
