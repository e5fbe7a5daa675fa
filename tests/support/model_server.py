"""The model on the wire, with a script: for tests of what asks a model."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from trunkline.sim.wire.model.replies import (
    Break,
    Hang,
    Send,
    Wait,
    ends_early,
    events,
    fails,
    pieces_of,
    says,
    says_at_once,
    tool_call,
    wants,
)
from trunkline.sim.wire.model.replies import ModelReply as Reply
from trunkline.sim.wire.model.server import Asked, ModelServer


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
    "Asked",
    "Break",
    "Hang",
    "ModelServer",
    "Reply",
    "Send",
    "Wait",
    "ends_early",
    "events",
    "fails",
    "model_server",
    "pieces_of",
    "says",
    "says_at_once",
    "tool_call",
    "wants",
]
