"""The application in process: the response to each request, its headers, and what is never sent or logged."""

import asyncio
import gzip
import json
import logging
import re
import traceback
from contextlib import suppress
from unittest import mock

import pytest

from tests.survey.blinding import issuer_key
from tests.survey.desk import ANSWERS, JSON, Memory, ask, asked, campus, payload, sent
from tests.survey.lines import line, post, read_answer, read_to_end, watched
from toolkit.survey import client
from toolkit.survey.serving import server
from toolkit.survey.serving.access import token_hash
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.response import HEADERS, json_response
from toolkit.survey.serving.server import Health, build_application
from toolkit.survey.storage import State, StoreError


@pytest.fixture(scope="module")
def survey():
    return campus()


@pytest.fixture
def memory():
    return Memory()


@pytest.fixture
def app(survey, memory):
    return build_application(survey, memory)


def test_a_report_is_answered_with_its_key_when_it_is_stored(app, memory, survey):
    data = payload(survey)
    answer = asked(app, "POST", "/report", sent(data))
    assert (answer.status, answer.json) == (201, {"stored": data["key"]})
    assert json.loads(memory.reports[bytes.fromhex(data["key"])]) == {"answers": ANSWERS, "understood": True}


def test_the_same_bytes_again_are_fine_and_stored_once(app, memory, survey):
    data = payload(survey)
    first, again = (asked(app, "POST", "/report", sent(data)) for _ in range(2))
    assert (again.status, again.json) == (first.status, first.json) == (201, {"stored": data["key"]})
    assert len(memory.reports) == 1


@pytest.mark.parametrize(
    "change", [{"understood": False}, {"answers": {**ANSWERS, "cheated": 1}}, {"answers": {**ANSWERS, "note": None}}]
)
def test_a_repeated_key_changes_nothing(app, memory, survey, change):
    """Another body with the same key gets the same response."""
    data = payload(survey)
    asked(app, "POST", "/report", sent(data))
    before = dict(memory.reports)
    assert asked(app, "POST", "/report", sent({**data, **change})) == asked(app, "POST", "/report", sent(data))
    assert memory.reports == before


@pytest.mark.parametrize(
    ("state", "cap", "status", "word"),
    [
        (State.DRAFT, None, 503, "not open"),
        (State.PAUSED, None, 503, "not open"),
        (State.CLOSED, None, 410, "closed"),
        (State.OPEN, 0, 410, "as many"),
    ],
)
def test_whoever_comes_at_the_wrong_time_is_told_so(app, memory, survey, state, cap, status, word):
    memory.state, memory.cap = state, cap
    answer = asked(app, "POST", "/report", sent(payload(survey)))
    assert answer.status == status
    assert word in answer.json["error"]
    assert (status, dict(answer.headers).get("retry-after")) in ((503, "60"), (410, None))
    assert not memory.reports


def test_a_store_that_fails_asks_for_patience_and_the_page_still_loads(app, memory, survey):
    async def fails():
        raise StoreError("the disk is full", 7)

    memory.before = fails
    answer = asked(app, "POST", "/report", sent(payload(survey)))
    assert (answer.status, answer["retry-after"]) == (503, "7")
    assert asked(app, "GET", "/").status == 200
    memory.before = None
    assert asked(app, "POST", "/report", sent(payload(survey))).status == 201


@pytest.mark.slow
def test_a_store_that_hangs_does_not_block_the_page(survey, memory, monkeypatch):
    """The report waits 0.2 s for its store and is then rejected; meanwhile the page is served."""
    waits, timeout = [], asyncio.timeout
    monkeypatch.setattr(server.asyncio, "timeout", lambda seconds: waits.append(seconds) or timeout(seconds))
    app = build_application(survey, memory, limits=Limits(response_seconds=0.4))

    async def story():
        memory.before = asyncio.Event().wait
        waiting = asyncio.create_task(ask(app, "POST", "/report", sent(payload(survey))))
        await asyncio.sleep(0.05)
        page = await ask(app, "GET", "/")
        assert not waiting.done()
        return page, await asyncio.wait_for(waiting, 10)

    page, answer = asyncio.run(story())
    assert (page.status, waits[0]) == (200, 0.2)
    assert (answer.status, answer["retry-after"]) == (503, "5")


