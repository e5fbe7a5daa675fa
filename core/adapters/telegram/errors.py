"""The errors of the Bot API. Pure.

The status of the response decides between a refusal and doubt. Telegram has no error codes beside it: among refusals,
the beginning of the description separates a place that is gone from a request that is wrong, so a wording that changes
turns a refusal into a plainer refusal and never into doubt.
"""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec

from trunkline.core.adapters.evidence import of_status
from trunkline.core.errors import PlaceArchived, PlaceGone, PlatformError

_BAD_REQUEST, _FORBIDDEN, _NOT_FOUND, _UNAUTHORIZED = 400, 403, 404, 401
_PREFIX = "bad request: "
#: a chat or topic that takes no messages, and never will
_GONE = (
    "chat not found",
    "message thread not found",
    "topic_deleted",
    "topic_id_invalid",
    "group chat was deactivated",
    "group chat was upgraded to a supergroup chat",
    "group is deactivated",
    "peer_id_invalid",
    "channel_private",
    "have no rights to send a message",
)
_CLOSED = ("topic_closed",)
#: what was asked for is so already
_NO_CHANGE = (
    "message is not modified",
    "topic_not_modified",
    "chat_not_modified",
)
_ALREADY_DELETED = ("message to delete not found",)
_NO_TEXT = ("there is no text in the message to edit",)
#: seconds that nobody is asked to wait
_FOREVER = 1e9
#: characters of a description in an error
_LONGEST = 300


class BotApiAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A response without success."""

    status: int
    #: Telegram's words; empty: the response is not Telegram's
    description: str = ""
    retry_after: float | None = None
    #: the supergroup that a group has become
    migrated_to: int | None = None

    def _begins(self, beginnings: tuple[str, ...]) -> bool:
        said = self.description.lower().removeprefix(_PREFIX)
        return self.status == _BAD_REQUEST and said.startswith(beginnings)

    @property
    def no_change(self) -> bool:
        """Whether the request changes nothing."""
        return self._begins(_NO_CHANGE)

    @property
    def already_deleted(self) -> bool:
        """The message to delete is not there."""
        return self._begins(_ALREADY_DELETED)

    @property
    def has_no_text(self) -> bool:
        """The message to edit is a file with a caption."""
        return self._begins(_NO_TEXT)

    def error(self) -> PlatformError:
        """The error for the gateway."""
        facts = self.description[:_LONGEST]
        if self.migrated_to is not None:
            return PlaceGone(f"the group has become the supergroup {self.migrated_to}: send there")
        # Telegram answers 404 to a token that is none; a method that is missing would be a mistake of ours.
        if self.status == _NOT_FOUND:
            return of_status(_UNAUTHORIZED, facts or "no such bot")
        if self._begins(_CLOSED):
            return PlaceArchived(facts)
        if self._begins(_GONE) or (self.status == _FORBIDDEN and self.description):
            return PlaceGone(facts)
        return of_status(self.status, facts, retry_after=self.retry_after)


def read_answer(status: int, body: bytes) -> BotApiAnswer | None:
    """The response as an error; None for a success.

    A success that is not Telegram's JSON proves nothing: it counts as an error of the server, hence as doubt.
    """
    try:
        found = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return BotApiAnswer(status=status if status >= _BAD_REQUEST else 502)
    answer = cast("dict[str, Any]", found)
    if 200 <= status < 300 and answer.get("ok") is True and "result" in answer:
        return None
    description, given = answer.get("description"), answer.get("parameters")
    more = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    wait, moved = more.get("retry_after"), more.get("migrate_to_chat_id")
    return BotApiAnswer(
        status=status if status >= _BAD_REQUEST else 502,
        description=description if isinstance(description, str) else "",
        retry_after=_seconds(wait),
        migrated_to=moved if isinstance(moved, int) and not isinstance(moved, bool) else None,
    )


def _seconds(wait: object) -> float | None:
    """A time to wait; None for anything else."""
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait < _FOREVER:
        return None
    return float(wait)
