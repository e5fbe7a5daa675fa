"""What every store must do with changes of messages: whose message is meant, and what became of its line."""

import pytest

from tests.contract.store_kit.bench import ELSEWHERE, KEY, Bench, Opened, all_at_once, check, same
from tests.contract.store_kit.transitions import lose
from tests.support.factories import changed, direct, intent, receipt, session
from tests.support.stores import transcript_of
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionPart
from trunkline.core.errors import IllegalTransition
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import KnownMessage
from trunkline.core.records.rows import IntentRow, Settlement
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import (
    AckChunk,
    EndIntent,
    ResetSession,
    ResolveIntent,
    RetryIntent,
    StoreMirror,
    TakeNudges,
)
from trunkline.core.store.operators.queue import InspectIntent
from trunkline.core.store.port import answer
from trunkline.core.store.queries import (
    FindMessage,
    ListDueMirrors,
    ListIntents,
    LoadIntents,
    ReadTranscript,
    ShowIntent,
)
from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict
from trunkline.core.values import Address, InboundId, IntentId, IntentKind, IntentState, SessionId, TranscriptLine

HERE = direct()


def change(name: str, action: Action, of: str | None, *chunks: str) -> IntentRow:
    """A change of a message of ours."""
    part = ActionPart(action=action, of=None if of is None else IntentId(of))
    return intent(name, *(chunks or ("",)), kind=IntentKind.TOOL, mirror_key=None, action=part)


async def said(it: Opened, name: str, *chunks: str, number: int = 1, place: Address = HERE) -> IntentRow:
    """A message of ours that arrived, under ids from `number` on."""
    row = first = intent(name, *chunks, address=place)
    await it.enqueue(row)
    for n in range(len(chunks)):
        new = session(name="s-mirror", address=place) if n + 1 == len(chunks) else None
        ack = AckChunk(
            intent=row,
            receipt=receipt(provider_id=str(number + n), address=place),
            mirror=new,
            mirror_due=False,
            now=3.0,
        )
        await it.store.write(ack, same)
        row = ack.after
    return first


async def carried_out(it: Opened, row: IntentRow, *, due: bool = False) -> Settlement:
    """The receipt of a change with one request."""
    await it.enqueue(row)
    return await it.store.write(AckChunk(intent=row, receipt=receipt(), mirror=None, mirror_due=due, now=4.0), same)


async def lines(it: Opened) -> list[TranscriptLine]:
    return list(await transcript_of(it.store, KEY))


async def find(it: Opened, name: str, place: Address | None = HERE, *identities: str) -> KnownMessage:
    query = FindMessage(name=name, place=place, identities=identities, agents=("main",))
    return await it.store.read(query)


# ---------------------------------------------------------------- whose message it is


