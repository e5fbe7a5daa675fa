"""The endpoint: ``/v1/chat/completions`` and ``/v1/models``, with a record of what it was asked."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
from aiohttp import web

from trunkline.sim.wire.json_values import object_in
from trunkline.sim.wire.model.replies import JSON, Break, Hang, ModelReply, Send, Wait, fails
from trunkline.sim.wire.sockets import LoopbackSite, reset

_LONGEST_BODY = 64 * 1024 * 1024
#: the models of the endpoint, as the JSON of ``/v1/models``
_MODELS = {"object": "list", "data": [{"id": "echo", "object": "model", "created": 1, "owned_by": "trunkline"}]}


class Asked(msgspec.Struct, frozen=True):
    """A request to the model. `headers`: names in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class ModelServer(LoopbackSite):
    """A scripted endpoint. `answer` makes each answer of its request.

    `seen` is called with each request, before its answer, and `note_answer` with its reply, after the last byte.
    `count_request` with the path of everything that arrives, also of what is no question.
    """

    def __init__(
        self,
        answer: Callable[[Asked], ModelReply],
        *,
        seen: Callable[[Asked], object] = lambda _: None,
        note_answer: Callable[[Asked, ModelReply], object] = lambda _asked, _reply: None,
        count_request: Callable[[str], object] = lambda _: None,
    ) -> None:
        super().__init__()
        self._answer, self._seen = answer, seen
        self._note_answer, self._count_request = note_answer, count_request
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        """The base URL for clients, known once the server listens."""
        return f"{super().url}/v1"

    def app(self) -> web.Application:
        app = web.Application(client_max_size=_LONGEST_BODY)
        app.router.add_route("*", "/{tail:.*}", self.handle)
        return app

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self._count_request(request.path)
        try:
            headers = {name.lower(): value for name, value in request.headers.items()}
            asked = Asked(request.path, headers, object_in(await request.read() or b"{}"))
        except ValueError:
            return await _play(fails(400, "We could not parse the JSON body of your request."), request)
        if request.method == "GET":
            known = asked.path.endswith("/models")
            listed = ModelReply(kind=JSON, steps=(Send(json.dumps(_MODELS).encode()),))
            return await _play(listed if known else _unknown(asked), request)
        self.asked.append(asked)
        self._seen(asked)
        reply = self._answer(asked) if asked.path.endswith("/chat/completions") else _unknown(asked)
        try:
            response = await _play(reply, request)
        except ConnectionResetError:
            # The client has gone in the middle of the answer.
            raise asyncio.CancelledError from None
        self._note_answer(asked, reply)
        return response


def _unknown(asked: Asked) -> ModelReply:
    return fails(404, f"Unknown path {asked.path}")


async def _play(reply: ModelReply, request: web.Request) -> web.StreamResponse:
    await anyio.sleep(reply.before)
    if reply.status == 0:
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
                if request.transport is not None:
                    request.transport.close()
                raise asyncio.CancelledError
    await response.write_eof()
    return response
