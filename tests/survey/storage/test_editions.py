"""The page that a collection shows never changes by accident, and a deliberate change loses no report."""

import json
from contextlib import closing
from dataclasses import replace

import pytest

from tests.survey.entries import STORED, entry, opened, small_survey
from toolkit import warner
from toolkit.survey import client
from toolkit.survey.client import toolkit_version
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey
from toolkit.survey.storage import Collection, State, open_store
from toolkit.survey.storage.editions import new_edition, page_mismatch, read_survey
from toolkit.texts.phrases import page_words_by_language, phrases


@pytest.fixture
def store(tmp_path):
    with closing(open_store(f"sqlite:///{tmp_path / 'survey.db'}")) as store:
        yield store


def with_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a later version with a corrected word in a comment in one of the page's files."""
    monkeypatch.setattr(client, "code_hash", lambda: "0" * 64)
    monkeypatch.setattr(client, "version", lambda _: "9.9.9")


def test_a_collection_stores_its_version_and_hash(store: Collection) -> None:
    """The files are those of the page that the collection was made with."""
    survey = small_survey()
    opened(store)
    (first,) = store.editions()
    assert (first.hash, first.toolkit_version) == (survey.hash, toolkit_version())
    assert read_survey(first) == survey


def test_other_code_is_told_which_version_to_use_and_how_to_amend(store: Collection, monkeypatch) -> None:
    opened(store)
    made = toolkit_version()
    with_other_code(monkeypatch)
    with pytest.raises(
        ValueError, match=f"of toolkit 9.9.9 for .* of toolkit {made}: use toolkit {made} .*toolkit serve --amend"
    ):
        store.create(small_survey())
    assert "9.9.9" in (page_mismatch(small_survey(), store.editions()) or "")


@pytest.mark.slow
def test_an_amended_page_replaces_the_earlier_one(store: Collection, monkeypatch) -> None:
    """The earlier page is stored."""
    opened(store)
    before = small_survey().hash
    with_other_code(monkeypatch)
    for _ in range(2):
        store.amend(small_survey())
    after = small_survey().hash
    assert [(edition.hash, edition.toolkit_version) for edition in store.editions()] == [
        (before, toolkit_version_then()),
        (after, "9.9.9"),
    ]
    store.create(small_survey())
    assert store.survey().hash == after
    assert page_mismatch(small_survey(), store.editions()) is None


def toolkit_version_then() -> str:
    from importlib.metadata import version

    return version("privacy-survey-toolkit")


def test_title_and_consent_may_be_amended_and_are_what_is_shown(store: Collection) -> None:
    opened(store)
    corrected = small_survey("Examinations")
    with pytest.raises(ValueError, match=r"one of another survey: use another database; or, .*toolkit serve --amend"):
        store.create(corrected)
    store.amend(corrected)
    assert store.survey() == corrected
    assert read_survey(store.editions()[0]) == small_survey()
    assert store.add([entry()]) == [STORED]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (
            Survey("Exams", [Question("cheated", "Have you cheated?", design=warner(p="2/3"))], consent="I agree."),
            "questions",
        ),
        (
            Survey(
                "Exams", [Question("cheated", "Have you ever cheated?", design=warner(p="3/4"))], consent="I agree."
            ),
            "questions",
        ),
        (small_survey(access="token"), "access"),
        (small_survey(cap=100), "cap"),
        (small_survey(check=False), "check"),
        (small_survey(minimum=10), "minimum"),
    ],
)
def test_questions_and_designs_cannot_be_amended(store: Collection, changed: Survey, named: str) -> None:
    opened(store)
    with pytest.raises(
        ValueError,
        match=f"only in title, consent, words, closes, protection .*, got a different '{named}': .* another database",
    ):
        store.amend(changed)
    with pytest.raises(ValueError, match="one of another survey: reports cannot be mixed; use another database"):
        store.create(changed)
    assert len(store.editions()) == 1


@pytest.mark.slow
def test_own_words_may_be_amended_but_not_swapped(store: Collection) -> None:
    """Yes and no must not be exchanged."""
    page = {name: word for name, word in page_words_by_language(["en"])["en"].items() if name != "direction"}
    said = page | {f"promise_{name}": sentence for name, sentence in phrases("en").items()}
    store.create(small_survey(languages=["it"], words={"it": said}))
    swapped = said | {"promise_yes": said["promise_no"], "promise_no": said["promise_yes"]}
    with pytest.raises(ValueError, match="must show every option by the same label, got other labels in its `words`"):
        store.amend(small_survey(languages=["it"], words={"it": swapped}))
    store.amend(small_survey(languages=["it"], words={"it": said | {"next": "Avanti"}}))
    assert len(store.editions()) == 2


def test_a_closed_collection_is_not_amended(store: Collection) -> None:
    opened(store).set_state(State.CLOSED)
    with pytest.raises(ValueError, match="not closed"):
        store.amend(small_survey("Examinations"))


def test_an_unreadable_survey_names_its_version() -> None:
    """The version is that of the toolkit that made it."""
    data = json.loads(new_edition(small_survey()).survey_json) | {"novelty": 1}
    with pytest.raises(ValueError, match=r"one of toolkit 9\.9\.9 .*: use that version"):
        read_survey(replace(new_edition(small_survey()), survey_json=json.dumps(data), toolkit_version="9.9.9"))


def test_without_an_installed_toolkit_the_version_is_unknown(monkeypatch) -> None:
    def missing(_: str) -> str:
        raise client.PackageNotFoundError

    monkeypatch.setattr(client, "version", missing)
    assert toolkit_version() == "unknown"


def test_what_was_right_when_it_was_made_stays_readable_under_later_rules() -> None:
    """A label that today's linter rejects does not make a collection's reports unreadable."""
    made = new_edition(small_survey())
    old = json.loads(made.survey_json)
    old["questions"][0]["labels"] = {"yes": {"en": "Yes”, we receive “No\u202e"}}
    with pytest.raises(ValueError, match="must not change the direction of writing"):
        Survey.from_dict(old)
    read = read_survey(replace(made, survey_json=json.dumps(old)))
    assert read.to_dict() == old
    assert "“Yes’, we receive ‘No”" in read.consent_text()
