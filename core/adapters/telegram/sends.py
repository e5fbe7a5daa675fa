"""Chunks of the gateway as calls of the Bot API. Pure.

A call makes a single message or album: content that does not fit is refused, never split or left out.
"""

from __future__ import annotations

import json
import mimetypes
import re
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from telegram import InputMediaAudio, InputMediaDocument, InputMediaPhoto, InputMediaVideo

from trunkline.core.adapters.telegram.requests import BotCall
from trunkline.core.adapters.telegram.updates import FILE_PREFIX
from trunkline.core.errors import PlaceGone, Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, Poll, SendRequest

#: limits of the Bot API: files of an album, bytes of a button's value, seconds of a poll
_MOST_FILES, _LONGEST_VALUE, _LONGEST_POLL = 10, 64, 2_628_000
_HOUR = 3600
#: what a payload may add to a message; nothing that would change its place, its text or its sender
PAYLOAD_FIELDS = frozenset(
    {
        "allow_paid_broadcast",
        "has_spoiler",
        "link_preview_options",
        "message_effect_id",
        "protect_content",
        "reply_markup",
        "show_caption_above_media",
    }
)
#: kind of a file -> method and parameter
_METHODS = {
    "photo": "send_photo",
    "video": "send_video",
    "animation": "send_animation",
    "audio": "send_audio",
    "voice": "send_voice",
    "document": "send_document",
}
_ALBUM: dict[str, Callable[..., Any]] = {
    "photo": InputMediaPhoto,
    "video": InputMediaVideo,
    "audio": InputMediaAudio,
    "document": InputMediaDocument,
}
#: not whatever Python takes for a number: 1_000 is no chat
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_FILE_ID = re.compile(r"[A-Za-z0-9_-]{16,250}")
_VOICES = ("audio/ogg", "audio/mpeg", "audio/mp4", "audio/x-m4a")
_PHOTOS = ("image/jpeg", "image/png", "image/webp")


def number_of(text: str | None, what: str) -> int:
    """An id as a number for Telegram. Raises `Refused`."""
    if not _NUMBER.fullmatch(text or ""):
        raise Refused(f"{what} is a number on Telegram, not {text!r}")
    return int(text or "")


def chat_of(address: Address) -> int:
    """The number of a chat. Raises `PlaceGone` for anything else."""
    if not _NUMBER.fullmatch(address.conversation):
        raise PlaceGone(f"a chat is a number on Telegram, not {address.conversation!r}")
    return int(address.conversation)


def file_id(text: str) -> str:
    """The id of a file kept by Telegram. Raises `Refused`: the library would take another text for a path."""
    found = text.removeprefix(FILE_PREFIX)
    if not _FILE_ID.fullmatch(found):
        raise Refused(f"no id of a file on Telegram: {text[:80]!r}")
    return found


def call_of(request: SendRequest, files: Mapping[str, Any]) -> BotCall:
    """The call to send a chunk. `files`: the content of each file, or an address for Telegram to read.

    Raises `Refused` for what Telegram has no single message for.
    """
    parts = request.parts or MessageParts()
    more = _common(request, parts)
    kinds = sum((bool(request.media), request.poll is not None, parts.sticker is not None))
    if kinds > 1:
        raise Refused("files, a poll and a sticker are different messages on Telegram")
    if request.poll is not None:
        return _poll(request, request.poll, more)
    if parts.sticker is not None:
        return _sticker(request, parts.sticker, more)
    if not request.media:
        text, form = _text(request)
        return BotCall(
            method="send_message",
            arguments={"chat_id": chat_of(request.address), "text": text},
            more={**more, **form},
        )
    if len(request.media) == 1:
        return _file(request, parts, files[request.media[0]], more)
    return _album(request, parts, files, more)


def _text(request: SendRequest) -> tuple[str, dict[str, str]]:
    """The text of the request, and the parse mode."""
    return (request.text, {}) if request.html is None else (request.html, {"parse_mode": "HTML"})


def _common(request: SendRequest, parts: MessageParts) -> dict[str, Any]:
    """The parameters of any message: topic, answered message, silence, buttons, and the payload."""
    more = _payload(request.payload)
    if request.address.thread is not None:
        more["message_thread_id"] = number_of(request.address.thread, "a topic")
    if request.reply_to is not None:
        replied = number_of(request.reply_to, "the message to answer")
        # An answer arrives even if its question was deleted.
        more["reply_parameters"] = {"message_id": replied, "allow_sending_without_reply": True}
    if parts.silent:
        more["disable_notification"] = True
    if parts.buttons:
        if "reply_markup" in more:
            raise Refused("the payload has a `reply_markup` beside the buttons")
        more["reply_markup"] = {"inline_keyboard": [[_button(button) for button in row] for row in parts.buttons]}
    return more


