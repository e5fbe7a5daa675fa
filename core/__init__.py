"""Trunkline's gateway core: import this, plug in adapters and an agent, and serve.

Start at `Gateway`. What you implement: `Agent` (answers), `ChannelAdapter` (one account on one platform), `HandRunner`
(async hands). What you configure: `GatewayConfig`. What you read: events (`core.events`).
"""

from core.agent import Agent, CallbackFacts, Turn
from core.channels import ChannelAdapter
from core.config import GatewayConfig
from core.decisions import Decisions
from core.env import Env, Ids, system_env
from core.errors import TrunklineError
from core.events import Event, EventLog, EventSink, Recorder
from core.gateway import Gateway
from core.hands import HandRunner, HandTask
from core.keys import SessionKey, encode_v1, parse_v1
from core.reasons import Reason
from core.routing import RouteDecision, resolve_route, session_key_for
from core.sessions import SessionMap
from core.store import SqliteStore, Store, connect_file
from core.values import (
    Address,
    Capabilities,
    ChatKind,
    Envelope,
    HandOutcome,
    Idempotency,
    IntentState,
    Peer,
    Receipt,
    SendRequest,
)

__all__ = [
    "Address",
    "Agent",
    "CallbackFacts",
    "Capabilities",
    "ChannelAdapter",
    "ChatKind",
    "Decisions",
    "Env",
    "Envelope",
    "Event",
    "EventLog",
    "EventSink",
    "Gateway",
    "GatewayConfig",
    "HandOutcome",
    "HandRunner",
    "HandTask",
    "Idempotency",
    "Ids",
    "IntentState",
    "Peer",
    "Reason",
    "Receipt",
    "Recorder",
    "RouteDecision",
    "SendRequest",
    "SessionKey",
    "SessionMap",
    "SqliteStore",
    "Store",
    "TrunklineError",
    "Turn",
    "connect_file",
    "encode_v1",
    "parse_v1",
    "resolve_route",
    "session_key_for",
    "system_env",
]
