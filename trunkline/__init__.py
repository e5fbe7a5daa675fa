"""Trunkline: a chat-agent gateway you can see through.

The public API. Start at `Gateway`. You implement an `Agent`, which answers, a `ChannelAdapter` for each account on a
platform, and a `HandRunner` for async hands. You configure with `GatewayConfig` and read events from an `EventLog` or
`Recorder`. The simulator is `trunkline.sim`, the command line `trunkline.app.cli`.

Names are imported on first use, so that `trunkline --help` does not load the gateway.
"""

from importlib import import_module

#: what type checkers take for true; importing `typing` for it would take longer than `trunkline --version`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from trunkline.core.action_catalogue import Action
    from trunkline.core.actions.requests import ActionQuery, ActionRequest
    from trunkline.core.actions.result import ActionResult, ActionStatus
    from trunkline.core.agent import Agent, Turn
    from trunkline.core.channels import (
        ChannelAdapter,
        ChannelRulebook,
        ChannelRules,
        Directory,
        DirectoryEntry,
        Hints,
        ParsedTarget,
        PlaceReadiness,
        Readiness,
        Ready,
        Resolved,
        find_in_directory,
        register_channel,
        registered_channel,
    )
    from trunkline.core.channels.voice import Espeak, Speech, SpeechEngine
    from trunkline.core.config import ConfigChecks, GatewayConfig
    from trunkline.core.decisions import Decisions
    from trunkline.core.delivery.hooks import Cancel, Change, Hooks, Outgoing, SendingHook, Sent, SentHook
    from trunkline.core.env import Env, Ids, system_env
    from trunkline.core.errors import (
        AnswerRefused,
        CallEnded,
        ChannelConflict,
        DelegationRefused,
        InvalidAction,
        InvalidSend,
        LeaseLost,
        PolicyDenied,
        SendFailed,
        SpeechFailed,
        TargetError,
        TrunklineError,
    )
    from trunkline.core.events import Event, EventLog, EventSink, Recorder
    from trunkline.core.gateway import Gateway
    from trunkline.core.gc_tuning import fewer_collections
    from trunkline.core.hands.callback_message import as_data
    from trunkline.core.hands.port import ClientTask, Delegated, DelegationStatus, HandRunner, HandTask
    from trunkline.core.keys import KeyCodec, SessionKey, canonical_key, encode_v1, parse_v1
    from trunkline.core.message_parts import Button, MessageParts
    from trunkline.core.profile_rules import Profile, ProfileRules, register_profile, registered_profile
    from trunkline.core.prompts import Prompt
    from trunkline.core.reasons import Reason
    from trunkline.core.records.delegations import HandResult
    from trunkline.core.records.rows import CallbackFacts
    from trunkline.core.routing import RouteDecision, resolve_route, session_key_for
    from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
    from trunkline.core.routing.scopes import place_key
    from trunkline.core.runtime.operators.session_admin import SessionMap
    from trunkline.core.sends.api import Broadcasted, SendMessage, SendOutcome, SendStatus, Target
    from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
    from trunkline.core.store import Store
    from trunkline.core.store.delegations import DelegationFilter
    from trunkline.core.store.hand_worker import HandWorker
    from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict
    from trunkline.core.store.sqlite.connection import connect_file
    from trunkline.core.store.sqlite.store import SqliteStore
    from trunkline.core.text.chunking.own_chunker import OwnChunker
    from trunkline.core.values import (
        Address,
        Capabilities,
        Capability,
        ChatKind,
        DeliveryMode,
        Envelope,
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

#: the module of each public name
_HOMES: dict[str, tuple[str, ...]] = {
    "trunkline.core.action_catalogue": ("Action",),
    "trunkline.core.actions.requests": ("ActionQuery", "ActionRequest"),
    "trunkline.core.actions.result": ("ActionResult", "ActionStatus"),
    "trunkline.core.agent": ("Agent", "Turn"),
    "trunkline.core.channels": (
        "ChannelAdapter",
        "ChannelRulebook",
        "ChannelRules",
        "Directory",
        "DirectoryEntry",
        "Hints",
        "ParsedTarget",
        "PlaceReadiness",
        "Readiness",
        "Ready",
        "Resolved",
        "find_in_directory",
        "register_channel",
        "registered_channel",
    ),
    "trunkline.core.channels.voice": ("Espeak", "Speech", "SpeechEngine"),
    "trunkline.core.config": ("ConfigChecks", "GatewayConfig"),
    "trunkline.core.decisions": ("Decisions",),
    "trunkline.core.text.chunking.own_chunker": ("OwnChunker",),
    "trunkline.core.delivery.hooks": ("Cancel", "Change", "Hooks", "Outgoing", "SendingHook", "Sent", "SentHook"),
    "trunkline.core.env": ("Env", "Ids", "system_env"),
    "trunkline.core.errors": (
        "AnswerRefused",
        "CallEnded",
        "ChannelConflict",
        "DelegationRefused",
        "InvalidAction",
        "InvalidSend",
        "LeaseLost",
        "PolicyDenied",
        "SendFailed",
        "SpeechFailed",
        "TargetError",
        "TrunklineError",
    ),
    "trunkline.core.events": ("Event", "EventLog", "EventSink", "Recorder"),
    "trunkline.core.gateway": ("Gateway",),
    "trunkline.core.hands.callback_message": ("as_data",),
    "trunkline.core.hands.port": ("ClientTask", "Delegated", "DelegationStatus", "HandRunner", "HandTask"),
    "trunkline.core.records.delegations": ("HandResult",),
    "trunkline.core.records.rows": ("CallbackFacts",),
    "trunkline.core.states.delegation": ("CallbackState", "HandOutcome", "WorkState"),
    "trunkline.core.keys": ("KeyCodec", "SessionKey", "canonical_key", "encode_v1", "parse_v1"),
    "trunkline.core.message_parts": ("Button", "MessageParts"),
    "trunkline.core.prompts": ("Prompt",),
    "trunkline.core.profile_rules": ("Profile", "ProfileRules", "register_profile", "registered_profile"),
    "trunkline.core.reasons": ("Reason",),
    "trunkline.core.routing": ("RouteDecision", "resolve_route", "session_key_for"),
    "trunkline.core.routing.outbound": ("OutboundQuestion", "OutboundRoute", "resolve_outbound_route"),
    "trunkline.core.routing.scopes": ("place_key",),
    "trunkline.core.runtime.operators.session_admin": ("SessionMap",),
    "trunkline.core.sends.api": ("Broadcasted", "SendMessage", "SendOutcome", "SendStatus", "Target"),
    "trunkline.core.store": ("Store",),
    "trunkline.core.store.delegations": ("DelegationFilter",),
    "trunkline.core.store.queue_admin": ("QueueFilter", "QueueVerdict"),
    "trunkline.core.store.sqlite.connection": ("connect_file",),
    "trunkline.core.store.sqlite.store": ("SqliteStore",),
    "trunkline.core.store.hand_worker": ("HandWorker",),
    "trunkline.core.gc_tuning": ("fewer_collections",),
    "trunkline.core.values": (
        "Address",
        "Capabilities",
        "Capability",
        "ChatKind",
        "DeliveryMode",
        "Envelope",
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
    "Action",
    "ActionQuery",
    "ActionRequest",
    "ActionResult",
    "ActionStatus",
    "Address",
    "Agent",
    "AnswerRefused",
    "Broadcasted",
    "Button",
    "CallEnded",
    "CallbackFacts",
    "CallbackState",
    "Cancel",
    "Capabilities",
    "Capability",
    "Change",
    "ChannelAdapter",
    "ChannelConflict",
    "ChannelRulebook",
    "ChannelRules",
    "ChatKind",
    "ClientTask",
    "ConfigChecks",
    "Decisions",
    "Delegated",
    "DelegationFilter",
    "DelegationRefused",
    "DelegationStatus",
    "DeliveryMode",
    "Directory",
    "DirectoryEntry",
    "Env",
    "Envelope",
    "Espeak",
    "Event",
    "EventLog",
    "EventSink",
    "Gateway",
    "GatewayConfig",
    "HandOutcome",
    "HandResult",
    "HandRunner",
    "HandTask",
    "HandWorker",
    "Hints",
    "Hooks",
    "Idempotency",
    "Ids",
    "IntentState",
    "InvalidAction",
    "InvalidSend",
    "KeyCodec",
    "LeaseLost",
    "Markup",
    "MessageParts",
    "OutboundQuestion",
    "OutboundRoute",
    "Outgoing",
    "OwnChunker",
    "ParsedTarget",
    "Peer",
    "PlaceReadiness",
    "PolicyDenied",
    "Poll",
    "Profile",
    "ProfileRules",
    "Prompt",
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
    "Speech",
    "SpeechEngine",
    "SpeechFailed",
    "SqliteStore",
    "Store",
    "Target",
    "TargetError",
    "TranscriptLine",
    "Transport",
    "TrunklineError",
    "Turn",
    "WorkState",
    "as_data",
    "canonical_key",
    "connect_file",
    "encode_v1",
    "fewer_collections",
    "find_in_directory",
    "parse_v1",
    "place_key",
    "register_channel",
    "register_profile",
    "registered_channel",
    "registered_profile",
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
