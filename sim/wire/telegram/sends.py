"""The methods that send: texts, files, albums, polls, stickers, as sends to the fake platform."""

from __future__ import annotations

import json
from typing import Any, cast

from aiohttp import web

from trunkline.core.errors import Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, Poll, Receipt, SendRequest
from trunkline.sim.platforms.actions.message_board import PostedMessage
from trunkline.sim.platforms.api.request_checks import text_of_html
from trunkline.sim.platforms.api.telegram_markdown import text_of_markdown
from trunkline.sim.platforms.channels.telegram import PART_LIMITS
from trunkline.sim.wire.telegram.answers import Wording, ok
from trunkline.sim.wire.telegram.base import BotCaller, TelegramBase
from trunkline.sim.wire.telegram.objects import file_fields, posted
from trunkline.sim.wire.telegram.parameters import BadParameter, Parameters

#: method -> the kind of its file
_FILES = {
    "sendphoto": "photo",
    "sendvideo": "video",
    "sendanimation": "animation",
    "sendaudio": "audio",
    "sendvoice": "voice",
    "senddocument": "document",
}
#: parameters that a payload of the gateway may have: the fake platform keeps them together
_PAYLOAD = (
    "allow_paid_broadcast",
    "has_spoiler",
    "link_preview_options",
    "message_effect_id",
    "protect_content",
    "show_caption_above_media",
)
_MODES = ("HTML", "MarkdownV2", "Markdown")
_MOST_FILES = 10
_FILE_PREFIX = "telegram-file:"


def shown(given: Parameters, name: str, mode: str = "parse_mode") -> dict[str, Any]:
    """A text in both forms of a request: as people see it, and as HTML, if it is HTML. Raises `BadParameter`."""
    source, how = given.text(name), given.text(mode)
    if any("\ud800" <= sign <= "\udfff" for sign in source):
        raise BadParameter("strings must be encoded in UTF-8")
    if not how:
        return {"text": source}
    how = next((known for known in _MODES if known.lower() == how.lower()), "")
    if not how:
        raise BadParameter("unsupported parse_mode")
    if how == "HTML":
        try:
            return {"text": text_of_html(source), "html": source}
        except Refused:
            # The platform refuses it, and records that.
            return {"text": source, "html": source}
    try:
        return {"text": text_of_markdown(source) if how == "MarkdownV2" else source}
    except Refused as error:
        raise BadParameter(error.facts.replace("cannot", "can't", 1)) from None


