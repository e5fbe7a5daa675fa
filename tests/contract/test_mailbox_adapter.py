"""The adapter of mailbox accounts keeps the contract of adapters, over a store on disk."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.support.factories import direct, group, room
from trunkline.core.channels.adapter import ChannelAdapter
from trunkline.core.channels.mailbox import MailboxAdapter
from trunkline.core.env import system_env
from trunkline.core.events import EventLog
from trunkline.core.store.sqlite import SqliteStore, connect_file
from trunkline.core.testing.adapter_kit import Bench, CheckVerdict, SeenMessage, check_channel_adapter
from trunkline.core.values import Address

pytestmark = pytest.mark.anyio


class MailboxBench(Bench):
    """A mailbox, read as a client reads it."""

    places: Sequence[Address] = (
        direct("ana", channel="webchat"),
        group("family", channel="webchat"),
        room("lobby", channel="webchat"),
    )
    shows = ("media", "poll", "payload")
    thread = room("lobby", channel="webchat", thread="t1")
    payload = '{"blocks": []}'

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._mailbox = MailboxAdapter("webchat", "default", store, system_env())
        self.adapter: ChannelAdapter = self._mailbox

    async def accepted(self) -> Sequence[SeenMessage]:
        page = await self._mailbox.read(limit=10_000)
        return [
            SeenMessage(
                address=message.address,
                text=message.text,
                key=message.key,
                provider_id=str(message.n),
                media=message.media,
                poll=message.poll,
                payload=message.payload,
            )
            for message in page.messages
        ]

    async def restart(self) -> ChannelAdapter:
        return MailboxAdapter("webchat", "default", self._store, system_env())


async def test_it_keeps_the_contract(tmp_path: Path) -> None:
    made = 0

    @asynccontextmanager
    async def make() -> AsyncGenerator[Bench]:
        nonlocal made
        made += 1
        store = SqliteStore(
            lambda: connect_file(tmp_path / f"{made}.db", durability="normal"), EventLog(lambda: 0.0).recorder("store")
        )
        await store.open()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(store.run)
                yield MailboxBench(store)
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await store.close()

    report = await check_channel_adapter(make, patience=5.0, settle=0.05)
    failed = {check.id: check.evidence for check in report.checks if check.verdict is CheckVerdict.FAILED}
    assert failed == {}
    passed = [check.id for check in report.checks if check.verdict is CheckVerdict.PASSED]
    assert len(passed) >= 10, report
