"""Demonstrations of attacks: why anonymization fails, and which attacks a bounded privacy loss prevents."""

from toolkit.teaching.attacks import (
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

__all__ = [
    "anonymity",
    "averaging",
    "differencing",
    "gallery",
    "linkage",
    "marginals",
    "membership",
    "reconstruction",
    "streams",
]
