"""The endpoint: ``/v1/chat/completions`` and ``/v1/models``, with a record of what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import msgspec
from aiohttp import web

from trunkline.sim.wire.json_values import object_in
from trunkline.sim.wire.model.replies import JSON, Break, Hang, ModelReply, Send, Wait, fails, says
from trunkline.sim.wire.sockets import reset

HOST = "127.0.0.1"
#: seconds that requests have to end when the server closes; for aiohttp, none would be for ever
_TO_END = 0.05
#: bytes of a request's body
_LONGEST_BODY = 64 * 1024 * 1024
#: the server has closed the connection of a request itself
_BROKEN = web.RequestKey("broken", bool)


class Asked(msgspec.Struct, frozen=True):
    """A request to the model. `headers`: names in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        return self.body["messages"]

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model may call."""
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]


#: an answer, or what makes it of a request
Answer = ModelReply | Callable[[Asked], ModelReply]


class ModelServer:
    """A scripted endpoint. `script`: its answers in order, or what makes each one of its request.

    When the script is used up, `otherwise` is the answer. `key`: that of clients; another one gets
    401, in a text that quotes it. `models`: those that there are; None: any. `seen` is called with each request, before
    its answer, and `note_answer` with its reply, after the last byte. `count_request` with the path of everything that
    arrives, also of what is no question.
    """

    def __init__(
        self,
        script: Sequence[Answer] | Callable[[Asked], ModelReply] = (),
        *,
        otherwise: Answer | None = None,
        key: str | None = None,
        models: Sequence[str] | None = None,
        seen: Callable[[Asked], object] | None = None,
        note_answer: Callable[[Asked, ModelReply], object] | None = None,
        count_request: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._make = script if callable(script) else None
        self._left: list[Answer] = [] if callable(script) else list(script)
        self._otherwise = otherwise or says("(the script has ended)")
        self._key = key
        self._models = models
        self._seen = seen
        self._note_answer = note_answer
        self._count_request = count_request
        self.asked: list[Asked] = []
        #: clients that have closed their connection before the answer was complete
        self.left_early = 0
        self.port = 0
        self._runner: web.AppRunner | None = None
        self._changed = anyio.Event()

    @property
    def url(self) -> str:
        """The base URL for clients, known once the server listens."""
        return f"http://{HOST}:{self.port}/v1"

    # ------------------------------------------------------------ the script

    def then(self, *replies: Answer) -> None:
        """Append answers to the script."""
        self._left += replies

    def instead(self, *replies: Answer) -> None:
        """Replace what is left of the script."""
        self._make, self._left = None, list(replies)

    def plays(self, make: Callable[[Asked], ModelReply]) -> None:
        """Set the function that answers every request."""
        self._make = make

    @property
    def left(self) -> int:
        """How many answers of the script were not given yet."""
        return len(self._left)

    async def until(self, count: int, within: float = 30.0) -> None:
        """Wait for so many requests. Raises `TimeoutError`."""
        with anyio.fail_after(within):
            while len(self.asked) < count:
                self._changed = anyio.Event()
                await self._changed.wait()

    # ------------------------------------------------------------ the socket

    async def open(self, port: int = 0) -> None:
        """Listen; port 0 takes a free one, and later the same one again."""
        if self._runner is not None:
            return
        app = web.Application(client_max_size=_LONGEST_BODY)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=_TO_END)
        await runner.setup()
        await web.TCPSite(runner, HOST, port or self.port, reuse_address=True).start()
        self.port = runner.addresses[0][1]

    async def close(self) -> None:
        """Close the socket and all its connections."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self._count_request(request.path)
        try:
            headers = {name.lower(): value for name, value in request.headers.items()}
            asked = Asked(request.path, headers, object_in(await request.read() or b"{}"))
        except ValueError:
            return await _play(fails(400, "We could not parse the JSON body of your request."), request)
        if request.method == "GET":
            return await _play(self._look(asked), request)
        self.asked.append(asked)
        if self._seen is not None:
            self._seen(asked)
        self._changed.set()
        reply = self._reply(asked)
        try:
            response = await _play(reply, request)
        except asyncio.CancelledError:
            if not _broken(request):
                self.left_early += 1
            raise
        except ConnectionResetError:
            # The client has gone in the middle of the answer.
            self.left_early += 1
            raise asyncio.CancelledError from None
        if self._note_answer is not None:
            self._note_answer(asked, reply)
        return response

    # ------------------------------------------------------------ answers

    def _refused(self, asked: Asked) -> ModelReply | None:
        given = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if self._key is not None and given != self._key:
            return fails(401, f"Incorrect API key provided: {given}.", code="invalid_api_key")
        return None

    def _look(self, asked: Asked) -> ModelReply:
        """The models that there are."""
        refused = self._refused(asked)
        if refused is not None:
            return refused
        if not asked.path.endswith("/models"):
            return fails(404, f"Unknown path {asked.path}")
        names = self._models or ["echo"]
        found = [{"id": name, "object": "model", "created": 1, "owned_by": "trunkline"} for name in names]
        return ModelReply(kind=JSON, steps=(Send(json.dumps({"object": "list", "data": found}).encode()),))

    def _reply(self, asked: Asked) -> ModelReply:
        refused = self._refused(asked)
        if refused is not None:
            return refused
        if not asked.path.endswith("/chat/completions"):
            return fails(404, f"Unknown path {asked.path}")
        if self._models is not None and asked.body.get("model") not in self._models:
            return fails(404, f"The model `{asked.body.get('model')}` does not exist", code="model_not_found")
        if self._make is not None:
            return self._make(asked)
        if not isinstance(asked.body.get("messages"), list):
            return fails(400, "Missing required parameter: 'messages'.", code="missing_required_parameter")
        answer = self._left.pop(0) if self._left else self._otherwise
        return answer if isinstance(answer, ModelReply) else answer(asked)


def _broken(request: web.Request) -> bool:
    """Whether the server has closed the connection itself."""
    return request.get(_BROKEN, False)


async def _play(reply: ModelReply, request: web.Request) -> web.StreamResponse:
    await anyio.sleep(reply.before)
    if reply.status == 0:
        request[_BROKEN] = True
        reset(request)
        raise asyncio.CancelledError
    response = web.StreamResponse(status=reply.status)
    if reply.kind:
        response.headers["Content-Type"] = reply.kind
    for name, value in reply.headers:
        response.headers.add(name, value)
    await response.prepare(request)
    for step in reply.steps:
        match step:
            case Send(data):
                await response.write(data)
            case Wait(seconds):
                await anyio.sleep(seconds)
            case Hang():
                await anyio.sleep_forever()
            case Break():
                request[_BROKEN] = True
                if request.transport is not None:
                    request.transport.close()
                raise asyncio.CancelledError
    await response.write_eof()
    return response
