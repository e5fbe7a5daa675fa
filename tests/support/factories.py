"""Small values for tests: every field has a harmless default, a test names only what it is about."""

from types import SimpleNamespace
from typing import Any

import msgspec

from trunkline.core.config import GatewayConfig, RouteRuleConfig
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.rows import BoundPart, ContentPart, ExtraPart, IntentRow, NewSession, ProgressPart, Work
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.values import (
    Address,
    ChatKind,
    DelegationId,
    Envelope,
    InboundId,
    IntentId,
    IntentKind,
    Peer,
    Receipt,
    SendRequest,
    SessionId,
    TurnId,
    WorkKind,
)

#: settings of tools with which agents may write to other platforms, unmarked
ACROSS: dict[str, Any] = {"message": {"cross_context": {"allow_across_providers": True, "marker": {"enabled": False}}}}


def direct(peer: str = "100", *, channel: str = "discord", account: str = "default", **fields: Any) -> Address:
    """A direct conversation."""
    return Address(channel=channel, account=account, kind=ChatKind.DIRECT, conversation=peer, **fields)


def room(conversation: str = "500", *, channel: str = "discord", account: str = "default", **fields: Any) -> Address:
    """A guild channel."""
    return Address(channel=channel, account=account, kind=ChatKind.CHANNEL, conversation=conversation, **fields)


def group(
    conversation: str = "-1007", *, channel: str = "telegram", account: str = "default", **fields: Any
) -> Address:
    """A group."""
    return Address(channel=channel, account=account, kind=ChatKind.GROUP, conversation=conversation, **fields)


def envelope(address: Address | None = None, **fields: Any) -> Envelope:
    """An inbound message."""
    place = direct() if address is None else address
    defaults: dict[str, Any] = {"peer": Peer(id="100", name="Ana"), "message_id": "m1", "text": "hello", "sent_at": 1.0}
    return Envelope(address=place, **{**defaults, **fields})


def binding(agent: str = "ops", *, name: str = "", **match: Any) -> RouteRuleConfig:
    """A route binding on Discord unless `match` says otherwise."""
    return RouteRuleConfig.model_validate({"agent": agent, "name": name, "match": {"channel": "discord", **match}})


def config(
    *bindings: RouteRuleConfig, agents: tuple[str, ...] = ("main", "ops", "dev"), **fields: Any
) -> GatewayConfig:
    """A configuration with three agents, of which `main` is the default."""
    return GatewayConfig.model_validate({"agents": [{"id": agent} for agent in agents], "bindings": bindings, **fields})


def work(name: str = "m1", *, session_key: str = "main:discord:default:direct:100", **fields: Any) -> Work:
    """An admitted message, called `name`."""
    defaults: dict[str, Any] = {
        "kind": WorkKind.MESSAGE,
        "agent": "main",
        "peer": Peer(id="100", name="Ana"),
        "text": f"text of {name}",
        "message_id": name,
        "place": direct(),
        "reply_to": direct(),
    }
    return Work(id=InboundId(name), session_key=session_key, **{**defaults, **fields})


def session(key: str = "main:discord:default:direct:100", name: str = "s1", **fields: Any) -> NewSession:
    """A session to be created under the id `name`."""
    return NewSession(key=key, id=SessionId(name), **{"agent": "main", "address": direct(), **fields})


def intent(name: str = "m1.reply", *chunks: str, **fields: Any) -> IntentRow:
    """A prepared intent, called `name`."""
    defaults: dict[str, Any] = {
        "kind": IntentKind.REPLY,
        "address": direct(),
        "agent": "main",
        "mirror_key": "main:discord:default:direct:100",
        "turn": TurnId("t-m1"),
        "inbound": InboundId("m1"),
        "created_at": 1.0,
    }
    given = {"chunks": chunks or ("hello back",), **defaults, **fields}
    own = {name: given.pop(name) for name in tuple(given) if name not in PART_OF}
    return changed(IntentRow(id=IntentId(name), **own), **given)


def changed(row: IntentRow, **fields: Any) -> IntentRow:
    """An intent with other fields, in whichever part they are."""
    for name, value in fields.items():
        part = PART_OF.get(name)
        value = value if part is None else msgspec.structs.replace(getattr(row, part), **{name: value})
        row = msgspec.structs.replace(row, **{part or name: value})
    return row


#: the part of an intent that has a field
PART_OF = {
    field.name: part
    for part, kind in (("content", ContentPart), ("progress", ProgressPart), ("bound", BoundPart), ("extra", ExtraPart))
    for field in msgspec.structs.fields(kind)
}


def delegation(name: str = "m1.hand1", **fields: Any) -> DelegationRow:
    """An accepted delegation, called `name`."""
    defaults: dict[str, Any] = {
        "hand": "clerk",
        "task": "count",
        "agent": "main",
        "session_key": "main:discord:default:direct:100",
        "turn": TurnId("t-m1"),
        "inbound": InboundId("m1"),
        "reply_to": direct(),
        "accepted_at": 1.0,
    }
    return DelegationRow(id=DelegationId(name), **{**defaults, **fields})


def receipt(provider_id: str = "900", address: Address | None = None) -> Receipt:
    """What a platform says when it accepts a chunk."""
    return Receipt(provider_id=provider_id, address=direct() if address is None else address)


def request(address: Address, text: str = "hello", *, key: str = "k1/0", **fields: Any) -> SendRequest:
    """A chunk on its way."""
    defaults: dict[str, Any] = {"intent": IntentId("k1"), "chunk": 0, "attempt": 1}
    return SendRequest(address=address, text=text, key=key, **{**defaults, **fields})


def open_intents(**context: Any) -> OpenIntents:
    """The open intents of a gateway that has no other parts than these, and no hooks."""
    env = SimpleNamespace(steady=lambda: 0.0, steady_of=lambda at: at)
    whole: Any = SimpleNamespace(config=config(), env=env, **context)
    hooks: Any = SimpleNamespace(notify_soon=lambda *_: None)
    return OpenIntents(whole, hooks)
