"""`Covers`: the sources of error that an estimate accounts for, as a text for people and as values for code."""

from collections.abc import Iterable
from enum import Enum
from typing import Any


class ErrorSource(Enum):
    """A source of error; its value is the text shown to readers."""

    SAMPLING = "sampling"
    RANDOMIZATION = "randomization"
    SCORES = "the randomness of the scores"
    ANCHOR = "the anchor"
    NOISE = "noise"


class Covers(str):
    """The sources of error that `se` and the intervals of an estimate account for.

    Readers see the object as a string. Code uses `sources` and never parses the string.

    Parameters
    ----------
    sources : iterable of ErrorSource
        The sources in the order of the text.
    detail : str
        A text that follows the first source.
    unit : str
        The unit of the error, if it differs from the unit of the estimate.
    more : str
        A text at the end.

    Examples
    --------
    >>> Covers([ErrorSource.SAMPLING, ErrorSource.RANDOMIZATION])
    'sampling and randomization'
    >>> Covers([ErrorSource.NOISE], unit="ranks")
    'noise, in ranks'
    """

    sources: tuple[ErrorSource, ...]
    words: str
    unit: str
    _arguments: tuple[tuple[ErrorSource, ...], str, str, str]

    def __new__(cls, sources: Iterable[ErrorSource], detail: str = "", unit: str = "", more: str = "") -> "Covers":
        sources = tuple(sources)
        words = [source.value for source in sources]
        if words and detail:
            words[0] += f" {detail}"
        text = " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
        covers = super().__new__(cls, text + (f", in {unit}" if unit else "") + more)
        covers.sources, covers.words, covers.unit = sources, text, unit
        covers._arguments = sources, detail, unit, more
        return covers

    @classmethod
    def of(cls, text: str) -> "Covers":
        """Convert a text to a `Covers`; an ordinary string has no sources."""
        return text if isinstance(text, Covers) else cls((), more=text)

    def __reduce__(self) -> Any:
        return _unpickle, (str(self), vars(self))

    def replaced(self, old: ErrorSource, *new: ErrorSource) -> "Covers":
        """Replace a source with other sources, or remove it."""
        sources, *rest = self._arguments
        replacements = (new if source is old else [source] for source in sources)
        return Covers([source for group in replacements for source in group], *rest)

    def adding(self, words: str) -> "Covers":
        """Append a text."""
        sources, detail, unit, more = self._arguments
        return Covers(sources, detail, unit, more + words)

    def both(self, other: "Covers") -> "Covers":
        """Combine the sources for a difference, which accounts for a source only if both estimates do."""
        if self == other:
            return self
        covers = str.__new__(Covers, f"{self}; {other}")
        covers.sources = tuple(source for source in self.sources if source in other.sources)
        covers.words, covers.unit, covers._arguments = str(covers), "", (covers.sources, "", "", "")
        return covers


def _unpickle(text: str, parts: dict[str, Any]) -> Covers:
    covers = str.__new__(Covers, text)
    vars(covers).update(parts)
    return covers


SAMPLED = Covers([ErrorSource.SAMPLING, ErrorSource.RANDOMIZATION])
"""The sources for randomized reports of a random sample of people."""
NOISE = Covers([ErrorSource.NOISE])
"""The source for a released number, which describes the people in the table."""
