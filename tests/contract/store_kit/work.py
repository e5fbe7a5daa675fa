"""What every store must do with work and the session that it belongs to, and with misplaced receipts."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tests.contract.store_kit.bench import (
    BACK,
    ELSEWHERE,
    ELSEWHERE_KEY,
    KEY,
    OK,
    Bench,
    Opened,
    all_at_once,
    check,
    finished,
    same,
    too_late,
)
from tests.contract.store_kit.session_cases import (
    ANA,
    ANA_ANYWHERE,
    BEN,
    ISOLATED,
    KEY_1,
    MAIN,
    OLD,
    PER_PEER,
    SHARED,
    Keys,
    migrate,
    new,
    row,
    says,
    stored,
)
from tests.support.factories import changed, delegation, direct, intent, receipt, session, work
from tests.support.stores import state_of
from trunkline.core.errors import IllegalTransition
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentFate, IntentRow, LeftSession, Runs, SessionRow, Settlement
from trunkline.core.states.delegation import CallbackState
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import (
    AckChunk,
    Admit,
    BeginRun,
    CountRuns,
    EnsureSession,
    FinishTurn,
    Misplace,
    ResetSession,
)
from trunkline.core.store.delegations import AcceptDelegation, FinishDelegation, HandFinish, StartDelegation
from trunkline.core.store.port import answer
from trunkline.core.store.queries import FindIntentFate, FindRequester, FindSession, LoadUnfinished, ReadTranscript
from trunkline.core.values import Address, InboundId, IntentId, IntentState, SessionId


@check
async def the_fate_of_an_intent_is_known_with_its_receipts(bench: Bench) -> None:
    asked = intent("i1", "one", "two")
    async with bench.opened() as it:
        assert await it.store.read(FindIntentFate(intent=asked.id)) is None
        await it.enqueue(asked)
        assert await it.store.read(FindIntentFate(intent=asked.id)) == IntentFate(
            state=IntentState.PREPARED, reason=None, receipts=()
        )
        first = AckChunk(intent=asked, receipt=receipt("901"), mirror=None, mirror_due=False, now=3.0)
        await it.store.write(first, same)
        await it.store.write(
            AckChunk(
                intent=changed(asked, acked=1), receipt=receipt("902"), mirror=session(), now=3.0, mirror_due=False
            ),
            same,
        )
        assert await it.store.read(FindIntentFate(intent=asked.id)) == IntentFate(
            state=IntentState.DELIVERED, reason=Reason.ACCEPTED, receipts=(receipt("901"), receipt("902"))
        )
        await it.enqueue(intent("i2"))
        await it.end(intent("i2"), DeliveryEvent.REFUSE)
        assert await it.store.read(FindIntentFate(intent=IntentId("i2"))) == IntentFate(
            state=IntentState.FAILED, reason=Reason.REFUSED, receipts=()
        )


@check
async def media_and_the_session_that_a_caller_named_are_kept_with_an_intent(bench: Bench) -> None:
    asked = intent("i1", "", media=("https://x.org/a%20b.png?sig=1", "/tmp/c.pdf"), named_session=True)
    async with bench.opened() as it:
        await it.enqueue(asked)
    async with bench.opened() as it:
        assert await it.open_rows() == (asked,)
        settled = await it.ack(asked)
        assert settled.mirror_text == "a b.png, c.pdf"


# ---------------------------------------------------------------- a receipt of another place


@check
async def what_is_seen_elsewhere_is_remembered_there_and_not_at_home(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        asked = intent("i1", "one", "two", session=SessionId("s-m1"))
        await it.enqueue(asked)
        settled = await it.misplace(asked)
        assert settled == Settlement(mirror=row(ELSEWHERE_KEY, "elsewhere", created=True), mirror_text="one")
        assert await it.lines(ELSEWHERE_KEY) == [("assistant", "one", "i1", True)]
        assert [ref for _, _, ref, _ in await it.lines()] == ["m1"]
        assert await it.store.read(FindIntentFate(intent=asked.id)) == IntentFate(
            state=IntentState.MISPLACED, reason=Reason.MISPLACED, receipts=(receipt(address=ELSEWHERE),)
        )
        assert await it.open_rows() == ()


@check
async def what_is_seen_elsewhere_and_was_not_to_be_mirrored_is_in_no_transcript(bench: Bench) -> None:
    async with bench.opened() as it:
        asked = intent("i1", mirror_key=None)
        await it.enqueue(asked)
        assert await it.store.write(
            Misplace(
                intent=asked,
                receipt=receipt(address=ELSEWHERE),
                mirror=None,
                now=3.0,
                note=None,
                wake=None,
                mirror_due=False,
            ),
            same,
        ) == Settlement(mirror=None)
        assert await state_of(it.store, asked.id) is IntentState.MISPLACED


@check
async def what_was_misplaced_counts_once(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1"))
        answers = await all_at_once(*[lambda: it.misplace(intent("i1"))] * 3, lambda: it.ack(intent("i1")))
        assert [type(answer) for answer in answers] == [Settlement, *[IllegalTransition] * 3]
        assert len(await it.lines(ELSEWHERE_KEY)) == 1


# ---------------------------------------------------------------- whose session it is


async def begun(
    it: Opened, name: str = "m1", place: Address = ANA, key_of: Keys = ISOLATED, **fields: Any
) -> IntentRow:
    """A message that was answered: the answer is prepared, and belongs to the message's session."""
    found = await says(it, name, place, key_of, **fields)
    asked = intent(f"{name}.reply", "one", "two", address=place, mirror_key=found.key, session=found.id)
    await it.store.write(FinishTurn(work=work(name), intents=[asked], now=2.0), same)
    return asked


