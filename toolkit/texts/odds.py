"""Plain sentences about a randomizer: the odds of each report given an answer, and what a report proves.

These sentences are used by `describe()` of designs and oracles, the consent text, the page, and the paper form.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from toolkit.core.rounding import log_up
from toolkit.texts.phrases import slot_names
from toolkit.texts.voice import Voice

LabelFunction: TypeAlias = Callable[[str | int], str]
"""A function that formats an option or a report."""

WEAK_EPSILON = 3.0
"""Up to this epsilon a guess between two equally likely answers is right at most 96 times in 100; above this
epsilon, all texts state that a report reveals a lot.
"""

NEEDS_SECRET_ANSWER = ("crosswise", "unrelated", "triangular")
"""Procedures that protect only as long as the answer to their innocent question remains unknown."""

_MAX_LISTED_REPORTS = 4  # reports beyond this number are summarized
_MAX_LISTED_CARDS = 8  # a deck with more different cards is described only by its number of different cards


def odds_sentences(design: Any, voice: Voice, name: LabelFunction, *, with_ratio: bool = True) -> list[str]:
    """Describe the odds of a randomizer and what its reports prove; `with_ratio` adds the likelihood ratio."""
    if design.matrix is None:
        odds = _WITHOUT_MATRIX.get(design.name, _sentence_by_name)(design, voice)
        return [odds, epsilon_bound(design.epsilon, voice, with_ratio=with_ratio)]
    return [*_matrix_sentences(design, voice, name), *_proof_sentences(design, voice, name, with_ratio)]


def asks_innocent(design: Any) -> bool:
    """Return whether a design protects only as long as the answer to its innocent question remains unknown."""
    return design.matrix is not None and design.procedure in NEEDS_SECRET_ANSWER


def describe(design: Any) -> str:
    """Describe a randomizer in plain English, with its epsilon rounded up."""
    voice = Voice()
    innocent = [voice.say("innocent_answer")] if asks_innocent(design) else []
    epsilon = "infinite" if math.isinf(design.epsilon) else f"at most {voice.rounded_up(design.epsilon)}"
    return " ".join([*odds_sentences(design, voice, str), *innocent, f"Epsilon is {epsilon}."])


def epsilon_bound(epsilon: float, voice: Voice | None = None, *, with_ratio: bool = True) -> str:
    """Return a sentence that bounds how much a report with this epsilon can prove."""
    voice = voice or Voice()
    if math.isinf(epsilon):
        return voice.say("proves_some")
    guess = voice.guess_frequency(epsilon)
    if guess is None:
        return voice.say("bound_sure")
    weak = "" if epsilon <= WEAK_EPSILON else "_weak"
    likelier = [voice.say(f"ratio{weak}", factor=voice.factor(epsilon))] if with_ratio else []
    return " ".join([*likelier, voice.say(f"bound{weak}", guess=guess)])


def _matrix_sentences(design: Any, voice: Voice, name: LabelFunction) -> list[str]:
    if design.weights.shape == (2, 2):
        return [_binary_sentence(design, voice, name)]
    share = _truth_share(design)
    if share is not None and 0 < share < 1:
        return [voice.say("kept", often=voice.frequency(share), others=voice.number(len(design.options) - 1))]
    return outcome_sentences(design, voice, name)


def outcome_sentences(design: Any, voice: Voice, name: LabelFunction) -> list[str]:
    """Return a sentence for each answer, which states the possible reports and how often each is sent."""
    return [_answer_sentence(design, truth, voice, name) for truth in range(len(design.options))]


def _binary_sentence(design: Any, voice: Voice, name: LabelFunction) -> str:
    """Describe how often the second report is received for each of the two answers."""
    (_, if_first), (_, if_last) = design.weights.tolist()
    first, last = (voice.quoted(name(option)) for option in design.options)
    report = voice.quoted(name(design.report_options[-1]))
    often, rarely = (Fraction(weight, design.denominator) for weight in (if_last, if_first))
    return voice.say(
        "pair",
        first=last,
        received=_received_phrase(report, often, voice),
        second=first,
        otherwise=_received_phrase(report, rarely, voice, still=0 < rarely < often),
    )


def _received_phrase(report: str, share: Fraction, voice: Voice, *, still: bool = False) -> str:
    if share in (0, 1):
        return voice.say("receive_always" if share else "receive_never", report=report)
    return voice.say("receive_still" if still else "receive", report=report, often=voice.frequency(share))


def _truth_share(design: Any) -> Fraction | None:
    """Return the probability of a true report; None if this probability or that of a lie depends on the answer."""
    weights, k = design.weights, len(design.options)
    if design.options != design.report_options:
        return None
    truth, lie = int(weights[0, 0]), int(weights[0, -1])
    even = np.full((k, k), lie, dtype=np.int64) + np.diag([truth - lie] * k)
    return Fraction(truth, design.denominator) if np.array_equal(weights, even) else None


def _answer_sentence(design: Any, truth: int, voice: Voice, name: LabelFunction) -> str:
    row, answer = design.weights[truth], voice.quoted(name(design.options[truth]))
    order = [j for j in np.argsort(-row, kind="stable").tolist() if row[j]]
    selection = order if len(order) <= _MAX_LISTED_REPORTS else order[: _MAX_LISTED_REPORTS - 1]
    reports = [voice.quoted(name(design.report_options[j])) for j in selection]
    if len(order) == 1:
        return voice.say("row_one", answer=answer, received=_received_phrase(reports[0], Fraction(1), voice))
    parts = [
        voice.say("part", report=report, often=voice.frequency(Fraction(int(row[j]), design.denominator)))
        for j, report in zip(selection, reports, strict=True)
    ]
    others = voice.number(len(order) - len(selection))
    rest = [voice.say("rest", others=others)] if len(selection) < len(order) else []
    return voice.say("row", answer=answer, reports=voice.join_words([*parts, *rest]))


def _proof_sentences(design: Any, voice: Voice, name: LabelFunction, with_ratio: bool) -> list[str]:
    """State one bound for all reports or, if reports can rule out answers, what each report leaves possible."""
    if math.isfinite(design.epsilon):
        return [epsilon_bound(design.epsilon, voice, with_ratio=with_ratio)]
    if len(design.report_options) > _MAX_LISTED_REPORTS:  # there are at least as many reports as answers
        return [voice.say("proves_some")]
    return [_proof_sentence(design, j, voice, name, with_ratio) for j in range(len(design.report_options))]


def _proof_sentence(design: Any, j: int, voice: Voice, name: LabelFunction, with_ratio: bool) -> str:
    column, report = design.weights[:, j].tolist(), voice.quoted(name(design.report_options[j]))
    if min(column):
        epsilon = log_up(Fraction(max(column), min(column)))
        guess = voice.guess_frequency(epsilon)
        if guess is None:
            return voice.say("leaves_sure", report=report)
        if not with_ratio:
            return voice.say("leaves_open", report=report, guess=guess)
        likelier = voice.say("ratio_open", report=report, factor=voice.factor(epsilon))
        return f"{likelier} {voice.say('leaves_none', guess=guess)}"
    excluded = [voice.quoted(name(option)) for option, weight in zip(design.options, column, strict=True) if weight]
    return voice.say("proves", report=report, answers=voice.join_words(excluded, "or"))


_SLOT_VALUES: dict[str, Callable[[Any, Voice], str]] = {
    "options": lambda design, voice: voice.number(len(design.options)),
    "size": lambda design, voice: voice.number(design.size),
    "values": lambda design, voice: voice.number(design.values),
    "most": lambda design, voice: voice.number(design.most),
    "often": lambda design, voice: voice.frequency(design._support_law.p),
    "rarely": lambda design, voice: voice.frequency(design._support_law.q),
}


def _sentence_by_name(design: Any, voice: Voice) -> str:
    """Return the sentence that is stored under the randomizer's name, with its slots filled."""
    return voice.say(
        design.name, **{gap: _SLOT_VALUES[gap](design, voice) for gap in slot_names(voice.phrases[design.name])}
    )


