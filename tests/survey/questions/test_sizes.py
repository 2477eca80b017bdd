"""Survey files from strangers: no number in them makes the reader compute or allocate without limit."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from toolkit.local.catalogue import CATALOGUE, parameter_requirements
from toolkit.survey.questions.files import read
from toolkit.survey.questions.question import Question, accepts, checked_questions, read_questions
from toolkit.survey.questions.question_fields import read_design
from toolkit.survey.questions.survey_fields import checked_languages
from toolkit.survey.rehearsal import _answers_frame
from toolkit.survey.spec import Survey

HUGE = (10**8, 3 * 10**7, 10**18, 10**400, 1e9, 1e308, "1e999999999", "1e-999999999", "1/1" + "0" * 4000, -(10**18))
"""What may stand where a number is expected: none of it is one that a question needs."""

ENOUGH = 2**30  # bytes of address space in addition to the program itself
PATIENCE = 300  # seconds for all cases together; they take a few, even on a slow machine

PROGRAM = """
import json, resource, sys, warnings
from toolkit.survey.spec import Survey

warnings.simplefilter("ignore")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), -1))
for line in sys.stdin:
    data = json.loads(line)
    try:
        Survey.from_dict(data).consent_text()
        told = "accepted"
    except (ValueError, TypeError, KeyError) as problem:
        told = f"refused {type(problem).__name__}: {str(problem)[:300]}"
    except BaseException as problem:
        told = f"broken by {type(problem).__name__}"
    print(json.dumps(told), flush=True)
"""


def with_question(**given: Any) -> dict[str, Any]:
    return {"title": "t", "consent": "c", "ceiling": "inf", "questions": [{"name": "q", "text": "?", **given}]}


def hostile() -> list[dict[str, Any]]:
    """Every argument of every design, of a question and of a survey that takes a number, with huge values."""
    cases: list[dict[str, Any]] = [
        with_question(design={name: {**listed.example, parameter: given}})
        for name, listed in CATALOGUE.items()
        for parameter in parameter_requirements(listed.maker)
        for value in HUGE
        for given in (value, [value, value], [0, value])
    ]
    for value in HUGE:
        noise = {str(value): "1/2", "1": "1/2"}
        cases += [
            with_question(design={kind: {"bounds": [0, 9], "noise": noise}}) for kind in ("additive", "multiplicative")
        ]
        cases += [with_question(bounds=given) for given in ([0, value], [value, value], value)]
        cases += [with_question(options=given) for given in (value, [value, 1])]
        for field in ("cap", "minimum", "step", "waves", "wave", "ceiling", "closes", "languages"):
            cases.append({**with_question(bounds=[0, 1]), field: value})
    return cases


def many() -> list[dict[str, Any]]:
    """Long values that are still short enough to be read."""
    asked = {"text": "?", "bounds": [0, 1]}
    cards = {str(value): "1/20000" for value in range(20_000)}
    few = {str(value): "1/900" for value in range(900)}
    rows = [["1/600"] * 600] * 600
    return [
        {**with_question(), "questions": [{"name": f"q{place}", **asked} for place in range(50_000)]},
        {**with_question(bounds=[0, 1]), "languages": [f"de-{place:04}" for place in range(5000)]},
        with_question(options=[f"o{place}" for place in range(200_000)]),
        with_question(design={"k_ary": {"options": [f"o{place}" for place in range(200_000)], "epsilon": 1}}),
        with_question(design={"best": {"options": [f"o{place}" for place in range(200_000)], "epsilon": 1}}),
        with_question(design={"additive": {"bounds": [0, 60_000], "noise": cards}}),
        with_question(design={"additive": {"bounds": [0, 60_000], "noise": few}}),
        with_question(design={"matrix": {"matrix": rows, "options": [f"o{place}" for place in range(600)]}}),
    ]


FREE = Question("said", "Say?", free_text=True)


def of_cells(count: int) -> object:
    """A matrix with this many probabilities, whose rows have different lengths, is rejected anyway, for another
    reason.
    """
    return read_design({"matrix": {"matrix": [["1"] * (count - 5000), ["1"] * 5000, []], "options": ["a", "b", "c"]}})


def of_bytes(folder: Path, count: int) -> object:
    file = folder / "survey.json"
    file.write_text('{"a":"' + "x" * (count - 8) + '"}')
    return read(file)


def of_digits(folder: Path, count: int) -> object:
    file = folder / "survey.json"
    file.write_text('{"a":' + "9" * count + "}")
    return read(file)


def of_parts(folder: Path, count: int) -> object:
    file = folder / "survey.toml"
    file.write_text(".".join("a" * count) + " = 1")
    return read(file)


SPEAKING = SimpleNamespace(languages=("en",))
LIMITS: dict[str, tuple[Callable[[Path, int], object], int, str]] = {
    "questions": (
        lambda _, size: checked_questions([FREE] * size, "questions", SPEAKING),
        1000,
        "`questions` must be at most 1,000",
    ),
    "tables of questions": (lambda _, size: read_questions([{}] * size), 1000, "`questions` must be at most 1,000"),
    "languages": (
        lambda _, size: checked_languages([f"de-{place:04}" for place in range(size)], "languages", None),
        100,
        "`languages` must be at most 100",
    ),
    "people": (
        lambda _, size: _answers_frame(Survey("T", [FREE], consent="C"), size, np.random.default_rng()),
        100_000,
        "`answers` must be at most 100,000",
    ),
    "probabilities": (lambda _, size: of_cells(size), 10_000, "must have at most 10,000 probabilities"),
    "bytes": (of_bytes, 2_000_000, "must have at most 2,000,000 bytes"),
    "digits": (of_digits, 4000, "a whole number is too long"),
    "parts of a key": (of_parts, 20, "a key must have at most 20 parts"),
}


@pytest.mark.parametrize(("call", "most", "message"), LIMITS.values(), ids=LIMITS)
def test_a_limit_is_where_it_is_said_to_be(
    call: Callable[[Path, int], object], most: int, message: str, tmp_path: Path
) -> None:
    said = []
    for size in (most, most + 1):
        try:
            said.append(str(call(tmp_path, size))[:100])
        except ValueError as problem:
            said.append(str(problem))
    assert [message in one for one in said] == [False, True]


def test_words_of_ones_own_are_as_long_as_is_said() -> None:
    assert [accepts(FREE, "x" * size) for size in (2000, 2001)] == [True, False]


@pytest.mark.slow
def test_no_number_in_a_file_exhausts_time_or_memory() -> None:
    """Numbers in a survey file are limited before they are parsed."""
    cases = [*hostile(), *many()]
    lines = "\n".join(map(json.dumps, cases))
    done = subprocess.run(  # our own program
        [sys.executable, "-c", PROGRAM, str(ENOUGH)],
        input=lines, capture_output=True, text=True, timeout=PATIENCE, cwd=Path(__file__).parents[3],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip
    told = list(map(json.loads, done.stdout.splitlines()))
    assert len(told) == len(cases), (done.stderr[-2000:], cases[len(told)])
    assert [one for one in zip(told, cases, strict=True) if one[0].startswith("broken")] == []
    assert told.count("accepted") < len(cases) / 5
