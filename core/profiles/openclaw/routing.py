"""How OpenClaw routes: lenient route rules, one main session with forks, and keys of sends from target and suffix."""

from __future__ import annotations

import msgspec

from trunkline.core.channels import ChannelRulebook, ChannelRules, OutboundPlace, ParsedTarget, rules_for
from trunkline.core.channels.rules import given
from trunkline.core.config import DmScope, GatewayConfig, GroupScope, RuleSessionConfig, SessionConfig
from trunkline.core.keys import SessionKey
from trunkline.core.profiles.openclaw.channels.base import KeyedPlace, OpenClawRules
from trunkline.core.profiles.openclaw.keys import account_id, agent_id
from trunkline.core.routing.match_input import MatchRules, RouteQuery
from trunkline.core.routing.outbound import SendKeyRules
from trunkline.core.routing.route_rules import RouteRule
from trunkline.core.routing.scopes import ScopeRules, place_key
from trunkline.core.routing.session_keys import SessionKeyRules
from trunkline.core.values import Address, ChatKind


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
