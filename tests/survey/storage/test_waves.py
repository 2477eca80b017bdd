"""The next wave: the same panel and the same links, in a collection of its own."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.survey.samples import KEY, panel
from toolkit import warner
from toolkit.local.waves import Memo
from toolkit.survey.question import Question
from toolkit.survey.serving.access import digest, invitations
from toolkit.survey.storage.waves import check_next, follow
from toolkit.survey.store import Entry, Outcome, State, open_store

TOKENS = invitations(3)


def opened(path: Path, wave: int, again: Path | None = None, **changes):
    """A wave's store; the first one with invitations."""
    store, survey = open_store(f"sqlite:///{path}"), panel(wave=wave, access="token", **changes)
    if again is None:
        store.create(survey)
        store.invite(map(digest, TOKENS))
    else:
        with closing(open_store(f"sqlite:///{again}", readonly=True)) as earlier:
            follow(store, survey, earlier)
    store.set_state(State.OPEN)
    return store


def entry(number: int, token: str) -> Entry:
    return Entry(bytes([number] * 16), "{}", digest(token))


def test_a_link_works_once_in_each_wave_also_after_the_first_one_was_closed(tmp_path):
    first = opened(tmp_path / "1.db", 1)
    assert first.add([entry(1, TOKENS[0]), entry(2, TOKENS[0])]) == [Outcome.STORED, Outcome.SPENT]
    first.set_state(State.CLOSED)
    first.close()
    second = opened(tmp_path / "2.db", 2, tmp_path / "1.db")
    assert second.guests() == sorted(map(digest, TOKENS))
    told = second.add([entry(3, TOKENS[0]), entry(4, TOKENS[0]), entry(5, TOKENS[1]), entry(6, "x" * 22)])
    assert told == [Outcome.STORED, Outcome.SPENT, Outcome.STORED, Outcome.SPENT]
    second.close()


def test_closing_keeps_who_was_invited_of_all_waves_but_the_last_and_never_who_answered(tmp_path):
    for wave, left in ((1, 3), (4, 0)):
        store = opened(tmp_path / f"{wave}.db", wave)
        store.add([entry(1, TOKENS[0])])
        store.set_state(State.CLOSED)
        assert len(store.guests()) == left
        store.close()
        content = (tmp_path / f"{wave}.db").read_bytes()
        assert content.count(digest(TOKENS[0])) == (1 if left else 0)


def test_the_next_wave_may_be_made_again_and_lets_in_nobody_twice(tmp_path):
    opened(tmp_path / "1.db", 1).close()
    second = opened(tmp_path / "2.db", 2, tmp_path / "1.db")
    assert second.add([entry(1, TOKENS[0])]) == [Outcome.STORED]
    second.close()
    second = opened(tmp_path / "2.db", 2, tmp_path / "1.db")
    assert second.add([entry(2, TOKENS[0])]) == [Outcome.SPENT]
    second.close()


def test_of_an_open_survey_there_is_nobody_to_invite(tmp_path):
    for wave in (1, 2):
        with closing(open_store(f"sqlite:///{tmp_path / f'{wave}.db'}")) as store:
            if wave == 1:
                store.create(panel())
                continue
            with closing(open_store(f"sqlite:///{tmp_path / '1.db'}")) as earlier:
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
