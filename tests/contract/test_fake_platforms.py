"""What every fake platform and its adapter must show; and what only one of them does."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, cast

import anyio
import pytest

from core.errors import Ambiguous, PlaceGone, PlatformError, RateLimited, Refused
from core.events.bodies import (
    Body,
    PlatformPushed,
    ThreadOpened,
    WireAccepted,
    WireDeduplicated,
    WireLookedUp,
    WireRefused,
    WireResponseLost,
)
from core.reasons import Reason
from core.values import Address, ChatKind, Envelope, Idempotency, Receipt
from sim.loop import Node, SimLoop, run
from sim.platforms import FakeAdapter
from sim.scenario import load_text
from sim.scenario.model import Fault
from sim.world import World
from tests.factories import request

SCENARIO = """
scenario: 1
title: two platforms and nobody in a hurry
world:
  people: [ana, ben]
  discord:
    guild: acme
    accounts: {default: {}, second: {}}
    rooms:
      both: {threads: [deploy]}
      mine: {accounts: [default]}
    @DISCORD@
  telegram:
    accounts: {default: {}, second: {}}
    rooms:
      both: {threads: [deploy]}
      mine: {accounts: [default]}
    @TELEGRAM@
cast:
  agents:
    main: [{do: [{silent: true}]}]
script:
  - {at: 0s, as: ana, in: telegram/mine, say: "not played"}