async def delivered(it: Opened, asked: IntentRow, key_of: Keys) -> SessionRow | None:
    """Deliver both chunks; the session that remembers them."""
    place = asked.address
    await it.store.write(
        AckChunk(intent=asked, receipt=receipt(address=place), mirror=None, now=3.0, mirror_due=False), same
    )
    again = new(place, key_of, "mirror", key=asked.mirror_key)
    last = changed(asked, acked=1)
    return (
        await it.store.write(
            AckChunk(intent=last, receipt=receipt(address=place), mirror=again, now=3.0, mirror_due=False), same
        )
    ).mirror


@check
async def an_answer_stays_in_the_session_of_its_message_after_a_reset(bench: Bench) -> None:
    async with bench.opened() as it:
        asked = await begun(it)
        await it.store.write(ResetSession(session=session(name="s-new"), now=3.0), same)
    async with bench.opened() as it:
        [found] = await it.open_rows()
        assert found == asked
        assert await delivered(it, found, ISOLATED) == row(KEY, "m1")
        assert [line.ref for line in await it.store.read(ReadTranscript(session=SessionId("s-m1")))] == [
            "m1",
            "m1.reply",
        ]
        assert await it.lines() == []


@check
async def an_answer_goes_along_with_a_session_that_moves(bench: Bench) -> None:
    async with bench.opened() as it:
        asked = await begun(it)
        await says(it, "m2", ANA, PER_PEER)
        assert await delivered(it, asked, PER_PEER) == row(ANA_ANYWHERE, "m1")
        assert [ref for _, _, ref, _ in await it.lines(ANA_ANYWHERE)] == ["m1", "m2", "m1.reply"]
        assert await it.store.read(FindSession(key=KEY)) is None


@check
async def an_answer_goes_to_the_session_that_its_place_has_since(bench: Bench) -> None:
    """People see it there, and talk about it there."""
    async with bench.opened() as it:
        await says(it, "m0", BEN, SHARED)
        asked = await begun(it, key_of=SHARED)
        await says(it, "m2", ANA, ISOLATED)
        assert await delivered(it, asked, ISOLATED) == row(KEY, "m2")
        assert [ref for _, _, ref, _ in await it.lines(MAIN)] == ["m0", "m1"]
        assert await says(it, "m3", ANA, ISOLATED) == row(KEY, "m2")


