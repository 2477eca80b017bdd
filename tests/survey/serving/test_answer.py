import asyncio

from toolkit.survey.serving.answer import HEADERS, Response, in_json


def given(answer, scope):
    """What an application sends by the two messages of ASGI."""
    out = []

    async def send(message):
        out.append(message)

    asyncio.run(answer.give(scope, send))
    return out


def test_an_answer_has_each_header_once():
    answer = in_json(201, {"stored": "ab"}, {"retry-after": "3"})
    fields = dict(answer.headers)
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
    assert answer.same(b'{"stored":"cd"}').headers == in_json(201, {"stored": "cd"}).headers


def test_an_answer_without_its_body_states_the_length_that_it_would_have():
    answer = Response(200, b"12345", {})
    assert answer.without_body.body == b""
    assert answer.without_body.headers == answer.headers


def test_after_a_good_bye_the_connection_is_to_be_closed():
    assert (b"connection", b"close") in Response(200, b"", {}).then_close.headers
    assert Response(200, b"12345", {}).without_body.then_close.length == 5


def test_an_answer_is_given_in_two_messages_and_for_head_without_its_body():
    answer = in_json(404, {"error": "No."})
    for scope, body in (({"method": "GET"}, answer.body), ({"method": "HEAD"}, b"")):
        assert given(answer, scope) == [
            {"type": "http.response.start", "status": 404, "headers": answer.headers},
            {"type": "http.response.body", "body": body},
        ]
