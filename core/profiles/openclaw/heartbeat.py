"""Where OpenClaw delivers heartbeats, and how it takes the token from a reply."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.core.config.heartbeat import NONE
from trunkline.core.heartbeat.targets import HeartbeatTargets
from trunkline.core.heartbeat.token import StrippedReply, TokenRules
from trunkline.core.reasons import Reason
from trunkline.core.values import ChatKind


class OpenClawTargets(HeartbeatTargets):
    """Recipients of an unknown kind pass, also where direct chats are blocked."""

    def account(self, account: str) -> str:
        return account.strip().lower()

    def is_direct(self, kind: ChatKind | None) -> bool:
        return kind is ChatKind.DIRECT

    def ambiguous_kind(self) -> ChatKind | None:
        """Digits alone are a channel on Discord."""
        return ChatKind.CHANNEL

    def unlisted(self, number: str, listed: Sequence[str]) -> str | None:
        """A list without a readable number is no list, and anybody is written to."""
        return number


class MarchTargets(OpenClawTargets):
    """March had no default target (openclaw/openclaw#121988), and one reason for all that leads nowhere."""

    default = NONE

    def missing(self, target: str) -> Reason:
        return Reason.NO_TARGET


class OpenClawToken(TokenRules):
    """The token is taken from any text, wherever words end."""

    def is_whole(self, text: str, at: int) -> bool:
        """`NOHEARTBEAT_OK` is `NO`."""
        return True

    def says_something(self, rest: str) -> bool:
        """The marks around a token are sent: `**HEARTBEAT_OK**` becomes `****`."""
        return bool(rest)

    def relayed(self, reply: str, found: StrippedReply) -> str:
        """Where nothing is left, the reply is sent as it is, even a bare token."""
        return reply.strip() if found.should_skip else found.text
