import json
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from tests.commands.shell import said
from tests.survey.samples import survey
from toolkit.command import main
from toolkit.survey import read_reports
from toolkit.survey.client import code_hash
from toolkit.survey.collector import Collector
from toolkit.survey.rehearsal import rehearse
from toolkit.survey.storage import NewReport, State, open_store


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_survey_from_file_to_results_in_the_shell(capsys, monkeypatch):
    started = said(capsys, "serve", "exams.toml", "--rehearsal")
    monkeypatch.setenv("TOOLKIT_DATABASE", "sqlite:///rehearsal.db")
    url = Collector.attach("sqlite:///rehearsal.db").url
    assert url in started.splitlines()
    assert "Anybody with the link may answer." in started
    shown = {"survey": Collector.attach("sqlite:///rehearsal.db").survey.hash, "program": code_hash()}  # as on receipts
    assert all(f"{name:<7} {number}" in started.splitlines() for name, number in shown.items())
    assert "No results can be shown yet." in said(capsys, "results").splitlines()
    answers = pd.DataFrame({"faculty": ["arts", "law"] * 20, "cheated": ["yes", "no"] * 20})
    assert rehearse(survey(), url, answers, np.random.default_rng(1)) == 40
    assert (
        said(capsys, "status")
        == f"rehearsal, open: 40 reports (40 of them disclosed so far, in steps); served at {url}\n"
    )
    assert said(capsys, "pause").startswith("rehearsal, paused: 40 reports")
    assert said(capsys, "resume").startswith("rehearsal, open: 40 reports")
    assert "30 reports on" not in said(capsys, "results", "--method", "mle")
    by_group = said(capsys, "results", "--by", "faculty")
    assert by_group.startswith("REHEARSAL: Exams\nNo results can be shown yet.\n")
    assert "2 of 2 estimates are not shown, as fewer than 30 people answered" in by_group
    assert said(capsys, "results", "--by", "faculty", "--minimum", "20").count("\n cheated ") == 2
    assert said(capsys, "export", "out.csv").startswith("wrote out.csv\nThis is a rehearsal")
    assert len(pd.read_csv("out.csv")) == 40
    closed = said(capsys, "close")
    assert closed == "rehearsal, closed: 40 reports; no server that you started is running on this machine\n"
    assert "\n cheated " not in said(capsys, "results", "--by", "faculty")  # rows; notes begin at the margin
    asked_for = said(capsys, "results", "--by", "faculty", "--minimum", "1")
    assert asked_for.count("\n cheated ") == 2
    assert "Shown for 1 or more people, as requested; the survey's minimum is 30." in asked_for
    assert main(["serve", "exams.toml", "--rehearsal"]) == 2
    assert "closing is final" in capsys.readouterr().err


@pytest.mark.slow
def test_a_closed_collection_is_reported_and_exported_with_labels(folder, capsys, monkeypatch):
    monkeypatch.setenv("TOOLKIT_DATABASE", "sqlite:///mine.db")
    store = open_store("sqlite:///mine.db")
    store.create(survey())
    store.set_state(State.OPEN)
    body = '{"answers":{"faculty":0,"cheated":%d},"understood":true}'
    store.add([NewReport(bytes([i]) * 16, body % (i % 2)) for i in range(40)])
    assert main(["report", "r.html"]) == 2
    assert "a report needs a closed collection" in capsys.readouterr().err
    store.set_state(State.CLOSED)
    store.close()
    (folder / "plan.toml").write_text(
        'n = 40\nstopping = "x"\nexclusions = "x"\nmissing = "x"\nquestions = ["cheated"]\n'
    )
    said(capsys, "register", "exams.toml", "plan.toml")
    assert said(capsys, "report", "r.html", "--registration", "prereg.md") == "wrote r.html\n"
    assert "This is registered." in (folder / "r.html").read_text()
    texts = [(folder / said(capsys, "report", "r.md", *by)[6:-1]).read_text() for by in ((), ("--by", "faculty"))]
    assert ["| faculty | answer |" in text for text in texts] == [False, True]
    said(capsys, "report", "r.md", "--method", "mle")
    assert ["unbiased" in text for text in (texts[0], (folder / "r.md").read_text())] == [True, False]
    assert "exploratory" in said(capsys, "results", "--registration", "prereg.md")
    assert said(capsys, "export", "r.sav", "--language", "en").startswith("wrote r.sav\n")
    assert list(read_reports("r.sav")["cheated"]) == list(Collector.attach("sqlite:///mine.db").reports()["cheated"])


def _json(capsys, *arguments):
    return json.loads(said(capsys, *arguments, "--json"))


@pytest.mark.usefixtures("folder")
def test_status_and_results_print_json(capsys, monkeypatch):
    """Estimates have the keys of `Results.to_frame`, and a number that is not known is null."""
    monkeypatch.setenv("TOOLKIT_DATABASE", "sqlite:///mine.db")
    with closing(open_store("sqlite:///mine.db")) as store:
        store.create(survey(closes="2999-12-31"))
        store.set_state(State.OPEN)
        body = '{"answers":{"faculty":0,"cheated":%d},"understood":true}'
        store.add([NewReport(bytes([i]) * 16, body % (i % 2)) for i in range(40)])
        store.set_state(State.CLOSED)
    status = _json(capsys, "status")
    expected = {"title": "Exams", "rehearsal": False, "closes": "2999-12-31", "state": "closed", "n_stored": 40}
    assert status | expected == status
    assert (status["url"], status["log"], status["is_serving"]) == (None, [], False)
    results, frame = _json(capsys, "results"), Collector.attach("sqlite:///mine.db").results().to_frame()
    assert (results["title"], results["by"], results["minimum"]) == ("Exams", [], 30)
    assert [list(row) for row in results["estimates"]] == [list(frame.columns)] * len(frame)
    for row, numbers in zip(results["estimates"], frame.to_dict("records"), strict=True):
        assert row["estimate"] == numbers["estimate"]
        assert [name for name, value in row.items() if value is None] == [
            name for name, value in numbers.items() if value is None or value != value
        ]
    assert _json(capsys, "results", "--by", "faculty", "--minimum", "50")["estimates"] == []
