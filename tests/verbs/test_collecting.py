from tests.survey.samples import survey
from tests.verbs.shell import said
from toolkit.survey.background import find


def test_status_lists_what_else_runs(folder, capsys):
    said(capsys, "serve", "exams.toml")
    said(capsys, "serve", "exams.toml", "--database", "sqlite:///other.db")
    other = find(f"sqlite:///{folder / 'other.db'}")
    assert said(capsys, "status").splitlines()[1:] == [f"also running: {other.url} (process {other.pid})"]
    said(capsys, "close", "--database", "sqlite:///other.db")
    assert len(said(capsys, "status").splitlines()) == 1


def test_invitations_are_printed_once_each(folder, capsys):
    survey(access="token").save(folder / "exams.toml")
    said(capsys, "serve", "exams.toml")
    links = said(capsys, "invite", "3").split()
    assert len(set(links)) == 3
    assert all("#t=" in link for link in links)


def test_a_collection_can_be_opened_without_a_server_and_served_later(folder, capsys):
    told = said(capsys, "open", "exams.toml", "--public-url", "https://survey.example.org/exams/")
    assert told == "open: 0 reports; no server that you started is running on this machine\n"
    assert find(f"sqlite:///{folder / 'survey.db'}") is None
    assert "https://survey.example.org/exams/" in said(capsys, "serve", "exams.toml").splitlines()
    assert find(f"sqlite:///{folder / 'survey.db'}") is not None


def test_whoever_opens_a_collection_with_blind_tokens_is_told_where_their_key_is(folder, capsys):
    survey(access="blind").save(folder / "exams.toml")
    assert f"is in {folder / 'issuer-key.pem'}: every server needs it" in said(capsys, "open", "exams.toml")
