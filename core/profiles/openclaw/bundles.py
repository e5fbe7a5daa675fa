"""The rules of OpenClaw as the two profiles that ship: March 2026, and what August changed of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from trunkline.core.bindings.completion_router import CompletionRouting, Records, Requester, RouterVerdict, alone, only
from trunkline.core.channels import ChannelRulebook, ChannelRules, OutboundPlace, ParsedTarget, rules_for
from trunkline.core.channels.rules import given
from trunkline.core.config import DmScope, GatewayConfig, GroupScope, HeartbeatConfig, RuleSessionConfig, SessionConfig
from trunkline.core.config.gateway import ConfigChecks
from trunkline.core.config.heartbeat import NONE
from trunkline.core.decisions import Decisions
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.heartbeat.targets import HeartbeatTargets
from trunkline.core.heartbeat.token import StrippedReply, TokenRules
from trunkline.core.keys import SessionKey
from trunkline.core.message_tool.references import MessageReference, decide_reference
from trunkline.core.profile_rules import Profile, ProfileRules
from trunkline.core.profiles.openclaw import message_tool
from trunkline.core.profiles.openclaw.channels.base import KeyedPlace, OpenClawRules
from trunkline.core.profiles.openclaw.channels.platforms import AUGUST_CHANNELS, MARCH_CHANNELS
from trunkline.core.profiles.openclaw.keys import AugustKeys, OpenClawKeys, account_id, agent_id, fold
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, SessionBindingRecord
from trunkline.core.routing.match_input import MatchRules, RouteQuery
from trunkline.core.routing.outbound import OutboundRoute, SendKeyRules
from trunkline.core.routing.route_rules import RouteRule
from trunkline.core.routing.scopes import ScopeRules, place_key
from trunkline.core.routing.session_keys import SessionKeyRules
from trunkline.core.sends.api import SendRules, Unroutable
from trunkline.core.sessions.named_key import NamedKey, SessionRules
from trunkline.core.states.binding import BindingStatus
from trunkline.core.text.model_text import MEDIA, MediaRules, distinct, media_lines
from trunkline.core.values import Address, ChatKind, SessionEntry


class OpenClawSends(SendRules):
    """The rules of sends."""

    keeps_failures = True

    def may_send_for(self, agent: str, owner: str) -> bool:
        """The named agent overrides that of the session, but the key stays."""
        return True

    def unroutable(self, error: TargetError, session_key: str | None) -> Unroutable:
        """The route is resolved only if no session is named."""
        fails = isinstance(error, AmbiguousTarget) and not (session_key or "").strip()
        return Unroutable.FAILED if fails else Unroutable.SENT_UNMIRRORED


class OpenClawMedia(MediaRules):
    """The rules of lines that name files."""

    def split_media(self, text: str, media: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The word is read in any case, and if there is one, all blank lines are removed."""
        rest, found = media_lines(text, lambda word: word.upper() == MEDIA)
        return re.sub(r"\n\s*\n", "\n", rest) if found else rest, distinct((*media, *found))


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
        ref = ConversationRef.of(requester) if isinstance(requester, Address) else requester
        # The channel is compared in lower case, the rest trimmed.
        channel, conversation = fold(ref.channel), ref.conversation_id.strip()
        if not channel or not conversation:
            return RouterVerdict(Reason.INVALID_REQUESTER)
        near = [record for record in live if record.conversation.channel == channel and self.same_account(record, ref)]
        exact = (
            record for record in near if ConversationRef.of(record.conversation).conversation_id.strip() == conversation
        )
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


class OpenClawSessionKeys(SessionKeyRules):
    """In August groups have a scope too."""

    def account_of_group(self, account: str) -> str | None:
        return None

    def main_session(self, agent: str, thread: tuple[str, str] | None) -> SessionKey:
        """A thread of a direct conversation forks the main session."""
        return SessionKey(agent=agent, thread=thread)

    def linked_ids(self, peer: str, rules: ChannelRules) -> tuple[tuple[str, ...], bool]:
        return (peer,), False


class MarchSessionKeys(OpenClawSessionKeys):
    """In March each group has its own session."""

    def scope_of(self, kind: ChatKind, config: SessionConfig) -> DmScope | GroupScope:
        return config.dm_scope if kind is ChatKind.DIRECT else GroupScope.PER_GROUP


