import json
import random
import threading
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
from matplotlib.text import Text

from tests.survey.samples import cheated, faculty, panel, survey
from toolkit.survey.collector import Collector
from toolkit.survey.storage import NewReport, State, StoreError, open_store
from toolkit.survey.storage import stepwise_disclosure as steps
from toolkit.survey.storage.protocol import KEY_BYTES
from toolkit.survey.storage.stepwise_disclosure import disclose, disclosure_note, enlarge_disclosed

pytestmark = pytest.mark.filterwarnings("ignore:While the collection is")


class Field:
    """A collection without a server, in which people answer one by one."""

    def __init__(self, database, asked, seed=1):
        self.database, self.rng = database, np.random.default_rng(seed)
        self.store = open_store(database)
        self.store.create(asked)
        self.store.set_state(State.OPEN)

    def arrive(self, count, **answers):
        """Add this many people in one transaction; by default, a coin flip decides whether they cheated."""
        chosen = [{"faculty": 0, "cheated": int(self.rng.integers(2)), **answers} for _ in range(count)]
        bodies = [json.dumps({"answers": one, "understood": True}) for one in chosen]
        self.store.add([NewReport(self.rng.bytes(KEY_BYTES), body) for body in bodies])


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'campus.db'}"
    from tests.postgres_server import new_name

    return request.getfixturevalue("postgres").url(new_name())


@pytest.fixture(autouse=True)
def lot(monkeypatch):
    """The people who are held back are drawn at random; here the draw is always the same."""
    monkeypatch.setattr(steps, "_RNG", random.Random(28))  # noqa: S311


@pytest.fixture
def field(database):
    made = Field(database, survey(minimum=20))
    yield made
    made.store.close()


@pytest.mark.slow
@pytest.mark.parametrize("access", ["open", "token"])
def test_of_an_open_wave_only_the_number_of_reports_is_shown_in_steps(database, access):
    """Which reports were shown first would reveal who answered first."""
    field = Field(database, panel(minimum=5, access=access))
    passes = [bytes([i] * 32) for i in range(27)]
    if access == "token":
        field.store.invite(passes)
    bodies = [
        json.dumps({"answers": {"cheated": 1, "faculty": 0}, "understood": True, "person": f"{i:032x}"})
        for i in range(27)
    ]
    for one, body in zip(passes, bodies, strict=True):
        field.store.add([NewReport(field.rng.bytes(KEY_BYTES), body, one if access == "token" else None)])
    collector = Collector.attach(database)
    with pytest.warns(UserWarning, match="only the number of its reports is shown"):
        seen = collector.reports()
    assert len(seen) == 0
    assert collector.results().group_estimates == ()
    (told, *_) = seen.attrs["remarks"]
    assert "only the number of its reports is shown, at least 20; all reports are shown when it is closed" in told
    assert field.store.get_setting("shown") is None
    collector.close()
    assert len(collector.reports()) == 27
    assert collector.results()["cheated"].n == 27
    field.store.close()


def yes_of(collector):
    """Return how many reported yes, as anybody can compute from the visible reports."""
    return Counter(collector.reports()["cheated"])["yes"]


@pytest.mark.slow
def test_an_open_collection_moves_in_steps_and_a_closed_one_shows_all(field):
    collector = Collector.attach(field.database)
    shown = []
    for _ in range(45):
        field.arrive(1)
        shown.append(len(collector.reports()))
    assert shown == [0] * 29 + [20] * 10 + [30] * 6
    collector.pause()
    assert len(collector.reports()) == collector.results()["cheated"].n == collector.status().n_reports == 30
    assert collector.status().n_stored == 45
    collector.close()
    assert len(collector.reports()) == collector.results()["cheated"].n == 45


@pytest.mark.slow
def test_between_two_steps_every_look_shows_the_same_people_whoever_looks(field):
    """A reader who connects later gets the reports that were already shown, and no finer steps."""
    field.arrive(43)
    first = Collector.attach(field.database).reports()
    assert first.attrs["remarks"][0].endswith("Here are 30 of 43 reports; the next at 50.")
    field.arrive(6)
    for _ in range(3):
        assert Collector.attach(field.database).reports().equals(first)
    field.arrive(1)
    assert len(Collector.attach(field.database).reports()) == 40


