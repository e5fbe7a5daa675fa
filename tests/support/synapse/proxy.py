"""What stands between an adapter and the homeserver, and can break the next send, or the sync that is open."""

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
from aiohttp import web

from trunkline.sim.wire.sockets import ResponseWithheld, reset

HOST = "127.0.0.1"
#: what strikes one send: it gets the request, and a function that passes it on
PassOn = Callable[[], Awaitable[web.StreamResponse]]
Strike = Callable[[web.Request, PassOn], Awaitable[web.StreamResponse]]
#: headers that belong to one connection
_OF_CONNECTIONS = {"host", "connection", "transfer-encoding", "content-length", "content-encoding", "keep-alive"}


class SynapseProxy:
    """Forwards requests, and counts the sends."""

    def __init__(self, url: str) -> None:
        self._upstream = url
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self._port = 0
        self._strike: Strike | None = None
        self._syncs: list[web.Request] = []
        self._break_next = False
        #: number of sends so far
        self.sends = 0

    @property
    def url(self) -> str:
        """Its address, which stays the same."""
        return f"http://{HOST}:{self._port}"

    async def open(self) -> None:
        """Listen; later on the same port again."""
        if self._runner is not None:
            return
        self._session = aiohttp.ClientSession(auto_decompress=True)
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]

    async def close(self) -> None:
        """Refuse connections, and break the open ones."""
        runner, session, self._runner, self._session = self._runner, self._session, None, None
        if runner is not None and session is not None:
            await runner.cleanup()
            await session.close()

    def strike(self, strike: Strike) -> None:
        """Let something happen to the next send."""
        self._strike = strike

    def break_sync(self) -> None:
        """Reset the sync that is open, or else the next one."""
        self._break_next = not self._syncs
        for request in tuple(self._syncs):
            reset(request)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            if request.method == "PUT" and "/send/" in request.path:
                self.sends += 1
                strike, self._strike = self._strike, None
                if strike is not None:
                    return await strike(request, lambda: self._pass_on(request))
            if request.path.endswith("/sync"):
                return await self._sync(request)
            return await self._pass_on(request)
        except ResponseWithheld:
            raise asyncio.CancelledError from None

    async def _sync(self, request: web.Request) -> web.StreamResponse:
        if self._break_next:
            self._break_next = False
            raise reset(request)
        self._syncs.append(request)
        try:
            return await self._pass_on(request)
        finally:
            self._syncs = [one for one in self._syncs if one is not request]

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        assert self._session is not None
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_CONNECTIONS}
        async with self._session.request(
            request.method, f"{self._upstream}{request.raw_path}", headers=headers, data=await request.read()
        ) as found:
            body = await found.read()
            kept = {name: value for name, value in found.headers.items() if name.lower() not in _OF_CONNECTIONS}
            return web.Response(status=found.status, body=body, headers=kept)


async def lose_response(request: web.Request, pass_on: PassOn) -> web.StreamResponse:
    """The homeserver accepts it, and no answer comes."""
    await pass_on()
    await asyncio.sleep(3600)
    raise reset(request)


async def break_after(request: web.Request, pass_on: PassOn) -> web.StreamResponse:
    """The homeserver accepts it, and the connection is reset."""
    await pass_on()
    raise reset(request)


def delayed(seconds: float) -> Strike:
    """The homeserver accepts it, and the answer comes late."""

    async def delay(_: web.Request, pass_on: PassOn) -> web.StreamResponse:
        found = await pass_on()
        await asyncio.sleep(seconds)
        return found

    return delay


def answered(status: int, body: dict[str, object]) -> Strike:
    """The homeserver never gets it; this is the answer."""

    async def answer(_: web.Request, __: PassOn) -> web.StreamResponse:
        return web.json_response(body, status=status)

    return answer
