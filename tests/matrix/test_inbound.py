"""What people do on a real homeserver arrives as they did it, once, and in order."""

from functools import partial

import pytest

from tests.support.synapse.bench import Town
from tests.support.synapse.homeserver import Synapse, needs_synapse
from tests.support.synapse.listening import beside, listening
from tests.support.wire.bench import MemoryCursors
from trunkline.core.errors import PlaceGone, Refused, Unauthorized
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, DeedKind, IntentId, SendRequest

pytestmark = [needs_synapse(), pytest.mark.anyio]


def request(place: Address, text: str, key: str) -> SendRequest:
    return SendRequest(address=place, text=text, key=key, intent=IntentId(key), chunk=0, attempt=1)


async def test_what_was_said_before_the_first_start_is_not_answered_and_what_is_said_while_down_is(town: Town) -> None:
    cursors, room = MemoryCursors(), town.rooms[1]
    town.ana.send(room, "before the first start")
    async with listening(town, cursors) as ear:
        town.ana.send(room, "while it runs")
        await ear.hear("while it runs")
    # More than a sync delivers at once, so that the rest has to be fetched in pages.
    said = [f"while it is down {number}" for number in range(170)]
    for text in said:
        town.ana.send(room, text)
    # Its own message brings its own membership along, which is not new.
    town.bot.send(room, "by another process")
    async with listening(town, cursors) as ear:
        await ear.until(lambda: len(ear.heard) >= len(said))
        assert ear.texts == said
    async with listening(town, cursors) as ear:
        town.ana.send(room, "the end")
        await ear.hear("the end")
        assert ear.texts == ["the end"]


async def test_the_token_moves_only_with_what_is_acknowledged(town: Town) -> None:
    cursors, room = MemoryCursors(), town.rooms[1]
    async with listening(town, cursors, acks=False) as ear:
        for text in ("one", "two", "three"):
            town.ana.send(room, text)
        await ear.until(lambda: len(ear.heard) == 3)
        await ear.adapter.ack(ear.heard[1])
    async with listening(town, cursors, acks=False) as ear:
        await ear.until(lambda: len(ear.heard) == 3)
        assert ear.texts == ["one", "two", "three"]
        for envelope in ear.heard:
            await ear.adapter.ack(envelope)
    async with listening(town, cursors) as ear:
        await beside(town.ana.send, room, "four")
        await ear.hear("four")
        assert ear.texts == ["four"]


async def test_threads_replies_edits_and_deletions(town: Town) -> None:
    room = town.rooms[0]
    async with listening(town, MemoryCursors()) as ear:
        root = town.ana.send(room, "a root")
        town.ana.send(room, "in the thread", thread=root)
        quoted = {"m.relates_to": {"m.in_reply_to": {"event_id": root}}}
        body = {"msgtype": "m.text", "body": f"> <{town.ana.id}> a root\n\na reply", **quoted}
        town.ana.ask("PUT", f"/rooms/{room}/send/m.room.message/reply", body)
        edit = {"m.new_content": {"msgtype": "m.text", "body": "edited"}, "msgtype": "m.text", "body": "* edited"}
        edit["m.relates_to"] = {"rel_type": "m.replace", "event_id": root}
        town.ana.ask("PUT", f"/rooms/{room}/send/m.room.message/edit", edit)
        gone = town.ana.send(room, "about to be deleted", thread=None)
        town.ana.ask("PUT", f"/rooms/{room}/redact/{gone}/redaction", {})
        town.ana.ask("PUT", f"/rooms/{room}/send/m.room.message/notice", {"msgtype": "m.notice", "body": "beep"})
        town.ana.send(room, "the end")
        await ear.hear("the end")
        assert (await ear.hear("in the thread")).address.thread == root
        reply = await ear.hear("a reply")
        assert (reply.reply_to, reply.address.thread) == (root, None)
        deeds = [(found.deed.kind, found.deed.of, found.text) for found in ear.heard if found.deed is not None]
        assert deeds == [(DeedKind.EDIT, root, "edited"), (DeedKind.DELETE, gone, "")]
        assert (await ear.hear("beep")).bot
        assert not (await ear.hear("the end")).bot

        place = (await ear.hear("in the thread")).address
        receipt = await ear.adapter.send(request(place, "an answer", "answer/0"))
        [answer] = [one for one in town.ana.events(room) if one["event_id"] == receipt.provider_id]
        assert answer["content"]["m.relates_to"]["event_id"] == root
        assert await ear.adapter.open_thread(place, receipt.provider_id, "title") == place
    assert not ear.dropped


