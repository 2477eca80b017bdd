import dataclasses
import json
import math
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.survey.samples import DESIGNS, MEMO, cheated, faculty, panel, survey, survey_with
from toolkit import Design, Pure, crosswise, forced, k_ary, mangat, warner
from toolkit import survey as room
from toolkit.local.numeric import one_bit
from toolkit.local.waves import Memo
from toolkit.survey import client
from toolkit.survey.consent.page_data import shown_survey
from toolkit.survey.questions.errors import SurveyError
from toolkit.survey.questions.question import Question, localized_question
from toolkit.survey.questions.survey_fields import Panel
from toolkit.survey.spec import Survey

CAMPUS = Path(__file__).parents[2] / "data" / "campus.toml"
NASTY = ["</script><img src=x onerror=alert(1)>", "=cmd|' /C calc'!A0", "{0}{often}%s", "\u200f مرحبا 😀", '"\\\n\t']


def test_the_campus_survey_has_every_kind_of_question() -> None:
    campus = Survey.load(CAMPUS)
    kinds = {question.name: (question.kind, question.mode) for question in campus.questions}
    assert kinds == {
        "faculty": ("choice", "plain"),
        "year": ("choice", "plain"),
        "cheated": ("choice", "auto"),
        "pressure": ("choice", "auto"),
        "helpers": ("ticks", "auto"),
        "hours": ("number", "auto"),
        "paid": ("choice", "physical"),
        "moon": ("choice", "auto"),
        "comment": ("text", "plain"),
    }
    assert campus.languages == ("en", "de")
    assert campus["moon"].anchor == "no"
    assert campus["pressure"].options == (1, 2, 3, 4, 5, "undisclosed")
    paid = math.log(980 / 481)  # January to April have 120.25 of 365.25 days, not a third
    assert campus.loss.epsilon == pytest.approx(math.log(2) + paid + math.log(1.5) + 1.18, abs=1e-6)
    assert "at most 96 times in 100" in campus.consent_text()  # odds of e**2.9902 to 1 are 0.9521
    assert "höchstens in 96 von 100 Fällen" in campus.consent_text("de")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_a_survey_is_read_back_equal_with_an_equal_hash(tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    campus = Survey.load(CAMPUS)
    campus.save(first)
    again = Survey.load(first)
    again.save(second)
    assert again == campus
    assert again.hash == campus.hash
    assert shown_survey(again) == shown_survey(campus)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_every_design_is_read_back(tmp_path: Path, design: Any, suffix: str) -> None:
    made = survey_with(design)
    made.save(tmp_path / f"a{suffix}")
    again = Survey.load(tmp_path / f"a{suffix}")
    assert again == made
    assert again.hash == made.hash
    assert again["asked"].design == design


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize("words", NASTY)
def test_markup_formulas_and_odd_signs_are_just_text_in_every_field(tmp_path: Path, words: str, suffix: str) -> None:
    label = re.sub(r'["\n\t\u200f]', "", words)  # which the linter rejects
    question = Question(
        "asked", words, design=k_ary([label, "b"], epsilon=1.0), labels={label: label}, help=words, instructions=words
    )
    plain = Question("open", f"Else: {words}?", free_text=True, warning=words, required=False)
    made = survey(question, plain, consent=words)
    made.save(tmp_path / f"a{suffix}")
    assert Survey.load(tmp_path / f"a{suffix}") == made
    page = json.loads(json.dumps(shown_survey(made)))
    shown = page["questions"][0]
    assert shown["text"] == shown["help"] == shown["instructions"] == {"en": words}
    assert shown["options"][0]["label"] == {"en": label}
    assert words in made.consent_text()


@pytest.mark.parametrize(("field", "most"), {"title": 200, "consent": 20_000, "debrief": 2000, "help": 2000}.items())
def test_every_text_has_at_most_so_many_signs(field: str, most: int) -> None:
    given = {"title": "Exams", "questions": [cheated()], "consent": "We study exams."}
    assert getattr(Survey(**{**given, field: "t" * most}), field) == {"en": "t" * most}
    with pytest.raises(ValueError, match=f"`{field}` must have at most {most} characters, got {most + 1}"):
        Survey(**{**given, field: "t" * (most + 1)})


def test_plain_data_are_json_without_null_or_float() -> None:
    def walk(value: Any) -> None:
        assert isinstance(value, str | int | list | dict), value
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(inner)

    for design in DESIGNS.values():
        walk(survey_with(design, cap=5).to_dict())


def test_the_hash_covers_all_that_people_read_and_all_that_is_drawn() -> None:
    base = survey()
    changed = [
        survey(consent="We study exams!"),
        survey(faculty(labels={"law": "Law school"}), cheated()),
        survey(faculty(), cheated(design=warner(p="3/4"))),
        survey(faculty(), cheated(mode="guided")),
        survey(faculty(), cheated(help="Think.")),
        survey(faculty(), cheated(anchor="no")),
        survey(faculty(required=False), cheated()),
        survey(cheated(), faculty()),
        survey(languages=["de"]),
        survey(practice=False),
        survey(check=False),
        survey(access="token"),
        survey(cap=10),
        survey(ceiling=2),
        survey(minimum=31),
        survey(words={"en": {"next": "Go on"}}),
    ]
    assert len({base.hash, *(other.hash for other in changed)}) == len(changed) + 1
    assert survey().hash == base.hash
    assert len(base.hash) == 64


def test_the_hash_covers_the_code_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    before = survey().hash
    monkeypatch.setattr(client, "code_hash", lambda: "0" * 64)
    assert survey().hash != before


@pytest.mark.slow
def test_the_hash_is_the_same_in_another_process() -> None:
    code = f"from toolkit.survey.spec import Survey; print(Survey.load({str(CAMPUS)!r}).hash)"
    other = {"check": True, "capture_output": True, "text": True, "env": {"PYTHONHASHSEED": "1"}}
    assert subprocess.run([sys.executable, "-c", code], **other).stdout.strip() == Survey.load(CAMPUS).hash


def test_what_the_page_gets() -> None:
    page = shown_survey(survey(faculty(), cheated(show_if={"faculty": ["law"]}), access="token"))
    assert list(page) == ["title", "languages", "access", "consent", "practice", "check", "questions"]
    assert (page["title"], page["languages"], page["access"], page["check"]) == ({"en": "Exams"}, ["en"], "token", True)
    head, who, *_ = page["consent"]["en"]
    assert who["open"][0] == "We study exams."
    assert who["open"][1].startswith("This is a demonstration.")
    assert head["open"][0].startswith("Nobody can be sure")
    assert page["questions"][1]["show_if"] == {"faculty": [1]}


def test_texts_in_languages_that_the_survey_does_not_have_stay_at_home() -> None:
    made = survey(localized_question(cheated(), "en"), consent={"en": "We study.", "fr": "Nous étudions."})
    assert list(shown_survey(made)["consent"]) == ["en"]
    assert made.to_dict()["consent"] == {"en": "We study.", "fr": "Nous étudions."}


def test_the_practice_question_is_randomized_as_the_weakest_question_is() -> None:
    def practised(*questions: Question, **changes: Any) -> Any:
        pages = shown_survey(survey(*questions, **changes))["practice"]
        return next(((page["name"], page["mode"], page["randomizer"]["weights"]) for page in pages), None)

    physical = {"mode": "physical", "instructions": "Throw a die."}
    assert practised(cheated()) == ("practice", "auto", [[2, 1], [1, 2]])
    assert practised(cheated(mode="guided", design=forced("1/6", "1/6"))) == ("practice", "guided", [[5, 1], [1, 5]])
    hours = Question("hours", "How many?", design=one_bit((0, 80), 1.0))
    assert practised(hours) == ("practice", "auto", warner(epsilon=hours.loss.epsilon).weights.tolist())
    assert practised(cheated(), hours) == practised(hours)  # 1 is more than ln 2
    assert practised(Question("x", "X?", design=mangat("1/2")), ceiling=math.inf) is None
    weak = cheated(design=warner(epsilon=3.5))
    assert practised(weak, ceiling=4) is practised(hours, weak, ceiling=9) is practised(weak, hours, ceiling=9) is None
    assert practised(cheated(**physical)) is None
    assert practised(faculty()) is None
    assert practised(cheated(), practice=False) is None
    assert survey(cheated()).loss == survey(cheated(), practice=False).loss == warner(p="2/3").loss  # it is never sent


def test_there_is_no_check_without_randomization() -> None:
    """There is no check if its right answer would be untrue."""
    assert survey(cheated(mode="physical", instructions="Throw a die.")).check is True
    assert survey(faculty()).check is survey(cheated(), check=False).check is False
    for epsilon, so in ((3.0, True), (3.01, False)):
        made = survey(cheated(design=warner(epsilon=epsilon)), ceiling=4)
        assert [made.check, made.practice, shown_survey(made)["questions"][0]["deniable"]] == [so] * 3
    assert survey(Question("x", "X?", design=mangat("1/2")), ceiling=math.inf).check is False


@pytest.mark.parametrize(("ceiling", "written"), [(7, 7), (6.5, "13/2"), ("20/3", "20/3"), (math.inf, "inf")])
def test_ceilings_are_kept_exact(ceiling: Any, written: Any, tmp_path: Path) -> None:
    made = survey(ceiling=ceiling)
    assert made.to_dict()["ceiling"] == written
    assert made.ceiling == (math.inf if written == "inf" else Fraction(written))
    made.save(tmp_path / "a.toml")
    assert Survey.load(tmp_path / "a.toml") == made
    assert Survey.from_dict({**made.to_dict(), "ceiling": ceiling}) == made


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no consent": ({"consent": ""}, "`consent` must not be empty"),
    "consent of spaces": ({"consent": {"en": "  "}}, "`consent.en` must not be empty"),
    "no consent at all": ({"consent": None}, "`consent` must be a string"),
    "languages as a string": ({"languages": "en"}, "must be a list of codes"),
    "no language": ({"languages": []}, "must be a list of codes"),
    "a language twice": ({"languages": ["en", "en"]}, "must be distinct"),
    "a strange language": ({"languages": ["../en"]}, "must be a code"),
    "an unknown access": ({"access": "closed"}, "open, token, blind"),
    "a cap of nobody": ({"cap": 0}, "`cap` must be at least 1"),
    "a cap of a half": ({"cap": 0.5}, "`cap` must be a whole number"),
    "a cap that is a truth value": ({"cap": True}, "`cap` must be a whole number"),
    "a negative ceiling": ({"ceiling": -1}, "must not be negative"),
    "a ceiling that is no number": ({"ceiling": math.nan}, "finite"),
    "no minimum": ({"minimum": 0}, "`minimum` must be at least 1"),
    "practice as a word": ({"practice": 1}, "`practice` must be true or false"),
    "words as a list": ({"words": ["next"]}, "`words` must be texts by language"),
    "words without names": ({"words": {"en": "next"}}, "`words` must be texts by language"),
    "words that are no strings": ({"words": {"en": {"next": 3}}}, "must be a string"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_a_survey_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        survey(**changes)


@pytest.mark.parametrize("questions", ["cheated", cheated(), [cheated(), "faculty"], None])
def test_questions_are_a_list_of_questions(questions: Any) -> None:
    with pytest.raises(SurveyError, match="`questions` must ") as caught:
        Survey("Exams", questions, consent="We study.")
    assert (caught.value.question, caught.value.field) == (None, "questions")


def test_surveys_are_frozen_equal_by_value_and_known_by_name() -> None:
    made = survey()
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.cap = 3  # type: ignore[misc]
    assert made == survey()
    assert len({made, survey()}) == 1
    assert made["cheated"] == localized_question(cheated(), "en")
    assert made.loss == Pure(warner(p="2/3").epsilon)
    with pytest.raises(KeyError, match="must be one of faculty, cheated, got 'age'"):
        made["age"]
    with pytest.raises(ValueError, match="`language` must be one of en"):
        made.consent_text("de")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


HEAD = 'title = "Exams"\nconsent = "We study."\n'
ASKED = f"{HEAD}[[questions]]\nname = 'x'\ntext = 'y'\n"
WRONG: dict[str, tuple[str, str]] = {
    "no consent": ('title = "Exams"\nquestions = []\n', "a survey must have `consent`, got none: people must know"),
    "no questions": (HEAD, "a survey must have `questions`"),
    "an empty list": (f"{HEAD}questions = []\n", "a survey must have at least one question"),
    "a table": (f"{HEAD}[questions]\nname = 'x'\n", r"`questions` must be a list of tables, got dict: write \[\[quest"),
    "a question as a string": (f"{HEAD}questions = ['x']\n", "question 1: a question must be a table"),
    "no name": (f"{HEAD}[[questions]]\ntext = 'x'\n", "question 1: a question must have `name`"),
    "no text": (f"{HEAD}[[questions]]\nname = 'x'\n", "question 'x': a question must have `text`"),
    "a quota": (f"{HEAD}quota = 3\nquestions = []\n", "a survey has the fields .*got 'quota': there are no such"),
    "a skip rule": (f"{ASKED}skip_to = 'z'\n", "question 'x': a question has the fields .*got 'skip_to': the only"),
    "a wrong p": (f"{ASKED}design = {{warner = {{p = 0.5}}}}\n", "question 'x': `p` must differ from 1/2, got 1/2: at"),
    "a leak": (
        f"{ASKED}required = false\ndesign = {{warner = {{p = 0.7}}}}\n",
        "question 'x': a randomized question must be required",
    ),
    "no TOML": ("title = \n", ".*line 1"),
    "a strange name": (f"{HEAD}[[questions]]\nname = 'X Y'\ntext = 'y'\nfree_text = true\n", ".*`name` must be"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_errors_name_the_file_the_question_and_the_remedy(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SurveyError, match=f"^mine.toml: {message}"):
        Survey.load(written(tmp_path, text))


def test_a_small_file_is_enough(tmp_path: Path) -> None:
    made = Survey.load(written(tmp_path, f"{ASKED}design = {{warner = {{p = '2/3'}}}}\n"))
    assert made == Survey("Exams", [Question("x", "y", design=warner(p="2/3"))], consent="We study.")


def test_a_file_may_be_in_another_language(tmp_path: Path) -> None:
    head = 'languages = ["ar"]\ntitle = "استبيان"\nconsent = "نحن ندرس."\n'
    text = f'{head}[[questions]]\nname = "x"\ntext = "هل؟"\ndesign = {{crosswise = {{p = "1/4"}}}}\n'
    made = Survey.load(written(tmp_path, text))
    assert made.consent_text().startswith("لا يمكن لأحد")
    assert made["x"].design == crosswise("1/4")


def test_what_is_not_in_the_room_is_said() -> None:
    with pytest.raises(AttributeError, match=r"module 'toolkit\.survey' has no attribute 'nothing'"):
        room.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_data_that_are_no_table_are_refused() -> None:
    with pytest.raises(TypeError, match="a survey must be a table, got list"):
        Survey.from_dict([])  # type: ignore[arg-type]


def test_a_survey_of_several_waves_survives_files(tmp_path: Path) -> None:
    """Its loss counts all waves."""
    made = panel(wave=2, access="token", panel=Panel("ab" * 16, Fraction(9, 4)))
    assert (made.waves, made.wave) == (2, 2)
    for name in ("panel.toml", "panel.json"):
        made.save(tmp_path / name)
        assert Survey.load(tmp_path / name) == made
        assert Survey.load(tmp_path / name).hash == made.hash
    assert panel().loss.epsilon == MEMO.epsilon(2, truth="changing", memo="lost")
    assert made.loss.epsilon == 2.25  # what the first wave told people, which had more questions
    assert "epsilon 2.25 for 2 waves, of which this is number 2" in repr(made)
    assert "total for one respondent, in 2 waves" in made._repr_html_()
    page = shown_survey(made)
    assert [page[name] for name in ("panel", "loss", "waves", "wave")] == ["ab" * 16, "9/4", 2, 2]
    assert shown_survey(panel())["panel"] is None
    assert page["questions"][0]["randomizer"]["kind"] == "memo"
    assert len({panel(waves=4, wave=wave).hash for wave in (1, 2, 3, 4)}) == 4
    others = [Panel("cd" * 16, made.panel.total_epsilon), Panel("ab" * 16, Fraction(5, 2)), None]
    assert len({dataclasses.replace(made, panel=one).hash for one in (made.panel, *others)}) == 4


def test_a_survey_without_waves_is_written_as_before() -> None:
    made = survey()
    assert not {"waves", "wave", "panel"} & set(made.to_dict())
    assert not {"waves", "wave", "panel"} & set(shown_survey(made))
    assert "memo" not in made.to_dict()["questions"][1]
    assert survey(waves=1, wave=1).hash == made.hash


def test_plain_designs_count_in_each_wave_beside_a_memo() -> None:
    """The ceiling is for all of them."""
    both = (cheated(design=MEMO), Question("stolen", "Stolen?", design=warner("3/4")))
    spent = MEMO.epsilon(2, truth="changing", memo="lost") + 2 * math.log(3)
    assert abs(panel(*both, ceiling=4).loss.epsilon - spent) < 1e-12
    with pytest.raises(ValueError, match=r"at most epsilon 3 in 2 waves.*got 3.219 \(cheated 1.02, stolen 2.2\)"):
        panel(*both)
    certain = Memo(warner("3/4"), Design([[1, 0], [0, 1]], 1, ("no", "yes")))
    with pytest.raises(ValueError, match="the reports of 2 waves must not be able to prove an answer"):
        panel(cheated(design=certain))
    allowed = panel(cheated(design=certain), ceiling=math.inf)
    assert "So there is no limit to what all of it can show" in allowed.consent_text()


def test_a_file_of_a_panel_can_be_written_by_hand(tmp_path: Path) -> None:
    design = "design = {memo = {permanent = {warner = {p = '3/4'}}, fresh = {warner = {p = '3/4'}}}}"
    made = Survey.load(written(tmp_path, f"waves = 4\n{ASKED}{design}"))
    assert made == Survey("Exams", [Question("x", "y", design=MEMO)], consent="We study.", waves=4)
