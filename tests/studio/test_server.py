"""Whoever is not the studio's own page gets nothing: other origins, other hosts, frames, links that were used."""

import contextlib
import json
import re
import socket
from pathlib import Path

import pytest

from toolkit.studio import server
from toolkit.studio.checking import offered_designs
from toolkit.studio.curating import CuratorPage
from toolkit.studio.folder import ConflictError, Folder
from toolkit.studio.server import AccessControl, Actions, Studio, studio
from toolkit.survey.spec import Survey
from toolkit.survey.storage import State, open_store

JSON = "application/json"
STATIC = Path(server.__file__).parent / "static"
TABLES = "EXAMPLES|MODES|PICTURES|KIND_WORDS|STATES|VIEWS|SCREENS|STATED|ENDING|PROTECTION|STATISTICS|UNFINISHED"


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
    "path",
    ["/../server.py", "/..%2fserver.py", "/%2e%2e/server.py", "//etc/passwd", "/preview/x", "/preview/../app.js"],
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
def test_there_is_nothing_remote_hints_and_no_other_method(window, request_):
    headers = {"content_type": JSON, "origin": window.origin, "x_studio_session": window.session}
    assert window.send(*request_, b"{}", **headers)[0] == 404


def test_a_body_beyond_all_measure_is_refused(window):
    headers = {"content_type": JSON, "origin": window.origin, "x_studio_session": window.session}
    assert window.send("POST", "/api/files", b" " * 4_000_001, **headers)[0] == 413


def test_a_page_that_others_would_see_has_no_origin_and_no_network(window):
    window.good("new", file="seen.toml", example="class")
    path = window.good("preview", file="seen.toml", view="phone", language="en")["path"]
    status, body, headers = window.send("GET", f"/{path}")
    policy = headers["content-security-policy"]
    assert (status, b"PREVIEW" in body, "connect-src" in policy) == (200, True, False)
    assert "default-src 'none'" in policy
    assert "sandbox allow-scripts;" in policy
    assert "frame-ancestors 'self'" in policy
    assert window.api("preview", file="seen.toml", view="anything", language="en")[0] == 422
    paper = window.good("preview", file="seen.toml", view="assessment", language="en")["path"]
    assert window.send("GET", f"/{paper}")[2]["content-security-policy"].endswith("; sandbox")


def test_a_sheet_says_what_it_cannot_ask(window):
    for example, left_out in (("class", []), ("workplace", ["bullied", "speak_up", "overtime"])):
        window.good("new", file=f"sheet-{example}.toml", example=example)
        seen = window.good("preview", file=f"sheet-{example}.toml", view="paper", language="en")
        assert seen["omitted"] == left_out
        assert b"000 00" in window.send("GET", f"/{seen['path']}")[1]


def test_a_proxy_names_its_address():
    access = AccessControl(8899, "https://hub.example/user/ann/proxy/8899/", lambda _: None)
    front = {"method": "POST", "headers": [(b"host", b"hub.example"), (b"origin", b"https://hub.example")]}
    access.check_origin(front)
    assert access.link.startswith("https://hub.example/user/ann/proxy/8899/#key=")
    assert AccessControl(8899, "http://hub.example", lambda _: None).link.startswith("http://hub.example/#key=")
    for address in ("hub.example", "ftp://hub.example/", "https:///user", ""):
        with pytest.raises(ValueError, match="public_url"):
            AccessControl(8899, address, lambda _: None)


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


def test_all_addresses_of_the_page_are_relative():
    """The studio therefore works under a path, for example behind a proxy."""
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"""(src|href|from|fetch\(|import\()\s*=?\s*["'`]/(?!/)""", text), path.name
        assert "innerHTML" not in text, path.name