def _payload(text: str | None) -> dict[str, Any]:
    """The parameters of a payload. Raises `Refused` for other parameters."""
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the payload is no JSON: {type(error).__name__}") from None
    if not isinstance(found, dict):
        raise Refused("the payload is no JSON object")
    given = cast("dict[str, Any]", found)
    unknown = sorted(set(given) - PAYLOAD_FIELDS)
    if unknown:
        raise Refused(f"the payload may have {', '.join(sorted(PAYLOAD_FIELDS))}, and has {', '.join(unknown)[:200]}")
    return given


def _button(button: Button) -> dict[str, str]:
    if button.url is not None:
        return {"text": button.text, "url": button.url}
    value = button.value or button.text
    if not 1 <= len(value.encode("utf-8", "replace")) <= _LONGEST_VALUE:
        raise Refused(f"the value of a button has 1 to {_LONGEST_VALUE} bytes on Telegram: {value[:80]!r}")
    return {"text": button.text, "callback_data": value}


def _poll(request: SendRequest, poll: Poll, more: dict[str, Any]) -> BotCall:
    more = dict(more)
    if request.text.strip() not in ("", poll.question.strip()):
        text, form = _text(request)
        more["description"] = text
        if form:
            more["description_parse_mode"] = form["parse_mode"]
    if poll.anonymous is not None:
        more["is_anonymous"] = poll.anonymous
    if poll.max_selections > 1:
        if poll.max_selections < len(poll.options):
            raise Refused("a poll of Telegram lets people choose one option or any number, not at most some")
        more["allows_multiple_answers"] = True
    seconds = poll.duration_seconds if poll.duration_hours is None else poll.duration_hours * _HOUR
    if seconds is not None:
        if not 5 <= seconds <= _LONGEST_POLL:
            raise Refused(f"a poll of Telegram is open for 5 to {_LONGEST_POLL} seconds")
        more["open_period"] = seconds
    arguments = {
        "chat_id": chat_of(request.address),
        "question": poll.question,
        "options": list(poll.options),
    }
    return BotCall(method="send_poll", arguments=arguments, more=more)


def _sticker(request: SendRequest, sticker: str, more: dict[str, Any]) -> BotCall:
    if request.text.strip():
        raise Refused("a sticker has no text on Telegram: send the text as a message of its own")
    arguments = {"chat_id": chat_of(request.address), "sticker": file_id(sticker)}
    return BotCall(method="send_sticker", arguments=arguments, more=more)


def _caption(request: SendRequest) -> dict[str, str]:
    if not request.text:
        return {}
    text, form = _text(request)
    return {"caption": text, **form}


def _file(request: SendRequest, parts: MessageParts, file: Any, more: dict[str, Any]) -> BotCall:
    kind = kind_of(request.media[0], parts)
    arguments = {"chat_id": chat_of(request.address), kind: file}
    return BotCall(method=_METHODS[kind], arguments=arguments, more={**more, **_caption(request)})


def _album(request: SendRequest, parts: MessageParts, files: Mapping[str, Any], more: dict[str, Any]) -> BotCall:
    if len(request.media) > _MOST_FILES:
        raise Refused(f"an album of Telegram has at most {_MOST_FILES} files, not {len(request.media)}")
    if "reply_markup" in more:
        raise Refused("an album of Telegram has no buttons: send one file, or the buttons with a text")
    kinds = [kind_of(media, parts) for media in request.media]
    if not (set(kinds) <= {"photo", "video"} or set(kinds) == {"audio"}):
        kinds = ["document"] * len(kinds)
    # People see the caption below the whole album if exactly one file has a caption; of documents below the last.
    captioned = len(kinds) - 1 if kinds[0] == "document" else 0
    items = [
        _ALBUM[kind](files[media], **(_caption(request) if number == captioned else {}))
        for number, (kind, media) in enumerate(zip(kinds, request.media, strict=True))
    ]
    return BotCall(
        method="send_media_group", arguments={"chat_id": chat_of(request.address), "media": items}, more=more
    )


def kind_of(address: str, parts: MessageParts) -> str:
    """The kind of a file on Telegram, by the type in the message or by the file name."""
    path = address if address.startswith(FILE_PREFIX) else urlsplit(address).path
    named = parts.mime_type or mimetypes.guess_type(parts.file_name or path)[0] or ""
    if parts.as_voice and (named in _VOICES or not named):
        return "voice"
    if named == "image/gif" or (parts.gif and named.startswith("video/")):
        return "animation"
    if named in _PHOTOS:
        return "photo"
    main = named.partition("/")[0]
    return main if main in ("video", "audio") else "document"
