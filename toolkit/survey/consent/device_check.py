"""A question that shows whether people have understood the device: what is sent, or tapped, when chance says so."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from toolkit.core.checks import refuse
from toolkit.local.design import has_matrix
from toolkit.survey.consent.page_data import practicable, practice_question, shown_question
from toolkit.survey.consent.wheel import filled, sectors
from toolkit.survey.question import Question

Words = Mapping[str, Mapping[str, str]]
"""The words of the interface, by language."""

DeviceTry = tuple[dict[str, str], list[dict[str, str]], int]
"""What is asked, what may be answered, and which of that is right; words by language."""

TRIES = 2
"""So often it is asked, each time about another case."""


def device_tries(questions: Sequence[Question], words: Words, own: Any = None) -> list[DeviceTry]:
    """Return the tries: a case of the wheel, or what chance tells people to tap; "Nothing" is always wrong.

    Where people use chance of their own, it must tell them what to say, or compare two answers: what other
    devices ask for is not known here.
    """
    codes = list(words)
    if practicable(questions):
        question = practice_question(questions, codes, own)
    else:
        question = max((one for one in questions if one.randomized), key=lambda one: one.loss.epsilon)
    shown = shown_question(question, codes, own=own)
    options, reports = ([one["label"] for one in shown[name]] for name in ("options", "reports"))
    nothing = {code: words[code]["check_nothing"] for code in words}

    def case(name: str, right: int, at: str = "", **labels: Mapping[str, str]) -> DeviceTry:
        text = {}
        for code, said in words.items():
            quoted = {slot: filled(said["quoted"], label=label[code]) for slot, label in labels.items()}
            text[code] = said[name].format(at=at, **quoted)
        return text, [*reports, nothing], right

    if question.mode == "auto":  # a yes and a no, called as the wheel calls them
        reports = [
            {code: f"{mark} – {label[code]}" for code in words} for mark, label in zip("AB", reports, strict=True)
        ]
        return [case("check_wheel", right, answer=options[1 - right], at="AB"[right]) for right in (1, 0)]
    if question.mode == "physical" and question.design is not None and question.design.name == "crosswise":
        same = question.report_options.index("same")
        pairs = ((options[0], options[-1], 1 - same), (options[-1], options[-1], same))
        return [case("check_pair", right, first=first, second=second) for first, second, right in pairs]
    forced = _forced(question)
    cases = [(right, -1 if right == 0 else 0) for right in (*reversed(forced), *forced)][:TRIES]
    return [case("check_order", right, report=reports[right], answer=options[truth]) for right, truth in cases]


def chance(answers: int) -> tuple[Fraction, Fraction]:
    """Return how often somebody who taps at random is right at the first try, and at one of two.

    >>> [str(share) for share in chance(3)]
    ['1/3', '5/9']
    """
    once = Fraction(1, answers)
    return once, once + (1 - once) * once


def _forced(question: Question) -> list[int]:
    """The reports that chance may ask of everybody."""
    design = question.design
    if design is not None and has_matrix(design) and (question.mode == "guided" or "forced" in design.name):
        orders = [says[0] for _, _, says in sectors(design) if len(set(says)) == 1]
        if orders:
            return sorted(orders)
    rule = "`check` about the device needs a wheel, forced answers or a crosswise design"
    refuse(rule, f"{question.name!r} without", "write check = true, or false")
