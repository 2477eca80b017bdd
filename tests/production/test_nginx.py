"""Two servers behind a real nginx with the shipped configuration: restarted under load; what it writes down."""

import http.client
import json
import socket
import ssl
import time
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest

from tests.production.nginx_server import NAME, nginx
from tests.survey.desk import payload, sent
from tests.survey.lines import post, read_answer, read_to_end
from tests.survey.respondents import Respondent, free_port, stored_once
from tests.survey.servers import begin, finish, opened
from toolkit.command import main
from toolkit.survey.serving import doctor
from toolkit.survey.serving import doctor as visiting
from toolkit.survey.serving.response import HEADERS
from toolkit.survey.storage import State, open_store

PHONE = "127.9.9.9"
"""The address of all phones: another one than that of the servers, so that it can be looked for in a log."""


class Behind(Respondent):
    """A phone that reaches the server by the proxy."""

    proxy = None

    def attempt(self, request):
        return super().attempt(
            request.replace(b"POST /report", b"POST /survey/report").replace(b"Host: x", b"Host: localhost")
        )

    def connect(self):
        return tls(self.proxy)


def tls(proxy, name=NAME):
    """A connection from a phone."""
    trusted = ssl.create_default_context(cafile=proxy.authority)
    plain = socket.create_connection(("127.0.0.1", proxy.port), timeout=20, source_address=(PHONE, 0))
    return trusted.wrap_socket(plain, server_hostname=name)


def asked(proxy, method="GET", path="/survey/", body=None, **headers):
    """One request from a phone: status, headers, body."""
    with tls(proxy) as connection:
        asking = http.client.HTTPConnection(NAME)
        asking.sock = connection
        asking.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = asking.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


@contextmanager
def phones(survey, proxy, size=6):
    clients = [Behind(survey, 0, number) for number in range(size)]
    for client in clients:
        client.proxy = proxy
        client.start()
    yield clients
    for client in clients:
        client.stop.set()
    for client in clients:
        client.join(60)
        assert not client.is_alive(), client.odd[-3:]


class Pair:
    """Two servers of one collection in PostgreSQL, each with its own state, as on two machines."""

    def __init__(self, folder, database):
        self.folder, self.database = folder, database
        first = free_port()
        self.ports = (first, next(port for port in range(first + 1, 65_000) if not _taken(port)))
        self.processes = [self.start(place) for place in (0, 1)]

    def start(self, place):
        options = ("--port", self.ports[place], "--prefix", "/survey")
        return begin(self.folder, self.database, *options, XDG_STATE_HOME=str(self.folder / f"state{place}"))[0]

    def restart(self, place):
        """As systemctl does: told to end, waited for, started again."""
        assert finish(self.processes[place]) == (0, "")
        self.processes[place] = self.start(place)

    def end(self):
        for process in self.processes:
            process.kill()
            process.communicate(timeout=20)


def _taken(port):
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return True
    return False


@contextmanager
def site(folder, database, changes=None, **survey):
    """A survey, its pair of servers, and nginx before them."""
    asked_about = opened(folder, database, **survey)
    with ExitStack() as stack:
        pair = Pair(folder, database)
        stack.callback(pair.end)
        yield asked_about, pair, stack.enter_context(nginx(folder, pair.ports, changes))


@pytest.fixture(scope="module")
def standing(postgres, tmp_path_factory):
    """One site for all tests that do not break it."""
    with site(tmp_path_factory.mktemp("site"), postgres.url()) as made:
        yield made


def stored(clients):
    return sum(len(client.acknowledged) for client in clients)


def wait_for_more(clients, more=60):
    enough, end = stored(clients) + more, time.monotonic() + 60
    while stored(clients) < enough:
        assert time.monotonic() < end, [client.odd[-1:] for client in clients]
        time.sleep(0.02)


