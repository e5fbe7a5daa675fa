"""Message ids that are times, as on Slack: a crash changes no id but those of messages that arrive at another time."""

from __future__ import annotations

from collections.abc import Callable


class MessageTimes:
    """Numbers messages by their time, each conversation by itself.

    People's numbers are even and the gateway's odd, so no message of the gateway changes the number of a person's. A
    conversation has each number once; messages of the same time get the next free ones.

    `per_second`: how many people's messages of a conversation have different times within a second.
    """

    def __init__(self, now: Callable[[], float], per_second: int) -> None:
        self._now = now
        self._per_second = per_second
        #: conversation and whether the gateway posts -> last number
        self._last: dict[tuple[str, bool], int] = {}

    def next(self, conversation: str, *, by_gateway: bool) -> int:
        """The number of a message that is posted now."""
        least = 2 * round(self._now() * self._per_second) + by_gateway
        last = self._last.get((conversation, by_gateway))
        number = least if last is None else max(least, last + 2)
        self._last[conversation, by_gateway] = number
        return number