async def test_an_invitation_is_accepted_and_what_was_said_with_it_is_heard(town: Town) -> None:
    cursors = MemoryCursors()
    async with listening(town, cursors) as ear:
        person = await beside(town.server.user, "newcomer")
        room = await beside(partial(person.create_room, town.bot, direct=True))
        await beside(person.send, room, "hello, are you there?")
        envelope = await ear.hear("hello, are you there?")
        assert (envelope.address.kind, envelope.address.conversation) == (ChatKind.DIRECT, person.id)
        assert envelope.peer.name == "newcomer"
        await ear.adapter.send(request(envelope.address, "yes", "yes/0"))
        assert [one["content"].get("body") for one in person.events(room)][-1] == "yes"

        # A second direct room is a room: an answer in the first one would be elsewhere.
        other = await beside(partial(person.create_room, town.bot, direct=True))
        await beside(person.send, other, "and here?")
        assert (await ear.hear("and here?")).address.conversation == other

        # A third person in the direct room: it is not private any more.
        await beside(person.ask, "POST", f"/rooms/{room}/invite", {"user_id": town.ana.id})
        await beside(town.ana.join, room)
        await beside(person.send, room, "now we are three")
        assert (await ear.hear("now we are three")).address.conversation == room


async def test_an_invitation_from_before_the_first_start_is_accepted_before_the_token_is_saved(town: Town) -> None:
    cursors = MemoryCursors()
    room = town.ana.create_room(town.bot, name="early")
    async with listening(town, cursors) as ear:
        await ear.until(lambda: cursors.values)
        assert room in town.bot.ask("GET", "/joined_rooms")["joined_rooms"]
        await beside(town.ana.send, room, "welcome")
        await ear.hear("welcome")


async def test_invitations_are_left_alone_if_configured_so(town: Town) -> None:
    async with listening(town, MemoryCursors(), join=False) as ear:
        room = await beside(town.ana.create_room, town.bot)
        await beside(town.ana.send, town.rooms[0], "the end")
        await ear.hear("the end")
        assert room not in town.bot.ask("GET", "/joined_rooms")["joined_rooms"]


async def test_encrypted_messages_are_visible_and_nothing_is_said_in_the_open(town: Town) -> None:
    room = town.ana.create_room(town.bot, name="secret")
    town.bot.join(room)
    algorithm = {"algorithm": "m.megolm.v1.aes-sha2"}
    async with listening(town, MemoryCursors()) as ear:
        await beside(town.ana.ask, "PUT", f"/rooms/{room}/state/m.room.encryption", algorithm)
        secret = {**algorithm, "ciphertext": "AwgAEnB", "session_id": "s", "sender_key": "k", "device_id": "d"}
        await beside(town.ana.ask, "PUT", f"/rooms/{room}/send/m.room.encrypted/secret", secret)
        await beside(town.ana.send, town.rooms[0], "next")
        await ear.hear("next")
        assert [one.reason for one in ear.dropped] == [Reason.UNSUPPORTED]
        place = Address(channel="matrix", account="default", kind=ChatKind.CHANNEL, conversation=room)
        with pytest.raises(Refused, match="encrypted"):
            await ear.adapter.send(request(place, "in the open", "open/0"))


async def test_a_removed_bot_and_a_token_that_is_not_accepted(town: Town) -> None:
    room = town.ana.create_room(town.bot, name="short")
    town.bot.join(room)
    place = Address(channel="matrix", account="default", kind=ChatKind.CHANNEL, conversation=room)
    async with listening(town, MemoryCursors()) as ear:
        await ear.adapter.send(request(place, "hello", "hello/0"))
        await beside(town.ana.ask, "POST", f"/rooms/{room}/kick", {"user_id": town.bot.id})
        with pytest.raises(PlaceGone):
            await ear.adapter.send(request(place, "hello again", "again/0"))
        await beside(town.ana.send, town.rooms[0], "others go on")
        await ear.hear("others go on")
    impostor = Town(server=town.server, bot=town.ana, ana=town.ana, rooms=(), direct="", thread="")
    with pytest.raises(Unauthorized):
        async with listening(town, MemoryCursors(), user=impostor.bot.id):
            pass


async def test_the_server_restarts(synapse: Synapse, town: Town) -> None:
    cursors = MemoryCursors()
    async with listening(town, cursors) as ear:
        place = Address(channel="matrix", account="default", kind=ChatKind.CHANNEL, conversation=town.rooms[1])
        first = await ear.adapter.send(request(place, "before the restart", "restart/0"))
        await beside(synapse.end)
        await ear.until(lambda: ear.broke is not None)
        await beside(synapse.start)
        # The transaction is remembered on disk.
        assert await ear.adapter.send(request(place, "before the restart", "restart/0")) == first
        await beside(town.ana.send, town.rooms[1], "after the restart")
    async with listening(town, cursors) as ear:
        await ear.hear("after the restart")