@pytest.mark.slow
def test_restarts_under_load_lose_nothing_and_show_no_error(postgres, tmp_path):
    """Both servers are restarted under load and nothing is lost and no phone sees an error."""
    with site(tmp_path, postgres.url()) as (survey, pair, proxy):
        with phones(survey, proxy) as clients:
            for place in (0, 1, 0, 1):
                wait_for_more(clients)
                pair.restart(place)
            wait_for_more(clients)
        assert [client.odd for client in clients] == [[]] * len(clients)
        repeats = sum(client.tries for client in clients) - sum(client.deliveries for client in clients)
        assert repeats == 0  # not one connection broke
        assert stored_once(clients, bodies(pair.database)) > 300
        assert PHONE.encode() not in proxy.said()
        assert proxy.kept() == []


def bodies(database):
    with closing(open_store(database, readonly=True)) as store:
        return list(store.reports())


def test_the_page_comes_with_the_headers_of_the_server_and_is_kept_nowhere(standing):
    survey, _, proxy = standing
    status, headers, page = asked(proxy)
    assert status == 200
    assert survey.hash.encode() in page
    assert {name: headers[name] for name in HEADERS} == HEADERS
    assert headers["strict-transport-security"] == "max-age=31536000"
    assert headers["server"] == "nginx"
    assert asked(proxy, path="/survey")[0] == 301
    compressed = asked(proxy, accept_encoding="gzip")
    assert compressed[1]["content-encoding"] == "gzip"
    assert len(compressed[2]) < len(page) / 2


def test_whoever_comes_without_tls_is_sent_to_the_address_with_it(standing):
    plain = http.client.HTTPConnection("127.0.0.1", standing[2].plain_port, timeout=20)
    plain.request("GET", "/survey/", headers={"Host": NAME})
    answer = plain.getresponse()
    assert (answer.status, answer.getheader("Location")) == (301, f"https://{NAME}/survey/")
    plain.close()


def test_whoever_asks_for_another_name_gets_nothing(standing):
    with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"), tls(standing[2], "survey.example.com"):
        pass
    with pytest.raises(http.client.RemoteDisconnected):
        asked(standing[2], host="survey.example.com")


