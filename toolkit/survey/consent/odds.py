"""What is received for an answer, how often, and what that proves at most: sentences that are true of every
randomizer.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from toolkit.core.rounding import log_up
from toolkit.local.design import Design, has_matrix
from toolkit.local.protocol import Randomizer
from toolkit.survey.consent.voice import Voice

Name: TypeAlias = Callable[[str | int], str]
"""How an option or a report is shown."""

USUAL = 3.0
"""Up to this epsilon, odds of 20 to 1, nobody would say that they know; beyond it a report says a lot, and we
say so.
"""

_SHOWN = 4  # reports that are told one by one
_ROWS = 8  # answers that are told one by one


def sentences(design: Randomizer, voice: Voice, name: Name) -> list[str]:
    """The odds of one question, in words.

    >>> from toolkit import warner
    >>> from toolkit.survey.language.phrases import phrases
    >>> for sentence in sentences(warner(p="2/3"), Voice(phrases("en")), str):
    ...     print(sentence)
    If your answer is “yes”, we receive “yes” 2 times in 3; if it is “no”, we still receive “yes” 1 time in 3.
    Whatever we receive is at most 2 times as likely after one answer as after another, so it proves no
    answer.
    """
    if has_matrix(design):
        return [*_matrix(design, voice, name), *_proofs(design, voice, name)]
    return [_DRAWN[design.name](design, voice), _at_most(design.epsilon, voice)]


def _matrix(design: Design, voice: Voice, name: Name) -> list[str]:
    if design.weights.shape == (2, 2):
        return [_pair(design, voice, name)]
    kept = _kept(design)
    if kept is not None and len(design.options) > _SHOWN - 1:
        return [voice.say("kept", often=voice.often(kept), others=len(design.options) - 1)]
    if len(design.options) > _ROWS:
        return [voice.say("mixed", reports=len(design.report_options))]
    return [_row(design, truth, voice, name) for truth in range(len(design.options))]


def _pair(design: Design, voice: Voice, name: Name) -> str:
    """Both answers by how often the last report comes; the other report is what remains."""
    (_, if_first), (_, if_last) = design.weights.tolist()
    first, last = (voice.quoted(name(option)) for option in design.options)
    report = voice.quoted(name(design.report_options[-1]))
    often, rarely = (voice.often(Fraction(weight, design.denominator)) for weight in (if_last, if_first))
    form = "pair_still" if 0 < if_first < if_last else "pair"
    return voice.say(form, first=last, second=first, report=report, often=often, rarely=rarely)


def _kept(design: Design) -> Fraction | None:
    """How often the answer itself is received, if every answer is kept alike and every other comes alike."""
    weights, k = design.weights, len(design.options)
    if design.options != design.report_options:
        return None
    own, other = int(weights[0, 0]), int(weights[0, -1])
    even = np.full((k, k), other, dtype=np.int64) + np.diag([own - other] * k)
    return Fraction(own, design.denominator) if np.array_equal(weights, even) else None


def _row(design: Design, truth: int, voice: Voice, name: Name) -> str:
    row = design.weights[truth]
    order = [j for j in np.argsort(-row, kind="stable").tolist() if row[j]]
    told = order if len(order) <= _SHOWN else order[: _SHOWN - 1]
    shares = [voice.often(Fraction(int(row[j]), design.denominator)) for j in told]
    parts = [
        voice.say("part", report=voice.quoted(name(design.report_options[j])), often=share)
        for j, share in zip(told, shares, strict=True)
    ]
    rest = [voice.say("rest", others=len(order) - len(told))] if len(told) < len(order) else []
    return voice.say(
        "row", answer=voice.quoted(name(design.options[truth])), reports=voice.listed([*parts, *rest])
    )


def _proofs(design: Design, voice: Voice, name: Name) -> list[str]:
    """One bound for all reports; or, where a report rules answers out, what every single one leaves
    possible.
    """
    if math.isfinite(design.epsilon):
        return [_at_most(design.epsilon, voice)]
    if len(design.report_options) > _SHOWN or len(design.options) > _SHOWN:
        return [voice.say("proves_some")]
    return [_proof(design, j, voice, name) for j in range(len(design.report_options))]


def _proof(design: Design, j: int, voice: Voice, name: Name) -> str:
    column, report = design.weights[:, j].tolist(), voice.quoted(name(design.report_options[j]))
    if min(column):
        return voice.say(
            "leaves_open", report=report, factor=voice.factor(log_up(Fraction(max(column), min(column))))
        )
    left = [
        voice.quoted(name(option)) for option, weight in zip(design.options, column, strict=True) if weight
    ]
    return voice.say("proves", report=report, answers=voice.listed(left, "or"))


def _at_most(epsilon: float, voice: Voice) -> str:
    if math.isinf(epsilon):
        return voice.say("proves_some")
    return voice.say("bound" if epsilon <= USUAL else "bound_weak", factor=voice.factor(epsilon))


def _subset(drawn: Any, voice: Voice) -> str:
    often, k = voice.often(drawn.support.p), len(drawn.options)
    if drawn.size == 1:
        return voice.say("kept", often=often, others=k - 1)
    return voice.say("subset", size=drawn.size, options=k, often=often)


def _unary(drawn: Any, voice: Voice) -> str:
    often, rarely = voice.often(drawn.support.p), voice.often(drawn.support.q)
    return voice.say("unary", options=len(drawn.options), often=often, rarely=rarely)


def _local_hash(drawn: Any, voice: Voice) -> str:
    return voice.say(
        "local_hash", options=len(drawn.options), values=drawn.values, often=voice.often(drawn.support.p)
    )


def _random_box(drawn: Any, voice: Voice) -> str:
    return voice.say("random_box", options=len(drawn.options), often=voice.often(drawn.support.p))


def _capped_boxes(drawn: Any, voice: Voice) -> str:
    return voice.say(
        "capped_boxes", most=drawn.most, options=len(drawn.options), often=voice.often(drawn.support.p)
    )


def _one_bit(drawn: Any, voice: Voice) -> str:
    return voice.say("one_bit", often=voice.often(drawn.support.p))


def _window(drawn: Any, voice: Voice) -> str:
    inside = Fraction(drawn.width * drawn.inside, drawn.window.total)
    return voice.say("window", often=voice.often(inside))


def _hybrid(drawn: Any, voice: Voice) -> str:
    from toolkit.local.numeric.bounded import TURNS

    turn, window, bit = Fraction(drawn.turn, TURNS), _window(drawn, voice), _one_bit(drawn.bit, voice)
    if turn in (0, 1):
        return window if turn else bit
    return voice.say("hybrid", often=voice.often(turn), window=window, bit=bit)


def _laplace(drawn: Any, voice: Voice) -> str:
    return voice.say("laplace", size=voice.number(float(drawn.scale / drawn.steps) * drawn.grid.span))


def _scrambled(drawn: Any, voice: Voice) -> str:
    return voice.say(drawn.how, cards=len(drawn.values))


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
