"""Broadcasts: one client send to several targets, each with its own key."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from trunkline.core.errors import InvalidSend, SendFailed, UsageError
from trunkline.core.events import EventSink
from trunkline.core.runtime.client_sends.planner import refused
from trunkline.core.runtime.client_sends.sends import Sends
from trunkline.core.sends.api import Broadcasted, SendMessage, Target, spread


async def broadcast(
    sends: Sends, events: EventSink, message: SendMessage, targets: Sequence[Target], cause: int | None
) -> tuple[Broadcasted, ...]:
    """See `core.gateway.Gateway.broadcast`."""
    try:
        messages = spread(message, targets)
    except InvalidSend as error:
        events.record(refused(message.key, error), cause)
        raise
    results: dict[int, Broadcasted] = {}

    async def one(n: int) -> None:
        try:
            results[n] = Broadcasted(target=targets[n], outcome=await sends.send(messages[n], cause))
        except (UsageError, SendFailed) as error:
            results[n] = Broadcasted(target=targets[n], error=error.facts)

    async with anyio.create_task_group() as group:
        for n in range(len(messages)):
            group.start_soon(one, n, name=f"broadcast {messages[n].key}")
    return tuple(results[n] for n in range(len(messages)))
