"""The methods of the Bot API that send, change or ask, as sends, actions and questions to the fake platform."""

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import msgspec
from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.errors import PlatformError, Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind, Poll, Receipt, SendRequest
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.api.api_calls import opening
from trunkline.sim.platforms.api.binding_adapter import FakeTelegramBot
from trunkline.sim.platforms.api.request_checks import text_of_html
from trunkline.sim.platforms.api.telegram_markdown import text_of_markdown
from trunkline.sim.platforms.channels.telegram import PART_LIMITS
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.json_values import mapping
from trunkline.sim.wire.telegram.base import BadParameter, BotCaller, Parameters, TelegramBase, Wording, failed, ok
from trunkline.sim.wire.telegram.objects import chat, file_fields, posted

# The methods that send: texts, files, albums, polls, stickers, as sends to the fake platform.

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
    def __init__(self, server: TelegramBase) -> None:
        self._server = server

    def handles(self, method: str) -> bool:
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
        known = store.by_id.get(source)
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
        found = server.message_at(receipt.address, receipt.provider_id)
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


_Handler = Callable[[BotCaller, Parameters], Awaitable[web.StreamResponse]]
_ICON = 7322096
_LONGEST_NAME = 128
#: the topic General, as people see the room itself: typing has its number, sends leave it out
_GENERAL = 1


