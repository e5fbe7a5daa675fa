"""Reactions and pins: changes that are answered with an error code if they are in force already."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.adapters.slack.emoji import character_of, name_of
from trunkline.core.errors import Refused
from trunkline.core.values import Receipt
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.wire.slack.call import BadArguments, SlackCall
from trunkline.sim.wire.slack.hosts import SlackHost
from trunkline.sim.wire.slack.shapes import channel_id, message_of


async def add_reaction(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``reactions.add``."""
    emoji, bot = _emoji(call), server.platform.bot_id(call.account)

    def is_so(message: BoardMessage) -> bool:
        return bot in message.reactions.get(emoji, ())

    return await _change(server, call, Action.REACT, "already_reacted", is_so, text=emoji)


async def remove_reaction(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``reactions.remove``."""
    emoji, bot = _emoji(call), server.platform.bot_id(call.account)

    def is_so(message: BoardMessage) -> bool:
        return bot not in message.reactions.get(emoji, ())

    return await _change(server, call, Action.REACT, "no_reaction", is_so, text=emoji, remove=True)


async def pin(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``pins.add``."""
    return await _change(server, call, Action.PIN, "already_pinned", lambda message: message.pinned)


async def unpin(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``pins.remove``."""
    return await _change(server, call, Action.UNPIN, "no_pin", lambda message: not message.pinned)


async def reactions(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``reactions.get``."""
    place, ts = server.address_of(call), call.word("timestamp", "no_item_specified")
    call.message_id, call.action = ts, Action.REACTIONS
    query = ActionQuery(action=Action.REACTIONS, address=place, message_id=ts)

    def answer(found: list[dict[str, Any]]) -> web.StreamResponse:
        channel = channel_id(server.platform, call.account, place)
        shown = [
            {"name": _named(str(reaction["emoji"])), "count": reaction["count"], "users": reaction["users"]}
            for reaction in found
        ]
        message = {**_message(server, call, ts), "reactions": shown, "permalink": f"{server.url}/archives/{channel}"}
        return call.answer(type="message", channel=channel, message=message)

    return await server.ask(call.request, query, call.token, answer)


async def pins(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``pins.list``."""
    place = server.address_of(call)
    query = ActionQuery(action=Action.LIST_PINS, address=place, fields=json.dumps({"limit": 100}))

    def answer(found: list[dict[str, Any]]) -> web.StreamResponse:
        channel = channel_id(server.platform, call.account, place)
        bot = server.platform.bot_id(call.account)
        items = [
            {
                "type": "message",
                "channel": channel,
                "created": int(server.date()),
                "created_by": bot,
                "message": _message(server, call, str(pinned["messageId"])),
            }
            for pinned in found
        ]
        return call.answer(items=items)

    return await server.ask(call.request, query, call.token, answer)


def _message(server: SlackHost, call: SlackCall, ts: str) -> dict[str, Any]:
    room = None if call.address is None else server.platform.room_at(call.address)
    message = None if room is None else server.platform.board.get(room, ts)
    return {"type": "message", "ts": ts} if message is None else message_of(server.platform, message)


def _emoji(call: SlackCall) -> str:
    """The character of the emoji that a call names. Slack takes names only."""
    name = call.word("name", "no_reaction")
    if not name.isascii():
        raise BadArguments("invalid_name")
    return character_of(name.strip(":"))


def _named(emoji: str) -> str:
    try:
        return name_of(emoji)
    except Refused:
        return emoji.strip(":")


async def _change(
    server: SlackHost,
    call: SlackCall,
    action: Action,
    repeated: str,
    is_so: Callable[[BoardMessage], bool],
    **parts: Any,
) -> web.StreamResponse:
    place, ts = server.address_of(call), call.word("timestamp", "no_item_specified")
    call.message_id, call.action = ts, action
    room = server.platform.room_at(place)
    message = None if room is None else server.platform.board.get(room, ts)
    was_so = message is not None and is_so(message)

    def answer(receipt: Receipt) -> web.StreamResponse:
        return call.error(repeated) if was_so else call.answer()

    return await server.act(call.request, server.action_request(action, place, ts, **parts), call.token, answer)
