"""Session bindings on Telegram: forum topics, over a small part of the Bot API.

A topic is a thread inside its group, so a binding's conversation is the group with the topic. The Bot API can neither
list topics nor show the state of one: only the process that opened a topic for a key knows it, and a "typing" action
shows whether a topic accepts messages. There are no webhooks: the bot posts.
"""

from typing import Protocol

import anyio
import msgspec
from cachetools import LRUCache

from trunkline.core.channels import rules_for
from trunkline.core.channels.platforms.telegram import direct_topic
from trunkline.core.errors import PlaceArchived, PlaceGone, Refused, TargetError
from trunkline.core.records.bindings import Placement, PlaceState
from trunkline.core.text.chunking.utf16 import reach
from trunkline.core.values import Address, ChatKind, Identity

#: maximum length of a topic's name, in UTF-16 code units
NAME_LIMIT = 128
_MOST_KEYS = 10_000


class TelegramBot(Protocol):
    """Requests of one bot. Every failure is a `trunkline.core.errors.PlatformError`.

    A deleted topic, or a group without the bot, is `PlaceGone`; a closed topic is `PlaceArchived`; a group that is not
    a forum, or where the bot may not manage topics, is `Refused`.
    """

    async def create_forum_topic(self, chat: int, name: str) -> int:
        """``createForumTopic``: the topic's number."""
        ...

    async def reopen_forum_topic(self, chat: int, topic: int) -> None:
        """``reopenForumTopic``; does nothing for an open topic."""
        ...

    async def send_typing(self, chat: int, topic: int | None) -> None:
        """``sendChatAction``; the response shows whether a message would be accepted."""
        ...


class TelegramTopics:
    """`trunkline.core.bindings.port.BindsConversations` of one bot."""

    placements: tuple[Placement, ...] = (Placement.CURRENT, Placement.CHILD)

    def __init__(self, bot: TelegramBot) -> None:
        self._bot = bot
        self._opened: LRUCache[tuple[str, str], int] = LRUCache(_MOST_KEYS)
        self._one = anyio.Lock()

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        """A topic in a group, even if `parent` is a topic. Raises `Refused` outside groups.

        A repeated call with the same key returns the same topic, but not after a restart.
        """
        if parent.kind is not ChatKind.GROUP or direct_topic(parent.thread) is not None:
            raise Refused(f"{parent}: only groups have topics")
        chat, name = _chat(parent), title.strip() or "work"
        name = name[: reach(name, 0, len(name), NAME_LIMIT)].rstrip()
        async with self._one:
            topic = self._opened.get((str(chat), key))
            if topic is None:
                topic = await self._bot.create_forum_topic(chat, name)
                self._opened[str(chat), key] = topic
        return msgspec.structs.replace(parent, conversation=str(chat), thread=str(topic), parent=None)

    async def inspect(self, place: Address) -> PlaceState:
        """Whether a topic accepts messages. If Telegram does not say, raises an error."""
        if direct_topic(place.thread) is not None:
            # A person's topic in a channel's direct messages is not closed, and Telegram shows no typing there.
            return PlaceState.OPEN
        try:
            await self._bot.send_typing(_chat(place), _topic(place))
        except PlaceArchived:
            return PlaceState.ARCHIVED
        except PlaceGone:
            return PlaceState.GONE
        return PlaceState.OPEN

    async def reopen(self, place: Address) -> None:
        """Reopen a topic. Raises `PlaceGone` if that is not allowed or there is no such topic."""
        topic = _topic(place)
        if topic is None:
            raise PlaceGone(f"{place} is not a topic")
        try:
            await self._bot.reopen_forum_topic(_chat(place), topic)
        except PlaceGone:
            raise
        except Refused as error:
            raise PlaceArchived(f"{place} is closed: {error.facts or error}") from error

    async def identity(self, place: Address, name: str) -> Identity | None:
        """None: only the bot can post on Telegram."""
        return None


def _chat(place: Address) -> int:
    return _number(place.conversation, place)


def _topic(place: Address) -> int | None:
    return None if place.thread is None else _number(place.thread, place)


def _number(text: str, place: Address) -> int:
    """A numeric id from a text with any prefix. Raises `PlaceGone` if it cannot be a chat."""
    rules = rules_for("telegram")
    try:
        return int(rules.kind_word(rules.strip(text.strip(), repeat=True))[1])
    except (TargetError, ValueError) as error:
        raise PlaceGone(f"{place}: {text!r} is not a number") from error
