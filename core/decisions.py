"""The decisions that the runtime applies, as one replaceable bundle.

A user who wants another rule replaces one function; the simulator's bug switches do the same, so the core has no branch
for either. Every function is pure: values in, a printable value out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from trunkline.core.actions.requests import ActionPart
from trunkline.core.bindings.completion_router import RouterDecision, resolve_destination
from trunkline.core.calendar.cron import next_fire
from trunkline.core.channels import rules_for
from trunkline.core.config import GatewayConfig, HandsConfig
from trunkline.core.declared import filled
from trunkline.core.delivery.answers import AnswerFacts, decide_answer
from trunkline.core.delivery.policy import DeliveryDecision, after_attempt, before_attempt
from trunkline.core.delivery.recovery import RecoveryDecision, recover
from trunkline.core.errors import DelegationRefused, UnknownName
from trunkline.core.events.gateway import RouteDecided
from trunkline.core.hands.admission import AdmissionFacts, admit_delegation
from trunkline.core.hands.completion_plan import CompletionPlan, HandCompletion, plan_completion
from trunkline.core.hands.port import DelegationRequest
from trunkline.core.heartbeat.guards import GuardFacts, RunDecision, decide_run
from trunkline.core.heartbeat.reply import ReplyDecision, ReplyFacts, decide_reply, is_duplicate
from trunkline.core.heartbeat.schedule import next_due, plan_at_start
from trunkline.core.message_tool.policy import ContextDecision, ContextQuestion, decide_context
from trunkline.core.message_tool.references import MeantMessage, MessageReference, decide_reference, message_meant
from trunkline.core.profile_rules import ProfileRules
from trunkline.core.prompts import Prompt, PromptQuestion, compose_prompts
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.deeds import DeedPlan, DeedSubject
from trunkline.core.records.rows import Work
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.routing.inbound import account_of_agent, other_agent_at
from trunkline.core.routing.key_text import config_key, read_config_key
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from trunkline.core.routing.scopes import place_key
from trunkline.core.routing.second_channel import SecondChannel, second_channel
from trunkline.core.sends.api import SendPlan, plan_send
from trunkline.core.sessions.deeds import decide_deed
from trunkline.core.text.model_text import ModelText, read_model_text
from trunkline.core.values import Address, Capabilities, ChatKind, Deed, Envelope, IntentKind, Receipt

#: tier and scope of a route that a session binding decided
BOUND_TIER = "binding.session"
BOUND_SCOPE = "bound"


class ReplyPlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where the answers to a message go; fixed at admission (invariant R3)."""

    address: Address
    reason: Reason
    #: id of the message on which to open the thread `address` first
    open_on: str | None = None


class MirrorQuestion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An outbound message that a transcript should mirror."""

    kind: IntentKind
    agent: str
    #: key of the running session
    running: str
    #: where the running turn answers, fixed at its admission
    origin: Address | None
    target: Address
    #: the resolution of a target that was given as text
    route: OutboundRoute | None = None
    #: key of the session that the target is bound to, if any
    bound: str | None = None


class MirrorPlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The session whose transcript mirrors an outbound message; None for no session."""

    key: str | None
    #: it is the running session itself, even if its key changes
    own: bool = False


def canonical(envelope: Envelope) -> Envelope:
    """The envelope with its real place: the id of a reply chain is not a thread."""
    if envelope.threaded or envelope.address.thread is None:
        return envelope
    return msgspec.structs.replace(envelope, address=msgspec.structs.replace(envelope.address, thread=None))


