"""What the page says of one survey: words of the interface that depend on what is asked, how, and of whom."""

from collections.abc import Mapping, Sequence

from toolkit.survey.language.phrases import Own, phrases
from toolkit.survey.language.words import interface
from toolkit.survey.question import Question

Words = dict[str, dict[str, str]]
"""The words of the interface, by language."""


def told(
    questions: Sequence[Question],
    languages: Sequence[str],
    own: Mapping[str, Mapping[str, str]],
    *,
    check: bool,
    access: str,
    promised: Own | None = None,
    waves: int = 1,
) -> Words:
    """All words of the page in each language; what is said before sending, and of several `waves` on every
    screen, is true of this survey. `promised` are sentences for languages that the toolkit does not know.

    >>> asked = [Question("faculty", "Which faculty?", options=["arts", "law"])]
    >>> told(asked, ["en"], {}, check=False, access="open")["en"]["review_note"][-70:]
    'Answers to questions that are not protected are sent as you gave them.'
    """
    told = {}
    for code, words in interface(languages, own).items():
        note = [words[name] for name in _review(questions, check, access)]
        told[code] = {**words, "review_note": " ".join(note)}
        if waves > 1:
            said = phrases(code, promised)
            told[code] |= {
                "review_note": " ".join([*note, said["review_person"]]),
                "end_already": said["already_waves"],
                "new_draws": said["new_draws"],
                "keeps_nothing": f"{words['keeps_nothing']} {said['new_draws']}",
            }
    return told


def _review(questions: Sequence[Question], check: bool, access: str) -> list[str]:
    """All that leaves the phone, and what stays there: only what is so."""
    modes = {question.mode for question in questions}
    parts = {
        "review_note": True,
        "review_check": check,
        f"review_{access}": access != "open",
        "review_auto": "auto" in modes,
        "review_tapped": bool(modes & {"guided", "physical"}),
        "review_plain": "plain" in modes,
    }
    return [name for name, said in parts.items() if said]
