"""What every store must do with what people do to messages that are there already."""

from typing import Any

from tests.contract.store_kit.bench import KEY, Bench, Opened, check, same
from tests.contract.store_kit.changes import said
from tests.support.factories import direct, session, work
from tests.support.stores import transcript_of
from trunkline.core.decisions import identity_at, identity_in_threads
from trunkline.core.reasons import Reason
from trunkline.core.records.deeds import DeedPlan, DeedSubject
from trunkline.core.records.rows import ChangedLine
from trunkline.core.store.commands import ResetSession, TakeDeed
from trunkline.core.store.queries import FindSubject, LoadUnfinished
from trunkline.core.values import Address, SessionId, WorkKind

HERE = direct()
TOPIC = direct(thread="7")


async def find(it: Opened, message: str, deed: str = "d1", place: Address = HERE) -> DeedSubject | None:
    query = FindSubject(
        place=place,
        message=message,
        identity=identity_at(place, message),
        in_threads=identity_in_threads(place, message),
        deed=deed,
        agents=("main",),
    )
    return await it.store.read(query)


async def take(
    it: Opened, subject: DeedSubject, deed: str = "d1", wake: bool = False, **plan: Any
) -> ChangedLine | None:
    woken = work("w1", kind=WorkKind.WAKE, text=plan.get("note", ""), place=None, reply_to=None) if wake else None
    command = TakeDeed(identity=deed, subject=subject, plan=DeedPlan(**plan), author="discord:100", wake=woken, now=9.0)
    return await it.store.write(command, same)


async def question(it: Opened, name: str = "m1", place: Address = HERE) -> DeedSubject:
    """A person's message that waits for its turn."""
    await it.admit(name, identity_at(place, name), place=place)
    found = await find(it, name)
    assert found is not None
    return found


@check
async def a_persons_message_is_found_also_where_its_thread_is_not_named(bench: Bench) -> None:
    async with bench.opened() as it:
        for name, place in (("m1", HERE), ("m2", TOPIC)):
            found = await question(it, name, place)
            assert (found.session.key, found.text, found.ref) == (KEY, f"text of {name}", name)
            assert (found.known, found.deleted, found.work is None) == (False, False, False)
        assert await find(it, "m2", place=direct(thread="8")) is None
        assert await find(it, "m2", place=direct("elsewhere")) is None
        assert await find(it, "7") is None


@check
async def a_message_of_ours_is_found_in_its_conversation_alone(bench: Bench) -> None:
    async with bench.opened() as it:
        await said(it, "i1", "the answer", number=11)
        found = await find(it, "11")
        assert found is not None
        assert (found.intent, found.work, found.text, found.agent) == ("i1", None, "the answer", "main")
        assert await find(it, "11", place=direct("elsewhere")) is None


@check
async def a_message_of_a_session_that_was_reset_is_not_found(bench: Bench) -> None:
    async with bench.opened() as it:
        await question(it)
        await it.store.write(ResetSession(session=session(name="s-new"), now=5.0), same)
        assert await find(it, "m1") is None


@check
async def an_edited_question_has_its_new_text_in_the_next_process_too(bench: Bench) -> None:
    async with bench.opened() as it:
        subject = await question(it)
        changed = await take(it, subject, outcome="changed", work=work("m1", text="new"), text="new")
        assert changed == ChangedLine(
            session_id=SessionId("s-m1"), session_key=KEY, line="m1", before="text of m1", text="new"
        )
        known = await find(it, "m1")
        assert known is not None
        assert (known.known, known.text) == (True, "new")
    async with bench.opened() as it:
        ((left, _),) = (await it.store.read(LoadUnfinished())).works
        assert left.text == "new"
        (line,) = await transcript_of(it.store, KEY)
        assert (line.text, line.was) == ("new", ("text of m1",))


@check
async def a_withdrawn_question_is_done(bench: Bench) -> None:
    async with bench.opened() as it:
        subject = await question(it)
        await take(it, subject, outcome="withdrawn", reason=Reason.WITHDRAWN, deletes=True)
    async with bench.opened() as it:
        assert (await it.store.read(LoadUnfinished())).works == ()
        (line,) = await transcript_of(it.store, KEY)
        assert line.deleted


@check
async def a_note_is_a_line_and_may_start_work_of_its_session(bench: Bench) -> None:
    async with bench.opened() as it:
        subject = await question(it)
        assert await take(it, subject, outcome="noted", note="Ana reacted") is None
        assert await take(it, subject, "d2", wake=True, outcome="woken", note="Ana reacted again") is None
        lines = await transcript_of(it.store, KEY)
        assert [(line.role, line.text) for line in lines] == [
            ("user", "text of m1"),
            ("delivery", "Ana reacted"),
            ("delivery", "Ana reacted again"),
            ("user", "Ana reacted again"),
        ]
        works = (await it.store.read(LoadUnfinished())).works
        assert [(left.id, name) for left, name in works] == [("m1", "s-m1"), ("w1", "s-m1")]
