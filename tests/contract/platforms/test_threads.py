"""Threads that a fake platform opens for the gateway, their archives, and wrapped adapters."""

import anyio
import pytest
from msgspec import structs

from tests.support.contract.stage import ALL, THREADED, Stage, play, request
from tests.support.contract.thread_cases import refused, webhook
from tests.support.for_each import for_each
from trunkline.core.bindings.port import BindsConversations
from trunkline.core.errors import PlaceArchived, PlaceGone, PlatformError, Refused, UnknownName
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.sim.bugs.wrappers import AdapterWrapper
from trunkline.sim.events.world import PeerSaid, ThreadOpened, ThreadReopened, WorldPlace

#: conversations can be bound
BINDING = ["discord", "telegram"]


# ---------------------------------------------------------------- threads for the gateway


@for_each("platform", ALL)
def test_only_some_platforms_bind_conversations(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        assert isinstance(adapter, BindsConversations)
        both = (Placement.CURRENT, Placement.CHILD)
        only = (Placement.CURRENT,) if platform == "slack" else ()
        assert adapter.placements == (both if platform in BINDING else only)
        if platform not in BINDING:
            assert isinstance(await refused(adapter.open_child(stage.place(f"{platform}/both"), "", "")), Refused)
            assert isinstance(await refused(adapter.reopen(stage.place(f"{platform}/both"))), PlaceGone)

    play(test)


@pytest.mark.parametrize("platform", BINDING)
@pytest.mark.parametrize("spot", ["both", "both/deploy"])
def test_a_child_thread_is_called_by_what_it_is_for(platform: str, spot: str) -> None:
    async def test(stage: Stage) -> None:
        place = await stage.adapter(platform).open_child(stage.place(f"{platform}/{spot}"), "count lamps", "m1.hand1")
        assert place == stage.thread(platform, "both/m1.hand1")
        assert [(body.name, body.under) for body in stage.recorded(WorldPlace)][-2:] == [("both/m1.hand1", "both")] * 2
        [opened] = stage.recorded(ThreadOpened)
        assert (opened.address, opened.on_message) == (place, None)
        assert opened.name.startswith("count lamps")
        receipt = await stage.adapter(platform).send(request(place))
        assert receipt.address == place

    play(test)


@pytest.mark.parametrize("platform", BINDING)
def test_a_key_has_one_thread(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, room = stage.adapter(platform), stage.place(f"{platform}/both")
        found = [await adapter.open_child(room, "lamps", key) for key in ("m1.hand1", "m1.hand1", "m1.hand2")]
        assert found[0] == found[1] != found[2]
        assert len(stage.recorded(ThreadOpened)) == 2

    play(test)


def test_a_hundred_threads_have_a_hundred_ids() -> None:
    async def test(stage: Stage) -> None:
        adapter, room = stage.adapter("telegram"), stage.place("telegram/both")
        found = {await adapter.open_child(room, "lamps", f"m{number}.hand1") for number in range(100)}
        assert len(found) == 100

    play(test)


@pytest.mark.parametrize("platform", BINDING)
def test_there_are_no_threads_where_there_is_no_room(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, room = stage.adapter(platform), stage.place(f"{platform}/both")
        lost = structs.replace(room, conversation=f"{room.conversation}404")
        strange = structs.replace(stage.place(f"{platform}/mine"), account="second")
        for account, place in (("default", stage.place(f"{platform}/@ana")), ("default", lost), ("second", strange)):
            error = await refused(stage.adapter(platform, account).open_child(place, "lamps", "m1.hand1"))
            assert isinstance(error, Refused)
        assert stage.recorded(ThreadOpened) == []
        assert adapter.account == "default"

    play(test)


@for_each("platform", BINDING)
@for_each("kind", ["error", "refuse", "drop", "slow", "lose-response"])
def test_the_opening_of_a_thread_can_fail(platform: str, kind: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, room = stage.adapter(platform), stage.place(f"{platform}/both")
        stage.fault(kind, "thread", **{"in": f"{platform}/both", "for": "5s", "nth": 2})
        assert await adapter.open_child(room, "lamps", "m0.hand1")
        began, found = stage.world.now(), None
        failed: type[Exception] | None = None
        try:
            with anyio.fail_after(30.0):
                found = await adapter.open_child(stage.place(f"{platform}/both/deploy"), "lamps", "m1.hand1")
        except (PlatformError, TimeoutError) as error:
            failed = type(error)
        assert failed is {"error": PlatformError, "refuse": Refused, "slow": None}.get(kind, TimeoutError)
        assert (found is not None) is (kind == "slow")
        if kind == "slow":
            assert stage.world.now() - began > 5.0
        opened = 2 if kind in ("slow", "lose-response") else 1
        assert len(stage.recorded(ThreadOpened)) == opened
        again = await adapter.open_child(room, "lamps", "m1.hand1")
        assert found in (None, again)
        # Discord lists its threads; Telegram does not list topics.
        twice = kind == "lose-response" and platform == "telegram"
        assert len(stage.recorded(ThreadOpened)) == (3 if twice else 2)
        assert again == stage.thread(platform, "both/m1.hand1+2" if twice else "both/m1.hand1")

    play(test)


@pytest.mark.parametrize("platform", ["discord", "slack", "matrix"])
def test_the_same_faults_strike_threads_on_messages(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, room = stage.adapter(platform), stage.place(f"{platform}/both")
        message = stage.say("m1", f"{platform}/both")
        stage.fault("error", "thread", **{"in": f"{platform}/mine"})
        stage.fault("refuse", "thread", **{"in": f"{platform}/both"})
        assert isinstance(await refused(adapter.open_thread(room, message, "lamps")), Refused)
        assert stage.recorded(ThreadOpened) == []
        assert await adapter.open_thread(room, message, "lamps") == stage.thread(platform, "both/m1")

    play(test)


# ---------------------------------------------------------------- archives


@pytest.mark.parametrize("platform", BINDING)
def test_the_state_of_a_thread_is_known(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, thread = stage.adapter(platform), stage.place(f"{platform}/both/deploy")
        lost = stage.place(f"{platform}/mine")
        assert await adapter.inspect(thread) is PlaceState.OPEN
        assert await adapter.inspect(stage.place(f"{platform}/both")) is PlaceState.OPEN
        stage.close(f"{platform}/both/deploy")
        assert await adapter.inspect(thread) is PlaceState.ARCHIVED
        stage.close(f"{platform}/both/deploy", "deleted")
        assert await adapter.inspect(thread) is PlaceState.GONE
        assert await stage.adapter(platform, "second").inspect(structs.replace(lost, account="second")) is (
            PlaceState.GONE
        )

    play(test)


@pytest.mark.parametrize("platform", BINDING)
def test_what_is_sent_to_an_archived_thread_is_refused_until_it_is_reopened(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, thread = stage.adapter(platform), stage.place(f"{platform}/both/deploy")
        stage.close(f"{platform}/both/deploy")
        assert isinstance(await refused(adapter.send(request(thread))), PlaceArchived)
        await adapter.reopen(thread)
        await adapter.reopen(thread)
        assert [body.address for body in stage.recorded(ThreadReopened)] == [thread]
        await adapter.send(request(thread, attempt=2))
        stage.close(f"{platform}/both/deploy", "deleted")
        error = await refused(adapter.send(request(thread, key="k2/0")))
        assert isinstance(error, PlaceGone)
        assert not isinstance(error, PlaceArchived)
        assert isinstance(await refused(adapter.reopen(thread)), PlaceGone)

    play(test)


@pytest.mark.parametrize("platform", BINDING)
def test_a_locked_thread_stays_archived(platform: str) -> None:
    async def test(stage: Stage) -> None:
        own = stage.world.platforms[platform]
        room = own.room_named("default", "both/deploy")
        assert room is not None
        own.threads.close(room, "archived", None, locked=True)
        error = await refused(stage.adapter(platform).reopen(stage.place(f"{platform}/both/deploy")))
        assert isinstance(error, PlaceGone)
        with pytest.raises(UnknownName, match="archived and locked"):
            stage.say("m1", f"{platform}/both/deploy")
        assert stage.recorded(ThreadReopened) == []
        own.threads.reopen(room)
        stage.say("m2", f"{platform}/both/deploy")
        assert len(stage.recorded(PeerSaid)) == 1

    play(test)


@pytest.mark.parametrize("platform", THREADED)
def test_a_person_who_posts_reopens_a_thread(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.close(f"{platform}/both/deploy")
        stage.say("m1", f"{platform}/both/deploy")
        stage.say("m2", f"{platform}/both/deploy")
        assert [body.address for body in stage.recorded(ThreadReopened)] == [stage.place(f"{platform}/both/deploy")]
        taken = await stage.taken(stage.adapter(platform), ack=True)
        assert len(taken) == 2
        stage.close(f"{platform}/both/deploy", "deleted")
        with pytest.raises(UnknownName, match="deleted"):
            stage.say("m3", f"{platform}/both/deploy")

    play(test)


# ---------------------------------------------------------------- wrappers


def test_a_wrapped_adapter_binds_as_the_inner_one() -> None:
    async def test(stage: Stage) -> None:
        adapter, room = AdapterWrapper(stage.adapter("discord")), stage.place("discord/both")
        assert isinstance(adapter, BindsConversations)
        assert adapter.placements == (Placement.CURRENT, Placement.CHILD)
        place = await adapter.open_child(room, "lamps", "m1.hand1")
        assert await adapter.inspect(place) is PlaceState.OPEN
        await adapter.reopen(place)
        assert await adapter.identity(place, "clerk") == await webhook(stage, place)
        assert AdapterWrapper(stage.adapter("matrix")).placements == ()

    play(test)