def test_the_log_says_once_that_the_store_fails_and_once_that_it_is_back(app, memory, survey, caplog):
    async def fails():
        raise StoreError("the disk must have room, got none: nothing was stored.")

    for state in (None, fails, fails, fails, None, None):
        memory.before = state
        asked(app, "POST", "/report", sent(payload(survey, answers={**ANSWERS, "note": "WORDS-TO-KEEP"})))
    said = [record.getMessage() for record in caplog.records if record.name == "toolkit.survey"]
    assert said == [
        "No reports can be stored: the disk must have room, got none: nothing was stored.",
        "Reports are stored again.",
    ]


def everything(app, survey):
    """Return one response of every kind."""
    yield asked(app, "GET", "/")
    yield asked(app, "GET", "/randomizer.js")
    yield asked(app, "POST", "/report", sent(payload(survey)))
    yield asked(app, "POST", "/report", b"{")
    yield asked(app, "POST", "/report", sent(payload(survey, survey="0" * 64)))
    yield asked(app, "POST", "/report", b"x" * 70_000)
    yield asked(app, "POST", "/report", b"{}", headers=[])
    yield asked(app, "GET", "/nothing")
    yield asked(app, "GET", "/report")
    yield asked(app, "HEAD", "/")
    yield asked(app, "GET", "/health")
    for method in ("OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW"):
        yield asked(app, method, "/")
    with mock.patch.object(server, "parse_submission", side_effect=RuntimeError("secret")):
        yield asked(app, "POST", "/report", sent(payload(survey)))


def test_every_answer_has_every_security_header_once_and_no_cookie(app, survey):
    answers = list(everything(app, survey))
    statuses = [200, 200, 201, 400, 409, 413, 415, 404, 405, 200, 200, *[405] * 6, 500]
    assert [answer.status for answer in answers] == statuses
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer[name] == value  # `answer[...]` expects exactly one
        names = {name for name, _ in answer.headers}
        assert names <= {*HEADERS, "content-type", "content-length", "allow", "retry-after"}
        if answer.body:  # HEAD has no body, but its length
            assert answer["content-length"] == str(len(answer.body))


def test_errors_are_one_sentence_of_json(app, survey):
    for answer in everything(app, survey):
        if answer.status >= 400:
            assert answer["content-type"] == "application/json"
            assert list(answer.json) == ["error"]
            assert re.fullmatch(r"[A-Z`].*\.", answer.json["error"])


def test_the_page_is_the_survey_and_its_files_are_served_by_name(app, survey):
    page = asked(app, "GET", "/")
    assert page["content-type"] == "text/html; charset=utf-8"
    assert survey.hash.encode() in page.body
    for name in client.FILE_NAMES:
        answer = asked(app, "GET", f"/{name}")
        assert answer.body == client.asset(name), "with all of them anybody can compute the program's hash"
        assert answer["content-type"].startswith("text/javascript" if name.endswith(".js") else "text/plain")


def test_the_page_asks_for_no_file_that_is_not_there(app):
    page = asked(app, "GET", "/").body.decode()
    for found in re.findall(r"(?:src|href)=\"([^\"#:]+)\"", page):
        assert asked(app, "GET", f"/{found}").status == 200, found


PATHS = [
    "", "//", "/.", "/..", "/../server.py", "/%2e%2e/server.py", "/static/form.js", "/form.htm", "/server.py", "/randomizer.js/",  # noqa: E501
    "/RANDOMIZER.JS", "/report/", "//report", "/report\0", "/randomizer.js\0.html", "/\ud800", "/sign", "/admin", "/status",  # noqa: E501
    "/results", "/close", "/docs", "/openapi.json", "/favicon.ico", "/" + "a" * 60_000, "\\report", "/;report", "/report;a=b",  # noqa: E501
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=[ascii(path)[:30] for path in PATHS])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_paths_are_not_found_and_not_repeated(app, memory, survey, path, method):
    answer = asked(app, method, path, sent(payload(survey)) if method == "POST" else b"")
    assert (answer.status, answer.json) == (404, {"error": "There is nothing at this address."})
    assert not memory.reports


