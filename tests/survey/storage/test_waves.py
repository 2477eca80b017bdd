"""The next wave: the same panel and the same links, in a collection of its own."""

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from tests.postgres_server import new_name
from tests.survey.entries import small_survey
from tests.survey.samples import KEY, MEMO, cheated, panel
from toolkit import warner
from toolkit.local.waves import Memo
from toolkit.survey.questions.question import Question
from toolkit.survey.questions.survey_fields import Panel
from toolkit.survey.serving.access import new_tokens, token_hash
from toolkit.survey.spec import Survey
from toolkit.survey.storage import Collection, NewReport, Outcome, State, collection, open_store
from toolkit.survey.storage.editions import check_next_wave
from toolkit.texts.phrases import page_words_by_language, phrases

TOKENS = new_tokens(3)


@pytest.fixture(params=["sqlite", "postgresql", pytest.param("pool", id="postgresql-pool")])
def place(request, tmp_path):
    """Return the address of a wave's database, by its number."""
    if request.param == "sqlite":
        return lambda wave: f"sqlite:///{tmp_path / f'{wave}.db'}"
    names = {wave: new_name() for wave in (1, 2, 4)}
    if request.param == "pool":
        return lambda wave: request.getfixturevalue("bouncer").pooled(names[wave])
    return lambda wave: request.getfixturevalue("postgres").url(names[wave])


def opened(place: Callable[[int], str], wave: int, keep_invitations: int | None = None, access: str = "token"):
    """Return a wave's store; the first one has invitations."""
    store, survey = open_store(place(wave)), panel(wave=wave, access=access)
    if keep_invitations is None:
        store.create(survey, None if wave == 1 else Panel.new(survey.loss))
        store.invite(map(token_hash, TOKENS))
    else:
        with closing(open_store(place(keep_invitations), readonly=True)) as earlier:
            store.create_next_wave(survey, earlier, ["port", "public url"])
    store.set_state(State.OPEN)
    return store


def entry(number: int, token: str) -> NewReport:
    return NewReport(bytes([number] * 16), "{}", token_hash(token))


def test_a_link_works_once_in_each_wave(place):
    """This also holds after the first wave was closed."""
    first = opened(place, 1)
    assert first.add([entry(1, TOKENS[0]), entry(2, TOKENS[0])]) == [Outcome.STORED, Outcome.SPENT]
    first.set_setting("port", "8123")
    first.set_state(State.CLOSED)
    first.close()
    second = opened(place, 2, keep_invitations=1)
    assert second.invitation_hashes() == sorted(map(token_hash, TOKENS))
    assert (second.get_setting("port"), second.get_setting("public url")) == ("8123", None)
    told = second.add([entry(3, TOKENS[0]), entry(4, TOKENS[0]), entry(5, TOKENS[1]), entry(6, "x" * 22)])
    assert told == [Outcome.STORED, Outcome.SPENT, Outcome.STORED, Outcome.SPENT]
    second.close()
    second = opened(place, 2, keep_invitations=1)  # as when its server is started again: nobody is admitted twice
    assert second.add([entry(7, TOKENS[0]), entry(8, TOKENS[2])]) == [Outcome.SPENT, Outcome.STORED]
    second.close()


def test_closing_keeps_invitations_but_not_who_answered(place):
    """The last wave stores neither."""
    for wave, left in ((1, 3), (2, 0)):
        store = opened(place, wave)
        store.add([entry(1, TOKENS[0])])
        store.set_state(State.CLOSED)
        assert len(store.invitation_hashes()) == left
        store.close()


def test_no_byte_of_a_closed_wave_tells_who_answered(tmp_path):
    store = opened(lambda wave: f"sqlite:///{tmp_path / f'{wave}.db'}", 1)
    store.add([entry(1, TOKENS[0])])
    store.set_state(State.CLOSED)
    store.close()
    content = (tmp_path / "1.db").read_bytes()
    assert [content.count(token_hash(token)) for token in TOKENS] == [1, 1, 1]


@pytest.mark.slow
def test_a_blind_invitation_is_good_for_a_signature_in_each_wave(tmp_path):
    for wave, keep_invitations in ((1, None), (2, 1)):
        store = opened(lambda wave: f"sqlite:///{tmp_path / f'{wave}.db'}", wave, keep_invitations, access="blind")
        assert store.issue(token_hash(TOKENS[0]), bytes(32))
        assert not store.issue(token_hash(TOKENS[0]), bytes([1] * 32))
        store.close()


