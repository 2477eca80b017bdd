import gc
import inspect
import json
import os
import signal
import socket
import sqlite3
import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import httpx
import numpy as np
import pandas as pd
import pytest

from tests.survey.blinding import issuer_key
from tests.survey.samples import SAID, cheated, faculty, panel, survey
from toolkit.survey.collector import PORT_SETTING, Collector, _choose_port, collect, prepare
from toolkit.survey.rehearsal import rehearse
from toolkit.survey.results import estimate
from toolkit.survey.serving import background
from toolkit.survey.serving.background import CollectError, find_server, launch
from toolkit.survey.serving.options import ServeOptions
from toolkit.survey.storage import NewReport, Outcome, StoreError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for path in tmp_path.glob("*.db"):
        server = find_server(f"sqlite:///{path}")
        if server is not None:
            server.stop()


def people(count):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"faculty": rng.choice(["arts", "law"], count), "cheated": rng.choice(["no", "yes"], count, p=[0.7, 0.3])}
    )


def test_a_server_gets_its_options_and_keeps_its_port(folder, monkeypatch):
    """It is found again at its port."""
    asked = []
    server = background.Server("http://127.0.0.1:8123/", 8123, 4711, "0" * 64, folder / "state")
    monkeypatch.setattr(background, "launch", lambda database, options: asked.append((database, options)) or server)
    files = {"certificate": "c.pem", "private_key": "k.pem"}
    given = {"host": "127.0.0.2", "port": 7, **files, "prefix": "/s", "workers": 2}
    given["plain_http_beyond_this_machine"] = True
    collect(survey(**SAID), database="sqlite:///a.db", **given)
    collect(survey(**SAID), database="sqlite:///a.db")
    both = (ServeOptions(**given), ServeOptions(port=8123))
    assert asked == [(f"sqlite:///{folder / 'a.db'}", options) for options in both]


def test_collect_has_a_keyword_for_every_option_with_its_default():
    keywords = {name: parameter.default for name, parameter in inspect.signature(collect).parameters.items()}
    for name in ("survey", "database", "watch"):
        del keywords[name]
    assert keywords == asdict(ServeOptions())


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_a_collection_keeps_the_first_free_port_of_its_kind_of_address(host, family, monkeypatch):
    asked, kept = [], {}
    free = SimpleNamespace(getsockname=lambda: (host, 8123, 0, 0))
    monkeypatch.setattr(socket, "create_server", lambda *at, family: asked.append((*at, family)) or nullcontext(free))
    collector = SimpleNamespace(_store=SimpleNamespace(get_setting=kept.get), _store_setting=kept.__setitem__)
    assert [_choose_port(collector, host) for _ in range(2)] == [8123] * 2
    assert (asked, kept) == ([((host, 0), family)], {PORT_SETTING: "8123"})


@pytest.mark.walk
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_from_start_to_results(request, database):
    asked = survey(minimum=40)
    url = "sqlite:///campus.db" if database == "sqlite" else request.getfixturevalue("postgres").url()
    collector = collect(asked, database=url, rehearsal=True)
    assert collector.status().state == "open"
    assert collector.results().group_estimates == ()
    assert rehearse(asked, collector.url, people(60), np.random.default_rng(2)) == 60
    assert collector.status().n_stored == 60
    assert collector.results()["cheated"].n == 60
    assert sorted(collector.reports()["faculty"]) == sorted(people(60)["faculty"])
    closed = collector.close()
    assert (closed.state, closed.n_reports, closed.is_serving) == ("closed", 60, False)
    by = collector.results(by="faculty", minimum=1)
    assert by["cheated"]["law"].n == (people(60)["faculty"] == "law").sum()
    assert "Shown for 1 or more people, as requested; the survey's minimum is 40." in by.remarks
    assert collector.results(by="faculty").group_estimates == ()
    assert repr(collector) == "<Collector of 'REHEARSAL: Exams': closed, 60 reports>"