@pytest.mark.slow
@pytest.mark.parametrize("key", [b"\0", b"\xff"])
def test_who_sends_nine_reports_after_each_person_cannot_tell_that_persons(tmp_path, monkeypatch, key):
    """The attack: after a person's report, send nine of your own, all no, and look for a yes among the ten new reports.
    The senders choose the keys: here they are the smallest or the largest.

    If nobody is held back, the attack is right every time. Otherwise the person is among the ten new reports with
    probability 1/2, drawn at random from twenty; and if not, the guess knows nothing about their coin. So the attack is
    right in at most 3 of 4 cases, whatever happened before, and all of 36 guesses are right with probability below
    4e-5. The seed is fixed.
    """

    def right(name):
        field = Field(f"sqlite:///{tmp_path / name}.db", survey(minimum=20), seed=3)
        field.arrive(40)
        collector, correct = Collector.attach(field.database), 0
        before = collector.reports()
        for victim in range(36):
            sent = int(field.rng.integers(2))
            field.arrive(1, cheated=sent)
            recorded = json.dumps({"answers": {"faculty": 0, "cheated": 0}, "understood": True})
            own = [key * (KEY_BYTES - 2) + bytes([victim, place]) for place in range(9)]
            field.store.add([NewReport(one, recorded) for one in own])
            after = collector.reports()
            assert len(after) - len(before) == 10
            more = Counter(after["cheated"])["yes"] - Counter(before["cheated"])["yes"]
            correct += sent == (more > 0)
            before = after
        field.store.close()
        return correct

    assert right("held") < 36
    monkeypatch.setattr(steps, "withheld_count", lambda _: 0)
    assert right("shown") == 36  # as it was


def test_the_number_of_reports_moves_in_the_same_steps_as_the_results(field):
    collector = Collector.attach(field.database)
    for _ in range(5):
        field.arrive(9)
        status = collector.status()
        assert status.n_reports == len(collector.reports())
        assert status.n_stored == len(list(field.store.rows()))
    assert status.n_reports == 30


def test_reports_that_are_not_shown_are_not_lost_and_it_is_said(field, tmp_path):
    field.arrive(5)
    collector = Collector.attach(field.database)
    said = "it is shown in steps of 10, and the last 10 wait: from 30 reports on. So far 5 are stored."
    with pytest.warns(UserWarning, match=said):
        assert len(collector.reports()) == 0
    with pytest.warns(UserWarning, match=said):
        collector.export(tmp_path / "out.csv")
    assert said in repr(collector.results())
    assert said in collector.results()._repr_html_()
    assert repr(collector).endswith("open, 5 reports>")


@pytest.mark.slow
def test_each_group_advances_in_steps(field):
    """Below the minimum no report is shown."""
    collector = Collector.attach(field.database)
    field.arrive(64, faculty=0)
    field.arrive(26, faculty=1)
    found = collector.results(by="faculty")
    assert set(found["cheated"]) == {"arts"}  # at most 26 people in law have answered, and 10 of them wait
    assert any("1 of 2 estimates are not shown" in note for note in found.notes())
    before = found["cheated"]["arts"]
    assert before.n in (40, 50)
    field.arrive(5, faculty=0, cheated=1)
    field.arrive(5, faculty=1)
    later = collector.results(by="faculty")["cheated"]["arts"]
    assert later.n - before.n in (0, 10)
    assert (later.value == before.value) or later.n > before.n
    collector.close()
    assert {group: one.n for group, one in collector.results(by="faculty")["cheated"].items()} == {
        "arts": 69,
        "law": 31,
    }


@pytest.mark.slow
def test_after_closing_too_no_group_below_the_minimum_is_shown(field):
    """An earlier version printed one man among many with an estimate of 333 %, and groups of two with an error of 0."""
    field.arrive(50, faculty=0)
    field.arrive(1, faculty=1)
    collector = Collector.attach(field.database)
    collector.close()
    found = collector.results(by="faculty")
    assert set(found["cheated"]) == set(found.to_frame()["faculty"]) == {"arts"}
    assert set(found.summary()["faculty"]) == set(found.missing["faculty"]) == {"arts"}
    assert any("1 of 2 estimates are not shown, as fewer than 20 people answered" in note for note in found.notes())
    drawn = {text.get_text() for text in found.plot().figure.findobj(Text)}
    assert any("arts" in words for words in drawn)
    assert not any("law" in words for words in drawn)
    few = collector.results(by="faculty", minimum=1)
    assert few["cheated"]["law"].n == 1
    assert "Shown for 1 or more people, as requested; the survey's minimum is 20." in few.notes()
    assert collector.results()["cheated"].n == 51


