"""Defects of routing: captured routes, answers to the wrong place, and crossings that nobody decides on."""

from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core.action_catalogue import ActionKind
from trunkline.core.actions.result import ActionResult
from trunkline.core.channels import ChannelAdapter, Resolved
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import MirrorPlan, MirrorQuestion, ReplyPlan, plan_mirror, plan_reply
from trunkline.core.errors import PlaceGone, PolicyDenied
from trunkline.core.keys import parse_v1
from trunkline.core.message_tool.policy import ContextDecision, ContextQuestion, decide_context
from trunkline.core.reasons import Reason
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.routing.key_text import config_key
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from trunkline.core.sends.api import SendMessage, SendPlan, plan_send
from trunkline.core.values import Address, Capabilities, ChatKind, Envelope, IntentKind, Receipt, SendRequest
from trunkline.sim.bugs.base import bug, deciding
from trunkline.sim.bugs.turn_wrappers import TurnWrapper, each_turn
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, changing_sends, wrapping


@bug("tool-send-captures-route", reports=("B046",), caught_by=("R3",))
def _install_captured_route(wiring: Wiring) -> None:
    """A tool send becomes the reply route of its session: later answers go to the person it was sent to."""
    captured: dict[str, Address] = {}

    def mirror(question: MirrorQuestion, config: GatewayConfig) -> MirrorPlan:
        if question.kind is IntentKind.TOOL:
            captured[question.running] = question.target
        return plan_mirror(question, config)

    def reply(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
        plan = plan_reply(envelope, config)
        target = captured.get(config_key(resolve_route(envelope, config).key, config))
        return plan if target is None else msgspec.structs.replace(plan, address=target, open_on=None)

    wiring.replace(plan_mirror=mirror, plan_reply=reply)


@bug("answers-pinned-surface", reports=("B052",), caught_by=("R3",))
def _install_pinned_surface(wiring: Wiring) -> None:
    """Several surfaces share a session, and all answers go to the one that spoke first."""
    pinned: dict[str, Address] = {}

    def reply(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
        plan = plan_reply(envelope, config)
        first = pinned.setdefault(config_key(resolve_route(envelope, config).key, config), plan.address)
        return msgspec.structs.replace(plan, address=first)

    wiring.replace(plan_reply=reply)


@bug("account-of-source", deciding("choose_account"), reports=("B049",), caught_by=("R4",))
def _account_of_source(
    _channel: str, named: str | None, source: Address | None, accounts: Sequence[str], _config: GatewayConfig
) -> str:
    """A send to another channel carries the account name of the channel that the session lives on."""
    return named or (source.account if source is not None else accounts[0])


@bug("session-key-ignored", deciding("plan_send"), reports=("B053",), caught_by=("S1",))
def _key_ignored(message: SendMessage, **decided: object) -> SendPlan:
    """A full session key that the caller gives loses against a look-up by channel."""
    plan = plan_send(msgspec.structs.replace(message, session_key=None), **decided)  # pyright: ignore[reportArgumentType]
    return msgspec.structs.replace(plan, named_session=True)


@bug("config-captured-at-start", reports=("B093",), caught_by=("B2",))
def _install_config_at_start(wiring: Wiring) -> None:
    """Bindings changed at run time are ignored until a restart: monitors captured the configuration."""
    captured: list[GatewayConfig] = []

    def route(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
        if not captured:
            captured.append(config)
        return resolve_route(envelope, captured[0])

    wiring.replace(resolve_route=route)


@bug("folded-id-as-address", changing_sends, reports=("B068",), caught_by=("R4",))
def _folded_address(request: SendRequest) -> SendRequest:
    """Wire addresses are derived from session keys, in which ids are folded to lower case."""
    place = request.address
    thread = None if place.thread is None else place.thread.lower()
    folded = msgspec.structs.replace(place, conversation=place.conversation.lower(), thread=thread)
    return msgspec.structs.replace(request, address=folded)


class _NoDirectory(AdapterWrapper):
    """Does not ask the directory what an alias stands for."""

    async def resolve_target(self, text: str) -> Resolved | None:
        return None


def _alias_is_a_channel(question: OutboundQuestion, config: GatewayConfig) -> OutboundRoute:
    """Take Slack's own id of a direct conversation (``D...``) for a channel."""
    settings = config.channel(question.channel)
    known = settings.model_copy(update={"rooms": (*settings.rooms, question.target.rpartition(":")[2])})
    channels = {**config.channels, question.channel: known}
    return resolve_outbound_route(question, config.model_copy(update={"channels": channels}))


@bug("alias-is-a-channel", reports=("B069",), caught_by=("S1", "R4"))
def _install_alias(wiring: Wiring) -> None:
    """The platform's own id of a direct conversation is taken for a channel, with a session of its own."""
    wrapping(_NoDirectory)(wiring)
    wiring.replace(resolve_outbound=_alias_is_a_channel)


class _RaceLoser(AdapterWrapper):
    """Posts in the parent channel when another account has opened the thread first."""

    def __init__(self, inner: ChannelAdapter, opened: dict[str, str]) -> None:
        super().__init__(inner)
        self._opened = opened
        self._lost: set[str] = set()

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        if self._opened.setdefault(message_id, self.account) != self.account:
            self._lost.add(place.conversation)
            return place
        return await self.inner.open_thread(place, message_id, title)

    async def send(self, request: SendRequest) -> Receipt:
        lost = request.address.conversation in self._lost
        return await self.inner.send(to_main_channel(request) if lost else request)


@bug("race-loser-posts-in-parent", reports=("B055",), caught_by=("R2",))
def _install_race_loser(wiring: Wiring) -> None:
    """The loser of a race to open a thread posts in the parent channel instead of joining the thread."""
    opened: dict[str, str] = {}
    wrapping(lambda adapter: _RaceLoser(adapter, opened))(wiring)


@bug("misplaced-is-delivered", wrapping, reports=("B058",), caught_by=("R2", "L3"))
class _TrustsTheRequest(AdapterWrapper):
    """The receipt shows the main chat instead of the topic, and the message counts as delivered."""

    async def send(self, request: SendRequest) -> Receipt:
        receipt = await self.inner.send(request)
        return msgspec.structs.replace(receipt, address=request.address)


@bug("reply-chain-is-a-thread", deciding("canonical"), reports=("B090",), caught_by=("R4",))
def _as_it_came(envelope: Envelope) -> Envelope:
    """The id of a chain of replies in a plain direct chat is stored as its thread, and sends are refused."""
    return envelope


@bug("dedupe-without-account", deciding("identify"), reports=("B037",), caught_by=("D7",))
def _dedupe_without_account(envelope: Envelope, _can: Capabilities) -> str:
    """The dedupe key lacks the account: the second bot that gets a message drops it."""
    return f"id/{envelope.message_id}"


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


_WEB_CHAT = Address(channel="webchat", account="default", kind=ChatKind.DIRECT, conversation="main")
_AT_HOME = ContextDecision(allowed=True, reason=Reason.SAME_CONVERSATION)


@bug("platform-is-one-conversation", deciding("decide_context"), reports=("B161",), caught_by=("P3",))
def _platform_is_home(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """Every conversation of the turn's platform counts as its own, so nothing decides on the hop to another one."""
    origin = question.origin
    if origin is not None and origin.channel == question.target.channel:
        return _AT_HOME
    return decide_context(question, config)


@bug("changes-are-not-guarded", deciding("decide_context"), reports=("B156",), caught_by=("P3",))
def _changes_pass(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """The policy judges messages, but not edits, deletions and pins."""
    if question.action.spec.kind is ActionKind.CHANGE:
        return ContextDecision(allowed=True, reason=Reason.NOT_GUARDED)
    return decide_context(question, config)


@bug("allowed-whatever-is-configured", deciding("decide_context"), caught_by=("P3",))
def _always_allowed(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """A denial of the policy is recorded as an allowance."""
    decided = decide_context(question, config)
    if decided.allowed:
        return decided
    across = question.origin is None or question.origin.channel != question.target.channel
    return ContextDecision(allowed=True, reason=Reason.ACROSS_PROVIDERS if across else Reason.WITHIN_PROVIDER)


@bug("nowhere-is-web-chat", deciding("decide_context"), reports=("B159",), caught_by=("P3",))
def _nowhere_is_web_chat(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """A turn without a conversation inherits the web chat of the gateway as its context: all it sends is denied."""
    if question.origin is None:
        question = msgspec.structs.replace(question, origin=_WEB_CHAT)
    return decide_context(question, config)


@bug("mark-is-left-out", deciding("decide_context"), caught_by=("P4",))
def _unmarked(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
    """What the message tool sends is never marked, wherever it comes from."""
    return msgspec.structs.replace(decide_context(question, config), mark=None)


@bug("denied-text-goes-home", each_turn, reports=("B158",), caught_by=("P5",))
class _FallsBack(TurnWrapper):
    """A text that may not go elsewhere is delivered in the conversation of its turn."""

    async def send(self, text: str, to: Any = None, **options: Any) -> ActionResult:
        """Send; a denied text is sent to the place of the turn. The agent gets the denial."""
        try:
            return await self.inner.send(text, to, **options)
        except PolicyDenied:
            await self.inner.send(text)
            raise


@bug("denial-holds-once", caught_by=("P5",))
def _install_forgetful(wiring: Wiring) -> None:
    """A denial is cached as an answer for its target, so a second try in the same conversation goes through."""
    denied: set[tuple[Address | None, Address]] = set()

    def decide(question: ContextQuestion, config: GatewayConfig) -> ContextDecision:
        asked = (question.origin, question.target)
        if asked in denied:
            return _AT_HOME
        decided = decide_context(question, config)
        if not decided.allowed:
            denied.add(asked)
        return decided

    wiring.replace(decide_context=decide)
