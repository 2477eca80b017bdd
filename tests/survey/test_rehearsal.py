import json
from contextlib import closing
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from tests.survey.samples import DESIGNS, cheated, faculty, panel, submission, survey, survey_with
from toolkit import Design, Question, Survey, warner
from toolkit.local import oracles
from toolkit.local.waves import Memo
from toolkit.survey import rehearsal
from toolkit.survey.rehearsal import rehearse, report
from toolkit.survey.results import estimate
from toolkit.survey.serving.payload import parse_submission

CAMPUS = Path(__file__).parents[2] / "data" / "campus.toml"


@pytest.fixture
def sent(monkeypatch):
    """Return the requests that would go over the network."""
    bodies = []

    def keep(_url, some):
        bodies.extend(some)
        return len(some)

    monkeypatch.setattr(rehearsal, "_post_all", keep)
    monkeypatch.setattr(rehearsal, "_as_served", lambda _url, _survey, tried: tried)
    return bodies


@pytest.mark.slow
def test_what_is_sent_is_what_an_honest_phone_sends(sent):
    frame = pd.DataFrame(
        {"faculty": ["arts", "law"] * 10, "cheated": ["yes", "no"] * 10, "understood": [True, False] * 10}
    )
    assert rehearse(survey(), "http://127.0.0.1/", frame, np.random.default_rng(1)) == 20
    found = [json.loads(parse_submission(replace(survey(), rehearsal=True), raw).body) for raw in sent]
    assert sorted(one["understood"] for one in found) == [False] * 10 + [True] * 10
    assert len({json.loads(raw)["key"] for raw in sent}) == 20


def test_a_hidden_question_is_null(sent):
    asked = survey(faculty(), cheated(show_if={"faculty": ["law"]}))
    frame = pd.DataFrame({"faculty": ["arts", "law"], "cheated": ["yes", "yes"]})
    rehearse(asked, "http://127.0.0.1/", frame, np.random.default_rng(1))
    found = {answers["faculty"]: answers["cheated"] for answers in (json.loads(raw)["answers"] for raw in sent)}
    assert found[0] is None
    assert found[1] in (0, 1)
    assert [parse_submission(replace(asked, rehearsal=True), raw) for raw in sent]


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["no", "yes"])
def test_reports_follow_the_design(truth):
    """Chi-squared with one degree of freedom and a fixed seed; a correct rehearsal would fail for one seed in
    10,000.
    """
    rng, question = np.random.default_rng(4), cheated(design=warner(p="3/4"))
    counts = np.bincount([report(question, truth, rng) for _ in range(4000)], minlength=2)
    expected = 4000 * warner(p="3/4").matrix[["no", "yes"].index(truth)]
    assert chisquare(counts, expected).pvalue > 1e-4


@pytest.mark.parametrize("name", DESIGNS)
def test_every_kind_of_randomizer_can_be_rehearsed(name):
    asked = survey_with(DESIGNS[name])
    question = asked["asked"]
    truth = {
        "choice": question.options[0] if question.options else 0,
        "ticks": list(question.options[:1]),
        "number": 1,
    }[question.kind]
    assert parse_submission(asked, submission(asked, {"asked": report(question, truth, np.random.default_rng(1))}))


def test_plain_answers_are_sent_as_they_are():
    rng = np.random.default_rng(1)
    assert report(faculty(), "law", rng) == 1
    assert report(Question("tried", "What?", options=["a", "b"], multiple=True), ["b"], rng) == [1]
    assert report(Question("age", "Age?", bounds=(0, 99)), np.int64(20), rng) == 20
    assert report(Question("note", "Why?", free_text=True, warning="Name nobody."), "so", rng) == "so"


def test_an_answer_that_nobody_could_tap_is_refused_and_not_quoted():
    with pytest.raises(ValueError, match="must be one of its options") as refused:
        report(cheated(), "a secret", np.random.default_rng(1))
    assert "secret" not in str(refused.value)


def test_too_few_links_are_refused():
    frame = pd.DataFrame({"faculty": ["arts"] * 2, "cheated": ["yes"] * 2})
    with pytest.raises(ValueError, match="a link for each person, got 1 for 2"):
        rehearse(
            survey(access="token"),
            "http://127.0.0.1/",
            frame,
            np.random.default_rng(1),
            links=["http://127.0.0.1/#t=x"],
        )


@pytest.mark.usefixtures("sent")
def test_a_wrong_column_or_no_frame_is_said_with_the_names_that_are_there():
    frame = pd.DataFrame({"faculty": ["arts"], "Cheated": ["yes"]})
    with pytest.raises(
        ValueError, match="a column of true answers for each question, got none called cheated among faculty, Cheated"
    ):
        rehearse(survey(), "http://127.0.0.1/", frame, np.random.default_rng(1))
    with pytest.raises(TypeError, match="`answers` must be a number of people, or their true answers, got list"):
        rehearse(survey(), "http://127.0.0.1/", [{"faculty": "arts"}], np.random.default_rng(1))


