"""Trunkline's gateway core: import this, plug in adapters and an agent, and serve.

Start at `Gateway`. What you implement: `Agent` (answers), `ChannelAdapter` (one account on one platform), `HandRunner`
(async hands). What you configure: `GatewayConfig`. What you read: events (`core.events`).
"""

from core.agent import Agent, CallbackFacts, Turn
from core.channels import ChannelAdapter, Directory, Resolved
from core.config import GatewayConfig
from core.decisions import Decisions
from core.env import Env, Ids, system_env
from core.errors import InvalidSend, SendFailed, TargetError, TrunklineError
from core.events import Event, EventLog, EventSink, Recorder
from core.gateway import Gateway
from core.hands import HandRunner, HandTask
from core.keys import SessionKey, canonical_key, encode_v1, parse_v1
from core.profiles import Profile
from core.reasons import Reason
from core.routing import RouteDecision, resolve_route, session_key_for
from core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from core.routing.scopes import place_key
from core.send import SendMessage, SendOutcome
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
    SessionEntry,
    TranscriptLine,
)

__all__ = [
    "Address",
    "Agent",
    "CallbackFacts",
    "Capabilities",
    "ChannelAdapter",
    "ChatKind",
    "Decisions",
    "Directory",
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
    "InvalidSend",
    "OutboundQuestion",
    "OutboundRoute",
    "Peer",
    "Profile",
    "Reason",
    "Receipt",
    "Recorder",
    "Resolved",
    "RouteDecision",
    "SendFailed",
    "SendMessage",
    "SendOutcome",
    "SendRequest",
    "SessionEntry",
    "SessionKey",
    "SessionMap",
    "SqliteStore",
    "Store",
    "TargetError",
    "TranscriptLine",
    "TrunklineError",
    "Turn",
    "canonical_key",
    "connect_file",
    "encode_v1",
    "parse_v1",
    "place_key",
    "resolve_outbound_route",
    "resolve_route",
    "session_key_for",
    "system_env",
]