def _subset_sentence(design: Any, voice: Voice) -> str:
    if design.size > 1:
        return _sentence_by_name(design, voice)
    return voice.say("kept", often=voice.frequency(design._support_law.p), others=voice.number(len(design.options) - 1))


def _window_sentence(design: Any, voice: Voice) -> str:
    inside = Fraction(design.width * design.inside, design._window.total_weight)
    half = voice.number(float(Fraction(design.width, 2 * design.steps) * (design.high - design.low)))
    return voice.say("window", often=voice.frequency(inside), half=half)


def _hybrid_sentence(design: Any, voice: Voice) -> str:
    turn, window, bit = design.window_probability, _window_sentence(design, voice), _sentence_by_name(design.bit, voice)
    if turn in (0, 1):
        return window if turn else bit
    return voice.say("hybrid", often=voice.frequency(turn), window=window, bit=bit)


def _laplace_sentence(design: Any, voice: Voice) -> str:
    """Describe Laplace noise by the probability that its absolute value is at most its scale.

    In whole steps this probability is 1 - 2 r**(m+1) / (1+r), about 0.63.
    """
    size, ratio = design.scale / design.steps * (design.high - design.low), math.exp(-1 / design.scale)
    within = 1 - 2 * ratio ** (math.floor(design.scale) + 1) / (1 + ratio)
    often = voice.times(min(99, round(100 * within)), 100, about=True)
    return voice.say("laplace", size=voice.number(float(size)), often=often)


def _scrambled_sentence(design: Any, voice: Voice) -> str:
    if len(design.values) > _MAX_LISTED_CARDS:
        return voice.say(design.how, cards=voice.say("cards", count=voice.number(len(design.values))))
    total = sum(design.weights)
    cards = [
        voice.say("card", value=_exact_number(value, voice), often=voice.frequency(Fraction(weight, total)))
        for value, weight in zip(design.values, design.weights, strict=True)
    ]
    return voice.say(design.how, cards=voice.join_words(cards))


def _exact_number(value: Fraction, voice: Voice) -> str:
    """Format the number on a card exactly: as a decimal with at most five places, otherwise as a fraction."""
    for places in range(6):
        if (value * 10**places).denominator == 1:
            return voice.number(Decimal(int(value * 10**places)).scaleb(-places))
    return f"{value.numerator}/{value.denominator}"


_WITHOUT_MATRIX: dict[str, Callable[[Any, Voice], str]] = {
    "subset": _subset_sentence,
    "piecewise": _window_sentence,
    "square_wave": _window_sentence,
    "hybrid": _hybrid_sentence,
    "local_laplace": _laplace_sentence,
    "scrambled": _scrambled_sentence,
}
"""Randomizers without a matrix whose sentences need more than filled slots."""
