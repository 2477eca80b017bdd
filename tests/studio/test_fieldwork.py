"""The whole way without a browser: rehearse, open, answer, close, read, write; and the curator's half."""

import contextlib
import http.client
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import nbformat
import numpy as np
import pandas as pd
import pytest

from tests.survey.samples import cheated, faculty, panel, survey
from toolkit import Question, Survey
from toolkit.budget.ledger import Ledger
from toolkit.command import _build_parser, main
from toolkit.core.estimate import Estimate
from toolkit.studio import Studio
from toolkit.studio import server as studio_server
from toolkit.studio.curating import STATISTICS, CuratorPage, curator_call
from toolkit.studio.fieldwork import Fieldwork, _first_disclosure, _grouping_questions
from toolkit.studio.folder import Folder, fingerprint
from toolkit.studio.notebooks import analysis_notebook, code_by_screen, curator_notebook, database_names
from toolkit.studio.surveys import Surveys
from toolkit.studio.tables import TableFile
from toolkit.survey.collector import Collector
from toolkit.survey.rehearsal import report
from toolkit.survey.serving.background import find_server
from toolkit.survey.storage import State, open_store
from toolkit.survey.storage.stepwise_disclosure import first_disclosure_count


@pytest.fixture(scope="module")
def walked(window, folder):
    """A survey that was rehearsed and opened, with six reports, and closed."""
    text = 'title = "Six"\nconsent = "Why we ask."\nminimum = 5\nstep = 1\ncheck = false\n'
    text += '[[questions]]\nname = "faculty"\ntext = "Faculty?"\noptions = ["arts", "law"]\n'
    text += '[[questions]]\nname = "cheated"\ntext = "Cheated?"\n'
    (folder / "survey.toml").write_text(text + 'design = {warner = {p = "3/4"}}\n')
    tried = window.good("rehearse", file="survey.toml", people=60)
    opened = window.good("open", file="survey.toml")
    return {"tried": tried, "opened": opened}


@pytest.mark.slow
def test_a_rehearsal_has_results_and_is_made_anew_for_another_version(window, folder, walked):
    assert (walked["tried"]["stored"], walked["tried"]["rehearsal"]["reports"]) == (60, 60)
    assert find_server(f"sqlite:///{folder / 'rehearsal.db'}") is None, "invented people need a server no more"
    found = window.good("results", file="survey.toml", which="rehearsal", by="faculty")
    assert {row[0] for row in found["rows"]} == {"cheated"}
    assert found["texts"] == {"faculty": "Faculty?", "cheated": "Cheated?"}  # by which the page heads the rows
    assert found["svg"].lstrip().startswith("<?xml")
    assert any("rehearsal" in note for note in found["notes"])
    path = folder / "survey.toml"
    before = path.read_text()
    path.write_text(before.replace("Six", "Seven"))
    state = window.good("field", file="survey.toml")
    assert (state["rehearsal"]["current"], state["real"]["current"]) == (False, False)
    again = window.good("rehearse", file="survey.toml", people=20)
    assert (again["rehearsal"]["stored"], again["rehearsal"]["current"]) == (20, True)
    path.write_text(before)


