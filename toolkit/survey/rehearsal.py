"""Simulated respondents for rehearsals and teaching, who answer a survey over the network as real phones do.

Each simulated person has a true answer, randomizes it by the same rules as the phone's page, and sends the report to
the server. Use invented answers only, because real answers must never leave the respondent's own device. The reports
are sent to a collection that was opened as a rehearsal. They contain the hash of the rehearsal, so that no server
mistakes them for real reports.
"""

import hashlib
import http.client
import json
import math
import re
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from toolkit.core.checks import check_integer, reject
from toolkit.core.extras import extra
from toolkit.core.randomness import check_rng, integer_drawer
from toolkit.survey.questions.question import Question, accepts
from toolkit.survey.questions.survey_fields import PERSON
from toolkit.survey.results.table import reports_table
from toolkit.survey.spec import REHEARSAL_REMARK, Survey, is_asked

if TYPE_CHECKING:
    import pandas as pd

_N_PHONES = 8  # concurrent connections
_PANEL = re.compile(r'"panel":"(\w+)","loss":"?([\w/]+)')
_MAX_PEOPLE = 100_000
_SURVEY_EXAMPLE = (
    "rehearse(collect(survey, rehearsal=True), 100), or survey.simulate(100) for a frame without a server; for a "
    "survey that is served elsewhere rehearse(survey, url, 100)"
)


def rehearse(
    collector: object, *answers: object, rng: np.random.Generator | None = None, links: Sequence[str] | None = None
) -> int:
    """Send reports of invented people to a rehearsal over the network, as phones do.

    Parameters
    ----------
    collector : Collector or Survey
        A rehearsal made by `collect(survey, rehearsal=True)`; real collections are rejected. For a rehearsal that is
        served elsewhere, pass its survey followed by its address.
    *answers : int, pandas.DataFrame, mapping or sequence
        The number of people, who then answer at random, or the true answers: a frame with a column per question, a
        mapping from question to answers, or, for a single question, a list. Answers are labels or numbers, or lists of
        labels for questions with several answers. A column "understood" contains the results of the comprehension
        check; without this column everybody passes the check. In a survey with waves, row i belongs to the same person
        and phone in each wave; if the order of the rows changes, a column "person" must identify the people. The
        generator `rng` may be given as the last positional argument.
    rng : numpy.random.Generator, optional
        A generator for simulations; the default is the operating system's randomness.
    links : sequence of str, optional
        Single-use links, one per person, if the survey needs them; with a collector they are made automatically.

    Returns
    -------
    int
        The number of reports that the server acknowledged as stored.

    Examples
    --------
    With an open collection::

        rehearse(collector, 200)  # 200
        rehearse(survey, "https://survey.example/", {"smokes": ["yes", "no"]})  # 2
    """
    survey, url, rest = _parse_arguments(collector, answers)
    generator = rest[1] if len(rest) > 1 else rng
    generator = np.random.default_rng() if generator is None else generator
    check_rng(generator)
    people = _read_people(survey, rest[0], generator)
    if links is None and survey.access == "token" and hasattr(collector, "invitations"):
        links = collector.invitations(len(people))
    if links is not None and len(links) < len(people):
        reject("there must be a link for each person", f"{len(links)} for {len(people)}", "each works once")
    rehearsed = _as_served(url, survey, replace(survey, rehearsal=True))
    tokens = [None if links is None else link.partition("#t=")[2] for link in (links or [""] * len(people))]
    bodies = [
        json.dumps(_simulated_message(rehearsed, person, token, generator)).encode()
        for person, token in zip(people, tokens, strict=False)
    ]
    with ThreadPoolExecutor(_N_PHONES) as phones:
        return sum(phones.map(_post_all, [url] * _N_PHONES, [bodies[index::_N_PHONES] for index in range(_N_PHONES)]))


def simulate(survey: Survey, answers: object, rng: np.random.Generator | None = None) -> "pd.DataFrame":
    """Return reports of invented people as a frame, like those of a rehearsal's collection; see `Survey.simulate`."""
    generator = np.random.default_rng() if rng is None else rng
    check_rng(generator)
    rehearsed = replace(survey, rehearsal=True)
    messages = [
        _simulated_message(rehearsed, person, None, generator) for person in _read_people(survey, answers, generator)
    ]
    for message in messages:
        _check_answers(rehearsed, message["answers"])
    bodies = [json.dumps(message) for message in sorted(messages, key=lambda message: str(message["key"]))]
    frame = reports_table(rehearsed, bodies)
    frame.attrs["remarks"] = [REHEARSAL_REMARK]
    return frame


