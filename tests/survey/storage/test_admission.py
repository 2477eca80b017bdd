import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.survey.entries import CLOSED, FULL, PAUSED, REPEATED, SPENT, STORED
from toolkit.survey.storage import NewReport, Outcome, State
from toolkit.survey.storage.protocol import Head, decide

KEYS = [bytes([i]) * 16 for i in range(4)]
TOKENS = [bytes([i]) * 32 for i in range(3)]
ENTRIES = st.builds(NewReport, st.sampled_from(KEYS), st.sampled_from(["a", "b"]), st.sampled_from([None, *TOKENS]))
HEADS = st.builds(
    Head,
    st.just("hash"),
    st.sampled_from(["open", "token", "blind"]),
    st.sampled_from([None, 0, 1, 2, 5]),
    st.just(State.OPEN) | st.sampled_from(State),  # most is decided while it is open
)


@pytest.mark.slow
@given(
    batch=st.lists(ENTRIES, max_size=8),
    head=HEADS,
    found=st.sets(st.sampled_from(KEYS)),
    known=st.sets(st.sampled_from(TOKENS)),
    others=st.sets(st.sampled_from(TOKENS)),
)
def test_a_batch_is_decided_as_if_its_entries_had_come_alone(batch, head, found, known, others) -> None:
    invited = known | others
    made = decide(batch, head, count=len(found), existing=found, known=known, invited=invited)
    outcomes: list[Outcome] = []
    keys, passes = set(found), set(known)
    for entry in batch:
        alone = decide([entry], head, count=len(keys), existing=keys, known=passes, invited=invited)
        outcomes += alone.outcomes
        keys |= set(alone.reports)
        passes = passes - alone.passes if head.access == "token" else passes | alone.passes
    assert made.outcomes == outcomes
    assert found | set(made.reports) == keys
    assert (known - made.passes if head.access == "token" else known | made.passes) == passes
    assert made.outcomes.count(STORED) == len(made.reports)
    assert len(made.passes) == (0 if head.access == "open" else len(made.reports))


THERE, OTHER, NEW = (
    NewReport(KEYS[0], "a", TOKENS[0]),
    NewReport(KEYS[0], "b", TOKENS[0]),
    NewReport(KEYS[1], "a", TOKENS[0]),
)
STRANGE = NewReport(KEYS[0], "a", TOKENS[2])


@pytest.mark.parametrize(
    ("entry", "state", "cap", "known", "expected"),
    [
        (STRANGE, State.OPEN, 2, {TOKENS[0]}, SPENT),  # a token that was never handed out goes before everything
        (STRANGE, State.PAUSED, 1, {TOKENS[0]}, SPENT),
        (STRANGE, State.CLOSED, 1, set(), REPEATED),  # but a closed collection knows no tokens any more
        (THERE, State.CLOSED, 1, set(), REPEATED),  # then a key that is there, whatever its body
        (OTHER, State.CLOSED, 1, set(), REPEATED),
        (OTHER, State.OPEN, 1, set(), REPEATED),
        (NEW, State.CLOSED, 1, set(), CLOSED),  # then the state
        (NEW, State.PAUSED, 1, set(), PAUSED),
        (NEW, State.DRAFT, 1, set(), PAUSED),
        (NEW, State.OPEN, 1, set(), FULL),  # then the cap
        (NEW, State.OPEN, 2, set(), SPENT),  # then the token
        (NEW, State.OPEN, 2, {TOKENS[1]}, SPENT),
        (NEW, State.OPEN, 2, {TOKENS[0]}, STORED),
    ],
)
def test_the_order_of_the_checks(
    entry: NewReport, state: State, cap: int, known: set[bytes], expected: Outcome
) -> None:
    head = Head("hash", "token", cap, state)
    assert decide([entry], head, count=1, existing={THERE.key}, known=known, invited=set(TOKENS[:2])).outcomes == [
        expected
    ]


@pytest.mark.parametrize(("access", "known"), [("token", {TOKENS[0]}), ("blind", set())])
def test_of_two_reports_with_one_token_in_a_batch_the_first_is_stored(access: str, known: set[bytes]) -> None:
    batch = [NewReport(key, "a", TOKENS[0]) for key in KEYS[:2]]
    head = Head("hash", access, None, State.OPEN)
    made = decide(batch, head, count=0, existing=set(), known=known, invited=set(TOKENS))
    assert made.outcomes == [STORED, SPENT]
    assert made.reports == {KEYS[0]: "a"}


def test_the_reports_of_a_batch_count_toward_the_cap_one_by_one() -> None:
    batch = [NewReport(key, "a") for key in KEYS]
    head = Head("hash", "open", 3, State.OPEN)
    made = decide(batch, head, count=1, existing=set(), known=set())
    assert made.outcomes == [STORED, STORED, FULL, FULL]
    assert list(made.reports) == KEYS[:2]