@pytest.mark.slow
def test_after_a_kernel_restart_the_same_call_finds_the_same_server(folder):
    first = collect(survey(), database="sqlite:///campus.db")
    second = collect(survey(), database="sqlite:///campus.db")
    attached = Collector.attach(f"sqlite:///{folder / 'campus.db'}")
    assert first.url == second.url == attached.url


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_forgotten_collector_leaves_no_connection(monkeypatch):
    """Connections are counted when they are opened, because later versions of Python warn about a connection that was
    not closed.
    """
    opened, connect = [], sqlite3.connect

    class Watched(sqlite3.Connection):
        closed = False

        def close(self):
            self.closed = True
            super().close()

    def watched(*given, **named):
        opened.append(connect(*given, factory=Watched, **named))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", watched)
    collector = collect(survey(), database="sqlite:///campus.db")
    with pytest.raises(ValueError, match="another"):
        collect(survey(faculty(), cheated(help="new words")), database="sqlite:///campus.db")
    assert sum(not connection.closed for connection in opened) == 1
    del collector
    gc.collect()
    assert len(opened) >= 3
    assert all(connection.closed for connection in opened)


@pytest.mark.slow
def test_from_another_folder_a_relative_database_is_another_one(folder):
    collect(survey(), database="sqlite:///campus.db")
    (folder / "elsewhere").mkdir()
    os.chdir(folder / "elsewhere")
    with pytest.raises(Exception, match="there must be a collection in the database"):
        Collector.attach("sqlite:///campus.db")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_another_survey_in_the_database_is_refused():
    """The message says what to do after a typo."""
    collect(survey(), database="sqlite:///campus.db")
    with pytest.raises(ValueError, match=r"another.*To correct a text of an open survey, close that collection"):
        collect(survey(faculty(), cheated(help="new words")), database="sqlite:///campus.db")


@pytest.mark.slow
def test_a_survey_can_be_collected_from_its_file(folder):
    survey().save(folder / "exams.toml")
    collector = collect("exams.toml")
    assert collector.survey == survey()
    assert (folder / "survey.db").exists()
    assert collect(folder / "exams.toml", database="sqlite:///survey.db").url == collector.url
    with pytest.raises(TypeError, match="`survey` must be a Survey, or the path of its file, got list"):
        collect([survey()])
    with pytest.raises(ValueError, match=r"must begin with sqlite:///.*got 'x.db': write sqlite:///x.db"):
        collect(survey(), database="x.db")


@pytest.mark.slow
def test_a_rehearsal_is_marked_everywhere(folder):
    """Page, view, results, exports and codebook work; invented people are rejected by a real collection, in Python and
    by its server.
    """
    asked = survey(minimum=20)
    tried, real = collect(asked, rehearsal=True), collect(asked)
    assert (folder / "rehearsal.db").exists()
    rehearse(asked, tried.url, people(60), np.random.default_rng(2))
    assert "<title>REHEARSAL: Exams</title>" in httpx.get(tried.url).text
    assert "REHEARSAL" not in httpx.get(real.url).text
    assert tried.results().notes()[0].startswith("This is a rehearsal")
    assert tried.reports()["REHEARSAL"].all()
    tried.export("tried.csv")
    assert pd.read_csv("tried.csv")["REHEARSAL"].all()
    assert json.loads((folder / "tried.codebook.json").read_text())["remarks"][0].startswith("This is a rehearsal")
    # If it is estimated later from the file with the real survey, it still says so.
    assert estimate(asked, pd.read_csv("tried.csv")).notes()[0].startswith("This is a rehearsal")
    with pytest.raises(ValueError, match="a rehearsal needs a separate collection, got a real collection"):
        rehearse(asked, real.url, people(3), np.random.default_rng(2))
    body = {"survey": tried.survey.hash, "key": "0" * 32, "answers": {"faculty": 0, "cheated": 0}, "understood": True}
    assert httpx.post(real.url + "report", json=body).status_code == 409
    assert real.status().n_stored == 0
    with pytest.raises(ValueError, match="another"):
        collect(asked, rehearsal=True, database="sqlite:///survey.db")