@check
async def an_answer_stays_in_a_session_that_its_place_has_come_back_to(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m0", BEN, SHARED)
        asked = await begun(it, key_of=SHARED)
        await says(it, "m2", ANA, ISOLATED)
        assert await says(it, "m3", ANA, SHARED) == row(MAIN, "m0", left=LeftSession(key=KEY, id="s-m2"))
        assert await delivered(it, asked, SHARED) == row(MAIN, "m0")


@check
async def an_answer_stays_in_a_session_that_was_merged(bench: Bench) -> None:
    async with bench.opened() as it:
        await stored(it, KEY_1, "new", 9.0, codec="v1")
        asked = await begun(it, "old", direct("1", channel="telegram"), lambda _: OLD, codec="openclaw")
        await migrate(it)
        assert await delivered(it, asked, ISOLATED) == row(OLD, "old")
        assert [ref for _, _, ref, _ in await it.lines(KEY_1)] == ["new"]
        assert [line.ref for line in await it.store.read(ReadTranscript(session=SessionId("s-old")))] == [
            "old",
            "old.reply",
        ]


@check
async def what_was_broken_off_stays_in_its_own_session_too(bench: Bench) -> None:
    async with bench.opened() as it:
        asked = await begun(it)
        await it.store.write(AckChunk(intent=asked, receipt=receipt(), mirror=None, now=3.0, mirror_due=False), same)
        await it.store.write(ResetSession(session=session(name="s-new"), now=3.0), same)
        settled = await it.end(changed(asked, acked=1), DeliveryEvent.REFUSE)
        assert settled == Settlement(mirror=row(KEY, "m1"), mirror_text="one")
        assert await it.lines() == []


@check
async def what_belongs_to_no_session_goes_to_the_one_that_its_key_has(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await it.enqueue(intent("i1"))
        await it.store.write(ResetSession(session=session(name="s-new"), now=3.0), same)
        assert (await it.ack(intent("i1"))).mirror == row(KEY, "new", generation=2)


@check
async def work_that_is_left_open_keeps_its_session(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        await says(it, "m2", BEN, ISOLATED)
        asked = delegation("m1.hand1", session=SessionId("s-m1"))
        await it.store.write(AcceptDelegation(row=asked), same)
        await says(it, "m3", ANA, PER_PEER)
        await it.store.write(ResetSession(session=session(ANA_ANYWHERE, "s-new"), now=3.0), same)
        await it.store.write(ResetSession(session=session(ISOLATED(BEN), "s-new2"), now=3.0), same)
        await says(it, "m4", ANA, PER_PEER)
    async with bench.opened() as it:
        left = await it.store.read(LoadUnfinished())
        assert [(item.id, found) for item, found in left.works] == [
            ("m1", "s-m1"),
            ("m2", "s-m2"),
            ("m3", "s-m1"),
            ("m4", "s-new"),
        ]
        assert left.delegations == (asked,)


@check
async def runs_that_end_with_their_process_are_counted_and_charged(bench: Bench) -> None:
    left: list[Mapping[str, Runs]] = []
    async with bench.opened() as it:
        for name, person in (("m1", ANA), ("m2", BEN)):
            await says(it, name, person, ISOLATED)
            await it.store.write(BeginRun(work=InboundId(name)), answer)
        await it.store.write(BeginRun(work=InboundId("m2"), outlived=True), answer)
        left.append((await it.store.read(LoadUnfinished())).runs)
        await it.store.write(CountRuns(charged=frozenset({InboundId("m1")})), answer)
        left.append((await it.store.read(LoadUnfinished())).runs)
        # What does not run outlives nothing, and is not charged.
        await it.store.write(BeginRun(work=InboundId("m2"), outlived=True), answer)
        await it.store.write(CountRuns(charged=frozenset({InboundId("m2")})), answer)
        # An orderly stop is no death.
        await it.store.write(BeginRun(work=InboundId("m1")), answer)
        left.append((await it.store.read(LoadUnfinished())).runs)
    assert left == [
        {"m1": Runs(begun=1), "m2": Runs(begun=2)},
        {"m1": Runs(1, 1), "m2": Runs(1, 0)},
        {"m1": Runs(1, 1, 1), "m2": Runs(1, 0)},
    ]


# ---------------------------------------------------------------- results of hands


async def delegated(it: Opened) -> None:
    await says(it, "m1", ANA, ISOLATED)
    await it.store.write(AcceptDelegation(row=delegation(session=SessionId("s-m1"))), same)
    await it.store.write(StartDelegation(delegation=delegation().id, now=2.0), answer)


async def finish(it: Opened, *intents: IntentRow, callback: bool = True, key_of: Keys = ISOLATED) -> HandFinish:
    back = Admit(work=BACK, identity="callback/m1.hand1", session=new(ANA, key_of, "back", key=KEY), now=3.0)
    told = back if callback else None
    return await it.store.write(
        FinishDelegation(delegation=delegation().id, result=OK, callback=told, intents=intents, now=3.0), same
    )


@check
async def a_result_comes_back_to_the_session_that_delegated(bench: Bench) -> None:
    async with bench.opened() as it:
        await delegated(it)
        assert await finish(it) == finished(session=row(KEY, "m1"))
        assert [ref for _, _, ref, _ in await it.lines()] == ["m1", "m1.hand1.back"]


@check
async def a_result_for_a_session_that_was_reset_is_not_stored(bench: Bench) -> None:
    async with bench.opened() as it:
        await delegated(it)
        await it.store.write(ResetSession(session=session(name="s-new"), now=3.0), same)
        assert await finish(it, intent("extra")) == HandFinish(first=True, replaced=True)
        left = await it.store.read(LoadUnfinished())
        assert [item.id for item, _ in left.works] == ["m1"]
        assert [one.state.value for one in left.delegations] == ["running"]
        assert (left.intents, await it.lines()) == (0, [])
        # The posted intents deliver the result, once.
        assert await finish(it, intent("post"), callback=False) == finished(CallbackState.QUEUED)
        assert await finish(it, intent("again"), callback=False) == too_late()
        assert await finish(it) == too_late()
        assert [one.id for one in await it.open_rows()] == ["post"]


@check
async def a_result_follows_a_session_that_moved(bench: Bench) -> None:
    async with bench.opened() as it:
        await delegated(it)
        await says(it, "m2", ANA, PER_PEER)
        # As it was decided, just before the move.
        assert await finish(it, key_of=PER_PEER) == finished(session=row(ANA_ANYWHERE, "m1"))
        assert await it.store.read(FindSession(key=KEY)) is None
        assert ("m1.hand1.back", "s-m1") in [
            (item.id, found) for item, found in (await it.store.read(LoadUnfinished())).works
        ]


@check
async def a_result_does_not_go_to_another_session_that_has_the_key_since(bench: Bench) -> None:
    async with bench.opened() as it:
        await delegated(it)
        await says(it, "m2", ANA, PER_PEER)
        await it.store.write(EnsureSession(session=session(KEY, "s-other", address=None), now=3.0), same)
        assert await finish(it, key_of=PER_PEER) == finished(session=row(ANA_ANYWHERE, "m1"))
        assert await it.lines(KEY) == []


@check
async def a_result_for_a_session_that_its_place_has_left_is_not_stored(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m0", BEN, SHARED)
        await says(it, "m1", ANA, SHARED)
        await it.store.write(AcceptDelegation(row=delegation(session=SessionId("s-m0"), session_key=MAIN)), same)
        await says(it, "m2", ANA, ISOLATED)
        told = Admit(work=BACK, identity="callback/m1.hand1", session=new(ANA, ISOLATED, "back", key=MAIN), now=3.0)
        done = await it.store.write(
            FinishDelegation(delegation=delegation().id, result=OK, callback=told, intents=[], now=3.0), same
        )
        assert done == HandFinish(first=True, replaced=True)
        ask = FindRequester(session=SessionId("s-m0"), origin=ANA)
        assert await it.store.read(ask) is None
        assert await it.store.read(msgspec.structs.replace(ask, origin=BEN)) == row(MAIN, "m0")
        assert await it.store.read(msgspec.structs.replace(ask, origin=None)) == row(MAIN, "m0")


@check
async def a_result_without_a_callback_can_be_a_line_of_the_session_that_delegated(bench: Bench) -> None:
    async with bench.opened() as it:
        await delegated(it)
        done = FinishDelegation(
            delegation=delegation().id, result=OK, callback=None, intents=[intent("post")], now=3.0, line="found"
        )
        posted = finished(CallbackState.QUEUED, session=row(KEY, "m1"))
        assert await it.store.write(done, same) == posted
        assert await it.store.write(done, same) == too_late()
        assert (await it.lines())[-1] == ("hand", "found", "m1.hand1.back", False)


@check
async def a_line_for_a_session_that_was_reset_is_not_stored(bench: Bench) -> None:
    async with bench.opened() as it:
        await delegated(it)
        await it.store.write(ResetSession(session=session(name="s-new"), now=3.0), same)
        done = FinishDelegation(
            delegation=delegation().id, result=OK, callback=None, intents=[intent("post")], now=3.0, line="found"
        )
        assert await it.store.write(done, same) == HandFinish(first=True, replaced=True)
        assert await it.lines() == []


@check
async def a_delegation_of_no_session_goes_by_its_key(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(AcceptDelegation(row=delegation()), same)
        await it.admit("m1")
        await it.store.write(ResetSession(session=session(name="s-new"), now=3.0), same)
        assert await finish(it) == finished(session=row(KEY, "new", generation=2))