@pytest.mark.slow
def test_an_opened_collection_is_available_to_the_shell_and_python(window, folder, walked):
    """Afterwards it can be closed for good."""
    rng = np.random.default_rng(1)
    real = walked["opened"]["real"]
    assert (real["state"], real["serving"], real["beyond"]) == ("open", True, False)
    collector = Collector.attach(f"sqlite:///{folder / 'survey.db'}")
    assert collector.url == real["url"]
    design = collector.survey["cheated"]
    for place in range(6):
        answers = {"faculty": place % 2, "cheated": report(design, "yes", rng)}
        body = {"survey": collector.survey.hash, "key": f"{place:032x}", "answers": answers, "understood": None}
        status, _, _ = _post(real["url"], body)
        assert status == 201
    assert window.good("change", file="survey.toml", which="real", verb="pause")["real"]["state"] == "paused"
    assert window.good("change", file="survey.toml", which="real", verb="resume")["real"]["stored"] == 6
    assert "closed" in window.api("write", file="survey.toml", document="report", ending=".html")[1]["error"]
    assert "open" in window.api("invite", file="survey.toml", count=3)[1]["error"]
    closed = window.good("change", file="survey.toml", which="real", verb="close")["real"]
    assert (closed["state"], closed["serving"], closed["reports"]) == ("closed", False, 6)
    results = window.good("results", file="survey.toml", which="real")
    assert (results["complete"], {row[0] for row in results["rows"]}) == (True, {"faculty", "cheated"})
    for what, ending, name in (
        ("report", ".html", "survey-report.html"),
        ("export", ".csv", "survey-reports.csv"),
        ("codebook", ".html", "survey-codebook.html"),
        ("notebook", "", "survey.ipynb"),
        ("assessment", "", "survey-assessment.html"),
    ):
        assert window.good("write", file="survey.toml", document=what, ending=ending)["file"] == name
        assert (folder / name).stat().st_size > 60
    whole, groups = (
        (folder / window.good("write", file="survey.toml", document="report", ending=".md", by=by)["file"]).read_text()
        for by in (None, "faculty")
    )
    assert ("not shown" in whole, "not shown" in groups) == (False, True)  # of three people each
    for what, ending in (("export", ".exe"), ("report", "/../x.html"), ("anything", "")):
        assert window.api("write", file="survey.toml", document=what, ending=ending)[0] == 422
    _runs(folder, json.loads((folder / "survey.ipynb").read_text()))


def _post(url, body):
    line = http.client.HTTPConnection(urlsplit(url).netloc)
    with contextlib.closing(line):
        line.request("POST", "/report", json.dumps(body), {"Content-Type": "application/json"})
        answer = line.getresponse()
        return answer.status, answer.read(), None


