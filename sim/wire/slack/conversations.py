"""Methods about conversations, people and the account itself."""

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.errors import PlaceGone
from trunkline.core.values import Address, ChatKind, Peer
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.slack.hosts import SlackCall, SlackHost
from trunkline.sim.wire.slack.shapes import APP, TEAM, bot_of, channel_id, channel_of, message_of, user_of

_TYPES = {ChatKind.DIRECT: "im", ChatKind.GROUP: "mpim", ChatKind.CHANNEL: "public_channel"}


async def auth_test(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``auth.test``: whose token it is."""
    bot = server.platform.bot_id(call.account)
    found = {
        "url": f"{server.url}/",
        "team": "Trunkline",
        "user": call.account,
        "team_id": TEAM,
        "user_id": bot,
        "bot_id": bot_of(bot),
        "is_enterprise_install": False,
    }
    return await _call_platform(server, call, lambda: found, lambda fields: call.answer(**fields))


async def open_socket(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``apps.connections.open``: the address of a socket, for one use."""
    if server.world.account_fault("connect", server.channel, call.account):
        return call.error("internal_error")
    ticket = server.new_ticket(call.account)
    return call.answer(url=f"ws{server.url.removeprefix('http')}/socket/{ticket}?app_id={APP}")


async def conversation_list(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    types = {kind.strip() for kind in (call.maybe("types") or "public_channel").split(",")}
    hides_archived = (call.maybe("exclude_archived") or "").lower() in ("1", "true")
    begin, limit = call.page()

    def look() -> list[dict[str, Any]]:
        return [
            channel_of(server.platform, call.account, room)
            for room in server.platform.rooms
            if room.thread is None
            and room.closed != "deleted"
            and not (hides_archived and room.closed)
            and _TYPES[room.kind] in types
            and call.account in room.accounts
        ]

    return await _call_platform(server, call, look, lambda found: _page(call, "channels", found, begin, limit))


async def conversation_info(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    place = server.address_of(call)

    def look() -> dict[str, Any]:
        return channel_of(server.platform, call.account, _visible(server, call, place))

    return await _call_platform(server, call, look, lambda found: call.answer(channel=found))


async def conversation_open(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``conversations.open`` of the direct conversation with a user."""
    place = server.address_of(call, "users")

    def look() -> dict[str, Any]:
        return {"id": channel_id(server.platform, call.account, _visible(server, call, place))}

    return await _call_platform(server, call, look, lambda found: call.answer(channel=found))


async def history(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``conversations.history``: the newest messages first."""
    place = server.address_of(call)
    _, limit = call.page(999)
    return await _read_messages(
        server, call, place, limit, lambda found: call.answer(messages=found, has_more=False, pin_count=0)
    )


async def replies(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``conversations.replies``: the root of a thread, then its messages, the oldest first."""
    ts = call.word("ts", "thread_not_found")
    root = server.message_at(server.address_of(call), ts)
    place = server.address_of(call, thread=ts)
    first = [] if root is None or root.deleted else [message_of(server.platform, root)]
    _, limit = call.page()
    if server.platform.room_at(place) is None:
        return call.answer(messages=first, has_more=False) if first else call.error("thread_not_found")
    return await _read_messages(
        server,
        call,
        place,
        limit,
        lambda found: call.answer(messages=[*first, *reversed(found)][:limit], has_more=False),
    )


async def user_list(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    begin, limit = call.page()

    def look() -> list[dict[str, Any]]:
        bot = Peer(id=server.platform.bot_id(call.account), name=call.account)
        return [*(user_of(member.peer) for member in server.platform.server.members.values()), user_of(bot, bot=True)]

    return await _call_platform(server, call, look, lambda found: _page(call, "members", found, begin, limit))


async def user_info(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    number = call.word("user", "user_not_found")

    def look() -> dict[str, Any] | None:
        member = server.platform.server.members.get(number)
        return None if member is None else user_of(member.peer)

    def answer(found: dict[str, Any] | None) -> web.StreamResponse:
        return call.error("user_not_found") if found is None else call.answer(user=found)

    return await _call_platform(server, call, look, answer)


async def emoji(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``emoji.list``: the emoji of the workspace, with their addresses."""
    query = ActionQuery(action=Action.EMOJI_LIST, address=_nowhere(server, call))

    def answer(found: list[dict[str, Any]]) -> web.StreamResponse:
        return call.answer(emoji={str(item["name"]): f"{server.url}/emoji/{item['emojiId']}" for item in found})

    return await server.ask(call.request, query, call.token, answer)


def _visible(server: SlackHost, call: SlackCall, place: Address) -> Room:
    room = server.platform.room_at(place)
    if room is None or call.account not in room.accounts or room.closed == "deleted":
        raise PlaceGone("no such conversation")
    return room


async def _read_messages(
    server: SlackHost,
    call: SlackCall,
    place: Address,
    limit: int,
    answer: Callable[[list[dict[str, Any]]], web.StreamResponse],
) -> web.StreamResponse:
    query = ActionQuery(action=Action.READ, address=place, fields=json.dumps({"limit": limit}))

    def shown(found: list[dict[str, Any]]) -> web.StreamResponse:
        messages = [server.message_at(place, str(item["messageId"])) for item in found]
        return answer([message_of(server.platform, message) for message in messages if message is not None])

    return await server.ask(call.request, query, call.token, shown)


async def _call_platform(
    server: SlackHost, call: SlackCall, look: Callable[[], Any], answer: Callable[[Any], web.StreamResponse]
) -> web.StreamResponse:
    place = call.address or _nowhere(server, call)
    future = server.platform.calls.call((call.method, *place.lane), place, call.token, look)
    return await server.respond(call.request, future, answer)


def _nowhere(server: SlackHost, call: SlackCall) -> Address:
    return Address(channel=server.channel, account=call.account, kind=ChatKind.CHANNEL, conversation="")


def _page(call: SlackCall, name: str, found: list[Any], begin: int, limit: int) -> web.StreamResponse:
    following = begin + limit
    cursor = str(following) if following < len(found) else ""
    return call.answer(**{name: found[begin:following], "response_metadata": {"next_cursor": cursor}})
