"""Where OpenClaw sends: what clients name, the sessions of sends, heartbeats, and completions of hands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from trunkline.core.bindings.completion_router import CompletionRouting, Records, Requester, RouterVerdict, alone, only
from trunkline.core.bindings.conversation_match import ref_of
from trunkline.core.config import GatewayConfig
from trunkline.core.config.heartbeat import NONE
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.heartbeat.targets import HeartbeatTargets
from trunkline.core.heartbeat.token import StrippedReply, TokenRules
from trunkline.core.profiles.openclaw.keys import OpenClawKeys, account_id, agent_id, fold
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, SessionBindingRecord
from trunkline.core.routing.outbound import OutboundRoute
from trunkline.core.sends.api import MEDIA, SendRules, Unroutable, distinct, media_lines
from trunkline.core.sessions.named_key import NamedKey, SessionRules
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Address, ChatKind, SessionEntry


class OpenClawSends(SendRules):
    """The rules of sends."""

    keeps_failures = True

    def split_media(self, text: str, media: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The word is read in any case, and if there is one, all blank lines are removed."""
        rest, found = media_lines(text, lambda word: word.upper() == MEDIA)
        return re.sub(r"\n\s*\n", "\n", rest) if found else rest, distinct((*media, *found))

    def may_send_for(self, agent: str, owner: str) -> bool:
        """The named agent overrides that of the session, but the key stays."""
        return True

    def unroutable(self, error: TargetError, session_key: str | None) -> Unroutable:
        """The route is resolved only if no session is named."""
        fails = isinstance(error, AmbiguousTarget) and not (session_key or "").strip()
        return Unroutable.FAILED if fails else Unroutable.SENT_UNMIRRORED


class OpenClawSessions(SessionRules):
    """Any text is a key, and entries are those of the send, not of its place."""

    def named_key(self, text: str, config: GatewayConfig, accounts: Mapping[str, str]) -> NamedKey:
        """The text is only folded; a key without an agent belongs to the default agent."""
        codec = config.rules[OpenClawKeys]
        parsed = codec.parse(text)
        agent = config.default_agent if parsed is None else agent_id(parsed.agent)
        return NamedKey(text=codec.folded(text), agent=agent)

    def entry(self, route: OutboundRoute) -> SessionEntry:
        return SessionEntry(
            provider=route.channel,
            surface=route.channel,
            sender=route.sender,
            to=route.to,
            chat_type=route.chat_type,
            account=route.account,
            thread=route.thread_id,
            originating_channel=route.channel,
            originating_to=route.to,
        )


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


class OpenClawRouting(CompletionRouting):
    """The choice in August 2026: without a requester nothing is guessed."""

    def counts(self, record: SessionBindingRecord, now: float) -> bool:
        """An expired binding counts until it is swept."""
        return record.status is BindingStatus.ACTIVE

    def choose(self, requester: Requester, live: Records, *, fail_closed: bool) -> RouterVerdict:
        if requester is None:
            return self.unasked(live)
        ref = ref_of(requester) if isinstance(requester, Address) else requester
        # The channel is compared in lower case, the rest trimmed.
        channel, conversation = fold(ref.channel), ref.conversation_id.strip()
        if not channel or not conversation:
            return RouterVerdict(Reason.INVALID_REQUESTER)
        near = [record for record in live if record.conversation.channel == channel and self.same_account(record, ref)]
        exact = (record for record in near if ref_of(record.conversation).conversation_id.strip() == conversation)
        found = next(exact, None) or only(near)
        return self.unmatched(live, fail_closed) if found is None else RouterVerdict(Reason.REQUESTER_MATCH, found)

    def unasked(self, live: Records) -> RouterVerdict:
        """The verdict without a requester."""
        return RouterVerdict(Reason.MISSING_REQUESTER)

    def same_account(self, record: SessionBindingRecord, ref: ConversationRef) -> bool:
        """Whether a binding is of the requester's account. Accounts are normalised as in session keys."""
        return account_id(record.conversation.account) == account_id(ref.account_id)

    def unmatched(self, live: Records, fail_closed: bool) -> RouterVerdict:
        """The verdict if no binding is near the requester."""
        return RouterVerdict(Reason.NO_REQUESTER_MATCH)


class MarchRouting(OpenClawRouting):
    """March guesses: without a requester, and if the caller fails open also on another channel or account."""

    def unasked(self, live: Records) -> RouterVerdict:
        return alone(live)

    def same_account(self, record: SessionBindingRecord, ref: ConversationRef) -> bool:
        """Accounts are compared as written."""
        return record.conversation.account == ref.account_id.strip()

    def unmatched(self, live: Records, fail_closed: bool) -> RouterVerdict:
        if len(live) == 1 and not fail_closed:
            return RouterVerdict(Reason.SINGLE_ACTIVE_BINDING_FALLBACK, live[0])
        return super().unmatched(live, fail_closed)