"""
BOTH = ["discord", "telegram"]
#: longer than any request takes by itself
LONG = 60.0


class Stage:
    """A world without a gateway: the test is the process."""

    def __init__(self, world: World) -> None:
        self.world = world

    def place(self, name: str) -> Address:
        return self.world.address(name)

    def adapter(self, platform: str, account: str = "default", node: Node | None = None) -> FakeAdapter:
        return FakeAdapter(self.world.platforms[platform], account, node or Node("gateway", 1), self.world)

    def say(self, name: str, place: str, text: str = "hi") -> str:
        """A person posts a message; its id on the platform."""
        ref = self.world.file.resolve(place)
        platform, spot = self.world.platforms[ref.platform], self.world.room(ref)
        message = platform.message_id(name, spot)
        platform.say(name, self.world.peer(ref.platform, "ana"), ("dev",), spot, message, text)
        return message

    def fault(self, do: str, on: str = "send", **fields: Any) -> None:
        """One thing goes wrong next."""
        self.world.faults.arm(Fault.model_validate({"on": on, "do": do, **fields}))

    def close(self, place: str, how: str = "archived") -> None:
        ref = self.world.file.resolve(place)
        self.world.platforms[ref.platform].close_room(self.world.room(ref), how, None)

    def told(self, kind: type[Body]) -> list[Any]:
        """What the world recorded of a kind."""
        return [event.body for event in self.world.log.events if isinstance(event.body, kind)]

    async def taken(self, adapter: FakeAdapter, *, ack: bool = False) -> list[Envelope]:
        """What a new connection brings before nothing more comes."""
        found: list[Envelope] = []
        async with adapter.connect() as stream, aclosing(cast("Any", stream)):
            with anyio.move_on_after(LONG):
                async for envelope in stream:
                    found.append(envelope)
                    if ack:
                        await adapter.ack(envelope)
        return found


Test = Callable[[Stage], Awaitable[None]]


def play(test: Test, *, discord: str = "", telegram: str = "") -> None:
    """Run a test in a new world, in virtual time."""
    file = load_text(SCENARIO.replace("@DISCORD@", discord).replace("@TELEGRAM@", telegram))

    async def main(loop: SimLoop) -> None:
        world = World(file, loop, seed=1, bugs=())
        world.build()
        try:
            await test(Stage(world))
        finally:
            world.disk.discard()

    run(main)


async def given_up(adapter: FakeAdapter, place: Address, key: str = "k1/0") -> None:
    """Send and stop waiting after a while."""
    with pytest.raises(TimeoutError):
        with anyio.fail_after(10.0):
            await adapter.send(request(place, key=key))


async def attempt(adapter: FakeAdapter, place: Address, **fields: Any) -> Receipt | PlatformError:
    try:
        return await adapter.send(request(place, **fields))
    except PlatformError as error:
        return error


# ---------------------------------------------------------------- sending


@pytest.mark.parametrize("platform", BOTH)
@pytest.mark.parametrize("spot", ["mine", "both/deploy", "@ana"])
def test_a_receipt_says_where_the_message_is(platform: str, spot: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}:default/{spot}")
        receipt = await stage.adapter(platform).send(request(place, "hello"))
        assert receipt.address == place
        [accepted] = stage.told(WireAccepted)
        assert (accepted.address, accepted.requested, accepted.text) == (place, place, "hello")
        assert accepted.provider_id == receipt.provider_id

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_two_messages_have_two_ids(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        one = await adapter.send(request(place, key="k1/0"))
        two = await adapter.send(request(place, key="k1/1", chunk=1))
        assert one.provider_id != two.provider_id
        assert [body.chunk for body in stage.told(WireAccepted)] == [0, 1]

    play(test)


@pytest.mark.parametrize("platform", BOTH)
@pytest.mark.parametrize("can", Idempotency)
def test_the_same_key_is_one_message_where_the_platform_knows_keys(platform: str, can: Idempotency) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        assert adapter.capabilities.idempotency is can
        one = await adapter.send(request(place))
        two = await adapter.send(request(place, attempt=2))
        known = can is Idempotency.KEY
        assert (one == two) is known
        assert len(stage.told(WireAccepted)) == (1 if known else 2)
        assert [body.provider_id for body in stage.told(WireDeduplicated)] == ([one.provider_id] if known else [])

    play(test, **{platform: f"idempotency: {can.value}"})


def test_a_key_belongs_to_its_account() -> None:
    async def test(stage: Stage) -> None:
        for account in ("default", "second"):
            await stage.adapter("discord", account).send(request(stage.place(f"discord:{account}/both")))
        assert [body.address.account for body in stage.told(WireAccepted)] == ["default", "second"]

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_an_unknown_conversation_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        nowhere = Address(channel=platform, account="default", kind=ChatKind.GROUP, conversation="none")
        with pytest.raises(Refused, match="no such conversation"):
            await stage.adapter(platform).send(request(nowhere))
        assert stage.told(WireAccepted) == []
        [refused] = stage.told(WireRefused)
        assert (refused.address, refused.reason) == (nowhere, Reason.REFUSED)

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_an_unknown_thread_of_a_conversation_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}:default/both")
        lost = Address(
            channel=platform, account="default", kind=place.kind, conversation=place.conversation, thread="404"
        )
        assert isinstance(await attempt(stage.adapter(platform), lost), Refused)
        assert stage.told(WireAccepted) == []

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_an_account_that_is_no_member_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}/mine")
        outside = Address(channel=platform, account="second", kind=place.kind, conversation=place.conversation)
        assert isinstance(await attempt(stage.adapter(platform, "second"), outside), Refused)

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_the_direct_conversation_of_one_account_is_not_the_others(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}:default/@ana")
        other = Address(channel=platform, account="second", kind=place.kind, conversation=place.conversation)
        assert isinstance(await attempt(stage.adapter(platform, "second"), other), Refused)

    play(test)


@pytest.mark.parametrize("platform", BOTH)
@pytest.mark.parametrize("how", ["archived", "deleted"])
def test_a_closed_thread_is_gone_and_its_room_is_not(platform: str, how: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        stage.close(f"{platform}:default/both/deploy", how)
        with pytest.raises(PlaceGone, match=f"both/deploy is {how}"):
            await adapter.send(request(stage.place(f"{platform}:default/both/deploy")))
        assert [body.reason for body in stage.told(WireRefused)] == [Reason.PLACE_GONE]
        await adapter.send(request(stage.place(f"{platform}:default/both")))
        assert len(stage.told(WireAccepted)) == 1

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_a_text_over_the_limit_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        limit = adapter.capabilities.text_limit
        assert isinstance(await attempt(adapter, place, text="x" * (limit + 1)), Refused)
        assert isinstance(await attempt(adapter, place, text="x" * limit, key="k2/0"), Receipt)

    play(test)


# ---------------------------------------------------------------- what goes wrong on the wire


@pytest.mark.parametrize("platform", BOTH)
@pytest.mark.parametrize(
    ("do", "error", "reason"),
    [
        ("refuse", Refused, Reason.REFUSED),
        ("rate-limit", RateLimited, Reason.RATE_LIMITED),
        ("error", PlatformError, Reason.PLATFORM_ERROR),
    ],
)
def test_a_refusal_is_told_by_its_class_and_nothing_is_visible(
    platform: str, do: str, error: type[PlatformError], reason: Reason
) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        stage.fault(do, **{"for": "7s"} if do == "rate-limit" else {})
        with pytest.raises(PlatformError) as refused:
            await adapter.send(request(place))
        assert type(refused.value) is error
        assert not isinstance(refused.value, Ambiguous)
        assert refused.value.retry_after == (7.0 if do == "rate-limit" else None)
        assert stage.told(WireAccepted) == []
        assert [body.reason for body in stage.told(WireRefused)] == [reason]
        await adapter.send(request(place, attempt=2))
        assert len(stage.told(WireAccepted)) == 1

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_a_lost_response_leaves_the_message_visible(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("lose-response")
        await given_up(stage.adapter(platform), stage.place(f"{platform}/mine"))
        assert len(stage.told(WireAccepted)) == 1
        assert len(stage.told(WireResponseLost)) == 1

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_a_dropped_request_leaves_nothing(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("drop")
        await given_up(stage.adapter(platform), stage.place(f"{platform}/mine"))
        await anyio.sleep(LONG)
        assert stage.told(WireAccepted) == []

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_a_slow_request_arrives_after_its_sender_gave_up(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("slow", **{"for": "20s"})
        await given_up(stage.adapter(platform), stage.place(f"{platform}/mine"))
        assert stage.told(WireAccepted) == []
        await anyio.sleep(LONG)
        assert len(stage.told(WireAccepted)) == 1

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_a_request_on_the_wire_outlives_its_process(platform: str) -> None:
    async def test(stage: Stage) -> None:
        node = Node("gateway", 1)
        adapter, place = stage.adapter(platform, node=node), stage.place(f"{platform}/mine")
        with anyio.move_on_after(0.001):
            await adapter.send(request(place))
        node.kill()
        assert stage.told(WireAccepted) == []
        await anyio.sleep(LONG)
        assert len(stage.told(WireAccepted)) == 1

    play(test)


# ---------------------------------------------------------------- look-up


def test_a_send_is_found_by_its_key_once_it_was_accepted() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        assert await adapter.find(place, "k1/0") is None
        receipt = await adapter.send(request(place))
        assert await adapter.find(place, "k1/0") == receipt
        assert await adapter.find(place, "k1/1") is None
        assert [body.found for body in stage.told(WireLookedUp)] == [False, True, False]

    play(test, telegram="idempotency: lookup")


def test_a_send_whose_response_was_lost_is_found() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        stage.fault("lose-response")
        await given_up(adapter, place)
        [accepted] = stage.told(WireAccepted)
        found = await adapter.find(place, "k1/0")
        assert found == Receipt(provider_id=accepted.provider_id, address=place)

    play(test, telegram="idempotency: lookup")


def test_a_look_up_that_fails_is_an_error_and_no_answer() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        await adapter.send(request(place))
        stage.fault("error", on="lookup")
        with pytest.raises(PlatformError, match="the look-up failed"):
            await adapter.find(place, "k1/0")
        assert await adapter.find(place, "k1/0") is not None

    play(test, telegram="idempotency: lookup")


# ---------------------------------------------------------------- inbound


@pytest.mark.parametrize("platform", BOTH)
@pytest.mark.parametrize("spot", ["mine", "both/deploy", "@ana"])
def test_a_message_comes_with_who_said_what_where(platform: str, spot: str) -> None:
    async def test(stage: Stage) -> None:
        name = f"{platform}:default/{spot}"
        message = stage.say("m1", name, "hello")
        [envelope] = await stage.taken(stage.adapter(platform))
        assert (envelope.address, envelope.text, envelope.message_id) == (stage.place(name), "hello", message)
        assert (envelope.peer.name, envelope.roles) == ("ana", ("dev",))
        assert envelope.guild == ("acme" if platform == "discord" else None)

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_what_is_not_acked_comes_again_to_the_next_connection(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.say("m1", f"{platform}/mine")
        [first] = await stage.taken(stage.adapter(platform))
        [again] = await stage.taken(stage.adapter(platform), ack=True)
        assert (again.message_id, again.address, again.text) == (first.message_id, first.address, first.text)
        assert [body.replay for body in stage.told(PlatformPushed)] == [False, True]
        assert await stage.taken(stage.adapter(platform)) == []

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_an_ack_is_for_one_message(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        stage.say("m1", f"{platform}/mine", "one")
        await anyio.sleep(1)
        stage.say("m2", f"{platform}/mine", "two")
        one, _ = await stage.taken(adapter)
        await adapter.ack(one)
        assert [envelope.text for envelope in await stage.taken(adapter)] == ["two"]

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_what_is_said_while_nobody_is_connected_waits_in_its_order(platform: str) -> None:
    async def test(stage: Stage) -> None:
        for text in ("one", "two", "three"):
            stage.say(text, f"{platform}/mine", text)
            await anyio.sleep(1)
        assert stage.told(PlatformPushed) == []
        found = await stage.taken(stage.adapter(platform))
        assert [envelope.text for envelope in found] == ["one", "two", "three"]

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_a_dead_process_is_given_nothing(platform: str) -> None:
    async def test(stage: Stage) -> None:
        node = Node("gateway", 1)
        assert await stage.taken(stage.adapter(platform, node=node)) == []
        node.kill()
        stage.say("m1", f"{platform}/mine")
        await anyio.sleep(LONG)
        assert stage.told(PlatformPushed) == []
        assert len(await stage.taken(stage.adapter(platform, node=Node("gateway", 2)))) == 1

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_each_account_of_a_room_gets_its_own_copy(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.say("m1", f"{platform}:default/both")
        for account in ("default", "second"):
            [envelope] = await stage.taken(stage.adapter(platform, account), ack=True)
            assert envelope.address == stage.place(f"{platform}:{account}/both")
        assert stage.world.platforms[platform].waiting == 0

    play(test)


@pytest.mark.parametrize("platform", BOTH)
def test_a_direct_message_is_for_one_account(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.say("m1", f"{platform}:second/@ana")
        assert await stage.taken(stage.adapter(platform, "default")) == []
        assert len(await stage.taken(stage.adapter(platform, "second"))) == 1

    play(test)


@pytest.mark.parametrize("stable", [True, False])
def test_a_replay_comes_under_its_old_id_only_where_ids_are_stable(stable: bool) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("telegram")
        assert adapter.capabilities.stable_ids is stable
        message = stage.say("m1", "telegram/mine")
        async with adapter.connect() as stream, aclosing(cast("Any", stream)):
            await adapter.ack(await anext(stream))
            stage.world.platforms["telegram"].replay(("m1",), None)
            again = await anext(stream)
            await adapter.ack(again)
        assert (again.message_id == message) is stable
        assert [(body.original_id, body.replay) for body in stage.told(PlatformPushed)] == [
            (message, False),
            (message, True),
        ]
        assert stage.world.platforms["telegram"].waiting == 0

    play(test, telegram=f"stable_ids: {str(stable).lower()}")


# ---------------------------------------------------------------- what only one of them does


def test_discord_opens_one_thread_on_a_message_however_often_it_is_asked() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/mine")
        message = stage.say("m1", "discord/mine")
        one = await adapter.open_thread(place, message, "a title")
        two = await adapter.open_thread(place, message, "another title")
        assert one == two
        assert (one.conversation, one.parent, one.thread) == (message, place.conversation, None)
        assert [(body.address, body.name) for body in stage.told(ThreadOpened)] == [(one, "a title")]
        assert (await adapter.send(request(one))).address == one

    play(test)


def test_discord_opens_threads_on_different_messages_side_by_side() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("discord"), stage.place("discord/mine")
        opened = [await adapter.open_thread(place, stage.say(name, "discord/mine"), name) for name in ("m1", "m2")]
        assert len({thread.conversation for thread in opened}) == 2
        assert len(stage.told(ThreadOpened)) == 2

    play(test)


def test_discord_opens_no_thread_where_there_is_no_room() -> None:
    async def test(stage: Stage) -> None:
        nowhere = Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation="none")
        with pytest.raises(Refused, match="no thread can be opened there"):
            await stage.adapter("discord").open_thread(nowhere, "1", "title")

    play(test)


def test_telegram_opens_no_threads() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        assert not adapter.capabilities.opens_threads
        with pytest.raises(Refused, match="no thread can be opened there"):
            await adapter.open_thread(place, stage.say("m1", "telegram/mine"), "title")
        assert stage.told(ThreadOpened) == []

    play(test)


def test_a_discord_thread_is_a_conversation_and_a_telegram_topic_is_not() -> None:
    async def test(stage: Stage) -> None:
        room, thread = stage.place("discord:default/both"), stage.place("discord:default/both/deploy")
        assert (thread.parent, thread.thread) == (room.conversation, None)
        assert thread.conversation != room.conversation
        group, topic = stage.place("telegram:default/both"), stage.place("telegram:default/both/deploy")
        assert (topic.conversation, topic.parent) == (group.conversation, None)
        assert topic.thread is not None

    play(test)


def test_telegram_counts_messages_in_each_chat() -> None:
    async def test(stage: Stage) -> None:
        ids = [
            stage.say(name, f"telegram:default/{spot}") for name, spot in [("a", "both"), ("b", "mine"), ("c", "both")]
        ]
        assert ids == ["1", "1", "2"]

    play(test)


def test_equal_ids_in_two_telegram_chats_are_two_messages() -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("telegram")
        stage.say("a", "telegram:default/both", "in both")
        stage.say("b", "telegram/mine", "in mine")
        first = next(e for e in await stage.taken(adapter) if e.text == "in both")
        await adapter.ack(first)
        assert [envelope.text for envelope in await stage.taken(adapter)] == ["in mine"]

    play(test)


def test_discord_ids_are_unique_over_all_rooms() -> None:
    async def test(stage: Stage) -> None:
        ids = [stage.say(f"m{n}", f"discord:default/{spot}") for n, spot in enumerate(["both", "mine", "both", "@ana"])]
        assert len(set(ids)) == 4
        assert all(len(number) == 18 and number.isdigit() for number in ids)

    play(test)
