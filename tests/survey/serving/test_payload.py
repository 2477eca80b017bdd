"""Submissions from strangers: those that an honest phone sends are accepted; all others are rejected with a message
that reveals nothing about them.
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.survey.samples import DESIGNS, KEY, cheated, faculty, panel, submission, survey, survey_with
from toolkit import mangat
from toolkit.survey.questions.question import LONGEST_ANSWER, Question, accepts
from toolkit.survey.serving.blind import Issuer
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.page import page_content
from toolkit.survey.serving.payload import (
    BlindToken,
    OtherSurveyError,
    PayloadError,
    Submission,
    padded_length,
    parse_json,
    parse_submission,
)
from toolkit.survey.spec import Survey, is_asked

CAMPUS = Survey.load(Path(__file__).parents[3] / "data" / "campus.toml")
HONEST: dict[str, Any] = {
    "faculty": 0,
    "year": 3,
    "cheated": 1,
    "pressure": 5,
    "helpers": [3, 1],
    "hours": 0,
    "paid": 1,
    "moon": 0,
    "comment": "Good luck! 😀\n",
}
MARK = "xyzzy-4711"
TOKEN = "A" * 22
BLIND = {"nonce": "0a" * 32, "signature": "ff" * 256}


def refused(survey: Survey, raw: bytes) -> str:
    error = _error(survey, raw)
    assert error.__cause__ is None
    assert error.__context__ is None  # another error would contain the body
    return str(error)


def answers(**changes: Any) -> dict[str, Any]:
    return {**HONEST, **changes}


def test_an_honest_submission_is_taken_in_one_spelling() -> None:
    taken = parse_submission(CAMPUS, submission(CAMPUS, HONEST))
    assert taken == Submission(bytes.fromhex(KEY), taken.body, None)
    assert taken.body == (
        '{"answers":{"faculty":0,"year":3,"cheated":1,"pressure":5,"helpers":[3,1],"hours":0,"paid":1,"moon":0,'
        '"comment":"Good luck! 😀\\n"},"understood":true}'
    )


def test_spaces_escapes_and_the_order_of_the_outer_fields_do_not_matter() -> None:
    data = json.loads(submission(CAMPUS, HONEST))
    spelled = json.dumps(dict(reversed(data.items())), indent=3, ensure_ascii=False).encode()
    assert parse_submission(CAMPUS, spelled) == parse_submission(CAMPUS, submission(CAMPUS, HONEST))


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_reports_of_every_design_are_taken_as_its_accepts_says(design: Any) -> None:
    made = survey_with(design)
    for value in (0, 1, 2, 99, -1, [], [0], [0, 1], [1, 0], [0, 1, 2], [0, 0, 0, 0, 0, 0, 0, 0]):
        raw = submission(made, {"asked": value})
        if design._accepts(value):
            assert json.loads(parse_submission(made, raw).body)["answers"] == {"asked": value}
        else:
            assert refused(made, raw) == "The question asked has no such answer."


WRONG_ANSWERS: dict[str, Any] = {
    "a truth value for a code": answers(cheated=True),
    "a float for a code": answers(cheated=1.0),
    "a string for a code": answers(cheated="1"),
    "a code out of range": answers(cheated=2),
    "a negative code": answers(cheated=-1),
    "a list for a code": answers(cheated=[1]),
    "nothing for a randomized question": answers(cheated=None),
    "nothing for a required plain question": answers(faculty=None),
    "a box out of range": answers(helpers=[4, 1]),
    "a longer list": answers(helpers=[3, 1, 0]),
    "a truth value in a list": answers(helpers=[3, True]),
    "a report for another number": answers(hours=2),
    "text that is too long": answers(comment="x" * 2001),
    "a control character": answers(comment="\x00"),
    "half of a character": answers(comment="\ud83d"),
    "a question too many": answers(more=1),
    "a question too few": {name: value for name, value in HONEST.items() if name != "moon"},
    "another order": dict(reversed(HONEST.items())),
    "a list of answers": list(HONEST.values()),
    "no answers": None,
}


@pytest.mark.parametrize("wrong", WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_wrong_answers_are_refused(wrong: Any) -> None:
    assert refused(CAMPUS, submission(CAMPUS, wrong)).startswith(
        ("The question ", "`answers` must contain every question")
    )


WRONG_FRAMES: dict[str, dict[str, Any]] = {
    "an unknown field": {"time": 1},
    "a token where none is asked for": {"token": TOKEN},
    "a short key": {"key": KEY[:-1]},
    "a key in capitals": {"key": KEY.upper()},
    "a key with a line break": {"key": f"{KEY[:-1]}\n"},
    "a key of other digits": {"key": "٠" * 32},
    "a key that is no string": {"key": 17},
    "no word on the check": {"understood": None},
    "a number for the check": {"understood": 1},
    "a string for the check": {"understood": "true"},
}


def test_a_whole_number_has_at_most_seventeen_digits() -> None:
    assert parse_json(b"[12345678901234567, -12345678901234567]") == [12345678901234567, -12345678901234567]
    for number in ("123456789012345678", "-123456789012345678", "9" * 400):
        with pytest.raises(PayloadError, match="infinities or very long numbers"):
            parse_json(f"[{number}]".encode())


@pytest.mark.parametrize("changes", WRONG_FRAMES.values(), ids=WRONG_FRAMES)
def test_wrong_frames_are_refused(changes: dict[str, Any]) -> None:
    assert not isinstance(_error(CAMPUS, submission(CAMPUS, HONEST, **changes)), OtherSurveyError)


@pytest.mark.parametrize("field", ["survey", "key", "answers", "understood"])
def test_no_field_may_be_missing(field: str) -> None:
    data = json.loads(submission(CAMPUS, HONEST))
    del data[field]
    assert (
        refused(CAMPUS, json.dumps(data).encode())
        == "A submission must have exactly the fields survey, key, answers, understood."
    )


@pytest.mark.parametrize("other", ["0" * 64, "", CAMPUS.hash.upper(), None, 3, [CAMPUS.hash]])
def test_another_survey_is_told_apart(other: Any) -> None:
    assert isinstance(_error(CAMPUS, submission(CAMPUS, HONEST, survey=other)), OtherSurveyError)


def _error(survey: Survey, raw: bytes) -> PayloadError:
    with pytest.raises(PayloadError) as caught:
        parse_submission(survey, raw)
    return caught.value


@pytest.mark.parametrize(
    "raw", [b"", b"null", b"[]", b"3", b'"a"', b"{}", b"\xff", b"[" * 65_536, b'{"a":' * 10_000, b"9" * 65_536]
)
def test_other_json_and_no_json_are_refused(raw: bytes) -> None:
    refused(CAMPUS, raw)


@pytest.mark.parametrize(
    ("honest", "strange"),
    [
        (b'"cheated": 1', b'"cheated": 1e0'),
        (b'"cheated": 1', b'"cheated": -0'),
        (b'"cheated": 1', b'"cheated": 01'),
        (b'"cheated": 1', b'"cheated": NaN'),
        (b'"cheated": 1', b'"cheated": 1, "cheated": 0'),
        (b'"cheated": 1', b'"cheated": 1, "che\\u0061ted": 1'),
        (b'"cheated": 1', b'"cheated": ' + b"1" * 5000),
        (b'"cheated": 1', b'"cheated": ' + b"[" * 5000 + b"]" * 5000),
        (b'"key":', b'"key": "", "key":'),
    ],
)
def test_strange_spellings_are_refused(honest: bytes, strange: bytes) -> None:
    raw = submission(CAMPUS, HONEST)
    assert honest in raw
    refused(CAMPUS, raw.replace(honest, strange))


def test_hidden_questions_are_null_and_shown_ones_are_not() -> None:
    made = survey(faculty(), cheated(show_if={"faculty": ["law"]}))
    assert parse_submission(made, submission(made, {"faculty": 1, "cheated": 0}))
    assert parse_submission(made, submission(made, {"faculty": 0, "cheated": None}))
    assert "must be null" in refused(made, submission(made, {"faculty": 0, "cheated": 0}))
    assert "must be answered" in refused(made, submission(made, {"faculty": 1, "cheated": None}))


def test_all_conditions_of_a_question_must_hold() -> None:
    """A question is hidden if the question that it depends on is hidden or left out."""
    law = {"faculty": ["law"]}
    course = Question("course", "Which course?", options=["a", "b"], show_if=law, required=False)
    both = Question("both", "Both?", options=["x", "y"], show_if={**law, "course": ["b"]})
    made = survey(faculty(), course, both)
    good = [(1, 1, 0), (1, 0, None), (1, None, None), (0, None, None)]
    for values in good:
        assert parse_submission(made, submission(made, dict(zip(("faculty", "course", "both"), values, strict=True))))
    for values in [(1, 1, None), (1, 0, 0), (1, None, 0), (0, None, 0), (0, 1, 0)]:
        refused(made, submission(made, dict(zip(("faculty", "course", "both"), values, strict=True))))
    assert is_asked(made, made["both"], {"faculty": 1, "course": 1})


def test_a_wrong_answer_before_a_condition_is_refused_and_breaks_nothing() -> None:
    made = survey(faculty(), cheated(show_if={"faculty": ["law"]}))
    for value in (7, -1, True, "law", [1], {"a": 1}, 1.0):
        refused(made, submission(made, {"faculty": value, "cheated": 0}))


def test_without_a_check_the_result_is_null() -> None:
    made = survey(cheated(), check=False)
    assert (
        parse_submission(made, submission(made, {"cheated": 0})).body == '{"answers":{"cheated":0},"understood":null}'
    )
    assert "must be null" in refused(made, submission(made, {"cheated": 0}, understood=True))
    proof = survey(cheated(design=mangat("1/2")), check=False, ceiling=math.inf)
    assert parse_submission(proof, submission(proof, {"cheated": 0}))


def test_tokens_are_as_the_mode_of_access_wants_them() -> None:
    once, blind = survey(cheated(), access="token"), survey(cheated(), access="blind")
    assert parse_submission(once, submission(once, {"cheated": 0}, token=TOKEN)).token == TOKEN
    assert parse_submission(blind, submission(blind, {"cheated": 0}, token=BLIND)).token == BlindToken(
        b"\x0a" * 32, b"\xff" * 256
    )
    for token in (None, "", TOKEN[1:], TOKEN + "A", "A" * 21 + "=", "A" * 21 + "\n", "A" * 21 + "é", 3, BLIND, [TOKEN]):
        assert "The token must" in refused(once, submission(once, {"cheated": 0}, token=token))
    strange = (
        {},
        {**BLIND, "x": 1},
        {"nonce": BLIND["nonce"]},
        {**BLIND, "nonce": "0a" * 31},
        {**BLIND, "signature": "FF" * 256},
    )
    for token in (None, TOKEN, [BLIND], *strange, {**BLIND, "signature": "f" * 513}, {**BLIND, "nonce": 3}):
        assert "The token" in refused(blind, submission(blind, {"cheated": 0}, token=token))
    for made in (once, blind):
        assert "exactly the fields" in refused(made, submission(made, {"cheated": 0}))


def test_the_body_says_nothing_of_key_or_token() -> None:
    made = survey(cheated(), access="token")
    body = parse_submission(made, submission(made, {"cheated": 0}, token=TOKEN)).body
    assert KEY not in body
    assert TOKEN not in body
    assert made.hash not in body


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(MARK),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3) | st.just(MARK), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@given(name=st.sampled_from([*HONEST]), value=PLAIN)
def test_any_value_is_accepted_or_refused_without_quoting(name: str, value: Any) -> None:
    """Every value is tried at every position of a submission."""
    raw = submission(CAMPUS, answers(**{name: value}))
    if accepts(CAMPUS[name], value) or (name == "comment" and value is None):
        kept = json.loads(parse_submission(CAMPUS, raw).body)["answers"]
        assert kept == answers(**{name: value})
        assert type(kept[name]) is type(value)
    else:
        assert MARK not in refused(CAMPUS, raw)


@pytest.mark.slow
@given(field=st.sampled_from(["survey", "key", "answers", "understood", "token", MARK]), value=PLAIN)
def test_any_frame_is_taken_or_refused_without_a_word_about_it(field: str, value: Any) -> None:
    raw = submission(CAMPUS, HONEST, **{field: value})
    if field == "understood" and type(value) is bool:
        assert json.loads(parse_submission(CAMPUS, raw).body)["understood"] is value
    else:
        assert MARK not in refused(CAMPUS, raw)


PERSON = "0123456789abcdef" * 2


def test_submissions_of_a_panel_have_the_joining_number() -> None:
    """The submission is stored."""
    made = panel()
    body = parse_submission(made, submission(made, {"cheated": 1, "faculty": 0}, person=PERSON)).body
    assert json.loads(body) == {"answers": {"cheated": 1, "faculty": 0}, "understood": True, "person": PERSON}


@pytest.mark.parametrize("person", [None, 7, "", PERSON[:-1], PERSON + "0", PERSON.upper(), [PERSON], "x" * 32])
def test_another_number_is_refused_in_words_that_do_not_quote_it(person: Any) -> None:
    made = panel()
    told = refused(made, submission(made, {"cheated": 1, "faculty": 0}, person=person))
    assert told == "The number that links waves must be 32 hexadecimal digits."


def test_it_must_be_there_in_a_panel_and_must_not_be_there_elsewhere() -> None:
    for made, more, fields in (
        (panel(), {}, "survey, key, answers, understood, person"),
        (panel(access="token"), {"token": TOKEN}, "survey, key, answers, understood, token, person"),
        (survey(cheated()), {"person": PERSON}, "survey, key, answers, understood"),
    ):
        assert refused(made, submission(made, {"cheated": 1}, **more)) == (
            f"A submission must have exactly the fields {fields}."
        )


@pytest.mark.parametrize(("access", "token"), [("open", None), ("token", TOKEN), ("blind", BLIND)])
def test_no_report_of_a_phone_is_longer_than_what_all_are_filled_up_to(access, token):
    """The longest submission that people can write, in characters of four bytes, with a ticket of either size; spaces
    are accepted.
    """
    words = Question("words", "Words?", free_text=True, warning="None.")
    for size in (256, 512):
        of = survey(words, access=access, check=False)
        signed = {"nonce": "0a" * 32, "signature": "ff" * size} if access == "blind" else token
        sent = {"survey": of.hash, "key": KEY, "answers": {"words": "\U0001f512" * (LONGEST_ANSWER // 2)}}
        sent |= {"understood": None, **({} if token is None else {"token": signed})}
        issuer = Issuer(2 ** (8 * size) - 1, 65537) if access == "blind" else None
        full = page_content(of, issuer)["length"]
        raw = json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode()
        assert len(raw) <= full == padded_length(of, size if access == "blind" else 0)
        assert parse_submission(of, raw.ljust(full)).body == parse_submission(of, raw).body


@pytest.mark.slow
def test_the_server_accepts_the_padded_length():
    """This holds for surveys of any length."""
    texts = [Question(f"words{number}", "Words?", free_text=True, warning="None.") for number in range(6)]
    short = [Question(f"q{number}", "Which?", options=["a", "b"]) for number in range(250)]
    of = Survey("Long", [*texts, *short], consent="Why.")
    assert padded_length(of) > page_content(of)["length"] == Limits.body_bytes
