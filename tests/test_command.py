import numpy as np
import pandas as pd
import pytest

from tests.survey.samples import survey
from toolkit.command import main
from toolkit.survey.background import running
from toolkit.survey.collector import Collector
from toolkit.survey.rehearsal import rehearse


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    survey().save(tmp_path / "exams.toml")
    yield tmp_path
    server = running(f"sqlite:///{tmp_path / 'survey.db'}")
    if server is not None:
        server.stop()


def said(capsys, *arguments):
    assert main(arguments) == 0
    return capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_a_survey_from_file_to_results_in_the_shell(capsys):
    started = said(capsys, "serve", "exams.toml")
    url = Collector.attach("sqlite:///survey.db").url
    assert url in started.splitlines()
    assert "Anybody with the link may answer." in started
    assert said(capsys, "results") == "There is no report yet to estimate from.\n"
    answers = pd.DataFrame({"faculty": ["arts", "law"] * 20, "cheated": ["yes", "no"] * 20})
    assert rehearse(survey(), url, answers, np.random.default_rng(1)) == 40
    assert said(capsys, "status") == f"open: 40 reports; served at {url}\n"
    assert said(capsys, "pause").startswith("paused: 40 reports")
    assert said(capsys, "resume").startswith("open: 40 reports")
    assert said(capsys, "results", "--by", "faculty").count("\n cheated ") == 2  # rows; notes begin at the margin
    assert said(capsys, "export", "out.csv") == "wrote out.csv\n"
    assert len(pd.read_csv("out.csv")) == 40
    assert said(capsys, "close") == "closed: 40 reports; no server is running on this machine\n"
    assert main(["serve", "exams.toml"]) == 2
    assert "closing is final" in capsys.readouterr().err


def test_check_prints_what_people_agree_to_or_what_is_wrong(folder, capsys):
    told = said(capsys, "check", "exams.toml")
    assert survey().hash in told
    assert survey().consent_text() in told
    (folder / "bad.toml").write_text('title = "x"\nconsent = "y"\nquotas = 3\n')
    assert main(["check", "bad.toml"]) == 2
    assert "bad.toml" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_missing_file_or_database_is_an_error_and_no_traceback(capsys):
    assert main(["check", "none.toml"]) == 2
    assert main(["status", "--database", "sqlite:///none.db"]) == 2
    assert main(["results", "--database", "mysql://x"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 3
    assert "Traceback" not in shown


def test_plan_solves_for_what_is_left_out(capsys):
    told = said(capsys, "plan", "warner", "--prevalence", "0.2", "--margin", "0.03", "--epsilon", "1", "--response", "0.5")
    assert "4,613 people" in told
    assert "invite 9,226 people" in told
    assert main(["plan", "_hidden", "--prevalence", "0.2"]) == 2


def test_invitations_are_printed_once_each(folder, capsys):
    survey(access="token").save(folder / "exams.toml")
    said(capsys, "serve", "exams.toml")
    links = said(capsys, "invite", "3").split()
    assert len(set(links)) == 3
    assert all("#t=" in link for link in links)


def test_paper_writes_a_form(folder, capsys):
    assert said(capsys, "paper", "exams.toml", "form.html") == "wrote form.html\n"
    assert "Have you ever cheated" in (folder / "form.html").read_text()


def test_without_a_verb_the_verbs_are_listed(capsys):
    assert main([]) == 2
    told = capsys.readouterr().out
    assert [verb for verb in ("serve", "status", "close", "results", "export", "plan", "paper") if verb not in told] == []