@pytest.mark.slow
def test_of_an_open_survey_there_is_nobody_to_invite(tmp_path):
    with closing(open_store(f"sqlite:///{tmp_path / '1.db'}")) as earlier:
        earlier.create(panel())
        with closing(open_store(f"sqlite:///{tmp_path / '2.db'}")) as store:
            store.create_next_wave(panel(wave=2), earlier)
            assert store.invitation_hashes() == []
            store.set_state(State.OPEN)
            assert store.add([NewReport(bytes.fromhex(KEY), "{}")]) == [Outcome.STORED]


def test_what_is_not_the_next_wave_is_refused():
    with pytest.raises(ValueError, match="the wave after wave 1 must be number 2, got number 3"):
        check_next_wave(panel(waves=4, wave=3), panel(waves=4))
    with pytest.raises(ValueError, match="must be number 2, got number 1"):
        check_next_wave(panel(), panel())
    with pytest.raises(ValueError, match="the next wave must have the same access, token, got open"):
        check_next_wave(panel(wave=2), panel(access="token"))
    for survey, other in (
        (panel(cheated(design=Memo(warner("4/5"), warner("3/4"))), wave=2), "design of 'cheated'"),
        (panel(wave=2, waves=3), "number of waves"),
        (replace(panel(wave=2), rehearsal=True), "kind, of a rehearsal and a real collection"),
    ):
        with pytest.raises(ValueError, match=f"the same questions with a memo.*, got another {other}"):
            check_next_wave(survey, panel())
    with pytest.raises(ValueError, match=r"the same questions with a memo.*, got a survey without waves"):
        check_next_wave(small_survey(), panel())
    check_next_wave(panel(cheated(design=MEMO), wave=2, consent="Again."), panel())


TEXT = {"en": "Have you ever cheated?", "de": "Haben Sie je betrogen?"}
LABELS = {"yes": {"en": "Yes, I have", "de": "Ja"}, "no": {"en": "No, I have not", "de": "Nein"}}
SWAPPED = {"yes": {**LABELS["yes"], "de": "Nein"}, "no": {**LABELS["no"], "de": "Ja"}}


def in_two_languages(wave: int = 1, **changes: Any) -> Survey:
    asked = Question("cheated", **{"text": TEXT, "labels": LABELS, "design": MEMO, **changes})
    both = {"languages": ["en", "de"], "consent": {"en": "C", "de": "C"}, "title": {"en": "T", "de": "T"}}
    return Survey(questions=[asked], waves=4, wave=wave, **both)


@pytest.mark.parametrize(
    ("changes", "other"),
    [
        ({"text": {**TEXT, "de": "Waren Sie immer ehrlich?"}}, "another text"),
        ({"labels": SWAPPED}, "other labels"),
        ({"help": {"en": "Say the opposite.", "de": "…"}}, "another help"),
    ],
)
def test_a_question_with_a_memo_keeps_its_words_in_every_language(changes, other):
    """The phone would combine the memo of one question with the answer to another."""
    with pytest.raises(ValueError, match=f"texts and labels, got {other} of 'cheated': the draws"):
        check_next_wave(in_two_languages(2, **changes), in_two_languages())
    check_next_wave(in_two_languages(2), in_two_languages())


def test_questions_with_a_memo_stay_and_keep_their_order():
    second = Question("paid", "Have you ever paid?", design=MEMO)
    before = panel(cheated(design=MEMO), second, ceiling=9)
    for later in (panel(second, cheated(design=MEMO), wave=2, ceiling=9), panel(wave=2, ceiling=9)):
        with pytest.raises(ValueError, match="got another list of questions with a memo"):
            check_next_wave(later, before)


def test_words_of_ones_own_that_swap_yes_and_no_are_another_panel():
    page = {name: word for name, word in page_words_by_language(["en"])["en"].items() if name != "direction"}
    said = page | {f"promise_{name}": sentence for name, sentence in phrases("en").items()}
    swapped = said | {"promise_yes": said["promise_no"], "promise_no": said["promise_yes"]}
    before, after = (
        panel(cheated(design=MEMO), languages=["it"], words={"it": words}, wave=wave)
        for wave, words in ((1, said), (2, swapped))
    )
    with pytest.raises(ValueError, match="got other labels of 'cheated'"):
        check_next_wave(after, before)


def beside(epsilon: float, wave: int = 1, **changes: Any) -> Survey:
    """Return a panel with a question outside the memo."""
    other = Question("paid", "Have you ever paid?", design=warner(epsilon=epsilon))
    return panel(cheated(design=MEMO), other, waves=4, wave=wave, **changes)


def sums(store: Collection) -> list[str]:
    """Return the total loss of all waves that people are told."""
    return [text for text in store.survey().consent_text().split("\n\n") if "all 4 times together" in text]


