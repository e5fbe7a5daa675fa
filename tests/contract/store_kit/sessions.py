"""What every store must do with places, people and older keys of sessions."""

from tests.contract.store_kit.bench import KEY, Bench, all_at_once, check, same
from tests.contract.store_kit.session_cases import (
    ANA,
    ANA_ANYWHERE,
    ANA_TELEGRAM,
    BEN,
    ISOLATED,
    MAIN,
    PER_PEER,
    SHARED,
    joins,
    keys,
    known,
    mirrors,
    new,
    row,
    says,
)
from tests.support.factories import direct, group, session, work
from trunkline.core.records.rows import LeftSession, Participant
from trunkline.core.store.commands import Admit, EnsureSession, FinishTurn, ResetSession
from trunkline.core.store.queries import FindSession
from trunkline.core.values import Address, WorkKind

# ---------------------------------------------------------------- places


@check
async def a_place_whose_key_changes_takes_its_session_along(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
    async with bench.opened() as it:
        assert await says(it, "m2", ANA, PER_PEER) == row(ANA_ANYWHERE, "m1", moved_from=KEY)
        assert await says(it, "m3", ANA, PER_PEER) == row(ANA_ANYWHERE, "m1")
        assert [ref for _, _, ref, _ in await it.lines(ANA_ANYWHERE)] == ["m1", "m2", "m3"]
        assert await it.store.read(FindSession(key=KEY)) is None


@check
async def a_session_may_be_ensured_for_its_place_under_another_key(bench: Bench) -> None:
    async with bench.opened() as it:
        await it.store.write(EnsureSession(session=new(ANA, ISOLATED, "one"), now=1.0), same)
        moved = await it.store.write(EnsureSession(session=new(ANA, PER_PEER, "two"), now=1.0), same)
        assert moved == row(ANA_ANYWHERE, "one", moved_from=KEY)


@check
async def a_session_that_another_place_has_too_is_left_and_nobody_takes_it_along(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, SHARED)
        await says(it, "m2", BEN, SHARED)
        left = LeftSession(key=MAIN, id="s-m1")
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
        assert joined == row(together(ANA), "m1", left=LeftSession(key="main:*:*:direct:900", id="s-m2"))
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
        assert [found.left for found in back] == [LeftSession(key=found.key, id=found.id) for found in own]
        assert {found.id for found in back} == {"s-ana1"}
        again = await says(it, "ana4", ANA, ISOLATED)
        assert (again.id, again.left) == (own[0].id, LeftSession(key=MAIN, id="s-ana1"))


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
        assert left == row(KEY, "m3", created=True, left=LeftSession(key="a:key:of:both", id="s-m1"))


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
        await it.store.write(Admit(work=wake, identity="id-w1", session=asked, now=1.0), same)
        await says(it, "m1", ANA, SHARED)
        left = await says(it, "m2", ANA, ISOLATED)
        assert left == row(KEY, "m2", created=True, left=LeftSession(key=MAIN, id="s-w1"))
        assert (await it.store.read(FindSession(key=MAIN))) == row(MAIN, "w1")


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
        repeated = await it.store.write(
            Admit(work=work("m1"), identity="id-m1", session=new(ANA, PER_PEER, "m1"), now=2.0), same
        )
        assert repeated.session is None
        assert await it.store.read(FindSession(key=KEY)) == row(KEY, "m1")


@check
async def a_session_that_is_asked_for_without_a_place_ties_none(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        await it.store.write(EnsureSession(session=session(KEY, address=None, key_of=PER_PEER), now=1.0), same)
        await it.store.write(EnsureSession(session=session(KEY, address=BEN), now=1.0), same)
        assert (await says(it, "m2", ANA, PER_PEER)).moved_from == KEY
        assert await says(it, "m3", BEN, ISOLATED) == row(ISOLATED(BEN), "m3", created=True)


@check
async def entries_are_not_touched_by_what_happens_to_others(bench: Bench) -> None:
    agents = ("main", "x", "y")
    async with bench.opened() as it:
        first = [await says(it, agent, ANA, keys(agent=agent), agent) for agent in agents]
        turns = [
            lambda agent=agent: it.store.write(FinishTurn(work=work(agent), intents=[], now=3.0), same)
            for agent in agents
        ]
        await all_at_once(
            *turns, lambda: it.store.write(ResetSession(session=session(first[1].key, "s-new"), now=3.0), same)
        )
        found = [await it.store.read(FindSession(key=one.key)) for one in first]
    assert [one and (one.id, one.generation) for one in found] == [("s-main", 1), ("s-new", 2), ("s-y", 1)]


# ---------------------------------------------------------------- what was decided under an older configuration


@check
async def an_older_key_leads_to_the_session_that_had_it(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, ISOLATED)
        await says(it, "m2", ANA, PER_PEER)
        settled = await mirrors(it, "i1", KEY, PER_PEER)
        assert settled.mirror == row(ANA_ANYWHERE, "m1")
        assert await it.store.read(FindSession(key=KEY)) is None
        # It stays where it is, and so does its place.
        assert await says(it, "m3", ANA, PER_PEER) == row(ANA_ANYWHERE, "m1")


@check
async def an_older_key_leads_to_it_after_many_moves_and_a_reset(bench: Bench) -> None:
    linked = keys("per-peer", ana=("100",))
    async with bench.opened() as it:
        for number, key_of in enumerate((ISOLATED, PER_PEER, linked, PER_PEER, linked)):
            await says(it, f"m{number}", ANA, key_of)
        await it.store.write(ResetSession(session=session(linked(ANA), "s-new"), now=3.0), same)
        for number, key_of in enumerate((ISOLATED, PER_PEER, linked)):
            settled = await mirrors(it, f"i{number}", key_of(ANA), linked)
            assert settled.mirror == row(linked(ANA), "new", generation=2)


@check
async def an_older_key_of_a_session_that_was_left_leads_to_the_one_of_today(bench: Bench) -> None:
    async with bench.opened() as it:
        await says(it, "m1", ANA, SHARED)
        await says(it, "m2", BEN, SHARED)
        await says(it, "m3", ANA, ISOLATED)
        assert (await mirrors(it, "i1", MAIN, ISOLATED)).mirror == row(KEY, "m3")
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


@check
async def each_person_after_the_first_is_reported_once(bench: Bench) -> None:
    async with bench.opened() as it:
        assert [await joins(it, who) for who in ("d:1", "d:1", "d:2", "d:2", "d:1")] == [0, 0, 2, 0, 0]
    async with bench.opened() as it:
        assert [await joins(it, who) for who in ("d:2", "d:3", "d:3")] == [0, 3, 0]
        assert await joins(it, "d:1", key="ops:main") == 0


@check
async def people_are_counted_by_the_message_that_brings_them(bench: Bench) -> None:
    async with bench.opened() as it:
        found = [
            await says(it, f"m{number}", place, SHARED, participant=Participant(name=place.conversation, today=known))
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
        asked = Participant(name="d:1", today=known)
        await says(it, "m1", ANA, SHARED, participant=asked)
        assert (await says(it, "m2", ANA, ISOLATED)).moved_from == MAIN
        assert [await joins(it, who, key=KEY) for who in ("d:1", "d:2")] == [0, 2]
        assert [await joins(it, who) for who in ("d:2", "d:3")] == [0, 2]
        await it.store.write(ResetSession(session=session(KEY), now=3.0), same)
        assert [await joins(it, who, key=KEY) for who in ("d:2", "d:1")] == [0, 2]
