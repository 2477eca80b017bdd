import json
import threading
from collections import Counter
from contextlib import closing

import numpy as np
import pytest

from tests.survey.samples import cheated, faculty, panel, survey
from toolkit.survey.collector import Collector
from toolkit.survey.reading.steps import enlarged, look, steps_note
from toolkit.survey.storage.protocol import KEY_BYTES
from toolkit.survey.store import Entry, State, StoreError, open_store


class Field:
    """A collection without a server, into which people answer one by one."""

    def __init__(self, database, asked, seed=1):
        self.database, self.rng = database, np.random.default_rng(seed)
        self.store = open_store(database)
        self.store.create(asked)
        self.store.set_state(State.OPEN)

    def answer(self, **answers):
        body = json.dumps({"answers": {"faculty": 0, "cheated": 0, **answers}, "understood": True})
        self.store.add([Entry(self.rng.bytes(KEY_BYTES), body)])

    def arrive(self, count, **answers):
        for _ in range(count):
            self.answer(**{"cheated": int(self.rng.integers(2)), **answers})


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'campus.db'}"
    from tests.survey.postgres_server import new_name

    return request.getfixturevalue("postgres").url(new_name())


@pytest.fixture
def field(database):
    made = Field(database, survey(minimum=20))
    yield made
    made.store.close()


@pytest.mark.parametrize("access", ["open", "token"])
def test_of_an_open_wave_only_the_number_of_reports_is_shown_in_steps(database, access):
    """Which ones were shown first would say who came first."""
    field = Field(database, panel(minimum=5, access=access))
    passes = [bytes([i] * 32) for i in range(27)]
    if access == "token":
        field.store.invite(passes)
    bodies = [
        json.dumps({"answers": {"cheated": 1, "faculty": 0}, "understood": True, "person": f"{i:032x}"})
        for i in range(27)
    ]
    for one, body in zip(passes, bodies, strict=True):
        field.store.add([Entry(field.rng.bytes(KEY_BYTES), body, one if access == "token" else None)])
    collector = Collector.attach(database)
    assert len(collector.reports()) == 0
    assert collector.results().findings == ()
    (told, *_) = collector.reports().attrs["remarks"]
    assert "only how many reports there are is shown, at least 20; all of them when it is closed" in told
    assert field.store.setting("shown") is None
    collector.close()
    assert len(collector.reports()) == 27
    assert collector.results()["cheated"].n == 27
    field.store.close()


def yes_of(collector):
    """How many reported yes, as anybody can compute from what is shown."""
    return Counter(collector.reports()["cheated"])["yes"]


@pytest.mark.slow
def test_an_open_collection_moves_in_steps_and_a_closed_one_shows_all(field):
    collector = Collector.attach(field.database)
    shown = []
    for _ in range(45):
        field.arrive(1)
        shown.append(len(collector.reports()))
    assert shown == [0] * 19 + [20] * 10 + [30] * 10 + [40] * 6
    collector.pause()
    assert len(collector.reports()) == collector.results()["cheated"].n == 40
    collector.close()
    assert len(collector.reports()) == collector.results()["cheated"].n == 45


def test_between_two_steps_every_look_shows_the_same_people_whoever_looks(field):
    """Also a reader who comes later, with a connection of its own: it gets what was shown, and nothing
    finer.
    """
    field.arrive(33)
    first = Collector.attach(field.database).reports()
    assert first.attrs["remarks"][0].endswith("Here are 30 of 33 reports; the next at 40.")
    field.arrive(6)
    for _ in range(3):
        assert Collector.attach(field.database).reports().equals(first)
    field.arrive(1)
    assert len(Collector.attach(field.database).reports()) == 40


@pytest.mark.slow
def test_who_watches_cannot_tell_one_persons_report(tmp_path):
    """The attack: look before and after each answer, and read the report off the difference.

    Thirty people answer, from the seventieth to the hundredth. Where a look differs from the next by one
    person the guess is right every time, as it was when each report was shown as it came. In steps of ten a
    look changes by ten reports at once, and the best guess for each of the ten is what most of them sent: of
    thirty such guesses 18.7 are right on average when reports are fair coins, and 26 or more with probability
    0.00024 (all 2**10 outcomes of each ten, counted). The seed is fixed.
    """

    def right(step):
        field = Field(f"sqlite:///{tmp_path / f'step{step}.db'}", survey(minimum=20, step=step), seed=3)
        field.arrive(70)
        collector, correct, waiting = Collector.attach(field.database), 0, []
        yes, people = yes_of(collector), len(collector.reports())
        for _ in range(30):
            waiting.append(int(field.rng.integers(2)))
            field.answer(cheated=waiting[-1])
            more, came = yes_of(collector) - yes, len(collector.reports()) - people
            if came:
                correct += waiting.count(int(2 * more >= came))
                waiting, yes, people = [], yes + more, people + came
        field.store.close()
        return correct

    assert right(step=1) == 30  # as it was
    assert 15 <= right(step=10) < 26


def test_by_group_each_group_moves_in_steps_and_below_the_minimum_none_is_shown(field):
    collector = Collector.attach(field.database)
    field.arrive(34, faculty=0)
    field.arrive(16, faculty=1)
    found = collector.results(by="faculty")
    assert {group: one.n for group, one in found["cheated"].items()} == {"arts": 30}
    assert "1 of 2 estimates are not shown before the end, as fewer than 20 answered." in found.notes()
    before = found["cheated"]["arts"].value
    field.arrive(5, faculty=0, cheated=1)
    field.arrive(5, faculty=1)
    later = collector.results(by="faculty")["cheated"]
    assert (later["arts"].n, later["arts"].value, later["law"].n) == (30, before, 20)
    assert collector.results()["cheated"].n == 60
    collector.close()
    assert {group: one.n for group, one in collector.results(by="faculty")["cheated"].items()} == {
        "arts": 39,
        "law": 21,
    }


