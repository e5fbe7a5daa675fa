"""Messages: posting, editing, deleting, reactions, pins, polls, the history."""

from collections.abc import Callable
from typing import Any

from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.values import Identity, Receipt
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.discord.errors import DiscordSays, nothing, reply
from trunkline.sim.wire.discord.exchange import RestExchange, convert, message_of
from trunkline.sim.wire.json_values import Json

_MOST = 100


async def create(call: RestExchange) -> web.StreamResponse:
    body = await call.body()
    sent = message_of(body)
    place = call.place()
    send = call.server.send_request(place, sent.text, sent.key, **sent.parts)

    def answer(receipt: Receipt) -> web.StreamResponse:
        shown = posted(call, receipt)
        if body.get("nonce") is not None:
            shown["nonce"] = body["nonce"]
        room = call.server.platform.room_at(receipt.address)
        if room is not None:
            call.server.hub.announce_message(call.account, room, shown)
        return reply(shown)

    return await call.server.send(call.request, send, call.number, answer)


def posted(call: RestExchange, receipt: Receipt) -> Json:
    """An accepted message. One without an id, by a fault, is shown so."""
    message = call.server.message_at(receipt.address, receipt.provider_id)
    if message is None:
        return {"id": receipt.provider_id, "channel_id": receipt.address.conversation}
    return call.view.message(call.account, message)


async def get(call: RestExchange) -> web.StreamResponse:
    return reply(call.view.message(call.account, call.message()))


async def history(call: RestExchange) -> web.StreamResponse:
    """The messages of a channel, newest first."""
    room = call.room()
    return await call.ask(
        Action.READ, room.address(call.account), lambda _: reply(_page(call, room)), fields={"limit": _MOST}
    )


