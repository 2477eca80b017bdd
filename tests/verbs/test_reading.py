import numpy as np
import pandas as pd
import pytest

from tests.survey.samples import survey
from tests.verbs.shell import said
from toolkit.command import main
from toolkit.survey.collector import Collector
from toolkit.survey.rehearsal import rehearse


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
    assert said(capsys, "close") == "closed: 40 reports; no server that you started is running on this machine\n"
    assert main(["serve", "exams.toml"]) == 2
    assert "closing is final" in capsys.readouterr().err
