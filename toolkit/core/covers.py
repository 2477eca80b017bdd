"""`Covers`: the sources of error that an estimate accounts for; a text for people, made of values for code."""

from collections.abc import Iterable
from enum import Enum
from typing import Any


class ErrorSource(Enum):
    """A source of error, by the word that people read."""

    SAMPLING = "sampling"
    RANDOMIZATION = "randomization"
    SCORES = "what is random in the scores"
    ANCHOR = "the anchor"
    NOISE = "noise"


class Covers(str):
    """What `se` and the intervals of an estimate account for.

    It is a text; code asks for `sources`, and never reads the text.

    Parameters
    ----------
    sources : iterable of Source
        In the order in which they are told.
    detail : str
        What is told of the first source in brackets, or after it.
    unit : str
        What the error is counted in, where that is not the unit of the estimate.
    more : str
        What is told after all of it.

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
    _made_of: tuple[tuple[ErrorSource, ...], str, str, str]

    def __new__(cls, sources: Iterable[ErrorSource], detail: str = "", unit: str = "", more: str = "") -> "Covers":
        listed = tuple(sources)
        words = [source.value for source in listed]
        if words and detail:
            words[0] += f" {detail}"
        text = " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
        covers = super().__new__(cls, text + (f", in {unit}" if unit else "") + more)
        covers.sources, covers.words, covers.unit = listed, text, unit
        covers._made_of = listed, detail, unit, more
        return covers

    @classmethod
    def of(cls, text: str) -> "Covers":
        """Itself; a text of one's own claims no source."""
        return text if isinstance(text, Covers) else cls((), more=text)

    def __reduce__(self) -> Any:
        return _again, (str(self), vars(self))

    def replaced(self, old: ErrorSource, *new: ErrorSource) -> "Covers":
        """The same, with another source in the place of one, or without it."""
        sources, *rest = self._made_of
        return Covers([one for source in sources for one in (new if source is old else [source])], *rest)

    def adding(self, words: str) -> "Covers":
        sources, detail, unit, more = self._made_of
        return Covers(sources, detail, unit, more + words)

    def both(self, other: "Covers") -> "Covers":
        """Of a difference: only what both account for is accounted for."""
        if self == other:
            return self
        covers = str.__new__(Covers, f"{self}; {other}")
        covers.sources = tuple(source for source in self.sources if source in other.sources)
        covers.words, covers.unit, covers._made_of = str(covers), "", (covers.sources, "", "", "")
        return covers


def _again(text: str, parts: dict[str, Any]) -> Covers:
    covers = str.__new__(Covers, text)
    vars(covers).update(parts)
    return covers


SAMPLED = Covers([ErrorSource.SAMPLING, ErrorSource.RANDOMIZATION])
"""Of randomized reports of people who were drawn at random."""
NOISE = Covers([ErrorSource.NOISE])
"""Of a released number: the people are those of the table."""
