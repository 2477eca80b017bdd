"""The dry run against servers with one fault each. A test behind a real nginx shows that it finds no fault in a good
one.
"""

import socket
import ssl
import threading
import time
from contextlib import contextmanager
from http.client import BadStatusLine, RemoteDisconnected
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from tests.survey.blinding import issuer_key
from tests.survey.desk import campus
from tests.survey.lines import certificate
from tests.survey.process import collection, serving
from tests.survey.samples import panel
from toolkit.command import main
from toolkit.survey.serving import doctor
from toolkit.survey.serving.doctor import Address, examine
from toolkit.survey.serving.limits import Limits
from toolkit.survey.serving.page import page_content, render_page
from toolkit.survey.serving.payload import OtherSurveyError, parse_submission
from toolkit.survey.serving.response import HEADERS
from toolkit.survey.storage import open_store

PAGE = render_page(campus())


class Desk(BaseHTTPRequestHandler):
    """A server that answers like the server of a collection, except for the fault of a test."""

    def do_GET(self):
        self._say(200, b"{}" if self.path == "/health" else PAGE)

    def do_HEAD(self):
        self._say(200, b"")

    def do_POST(self):
        self._say(413 if len(self.rfile.read(int(self.headers["Content-Length"]))) > 65536 else 409, b"{}")

    def _say(self, status, body):
        self.send_response(status)
        for name, value in {**HEADERS, "content-length": str(len(body))}.items():
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
    return {finding.check_name: finding for finding in examine(url)}


@pytest.mark.slow
def test_a_good_server_without_tls_fails_for_that_alone(capsys):
    with standing() as url:
        assert main(["doctor", url]) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(".")[0] for line in said if not line.startswith("ok ")][:-1] == [
        "FAIL TLS: none",
        "note host: another name also gets the survey",
    ]
    assert said[-1].startswith("This cannot be checked from here")


URL = "https://survey.example/survey/"
GOOD = {
    "days": 90.5,
    "plain": (301, {"location": URL}, b""),
    "page": (200, {**HEADERS, "strict-transport-security": "max-age=9"}, PAGE),
    "health": (200, {}, b'{"health":"good"}'),
    **{name: (status, {}, b"") for name, status in {"bare": 308, "file": 200, "head": 200, "host": 421}.items()},
    **{name: (status, {}, b"") for name, status in {"root": 404, "long": 413, "report": 409}.items()},
}
NONE = {"Host": "another.example"}
HANDSHAKE = ssl.SSLError()
HANDSHAKE.reason = "WRONG_VERSION_NUMBER"
OTHER = "a report of another survey is answered with"


@pytest.fixture
def examined(monkeypatch):
    """Return the faults at an address that answers like the server of a collection behind a good proxy, except for one
    change.
    """

    def look(changes, url=URL):
        answers = GOOD | changes
        until = time.strftime("%b %d %H:%M:%S %Y GMT", time.gmtime(time.time() + answers["days"] * 86_400))

        def ask(address, method, path, body=None, *, plain_http=False, headers=None):
            places = {"/": "root", address.prefix: "bare", address.path(): "page", address.path("health"): "health"}
            name = "plain" if plain_http else "host" if headers == NONE else places.get(path, "file")
            if method != "GET":
                name = "head" if method == "HEAD" else "long" if len(body) > Limits.body_bytes else "report"
            if isinstance(answers[name], Exception):
                raise answers[name]
            return doctor.ProbeResult(*answers[name])

        monkeypatch.setattr(Address, "request", ask)
        monkeypatch.setattr(Address, "certificate", {"notAfter": until, "version": "TLSv1.3"})
        return {finding.check_name: str(finding) for finding in examine(url)}

    return look


def changed(name, status=200, headers=None, body=b""):
    return {name: (status, headers or {}, body)}


def paged(headers=None, body=PAGE):
    return changed("page", 200, {**GOOD["page"][1], **(headers or {})}, body)