def test_shares_inside_zero_to_one_can_be_asked_of_a_collection(field):
    """As the note of an unbiased estimate outside suggests."""
    field.arrive(22, cheated=0)
    field.arrive(8, cheated=1)
    collector = Collector.attach(field.database)
    assert "method='mle'" in collector.results()["cheated"].notes[-1]
    assert collector.results()["cheated"].value == pytest.approx(-0.2)
    assert collector.results(method="mle")["cheated"].value == pytest.approx(0, abs=1e-9)


def test_the_order_in_which_groups_are_named_makes_no_second_snapshot(field):
    field.arrive(25, faculty=0)
    first = look(field.store, field.store.survey(), ["faculty", "understood"])
    field.arrive(4, faculty=0)
    again = look(field.store, field.store.survey(), ["understood", "faculty"])
    assert (again.bodies, again.there, len(again.bodies)) == (first.bodies, 29, 20)


@pytest.mark.slow
def test_a_question_that_few_are_asked_moves_by_whole_steps_of_those_few(database):
    """Ten people more, one of them asked: without this its estimate would move by exactly that one's
    report.
    """
    asked = survey(faculty(), cheated(show_if={"faculty": ["law"]}), minimum=20)
    field = Field(database, asked)
    field.arrive(40, faculty=0, cheated=None)
    field.arrive(20, faculty=1)
    collector = Collector.attach(database)
    before = collector.results()["cheated"]
    assert before.n == 20
    field.arrive(9, faculty=0, cheated=None)
    field.arrive(1, faculty=1)
    after = collector.results()["cheated"]
    assert (after.n, after.value) == (before.n, before.value)
    field.store.close()


def test_a_question_below_the_minimum_is_not_shown_although_the_others_are(database):
    field = Field(database, survey(faculty(), cheated(show_if={"faculty": ["law"]}), minimum=20))
    field.arrive(40, faculty=0, cheated=None)
    field.arrive(10, faculty=1)
    found = Collector.attach(database).results()
    assert [finding.question for finding in found.findings] == ["faculty"]
    with pytest.raises(KeyError, match="too few to show"):
        found["cheated"]
    field.store.close()


def test_two_readers_at_once_show_the_same(field):
    """Both find ten new reports; one is faster, and the other takes over what that one has shown."""
    field.arrive(30)
    seen, ready = [], threading.Barrier(4)

    def read():
        collector = Collector.attach(field.database)
        ready.wait()
        seen.append(tuple(look(collector._store, collector.survey).bodies))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    field.arrive(7)
    for reader in readers:
        reader.join()
    assert len(seen) == 4
    assert len(set(seen)) == 1


def test_a_reader_whose_snapshot_was_overtaken_looks_again(field, monkeypatch):
    field.arrive(30)
    swap, lost = field.store.swap, []

    def slower(name, before, after):
        if not lost:
            lost.append(name)
            with closing(open_store(field.database)) as faster:
                look(faster, field.store.survey())
        return swap(name, before, after)

    monkeypatch.setattr(field.store, "swap", slower)
    assert len(look(field.store, field.store.survey()).bodies) == 30
    assert lost == ["shown"]
    monkeypatch.setattr(field.store, "swap", lambda *_: False)
    field.arrive(10)
    with pytest.raises(StoreError, match="free to look at"):
        look(field.store, field.store.survey())


def test_closing_forgets_what_was_shown_before(field):
    """It tells earlier reports from later ones; so it goes with all other traces of order."""
    field.arrive(30)
    collector = Collector.attach(field.database)
    collector.results(by="faculty")
    assert all(field.store.setting(name) for name in ("shown", "shown by faculty"))
    field.store.remember("port", "8000")
    collector.close()
    assert field.store.setting("shown") is field.store.setting("shown by faculty") is None
    assert field.store.setting("port") == "8000"
    assert not field.store.swap("shown", None, "")


def test_how_much_is_shown_is_said_in_so_many_words(field):
    asked = field.store.survey()
    field.arrive(12)
    assert steps_note(asked, look(field.store, asked)) == (
        "While the collection is open, it is shown in steps of 10, from 20 reports on: there are 12."
    )
    field.arrive(11)
    assert steps_note(asked, look(field.store, asked)) == (
        "While the collection is open, it is shown in steps of 10, "
        "so that until it is closed no two looks differ by one person's report. "
        "Here are 20 of 23 reports; the next at 30."
    )
    assert "in steps of 10 of each group by faculty" in steps_note(
        asked, look(field.store, asked, ["faculty"]), ["faculty"]
    )
    field.store.set_state(State.CLOSED)
    assert steps_note(asked, look(field.store, asked)) == ""


def test_a_step_is_added_whole_from_each_group_by_itself():
    groups = {bytes([i]): "a" if i < 25 else "b" for i in range(44)}
    first = enlarged(frozenset(), groups, 10)
    assert Counter(groups[key] for key in first) == {"a": 20, "b": 10}
    assert enlarged(first, groups, 10) == first
    more = {**groups, **{bytes([i]): "b" for i in range(100, 101)}}
    assert Counter(more[key] for key in enlarged(first, more, 10)) == {"a": 20, "b": 20}
    assert enlarged(first, more, 10) > first


def test_a_step_of_one_shows_everything_and_is_kept_with_the_survey():
    asked = survey(step=1)
    assert type(asked).from_dict(asked.to_dict()).step == 1
    assert (
        "step" not in survey().to_dict()
    )  # hashes of surveys that leave it as it is are those of earlier versions
    with pytest.raises(ValueError, match="`step` must be at least 1"):
        survey(step=0)
