"""The server: on loopback, in the event loop of the test, with a record of what it was asked."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import msgspec
import uvicorn

from tests.support.model_server.replies import Break, Hang, Reply, Send, Wait, fails, says

#: seconds; no test waits longer for a client to go away
_LONGEST = 30.0


class Asked(msgspec.Struct, frozen=True):
    """One request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def tools(self) -> list[str]:
        return [one["function"]["name"] for one in self.body.get("tools", [])]


class ModelServer:
    """A scripted endpoint. `script`: its answers in order, or what makes one of a request.

    When the script is used up, `otherwise` is the answer. `key`: that of clients; another one gets 401, in a text that
    quotes it. `models`: those that there are; None: any.
    """

    def __init__(
        self,
        script: Sequence[Reply] | Callable[[Asked], Reply] = (),
        *,
        otherwise: Reply | None = None,
        key: str | None = None,
        models: Sequence[str] | None = None,
    ) -> None:
        self._make = script if callable(script) else None
        self._left = [] if callable(script) else list(script)
        self._otherwise = otherwise or says("(the script has ended)")
        self._key = key
        self._models = models
        self.asked: list[Asked] = []
        #: clients that have closed their connection before the answer was complete
        self.left_early = 0
        self.port = 0
        self._changed = anyio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def then(self, *replies: Reply) -> None:
        """Append answers to the script."""
        self._left += replies

    def instead(self, *replies: Reply) -> None:
        """Forget what is left of the script, and go on with these."""
        self._make, self._left = None, list(replies)

    def plays(self, make: Callable[[Asked], Reply]) -> None:
        """Make each answer of its request from now on."""
        self._make = make

    async def until(self, count: int) -> None:
        """Wait for so many requests."""
        with anyio.fail_after(_LONGEST):
            while len(self.asked) < count:
                self._changed = anyio.Event()
                await self._changed.wait()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """The ASGI application."""
        if scope["type"] != "http":
            return
        asked = Asked(scope["path"], _headers(scope), await _body(receive))
        self.asked.append(asked)
        self._changed.set()
        reply = self._reply(asked)
        async with anyio.create_task_group() as group:
            group.start_soon(self._notice_leaving, receive, group)
            with anyio.move_on_after(_LONGEST):
                await _play(reply, send)
            group.cancel_scope.cancel()

    def _reply(self, asked: Asked) -> Reply:
        given = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if self._key is not None and given != self._key:
            return fails(401, f"Incorrect API key provided: {given}.", code="invalid_api_key")
        if not asked.path.endswith("/chat/completions"):
            return fails(404, f"Unknown path {asked.path}")
        if self._models is not None and asked.body.get("model") not in self._models:
            return fails(404, f"The model `{asked.body.get('model')}` does not exist", code="model_not_found")
        if self._make is not None:
            return self._make(asked)
        return self._left.pop(0) if self._left else self._otherwise

    async def _notice_leaving(self, receive: Any, group: anyio.abc.TaskGroup) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left_early += 1
        group.cancel_scope.cancel()


class Broken(Exception):
    """Ends the application in the middle of an answer, so that the server closes the connection."""


async def _play(reply: Reply, send: Any) -> None:
    await anyio.sleep(reply.before)
    named = (*((("content-type", reply.kind),) if reply.kind else ()), *reply.headers)
    headers = [(name.encode(), value.encode()) for name, value in named]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    for step in reply.steps:
        match step:
            case Send(data):
                await send({"type": "http.response.body", "body": data, "more_body": True})
            case Wait(seconds):
                await anyio.sleep(seconds)
            case Hang():
                await anyio.sleep_forever()
            case Break():
                raise Broken
    await send({"type": "http.response.body", "body": b""})


async def _body(receive: Any) -> dict[str, Any]:
    data = b""
    while True:
        message = await receive()
        data += message.get("body", b"")
        if not message.get("more_body"):
            return json.loads(data or b"{}")


def _headers(scope: dict[str, Any]) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


class _Server(uvicorn.Server):
    """Leaves the signals to the test."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def model_server(
    script: Sequence[Reply] | Callable[[Asked], Reply] = (), **settings: Any
) -> AsyncIterator[ModelServer]:
    """A `ModelServer` that serves until the block ends."""
    model = ModelServer(script, **settings)
    config = uvicorn.Config(
        model,
        log_config=None,
        log_level=100,
        lifespan="off",
        date_header=False,
        timeout_graceful_shutdown=1,
        access_log=False,
    )
    server = _Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        model.port = listener.getsockname()[1]
        # Clients that come before the server accepts them wait in the queue of the socket.
        listener.listen()
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            try:
                yield model
            finally:
                server.should_exit = True
                server.force_exit = True
