"""The decisions that the shell applies, as one replaceable bundle.

A user who wants another rule replaces one function; the simulator's bug switches do the same (there is no branch in
core for either). Every function is pure: values in, a printable value out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from core.channels import rules_for
from core.config import DeliveryConfig, GatewayConfig, HandsConfig
from core.delivery.decide import DeliveryDecision, Outcome, RecoveryDecision, after_attempt, recover
from core.hands.completion import Completed, CompletionPlan, plan_completion
from core.keys import SessionKey
from core.reasons import Reason
from core.routing import RouteDecision, resolve_route, session_key_for
from core.values import Address, Capabilities, ChatKind, Envelope, IntentKind


class ReplyPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Where the answers to a message go, frozen at admission (invariant R3)."""

    address: Address
    reason: Reason
    #: id of the message on which the thread `address` is opened first
    open_on: str | None = None


class MirrorPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Which session holds the text of an outbound message, whoever says it."""

    key: SessionKey | None


def plan_reply(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
    """The exact place of the message (invariant R1), or the thread that auto-thread opens on it."""
    place = envelope.address
    auto = config.channel(place.channel).auto_thread and rules_for(place.channel).thread_id_is_message_id
    if auto and place.kind is not ChatKind.DIRECT and place.parent is None and place.thread is None:
        opened = msgspec.structs.replace(place, conversation=envelope.message_id, parent=place.conversation)
        return ReplyPlan(address=opened, reason=Reason.REPLY_IN_OPENED_THREAD, open_on=envelope.message_id)
    return ReplyPlan(address=place, reason=Reason.REPLY_TO_ORIGIN)


def plan_mirror(kind: IntentKind, agent: str, running: str, target: Address, config: GatewayConfig) -> MirrorPlan:
    """The session of the target conversation, never the one that happens to run (seed 000)."""
    return MirrorPlan(key=session_key_for(agent, target, config.session))


def identify(envelope: Envelope, can: Capabilities) -> str:
    """What makes an inbound message the same one again (invariant D7).

    The platform's id, in its conversation; where ids change on replay: sender, create time and text.
    """
    place = envelope.address
    where = (place.channel, place.account, place.conversation, place.thread)
    if can.stable_ids:
        return _digest(("id", *where, envelope.message_id))
    return _digest(("content", *where, envelope.peer.id, f"{envelope.sent_at:.6f}", envelope.text))


def _digest(parts: tuple[str | None, ...]) -> str:
    return msgspec.json.encode(parts).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """One function for each question that the shell asks."""

    resolve_route: Callable[[Envelope, GatewayConfig], RouteDecision] = resolve_route
    plan_reply: Callable[[Envelope, GatewayConfig], ReplyPlan] = plan_reply
    identify: Callable[[Envelope, Capabilities], str] = identify
    plan_mirror: Callable[[IntentKind, str, str, Address, GatewayConfig], MirrorPlan] = plan_mirror
    plan_completion: Callable[[Completed, HandsConfig], CompletionPlan] = plan_completion
    after_attempt: Callable[..., DeliveryDecision] = after_attempt
    recover: Callable[..., RecoveryDecision] = recover


__all__ = [
    "Decisions",
    "DeliveryConfig",
    "MirrorPlan",
    "Outcome",
    "ReplyPlan",
    "identify",
    "plan_mirror",
    "plan_reply",
]
