"""The odds in words: every frequency that is told is one of the design's, and no sentence claims more than
the design gives.
"""

import math
import re
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.slowly import each
from tests.survey.samples import DESIGNS
from toolkit import Design, k_ary, mangat, warner
from toolkit.local.numeric import additive, local_laplace, piecewise
from toolkit.local.oracles import subset
from toolkit.texts.odds import WEAK_EPSILON, _laplace_sentence, epsilon_bound, odds_sentences
from toolkit.texts.phrases import LANGUAGES, phrases
from toolkit.texts.voice import Voice, as_frequency

ENGLISH = Voice(phrases("en"))
FREQUENCY = re.compile(r"(about )?([\d,]+) times? in ([\d,]*\d)")


def told(design: Any) -> str:
    return " ".join(odds_sentences(design, ENGLISH, str))


def frequencies(text: str) -> set[tuple[int, int, bool]]:
    return {
        (int(count.replace(",", "")), int(of.replace(",", "")), not about)
        for about, count, of in FREQUENCY.findall(text)
    }


def expected(design: Any) -> set[tuple[int, int, bool]]:
    """All probabilities that the sentences about a randomizer may tell, from its integers."""
    if isinstance(design, Design):
        shares = {Fraction(int(weight), design.denominator) for weight in np.unique(design.weights)}
    elif hasattr(design, "_window"):
        window = Fraction(design.width * design.inside, design.width * design.inside + design.steps * design.outside)
        shares = {window} | (
            {Fraction(design.turn, 2**16), Fraction(design.keep, design.keep + design.lie)}
            if hasattr(design, "turn")
            else set()
        )
    else:
        shares = {design._support_law.p, design._support_law.q} if hasattr(design, "_support_law") else set()
        if design.name == "scrambled":
            shares = {Fraction(weight, sum(design.weights)) for weight in design.weights}
        if design.name == "local_laplace":  # the noise is at most its scale with probability 1 - 1/e
            return {(63, 100, False)}
    return {as_frequency(share) for share in shares if share not in (0, 1)}


@each(design=DESIGNS.values())
def test_every_frequency_that_is_told_is_the_designs(design: Any) -> None:
    found = frequencies(re.sub(r"Whatever we receive .*|If we receive .*", "", told(design)))
    assert found
    assert found <= expected(design)


@each(design=DESIGNS.values(), language=LANGUAGES)
def test_what_a_report_proves_is_said_and_nothing_better(design: Any, language: str) -> None:
    voice = Voice(phrases(language))
    text = " ".join(odds_sentences(design, voice, str))
    finite = math.isfinite(design.epsilon)
    filled = {"factor": voice.factor(design.epsilon), "guess": voice.guess_frequency(design.epsilon)} if finite else {}
    strong, weak = (finite and voice.say(name, **filled) in text for name in ("bound", "bound_weak"))
    assert strong == (design.epsilon <= WEAK_EPSILON)
    assert weak == (WEAK_EPSILON < design.epsilon < math.inf)
    if math.isinf(design.epsilon):
        proofs = [voice.say("proves_some"), voice.say("proves", report=voice.quoted("no"), answers=voice.quoted("no"))]
        proofs.append(voice.say("proves", report=voice.quoted("neither"), answers=voice.quoted("no")))
        assert any(proof in text for proof in proofs)


def test_a_report_that_proves_an_answer_is_named_and_the_other_is_bounded() -> None:
    assert odds_sentences(mangat("2/3"), ENGLISH, str) == [
        ("If your answer is “yes”, we always receive “yes”; if it is “no”, we still receive “yes” 1 time in 3."),
        "If we receive “no”, your answer can only be “no”.",
        (
            "If we receive “yes”, that is at most 3 times as likely if the truth is one answer as if it is "
            "another. It proves none: where two answers seem equally likely, a guess from it is right up to "
            "75 times in 100."
        ),
    ]


def test_reports_that_rule_out_answers_are_all_described() -> None:
    """Each such report has its sentence, or one sentence covers all of them."""
    small = Design([[1, 1, 0], [0, 1, 1], [1, 0, 1]], 2, ("a", "b", "c"))
    assert [sentence for sentence in odds_sentences(small, ENGLISH, str) if "can only be" in sentence] == [
        "If we receive “a”, your answer can only be “a” or “c”.",
        "If we receive “b”, your answer can only be “a” or “b”.",
        "If we receive “c”, your answer can only be “b” or “c”.",
    ]
    rare = odds_sentences(
        Design([[20_000, 1, 0], [1, 19_999, 1]], 20_001, ("no", "yes"), ("a", "b", "c")), ENGLISH, str
    )
    assert rare[-3:-1] == [ENGLISH.say("leaves_sure", report=f"“{report}”") for report in "ab"]
    three = odds_sentences(Design(np.eye(3, dtype=int), 1, tuple("abc")), ENGLISH, str)
    assert three[:3] == [f"If your answer is “{one}”, we always receive “{one}”." for one in "abc"]
    four = odds_sentences(Design(np.eye(4, dtype=int), 1, tuple("abcd")), ENGLISH, str)
    assert sum("can only be" in sentence for sentence in four) == 4
    reports = Design([[1, 1, 1, 1, 0], [0, 1, 1, 1, 1]], 4, ("no", "yes"), tuple("abcde"))
    for many in (Design(np.eye(5, dtype=int), 1, tuple("abcde")), reports):
        assert odds_sentences(many, ENGLISH, str)[-1] == ENGLISH.say("proves_some")