def test_where_all_is_good_every_check_says_so(examined):
    seen = examined({})
    assert list(seen) == ["TLS", "page", *doctor._CHECKS]
    assert {name: text for name, text in seen.items() if not text.startswith(f"ok   {name}: ")} == {}
    assert "valid for 90 more days" in seen["TLS"]
    assert f"'Campus', hash {campus().hash[:12]}…, access open" in seen["page"]
    alone = "serve nothing else there: all pages of an origin can read what each of them stores on a phone"
    assert seen["origin"] == f"ok   origin: https://survey.example:443; {alone}"
    plain = examined({}, "http://127.0.0.1:8001/")  # the root is the collection's own
    assert plain["origin"] == f"ok   origin: http://127.0.0.1:8001; {alone}"
    assert plain["redirect"] == "ok   redirect: not checked, as the address has no TLS"
    assert plain["prefix"] == "ok   prefix: none"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"days": 13.9}, "FAIL TLS: TLSv1.3, a certificate that browsers trust, valid for 13 more days. Renew it"),
        ({"days": 14.1}, "ok   TLS: TLSv1.3, a certificate that browsers trust, valid for 14 more days"),
        ({"page": ConnectionRefusedError()}, "FAIL address: no answer (ConnectionRefusedError). Check the host name"),
        ({"page": HANDSHAKE}, "FAIL TLS: no handshake (WRONG_VERSION_NUMBER). Check ssl_protocols"),
        (changed("page", body=b"<h1>It works!</h1>"), "FAIL page: status 200 and no survey at /survey/. The proxy"),
        (changed("page", 404, body=PAGE), "FAIL page: status 404 and no survey at /survey/"),
        (paged(body=PAGE.replace(b"{", b"(")), "FAIL page: status 200 and no survey"),
        (changed("plain", 300, {"location": URL}), "ok   redirect: http:// redirects to https://"),
        (changed("plain", 399, {"location": URL}), "ok   redirect: http:// redirects to https://"),
        (changed("plain", 299, {"location": URL}), "FAIL redirect: http:// answers with 299. Let it redirect"),
        (changed("plain", 400, {"location": URL}), "FAIL redirect: http:// answers with 400"),
        (changed("plain", 301, {"location": "http://survey.example"}), "FAIL redirect: http:// answers with 301"),
        ({"plain": ConnectionRefusedError()}, "note redirect: nothing listens at port 80. A redirection helps"),
        (changed("bare", 404), "note prefix: /survey without / answers with 404. Let the proxy redirect it"),
        (changed("file", 404), "FAIL files: answers.js, form.js, "),
        (paged(body=PAGE.replace(b".js", b".jpg")), "FAIL files: none cannot be loaded. The proxy must forward"),
        (paged({"content-security-policy": "*"}), "FAIL headers: content-security-policy missing or changed. The"),
        (changed("page", body=PAGE), f"FAIL headers: {', '.join(HEADERS)} missing or changed"),
        (changed("page", 200, HEADERS, PAGE), "note headers: all except Strict-Transport-Security. Let the proxy"),
        (paged({"set-cookie": "lb=1"}), "FAIL caching: a cookie is set. Something between server and phone"),
        (paged({"age": "3"}), "FAIL caching: the response came from a cache. Turn the cache off"),
        (paged({"x-cache": "Hit from somewhere"}), "FAIL caching: the response came from a cache"),
        (paged({"x-cache": "Miss", "via": "1.1"}), "note caching: the response has via, x-cache. Something other"),
        (paged({"cf-ray": "1"}), "note caching: the response has cf-ray"),
        (paged({"x-varnish": "1"}), "note caching: the response has x-varnish"),
        (changed("head", 405), "note HEAD: status 405. Load balancers that send HEAD"),
        (changed("health", body=b'{"health":"closed"}'), "FAIL health: the collection is closed. Nobody can answer"),
        (changed("health", 503), "FAIL health: reports cannot be stored at the moment. Check the server's log"),
        (changed("health", 404, body=b"closed"), "note health: status 404. The health cannot be checked"),
        ({"health": TimeoutError()}, "FAIL health: the connection broke (TimeoutError). Check the proxy"),
        ({"health": BadStatusLine("")}, "FAIL health: the connection broke (BadStatusLine)"),
        (changed("host", body=PAGE), "note host: another name also gets the survey. Give the proxy a default"),
        ({"host": BadStatusLine("")}, "ok   host: another name gets nothing"),
        ({"host": ConnectionResetError()}, "ok   host: another name gets nothing"),
        (changed("root", 399), "note origin: https://survey.example:443; serve nothing else"),
        (changed("root", 400), "ok   origin: https://survey.example:443; serve nothing else"),
        (changed("long", 400), "FAIL body limit: 65,537 bytes are answered with 400. The proxy must reject"),
        ({"long": RemoteDisconnected()}, "ok   body limit: more than 65,536 bytes are rejected"),
        (changed("report", 201), f"FAIL test report: {OTHER} 201 instead of 409. The request does not"),
        (changed("report", 502), f"FAIL test report: {OTHER} 502 instead of 409. The proxy does not reach"),
        (changed("report", 503), f"FAIL test report: {OTHER} 503 instead of 409. The server is too busy"),
        (changed("report", 504), f"FAIL test report: {OTHER} 504 instead of 409. The server does not answer"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found_and_what_need_not_be_done_is_a_note(examined, changes, told):
    assert [text for text in examined(changes).values() if text.startswith(told)]


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
        assert "the certificate is not valid: self" in str(finding)
        monkeypatch.setenv("SSL_CERT_FILE", str(public))
        finding = found(url)["TLS"]
    assert finding.is_failure
    assert "valid for 2 more days. Renew it" in str(finding)


@pytest.mark.slow
@pytest.mark.parametrize("access", ["open", "token", "blind"])
def test_a_real_server_refuses_the_test_report(tmp_path, access):
    """The page belongs to another survey, and nothing is stored."""
    url, _, _ = collection(tmp_path, access, invited=0 if access == "open" else 1)
    options = ()
    if access == "blind":
        issuer_key().save(tmp_path / "key.pem")
        options = ("--issuer-key", tmp_path / "key.pem")
    with serving(url, *options) as (_, said):
        seen = found(said["url"])
    for check in ("page", "files", "headers", "caching", "body limit", "test report"):
        assert str(seen[check]).startswith("ok  "), seen[check]
    store = open_store(url)
    assert store.count_reports() == 0
    store.close()


@pytest.mark.parametrize("made", [campus(), campus("token"), panel(), panel(access="token")])
def test_the_test_report_is_refused_only_for_its_survey(made):
    """It has all fields."""
    sent = []

    def ask(_verb, _path, body, **_):
        sent.append(body)
        return SimpleNamespace(status=409)

    address = SimpleNamespace(path=lambda name: name, request=ask)
    told = doctor._check_report(SimpleNamespace(data=page_content(made), address=address))
    assert str(told).startswith("ok  ")
    with pytest.raises(OtherSurveyError):
        parse_submission(made, sent[0])


def test_plain_http_uses_port_80_with_a_timeout(monkeypatch):
    """This is the request without TLS."""
    places = []

    def connection(host, port, timeout):
        places.append((host, port))
        assert 0 < timeout < 60
        raise ConnectionRefusedError

    monkeypatch.setattr(doctor.http.client, "HTTPConnection", connection)
    for url, plain_http in (("https://survey.example:444/", True), ("http://survey.example:81/", False)):
        with pytest.raises(ConnectionRefusedError):
            Address.from_url(url).request("GET", "/", plain_http=plain_http)
    assert places == [("survey.example", 80), ("survey.example", 81)]
    assert Address.from_url("http://survey.example").port == 80


def test_an_address_is_read_with_or_without_its_last_slash():
    for ending in ("", "/", "/#t=x"):
        url = f"https://survey.example.org/survey{ending}"
        assert Address.from_url(url) == Address(True, "survey.example.org", 443, "/survey")
    assert Address.from_url("http://127.0.0.1:8001/").path("report") == "/report"


@pytest.mark.parametrize("url", ["survey.example.org", "ftp://survey.example.org/", "https://", ""])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ValueError, match="must begin with https:// or http://"):
        Address.from_url(url)


@pytest.mark.parametrize("status", [200, 301, 302, 303, 304, 307, 308, 404])
def test_a_redirect_to_the_prefix_is_recognized(status):
    """A proxy redirects to the path with a slash."""
    reply = SimpleNamespace(status=status)
    asked = SimpleNamespace(prefix="/survey", request=lambda *_: reply, path=lambda: "/survey/")
    leads = doctor._check_prefix(SimpleNamespace(address=asked)).observation == "/survey redirects to /survey/"
    assert leads == (status in (301, 302, 307, 308))
