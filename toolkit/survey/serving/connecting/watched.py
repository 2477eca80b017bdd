"""uvicorn's server with connections that are watched."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from toolkit.survey.serving.connecting.connection import Connection
from toolkit.survey.serving.connecting.connections import Connections
from toolkit.survey.serving.connecting.door import Arrival, Door
from toolkit.survey.serving.limits import Limits

BACKLOG = 2048


class WatchedServer(uvicorn.Server):
    """Calls `announce` once, when a connection would be answered."""

    def __init__(self, config: uvicorn.Config, limits: Limits, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self.connections, self._announce = Connections(limits), announce
        self.servers: list[Any] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's own, but every connection is counted as soon as it stands."""
        await self.lifespan.startup()
        asyncio.get_running_loop().set_exception_handler(_hush)
        self.servers = [Door(one, self.connections, self.config.ssl, self._connection) for one in sockets or []]
        self.started = True
        self._announce()

    def _connection(self, arrival: Arrival) -> Connection:
        state = self.server_state
        return Connection(
            self.connections, arrival, config=self.config, server_state=state, app_state=self.lifespan.state
        )


def _hush(*_: object) -> None:
    """The loop's own complaints name addresses."""
