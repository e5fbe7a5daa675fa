"""Which scopes a place has: those of the binding that rules it, else those of `session`; and so its session key.

An outbound message has the same key as an inbound one from the same place (invariant S1). But it has no guild, no team
and no roles, so the binding that counts is, in both directions, the one that rules the place for itself: by its peer,
what that hangs under, its account or its channel. A binding with scopes of its own demands nothing else (`core.config`
sees to it), and its scopes hold where its agent answers.
"""

from __future__ import annotations

from trunkline.core.config import GatewayConfig, SessionConfig
from trunkline.core.keys import SessionKey
from trunkline.core.routing.index import index_of
from trunkline.core.routing.match_input import RouteQuery, query_at
from trunkline.core.routing.session_keys import session_key_for
from trunkline.core.values import Address


def place_key(agent: str, address: Address, config: GatewayConfig) -> SessionKey:
    """The session key of a place for an agent, under the configuration's scopes."""
    session = config.session
    if index_of(config).has_own_scopes:
        session = scopes_for(agent, query_at(address, config.profile), config)
    return session_key_for(agent, address, session, config.profile)


def scopes_for(agent: str, query: RouteQuery, config: GatewayConfig) -> SessionConfig:
    """The session settings of a place where an agent answers."""
    index = index_of(config)
    if not index.has_own_scopes:
        return config.session
    found = index.find(query.by_place)
    if found is None:
        return config.session
    own = found.rule.session if found.rule.agent == agent else None
    return config.session if own is None else own
