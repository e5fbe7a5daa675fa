"""What every store must do with mailboxes and with what comes of inbound messages."""

from typing import Any

import msgspec

from tests.contract.store_kit.bench import BACK, Bench, Opened, check, finish, same
from tests.support.factories import delegation, direct, intent
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import RouteNote, TurnNote
from trunkline.core.records.rows import Work
from trunkline.core.states.delegation import CallbackEvent
from trunkline.core.store.commands import FinishTurn, Prune
from trunkline.core.store.delegations import AcceptDelegation, BeginCallback
from trunkline.core.store.mailbox import (
    FindInbound,
    MailboxMessage,
    MailboxPage,
    Outcome,
    PostToMailbox,
    ReadMailbox,
    ReadOutcome,
)
from trunkline.core.values import Address, ChatKind, InboundId, IntentId

HERE = direct("ana", channel="webchat")


def message(key: str, text: str = "hello", place: Address = HERE) -> MailboxMessage:
    return MailboxMessage(key=key, intent=IntentId("i"), chunk=0, address=place, text=text)


async def post(it: Opened, key: str, text: str = "hello", place: Address = HERE, at: float = 2.0) -> int:
    return await it.store.write(PostToMailbox(message=message(key, text, place), now=at), same)


async def read(it: Opened, conversation: str | None = None, **fields: Any) -> MailboxPage:
    return await it.store.read(ReadMailbox(channel="webchat", account="default", conversation=conversation, **fields))


async def work_of(it: Opened, name: str = "m1") -> Work:
    found = await it.store.read(FindInbound(inbound=InboundId(name)))
    assert found is not None
    return found.work


async def outcome(it: Opened, name: str = "m1") -> Outcome:
    found = await it.store.read(ReadOutcome(inbound=InboundId(name)))
    assert found is not None
    return found


@check
async def a_message_is_posted_once_for_its_key(bench: Bench) -> None:
    async with bench.opened() as it:
        first = await post(it, "k1")
        assert await post(it, "k1", "another text") == first
        second = await post(it, "k2", "more")
        assert second > first
    async with bench.opened() as it:
        assert await post(it, "k1") == first
        page = await read(it)
        assert [(one.n, one.key, one.text, one.at) for one in page.messages] == [
            (first, "k1", "hello", 2.0),
            (second, "k2", "more", 2.0),
        ]
        assert page.newest >= second
        assert page.pruned == 0


@check
async def a_mailbox_is_read_by_account_conversation_and_number(bench: Bench) -> None:
    async with bench.opened() as it:
        places = (
            HERE,
            direct("ben", channel="webchat"),
            direct("ana", channel="webchat", account="other"),
            direct("ana", channel="discord"),
        )
        for n in range(8):
            await post(it, f"k{n}", str(n), places[n % 4])
        assert [one.text for one in (await read(it)).messages] == ["0", "1", "4", "5"]
        assert [one.text for one in (await read(it, "ana")).messages] == ["0", "4"]
        assert [one.text for one in (await read(it, after=1)).messages] == ["1", "4", "5"]
        assert [one.text for one in (await read(it, limit=3)).messages] == ["0", "1", "4"]


@check
async def a_person_and_a_group_of_the_same_id_are_told_apart(bench: Bench) -> None:
    async with bench.opened() as it:
        await post(it, "k1", "to the group", msgspec.structs.replace(HERE, kind=ChatKind.GROUP))
        await post(it, "k2", "to ana")
        assert [one.text for one in (await read(it, "ana")).messages] == ["to the group", "to ana"]
        for kind, text in ((ChatKind.DIRECT, "to ana"), (ChatKind.GROUP, "to the group")):
            assert [one.text for one in (await read(it, "ana", kind=kind)).messages] == [text]


