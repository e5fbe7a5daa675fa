"""Methods that post, edit and delete messages."""

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.adapters.slack.emoji import character_of, name_of
from trunkline.core.errors import Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind, Envelope, Receipt
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.platforms.channels.slack import PART_LIMITS
from trunkline.sim.wire.json_values import mapping, mappings, object_in
from trunkline.sim.wire.slack.hosts import CALL, BadArguments, SlackCall, SlackHost
from trunkline.sim.wire.slack.shapes import APP, TEAM, bot_of, channel_id, message_of

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
    """``chat.delete``. A message deleted before is not found."""
    place, ts = server.address_of(call), call.word("ts", "message_not_found")
    call.message_id, call.action = ts, Action.DELETE
    message = server.message_at(place, ts)
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


# Reactions and pins: changes that are answered with an error code if they are in force already.


async def react(remove: bool, server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``reactions.add`` and ``reactions.remove``."""
    emoji, bot = _emoji(call), server.platform.bot_id(call.account)

    def is_so(message: BoardMessage) -> bool:
        return (bot in message.reactions.get(emoji, ())) is not remove

    repeated = "no_reaction" if remove else "already_reacted"
    return await _change(server, call, Action.REACT, repeated, is_so, text=emoji, remove=remove)


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
    message = server.message_at(call.address, ts)
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
    message = server.message_at(place, ts)
    was_so = message is not None and is_so(message)

    def answer(receipt: Receipt) -> web.StreamResponse:
        return call.error(repeated) if was_so else call.answer()

    return await server.act(call.request, server.action_request(action, place, ts, **parts), call.token, answer)


# Files, which are uploaded before a message has them, and answers to interactions by their address.


async def reserve(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``files.getUploadURLExternal``."""
    name, length = call.word("filename"), call.word("length")
    if not length.isdecimal() or int(length) == 0:
        raise BadArguments("invalid_arguments")
    place = Address(channel=server.channel, account=call.account, kind=server.platform.room_kind, conversation="")
    future = server.platform.calls.call(
        (call.method, name), place, call.token, lambda: server.files.reserve(name, int(length))
    )
    return await server.respond(
        call.request, future, lambda file: call.answer(upload_url=f"{server.url}/upload/{file}", file_id=file)
    )


async def complete(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``files.completeUploadExternal``: one message with all files, if it names a conversation."""
    asked = call.objects("files", "invalid_arguments")
    shelved = [(str(item.get("id")), server.files.files.get(str(item.get("id")))) for item in asked]
    if not asked or any(file is None or file.content is None for _, file in shelved):
        raise BadArguments("file_not_found")
    shown = [
        {"id": number, "title": str(item.get("title") or (file.name if file else ""))}
        for (number, file), item in zip(shelved, asked, strict=True)
    ]
    if call.maybe("channel_id") is None:
        return call.answer(files=shown)
    place = server.address_of(call, "channel_id", call.maybe("thread_ts"))
    call.text = call.maybe("initial_comment") or ""
    request = server.send_request(place, call.text, media=tuple(str(item["title"]) for item in shown))

    def answer(receipt: Receipt) -> web.StreamResponse:
        for _, file in shelved:
            if file is not None:
                file.receipt = receipt
        return call.answer(files=shown)

    return await server.send(call.request, request, call.token, answer)


async def info(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    """``files.info``, with the messages of the file."""
    number = call.word("file", "file_not_found")
    file = server.files.files.get(number)
    if file is None:
        return call.error("file_not_found")
    shares: dict[str, Any] = {}
    if file.receipt is not None:
        where, ts = file.receipt.address, file.receipt.provider_id
        thread = {} if where.thread is None else {"thread_ts": where.thread}
        shares = {"public": {channel_id(server.platform, call.account, where): [{"ts": ts, **thread}]}}
    shown = {
        "id": number,
        "name": file.name,
        "title": file.name,
        "size": file.length,
        "url_private": f"{server.url}/files/{number}",
        "shares": shares,
    }
    return call.answer(file=shown)


async def respond_by_url(server: SlackHost, request: web.Request, envelope: Envelope) -> web.StreamResponse:
    """An app answers an interaction by its address: with a message, or a change of the one that has the button."""
    try:
        given = object_in(await request.text())
    except ValueError:
        return web.Response(status=400, text="invalid_payload")
    account, place = envelope.address.account, envelope.address
    token = server.platform.tokens.newest(account)
    call = SlackCall(request=request, method="response_url", account=account, token=token, given=given)
    CALL.set(call)
    call.address, call.text = place, call.maybe("text") or ""

    def answer(receipt: Receipt) -> web.StreamResponse:
        return web.Response(text="ok")

    for flag, action in (("delete_original", Action.DELETE), ("replace_original", Action.EDIT)):
        if call.given.get(flag) is True:
            call.message_id, call.action = envelope.pressed, action
            change = server.action_request(action, place, envelope.pressed, text=call.text)
            return await server.act(request, change, call.token, answer)
    if call.given.get("response_type") != "in_channel":
        return web.Response(text="ok")
    return await server.send(request, server.send_request(place, call.text), call.token, answer)