def _runs(folder, notebook):
    """All code of a notebook, as a kernel in its folder would run it."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            space = {}
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    exec(cell["source"], space)  # noqa: S102  our own notebook
    finally:
        os.chdir(before)
    return space


@pytest.mark.slow
@pytest.mark.usefixtures("walked")
def test_the_code_shown_for_each_step_does_what_the_studio_does(folder, window):
    """Both the lines of Python and the shell commands can be run."""
    data = window.good("survey", file="survey.toml")["data"]
    lines = code_by_screen("survey.toml", data)
    for name in ("questions", "protection", "who", "preview", "collect", "results", "analyse"):
        _runs(folder, {"cells": [{"cell_type": "code", "source": lines[name]["python"]}]})
    for step in lines.values():
        for line in step["shell"].splitlines():
            words = line.split()
            if words[0] == "toolkit":
                _build_parser().parse_args(words[1:])
    assert database_names("a.toml")["real"] in code_by_screen("a.toml", data)["open"]["shell"]
    assert b"rehearsal.db" in analysis_notebook("survey.toml", data, "rehearsal")


def test_answers_with_one_option_make_groups_and_boxes_to_tick_do_not(tmp_path):
    boxes = {"name": "boxes", "options": ["a", "b"], "multiple": True}
    one = {"name": "degree", "options": ["law", "art"]}
    data = {"questions": [boxes, {"name": "age"}, {"name": "cheated", "design": {"warner": {"epsilon": 1}}}, one]}
    assert "--by degree" in code_by_screen("survey.toml", data)["results"]["shell"]
    notebook = analysis_notebook("survey.toml", data)
    assert b"degree" in notebook
    assert b"boxes" not in notebook
    nbformat.validate(json.loads(notebook))
    begun = [cell["source"].splitlines()[0] for cell in json.loads(notebook)["cells"]]
    assert begun[:2] == ["# survey.toml", "from toolkit.survey import Collector"]
    (tmp_path / "a.csv").touch()
    source = TableFile(tmp_path / "a.csv", True, {})
    nbformat.validate(json.loads(curator_notebook(source, "replace", ["curator.count()"], "a-budget.db")))
    without = [data["questions"][:3], [boxes, one], []]
    assert b"logistic" in notebook
    for some in without:  # a model needs a group and a share
        assert b"logistic" not in analysis_notebook("survey.toml", {"questions": some})
    assert "--by" not in code_by_screen("survey.toml", {"questions": without[0]})["results"]["shell"]


@pytest.mark.slow
def test_links_for_people_work_once_and_are_kept_nowhere(window, folder):
    text = 'title = "Token"\nconsent = "Why."\naccess = "token"\n[[questions]]\nname = "a"\ntext = "A?"\n'
    (folder / "token.toml").write_text(text + "design = {warner = {epsilon = 1}}\n")
    window.good("open", file="token.toml")
    links = window.good("invite", file="token.toml", count=3)["links"]
    assert len(set(links)) == 3
    assert "at most 100,000" in window.api("invite", file="token.toml", count=100_001)[1]["error"]
    token = links[0].partition("#t=")[2]
    assert not any(token.encode() in path.read_bytes() for path in folder.iterdir() if path.is_file())
    for reach, why in (
        ({"host": "0.0.0.0"}, "served beyond this machine must state controller"),  # noqa: S104
        ({"certificate": "../cert.pem"}, "must consist of letters"),
        ({"private_key": "../key.pem", "host": ""}, "must consist of letters"),
        ({"command": "x"}, "`network` must have only the fields host, public_url, "),
    ):
        status, answer = window.api("open", file="token.toml", network=reach)
        assert (status, why in answer["error"]) == (422, True)
    window.good("change", file="token.toml", which="real", verb="close")


@pytest.mark.slow
def test_a_station_gets_a_link_for_so_many_people(window, folder):
    text = 'title = "Station"\nconsent = "Why."\naccess = "token"\nfield = {station = "kiosk"}\n'
    text += '[[questions]]\nname = "a"\ntext = "A?"\nmode = "guided"\ndesign = {forced = {yes = "1/6", no = "1/6"}}\n'
    (folder / "station.toml").write_text(text)
    real = window.good("open", file="station.toml")["real"]
    assert (real["station"], real["first"]) == (True, 40)
    made = window.good("station", file="station.toml", count=20)
    assert made["url"].startswith(f"{real['url']}station#")
    assert made["url"].endswith(".20")
    assert made["beyond"] is False
    assert window.api("station", file="station.toml", count=0)[0] == 422
    assert window.api("station", file="token.toml", count=5)[0] == 422
    assert window.good("field", file="station.toml")["real"]["uses_out"] == 20
    status, answer = window.api("change", file="station.toml", which="real", verb="close")
    assert (status, "got 20 outstanding uses" in answer["error"]) == (422, True)
    closed = window.good("change", file="station.toml", which="real", verb="close", anyway=True)["real"]
    assert (closed["state"], closed["uses_out"]) == ("closed", 0)


@pytest.mark.slow
def test_nothing_of_a_table_is_told_before_it_is_paid_for(window, folder):
    rows = [
        {"age": 20 + place % 50, "city": ("north", "south")[place % 2], "name": f"Secret{place}"}
        for place in range(400)
    ]
    pd.DataFrame(rows).to_csv(folder / "people.csv", index=False)
    state = window.good("table", table="people.csv")
    session = state["session"]
    assert (state["header"], state["columns"]) == (None, [])  # the first line might be a record
    session["header"] = True
    session["columns"] = {
        "age": {"low": 0, "high": 100, "type": "number"},
        "city": {"options": ["north", "south"], "low": 0, "high": 1},
    }
    verbs = [
        ("count", {"by": "city"}),
        ("mean", {"column": "age", "by": "city"}),
        ("histogram", {"column": "city"}),
        ("median", {"column": "age"}),
        ("bounds", {"column": "age"}),
        ("mean", {"column": "city"}),
        ("sum", {"column": "name"}),
    ]
    session["statistics"] = [{"verb": verb, "epsilon": "0.1", **more} for verb, more in verbs]
    state = window.good("table_save", table="people.csv", hash=state["hash"], session=session)
    assert [one["name"] for one in state["columns"]] == ["age", "city", "name"]
    assert ["problem" in one for one in state["statistics"]] == [False] * 5 + [True] * 2
    assert "Secret" not in json.dumps(state)
    assert {path.name for path in folder.glob("people*")} == {"people.csv", "people.release.toml"}
    assert window.api("table_save", table="people.csv", hash="0", session=session)[0] == 409
    assert state["statistics"][0]["sd"] > 0
    for place in range(5):
        state = window.good("release", table="people.csv", index=place)
    assert state["ledger"]["spent"] == pytest.approx(0.5)
    assert Ledger.open(folder / "people-budget.db").spent.epsilon == pytest.approx(0.5)
    assert abs(float(state["statistics"][0]["rows"][0][1]) - 400) < 400
    assert window.api("release", table="people.csv", index=0)[0] == 409
    assert (folder / "people-release-01.html").exists()
    session = {**state["session"], "ceiling": "5"}
    assert "budget" in window.api("table_save", table="people.csv", hash=state["hash"], session=session)[1]["error"]
    dropped = {**state["session"], "statistics": []}
    state = window.good("table_save", table="people.csv", hash=state["hash"], session=dropped)
    assert len(state["statistics"]) == 5
    assert window.good("table_notebook", table="people.csv")["file"] == "people-release.ipynb"
    book = json.loads((folder / "people-release.ipynb").read_text())
    spent = _runs(folder, book)["ledger"].spent
    assert spent.epsilon == pytest.approx(0.5)
    code = [cell["source"] for cell in book["cells"] if cell["cell_type"] == "code"]
    previews = [line for line in code if line.startswith("curator.preview.")]
    assert len(previews) == 5
    releases = [line for line in code if line.startswith("# ")]
    assert releases == [f"# {line.replace('.preview', '')}" for line in previews]


@pytest.mark.slow
def test_what_was_released_is_kept_if_it_cannot_be_published(window, folder, monkeypatch):
    (folder / "kept.csv").write_text("age\n" + "30\n" * 50)
    state = window.good("table", table="kept.csv")
    session = {**state["session"], "header": True, "statistics": [{"verb": "count", "epsilon": "0.5"}]}
    state = window.good("table_save", table="kept.csv", hash=state["hash"], session=session)
    problem = state["statistics"][0]["problem"]
    assert problem.startswith("rows must be counted by a column, got a count of all rows")
    assert "is public" in problem
    session |= {"neighbors": "add_remove"}
    window.good("table_save", table="kept.csv", hash=state["hash"], session=session)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Estimate, "publish", full)
    state = window.good("release", table="kept.csv", index=0)
    assert "No space left" in state["unpublished"]
    (number,) = state["statistics"][0]["rows"]
    assert state["statistics"][0]["published"] is False
    again = CuratorPage(Folder(folder)).state("kept.csv")  # as another studio sees it
    assert again["statistics"][0]["rows"] == [number]
    monkeypatch.undo()
    state = window.good("publish", table="kept.csv", name="kept-release-01")
    assert (folder / "kept-release-01.csv").read_text().splitlines()[1] == ",".join(number)
    assert (state["ledger"]["spent"], state["statistics"][0]["published"]) == (0.5, True)
    assert "kept.csv" in window.good("files")["tables"]
    assert "kept-release-01.csv" not in window.good("files")["tables"]
    assert window.api("publish", table="kept.csv", name="kept-release-01")[0] == 422


def test_a_statistic_beyond_the_budget_is_refused_before_the_table_is_read(window, folder):
    pd.DataFrame({"pay": [1.0, 2.0]}).to_parquet(folder / "pay.parquet")
    state = window.good("table", table="pay.parquet")
    assert state["columns"] == [{"name": "pay", "kind": "number", "type": "double"}]
    session = {**state["session"], "statistics": [{"verb": "bounds", "column": "pay", "epsilon": "2"}]}
    state = window.good("table_save", table="pay.parquet", hash=state["hash"], session=session)
    assert state["statistics"][0]["fits"] is False
    status, answer = window.api("release", table="pay.parquet", index=0)
    assert (status, window.good("table", table="pay.parquet")["ledger"]["spent"]) == (422, 0)
    assert "remain" in answer["error"] or "left" in answer["error"]
    for table in ("../people.csv", "survey.toml", "none.csv"):
        assert window.api("table", table=table)[0] == 422
    assert "must end in .csv or .parquet" in window.api("table_notebook", table="survey.toml")[1]["error"]


@pytest.mark.slow
def test_the_command_prints_a_link_and_ends_when_it_is_told_to(tmp_path, monkeypatch, capsys):
    def interrupted(_: Studio) -> None:
        raise KeyboardInterrupt

    opened, before = [], signal.getsignal(signal.SIGTERM)

    def browse(address, *, browser):
        path = Path(url2pathname(urlsplit(address).path))
        (link,) = re.findall(r'href="(.*?)"', path.read_text())
        opened.append((address, path, stat.S_IMODE(path.stat().st_mode), link))
        return browser

    monkeypatch.setattr(Studio, "wait", interrupted)
    monkeypatch.setattr(studio_server, "_remote_hints", lambda port: [f"By way of {port}."])
    for browser in (True, False):
        monkeypatch.setattr("webbrowser.open", partial(browse, browser=browser))
        assert main(["studio", str(tmp_path)]) == 0
        address, path, mode, link = opened[-1]
        told = capsys.readouterr().out
        assert f"  {link}\n" in told
        secret = link.partition("#key=")[2]
        assert len(secret) > 20
        assert secret not in address  # which all users of the machine can read in the list of processes
        assert (address.startswith("file:///"), mode, path.exists()) == (True, 0o600, False)
        assert f"By way of {urlsplit(link).port}.\n" in told
        assert "Ctrl-C stops the studio; collections that it opened continue." in told
        assert ("No browser was found: open the link by hand." in told) == (not browser)
    assert signal.getsignal(signal.SIGTERM) is before
    stop = Studio.stop
    monkeypatch.setattr(Studio, "stop", lambda one: stop(one) or interrupted(one))
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit, match="130"):  # as a shell says of what Ctrl-C has ended
        main(["studio", str(tmp_path), "--no-browser", "--public-url", "https://hub.example/"])
    assert "By way of" not in capsys.readouterr().out
    signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_without_a_complaint(tmp_path, number):
    command = [sys.executable, "-m", "toolkit.command", "studio", str(tmp_path), "--no-browser"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with running:
        port = next(int(found[1]) for line in running.stdout if (found := re.search(r":(\d+)/#key=", line)))
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as line:
            line.request("GET", "/")
            assert line.getresponse().status == 200  # and the browser keeps the line
            running.send_signal(number)
            out, complaints = running.communicate(timeout=60)
    assert (running.returncode, complaints) == (0, "")
    assert "when its current work is done" in out
    assert "no browser" not in out
    assert list(tmp_path.iterdir()) == []


def test_the_terminal_explains_how_to_reach_a_remote_studio(monkeypatch, tmp_path):
    """It does so where the browser is on another machine than the studio."""
    monkeypatch.setattr(studio_server, "_CONTAINER_FILES", [tmp_path / "none"])
    for name in ("JUPYTERHUB_SERVICE_PREFIX", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    assert studio_server._remote_hints(8899) == []
    monkeypatch.setenv("SSH_CONNECTION", "x")
    assert "ssh -N -L 8899:127.0.0.1:8899" in studio_server._remote_hints(8899)[0]
    monkeypatch.setattr(studio_server, "_CONTAINER_FILES", [tmp_path])
    assert "--network=host" in studio_server._remote_hints(8899)[0]
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ann/")
    assert "--public-url https://HUB/user/ann/proxy/8899/" in studio_server._remote_hints(8899)[0]


def test_a_statistic_is_called_with_what_was_said_of_its_columns(tmp_path):
    known = {"age": {"low": 0, "high": 90}, "city": {"options": ["n", "s"]}}
    by = {"by": {"city": ["n", "s"]}}
    bounded = {"bounds": (0, 90), "missing": "drop"}
    expected = {
        "count": ([], by),
        "mean": (["age"], bounded | by),
        "sum": (["age"], bounded | by),
        "std": (["age"], bounded | by),
        "median": (["age"], {"bounds": (0, 90)} | by),
        "bounds": (["age"], {}),
        "histogram": (["city"], {"options": ["n", "s"]}),
    }
    for verb, (names, keywords) in expected.items():
        column = "city" if verb == "histogram" else "age"
        found = curator_call({"verb": verb, "column": column, "by": "city", "epsilon": "1"}, known)
        assert found[:2] == (names, keywords | {"epsilon": "1"})
        assert eval(f"(lambda *a, **k: ([*a], k))({found[2]})") == found[:2]  # noqa: S307  our own line
    for verb, lacking, about in (
        ("histogram", "categories", ({}, {"options": []}, {"options": "ns"}, {"low": 0, "high": 1})),
        ("mean", "bounds", ({}, {"low": 0}, {"high": 1}, {"options": ["n"]})),
    ):
        for said in about:
            with pytest.raises(ValueError, match=f"`x` must have {lacking}, got none"):
                curator_call({"verb": verb, "column": "x"}, {"x": said})
    (tmp_path / "t.csv").write_text("age\n1\n")
    for place in (-1, 0, "0", None):
        with pytest.raises(ValueError, match="must be the index of a planned statistic"):
            CuratorPage(Folder(tmp_path)).release("t.csv", place, "")
    assert not (tmp_path / "t-budget.db").exists()
    for number, ending in ((1, "csv"), (2, "json"), (3, "html")):
        (tmp_path / f"t-release-{number:02d}.{ending}").touch()
    assert [CuratorPage(Folder(tmp_path))._unused_name("t.csv", number) for number in (1, 4)] == ["t-release-04"] * 2


def test_an_unreadable_plan_is_rejected_without_quoting_it(tmp_path):
    """The same holds for a table that cannot be read."""
    table, plan = tmp_path / "t.csv", tmp_path / "t.release.toml"
    table.write_text("age\n1\n")
    curating = CuratorPage(Folder(tmp_path))
    for text in ("columns = 3", "statistics = 3"):
        plan.write_text(text)
        with pytest.raises(ValueError, match=r"a list `statistics`, got other types: correct or delete t\.rel"):
            curating.state("t.csv")
    plan.write_text('header = true\nstatistics = [{verb = "bounds", column = "nothing", epsilon = "1"}]')
    (told,) = curating.state("t.csv")["statistics"]
    assert told["problem"].startswith("`column` must be one of age, got 'nothing'")
    (tmp_path / "t.parquet").write_bytes(b"Secret")
    why = "a table must be readable, got t.parquet, which is not: save it again as CSV or Parquet."
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        curating.state("t.parquet")


def test_what_was_released_stays_in_the_plan_whatever_is_saved(tmp_path):
    (tmp_path / "t.csv").write_text("age\n1\n")
    (tmp_path / "t.release.toml").write_text('statistics = [{verb = "bounds", file = "t-release-01", released = 1}]')
    curating, planned = CuratorPage(Folder(tmp_path)), {"verb": "bounds", "column": "age", "epsilon": "1"}
    for sent, kept in (([], []), ([{"verb": "sum", "released": 1}], []), ([planned, 3], [planned])):
        session = {"neighbors": "add_remove", "ceiling": "3", "statistics": sent}
        saved = curating.save("t.csv", curating.state("t.csv")["hash"], session)["session"]
        first, *others = saved.pop("statistics")
        assert (first["file"], others) == ("t-release-01", kept)
        assert saved == {"table": "t.csv", "neighbors": "add_remove", "ceiling": "3", "columns": {}}
    for name, wrong in (("neighbors", "near"), ("neighbors", None), ("ceiling", "much"), ("ceiling", "-1")):
        with pytest.raises((ValueError, TypeError)):
            curating.save("t.csv", curating.state("t.csv")["hash"], {**session, name: wrong})
        assert curating.state("t.csv")["session"]["statistics"][1:] == [planned]
    for create, neighbors in ((False, None), (True, "add_remove")):  # looked at, and paid from
        assert curating._open_ledger("t.csv", saved, create=create).neighbors == neighbors
        assert (tmp_path / "t-budget.db").exists() == create


def test_what_is_told_of_a_collection_is_that_of_its_survey(tmp_path):
    ticks = Question("boxes", "Which?", options=["a", "b"], multiple=True)
    age = Question("age", "Age?", bounds=(0, 99))
    assert _grouping_questions(survey(cheated(), ticks, age, faculty(), arms={"one": 0.5, "two": 0.5})) == ["faculty"]
    assert (_first_disclosure(survey()), _first_disclosure(panel())) == (first_disclosure_count(survey()), None)
    for people, error in ((5000, FileNotFoundError), (5001, ValueError), (0, ValueError)):
        with pytest.raises(error):
            Fieldwork(folder := Folder(tmp_path), Surveys(folder)).rehearse("none.toml", people, "")


def test_a_rehearsal_leaves_the_real_collection_of_another_survey_alone(tmp_path):
    """The files of two surveys can be called so that one database has the name of both."""
    text = 'title = "T"\nconsent = "Why."\n[[questions]]\nname = "c"\ntext = "C?"\ndesign = {warner = {p = "3/4"}}\n'
    for name, real, tried in (("survey", "rehearsal", True), ("exam", "exam-rehearsal", True), ("a", "a", False)):
        for stem in {name, real}:
            (tmp_path / f"{stem}.toml").write_text(text)
        asked, work = Survey.load(tmp_path / f"{real}.toml"), Fieldwork(folder := Folder(tmp_path), Surveys(folder))
        database = f"sqlite:///{tmp_path}/{database_names(f'{real}.toml')['real']}"
        with contextlib.closing(open_store(database)) as store:
            store.create(asked if tried else replace(asked, rehearsal=True))
            store.set_state(State.OPEN)
        which = "rehearsal" if tried else "real"
        assert work.state(f"{name}.toml")[which] is None
        known = work.state(f"{name}.toml")["hash"]
        refused = [lambda: work.change(f"{name}.toml", which, "close", known)]  # noqa: B023
        if tried:
            refused.append(lambda: work.rehearse(f"{name}.toml", 5, known))  # noqa: B023
        else:
            refused.append(lambda: work.open(f"{name}.toml", known, amend=True))  # noqa: B023
        for action in refused:
            with pytest.raises(ValueError, match=r"separate databases, got a r|got a different 'rehearsal'"):
                action()
        with contextlib.closing(open_store(database)) as store:
            assert (store.state(), store.survey().rehearsal) == (State.OPEN, not tried)


def test_a_notebook_that_somebody_may_have_gone_on_with_is_not_overwritten(tmp_path):
    (tmp_path / "t.csv").write_text("age\n30\n")
    text = 'title = "T"\nconsent = "Why."\n[[questions]]\nname = "a"\ntext = "A?"\noptions = ["x", "y"]\n'
    (tmp_path / "t.toml").write_text(text)
    folder = Folder(tmp_path)
    work, curating = Fieldwork(folder, Surveys(folder)), CuratorPage(folder)
    known = fingerprint((tmp_path / "t.toml").read_bytes())
    for write in (
        lambda: work.write("t.toml", "notebook", known),
        lambda: curating.notebook("t.csv", fingerprint(b"")),
    ):
        path = tmp_path / write()["file"]
        path.write_text("mine")
        with pytest.raises(FileExistsError, match="rename or move the existing file first"):
            write()
        assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("tool", "name"),
    [("jspsych", "survey.js"), ("surveyjs", "survey.js"), ("qualtrics", "cheated.js"), ("limesurvey", "survey.txt")],
)
def test_a_form_for_another_program_is_written_into_a_folder(tmp_path, tool, name):
    survey().save(tmp_path / "t.toml")
    work = Fieldwork(folder := Folder(tmp_path), Surveys(folder))
    known = fingerprint((tmp_path / "t.toml").read_bytes())
    assert work.write("t.toml", tool, known)["file"] == f"t-{tool}"
    assert survey().hash in (tmp_path / f"t-{tool}" / name).read_text()


@pytest.mark.parametrize("verb", STATISTICS)
def test_a_statistic_lacks_nothing_or_says_what(verb):
    known = {"age": {"low": 0, "high": 90, "options": [1, 2]}}
    statistic = {"verb": verb, "column": "age", "columns": ["age"], "epsilon": "0.1"}
    assert curator_call(statistic, known)[1]["epsilon"] == "0.1"
    if verb not in ("count", "bounds"):
        with pytest.raises(ValueError, match=r"bounds|categories"):
            curator_call({"verb": verb, "column": "age", "columns": ["age"], "epsilon": "0.1"}, {})
    if verb != "count":
        with pytest.raises(ValueError, match="column"):
            curator_call({"verb": verb, "epsilon": "0.1"}, known)