@pytest.mark.slow
def test_results_of_open_access_carry_a_caution(folder):
    """In an earlier version, five hundred reports came from one connection in seconds, and the results did not mention
    that this was possible.
    """
    caution = "whoever has the link can answer, and as often as they like; nothing in the reports would show it"
    anybody = collect(survey(), database="sqlite:///open.db")
    assert any(caution in note for note in anybody.results().notes())
    assert caution in anybody.results()._repr_html_()
    anybody.close()
    assert any(caution in note for note in anybody.results().notes())
    anybody.export("open.csv")
    assert caution in (folder / "open.codebook.json").read_text()
    invited = collect(survey(access="token"), database="sqlite:///token.db")
    assert not any(caution in note for note in invited.results().notes())


@pytest.mark.slow
def test_an_export_of_an_open_collection_holds_what_is_shown_and_says_so(folder):
    tried = collect(survey(minimum=20), rehearsal=True)
    rehearse(survey(minimum=20), tried.url, people(33), np.random.default_rng(2))
    with pytest.warns(UserWarning, match="Here are 30 of 33 reports; the next at 40"):
        assert tried.export("some.parquet") == Path("some.parquet")
    assert len(pd.read_parquet("some.parquet")) == 30
    assert "Here are 30 of 33 reports; the next at 40." in (folder / "some.codebook.json").read_text()
    tried.close()
    assert len(pd.read_csv(tried.export("all.csv"))) == 33


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_closed_collection_is_not_opened_again():
    collect(survey(), database="sqlite:///campus.db").close()
    with pytest.raises(CollectError, match="closing is final"):
        collect(survey(), database="sqlite:///campus.db")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_while_paused_phones_wait():
    """Afterwards their reports are accepted."""
    collector = collect(survey(), database="sqlite:///campus.db", rehearsal=True)
    collector.pause()
    assert rehearse(survey(), collector.url, people(3), np.random.default_rng(2)) == 0
    collector.resume()
    assert rehearse(survey(), collector.url, people(3), np.random.default_rng(2)) == 3


@pytest.mark.slow
def test_a_blind_survey_gets_a_key_of_its_own_which_is_kept(folder):
    collector = collect(survey(access="blind"), database="sqlite:///campus.db")
    assert (folder / "issuer-key.pem").stat().st_mode & 0o077 == 0
    page = httpx.get(collector.url).text
    key = (folder / "issuer-key.pem").read_bytes()
    collector.close()
    collect(survey(access="blind"), database="sqlite:///next.db")
    assert (folder / "issuer-key.pem").read_bytes() == key
    assert '"issuer"' in page


@pytest.mark.slow
def test_the_issuer_key_belongs_to_the_collection(folder, monkeypatch):
    """Another key would reject everybody who has a signed token, after their link was spent."""
    database = f"sqlite:///{folder / 'campus.db'}"
    first = collect(survey(access="blind"), database=database)
    page = httpx.get(first.url).text
    find_server(database).stop()
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert httpx.get(collect(survey(access="blind"), database=database).url).text == page
    assert list((folder / "elsewhere").iterdir()) == []
    find_server(database).stop()
    issuer_key().save(folder / "another.pem")
    with pytest.raises(ValueError, match="must be served with its first issuer's key"):
        collect(survey(access="blind"), database=database, issuer_key=folder / "another.pem")
    with pytest.raises(CollectError, match="must be served with its first issuer's key"):
        launch(database, ServeOptions(issuer_key=folder / "another.pem"))
    (folder / "issuer-key.pem").rename(folder / "moved.pem")
    with pytest.raises(ValueError, match="the issuer's key file must exist, got no file"):
        collect(survey(access="blind"), database=database)
    assert (
        httpx.get(collect(survey(access="blind"), database=database, issuer_key=folder / "moved.pem").url).text == page
    )


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_public_address_is_the_link():
    address = {"database": "sqlite:///campus.db", "public_url": "https://survey.example/"}
    with pytest.raises(ValueError, match="served beyond this machine must state controller"):
        collect(survey(), **address)
    collector = collect(survey(**SAID), **address)
    assert collector.url == collector.status().url == "https://survey.example/"
    assert Collector.attach("sqlite:///campus.db").url == "https://survey.example/"


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_collection_keeps_its_port_when_its_server_dies():
    """Links, QR codes and reports that wait on phones lead there."""
    collector = collect(survey(), database="sqlite:///campus.db")
    url, server = collector.url, find_server(collector.database)
    os.kill(server.pid, signal.SIGKILL)
    while find_server(collector.database) is not None:
        time.sleep(0.02)
    assert collect(survey(), database="sqlite:///campus.db").url == url
    assert find_server(collector.database).pid != server.pid


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_port_that_another_program_has_taken_is_said_with_the_remedy():
    collector = collect(survey(), database="sqlite:///campus.db")
    port = find_server(collector.database).port
    find_server(collector.database).stop()
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(
            CollectError, match=f"port {port} of 127.0.0.1 must be free and allowed, got .*in use: end the program"
        ):
            collect(survey(), database="sqlite:///campus.db")
        collect(survey(), database="sqlite:///campus.db", port=_free())
    assert find_server(collector.database).port != port


