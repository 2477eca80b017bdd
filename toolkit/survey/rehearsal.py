"""A scripted crowd for rehearsals and teaching: invented people answer a survey over the network as real
phones do.

Each has a true answer, randomizes it by the same rules as the phone's page, and sends the report to the
server. It is for invented answers only: real ones must not be known to a computer but the respondent's. They
go to a collection that was opened as a rehearsal; what they send carries the hash of the rehearsal, so that
no server takes it for a real report.
"""

import hashlib
import http.client
import json
import re
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from toolkit.core.checks import refuse
from toolkit.core.randomness import check_rng, drawer
from toolkit.survey.question import Question
from toolkit.survey.serving.payload import asked
from toolkit.survey.spec import Survey
from toolkit.survey.writing.survey_fields import PERSON

_AT_ONCE = 8
_PANEL = re.compile(r'"panel":"(\w+)","loss":"?([\w/]+)')


def rehearse(
    survey: Survey, url: str, answers: Any, rng: np.random.Generator, *, links: Sequence[str] | None = None
) -> int:
    """Let invented people answer, one a row of a frame; returns how many reports were acknowledged as stored.

    Parameters
    ----------
    url : the link for respondents of a rehearsal: `collect(survey, rehearsal=True).url`. A real collection is
    refused. answers : a pandas frame with a column of true answers for each question, as labels or numbers,
    and lists of labels for boxes;
        with a column "understood" if the survey has a comprehension check, else everybody passes it. In a
        survey with waves a row is the same person, with the same phone, in each; a column "person" says who
        it is where rows are others.
    links : single-use links, one a person, if the survey needs them (access by token).
    """
    check_rng(rng)
    tried = survey.as_rehearsal()
    people = _people(survey, answers)
    if links is not None and len(links) < len(people):
        refuse("there must be a link for each person", f"{len(links)} for {len(people)}", "each works once")
    tried = _as_served(url, survey, tried)
    tokens = [None if links is None else link.partition("#t=")[2] for link in (links or [""] * len(people))]
    bodies = [
        _body(tried, {PERSON: place, **person}, token, rng)
        for place, (person, token) in enumerate(zip(people, tokens, strict=False))
    ]
    with ThreadPoolExecutor(_AT_ONCE) as phones:
        return sum(
            phones.map(_sent, [url] * _AT_ONCE, [bodies[place::_AT_ONCE] for place in range(_AT_ONCE)])
        )


def _people(survey: Survey, answers: Any) -> list[dict[str, Any]]:
    """The true answers of each person, by question."""
    if not hasattr(answers, "itertuples"):
        refuse(
            "`answers` must be a pandas frame",
            type(answers).__name__,
            "one row a person, one column a question",
            TypeError,
        )
    if missing := [question.name for question in survey.questions if question.name not in answers.columns]:
        received = f"none called {', '.join(missing)} among {', '.join(map(str, answers.columns))}"
        refuse(
            "`answers` must have a column of true answers for each question",
            received,
            "columns go by the questions' names",
        )
    return [
        dict(zip(answers.columns, row, strict=True)) for row in answers.itertuples(index=False, name=None)
    ]


def _as_served(url: str, survey: Survey, tried: Survey) -> Survey:
    """The survey with the panel of its collection; invented people must not even try to get among real
    ones.
    """
    with closing(_line(url)) as line:
        line.request("GET", urlsplit(url).path or "/")
        with line.getresponse() as answer:
            page = answer.read().decode(errors="replace")
    panel = _PANEL.search(page) if survey.waves > 1 else None
    shown: dict[str, Any] = (
        {} if panel is None else {"panel": {"identity": panel.group(1), "loss": panel.group(2)}}
    )
    if (served := replace(tried, **shown)).hash in page:
        return served
    found = (
        "a real collection"
        if replace(survey, rehearsal=False, **shown).hash in page
        else "something else at this address"
    )
    refuse(
        "a rehearsal must have a collection of its own",
        found,
        "open one with collect(survey, rehearsal=True)",
    )


def _body(survey: Survey, person: Mapping[str, Any], token: str | None, rng: np.random.Generator) -> bytes:
    """What one phone sends."""
    answers: dict[str, Any] = {}
    for question in survey.questions:
        answers[question.name] = None
        if asked(survey, question, answers):
            phone = _phone(survey, person[PERSON], question.name)
            answers[question.name] = report(question, person[question.name], rng, phone)
    understood = bool(person.get("understood", True)) if survey.check else None
    sent = {"survey": survey.hash, "key": rng.bytes(16).hex(), "answers": answers, "understood": understood}
    if survey.waves > 1:
        sent[PERSON] = _phone(survey, person[PERSON]).bytes(16).hex()
    return json.dumps(sent if token is None else {**sent, "token": token}).encode()


def _phone(survey: Survey, person: Any, about: str = "") -> np.random.Generator:
    """What an invented phone keeps over waves: the same draws for the same person of a panel, whatever was
    asked before.
    """
    kept = hashlib.sha256(f"{survey.panel and survey.panel.identity}\n{person}\n{about}".encode()).digest()
    return np.random.default_rng(np.frombuffer(kept, dtype=np.uint32))


def report(
    question: Question, answer: Any, rng: np.random.Generator, phone: np.random.Generator | None = None
) -> Any:
    """What one person's phone sends for a true answer, as the page would draw it; a plain answer as it is.

    `phone` draws the memos: the same in each wave. Without it they are drawn as in a first one.
    """
    truth = _truth(question, answer)
    if question.memo is not None:
        return question.memo.send(truth, drawer(rng), drawer(rng if phone is None else phone))
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
    stored = 0
    with closing(_line(url)) as line:
        for body in bodies:
            line.request("POST", f"{urlsplit(url).path}report", body, {"Content-Type": "application/json"})
            with line.getresponse() as answer:
                answer.read()
                stored += answer.status == 201
    return stored


def _line(url: str) -> http.client.HTTPConnection:
    address = urlsplit(url)
    if address.scheme == "https":
        return http.client.HTTPSConnection(address.netloc, context=ssl.create_default_context())
    return http.client.HTTPConnection(address.netloc)
