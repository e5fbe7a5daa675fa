"""Defects in the return address: where answers go, and which session mirrors them."""

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import MirrorPlan, MirrorQuestion, ReplyPlan, plan_mirror, plan_reply
from trunkline.core.errors import PlaceGone
from trunkline.core.keys import parse_v1
from trunkline.core.values import Address, Envelope, Receipt, SendRequest
from trunkline.sim.bugs.base import bug, deciding
from trunkline.sim.bugs.wrappers import AdapterWrapper, changing_sends, wrapping


def main_channel(place: Address) -> Address:
    """The room that a thread or topic belongs to; the place itself if it is no thread."""
    if place.thread is not None:
        return msgspec.structs.replace(place, thread=None)
    return msgspec.structs.replace(place, conversation=place.parent or place.conversation, parent=None)


@bug(
    "thread-only-when-opened",
    deciding("plan_reply"),
    reports=("B044",),
    caught_by=("R1",),
    sentence="The target is the thread only in the turn that opened it; later answers drift to the parent.",
)
@bug("reply-loses-thread", deciding("plan_reply"), reports=("B043",), caught_by=("R1",))
def _reply_without_thread(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
    """The delivery context has no thread: answers to a thread are posted in the main channel."""
    plan = plan_reply(envelope, config)
    return plan if plan.open_on is not None else msgspec.structs.replace(plan, address=main_channel(plan.address))


@bug("answers-without-quote", changing_sends, caught_by=("R1",))
def _without_quote(request: SendRequest) -> SendRequest:
    """The operator wants answers to quote their message, and the request to the platform leaves the reference out."""
    return msgspec.structs.replace(request, reply_to=None)


def to_main_channel(request: SendRequest) -> SendRequest:
    """A request for a thread or topic, as one for the room that this belongs to."""
    return msgspec.structs.replace(request, address=main_channel(request.address))


@bug("auto-reply-drops-topic", changing_sends, reports=("B050", "004-D09"), caught_by=("R1",))
def _auto_reply_drops_topic(request: SendRequest) -> SendRequest:
    """The auto-reply path calls the platform without the topic; explicit tool sends keep it."""
    return to_main_channel(request) if request.intent.endswith(".reply") else request


@bug("dead-thread-to-main", wrapping, caught_by=("R2",))
class _DeadThreadToMain(AdapterWrapper):
    """A thread that is archived or deleted silently becomes the main channel."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except PlaceGone:
            return await self.inner.send(to_main_channel(request))


@bug("mirror-only-at-home", deciding("plan_mirror"), reports=("B061",), caught_by=("M1",))
def _mirror_only_at_home(question: MirrorQuestion, config: GatewayConfig) -> MirrorPlan:
    """A send from one conversation to another is delivered, and is missing from the target's transcript."""
    plan = plan_mirror(question, config)
    return plan if plan.key == question.running else MirrorPlan(key=None)


@bug("mirror-where-running", deciding("plan_mirror"), caught_by=("M1",))
def _mirror_where_running(question: MirrorQuestion, _config: GatewayConfig) -> MirrorPlan:
    """Every send is mirrored into the session that happens to run, not into the target's."""
    return MirrorPlan(key=question.running)


@bug("outbound-key-loses-account", deciding("plan_mirror"), caught_by=("S1",))
def _key_without_account(question: MirrorQuestion, config: GatewayConfig) -> MirrorPlan:
    """The session key of an outbound message leaves the account out: one conversation, two sessions."""
    plan = plan_mirror(question, config)
    if plan.key is None:
        return plan
    return MirrorPlan(key=str(msgspec.structs.replace(parse_v1(plan.key), account=None)))
