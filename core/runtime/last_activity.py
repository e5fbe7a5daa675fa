"""The times of the last inbound and outbound message of each account, under any identity."""

from __future__ import annotations

import msgspec


class LastActivity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Seconds on the gateway's clock; None: no message since the process started."""

    inbound_at: float | None = None
    outbound_at: float | None = None


class Activity:
    """Last activity by channel and account."""

    def __init__(self) -> None:
        self._inbound: dict[tuple[str, str], float] = {}
        self._outbound: dict[tuple[str, str], float] = {}

    def note_inbound(self, channel: str, account: str, at: float) -> None:
        self._inbound[channel, account] = at

    def note_outbound(self, channel: str, account: str, at: float) -> None:
        """Note an accepted outbound message of the bot or a webhook."""
        self._outbound[channel, account] = at

    def of_account(self, channel: str, account: str) -> LastActivity:
        key = channel, account
        return LastActivity(inbound_at=self._inbound.get(key), outbound_at=self._outbound.get(key))
