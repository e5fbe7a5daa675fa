"""What the tests of service share."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import sending as _sending
from tests.support.bindings import KEY, bound_rows
from tests.support.factories import room
from tests.support.sending import Platform
from tests.support.small_gateway import Running
from trunkline.core.errors import BindingError
from trunkline.core.events.bindings import BindingRefused
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.records.bindings import ConversationRef
from trunkline.core.values import Address

HALL = room("500")
OWN_KEY = "main:discord:default:channel:500"
ANA_KEY = "main:discord:default:direct:100"
TWO = [{"id": "main"}, {"id": "ops"}]


@asynccontextmanager
async def serving(
    path: Path, *platforms: Platform, agent: Any = None, bind: dict[str, Any] | None = None, **config: Any
) -> AsyncGenerator[Running, None]:
    config = {"agents": TWO, "channels": {"discord": {"thread_bindings": bind or {}}}, **config}
    async with _sending.serving(path, *platforms, agent=agent, **config) as running:
        yield running


def settings(running: Running, **bind: Any) -> Any:
    """The configuration of a gateway with other settings of bindings."""
    config = running.gateway._ctx.config
    return type(config).model_validate({"agents": TWO, "channels": {"discord": {"thread_bindings": bind}}})


async def bind(running: Running, place: Address | ConversationRef = HALL, key: str = KEY, **fields: Any) -> Any:
    fields = {"new_session": True, **fields}
    return await running.gateway.bindings.bind(target_session_key=key, conversation=place, **fields)


async def refused(running: Running, path: Path, **fields: Any) -> tuple[BindingError, BindingRefused]:
    """A bind that is refused, and changes nothing."""
    await running.gateway.bindings.up.wait()
    before = bound_rows(path)
    known = len(running.recorded(BindingRefused))
    with pytest.raises(BindingError) as caught:
        await bind(running, **fields)
    assert bound_rows(path) == before
    [body] = running.recorded(BindingRefused)[known:]
    assert (body.reason, body.detail) == (caught.value.reason, caught.value.facts)
    return caught.value, body


async def say(running: Running, platform: Platform, name: str, place: Address = HALL, text: str = "hello") -> None:
    """Somebody says something, and is answered."""
    count = len(running.recorded(IntentSettled))
    platform.say(name, place, text)
    await running.until(IntentSettled, count + 1)