class BotChanges:
    def __init__(self, server: TelegramBase) -> None:
        self._server = server
        self._handlers: dict[str, _Handler] = {
            "editmessagetext": self._edit,
            "editmessagecaption": self._edit_caption,
            "deletemessage": self._delete,
            "deletemessages": self._delete_many,
            "setmessagereaction": self._react,
            "pinchatmessage": partial(self._act, Action.PIN, _true, verb="pin"),
            "unpinchatmessage": partial(self._act, Action.UNPIN, _true, verb="unpin"),
            "sendchataction": self._typing,
            "createforumtopic": self._create_topic,
            "editforumtopic": self._edit_topic,
            "reopenforumtopic": self._reopen_topic,
            "closeforumtopic": partial(self._end_topic, "archived"),
            "deleteforumtopic": partial(self._end_topic, "deleted"),
            "answercallbackquery": self._answer_press,
        }

    def handles(self, method: str) -> bool:
        return method in self._handlers

    async def handle(self, method: str, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """Carry out a call. Raises `BadParameter`."""
        return await self._handlers[method](caller, given)

    async def _edit(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        message = self._message(caller, given)
        if isinstance(message, PostedMessage) and (message.media or message.request.poll is not None):
            raise BadParameter("there is no text in the message to edit")
        fields = shown(given, "text")
        if not fields["text"].strip():
            raise BadParameter("message text is empty")
        return await self._edit_message(caller, given, message, fields)

    async def _edit_caption(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        return await self._edit_message(caller, given, self._message(caller, given), shown(given, "caption"))

    async def _edit_message(
        self, caller: BotCaller, given: Parameters, message: BoardMessage | None, fields: dict[str, Any]
    ) -> web.StreamResponse:
        before = None if message is None else message.edits

        def answer(receipt: Receipt) -> web.StreamResponse:
            assert isinstance(message, PostedMessage)
            if message.edits == before:
                return failed(
                    400,
                    "Bad Request: message is not modified: specified new message content and reply markup are exactly"
                    " the same as a current content and reply markup of the message",
                )
            return ok(posted(self._server.platform, message, self._server.date(message.at), []))

        return await self._act(Action.EDIT, answer, caller, given, verb="edit", **fields)

    async def _delete(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        message = self._message(caller, given)
        there = message is not None and not message.deleted

        def answer(receipt: Receipt) -> web.StreamResponse:
            return ok(True) if there else failed(400, "Bad Request: message to delete not found")

        return await self._act(Action.DELETE, answer, caller, given, verb="delete")

    async def _delete_many(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """Delete several messages; ids without a message are passed over."""
        ids = given.sequence("message_ids")
        if not 1 <= len(ids) <= 100:
            raise BadParameter("message identifiers are not specified")
        for number in ids:
            single = Parameters({"chat_id": given.raw("chat_id"), "message_id": number}, {})
            found = self._message(caller, single)
            if found is not None and not found.deleted:
                answer = await self._delete(caller, single)
                if answer.status != 200:
                    return answer
        return ok(True)

    async def _react(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        reactions = given.sequence("reaction")
        if len(reactions) > 1:
            raise BadParameter("REACTIONS_TOO_MANY")
        emoji = ""
        if reactions:
            emoji = str(mapping(reactions[0]).get("emoji", ""))
            if not emoji:
                raise BadParameter('can\'t parse ReactionType: field "emoji" is missing')
        return await self._act(Action.REACT, _true, caller, given, verb="react", text=emoji, remove=not reactions)

    async def _act(
        self, action: Action, answer: Callable[[Receipt], web.StreamResponse], caller: BotCaller, given: Parameters,
        *, verb: str, **fields: Any,
    ) -> web.StreamResponse:  # fmt: skip
        """A change of a message, which may be in a topic of the chat that the call names."""
        number = given.integer("message_id")
        if number is None:
            raise BadParameter("message identifier is not specified")
        place = self._server.place(caller.account, given)
        message = self._message(caller, given)
        if message is not None:
            place = message.room.address(caller.account)
        change = self._server.action_request(action, place, str(number), **fields)
        caller.note_wording(Wording(place=place, verb=verb))
        return await self._server.act(caller.request, change, caller.token, answer)

    def _message(self, caller: BotCaller, given: Parameters) -> BoardMessage | None:
        number, room = given.integer("message_id"), self._room(caller, given)
        if number is None or room is None:
            return None
        return self._server.platform.board.get(room, str(number))

    def _room(self, caller: BotCaller, given: Parameters) -> Room | None:
        place = self._server.place(caller.account, given)
        return self._server.platform.room_above(place)

    async def _create_topic(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        name = given.text("name").strip()
        if not 1 <= len(name) <= _LONGEST_NAME:
            raise BadParameter("TOPIC_TITLE_EMPTY" if not name else "topic name is too long")
        server = self._server
        place = msgspec.structs.replace(server.place(caller.account, given), thread=None)
        caller.note_wording(Wording(place=place))

        def topic(number: int) -> web.StreamResponse:
            return ok({"message_thread_id": number, "name": name, "icon_color": _ICON})

        key = server.attribution.opening(place, name)
        if key is None:
            change = server.action_request(Action.TOPIC_CREATE, place, fields=json.dumps({"name": name}))
            return await server.act(caller.request, change, caller.token, lambda found: topic(int(found.provider_id)))
        with opening(key):
            future = self._bot(caller).create_forum_topic(int(place.conversation), name)
            return await self._respond(caller, future, topic)

    async def _edit_topic(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        server = self._server
        place = server.place(caller.account, given)
        room = server.platform.room_at(place)
        name = given.text("name").strip()
        before = None if room is None else room.title or room.name
        caller.note_wording(Wording(place=place))

        def answer(receipt: Receipt) -> web.StreamResponse:
            return ok(True) if before != name else failed(400, "Bad Request: TOPIC_NOT_MODIFIED")

        if room is None or room.thread is None:
            raise BadParameter("message thread not found")
        change = server.action_request(Action.TOPIC_EDIT, place, fields=json.dumps({"name": name}))
        return await server.act(caller.request, change, caller.token, answer)

    async def _reopen_topic(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        room = self._topic(caller, given)
        closed = room is not None and room.closed is not None
        call = self._bot(caller).reopen_forum_topic(*self._numbers(given))
        return await self._respond(
            caller, call, lambda _: ok(True) if closed else failed(400, "Bad Request: TOPIC_NOT_MODIFIED")
        )

    async def _typing(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        if not given.text("action"):
            raise BadParameter("wrong parameter action in request")
        chat_number, topic = self._numbers(given, topical=False)
        if topic == _GENERAL:
            given, topic = Parameters({"chat_id": given.raw("chat_id")}, {}), 0
        caller.note_wording(Wording(place=self._server.place(caller.account, given)))
        return await self._respond(
            caller, self._bot(caller).send_typing(chat_number, topic or None), lambda _: ok(True)
        )

    async def _end_topic(self, how: str, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        room = self._topic(caller, given)
        if room is None or room.closed == "deleted":
            raise BadParameter("message thread not found")
        if room.closed == how:
            return failed(400, "Bad Request: TOPIC_NOT_MODIFIED")
        self._server.platform.threads.close(room, how, None)
        return ok(True)

    def _topic(self, caller: BotCaller, given: Parameters) -> Room | None:
        place = self._server.place(caller.account, given)
        if place.thread is None:
            raise BadParameter("message thread not found")
        caller.note_wording(Wording(place=place))
        return self._server.platform.room_at(place)

    def _numbers(self, given: Parameters, *, topical: bool = True) -> tuple[int, int]:
        topic = given.integer("message_thread_id")
        if topical and topic is None:
            raise BadParameter("message thread not found")
        return int(given.text("chat_id")), topic or 0

    def _bot(self, caller: BotCaller) -> FakeTelegramBot:
        return FakeTelegramBot(self._server.platform, caller.account, lambda: caller.token)

    async def _respond(
        self, caller: BotCaller, call: Awaitable[Any], answer: Callable[[Any], web.StreamResponse]
    ) -> web.StreamResponse:
        try:
            found = await call
        except PlatformError as error:
            return self._server.refusal(caller.request, error)
        return answer(found)

    async def _answer_press(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        if not given.text("callback_query_id"):
            raise BadParameter("query is too old and response timeout expired or query ID is invalid")
        return ok(True)

    def chat(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        place = msgspec.structs.replace(self._server.place(caller.account, given), thread=None)
        room = self._server.platform.room_at(place)
        if room is None or caller.account not in room.accounts:
            return failed(400, "Bad Request: chat not found")
        if caller.account in room.left:
            return failed(403, "Forbidden: bot is not a member of the supergroup chat")
        direct = room.kind is ChatKind.DIRECT
        more: dict[str, Any] = {
            "accent_color_id": 0,
            "max_reaction_count": 11,
            "accepted_gift_types": dict.fromkeys(
                ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"),
                direct,
            ),
        }
        return ok({**chat(self._server.platform, room), **more})


def _true(receipt: Receipt) -> web.StreamResponse:
    return ok(True)
