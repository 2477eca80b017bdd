"""Surveys as files: refusals by field, saving, undoing, both versions where somebody else wrote, plans and curves."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest

from toolkit import Design, forced, forced_options, k_ary, warner
from toolkit.local.catalogue import CATALOGUE, NamedMaker
from toolkit.local.numeric import one_bit
from toolkit.studio import checking, server
from toolkit.studio import surveys as surveys_of_a_folder
from toolkit.studio.editing import ORIGIN
from toolkit.studio.folder import Folder
from toolkit.studio.server import Actions
from toolkit.studio.surveys import EXAMPLES, Surveys
from toolkit.survey.plan import margin_text
from toolkit.survey.spec import Survey


@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_an_example_is_a_valid_survey(window, folder, example):
    """Only the empty example lacks questions."""
    made = window.good("new", file=f"{example}-1.toml", example=example, language="de")
    assert [one for one in made["problems"] if example != "empty"] == []
    assert made["valid"] == (example != "empty")
    assert window.api("new", file=f"{example}-1.toml", example=example)[0] == 422
    if example != "empty":
        assert Survey.load(folder / f"{example}-1.toml").hash == made["facts"]["hash"]


def test_an_empty_survey_has_the_language_of_the_page(window):
    """An example has a language of its own."""
    begun = {("empty", "de"): ["de"], ("empty", "en"): ["en"], ("empty", "tlh"): ["en"], ("class", "de"): ["en"]}
    for (example, language), languages in begun.items():
        made = window.good("new", file=f"{example}-in-{language}.toml", example=example, language=language)
        assert made["data"].get("languages", ["en"]) == languages


@pytest.mark.slow
def test_saving_undoing_and_doing_again_are_exact(window, folder):
    made = window.good("new", file="undo.toml", example="health")
    before = (folder / "undo.toml").read_bytes()
    data = made["data"]
    for place, question in enumerate(data["questions"]):
        question["#"] = place
    assert window.good("save", file="undo.toml", hash=made["hash"], data=data)["hash"] == made["hash"]
    data["questions"].pop(0)
    saved = window.good("save", file="undo.toml", hash=made["hash"], data=data)
    after = (folder / "undo.toml").read_bytes()
    assert (saved["undo"], saved["redo"], len(saved["data"]["questions"])) == (True, False, 3)
    back = window.good("undo", file="undo.toml", hash=saved["hash"])
    assert ((folder / "undo.toml").read_bytes(), back["undo"], back["redo"]) == (before, False, True)
    window.good("redo", file="undo.toml", hash=back["hash"])
    assert (folder / "undo.toml").read_bytes() == after
    assert window.api("redo", file="undo.toml", hash=saved["hash"])[0] == 422


def test_an_edit_by_hand_is_noticed_and_both_versions_are_there(window, folder):
    made = window.good("new", file="both.toml", example="class")
    text = (folder / "both.toml").read_text().replace("Our class", "By hand")
    (folder / "both.toml").write_text(text)
    status, answer = window.api("save", file="both.toml", hash=made["hash"], data={**made["data"], "title": "Here"})
    assert (status, answer["now"]["data"]["title"]) == (409, "By hand")
    assert (folder / "both.toml").read_text() == text
    assert window.api("undo", file="both.toml", hash=made["hash"])[0] == 409


def test_a_file_that_cannot_be_read_is_shown_as_it_is(window, folder):
    (folder / "broken.toml").write_text("title = ")
    state = window.good("survey", file="broken.toml")
    assert ("data" in state, state["text"], "nvalid" in state["broken"]) == (False, "title = ", True)
    begun = {"asked.toml": "questions = []", "agreed.toml": 'consent = "c"'}
    others = {"other.toml": "x = 1", "package.json": '{"questions": []}'}
    others |= dict.fromkeys(("pyproject.toml", "constraints.toml", "people.release.toml"), "questions = []")
    for name, text in (begun | others).items():
        (folder / name).write_text(text)
    shown = {one["file"] for one in window.good("files")["surveys"]}
    assert shown & {"broken.toml", *begun, *others} == {"broken.toml", *begun}
    for name in ("../survey.toml", "people.csv", "none.toml"):
        assert window.api("survey", file=name)[0] == 422
    assert "must end in .toml" in window.api("new", file="new.json", example="exam")[1]["error"]
    assert not (folder / "new.json").exists()
    (folder / "list.json").write_text("[]")
    assert "a survey must be a table, got list" in window.api("survey", file="list.json")[1]["error"]
    refusal = window.api("save", file="broken.toml", hash=state["hash"], data=[1])
    assert (refusal[0], "a survey must be a table, got list: nothing was written" in refusal[1]["error"]) == (422, True)
    assert (folder / "broken.toml").read_text() == "title = "


def test_an_image_beside_the_survey_is_checked_and_its_name_stays_in_the_file(tmp_path):
    text = (
        'title = "T"\nconsent = "C"\n[[questions]]\nname = "q"\ntext = "Q?"\ndesign = {warner = {p = "3/4"}}\n'
        'image = {file = "card.png", alt = "A card"}  # our card\n'
    )
    (tmp_path / "survey.toml").write_text(text)
    window = Surveys(Folder(tmp_path))
    missing = window.state("survey.toml")
    assert [(one["question"], one["field"]) for one in missing["problems"] if "warning" not in one] == [(0, "image")]
    (tmp_path / "card.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    state = window.state("survey.toml")
    assert state["valid"]
    questions = [{**state["data"]["questions"][0], ORIGIN: 0}]
    saved = window.save("survey.toml", state["hash"], {**state["data"], "title": "New", "questions": questions})
    assert saved["valid"]
    assert (tmp_path / "survey.toml").read_text() == text.replace('"T"', '"New"')
    assert checking.people_needed(window.data("survey.toml"), "q", 0.1)["n"] > 0
    assert (
        "problem" not in checking.design_curve(window.data("survey.toml")["questions"][0], "warner", 100, None, "en")[0]
    )


def _fields(data):
    return [(one["question"], one["field"]) for one in checking.check(data).problems]


def test_refusals_are_where_they_arise_and_all_at_once():
    good = {"name": "a", "text": "Faculty?", "options": ["x", "y"]}
    cases = [
        ({"consent": "c", "questions": [good]}, [(None, "title")]),
        (
            {"title": "", "consent": "", "questions": [good], "contact": "x"},
            [(None, "title"), (None, "consent"), (None, "contact")],
        ),
        ({"title": "t", "consent": "c", "questions": [{**good, "name": "A"}, good]}, [(0, "name")]),
        ({"title": "t", "consent": "c", "questions": [good, {**good, "name": "b", "text": ""}]}, [(1, "text")]),
        (
            {"title": "t", "consent": "c", "questions": [good], "protection": {"review": "soon"}},
            [(None, "protection.review")],
        ),
        (
            {"title": "t", "consent": "c", "questions": [good], "minimum": 0, "cap": 0},
            [(None, "cap"), (None, "minimum")],
        ),
        (
            {"title": "t", "consent": "c", "questions": [good], "protection": {"officer": "", "transfers": ""}},
            [(None, "protection.officer"), (None, "protection.transfers")],
        ),
        ({"title": "t", "consent": "c", "questions": [good], "protection": 3}, [(None, "protection")]),
        (
            {"title": "t", "consent": "c", "questions": [good], "quota": 3, "minimum": 0},
            [(None, "quota"), (None, "minimum")],
        ),  # the reason why there is no quota names the field `cap`
        ({"title": "t", "consent": "c", "questions": [{**good, "goto": "b"}]}, [(0, "goto")]),  # which names `show_if`
        (
            {"title": "t", "consent": "c", "questions": [good, good], "protection": {"color": "red"}},
            [(0, "name"), (None, "protection.color")],
        ),
        ({"title": "t", "consent": "c", "questions": 3}, [(None, "questions")]),
        ({"consent": "c", "questions": [{**good, "name": "A"}, good]}, [(0, "name"), (None, "title")]),
        (
            {"title": "t", "consent": "c", "questions": [good, {**good, "name": "b", "show_if": {"z": ["x"]}}]},
            [(1, "show_if")],
        ),
        (
            {
                "title": "t",
                "consent": "c",
                "questions": [{**good, "text": ""}, {**good, "name": "b", "show_if": {"a": ["x"]}}],
            },
            [(0, "text")],
        ),  # that the other asks about it is no fault
    ]
    for data, expected in cases:
        assert sorted(map(str, _fields(data))) == sorted(map(str, expected)), data
    costly = [{"name": f"q{i}", "text": f"Cheated {i}?", "design": {"warner": {"epsilon": 1}}} for i in range(4)]
    assert _fields({"title": "t", "consent": "c", "questions": costly}) == [(None, "ceiling")]
    half = {"title": "t", "consent": "c", "languages": ["en", "de"], "questions": [good]}
    assert {one["field"] for one in checking.check(half).problems} >= {"title", "consent"}
    assert checking.check({"title": "t", "consent": "c", "questions": [good]}).survey is not None


@pytest.mark.parametrize(("waves", "times"), [(1, 1), (24, 24), (25, 1), (0, 1), ("3", 1), (2.5, 1)])
def test_a_cost_is_that_of_all_waves_where_they_can_be_counted(waves, times):
    question = {"name": "q", "text": "Cheated?", "design": {"warner": {"epsilon": 1}}}
    data = {"title": "t", "consent": "c", "questions": [question], "waves": waves}
    assert checking.page_facts(data, checking.check(data), "en")["epsilon"] == pytest.approx(times, rel=1e-3)
    del data["waves"]
    assert checking.page_facts(data, checking.check(data), "en")["epsilon"] == pytest.approx(1, rel=1e-3)


def test_odds_are_told_in_every_language_that_has_words_for_them():
    question = {"name": "q", "text": {"en": "Cheated?"}, "design": {"warner": {"p": "3/4"}}}
    data = {"title": "t", "consent": "c", "languages": ["de", "it"], "questions": [question]}
    told = [checking.page_facts(data, checking.check(data), one)["questions"][0]["odds"] for one in ("de", "it")]
    assert ("3 von 4" in told[0][0], told[1]) == (True, [])


def test_warnings_are_told_and_stop_nobody():
    data = {
        "title": "t",
        "consent": "Nobody can see your answers.",
        "questions": [{"name": "a", "text": "F?", "options": ["x", "y"]}],
    }
    checked = checking.check(data)
    assert [(one["field"], one["warning"]) for one in checked.problems] == [("consent", True)]
    assert checked.survey is not None
    data["questions"][0]["help"] = data["consent"]
    places = [(one["question"], one["field"]) for one in checking.check(data).problems]
    assert places == [(None, "consent"), (0, "help")]


def test_margins_are_those_of_the_survey_s_own_plan(window, folder):
    window.good("new", file="plan.toml", example="exam")
    made = window.good("plan", file="plan.toml", n=1000, subgroup=0.1)
    survey = Survey.load(folder / "plan.toml")
    plan = survey.plan(1000, subgroup=0.1)
    assert made["notes"] == list(plan.notes) != list(survey.plan(1000).notes)
    assert window.good("consent", file="plan.toml", language="en")["text"] == survey.consent_text("en")
    assert {name: row["margin"] for name, row in made["rows"].items()} == {
        one.question: margin_text(one, one.margin) for one in plan.questions
    }
    needed = window.good("needed", file="plan.toml", name="cheated", margin=0.03)["n"]
    assert needed == survey.plan(goals={"cheated": {"margin": 0.03}}).n
    plain = next(one.name for one in survey.questions if not one.randomized)
    for name in (plain, "nothing"):
        assert window.good("needed", file="plan.toml", name=name, margin=0.03) == {"n": None}
    assert window.api("plan", file="plan.toml", n=0)[0] == 422


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("yesno", {"design": {"warner": {"p": "3/4"}}}),
        ("options", {"options": ["a", "b", "c"], "design": {"k_ary": {"epsilon": 1}}}),
        ("likert", {"design": {"likert": {"points": 5, "epsilon": 1}}}),
        ("ticks", {"options": ["a", "b", "c"], "design": {"tick_boxes": {"epsilon": 1}}}),
        ("number", {"bounds": [0, 80], "design": {"one_bit": {"epsilon": 1}}}),
    ],
)
def test_every_setting_of_a_slider_is_a_question_with_its_stated_cost(monkeypatch, kind, table):
    """Settings come in increasing order of epsilon."""
    monkeypatch.setattr(checking, "_EPSILONS", [0.1, 0.8, 1.0, 3.0])
    table = {"name": "q", "text": "Text?", **table}
    for family in checking.offered_designs()[kind]:
        rows = checking.design_curve(table, family, 1000, 0.1, "en")
        assert len(rows) > 3
        assert [row for row in rows if "problem" in row] == []
        costs = [row["epsilon"] for row in rows]
        assert costs == sorted(costs), family
        for row in rows[:: max(1, len(rows) // 3)]:
            changed = {key: value for key, value in {**table, **row["change"]}.items() if value is not None}
            (question,) = checking.read_questions([changed])
            assert question.design.epsilon == row["epsilon"]
            planned = checking.plan_questions("", [question], 1000, subgroup=0.1).questions[0]
            assert row["small_margin"] == margin_text(planned, planned.subgroup_margin)
            assert question.kind == {"yesno": "choice", "options": "choice", "likert": "choice"}.get(kind, kind)


def test_the_page_knows_the_kind_of_a_design_from_the_catalogue(monkeypatch):
    kinds = checking.design_kinds()
    assert {kinds[name] for name in ("warner", "forced", "kuk", "crosswise")} == {"yesno"}
    assert (kinds["tick_boxes"], kinds["square_wave"], kinds["additive"]) == ("ticks", "number", "number")
    assert {"k_ary", "forced_options", "matrix", "best"}.isdisjoint(kinds)  # their options decide
    monkeypatch.setitem(CATALOGUE, "two_coins", NamedMaker(partial(forced, "1/4", "1/4"), {}))
    assert checking.design_kinds()["two_coins"] == "yesno"


def test_a_design_of_the_catalogue_with_a_title_is_offered(monkeypatch):
    assert "two_coins" not in checking.offered_designs()["yesno"]
    two_coins = NamedMaker(warner, {"p": "3/4"}, title="Two coins", description="Toss two coins.")
    monkeypatch.setitem(CATALOGUE, "two_coins", two_coins)
    offered = checking.offered_designs()["yesno"]
    assert next(iter(offered)) == "warner"  # the design of a new question
    assert offered["two_coins"] == {"title": "Two coins", "description": "Toss two coins.", "by_epsilon": True}
    rows = checking.design_curve({"name": "q", "text": "T?"}, "two_coins", 1000, None, "en")
    assert [row["change"]["design"] for row in rows[:2]] == [{"two_coins": {"epsilon": step}} for step in (0.1, 0.2)]
    assert not any("problem" in row for row in rows)


def test_a_setting_that_is_refused_says_why():
    rows = checking.design_curve({"name": "q", "text": ""}, "forced", 1000, None, "en")
    assert [set(row) for row in rows] == [{"change", "problem"}] * 6
    assert {"`text` must" in row["problem"] for row in rows} == {True}


def test_what_is_refused_is_taken_away_once():
    tables = [{"name": "a"}, {"name": "b"}]
    remaining_data = {"questions": tables[1:], "cap": 0}
    refused = [(0, "text", False), (1, "text", True), (1, "text", False), (None, "cap", True), (None, "cap", False)]
    for place, name, something in refused:
        assert checking._drop_rejected(remaining_data, {"question": place, "field": name}, tables) is something
    assert remaining_data == {"questions": []}


def test_the_hundred_people_are_the_design_s_own():
    rows = checking.design_curve({"name": "q", "text": "T?", "design": {}}, "warner", 100, None, "en")
    assert len(rows) == 30
    for row in rows:
        often = warner(**row["change"]["design"]["warner"]).matrix[1][1]
        assert [one["count"] for one in row["pictures"]] == [round(100 * often), 100 - round(100 * often)]
    json.dumps(rows)


def test_other_designs_are_drawn_by_what_they_keep_or_by_right_guesses():
    many, number = k_ary(4, epsilon=1), one_bit((0, 9), 1)
    kept = round(100 * many.matrix[0][0])
    assert checking._icon_counts(many) == [{"what": "same", "count": kept}]
    assert checking._icon_counts(number) == [{"what": "guess", "count": math.ceil(100 / (1 + math.exp(-1)))}]
    forced = forced_options(list("abc"), ["1/10", "1/10", "3/10"])
    assert checking._icon_counts(forced) == [{"what": "same", "count": 60}]  # the answer that is kept least
    certain = Design([[1, 1, 0], [0, 1, 1]], 2, ("a", "b"), report_options=("x", "y", "z"))
    assert checking._icon_counts(certain) == [{"what": "guess", "count": 100}]


def test_the_first_setting_of_a_slider_is_the_most_private():
    """It keeps what the author had chosen."""
    warner_, likert = ({"innocent": None, "design": {name: {"epsilon": 0.1}}} for name in ("warner", "likert"))
    forced = {"innocent": None, "design": {"forced": {"yes": "1/3", "no": "1/3"}}}
    own = {"mode": "physical", "instructions": "Own.", "innocent": {"born": "jan-may"}, "design": {"crosswise": {}}}
    cases = [({}, warner_), ({"mode": "guided"}, warner_), ({"mode": "physical"}, warner_ | {"mode": None})]
    cases += [({"mode": "physical"}, forced), ({"instructions": "Own."}, own)]
    for points, table in ((5, {}), (7, {"design": {"likert": {"points": 7}}})):
        cases.append((table, likert | {"design": {"likert": {"points": points, "epsilon": 0.1}}}))
    for table, change in cases:
        assert checking._design_settings(table, next(iter(change["design"])))[0] == change


def test_what_the_page_tells_of_a_half_written_survey():
    def told(**changes):
        data = {"title": "t", "consent": "c", "questions": [], **changes}
        return checking.page_facts(data, checking.check(data), "de")

    ceilings = {0: 0, "2": 2, 1.5: 1.5, "inf": "inf", -1: 3, "much": 3}
    assert {given: told(ceiling=given)["ceiling"] for given in ceilings} == ceilings
    assert told(ceiling=True)["ceiling"] == told()["ceiling"] == 3
    codes = {("en",): "en", ("en", "de"): "de", (): "de", (3, "fr"): "fr"}
    assert {given: checking._display_language({"languages": [*given]}, "de") for given in codes} == codes
    assert checking._display_language({"languages": "en"}, "de") == "de"


def test_two_studios_that_save_at_once_detect_the_conflict(tmp_path):
    """One of two tabs is told of the change that the other one made."""
    servers = [Actions(Folder(tmp_path)) for _ in range(2)]
    made = servers[0].surveys.new("a.toml", "class")
    together = Barrier(4)

    def save(place):
        together.wait()
        data = {**made["data"], "title": f"Title {place}"}
        return servers[place % 2].run("save", {"file": "a.toml", "hash": made["hash"], "data": data}).status

    with ThreadPoolExecutor(4) as tabs:
        assert sorted(tabs.map(save, range(4))) == [200, 409, 409, 409]


def test_what_was_changed_outside_is_a_step_that_can_be_undone_by_itself(window, folder):
    made = window.good("new", file="steps.toml", example="class")
    first, path = (folder / "steps.toml").read_bytes(), folder / "steps.toml"
    saved = window.good("save", file="steps.toml", hash=made["hash"], data={**made["data"], "title": "Here"})
    mine = path.read_bytes()
    path.write_bytes(mine.replace(b"Here", b"By hand"))
    now = window.good("survey", file="steps.toml")
    assert (now["undo"], now["hash"] != saved["hash"]) == (True, True)
    back = window.good("undo", file="steps.toml", hash=now["hash"])
    assert path.read_bytes() == mine
    back = window.good("undo", file="steps.toml", hash=back["hash"])
    assert (path.read_bytes(), back["undo"], back["redo"]) == (first, False, True)
    path.write_bytes(first.replace(b"Our class", b"Another way"))
    now = window.good("survey", file="steps.toml")
    assert (now["undo"], now["redo"], now["readonly"]) == (True, False, False)  # the way back is another one
    path.write_text(f"minimum = {2**60}")
    assert window.good("survey", file="steps.toml")["readonly"]  # a page would round it


def test_of_many_steps_the_last_can_be_undone(tmp_path, monkeypatch):
    monkeypatch.setattr(surveys_of_a_folder, "_MAX_UNDO", 2)
    surveys = Surveys(Folder(tmp_path))
    for title in "abcd":
        (tmp_path / "s.toml").write_text(f'title = "{title}"')
        state = surveys.state("s.toml")
    for title, more in (("c", True), ("b", False)):
        state = surveys.undo("s.toml", state["hash"])
        assert (state["data"]["title"], state["undo"]) == (title, more)


def test_what_is_missing_is_a_sentence(tmp_path):
    actions = Actions(Folder(tmp_path))
    for given, said in ((("Which one?",), "Which one?"), ((), "something is missing")):

        def missing(given=given):
            raise KeyError(*given)

        actions.actions["files"] = missing
        answer = actions.run("files", {})
        assert (answer.status, json.loads(answer.body)) == (422, {"error": said})


def test_of_many_pages_that_were_looked_at_the_last_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "_MAX_PREVIEWS", 2)
    actions = Actions(Folder(tmp_path))
    actions.surveys.new("a.toml", "class")
    paths = [actions._preview("a.toml", "assessment", "en")["path"] for _ in range(3)]
    assert [f"preview/{ticket}" for ticket in actions.previews] == paths[1:]
