"""`Voice`: numbers and sentences in one language, rounded so that no promise sounds better than it is."""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from toolkit.core.inference.digits import round_up
from toolkit.texts.multilingual import JOINERS
from toolkit.texts.phrases import phrases

_SLACK = Decimal("1e-12")  # offsets the rounding of epsilon; otherwise ln 5 would read as 5.01 times
_SCALES = (100, 1000, 10_000)  # denominators for guesses; beyond the last, a report practically reveals the answer
_SINGLE = str.maketrans('“”„‟«»"＂〝〞〟「」『』｢｣', "‘’‚‛‹›''‘’’‹›‹›‹›")


def quotable(words: str, pattern: str = "") -> str:
    r"""Return a text in a form that cannot change the meaning of the sentence around it.

    The result is on one line, with single quotation marks and without control characters. Right-to-left text is
    isolated, unless the `pattern` into which it is inserted isolates it.
    """
    line = " ".join(words.translate(_SINGLE).splitlines())
    plain = "".join(char for char in line if char in JOINERS or unicodedata.category(char) not in ("Cc", "Cf"))
    turns = any(unicodedata.bidirectional(char) in ("R", "AL", "AN") for char in plain)
    return f"\u2068{plain}\u2069" if turns and "\u2068" not in pattern else plain


@dataclass(frozen=True)
class Voice:
    """The sentences of one language, by default English; with `with_icons`, "2 times in 3" is also drawn as ●●○."""

    phrases: Mapping[str, str] = field(default_factory=phrases)
    with_icons: bool = False

    def say(self, name: str, **filled: object) -> str:
        return self.phrases[name].format(**filled)

    def quoted(self, words: str) -> str:
        return self.say("quote", words=quotable(words, self.phrases["quote"]))

    def join_words(self, parts: Sequence[str], word: str = "and") -> str:
        """Join texts into a list in a sentence, such as "one, two and three"."""
        *most, last = parts
        return self.phrases["comma"].join(most) + self.phrases[word] + last if most else last

    def frequency(self, share: Fraction) -> str:
        """Return a probability as a frequency."""
        if share in (0, 1):
            return self.phrases["always" if share else "never"]
        count, of, exact = as_frequency(share)
        words = self.times(count, of, about=not exact)
        return f"{words} ({'●' * count}{'○' * (of - count)})" if self.with_icons and exact and of <= 12 else words

    def times(self, count: int, of: int, *, about: bool = False) -> str:
        """Return a frequency in words, such as "2 times in 3"."""
        name = ("about_" if about else "") + ("once" if count == 1 else "often")
        return self.say(name, count=self.number(count), of=self.number(of))

    def guess_frequency(self, epsilon: float) -> str | None:
        """Return the maximum frequency with which a guess between two equally likely answers is right after a report.

        The frequency is e**epsilon / (1 + e**epsilon), rounded up; None beyond 9,999 times in 10,000.
        """
        right = 1 / (1 + Decimal(-epsilon).exp()) * (1 - _SLACK)
        for of in _SCALES:
            if (count := math.ceil(right * of)) < of:
                return self.times(count, of)
        return None

    def factor(self, epsilon: float) -> str:
        """Format e**epsilon with three significant digits, rounded up."""
        return self.number(round_up(Decimal(epsilon).exp(), 3))

    def rounded_up(self, value: float) -> str:
        """Format a number with three significant digits, rounded up."""
        return self.number(round_up(value, 3))

    def number(self, value: int | float | Decimal) -> str:
        """Format a number with the separators of the language; a float has three significant digits."""
        exact = Decimal(f"{value:.3g}") if isinstance(value, float) else Decimal(value)
        sign, digits = ("−" if exact < 0 else ""), f"{abs(exact).normalize():f}"
        whole, point, rest = digits.partition(".")
        if len(whole) >= int(self.phrases["grouped_from"]):
            whole = f"{int(whole):,}".replace(",", self.phrases["thousands"])
        return sign + whole + point.replace(".", self.phrases["decimal"]) + rest


def as_frequency(share: Fraction) -> tuple[int, int, bool]:
    """Return a probability as a count and a total, small numbers if possible, and whether the fraction is exact."""
    if share.denominator <= 20:
        return share.numerator, share.denominator, True
    of = 100
    while min(share, 1 - share) * of < Fraction(3, 2):
        of *= 10
    return round(share * of), of, (share * of).denominator == 1