def test_methods_that_an_address_does_not_have_are_refused(app):
    assert asked(app, "POST", "/")["allow"] == "GET, HEAD"
    assert asked(app, "GET", "/report")["allow"] == "POST"
    assert asked(app, "HEAD", "/report").status == 405
    # no page of another site passes the browser's preflight request
    assert asked(app, "OPTIONS", "/report").status == 405


def test_head_says_what_get_would_say_without_its_body(app):
    for path in app._table.keys() - {"/report"}:
        got, head = asked(app, "GET", path), asked(app, "HEAD", path)
        assert (head.status, head.headers, head.body) == (got.status, got.headers, b"")
        assert head["content-length"] == str(len(got.body))
    for path, status in (("/report", 405), ("/nope", 404)):
        head = asked(app, "HEAD", path)
        assert (head.status, head.body, head["content-length"] > "0") == (status, b"", True)


@pytest.mark.parametrize("taken", ["gzip", "deflate, gzip, br", "br,gzip"])
def test_page_and_scripts_are_packed_for_whoever_unpacks_them(app, taken):
    for path in ("/", "/screens.js"):
        packed = asked(app, "GET", path, headers=[(b"accept-encoding", taken.encode())])
        plain = asked(app, "GET", path)
        assert packed["content-encoding"] == "gzip"
        assert gzip.decompress(packed.body) == plain.body
        assert len(packed.body) < 0.5 * len(plain.body)


@pytest.mark.parametrize("taken", ["", "br", "gzip;q=0", "identity", "x-gzip2"])
def test_whoever_does_not_say_that_it_unpacks_gets_plain_bytes(app, taken):
    answer = asked(app, "GET", "/screens.js", headers=[(b"accept-encoding", taken.encode())])
    assert answer.body == client.asset("screens.js")
    assert "content-encoding" not in dict(answer.headers)


def test_health_reports_only_whether_reports_are_stored(app, memory, survey):
    """The response is one of two, whatever was stored before: no number, no time, and no query of the store."""

    async def fails():
        raise StoreError("the disk is full", 7)

    asks = [asked(app, "GET", "/health")]
    for before in (None, None, fails, fails, None):
        memory.before = before
        asked(app, "POST", "/report", sent(payload(survey)))
        memory.before = fails  # a query of the store would be noticed
        asks.append(asked(app, "GET", "/health"))
    assert [one.status for one in asks] == [200, 200, 200, 503, 503, 200]
    assert {one.body for one in asks} == {b'{"health":"good"}', b'{"error":"Reports cannot be stored at the moment."}'}
    assert len({(one.status, *one.headers) for one in asks}) == 2


def test_a_paused_collection_is_healthy(app, memory, survey):
    """A server that is stopping is not ready."""
    memory.state = State.PAUSED
    assert asked(app, "POST", "/report", sent(payload(survey))).status == 503
    assert asked(app, "GET", "/health").status == 200
    memory.is_working = False
    assert asked(app, "GET", "/health").status == 503


def test_an_old_failure_is_forgotten_so_that_somebody_tries_again():
    """Otherwise a proxy that sends no requests to an unhealthy server would never use it again."""
    clock = [100.0]
    health = Health(lambda: clock[0])
    for _ in range(2):
        health.record_failure(TimeoutError())
        clock[0] += 29.5
        assert not health.is_good
    clock[0] += 0.5
    assert health.is_good


def test_the_health_of_a_closed_collection_is_closed(memory, monkeypatch):
    """The status also recovers if nobody sends a report; the store is checked a few times a minute, however often the
    status is requested.
    """
    looked, clock = [], [1000.0]
    is_closed = memory.is_closed
    monkeypatch.setattr(memory, "is_closed", lambda: looked.append(1) or is_closed())
    monkeypatch.setattr(server, "Health", lambda: Health(lambda: clock[0]))
    fresh = build_application(campus(), memory)
    for _ in range(5):
        assert asked(fresh, "GET", "/health").json == {"health": "good"}
    assert len(looked) == 1
    memory.state = State.CLOSED
    for seconds, said in ((9.5, "good"), (0.5, "closed")):
        clock[0] += seconds
        assert asked(fresh, "GET", "/health").json == {"health": said}
    assert len(looked) == 2


