"""Telegram's objects: users, chats, messages and updates, from the state of the fake platform. Pure."""

import re
from typing import Any

import msgspec

from trunkline.core.message_parts import MediaKind, MessageParts
from trunkline.core.values import ChatKind, Deed, DeedKind, Envelope, Peer, Poll
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.api.inbound_pushes import REOPENED
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import Room, digits


def bot_user(platform: FakePlatform, account: str) -> dict[str, Any]:
    """The bot of an account, as others see it."""
    return {"id": int(platform.bot_id(account)), "is_bot": True, "first_name": account, "username": f"{account}_bot"}


def bot_self(platform: FakePlatform, account: str) -> dict[str, Any]:
    """The bot of an account, as it sees itself."""
    return {
        **bot_user(platform, account),
        "can_join_groups": True,
        "can_read_all_group_messages": True,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
        "has_topics_enabled": False,
        "allows_users_to_create_topics": False,
        "can_manage_bots": False,
        "supports_join_request_queries": False,
    }


def person(peer: Peer, *, bot: bool = False) -> dict[str, Any]:
    """A person, or another bot."""
    return {"id": _number(peer.id), "is_bot": bot, "first_name": peer.name or peer.id, "username": peer.name.lower()}


def is_forum(platform: FakePlatform, conversation: str) -> bool:
    return any(room.conversation == conversation and room.thread is not None for room in platform.rooms)


def chat(platform: FakePlatform, room: Room) -> dict[str, Any]:
    found: dict[str, Any] = {"id": int(room.conversation)}
    if room.kind is ChatKind.DIRECT:
        member = platform.server.members.get(room.conversation)
        name = room.name if member is None else member.peer.name
        return {**found, "type": "private", "first_name": name, "username": name.lower()}
    above = room if room.thread is None else next(
        (above for above in platform.rooms if above.conversation == room.conversation and above.thread is None), room
    )  # fmt: skip
    found |= {"type": "supergroup", "title": above.title or above.name}
    return {**found, "is_forum": True} if is_forum(platform, room.conversation) else found


def in_topic(room: Room) -> dict[str, Any]:
    return {} if room.thread is None else {"message_thread_id": int(room.thread), "is_topic_message": True}


def posted(platform: FakePlatform, message: PostedMessage, date: float, files: list[dict[str, Any]]) -> dict[str, Any]:
    """A message of the bot. `files`: the fields of its files, the first one first."""
    request = message.request
    found: dict[str, Any] = {
        "message_id": int(message.id),
        "from": bot_user(platform, message.account or ""),
        "chat": chat(platform, message.room),
        "date": int(date),
        **in_topic(message.room),
    }
    if message.edits:
        found["edit_date"] = int(date)
    sticker = None if request.parts is None else request.parts.sticker
    if request.poll is not None:
        found["poll"] = poll_object(request.poll, message.receipt.poll_id or "0", message)
    elif sticker is not None:
        found["sticker"] = {**file_object(sticker), "type": "regular", "is_animated": False, "is_video": False, **_SIZE}
    elif files:
        found |= files[0]
        if message.text:
            found["caption"] = message.text
    else:
        found["text"] = platform.visible(request) if message.text == request.text else message.text
    keyboard = keyboard_of(request.parts)
    if keyboard is not None:
        found["reply_markup"] = keyboard
    return found


def keyboard_of(parts: MessageParts | None) -> dict[str, Any] | None:
    if parts is None or not parts.buttons:
        return None
    rows = [
        [
            {"text": button.text, "callback_data": button.value}
            if button.url is None
            else {"text": button.text, "url": button.url}
            for button in row
        ]
        for row in parts.buttons
    ]
    return {"inline_keyboard": rows}


_SIZE = {"width": 512, "height": 512}


def file_object(file_id: str) -> dict[str, Any]:
    """The fields of every file."""
    return {"file_id": file_id, "file_unique_id": file_id[:16], "file_size": 1}


def file_fields(kind: str, file_id: str, name: str) -> dict[str, Any]:
    """The field of a message with a file. An animation is a document too."""
    base = file_object(file_id)
    if kind == "photo":
        return {"photo": [{**base, **_SIZE}]}
    if kind in ("video", "animation"):
        moving = {**base, **_SIZE, "duration": 1, "file_name": name}
        return {kind: moving, "document": {**base, "file_name": name}} if kind == "animation" else {kind: moving}
    if kind in ("audio", "voice"):
        return {kind: {**base, "duration": 1}}
    return {"document": {**base, "file_name": name}}


def poll_object(poll: Poll, poll_id: str, message: BoardMessage) -> dict[str, Any]:
    chosen = [option for options in message.votes.values() for option in options]
    return {
        "id": poll_id,
        "question": poll.question,
        "options": [
            {"persistent_id": str(number), "text": text, "voter_count": chosen.count(number)}
            for number, text in enumerate(poll.options)
        ],
        "total_voter_count": len(message.votes),
        "is_closed": False,
        "is_anonymous": poll.anonymous is not False,
        "type": "regular",
        "allows_multiple_answers": poll.max_selections > 1,
        "allows_revoting": True,
        "members_only": False,
    }


#: the kinds of updates that come if a bot asks for none in particular
UNASKED = ("message", "edited_message", "callback_query")


def kind_of(envelope: Envelope) -> str:
    """The kind of the update with a message, a press or a deed."""
    if envelope.deed is not None:
        return "edited_message" if envelope.deed.kind is DeedKind.EDIT else "message_reaction"
    return "message" if envelope.pressed is None else "callback_query"