@pytest.mark.slow
def test_a_later_wave_that_would_pass_what_was_told_is_refused(place):
    """Wave 1 told people epsilon 2.85 for all four waves; waves 2 to 4, with another design next to the memo and a
    higher ceiling, were accepted and amounted to 11.08 (issue 28).
    """
    first, second, third = (open_store(place(wave)) for wave in (1, 2, 4))
    first.create(beside(0.2))
    told = first.survey().loss
    assert told.epsilon == pytest.approx(2.8433, abs=1e-4)
    with pytest.raises(ValueError, match="a `ceiling` of at most 3, got 12: it is part of what the panel"):
        second.create_next_wave(beside(2.26, 2, ceiling=12), first)
    with pytest.raises(
        ValueError, match=r"must cost at most epsilon 2.843 in 4 waves, got 11.08: in the first wave, people"
    ):
        check_next_wave(beside(2.26, 2, ceiling=12), beside(0.2, ceiling=12))
    with pytest.raises(ValueError, match=r"must cost at most epsilon 2.843"):
        second.create_next_wave(beside(0.21, 2), first)
    # a smaller loss is accepted, and people are told the loss of all waves
    second.create_next_wave(beside(0.1, 2), first)
    third.create_next_wave(beside(0.2, 3), second)  # what the first wave told people, not the second
    for store in (second, third):
        assert store.survey().loss == told
        assert sums(store) == sums(first) != []
        assert store.survey().panel == first.survey().panel
    for store in (first, second, third):
        store.close()


@pytest.mark.slow
def test_a_panel_is_made_with_the_first_collection_and_handed_on(place):
    first = opened(place, 1)
    made = first.survey().panel
    assert re.fullmatch("[0-9a-f]{32}", made.identity)
    assert made.total_epsilon == panel().loss.amount
    first.create(panel(access="token"))  # as when its server is started again
    first.amend(panel(access="token", consent="Corrected."))
    assert first.survey().panel == made
    with pytest.raises(ValueError, match="a database holds one collection, got one of another survey"):
        first.create(panel(access="token", consent="Corrected.", panel=Panel("ab" * 16, made.total_epsilon)))
    second = opened(place, 2, keep_invitations=1)
    assert second.survey().panel == made
    second.close()
    second = open_store(place(2))
    second.create(panel(wave=2, access="token"))  # later starts do not need the first wave
    other = open_store(place(4))
    other.create(panel(access="token"))
    assert other.survey().panel.identity != made.identity
    assert other.survey().hash != first.editions()[0].hash
    for store in (first, second, other):
        store.close()


@pytest.mark.slow
def test_a_wave_that_follows_one_study_lets_in_nobody_of_another(place):
    """The database of another study is given by mistake when the server is started again."""
    first, other = opened(place, 1), open_store(place(4))
    other.create(panel(access="token"))
    other.invite([token_hash("a" * 22)])
    second = opened(place, 2, keep_invitations=1)
    with pytest.raises(ValueError, match="a wave must follow only one previous wave, got another panel: people of"):
        second.create_next_wave(panel(wave=2, access="token"), other, ["port"])
    assert second.invitation_hashes() == sorted(map(token_hash, TOKENS))
    for store in (first, second, other):
        store.close()


def test_a_later_wave_needs_the_panel_of_the_first(place):
    """A first wave with another panel is rejected."""
    store = open_store(place(2))
    with pytest.raises(ValueError, match=r"wave 2 must follow the collection of wave 1, got none.*--previous-wave"):
        store.create(panel(wave=2))
    given = Panel("ab" * 16, panel().loss.amount)
    with pytest.raises(ValueError, match="wave 2 must follow the collection of wave 1"):
        store.create(panel(wave=2, panel=given))  # copied from a file
    with pytest.raises(ValueError, match="the panel of a first wave must be created with its collection"):
        store.create(panel(panel=given))
    store.close()


@pytest.mark.slow
def test_amending_an_older_collection_adds_a_panel(place, monkeypatch):
    """It was made by an earlier toolkit."""
    first, second = open_store(place(1)), open_store(place(2))
    with monkeypatch.context() as patch:
        patch.setattr(collection, "with_panel", lambda survey, _: survey)
        first.create(panel())
    assert first.survey().panel is None
    with pytest.raises(ValueError, match=r"previous wave must have a panel, got a collection of toolkit .* without"):
        second.create_next_wave(panel(wave=2), first)
    with pytest.raises(ValueError, match="got a different 'panel'"):
        first.amend(panel(panel=Panel("ab" * 16, panel().loss.amount)))  # that of another study
    first.amend(panel(consent="Corrected."))
    assert first.survey().panel is not None
    second.create_next_wave(panel(wave=2), first)
    assert second.survey().panel == first.survey().panel
    for store in (first, second):
        store.close()
