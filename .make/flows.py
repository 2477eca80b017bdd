"""Record two calls, a release and a report, and write their flow charts into ARCHITECTURE.md (`make overview`)."""

import asyncio
import json
import secrets
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd

import toolkit
from toolkit import Curator, Ledger, Pure, warner
from toolkit.survey import Question, Survey
from toolkit.survey.serving.server import Application, build_application
from toolkit.survey.storage import State, open_store
from toolkit.survey.storage.writer import Writer

ROOT = Path(toolkit.__file__).parent
PAGE = ROOT.parent / "ARCHITECTURE.md"
# Helpers that every file uses: arrows to them would hide the path of the call.
EVERYWHERE = {"core/checks.py", "core/arrays.py", "core/extras.py"}

Flow = dict[tuple[str, str], str]


def record_flow(call: Callable[[], object]) -> Flow:
    """Return the arrows from file to file, in the order in which the second of two calls enters the files.

    Each arrow has the name of the function that is called. Threads that the first call starts are recorded as well.
    """
    arrows: Flow = {}
    is_second = False

    def record_call(frame: FrameType, event: str, _: object) -> None:
        here = _file(frame)
        if not is_second or event != "call" or here is None or here in EVERYWHERE:
            return
        above = frame.f_back
        while above is not None and (_file(above) or here) in {here, *EVERYWHERE}:
            above = above.f_back
        start = None if above is None else _file(above)
        if not any(end == here for _, end in arrows):
            owner, _, name = frame.f_code.co_qualname.rpartition(".")
            arrows[start or "caller", here] = owner if name.startswith("__") else name

    threading.setprofile(record_call)
    sys.setprofile(record_call)
    try:
        call()
        is_second = True
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return arrows


def _file(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    inside = ROOT in path.parents and not frame.f_code.co_name.startswith("<")
    return path.relative_to(ROOT).as_posix() if inside else None


def record_release() -> Flow:
    """Record a count by group that is charged to a ledger in a file."""
    frame = pd.DataFrame({"city": ["a", "b"] * 50})
    with tempfile.TemporaryDirectory() as folder:
        curator = Curator(frame, Ledger(Pure(10), path=Path(folder) / "ledger.db"), "replace")
        return record_flow(lambda: curator.histogram("city", options=["a", "b"], epsilon=1))


def record_report() -> Flow:
    """Record how a phone's report gets from the body of a request to the disk."""
    question = Question("cheated", "Have you ever cheated?", design=warner("2/3"))
    survey = Survey(title="Exam", consent="You may stop.", questions=[question])
    body = {"survey": survey.hash, "answers": {"cheated": 1}, "understood": True}
    with tempfile.TemporaryDirectory() as folder, closing(open_store(f"sqlite:///{folder}/exam.db")) as store:
        store.create(survey)
        store.set_state(State.OPEN)

        writers: list[Writer] = []

        @cache
        def app() -> Application:
            writers.append(Writer(store))
            return build_application(survey, writers[0])

        def post() -> None:
            body["key"] = secrets.token_hex(16)
            asyncio.run(_post(app(), json.dumps(body).encode()))

        arrows = record_flow(post)
        writers[0].stop()
        return arrows


async def _post(app: Application, body: bytes) -> None:
    """Pass one request to the application, as a server does."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    statuses: list[int] = []

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    rest = {"http_version": "1.1", "scheme": "http", "root_path": "", "query_string": b""}
    where = {"method": "POST", "path": "/report", "raw_path": b"/report"}
    await app({"type": "http", "headers": headers, **where, **rest}, receive, send)
    if statuses[0] != 201:
        raise SystemExit(f"the report must be stored, got status {statuses[0]}: the chart would show a rejected report")


def flowchart(arrows: Flow) -> str:
    """Return the arrows as a Mermaid flowchart: one box per file in its folder's frame, arrows numbered in order."""
    folders: dict[str, list[str]] = {}
    for _, file in arrows:
        folders.setdefault(file.rpartition("/")[0], []).append(file)
    lines = ["```mermaid", "flowchart LR"]
    for folder, files in folders.items():
        boxes = [f'    {_name(file)}["{file.rpartition("/")[2]}"]' for file in files]
        lines += [f'  subgraph {_name(folder)}_["{folder}/"]', *boxes, "  end"]
    for place, ((start, end), function) in enumerate(arrows.items(), 1):
        lines.append(f'  {_name(start)} -->|"{place} {function}"| {_name(end)}')
    return "\n".join([*lines, "```"])


def _name(file: str) -> str:
    return file.removesuffix(".py").replace("/", "_")


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for mark, arrows in (("release", record_release()), ("report", record_report())):
        before, start, rest = page.partition(f"<!-- {mark}: made by `make overview` -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        page = f"{before}{start}\n{flowchart(arrows)}\n\n{end}{after}"
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
