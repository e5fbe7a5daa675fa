"""Defects in the return address: where answers go, and which session mirrors them."""

from __future__ import annotations

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import MirrorPlan, MirrorQuestion, ReplyPlan, plan_mirror, plan_reply
from trunkline.core.errors import PlaceGone
from trunkline.core.keys import parse_v1
from trunkline.core.values import Address, Envelope, Receipt, SendRequest
from trunkline.sim.bugs.base import Bug, deciding
from trunkline.sim.bugs.wrappers import AdapterWrapper, wrapping


def main_channel(place: Address) -> Address:
    """The room that a thread or topic belongs to; the place itself if it is no thread."""
    if place.thread is not None:
        return msgspec.structs.replace(place, thread=None)
    return msgspec.structs.replace(place, conversation=place.parent or place.conversation, parent=None)


def _reply_without_thread(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
    """Take the reply address without its thread: only the session key has it."""
    plan = plan_reply(envelope, config)
    return plan if plan.open_on is not None else msgspec.structs.replace(plan, address=main_channel(plan.address))


class _AutoReplyDropsTopic(AdapterWrapper):
    """Sends replies without their topic; tool sends keep it."""

    async def send(self, request: SendRequest) -> Receipt:
        if request.intent.endswith(".reply"):
            request = msgspec.structs.replace(request, address=main_channel(request.address))
        return await self.inner.send(request)


class _DeadThreadToMain(AdapterWrapper):
    """Sends to the main channel when the thread is gone, silently."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except PlaceGone:
            elsewhere = msgspec.structs.replace(request, address=main_channel(request.address))
            return await self.inner.send(elsewhere)


def _mirror_only_at_home(question: MirrorQuestion, config: GatewayConfig) -> MirrorPlan:
    """Mirror only sends to the running conversation."""
    plan = plan_mirror(question, config)
    return plan if plan.key == question.running else MirrorPlan(key=None)


def _mirror_where_running(question: MirrorQuestion, _config: GatewayConfig) -> MirrorPlan:
    """Mirror every send into the session that happens to run."""
    return MirrorPlan(key=question.running)


def _key_without_account(question: MirrorQuestion, config: GatewayConfig) -> MirrorPlan:
    """Leave the account out of the outbound key; the inbound key has it."""
    plan = plan_mirror(question, config)
    if plan.key is None:
        return plan
    return MirrorPlan(key=str(msgspec.structs.replace(parse_v1(plan.key), account=None)))


RETURN_ADDRESS_BUGS = (
    Bug(
        name="reply-loses-thread",
        reports=("B043",),
        sentence="The delivery context has no thread: answers to a thread are posted in the main channel.",
        caught_by=("R1",),
        install=deciding(plan_reply=_reply_without_thread),
    ),
    Bug(
        name="thread-only-when-opened",
        reports=("B044",),
        sentence="The target is the thread only in the turn that opened it; later answers drift to the parent.",
        caught_by=("R1",),
        install=deciding(plan_reply=_reply_without_thread),
    ),
    Bug(
        name="auto-reply-drops-topic",
        reports=("B050",),
        sentence="The auto-reply path calls the platform without the topic; explicit tool sends keep it.",
        caught_by=("R1",),
        install=wrapping(_AutoReplyDropsTopic),
    ),
    Bug(
        name="dead-thread-to-main",
        reports=(),
        sentence="A thread that is archived or deleted silently becomes the main channel.",
        caught_by=("R2",),
        install=wrapping(_DeadThreadToMain),
    ),
    Bug(
        name="mirror-only-at-home",
        reports=("B061",),
        sentence="A send from one conversation to another is delivered, and is missing from the target's transcript.",
        caught_by=("M1",),
        install=deciding(plan_mirror=_mirror_only_at_home),
    ),
    Bug(
        name="mirror-where-running",
        reports=(),
        sentence="Every send is mirrored into the session that happens to run, not into the target's.",
        caught_by=("M1",),
        install=deciding(plan_mirror=_mirror_where_running),
    ),
    Bug(
        name="outbound-key-loses-account",
        reports=(),
        sentence="The session key of an outbound message leaves the account out: one conversation, two sessions.",
        caught_by=("S1",),
        install=deciding(plan_mirror=_key_without_account),
    ),
)
