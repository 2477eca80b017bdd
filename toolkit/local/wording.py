"""A design in plain words, for people who are asked to trust it."""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from toolkit.core.arrays import Labels


def describe(
    weights: npt.NDArray[np.int64], denominator: int, options: Labels, report_options: Labels, epsilon: float
) -> str:
    """What is received for each answer, how often, and what that proves at most."""
    sentences = [
        _row(option, row, denominator, report_options) for option, row in zip(options, weights, strict=True)
    ]
    return " ".join([*sentences, *_what_it_proves(weights, options, report_options, epsilon)])


def times_in(share: Fraction) -> str:
    """A probability as a frequency: "3 times in 4"; rare or odd ones rounded to a hundred, a thousand, …

    >>> times_in(Fraction(3, 4)), times_in(Fraction(7310585, 10000000)), times_in(Fraction(1))
    ('3 times in 4', 'about 73 times in 100', 'always')
    """
    if share in (0, 1):
        return "always" if share else "never"
    count, of, exact = frequency(share)
    return f"{'' if exact else 'about '}{count} time{'' if count == 1 else 's'} in {of:,}"


def frequency(share: Fraction) -> tuple[int, int, bool]:
    """A probability as so many times in so many, small numbers where they will do, and whether that is exact.

    >>> frequency(Fraction(3, 4)), frequency(Fraction(1, 3000))
    ((3, 4, True), (3, 10000, False))
    """
    if share.denominator <= 20:
        return share.numerator, share.denominator, True
    of = 100
    while min(share, 1 - share) * of < Fraction(3, 2):
        of *= 10
    return round(share * of), of, (share * of).denominator == 1


def bound_in_words(epsilon: float) -> str:
    """What a report can prove at most."""
    bound = (
        f"at most {math.exp(epsilon):.3g} times as likely under one answer as under another (epsilon "
        f"{epsilon:.3g})"
    )
    return f"Whatever we receive, it is {bound}, so it proves no answer."


def _row(option: str | int, row: npt.NDArray[np.int64], denominator: int, report_options: Labels) -> str:
    order = np.argsort(-row, kind="stable")
    shown = [f"“{report_options[j]}” {times_in(Fraction(int(row[j]), denominator))}" for j in order if row[j]]
    if len(shown) > 4:  # many options: the rest are told in one phrase
        shown = [*shown[:1], f"one of {len(shown) - 1} others the rest of the time"]
    return f"If your answer is “{option}”, we receive {_listed(shown)}."


def _what_it_proves(
    weights: npt.NDArray[np.int64], options: Labels, report_options: Labels, epsilon: float
) -> list[str]:
    """One sentence a report that rules answers out; else the largest shift of the odds."""
    if math.isfinite(epsilon):
        return [bound_in_words(epsilon)]
    proofs = []
    for j in np.flatnonzero(weights.min(axis=0) == 0):
        possible = [str(options[i]) for i in np.flatnonzero(weights[:, j])]
        proofs.append(
            f"If we receive “{report_options[j]}”, your answer can only be "
            f"{_listed([f'“{p}”' for p in possible], 'or')}."
        )
    return proofs[:4]


def _listed(parts: list[str], word: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"
