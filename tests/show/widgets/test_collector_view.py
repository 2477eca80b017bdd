import re
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from tests.survey.results.test_printing import DRINKS, frame
from tests.survey.samples import cheated, faculty, survey
from toolkit.local.numeric import square_wave
from toolkit.show.widgets.collector_view import CollectorView, _heading, _interval_bars, _privacy_sentence, watch
from toolkit.survey.collector import Collector
from toolkit.survey.questions.question import Question
from toolkit.survey.results import estimate
from toolkit.survey.serving.background import find_server
from toolkit.survey.spec import Survey
from toolkit.survey.storage import NewReport, State, open_store


@pytest.fixture
def collector(tmp_path, monkeypatch):
    """A collection without a server: what is stored is written into it directly."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = open_store(f"sqlite:///{tmp_path / 'campus.db'}")
    store.create(survey(minimum=20, cap=500))
    store.set_state(State.OPEN)
    store.close()
    return Collector.attach(f"sqlite:///{tmp_path / 'campus.db'}")


def answer(collector, count):
    """Half of them say yes, so that whichever reports the lot shows have an interval."""
    rng = np.random.default_rng([count, collector.status().n_stored])
    bodies = [f'{{"answers":{{"faculty":{i % 2},"cheated":{i // 2 % 2}}},"understood":true}}' for i in range(count)]
    store = open_store(collector.database)
    store.add([NewReport(rng.bytes(16), body) for body in bodies])
    store.close()


def test_the_count_grows_with_the_reports_when_the_browser_asks(collector):
    view = watch(collector)
    assert view.table["count"] == 0
    answer(collector, 7)
    view._handle_custom_msg({"kind": "refresh"}, [])
    assert view.table["count"] == 7
    assert repr(view) == "<CollectorView: 'Exams', open, reports: 7>"


def test_estimates_appear_at_the_minimum_and_not_before(collector):
    view = CollectorView(collector)
    answer(collector, 29)
    view.refresh()
    assert view.table["rows"] == []
    assert "from 30 reports on. So far 29 are stored." in view.describe()["so_far"]
    answer(collector, 1)
    view.refresh()
    assert view.table["head"][:4] == ["question", "answer", "estimate", "standard error"]
    faculty, row = view.table["rows"]
    estimate = collector.results()["cheated"]
    assert faculty[0] == "faculty"
    # Which reports are shown is drawn by lot, so the estimate may lie outside 0 to 100 %, which an asterisk marks.
    share = f"{100 * estimate.value:.0f} %".replace("-", "−") + ("" if 0 <= estimate.value <= 1 else " *")
    assert row[:4] == ["cheated", "Yes", share, f"{100 * estimate.se:.0f} points"]
    assert row[5] == "20"
    interval = estimate.interval()
    assert view.table["spans"][1] == pytest.approx([interval.low, estimate.value, interval.high])
    assert view.describe()["so_far"].startswith("So far: While the collection is open, it is shown in steps of 10")
    check = "20 of 20 (100 %) passed the comprehension check; chance alone would give 50 %."
    assert check in view.describe()["so_far"]  # a remark on an estimate outside 0 to 100 % would follow


def test_the_projector_shows_the_title_or_heading_in_the_first_language():
    """A survey of one question shows that question, and any other survey its title."""
    both = Question("cheated", {"de": "Geschummelt?", "en": "Cheated?"}, design=cheated().design)
    words = {"consent": {"de": "Wir …", "en": "We …"}, "languages": ["de", "en"]}
    assert _heading(Survey({"de": "Prüfungen", "en": "Exams"}, (both,), **words)) == "Geschummelt?"
    assert _heading(survey(cheated())) == "Have you ever cheated on an exam?"
    assert _heading(survey()) == "Exams"


def test_what_arrives_as_it_is_and_what_arrives_randomized_is_said():
    words = {_privacy_sentence(survey(*asked)) for asked in ([cheated()], [faculty()])}
    assert words == {"Answers to cheated arrive here randomized.", "Answers arrive here as they are given."}


def test_bars_are_parts_of_the_scale_of_their_question():
    """Of shares from 0 to 1, of a mean from one of its bounds to the other; without limits where no share fits."""
    hours = Question("hours", "Hours?", design=square_wave((0, 80), 1.0, points=3))
    results = estimate(survey(cheated(), DRINKS, hours, check=False), reports := frame().assign(hours=[0, 1] * 200))
    for name, low, high in (("cheated", 0, 1), ("drinks", 0, 40), ("hours", 0, 1)):
        found = results[name]
        ends = np.column_stack([found.interval().low, found.value, found.interval().high])
        assert np.array(_interval_bars(results, results.survey[name])) == pytest.approx((ends - low) / (high - low))
    strange = estimate(survey(cheated(), check=False), reports.assign(cheated="no"))
    assert _interval_bars(strange, cheated()) == [[None, pytest.approx(strange["cheated"].value), None]]


def test_the_view_shows_the_count_as_it_grows_but_estimates_in_steps(collector):
    """A projected view must not tell a room the report of the person who has just answered."""
    answer(collector, 30)
    before = CollectorView(collector).table
    answer(collector, 9)
    after = CollectorView(collector).table
    assert (before["count"], after["count"]) == (30, 39)
    assert after["rows"] == before["rows"]
    assert "Here are 20 of 39 reports; the next at 40." in after["sentences"]["so_far"]


def test_a_view_that_nothing_came_to_reads_no_reports(collector, monkeypatch):
    """It asks every two seconds, perhaps for days."""
    answer(collector, 25)
    view, looked = watch(collector), []
    results = collector.results
    monkeypatch.setattr(collector, "results", lambda: looked.append(1) or results())
    view.refresh()
    assert looked == []
    answer(collector, 1)
    view.refresh()
    assert (len(looked), view.table["count"]) == (1, 26)
    collector.close()
    view.refresh()
    assert view.table["state"] == "closed"
    assert view.describe()["so_far"].startswith("In all:")


def test_the_view_of_a_rehearsal_says_so(tmp_path):
    database = f"sqlite:///{tmp_path / 'tried.db'}"
    with closing(open_store(database)) as store:
        store.create(replace(survey(), rehearsal=True))
    view = watch(Collector.attach(database))
    assert repr(view) == "<CollectorView: 'REHEARSAL: Exams', draft, reports: 0>"
    assert "This is a rehearsal" in view.describe()["state"]


def test_the_state_and_the_promise_of_the_link_are_said(collector):
    said = watch(collector).describe()
    assert said["state"] == "The collection is open. At most 500 are taken."
    assert said["access"].startswith("Anybody with the link may answer.")
    assert said["private"] == "Answers to cheated arrive here randomized; answers to faculty arrive as they are."
    collector.pause()
    assert watch(collector).describe()["state"].startswith("The collection is paused")


@pytest.mark.parametrize(("url", "near"), [("http://127.0.0.1:8000/", True), ("https://survey.example/", False)])
def test_a_link_that_no_phone_can_reach_says_so(collector, url, near):
    collector._store.set_setting("public url", url)
    view = watch(Collector(collector.database))
    assert view.describe()["network"].startswith("This link works on this computer only.") == near
    assert (view.table["qr"]["size"] == 0) == near, "a code that no phone can open is worse than none"


def test_who_comes_too_late_is_told_and_not_invited(collector):
    assert watch(collector).describe()["network"].startswith("No server for it is running on this computer.")
    collector.close()
    said = watch(collector).describe()
    assert (said["network"], said["access"]) == ("Nobody can answer any more.", "")


def test_without_a_server_there_is_no_link_and_no_code(collector):
    assert find_server(collector.database) is None
    table = watch(collector).table
    assert (table["url"], table["qr"]) == ("", {"size": 0, "path": ""})


@pytest.mark.slow
def test_the_saved_picture_holds_no_link(collector):
    bundle, _ = watch(collector)._repr_mimebundle_()
    assert bundle["image/png"]
    assert "http" not in bundle["text/plain"] + bundle["text/html"].partition("base64,")[0]


@pytest.mark.slow
def test_what_was_shown_step_by_step_is_kept_and_drawn(collector):
    view = CollectorView(collector)
    assert (view.history, view.table["history"], len(view.picture().axes)) == ([], [], 1)
    for _ in range(2):
        answer(collector, 25)
        view.refresh()
    view.refresh()
    assert [step[0] for step in view.history] == [40]
    estimate = collector.results()["cheated"]
    assert view.history[-1][2] == pytest.approx(100 * estimate.value)
    assert 0 <= view.history[-1][1] <= view.history[-1][3] <= 100
    assert view.table["history"] == view.history
    assert len(view.picture().axes[1].collections[0].get_segments()) == 1
    assert view.table["heading"] == "Exams"


def class_of(people, tmp_path, yes=2):
    """A view of a class, and its collection. Of five reports `yes` are a yes."""
    store = open_store(f"sqlite:///{tmp_path / 'class.db'}")
    store.create(survey(cheated(), minimum=10, step=5, check=False))
    store.set_state(State.OPEN)
    collector = Collector.attach(f"sqlite:///{tmp_path / 'class.db'}")
    bodies = [f'{{"answers":{{"cheated":{int(i % 5 < yes)}}},"understood":null}}' for i in range(people)]
    store.add([NewReport(bytes([i + 1] * 16), body) for i, body in enumerate(bodies)])
    store.close()
    return CollectorView(collector), collector


@pytest.mark.parametrize(
    ("people", "before"),
    [
        (12, r"The estimate is shown from 15 answers on, or at the end\."),
        (
            30,
            (
                r"Estimate .* %.*, 95 % interval .*, from 25 of 30 answers\. "
                r"The others are added in steps of 5, and the .*"
            ),
        ),
    ],
)
def test_a_class_sees_its_result_after_closing(people, before, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    view, collector = class_of(people, tmp_path)
    assert re.fullmatch(before, view.describe()["result"])
    collector.close()
    view.refresh()
    row = view.table["rows"][0]
    assert view.describe()["result"] == f"Estimate {row[2]}, 95 % interval {row[4]}, from all {people} answers."
    assert view.history[-1][0] == people


def test_an_estimate_that_no_share_can_have_is_called_chance(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    view, collector = class_of(40, tmp_path, yes=1)
    collector.close()
    view.refresh()
    result = view.describe()["result"]
    assert re.match(r"Estimate −\d+ % \(outside 0 to 100 %, which chance can cause\), 95 % interval", result)


def test_a_survey_of_other_questions_promises_no_estimate(collector, tmp_path):
    assert watch(collector).describe()["result"] == "The estimate is shown from 30 answers on, or at the end."
    with closing(open_store(f"sqlite:///{tmp_path / 'plain.db'}")) as store:
        store.create(survey(faculty()))
        store.set_state(State.OPEN)
    assert watch(Collector.attach(f"sqlite:///{tmp_path / 'plain.db'}")).describe()["result"] == ""
