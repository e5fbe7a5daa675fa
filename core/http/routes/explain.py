"""Questions to the decisions of the gateway, under today's configuration. Nothing runs and nothing is sent."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trunkline.core.channels.rules import DEFAULT_ACCOUNT
from trunkline.core.declared import filled
from trunkline.core.events.gateway import Candidate
from trunkline.core.explain.decide import InboundQuestion, decide_inbound, decide_send
from trunkline.core.explain.policy import DecidingSetting, PolicyQuestion, decide_policy
from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint
from trunkline.core.profile_rules import Profile
from trunkline.core.reasons import Reason
from trunkline.core.routing.outbound import OutboundQuestion
from trunkline.core.values import Address, ChatKind, SessionEntry

#: a text that is not blank
Given = Annotated[str, Meta(pattern=r"\S", max_length=2000)]


class RouteQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An inbound message, as an adapter passes it on."""

    channel: Given
    kind: ChatKind
    #: the platform's id of the conversation; in a direct one, the id of the person
    peer: Given
    thread: Given | None = None
    #: the parent of a conversation that is itself a thread (Discord)
    parent: str | None = None
    account: Given = DEFAULT_ACCOUNT
    guild: str | None = None
    team: str | None = None
    roles: tuple[str, ...] = ()
    #: by default, in a direct conversation, the peer
    sender: str | None = None
    message_id: Given = "message-id"


class RouteExplained(msgspec.Struct, frozen=True, kw_only=True):
    """Where an inbound message belongs, and why."""

    profile: Profile
    agent: str
    session_key: str
    #: ``binding.peer``, ``default``, ...
    matched_by: str
    binding: str | None
    scope: str
    #: where answers go, why, and the message on which a thread is opened for them
    reply_to: Address | None
    reply_reason: Reason
    reply_sentence: str
    opens_thread_on: str | None
    main_key: str
    #: each route rule that was considered, with the first reason why it won or lost
    candidates: tuple[Candidate, ...]
    others: int
    notes: tuple[str, ...]


class SendQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A send to a target."""

    channel: Given
    target: Given
    account: str | None = None
    thread: str | None = None
    reply_to: str | None = None
    #: what a directory says the target is
    kind: Literal["user", "group", "channel"] | None = None
    #: by default the default agent
    agent: str | None = None


class SendExplained(msgspec.Struct, frozen=True, kw_only=True):
    """Where a send goes, and the session that remembers it."""

    profile: Profile
    agent: str
    place: Address
    session_key: str
    base_key: str
    #: the session's entry, if this send creates the session
    entry: SessionEntry
    #: sentences that explain the target, the thread and the key
    steps: tuple[str, ...]
    notes: tuple[str, ...]


class PolicyBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"from_": "from"}):
    """An action of a turn."""

    #: where the turn works: a place such as ``slack:channel:C1``, or ``heartbeat``, ``cron`` or ``wake``
    from_: Given
    #: the place that the action concerns
    to: Given
    action: str = "send"
    agent: str | None = None
    #: the name of the place where the turn works
    name: str = ""
    #: the place where somebody wrote to the agent last
    last: str | None = None
    #: the platform of the target shows embeds
    embeds: bool = False


class PolicyExplained(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an action is allowed, how its message is marked, and the setting that decides."""

    profile: Profile
    allowed: bool
    reason: Reason
    sentence: str
    error: str
    label: str | None
    prefix: str
    suffix: str
    embed: str | None
    setting: DecidingSetting | None
    notes: tuple[str, ...]


@Endpoint("POST", "/v1/explain/route", Scope.READ, body=RouteQuestion, answer=RouteExplained)
async def explain_route(call: Call) -> RouteExplained:
    """Where would an inbound message belong, and why?"""
    body: RouteQuestion = call.body
    fields = msgspec.structs.asdict(body)
    asked = InboundQuestion(role=fields.pop("roles"), message=fields.pop("message_id"), **fields)
    found = decide_inbound(asked, call.served.gateway.config)
    return filled(
        RouteExplained,
        found,
        found.decided,
        reply_sentence=found.decided.reply_reason.sentence,
        opens_thread_on=found.opens_on,
    )


@Endpoint("POST", "/v1/explain/send", Scope.READ, body=SendQuestion, answer=SendExplained, problems=(404,))
async def explain_send(call: Call) -> SendExplained:
    """Where would a message to a target go?"""
    body: SendQuestion = call.body
    kind = None if body.kind is None else ChatKind.DIRECT if body.kind == "user" else ChatKind(body.kind)
    question = filled(OutboundQuestion, body, kind=kind, agent=body.agent or "")
    found = decide_send(question, call.served.gateway.config)
    return filled(SendExplained, found, found.route, found.resolved, place=found.route.address)


@Endpoint("POST", "/v1/explain/policy", Scope.READ, body=PolicyBody, answer=PolicyExplained, problems=(404,))
async def explain_policy(call: Call) -> PolicyExplained:
    """May a turn write to another place?"""
    body: PolicyBody = call.body
    asked = PolicyQuestion(**msgspec.structs.asdict(body))
    found = decide_policy(asked, call.served.gateway.config)
    unmarked = {"label": None, "prefix": "", "suffix": "", "embed": None} if found.decision.mark is None else {}
    sources = (found, found.decision, found.decision.mark)
    return filled(PolicyExplained, *sources, sentence=found.decision.reason.sentence, **unmarked)
