import sqlite3
from contextlib import closing

import pytest

from tests.survey.samples import SAID, cheated, panel, survey
from tests.survey.storage.test_schema import fill_sqlite
from tests.verbs.shell import said
from toolkit.command import main
from toolkit.survey.background import find


@pytest.mark.slow
def test_status_lists_what_else_runs(folder, capsys):
    said(capsys, "serve", "exams.toml")
    said(capsys, "serve", "exams.toml", "--database", "sqlite:///other.db")
    other = find(f"sqlite:///{folder / 'other.db'}")
    assert said(capsys, "status").splitlines()[1:] == [f"also running: {other.url} (process {other.pid})"]
    said(capsys, "close", "--database", "sqlite:///other.db")
    assert len(said(capsys, "status").splitlines()) == 1


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
def test_a_collection_of_another_version_is_named_by_every_verb_and_goes_on_when_it_is_amended(
    folder, capsys
):
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
        assert "This code makes another page than the collection's" in capsys.readouterr().err
    before = find(f"sqlite:///{folder / 'survey.db'}")
    said(capsys, "serve", "exams.toml", "--amend")
    after = find(f"sqlite:///{folder / 'survey.db'}")
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
        "may differ in title, consent, words, closes and in the toolkit's own words and files, got others "
        "in questions" in capsys.readouterr().err
    )


def test_an_older_collection_is_migrated_by_a_verb(folder, capsys):
    fill_sqlite(folder / "survey.db", "token")
    assert main(["status"]) == 2
    assert "got the older version 1: stop its servers, copy the database" in capsys.readouterr().err
    assert said(capsys, "migrate") == "tables of version 1, now of version 2\n"
    assert said(capsys, "migrate") == "tables of version 2\n"
    assert said(capsys, "status").startswith("open: 1 report")


@pytest.mark.slow
def test_a_collection_can_be_opened_without_a_server_and_served_later(folder, capsys):
    address = ("--public-url", "https://survey.example.org/exams/")
    assert main(["open", "exams.toml", *address]) == 2
    assert "served beyond this machine must say controller" in capsys.readouterr().err
    survey(**SAID).save("exams.toml")
    told = said(capsys, "open", "exams.toml", *address)
    assert told == (
        "open: 0 reports (0 of them shown so far, in steps); no server that you started is running on this "
        "machine\n"
    )
    assert find(f"sqlite:///{folder / 'survey.db'}") is None
    assert "https://survey.example.org/exams/" in said(capsys, "serve", "exams.toml").splitlines()
    assert find(f"sqlite:///{folder / 'survey.db'}") is not None


@pytest.mark.slow
def test_whoever_opens_a_collection_with_blind_tokens_is_told_where_their_key_is(folder, capsys):
    survey(access="blind").save(folder / "exams.toml")
    assert f"is in {folder / 'issuer-key.pem'}: every server needs it" in said(capsys, "open", "exams.toml")


def test_the_next_wave_is_opened_with_the_links_of_the_one_before(folder, capsys):
    for wave in (1, 2):
        panel(wave=wave, access="token").save(folder / f"wave{wave}.toml")
    said(capsys, "open", "wave1.toml", "--database", "sqlite:///1.db")
    said(capsys, "open", "wave2.toml", "--database", "sqlite:///2.db", "--again", "sqlite:///1.db")
    assert main(["open", "wave1.toml", "--database", "sqlite:///3.db", "--again", "sqlite:///1.db"]) == 2
    assert "the wave after wave 1 must be number 2, got number 1" in capsys.readouterr().err
