"""`Voice`: numbers and sentences as people of one language say them, rounded so that no promise sounds better
than it is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from toolkit.local.wording import frequency

_UP = Context(prec=3, rounding=ROUND_CEILING)
_SLACK = Decimal(
    "1e-12"
)  # an epsilon is rounded up in its last digit: without this, ln 5 would be told as 5.01 times
_MOST = 30.0  # beyond e**30 nobody reads the digits


@dataclass(frozen=True)
class Voice:
    """The sentences of one language; with `icons` a frequency is also drawn, as in ●●○ for 2 times in 3."""

    phrases: Mapping[str, str]
    icons: bool = False

    def say(self, name: str, **filled: object) -> str:
        """A sentence, filled in."""
        return self.phrases[name].format(**filled)

    def quoted(self, words: str) -> str:
        return self.say("quote", words=words)

    def listed(self, parts: Sequence[str], word: str = "and") -> str:
        """One, two and three."""
        *most, last = parts
        return self.phrases["comma"].join(most) + self.phrases[word] + last if most else last

    def often(self, share: Fraction) -> str:
        """A probability as a frequency.

        >>> from toolkit.survey.language.phrases import phrases
        >>> Voice(phrases("en")).often(Fraction(2, 3)), Voice(phrases("de"), icons=True).often(Fraction(2, 3))
        ('2 times in 3', 'in 2 von 3 Fällen (●●○)')
        """
        if share in (0, 1):
            return self.phrases["always" if share else "never"]
        count, of, exact = frequency(share)
        words = self.say("once" if count == 1 else "often", count=self.number(count), of=self.number(of))
        if self.icons and exact and of <= 12:
            words = f"{words} ({'●' * count}{'○' * (of - count)})"
        return words if exact else self.say("about", often=words)

    def factor(self, epsilon: float) -> str:
        """e**epsilon in three digits, rounded up.

        >>> from toolkit.survey.language.phrases import phrases
        >>> (
        ...     Voice(phrases("en")).factor(1.0),
        ...     Voice(phrases("de")).factor(1.0),
        ...     Voice(phrases("en")).factor(math.log(5)),
        ... )
        ('2.72', '2,72', '5')
        """
        if epsilon > _MOST:
            return f"10^{math.ceil(epsilon / math.log(10))}"
        return self.number(_UP.plus(Decimal(epsilon).exp() * (1 - _SLACK)))

    def number(self, value: int | float | Decimal) -> str:
        r"""Digits with the language's decimal mark, and narrow spaces between thousands.

        >>> from toolkit.survey.language.phrases import phrases
        >>> Voice(phrases("fr")).number(12.5), Voice(phrases("en")).number(10_000)
        ('12,5', '10\u202f000')
        """
        digits = f"{Decimal(value).normalize():f}" if not isinstance(value, float) else f"{value:.3g}"
        whole, point, rest = digits.partition(".")
        if len(whole) > 4:
            whole = f"{int(whole):,}".replace(",", "\u202f")
        return whole + point.replace(".", self.phrases["decimal"]) + rest
