"""Misbehaviour of agents, hands and hooks: what they return or raise."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn

import anyio

from trunkline.sim.scenario.model.rules import Nonsense

#: what the cancellation says with which a part of the cast ends the gateway
TAKEN_DOWN = "the gateway was ended from inside"


async def talk_nonsense(kind: Nonsense) -> object:
    """Misbehave in a way; returns the value to return, if that is the way."""
    return await _WAYS[kind]()


async def _bytes() -> object:
    return b"bytes"


async def _number() -> object:
    return 42


async def _half_character() -> object:
    return "cut: \ud83d"


async def _cancelled() -> object:
    raise asyncio.CancelledError("from a library")


async def _exits() -> object:
    raise SystemExit(3)


async def take_gateway_down() -> NoReturn:
    """End the gateway from inside: cancel the task of the gateway in which the caller runs."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel(TAKEN_DOWN)
    await anyio.sleep_forever()
    raise AssertionError("the cancellation was swallowed")


_WAYS: dict[Nonsense, Callable[[], Awaitable[object]]] = {
    "bytes": _bytes,
    "number": _number,
    "half-character": _half_character,
    "cancelled": _cancelled,
    "exits": _exits,
    "takes-gateway-down": take_gateway_down,
}
