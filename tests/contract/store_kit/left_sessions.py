"""What every store must do with what is left open, what is left to be done after an end, and rows that are broken."""

from typing import Any

import pytest

from tests.contract.store_kit.bench import Bench, Opened, all_at_once, bring, check, nudges, same
from tests.support.factories import changed, direct, intent, receipt, room, session
from tests.support.stores import state_of
from trunkline.core.errors import StoreError
from trunkline.core.reasons import Reason
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import (
    AckChunk,
    Defer,
    EndUnreadableIntent,
    MarkNotified,
    PurgeIntents,
    ResolveIntent,
    RetryIntent,
    StoreMirror,
)
from trunkline.core.store.port import answer
from trunkline.core.store.queries import (
    ListDueMirrors,
    ListIntents,
    ListOpenIntents,
    ListUnnotified,
    LoadIntents,
    ShowIntent,
)
from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict
from trunkline.core.values import IntentId, IntentState, Piece, Poll, Style, StyleKind, Transport

S = IntentState


async def enqueue(it: Opened, *names: str, **fields: Any) -> None:
    await all_at_once(*(lambda name=name: it.enqueue(intent(name, **fields)) for name in names))


# ---------------------------------------------------------------- what is open


@check
async def what_is_open_comes_in_pages_with_its_places(bench: Bench) -> None:
    names = [f"i{n}" for n in range(7)]
    async with bench.opened() as it:
        for n, name in enumerate(names):
            await it.enqueue(intent(name, address=room(str(n))))
        await it.ack(intent("i3"))
    async with bench.opened() as it:
        found: list[tuple[str, str]] = []
        after = 0
        while page := await it.store.read(ListOpenIntents(after=after, limit=2)):
            assert 1 <= len(list(page)) <= 2
            found += [(one.id, one.address.conversation) for one in page]
            after = page[-1].n
        assert found == [(name, str(n)) for n, name in enumerate(names) if name != "i3"]


@check
async def intents_are_loaded_in_their_order_and_those_that_are_gone_are_not(bench: Bench) -> None:
    async with bench.opened() as it:
        names = [f"i{n:04}" for n in range(600)]
        await enqueue(it, *names)
        asked = [IntentId(name) for name in (*reversed(names), "nobody")]
        loaded = await it.store.read(LoadIntents(ids=asked))
        assert ([row.id for row in loaded.rows], loaded.broken) == (names, {})
        assert await it.store.read(LoadIntents(ids=[])) == await it.store.read(LoadIntents(ids=[IntentId("nobody")]))


@check
async def all_that_was_prepared_and_tried_is_loaded(bench: Bench) -> None:
    row = intent(
        "i1",
        "one",
        "two",
        forms=(
            Piece(text="one", html="<b>one</b>"),
            Piece(text="two", styles=(Style(kind=StyleKind.BOLD, start=0, length=3),)),
        ),
        poll=Poll(question="one", options=("a", "b")),
        payload='{"x": 1}',
        best_effort=True,
        hooks_pending=True,
    )
    tried = changed(row, attempts=2, marked=True, doubt_at=2.5, transport=Transport.GATEWAY)
    async with bench.opened() as it:
        await it.enqueue(row)
        await it.store.write(Defer(intent=tried, next_at=60.0, reason=Reason.MARKED_RESEND, now=3.0), same)
    async with bench.opened() as it:
        [found] = (await it.store.read(LoadIntents(ids=[row.id]))).rows
        assert found == changed(tried, next_at=60.0, reason=Reason.MARKED_RESEND, updated_at=3.0)


@check
async def a_receipt_ends_the_doubts_and_detours_of_its_chunk(bench: Bench) -> None:
    row = intent("i1", "one", "two")
    tried = changed(row, attempts=2, marked=True, doubt_at=2.5, transport=Transport.GATEWAY)
    async with bench.opened() as it:
        await it.enqueue(row)
        await it.store.write(Defer(intent=tried, next_at=60.0, reason=Reason.MARKED_RESEND, now=3.0), same)
        await it.ack(tried)
        assert await it.open_rows() == (changed(row, acked=1, reason=Reason.ACCEPTED),)


# ---------------------------------------------------------------- hooks that are still to be notified


