"""Routing: the agent and session of an inbound message, and the session of a place."""

from trunkline.core.routing.inbound import RouteDecision, resolve_route
from trunkline.core.routing.session_keys import session_key_for

__all__ = ["RouteDecision", "resolve_route", "session_key_for"]
