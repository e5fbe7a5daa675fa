"""Trunkline's gateway core: import this, plug in adapters and an agent, and serve.

Start at `Gateway`. What you implement: `Agent` (answers), `ChannelAdapter` (one account on one platform), `HandRunner`
(async hands). What you configure: `GatewayConfig`. What you read: events (`core.events`).
"""

from core.agent import Agent, CallbackFacts, Turn
from core.channels import ChannelAdapter, Directory, Readiness, Ready, Resolved
from core.config import GatewayConfig
from core.decisions import Decisions
from core.delivery.hooks import Cancel, Change, Hooks, Outgoing, SendingHook, Sent, SentHook
from core.env import Env, Ids, system_env
from core.errors import InvalidSend, LeaseLost, SendFailed, TargetError, TrunklineError
from core.events import Event, EventLog, EventSink, Recorder
from core.gateway import Gateway
from core.hands import HandRunner, HandTask
from core.keys import SessionKey, canonical_key, encode_v1, parse_v1
from core.profiles import Profile
from core.reasons import Reason
from core.routing import RouteDecision, resolve_route, session_key_for
from core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from core.routing.scopes import place_key
from core.send import Broadcasted, SendMessage, SendOutcome, SendStatus, Target
from core.sessions import SessionMap
from core.store import SqliteStore, Store, connect_file
from core.store.operate import Filter, Verdict
from core.tuning import fewer_collections
from core.values import (
    Address,
    Capabilities,
    Capability,
    ChatKind,
    DeliveryMode,
    Envelope,
    HandOutcome,
    Idempotency,
    IntentState,
    Markup,
    Peer,
    Poll,
    Receipt,
    SendRequest,
    SessionEntry,
    TranscriptLine,
    Transport,
)

__all__ = [
    "Address",
    "Agent",
    "Broadcasted",
    "CallbackFacts",
    "Cancel",
    "Capabilities",
    "Capability",
    "Change",
    "ChannelAdapter",
    "ChatKind",
    "Decisions",
    "DeliveryMode",
    "Directory",
    "Env",
    "Envelope",
    "Event",
    "EventLog",
    "EventSink",
    "Filter",
    "Gateway",
    "GatewayConfig",
    "HandOutcome",
    "HandRunner",
    "HandTask",
    "Hooks",
    "Idempotency",
    "Ids",
    "IntentState",
    "InvalidSend",
    "LeaseLost",
    "Markup",
    "OutboundQuestion",
    "OutboundRoute",
    "Outgoing",
    "Peer",
    "Poll",
    "Profile",
    "Readiness",
    "Ready",
    "Reason",
    "Receipt",
    "Recorder",
    "Resolved",
    "RouteDecision",
    "SendFailed",
    "SendMessage",
    "SendOutcome",
    "SendRequest",
    "SendStatus",
    "SendingHook",
    "Sent",
    "SentHook",
    "SessionEntry",
    "SessionKey",
    "SessionMap",
    "SqliteStore",
    "Store",
    "Target",
    "TargetError",
    "TranscriptLine",
    "Transport",
    "TrunklineError",
    "Turn",
    "Verdict",
    "canonical_key",
    "connect_file",
    "encode_v1",
    "fewer_collections",
    "parse_v1",
    "place_key",
    "resolve_outbound_route",
    "resolve_route",
    "session_key_for",
    "system_env",
]