def _page(call: RestExchange, room: Room) -> list[Json]:
    given = call.request.query
    limit = given.get("limit", "50")
    if not limit.isdecimal() or not 1 <= int(limit) <= _MOST:
        raise DiscordSays(50035, field="limit", detail="int value should be between 1 and 100.")
    found = [message for message in call.server.platform.board.within(room) if message.id.isdecimal()]
    found.sort(key=lambda message: int(message.id))
    if "after" in given:
        found = [message for message in found if int(message.id) > _snowflake(given["after"])][: int(limit)]
    elif "before" in given:
        found = [message for message in found if int(message.id) < _snowflake(given["before"])][-int(limit) :]
    elif "around" in given:
        middle = sum(int(message.id) < _snowflake(given["around"]) for message in found)
        start = max(0, middle - int(limit) // 2)
        found = found[start : start + int(limit)]
    else:
        found = found[-int(limit) :]
    for message in found:
        call.server.hub.confirm_shown(call.account, message.id)
    return [call.view.message(call.account, message) for message in reversed(found)]


def _snowflake(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise DiscordSays(50035, detail=f'Value "{text[:40]}" is not snowflake.')
    return int(text)


async def edit(call: RestExchange, identity: Identity | None = None, place: Any = None) -> web.StreamResponse:
    text = convert(await call.body(), Json).get("content")
    if not isinstance(text, str):
        raise DiscordSays(50035, field="content", detail="Must be a string")
    room = call.room(place)

    def answer(receipt: Receipt) -> web.StreamResponse:
        found = call.server.platform.board.get(room, receipt.provider_id)
        return nothing() if found is None else reply(call.view.message(call.account, found))

    where = room.address(call.account)
    return await call.act(Action.EDIT, where, answer, message=call.path_part("message"), text=text, identity=identity)


async def delete(call: RestExchange, identity: Identity | None = None, place: Any = None) -> web.StreamResponse:
    """Delete a message. Deleting it again is an error on Discord, which does not know the message any more."""
    room, message = call.room(place), call.path_part("message")
    there = call.server.platform.board.get(room, message)
    gone = there is not None and there.deleted

    def answer(_: Receipt) -> web.StreamResponse:
        return DiscordSays(10008).response() if gone else nothing()

    where = room.address(call.account)
    return await call.act(Action.DELETE, where, answer, message=message, identity=identity)


def _changing(action: Action, **more: Any) -> Any:
    """Handles the changes of a message that are answered with nothing: reactions and pins."""

    async def handle(call: RestExchange) -> web.StreamResponse:
        where, text = call.room().address(call.account), call.request.match_info.get("emoji", "")
        return await call.act(action, where, message=call.path_part("message"), text=text, **more)

    return handle


async def reactions(call: RestExchange) -> web.StreamResponse:
    """Respond with the people who reacted with an emoji."""
    emoji = call.path_part("emoji")

    def answer(found: list[Json]) -> web.StreamResponse:
        users: list[str] = [user for reaction in found if reaction["emoji"] == emoji for user in reaction["users"]]
        return reply([call.view.person(user) for user in page_of(call, users)])

    where = call.room().address(call.account)
    return await call.ask(Action.REACTIONS, where, answer, message=call.path_part("message"))


def page_of(call: RestExchange, users: list[str]) -> list[str]:
    """The users that a list shows at once: in the order of their ids, after one, as many as are asked for."""
    after, limit = call.request.query.get("after", "0"), call.request.query.get("limit", "25")
    if not limit.isdecimal() or not 1 <= int(limit) <= 1000:
        raise DiscordSays(50035, field="limit", detail="int value should be between 1 and 1000.")
    return sorted((user for user in users if int(user) > _snowflake(after)), key=int)[: int(limit)]


def _pins(form: Callable[[list[Json]], Json | list[Json]]) -> Any:

    async def handle(call: RestExchange) -> web.StreamResponse:
        room = call.room()

        def answer(_: object) -> web.StreamResponse:
            board = reversed(list(call.server.platform.board.within(room)))
            return reply(form([call.view.message(call.account, message) for message in board if message.pinned]))

        return await call.ask(Action.LIST_PINS, room.address(call.account), answer)

    return handle


def _with_times(shown: list[Json]) -> Json:
    return {"items": [{"pinned_at": message["timestamp"], "message": message} for message in shown], "has_more": False}


async def voters(call: RestExchange) -> web.StreamResponse:
    """Respond with the people who voted for an option of a poll, by its number from 1."""
    message, option = call.message(), call.path_part("answer")
    if not option.isdecimal():
        raise DiscordSays(50035, field="answer_id")
    chosen = [who for who, options in message.votes.items() if int(option) - 1 in options]
    return reply({"users": [call.view.person(who) for who in page_of(call, chosen)]})


async def typing(call: RestExchange) -> web.StreamResponse:
    call.room()
    return nothing()


MESSAGE_ROUTES: dict[tuple[str, str], Any] = {
    ("POST", "/channels/{channel}/messages"): create,
    ("GET", "/channels/{channel}/messages"): history,
    ("GET", "/channels/{channel}/messages/pins"): _pins(_with_times),
    ("PUT", "/channels/{channel}/messages/pins/{message}"): _changing(Action.PIN),
    ("DELETE", "/channels/{channel}/messages/pins/{message}"): _changing(Action.UNPIN),
    ("GET", "/channels/{channel}/pins"): _pins(list),
    ("PUT", "/channels/{channel}/pins/{message}"): _changing(Action.PIN),
    ("DELETE", "/channels/{channel}/pins/{message}"): _changing(Action.UNPIN),
    ("GET", "/channels/{channel}/messages/{message}"): get,
    ("PATCH", "/channels/{channel}/messages/{message}"): edit,
    ("DELETE", "/channels/{channel}/messages/{message}"): delete,
    ("PUT", "/channels/{channel}/messages/{message}/reactions/{emoji}/@me"): _changing(Action.REACT),
    ("DELETE", "/channels/{channel}/messages/{message}/reactions/{emoji}/@me"): _changing(Action.REACT, remove=True),
    ("GET", "/channels/{channel}/messages/{message}/reactions/{emoji}"): reactions,
    ("GET", "/channels/{channel}/polls/{message}/answers/{answer}"): voters,
    ("POST", "/channels/{channel}/typing"): typing,
}
