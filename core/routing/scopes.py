"""Which scopes a place has: those of the binding that claims it, else those of `session`; and so its session key.

An outbound message has the same key as an inbound one from the same place, so the binding is looked up for both.
"""

from __future__ import annotations

from core.config import GatewayConfig
from core.keys import SessionKey
from core.routing.keys import session_key_for
from core.values import Address


def place_key(agent: str, address: Address, config: GatewayConfig) -> SessionKey:
    """The session key of a place for an agent, under the configuration's scopes."""
    return session_key_for(agent, address, config.session, config.profile)
