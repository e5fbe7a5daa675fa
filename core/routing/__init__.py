"""Routing: which agent and session an inbound message belongs to, and which session a place has."""

from trunkline.core.routing.inbound import RouteDecision, resolve_route
from trunkline.core.routing.session_keys import session_key_for

__all__ = ["RouteDecision", "resolve_route", "session_key_for"]
