"""What every store must do for operators' overviews: pages without gaps, changes all or none, no ticket in sight."""

import msgspec
import pytest

from tests.contract.store_kit.bench import KEY, Bench, Opened, check, nudges
from tests.contract.store_kit.queue_admin import stored
from tests.support.factories import delegation, intent, session
from trunkline.core.errors import BadCursor, ExpiredCursor, IllegalTransition, UnknownName
from trunkline.core.records.delegations import HandKind
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import EnsureSession, RetryIntent
from trunkline.core.store.delegations import AcceptDelegation, DelegationFilter, TakeTask
from trunkline.core.store.operators.hands import InspectDelegation, ReadHandsOverview
from trunkline.core.store.operators.queue import ChangeQueue, InspectIntent, ReadQueueOverview
from trunkline.core.store.operators.sessions import DescribeSession, ReadSessions, ReadTranscriptPage
from trunkline.core.store.port import answer
from trunkline.core.store.queue_admin import QueueFilter
from trunkline.core.values import DelegationId, IntentState


async def failed(it: Opened, *names: str) -> None:
    """Intents that have failed."""
    for name in names:
        await it.enqueue(intent(name, "text"))
        await it.end(intent(name, "text"), DeliveryEvent.REFUSE)


@check
async def pages_of_the_queue_have_everything_once(bench: Bench) -> None:
    async with bench.opened() as it:
        for n in range(5):
            await it.enqueue(intent(f"i{n}", "text"))
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            query = ReadQueueOverview(which=QueueFilter(), cursor=cursor, limit=2, now=1.0)
            page = await it.store.read(query)
            seen += [row.id for row in page.rows]
            assert (page.more, page.counts) == (5 - len(seen), {IntentState.PREPARED: 5})
            cursor = page.next
        assert seen == [f"i{n}" for n in range(5)]


@check
async def what_is_no_cursor_is_refused(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(EnsureSession(session=session(KEY), now=1.0), answer)
        with pytest.raises(BadCursor):
            await it.store.read(ReadQueueOverview(which=QueueFilter(), cursor="x", now=1.0))
        with pytest.raises(BadCursor):
            await it.store.read(ReadSessions(cursor="x"))
        with pytest.raises(BadCursor):
            await it.store.read(ReadTranscriptPage(name=KEY, cursor="x"))
        with pytest.raises(ExpiredCursor):
            await it.store.read(ReadHandsOverview(which=DelegationFilter(), before=DelegationId("gone"), now=1.0))


@check
async def changes_of_operators_are_made_all_or_none(bench: Bench) -> None:
    async with bench.opened() as it:
        await failed(it, "i1", "i2")
        await it.enqueue(intent("i3", "open"))
        commands = tuple(RetryIntent(intent=name, now=9.0) for name in ("i1", "i3", "i2"))
        with pytest.raises(IllegalTransition):
            await it.store.write(ChangeQueue(changes=commands, now=9.0), answer)
        assert ((await stored(it, "i1")).progress.state, await nudges(it)) == (IntentState.FAILED, ())
        done = await it.store.write(ChangeQueue(changes=commands, skip=True, now=9.0), answer)
        assert [(one.id, one.before, one.after) for one in done.changes] == [
            (name, IntentState.FAILED, IntentState.PREPARED) for name in ("i1", "i2")
        ]
        assert [one.id for one in done.skipped] == ["i3"]
        assert [one.intent for one in await nudges(it)] == ["i1", "i2"]


@check
async def an_intent_says_what_can_be_done_to_it(bench: Bench) -> None:
    async with bench.opened() as it:
        await failed(it, "i1")
        await it.enqueue(intent("i2", "open"))
        found = [(await it.store.read(InspectIntent(intent=name, now=1.0))).can for name in ("i1", "i2")]
        assert found == [(DeliveryEvent.RETRY,), ()]
        with pytest.raises(UnknownName):
            await it.store.read(InspectIntent(intent="i9", now=1.0))


@check
async def no_overview_has_the_ticket_of_a_worker(bench: Bench) -> None:
    async with bench.opened() as it:
        row = msgspec.structs.replace(delegation("d1"), kind=HandKind.WORKER, hand="courier")
        await it.store.write(AcceptDelegation(row=row), answer)
        taken = await it.store.write(TakeTask(hand="courier", worker="ben", ticket="secret", now=2.0), answer)
        assert taken is not None
        page = await it.store.read(ReadHandsOverview(which=DelegationFilter(), now=3.0))
        shown = await it.store.read(InspectDelegation(delegation="d1", now=3.0))
        assert (page.page.rows[0].worker, page.counts.total) == ("ben", 1)
        assert b"secret" not in msgspec.json.encode((page, shown))


@check
async def a_session_is_described_by_its_key_and_its_id(bench: Bench) -> None:
    async with bench.opened() as it:
        row = await it.store.write(EnsureSession(session=session(KEY), now=1.0), answer)
        found = [await it.store.read(DescribeSession(name=name)) for name in (KEY, row.id, f" {KEY.upper()} ")]
        assert {one.session.session_id for one in found} == {row.id}
        assert (await it.store.read(ReadSessions())).sessions == (found[0],)
        page = await it.store.read(ReadTranscriptPage(name=KEY))
        assert (page.lines, page.more, page.newer) == ((), False, None)
        with pytest.raises(UnknownName):
            await it.store.read(DescribeSession(name="nobody"))
