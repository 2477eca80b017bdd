"""A survey at a glance, for its author: a table of its questions, answers, designs and costs."""

import html
from collections.abc import Sequence

from toolkit.survey.consent.statement import loss
from toolkit.survey.question import Question
from toolkit.texts.multilingual import text_in
from toolkit.texts.phrases import Own, phrases

_HEADS = ("name", "question", "answers", "how it is sent", "epsilon")
_MOST_ANSWERS = 8


def listing(title: str, questions: Sequence[Question], language: str, own: Own | None = None, waves: int = 1) -> str:
    """Return the table as HTML, in one language; what a question costs is for all waves."""
    head = "".join(f"<th style='text-align:left'>{words}</th>" for words in _HEADS)
    rows = "".join(_row(question, language, own, waves) for question in questions)
    often = "" if waves == 1 else f", in {waves} waves"
    caption = f"<caption style='text-align:left'><b>{html.escape(title)}</b></caption>"
    total = f"<td>{loss(questions, waves).epsilon:.4g}</td>"
    foot = f"<tr><td colspan='4' style='text-align:left'>one respondent in all{often}</td>{total}</tr>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody><tfoot>{foot}</tfoot></table>"


def _row(question: Question, language: str, own: Own | None, waves: int) -> str:
    cost = f"{question.cost(waves).epsilon:.4g}" if question.randomized else "not protected"
    cells = (question.name, text_in(question.text, language), _answers(question, language, own), _sent(question), cost)
    return "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(words)}</td>" for words in cells) + "</tr>"


def _answers(question: Question, language: str, own: Own | None) -> str:
    """The options by their labels, or the bounds of a number."""
    if question.kind in ("choice", "ticks"):
        words = phrases(language, own)
        labels = [question.label(option, language, words) for option in question.options[:_MOST_ANSWERS]]
        more = len(question.options) - len(labels)
        return ", ".join(labels) + (f" and {more} more" if more else "")
    if question.kind == "text":
        return "free text"
    return " to ".join(f"{float(bound):g}" for bound in question.bounds or ())


def _sent(question: Question) -> str:
    """By what randomizer and in which mode; and what else decides whether and how it is asked."""
    name = "" if question.design is None else question.design.name.replace("k_ary", "k-ary").replace("_", " ")
    how = f"{name} design, {question.mode}" if name else "as it is"
    conditions = [
        f"only if {name} is {' or '.join(map(str, options))}" for name, options in (question.show_if or {}).items()
    ]
    anchor = [f"anchor: everybody's answer is {question.anchor}"] if question.anchor is not None else []
    optional = ["optional"] if not question.required and not question.randomized else []
    return "; ".join([how, *conditions, *anchor, *optional])
