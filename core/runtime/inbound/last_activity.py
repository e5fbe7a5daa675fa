"""When something was last said on an account, in either direction, by whatever identity (seed 002)."""

from __future__ import annotations

import msgspec


class LastActivity(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds on the gateway's clock; none: nothing since the process started."""

    inbound_at: float | None = None
    outbound_at: float | None = None


class Activity:
    """Last activity by channel and account."""

    def __init__(self) -> None:
        self._inbound: dict[tuple[str, str], float] = {}
        self._outbound: dict[tuple[str, str], float] = {}

    def inbound(self, channel: str, account: str, at: float) -> None:
        """A message came in."""
        self._inbound[channel, account] = at

    def outbound(self, channel: str, account: str, at: float) -> None:
        """The platform accepted a message, from the bot or from a webhook."""
        self._outbound[channel, account] = at

    def of(self, channel: str, account: str) -> LastActivity:
        """What is known of an account."""
        key = channel, account
        return LastActivity(inbound_at=self._inbound.get(key), outbound_at=self._outbound.get(key))
