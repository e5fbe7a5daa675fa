"""Telegram's side of session bindings: forum topics, over a small part of the Bot API.

A topic is a thread inside its group, so a binding's conversation is the group with the topic. The Bot API can neither
list topics nor ask for the state of one: a topic that was opened for a key is known only to the process that opened it,
and whether one takes messages is found out by showing that the bot is typing there. There are no webhooks: the bot is
who speaks.
"""

from __future__ import annotations

from typing import Protocol

import anyio
import msgspec

from trunkline.core.bindings.records import Placement, PlaceState
from trunkline.core.channels.platforms.telegram import RULES
from trunkline.core.delivery.chunking.utf16 import reach
from trunkline.core.errors import PlaceArchived, PlaceGone, Refused, TargetError
from trunkline.core.values import Address, ChatKind, Identity

#: longest name of a topic
NAME_LIMIT = 128
#: so many keys are remembered with their topics
_MOST_KEYS = 10_000


class TelegramBot(Protocol):
    """Requests of one bot. Every failure is a `trunkline.core.errors.PlatformError`.

    A topic that was deleted, and a group that the bot is not in, is `PlaceGone`; a closed topic, where the bot may not
    speak, is `PlaceArchived`; a group that is no forum, or where the bot may not manage topics, is `Refused`.
    """

    async def create_forum_topic(self, chat: int, name: str) -> int:
        """``createForumTopic``: the topic's number."""
        ...

    async def reopen_forum_topic(self, chat: int, topic: int) -> None:
        """``reopenForumTopic``; one that is open stays so."""
        ...

    async def send_typing(self, chat: int, topic: int | None) -> None:
        """``sendChatAction``: what comes back tells whether a message would be taken."""
        ...


class TelegramTopics:
    """`trunkline.core.bindings.port.BindsConversations` of one bot."""

    placements: tuple[Placement, ...] = (Placement.CURRENT, Placement.CHILD)

    def __init__(self, bot: TelegramBot) -> None:
        self._bot = bot
        self._opened: dict[tuple[str, str], int] = {}
        self._one = anyio.Lock()

    async def open_child(self, parent: Address, title: str, key: str) -> Address:
        """A topic in a group, also when asked from a topic of it. Raises `Refused` outside of groups.

        Asked again with a key, this process gives the same topic. After a restart nobody can tell.
        """
        if parent.kind is not ChatKind.GROUP:
            raise Refused(f"{parent}: only groups have topics")
        chat, name = _chat(parent), title.strip() or "work"
        name = name[: reach(name, 0, len(name), NAME_LIMIT)].rstrip()
        async with self._one:
            topic = self._opened.get((str(chat), key))
            if topic is None:
                topic = await self._bot.create_forum_topic(chat, name)
                self._remember(str(chat), key, topic)
        return msgspec.structs.replace(parent, conversation=str(chat), thread=str(topic), parent=None)

    def _remember(self, chat: str, key: str, topic: int) -> None:
        self._opened[chat, key] = topic
        if len(self._opened) > _MOST_KEYS:
            del self._opened[next(iter(self._opened))]

    async def inspect(self, place: Address) -> PlaceState:
        """Whether a topic takes messages. What Telegram does not tell is an error, not a state."""
        try:
            await self._bot.send_typing(_chat(place), _topic(place))
        except PlaceArchived:
            return PlaceState.ARCHIVED
        except PlaceGone:
            return PlaceState.GONE
        return PlaceState.OPEN

    async def reopen(self, place: Address) -> None:
        """Reopen a topic. Raises `PlaceGone` where that is not allowed or there is none."""
        topic = _topic(place)
        if topic is None:
            raise PlaceGone(f"{place} is no topic")
        try:
            await self._bot.reopen_forum_topic(_chat(place), topic)
        except PlaceGone:
            raise
        except Refused as error:
            raise PlaceArchived(f"{place} is closed: {error.facts or error}") from error

    async def identity(self, place: Address, name: str) -> Identity | None:
        """Nobody else than the bot can speak there."""
        return None


def _chat(place: Address) -> int:
    return _number(place.conversation, place)


def _topic(place: Address) -> int | None:
    return None if place.thread is None else _number(place.thread, place)


def _number(text: str, place: Address) -> int:
    """An id, whatever prefix it carries (museum B130). Raises `PlaceGone` for what can be no chat."""
    try:
        return int(RULES.kind_word(RULES.strip(text.strip(), repeat=True))[1])
    except (TargetError, ValueError) as error:
        raise PlaceGone(f"{place}: {text!r} is no number") from error
