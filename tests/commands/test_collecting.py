import sqlite3
from contextlib import closing

import pytest

from tests.commands.shell import said
from tests.survey.respondents import free_port
from tests.survey.samples import SAID, cheated, panel, survey
from tests.survey.storage.test_schema import fill_sqlite
from toolkit import collect, forced
from toolkit.command import main
from toolkit.commands.collecting import PROBLEMS_FOUND, _hash_lines
from toolkit.survey.serving import background, doctor
from toolkit.survey.serving.access import token_hash
from toolkit.survey.serving.background import find_server
from toolkit.survey.serving.station import KEY_SETTING, StationKey, station_tokens
from toolkit.survey.storage import State, open_store


@pytest.mark.slow
def test_status_lists_what_else_runs(folder, capsys):
    said(capsys, "serve", "exams.toml")
    said(capsys, "serve", "exams.toml", "--database", "sqlite:///other.db")
    other = find_server(f"sqlite:///{folder / 'other.db'}")
    assert said(capsys, "status").splitlines()[1:] == [f"also running: {other.url} (process {other.pid})"]
    said(capsys, "close", "--database", "sqlite:///other.db")
    assert len(said(capsys, "status").splitlines()) == 1


def test_no_hashes_are_printed_if_the_server_has_ended(monkeypatch):
    """A server may end before the command has printed its address."""
    monkeypatch.setattr(background, "find_server", lambda _: None)
    assert _hash_lines("sqlite:///exams.db") == []


@pytest.mark.slow
def test_invitations_are_printed_once_each(folder, capsys):
    survey(access="token").save(folder / "exams.toml")
    said(capsys, "serve", "exams.toml")
    links = said(capsys, "invite", "3").split()
    assert len(set(links)) == 3
    assert all("#t=" in link for link in links)


