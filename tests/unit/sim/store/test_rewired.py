"""A rewired store replaces single commands and queries, and passes everything else on."""

from collections.abc import Callable
from typing import Any

import pytest

from trunkline.core.store.commands import EnsureSession, MarkNotified, Write
from trunkline.core.store.queries import FindSend, FindSession, Read
from trunkline.core.values import IntentId
from trunkline.sim.store.rewired import RewiredStore

pytestmark = pytest.mark.anyio

ONE, TWO = MarkNotified(intent=IntentId("i1")), MarkNotified(intent=IntentId("i2"))


class Inner:
    """Keeps the commands and queries that reach it."""

    def __init__(self) -> None:
        self.reached: list[object] = []

    async def write(self, command: Write[Any], story: Callable[[Any], Any], then: Any = None) -> Any:
        self.reached.append(command)
        return story("inner")

    def submit(
        self, command: Write[Any], story: Any, then: Any = None, failed: Any = None, *, urgent: bool = True
    ) -> None:
        self.reached += [command, urgent]

    async def read(self, query: Read[Any]) -> Any:
        self.reached.append(query)
        return "inner"


def rewired(inner: Inner, **replaced: Any) -> RewiredStore:
    return RewiredStore(inner, None, **{"changes": {}, "writes": {}, "reads": {}, **replaced})  # pyright: ignore[reportArgumentType]


async def test_what_is_not_replaced_reaches_the_inner_store() -> None:
    inner = Inner()
    store = rewired(inner, changes={EnsureSession: None}, reads={FindSend: None})
    assert await store.write(ONE, lambda answer: f"story of {answer}") == "story of inner"
    store.submit(TWO, lambda answer: answer, urgent=False)
    assert await store.read(FindSession(key="k")) == "inner"
    assert inner.reached == [ONE, TWO, False, FindSession(key="k")]


async def test_a_command_is_changed_on_both_ways_to_the_store() -> None:
    inner = Inner()
    store = rewired(inner, changes={MarkNotified: lambda _: TWO})
    await store.write(ONE, lambda answer: answer)
    store.submit(ONE, lambda answer: answer)
    assert inner.reached == [TWO, TWO, True]


async def test_a_replaced_write_gets_the_command_and_the_store() -> None:
    inner = Inner()

    async def skip(store: RewiredStore, command: Any, story: Callable[[Any], Any], then: Any) -> Any:
        assert store.inner is inner
        return story(command)

    assert await rewired(inner, writes={MarkNotified: skip}).write(ONE, lambda answer: answer) == ONE
    assert inner.reached == []


async def test_a_replaced_query_is_answered_otherwise() -> None:
    inner = Inner()

    async def nothing(store: RewiredStore, query: Any) -> None:
        return None

    assert await rewired(inner, reads={FindSession: nothing}).read(FindSession(key="k")) is None
    assert inner.reached == []