@check
async def pending_notifications_are_found_until_they_are_delivered(bench: Bench) -> None:
    async with bench.opened() as it:
        await enqueue(it, "i1", "open", "i2", hooks_pending=True)
        await enqueue(it, "quiet")
        await it.store.write(
            AckChunk(
                intent=intent("i1", hooks_pending=True), receipt=receipt("901"), mirror=None, now=3.0, mirror_due=False
            ),
            same,
        )
        await it.end(intent("i2", hooks_pending=True), DeliveryEvent.REFUSE)
        await it.ack(intent("quiet"))
    async with bench.opened() as it:
        first, second = await it.store.read(ListUnnotified(after=0, limit=10))
        assert [(row.id, fate.state, fate.reason, fate.receipts) for _, row, fate in (first, second)] == [
            ("i1", S.DELIVERED, Reason.ACCEPTED, (receipt("901"),)),
            ("i2", S.FAILED, Reason.REFUSED, ()),
        ]
        assert [row.id for _, row, _ in await it.store.read(ListUnnotified(after=0, limit=1))] == ["i1"]
        assert [row.id for _, row, _ in await it.store.read(ListUnnotified(after=first[0], limit=1))] == ["i2"]
        assert await all_at_once(*[lambda: it.store.write(MarkNotified(intent=IntentId("i1")), same)] * 3) == [
            True,
            False,
            False,
        ]
        assert await it.store.write(MarkNotified(intent=IntentId("nobody")), same) is False
    async with bench.opened() as it:
        assert [row.id for _, row, _ in await it.store.read(ListUnnotified(after=0, limit=10))] == ["i2"]


@check
async def what_was_taken_back_before_it_was_stored_is_reported_too(bench: Bench) -> None:
    async with bench.opened() as it:
        row = changed(intent("i1", state=S.CANCELLED, reason=Reason.CANCELLED_BY_HOOK, hooks_pending=True), chunks=())
        assert await it.enqueue(row) is True
        [(_, found, fate)] = await it.store.read(ListUnnotified(after=0, limit=10))
        assert (found.progress.state, found.content.chunks, fate.reason) == (S.CANCELLED, (), Reason.CANCELLED_BY_HOOK)
        assert await it.open_rows() == ()


# ---------------------------------------------------------------- rows that are broken

#: columns, and what breaks them
BROKEN: list[tuple[str, object]] = [
    ("chunks", '["half'),
    ("chunks", "{}"),
    ("chunks", "[]"),
    ("chunks", b'["\xff"]'),
    ("address", "nowhere"),
    ("address", '{"channel": "discord"}'),
    ("address", b"\xff"),
    ("receipts", "none"),
    ("receipts", "{}"),
    ("kind", "shout"),
    ("media", "[1]"),
    ("poll", "{"),
    ("forms", "?"),
    ("transport", "pigeon"),
    ("reason", "because"),
    ("payload", b"\xff"),
    ("acked", 7),
    ("acked", -1),
    ("attempts", "many"),
    ("created_at", "yesterday"),
    ("doubt_at", "never"),
]


@check
async def a_broken_row_is_reported_and_hides_no_other(bench: Bench) -> None:
    async with bench.opened() as it:
        for n, (column, value) in enumerate(BROKEN):
            await enqueue(it, f"before{n}", f"bad{n}", f"after{n}")
            await it.spoil(f"bad{n}", column, value)
    async with bench.opened() as it:
        places = await it.store.read(ListOpenIntents(after=0, limit=1000))
        assert len(places) == 3 * len(BROKEN)
        loaded = await it.store.read(LoadIntents(ids=[one.id for one in places]))
        assert sorted(loaded.broken) == sorted(f"bad{n}" for n in range(len(BROKEN)))
        assert all(loaded.broken.values())
        assert [row.id for row in loaded.rows] == [
            f"{when}{n}" for n in range(len(BROKEN)) for when in ("before", "after")
        ]
        assert len(await it.store.read(ListIntents(which=QueueFilter(), limit=1000))) == 3 * len(BROKEN)
        for n in range(len(BROKEN)):
            with pytest.raises(StoreError, match=f"the row of intent bad{n} cannot be read"):
                await it.store.read(ShowIntent(intent=f"bad{n}"))


@check
async def a_row_without_a_place_holds_up_no_conversation(bench: Bench) -> None:
    async with bench.opened() as it:
        await enqueue(it, "i1", "bad1", "bad2")
        for name in ("bad1", "bad2"):
            await it.spoil(name, "address", "nowhere")
        lanes = [one.address.lane for one in await it.store.read(ListOpenIntents(after=0, limit=10))]
        assert (len(set(lanes)), lanes[0]) == (3, direct().lane)
        shown = {row.id: row.address for row in await it.store.read(ListIntents(which=QueueFilter()))}
        assert shown == {"i1": direct(), "bad1": None, "bad2": None}
        assert [row.id for row in await it.store.read(ListIntents(which=QueueFilter(channel="discord")))] == ["i1"]