def plan_reply(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
    """Reply to the exact place of the message (invariant R1), or to the thread that auto-thread opens on it."""
    place, rules = envelope.address, rules_for(envelope.address.channel)
    auto = config.channel(place.channel).auto_thread and rules.thread_id_is_message_id
    if auto and place.kind is not ChatKind.DIRECT and place.parent is None and place.thread is None:
        opened = rules.thread_on(place, envelope.subject)
        return ReplyPlan(address=opened, reason=Reason.REPLY_IN_OPENED_THREAD, open_on=envelope.subject)
    return ReplyPlan(address=place, reason=Reason.REPLY_TO_ORIGIN)


def route_decided(route: RouteDecision, reply: ReplyPlan, config: GatewayConfig) -> RouteDecided:
    """The event of a route: the live path records it, explanations print it.

    A thread that will be opened on the message has its own session.
    """
    key = route.key if reply.open_on is None else place_key(route.agent, reply.address, config)
    return filled(
        RouteDecided, route, session_key=config_key(key, config), reply_to=reply.address, reply_reason=reply.reason
    )


def plan_mirror(question: MirrorQuestion, config: GatewayConfig) -> MirrorPlan:
    """Mirror into the session of the target conversation, not into the running one.

    An answer to the turn's own place belongs to the session that the turn was admitted to, even if a reload has since
    given that place another session (invariant R3); but not if the place has been bound to another session, which
    answers there from now on.
    """
    # Compare lanes: the caller may not know the parent of a thread.
    if (
        question.origin is not None
        and question.target.lane == question.origin.lane
        and question.bound in (None, question.running)
    ):
        return MirrorPlan(key=question.running, own=True)
    if question.bound is not None:
        # Inbound messages of the conversation go to the bound session, so outbound ones do too (invariant B1).
        return MirrorPlan(key=question.bound)
    if question.route is not None:
        return MirrorPlan(key=config_key(question.route.key, config))
    return MirrorPlan(key=config_key(place_key(question.agent, question.target, config), config))


def todays_mirror(
    key: str | None, agent: str, place: Address, before: GatewayConfig, config: GatewayConfig
) -> str | None:
    """The session that mirrors a message, if the scopes changed after `key` was decided under `before` (invariant S1).

    A session that a turn, a binding or a caller chose stays; so does one that is not that of the place.
    """
    planned = config_key(place_key(agent, place, before), before)
    return key if key != planned else config_key(place_key(agent, place, config), config)


def choose_account(
    channel: str, named: str | None, source: Address | None, accounts: Sequence[str], config: GatewayConfig
) -> str:
    """The account that sends: the named one, else the source's if on the same channel, else the default (invariant R4).

    `accounts`: the gateway's accounts on the channel. Raises `UnknownName`.
    """
    there = f"there are: {', '.join(accounts)}" if accounts else "there is none"
    if named is not None and named.strip():
        found = next((account for account in accounts if account.lower() == named.strip().lower()), None)
        if found is None:
            raise UnknownName(f"no account {named.strip()!r} on {channel}; {there}")
        return found
    if source is not None and source.channel == channel and source.account in accounts:
        return source.account
    only = accounts[0] if len(accounts) == 1 else "default"
    for default in (config.channel(channel).default_account or only, only, "default"):
        if default in accounts:
            return default
    raise UnknownName(f"several accounts on {channel}, and none of them is the default: name one; {there}")


def route_bound(
    route: RouteDecision, envelope: Envelope, bound: SessionBindingRecord | None, config: GatewayConfig
) -> RouteDecision:
    """The route of a message whose conversation is bound to a session (invariant B1); unchanged if it is not bound."""
    if bound is None:
        return route
    key = read_config_key(bound.target_session_key, config)
    return msgspec.structs.replace(
        route, agent=key.agent, key=key, matched_by=BOUND_TIER, binding=bound.binding_id, scope=BOUND_SCOPE
    )


def identify(envelope: Envelope, can: Capabilities) -> str:
    """The identity by which duplicates of an inbound message are recognised (invariant D7).

    It is the conversation and the platform's message id; if ids change on replay: sender, creation time and text.
    """
    if can.stable_ids or envelope.stands_for is not None or envelope.pressed is not None:
        # A message that a proxy posts in place of another has the identity of that one.
        return _by_id(envelope, envelope.stands_for or envelope.message_id)
    return _digest(("content", *_where(envelope.address), envelope.peer.id, f"{envelope.sent_at:.6f}", envelope.text))


def also_known_as(envelope: Envelope, can: Capabilities) -> tuple[str, ...]:
    """Further identities of an inbound message: by its own id, if `identify` does not use that.

    A message that a proxy posts in its place names it by that id, whatever identifies it when it comes again.
    """
    if (can.stable_ids or envelope.pressed is not None) and envelope.stands_for is None:
        return ()
    return (_by_id(envelope, envelope.message_id),)


def identity_at(place: Address, message: str) -> str:
    """The identity of an inbound message by its id in a conversation."""
    return _digest(("id", *_where(place), message))


def identity_in_threads(place: Address, message: str) -> tuple[str, str] | None:
    """Beginning and end of such an identity in any thread; None: the place has a thread."""
    end = f",{_digest((message,))[1:]}"
    return None if place.thread else (identity_at(place, message)[: -len(end) - len("null")], end)


def _by_id(envelope: Envelope, message: str) -> str:
    return identity_at(envelope.address, message)


def _where(place: Address) -> tuple[str | None, ...]:
    return place.channel, place.account, place.conversation, place.thread


def _digest(parts: tuple[str | None, ...]) -> str:
    return msgspec.json.encode(parts).decode()


def is_chain_over(chain: int, caused: int, config: GatewayConfig) -> bool:
    """Whether a turn may not delegate in a chain of turns without a new message of a person.

    `caused`: how many delegations that message has led to, as far as the turn is not one of its first.
    """
    most = config.turns.chain
    return chain >= most or caused >= most * most


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """The decisions of the runtime, with a function for each. A profile may have others than ours."""

    canonical: Callable[[Envelope], Envelope] = canonical
    #: of a message and a configuration; a third argument says which losing rules to explain
    resolve_route: Callable[..., RouteDecision] = resolve_route
    resolve_outbound: Callable[[OutboundQuestion, GatewayConfig], OutboundRoute] = resolve_outbound_route
    choose_account: Callable[[str, str | None, Address | None, Sequence[str], GatewayConfig], str] = choose_account
    account_of_agent: Callable[[str, str, Address | None, Sequence[str], GatewayConfig], str | None] = account_of_agent
    #: the route of the answers to what an agent sends to a place, if another agent gets them
    other_agent_at: Callable[[Address, str, GatewayConfig], RouteDecision | None] = other_agent_at
    route_bound: Callable[..., RouteDecision] = route_bound
    resolve_destination: Callable[..., RouterDecision] = resolve_destination
    plan_reply: Callable[[Envelope, GatewayConfig], ReplyPlan] = plan_reply
    identify: Callable[[Envelope, Capabilities], str] = identify
    also_known_as: Callable[[Envelope, Capabilities], tuple[str, ...]] = also_known_as
    #: what becomes of what a person did to a message
    decide_deed: Callable[[Envelope, Deed, DeedSubject | None, Work | None], DeedPlan] = decide_deed
    is_chain_over: Callable[[int, int, GatewayConfig], bool] = is_chain_over
    plan_mirror: Callable[[MirrorQuestion, GatewayConfig], MirrorPlan] = plan_mirror
    todays_mirror: Callable[[str | None, str, Address, GatewayConfig, GatewayConfig], str | None] = todays_mirror
    plan_send: Callable[..., SendPlan] = plan_send
    decide_context: Callable[[ContextQuestion, GatewayConfig], ContextDecision] = decide_context
    admit_delegation: Callable[[DelegationRequest, AdmissionFacts, HandsConfig], DelegationRefused | None] = (
        admit_delegation
    )
    plan_completion: Callable[[HandCompletion, HandsConfig], CompletionPlan] = plan_completion
    #: what of the answer of a turn is for people, and what it asks for
    read_answer: Callable[[str, ProfileRules], ModelText] = read_model_text
    #: why the answer of a turn is not sent
    decide_answer: Callable[[AnswerFacts], Reason | None] = decide_answer
    #: the system prompts of a turn, when it starts
    compose_prompts: Callable[[PromptQuestion, GatewayConfig], tuple[Prompt, ...]] = compose_prompts
    before_attempt: Callable[..., DeliveryDecision | None] = before_attempt
    after_attempt: Callable[..., DeliveryDecision] = after_attempt
    recover: Callable[..., RecoveryDecision] = recover
    #: where a person gets what could not be said any more because their call had ended
    second_channel: Callable[[Address, GatewayConfig], SecondChannel | None] = second_channel
    decide_run: Callable[[GuardFacts], RunDecision] = decide_run
    decide_reply: Callable[[str | None, ReplyFacts], ReplyDecision] = decide_reply
    is_duplicate: Callable[[str, str | None, float | None, float], bool] = is_duplicate
    #: the next time of a heartbeat: when its timer is planned, and after each run
    plan_heartbeat: Callable[..., float | None] = plan_at_start
    next_heartbeat: Callable[[float, float, float], float] = next_due
    #: the next time of an entry of the schedule
    next_fire: Callable[..., float | None] = next_fire
    #: the message that an action means, before anything is stored
    decide_reference: Callable[..., MessageReference] = decide_reference
    #: the message that one request of a change concerns, when it is made
    message_meant: Callable[[ActionPart, int, Address, tuple[Receipt, ...]], MeantMessage] = message_meant

    def over(self, profile: "Decisions") -> "Decisions":
        """The decisions given where they are not our usual ones, else those of a profile."""
        own = {name: decide for name in self.__slots__ if (decide := getattr(self, name)) is not getattr(_USUAL, name)}
        return replace(profile, **own)


_USUAL = Decisions()
