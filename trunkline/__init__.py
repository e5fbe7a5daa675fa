"""Trunkline: a chat-agent gateway you can see through.

The public front door. Start at `Gateway`. What you implement: `Agent` (answers), `ChannelAdapter` (one account on one
platform), `HandRunner` (async hands). What you configure: `GatewayConfig`. What you read: events
(`EventLog`, `Recorder`).
The simulator is `trunkline.sim`, the command line `trunkline.app.cli`.

Names are imported when they are first used, so that `trunkline --help` need not load the gateway.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.core.agent import Agent as Agent
    from trunkline.core.agent import CallbackFacts as CallbackFacts
    from trunkline.core.agent import Turn as Turn
    from trunkline.core.channels import (
        ChannelAdapter as ChannelAdapter,
    )
    from trunkline.core.channels import (
        Directory as Directory,
    )
    from trunkline.core.channels import (
        Readiness as Readiness,
    )
    from trunkline.core.channels import (
        Ready as Ready,
    )
    from trunkline.core.channels import (
        Resolved as Resolved,
    )
    from trunkline.core.config import GatewayConfig as GatewayConfig
    from trunkline.core.decisions import Decisions as Decisions
    from trunkline.core.delivery.hooks import (
        Cancel as Cancel,
    )
    from trunkline.core.delivery.hooks import (
        Change as Change,
    )
    from trunkline.core.delivery.hooks import (
        Hooks as Hooks,
    )
    from trunkline.core.delivery.hooks import (
        Outgoing as Outgoing,
    )
    from trunkline.core.delivery.hooks import (
        SendingHook as SendingHook,
    )
    from trunkline.core.delivery.hooks import (
        Sent as Sent,
    )
    from trunkline.core.delivery.hooks import (
        SentHook as SentHook,
    )
    from trunkline.core.env import Env as Env
    from trunkline.core.env import Ids as Ids
    from trunkline.core.env import system_env as system_env
    from trunkline.core.errors import (
        InvalidSend as InvalidSend,
    )
    from trunkline.core.errors import (
        LeaseLost as LeaseLost,
    )
    from trunkline.core.errors import (
        SendFailed as SendFailed,
    )
    from trunkline.core.errors import (
        TargetError as TargetError,
    )
    from trunkline.core.errors import (
        TrunklineError as TrunklineError,
    )
    from trunkline.core.events import (
        Event as Event,
    )
    from trunkline.core.events import (
        EventLog as EventLog,
    )
    from trunkline.core.events import (
        EventSink as EventSink,
    )
    from trunkline.core.events import (
        Recorder as Recorder,
    )
    from trunkline.core.gateway import Gateway as Gateway
    from trunkline.core.gc_tuning import fewer_collections as fewer_collections
    from trunkline.core.hands import HandRunner as HandRunner
    from trunkline.core.hands import HandTask as HandTask
    from trunkline.core.keys import (
        SessionKey as SessionKey,
    )
    from trunkline.core.keys import (
        canonical_key as canonical_key,
    )
    from trunkline.core.keys import (
        encode_v1 as encode_v1,
    )
    from trunkline.core.keys import (
        parse_v1 as parse_v1,
    )
    from trunkline.core.profiles import Profile as Profile
    from trunkline.core.reasons import Reason as Reason
    from trunkline.core.routing import RouteDecision as RouteDecision
    from trunkline.core.routing import resolve_route as resolve_route
    from trunkline.core.routing import session_key_for as session_key_for
    from trunkline.core.routing.outbound import OutboundQuestion as OutboundQuestion
    from trunkline.core.routing.outbound import OutboundRoute as OutboundRoute
    from trunkline.core.routing.outbound import resolve_outbound_route as resolve_outbound_route
    from trunkline.core.routing.scopes import place_key as place_key
    from trunkline.core.sends.api import (
        Broadcasted as Broadcasted,
    )
    from trunkline.core.sends.api import (
        SendMessage as SendMessage,
    )
    from trunkline.core.sends.api import (
        SendOutcome as SendOutcome,
    )
    from trunkline.core.sends.api import (
        SendStatus as SendStatus,
    )
    from trunkline.core.sends.api import (
        Target as Target,
    )
    from trunkline.core.sessions.session_map import SessionMap as SessionMap
    from trunkline.core.store import Store as Store
    from trunkline.core.store.queue_admin import QueueFilter as QueueFilter
    from trunkline.core.store.queue_admin import QueueVerdict as QueueVerdict
    from trunkline.core.store.sqlite import SqliteStore as SqliteStore
    from trunkline.core.store.sqlite import connect_file as connect_file
    from trunkline.core.values import (
        Address as Address,
    )
    from trunkline.core.values import (
        Capabilities as Capabilities,
    )
    from trunkline.core.values import (
        Capability as Capability,
    )
    from trunkline.core.values import (
        ChatKind as ChatKind,
    )
    from trunkline.core.values import (
        DeliveryMode as DeliveryMode,
    )
    from trunkline.core.values import (
        Envelope as Envelope,
    )
    from trunkline.core.values import (
        HandOutcome as HandOutcome,
    )
    from trunkline.core.values import (
        Idempotency as Idempotency,
    )
    from trunkline.core.values import (
        IntentState as IntentState,
    )
    from trunkline.core.values import (
        Markup as Markup,
    )
    from trunkline.core.values import (
        Peer as Peer,
    )
    from trunkline.core.values import (
        Poll as Poll,
    )
    from trunkline.core.values import (
        Receipt as Receipt,
    )
    from trunkline.core.values import (
        SendRequest as SendRequest,
    )
    from trunkline.core.values import (
        SessionEntry as SessionEntry,
    )
    from trunkline.core.values import (
        TranscriptLine as TranscriptLine,
    )
    from trunkline.core.values import (
        Transport as Transport,
    )

#: where each public name lives
_HOMES: dict[str, tuple[str, ...]] = {
    "trunkline.core.agent": (
        "Agent",
        "CallbackFacts",
        "Turn",
    ),
    "trunkline.core.channels": (
        "ChannelAdapter",
        "Directory",
        "Readiness",
        "Ready",
        "Resolved",
    ),
    "trunkline.core.config": ("GatewayConfig",),
    "trunkline.core.decisions": ("Decisions",),
    "trunkline.core.delivery.hooks": (
        "Cancel",
        "Change",
        "Hooks",
        "Outgoing",
        "SendingHook",
        "Sent",
        "SentHook",
    ),
    "trunkline.core.env": (
        "Env",
        "Ids",
        "system_env",
    ),
    "trunkline.core.errors": (
        "InvalidSend",
        "LeaseLost",
        "SendFailed",
        "TargetError",
        "TrunklineError",
    ),
    "trunkline.core.events": (
        "Event",
        "EventLog",
        "EventSink",
        "Recorder",
    ),
    "trunkline.core.gateway": ("Gateway",),
    "trunkline.core.hands": (
        "HandRunner",
        "HandTask",
    ),
    "trunkline.core.keys": (
        "SessionKey",
        "canonical_key",
        "encode_v1",
        "parse_v1",
    ),
    "trunkline.core.profiles": ("Profile",),
    "trunkline.core.reasons": ("Reason",),
    "trunkline.core.routing": (
        "RouteDecision",
        "resolve_route",
        "session_key_for",
    ),
    "trunkline.core.routing.outbound": (
        "OutboundQuestion",
        "OutboundRoute",
        "resolve_outbound_route",
    ),
    "trunkline.core.routing.scopes": ("place_key",),
    "trunkline.core.sends.api": (
        "Broadcasted",
        "SendMessage",
        "SendOutcome",
        "SendStatus",
        "Target",
    ),
    "trunkline.core.sessions.session_map": ("SessionMap",),
    "trunkline.core.store": ("Store",),
    "trunkline.core.store.queue_admin": (
        "QueueFilter",
        "QueueVerdict",
    ),
    "trunkline.core.store.sqlite": (
        "SqliteStore",
        "connect_file",
    ),
    "trunkline.core.gc_tuning": ("fewer_collections",),
    "trunkline.core.values": (
        "Address",
        "Capabilities",
        "Capability",
        "ChatKind",
        "DeliveryMode",
        "Envelope",
        "HandOutcome",
        "Idempotency",
        "IntentState",
        "Markup",
        "Peer",
        "Poll",
        "Receipt",
        "SendRequest",
        "SessionEntry",
        "TranscriptLine",
        "Transport",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

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
    "QueueFilter",
    "QueueVerdict",
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


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