def test_what_any_loss_proves_at_most() -> None:
    for epsilon, weak in ((1.0, ""), (3.0, ""), (3.01, "_weak")):
        ratio = ENGLISH.say(f"ratio{weak}", factor=ENGLISH.factor(epsilon))
        bound = ENGLISH.say(f"bound{weak}", guess=ENGLISH.guess_frequency(epsilon))
        assert (epsilon_bound(epsilon), epsilon_bound(epsilon, with_ratio=False)) == (f"{ratio} {bound}", bound)
    assert (epsilon_bound(20.0), epsilon_bound(math.inf)) == (ENGLISH.say("bound_sure"), ENGLISH.say("proves_some"))


def test_still_is_said_only_where_it_fits() -> None:
    assert "we still receive “yes” 1 time in 3" in told(warner(p="2/3"))
    assert "still" not in told(warner(p="1/3"))
    assert told(warner(p="1/3")).startswith(
        "If your answer is “yes”, we receive “yes” 1 time in 3; if it is “no”, we receive “yes” 2 times in 3."
    )


def test_reports_are_told_in_rows_or_at_once() -> None:
    assert told(k_ary(["a", "b", "c"], epsilon=1.0)).startswith(
        "We receive your real answer about 58 times in 100. Otherwise we receive one of the 2 other answers"
    )
    identity = Design(np.eye(4, dtype=int), 1, tuple("abcd"))
    assert told(identity).startswith("If your answer is “a”, we always receive “a”. If")
    assert told(k_ary(4, epsilon=1.0)).startswith(
        "We receive your real answer about 48 times in 100. Otherwise we receive one of the 3 other answers"
    )
    assert "“a” 3 times in 4, “e” 1 time in 10, “b” 1 time in 20 and one of 2 others the rest of the time" in told(
        DESIGNS["forced_options"]
    )
    assert told(DESIGNS["forced_many"]).count("If your answer is") == 12
    four = Design([[5, 2, 2, 1], [2, 5, 2, 1], [2, 2, 5, 1], [1, 1, 3, 5]], 10, tuple("abcd"))
    assert "“a” 1 time in 2, “b” 1 time in 5, “c” 1 time in 5 and “d” 1 time in 10." in told(four)


def test_one_report_of_many_options_is_told_as_one_and_a_set_as_a_set() -> None:
    one, several = (subset(10, epsilon) for epsilon in (3.0, 0.5))
    assert (one.size, several.size > 1) == (1, True)
    assert "one of the 9 other answers" in told(one)
    assert f"a set of {several.size} of the 10 possible answers" in told(several)


def test_a_hybrid_that_is_always_a_bit_is_told_as_a_bit() -> None:
    assert told(DESIGNS["hybrid_bit"]).startswith("Chance turns your number into a single yes or no")
    assert told(DESIGNS["hybrid"]).startswith("Whatever your number is, chance decides")


def test_the_size_of_laplace_noise_is_in_the_unit_of_the_answers() -> None:
    assert "is 80 or less, up or down, about 63 times in 100" in told(DESIGNS["local_laplace"])
    for scale in (0.3, 1.0, 2.5, 6.0):  # of whole steps k with weights e**(-|k| / scale)
        steps = range(-300, 301)
        near, all_ = (
            sum(math.exp(-abs(k) / scale) for k in some) for some in ([k for k in steps if abs(k) <= scale], steps)
        )
        said = _laplace_sentence(SimpleNamespace(scale=scale, steps=10, low=30, high=50), ENGLISH)
        assert (
            f"is {ENGLISH.number(2 * scale)} or less, up or down, about {min(99, round(100 * near / all_))} times"
            in said
        )


@each(high=[10**power for power in range(-3, 10)])
def test_noise_of_any_size_is_told_in_plain_digits(high: int) -> None:
    said = told(local_laplace((0, high), 1.0))
    size = re.search(r"The random number is ([\d.,]+) or less", said)
    assert size is not None
    assert float(size[1].replace(",", "")) == high


def test_how_near_a_number_comes_is_said_in_the_unit_of_the_answers() -> None:
    assert all("within 12.1 of yours, up or down," in told(piecewise(ends, 1.0)) for ends in ((0, 40), (10, 50)))
    assert "within 19 of yours, up or down," in told(piecewise((0, 40), 0.1))


def test_a_small_deck_is_told_card_by_card() -> None:
    assert "−3 (1 time in 4), 0 (1 time in 2) and 3 (1 time in 4)" in told(DESIGNS["additive"])
    assert "0.5 (1 time in 2) and 1.5 (1 time in 2)" in told(DESIGNS["multiplicative"])
    assert "7 (1 time in 8)" in told(additive((0, 1), dict.fromkeys(range(8), "1/8")))
    assert "one of 9 known numbers" in told(additive((0, 1), dict.fromkeys(range(9), "1/9")))
    exact = told(additive((0, 1), {"1/3": "1/4", "1.00001": "1/4", "1.000001": "1/4", "-2/3": "1/4"}))
    assert all(f"{value} (1 time in 4)" in exact for value in ("1/3", "1.00001", "1000001/1000000", "-2/3"))


def test_options_are_called_as_they_are_shown() -> None:
    shown = odds_sentences(warner(p="2/3"), ENGLISH, {"no": "Never {0}", "yes": "<b>Once</b>"}.__getitem__)
    assert "“<b>Once</b>”" in shown[0]
    assert "“Never {0}”" in shown[0]
