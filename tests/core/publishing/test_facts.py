import pickle

from toolkit.core.publishing import ReleaseFacts


def test_steps_are_added_in_order_and_nothing_else_changes() -> None:
    facts = ReleaseFacts({"statistic": "count"}, {}, {}, {"entry": 1})
    assert facts.after("one").after("two").steps == ("one", "two")
    assert facts.steps == ()
    assert facts.after("one").query is facts.query


def test_facts_can_be_pickled() -> None:
    again = pickle.loads(pickle.dumps(ReleaseFacts({"a": 1}, {}, {}, {})))  # noqa: S301
    assert again.query == {"a": 1}
