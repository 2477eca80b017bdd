"""Reading a request body without a network: bodies that are too long or incomplete."""

import asyncio
from dataclasses import fields, replace

import pytest

from toolkit.survey.serving.limits import Limits, read_body
from toolkit.survey.serving.response import HttpError


def gather(*chunks, limits=Limits(body_bytes=10), content_length=None, last=None):  # noqa: B008  # frozen
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages.append(last or {"type": "http.request", "more_body": False})
    arriving = iter(messages)

    async def receive():
        return next(arriving)

    return asyncio.run(read_body(receive, limits, content_length=content_length))


def test_a_body_is_put_together_up_to_the_last_byte_that_is_allowed():
    assert gather() == b""
    assert gather(b"12345", b"67890") == b"1234567890"


@pytest.mark.parametrize(
    ("chunks", "content_length"),
    [((b"1234567890", b"1"), None), ((b"12345678901",), None), ((), b"11"), ((), b"9" * 5000)],
)
def test_one_byte_more_is_refused_whether_it_is_said_before_or_not(chunks, content_length):
    with pytest.raises(HttpError) as caught:
        gather(*chunks, content_length=content_length)
    assert caught.value.status == 413


def test_a_false_length_is_not_believed():
    with pytest.raises(HttpError) as caught:
        gather(b"12345678901", content_length=b"3")
    assert caught.value.status == 413
    assert gather(b"123", content_length=b"nonsense") == b"123"


def test_half_a_body_is_no_body():
    with pytest.raises(HttpError) as caught:
        gather(b"123", last={"type": "http.disconnect"})
    assert caught.value.status == 400


def test_limits_are_above_zero():
    for name in [field.name for field in fields(Limits)]:
        with pytest.raises(ValueError, match=f"`{name}` must be above 0"):
            Limits(**{name: 0})
        assert getattr(Limits(**{name: 0.5}), name) == 0.5


def test_connections_are_looked_at_four_times_within_the_shortest_time():
    times = ("head_seconds", "body_seconds", "idle_seconds", "linger_seconds")
    long = Limits(**dict.fromkeys(times, 60.0))
    assert long.sweep_seconds == 1
    assert [replace(long, **{name: 2.0}).sweep_seconds for name in times] == [0.5] * 4
