"""What every fake platform and its adapter must show; and what only one of them does."""

from contextlib import aclosing
from re import fullmatch
from typing import Any, cast

import anyio
import pytest
from msgspec import structs

from tests.support.contract.stage import ALL, LONG, SPOTS, THREADED, Stage, attempt, given_up, play, request
from trunkline.core.errors import Ambiguous, PlaceGone, PlatformError, RateLimited, Refused, UnknownName
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, Idempotency, Receipt
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost
from trunkline.sim.events.world import PeerSaid, PlatformPushed, ThreadOpened
from trunkline.sim.loop import Node

#: threads can be opened on messages
OPENING = ["discord", "slack", "matrix"]
#: a send that names a message as its thread opens it
BY_SENDING = ["slack", "matrix"]


# ---------------------------------------------------------------- sending


@pytest.mark.parametrize(("platform", "spot"), SPOTS)
def test_a_receipt_says_where_the_message_is(platform: str, spot: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}:default/{spot}")
        receipt = await stage.adapter(platform).send(request(place, "hello"))
        assert receipt.address == place
        [accepted] = stage.told(WireAccepted)
        assert (accepted.address, accepted.requested, accepted.text) == (place, place, "hello")
        assert accepted.provider_id == receipt.provider_id

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_two_messages_have_two_ids(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        one = await adapter.send(request(place, key="k1/0"))
        two = await adapter.send(request(place, key="k1/1", chunk=1))
        assert one.provider_id != two.provider_id
        assert [body.chunk for body in stage.told(WireAccepted)] == [0, 1]

    play(test)


@pytest.mark.parametrize("platform", ALL)
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

    play(test, {platform: f"idempotency: {can.value}"})


def test_a_key_belongs_to_its_account() -> None:
    async def test(stage: Stage) -> None:
        for account in ("default", "second"):
            await stage.adapter("discord", account).send(request(stage.place(f"discord:{account}/both")))
        assert [body.address.account for body in stage.told(WireAccepted)] == ["default", "second"]

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_an_unknown_conversation_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        nowhere = Address(channel=platform, account="default", kind=ChatKind.GROUP, conversation="none")
        with pytest.raises(Refused, match="no such conversation"):
            await stage.adapter(platform).send(request(nowhere))
        assert stage.told(WireAccepted) == []
        [refused] = stage.told(WireRefused)
        assert (refused.address, refused.reason) == (nowhere, Reason.REFUSED)

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_an_unknown_thread_of_a_conversation_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}:default/both")
        lost = Address(
            channel=platform, account="default", kind=place.kind, conversation=place.conversation, thread="404"
        )
        assert isinstance(await attempt(stage.adapter(platform), lost), Refused)
        assert stage.told(WireAccepted) == []

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_an_account_that_is_no_member_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}/mine")
        outside = Address(channel=platform, account="second", kind=place.kind, conversation=place.conversation)
        assert isinstance(await attempt(stage.adapter(platform, "second"), outside), Refused)

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_the_direct_conversation_of_one_account_is_not_the_others(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"{platform}:default/@ana")
        other = Address(channel=platform, account="second", kind=place.kind, conversation=place.conversation)
        assert isinstance(await attempt(stage.adapter(platform, "second"), other), Refused)

    play(test)


@pytest.mark.parametrize("platform", THREADED)
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


