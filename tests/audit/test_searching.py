from collections import Counter

import numpy as np

from toolkit.audit import auditor as searching
from toolkit.audit.auditor import Candidate, Search, _rank_candidates, _split_error, distinct_inputs, input_key
from toolkit.audit.events import Event
from toolkit.audit.running import Runner, shapes


def search(mechanism, pairs, target=(1.0, 0.0)):
    return Search(Runner(mechanism, np.random.default_rng(1)), pairs, target)


def test_inputs_are_the_same_when_they_are_written_the_same():
    assert input_key(1) == input_key(1) != input_key(1.0) != input_key(True)
    assert input_key(0.0) != input_key(-0.0)
    assert (
        input_key(np.zeros(2))
        == input_key(np.zeros(2))
        != input_key(np.zeros(2, dtype=int))
        != input_key(np.zeros((1, 2), dtype=int))
    )
    one, other = [1], [1]  # what is neither number nor text
    assert input_key(one) == input_key(one) != input_key(other)
    assert input_key("a" + "bc" * 2) == input_key("abcbc") != input_key(None) == input_key(None)
    assert len(distinct_inputs(shapes(4).values())) == 10  # eight pairs: seven of them begin with the same level


def test_an_input_of_several_pairs_is_run_once_for_them_all():
    runner = Runner(lambda value: value, None)
    outputs = Search(runner, {}, (1.0, 0.0)).collect_outputs([(0, 1), (0, 2), (1, 2)], 3000)
    assert [len(drawn) for drawn in outputs.values()] == [1000] * 3
    assert runner.runs == 3000


def test_the_pair_that_exceeds_the_claim_is_found_among_many():
    def leaks(value, rng):
        return value % 7 == 3 and rng.random() < 0.2

    pairs = {f"{value}": (value, value + 1) for value in range(9)}
    coding, found = search(leaks, pairs)(9000)
    assert {one.name for one in found} <= {"2", "3"}
    assert len(coding.names) == 1
    assert len(found) == 2


def test_the_coding_is_that_of_all_outputs_of_the_search():
    coding, _ = search(lambda value, rng: None if rng.random() < 0.01 else value, {"pair": (0, 1)})(2000)
    assert coding.names == ("the output", "the kind of the output")


def test_the_last_look_sees_all_runs_on_an_input_those_that_chose_it_too(monkeypatch):
    ran, looked, plain = Counter(), [], searching.search

    def once(value):
        ran[value] += 1
        return value

    def looking(first, second, *rest, **options):
        looked.append((first, second))
        return plain(first, second, *rest, **options)

    monkeypatch.setattr(searching, "search", looking)
    search(once, {f"{value}": (value, value + 1) for value in range(3)})(3000)
    assert len(looked) == 3  # so few are all looked at last
    ran.clear()
    search(once, {f"{value}": (value, value + 1) for value in range(9)})(9000)
    assert len(looked) == 3 + 9 + 3
    for table in (table for pair in looked[-3:] for table in pair):
        assert len(table) == ran[table[0, 0]] > 450  # half of the runs, evenly on ten inputs, and more


def candidate(name, *measures):
    """Of a promise and an excess in either direction."""
    events = [Event("", len, np.array([]), np.array([True]), name, *both) for both in measures]
    return Candidate(name, (name, name.upper()), events[:1], events[1:])


def test_pairs_are_ordered_by_excess_and_promise_in_turn():
    """Each pair counts with the better of its two directions."""
    found = [candidate("a", (3, -1), (-7, -1)), candidate("b", (-2, -3), (2, 0)), candidate("c", (0, -9), (0, 5))]
    assert [one.name for one in _rank_candidates(found)] == ["c", "a", "b"]
    assert [one.name for one in _rank_candidates(found[::-1])] == ["c", "a", "b"]
    assert [(name, event.description, pair, share) for name, event, pair, share in _split_error(found[1:])] == [
        ("b", "b", ("b", "B"), 0.5 / 3),
        ("c", "c", ("c", "C"), 0.5 / 3),
        ("b, reversed", "b", ("B", "b"), 0.5 / 3),
        ("c, reversed", "c", ("C", "c"), 0.5),
    ]
