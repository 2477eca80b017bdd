"""The practice question, and whether there may be one: what is practised must be true of what follows."""

from collections.abc import Sequence

from toolkit.local.questions import warner
from toolkit.local.wording import USUAL
from toolkit.survey.language.phrases import Own, phrases
from toolkit.survey.question import Question


def tried(questions: Sequence[Question]) -> list[Question]:
    """What can be tried out on the page."""
    return [question for question in questions if question.mode in ("auto", "guided")]


def unsure(questions: Sequence[Question]) -> bool:
    """Whether nobody can be sure of an answer: else practice and check would teach what is not so."""
    return bool(questions) and max(question.loss.epsilon for question in questions) <= USUAL


def practice_question(questions: Sequence[Question], languages: Sequence[str], own: Own | None = None) -> Question:
    """An innocent question, hidden as weakly as the weakest that follows; it is never sent."""
    text = {code: phrases(code, own)["practice"] for code in languages}
    weakest = max(tried(questions), key=lambda question: question.loss.epsilon)
    yes_or_no = weakest.options == weakest.report_options == ("no", "yes")
    design = weakest.design if yes_or_no else warner(epsilon=weakest.loss.epsilon)
    return Question("practice", text, design=design, mode=weakest.mode)