def test_shares_inside_zero_to_one_can_be_asked_of_a_collection(field):
    """As the note about an unbiased estimate outside 0 to 1 suggests."""
    field.arrive(44, cheated=0)
    field.arrive(16, cheated=1)
    collector = Collector.attach(field.database)
    assert "maximum likelihood" in collector.results()["cheated"].notes[-1]
    assert collector.results()["cheated"].value < 0
    assert collector.results(method="mle")["cheated"].value == pytest.approx(0, abs=1e-9)


def test_the_order_in_which_groups_are_named_makes_no_second_snapshot(field):
    field.arrive(45, faculty=0)
    first = disclose(field.store, field.store.survey(), ["faculty", "understood"])
    field.arrive(4, faculty=0)
    keep_invitations = disclose(field.store, field.store.survey(), ["understood", "faculty"])
    assert (keep_invitations.bodies, keep_invitations.n_stored, len(keep_invitations.bodies)) == (first.bodies, 49, 20)


@pytest.mark.slow
def test_a_question_that_few_are_asked_moves_by_whole_steps_of_those_few(database):
    """Ten more people, one of whom was asked: without this rule, the estimate would move by exactly this person's
    report.
    """
    asked = survey(faculty(), cheated(show_if={"faculty": ["law"]}), minimum=20)
    field = Field(database, asked)
    field.arrive(40, faculty=0, cheated=None)
    field.arrive(30, faculty=1)
    collector = Collector.attach(database)
    before = collector.results()["cheated"]
    assert before.n == 20
    field.arrive(9, faculty=0, cheated=None)
    field.arrive(1, faculty=1)
    after = collector.results()["cheated"]
    assert (after.n, after.value) == (before.n, before.value)
    field.store.close()


@pytest.mark.slow
def test_a_question_below_the_minimum_is_not_shown_although_the_others_are(database):
    field = Field(database, survey(faculty(), cheated(show_if={"faculty": ["law"]}), minimum=20))
    field.arrive(40, faculty=0, cheated=None)
    field.arrive(10, faculty=1)
    found = Collector.attach(database).results()
    assert [finding.question for finding in found.group_estimates] == ["faculty"]
    with pytest.raises(KeyError, match="too few to show"):
        found["cheated"]
    field.store.close()


def test_two_readers_at_once_show_the_same(field):
    """Both find ten new reports; one is faster, and the other adopts the same reports."""
    field.arrive(30)
    seen, ready = [], threading.Barrier(4)

    def read():
        collector = Collector.attach(field.database)
        ready.wait()
        seen.append(tuple(disclose(collector._store, collector.survey).bodies))

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
    swap, lost = field.store.compare_and_set, []

    def slower(name, before, after):
        if not lost:
            lost.append(name)
            with closing(open_store(field.database)) as faster:
                disclose(faster, field.store.survey())
        return swap(name, before, after)

    monkeypatch.setattr(field.store, "compare_and_set", slower)
    assert len(disclose(field.store, field.store.survey()).bodies) == 20
    assert lost == ["shown"]
    monkeypatch.setattr(field.store, "compare_and_set", lambda *_: False)
    field.arrive(10)
    with pytest.raises(StoreError, match="free to be read"):
        disclose(field.store, field.store.survey())


def test_closing_forgets_what_was_shown_before(field):
    """It distinguishes earlier reports from later ones, so it is deleted with all other traces of the order."""
    field.arrive(30)
    collector = Collector.attach(field.database)
    collector.results(by="faculty")
    assert all(field.store.get_setting(name) for name in ("shown", "shown by faculty"))
    field.store.set_setting("port", "8000")
    collector.close()
    assert field.store.get_setting("shown") is field.store.get_setting("shown by faculty") is None
    assert field.store.get_setting("port") == "8000"
    assert not field.store.compare_and_set("shown", None, "")


