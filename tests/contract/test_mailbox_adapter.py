"""The adapter of mailbox accounts keeps the contract of adapters, over a store on disk."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.support.factories import direct, group, room
from trunkline.core.adapters.mailbox import MailboxAdapter, mailbox_capabilities
from trunkline.core.channels.adapter import ChannelAdapter
from trunkline.core.channels.capabilities import check_capabilities
from trunkline.core.env import system_env
from trunkline.core.events import EventLog
from trunkline.core.store.sqlite.connection import connect_file
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.core.testing.adapter_kit import Bench, CheckVerdict, SeenMessage, check_channel_adapter
from trunkline.core.values import Address, Capability

pytestmark = pytest.mark.anyio


class MailboxBench(Bench):
    """A mailbox, read as a client reads it."""

    shows = ("media", "poll", "payload")
    payload = '{"blocks": []}'

    def __init__(self, store: SqliteStore, channel: str) -> None:
        self.places: Sequence[Address] = (
            direct("ana", channel=channel),
            group("family", channel=channel),
            room("lobby", channel=channel),
        )
        self.thread = room("lobby", channel=channel, thread="t1")
        self._store = store
        self._channel = channel
        self._mailbox = MailboxAdapter(channel, "default", store, system_env())
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
        return MailboxAdapter(self._channel, "default", self._store, system_env())


@pytest.mark.slow(every=4)
@pytest.mark.parametrize("channel", ["webchat", "sms", "telegram", "slack"])
async def test_it_keeps_the_contract(tmp_path: Path, channel: str) -> None:
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
                yield MailboxBench(store, channel)
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await store.close()

    report = await check_channel_adapter(make, patience=5.0, settle=0.05)
    failed = {check.id: check.evidence for check in report.checks if check.verdict is CheckVerdict.FAILED}
    assert failed == {}
    passed = [check.id for check in report.checks if check.verdict is CheckVerdict.PASSED]
    assert len(passed) >= 10, report


USUAL = {Capability.TEXT, Capability.MEDIA, Capability.THREADS, Capability.MESSAGE_IDS}


@pytest.mark.parametrize(
    ("channel", "can", "limit"),
    [
        ("webchat", USUAL | {Capability.BUTTONS}, 32_000),
        ("sms", USUAL | {Capability.BUTTONS, Capability.PAYLOAD}, 32_000),
        ("slack", USUAL | {Capability.BUTTONS, Capability.PAYLOAD}, 4000),
        (
            "discord",
            USUAL | {Capability.POLL, Capability.PAYLOAD, Capability.SILENT, Capability.COMPONENTS, Capability.EMBEDS},
            2000,
        ),
        ("voice", {Capability.TEXT, Capability.MESSAGE_IDS, Capability.PAYLOAD}, 120),
    ],
)
def test_it_offers_what_its_people_are_shown(channel: str, can: set[Capability], limit: int) -> None:
    found = mailbox_capabilities(channel)
    assert (found.can, found.text_limit, found.actions) == (can, limit, frozenset())
    assert check_capabilities(found) == ()
