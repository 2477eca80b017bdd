"""Small surveys and invented reports for the tests of stores."""

import hashlib
import secrets
from typing import Any

from toolkit import warner
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey
from toolkit.survey.storage.collection import Collection
from toolkit.survey.storage.protocol import NewReport, Outcome, State

STORED, REPEATED = Outcome.STORED, Outcome.REPEATED
PAUSED, CLOSED, FULL, SPENT = Outcome.PAUSED, Outcome.CLOSED, Outcome.FULL, Outcome.SPENT
BODY = '{"answers":{"cheated":1},"understood":true}'


def small_survey(title: str = "Exams", **options: Any) -> Survey:
    return Survey(
        title, [Question("cheated", "Have you ever cheated?", design=warner(p="2/3"))], consent="I agree.", **options
    )


def opened(store: Collection, **options: Any) -> Collection:
    """Return a new collection that accepts reports."""
    store.create(small_survey(**options))
    store.set_state(State.OPEN)
    return store


def entry(body: str = BODY, *, by: str | None = None, key: bytes | None = None) -> NewReport:
    return NewReport(key or secrets.token_bytes(16), body, None if by is None else sha(by))


def sha(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def keys_in_order(number: int) -> list[bytes]:
    return sorted(secrets.token_bytes(16) for _ in range(number))
