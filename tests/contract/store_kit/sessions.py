"""What every store must do with sessions: places and people, resets, keys of older forms, whose session work is of.

`SESSION_CHECKS` are run like those of `tests.contract.store_kit.delivery`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from tests.contract.store_kit.delivery import KEY, Bench, Check, Opened, all_at_once, same
from tests.support.factories import direct, group, intent, receipt, room, session, work
from trunkline.core.config import SessionConfig
from trunkline.core.errors import UnknownName
from trunkline.core.keys import Migration, Move, SessionKey, StoredKey, canonical_key, plan_migration
from trunkline.core.routing import session_key_for
from trunkline.core.store import Admission, NewSession, SessionRow, Settled
from trunkline.core.store.records import Left, Person, Reset
from trunkline.core.values import Address, SessionId, WorkKind

SESSION_CHECKS: list[Check] = []
ANA, BEN, ANA_TELEGRAM = direct("100"), direct("200"), direct("900", channel="telegram")
ANA_ANYWHERE = "main:*:*:direct:100"
MAIN = "main:main"


def check(function: Check) -> Check:
    SESSION_CHECKS.append(function)
    return function


Keys = Callable[[Address], str]


def keys(scope: str = "per-account-channel-peer", agent: str = "main", **links: tuple[str, ...]) -> Keys:
    """The keys that a configuration gives places."""
    config = SessionConfig.model_validate({"dm_scope": scope, "identity_links": links})
    return lambda place: str(session_key_for(agent, place, config))


ISOLATED, PER_PEER, SHARED = keys(), keys("per-peer"), keys("main")


def new(place: Address, key_of: Keys, name: str, agent: str = "main", **fields: Any) -> NewSession:
    """The session of a place under a configuration."""
    given = {"key": key_of(place), "agent": agent, "address": place, "key_of": key_of, **fields}
    return NewSession(id=SessionId(f"s-{name}"), **given)


async def says(it: Opened, name: str, place: Address, key_of: Keys, agent: str = "main", **fields: Any) -> SessionRow:
    """A message called `name` is admitted; its session."""
    asked = new(place, key_of, name, agent, **fields)
    item = work(name, session_key=asked.key, agent=agent, place=place, reply_to=place)
    admission: Admission = await it.store.admit(item, f"id-{name}", asked, 2.0, same)
    assert admission.session is not None
    return admission.session


def row(key: str, name: str, **fields: Any) -> SessionRow:
    return SessionRow(key=key, id=SessionId(f"s-{name}"), **{"generation": 1, "created": False, **fields})


# ---------------------------------------------------------------- places


@check
async def a_place_whose_key_changes_takes_its_session_along(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
    async with bench.opened() as it:
        assert await says(it, "m2", ANA, PER_PEER) == row(ANA_ANYWHERE, "m1", moved_from=KEY)
        assert await says(it, "m3", ANA, PER_PEER) == row(ANA_ANYWHERE, "m1")
        assert [ref for _, _, ref, _ in await it.lines(ANA_ANYWHERE)] == ["m1", "m2", "m3"]
        assert await it.store.session(KEY) is None


@check
async def a_session_may_be_ensured_for_its_place_under_another_key(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.ensure_session(new(ANA, ISOLATED, "one"), 1.0, same)
        moved = await it.store.ensure_session(new(ANA, PER_PEER, "two"), 1.0, same)
        assert moved == row(ANA_ANYWHERE, "one", moved_from=KEY)


@check
async def a_session_that_another_place_has_too_is_left_and_nobody_takes_it_along(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, SHARED)
        await says(it, "m2", BEN, SHARED)
        left = Left(key=MAIN, id="s-m1")
        assert await says(it, "m3", ANA, ISOLATED) == row(KEY, "m3", created=True, left=left)
        # Ben is the last one there, and what Ana said in it is not his.
        ben = await says(it, "m4", BEN, ISOLATED)
        assert ben == row(ISOLATED(BEN), "m4", created=True, left=left)
        assert [ref for _, _, ref, _ in await it.lines(MAIN)] == ["m1", "m2"]
        assert [ref for _, _, ref, _ in await it.lines(KEY)] == ["m3"]


@check
async def a_session_moves_with_all_of_its_places_where_they_all_get_the_new_key(bench: Bench) -> None:
    before = keys("per-peer", ana=("discord:100", "telegram:900"))
    after = keys("per-peer", anna=("discord:100", "telegram:900"))
    async with bench.opened() as it:
        await says(it, "m1", ANA, before)
        await says(it, "m2", ANA_TELEGRAM, before)
        moved = await says(it, "m3", ANA, after)
        assert moved == row("main:*:*:direct:*anna", "m1", moved_from="main:*:*:direct:*ana")
        assert await says(it, "m4", ANA_TELEGRAM, after) == row("main:*:*:direct:*anna", "m1")


@check
async def a_place_leaves_its_session_where_the_new_key_has_one_already(bench: Bench) -> None:
    together = keys("per-peer", ana=("discord:100", "telegram:900"))
    async with bench.opened() as it:
        await says(it, "m1", ANA, PER_PEER)
        await says(it, "m2", ANA_TELEGRAM, PER_PEER)
        moved = await says(it, "m3", ANA, together)
        assert (moved.id, moved.moved_from) == ("s-m1", ANA_ANYWHERE)
        joined = await says(it, "m4", ANA_TELEGRAM, together)
        assert joined == row(together(ANA), "m1", left=Left(key="main:*:*:direct:900", id="s-m2"))
        assert [ref for _, _, ref, _ in await it.lines("main:*:*:direct:900")] == ["m2"]


@check
async def a_session_goes_back_and_forth_with_its_place(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m0", ANA, ISOLATED)
        for number, (key_of, before) in enumerate([(PER_PEER, ISOLATED), (ISOLATED, PER_PEER)] * 3, 1):
            moved = await says(it, f"m{number}", ANA, key_of)
            assert moved == row(key_of(ANA), "m0", moved_from=before(ANA))
        assert len(await it.lines()) == 7


@check
async def places_that_left_find_their_sessions_again(bench: Bench) -> None:
    async with bench.opened() as it:
        for name, place in (("ana", ANA), ("ben", BEN)):
            await says(it, f"{name}1", place, SHARED)
        own = [await says(it, f"{name}2", place, ISOLATED) for name, place in (("ana", ANA), ("ben", BEN))]
        back = [await says(it, f"{name}3", place, SHARED) for name, place in (("ana", ANA), ("ben", BEN))]
        assert [found.left for found in back] == [Left(key=found.key, id=found.id) for found in own]
        assert {found.id for found in back} == {"s-ana1"}
        again = await says(it, "ana4", ANA, ISOLATED)
        assert (again.id, again.left) == (own[0].id, Left(key=MAIN, id="s-ana1"))


@check
async def agents_at_one_place_keep_their_sessions_apart(bench: Bench) -> None:
    ops, ops_per_peer = keys(agent="ops"), keys("per-peer", agent="ops")
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        await says(it, "m2", ANA, ops, "ops")
        assert await says(it, "m3", ANA, ISOLATED) == row(KEY, "m1")
        moved = await says(it, "m4", ANA, ops_per_peer, "ops")
        assert moved == row("ops:*:*:direct:100", "m2", moved_from="ops:discord:default:direct:100")
        assert await says(it, "m5", ANA, ISOLATED) == row(KEY, "m1")


@check
async def a_session_of_two_agents_is_neithers_to_take_along(bench: Bench) -> None:
    def same_key(_: Address) -> str:
        return "a:key:of:both"

    async with bench.opened() as it:
        await says(it, "m1", ANA, same_key)
        await says(it, "m2", ANA, same_key, "ops")
        left = await says(it, "m3", ANA, ISOLATED)
        assert left == row(KEY, "m3", created=True, left=Left(key="a:key:of:both", id="s-m1"))


@check
async def a_direct_conversation_is_not_the_group_with_the_same_id(bench: Bench) -> None:
    one, many = direct("7", channel="telegram"), group("7")
    async with bench.opened() as it:
        await says(it, "alone", one, ISOLATED)
        await says(it, "together", many, ISOLATED)
        assert await says(it, "alone2", one, ISOLATED) == row(ISOLATED(one), "alone")
        assert await says(it, "together2", many, ISOLATED) == row(ISOLATED(many), "together")


@check
async def the_session_that_an_agent_wakes_up_in_is_not_taken_along(bench: Bench) -> None:
    async with bench.opened() as it:
        wake = work("w1", kind=WorkKind.WAKE, session_key=MAIN, place=None, reply_to=None)
        asked = session(MAIN, "s-w1", address=None, key_of=SHARED)
        await it.store.admit(wake, "id-w1", asked, 1.0, same)
        await says(it, "m1", ANA, SHARED)
        left = await says(it, "m2", ANA, ISOLATED)
        assert left == row(KEY, "m2", created=True, left=Left(key=MAIN, id="s-w1"))
        assert (await it.store.session(MAIN)) == row(MAIN, "w1")


@check
async def of_many_messages_at_once_one_moves_the_session(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m0", ANA, ISOLATED)
        calls = [lambda number=number: says(it, f"m{number}", ANA, PER_PEER) for number in range(1, 51)]
        found = await all_at_once(*calls)
        assert {one.id for one in found} == {"s-m0"}
        assert sum(one.moved_from is not None for one in found) == 1


@check
async def a_message_that_is_known_moves_nothing(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        repeated = await it.store.admit(work("m1"), "id-m1", new(ANA, PER_PEER, "m1"), 2.0, same)
        assert repeated.session is None
        assert await it.store.session(KEY) == row(KEY, "m1")


@check
async def a_session_that_is_asked_for_without_a_place_ties_none(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        await it.store.ensure_session(session(KEY, address=None, key_of=PER_PEER), 1.0, same)
        await it.store.ensure_session(session(KEY, address=BEN), 1.0, same)
        assert (await says(it, "m2", ANA, PER_PEER)).moved_from == KEY
        assert await says(it, "m3", BEN, ISOLATED) == row(ISOLATED(BEN), "m3", created=True)


@check
async def entries_are_not_touched_by_what_happens_to_others(bench: Bench) -> None:
    agents = ("main", "x", "y")
    async with bench.opened() as it:
        first = [await says(it, agent, ANA, keys(agent=agent), agent) for agent in agents]
        turns = [lambda agent=agent: it.store.finish_turn(work(agent), [], 3.0, same) for agent in agents]
        await all_at_once(*turns, lambda: it.store.reset_session(session(first[1].key, "s-new"), 3.0, same))
        found = [await it.store.session(one.key) for one in first]
    assert [one and (one.id, one.generation) for one in found] == [("s-main", 1), ("s-new", 2), ("s-y", 1)]


# ---------------------------------------------------------------- what was decided under an older configuration


async def mirrors(it: Opened, name: str, key: str, key_of: Keys, place: Address = ANA) -> Settled:
    """Deliver an intent that is to be mirrored into the session of a place, as `key` was decided before."""
    await it.enqueue(intent(name, address=place, mirror_key=key))
    asked = new(place, key_of, name, key=key)
    return await it.store.ack_chunk(intent(name, address=place, mirror_key=key), receipt(), asked, 3.0, same)


@check
async def an_older_key_leads_to_the_session_that_had_it(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        await says(it, "m2", ANA, PER_PEER)
        settled = await mirrors(it, "i1", KEY, PER_PEER)
        assert settled.mirror == row(ANA_ANYWHERE, "m1")
        assert await it.store.session(KEY) is None
        # It stays where it is, and so does its place.
        assert await says(it, "m3", ANA, PER_PEER) == row(ANA_ANYWHERE, "m1")


@check
async def an_older_key_leads_to_it_after_many_moves_and_a_reset(bench: Bench) -> None:
    linked = keys("per-peer", ana=("100",))
    async with bench.opened() as it:
        for number, key_of in enumerate((ISOLATED, PER_PEER, linked, PER_PEER, linked)):
            await says(it, f"m{number}", ANA, key_of)
        await it.store.reset_session(session(linked(ANA), "s-new"), 3.0, same)
        for number, key_of in enumerate((ISOLATED, PER_PEER, linked)):
            settled = await mirrors(it, f"i{number}", key_of(ANA), linked)
            assert settled.mirror == row(linked(ANA), "new", generation=2)


@check
async def an_older_key_of_a_session_that_was_left_leads_to_that_one(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, SHARED)
        await says(it, "m2", BEN, SHARED)
        await says(it, "m3", ANA, ISOLATED)
        assert (await mirrors(it, "i1", MAIN, ISOLATED)).mirror == row(MAIN, "m1")
        assert await says(it, "m4", ANA, ISOLATED) == row(KEY, "m3")


@check
async def a_place_that_never_spoke_goes_on_where_it_was_spoken_to(bench: Bench) -> None:
    async with bench.opened() as it:
        settled = await mirrors(it, "i1", KEY, PER_PEER)
        assert settled.mirror == row(KEY, "i1", created=True)
        assert await says(it, "m1", ANA, PER_PEER) == row(ANA_ANYWHERE, "i1", moved_from=KEY)


@check
async def a_key_that_is_not_the_places_own_does_not_tie_it(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        # A rule of the user's own remembers everything at home.
        assert (await mirrors(it, "i1", KEY, ISOLATED, BEN)).mirror == row(KEY, "m1")
        assert await says(it, "m2", BEN, ISOLATED) == row(ISOLATED(BEN), "m2", created=True)
        assert (await says(it, "m3", ANA, PER_PEER)).moved_from == KEY


# ---------------------------------------------------------------- people


def known(name: str) -> str:
    """Nobody is linked."""
    return name


async def joins(it: Opened, person: str, today: Callable[[str], str] = known, key: str = MAIN) -> int:
    """Somebody comes into a session; what is told of it."""
    asked = session(key, f"s-{person}", address=None, person=Person(name=person, today=today))
    return (await it.store.ensure_session(asked, 1.0, same)).people


@check
async def each_person_who_comes_as_second_or_later_is_told_of_once(bench: Bench) -> None:
    async with bench.opened() as it:
        assert [await joins(it, who) for who in ("d:1", "d:1", "d:2", "d:2", "d:1")] == [0, 0, 2, 0, 0]
    async with bench.opened() as it:
        assert [await joins(it, who) for who in ("d:2", "d:3", "d:3")] == [0, 3, 0]
        assert await joins(it, "d:1", key="ops:main") == 0


@check
async def people_are_counted_by_the_message_that_brings_them(bench: Bench) -> None:
    async with bench.opened() as it:
        found = [
            await says(it, f"m{number}", place, SHARED, person=Person(name=place.conversation, today=known))
            for number, place in enumerate((ANA, BEN, BEN))
        ]
        assert [(one.created, one.people) for one in found] == [(True, 0), (False, 2), (False, 0)]


@check
async def somebody_who_was_linked_since_is_no_stranger_to_themselves(bench: Bench) -> None:
    links = {"d:1": "*ana", "t:9": "*ana"}

    def today(name: str) -> str:
        return links.get(name, name)

    async with bench.opened() as it:
        assert await joins(it, "d:1") == 0
        assert await joins(it, "*ana", today) == 0
        assert await joins(it, "d:2", today) == 2
        assert await joins(it, "d:3", today) == 3


@check
async def people_go_with_a_session_that_moves_and_are_forgotten_with_a_reset(bench: Bench) -> None:
    async with bench.opened() as it:
        asked = Person(name="d:1", today=known)
        await says(it, "m1", ANA, SHARED, person=asked)
        assert (await says(it, "m2", ANA, ISOLATED)).moved_from == MAIN
        assert [await joins(it, who, key=KEY) for who in ("d:1", "d:2")] == [0, 2]
        assert [await joins(it, who) for who in ("d:2", "d:3")] == [0, 2]
        await it.store.reset_session(session(KEY), 3.0, same)
        assert [await joins(it, who, key=KEY) for who in ("d:2", "d:1")] == [0, 2]


# ---------------------------------------------------------------- reset


@check
async def a_reset_starts_the_next_generation_and_what_was_said_stays_readable(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        reset = await it.store.reset_session(session(name="s-new"), 3.0, same)
        assert reset == Reset(row=row(KEY, "new", generation=2), before=SessionId("s-m1"))
        assert await it.lines() == []
    async with bench.opened() as it:
        assert [line.ref for line in await it.store.history(SessionId("s-m1"))] == ["m1"]
        assert (await it.admit("m2")).session == row(KEY, "new", generation=2)
        assert [ref for _, _, ref, _ in await it.lines()] == ["m2"]


@check
async def a_session_may_be_reset_again_and_again(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        resets = [await it.store.reset_session(session(name="s-new"), 3.0, same) for _ in range(3)]
        assert [reset.row.generation for reset in resets] == [2, 3, 4]
        assert [reset.before for reset in resets] == ["s-m1", "s-new", "s-new+2"]
        assert await it.store.session(KEY) == row(KEY, "new+3", generation=4)


@check
async def resets_at_once_are_one_after_the_other(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.admit("m1")
        calls = [lambda n=n: it.store.reset_session(session(name=f"s-{n}"), 3.0, same) for n in range(10)]
        resets = await all_at_once(*calls)
        assert [reset.row.generation for reset in resets] == list(range(2, 12))


@check
async def where_there_is_no_session_there_is_nothing_to_reset(bench: Bench) -> None:
    async with bench.opened() as it:
        assert await it.store.reset_session(session(), 3.0, same) is None
        assert await it.store.reset_session(new(ANA, PER_PEER, "new"), 3.0, same) is None
        assert await it.store.session(KEY) is None


@check
async def a_conversation_is_reset_though_its_session_is_still_under_the_older_key(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        reset = await it.store.reset_session(new(ANA, PER_PEER, "new"), 3.0, same)
        assert reset == Reset(row=row(ANA_ANYWHERE, "new", generation=2, moved_from=KEY), before=SessionId("s-m1"))
        assert await says(it, "m2", ANA, PER_PEER) == row(ANA_ANYWHERE, "new", generation=2)


@check
async def a_session_that_others_share_is_not_reset_for_a_place_that_is_about_to_leave(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, SHARED)
        await says(it, "m2", BEN, SHARED)
        assert await it.store.reset_session(new(ANA, ISOLATED, "new"), 3.0, same) is None
        assert await it.store.session(MAIN) == row(MAIN, "m1")


@check
async def a_session_that_began_anew_is_its_places_own_again(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, SHARED)
        await says(it, "m2", BEN, SHARED)
        await says(it, "m3", ANA, ISOLATED)
        await it.store.reset_session(session(MAIN, "s-new"), 3.0, same)
        moved = await says(it, "m4", BEN, ISOLATED)
        assert moved == row(ISOLATED(BEN), "new", generation=2, moved_from=MAIN)


@check
async def a_session_is_found_by_its_id_under_the_key_that_it_has(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        assert await it.store.session_by_id(SessionId("s-m1")) == row(KEY, "m1")
        await says(it, "m2", ANA, PER_PEER)
        assert await it.store.session_by_id(SessionId("s-m1")) == row(ANA_ANYWHERE, "m1")
        await it.store.reset_session(session(ANA_ANYWHERE, "s-new"), 3.0, same)
        assert await it.store.session_by_id(SessionId("s-m1")) is None
        assert await it.store.session_by_id(SessionId("nobody")) is None


@check
async def an_id_is_never_given_twice(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "same", ANA, ISOLATED)
        await it.store.ensure_session(new(ANA, PER_PEER, "moved"), 1.0, same)
        again = await it.store.ensure_session(session(KEY, "s-same"), 1.0, same)
        await it.store.reset_session(session(KEY, "s-other"), 1.0, same)
        reset = await it.store.reset_session(session(KEY, "s-same"), 1.0, same)
        assert (again.id, reset and reset.row.id) == ("s-same+2", "s-same+3")


# ---------------------------------------------------------------- keys of another form

OLD, OLDER, KEY_1 = "agent:main:telegram:direct:1", "agent:main:telegram:dm:1", "main:telegram:default:direct:1"


def today(key: SessionKey) -> SessionKey:
    """Every conversation goes through the default account."""
    if key.peer == "gone":
        raise UnknownName("nobody serves that")
    return key if key.is_main else msgspec.structs.replace(key, account="default")


def plan(rows: Sequence[StoredKey]) -> Migration:
    return plan_migration(rows, today)


async def stored(it: Opened, key: str, name: str, at: float, codec: str = "openclaw", **fields: Any) -> None:
    """A session that was used last at a time."""
    agent = fields.setdefault("agent", "main")
    asked = session(key, f"s-{name}", codec=codec, address=fields.pop("address", None), **fields)
    item = work(name, session_key=key, agent=agent)
    # It was made long before.
    await it.store.ensure_session(asked, 0.5, same)
    await it.store.admit(item, f"id-{name}", asked, at, same)


async def migrate(it: Opened, how: Callable[[Sequence[StoredKey]], Migration] = plan) -> Migration | None:
    return await it.store.migrate_keys("v1", how, 99.0, same)


@check
async def a_key_of_another_form_is_brought_up_to_date_and_its_session_goes_on(bench: Bench) -> None:
    async with bench.opened() as it:
        await stored(it, OLDER, "a", 1.0)
        await it.admit("m1")
        migration = await migrate(it)
        assert migration is not None
        assert [(move.old, move.new, move.session_id) for move in migration.moves] == [(OLDER, KEY_1, "s-a")]
        assert await it.store.session(OLDER) is None
    async with bench.opened() as it:
        assert (await it.admit("m2", key=KEY_1)).session == row(KEY_1, "a")
        assert [ref for _, _, ref, _ in await it.lines(KEY_1)] == ["a", "m2"]
        assert (await it.store.session(KEY)) == row(KEY, "m1")


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
        assert await it.store.session(first) == row(first, "b1")
        assert await it.store.session(second) == row(second, "a2")
        for loser in ("a1", "b2"):
            assert [line.ref for line in await it.store.history(SessionId(f"s-{loser}"))] == [loser]
            assert await it.store.session_by_id(SessionId(f"s-{loser}")) is None


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
        assert await it.store.session(KEY_1) == row(KEY_1, "old")
        assert [ref for _, _, ref, _ in await it.lines(KEY_1)] == ["old"]
        assert [line.ref for line in await it.store.history(SessionId("s-new"))] == ["new"]
        assert await it.store.session("main:telegram:default:direct:2") == row("main:telegram:default:direct:2", "new2")
        assert [await it.store.session(key) for key in (OLD, "agent:main:telegram:dm:2")] == [None, None]


@check
async def keys_that_cannot_be_read_stay_and_are_told_of_once(bench: Bench) -> None:
    odd, refused = "agent:main:cron:nightly", "agent:main:telegram:direct:gone"
    async with bench.opened() as it:
        await stored(it, odd, "a", 1.0)
        await stored(it, refused, "b", 1.0)
        await stored(it, OLD, "c", 1.0)
        migration = await migrate(it)
        assert migration is not None
        assert [one.key for one in migration.unreadable] == [odd, refused]
        for key, name in ((odd, "a"), (refused, "b")):
            assert await it.store.session(key) == row(key, name)
            assert len(await it.lines(key)) == 1
        # Another row with an old key does not have them told again.
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
            found = [await it.store.session(key) for key in (OLD, "agent:main:telegram:direct:2", KEY_1)]
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
            assert await it.store.session(key) == row(key, before)
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
        # Nobody leaves anything when they speak again, and both go along when the scope changes.
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
            assert await it.store.session(key) is None


@check
async def people_of_a_session_that_was_merged_are_strangers_to_the_one_that_is_kept(bench: Bench) -> None:
    old_main = "agent:main:main"
    async with bench.opened() as it:
        await stored(it, MAIN, "new", 9.0, codec="v1")
        await stored(it, old_main, "old", 5.0)
        assert [await joins(it, "d:1"), await joins(it, "d:2", key=old_main)] == [0, 0]
        await migrate(it)
        assert await it.store.session(MAIN) == row(MAIN, "new")
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
