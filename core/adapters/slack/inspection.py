"""Whether a conversation and a thread still take messages."""

from __future__ import annotations

from typing import Any, cast

from trunkline.core.adapters.slack.web import SlackWeb
from trunkline.core.records.bindings import PlaceState

_GONE = frozenset({"channel_not_found", "not_in_channel"})
_NO_THREAD = frozenset({"thread_not_found", "message_not_found"})


async def inspected(web: SlackWeb, channel: str, thread: str | None) -> PlaceState:
    """The state of a conversation, and of a thread in it. Raises `PlatformError`."""
    response = await web.call("conversations.info", channel=channel, fine=_GONE)
    state = state_of(response)
    if state is PlaceState.OPEN and thread is not None:
        replies = await web.call("conversations.replies", channel=channel, ts=thread, limit=1, fine=_NO_THREAD)
        return PlaceState.OPEN if replies.get("ok") is True else PlaceState.GONE
    return state


def state_of(response: dict[str, Any]) -> PlaceState:
    """The state that ``conversations.info`` shows. A channel without the app counts as gone."""
    found: Any = response.get("channel")
    if response.get("ok") is not True or not isinstance(found, dict):
        return PlaceState.GONE
    channel = cast("dict[str, Any]", found)
    if channel.get("is_archived") is True:
        return PlaceState.ARCHIVED
    outside = channel.get("is_im") is not True and channel.get("is_member") is False
    return PlaceState.GONE if outside else PlaceState.OPEN