@check
async def a_message_is_known_by_its_intent_before_it_has_an_id(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1", "one", "two"))
        ours = (await find(it, "i1", None)).ours
    assert ours is not None
    assert (ours.intent, ours.address, ours.chunks, ours.receipts, ours.chunk, ours.change) == (
        "i1",
        HERE,
        2,
        (),
        None,
        False,
    )


@check
async def a_message_of_ours_is_known_by_each_of_its_ids_in_its_conversation(bench: Bench) -> None:
    async with bench.opened() as it:
        await said(it, "i1", "one", "two", number=11)
        await said(it, "i2", "other", number=12, place=ELSEWHERE)
        for name, place, wanted in (("11", HERE, ("i1", 0)), ("12", HERE, ("i1", 1)), ("12", ELSEWHERE, ("i2", 0))):
            ours = (await find(it, name, place)).ours
            assert ours is not None
            assert (ours.intent, ours.chunk) == wanted
        # An id that is only ours elsewhere; and one that is a part of another.
        ours = (await find(it, "11", ELSEWHERE)).ours
        assert ours is not None
        assert ours.address == HERE
        assert await find(it, "1") == KnownMessage()
    async with bench.opened() as it:
        assert (await find(it, "11")).ours is not None


@check
async def a_message_of_another_account_is_not_ours_there(bench: Bench) -> None:
    async with bench.opened() as it:
        await said(it, "i1", "one", number=11)
        assert await find(it, "11", direct(account="second")) == KnownMessage()


@check
async def a_persons_message_is_known_by_any_of_its_identities(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1", "by content", also=("by id",))
        assert await find(it, "p1", HERE, "by id") == KnownMessage(inbound=InboundId("m1"))
        assert await find(it, "p1", HERE, "by content") == KnownMessage(inbound=InboundId("m1"))
        assert await find(it, "p1", HERE, "of another") == KnownMessage()


@check
async def a_change_is_no_message(bench: Bench) -> None:
    async with bench.opened() as it:
        await said(it, "i1", "one", number=11)
        await carried_out(it, change("c1", Action.EDIT, "i1", "ONE"))
        ours = (await find(it, "c1")).ours
        assert ours is not None
        assert ours.change


@check
async def parts_and_changes_are_read_as_they_were_stored(bench: Bench) -> None:
    parts = MessageParts(silent=True, buttons=((Button(text="yes", value="y"),),), effect="confetti")
    rich = intent("i1", "hi", parts=parts)
    part = ActionPart(action=Action.REACT, message_id="p1", remove=True, fields='{"a":1}')
    react = intent("i2", "👍", action=part)
    async with bench.opened() as it:
        await it.enqueue(rich)
        await it.enqueue(react)
    async with bench.opened() as it:
        first, second = (await it.store.read(LoadIntents(ids=(rich.id, react.id)))).rows
        listed = await it.store.read(ListIntents(which=QueueFilter()))
    assert (first.extra.parts, first.extra.action) == (parts, None)
    assert (second.extra.parts, second.extra.action) == (None, part)
    assert [(row.action, row.text) for row in listed] == [("", "hi"), ("react", "👍")]


@check
async def a_broken_row_of_a_change_is_still_that_of_a_change(bench: Bench) -> None:
    row = change("bad", Action.EDIT, "i1", "two")
    async with bench.opened() as it:
        await it.enqueue(row)
        await it.spoil("bad", "chunks", "?")
        loaded = await it.store.read(LoadIntents(ids=(row.id,)))
    assert loaded.broken[row.id].row.extra.action == row.extra.action


# ---------------------------------------------------------------- lines


@check
async def an_edit_keeps_the_old_texts_with_its_line(bench: Bench) -> None:
    async with bench.opened() as it:
        await said(it, "i1", "one")
        await it.admit("m1")
        first = await carried_out(it, change("c1", Action.EDIT, "i1", "two"))
        second = await carried_out(it, change("c2", Action.EDIT, "i1", "three"))
        again = await carried_out(it, change("c3", Action.EDIT, "i1", "three"))
        line, other = await lines(it)
    for settled, before, text in ((first, "one", "two"), (second, "two", "three")):
        assert settled.changed is not None
        assert (settled.changed.line, settled.changed.before, settled.changed.text) == ("i1", before, text)
        assert (settled.changed.session_id, settled.changed.session_key) == ("s-mirror", KEY)
        assert settled.mirror is None
    assert again.changed is None
    assert (line.ref, line.text, line.was, line.deleted) == ("i1", "three", ("one", "two"), False)
    assert (other.ref, other.was, other.deleted) == ("m1", (), False)


@check
async def a_deletion_marks_its_line_with_its_last_request(bench: Bench) -> None:
    delete = change("c1", Action.DELETE, "i1", "", "")
    async with bench.opened() as it:
        await said(it, "i1", "one", "two")
        await it.enqueue(delete)
        ack = AckChunk(intent=delete, receipt=receipt(), mirror=None, mirror_due=False, now=4.0)
        assert (await it.store.write(ack, same)).changed is None
        assert [line.deleted for line in await lines(it)] == [False]
        last = AckChunk(intent=ack.after, receipt=receipt(), mirror=None, mirror_due=False, now=4.0)
        changed = (await it.store.write(last, same)).changed
        [line] = await lines(it)
    assert changed is not None
    assert (changed.before, changed.text, changed.deleted) == ("one\ntwo", "", True)
    assert (line.text, line.was, line.deleted) == ("one\ntwo", (), True)


@check
async def a_change_that_was_not_carried_out_changes_no_line(bench: Bench) -> None:
    async with bench.opened() as it:
        await said(it, "i1", "one")
        row = change("c1", Action.EDIT, "i1", "two")
        await it.enqueue(row)
        settled = await it.end(row, DeliveryEvent.REFUSE)
        assert settled == Settlement(mirror=None)
        reaction = await carried_out(it, change("c2", Action.REACT, "i1", "👍"))
        assert reaction == Settlement(mirror=None)
        [line] = await lines(it)
    assert (line.text, line.was, line.deleted) == ("one", (), False)


@check
async def what_is_left_of_a_message_sent_in_part_is_deleted_by_an_end(bench: Bench) -> None:
    delete = change("c1", Action.DELETE, "i1", "", "")
    async with bench.opened() as it:
        await said(it, "i1", "one")
        await it.enqueue(delete)
        ack = AckChunk(intent=delete, receipt=receipt(), mirror=None, mirror_due=False, now=4.0)
        await it.store.write(ack, same)
        end = EndIntent(
            intent=ack.after,
            event=DeliveryEvent.REFUSE,
            reason=Reason.NOTHING_TO_CHANGE,
            mirror=None,
            note=None,
            wake=None,
            mirror_due=False,
            notice=None,
            now=5.0,
        )
        changed = (await it.store.write(end, same)).changed
        assert changed is not None
        assert changed.deleted


@check
async def a_deleted_line_that_grows_later_keeps_its_mark(bench: Bench) -> None:
    """An operator may have the rest of a message sent after its deletion."""
    first = intent("i1", "one", "two")
    async with bench.opened() as it:
        await it.enqueue(first)
        await it.ack(first)
        await it.end(changed(first, acked=1), DeliveryEvent.REFUSE)
        await carried_out(it, change("c1", Action.DELETE, "i1", ""))
        await it.store.write(RetryIntent(intent=first.id, now=5.0), answer)
        rest = (await it.store.read(ShowIntent(intent=first.id))).intent
        await it.ack(rest)
        [line] = await lines(it)
    assert (line.text, line.partial, line.deleted) == ("one\ntwo", False, True)


@check
async def the_line_of_a_session_that_was_reset_is_changed_where_it_is(bench: Bench) -> None:
    async with bench.opened() as it:
        await said(it, "i1", "one")
        await it.store.write(ResetSession(session=session(name="s-next"), now=4.0), same)
        settled = await carried_out(it, change("c1", Action.EDIT, "i1", "two"))
        [line] = await it.store.read(ReadTranscript(session=SessionId("s-mirror")))
        assert await lines(it) == []
    assert settled.changed is not None
    assert settled.changed.session_id == "s-mirror"
    assert (line.text, line.was) == ("two", ("one",))


@check
async def a_change_whose_line_is_due_is_due_after_it(bench: Bench) -> None:
    first, edit, delete = (
        intent("i1", "one"),
        change("c1", Action.EDIT, "i1", "two"),
        change("c2", Action.DELETE, "i1"),
    )
    async with bench.opened() as it:
        await it.enqueue(first)
        await it.store.write(AckChunk(intent=first, receipt=receipt(), mirror=None, mirror_due=True, now=3.0), same)
        assert (await carried_out(it, edit)).changed is None
        assert (await carried_out(it, delete)).changed is None
    async with bench.opened() as it:
        due = await it.store.read(ListDueMirrors())
        assert [one.row.id for one in due] == ["i1", "c1", "c2"]
        for one in due:
            new = session(name="s-mirror") if one.row.extra.action is None else None
            await it.store.write(StoreMirror(intent=one.row, mirror=new, note=None, wake=None, now=5.0), same)
        assert await it.store.read(ListDueMirrors()) == ()
        [line] = await lines(it)
    assert (line.text, line.was, line.deleted) == ("two", ("one",), True)


@check
async def a_refused_change_of_a_line_is_done_once_however_often_it_is_tried(bench: Bench) -> None:
    async with bench.opened() as it:
        await said(it, "i1", "one")
        row = change("c1", Action.EDIT, "i1", "two")
        assert (await carried_out(it, row, due=True)).changed is None
        [due] = await it.store.read(ListDueMirrors())
        again = StoreMirror(intent=due.row, mirror=None, note=None, wake=None, now=5.0)
        answers = await all_at_once(*[lambda: it.store.write(again, same)] * 3)
        [line] = await lines(it)
    assert [answer.changed is not None for answer in answers] == [True, False, False]
    assert line.was == ("one",)


@check
async def an_operators_word_on_a_change_makes_its_line_due(bench: Bench) -> None:
    async with bench.opened() as it:
        await said(it, "i1", "one")
        row = change("c1", Action.EDIT, "i1", "two")
        await it.enqueue(row)
        await it.end(changed(row, doubt_at=2.0), DeliveryEvent.PARK)
        await it.store.write(ResolveIntent(intent="c1", verdict=QueueVerdict.SENT, now=5.0), same)
        await it.store.write(TakeNudges(), same)
        [due] = await it.store.read(ListDueMirrors())
    assert (due.row.id, due.row.progress.state) == ("c1", IntentState.DELIVERED)


# ---------------------------------------------------------------- lost


@check
async def what_a_platform_takes_back_is_not_delivered_and_the_agent_learns_it(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await said(it, "m1.reply", "one", "two")
        await said(it, "i2", "three", number=3)
        await it.enqueue(change("c1", Action.DELETE, "i2", ""))
        first, again, second = [await it.store.write(lose(intent("m1.reply"), chunk), same) for chunk in (0, 0, 1)]
        ours = await it.store.write(lose(intent("i2"), 0), same)
        inspected = await it.store.read(InspectIntent(intent="m1.reply", now=6.0))
        with pytest.raises(IllegalTransition, match="lost after its receipt"):
            await it.store.write(RetryIntent(intent="m1.reply", now=6.0), answer)
        _, line, other, note = await lines(it)
    assert first is not None
    assert second is not None
    assert (again, ours) == (None, None)
    (partly, settled), (wholly, _) = first, second
    assert (partly.progress.state, wholly.progress.state) == (IntentState.PARTIAL, IntentState.FAILED)
    assert settled.noted is None
    assert settled.changed is not None
    assert settled.changed.text == "two"
    assert inspected.details is not None
    assert [receipt.lost for receipt in inspected.details.receipts] == [True, True]
    assert inspected.details.intent.progress.reason is Reason.DELETED_BY_OTHERS
    assert inspected.can == ()
    assert (line.text, line.was, line.deleted, other.deleted) == ("two", ("one\ntwo",), True, False)
    assert (note.role, "is not there any more (failed, deleted-by-others)" in note.text) == ("delivery", True)