def test_no_tls_session_is_resumed(standing):
    """Who resumes a session shows that it is the same phone as before."""
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        trusted = ssl.create_default_context(cafile=standing[2].authority)
        trusted.minimum_version = trusted.maximum_version = version
        session = None
        for _ in range(2):
            plain = socket.create_connection(("127.0.0.1", standing[2].port), timeout=20, source_address=(PHONE, 0))
            with trusted.wrap_socket(plain, server_hostname=NAME, session=session) as connection:
                connection.sendall(b"GET /survey/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert read_answer(connection)[0] == 200
                assert not connection.session_reused
                session = connection.session


def test_the_largest_report_stays_in_memory_and_larger_ones_fail(standing):
    """A report of the largest size stays in memory and a larger one is refused."""
    survey, _, proxy = standing
    body = sent(payload(survey))
    longest = body[:-1] + b" " * (64 * 1024 - len(body)) + body[-1:]
    assert asked(proxy, "POST", "/survey/report", longest, content_type="application/json")[0] == 201
    assert asked(proxy, "POST", "/survey/report", longest + b" ", content_type="application/json")[0] == 413
    assert proxy.kept() == []


@pytest.mark.slow
def test_a_pause_is_told_as_such_to_everybody(standing):
    """503 with the time to wait, from whichever server: nginx must not take it for a server that is gone."""
    survey, pair, proxy = standing
    with closing(open_store(pair.database)) as store:
        store.set_state(State.PAUSED)
        for _ in range(8):
            status, headers, said = asked(
                proxy, "POST", "/survey/report", sent(payload(survey)), content_type="application/json"
            )
            assert (status, headers["retry-after"]) == (503, "60")
            assert "not open at the moment" in json.loads(said)["error"]
        store.set_state(State.OPEN)


@pytest.mark.slow
def test_a_signature_ends_its_connection_and_a_report_does_not(standing):
    """In the shipped configuration, whatever the server behind it answers."""
    _, _, proxy = standing
    assert asked(proxy, "POST", "/survey/sign", b"{}", content_type="application/json")[1]["connection"] == "close"
    assert (
        asked(proxy, "POST", "/survey/report", b"{}", content_type="application/json")[1]["connection"] == "keep-alive"
    )


def test_the_doctor_finds_no_fault_and_leaves_nothing_behind(standing, monkeypatch, capsys):
    """The doctor finds nothing that must be done and leaves nothing behind."""
    _, pair, proxy = standing
    monkeypatch.setenv("SSL_CERT_FILE", str(proxy.authority))
    monkeypatch.setattr(visiting, "PLAIN_PORT", proxy.plain_port)
    monkeypatch.setattr(doctor, "_RENEW_DAYS", 0)  # the test's certificate is good for a day
    before = len(bodies(pair.database))
    assert main(["doctor", f"https://{NAME}:{proxy.port}/survey/"]) == 0
    said = capsys.readouterr().out
    assert "FAIL" not in said
    for line_ in (
        "redirect: http:// redirects to https://",
        "prefix: /survey redirects to /survey/",
        "host: another name gets nothing",
    ):
        assert f"ok   {line_}" in said
    assert "ok   test report: a report of another survey is rejected, and nothing was stored" in said
    assert len(bodies(pair.database)) == before


def mishaps(proxy):
    """What makes nginx complain about a client: failed handshakes, no requests, bodies that are too long."""
    for said in (
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        bytes(64),
        OLD_HELLO,
    ):
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=20, source_address=(PHONE, 0)) as connection:
            connection.sendall(said)
            read_to_end(connection)
    for said in (
        b"\0\r\n\r\n",
        post(b"{}", "/survey/report")[:-1],
        post(bytes(70_000), "/survey/report"),
        post(bytes(40_000), "/none"),
    ):
        with tls(proxy) as connection, suppress(ssl.SSLError, ConnectionError):  # it may have hung up before the end
            connection.sendall(said)
    for said in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n"):
        with socket.create_connection(
            ("127.0.0.1", proxy.plain_port), timeout=20, source_address=(PHONE, 0)
        ) as connection:
            connection.sendall(said)
            read_to_end(connection)
    assert asked(proxy, "POST", "/survey/report", b"{}", content_type="application/json")[0] == 502  # no server is left


OLD_HELLO = bytes.fromhex("160301002f0100002b0301" + "00" * 32 + "00" + "0004" + "00050004" + "0100")
"""A client that speaks TLS 1.0 and nothing else."""


LOGS = {
    "as shipped": {},
    "of requests": {"access_log off;": ""},
    "of what is critical": {".log emerg;": ".log crit;"},
    "of errors": {".log emerg;": ".log error;"},
}


@pytest.fixture(scope="module")
def said(postgres, tmp_path_factory):
    """What nginx writes down of a phone that is answered and of mishaps, with each kind of log."""
    folder, database = tmp_path_factory.mktemp("logs"), postgres.url()
    survey = opened(folder, database)
    with ExitStack() as stack:
        pair = Pair(folder, database)
        stack.callback(pair.end)
        proxies = {}
        for name, changes in LOGS.items():
            (folder / name.split()[-1]).mkdir()
            proxies[name] = stack.enter_context(nginx(folder / name.split()[-1], pair.ports, changes))
            answer = asked(
                proxies[name], "POST", "/survey/report", sent(payload(survey)), content_type="application/json"
            )
            assert answer[0] == 201
        pair.end()
        for proxy in proxies.values():
            mishaps(proxy)
    assert [proxy.kept() for proxy in proxies.values()] == [[]] * len(LOGS)
    return {name: proxy.said() for name, proxy in proxies.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
def test_no_log_of_nginx_names_a_client(said, name):
    """So that it is looked for in the right place, and each line of the configuration is needed."""
    assert (PHONE.encode() in said[name]) == (name != "as shipped")
