"""Attacks as demonstrations: why anonymization fails, and what a privacy loss prevents."""

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