def signing(shown, memory, prefix):
    """Return requests to sign with every kind of outcome, each with its response; `shown` is the hash that the page
    names.
    """
    wanted = {"survey": shown, "invitation": "A" * 22, "blinded": "01" * 256}
    memory.invited.add(token_hash("A" * 22))
    good = post(sent(wanted), path=f"{prefix}/sign")
    yield good, 200
    yield post(sent({**wanted, "invitation": "B" * 22}), path=f"{prefix}/sign"), 403
    yield post(b"{", path=f"{prefix}/sign"), 400
    yield post(b"{}", path=f"{prefix}/sign", kind="text/plain"), 415
    yield good.replace(b"POST", b"GET"), 405


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["", "/survey"])
def test_reports_never_share_the_connection_of_a_signature(prefix):
    """Every response to a request to sign closes the connection: a report sent after it is not read."""
    survey, memory, key = campus("blind"), Memory("blind"), issuer_key()
    app = build_application(survey, memory, issuer_key=key, prefix=prefix)
    shown = re.search('"hash":"([0-9a-f]{64})"', asked(app, "GET", f"{prefix}/").body.decode()).group(1)
    unsigned = {"nonce": "00" * 32, "signature": "00" * 256}
    report = post(sent(payload(survey, survey=shown, token=unsigned)), path=f"{prefix}/report")
    with watched(app, Limits()) as (port, _):
        for request, status in signing(shown, memory, prefix):
            with line(port) as connection:
                connection.sendall(request)
                found, head, _ = read_answer(connection)
                assert found == status
                assert b"\r\nconnection: close" in head
                with suppress(OSError):
                    connection.sendall(report)
                assert read_to_end(connection) == b""
        with line(port) as connection:  # reports and pages may share one
            for request in (report, report, f"GET {prefix}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode()):
                connection.sendall(request)
                assert b"connection: close" not in read_answer(connection)[1]


FOREIGN = (b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x")
ALMOST = (b"application/json; charset=latin-1", b"application/jsonp", b"\xff\xfe")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        *([(b"content-type", kind)] for kind in (*FOREIGN, *ALMOST)),
        [*JSON, (b"content-type", b"text/plain")],
        [*JSON, (b"content-encoding", b"gzip")],
    ],
)
def test_only_json_is_read(app, memory, survey, headers):
    assert asked(app, "POST", "/report", sent(payload(survey)), headers=headers).status == 415
    assert not memory.reports


@pytest.mark.parametrize(
    "kind", [b"application/json", b"Application/JSON; charset=UTF-8", b"application/json;charset=utf-8"]
)
def test_json_may_be_called_by_its_usual_names(app, survey, kind):
    assert asked(app, "POST", "/report", sent(payload(survey)), headers=[(b"content-type", kind)]).status == 201


def test_the_query_and_foreign_headers_change_nothing(app, memory, survey):
    data = payload(survey)
    noise = {b"x-forwarded-for": b"6.6.6.6", b"cookie": b"a=b", b"origin": b"https://evil.example", b"host": b"evil"}
    answer = asked(
        app, "POST", "/report", sent(data), headers=[*JSON, *noise.items()], query_string=b"survey=other&key=1"
    )
    assert answer.status == 201
    assert "6.6.6.6" not in repr(memory.reports)


def test_an_error_of_ours_is_logged_by_kind_and_place_without_what_it_says(app, survey, caplog):
    def fail(*_):
        raise RuntimeError("SECRET-WORDS")

    data = payload(survey, answers={**ANSWERS, "note": "SECRET-WORDS"})
    with caplog.at_level(logging.DEBUG), mock.patch.object(server, "parse_submission", side_effect=fail):
        answer = asked(app, "POST", "/report", sent(data))
    assert answer.status == 500
    assert "SECRET" not in answer.body.decode()
    (record,) = [record for record in caplog.records if record.name == "toolkit.survey"]
    assert record.getMessage().startswith("RuntimeError in test_server.py, line ")  # the innermost frame
    assert record.exc_info is None
    assert "SECRET" not in caplog.text


