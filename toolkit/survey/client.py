"""The respondent's page as files: their bytes, one hash of them all, and randomizers in numbers that a browser holds exactly."""

import hashlib
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

from toolkit.core.checks import refuse
from toolkit.local.numeric.laplace import LocalLaplace
from toolkit.local.numeric.means import Mean
from toolkit.local.numeric.scrambling import Scrambled
from toolkit.local.numeric.square_wave import SquareWave
from toolkit.local.protocol import Randomizer

_STATIC = Path(__file__).parent / "static"

NAMES = tuple(sorted(path.name for path in _STATIC.iterdir() if path.suffix in (".css", ".html", ".js")))
"""All that a respondent's browser loads, and all that the hash covers."""

EXACT = 2**53
"""Whole numbers below this are exact in JavaScript."""

_WIDEST_NOISE = 2**43  # in steps; noise a thousand times as wide, which would pass 2**53, does not happen


def asset(name: str) -> bytes:
    """The bytes of one file of the page.

    >>> b"getRandomValues" in asset("randomizer.js")
    True
    """
    if name not in NAMES:
        refuse(f"`name` must be one of {', '.join(NAMES)}", repr(name)[:40], "the page has no other files")
    return (_STATIC / name).read_bytes()


def code_hash() -> str:
    """SHA-256 over the names and bytes of the page's files: what an ethics board or a respondent can compare.

    Each file is its name, its length and its bytes, so that no two sets of files have one hash.

    >>> len(code_hash())
    64
    """
    digest = hashlib.sha256()
    for name in NAMES:
        content = asset(name)
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def browser_data(randomizer: Randomizer) -> dict[str, Any]:
    """What `to_dict` writes, in numbers that a browser holds exactly: the longer ones of a Laplace budget become strings.

    Randomizers whose reports or bounds a browser would round are refused, here and again in `randomizer.js`.

    >>> from toolkit.local.numeric import local_laplace
    >>> browser_data(local_laplace((0, 20), 1.0986122886681098))["budget"]
    [5493061443340549, 5000000000000000]
    """
    data = randomizer.to_dict()
    if isinstance(randomizer, Mean | SquareWave):
        _check_bounds(randomizer.low, randomizer.high)
    if isinstance(randomizer, Scrambled):
        _check_deck(randomizer)
    if isinstance(randomizer, LocalLaplace):
        if randomizer.scale >= _WIDEST_NOISE:
            refuse("`epsilon` must be larger for answers in a browser", float(randomizer.budget), "reports would pass 2**53")
        data["budget"] = [part if part < EXACT else str(part) for part in data["budget"]]
    return data


def _check_bounds(low: Fraction, high: Fraction) -> None:
    """The span and the bounds are divided there as they stand: each product must be exact."""
    across = (low.numerator * high.denominator, high.numerator * low.denominator)
    if max(low.denominator * high.denominator, *map(abs, across), across[1] - across[0]) >= EXACT:
        received = f"{float(low)} and {float(high)}"
        refuse("`bounds` must have fewer digits for answers in a browser", received, "they would be rounded there")


def _check_deck(deck: Scrambled) -> None:
    """The cards are brought to one denominator there, as `deck` in randomizer.js does it, and reports must be exact."""
    low, high = deck.low, deck.high
    parts = low.denominator * high.denominator * deck.steps
    shares = math.lcm(*(value.denominator for value in deck.values))
    answer, card = max(abs(low), abs(low + (high - low) / deck.steps)), max(map(abs, deck.values))
    farthest = answer + card + high - low if deck.how == "additive" else (answer + high - low) * card
    if max(2 * parts * shares * (answer + 1) * (card + 1), farthest / deck.unit) >= EXACT:
        refuse("`noise` must have fewer digits for answers in a browser", f"{shares} parts", "reports would be rounded there")
