"""What every store must do with resets of sessions and with keys of another form."""

from collections.abc import Sequence

import msgspec
import pytest

from tests.contract.store_kit.bench import KEY, Bench, all_at_once, check, same
from tests.contract.store_kit.session_cases import (
    ANA,
    ANA_ANYWHERE,
    BEN,
    ISOLATED,
    KEY_1,
    MAIN,
    OLD,
    OLDER,
    PER_PEER,
    SHARED,
    joins,
    keys,
    migrate,
    mirrors,
    new,
    plan,
    row,
    says,
    stored,
)
from tests.support.factories import direct, room, session
from trunkline.core.keys import Migration, Move, StoredKey, canonical_key
from trunkline.core.records.rows import Admission, ResetResult
from trunkline.core.store.commands import EnsureSession, ResetSession
from trunkline.core.store.queries import FindRequester, FindSession, ReadTranscript
from trunkline.core.values import SessionId

# ---------------------------------------------------------------- reset


@check
async def a_reset_starts_the_next_generation_and_what_was_said_stays_readable(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        reset = await it.store.write(ResetSession(session=session(name="s-new"), now=3.0), same)
        assert reset == ResetResult(row=row(KEY, "new", generation=2), before=SessionId("s-m1"))
        assert await it.lines() == []
    async with bench.opened() as it:
        assert [line.ref for line in await it.store.read(ReadTranscript(session=SessionId("s-m1")))] == ["m1"]
        assert (await it.admit("m2")).session == row(KEY, "new", generation=2)
        assert [ref for _, _, ref, _ in await it.lines()] == ["m2"]


@check
async def a_session_may_be_reset_again_and_again(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        resets = [await it.store.write(ResetSession(session=session(name="s-new"), now=3.0), same) for _ in range(3)]
        assert [reset.row.generation for reset in resets] == [2, 3, 4]
        assert [reset.before for reset in resets] == ["s-m1", "s-new", "s-new+2"]
        assert await it.store.read(FindSession(key=KEY)) == row(KEY, "new+3", generation=4)


@check
async def resets_at_once_are_one_after_the_other(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        calls = [
            lambda n=n: it.store.write(ResetSession(session=session(name=f"s-{n}"), now=3.0), same) for n in range(10)
        ]
        resets = await all_at_once(*calls)
        assert [reset.row.generation for reset in resets] == list(range(2, 12))


@check
async def where_there_is_no_session_there_is_nothing_to_reset(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.store.write(ResetSession(session=session(), now=3.0), same) is None
        assert await it.store.write(ResetSession(session=new(ANA, PER_PEER, "new"), now=3.0), same) is None
        assert await it.store.read(FindSession(key=KEY)) is None


@check
async def a_conversation_is_reset_though_its_session_is_still_under_the_older_key(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        reset = await it.store.write(ResetSession(session=new(ANA, PER_PEER, "new"), now=3.0), same)
        assert reset == ResetResult(
            row=row(ANA_ANYWHERE, "new", generation=2, moved_from=KEY), before=SessionId("s-m1")
        )
        assert await says(it, "m2", ANA, PER_PEER) == row(ANA_ANYWHERE, "new", generation=2)


@check
async def a_session_that_others_share_is_not_reset_for_a_place_that_is_about_to_leave(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, SHARED)
        await says(it, "m2", BEN, SHARED)
        assert await it.store.write(ResetSession(session=new(ANA, ISOLATED, "new"), now=3.0), same) is None
        assert await it.store.read(FindSession(key=MAIN)) == row(MAIN, "m1")


@check
async def a_session_that_was_reset_is_its_places_own_again(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, SHARED)
        await says(it, "m2", BEN, SHARED)
        await says(it, "m3", ANA, ISOLATED)
        await it.store.write(ResetSession(session=session(MAIN, "s-new"), now=3.0), same)
        moved = await says(it, "m4", BEN, ISOLATED)
        assert moved == row(ISOLATED(BEN), "new", generation=2, moved_from=MAIN)


@check
async def a_session_is_found_by_its_id_under_the_key_that_it_has(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        assert await it.store.read(FindRequester(session=SessionId("s-m1"), origin=None)) == row(KEY, "m1")
        await says(it, "m2", ANA, PER_PEER)
        assert await it.store.read(FindRequester(session=SessionId("s-m1"), origin=None)) == row(ANA_ANYWHERE, "m1")
        await it.store.write(ResetSession(session=session(ANA_ANYWHERE, "s-new"), now=3.0), same)
        assert await it.store.read(FindRequester(session=SessionId("s-m1"), origin=None)) is None
        assert await it.store.read(FindRequester(session=SessionId("nobody"), origin=None)) is None


@check
async def an_id_is_never_given_twice(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "same", ANA, ISOLATED)
        await it.store.write(EnsureSession(session=new(ANA, PER_PEER, "moved"), now=1.0), same)
        again = await it.store.write(EnsureSession(session=session(KEY, "s-same"), now=1.0), same)
        await it.store.write(ResetSession(session=session(KEY, "s-other"), now=1.0), same)
        reset = await it.store.write(ResetSession(session=session(KEY, "s-same"), now=1.0), same)
        assert (again.id, reset and reset.row.id) == ("s-same+2", "s-same+3")


# ---------------------------------------------------------------- keys of another form


@check
async def a_key_of_another_form_is_brought_up_to_date_and_its_session_goes_on(bench: Bench) -> None:
    async with bench.opened() as it:
        await stored(it, OLDER, "a", 1.0)
        await it.admit("m1")
        migration = await migrate(it)
        assert migration is not None
        assert [(move.old, move.new, move.session_id) for move in migration.moves] == [(OLDER, KEY_1, "s-a")]
        assert await it.store.read(FindSession(key=OLDER)) is None
    async with bench.opened() as it:
        assert (await it.admit("m2", key=KEY_1)).session == row(KEY_1, "a")
        assert [ref for _, _, ref, _ in await it.lines(KEY_1)] == ["a", "m2"]
        assert (await it.store.read(FindSession(key=KEY))) == row(KEY, "m1")


@check
async def nothing_is_done_twice(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await migrate(it) is None
        await stored(it, OLD, "a", 1.0)
        await stored(it, "agent:main:gone", "odd", 1.0)
        assert await migrate(it) is not None
    async with bench.opened() as it:
        assert await migrate(it, lambda _: pytest.fail("there is nothing to plan")) is None


@check
async def of_two_keys_of_one_conversation_the_one_used_last_goes_on(bench: Bench) -> None:
    first, second = "main:telegram:default:direct:1", "main:telegram:default:direct:2"
    async with bench.opened() as it:
        await stored(it, OLD, "a1", 1.0)
        await stored(it, OLDER, "b1", 2.0)
        await stored(it, "agent:main:telegram:direct:2", "a2", 2.0)
        await stored(it, "agent:main:telegram:dm:2", "b2", 1.0)
        migration = await migrate(it)
        assert migration is not None
        left = {merge.key: [one.session_id for one in merge.left] for merge in migration.merged}
        assert left == {first: ["s-a1"], second: ["s-b2"]}
        assert await it.store.read(FindSession(key=first)) == row(first, "b1")
        assert await it.store.read(FindSession(key=second)) == row(second, "a2")
        for loser in ("a1", "b2"):
            assert [line.ref for line in await it.store.read(ReadTranscript(session=SessionId(f"s-{loser}")))] == [
                loser
            ]
            assert await it.store.read(FindRequester(session=SessionId(f"s-{loser}"), origin=None)) is None


@check
async def an_older_key_meets_a_session_that_has_the_new_one(bench: Bench) -> None:
    async with bench.opened() as it:
        await stored(it, KEY_1, "new", 5.0, codec="v1")
        await stored(it, OLD, "old", 9.0)
        await stored(it, "main:telegram:default:direct:2", "new2", 9.0, codec="v1")
        await stored(it, "agent:main:telegram:dm:2", "old2", 5.0)
        migration = await migrate(it)
        assert migration is not None
        assert [merge.kept.session_id for merge in migration.merged] == ["s-old", "s-new2"]
        assert await it.store.read(FindSession(key=KEY_1)) == row(KEY_1, "old")
        assert [ref for _, _, ref, _ in await it.lines(KEY_1)] == ["old"]
        assert [line.ref for line in await it.store.read(ReadTranscript(session=SessionId("s-new")))] == ["new"]
        assert await it.store.read(FindSession(key="main:telegram:default:direct:2")) == row(
            "main:telegram:default:direct:2", "new2"
        )
        assert [await it.store.read(FindSession(key=key)) for key in (OLD, "agent:main:telegram:dm:2")] == [None, None]


@check
async def keys_that_cannot_be_read_stay_and_are_reported_once(bench: Bench) -> None:
    odd, refused = "agent:main:cron:nightly", "agent:main:telegram:direct:gone"
    async with bench.opened() as it:
        await stored(it, odd, "a", 1.0)
        await stored(it, refused, "b", 1.0)
        await stored(it, OLD, "c", 1.0)
        migration = await migrate(it)
        assert migration is not None
        assert [one.key for one in migration.unreadable] == [odd, refused]
        for key, name in ((odd, "a"), (refused, "b")):
            assert await it.store.read(FindSession(key=key)) == row(key, name)
            assert len(await it.lines(key)) == 1
        # Another row with an old key does not report them again.
        await stored(it, "agent:main:telegram:dm:2", "d", 1.0)
        migration = await migrate(it)
        assert migration is not None
        assert (len(migration.moves), migration.unreadable) == (1, ())


@check
async def a_migration_is_done_whole_or_not_at_all(bench: Bench) -> None:
    def fails(rows: Sequence[StoredKey]) -> Migration:
        if len(rows) > 2:
            raise ZeroDivisionError
        return plan(rows)

    def collides(rows: Sequence[StoredKey]) -> Migration:
        planned = plan(rows)
        double = [msgspec.structs.replace(move, new="main:one") for move in planned.moves]
        return msgspec.structs.replace(planned, moves=tuple(double))

    async with bench.opened() as it:
        await stored(it, OLD, "a", 1.0)
        await stored(it, "agent:main:telegram:direct:2", "b", 1.0)
        await stored(it, KEY_1, "c", 1.0, codec="v1")
        for broken in (fails, collides):
            [error, admitted] = await all_at_once(lambda broken=broken: migrate(it, broken), lambda: it.admit("m1"))
            assert isinstance(error, Exception)
            assert isinstance(admitted, Admission)
            found = [await it.store.read(FindSession(key=key)) for key in (OLD, "agent:main:telegram:direct:2", KEY_1)]
            assert [one and one.id for one in found] == ["s-a", "s-b", "s-c"]
        assert await migrate(it) is not None


@check
async def keys_may_change_places(bench: Bench) -> None:
    def around(rows: Sequence[StoredKey]) -> Migration:
        following = {"k:a": "k:b", "k:b": "k:c", "k:c": "k:a"}
        moves = [Move(old=one.key, new=following[one.key], session_id=one.session_id, why="") for one in rows]
        return Migration(moves=tuple(moves), merged=(), untouched=(), unreadable=())

    places = {"k:a": room("1"), "k:b": room("2"), "k:c": room("3")}
    async with bench.opened() as it:
        for key, place in places.items():
            await stored(it, key, key[-1], 1.0, address=place, key_of=lambda _, key=key: key)
            assert [await joins(it, who, key=key) for who in (f"d:{key}", "d:x")] == [0, 2]
        await migrate(it, around)
        for key, before in (("k:b", "a"), ("k:c", "b"), ("k:a", "c")):
            assert await it.store.read(FindSession(key=key)) == row(key, before)
            # Places and people came along.
            found = await says(it, f"at{key}", places[f"k:{before}"], lambda _, key=key: key)
            assert found == row(key, before)
            assert [await joins(it, who, key=key) for who in (f"d:k:{before}", "d:y")] == [0, 3]


@check
async def places_of_sessions_that_were_merged_belong_to_the_one_that_is_kept(bench: Bench) -> None:
    other = direct("1", channel="telegram", account="second")
    moved = keys("per-channel-peer")
    async with bench.opened() as it:
        await stored(it, OLD, "a", 2.0, address=direct("1", channel="telegram"), key_of=lambda _: OLD)
        await stored(it, OLDER, "b", 1.0, address=other, key_of=lambda _: OLDER)
        await migrate(it)
        # No place leaves a session when both write again, and both move when the scope changes.
        asked = await says(it, "m1", other, lambda _: KEY_1)
        assert asked == row(KEY_1, "a")
        assert await says(it, "m2", other, moved) == row("main:telegram:*:direct:1", "a", moved_from=KEY_1)


@check
async def an_older_form_of_a_key_still_finds_its_session(bench: Bench) -> None:
    place = direct("1", channel="telegram")
    async with bench.opened() as it:
        await stored(it, OLD, "a", 2.0)
        await stored(it, OLDER, "b", 1.0)
        await migrate(it)
        for number, key in enumerate((OLD, OLDER)):
            settled = await mirrors(it, f"i{number}", key, ISOLATED, place)
            assert settled.mirror == row(KEY_1, "a")
            assert await it.store.read(FindSession(key=key)) is None


@check
async def people_of_a_session_that_was_merged_are_strangers_to_the_one_that_is_kept(bench: Bench) -> None:
    old_main = "agent:main:main"
    async with bench.opened() as it:
        await stored(it, MAIN, "new", 9.0, codec="v1")
        await stored(it, old_main, "old", 5.0)
        assert [await joins(it, "d:1"), await joins(it, "d:2", key=old_main)] == [0, 0]
        await migrate(it)
        assert await it.store.read(FindSession(key=MAIN)) == row(MAIN, "new")
        assert [await joins(it, who) for who in ("d:1", "d:2")] == [0, 2]


@check
async def what_a_plan_is_given_is_what_there_is(bench: Bench) -> None:
    seen: list[Sequence[StoredKey]] = []

    def look(rows: Sequence[StoredKey]) -> Migration:
        seen.append(tuple(rows))
        return plan(rows)

    async with bench.opened() as it:
        await stored(it, OLD, "a", 3.0)
        await stored(it, KEY_1, "b", 2.0, codec="v1")
        await stored(it, "main:telegram:default:direct:2", "c", 2.0, codec="v1")
        await migrate(it, look)
    a = StoredKey(key=OLD, session_id="s-a", updated_at=3.0)
    b = StoredKey(key=KEY_1, session_id="s-b", updated_at=2.0)
    assert str(canonical_key(OLD)) == "main:telegram:*:direct:1"
    assert seen == [(a,), (a, b)]