class OpenClawMatching(MatchRules):
    """Accounts and agents become slugs, and what cannot be meant is ignored."""

    def account(self, account: str) -> str:
        return account_id(account)

    def threaded(self, place: Address, thread: str) -> tuple[str, str | None]:
        """A topic is a separate peer, while a thread is one peer with its room."""
        if rules_for(place.channel).thread_word == "topic":
            return f"{place.conversation}:topic:{thread}", place.conversation
        return place.conversation, place.parent

    def agent(self, named: str, config: GatewayConfig) -> str:
        """The default agent takes the place of an unknown one. While none is listed, all are accepted."""
        slug, known = agent_id(named), {agent.id for agent in config.agents}
        return config.default_agent if not named.strip() or (known and slug not in known) else slug

    def required(self, text: str) -> str | None:
        """A blank guild or team is ignored."""
        return given(text)


class MarchMatching(OpenClawMatching):
    """In March ``*`` is an ordinary id, and rules have no scopes."""

    def is_wildcard(self, peer: str) -> bool:
        return False

    def scopes(self, session: RuleSessionConfig) -> tuple[DmScope | None, GroupScope | None]:
        return None, None


class OpenClawScopes(ScopeRules):
    """The scopes are those of the rule that matched, whatever its other constraints."""

    def of_message(
        self, agent: str, matched: RouteRule | None, query: RouteQuery, config: GatewayConfig
    ) -> SessionConfig:
        return config.session if matched is None or matched.session is None else matched.session


class OpenClawSendKeys(SendKeyRules):
    """Keys of sends are built from the peer and a suffix. They may differ from the keys of inbound messages."""

    def keys(
        self, agent: str, address: Address, target: ParsedTarget, placed: OutboundPlace, config: GatewayConfig
    ) -> tuple[SessionKey, SessionKey]:
        rules = config.rules[ChannelRulebook].of(address.channel)
        account = rules.key_account(address.account) if isinstance(rules, OpenClawRules) else address.account
        plain = msgspec.structs.replace(address, account=account, conversation=target.id, thread=None, parent=None)
        base = place_key(agent, plain, config)
        thread = placed.key_thread if isinstance(placed, KeyedPlace) else None
        if not (isinstance(placed, KeyedPlace) and placed.in_peer):
            return base, msgspec.structs.replace(base, thread=thread)
        if not base.is_main:
            base = msgspec.structs.replace(base, thread=thread)
        return base, base


class OpenClawChecks(ConfigChecks):
    """Conversations of an unknown agent silently go to the default one, and unknown gates are ignored."""

    def accepts_agent(self, name: str, config: GatewayConfig) -> bool:
        return True

    def accepts_gate(self, name: str, gates: Sequence[str]) -> bool:
        return True

    def check_heartbeat(self, path: str, heartbeat: HeartbeatConfig, agent: str, config: GatewayConfig) -> None:
        """Unusable values are taken as no hours, the user's zone and the default target."""

    def check_agents(self, config: GatewayConfig) -> None:
        """There may be none, and route rules may name any."""


def _decide_reference(*asked: Any, agent: str | None, **more: Any) -> MessageReference:
    """The messages of an account are known, and not which agent sent them."""
    return decide_reference(*asked, agent=None, **more)


def _keep_mirror(key: str | None, *_: object) -> str | None:
    """The session of a message stays, whatever the scopes are when it is sent."""
    return key


_DECISIONS = Decisions(
    decide_reference=_decide_reference,
    todays_mirror=_keep_mirror,
    decide_context=message_tool.decide_context,
    resolve_destination=OpenClawRouting().resolve,
)
MARCH = ProfileRules(
    Profile.OPENCLAW,
    replace(
        _DECISIONS,
        decide_context=partial(message_tool.decide_context, guarded=message_tool.MARCH_GUARDED),
        resolve_destination=MarchRouting().resolve,
    ),
    OpenClawChecks(),
    OpenClawKeys(),
    MARCH_CHANNELS,
    MarchMatching(),
    MarchSessionKeys(),
    OpenClawScopes(),
    OpenClawSendKeys(),
    OpenClawSessions(),
    MarchTargets(),
    OpenClawToken(),
    OpenClawSends(),
    OpenClawMedia(),
    message_tool.OpenClawParameters(),
    message_tool.OpenClawChannelChoice(),
    message_tool.MarchCallTargets(),
    message_tool.OpenClawBroadcasts(),
    message_tool.OpenClawRequirements(),
)
AUGUST = ProfileRules(
    Profile.OPENCLAW_2026_08,
    _DECISIONS,
    AugustKeys(),
    AUGUST_CHANNELS,
    OpenClawMatching(),
    OpenClawSessionKeys(),
    OpenClawTargets(),
    message_tool.OpenClawCallTargets(),
    base=MARCH,
)
