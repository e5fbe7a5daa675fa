"""Methods that post, edit and delete messages."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import ChatKind, Receipt
from trunkline.sim.platforms.channels.slack import PART_LIMITS
from trunkline.sim.wire.json_values import mapping, mappings
from trunkline.sim.wire.slack.call import BadArguments, SlackCall
from trunkline.sim.wire.slack.hosts import SlackHost
from trunkline.sim.wire.slack.shapes import APP, TEAM, bot_of, channel_id

#: arguments that the fake platform keeps as they are
_KEPT = ("attachments", "metadata", "unfurl_links", "unfurl_media", "mrkdwn", "link_names", "parse")
#: characters of a text as Markdown, and blocks of a message
_LONGEST_MARKDOWN, _MOST_BLOCKS = 12_000, 50


async def post_message(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``chat.postMessage``."""
    place = server.address_of(call, thread=call.maybe("thread_ts"))
    call.text, parts = content_of(call)
    request = server.send_request(place, call.text, **parts)

    def answer(receipt: Receipt) -> web.StreamResponse:
        message = _posted(server, call, receipt)
        channel = channel_id(server.platform, call.account, receipt.address)
        # An app hears of its own messages too.
        echo = {"channel": channel, "channel_type": _TYPES[place.kind], "event_ts": receipt.provider_id}
        server.report(call.account, {**message, **echo})
        return call.answer(channel=channel, ts=receipt.provider_id, message=message)

    return await server.send(call.request, request, call.token, answer)


async def post_ephemeral(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``chat.postEphemeral``: nobody but one person sees it, and history does not have it."""
    place = server.address_of(call)
    call.word("user", "user_not_in_channel")
    call.text, _ = content_of(call)

    def show() -> str:
        return server.platform.posted_id(server.platform.open_room(place), "ephemeral")

    future = server.platform.calls.call(("ephemeral", *place.lane), place, call.token, show)
    return await server.respond(call.request, future, lambda ts: call.answer(message_ts=ts))


async def update(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``chat.update``."""
    place, ts = server.address_of(call), call.word("ts", "message_not_found")
    call.text, _ = content_of(call)
    call.message_id, call.action = ts, Action.EDIT
    change = server.action_request(Action.EDIT, place, ts, text=call.text)

    def answer(receipt: Receipt) -> web.StreamResponse:
        channel = channel_id(server.platform, call.account, place)
        message = {"type": "message", "user": server.platform.bot_id(call.account), "text": call.text}
        event = {"type": "message", "subtype": "message_changed", "hidden": True, "channel": channel}
        server.report(call.account, {**event, "message": {**message, "ts": ts}, "ts": ts, "event_ts": ts})
        return call.answer(channel=channel, ts=ts, text=call.text, message=message)

    return await server.act(call.request, change, call.token, answer)


async def delete(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``chat.delete``. A message that was deleted before is not found."""
    place, ts = server.address_of(call), call.word("ts", "message_not_found")
    call.message_id, call.action = ts, Action.DELETE
    room = server.platform.room_at(place)
    message = None if room is None else server.platform.board.get(room, ts)
    gone = message is not None and message.deleted
    change = server.action_request(Action.DELETE, place, ts)

    def answer(receipt: Receipt) -> web.StreamResponse:
        if gone:
            return call.error("message_not_found")
        channel = channel_id(server.platform, call.account, place)
        event = {"type": "message", "subtype": "message_deleted", "hidden": True, "channel": channel}
        server.report(call.account, {**event, "deleted_ts": ts, "ts": ts, "event_ts": ts})
        return call.answer(channel=channel, ts=ts)

    return await server.act(call.request, change, call.token, answer)


# ---------------------------------------------------------------- what a message has

_TYPES = {ChatKind.DIRECT: "im", ChatKind.GROUP: "mpim", ChatKind.CHANNEL: "channel"}


def content_of(call: SlackCall) -> tuple[str, dict[str, Any]]:
    """The text of a message, and its files, buttons and payload as the fake platform takes them.

    A block that repeats the text shows it. Raises `BadArguments`.
    """
    markdown, text = call.maybe("markdown_text"), call.maybe("text") or ""
    blocks, attachments = call.objects("blocks", "invalid_blocks"), call.objects("attachments", "invalid_attachments")
    if markdown is not None:
        if text or blocks:
            raise BadArguments("markdown_text_conflict")
        if len(markdown) > _LONGEST_MARKDOWN:
            raise BadArguments("msg_too_long")
        text = markdown
    if not text and not blocks and not attachments:
        raise BadArguments("no_text")
    if len(blocks) > _MOST_BLOCKS or not all(isinstance(block.get("type"), str) for block in blocks):
        raise BadArguments("invalid_blocks")
    media = tuple(str(block["image_url"]) for block in blocks if block["type"] == "image" and "image_url" in block)
    rows = tuple(row for block in blocks if block["type"] == "actions" and (row := _row(block)))
    rest = [block for block in blocks if not _is_known(block, text)]
    kept = {name: call.given[name] for name in _KEPT if name in call.given}
    payload = {**({"blocks": rest} if rest else {}), **kept}
    return text, {
        "media": media,
        "parts": MessageParts(buttons=rows) if rows else None,
        "payload": json.dumps(payload) if payload else None,
    }


def _is_known(block: dict[str, Any], text: str) -> bool:
    if block["type"] == "markdown":
        return block.get("text") == text
    if block["type"] == "section":
        return mapping(block.get("text")).get("text") == text
    return (block["type"] == "image" and "image_url" in block) or (block["type"] == "actions" and bool(_row(block)))


def _row(block: dict[str, Any]) -> tuple[Button, ...]:
    """The buttons of a block; empty if it has others. Raises `BadArguments` for one that Slack does not take."""
    elements = mappings(block.get("elements"))
    if not elements or any(element.get("type") != "button" for element in elements):
        return ()
    return tuple(_button(element) for element in elements)


def _button(element: dict[str, Any]) -> Button:
    text = mapping(element.get("text")).get("text")
    value, url = element.get("value"), element.get("url")
    most, longest = PART_LIMITS.button_text or 0, PART_LIMITS.button_value or 0
    if not isinstance(text, str) or not 0 < len(text) <= most or (isinstance(value, str) and len(value) > longest):
        raise BadArguments("invalid_blocks")
    return Button(text=text, value=value if isinstance(value, str) else "", url=url if isinstance(url, str) else None)


def _posted(server: SlackHost, call: SlackCall, receipt: Receipt) -> dict[str, Any]:
    user, where = server.platform.bot_id(call.account), receipt.address
    message: dict[str, Any] = {
        "type": "message",
        "user": user,
        "bot_id": bot_of(user),
        "app_id": APP,
        "team": TEAM,
        "text": call.text,
        "ts": receipt.provider_id,
    }
    return message if where.thread is None else {**message, "thread_ts": where.thread}
