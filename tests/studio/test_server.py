"""Whoever is not the studio's own page gets nothing: other origins, other hosts, frames, links that were used."""

import json
import re
import socket
from pathlib import Path

import pytest

from toolkit.studio import server
from toolkit.studio.server import Desk, Gate, Studio, studio

JSON = "application/json"
STATIC = Path(server.__file__).parent / "static"
TABLES = "EXAMPLES|FAMILIES|MODES|PICTURES|KIND_WORDS|STATES|VIEWS|SCREENS|STATED|ENDING|PROTECTION|VERBS"


def test_a_link_works_once_and_the_next_one_is_announced(studio, window):
    status, answer = window.api("session", key=window.address.fragment.removeprefix("key="))
    assert (status, "used before" in answer["error"]) == (403, True)
    assert studio.links == [studio.url]
    assert studio.url.startswith("http://127.0.0.1:")
    assert window.address.fragment not in studio.url


@pytest.mark.parametrize("session", ["", "x", None])
def test_without_a_session_nothing_is_told(window, session):
    body = json.dumps({}).encode()
    headers = {"content_type": JSON, "origin": window.origin, "x_studio_session": session}
    assert window.send("POST", "/api/files", body, **headers)[0] == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": None}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
    ],
)
def test_another_page_can_do_nothing_even_with_the_session(window, headers, status):
    """CSRF and DNS rebinding: the secret alone is not enough, the request must be the page's own."""
    usual = {"content_type": JSON, "origin": window.origin, "x_studio_session": window.session}
    assert window.send("POST", "/api/files", b"{}", **{**usual, **headers})[0] == status


def test_a_rebound_name_does_not_even_get_the_page(window):
    assert window.send("GET", "/", host="evil.example")[0] == 421
    assert window.send("GET", "/")[0] == 200


def test_no_answer_sets_a_cookie_allows_another_origin_or_a_frame(window):
    for path in ("/", "/app.js", "/nothing"):
        _, _, headers = window.send("GET", path)
        names = {name.lower(): value for name, value in headers.items()}
        assert not {"set-cookie", "access-control-allow-origin"} & set(names)
        assert "frame-ancestors 'none'" in names["content-security-policy"]
        assert "script-src 'self';" in names["content-security-policy"]
        assert (names["x-frame-options"], names["cache-control"]) == ("DENY", "no-store")
    assert window.send("OPTIONS", "/api/files", origin="https://evil.example")[0] == 403


@pytest.mark.parametrize(
    "path", ["/../server.py", "/..%2fserver.py", "/%2e%2e/server.py", "//etc/passwd", "/seen/x", "/seen/../app.js"]
)
def test_no_other_file_is_served(window, path):
    assert window.send("GET", path)[0] in (400, 404)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"file": "a.toml", "more": 1}', b"[" * 5000, b"null"])
def test_strange_bodies_are_refused_without_an_error(window, body):
    headers = {"content_type": JSON, "origin": window.origin, "x_studio_session": window.session}
    assert window.send("POST", "/api/survey", body, **headers)[0] == 400
    assert window.send("POST", "/api/session", body, **headers)[0] in (400, 403)
    assert window.send("POST", "/api/nothing", b"{}", **headers)[0] == 404
    assert window.send("POST", "/api/__init__", b"{}", **headers)[0] == 404


@pytest.mark.parametrize("request_", [("POST", "/files"), ("PUT", "/api/files"), ("POST", "/")])
def test_there_is_nothing_elsewhere_and_no_other_method(window, request_):
    headers = {"content_type": JSON, "origin": window.origin, "x_studio_session": window.session}
    assert window.send(*request_, b"{}", **headers)[0] == 404


def test_a_body_beyond_all_measure_is_refused(window):
    headers = {"content_type": JSON, "origin": window.origin, "x_studio_session": window.session}
    assert window.send("POST", "/api/files", b" " * 4_000_001, **headers)[0] == 413


def test_a_page_that_others_would_see_has_no_origin_and_no_network(window):
    window.good("new", file="seen.toml", example="class")
    path = window.good("seen", file="seen.toml", what="phone", language="en")["path"]
    status, body, headers = window.send("GET", f"/{path}")
    policy = headers["content-security-policy"]
    assert (status, b"PREVIEW" in body, "connect-src" in policy) == (200, True, False)
    assert "default-src 'none'" in policy
    assert "sandbox allow-scripts;" in policy
    assert "frame-ancestors 'self'" in policy
    assert window.api("seen", file="seen.toml", what="anything", language="en")[0] == 422
    paper = window.good("seen", file="seen.toml", what="assessment", language="en")["path"]
    assert window.send("GET", f"/{paper}")[2]["content-security-policy"].endswith("; sandbox")


def test_a_sheet_says_what_it_cannot_ask(window):
    for example, left_out in (("class", []), ("workplace", ["bullied", "speak_up", "overtime"])):
        window.good("new", file=f"sheet-{example}.toml", example=example)
        seen = window.good("seen", file=f"sheet-{example}.toml", what="paper", language="en")
        assert seen["left_out"] == left_out
        assert b"000 00" in window.send("GET", f"/{seen['path']}")[1]


def test_a_proxy_names_its_address():
    gate = Gate(8899, "https://hub.example/user/ann/proxy/8899/", lambda _: None)
    front = {"method": "POST", "headers": [(b"host", b"hub.example"), (b"origin", b"https://hub.example")]}
    gate.check(front)
    assert gate.link.startswith("https://hub.example/user/ann/proxy/8899/#key=")
    assert Gate(8899, "http://hub.example", lambda _: None).link.startswith("http://hub.example/#key=")
    for address in ("hub.example", "ftp://hub.example/", "https:///user", ""):
        with pytest.raises(ValueError, match="public_url"):
            Gate(8899, address, lambda _: None)


@pytest.mark.slow
def test_a_studio_that_is_stopped_listens_no_more(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ValueError, match="public_url"):
        Studio(folder, port=port, public_url="hub.example")
    made = studio(folder, port=port)
    assert "#key=" in made._repr_html_()
    assert "key" not in repr(made)
    made.stop()
    assert not made._thread.is_alive()
    socket.create_server(("127.0.0.1", port)).close()


def test_all_addresses_in_the_page_are_relative_so_that_it_works_under_a_path():
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"""(src|href|from|fetch\(|import\()\s*=?\s*["'`]/(?!/)""", text), path.name
        assert "innerHTML" not in text, path.name


def test_an_error_of_the_studio_itself_quotes_nothing(monkeypatch, window, caplog):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(Desk, "do", broken)
    status, answer = window.api("files")
    assert status == 500
    assert "secret" not in json.dumps(answer)
    assert ("toolkit.studio", "ZeroDivisionError") in [(one.name, one.getMessage()) for one in caplog.records]


def test_every_sentence_of_the_studio_is_there_in_german():
    """What is written t("…"), and all words in tables that are passed to it; gaps are the same in both."""
    german = json.loads((STATIC / "de.json").read_text(encoding="utf-8"))
    words = set()
    for path in STATIC.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        words |= set(re.findall(r'\bt\(\s*"((?:[^"\\]|\\.)*)"', text))
        for table in re.findall(rf"const (?:{TABLES}) = (.*?);\n", text, re.DOTALL):
            words |= {one for one in re.findall(r'"([^"]*)"', table) if one[:1].isupper() or " " in one}
    assert len(words) > 250
    assert sorted(words - set(german)) == []
    for english, said in german.items():
        assert set(re.findall(r"\{\w+\}", english)) == set(re.findall(r"\{\w+\}", said)), english
