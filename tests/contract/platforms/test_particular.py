"""What only some of the fake platforms do."""

from re import fullmatch

import pytest
from msgspec import structs

from tests.support.contract.platform_cases import BY_SENDING
from tests.support.contract.stage import ALL, THREADED, Stage, attempt, play, request
from tests.support.for_each import for_each
from trunkline.core.errors import Refused
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import ThreadOpened

#: threads can be opened on messages
OPENING = ["discord", "slack", "matrix"]


@pytest.mark.parametrize("platform", OPENING)
def test_one_thread_is_opened_on_a_message_however_often_it_is_asked_for(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        message = stage.say("m1", f"{platform}/mine")
        one = await adapter.open_thread(place, message, "a title")
        two = await adapter.open_thread(one, message, "another title")
        assert one == two == stage.thread(platform, "mine/m1")
        assert [(body.address, body.name) for body in stage.recorded(ThreadOpened)] == [(one, "a title")]
        assert (await adapter.send(request(one))).address == one

    play(test)


@pytest.mark.parametrize("platform", OPENING)
def test_threads_on_different_messages_are_opened_side_by_side(platform: str) -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter(platform), stage.place(f"{platform}/mine")
        opened = [await adapter.open_thread(place, stage.say(name, f"{platform}/mine"), name) for name in ("m1", "m2")]
        assert len({thread.lane for thread in opened}) == 2
        assert len(stage.recorded(ThreadOpened)) == 2

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
        opened = [(body.on_message, body.name) for body in stage.recorded(ThreadOpened)]
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
        assert stage.recorded(ThreadOpened) == []

    play(test)


def test_telegram_opens_no_threads() -> None:
    async def test(stage: Stage) -> None:
        adapter, place = stage.adapter("telegram"), stage.place("telegram/mine")
        assert not adapter.capabilities.opens_threads
        with pytest.raises(Refused, match="no thread can be opened there"):
            await adapter.open_thread(place, stage.say("m1", "telegram/mine"), "title")
        assert stage.recorded(ThreadOpened) == []

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
    [("telegram", ["2", "2", "4"]), ("slack", ["1700000000.000000", "1700000000.000000", "1700000000.000002"])],
)
def test_messages_of_each_conversation_have_numbers_of_their_own(platform: str, expected: list[str]) -> None:
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


@for_each("platform", ALL)
def test_ids_look_like_those_of_the_real_platform(platform: str) -> None:
    room, person, thread, message = {
        "discord": (r"\d{18}", r"\d{18}", r"\d{18}", r"\d{18}"),
        "telegram": (r"-100\d{10}", r"\d{9}", r"\d{3}", r"\d+"),
        "slack": (r"C0[A-Z0-9]{9}", r"U0[A-Z0-9]{9}", r"16\d{8}\.\d{6}", r"17\d{8}\.\d{6}"),
        "matrix": (r"!\w{10}:example\.org", r"@ana:example\.org", r"\$\w{16}", r"\$\w{16}"),
        "whatsapp": (r"120363\d{12}@g\.us", r"\+1555\d{7}", "", r"3EB0[0-9A-F]{16}"),
        "signal": (r"[\w+/]{43}=", r"\+1555\d{7}", "", r"17\d{11}"),
        "bluebubbles": (r"chat\d{18}", r"\+1555\d{7}", "", r"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}"),
        "imessage": (r"chat\d{18}", r"\+1555\d{7}", "", r"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}"),
        "msteams": (r"19:[a-z0-9]{32}@thread\.tacv2", r"29:[a-z0-9]{32}", r"16\d{11}", r"17\d{11}"),
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


@for_each("platform", ALL)
def test_who_has_an_id_in_the_file_can_be_written_to_by_every_account(platform: str) -> None:
    async def test(stage: Stage) -> None:
        for account in ("default", "second"):
            place = Address(channel=platform, account=account, kind=ChatKind.DIRECT, conversation="U7")
            await stage.adapter(platform, account).send(request(place))
            assert stage.place(f"{platform}:{account}/@ana") == place

    play(test, people=f"{{ana: {{ids: {{{platform}: U7}}}}, ben: {{}}}}")


@for_each("platform", ALL)
def test_media_go_along(platform: str) -> None:
    async def test(stage: Stage) -> None:
        media = ("https://example.org/lamp.png",)
        await stage.adapter(platform).send(request(stage.place(f"{platform}/mine"), media=media))
        assert [body.media for body in stage.recorded(WireAccepted)] == [media]

    play(test)
