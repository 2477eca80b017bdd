"""The next wave: the same panel and the same links, in a collection of its own."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest

from tests.survey.postgres_server import new_name
from tests.survey.samples import KEY, panel
from toolkit import warner
from toolkit.local.waves import Memo
from toolkit.survey.question import Question
from toolkit.survey.serving.access import digest, invitations
from toolkit.survey.storage.waves import check_next, follow
from toolkit.survey.store import Entry, Outcome, State, open_store

TOKENS = invitations(3)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """The address of a wave's database, by its number."""
    if request.param == "sqlite":
        return lambda wave: f"sqlite:///{tmp_path / f'{wave}.db'}"
    names = {wave: new_name() for wave in (1, 2, 4)}
    return lambda wave: request.getfixturevalue("postgres").url(names[wave])


def opened(place: Callable[[int], str], wave: int, again: int | None = None, access: str = "token"):
    """A wave's store; the first one with invitations."""
    store, survey = open_store(place(wave)), panel(wave=wave, access=access)
    if again is None:
        store.create(survey)
        store.invite(map(digest, TOKENS))
    else:
        with closing(open_store(place(again), readonly=True)) as earlier:
            follow(store, survey, earlier, ["port", "public url"])
    store.set_state(State.OPEN)
    return store


def entry(number: int, token: str) -> Entry:
    return Entry(bytes([number] * 16), "{}", digest(token))


def test_a_link_works_once_in_each_wave_also_after_the_first_one_was_closed(place):
    first = opened(place, 1)
    assert first.add([entry(1, TOKENS[0]), entry(2, TOKENS[0])]) == [Outcome.STORED, Outcome.SPENT]
    first.remember("port", "8123")
    first.set_state(State.CLOSED)
    first.close()
    second = opened(place, 2, again=1)
    assert second.guests() == sorted(map(digest, TOKENS))
    assert (second.setting("port"), second.setting("public url")) == ("8123", None)
    told = second.add([entry(3, TOKENS[0]), entry(4, TOKENS[0]), entry(5, TOKENS[1]), entry(6, "x" * 22)])
    assert told == [Outcome.STORED, Outcome.SPENT, Outcome.STORED, Outcome.SPENT]
    second.close()
    second = opened(place, 2, again=1)  # as when its server is started again: nobody is let in twice
    assert second.add([entry(7, TOKENS[0]), entry(8, TOKENS[2])]) == [Outcome.SPENT, Outcome.STORED]
    second.close()


def test_closing_keeps_who_was_invited_of_all_waves_but_the_last_and_never_who_answered(place):
    for wave, left in ((1, 3), (4, 0)):
        store = opened(place, wave)
        store.add([entry(1, TOKENS[0])])
        store.set_state(State.CLOSED)
        assert len(store.guests()) == left
        store.close()


def test_no_byte_of_a_closed_wave_tells_who_answered(tmp_path):
    store = opened(lambda wave: f"sqlite:///{tmp_path / f'{wave}.db'}", 1)
    store.add([entry(1, TOKENS[0])])
    store.set_state(State.CLOSED)
    store.close()
    content = (tmp_path / "1.db").read_bytes()
    assert [content.count(digest(token)) for token in TOKENS] == [1, 1, 1]


def test_a_blind_invitation_is_good_for_a_signature_in_each_wave(tmp_path):
    for wave, again in ((1, None), (2, 1)):
        store = opened(lambda wave: f"sqlite:///{tmp_path / f'{wave}.db'}", wave, again, access="blind")
        assert store.issue(digest(TOKENS[0]), bytes(32))
        assert not store.issue(digest(TOKENS[0]), bytes([1] * 32))
        store.close()


def test_of_an_open_survey_there_is_nobody_to_invite(tmp_path):
    with closing(open_store(f"sqlite:///{tmp_path / '1.db'}")) as earlier:
        earlier.create(panel())
        with closing(open_store(f"sqlite:///{tmp_path / '2.db'}")) as store:
            follow(store, panel(wave=2), earlier)
            assert store.guests() == []
            store.set_state(State.OPEN)
            assert store.add([Entry(bytes.fromhex(KEY), "{}")]) == [Outcome.STORED]


def test_what_is_not_the_next_wave_is_refused():
    with pytest.raises(ValueError, match="the wave after wave 1 must be number 2, got number 3"):
        check_next(panel(wave=3), panel())
    with pytest.raises(ValueError, match="must be number 2, got number 1"):
        check_next(panel(), panel())
    with pytest.raises(ValueError, match="the next wave must have the same access, token, got open"):
        check_next(panel(wave=2), panel(access="token"))
    other = Question("cheated", "Have you ever cheated?", design=Memo(warner("4/5"), warner("3/4")))
    for survey in (panel(other, wave=2), panel(wave=2, waves=3), replace(panel(wave=2), rehearsal=True)):
        with pytest.raises(ValueError, match=r"the same questions with a memo.*, got another panel"):
            check_next(survey, panel())
