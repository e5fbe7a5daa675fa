"""Telegram, by OpenClaw's rules: any text is a chat, and the topic of a private chat is a suffix of its key."""

from __future__ import annotations

import re

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.channels.platforms import telegram
from trunkline.core.channels.platforms.telegram import (
    GENERAL,
    NUMBER,
    PREFIXES,
    SHORT_TOPIC,
    TOPIC,
    Telegram,
    TelegramMessage,
)
from trunkline.core.channels.rules import DEFAULT_ACCOUNT, Hints, InboundPlace, ParsedTarget, given
from trunkline.core.profiles.openclaw.channels.base import FORMS, AugustRules, KeyedPlace, OpenClawRules
from trunkline.core.values import Address, ChatKind

#: a link to somebody's or something's page
_LINK = re.compile(r"(?:https?://)?t\.me/([A-Za-z0-9_]+)/?", re.IGNORECASE)
_DIGITS = re.compile(r"-?[0-9]+")
_SCOPED = re.compile(r"-?[0-9]+:(-?[0-9]{1,18})")


class OpenClawTelegram(Telegram, OpenClawRules):
    """The rules of Telegram."""

    lacks = FORMS | {Action.POLL_RESULTS, Action.PIN, Action.UNPIN}

    def key_thread(self, address: Address) -> tuple[str, str] | None:
        """The topic of a private chat is a thread whose id includes the chat."""
        if address.thread is None or address.kind is not ChatKind.DIRECT:
            return super().key_thread(address)
        return "thread", f"{address.parent or address.conversation}:{address.thread}"

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Any text is a chat; if it is not a number, it is a user unless a directory says otherwise."""
        stripped = PREFIXES.sub("", self.clean(text), count=1)
        topic = TOPIC.fullmatch(stripped) or SHORT_TOPIC.fullmatch(stripped)
        chat = (topic[1] if topic else stripped).strip()
        kind, how = ChatKind.DIRECT, "by default"
        if _DIGITS.fullmatch(chat):
            kind, how = (ChatKind.GROUP if chat.startswith("-") else ChatKind.DIRECT), "by its sign"
        elif hints.kind is not None:
            kind, how = (hints.kind if hints.kind is ChatKind.DIRECT else ChatKind.GROUP), "according to a directory"
        found = self.target(kind, chat, text, how)
        return msgspec.structs.replace(found, thread=str(int(topic[2])) if topic else None)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> KeyedPlace:
        """The topic of a private chat is a suffix of its key; keys omit 0 and what is not a number."""
        number = int(target.thread) if target.thread is not None else _number(thread)
        tail = f":topic:{number}" if number else ""
        group = target.kind is ChatKind.GROUP
        return KeyedPlace(
            conversation=target.id,
            thread=str(number) if number else None,
            key_thread=None if not number else ("topic" if group else "thread", str(number)),
            in_peer=group,
            peer=target.id + (tail if group else ""),
            thread_id=number,
            sender=f"telegram:{'group:' if group else ''}{target.id}{tail}",
            to=f"telegram:{target.id}",
        )

    def comparable(self, text: str) -> str:
        """A link counts as the name in it."""
        link = _LINK.fullmatch(PREFIXES.sub("", text.strip(), count=1))
        return super().comparable(f"@{link[1]}" if link else text)


class AugustTelegram(OpenClawTelegram, AugustRules):
    """In August the key of a private chat's topic has the chat, as that of inbound messages, and To has the topic."""

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> KeyedPlace:
        placed = super().place(target, thread, reply_to)
        if placed.thread is None:
            return placed
        own = placed.key_thread if placed.in_peer else ("thread", f"{target.id}:{placed.thread}")
        return msgspec.structs.replace(placed, key_thread=own, to=f"{placed.to}:topic:{placed.thread}")


def _number(thread: str | None) -> int | None:
    """The number of a thread, alone or after its chat."""
    text = given(thread) or ""
    scoped = _SCOPED.fullmatch(text)
    number = scoped[1] if scoped else text
    return int(number) if NUMBER.fullmatch(number) else None


class OpenClawInboundPlace(InboundPlace, frozen=True, kw_only=True, gc=False):
    """The place of an inbound message."""

    #: if no route rule matches, the direct conversation is keyed by account, channel and peer
    isolates: bool = False


def read_inbound(message: TelegramMessage, account: str) -> OpenClawInboundPlace:
    """The place of a message. Every thread id of a private chat is a topic, and keys have General's number."""
    found = telegram.read_inbound(message, account)
    chat, direct = str(message.chat_id), message.chat_type == "private"
    number = None if message.thread_id is None else int(message.thread_id)
    topic = number if direct else (GENERAL if number is None else number) if message.is_forum else None
    thread = str(topic) if topic else None
    # The key of a private chat's topic includes the chat.
    parent = chat if thread and direct and chat != found.address.conversation else None
    return OpenClawInboundPlace(
        address=msgspec.structs.replace(found.address, thread=thread, parent=parent),
        is_thread_reply=thread is not None,
        reply_to=found.reply_to,
        message_thread=thread,
        threaded=thread is not None or number is None or (message.is_forum and number == GENERAL),
        isolates=direct and account != DEFAULT_ACCOUNT,
    )
