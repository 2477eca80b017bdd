"""A scripted crowd for rehearsals and teaching: invented people answer a survey over the network as real phones do.

Each has a true answer, randomizes it by the same rules as the phone's page, and sends the report to the server. It is for
invented answers only: real ones must not be known to a computer but the respondent's.
"""

import http.client
import json
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from toolkit.core.checks import refuse
from toolkit.core.randomness import check_rng, drawer
from toolkit.survey.question import Question
from toolkit.survey.serving.payload import asked
from toolkit.survey.spec import Survey

_AT_ONCE = 8


def rehearse(survey: Survey, url: str, answers: Any, rng: np.random.Generator, *, links: Sequence[str] | None = None) -> int:
    """Let invented people answer, one a row of a frame; returns how many reports were acknowledged as stored.

    Parameters
    ----------
    url : the link for respondents.
    answers : a frame with a column of true answers for each question, as labels or numbers, and lists of labels for boxes;
        with a column "understood" if the survey has a comprehension check, else everybody passes it.
    links : single-use links, one a person, if the survey needs them (access by token).
    """
    check_rng(rng)
    people = [dict(zip(answers.columns, row, strict=True)) for row in answers.itertuples(index=False, name=None)]
    if links is not None and len(links) < len(people):
        refuse("there must be a link for each person", f"{len(links)} for {len(people)}", "each works once")
    tokens = [None if links is None else link.partition("#t=")[2] for link in (links or [""] * len(people))]
    bodies = [_body(survey, person, token, rng) for person, token in zip(people, tokens, strict=False)]
    with ThreadPoolExecutor(_AT_ONCE) as phones:
        return sum(phones.map(_sent, [url] * _AT_ONCE, [bodies[place::_AT_ONCE] for place in range(_AT_ONCE)]))


def _body(survey: Survey, person: Mapping[str, Any], token: str | None, rng: np.random.Generator) -> bytes:
    """What one phone sends."""
    answers: dict[str, Any] = {}
    for question in survey.questions:
        answers[question.name] = None
        if asked(survey, question, answers):
            answers[question.name] = report(question, person[question.name], rng)
    understood = bool(person.get("understood", True)) if survey.check else None
    sent = {"survey": survey.hash, "key": rng.bytes(16).hex(), "answers": answers, "understood": understood}
    return json.dumps(sent if token is None else {**sent, "token": token}).encode()


def report(question: Question, answer: Any, rng: np.random.Generator) -> Any:
    """What one person's phone sends for a true answer, as the page would draw it; a plain answer as it is."""
    truth = _truth(question, answer)
    return truth if question.design is None else question.design.report(truth, drawer(rng))


def _truth(question: Question, answer: Any) -> Any:
    """An answer as a code, a list of codes, a point of the grid, or itself."""
    if question.kind == "choice":
        return _code(question, answer)
    if question.kind == "ticks":
        return sorted(_code(question, one) for one in answer)
    if question.design is not None:
        places, _ = question.design.grid.index([answer])  # type: ignore[attr-defined]  # all that ask for numbers have one
        return int(places[0])
    return answer.item() if hasattr(answer, "item") else answer


def _code(question: Question, answer: Any) -> int:
    names = [str(option) for option in question.options]
    if str(answer) not in names:
        refuse(f"an answer to {question.name} must be one of its options", "another", "nobody could tap it")
    return names.index(str(answer))


def _sent(url: str, bodies: Sequence[bytes]) -> int:
    """Send one after the other on one connection; how many were acknowledged."""
    address = urlsplit(url)
    if address.scheme == "https":
        line: http.client.HTTPConnection = http.client.HTTPSConnection(address.netloc, context=ssl.create_default_context())
    else:
        line = http.client.HTTPConnection(address.netloc)
    stored = 0
    for body in bodies:
        line.request("POST", f"{address.path}report", body, {"Content-Type": "application/json"})
        with line.getresponse() as answer:
            answer.read()
            stored += answer.status == 201
    line.close()
    return stored