def _free():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_many_invitations_are_distinct():
    """Without an address none is stored."""
    collector = collect(survey(access="token"), database="sqlite:///campus.db")
    links = collector.invitations(20_000)
    assert len(set(links)) == 20_000
    find_server(collector.database).stop()
    with pytest.raises(CollectError, match="a link needs a running server"):
        collector.invitations(3)
    with sqlite3.connect("campus.db") as database:
        assert database.execute("SELECT count(*) FROM invited").fetchone() == (20_000,)
    database.close()


def test_an_unknown_option_is_refused_before_anything_is_made(folder):
    with pytest.raises(TypeError):
        collect(survey(), database="sqlite:///campus.db", hots="127.0.0.1")
    assert not (folder / "campus.db").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_next_wave_takes_over_links_and_port():
    """Do what the command `open` does, without servers."""
    first, _ = prepare(panel(access="token", minimum=1), "sqlite:///1.db")
    first._store_setting(PORT_SETTING, "8123")
    first._store.invite([bytes(32)])
    next_wave = panel(wave=2, access="token", minimum=1)
    second, _ = prepare(next_wave, "sqlite:///2.db", ServeOptions(previous_wave="sqlite:///1.db"))
    assert (second._store.invitation_hashes(), second._store.get_setting(PORT_SETTING)) == ([bytes(32)], "8123")
    assert second.survey.preview() != first.survey.preview()
    for collector in (first, second):
        body = json.dumps({"answers": {"cheated": 1, "faculty": 0}, "understood": True, "person": "a" * 32})
        collector._store.invite([bytes([1] * 32)])
        assert collector._store.add([NewReport(bytes(16), body, bytes([1] * 32))]) == [Outcome.STORED]
    first.close()
    assert not second.results().complete
    with pytest.raises(ValueError, match="both collections must be closed, got one that is not"):
        second.results().change(first.results(), "cheated")
    second.close()
    assert second.results().change(first.results(), "cheated").value == 0
    assert list(second.reports()["person"]) == ["a" * 32]


@pytest.mark.parametrize("options", [{"port": "eighty"}, {"port": 2**16}, {"port": True}, {"workers": "two"}])
def test_a_wrong_address_is_refused_in_words_before_anything_is_made(folder, options):
    """In an earlier version, the server's process printed the usage of a command that nobody had typed."""
    with pytest.raises((TypeError, ValueError), match="must be a whole number"):
        collect(survey(), database="sqlite:///1.db", **options)
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("folder")
def test_what_is_not_the_next_wave_makes_no_database(folder):
    prepare(panel(waves=4), "sqlite:///1.db")
    with pytest.raises(ValueError, match="the wave after wave 1 must be number 2, got number 3"):
        prepare(panel(waves=4, wave=3), "sqlite:///3.db", ServeOptions(previous_wave="sqlite:///1.db"))
    with pytest.raises(StoreError):
        prepare(panel(waves=4, wave=2), "sqlite:///2.db", ServeOptions(previous_wave="sqlite:///none.db"))
    assert sorted(path.name for path in folder.glob("*.db")) == ["1.db"]
