import asyncio

from toolkit.survey.serving.response import HEADERS, Response, json_response


def sent_messages(answer, scope):
    """Return what an application sends with the two messages of ASGI."""
    out = []

    async def send(message):
        out.append(message)

    asyncio.run(answer.send(scope, send))
    return out


def test_an_answer_has_each_header_once():
    answer = json_response(201, {"stored": "ab"}, {"retry-after": "3"})
    fields = dict(answer.raw_headers)
    assert len(fields) == len(answer.raw_headers) == len(HEADERS) + 3
    assert (fields[b"content-length"], fields[b"content-type"], fields[b"retry-after"]) == (
        b"15",
        b"application/json",
        b"3",
    )
    assert answer.body == b'{"stored":"ab"}'


def test_with_body_changes_only_the_body():
    """The other body has the same length."""
    answer = json_response(201, {"stored": "ab"})
    assert answer.with_body(b'{"stored":"cd"}') == json_response(201, {"stored": "cd"})
    assert answer.with_body(b'{"stored":"cd"}').raw_headers == json_response(201, {"stored": "cd"}).raw_headers


def test_an_answer_without_its_body_states_the_length_that_it_would_have():
    answer = Response(200, b"12345", {})
    assert answer.without_body.body == b""
    assert answer.without_body.raw_headers == answer.raw_headers


def test_after_a_good_bye_the_connection_is_to_be_closed():
    assert (b"connection", b"close") in Response(200, b"", {}).with_close.raw_headers
    assert Response(200, b"12345", {}).without_body.with_close.content_length == 5


def test_an_answer_is_given_in_two_messages_and_for_head_without_its_body():
    answer = json_response(404, {"error": "No."})
    for scope, body in (({"method": "GET"}, answer.body), ({"method": "HEAD"}, b"")):
        assert sent_messages(answer, scope) == [
            {"type": "http.response.start", "status": 404, "headers": answer.raw_headers},
            {"type": "http.response.body", "body": body},
        ]
