"""The places of a recorded wire: what a platform calls chat and thread, as an address."""

from __future__ import annotations

import re
from typing import Any

from trunkline.core.values import Address, ChatKind, Peer

ACCOUNT = "default"
#: the only channel of the recorded Discord server, and the ids of its direct chats: those of its people, and this more
_CHANNEL = "820000000000000001"
_DIRECT = re.compile(r"84\d{16}")
_APART = 10_000
#: what Telegram calls the topic that is the room itself
_GENERAL = "1"


def address_of(platform: str, chat: object, thread: object = None, parent: str | None = None) -> Address:
    """The address of a chat and a thread, as `platform` spells them. Raises `ValueError` without a chat."""
    if chat in (None, ""):
        raise ValueError("it names no chat")
    conversation, below = str(chat), None if thread in (None, "", 0) else str(thread)
    if platform == "telegram":
        kind = ChatKind.GROUP if conversation.startswith(("-", "@")) else ChatKind.DIRECT
        below = None if below == _GENERAL else below
    elif platform == "discord":
        kind = ChatKind.DIRECT if _DIRECT.fullmatch(conversation) else ChatKind.CHANNEL
        if kind is ChatKind.CHANNEL and conversation != _CHANNEL:
            parent = parent or _CHANNEL
    elif platform == "slack":
        kind = ChatKind.DIRECT if conversation.startswith("D") else ChatKind.CHANNEL
    else:
        kind = ChatKind.GROUP
    return Address(channel=platform, account=ACCOUNT, kind=kind, conversation=conversation, thread=below, parent=parent)


def person_of(address: Address) -> Peer:
    """Who speaks there: the person of a direct chat; elsewhere the recorded one."""
    if address.kind is not ChatKind.DIRECT:
        return Peer(id=f"{address.channel}-person", name="somebody")
    given = address.conversation
    if address.channel == "discord" and given.isdecimal():
        given = str(int(given) - _APART)
    return Peer(id=given, name=given)


def name_of(address: Address) -> str:
    """A name of a place for readers."""
    room = f"@{address.conversation}" if address.kind is ChatKind.DIRECT else address.conversation
    if address.thread:
        return f"{room}/{address.thread}"
    return f"{address.parent}/{room}" if address.parent else room


def target_of(platform: str, params: dict[str, Any], path: str) -> Address | None:
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
        chat, thread = found[1] if found else None, None
    return None if chat in (None, "") else address_of(platform, chat, thread)
