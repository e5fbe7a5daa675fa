"""Places that are not what they seem: misplaced sends, archived threads, reply chains, two ids of a conversation."""

import pytest
from msgspec import structs

from tests.support.contract.platform_cases import BY_SENDING
from tests.support.contract.stage import ALL, THREADED, Stage, attempt, play, request
from tests.support.for_each import for_each
from trunkline.core.errors import PlaceGone, Refused, UnknownName
from trunkline.core.values import Address, ChatKind, Receipt
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, PlatformPushed


@pytest.mark.parametrize("platform", THREADED)
def test_a_platform_that_misplaces_accepts_for_a_deleted_thread_in_its_room_and_says_so(platform: str) -> None:
    async def test(stage: Stage) -> None:
        room, thread = stage.place(f"{platform}:default/both"), stage.place(f"{platform}:default/both/deploy")
        stage.close(f"{platform}:default/both/deploy", "deleted")
        receipt = await stage.adapter(platform).send(request(thread))
        [accepted] = stage.recorded(WireAccepted)
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


@for_each("platform", ALL)
@for_each("spot", ["@ana", "mine"])
def test_a_chain_of_replies_is_on_the_message_and_is_no_thread(platform: str, spot: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}:default/{spot}")
        stage.say("m1", f"{platform}:default/{spot}", reply_chain="55")
        [envelope] = await stage.taken(adapter)
        assert (envelope.address, envelope.threaded) == (structs.replace(place, thread="55"), False)
        assert [body.address for body in (*stage.recorded(PeerSaid), *stage.recorded(PlatformPushed))] == [place, place]
        assert isinstance(await attempt(adapter, envelope.address), Refused)
        assert isinstance(await attempt(adapter, place), Receipt)
        await adapter.ack(envelope)
        assert stage.world.platforms[platform].pushes.waiting == 0

    play(test)


def test_a_message_with_a_chain_can_be_acked_by_its_real_place() -> None:
    async def test(stage: Stage) -> None:
        adapter = stage.adapter("telegram")
        stage.say("m1", "telegram:default/@ana", reply_chain="55")
        [envelope] = await stage.taken(adapter)
        await adapter.ack(structs.replace(envelope, address=stage.place("telegram:default/@ana")))
        assert stage.world.platforms["telegram"].pushes.waiting == 0

    play(test)


def test_a_thread_is_no_chain_of_replies() -> None:
    async def test(stage: Stage) -> None:
        topic = stage.place("telegram:default/both/deploy")
        with pytest.raises(UnknownName, match="is a thread of both, so it cannot be a reply chain"):
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
        [accepted] = stage.recorded(WireAccepted)
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
        assert stage.recorded(WireAccepted) == []

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
        assert [body.address.conversation for body in stage.recorded(WireAccepted)] == ["U7ANA"] * 4
        wrong = Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="D7ANASECOND")
        assert isinstance(await attempt(stage.adapter("slack"), wrong), Refused)

    play(test, people="{ana: {ids: {slack: U7ANA}}}")


@for_each(
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
        ("mine", "channel:C7MINE"),
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
