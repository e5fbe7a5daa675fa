"""A server's socket on loopback, which can be closed, opened again on the same port, and its connections broken."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from trunkline.sim.wire.server import WireServer
from trunkline.sim.wire.sockets import reset_transport

HOST = "127.0.0.1"
#: seconds that requests have to end when a server closes; for aiohttp, none would be for ever
TO_END = 0.05


class WireListener:
    """Listens for one server."""

    def __init__(self, server: WireServer[Any]) -> None:
        self.server = server
        self._runner: web.AppRunner | None = None
        self._port = 0

    async def open(self, port: int = 0) -> None:
        """Listen; port 0 takes a free one, and later the same one again."""
        if self._runner is not None:
            return
        runner = self._runner = web.AppRunner(
            self.server.app(), handler_cancellation=True, access_log=None, shutdown_timeout=TO_END
        )
        await runner.setup()
        await web.TCPSite(runner, HOST, port or self._port, reuse_address=True).start()
        self._port = runner.addresses[0][1]
        self.server.url = f"http://{HOST}:{self._port}"

    async def close(self) -> None:
        """Close the socket and all its connections: new ones are refused, until `open`."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await self.server.close()
            await runner.cleanup()

    async def restart(self, down: float = 0.0) -> None:
        """Close the socket and all connections, and listen again on the same port after `down` seconds of the loop."""
        await self.close()
        await asyncio.sleep(down)
        await self.open()

    @property
    def port(self) -> int:
        """The port, also while the listener is closed; 0 before it was ever open."""
        return self._port

    @property
    def is_open(self) -> bool:
        """Whether the listener is open."""
        return self._runner is not None

    def break_connections(self) -> int:
        """Reset every connection, and go on listening; returns how many there were."""
        server = None if self._runner is None else self._runner.server
        found = [] if server is None else [link.transport for link in server.connections if link.transport is not None]
        for transport in found:
            reset_transport(transport)
        return len(found)
