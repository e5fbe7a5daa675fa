"""Badges over a lane: its audience, and the token of its account."""

from __future__ import annotations

from collections.abc import Iterable

from trunkline.core.events import Body, Event
from trunkline.core.values import ChatKind
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import CredentialRotated

#: audiences, from one person to everybody
AUDIENCE = {ChatKind.DIRECT: "dm", ChatKind.GROUP: "group", ChatKind.CHANNEL: "public"}

#: channel and account
Account = tuple[str, str]


class TokenUse:
    """The tokens of accounts, for runs in which one was rotated."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        #: number of a token, and when the gateway got it
        self._given: dict[Account, list[tuple[float, int]]] = {}
        #: event and time of a request, and the number of its token
        self._used: dict[Account, list[tuple[int, float, int]]] = {}
        for event in events:
            self.learn(event)

    def learn(self, event: Event) -> None:
        match event.body:
            case CredentialRotated(channel=channel, account=account, number=number, tell=tell):
                self._given.setdefault((channel, account), []).append((event.at + tell, number))
            case WireAccepted(address=address, credential=number) | WireRefused(address=address, credential=number):
                if number:
                    used = self._used.setdefault((address.channel, address.account), [])
                    used.append((event.seq, event.at, number))
            case _:
                pass

    def badge(self, account: Account, seq: int, now: float) -> str:
        """``tok#2``, or ``tok#1!`` if the last request used an older one than the gateway had.

        Nothing where no token was ever changed.
        """
        if account not in self._given:
            return ""
        given_at, given = max(((at, number) for at, number in self._given[account] if at <= now), default=(0.0, 1))
        last = max((use for use in self._used.get(account, ()) if use[0] <= seq), default=None)
        if last is not None and last[1] >= given_at and last[2] < given:
            return f"tok#{last[2]}!"
        return f"tok#{given}"


#: bodies about tokens
TOKENS: frozenset[type[Body]] = frozenset({CredentialRotated, WireAccepted, WireRefused})