def _check_answers(survey: Survey, answers: Mapping[str, Any]) -> None:
    """Reject plain answers that no phone would send; randomized reports are valid by construction."""
    for question in survey.questions:
        value = answers[question.name]
        if value is not None and not accepts(question, value):
            rule = f"an answer to {question.name} must be one that a phone would send"
            reject(rule, "a different answer", "check the question's bounds, and whether numbers must be whole")


def _parse_arguments(collector: Any, arguments: Sequence[Any]) -> tuple[Survey, str, Sequence[Any]]:
    """Return the survey, the address of its rehearsal, and the remaining arguments."""
    if isinstance(collector, Survey):
        example, max_further, rest = _SURVEY_EXAMPLE, 3, arguments[1:]
        is_valid = bool(arguments) and isinstance(arguments[0], str)
    else:
        example, max_further, rest = "rehearse(collector, 200), or rehearse(collector, answers, rng)", 2, arguments
        is_valid = isinstance(getattr(collector, "survey", None), Survey)
    if not is_valid or not 1 <= len(rest) <= 2:
        rule = f"`rehearse` takes a collection that was opened as a rehearsal, and up to {max_further} more arguments"
        reject(rule, f"{type(collector).__name__} and {len(arguments)} more", f"write {example}", TypeError)
    if isinstance(collector, Survey):
        return collector, arguments[0], rest
    return collector.survey, collector.url, rest


def _answers_frame(survey: Survey, answers: Any, rng: np.random.Generator) -> Any:
    """Return true answers as a frame, from a frame, a mapping, a list for a single question, or a number of people."""
    if hasattr(answers, "itertuples"):
        return answers
    if isinstance(answers, int | np.integer) and not isinstance(answers, bool):
        count = check_integer(answers, "answers", maximum=_MAX_PEOPLE)
        answers = {question.name: _draw_answers(question, count, rng) for question in survey.questions}
    elif not isinstance(answers, Mapping) and len(survey.questions) == 1 and np.ndim(answers) > 0:
        answers = {survey.questions[0].name: list(answers)}
    if not isinstance(answers, Mapping):
        rule = "`answers` must be a number of people, or their true answers"
        reject(rule, type(answers).__name__, "one row per person, one column per question", TypeError)
    return extra("pandas", "collect").DataFrame(dict(answers))


def _draw_answers(question: Question, n_people: int, rng: np.random.Generator) -> list[Any]:
    """Draw random answers: options are equally likely, anchors are always answered correctly, and texts are empty."""
    if question.kind == "choice":
        codes = rng.integers(len(question.options), size=n_people)
        return [question.options[code] if question.anchor is None else question.anchor for code in codes]
    if question.kind == "ticks":
        max_ticks = getattr(question.design, "most", None) or len(question.options)
        sizes = rng.integers(min(max_ticks, len(question.options)) + 1, size=n_people)
        return [list(rng.permutation(np.array(question.options, dtype=object))[:size]) for size in sizes]
    if question.bounds is not None:
        low, high = question.bounds
        return [int(number) for number in rng.integers(math.ceil(low), math.floor(high) + 1, size=n_people)]
    return [""] * n_people