LOOKS = {"files", "survey", "plan", "needed", "curve", "consent", "preview", "field", "results", "table", "table_rows"}
NUMBERS = {"header": True, "columns": {"age": {"low": 0, "high": 90, "type": "number"}}}
PLAN = {"verb": "bounds", "column": "age", "epsilon": "0.1"}
STALE = [
    ("new", {"example": "class"}),
    ("save", {"data": {"title": "Mine"}}),
    ("undo", {}),
    ("redo", {}),
    ("rehearse", {"people": 5}),
    ("open", {}),
    ("open", {"amend": True}),
    ("invite", {"count": 3}),
    ("station", {"count": 3}),
    *(("change", {"which": "real", "verb": verb}) for verb in ("pause", "resume", "close")),
    *(("write", {"document": what}) for what in ("paper", "xlsform", "jspsych", "notebook", "assessment")),
    *(("write", {"document": name, "ending": ending}) for name, ending in (("report", ".html"), ("export", ".csv"))),
    ("write", {"document": "codebook", "ending": ".html"}),
    ("table_save", {"session": {"ceiling": "9", "neighbors": "replace"}}),
    ("release", {"index": 0}),
    ("publish", {"name": "t-release-01"}),
    ("table_notebook", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("action", "arguments"), STALE, ids=str)
def test_whatever_a_page_that_is_out_of_date_asks_for_nothing_changes(tmp_path, action, arguments):
    """A window loads the page, something else changes what it shows, and then a button of it is pressed."""
    actions = Actions(Folder(tmp_path))
    assert {name for name, _ in STALE} == set(actions.actions) - LOOKS
    of_table = action in ("table_save", "release", "publish", "table_notebook")
    (tmp_path / "t.csv").write_text("age\n1\n")
    first = {"ceiling": "1", "neighbors": "replace", "statistics": [PLAN], **NUMBERS}
    actions.curating.save("t.csv", actions.curating.state("t.csv")["hash"], first)
    if action != "new":
        actions.surveys.new("a.toml", "class")
    hashes = {} if action in ("new", "publish") else {"hash": _shown(actions, action)}
    if action == "new":
        actions.surveys.new("a.toml", "health")
    elif of_table:
        other = {**first, "statistics": [{**PLAN, "epsilon": "0.9"}]}
        actions.curating.save("t.csv", actions.curating.state("t.csv")["hash"], other)
    else:
        (tmp_path / "a.toml").write_text((tmp_path / "a.toml").read_text().replace("Our class", "Another"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    answer = actions.run(
        action, {"table" if of_table else "file": "t.csv" if of_table else "a.toml", **hashes, **arguments}
    )
    assert answer.status == (422 if action in ("new", "publish") else 409)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def _shown(actions, action):
    """The hash of what the screen shows on which an action is asked for."""
    if action == "release":
        return actions.curating.state("t.csv")["statistics"][0]["hash"]
    if action.startswith("table"):
        return actions.curating.state("t.csv")["hash"]
    screen = actions.surveys if action in ("save", "undo", "redo", "write") else actions.fieldwork
    return screen.state("a.toml")["hash"]


@pytest.mark.parametrize("change", ["price", "statistic", "bounds", "schema", "promise"])
def test_a_release_is_charged_as_it_was_shown_or_not_at_all(tmp_path, change):
    curating = CuratorPage(Folder(tmp_path))
    (tmp_path / "t.csv").write_text("age,name\n" + "30,x\n" * 50)
    shown = {
        "ceiling": "3",
        "neighbors": "replace",
        **NUMBERS,
        "statistics": [{"verb": "sum", "column": "age", "epsilon": "0.1"}],
    }
    state = curating.save("t.csv", curating.state("t.csv")["hash"], shown)
    now = {
        "price": {**shown, "statistics": [{**shown["statistics"][0], "epsilon": "1.5"}]},
        "statistic": {**shown, "statistics": [{**shown["statistics"][0], "verb": "std"}]},
        "bounds": {**shown, "columns": {"age": {"low": 0, "high": 900, "type": "number"}}},
        "schema": {**shown, "columns": {**NUMBERS["columns"], "name": {"type": "number"}}},
        "promise": {**shown, "neighbors": "add_remove"},
    }[change]
    curating.save("t.csv", state["hash"], now)
    with pytest.raises(ConflictError, match="Nothing was done") as refusal:
        curating.release("t.csv", 0, state["statistics"][0]["hash"])
    assert not (tmp_path / "t-budget.db").exists()
    again = curating.release("t.csv", 0, refusal.value.current_state["statistics"][0]["hash"])
    assert again["ledger"]["spent"] == pytest.approx(float(now["statistics"][0]["epsilon"]))


def test_a_collection_that_has_changed_is_not_opened_or_closed(tmp_path):
    """The studio rejects an action on a survey that has changed since it was shown."""
    actions = Actions(Folder(tmp_path))
    actions.surveys.new("a.toml", "class")
    shown = actions.fieldwork.state("a.toml")["hash"]
    with contextlib.closing(open_store(f"sqlite:///{tmp_path / 'a.db'}")) as store:
        store.create(Survey.load(tmp_path / "a.toml"))
        store.set_state(State.OPEN)
    actions_on_it = {"open": {}, "change": {"which": "real", "verb": "close"}, "invite": {"count": 2}}
    actions_on_it |= {"station": {"count": 2}, "rehearse": {"people": 10}}
    for action, arguments in actions_on_it.items():
        assert actions.run(action, {"file": "a.toml", "hash": shown, **arguments}).status == 409
    opened = actions.fieldwork.state("a.toml")
    closed = actions.run("change", {"file": "a.toml", "which": "real", "verb": "close", "hash": opened["hash"]})
    assert (closed.status, json.loads(closed.body)["real"]["state"]) == (200, "closed")


def test_an_error_of_the_studio_itself_quotes_nothing(monkeypatch, window, caplog):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(Actions, "run", broken)
    status, answer = window.api("files")
    assert status == 500
    assert "secret" not in json.dumps(answer)
    assert ("toolkit.studio", "ZeroDivisionError") in [(one.name, one.getMessage()) for one in caplog.records]


def test_every_sentence_of_the_studio_is_there_in_german():
    """What is written t("…"), all words in tables that are passed to it, and designs; gaps are the same in both."""
    german = json.loads((STATIC / "de.json").read_text(encoding="utf-8"))
    families = [family for designs in offered_designs().values() for family in designs.values()]
    words = {family[part] for family in families for part in ("title", "description")}
    for path in STATIC.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        words |= set(re.findall(r'\bt\(\s*"((?:[^"\\]|\\.)*)"', text))
        for table in re.findall(rf"const (?:{TABLES}) = (.*?);\n", text, re.DOTALL):
            words |= {one for one in re.findall(r'"([^"]*)"', table) if one[:1].isupper() or " " in one}
    assert len(words) > 250
    assert sorted(words - set(german)) == []
    for english, said in german.items():
        assert set(re.findall(r"\{\w+\}", english)) == set(re.findall(r"\{\w+\}", said)), english
