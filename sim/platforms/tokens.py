"""Tokens of a platform's accounts: each new one counts one more, and older ones are not accepted any more."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from trunkline.core.errors import Unauthorized
from trunkline.core.events import Recorder
from trunkline.sim.events.world import CredentialRotated


@runtime_checkable
class RenewableAdapter(Protocol):
    """An adapter whose token the operator's code can replace while it serves."""

    def renew(self, token: int) -> None:
        """The number of the newer token."""
        ...


class AccountTokens:
    """The newest token of each account, by its number, from 1."""

    def __init__(self, channel: str, events: Recorder) -> None:
        self._channel = channel
        self._events = events
        self._newest: dict[str, int] = {}
        self._counted: set[str] = set()

    def newest(self, account: str) -> int:
        """The number of the token that is accepted now."""
        return self._newest.get(account, 1)

    def declare(self, account: str) -> None:
        """Tell the numbers of this account's tokens with its requests: some run of its story rotates them."""
        self._counted.add(account)

    def rotate(self, account: str, cause: int | None, tell: float = 0.0) -> int:
        """A new token takes the place of the one before; its number. `tell`: seconds until the gateway is given it."""
        self.declare(account)
        number = self._newest[account] = self.newest(account) + 1
        body = CredentialRotated(channel=self._channel, account=account, number=number, tell=tell)
        self._events.record(body, cause)
        return number

    def check(self, account: str, number: int) -> None:
        """Raise `Unauthorized` for a token that was replaced."""
        if number < self.newest(account):
            raise Unauthorized(f"token {number} of {account} was replaced")

    def told(self, account: str, number: int) -> int:
        """What events say of a request's token: its number where tokens are counted, else 0."""
        return number if account in self._counted else 0
