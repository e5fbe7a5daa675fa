"""Files, which are uploaded before a message has them, and answers to interactions by their address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.values import Address, Envelope, Receipt
from trunkline.sim.platforms.rooms import letters
from trunkline.sim.wire.slack.call import CALL, BadArguments, SlackCall
from trunkline.sim.wire.slack.shapes import channel_id

if TYPE_CHECKING:
    from trunkline.sim.wire.slack.server import SlackServer

_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@dataclass(slots=True, kw_only=True)
class ShelvedFile:
    """A file on its way into a message."""

    name: str
    length: int
    content: bytes | None = None
    #: the message that has it
    receipt: Receipt | None = None


class FileShelf:
    """The files of all accounts."""

    def __init__(self, server: SlackServer) -> None:
        self._server = server
        self.files: dict[str, ShelvedFile] = {}

    def reserve(self, name: str, length: int) -> str:
        """A new file without content; returns its id."""
        number = f"F0{letters('slack', 'file', str(len(self.files)), length=9, alphabet=_SIGNS)}"
        self.files[number] = ShelvedFile(name=name, length=length)
        return number

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """The content of a file comes, as the body or as a file of a form."""
        file = self.files.get(request.match_info["file"])
        content = await _content(request)
        if file is None or len(content) != file.length:
            return web.Response(status=400, text="bad upload")
        file.content = content
        return web.Response(text=f"OK - {len(content)}")


async def _content(request: web.Request) -> bytes:
    if request.content_type != "multipart/form-data":
        return await request.read()
    found = [one for one in (await request.post()).values() if isinstance(one, web.FileField)]
    return found[0].file.read() if found else b""


async def reserve(server: SlackServer, call: SlackCall) -> web.StreamResponse:
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


async def complete(server: SlackServer, call: SlackCall) -> web.StreamResponse:
    """``files.completeUploadExternal``: one message with all files, if it names a conversation."""
    asked = call.objects("files", "invalid_arguments")
    shelved = [(str(one.get("id")), server.files.files.get(str(one.get("id")))) for one in asked]
    if not asked or any(file is None or file.content is None for _, file in shelved):
        raise BadArguments("file_not_found")
    shown = [
        {"id": number, "title": str(one.get("title") or (file.name if file else ""))}
        for (number, file), one in zip(shelved, asked, strict=True)
    ]
    if call.maybe("channel_id") is None:
        return call.answer(files=shown)
    place = server.address_of(call, "channel_id", call.maybe("thread_ts"))
    call.text = call.maybe("initial_comment") or ""
    request = server.send_request(place, call.text, media=tuple(str(one["title"]) for one in shown))

    def answer(receipt: Receipt) -> web.StreamResponse:
        for _, file in shelved:
            if file is not None:
                file.receipt = receipt
        return call.answer(files=shown)

    return await server.send(call.request, request, call.token, answer)


async def info(server: SlackServer, call: SlackCall) -> web.StreamResponse:
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


async def respond_by_url(server: SlackServer, request: web.Request, envelope: Envelope) -> web.StreamResponse:
    """An app answers an interaction by its address: with a message, or a change of the one that has the button."""
    try:
        body: Any = await request.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return web.Response(status=400, text="invalid_payload")
    account, place = envelope.address.account, envelope.address
    given = cast("dict[str, Any]", body)
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
