import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.survey.entries import CLOSED, FULL, PAUSED, REPEATED, SPENT, STORED
from toolkit.survey.storage import NewReport, Outcome, State
from toolkit.survey.storage.protocol import CollectionInfo, decide

KEYS = [bytes([i]) * 16 for i in range(4)]
TOKENS = [bytes([i]) * 32 for i in range(3)]
ENTRIES = st.builds(NewReport, st.sampled_from(KEYS), st.sampled_from(["a", "b"]), st.sampled_from([None, *TOKENS]))
HEADS = st.builds(
    CollectionInfo,
    st.just("hash"),
    st.sampled_from(["open", "token", "blind"]),
    st.sampled_from([None, 0, 1, 2, 5]),
    st.just(State.OPEN) | st.sampled_from(State),  # most decisions are made while it is open
)


@pytest.mark.slow
@given(
    batch=st.lists(ENTRIES, max_size=8),
    info=HEADS,
    found=st.sets(st.sampled_from(KEYS)),
    recorded=st.sets(st.sampled_from(TOKENS)),
    others=st.sets(st.sampled_from(TOKENS)),
)
def test_a_batch_is_decided_as_if_its_entries_had_come_alone(batch, info, found, recorded, others) -> None:
    invited = recorded | others
    made = decide(
        batch, info, n_stored=len(found), existing_keys=found, recorded_hashes=recorded, invited_hashes=invited
    )
    outcomes: list[Outcome] = []
    keys, passes = set(found), set(recorded)
    for entry in batch:
        alone = decide(
            [entry], info, n_stored=len(keys), existing_keys=keys, recorded_hashes=passes, invited_hashes=invited
        )
        outcomes += alone.outcomes
        keys |= set(alone.reports)
        passes = passes - alone.token_hashes if info.access == "token" else passes | alone.token_hashes
    assert made.outcomes == outcomes
    assert found | set(made.reports) == keys
    assert (recorded - made.token_hashes if info.access == "token" else recorded | made.token_hashes) == passes
    assert made.outcomes.count(STORED) == len(made.reports)
    assert len(made.token_hashes) == (0 if info.access == "open" else len(made.reports))


THERE, OTHER, NEW = (
    NewReport(KEYS[0], "a", TOKENS[0]),
    NewReport(KEYS[0], "b", TOKENS[0]),
    NewReport(KEYS[1], "a", TOKENS[0]),
)
STRANGE = NewReport(KEYS[0], "a", TOKENS[2])


@pytest.mark.parametrize(
    ("entry", "state", "cap", "recorded", "expected"),
    [
        (STRANGE, State.OPEN, 2, {TOKENS[0]}, SPENT),  # an unknown token is checked before everything else
        (STRANGE, State.PAUSED, 1, {TOKENS[0]}, SPENT),
        (STRANGE, State.CLOSED, 1, set(), REPEATED),  # but a closed collection no longer knows any tokens
        (THERE, State.CLOSED, 1, set(), REPEATED),  # then an existing key, whatever its body
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
    entry: NewReport, state: State, cap: int, recorded: set[bytes], expected: Outcome
) -> None:
    info = CollectionInfo("hash", "token", cap, state)
    assert decide(
        [entry], info, n_stored=1, existing_keys={THERE.key}, recorded_hashes=recorded, invited_hashes=set(TOKENS[:2])
    ).outcomes == [expected]


@pytest.mark.parametrize(("access", "recorded"), [("token", {TOKENS[0]}), ("blind", set())])
def test_of_two_reports_with_one_token_in_a_batch_the_first_is_stored(access: str, recorded: set[bytes]) -> None:
    batch = [NewReport(key, "a", TOKENS[0]) for key in KEYS[:2]]
    info = CollectionInfo("hash", access, None, State.OPEN)
    made = decide(batch, info, n_stored=0, existing_keys=set(), recorded_hashes=recorded, invited_hashes=set(TOKENS))
    assert made.outcomes == [STORED, SPENT]
    assert made.reports == {KEYS[0]: "a"}


def test_the_reports_of_a_batch_count_toward_the_cap_one_by_one() -> None:
    batch = [NewReport(key, "a") for key in KEYS]
    info = CollectionInfo("hash", "open", 3, State.OPEN)
    made = decide(batch, info, n_stored=1, existing_keys=set(), recorded_hashes=set())
    assert made.outcomes == [STORED, STORED, FULL, FULL]
    assert list(made.reports) == KEYS[:2]
