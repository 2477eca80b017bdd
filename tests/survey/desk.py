"""A survey, its respondents and a store in memory, shared by the tests of the server."""

import asyncio
import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.survey.samples import SAID
from toolkit import warner
from toolkit.local import oracles
from toolkit.survey.questions.question import Question
from toolkit.survey.spec import Survey
from toolkit.survey.storage import NewReport, Outcome, State

JSON = [(b"content-type", b"application/json")]


def campus(access: str = "open", **changes: Any) -> Survey:
    """A survey with one question for each form of report: a code, a list of codes, a plain code, a text."""
    questions = [
        Question("faculty", "Which faculty are you in?", options=["arts", "law", "science"]),
        Question("cheated", "Have you ever cheated on an exam?", design=warner("2/3")),
        Question("tried", "Which of these have you tried?", design=oracles.tick_boxes(["a", "b", "c"], 1.0)),
        Question("note", "Anything else?", free_text=True, required=False, warning="Please name nobody."),
    ]
    texts = {"title": "Campus", "consent": "You may stop at any time."}
    return Survey(questions=questions, access=access, **texts, **{**SAID, **changes})


ANSWERS = {"faculty": 1, "cheated": 0, "tried": [2, 1], "note": "all fine"}


def payload(survey: Survey, /, **changes: Any) -> dict[str, Any]:
    """Return the submission of an honest phone."""
    token = {} if survey.access == "open" else {"token": secrets.token_urlsafe(16)}
    made = {"survey": survey.hash, "key": secrets.token_hex(16), "answers": ANSWERS, "understood": True, **token}
    return {**made, **changes}


def sent(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


class Memory:
    """A writer whose store is a dict; it follows the rules of `Store.add`."""

    def __init__(self, access: str = "open", invited: Iterable[bytes] = ()) -> None:
        self.access, self.state, self.cap = access, State.OPEN, None
        self.reports: dict[bytes, str] = {}
        self.invited, self.spent, self.issues = set(invited), set(), {}
        self.before: Callable[[], Awaitable[None]] | None = None
        self.is_working = True

    async def put(self, entry: NewReport) -> Outcome:
        if self.before is not None:
            await self.before()
        if self.access == "token" and self.state is not State.CLOSED and entry.token_hash not in self.invited:
            return Outcome.SPENT
        if entry.key in self.reports:
            return Outcome.REPEATED
        if self.state is not State.OPEN:
            return Outcome.CLOSED if self.state is State.CLOSED else Outcome.PAUSED
        if self.cap is not None and len(self.reports) >= self.cap:
            return Outcome.FULL
        if entry.token_hash in self.spent:
            return Outcome.SPENT
        self.spent |= {entry.token_hash} - {None}
        self.reports[entry.key] = entry.body
        return Outcome.STORED

    async def return_uses(self, hashes: Iterable[bytes]) -> None:
        self.spent |= set(hashes) & self.invited

    async def is_closed(self) -> bool:
        return self.state is State.CLOSED

    async def issue(self, invitation: bytes, blinded: bytes) -> bool:
        if self.before is not None:
            await self.before()
        return invitation in self.invited and self.issues.setdefault(invitation, blinded) == blinded


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def __getitem__(self, name: str) -> str:
        (value,) = [value for header, value in self.headers if header == name]
        return value

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    app: Any, method: str, path: str, body: bytes | Iterable[bytes] = b"", headers: Any = JSON, **scope: Any
) -> Answer:
    """Send one request to an ASGI application without a network, as a server would, and return the response."""
    chunks = [body] if isinstance(body, bytes) else list(body)
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages[-1]["more_body"] = False
    arriving = iter([*messages, {"type": "http.disconnect"}])
    out: list[Any] = []

    async def receive() -> Any:
        return next(arriving)

    async def send(message: Any) -> None:
        out.append(message)

    made = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode("utf-8", "surrogatepass"),
        "query_string": b"",
    }
    await app(
        {**made, "root_path": "", "headers": list(headers), "http_version": "1.1", "scheme": "http", **scope},
        receive,
        send,
    )
    start, *rest = out
    found = [(name.decode(), value.decode()) for name, value in start["headers"]]
    return Answer(start["status"], found, b"".join(message.get("body", b"") for message in rest))


def asked(app: Any, *arguments: Any, **rest: Any) -> Answer:
    return asyncio.run(ask(app, *arguments, **rest))


def sha256(text: str | bytes) -> bytes:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).digest()
