"""The last day of a survey: people are told about it and agree to it, and nothing is accepted afterwards."""

import datetime as dt

import pytest

from tests.commands.shell import said
from tests.survey.desk import campus
from tests.survey.entries import BODY, CLOSED, REPEATED, STORED, entry, opened, sha, small_survey
from tests.survey.samples import survey
from toolkit.survey.serving.page import page_content
from toolkit.survey.spec import Survey
from toolkit.survey.storage import Collection, State, collection, open_store
from toolkit.texts.phrases import LANGUAGES, phrases


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    url = (
        f"sqlite:///{tmp_path / 'exams.db'}" if request.param == "sqlite" else request.getfixturevalue("postgres").url()
    )
    made = open_store(url)
    yield made
    made.close()


@pytest.fixture
def later(monkeypatch):
    """From this call on, the last day is over."""
    return lambda: monkeypatch.setattr(collection, "is_over", lambda _: True)


def test_moving_the_last_day_admits_waiting_reports(store):
    """The case of a tablet that was offline; a server is started again with the amended survey."""
    opened(store, closes="2020-01-01", access="token").invite([sha("use")], for_station=True)
    waiting = entry(by="use")
    assert (store.add([waiting]), store.count_outstanding_uses()) == ([CLOSED], 1)
    store.amend(small_survey(closes="2999-12-31", access="token"))
    again = Collection(store._engine)
    assert (again.add([waiting]), again.count_outstanding_uses()) == ([STORED], 0)


def test_people_are_told_on_the_page_and_on_paper_in_every_language():
    asked = campus(closes="2026-12-01")
    assert "Answers are taken until 2026-12-01." in asked.consent_text()
    assert page_content(asked)["consent"]["en"][-1]["more"][-1] == "Answers are taken until 2026-12-01."
    assert "until" not in campus().consent_text()
    for code in LANGUAGES:
        assert "2026-12-01" in phrases(code)["until"].format(date="2026-12-01")


def test_the_last_day_is_part_of_the_hash():
    """A survey without a last day has the same hash as in earlier versions."""
    first, second = campus(closes="2026-12-01"), campus(closes="2026-12-02")
    assert len({first.hash, second.hash, campus().hash}) == 3
    assert "closes" not in campus().to_dict()
    assert campus(closes=dt.date(2026, 12, 1)) == first


@pytest.mark.parametrize("name", ["exams.toml", "exams.json"])
def test_it_is_written_and_read_back(tmp_path, name):
    made = campus(closes="2026-12-01")
    made.save(tmp_path / name)
    assert Survey.load(tmp_path / name) == made
    assert Survey.load(tmp_path / name).hash == made.hash


def test_toml_has_days_of_its_own(tmp_path):
    campus().save(tmp_path / "exams.toml")
    text = (tmp_path / "exams.toml").read_text()
    (tmp_path / "exams.toml").write_text(f"closes = 2026-12-01\n{text}")
    assert Survey.load(tmp_path / "exams.toml") == campus(closes="2026-12-01")
    (tmp_path / "exams.toml").write_text(f"closes = 2026-12-01T12:00:00\n{text}")
    with pytest.raises(ValueError, match="`closes` must be a day"):
        Survey.load(tmp_path / "exams.toml")


def test_after_its_last_day_reports_are_answered_as_by_a_closed_collection(store, later):
    opened(store, closes="2999-12-01")
    first = entry()
    assert store.add([first]) == [STORED]
    later()
    assert store.add([entry(), first]) == [CLOSED, REPEATED]
    assert store.state() is State.OPEN  # nobody has closed it: this is done by hand, and rewrites the tables
    assert store.count_reports() == 1
    store.set_state(State.PAUSED)
    assert store.add([entry()]) == [CLOSED]


def test_after_its_last_day_no_token_is_signed(store, later):
    opened(store, access="blind", closes="2999-12-01")
    store.invite([sha("a"), sha("b")])
    assert store.issue(sha("a"), sha("x"))
    later()
    assert not store.issue(sha("b"), sha("y"))


def test_a_survey_without_a_last_day_goes_on(store, later):
    opened(store)
    later()
    assert store.add([entry(BODY)]) == [STORED]


def test_a_day_that_is_past_is_noticed_by_the_clock(store):
    opened(store, closes="2020-01-01")
    assert store.add([entry()]) == [CLOSED]


@pytest.mark.slow
def test_status_says_until_when(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    campus(closes="2999-12-01").save("survey.toml")
    assert "Reports are accepted until 2999-12-01 is over in every time zone" in said(capsys, "open", "survey.toml")
    assert "until" not in said(capsys, "close")
    campus(closes="2020-01-01").save("past.toml")
    told = said(capsys, "open", "past.toml", "--database", "sqlite:///past.db")
    assert "Its last day, 2020-01-01, is over" in told


def test_own_languages_need_the_sentence_on_the_last_day():
    """This applies only if there is a last day."""
    from toolkit.texts.phrases import page_words_by_language

    own = {f"promise_{name}": words for name, words in phrases("en").items() if name != "until"}
    page = {name: words for name, words in page_words_by_language(["en"], {})["en"].items() if name != "direction"}
    words = {"it": {**page, **own}}
    changes = {"languages": ["it"], "words": words}
    survey(**changes)
    with pytest.raises(ValueError, match="must contain promise_until in a survey with a last day, got none in 'it'"):
        survey(**changes, closes="2026-12-01")
    words["it"]["promise_until"] = "Fino al {date}."
    assert "Fino al 2026-12-01." in survey(**changes, closes="2026-12-01").consent_text()
