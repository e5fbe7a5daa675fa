"""The places of a recorded wire: what a platform calls chat and thread, as an address."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from trunkline.core.values import Address, ChatKind, Peer

ACCOUNT = "default"
#: the only channel of the recorder's own Discord server, and the ids of its direct chats
_CHANNEL = "820000000000000001"
_DIRECT = re.compile(r"84\d{16}")
#: bits of an id of Discord below its time, and a day in that time
_TIME, _DAY = 22, 24 * 60 * 60 * 1000
#: what Telegram calls the topic that is the room itself
_GENERAL = "1"
_NO_CHAT = (None, "")


class RecordedPlaces:
    """The places of one recording, by all of its lines.

    A chat on Discord does not say whether it is a channel or a thread. The recorder's server has one channel. Elsewhere
    it is the oldest of the rooms, because ids there grow with time; of rooms that were all made for the run, none is.
    """

    def __init__(self, facts: Iterable[Mapping[str, Any]] = ()) -> None:
        facts = list(facts)
        #: thread of Discord -> its channel, as far as it was recorded
        self._above = {
            str(fact.get("chat")): str(fact["parent"])
            for fact in facts
            if fact.get("kind") == "thread.opened" and fact.get("parent") not in _NO_CHAT
        }
        self._channel = _channel([fact for fact in facts if fact.get("platform") == "discord"])
        #: platform -> the person of its first direct chat
        self._people: dict[str, Peer] = {}
        for fact in facts:
            platform, chat = fact.get("platform"), fact.get("chat")
            if isinstance(platform, str) and chat not in _NO_CHAT and fact.get("kind") in ("peer.said", "accepted"):
                address = self.address(platform, chat)
                if address.kind is ChatKind.DIRECT:
                    self._people.setdefault(platform, self.person(address))

    def address(self, platform: str, chat: object, thread: object = None) -> Address:
        """The address of a chat and a thread, as `platform` spells them. Raises `ValueError` without a chat."""
        if chat in _NO_CHAT:
            raise ValueError("it names no chat")
        conversation, below, parent = str(chat), None if thread in (None, "", 0) else str(thread), None
        if platform == "telegram":
            kind = ChatKind.GROUP if conversation.startswith(("-", "@")) else ChatKind.DIRECT
            below = None if below == _GENERAL else below
        elif platform == "discord":
            kind = ChatKind.DIRECT if _DIRECT.fullmatch(conversation) else ChatKind.CHANNEL
            if kind is ChatKind.CHANNEL and conversation != self._channel:
                parent = self._above.get(conversation, self._channel)
        elif platform == "slack":
            # A message to a person, by the id of that person, goes to the direct chat.
            kind = ChatKind.DIRECT if conversation.startswith(("D", "U")) else ChatKind.CHANNEL
        else:
            kind = ChatKind.GROUP
        return Address(
            channel=platform, account=ACCOUNT, kind=kind, conversation=conversation, thread=below, parent=parent
        )

    def person(self, address: Address) -> Peer:
        """Who speaks there: the person of a direct chat, who is known by it; elsewhere that of the first such chat.

        Who speaks in a room was not recorded.
        """
        if address.kind is ChatKind.DIRECT:
            return Peer(id=address.conversation, name=address.conversation)
        return self._people.get(address.channel) or Peer(id=f"{address.channel}-person", name="somebody")

    def target(self, platform: str, params: Mapping[str, Any], path: str) -> Address | None:
        """The place that a request names, if it names one."""
        if platform == "telegram":
            chat, thread = params.get("chat_id"), params.get("message_thread_id")
        elif platform == "slack":
            chat, thread = params.get("channel"), params.get("thread_ts")
        elif platform == "discord":
            found = re.match(r"/channels/(\d+)", path)
            chat, thread = found[1] if found else None, None
        else:
            found = re.search(r"rooms/([^/]+)/send", path)
            chat, thread = found[1] if found else None, thread_of(params)
        return None if chat in _NO_CHAT else self.address(platform, chat, thread)


def _channel(facts: list[Mapping[str, Any]]) -> str:
    """The channel of a Discord server, of which `facts` are all lines."""
    chats = dict.fromkeys(str(fact["chat"]) for fact in facts if fact.get("chat") not in _NO_CHAT)
    rooms = [chat for chat in chats if not _DIRECT.fullmatch(chat)]
    if not rooms or _CHANNEL in rooms:
        return _CHANNEL
    if not all(room.isdecimal() for room in rooms):
        return rooms[0]
    oldest = min(rooms, key=int)
    posted = [str(fact["message_id"]) for fact in facts if fact.get("message_id") not in _NO_CHAT]
    made = min((int(one) >> _TIME for one in posted if one.isdecimal()), default=0) - (int(oldest) >> _TIME)
    return _CHANNEL if 0 <= made < _DAY else oldest


def thread_of(params: Mapping[str, Any]) -> str | None:
    """The thread that a message on Matrix is for."""
    kind, event = relation_of(params)
    return event if kind == "m.thread" else None


def relation_of(params: Mapping[str, Any]) -> tuple[str, str | None]:
    """How an event on Matrix is related to another one, and to which."""
    given = params.get("m.relates_to")
    if not isinstance(given, dict):
        return "", None
    found = cast("dict[str, Any]", given)
    return str(found.get("rel_type") or ""), None if found.get("event_id") is None else str(found["event_id"])


def name_of(address: Address) -> str:
    """A name of a place for readers."""
    room = f"@{address.conversation}" if address.kind is ChatKind.DIRECT else address.conversation
    if address.thread:
        return f"{room}/{address.thread}"
    return f"{address.parent}/{room}" if address.parent else room