def test_how_much_is_shown_is_said_in_so_many_words(field):
    asked = field.store.survey()
    field.arrive(12)
    begun = "While the collection is open, it is shown in steps of 10, and the last 10 wait"
    assert disclosure_note(asked, disclose(field.store, asked)) == (
        f"{begun}: from 30 reports on. So far 12 are stored."
    )
    field.arrive(21)
    assert disclosure_note(asked, disclose(field.store, asked)) == (
        f"{begun}, so that until it is closed no two looks differ by one person's report. "
        "Here are 20 of 33 reports; the next at 40."
    )
    by_group = "of all and then the last 10 of each group by faculty wait: at the earliest from 40 reports on."
    note = disclosure_note(asked, disclose(field.store, asked, ["faculty"]), ["faculty"])
    assert "in steps of 10 of each group by faculty, and the last 10" in note
    assert note.endswith(f"{by_group} So far 33 are stored.")
    field.store.set_state(State.CLOSED)
    assert disclosure_note(asked, disclose(field.store, asked)) == ""


def test_a_step_is_added_whole_from_each_group_by_itself():
    groups = {bytes([i]): "a" if i < 25 else "b" for i in range(44)}
    first = enlarge_disclosed(frozenset(), groups, 10)
    assert Counter(groups[key] for key in first) == {"a": 20, "b": 10}
    assert enlarge_disclosed(first, groups, 10) == first
    more = {**groups, **{bytes([i]): "b" for i in range(100, 101)}}
    assert Counter(more[key] for key in enlarge_disclosed(first, more, 10)) == {"a": 20, "b": 20}
    assert enlarge_disclosed(first, more, 10) > first


def test_withheld_reports_are_drawn_at_random():
    """A random sample of 100 out of 150 is never just the 100 smallest, and two samples are never equal."""
    groups = {bytes([i]): () for i in range(150)}
    smallest = frozenset(bytes([i]) for i in range(100))
    assert enlarge_disclosed(frozenset(), groups, 100) == smallest
    assert len({enlarge_disclosed(frozenset(), groups, 100, 50) for _ in range(3)} | {smallest}) == 4


def test_of_one_group_some_are_shown_from_the_number_on_that_is_said(tmp_path):
    """One step for all groups, then one for each group; none for a rehearsal."""
    for rehearsal, first in ((False, 6), (True, 2)):
        asked = survey(minimum=2, step=2, rehearsal=rehearsal)
        store = Field(f"sqlite:///{tmp_path}/{rehearsal}.db", asked)
        for count in range(1, 9):
            store.arrive(1)
            assert bool(disclose(store.store, asked, ["faculty"]).bodies) == (count >= first)
        assert steps.first_disclosure_count(asked, ["faculty"]) == first
        store.store.close()


@pytest.mark.parametrize(("minimum", "step"), [(20, 10), (5, 3), (1, 1), (1, 2), (30, 7), (14, 7)])
@pytest.mark.parametrize("rehearsal", [False, True])
def test_how_many_are_shown_is_what_comes_of_people_who_answer_one_by_one(minimum, step, rehearsal):
    asked = survey(minimum=minimum, step=step, rehearsal=rehearsal)
    shown, seen = [], frozenset()
    for count in range(60):
        seen = enlarge_disclosed(seen, {bytes([i]): () for i in range(count)}, step, steps.withheld_count(asked))
        shown.append(len(seen) if len(seen) >= minimum else 0)
    assert steps.withheld_count(asked) == (0 if rehearsal or step == 1 else step)
    assert [steps.disclosed_count(asked, count) for count in range(60)] == shown
    assert [count for count, some in enumerate(shown) if some][0] == steps.first_disclosure_count(asked)  # noqa: RUF015


def test_a_step_of_one_shows_everything_and_is_kept_with_the_survey():
    asked = survey(step=1)
    assert type(asked).from_dict(asked.to_dict()).step == 1
    # surveys that do not change the setting have the same hash as in earlier versions
    assert "step" not in survey().to_dict()
    with pytest.raises(ValueError, match="`step` must be at least 1"):
        survey(step=0)
