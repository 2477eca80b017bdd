"""uvicorn's server with connections that are watched."""

import asyncio
import socket
from collections.abc import Callable

import uvicorn

from toolkit.survey.serving.connection import Connection, Crowd
from toolkit.survey.serving.limits import Limits

BACKLOG = 2048


class WatchedServer(uvicorn.Server):
    """Calls `announce` once, when a connection would be answered."""

    def __init__(self, config: uvicorn.Config, limits: Limits, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self.crowd, self._announce = Crowd(limits), announce
        self.servers: list[asyncio.Server] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's own, but a TLS handshake has the time of a request's head instead of a minute."""
        await self.lifespan.startup()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_hush)
        tls, seconds = self.config.ssl, self.crowd.limits.head_seconds if self.config.ssl else None
        for one in sockets or []:
            made = loop.create_server(self._connection, sock=one, backlog=BACKLOG, ssl=tls, ssl_handshake_timeout=seconds)
            self.servers.append(await made)
        self.started = True
        self._announce()

    def _connection(self) -> Connection:
        return Connection(self.crowd, config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


def _hush(*_: object) -> None:
    """The loop's own complaints name addresses."""
