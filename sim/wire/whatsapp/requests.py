"""Bodies of requests to the Graph API, as the fake platform takes them. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind


class BadBody(Exception):
    """A body that Meta refuses: its code, and what is wrong."""

    def __init__(self, code: int, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


class _Text(msgspec.Struct, frozen=True):
    body: str
    preview_url: bool = False


class _File(msgspec.Struct, frozen=True):
    id: str | None = None
    link: str | None = None
    caption: str = ""
    filename: str | None = None


class _Reaction(msgspec.Struct, frozen=True):
    message_id: str
    emoji: str = ""


class _Context(msgspec.Struct, frozen=True):
    message_id: str


class _Reply(msgspec.Struct, frozen=True):
    id: str
    title: str


class _ReplyButton(msgspec.Struct, frozen=True):
    reply: _Reply
    type: str = "reply"


class _Buttons(msgspec.Struct, frozen=True):
    buttons: tuple[_ReplyButton, ...]


class _Body(msgspec.Struct, frozen=True):
    text: str


class _Header(msgspec.Struct, frozen=True):
    type: str
    image: _File | None = None
    video: _File | None = None
    document: _File | None = None


class _Interactive(msgspec.Struct, frozen=True):
    type: str
    body: _Body
    action: _Buttons
    header: _Header | None = None


class GraphMessage(msgspec.Struct, frozen=True):
    """The body of a request to ``/messages``."""

    messaging_product: str
    to: str | None = None
    recipient: str | None = None
    recipient_type: str = "individual"
    type: str = "text"
    status: str | None = None
    message_id: str | None = None
    context: _Context | None = None
    text: _Text | None = None
    image: _File | None = None
    video: _File | None = None
    audio: _File | None = None
    document: _File | None = None
    sticker: _File | None = None
    reaction: _Reaction | None = None
    interactive: _Interactive | None = None


class AskedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is asked for: its parts as the fake platform names them."""

    text: str = ""
    media: tuple[str, ...] = ()
    parts: MessageParts | None = None


def read_body(given: bytes) -> GraphMessage:
    """The body of a request. Raises `BadBody`."""
    try:
        body = msgspec.json.decode(given, type=GraphMessage)
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadBody(100, str(error)) from None
    if body.messaging_product != "whatsapp":
        raise BadBody(100, "messaging_product must be whatsapp")
    return body


def place_of(body: GraphMessage, account: str) -> Address:
    """Where a message is to go. Raises `BadBody`."""
    to = body.to or body.recipient
    if not to:
        raise BadBody(131008, "Parameter 'to' is required")
    if body.recipient_type not in ("individual", "group"):
        raise BadBody(100, "recipient_type must be one of {INDIVIDUAL, GROUP}")
    group = body.recipient_type == "group"
    conversation = to if group or body.to is None else f"+{to.removeprefix('+')}"
    kind = ChatKind.GROUP if group else ChatKind.DIRECT
    return Address(channel="whatsapp", account=account, kind=kind, conversation=conversation)


def asked_message(body: GraphMessage, files: dict[str, str]) -> AskedMessage:
    """The message that a body asks for. `files`: id of an upload -> its name. Raises `BadBody`."""
    if body.type == "text":
        if body.text is None or not body.text.body:
            raise BadBody(131008, "Parameter 'text' is required")
        return AskedMessage(text=body.text.body)
    if body.type == "interactive":
        return _interactive(body.interactive, files)
    found: Any = getattr(body, body.type, None) if body.type in _FILES else None
    if not isinstance(found, _File):
        raise BadBody(131051, f"Unsupported message type: {body.type}")
    return AskedMessage(text=found.caption, media=(_source(found, files),))


_FILES = ("image", "video", "audio", "document", "sticker")


def _source(file: _File, files: dict[str, str]) -> str:
    if file.link is not None:
        return file.link
    if file.id is None or file.id not in files:
        raise BadBody(131009, "The media id does not exist, or belongs to another number")
    return files[file.id]


def _interactive(given: _Interactive | None, files: dict[str, str]) -> AskedMessage:
    if given is None or given.type != "button":
        raise BadBody(131009, "The type of the interactive message is not supported")
    rows = tuple((Button(text=button.reply.title, value=button.reply.id),) for button in given.action.buttons)
    if len({button.reply.id for button in given.action.buttons}) != len(rows):
        raise BadBody(131009, "Two buttons have the same id")
    header = given.header
    file = None if header is None else header.image or header.video or header.document
    media = () if file is None else (_source(file, files),)
    return AskedMessage(text=given.body.text, media=media, parts=MessageParts(buttons=rows))
