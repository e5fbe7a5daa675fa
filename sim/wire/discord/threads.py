"""Channels, threads, direct conversations and webhooks."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

import msgspec
from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.errors import PlaceGone
from trunkline.core.values import Address, ChatKind, Identity, Receipt
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.discord import messages
from trunkline.sim.wire.discord.errors import DiscordSays, nothing, reply
from trunkline.sim.wire.discord.exchange import RestExchange, convert, message_of
from trunkline.sim.wire.discord.guilds import CHANNEL_FIELDS
from trunkline.sim.wire.discord.view import is_archived
from trunkline.sim.wire.json_values import Json

_MARK = " \N{MIDDLE DOT} "


class ThreadBody(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    type: int = 12
    auto_archive_duration: int | None = None


class WebhookBody(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=80)]


class RecipientBody(msgspec.Struct, frozen=True, kw_only=True):
    recipient_id: str


async def channel(call: RestExchange) -> web.StreamResponse:
    wanted = call.path_part("channel")

    def look() -> Json:
        room = call.view.room(call.account, wanted)
        if room is None or room.closed == "deleted" or call.account in room.left:
            raise PlaceGone(f"there is no channel {wanted}")
        return call.view.channel(call.account, room)

    return await call.call(("channel", wanted), call.place(), look, reply)


async def edit_channel(call: RestExchange) -> web.StreamResponse:
    """Change a channel or category; of a thread, whether it is archived."""
    body, number = await call.body(), call.path_part("channel")
    category = call.server.platform.server.objects_of("category").get(number)
    if category is not None:
        given = {CHANNEL_FIELDS[name]: value for name, value in body.items() if name in CHANNEL_FIELDS}
        return await call.act(
            Action.CATEGORY_EDIT,
            call.on_server(),
            lambda _: reply(call.server.category(number, category)),
            fields={"categoryId": number, **given},
        )
    room = call.room()
    place = room.address(call.account)
    if room.parent is not None and body.get("archived") is False:
        unarchive = partial(call.server.platform.threads.unarchive, place)
        return await call.call(("unarchive", room.conversation), place, unarchive, lambda _: _shown(call, room))
    fields = {CHANNEL_FIELDS[name]: value for name, value in body.items() if name in CHANNEL_FIELDS}
    action = Action.CHANNEL_MOVE if set(fields) <= {"position", "parentId"} else Action.CHANNEL_EDIT
    return await call.act(action, place, lambda _: _shown(call, room), fields=fields)


def _shown(call: RestExchange, room: Room) -> web.Response:
    return reply(call.view.channel(call.account, room))


async def delete_channel(call: RestExchange) -> web.StreamResponse:
    category = call.server.platform.server.objects_of("category").get(call.path_part("channel"))
    if category is not None:
        shown = call.server.category(call.path_part("channel"), category)
        fields = {"categoryId": call.path_part("channel")}
        return await call.act(Action.CATEGORY_DELETE, call.on_server(), lambda _: reply(shown), fields=fields)
    room = call.room()
    return await call.act(Action.CHANNEL_DELETE, room.address(call.account), lambda _: _shown(call, room))


async def open_dm(call: RestExchange) -> web.StreamResponse:
    """Open a direct conversation, or return the open conversation."""
    user = convert(await call.body(), RecipientBody).recipient_id
    direct = [room for room in call.view.rooms(call.account) if room.kind is ChatKind.DIRECT]
    found = next((room for room in direct if room.conversation == user), None)
    if found is None:
        raise DiscordSays(50033)
    return await call.call(("dm", user), found.address(call.account), lambda: None, lambda _: _shown(call, found))


async def thread(call: RestExchange) -> web.StreamResponse:
    """Open a thread without a message."""
    body: ThreadBody = convert(await call.body(), ThreadBody)
    room = call.room()
    place = room.address(call.account)
    # Our gateway ends the name of a thread in a mark, by which it finds the thread again. It may be asked for in
    # another thread of the channel.
    title, opening = body.name.rpartition(_MARK)[0] or body.name, call.server.attribution.opening
    asked = (place, *(thread.address(call.account) for thread in call.server.platform.rooms_under(room)))
    key = next((found for spot in asked if (found := opening(spot, title)) is not None), None)

    if key is None:
        return await _by_request(call, place, body.name, None)

    def create() -> Room:
        return call.server.platform.threads.child(place, body.name, key)

    return await call.call(("child", key), place, create, lambda room: _created(call, room), opens=True)


async def _by_request(call: RestExchange, place: Address, name: str, message: str | None) -> web.StreamResponse:
    """Open a thread that somebody asked for by name: a change like others."""

    def answer(receipt: Receipt) -> web.StreamResponse:
        room = call.server.platform.room_at(receipt.address)
        return DiscordSays(10003).response() if room is None else _created(call, room)

    return await call.act(Action.THREAD_CREATE, place, answer, message=message, fields={"threadName": name})


async def thread_on_message(call: RestExchange) -> web.StreamResponse:
    """Open the thread on a message; a message has one."""
    body: ThreadBody = convert(await call.body(), ThreadBody)
    room, message = call.room(), call.path_part("message")
    call.message(room)
    existing = call.view.room(call.account, message)
    place = room.address(call.account)
    if existing is None and call.server.attribution.change(Action.THREAD_CREATE, place, message) is not None:
        return await _by_request(call, place, body.name, message)

    def create() -> Room | None:
        return call.server.platform.threads.on_message(place, message, body.name)

    def answer(opened: Room | None) -> web.StreamResponse:
        if existing is not None:
            return DiscordSays(160004).response()
        return DiscordSays(50024).response() if opened is None else _created(call, opened)

    return await call.call(("thread", message), place, create, answer, opens=True)


def _created(call: RestExchange, room: Room) -> web.Response:
    call.server.hub.announce_thread(call.account, room)
    return reply(call.view.channel(call.account, room), 201)


async def archived(call: RestExchange) -> web.StreamResponse:
    room = call.room()
    found = [call.view.channel(call.account, thread) for thread in call.server.platform.rooms_under(room)]
    return reply({"threads": [thread for thread in found if is_archived(thread)], "members": [], "has_more": False})


async def active(call: RestExchange) -> web.StreamResponse:
    place = call.in_server()
    shown = [call.view.channel(call.account, room) for room in call.view.rooms(call.account) if room.parent is not None]
    found = [thread for thread in shown if not is_archived(thread)]
    return await call.call(("threads",), place, lambda: None, lambda _: reply({"threads": found, "members": []}))


async def create_webhook(call: RestExchange) -> web.StreamResponse:
    name = convert(await call.body(), WebhookBody).name
    place = call.room().address(call.account)

    def answer(found: str) -> web.StreamResponse:
        return reply(_webhook(call, place, call.account, found, name))

    make = partial(call.server.platform.webhooks.create, place, name)
    return await call.call(("webhook", place.conversation), place, make, answer)


async def webhooks(call: RestExchange) -> web.StreamResponse:
    """The webhooks of a channel. Only its creator sees the token of one."""
    place = call.room().address(call.account)

    def answer(found: list[tuple[str, str, str]]) -> web.StreamResponse:
        return reply([_webhook(call, place, *webhook) for webhook in found])

    listed = partial(call.server.platform.webhooks.listed, place)
    return await call.call(("webhooks", place.conversation), place, listed, answer)


def _webhook(call: RestExchange, place: Address, owner: str, webhook: str, name: str) -> Json:
    shown: Json = {
        "id": webhook,
        "type": 1,
        "name": name,
        "avatar": None,
        "guild_id": call.view.guild_id,
        "channel_id": place.parent or place.conversation,
        "application_id": call.server.application_id(owner),
        "user": call.view.bot(owner),
    }
    if owner == call.account:
        shown["token"] = call.server.secret(owner, webhook)
    return shown


async def execute(call: RestExchange) -> web.StreamResponse:
    """Post by a webhook, in the channel or in a thread of the channel."""
    body = await call.body()
    sent, place = message_of(body), _place_of_webhook(call)
    identity = Identity(id=call.path_part("webhook"), name=sent.username or "")
    send = call.server.send_request(place, sent.text, None, identity=identity, **sent.parts)
    waits = call.request.query.get("wait") == "true"

    def answer(receipt: Receipt) -> web.StreamResponse:
        return reply(messages.posted(call, receipt)) if waits else nothing()

    return await call.server.send(call.request, send, call.number, answer)


def _by_webhook(change: Callable[..., Awaitable[web.StreamResponse]]) -> Any:
    """Handles a change of a message of a webhook."""

    async def handle(call: RestExchange) -> web.StreamResponse:
        place = _place_of_webhook(call)
        return await change(call, _identity(call, place), place.conversation)

    return handle


def _place_of_webhook(call: RestExchange) -> Address:
    thread_id = call.request.query.get("thread_id")
    channel_id = call.server.channel_of_webhook(call.account, call.path_part("webhook"))
    place = call.place(thread_id or channel_id)
    if thread_id is not None and place.parent is None and call.view.room(call.account, thread_id) is None:
        # A thread that is not there, of the webhook's channel.
        return msgspec.structs.replace(place, parent=channel_id)
    return place


def _identity(call: RestExchange, place: Address) -> Identity | None:
    """The identity that posted the message, whose name the request does not repeat."""
    message = call.server.message_at(place, call.path_part("message"))
    return None if message is None else message.identity


CHANNEL_ROUTES: dict[tuple[str, str], Any] = {
    ("POST", "/users/@me/channels"): open_dm,
    ("GET", "/channels/{channel}"): channel,
    ("PATCH", "/channels/{channel}"): edit_channel,
    ("DELETE", "/channels/{channel}"): delete_channel,
    ("POST", "/channels/{channel}/threads"): thread,
    ("POST", "/channels/{channel}/messages/{message}/threads"): thread_on_message,
    ("GET", "/channels/{channel}/threads/archived/public"): archived,
    ("GET", "/guilds/{guild}/threads/active"): active,
    ("POST", "/channels/{channel}/webhooks"): create_webhook,
    ("GET", "/channels/{channel}/webhooks"): webhooks,
}
#: below ``/webhooks/{webhook}/{token}``
WEBHOOK_ROUTES: dict[tuple[str, str], Any] = {
    ("POST", ""): execute,
    ("PATCH", "/messages/{message}"): _by_webhook(messages.edit),
    ("DELETE", "/messages/{message}"): _by_webhook(messages.delete),
}
