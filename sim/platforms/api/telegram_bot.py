"""The Bot API of the fake Telegram for one bot: `core.channels.bindings.telegram_topics.TelegramBot`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from trunkline.core.errors import PlaceArchived, PlaceGone, Refused
from trunkline.core.records.bindings import PlaceState
from trunkline.core.values import Address, ChatKind
from trunkline.sim.platforms.api.api_calls import asked_key
from trunkline.sim.platforms.api.hosts import ApiHost


class FakeTelegramBot:
    """Requests of one bot. `token` is called for each request: the real API has it in the URL."""

    def __init__(self, platform: ApiHost, account: str, token: Callable[[], int]) -> None:
        self._platform = platform
        self._account = account
        self._token = token

    async def create_forum_topic(self, chat: int, name: str) -> int:
        """Open a topic, named after its key; returns its number."""
        key, place = asked_key(name), self._at(chat, None)

        def create() -> int:
            return int(self._platform.threads.child(place, name, key).thread or 0)

        return await self._call(("child", key), place, create, opens=True)

    async def reopen_forum_topic(self, chat: int, topic: int) -> None:
        """Reopen a topic; an open one stays open."""
        place = self._at(chat, topic)
        await self._call(("reopen", str(topic)), place, partial(self._platform.threads.unarchive, place))

    async def send_typing(self, chat: int, topic: int | None) -> None:
        """Show that the bot is typing; refused wherever a message would be."""
        place = self._at(chat, topic)

        def show() -> None:
            state = self._platform.threads.state(place)
            if state is PlaceState.GONE:
                raise PlaceGone("message thread not found")
            if state is PlaceState.ARCHIVED:
                raise PlaceArchived("TOPIC_CLOSED")

        await self._call(("typing", str(topic)), place, show)

    def _at(self, chat: int, topic: int | None) -> Address:
        kind = ChatKind.GROUP if chat < 0 else ChatKind.DIRECT
        thread = None if topic is None else str(topic)
        return Address(
            channel=self._platform.channel, account=self._account, kind=kind, conversation=str(chat), thread=thread
        )

    async def _call(self, what: tuple[str, ...], place: Address, do: Callable[[], Any], *, opens: bool = False) -> Any:
        if self._platform.room_above(place) is None and opens:
            raise Refused("chat not found")
        return await self._platform.calls.call(what, place, self._token(), do, opens=opens)