def test_an_answer_that_breaks_off_is_not_followed_by_a_second_one(app, caplog):
    sent_out = []

    async def breaks_off(message):
        sent_out.append(message["type"])
        if len(sent_out) == 2:
            raise RuntimeError("in the midst")

    asyncio.run(app({"type": "http", "method": "GET", "path": "/", "headers": []}, None, breaks_off))
    assert sent_out == ["http.response.start", "http.response.body"]
    assert [record.getMessage().partition(" in ")[0] for record in caplog.records] == ["RuntimeError"]


def test_what_goes_right_or_wrong_by_the_rules_is_not_logged_at_all(app, survey, caplog):
    with caplog.at_level(logging.DEBUG):
        for body in (sent(payload(survey)), b"{", b"\xff", sent(payload(survey, key="SECRET"))):
            asked(app, "POST", "/report", body)
        asked(app, "GET", "/SECRET")
    assert [record for record in caplog.records if record.name != "asyncio"] == []


@pytest.mark.slow
def test_a_refusal_carries_nothing_of_what_it_refuses(survey, memory, monkeypatch):
    """No cause and no context may appear in a traceback, because the frames of the earlier error contain the
    submission.
    """
    caught = []

    def kept(problem):
        caught.append((problem.status, "".join(traceback.format_exception(problem))))
        return json_response(problem.status, {})

    async def fails():
        raise StoreError("the disk is full", 7)

    monkeypatch.setattr(server, "_http_error_response", kept)
    asked(build_application(survey, memory), "POST", "/report", sent(payload(survey, key="SECRET")))
    asked(build_application(campus("blind"), memory, issuer_key=issuer_key()), "POST", "/sign", b'{"token": "SECRET"}')
    memory.before = fails
    asked(build_application(survey, memory), "POST", "/report", sent(payload(survey)))
    assert [status for status, _ in caught] == [400, 400, 503]
    for _, shown in caught:
        assert "HttpError: " in shown
        assert "PayloadError" not in shown
        assert "StoreError" not in shown


def test_a_client_that_hangs_up_leaves_nothing_behind(app, memory, survey):
    body = sent(payload(survey))

    async def story():
        parts = iter([{"type": "http.request", "body": body[:50], "more_body": True}, {"type": "http.disconnect"}])

        async def receive():
            return next(parts)

        async def send(_):
            pass

        await app({"type": "http", "method": "POST", "path": "/report", "headers": JSON}, receive, send)

    asyncio.run(story())
    assert not memory.reports


def test_below_a_prefix_everything_is_there_and_nothing_elsewhere(survey, memory):
    app = build_application(survey, memory, prefix="/survey")
    assert asked(app, "GET", "/survey/").status == 200
    assert asked(app, "GET", "/survey/randomizer.js").status == 200
    assert asked(app, "POST", "/survey/report", sent(payload(survey))).status == 201
    assert [asked(app, "GET", path).status for path in ("/", "/survey", "/randomizer.js", "/surveyx/")] == [404] * 4
    for wrong in ("survey", "/survey/", "/a{b}", "/a%20b", "/a?b"):
        with pytest.raises(ValueError, match="`prefix` must be a path"):
            build_application(survey, memory, prefix=wrong)


@pytest.mark.slow
def test_a_key_is_needed_for_blind_tokens_and_for_nothing_else(survey, memory):
    with pytest.raises(ValueError, match="only then"):
        build_application(campus("blind"), memory)
    with pytest.raises(ValueError, match="only then"):
        build_application(survey, memory, issuer_key=issuer_key())


def test_nothing_of_the_researcher_is_on_this_address(app):
    """Return every address of the application: the page, its files, the address for reports, and the health check."""
    assert app._table.keys() == {"/", "/report", "/health", *(f"/{name}" for name in client.FILE_NAMES)}
