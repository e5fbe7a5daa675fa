"""Tokens of a platform's accounts, numbered from 1; only the newest is accepted."""

from typing import Protocol, runtime_checkable

from trunkline.core.errors import Unauthorized
from trunkline.core.events import Recorder
from trunkline.sim.events.world import CredentialRotated


@runtime_checkable
class RenewableAdapter(Protocol):
    """An adapter whose token can be replaced while it runs."""

    def renew(self, token: int) -> None: ...


class AccountTokens:
    def __init__(self, channel: str, events: Recorder) -> None:
        self._channel = channel
        self._events = events
        self._newest: dict[str, int] = {}
        self._counted: set[str] = set()

    def newest(self, account: str) -> int:
        return self._newest.get(account, 1)

    def declare(self, account: str) -> None:
        """Record token numbers with this account's requests, because the script rotates its token."""
        self._counted.add(account)

    def rotate(self, account: str, cause: int | None, delay: float = 0.0) -> int:
        """Replace a token; returns the new number. `delay`: seconds until the gateway receives it."""
        self.declare(account)
        number = self._newest[account] = self.newest(account) + 1
        body = CredentialRotated(channel=self._channel, account=account, number=number, tell=delay)
        self._events.record(body, cause)
        return number

    def check(self, account: str, number: int) -> None:
        if number < self.newest(account):
            raise Unauthorized(f"token {number} of {account} was replaced")

    def recorded(self, account: str, number: int) -> int:
        """The token number for events: 0 unless the account's tokens are recorded."""
        return number if account in self._counted else 0
