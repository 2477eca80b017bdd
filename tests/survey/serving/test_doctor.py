"""The dry run against servers that do one thing wrong each. That it finds nothing at a good one is tested
behind a real nginx.
"""

import socket
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from tests.survey.desk import campus
from tests.survey.lines import certificate
from tests.survey.process import collection, serving
from tests.survey.samples import panel
from toolkit.command import main
from toolkit.survey.serving import doctor
from toolkit.survey.serving.answer import HEADERS
from toolkit.survey.serving.doctor import Address, examine
from toolkit.survey.serving.page import content, page
from toolkit.survey.serving.payload import OtherSurvey, checked
from toolkit.survey.storage import open_store

PAGE = page(campus())


class Desk(BaseHTTPRequestHandler):
    """Answers as a server of a collection would, but for what a test changes."""

    health, report, too_long, head, headers_, extra, body = 200, 409, 413, 200, HEADERS, {}, PAGE

    def do_GET(self):
        if self.path == "/health":
            self._say(self.health, b"{}")
        else:
            self._say(200, self.body)

    def do_HEAD(self):
        self._say(self.head, b"")

    def do_POST(self):
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        self._say(self.too_long if len(sent) > 65536 else self.report, b"{}")

    def _say(self, status, body):
        self.send_response(status)
        for name, value in {**self.headers_, **self.extra, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def standing(tls=None, **changes):
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Changed", (Desk,), changes)) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def found(url):
    return {finding.check: finding for finding in examine(url)}


@pytest.mark.slow
def test_it_says_that_a_collection_has_an_origin_of_its_own_and_notes_what_else_answers_there():
    with standing() as url:
        alone, beside = found(url)["origin"], found(f"{url}survey/")["origin"]
    told = f"{url[:-1]}; a collection must have it to itself: every page of it can read what any of them keeps"
    assert str(alone).startswith(f"ok   origin: {told}")
    assert str(beside).startswith(f"note origin: {told}")
    assert "/ answers with 200. Give the collection a name or a port at which nothing else is" in str(beside)


@pytest.mark.slow
def test_a_good_server_without_tls_fails_for_that_alone(capsys):
    with standing() as url:
        assert main(["doctor", url]) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(".")[0] for line in said if not line.startswith("ok ")][:-1] == [
        "FAIL TLS: none",
        "note host: another name gets the survey, too",
    ]
    assert said[-1].startswith("Not seen from here")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "changes", "told"),
    [
        (
            "headers",
            {"headers_": {**HEADERS, "content-security-policy": "default-src *"}},
            "content-security-policy missing or changed",
        ),
        ("headers", {"headers_": {}}, "cache-control"),
        ("caching", {"extra": {"Set-Cookie": "lb=1"}}, "a cookie is set"),
        ("caching", {"extra": {"Age": "3"}}, "the answer was kept on the way"),
        ("health", {"health": 503}, "reports cannot be stored at the moment"),
        ("body limit", {"too_long": 400}, "65,537 bytes are answered with 400"),
        ("test report", {"report": 201}, "is answered with 201 instead of 409"),
        ("test report", {"report": 502}, "The proxy finds no server"),
        ("page", {"body": b"<h1>It works!</h1>"}, "status 200 and no survey at /"),
    ],
)
def test_one_thing_that_is_wrong_is_found(check, changes, told):
    with standing(**changes) as url:
        finding = found(url)[check]
    assert finding.failed
    assert told in str(finding)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "changes", "told"),
    [
        ("HEAD", {"head": 405}, "status 405"),
        ("health", {"health": 404}, "Nothing tells whether the server works"),
        ("caching", {"extra": {"Via": "1.1 cdn"}}, "may see and log every request"),
        ("host", {}, "another name gets the survey, too"),
    ],
)
def test_what_need_not_be_done_is_a_note(check, changes, told):
    with standing(**changes) as url:
        finding = found(url)[check]
    assert not finding.failed
    assert str(finding).startswith("note")
    assert told in str(finding)


@pytest.mark.slow
def test_a_proxy_that_hangs_up_on_a_long_body_refuses_it():
    def hang_up(desk):
        if int(desk.headers["Content-Length"]) > 65536:
            desk.connection.shutdown(socket.SHUT_RDWR)
        else:
            Desk.do_POST(desk)

    with standing(do_POST=hang_up) as url:
        assert str(found(url)["body limit"]).startswith("ok  ")


@pytest.mark.slow
def test_a_certificate_that_nobody_trusts_ends_the_visit(tmp_path, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    public, private = certificate(tmp_path, days=3)
    context.load_cert_chain(public, private)
    with standing(context) as url:
        (finding,) = examine(url)
        assert "the certificate is not good: self" in str(finding)
        monkeypatch.setenv("SSL_CERT_FILE", str(public))
        finding = found(url)["TLS"]
    assert finding.failed
    assert "good for 2 more days. Renew it" in str(finding)


@pytest.mark.slow
@pytest.mark.parametrize("access", ["open", "token", "blind"])
def test_a_real_server_refuses_the_test_report_as_one_of_another_survey_and_stores_nothing(tmp_path, access):
    url, _, _ = collection(tmp_path, access, invited=0 if access == "open" else 1)
    options = ()
    if access == "blind":
        from toolkit.survey.serving.blind import IssuerKey

        IssuerKey.generate().save(tmp_path / "key.pem")
        options = ("--issuer-key", tmp_path / "key.pem")
    with serving(url, *options) as (_, said):
        seen = found(said["url"])
    for check in ("page", "files", "headers", "caching", "body limit", "test report"):
        assert str(seen[check]).startswith("ok  "), seen[check]
    store = open_store(url)
    assert store.count() == 0
    store.close()


@pytest.mark.parametrize("made", [campus(), campus("token"), panel(), panel(access="token")])
def test_the_test_report_has_all_fields_and_is_refused_for_its_survey_alone(made):
    sent = []

    def ask(_verb, _path, body, **_):
        sent.append(body)
        return SimpleNamespace(status=409)

    address = SimpleNamespace(path=lambda name: name, ask=ask)
    told = doctor._report(SimpleNamespace(data=content(made), address=address))
    assert str(told).startswith("ok  ")
    with pytest.raises(OtherSurvey):
        checked(made, sent[0])


@pytest.mark.slow
def test_the_survey_is_named_as_its_page_says_it():
    with standing() as url:
        assert f"page: 'Campus', hash {campus().hash[:12]}…, access open" in str(found(url)["page"])


def test_an_address_is_read_with_or_without_its_last_slash():
    for ending in ("", "/", "/#t=x"):
        url = f"https://survey.example.org/survey{ending}"
        assert Address.of(url) == Address(True, "survey.example.org", 443, "/survey")
    assert Address.of("http://127.0.0.1:8001/").path("report") == "/report"


@pytest.mark.parametrize("url", ["survey.example.org", "ftp://survey.example.org/", "https://", ""])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ValueError, match="must begin with https:// or http://"):
        Address.of(url)


@pytest.mark.parametrize("status", [200, 301, 302, 303, 304, 307, 308, 404])
def test_a_proxy_leads_to_the_last_slash_by_a_redirect_that_keeps_the_question(status):
    asked = SimpleNamespace(prefix="/survey", ask=lambda *_: SimpleNamespace(status=status), path=lambda: "/survey/")
    leads = doctor._slash(SimpleNamespace(address=asked)).observation == "/survey leads to /survey/"
    assert leads == (status in (301, 302, 307, 308))
