"""What every store must do with mirrors: what was said is in a transcript once, however often it is put there."""

from tests.contract.store_kit.bench import Bench, Opened, all_at_once, check, row_of, same
from tests.support.factories import changed, intent, receipt, session
from trunkline.core.records.rows import IntentRow, Settlement
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import AckChunk, StoreMirror

NOTHING_NEW = Settlement(mirror=None)


async def mirror(it: Opened, row: IntentRow, acked: int = 1) -> Settlement:
    """The mirror step of an intent of which so many chunks were accepted."""
    return await it.store.write(
        StoreMirror(intent=changed(row, acked=acked), mirror=session(name="s-mirror"), now=4.0, note=None, wake=None),
        same,
    )


@check
async def a_mirror_step_that_runs_again_changes_nothing(bench: Bench) -> None:
    asked = intent("i1")
    async with bench.opened() as it:
        await it.enqueue(asked)
        assert (await it.ack(asked)).mirror == row_of("s-mirror", created=True)
        assert await mirror(it, asked) == NOTHING_NEW
    async with bench.opened() as it:
        assert await mirror(it, asked) == NOTHING_NEW
        assert await it.lines() == [("assistant", "hello back", "i1", False)]


@check
async def of_mirrors_that_come_at_once_one_is_stored(bench: Bench) -> None:
    asked = intent("i1")
    async with bench.opened() as it:
        await it.enqueue(asked)
        await it.store.write(AckChunk(intent=asked, receipt=receipt(), mirror=None, now=3.0, mirror_due=True), same)
        assert await it.lines() == []
        answers = await all_at_once(*[lambda: mirror(it, asked)] * 5)
        assert [answer.mirror is not None for answer in answers] == [True, False, False, False, False]
        assert answers[0] == Settlement(mirror=row_of("s-mirror", created=True), mirror_text="hello back")
        assert len(await it.lines()) == 1


@check
async def a_line_that_held_a_part_grows_in_its_place(bench: Bench) -> None:
    asked = intent("i1", "one", "two", "three")
    async with bench.opened() as it:
        await it.enqueue(asked)
        await it.store.write(AckChunk(intent=asked, receipt=receipt(), mirror=None, now=3.0, mirror_due=False), same)
        await it.end(changed(asked, acked=1), DeliveryEvent.REFUSE)
        await it.admit("m1")
        assert await it.lines() == [("assistant", "one", "i1", True), ("user", "text of m1", "m1", False)]
        assert await mirror(it, asked, 1) == NOTHING_NEW
        more = Settlement(mirror=row_of("s-mirror", created=False), mirror_text="one\ntwo")
        assert await mirror(it, asked, 2) == more
        assert (await it.lines())[0] == ("assistant", "one\ntwo", "i1", True)
        await mirror(it, asked, 3)
        assert await it.lines() == [("assistant", "one\ntwo\nthree", "i1", False), ("user", "text of m1", "m1", False)]


@check
async def a_line_that_is_whole_does_not_become_a_part_again(bench: Bench) -> None:
    asked = intent("i1", "one", "two")
    async with bench.opened() as it:
        await it.enqueue(asked)
        await mirror(it, asked, 2)
        assert await mirror(it, asked, 1) == NOTHING_NEW
        assert await it.lines() == [("assistant", "one\ntwo", "i1", False)]


@check
async def a_line_of_somebody_else_is_no_mirror_and_stays(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        await it.enqueue(intent("m1"))
        [answer] = await all_at_once(lambda: mirror(it, intent("m1")))
        assert isinstance(answer, Exception)
        assert await it.lines() == [("user", "text of m1", "m1", False)]


@check
async def a_message_is_admitted_once_whatever_its_transcript_holds(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        # The table refuses a second line, and with it the whole message.
        [answer] = await all_at_once(lambda: it.admit("m1", "another identity"))
        assert isinstance(answer, Exception)
        assert len(await it.lines()) == 1


@check
async def what_is_seen_is_remembered_without_the_blanks_around_it(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.enqueue(intent("i1", "  one", "two \n"))
        assert (await mirror(it, intent("i1", "  one", "two \n"), 2)).mirror_text == "one\ntwo"
        # What only its platform understands has no text, and was sent all the same.
        await it.enqueue(intent("i2", ""))
        assert await mirror(it, intent("i2", "")) == Settlement(mirror=row_of("s-mirror", created=False))
        assert [(text, ref) for _, text, ref, _ in await it.lines()] == [("one\ntwo", "i1"), ("", "i2")]
