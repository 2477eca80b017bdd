"""The respondent's page as files: their bytes, one hash of them all, and randomizers in numbers that a browser holds exactly."""

import hashlib
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
_MULTIPLES = 2**9  # of `s` that a draw of Laplace noise may meet; that it meets more has a probability below 10**-200


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
    """What `to_dict` writes, and beside it the integers that follow from it, so that a browser need not derive them.

    Of numbers within bounds the `span`; of a deck its `cards`, each with the report of the lowest answer and what a step adds;
    of Laplace noise `s` and `t`, its scale in lowest terms. All are numbers that a browser holds exactly; the longer ones of
    Laplace noise are strings. Randomizers whose reports or bounds it would round are refused, here and again in `randomizer.js`.

    >>> from toolkit.local.numeric import additive, local_laplace
    >>> browser_data(additive((0, 20), {-3: 0.5, "1/2": 0.5}))["cards"]
    [{'start': -6, 'slope': 2}, {'start': 1, 'slope': 2}]
    >>> noise = browser_data(local_laplace((0, 20), 1.0986122886681098))
    >>> noise["budget"], noise["s"], noise["t"]
    ([5493061443340549, 5000000000000000], '25200000000000000000', '422543187949273')
    """
    data = randomizer.to_dict()
    if isinstance(randomizer, Mean | SquareWave):
        data |= _range(randomizer.low, randomizer.high)
    if isinstance(randomizer, Scrambled):
        data |= _deck(randomizer)
    if isinstance(randomizer, LocalLaplace):
        data |= _noise(randomizer)
    return data


def _range(low: Fraction, high: Fraction) -> dict[str, Any]:
    """A browser divides each of the three as Python's `float` does, as long as it holds both parts."""
    if max(abs(part) for number in (low, high, high - low) for part in number.as_integer_ratio()) >= EXACT:
        received = f"{float(low)} and {float(high)}"
        refuse("`bounds` must have fewer digits for answers in a browser", received, "they would be rounded there")
    return {"span": list((high - low).as_integer_ratio())}


def _deck(deck: Scrambled) -> dict[str, Any]:
    """The deck as Python itself draws from it. All that is sent must be exact, and so must be the difference of two reports."""
    starts, slopes = (line.tolist() for line in deck.lines)
    farthest = max(abs(start) + deck.steps * abs(slope) for start, slope in zip(starts, slopes, strict=True))
    if max(2 * farthest, *(abs(part) for value in deck.values for part in value.as_integer_ratio())) >= EXACT:
        received = f"reports in steps of {deck.unit}"
        refuse("`noise` must have fewer digits for answers in a browser", received, "they would be rounded there")
    return {"cards": [{"start": start, "slope": slope} for start, slope in zip(starts, slopes, strict=True)]}


def _noise(laplace: LocalLaplace) -> dict[str, Any]:
    if laplace.scale >= _WIDEST_NOISE:
        refuse("`epsilon` must be larger for answers in a browser", float(laplace.budget), "reports would pass 2**53")
    s, t = laplace.scale.as_integer_ratio()
    written = int if max(_MULTIPLES * s, t) < EXACT else str
    budget = [part if part < EXACT else str(part) for part in laplace.budget.as_integer_ratio()]
    return {"budget": budget, "s": written(s), "t": written(t)}
