"""The other two processes of collect.py: `load` sends reports on many connections and measures, `raw` serves
and does nothing.
"""

import asyncio
import json
import secrets
import socket
import sys
import time
from typing import Any

import uvloop

WARM, MEASURED = 1.0, 5.0  # seconds


class Phone(asyncio.Protocol):
    """One connection: a report, its answer, the next report; as fast as it is answered."""

    def __init__(self, before: bytes, after: bytes, start: float) -> None:
        self._before, self._after, self._start = before, after, start
        self._received = b""
        self.taken: list[float] = []
        self.refused = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self._before + secrets.token_hex(16).encode() + self._after)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._received.endswith(b"}"):  # the body of every answer is one small object
            return
        now = time.perf_counter()
        if not self._received.startswith(b"HTTP/1.1 201 "):
            self.refused += 1
        elif self._start + WARM <= self._sent and now <= self._start + WARM + MEASURED:
            self.taken.append(now - self._sent)
        self._received = b""
        if now < self._start + WARM + MEASURED:
            self._send()
        else:
            self._transport.close()


async def load(port: int, connections: int, body: str) -> None:
    """`body` is a report whose key is 32 zeros; every report gets a key of its own."""
    head = (
        "POST /report HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
        f"{len(body.encode())}\r\n\r\n"
    )
    before, after = ((head + body).encode()).split(b"0" * 32)
    loop, start = asyncio.get_running_loop(), time.perf_counter()
    made = [
        await loop.create_connection(lambda: Phone(before, after, start), "127.0.0.1", port) for _ in range(connections)
    ]
    await asyncio.sleep(WARM + MEASURED + 1)
    phones = [phone for _, phone in made]
    taken = sorted(seconds for phone in phones for seconds in phone.taken)
    found = {
        "rate": len(taken) / MEASURED,
        "p50": 1e3 * taken[len(taken) // 2],
        "p99": 1e3 * taken[len(taken) * 99 // 100],
        "refused": sum(phone.refused for phone in phones),
    }
    print(json.dumps(found))


def raw() -> None:
    """Starlette on uvicorn, as bare as it goes: the body is taken in and forgotten."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def report(request: Request) -> JSONResponse:
        await request.body()
        return JSONResponse({"stored": "0" * 32}, 201)

    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
        app = Starlette(routes=[Route("/report", report, methods=["POST"])])
        uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")).run(sockets=[listening])


if __name__ == "__main__":
    if sys.argv[1] == "raw":
        raw()
    else:
        uvloop.run(load(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