def make_of_another_version(path):
    """As if the collection had been made by toolkit 0.0.1, with another file of the page."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE edition SET hash = ?, toolkit = '0.0.1'", ("0" * 64,))
        database.commit()


@pytest.mark.slow
def test_every_command_names_a_collection_of_another_version(folder, capsys):
    """The collection goes on once it has been amended."""
    said(capsys, "serve", "exams.toml")
    make_of_another_version(folder / "survey.db")
    assert main(["serve", "exams.toml"]) == 2
    told = capsys.readouterr().err
    assert (
        "for 000000000000 of toolkit 0.0.1: use toolkit 0.0.1 as it was then, or amend the collection "
        "(toolkit serve --amend)" in told
    )
    for verb in ("status", "pause", "resume"):
        assert main([verb]) == 0
        assert "This version of the toolkit generates a different page from the collection's" in capsys.readouterr().err
    before = find_server(f"sqlite:///{folder / 'survey.db'}")
    said(capsys, "serve", "exams.toml", "--amend")
    after = find_server(f"sqlite:///{folder / 'survey.db'}")
    assert (after.url, after.pid != before.pid) == (before.url, True)
    assert main(["status"]) == 0
    assert capsys.readouterr().err == ""
    said(capsys, "serve", "exams.toml")


@pytest.mark.slow
def test_another_question_is_no_amendment(folder, capsys):
    said(capsys, "serve", "exams.toml")
    survey(cheated()).save(folder / "exams.toml")
    assert main(["serve", "exams.toml", "--amend"]) == 2
    assert (
        "may differ only in title, consent, words, closes, protection and in the toolkit's texts and files, got a "
        "different 'questions'" in capsys.readouterr().err
    )


@pytest.mark.slow
def test_an_older_collection_is_migrated_by_a_verb(folder, capsys):
    fill_sqlite(folder / "survey.db", "token")
    assert main(["status"]) == 2
    assert "got the older version 1: stop its servers, copy the database" in capsys.readouterr().err
    assert said(capsys, "migrate") == "version 1 of the tables was migrated to version 2\n"
    assert said(capsys, "migrate") == "version 2 of the tables, which is current\n"
    assert said(capsys, "status").startswith("open: 1 report")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_collections_are_merged_by_a_verb(capsys):
    for name in ("north", "south"):
        where = ("--database", f"sqlite:///{name}.db")
        said(capsys, "open", "exams.toml", *where)
        said(capsys, "close", *where)
    merged = ("merge", "sqlite:///north.db", "sqlite:///south.db", "--database", "sqlite:///all.db")
    assert said(capsys, *merged) == "0 reports were merged; 0 of them were in two collections and are included once.\n"
    assert said(capsys, "status", "--database", "sqlite:///all.db").startswith("closed: 0 reports")
    assert main([*merged]) == 2
    assert "the target of a merge must be a new collection, got closed" in capsys.readouterr().err


@pytest.mark.slow
def test_a_collection_can_be_opened_without_a_server_and_served_later(folder, capsys):
    address = ("--public-url", "https://survey.example.org/exams/")
    assert main(["open", "exams.toml", *address]) == 2
    assert "served beyond this machine must state controller" in capsys.readouterr().err
    survey(**SAID).save("exams.toml")
    told = said(capsys, "open", "exams.toml", *address)
    assert told == (
        "open: 0 reports (0 of them disclosed so far, in steps); "
        "no server that you started is running on this machine\n"
    )
    assert find_server(f"sqlite:///{folder / 'survey.db'}") is None
    assert "https://survey.example.org/exams/" in said(capsys, "serve", "exams.toml").splitlines()
    assert find_server(f"sqlite:///{folder / 'survey.db'}") is not None


@pytest.mark.slow
def test_opening_a_collection_with_blind_tokens_names_its_key_file(folder, capsys):
    """The message says that every server needs the key."""
    survey(access="blind").save(folder / "exams.toml")
    assert f"is in {folder / 'issuer-key.pem'}. Every server needs it" in said(capsys, "open", "exams.toml")


@pytest.mark.slow
def test_the_next_wave_is_opened_with_the_links_of_the_one_before(folder, capsys):
    for wave in (1, 2):
        panel(wave=wave, access="token").save(folder / f"wave{wave}.toml")
    said(capsys, "open", "wave1.toml", "--database", "sqlite:///1.db")
    said(capsys, "open", "wave2.toml", "--database", "sqlite:///2.db", "--previous-wave", "sqlite:///1.db")
    assert main(["open", "wave1.toml", "--database", "sqlite:///3.db", "--previous-wave", "sqlite:///1.db"]) == 2
    assert "the wave after wave 1 must be number 2, got number 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "verb",
    [["status"], ["results"], ["export", "out.csv"], ["close"], ["invite", "3"], ["pause"], ["resume"], ["delete"]],
)
def test_without_a_database_it_is_said_which_is_missing_and_what_runs_here(folder, capsys, verb, monkeypatch):
    running = background.Server("http://127.0.0.1:8123/", 8123, 4711, "0" * 64, folder / "state")
    monkeypatch.setattr(background, "list_servers", lambda: [running])
    for name in "gfedcba":
        (folder / f"{name}.db").touch()
    assert main(verb) == 2
    told = capsys.readouterr().err
    assert f"toolkit {verb[0]}: there must be a collection in the database, got no file 'survey.db'" in told
    assert "this folder has a.db, b.db, c.db, d.db, e.db. Choose another" in told
    assert (
        "Choose another with --database. Servers running on this machine: http://127.0.0.1:8123/ (process 4711)."
        in told
    )
    assert not (folder / "survey.db").exists()


@pytest.mark.slow
def test_a_rehearsal_never_takes_the_database_of_the_real_collection(folder, capsys, monkeypatch):
    monkeypatch.setenv("TOOLKIT_DATABASE", f"sqlite:///{folder / 'real.db'}")
    started = said(capsys, "serve", "exams.toml", "--rehearsal")
    try:
        assert f"with --database sqlite:///{folder / 'rehearsal.db'}." in started
        assert sorted(path.name for path in folder.glob("*.db")) == ["rehearsal.db"]
        assert main(["serve", "exams.toml", "--database", "sqlite:///rehearsal.db"]) == 2
        told = capsys.readouterr().err
        assert "separate databases, got the real survey in the database of a rehearsal" in told
        assert "close and delete the rehearsal" in told
    finally:
        said(capsys, "close", "--database", "sqlite:///rehearsal.db")
    said(capsys, "open", "exams.toml")
    assert main(["serve", "exams.toml", "--rehearsal", "--database", f"sqlite:///{folder / 'real.db'}"]) == 2
    told = capsys.readouterr().err
    assert "got a rehearsal in the database of real reports" in told
    assert told.endswith("The rehearsal was not started.\n")


def test_the_next_wave_while_the_one_before_runs_is_told_so(folder, capsys, monkeypatch):
    panel().save("first.toml")
    panel(wave=2).save("second.toml")
    said(capsys, "open", "first.toml", "--database", "sqlite:///1.db")
    running = background.Server("http://127.0.0.1:8123/", 8123, 4711, "0" * 64, folder / "state")
    monkeypatch.setattr(background, "find_server", lambda url: running if url.endswith("1.db") else None)
    again = ["--database", "sqlite:///2.db", "--previous-wave", "sqlite:///1.db"]
    assert main(["serve", "second.toml", *again]) == 2
    told = capsys.readouterr().err
    assert "the previous wave must have no server when the next one starts, got one that is running at http" in told
    assert not (folder / "2.db").exists()


@pytest.mark.slow
def test_closing_ends_the_server_and_mentions_one_on_another_machine(folder, capsys):
    """A server is also found through a symbolic link; without one, another may still run elsewhere."""
    said(capsys, "serve", "exams.toml")
    (folder / "link.db").symlink_to(folder / "survey.db")
    told = said(capsys, "close", "--database", "sqlite:///link.db")
    assert told.startswith("closed: 0 reports")
    assert "may still run" not in told
    assert find_server(f"sqlite:///{folder / 'survey.db'}") is None
    said(capsys, "open", "exams.toml", "--database", "sqlite:///other.db")
    told = said(capsys, "close", "--database", "sqlite:///other.db")
    assert "A server that another account or machine runs accepts no more" in told


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_links_are_rejected_with_the_reason(capsys):
    """The reasons are access without links, and a collection that is closed."""
    said(capsys, "open", "exams.toml")
    assert main(["results", "--by", "nothing"]) == 2
    assert "toolkit results: the question must be one of faculty, cheated, got 'nothing'" in capsys.readouterr().err
    assert main(["invite", "3"]) == 2
    assert "single-use links need access by token or blind, got open" in capsys.readouterr().err
    survey(access="token").save("links.toml")
    said(capsys, "open", "links.toml", "--database", "sqlite:///links.db")
    said(capsys, "close", "--database", "sqlite:///links.db")
    assert main(["invite", "3", "--database", "sqlite:///links.db"]) == 2
    assert "invitations need a collection that is not closed, got closed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "works"),
    [("https://s.example/", True), ("http://127.0.0.1:8/", True), ("http://localhost/", True), ("http://s/", False)],
)
def test_a_station_gets_a_link_with_a_warning_where_no_device_can_open_it(folder, capsys, address, works):
    """The link is a secret with a number of uses."""
    coin = {"mode": "guided", "design": forced("1/6", "1/6")}
    survey(cheated(**coin), access="token", field={"station": "kiosk"}, **SAID).save(folder / "kiosk.toml")
    said(capsys, "open", "kiosk.toml", "--public-url", address)
    told = said(capsys, "station", "new", "1200").splitlines()
    secret, uses = told[0].removeprefix(f"{address}station#s=").split(".")
    with closing(open_store("sqlite:///survey.db")) as store:
        assert store.invitation_hashes() == sorted(map(token_hash, station_tokens(secret, int(uses))))
    assert uses == "1200"
    assert told[2].startswith("For one device and 1,200 people.")
    assert ["this address will not work on another device" in line for line in told[3:]] == [True] * (not works)


def test_closing_asks_while_uses_of_stations_are_missing(folder, capsys):
    """The key remains until the uses have been returned or given up."""
    coin = {"mode": "guided", "design": forced("1/6", "1/6")}
    survey(cheated(**coin), access="token", field={"station": "kiosk"}, **SAID).save(folder / "kiosk.toml")
    said(capsys, "open", "kiosk.toml", "--public-url", "https://s.example/")
    secret, uses = said(capsys, "station", "new", "7").splitlines()[0].partition("#s=")[2].split(".")
    hashes = list(map(token_hash, station_tokens(secret, int(uses))))
    with closing(open_store("sqlite:///survey.db")) as store:
        key = StationKey.load_or_create(store)
        store.return_uses(hashes[:2])
        assert "neither spent nor returned: 5\n" in said(capsys, "status")
        assert main(["close"]) == 2
        assert (
            "got 5 outstanding uses: reports that wait on tablets could never be decrypted." in capsys.readouterr().err
        )
        assert (store.state(), StationKey.load_or_create(store)) == (State.OPEN, key)
        store.return_uses(hashes[2:-1])
        assert main(["close"]) == 2
        assert "got 1 outstanding use" in capsys.readouterr().err
        assert said(capsys, "close", "--anyway").startswith("closed: 0 reports")
        assert store.get_setting(KEY_SETTING) is None
        assert said(capsys, "close").startswith("closed: 0 reports")


@pytest.mark.usefixtures("folder")
def test_a_survey_file_that_is_not_there_is_said_with_those_that_are(capsys):
    assert main(["serve", "no.toml"]) == 2
    assert "a survey's file must exist, got no file 'no.toml' in '.': this folder has exams.toml" in (
        capsys.readouterr().err
    )
    with pytest.raises(FileNotFoundError, match=r"this folder has exams\.toml"):
        collect("no.toml")


@pytest.mark.slow
def test_the_database_may_come_from_the_environment(folder, capsys, monkeypatch):
    monkeypatch.setenv("TOOLKIT_DATABASE", f"sqlite:///{folder / 'survey.db'}")
    said(capsys, "serve", "exams.toml")
    monkeypatch.chdir("/")
    assert said(capsys, "status").startswith("open: 0 reports")
    assert said(capsys, "close").startswith("closed: 0 reports")


@pytest.mark.parametrize(("problems", "code"), [([], 0), ([""], 0), (["", "Mend it", "And it"], 1)])
def test_the_doctor_says_all_that_was_seen_and_what_cannot_be(capsys, monkeypatch, problems, code):
    seen = [doctor.Finding("well", remedy, check_name=f"part {number}") for number, remedy in enumerate(problems)]
    monkeypatch.setattr(doctor, "examine", lambda _: iter(seen))
    assert main(["doctor", "https://survey.example/"]) == code
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines == [str(one) for one in seen]
    assert last.startswith("This cannot be checked from here")


def test_the_doctor_ends_with_a_code_for_scripts_and_silence_is_said(capsys):
    assert main(["doctor", f"http://127.0.0.1:{free_port()}/"]) == PROBLEMS_FOUND == 1
    seen = capsys.readouterr().out
    assert seen.startswith("FAIL TLS: none")
    assert "address: no answer (ConnectionRefusedError)" in seen
    assert main(["doctor", "survey.example.org"]) == 2
    assert "must begin with https://" in capsys.readouterr().err