def _read_people(survey: Survey, answers: Any, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return the true answers of each person by question, with the person's identity."""
    answers = _answers_frame(survey, answers, rng)
    if missing := [question.name for question in survey.questions if question.name not in answers.columns]:
        rule = "`answers` must have a column of true answers for each question"
        received = f"none called {', '.join(missing)} among {', '.join(map(str, answers.columns))}"
        reject(rule, received, "columns must have the questions' names")
    rows = answers.itertuples(index=False, name=None)
    return [{PERSON: row_number, **dict(zip(answers.columns, row, strict=True))} for row_number, row in enumerate(rows)]


def _as_served(url: str, survey: Survey, rehearsed: Survey) -> Survey:
    """Return the survey with the panel of its collection; reject a real collection."""
    with closing(_http_connection(url)) as connection:
        connection.request("GET", urlsplit(url).path or "/")
        with connection.getresponse() as response:
            page = response.read().decode(errors="replace")
    panel = _PANEL.search(page) if survey.waves > 1 else None
    fields: dict[str, Any] = {} if panel is None else {"panel": {"identity": panel[1], "loss": panel[2]}}
    if (served := replace(rehearsed, **fields)).hash in page:
        return served
    is_real = replace(survey, rehearsal=False, **fields).hash in page
    received = "a real collection" if is_real else "something else at this address"
    reject("a rehearsal needs a separate collection", received, "open one with collect(survey, rehearsal=True)")


def _simulated_message(
    survey: Survey, person: Mapping[str, Any], token: str | None, rng: np.random.Generator
) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for question in survey.questions:
        answers[question.name] = None
        if is_asked(survey, question, answers):
            memo_rng = None if question.memo is None else _phone_generator(survey, person[PERSON], question.name)
            answers[question.name] = (
                report(question, person[question.name], rng, memo_rng)
                if question.draw_probabilities is None
                else _draw_arm(question, rng)
            )
    understood = None if not survey.check else _CHECK_RESULT_TYPES[survey.check](person.get("understood", True))
    message = {"survey": survey.hash, "key": rng.bytes(16).hex(), "answers": answers, "understood": understood}
    if survey.waves > 1:
        message[PERSON] = _phone_generator(survey, person[PERSON]).bytes(16).hex()
    return message if token is None else {**message, "token": token}


_CHECK_RESULT_TYPES: dict[bool | str, type] = {True: bool, "device": int}


def _draw_arm(question: Question, rng: np.random.Generator) -> int:
    """Draw the arm of a person, as a phone does."""
    assert question.draw_probabilities is not None
    return int(rng.choice(len(question.options), p=[float(share) for share in question.draw_probabilities]))


def _phone_generator(survey: Survey, person: object, purpose: str = "") -> np.random.Generator:
    """Return the generator of an invented phone's stored draws, which is the same in every wave for the same person."""
    seed = hashlib.sha256(f"{survey.panel and survey.panel.identity}\n{person}\n{purpose}".encode()).digest()
    return np.random.default_rng(np.frombuffer(seed, dtype=np.uint32))


def report(
    question: Question, answer: object, rng: np.random.Generator, memo_rng: np.random.Generator | None = None
) -> Any:
    """Return what a person's phone sends for a true answer: a randomized report, or a plain answer unchanged.

    `memo_rng` draws the memos, which are the same in each wave. Without `memo_rng` they are drawn as in a first wave.
    """
    truth = _encode_truth(question, answer)
    if question.memo is not None:
        return question.memo._draw_report(
            truth, integer_drawer(rng), integer_drawer(rng if memo_rng is None else memo_rng)
        )
    return truth if question.design is None else question.design._draw_report(truth, integer_drawer(rng))


def _encode_truth(question: Question, answer: Any) -> Any:
    """Convert an answer to a code, a list of codes, or a grid point; return other answers unchanged."""
    if question.kind == "choice":
        return _option_code(question, answer)
    if question.kind == "ticks":
        return sorted(_option_code(question, option) for option in answer)
    if question.design is not None:
        points, _ = question.design._grid.nearest_indices([answer])  # type: ignore[attr-defined]  # every numeric design has a grid
        return int(points[0])
    return answer.item() if hasattr(answer, "item") else answer


def _option_code(question: Question, answer: object) -> int:
    names = [str(option) for option in question.options]
    if str(answer) not in names:
        reject(f"an answer to {question.name} must be one of its options", "another answer", "nobody could tap it")
    return names.index(str(answer))


def _post_all(url: str, bodies: Sequence[bytes]) -> int:
    """Send reports one after the other on one connection; return how many were acknowledged."""
    stored, path = 0, f"{urlsplit(url).path.rstrip('/')}/report"
    with closing(_http_connection(url)) as connection:
        for body in bodies:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            with connection.getresponse() as response:
                response.read()
                stored += response.status == 201
    return stored


def _http_connection(url: str) -> http.client.HTTPConnection:
    address = urlsplit(url)
    if address.scheme == "https":
        return http.client.HTTPSConnection(address.netloc, context=ssl.create_default_context())
    return http.client.HTTPConnection(address.netloc)