@check
async def old_messages_are_pruned_and_no_number_comes_twice(bench: Bench) -> None:
    async with bench.opened() as it:
        numbers = [await post(it, f"k{n}", at=float(n)) for n in range(6)]
        pruned = await it.store.write(Prune(cutoff=3.0), same)
        assert pruned.mailbox == 3
        page = await read(it)
        assert ([one.n for one in page.messages], page.pruned) == (numbers[3:], numbers[2])
        await it.store.write(Prune(cutoff=100.0), same)
        page = await read(it)
        assert (page.messages, page.pruned, page.newest) == ((), numbers[-1], numbers[-1])
        assert await post(it, "k9") == numbers[-1] + 1


@check
async def what_is_on_its_way_again_is_not_pruned(bench: Bench) -> None:
    """The chunk is in the mailbox, and its acknowledgement is not: it is sent again, however late."""
    async with bench.opened() as it:
        row = intent("i1")
        await it.enqueue(row)
        first = await post(it, "k0", at=1.0)
        posted = await post(it, row.key(0), at=1.0)
        await post(it, "i10/0", at=1.0)
        pruned = await it.store.write(Prune(cutoff=100.0), same)
        assert (pruned.mailbox, (await read(it)).pruned) == (1, first)
        assert await post(it, row.key(0), at=200.0) == posted, "as the first time"
        await it.ack(row)
        assert (await it.store.write(Prune(cutoff=100.0), same)).mailbox == 2


@check
async def an_inbound_is_found_as_it_was_decided(bench: Bench) -> None:
    note = RouteNote(matched_by="binding.peer", rule="night", scope="per-peer", revision=3)
    async with bench.opened() as it:
        await it.admit("m1", route=note)
        assert await it.store.read(FindInbound(inbound=InboundId("m0"))) is None
    async with bench.opened() as it:
        found = await it.store.read(FindInbound(inbound=InboundId("m1")))
        assert found is not None
        assert (found.work.route, found.work.text, found.session) == (note, "text of m1", "s-m1")
        assert (found.over, found.ended) == (False, None)


@check
async def an_outcome_is_complete_when_turn_messages_and_delegations_have_ended(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await it.admit("m10")
        assert (await outcome(it)).messages == ()
        row, told = intent("m1.reply"), intent("m1.send1", "at once")
        await it.enqueue(told)
        found = await outcome(it)
        assert ([one.intent for one in found.messages], found.complete) == (["m1.send1"], False)
        work = await work_of(it)
        note = TurnNote(outcome="failed", reason=Reason.AGENT_RAISED, detail="why")
        await it.store.write(FinishTurn(work=work, intents=[row], now=3.0, ended=note), same)
        found = await outcome(it)
        assert (found.over, found.ended, found.complete) == (True, note, False)
        for one in (told, row):
            await it.ack(one)
        found = await outcome(it)
        assert found.complete
        assert [one.receipts != () for one in found.messages] == [True, True]
        assert not (await outcome(it, "m10")).complete, "m1 is no part of m10"


@check
async def delegated_work_is_part_of_an_outcome(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        row = delegation("m1.hand1")
        await it.store.write(AcceptDelegation(row=row), same)
        work = await work_of(it)
        await it.store.write(FinishTurn(work=work, intents=[], now=3.0), same)
        found = await outcome(it)
        assert ([one.delegation for one in found.delegations], found.complete) == (["m1.hand1"], False)
        await finish(it)
        found = await outcome(it)
        assert ([one.delegation for one in found.delegations], found.complete) == (["m1.hand1"], False)
        told = intent("m1.hand1.back.reply", delegation=row.id)
        end = FinishTurn(work=BACK, intents=[told], now=4.0, callback=CallbackEvent.ENQUEUE)
        await it.store.write(BeginCallback(delegation=row.id, work=BACK), same)
        await it.store.write(end, same)
        found = await outcome(it)
        assert (found.delegations, found.complete) == ((), False)
        await it.ack(told)
        found = await outcome(it)
        assert ([one.intent for one in found.messages], found.complete) == (["m1.hand1.back.reply"], True)
