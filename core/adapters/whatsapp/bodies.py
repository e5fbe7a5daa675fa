"""The bodies of requests to the Cloud API. Pure."""

from __future__ import annotations

import mimetypes
import re
from typing import Any
from urllib.parse import unquote, urlsplit

from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import Refused
from trunkline.core.message_parts import MessageParts
from trunkline.core.values import Address, ChatKind, SendRequest

#: what Meta takes: characters of a text, of a text with a file or with buttons, of a button and of its value
TEXT, CAPTION, BUTTON_TITLE, BUTTON_ID = 4096, 1024, 20, 256
#: reply buttons of a message
BUTTONS = 3
_PERSON = re.compile(r"\+?([0-9]+)(?::[0-9]+)?(?:@(?:s\.whatsapp\.net|c\.us))?", re.IGNORECASE)
#: the id of a person who hides their number: country, and up to 128 letters and digits
_HIDDEN = re.compile(r"[A-Za-z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}")
#: files that WhatsApp shows; any other is a document
_SHOWN = {
    "image/jpeg": "image",
    "image/png": "image",
    "image/webp": "sticker",
    "video/mp4": "video",
    "video/3gpp": "video",
    "audio/aac": "audio",
    "audio/amr": "audio",
    "audio/mpeg": "audio",
    "audio/mp4": "audio",
    "audio/ogg": "audio",
}
_WITH_CAPTION = ("image", "video", "document")


def recipient(place: Address) -> dict[str, str]:
    """The recipient of a message. Raises `Refused` for a place beyond the Cloud API."""
    if place.thread is not None:
        raise Refused("WhatsApp has no threads")
    if place.kind is ChatKind.GROUP:
        return {"recipient_type": "group", "to": place.conversation}
    if place.kind is ChatKind.DIRECT and (person := _PERSON.fullmatch(place.conversation)):
        return {"recipient_type": "individual", "to": person[1]}
    if place.kind is ChatKind.DIRECT and _HIDDEN.fullmatch(place.conversation):
        return {"recipient_type": "individual", "recipient": place.conversation}
    raise Refused("the Cloud API reaches people by phone number or business-scoped id, and groups by their id")


def message_body(request: SendRequest, uploaded: str | None = None) -> dict[str, Any]:
    """The body of a send. `uploaded`: the id of an uploaded file; without an id, the file is sent by address.

    Raises `Refused` for what a message of the Cloud API cannot have.
    """
    parts = request.parts or MessageParts()
    _check_limits(request, parts)
    body: dict[str, Any] = {"messaging_product": "whatsapp", **recipient(request.address)}
    if request.reply_to is not None:
        body["context"] = {"message_id": request.reply_to}
    if parts.buttons:
        return body | {"type": "interactive", "interactive": _interactive(request, uploaded)}
    if request.media:
        kind = kind_of(request.media[0], request.parts)
        return body | {"type": kind, kind: _file(request, kind, uploaded)}
    if not request.text:
        raise Refused("a message needs a text, a file or buttons")
    return body | {"type": "text", "text": {"body": request.text}}


def reaction_body(request: ActionRequest) -> dict[str, Any]:
    """The body of a reaction; an empty emoji takes the reaction away."""
    emoji = "" if request.remove else request.text.strip()
    if not emoji and not request.remove:
        raise Refused("there is no emoji")
    body: dict[str, Any] = {"messaging_product": "whatsapp", **recipient(request.address)}
    return body | {"type": "reaction", "reaction": {"message_id": request.message_id, "emoji": emoji}}


def _check_limits(request: SendRequest, parts: MessageParts) -> None:
    """Raise `Refused` for more than the Cloud API takes."""
    if len(request.media) > 1:
        raise Refused("a message of the Cloud API has one file: send each one by itself")
    limit = CAPTION if request.media or parts.buttons else TEXT
    if len(request.text) > limit:
        raise Refused(f"longer than {limit}")


def kind_of(media: str, parts: MessageParts | None = None) -> str:
    """The type of message for a file."""
    return _SHOWN.get(media_type(media, parts), "document")


def media_type(media: str, parts: MessageParts | None = None) -> str:
    """The media type of a file: from the message, else by the name."""
    given = parts.mime_type if parts is not None else None
    return given or mimetypes.guess_type(urlsplit(media).path or media)[0] or "application/octet-stream"


def name_of(media: str, parts: MessageParts | None = None) -> str:
    """The displayed name of a file."""
    given = parts.file_name if parts is not None else None
    return given or unquote(urlsplit(media).path).rpartition("/")[2] or "file"


def _file(request: SendRequest, kind: str, uploaded: str | None) -> dict[str, Any]:
    media = request.media[0]
    found: dict[str, Any] = {"link": media} if uploaded is None else {"id": uploaded}
    if request.text:
        if kind not in _WITH_CAPTION:
            raise Refused(f"WhatsApp shows no text with a file of type {kind}: send it by itself")
        found["caption"] = request.text
    if kind == "document":
        found["filename"] = name_of(media, request.parts)
    return found


def _interactive(request: SendRequest, uploaded: str | None) -> dict[str, Any]:
    assert request.parts is not None
    buttons = [button for row in request.parts.buttons for button in row]
    if len(buttons) > BUTTONS:
        raise Refused(f"more than {BUTTONS} buttons")
    if not request.text:
        raise Refused("buttons need a text")
    replies: list[dict[str, Any]] = []
    for button in buttons:
        value = button.value or button.text
        if button.url is not None:
            raise Refused("a reply button opens no page")
        if not 0 < len(button.text) <= BUTTON_TITLE or len(value) > BUTTON_ID:
            raise Refused(f"a button has at most {BUTTON_TITLE} characters, and its value {BUTTON_ID}")
        replies.append({"type": "reply", "reply": {"id": value, "title": button.text}})
    found: dict[str, Any] = {"type": "button", "body": {"text": request.text}, "action": {"buttons": replies}}
    if request.media:
        kind = kind_of(request.media[0], request.parts)
        if kind not in _WITH_CAPTION:
            raise Refused(f"a message with buttons cannot have a file of type {kind}")
        header = {"link": request.media[0]} if uploaded is None else {"id": uploaded}
        found["header"] = {"type": kind, kind: header}
    return found
