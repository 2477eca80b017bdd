"""The odds in words: every frequency that is told is one of the design's, and no sentence claims more than
the design gives.
"""

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.survey.samples import DESIGNS
from toolkit import Design, k_ary, mangat, warner
from toolkit.local.wording import frequency
from toolkit.survey.consent.odds import USUAL, sentences
from toolkit.survey.consent.voice import Voice
from toolkit.survey.language.phrases import languages, phrases

ENGLISH = Voice(phrases("en"))
FREQUENCY = re.compile(r"(about )?(\d+) times? in ([\d\u202f]+)")


def told(design: Any) -> str:
    return " ".join(sentences(design, ENGLISH, str))


def frequencies(text: str) -> set[tuple[int, int, bool]]:
    return {
        (int(count), int(of.replace("\u202f", "")), not about) for about, count, of in FREQUENCY.findall(text)
    }


def expected(design: Any) -> set[tuple[int, int, bool]]:
    """All probabilities that the sentences about a randomizer may tell, from its integers."""
    if isinstance(design, Design):
        shares = {Fraction(int(weight), design.denominator) for weight in np.unique(design.weights)}
    elif hasattr(design, "window"):
        window = Fraction(
            design.width * design.inside, design.width * design.inside + design.steps * design.outside
        )
        shares = {window} | (
            {Fraction(design.turn, 2**16), Fraction(design.keep, design.keep + design.lie)}
            if hasattr(design, "turn")
            else set()
        )
    else:
        shares = {design.support.p, design.support.q} if hasattr(design, "support") else set()
    return {frequency(share) for share in shares if share not in (0, 1)}


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_every_frequency_that_is_told_is_the_designs(design: Any) -> None:
    found = frequencies(told(design))
    assert found <= expected(design)
    assert found or design.name in ("scrambled", "local_laplace") or len(getattr(design, "options", ())) > 8


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_what_a_report_proves_is_said_and_nothing_better(design: Any, language: str) -> None:
    voice = Voice(phrases(language))
    text = " ".join(sentences(design, voice, str))
    factor = voice.factor(design.epsilon) if math.isfinite(design.epsilon) else ""
    strong, weak = (voice.say(name, factor=factor) in text for name in ("bound", "bound_weak"))
    assert strong == (design.epsilon <= USUAL)
    assert weak == (USUAL < design.epsilon < math.inf)
    if math.isinf(design.epsilon):
        proofs = [
            voice.say("proves_some"),
            voice.say("proves", report=voice.quoted("no"), answers=voice.quoted("no")),
        ]
        proofs.append(voice.say("proves", report=voice.quoted("neither"), answers=voice.quoted("no")))
        assert any(proof in text for proof in proofs)


def test_a_report_that_proves_an_answer_is_named_and_the_other_is_bounded() -> None:
    assert sentences(mangat("2/3"), ENGLISH, str) == [
        (
            "If your answer is “yes”, we receive “yes” always; if it is “no”, we still receive “yes” 1 time in "  # noqa: E501
            "3."
        ),
        "If we receive “no”, your answer can only be “no”.",
        (
            "If we receive “yes”, that is at most 3 times as likely after one answer as after another, and "
            "proves none."
        ),
    ]


def test_every_report_that_rules_out_an_answer_is_told_or_all_are_told_at_once() -> None:
    small = Design([[1, 1, 0], [0, 1, 1], [1, 0, 1]], 2, ("a", "b", "c"))
    assert [sentence for sentence in sentences(small, ENGLISH, str) if "can only be" in sentence] == [
        "If we receive “a”, your answer can only be “a” or “c”.",
        "If we receive “b”, your answer can only be “a” or “b”.",
        "If we receive “c”, your answer can only be “b” or “c”.",
    ]
    large = Design(np.eye(6, dtype=int), 1, tuple("abcdef"))
    assert sentences(large, ENGLISH, str)[-1] == ENGLISH.say("proves_some")


def test_still_is_said_only_where_it_fits() -> None:
    assert "we still receive “yes” 1 time in 3" in told(warner(p="2/3"))
    assert "still" not in told(warner(p="1/3"))
    assert told(warner(p="1/3")).startswith(
        "If your answer is “yes”, we receive “yes” 1 time in 3; if it is “no”, we receive “yes” 2 times in 3."
    )


def test_reports_are_told_in_rows_or_at_once() -> None:
    assert told(k_ary(["a", "b", "c"], epsilon=1.0)).count("If your answer is") == 3
    assert told(k_ary(4, epsilon=1.0)).startswith(
        "We receive your real answer about 48 times in 100, and otherwise one of the 3 other answers"
    )
    assert (
        "“a” 3 times in 4, “e” 1 time in 10, “b” 1 time in 20 and one of 2 others the rest of the time"
        in told(DESIGNS["forced_options"])
    )
    assert told(DESIGNS["forced_many"]).startswith("We receive one of 12 possible reports")


def test_a_hybrid_that_is_always_a_bit_is_told_as_a_bit() -> None:
    assert told(DESIGNS["hybrid_bit"]).startswith("Your number becomes a single yes or no")
    assert told(DESIGNS["hybrid"]).startswith("Whatever your number is, chance decides")


def test_the_size_of_laplace_noise_is_in_the_unit_of_the_answers() -> None:
    assert "of about 80 or less" in told(DESIGNS["local_laplace"])


def test_options_are_called_as_they_are_shown() -> None:
    shown = sentences(warner(p="2/3"), ENGLISH, {"no": "Never {0}", "yes": "<b>Once</b>"}.__getitem__)
    assert "“<b>Once</b>”" in shown[0]
    assert "“Never {0}”" in shown[0]