def test_what_invented_people_send_fits_no_real_survey(sent):
    rehearse(
        survey(), "http://127.0.0.1/", pd.DataFrame({"faculty": ["arts"], "cheated": ["yes"]}), np.random.default_rng(1)
    )
    with pytest.raises(ValueError, match="for another survey"):
        parse_submission(survey(), sent[0])


@pytest.mark.slow
def test_people_of_a_panel_send_a_number_each_and_reports_of_one_wave(sent):
    made, people = panel(), pd.DataFrame({"cheated": ["yes"] * 400, "faculty": "law"})
    rehearse(made, "http://127.0.0.1:1/", people, np.random.default_rng(8))
    told, tried = [json.loads(one) for one in sent], replace(made, rehearsal=True)
    assert all(parse_submission(tried, one) for one in sent)
    assert len({one["person"] for one in told}) == 400
    yes = sum(one["answers"]["cheated"] for one in told)
    assert abs(yes - 250) < 4.5 * (400 * 5 / 8 * 3 / 8) ** 0.5  # false alarms 7e-6


@pytest.mark.slow
def test_a_person_of_a_panel_has_the_same_phone_and_memos_in_each_wave(sent, monkeypatch):
    """Without fresh noise, a report is the memo of the answer. In the second wave, the people come in another order,
    and half of their answers have changed.
    """
    monkeypatch.setattr(rehearsal, "_N_PHONES", 1)  # one after the other, in the order of the rows
    memo = Memo(warner("3/4"), Design([[1, 0], [0, 1]], 1, ("no", "yes")))
    question = Question("cheated", "Have you?", design=memo)
    texts = {"title": "Exams", "consent": "Stop.", "check": False, "ceiling": float("inf")}
    first = pd.DataFrame({"cheated": ["yes", "no"] * 200})
    second = pd.DataFrame({"cheated": ["yes"] * 400, "person": range(400)})[::-1]
    for wave, people in ((1, first), (2, second)):
        made = Survey(questions=[question], waves=2, wave=wave, **texts)
        rehearse(made, "http://127.0.0.1:1/", people, np.random.default_rng(wave))
    one, two = ([json.loads(body) for body in some] for some in (sent[:400], sent[:399:-1]))
    assert [each["person"] for each in one] == [each["person"] for each in two]
    kept = [before["answers"] == after["answers"] for before, after in zip(one, two, strict=True)]
    assert all(kept[::2])  # whose answer did not change
    agree = sum(kept[1::2])  # the memos of yes and no differ with probability 2 (3/4) (1/4) = 3/8
    assert abs(agree - 75) < 4.5 * (200 * 3 / 8 * 5 / 8) ** 0.5  # false alarms 7e-6


class Line:
    """A server of one page, which records its requests."""

    def __init__(self, page):
        self.page, self.asked, self.status = page, [], 201

    def request(self, verb, path, *_):
        self.asked.append(f"{verb} {path}")

    def getresponse(self):
        return closing(self)

    def read(self):
        return self.page.encode()

    def close(self):
        pass

    __enter__ = getresponse


@pytest.mark.parametrize(("url", "path"), [("http://x", "/"), ("http://x/", "/"), ("https://x/survey/", "/survey/")])
def test_invented_people_go_where_the_rehearsal_is_and_nowhere_else(monkeypatch, url, path):
    tried, line = replace(survey(), rehearsal=True), Line("")
    monkeypatch.setattr(rehearsal, "_http_connection", lambda _: line)
    for page, why in ((survey().hash, "a real collection"), ("0" * 64, "something else at this address")):
        line.page = page
        with pytest.raises(ValueError, match=f"a separate collection, got {why}: open one with"):
            rehearsal._as_served(url, survey(), tried)
    line.page = f'{{"hash":"{tried.hash}"}}'
    assert rehearsal._as_served(url, survey(), tried) == tried
    assert line.asked == [f"GET {path}"] * 3
    assert rehearsal._post_all(url, [b"{}", b"{}"]) == 2
    assert line.asked[3:] == [f"POST {path}report"] * 2
    line.status = 503
    assert rehearsal._post_all(url, [b"{}"]) == 0


class Room:
    """The parts of the result of `collect(survey, rehearsal=True)` that a rehearsal needs."""

    url = "http://127.0.0.1:1/"

    def __init__(self, asked):
        self.survey = replace(asked, rehearsal=True)
        self.links = []

    def invitations(self, count):
        self.links += [f"{self.url}#t=link{place}" for place in range(count)]
        return self.links


