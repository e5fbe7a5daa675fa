"""Which updates may be confirmed: the smallest cases, without a server."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.wire.bench import MemoryCursors
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.port import AdapterHost
from trunkline.core.adapters.telegram.adapter import LongPolling
from trunkline.core.adapters.telegram.webhook import OpenUpdates
from trunkline.core.env import system_env
from trunkline.core.values import Address, ChatKind, Envelope, Peer

WEEK = 7 * 86_400.0


def said(number: int) -> Envelope:
    place = Address(channel="telegram", account="default", kind=ChatKind.DIRECT, conversation="5")
    return Envelope(address=place, peer=Peer(id="5"), message_id=str(number), text="", sent_at=0.0)


def taken(*numbers: int) -> OpenUpdates:
    updates = OpenUpdates()
    for number in numbers:
        assert updates.note_update(number, said(number))
    return updates


def test_the_offset_stops_at_the_first_message_that_is_not_safe() -> None:
    """With two that are not safe, and a safe one between them."""
    updates = taken(1, 2, 3, 4)
    assert updates.offset is None
    updates.ack(said(2))
    assert updates.offset is None
    updates.ack(said(1))
    assert updates.offset == 3
    updates.ack(said(4))
    assert updates.offset == 3
    updates.ack(said(3))
    assert updates.offset == 5


def test_an_offset_is_sent_once() -> None:
    updates = taken(1, 2)
    updates.ack(said(1))
    updates.confirm(updates.offset)
    assert updates.offset is None
    updates.ack(said(2))
    assert updates.offset == 3
    updates.confirm(None)
    assert updates.offset == 3


def test_a_message_in_two_updates_is_safe_in_both() -> None:
    updates = OpenUpdates()
    assert updates.note_update(1, said(1))
    assert updates.note_update(2, said(1))
    updates.ack(said(1))
    assert (updates.waiting, updates.offset) == (0, 3)


def test_a_new_connection_gets_what_is_not_safe_and_nothing_else() -> None:
    updates = taken(1, 2)
    updates.ack(said(2))
    assert not updates.note_update(1, said(1))
    updates.reconnect()
    assert updates.note_update(1, said(1))
    assert not updates.note_update(2, said(2))


@pytest.mark.parametrize(
    ("age", "known"), [(0.0, True), (4 * 86_400.0, True), (WEEK, False), (-10.0, False), (-WEEK, False)]
)
def test_an_offset_counts_only_while_its_age_is_known(age: float, known: bool) -> None:
    """A clock that was set back says nothing: the numbers may have begun again."""
    env, cursors = system_env(), MemoryCursors()
    cursors.values["offset"] = json.dumps([7, env.now() - age])
    nothing: Any = None
    host = AdapterHost(account="default", env=env, cursors=cursors, events=nothing, folder=Path(), environ={})

    async def test() -> None:
        assert await LongPolling(nothing, host, AccountEvents(host, "telegram"))._load() == (7 if known else None)

    anyio.run(test)


@pytest.mark.parametrize("saved", ["", "null", "7", "[7]", '["7", 1]', "[7, null]", "{", "[" * 5000])
def test_a_cursor_that_is_none_is_no_reason_to_fail(saved: str) -> None:
    cursors = MemoryCursors()
    cursors.values["offset"] = saved
    nothing: Any = None
    host = AdapterHost(account="default", env=system_env(), cursors=cursors, events=nothing, folder=Path(), environ={})

    async def test() -> None:
        assert await LongPolling(nothing, host, AccountEvents(host, "telegram"))._load() is None

    anyio.run(test)
