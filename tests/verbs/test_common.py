import pytest

from tests.verbs.shell import said


@pytest.mark.slow
def test_the_database_may_come_from_the_environment(folder, capsys, monkeypatch):
    monkeypatch.setenv("TOOLKIT_DATABASE", f"sqlite:///{folder / 'survey.db'}")
    said(capsys, "serve", "exams.toml")
    monkeypatch.chdir("/")
    assert said(capsys, "status").startswith("open: 0 reports")
    assert said(capsys, "close").startswith("closed: 0 reports")
