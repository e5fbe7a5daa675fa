"""The methods that change or ask about messages, topics and chats, as actions on the fake platform."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.errors import PlatformError
from trunkline.core.values import ChatKind, Receipt
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.api.api_calls import opening
from trunkline.sim.platforms.api.telegram_bot import FakeTelegramBot
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.json_values import mapping
from trunkline.sim.wire.telegram.answers import Wording, failed, ok
from trunkline.sim.wire.telegram.base import BotCaller, TelegramBase
from trunkline.sim.wire.telegram.objects import chat, posted
from trunkline.sim.wire.telegram.parameters import BadParameter, Parameters
from trunkline.sim.wire.telegram.sends import shown

_Handler = Callable[[BotCaller, Parameters], Awaitable[web.StreamResponse]]
_ICON = 7322096
_LONGEST_NAME = 128
#: the topic General, as people see the room itself: typing has its number, sends leave it out
_GENERAL = 1


class BotChanges:
    """The changing methods of one server."""

    def __init__(self, server: TelegramBase) -> None:
        self._server = server
        self._handlers: dict[str, _Handler] = {
            "editmessagetext": self._edit,
            "editmessagecaption": self._edit_caption,
            "deletemessage": self._delete,
            "deletemessages": self._delete_many,
            "setmessagereaction": self._react,
            "pinchatmessage": self._pin,
            "unpinchatmessage": self._unpin,
            "sendchataction": self._typing,
            "createforumtopic": self._create_topic,
            "editforumtopic": self._edit_topic,
            "reopenforumtopic": self._reopen_topic,
            "closeforumtopic": self._close_topic,
            "deleteforumtopic": self._delete_topic,
            "answercallbackquery": self._answer_press,
        }

    def handles(self, method: str) -> bool:
        """Whether a method is one of the changes."""
        return method in self._handlers

    async def handle(self, method: str, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """Carry out a call. Raises `BadParameter`."""
        return await self._handlers[method](caller, given)

    # ------------------------------------------------------------ messages

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

        return await self._act(caller, given, Action.EDIT, answer, verb="edit", **fields)

    async def _delete(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        message = self._message(caller, given)
        there = message is not None and not message.deleted

        def answer(receipt: Receipt) -> web.StreamResponse:
            return ok(True) if there else failed(400, "Bad Request: message to delete not found")

        return await self._act(caller, given, Action.DELETE, answer, verb="delete")

    async def _delete_many(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """Delete several messages; ids without a message are passed over."""
        ids = given.sequence("message_ids")
        if not 1 <= len(ids) <= 100:
            raise BadParameter("message identifiers are not specified")
        for number in ids:
            found = self._message(caller, Parameters({"chat_id": given.raw("chat_id"), "message_id": number}, {}))
            if found is not None and not found.deleted:
                single = Parameters({"chat_id": given.raw("chat_id"), "message_id": number}, {})
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
        return await self._act(caller, given, Action.REACT, _true, verb="react", text=emoji, remove=not reactions)

    async def _pin(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        return await self._act(caller, given, Action.PIN, _true, verb="pin")

    async def _unpin(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        return await self._act(caller, given, Action.UNPIN, _true, verb="unpin")

    async def _act(
        self, caller: BotCaller, given: Parameters, action: Action, answer: Callable[[Receipt], web.StreamResponse],
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

    # ------------------------------------------------------------ topics

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

    async def _close_topic(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        return self._end_topic(caller, given, "archived")

    async def _delete_topic(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        return self._end_topic(caller, given, "deleted")

    def _end_topic(self, caller: BotCaller, given: Parameters, how: str) -> web.StreamResponse:
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

    # ------------------------------------------------------------ questions

    def chat(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """``getChat``."""
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
