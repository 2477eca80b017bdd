import asyncio

from toolkit.survey.serving.answer import HEADERS, WHOLE, Answer, in_json


def given(answer, scope):
    """What an application sends by the two messages of ASGI."""
    out = []

    async def send(message):
        out.append(message)

    asyncio.run(answer.give(scope, send))
    return out


def test_the_lines_of_an_answer_are_its_headers_each_once():
    answer = in_json(201, {"stored": "ab"}, {"retry-after": "3"})
    fields = dict(line.split(b": ", 1) for line in answer.lines.removesuffix(b"\r\n").split(b"\r\n"))
    assert fields == dict(answer.headers)
    assert len(fields) == len(answer.headers) == len(HEADERS) + 3
    assert (fields[b"content-length"], fields[b"content-type"], fields[b"retry-after"]) == (
        b"15",
        b"application/json",
        b"3",
    )
    assert answer.body == b'{"stored":"ab"}'


def test_an_answer_with_another_body_of_the_same_length_is_the_same_otherwise():
    answer = in_json(201, {"stored": "ab"})
    assert answer.same(b'{"stored":"cd"}') == in_json(201, {"stored": "cd"})
    assert answer.same(b'{"stored":"cd"}').lines == in_json(201, {"stored": "cd"}).lines


def test_an_answer_without_its_body_states_the_length_that_it_would_have():
    answer = Answer(200, b"12345", {})
    assert answer.without_body.body == b""
    assert answer.without_body.lines == answer.lines


def test_after_a_good_bye_the_connection_is_to_be_closed():
    assert (b"connection", b"close") in Answer(200, b"", {}).then_close.headers
    assert Answer(200, b"12345", {}).without_body.then_close.length == 5


def test_a_connection_that_takes_answers_whole_gets_it_so_and_any_other_in_two_messages():
    taken, answer = [], in_json(404, {"error": "No."})
    scope = {"extensions": {WHOLE: {"take": lambda one: taken.append(one) or True}}}
    assert given(answer, scope) == []
    assert taken == [answer]
    two = [
        {"type": "http.response.start", "status": 404, "headers": answer.headers},
        {"type": "http.response.body", "body": answer.body},
    ]
    assert given(answer, {}) == two
    assert given(answer, {"extensions": {WHOLE: {"take": lambda _: False}}}) == two
