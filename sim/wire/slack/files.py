"""Files, which are uploaded before a message has them, and answers to interactions by their address."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.values import Address, Envelope, Receipt
from trunkline.sim.wire.json_values import object_in
from trunkline.sim.wire.slack.call import CALL, BadArguments, SlackCall
from trunkline.sim.wire.slack.hosts import SlackHost
from trunkline.sim.wire.slack.shapes import channel_id


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
    """``files.info``, with the messages that have the file."""
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
