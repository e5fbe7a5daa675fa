"""The scopes of a place, and thus its session key: those of the route rule that matches it, else those of `session`.

An outbound message has the same key as an inbound one from the same place (invariant S1). Since it has no guild, team
or roles, the rule that counts in both directions is the one that matches the place alone: by its peer, its parent, its
account or its channel. Only such rules may have scopes (`core.config` checks it), and they apply to the rule's agent.
"""

from trunkline.core.config import GatewayConfig, SessionConfig
from trunkline.core.keys import SessionKey
from trunkline.core.routing.index import index_of
from trunkline.core.routing.match_input import MatchRules, RouteQuery, query_at
from trunkline.core.routing.route_rules import RouteRule
from trunkline.core.routing.session_keys import key_of_place
from trunkline.core.values import Address


def place_key(agent: str, address: Address, config: GatewayConfig) -> SessionKey:
    """The session key of a place for an agent under the configuration's scopes."""
    session = config.session
    if index_of(config).has_own_scopes:
        session = scopes_for(agent, query_at(address, config.rules[MatchRules]), config)
    return key_of_place(agent, address, session, config.rules)


def scopes_for(agent: str, query: RouteQuery, config: GatewayConfig) -> SessionConfig:
    """The session settings of a place for an agent."""
    index = index_of(config)
    if not index.has_own_scopes:
        return config.session
    found = index.find(query.by_place)
    if found is None:
        return config.session
    own = found.rule.session if found.rule.agent == agent else None
    return config.session if own is None else own


class ScopeRules:
    """What a profile decides of the scopes of an inbound message."""

    def of_message(
        self, agent: str, matched: RouteRule | None, query: RouteQuery, config: GatewayConfig
    ) -> SessionConfig:
        """The session settings of a message that a rule matched, which may have matched by its sender."""
        return scopes_for(agent, query, config)