@pytest.mark.slow
def test_a_collector_and_a_number_of_people_are_enough(monkeypatch):
    """Every kind of question, for people who answer at random; single-use links are made as needed."""
    from toolkit import rehearse as public

    bodies = []
    monkeypatch.setattr(rehearsal, "_as_served", lambda _, __, tried: tried)
    monkeypatch.setattr(rehearsal, "_post_all", lambda _, some: bodies.extend(some) or len(some))
    asked = Survey.load(CAMPUS)
    assert public(Room(asked), 30) == len(bodies) == 30
    for body in bodies:
        parse_submission(replace(asked, rehearsal=True), body)
    bodies.clear()
    room = Room(survey(cheated(), access="token"))
    assert public(room, ["yes", "no", "yes"], np.random.default_rng(1)) == 3
    assert {json.loads(body)["token"] for body in bodies} == {"link0", "link1", "link2"}
    assert public(Room(survey()), {"faculty": ["law"], "cheated": ["no"]}) == 1


@pytest.mark.parametrize(
    "given", [(), (survey(),), (survey(), 30), ("sqlite:///a.db", 30), (30, 30), (survey(), "http://x/", 1, 2, 3)]
)
def test_a_wrong_call_is_told_how_it_is_written(given):
    with pytest.raises(TypeError, match=r"rehearse\(|missing 1 required"):
        rehearsal.rehearse(*given)
    with pytest.raises(TypeError, match="a number of people, or their true answers, got str"):
        rehearsal.rehearse(Room(survey()), "many")


@pytest.mark.slow
def test_simulated_reports_are_those_of_a_rehearsal_and_make_results():
    frame = survey().simulate(200, np.random.default_rng(1))
    assert list(frame) == ["faculty", "cheated", "understood", "REHEARSAL"]
    assert set(frame["cheated"]) == {"yes", "no"}
    assert "rehearsal" in estimate(survey(), frame).notes()[0]
    pd.testing.assert_frame_equal(frame, survey().simulate(200, np.random.default_rng(1)))


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_every_kind_of_randomizer_can_be_simulated_and_estimated(name):
    asked = survey_with(DESIGNS[name], minimum=1)
    assert estimate(asked, asked.simulate(40, np.random.default_rng(2)))["asked"].n == 40


@pytest.mark.slow
def test_invented_people_have_the_answer_that_everybody_has():
    """If the anchor were answered at random, it would show that all people answer at random."""
    moon = Question("moon", "Have you been to the moon?", design=warner("3/4"), anchor="no")
    found = estimate(survey(moon), survey(moon).simulate(2000, np.random.default_rng(1)))
    share = found.attention["moon"]
    assert abs(share.value - 1) < 4 * share.se  # of the followers; 6e-5 of all seeds are further off


def test_invented_people_give_every_answer_that_there_is():
    """For 300 people who answer at random, some report is missing with probability at most 4 (3/4)**300."""
    asked = [
        Question("where", "Where?", options=list("abcd")),
        Question("often", "Often?", bounds=("0.5", "3.5")),
        Question("whole", "Whole?", bounds=(-1, 1), whole=True),
        Question("ticks", "Which?", options=[1, 2, 3], multiple=True),
        Question("note", "Note?", free_text=True, required=False),
    ]
    frame = survey(*asked, check=False).simulate(300, np.random.default_rng(3))
    found = {name: set(frame[name]) for name in ("where", "often", "whole", "note")}
    assert found == {"where": set("abcd"), "often": {1, 2, 3}, "whole": {-1, 0, 1}, "note": {""}}
    assert set(frame["ticks"]) == {
        f"[{','.join(map(str, some))}]" for n in range(4) for some in combinations(range(3), n)
    }
    few = Question("few", "Which?", design=oracles.tick_boxes(10, 1.0, most=1))
    assert {len(one) for one in rehearsal._draw_answers(few, 100, np.random.default_rng(3))} == {0, 1}


def test_simulated_rows_are_not_in_the_order_of_the_answers():
    plain = survey(Question("row", "Which?", options=list(range(100))))
    rows = list(plain.simulate({"row": list(range(100))}, np.random.default_rng(1))["row"])
    assert sorted(rows) == list(range(100)) != rows
    assert panel().simulate(3, np.random.default_rng(1))["person"].nunique() == 3


def test_what_no_phone_would_send_is_not_simulated():
    asked = survey(Question("age", "Age?", bounds=(18, 99), whole=True))
    for age in (17, 20.5):
        with pytest.raises(ValueError, match="an answer to age must be one that a phone would send"):
            asked.simulate({"age": [age]})
    with pytest.raises(ValueError, match="an answer to faculty must be one of its options"):
        survey().simulate({"faculty": ["music"], "cheated": ["yes"]})