def update_of(platform: FakePlatform, number: int, envelope: Envelope, date: float) -> dict[str, Any]:
    """The update that brings what a person did."""
    if envelope.deed is not None:
        return {"update_id": number, kind_of(envelope): _deed(platform, envelope, envelope.deed, date)}
    if envelope.pressed is not None:
        return {"update_id": number, "callback_query": _press(platform, envelope, date)}
    return {"update_id": number, "message": _said(platform, envelope, date)}


def _said(platform: FakePlatform, envelope: Envelope, date: float) -> dict[str, Any]:
    place = envelope.address
    room = platform.room_at(place) or platform.room_above(place)
    assert room is not None
    found: dict[str, Any] = {
        "message_id": _number(envelope.message_id),
        "from": person(envelope.peer, bot=envelope.bot),
        "chat": chat(platform, room),
        "date": int(date),
        **_content(envelope),
    }
    if not envelope.threaded and place.thread is not None:
        # The id of a reply chain: of no topic, and refused in sends.
        found["message_thread_id"] = _number(place.thread)
        found["reply_to_message"] = _replied(platform, room, place.thread, date)
    else:
        found |= in_topic(room)
    if envelope.reply_to is not None:
        found["reply_to_message"] = _replied(platform, room, envelope.reply_to, date)
    if envelope.parts == REOPENED:
        del found["text"]
        found["forum_topic_reopened"] = {}
    return found


def _deed(platform: FakePlatform, envelope: Envelope, deed: Deed, date: float) -> dict[str, Any]:
    if deed.kind is DeedKind.EDIT:
        message = msgspec.structs.replace(envelope, message_id=deed.of)
        return {**_said(platform, message, date), "edit_date": int(date)}
    room = platform.room_above(envelope.address)
    assert room is not None
    reactions = [{"type": "emoji", "emoji": envelope.text}]
    old, new = ([], reactions) if deed.kind is DeedKind.REACT else (reactions, [])
    where = {"chat": chat(platform, room), "message_id": _number(deed.of), "date": int(date)}
    return {**where, "user": person(envelope.peer), "old_reaction": old, "new_reaction": new}


def _content(envelope: Envelope) -> dict[str, Any]:
    """The text of a person, or the caption of their file."""
    text, entities = ("caption", "caption_entities") if envelope.files else ("text", "entities")
    found: dict[str, Any] = {text: envelope.text} if envelope.text or not envelope.files else {}
    if marked := entities_of(envelope.text):
        found[entities] = marked
    for file in envelope.files:
        held = {"file_id": f"in-{file.name}", "file_unique_id": f"u-{file.name}", "file_size": 1}
        named = {**held, "file_name": file.name, "mime_type": file.mime_type}
        match file.file:
            case MediaKind.PICTURE:
                found["photo"] = [{**held, "width": 90, "height": 60}]
            case MediaKind.VIDEO:
                found["video"] = {**named, "width": 90, "height": 60, "duration": 1}
            case MediaKind.SOUND:
                found["audio"] = {**named, "duration": 1}
            case _:
                found["document"] = named
    return found if envelope.act is None else {**found, "media_group_id": envelope.act}


def _replied(platform: FakePlatform, room: Room, message_id: str, date: float) -> dict[str, Any]:
    answered = platform.board.get(room, message_id)
    if isinstance(answered, PostedMessage):
        return posted(platform, answered, date, [])
    found = {"message_id": _number(message_id), "chat": chat(platform, room), "date": int(date), **in_topic(room)}
    if answered is None:
        return found
    member = platform.server.members.get(answered.author)
    writer = Peer(id=answered.author, name="") if member is None else member.peer
    return {**found, "from": person(writer), "text": answered.text}


def entities_of(text: str) -> list[dict[str, Any]]:
    """The commands, names and addresses in a text of a person. Libraries know a command by its entity alone."""
    return [
        {"type": kind, "offset": _utf16(text[: found.start()]), "length": _utf16(found[0])}
        for found in _ENTITY.finditer(text)
        if (kind := found.lastgroup)
    ]


#: what Telegram marks in a text by itself
_ENTITY = re.compile(
    r"(?<!\S)(?P<bot_command>/\w{1,64}(?:@\w{5,32})?)(?!\S)|(?<![\w@])(?P<mention>@\w{5,32})\b|(?P<url>https?://[^\s]+)",
    re.ASCII,
)


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _press(platform: FakePlatform, envelope: Envelope, date: float) -> dict[str, Any]:
    room = platform.room_at(envelope.address)
    assert room is not None
    assert envelope.pressed is not None
    below = platform.board.get(room, envelope.pressed)
    shown: dict[str, Any] = {"message_id": _number(envelope.pressed), "chat": chat(platform, room), "date": 0}
    if isinstance(below, PostedMessage):
        shown = posted(platform, below, date, [])
    return {
        "id": envelope.message_id,
        "from": person(envelope.peer, bot=envelope.bot),
        "message": shown,
        "chat_instance": digits("chat instance", room.conversation, length=18),
        "data": envelope.text,
    }


def _number(text: str) -> int:
    """An id as a number. Scenarios may give people ids that are names."""
    digit = text.removeprefix("-")
    return int(text) if digit.isdecimal() else int(digits("telegram", "name", text, length=9))
