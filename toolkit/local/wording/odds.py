"""What is received for an answer, how often, and what that proves at most: sentences that are true of every
randomizer.

`describe()` of designs and oracles, the consent text, the page and the form on paper all say these.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from toolkit.core.rounding import log_up
from toolkit.local.wording.phrases import odds_phrases
from toolkit.local.wording.voice import Voice

Name: TypeAlias = Callable[[str | int], str]
"""How an option or a report is shown."""

USUAL = 3.0
"""Up to this epsilon a guess between two answers that seemed equally likely is right at most 96 times in 100;
beyond it we say that a report says a lot. The one scale for all texts.
"""

ON_SOMEBODY = ("crosswise", "unrelated", "triangular")
"""Designs that protect only while the answer to their innocent question cannot be found out."""

_SHOWN = 4  # reports that are told one by one
_CARDS = 8  # cards of a deck that are told one by one


def sentences(design: Any, voice: Voice, name: Name) -> list[str]:
    """The odds of one randomizer, in words, and what its reports prove.

    >>> from toolkit import warner
    >>> for sentence in sentences(warner(p="2/3"), Voice(odds_phrases()), str):
    ...     print(sentence)
    If your answer is “yes”, we receive “yes” 2 times in 3; if it is “no”, we still receive “yes” 1 time in 3.
    Whatever we receive is at most 2 times as likely if the truth is one answer as if it is another. So it
    proves no answer. A guess between two answers that seem equally likely is right 50 times in 100; with what
    we receive, at most 67 times in 100.
    """
    if design.matrix is None:
        return [_DRAWN[design.name](design, voice), epsilon_bound(design.epsilon, voice)]
    return [*_matrix(design, voice, name), *_proofs(design, voice, name)]


def describe(design: Any) -> str:
    """A randomizer in plain English words, with its epsilon rounded up."""
    voice = Voice(odds_phrases())
    innocent = [voice.say("innocent")] if design.name in ON_SOMEBODY else []
    return " ".join([*sentences(design, voice, str), *innocent, _epsilon(design.epsilon, voice)])


def epsilon_bound(epsilon: float, voice: Voice | None = None) -> str:
    """What anything of this epsilon can prove at most.

    >>> epsilon_bound(20.0)
    'What we receive proves no answer, but it can as good as tell yours. ... 9,999 times in 10,000.'
    """
    spoken = voice or Voice(odds_phrases())
    if math.isinf(epsilon):
        return spoken.say("proves_some")
    guess = spoken.guess(epsilon)
    if guess is None:
        return spoken.say("bound_sure")
    name = "bound" if epsilon <= USUAL else "bound_weak"
    return spoken.say(name, factor=spoken.factor(epsilon), guess=guess)


def _epsilon(epsilon: float, voice: Voice) -> str:
    return "Epsilon is infinite." if math.isinf(epsilon) else f"Epsilon is at most {voice.rounded_up(epsilon)}."


def _matrix(design: Any, voice: Voice, name: Name) -> list[str]:
    if design.weights.shape == (2, 2):
        return [_pair(design, voice, name)]
    kept = _kept(design)
    if kept is not None and len(design.options) > _SHOWN - 1:
        return [voice.say("kept", often=voice.often(kept), others=voice.number(len(design.options) - 1))]
    return [_row(design, truth, voice, name) for truth in range(len(design.options))]


def _pair(design: Any, voice: Voice, name: Name) -> str:
    """Both answers by how often the last report comes; the other report is what remains."""
    (_, if_first), (_, if_last) = design.weights.tolist()
    first, last = (voice.quoted(name(option)) for option in design.options)
    report = voice.quoted(name(design.report_options[-1]))
    often, rarely = (Fraction(weight, design.denominator) for weight in (if_last, if_first))
    return voice.say(
        "pair",
        first=last,
        received=_received(report, often, voice),
        second=first,
        otherwise=_received(report, rarely, voice, still=0 < rarely < often),
    )


def _received(report: str, share: Fraction, voice: Voice, *, still: bool = False) -> str:
    if share in (0, 1):
        return voice.say("receive_always" if share else "receive_never", report=report)
    return voice.say("receive_still" if still else "receive", report=report, often=voice.often(share))


def _kept(design: Any) -> Fraction | None:
    """How often the answer itself is received, if every answer is kept alike and every other comes alike."""
    weights, k = design.weights, len(design.options)
    if design.options != design.report_options:
        return None
    own, other = int(weights[0, 0]), int(weights[0, -1])
    even = np.full((k, k), other, dtype=np.int64) + np.diag([own - other] * k)
    return Fraction(own, design.denominator) if np.array_equal(weights, even) else None


def _row(design: Any, truth: int, voice: Voice, name: Name) -> str:
    row, answer = design.weights[truth], voice.quoted(name(design.options[truth]))
    order = [j for j in np.argsort(-row, kind="stable").tolist() if row[j]]
    told = order if len(order) <= _SHOWN else order[: _SHOWN - 1]
    reports = [voice.quoted(name(design.report_options[j])) for j in told]
    if len(order) == 1:
        return voice.say("row_one", answer=answer, received=_received(reports[0], Fraction(1), voice))
    parts = [
        voice.say("part", report=report, often=voice.often(Fraction(int(row[j]), design.denominator)))
        for j, report in zip(told, reports, strict=True)
    ]
    others = voice.number(len(order) - len(told))
    rest = [voice.say("rest", others=others)] if len(told) < len(order) else []
    return voice.say("row", answer=answer, reports=voice.listed([*parts, *rest]))


def _proofs(design: Any, voice: Voice, name: Name) -> list[str]:
    """One bound for all reports; or, where a report rules answers out, what every single one leaves
    possible.
    """
    if math.isfinite(design.epsilon):
        return [epsilon_bound(design.epsilon, voice)]
    if len(design.report_options) > _SHOWN or len(design.options) > _SHOWN:
        return [voice.say("proves_some")]
    return [_proof(design, j, voice, name) for j in range(len(design.report_options))]


def _proof(design: Any, j: int, voice: Voice, name: Name) -> str:
    column, report = design.weights[:, j].tolist(), voice.quoted(name(design.report_options[j]))
    if min(column):
        epsilon = log_up(Fraction(max(column), min(column)))
        guess = voice.guess(epsilon)
        if guess is None:
            return voice.say("leaves_sure", report=report)
        return voice.say("leaves_open", report=report, factor=voice.factor(epsilon), guess=guess)
    left = [voice.quoted(name(option)) for option, weight in zip(design.options, column, strict=True) if weight]
    return voice.say("proves", report=report, answers=voice.listed(left, "or"))


def _subset(drawn: Any, voice: Voice) -> str:
    often, k = voice.often(drawn.support.p), len(drawn.options)
    if drawn.size == 1:
        return voice.say("kept", often=often, others=voice.number(k - 1))
    return voice.say("subset", size=voice.number(drawn.size), options=voice.number(k), often=often)


def _unary(drawn: Any, voice: Voice) -> str:
    often, rarely = voice.often(drawn.support.p), voice.often(drawn.support.q)
    return voice.say("unary", options=voice.number(len(drawn.options)), often=often, rarely=rarely)


def _local_hash(drawn: Any, voice: Voice) -> str:
    return voice.say(
        "local_hash",
        options=voice.number(len(drawn.options)),
        values=voice.number(drawn.values),
        often=voice.often(drawn.support.p),
    )


def _random_box(drawn: Any, voice: Voice) -> str:
    options = voice.number(len(drawn.options))
    return voice.say("random_box", options=options, often=voice.often(drawn.support.p))


def _capped_boxes(drawn: Any, voice: Voice) -> str:
    return voice.say(
        "capped_boxes",
        most=voice.number(drawn.most),
        options=voice.number(len(drawn.options)),
        often=voice.often(drawn.support.p),
    )


def _one_bit(drawn: Any, voice: Voice) -> str:
    return voice.say("one_bit", often=voice.often(drawn.support.p))


def _window(drawn: Any, voice: Voice) -> str:
    inside = Fraction(drawn.width * drawn.inside, drawn.window.total)
    width = voice.number(float(Fraction(drawn.width, drawn.steps) * (drawn.high - drawn.low)))
    return voice.say("window", often=voice.often(inside), width=width)


def _hybrid(drawn: Any, voice: Voice) -> str:
    turn, window, bit = drawn.share, _window(drawn, voice), _one_bit(drawn.bit, voice)
    if turn in (0, 1):
        return window if turn else bit
    return voice.say("hybrid", often=voice.often(turn), window=window, bit=bit)


def _laplace(drawn: Any, voice: Voice) -> str:
    """How often the noise is at most its scale: 1 - 2 r**(m+1) / (1+r) for whole steps, about 63 in 100."""
    size, ratio = drawn.scale / drawn.steps * (drawn.high - drawn.low), math.exp(-1 / drawn.scale)
    within = 1 - 2 * ratio ** (math.floor(drawn.scale) + 1) / (1 + ratio)
    often = voice.times(min(99, round(100 * within)), 100, about=True)
    return voice.say("laplace", size=voice.number(float(size)), often=often)


def _scrambled(drawn: Any, voice: Voice) -> str:
    if len(drawn.values) > _CARDS:
        cards = voice.say("cards", count=voice.number(len(drawn.values)))
    else:
        cards = voice.listed(_cards(drawn.values, drawn.weights, voice))
    return voice.say(drawn.how, cards=cards)


def _cards(values: Sequence[Fraction], weights: Sequence[int], voice: Voice) -> list[str]:
    return [
        voice.say("card", value=_exactly(value, voice), often=voice.often(Fraction(weight, sum(weights))))
        for value, weight in zip(values, weights, strict=True)
    ]


def _exactly(value: Fraction, voice: Voice) -> str:
    """A number of a deck in full: decimals if it has few, else as a fraction."""
    for places in range(6):
        if (value * 10**places).denominator == 1:
            return voice.number(Decimal(int(value * 10**places)).scaleb(-places))
    return f"{value.numerator}/{value.denominator}"


_DRAWN: dict[str, Callable[[Any, Voice], str]] = {
    "subset": _subset,
    "unary": _unary,
    "local_hash": _local_hash,
    "random_box": _random_box,
    "capped_boxes": _capped_boxes,
    "one_bit": _one_bit,
    "piecewise": _window,
    "square_wave": _window,
    "hybrid": _hybrid,
    "local_laplace": _laplace,
    "scrambled": _scrambled,
}