@check
async def a_broken_row_is_buried_and_stops_nobody(bench: Bench) -> None:
    async with bench.opened() as it:
        await enqueue(it, "bad", "good", hooks_pending=True)
        await it.spoil("bad", "chunks", "?")
        await it.store.write(
            EndUnreadableIntent(
                intent=intent("bad"), state=S.DEAD, reason=Reason.BROKEN_ROW, now=9.0, note=None, wake=None
            ),
            same,
        )
        await it.store.write(
            EndUnreadableIntent(
                intent=intent("nobody"), state=S.DEAD, reason=Reason.BROKEN_ROW, now=9.0, note=None, wake=None
            ),
            same,
        )
        [row] = await it.store.read(ListIntents(which=QueueFilter(ids=("bad",))))
        assert (row.state, row.reason, row.chunks, row.text, row.updated_at) == (S.DEAD, Reason.BROKEN_ROW, 0, "", 9.0)
        assert [one.id for one in await it.store.read(ListOpenIntents(after=0, limit=10))] == ["good"]
        # Its hooks hear what is known of it.
        [(_, row, fate)] = await it.store.read(ListUnnotified(after=0, limit=10))
        assert (row.id, fate.state, fate.reason) == ("bad", S.DEAD, Reason.BROKEN_ROW)
        await it.store.write(MarkNotified(intent=row.id), same)
        done = await it.store.write(PurgeIntents(which=QueueFilter(channel="discord", states=(S.DEAD,))), same)
        assert done.removed == 1


@check
async def only_what_is_open_is_buried(bench: Bench) -> None:
    async with bench.opened() as it:
        for state in IntentState:
            row = await bring(it, state.value, state)
            await it.store.write(
                EndUnreadableIntent(
                    intent=row, state=S.UNKNOWN, reason=Reason.BROKEN_ROW, now=9.0, note=None, wake=None
                ),
                same,
            )
            is_open = state in (S.PREPARED, S.SENDING)
            assert await state_of(it.store, row.id) is (S.UNKNOWN if is_open else state)


@check
async def nothing_can_be_done_to_a_broken_row_and_the_store_goes_on(bench: Bench) -> None:
    async with bench.opened() as it:
        for n, (column, value) in enumerate(BROKEN):
            for name, state in ((f"u{n}", S.UNKNOWN), (f"d{n}", S.DEAD)):
                await bring(it, name, state)
                await it.spoil(name, column, value)
            for call in (
                lambda name=f"d{n}": it.store.write(RetryIntent(intent=name, now=9.0), answer),
                lambda name=f"u{n}": it.store.write(
                    ResolveIntent(intent=name, verdict=QueueVerdict.SENT, now=9.0), answer
                ),
                lambda name=f"u{n}": it.store.write(
                    ResolveIntent(intent=name, verdict=QueueVerdict.UNSENT, now=9.0), answer
                ),
            ):
                with pytest.raises(StoreError, match="cannot be read"):
                    await call()
        assert await nudges(it) == ()
        assert it.refusals == 0


@check
async def a_broken_row_that_has_ended_keeps_no_other_from_its_end(bench: Bench) -> None:
    async with bench.opened() as it:
        for name in ("bad", "good"):
            await it.enqueue(intent(name, hooks_pending=True))
            await it.store.write(
                AckChunk(
                    intent=intent(name, hooks_pending=True), receipt=receipt(), mirror=None, now=3.0, mirror_due=True
                ),
                same,
            )
        await it.spoil("bad", "chunks", "?")
    async with bench.opened() as it:
        assert [due.row.id for due in await it.store.read(ListDueMirrors())] == ["good"]
        # Hooks hear of the broken one what is known of it.
        unnotified = await it.store.read(ListUnnotified(after=0, limit=9))
        assert [(row.id, row.content.chunks, fate.state) for _, row, fate in unnotified] == [
            ("bad", (), S.DELIVERED),
            ("good", ("hello back",), S.DELIVERED),
        ]
        [due] = await it.store.read(ListDueMirrors())
        await it.store.write(StoreMirror(intent=due.row, mirror=session(), now=4.0, note=None, wake=None), same)
        assert [ref for _, _, ref, _ in await it.lines()] == ["good"]