@pytest.mark.parametrize("platform", ALL)
def test_a_text_over_the_limit_is_refused(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        limit = adapter.capabilities.text_limit
        assert isinstance(await attempt(adapter, place, text="x" * (limit + 1)), Refused)
        assert isinstance(await attempt(adapter, place, text="x" * limit, key="k2/0"), Receipt)

    play(test)


# ---------------------------------------------------------------- what goes wrong on the wire


@pytest.mark.parametrize("platform", ALL)
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


@pytest.mark.parametrize("platform", ALL)
def test_a_lost_response_leaves_the_message_visible(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("lose-response")
        await given_up(stage.adapter(platform), stage.place(f"{platform}/mine"))
        assert len(stage.told(WireAccepted)) == 1
        assert len(stage.told(WireResponseLost)) == 1

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_a_dropped_request_leaves_nothing(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("drop")
        await given_up(stage.adapter(platform), stage.place(f"{platform}/mine"))
        await anyio.sleep(LONG)
        assert stage.told(WireAccepted) == []

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_a_slow_request_arrives_after_its_sender_gave_up(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.fault("slow", **{"for": "20s"})
        await given_up(stage.adapter(platform), stage.place(f"{platform}/mine"))
        assert stage.told(WireAccepted) == []
        await anyio.sleep(LONG)
        assert len(stage.told(WireAccepted)) == 1

    play(test)


@pytest.mark.parametrize("platform", ALL)
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

    play(test, {"telegram": "idempotency: lookup"})


def test_a_send_whose_response_was_lost_is_found() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        stage.fault("lose-response")
        await given_up(adapter, place)
        [accepted] = stage.told(WireAccepted)
        found = await adapter.find(place, "k1/0")
        assert found == Receipt(provider_id=accepted.provider_id, address=place)

    play(test, {"telegram": "idempotency: lookup"})


def test_a_look_up_that_fails_is_an_error_and_no_answer() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        await adapter.send(request(place))
        stage.fault("error", on="lookup")
        with pytest.raises(PlatformError, match="the look-up failed"):
            await adapter.find(place, "k1/0")
        assert await adapter.find(place, "k1/0") is not None

    play(test, {"telegram": "idempotency: lookup"})


# ---------------------------------------------------------------- inbound


@pytest.mark.parametrize(("platform", "spot"), SPOTS)
def test_a_message_comes_with_who_said_what_where(platform: str, spot: str) -> None:
    async def test(stage: Stage) -> None:
        name = f"{platform}:default/{spot}"
        message = stage.say("m1", name, "hello")
        [envelope] = await stage.taken(stage.adapter(platform))
        assert (envelope.address, envelope.text, envelope.message_id) == (stage.place(name), "hello", message)
        assert (envelope.peer.name, envelope.roles) == ("ana", ("dev",))
        assert envelope.guild == ("acme" if platform == "discord" else None)

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_what_is_not_acked_comes_again_to_the_next_connection(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.say("m1", f"{platform}/mine")
        [first] = await stage.taken(stage.adapter(platform))
        [again] = await stage.taken(stage.adapter(platform), ack=True)
        assert (again.message_id, again.address, again.text) == (first.message_id, first.address, first.text)
        assert [body.replay for body in stage.told(PlatformPushed)] == [False, True]
        assert await stage.taken(stage.adapter(platform)) == []

    play(test)


@pytest.mark.parametrize("platform", ALL)
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


@pytest.mark.parametrize("platform", ALL)
def test_what_is_said_while_nobody_is_connected_waits_in_its_order(platform: str) -> None:
    async def test(stage: Stage) -> None:
        for text in ("one", "two", "three"):
            stage.say(text, f"{platform}/mine", text)
            await anyio.sleep(1)
        assert stage.told(PlatformPushed) == []
        found = await stage.taken(stage.adapter(platform))
        assert [envelope.text for envelope in found] == ["one", "two", "three"]

    play(test)


@pytest.mark.parametrize("platform", ALL)
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


@pytest.mark.parametrize("platform", ALL)
def test_each_account_of_a_room_gets_its_own_copy(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.say("m1", f"{platform}:default/both")
        for account in ("default", "second"):
            [envelope] = await stage.taken(stage.adapter(platform, account), ack=True)
            assert envelope.address == stage.place(f"{platform}:{account}/both")
        assert stage.world.platforms[platform].waiting == 0

    play(test)


@pytest.mark.parametrize("platform", ALL)
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

    play(test, {"telegram": f"stable_ids: {str(stable).lower()}"})


# ---------------------------------------------------------------- what only one of them does


@pytest.mark.parametrize("platform", OPENING)
def test_one_thread_is_opened_on_a_message_however_often_it_is_asked_for(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        message = stage.say("m1", f"{platform}/mine")
        one = await adapter.open_thread(place, message, "a title")
        two = await adapter.open_thread(one, message, "another title")
        assert one == two == stage.thread(platform, "mine/m1")
        assert [(body.address, body.name) for body in stage.told(ThreadOpened)] == [(one, "a title")]
        assert (await adapter.send(request(one))).address == one

    play(test)


@pytest.mark.parametrize("platform", OPENING)
def test_threads_on_different_messages_are_opened_side_by_side(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        opened = [await adapter.open_thread(place, stage.say(name, f"{platform}/mine"), name) for name in ("m1", "m2")]
        assert len({thread.lane for thread in opened}) == 2
        assert len(stage.told(ThreadOpened)) == 2

    play(test)


@pytest.mark.parametrize("platform", OPENING)
def test_no_thread_is_opened_where_there_is_no_room(platform: str) -> None:
    async def test(stage: Stage) -> None:
        nowhere = Address(channel=platform, account="default", kind=ChatKind.CHANNEL, conversation="none")
        with pytest.raises(Refused, match="no thread can be opened there"):
            await stage.adapter(platform).open_thread(nowhere, "1", "title")

    play(test)


def test_a_thread_of_discord_is_a_conversation_with_the_id_of_its_message() -> None:
    async def test(stage: Stage) -> None:
        place, message = stage.place("discord/mine"), stage.say("m1", "discord/mine")
        thread = await stage.adapter("discord").open_thread(place, message, "title")
        assert (thread.conversation, thread.parent, thread.thread) == (message, place.conversation, None)

    play(test)


@pytest.mark.parametrize("platform", BY_SENDING)
def test_a_thread_that_belongs_to_its_room_has_the_id_of_its_message(platform: str) -> None:
    async def test(stage: Stage) -> None:
        place, message = stage.place(f"{platform}/mine"), stage.say("m1", f"{platform}/mine")
        thread = await stage.adapter(platform).open_thread(place, message, "title")
        assert thread == structs.replace(place, thread=message)

    play(test)


@pytest.mark.parametrize("platform", BY_SENDING)
def test_a_send_that_names_a_message_as_its_thread_opens_it(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        root = (await adapter.send(request(place))).provider_id
        message = stage.say("m1", f"{platform}/mine")
        for number, on in enumerate((root, message, message)):
            thread = structs.replace(place, thread=on)
            assert (await adapter.send(request(thread, f"text {number}", key=f"k2/{number}"))).address == thread
        opened = [(body.on_message, body.name) for body in stage.told(ThreadOpened)]
        assert opened == [(root, "text 0"), (message, "text 1")]
        assert stage.place(f"{platform}/mine") == place
        assert stage.thread(platform, "mine/m1") == structs.replace(place, thread=message)

    play(test)


@pytest.mark.parametrize("platform", BY_SENDING)
@pytest.mark.parametrize("where", ["both/deploy", "both"])
def test_a_thread_opens_on_messages_of_its_own_room_only_and_not_on_answers(platform: str, where: str) -> None:
    async def test(stage: Stage) -> None:
        room = stage.place(f"{platform}:default/both")
        message = stage.say("m1", f"{platform}:default/{where}")
        elsewhere = room if where == "both/deploy" else stage.place(f"{platform}/mine")
        wrong = structs.replace(elsewhere, thread=message)
        assert isinstance(await attempt(stage.adapter(platform), wrong), Refused)
        assert stage.told(ThreadOpened) == []

    play(test)


def test_telegram_opens_no_threads() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        assert not adapter.capabilities.opens_threads
        with pytest.raises(Refused, match="no thread can be opened there"):
            await adapter.open_thread(place, stage.say("m1", "telegram/mine"), "title")
        assert stage.told(ThreadOpened) == []

    play(test)


def test_a_discord_thread_is_a_conversation_and_others_are_not() -> None:
    async def test(stage: Stage) -> None:
        room, thread = stage.place("discord:default/both"), stage.place("discord:default/both/deploy")
        assert (thread.parent, thread.thread) == (room.conversation, None)
        assert thread.conversation != room.conversation
        for platform in ("telegram", "slack", "matrix"):
            group, topic = stage.place(f"{platform}:default/both"), stage.place(f"{platform}:default/both/deploy")
            assert (topic.conversation, topic.parent) == (group.conversation, None)
            assert topic.thread is not None

    play(test)


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("telegram", ["1", "1", "2"]), ("slack", ["1700000000.000001", "1700000000.000001", "1700000000.000002"])],
)
def test_messages_are_counted_in_each_conversation(platform: str, expected: list[str]) -> None:
    async def test(stage: Stage) -> None:
        spots = [("a", "both"), ("b", "mine"), ("c", "both")]
        assert [stage.say(name, f"{platform}:default/{spot}") for name, spot in spots] == expected

    play(test)


@pytest.mark.parametrize("platform", ["telegram", "slack"])
def test_equal_ids_in_two_conversations_are_two_messages(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter(platform)
        stage.say("a", f"{platform}:default/both", "in both")
        stage.say("b", f"{platform}/mine", "in mine")
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


@pytest.mark.parametrize("platform", ALL)
def test_ids_look_like_those_of_the_real_platform(platform: str) -> None:
    room, person, thread, message = {
        "discord": (r"\d{18}", r"\d{18}", r"\d{18}", r"\d{18}"),
        "telegram": (r"-100\d{10}", r"\d{9}", r"\d{3}", r"\d+"),
        "slack": (r"C0[A-Z0-9]{9}", r"U0[A-Z0-9]{9}", r"16\d{8}\.\d{6}", r"17\d{8}\.\d{6}"),
        "matrix": (r"!\w{10}:example\.org", r"@ana:example\.org", r"\$\w{16}", r"\$\w{16}"),
        "whatsapp": (r"120363\d{12}@g\.us", r"\+1555\d{7}", "", r"3EB0[0-9A-F]{16}"),
        "signal": (r"[\w+/]{43}=", r"\+1555\d{7}", "", r"17\d{11}"),
    }[platform]

    async def test(stage: Stage) -> None:
        if platform in THREADED:
            deploy = stage.place(f"{platform}:default/both/deploy")
            assert fullmatch(thread, deploy.thread or deploy.conversation)
        receipt = await stage.adapter(platform).send(request(stage.place(f"{platform}/mine")))
        assert fullmatch(room, stage.place(f"{platform}/mine").conversation)
        assert fullmatch(person, stage.place(f"{platform}:default/@ana").conversation)
        assert fullmatch(message, receipt.provider_id) and fullmatch(message, stage.say("m1", f"{platform}/mine"))

    play(test)


@pytest.mark.parametrize("platform", ALL)
def test_who_has_an_id_in_the_file_can_be_written_to_by_every_account(platform: str) -> None:
    async def test(stage: Stage) -> None:
        for account in ("default", "second"):
            place = Address(channel=platform, account=account, kind=ChatKind.DIRECT, conversation="U7")
            await stage.adapter(platform, account).send(request(place))
            assert stage.place(f"{platform}:{account}/@ana") == place

    play(test, people=f"{{ana: {{ids: {{{platform}: U7}}}}, ben: {{}}}}")


@pytest.mark.parametrize("platform", ALL)
def test_media_go_along(platform: str) -> None:
    async def test(stage: Stage) -> None:
        media = ("https://example.org/lamp.png",)
        await stage.adapter(platform).send(request(stage.place(f"{platform}/mine"), media=media))
        assert [body.media for body in stage.told(WireAccepted)] == [media]

    play(test)


# ---------------------------------------------------------------- places that are not what they seem


@pytest.mark.parametrize("platform", THREADED)
def test_a_platform_that_misplaces_accepts_for_a_deleted_thread_in_its_room_and_says_so(platform: str) -> None:
    async def test(stage: Stage) -> None:
        room, thread = stage.place(f"{platform}:default/both"), stage.place(f"{platform}:default/both/deploy")
        stage.close(f"{platform}:default/both/deploy", "deleted")
        receipt = await stage.adapter(platform).send(request(thread))
        [accepted] = stage.told(WireAccepted)
        assert (receipt.address, accepted.address, accepted.requested) == (room, room, thread)

    play(test, {platform: "misplaces: true"})


@pytest.mark.parametrize("platform", THREADED)
def test_an_archived_thread_is_gone_everywhere(platform: str) -> None:
    async def test(stage: Stage) -> None:
        stage.close(f"{platform}:default/both/deploy", "archived")
        assert isinstance(
            await attempt(stage.adapter(platform), stage.place(f"{platform}:default/both/deploy")), PlaceGone
        )

    play(test, {platform: "misplaces: true"})


@pytest.mark.parametrize("platform", ALL)
@pytest.mark.parametrize("spot", ["@ana", "mine"])
def test_a_chain_of_replies_is_on_the_message_and_is_no_thread(platform: str, spot: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}:default/{spot}")
        stage.say("m1", f"{platform}:default/{spot}", reply_chain="55")
        [envelope] = await stage.taken(adapter)
        assert (envelope.address, envelope.threaded) == (structs.replace(place, thread="55"), False)
        assert [body.address for body in (*stage.told(PeerSaid), *stage.told(PlatformPushed))] == [place, place]
        assert isinstance(await attempt(adapter, envelope.address), Refused)
        assert isinstance(await attempt(adapter, place), Receipt)
        await adapter.ack(envelope)
        assert stage.world.platforms[platform].waiting == 0

    play(test)


def test_a_message_with_a_chain_can_be_acked_by_its_real_place() -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("telegram")
        stage.say("m1", "telegram:default/@ana", reply_chain="55")
        [envelope] = await stage.taken(adapter)
        await adapter.ack(structs.replace(envelope, address=stage.place("telegram:default/@ana")))
        assert stage.world.platforms["telegram"].waiting == 0

    play(test)


def test_a_thread_is_no_chain_of_replies() -> None:
    async def test(stage: Stage) -> None:
        topic = stage.place("telegram:default/both/deploy")
        with pytest.raises(UnknownName, match="is a thread of both, so it is no mere chain of replies"):
            stage.say("m1", "telegram:default/both", reply_chain=topic.thread)

    play(test)


@pytest.mark.parametrize("platform", BY_SENDING)
def test_a_thread_opens_on_messages_of_its_own_account_s_talk_only(platform: str) -> None:
    async def test(stage: Stage) -> None:
        own, other = (stage.place(f"{platform}:{account}/@ana") for account in ("default", "second"))
        message = stage.say("m1", f"{platform}:default/@ana")
        wrong = structs.replace(other, thread=message)
        assert isinstance(await attempt(stage.adapter(platform, "second"), wrong), Refused)
        right = structs.replace(own, thread=message)
        assert (await stage.adapter(platform).send(request(right))).address == right

    play(test)


def test_the_case_of_ids_means_nothing_on_slack() -> None:
    async def test(stage: Stage) -> None:
        place = stage.place("slack/mine")
        small = structs.replace(place, conversation=place.conversation.lower())
        assert (await stage.adapter("slack").send(request(small))).address == place
        [accepted] = stage.told(WireAccepted)
        assert (accepted.address, accepted.requested) == (place, small)
        assert stage.world.is_at("slack/mine", small)

    play(test)


@pytest.mark.parametrize("spot", ["mine", "@ana", "both/deploy"])
def test_the_case_of_ids_counts_on_matrix(spot: str) -> None:
    async def test(stage: Stage) -> None:
        place = stage.place(f"matrix:default/{spot}")
        swapped = {name: (getattr(place, name) or "").swapcase() or None for name in ("conversation", "thread")}
        for name, text in swapped.items():
            if text is not None:
                assert isinstance(
                    await attempt(stage.adapter("matrix"), structs.replace(place, **{name: text})), Refused
                )
        assert stage.told(WireAccepted) == []

    play(test)


def test_the_talk_with_a_slack_user_is_reached_by_its_channel_id_too() -> None:
    async def test(stage: Stage) -> None:
        for account, alias in (("default", "D7ANA"), ("second", "D7ANASECOND")):
            place = stage.place(f"slack:{account}/@ana")
            other = structs.replace(place, kind=ChatKind.CHANNEL, conversation=alias)
            assert (await stage.adapter("slack", account).send(request(other))).address == place
            thread = structs.replace(other, thread=stage.say(f"of-{account}", f"slack:{account}/@ana"))
            opened = await stage.adapter("slack", account).send(request(thread, key="k2/0"))
            assert opened.address == structs.replace(place, thread=thread.thread)
        assert [body.address.conversation for body in stage.told(WireAccepted)] == ["U7ANA"] * 4
        wrong = Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="D7ANASECOND")
        assert isinstance(await attempt(stage.adapter("slack"), wrong), Refused)

    play(test, people="{ana: {ids: {slack: U7ANA}}}")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("user:U7ANA", "user:U7ANA"),
        ("u7ana", "user:U7ANA"),
        ("@ana", "user:U7ANA"),
        ("<@U7ANA>", "user:U7ANA"),
        ("D7ANA", "user:U7ANA"),
        ("slack:channel:d7ana", "user:U7ANA"),
        ("#mine", "channel:C7MINE"),
        ("Channel:c7mine", "channel:C7MINE"),
        ("<#C7MINE|somewhere>", "channel:C7MINE"),
        ("mine", None),
        ("@carl", None),
        ("C0NOWHERE", None),
        ("", None),
    ],
)
def test_slack_has_a_directory(text: str, found: str | None) -> None:
    async def test(stage: Stage) -> None:
        resolved = await stage.adapter("slack").resolve_target(text)
        assert (resolved and resolved.target) == found
        if resolved is not None and found is not None:
            assert resolved.kind is (ChatKind.DIRECT if found.startswith("user:") else ChatKind.CHANNEL)

    own_id = ("mine: {accounts", "mine: {id: C7MINE, accounts")
    play(test, people="{ana: {ids: {slack: U7ANA}}}", replace=own_id)


def test_slack_s_directory_shows_an_account_what_it_is_a_member_of() -> None:
    async def test(stage: Stage) -> None:
        second = stage.adapter("slack", "second")
        assert await second.resolve_target("#mine") is None
        assert await second.resolve_target(stage.place("slack/mine").conversation) is None
        assert await second.resolve_target("#both") is not None
        assert await second.resolve_target("#both/deploy") is None

    play(test)


@pytest.mark.parametrize("platform", ["discord", "telegram", "matrix", "whatsapp", "signal"])
def test_the_others_have_no_directory(platform: str) -> None:
    async def test(stage: Stage) -> None:
        assert await stage.adapter(platform).resolve_target(stage.place(f"{platform}/mine").conversation) is None

    play(test)


def test_names_become_ids_of_matrix_without_meeting() -> None:
    async def test(stage: Stage) -> None:
        ids = [stage.place(f"matrix:default/@{name}").conversation for name in ("Ana", "ana", "_ana", "Åsa k")]
        assert ids == [f"@{local}:example.org" for local in ("_ana", "ana", "=5fana", "=c3=85sa=20k")]

    play(test, people='[Ana, ana, _ana, "Åsa k"]')
