import pytest

from tests.survey.samples import survey
from toolkit.survey.serving.background import find_server


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    survey().save(tmp_path / "exams.toml")
    yield tmp_path
    server = find_server(f"sqlite:///{tmp_path / 'survey.db'}")
    if server is not None:
        server.stop()
