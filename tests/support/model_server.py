"""The model on the wire, with a script: for tests of what asks a model."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from aiohttp import web

from trunkline.sim.wire.model import server
from trunkline.sim.wire.model.replies import (
    DONE,
    EVENTS,
    Break,
    Hang,
    Send,
    Wait,
    ends_early,
    event,
    events,
    fails,
    piece,
    pieces_of,
    says_at_once,
    wants,
)
from trunkline.sim.wire.model.replies import ModelReply as Reply
from trunkline.sim.wire.model.replies import says as plainly_says
from trunkline.sim.wire.model.replies import tool_call as plain_call

Answer = Reply | Callable[["Asked"], Reply]


class Asked(server.Asked, frozen=True):
    """A request to the model, with its parts."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]


class ModelServer(server.ModelServer):
    """A model that plays a script: answers in order, or what makes each of its request; then it says that it has ended.

    `key`: that of clients; another one gets 401, in a text that quotes it.
    """

    asked: list[Asked]  # type: ignore[assignment] -- these have parts

    def __init__(self, script: Sequence[Answer] | Callable[[Asked], Reply] = (), *, key: str | None = None) -> None:
        super().__init__(self._reply, seen=self._saw)
        self._key = key
        self.instead(*(() if callable(script) else script))
        if callable(script):
            self.plays(script)
        #: clients that have closed their connection before the answer was complete
        self.left_early = 0
        self._changed = anyio.Event()

    def instead(self, *replies: Answer) -> None:
        self._script, self._make = list(replies), None

    def plays(self, make: Callable[[Asked], Reply]) -> None:
        """What answers every request from now on."""
        self._make: Callable[[Asked], Reply] | None = make

    async def until(self, count: int, within: float = 30.0) -> None:
        """Wait for so many requests. Raises `TimeoutError`."""
        with anyio.fail_after(within):
            while len(self.asked) < count:
                self._changed = anyio.Event()
                await self._changed.wait()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            return await super().handle(request)
        except asyncio.CancelledError:
            self.left_early += not any(isinstance(step, Break) for step in self._last.steps)
            raise

    def _saw(self, asked: server.Asked) -> None:
        self.asked[-1] = Asked(asked.path, asked.headers, asked.body)
        self._changed.set()

    def _reply(self, _: server.Asked) -> Reply:
        asked = self.asked[-1]
        given = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if self._key is not None and given != self._key:
            return fails(401, f"Incorrect API key provided: {given}.", code="invalid_api_key")
        answer = self._make or (self._script.pop(0) if self._script else says("(the script has ended)"))
        self._last = answer if isinstance(answer, Reply) else answer(asked)
        return self._last


def says(text: str, *, finish: str = "stop", wait: float = 0.0, refusal: str = "") -> Reply:
    """A streamed answer, which may refuse, or end for another reason."""
    if finish == "stop" and not refusal:
        return plainly_says(text, wait=wait)
    said = [piece({"content": part}) for part in pieces_of(text)]
    said += [piece({"refusal": part}) for part in pieces_of(refusal)]
    return events(piece({"role": "assistant", "content": ""}), *said, piece({}, finish), wait=wait)


def tool_call(name: str, arguments: object = None, *, id: str = "", index: int = 0) -> dict[str, Any]:  # noqa: A002
    """A tool call, with an id of its own."""
    call = plain_call(name, arguments, index=index)
    return {**call, "id": id} if id else call


def raw(body: bytes, kind: str = EVENTS, *, status: int = 200) -> Reply:
    """Bytes that are no answer."""
    return Reply(status=status, kind=kind, steps=(Send(body),))


def breaks_off(*values: object) -> Reply:
    """A stream that ends without a word."""
    return msgspec.structs.replace(events(*values), steps=events(*values).steps[:-1])


@asynccontextmanager
async def model_server(
    script: Sequence[Reply] | Callable[[Asked], Reply] = (), **settings: Any
) -> AsyncIterator[ModelServer]:
    """A `ModelServer` that serves until the block ends."""
    model = ModelServer(script, **settings)
    await model.open()
    try:
        yield model
    finally:
        await model.close()


__all__ = [
    "DONE",
    "Asked",
    "Break",
    "Hang",
    "ModelServer",
    "Reply",
    "Send",
    "Wait",
    "breaks_off",
    "ends_early",
    "event",
    "events",
    "fails",
    "model_server",
    "piece",
    "pieces_of",
    "raw",
    "says",
    "says_at_once",
    "tool_call",
    "wants",
]
