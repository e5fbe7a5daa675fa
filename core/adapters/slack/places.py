"""The conversation ids of requests to Slack, and the places in the responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from trunkline.core.adapters.json_values import as_object
from trunkline.core.adapters.slack.inbound.reader import SlackReader
from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.errors import PlaceGone
from trunkline.core.values import Address, ChatKind, Receipt


class SlackPlaces:
    """Translates between places and Slack's conversation ids: for a direct place the id of the user, and a ``D...``."""

    def __init__(self, web: SlackWeb, reader: SlackReader) -> None:
        self._web = web
        self._reader = reader

    def post_to(self, place: Address) -> str:
        """The conversation to post to; the user, for whom Slack opens a conversation, if none is known."""
        if place.kind is not ChatKind.DIRECT:
            return place.conversation
        return self._reader.direct_of(place.conversation) or place.conversation

    async def channel_of(self, place: Address) -> str:
        """The id of a conversation, requested if a direct conversation is unknown. Raises `PlatformError`."""
        known = self.post_to(place)
        if place.kind is not ChatKind.DIRECT or known.startswith("D"):
            return known
        found = await self._web.call("conversations.open", users=place.conversation)
        direct = as_object(found.get("channel")).get("id")
        if not isinstance(direct, str):
            raise PlaceGone("Slack opens no direct conversation")
        self._reader.learn_direct(place.conversation, direct)
        return direct

    def receipt(self, asked: Address, response: Mapping[str, Any]) -> Receipt:
        """The receipt of a posted message, with the place in the response."""
        ts, channel = response.get("ts"), response.get("channel")
        message: Any = response.get("message")
        place = self._shown(asked, channel) if isinstance(channel, str) else asked
        if isinstance(message, dict):
            thread = cast("dict[str, Any]", message).get("thread_ts")
            place = msgspec.structs.replace(place, thread=thread if isinstance(thread, str) else None)
        return Receipt(provider_id=ts if isinstance(ts, str) else "", address=place)

    def _shown(self, asked: Address, channel: str) -> Address:
        if channel.upper() == asked.conversation.upper():
            return asked
        if asked.kind is ChatKind.DIRECT and channel.startswith("D"):
            user = self._reader.user_of(channel)
            if user is None:
                self._reader.learn_direct(asked.conversation, channel)
                return asked
            if user.upper() == asked.conversation.upper():
                return asked
            return msgspec.structs.replace(asked, conversation=user)
        return msgspec.structs.replace(asked, conversation=channel)