class BotSends:
    """The sending methods of one server."""

    def __init__(self, server: TelegramBase) -> None:
        self._server = server

    def handles(self, method: str) -> bool:
        """Whether a method sends."""
        return method in _FILES or method in ("sendmessage", "sendmediagroup", "sendpoll", "sendsticker")

    async def handle(self, method: str, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """Send what a call asks for. Raises `BadParameter`."""
        place = self._server.place(caller.account, given)
        parts = _parts(given)
        fields: dict[str, Any] = {"reply_to": _reply_to(given), "payload": _payload(given)}
        if method == "sendpoll":
            fields |= _poll(given)
        elif method == "sendmessage":
            fields |= shown(given, "text")
            if not fields["text"].strip():
                raise BadParameter("message text is empty")
        elif method == "sendsticker":
            parts["sticker"] = self._sticker(given)
            fields["text"] = ""
        else:
            fields |= shown(given, "caption")
        if method in _FILES:
            return await self._with_file(_FILES[method], caller, given, place, fields, parts)
        if method == "sendmediagroup":
            return await self._album(caller, given, place, fields, parts)
        return await self._send(caller, place, fields, parts, [])

    async def _with_file(
        self, kind: str, caller: BotCaller, given: Parameters, place: Address, fields: dict[str, Any],
        parts: dict[str, Any],
    ) -> web.StreamResponse:  # fmt: skip
        address, file_id, name = self._file(kind, kind, given)
        parts |= {"as_voice": True} if kind == "voice" else {"gif": True} if kind == "animation" else {}
        fields["media"] = (address,)
        return await self._send(caller, place, fields, parts, [file_fields(kind, file_id, name)])

    async def _album(
        self, caller: BotCaller, given: Parameters, place: Address, fields: dict[str, Any], parts: dict[str, Any]
    ) -> web.StreamResponse:
        items = given.sequence("media")
        if not 2 <= len(items) <= _MOST_FILES:
            raise BadParameter(f"media group must include 2-{_MOST_FILES} items")
        if "reply_markup" in given:
            raise BadParameter("media groups have no reply markup")
        media: list[str] = []
        files: list[dict[str, Any]] = []
        kinds: set[str] = set()
        for item in items:
            if not isinstance(item, dict):
                raise BadParameter("can't parse InputMedia: expected an object")
            single = Parameters(cast("dict[str, Any]", item), given.files)
            kind = single.text("type")
            if kind not in ("photo", "video", "audio", "document"):
                raise BadParameter(f"can't parse InputMedia: unsupported type {kind[:40]!r}")
            kinds.add(kind)
            address, file_id, name = self._file("media", kind, single)
            media.append(address)
            files.append(file_fields(kind, file_id, name))
            if "caption" in single:
                fields |= shown(single, "caption")
        if not (kinds <= {"photo", "video"} or len(kinds) == 1):
            raise BadParameter("document and audio can't be mixed with other media types")
        fields["media"] = tuple(media)
        return await self._send(caller, place, fields, parts, files, album=True)

    def _file(self, name: str, kind: str, given: Parameters) -> tuple[str, str, str]:
        """The file in a parameter: as the gateway named it, its id, and its name. Raises `BadParameter`."""
        store, source = self._server.files, given.text(name)
        uploaded = given.files.get(source.removeprefix("attach://") if source else name)
        if uploaded is not None:
            return uploaded.name, store.add(kind, uploaded).file_id, uploaded.name
        if source.startswith(("http://", "https://")):
            return source, store.add(kind, source).file_id, source.rpartition("/")[2]
        known = store.get(source)
        if known is None:
            raise BadParameter(
                "wrong file identifier/HTTP URL specified" if source else f"there is no {kind} in the request"
            )
        return f"{_FILE_PREFIX}{source}", source, known.source

    def _sticker(self, given: Parameters) -> str:
        source = given.text("sticker")
        uploaded = given.files.get("sticker")
        if uploaded is not None:
            return self._server.files.add("sticker", uploaded).file_id
        if not source:
            raise BadParameter("there is no sticker in the request")
        return source

    async def _send(
        self, caller: BotCaller, place: Address, fields: dict[str, Any], parts: dict[str, Any],
        files: list[dict[str, Any]], *, album: bool = False,
    ) -> web.StreamResponse:  # fmt: skip
        server = self._server
        text = fields.pop("text", "")
        caption = bool(files)
        given = {name: value for name, value in fields.items() if value is not None}
        if parts:
            given["parts"] = MessageParts(**parts)
        send = server.send_request(place, text, **given)
        caller.note_wording(Wording(place=place, caption=caption))

        def answer(receipt: Receipt) -> web.StreamResponse:
            return ok(self._messages(receipt, send, files) if album else self._message(receipt, files))

        return await server.send(caller.request, send, caller.token, answer)

    def _message(self, receipt: Receipt, files: list[dict[str, Any]]) -> dict[str, Any]:
        server = self._server
        room = server.platform.room_at(receipt.address)
        found = None if room is None else server.platform.board.get(room, receipt.provider_id)
        if not isinstance(found, PostedMessage):
            # A fault of the scenario: a receipt without an id, or with one that is none.
            return {"message_id": receipt.provider_id, "date": int(server.date())}
        return posted(server.platform, found, server.date(found.at), files)

    def _messages(self, receipt: Receipt, send: SendRequest, files: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """An album: one message for each file, of which the first is the one that the platform has posted."""
        first = self._message(receipt, files[:1])
        room = self._server.platform.room_at(receipt.address)
        assert room is not None
        album = f"{first['message_id']}0"
        others = [
            {
                **{
                    name: first[name]
                    for name in ("from", "chat", "date", "message_thread_id", "is_topic_message")
                    if name in first
                },
                "message_id": int(self._server.platform.posted_id(room, send.key, str(number))),
                **file,
            }
            for number, file in enumerate(files[1:], 2)
        ]
        return [{**posted, "media_group_id": album} for posted in (first, *others)]


def _reply_to(given: Parameters) -> str | None:
    found = given.record("reply_parameters").get("message_id", given.raw("reply_to_message_id"))
    return None if found is None else str(found)


def _payload(given: Parameters) -> str | None:
    """The fields of a message beside its content, as the gateway's payload."""
    found = {name: given.data(name) for name in _PAYLOAD if name in given}
    return json.dumps(found, separators=(",", ":"), sort_keys=True) if found else None


def _parts(given: Parameters) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if given.flag("disable_notification"):
        found["silent"] = True
    keyboard = given.record("reply_markup").get("inline_keyboard")
    if keyboard is not None:
        found["buttons"] = read_keyboard(keyboard)
    return found


def read_keyboard(keyboard: Any) -> tuple[tuple[Button, ...], ...]:
    """The rows of buttons of an inline keyboard. Raises `BadParameter`."""
    try:
        return tuple(tuple(_button(button) for button in row) for row in keyboard)
    except (TypeError, AttributeError):
        raise BadParameter("can't parse inline keyboard button") from None


def _button(button: dict[str, Any]) -> Button:
    text, value, url = button.get("text"), button.get("callback_data"), button.get("url")
    if not isinstance(text, str) or not text:
        raise BadParameter('can\'t parse inline keyboard button: field "text" is empty')
    if isinstance(url, str):
        return Button(text=text, url=url)
    if not isinstance(value, str):
        raise BadParameter("text buttons are unallowed in the inline keyboard")
    if not 1 <= len(value.encode()) <= (PART_LIMITS.button_bytes or 0):
        raise BadParameter("BUTTON_DATA_INVALID")
    return Button(text=text, value=value)


def _poll(given: Parameters) -> dict[str, Any]:
    """A poll, and the text beside its question. Raises `BadParameter`."""
    question = given.text("question").strip()
    options = tuple(_option(option) for option in given.sequence("options"))
    if not 1 <= len(question) <= (PART_LIMITS.question or 0):
        raise BadParameter(
            "poll question must be non-empty" if not question else "poll question length must not exceed 300"
        )
    if len(options) < 2:
        raise BadParameter("poll must have at least 2 option")
    if any(not 1 <= len(option) <= (PART_LIMITS.option or 0) for option in options):
        raise BadParameter("poll options length must not exceed 100")
    poll = Poll(
        question=question,
        options=options,
        max_selections=len(options) if given.flag("allows_multiple_answers") else 1,
        duration_seconds=given.integer("open_period"),
        anonymous=given.flag("is_anonymous"),
    )
    beside = shown(given, "description", "description_parse_mode") if "description" in given else {"text": question}
    return {"poll": poll, **beside}


def _option(option: Any) -> str:
    found = cast("dict[str, Any]", option).get("text") if isinstance(option, dict) else option
    if not isinstance(found, str):
        raise BadParameter("can't parse poll option: expected a string")
    return found
