"""Forum topics by the real Bot API: `core.channels.bindings.telegram_topics.TelegramBot`."""

from __future__ import annotations

from trunkline.core.adapters.telegram.changes import topic_in
from trunkline.core.adapters.telegram.requests import BotApi, BotCall, CallRefused


class BotTopics:
    """The requests about topics of one bot."""

    def __init__(self, api: BotApi) -> None:
        self._api = api

    async def create_forum_topic(self, chat: int, name: str) -> int:
        """Create a topic; its number."""
        found = await self._api.call(BotCall(method="create_forum_topic", arguments={"chat_id": chat, "name": name}))
        return int(topic_in(found))

    async def reopen_forum_topic(self, chat: int, topic: int) -> None:
        """Reopen a closed topic; an open one stays open."""
        arguments = {"chat_id": chat, "message_thread_id": topic}
        try:
            await self._api.attempt(BotCall(method="reopen_forum_topic", arguments=arguments))
        except CallRefused as refused:
            if not refused.answer.no_change:
                raise refused.answer.error() from None

    async def send_typing(self, chat: int, topic: int | None) -> None:
        """Show that the bot is typing; refused wherever a message would be."""
        more = {} if topic is None else {"message_thread_id": topic}
        await self._api.call(
            BotCall(method="send_chat_action", arguments={"chat_id": chat, "action": "typing"}, more=more)
        )
