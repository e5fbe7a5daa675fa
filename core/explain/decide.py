"""Decisions of the gateway without running it: calls the decision functions of `core` with a question.

The answers hold the event bodies that the gateway records, so `app.view.explain.route_facts` shows both alike.
"""

from dataclasses import dataclass

import msgspec

from trunkline.core.channels import known_channels, nearest_channel, rules_for
from trunkline.core.channels.rules import DEFAULT_ACCOUNT
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions, route_decided
from trunkline.core.declared import filled
from trunkline.core.errors import KeyFormatError, UsageError
from trunkline.core.events.delivery import TargetResolved
from trunkline.core.events.gateway import RouteDecided
from trunkline.core.keys import KeyCodec, SessionKey, canonical_key
from trunkline.core.keys.canonical import FOREIGN_FORMS
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.routing import RouteDecision
from trunkline.core.routing.key_text import config_key
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute
from trunkline.core.sends.api import SendMessage, choose_agent
from trunkline.core.sessions.entries import person_in_shared
from trunkline.core.sessions.named_key import SessionRules
from trunkline.core.values import Address, ChatKind, Envelope, Peer, SessionEntry


@dataclass(frozen=True, kw_only=True)
class InboundQuestion:
    """An inbound message, as an adapter passes it on. The fields are the options of `trunkline explain inbound`."""

    channel: str
    """The platform that it comes from, e.g. `discord`."""
    kind: ChatKind
    """What kind of conversation it is."""
    peer: str
    """The platform's id of the conversation; in a direct one, the id of the person."""
    thread: str | None = None
    """Id of the thread or topic in it."""
    parent: str | None = None
    """Id of the parent of a conversation that is itself a thread (Discord)."""
    account: str = DEFAULT_ACCOUNT
    """The account that received it."""
    guild: str | None = None
    """Id of the guild."""
    team: str | None = None
    """Id of the team or workspace."""
    role: tuple[str, ...] = ()
    """A role of the sender. May be given several times."""
    sender: str | None = None
    """Id of the sender; by default, in a direct conversation, the peer."""
    message: str = "message-id"
    """Id of the message; a thread that is opened on it for the replies has the same id."""


class InboundAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Where an inbound message belongs."""

    profile: Profile
    envelope: Envelope
    route: RouteDecision
    #: as the gateway records it
    decided: RouteDecided
    #: the main session of the agent
    main_key: str
    #: the person, as counted in the session that the DM scope ``main`` shares; none: the session is not shared
    person: str | None
    #: id of the message on which a thread is opened for the replies
    opens_on: str | None
    notes: tuple[str, ...]


class SendAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Where a send goes."""

    profile: Profile
    question: OutboundQuestion
    route: OutboundRoute
    #: as the gateway records it
    resolved: TargetResolved
    base_key: str
    #: the session's entry, if this send creates the session
    entry: SessionEntry
    notes: tuple[str, ...]


class KeyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The meaning of a session key."""

    text: str
    key: SessionKey
    #: the form that it was parsed as
    form: str
    #: the same key in the forms of the upstream gateway
    openclaw: str
    openclaw_august: str
    #: parts that are lost in the openclaw form
    lost: tuple[str, ...]


def decide_inbound(asked: InboundQuestion, config: GatewayConfig, *, near: bool = False) -> InboundAnswer:
    """Route an inbound message, with a verdict on every route rule; `near`: only on as many as a gateway records.

    Raises `UsageError`.
    """
    came, notes = _envelope(asked)
    decisions = config.rules[Decisions]
    envelope = decisions.canonical(came)
    route = decisions.resolve_route(envelope, config, None if near else "all")
    reply = decisions.plan_reply(envelope, config)
    decided = route_decided(route, reply, config)
    person = person_in_shared(route.agent, reply.address, envelope.peer, config)
    return InboundAnswer(
        profile=config.profile,
        envelope=envelope,
        route=route,
        decided=decided,
        main_key=config_key(route.main_key, config),
        person=None if person is None else person.today(person.name),
        opens_on=reply.open_on,
        notes=(*notes, *channel_notes(envelope.address.channel, config)),
    )


def _envelope(asked: InboundQuestion) -> tuple[Envelope, tuple[str, ...]]:
    place = Address(
        channel=_given("--channel", asked.channel).lower(),
        account=_given("--account", asked.account),
        kind=asked.kind,
        conversation=_given("--peer", asked.peer),
        parent=asked.parent,
    )
    notes: tuple[str, ...] = ()
    if asked.thread is not None:
        rules = rules_for(place.channel)
        thread = _given("--thread", asked.thread)
        # An existing thread and one that is opened for the reply have the same address.
        place = rules.thread_on(place, thread)
        if rules.thread_is_conversation:
            notes = (f"a thread on {place.channel} is a conversation of its own: {thread}, under {asked.peer.strip()}",)
    sender = asked.sender or (place.conversation if place.kind is ChatKind.DIRECT else "")
    envelope = Envelope(
        address=place,
        peer=Peer(id=sender),
        message_id=_given("--message", asked.message),
        text="",
        sent_at=0.0,
        guild=asked.guild,
        team=asked.team,
        roles=asked.role,
    )
    return envelope, notes


def _given(option: str, text: str) -> str:
    if not text.strip():
        raise UsageError(f"{option} is empty")
    return text.strip()


def decide_send(question: OutboundQuestion, config: GatewayConfig) -> SendAnswer:
    """Resolve the target of a send. An empty agent means the default agent. Raises `UsageError` or `TargetError`."""
    message = SendMessage(to=question.target, channel=question.channel, agent=question.agent or None, key="explain")
    question = msgspec.structs.replace(question, agent=choose_agent(message, config))
    route = config.rules[Decisions].resolve_outbound(question, config)
    resolved = filled(TargetResolved, route, target=question.target, session_key=config_key(route.key, config))
    return SendAnswer(
        profile=config.profile,
        question=question,
        route=route,
        resolved=resolved,
        base_key=config_key(route.base, config),
        entry=config.rules[SessionRules].entry(route),
        notes=channel_notes(route.channel, config),
    )


def channel_notes(channel: str, config: GatewayConfig) -> tuple[str, ...]:
    """A note about a channel that neither the code nor the configuration knows."""
    known = known_channels()
    bound = (binding.match.channel.strip().lower() for binding in config.bindings)
    if channel in {*known, *(name.lower() for name in config.channels), *bound}:
        return ()
    meant = nearest_channel(channel)
    advice = f"did you mean {meant!r}? Otherwise the" if meant else "the"
    return (f"channel {channel!r} is unknown here: {advice} generic rules apply",)


_V1, _LOOSE, _OLD = "v1", "v1, written in another way", "v1, with an old word"


def read_any_key(text: str) -> KeyAnswer:
    """Parse a session key in any accepted form. Raises `KeyFormatError`, which names the forms."""
    key = canonical_key(text)
    profiles = (Profile.OPENCLAW, Profile.OPENCLAW_2026_08)
    march, august = (profile_rules(profile)[KeyCodec].write(key, "main") for profile in profiles)
    return KeyAnswer(
        text=text, key=key, form=_form(text, key), openclaw=march, openclaw_august=august, lost=_lost(key, august)
    )


def _form(text: str, key: SessionKey) -> str:
    if text == str(key):
        return _V1
    if text.strip().lower() == str(key):
        return _LOOSE
    # An agent of ours has no name with which keys of another gateway begin.
    profile = None if key.agent in FOREIGN_FORMS else FOREIGN_FORMS.get(text.strip().lower().partition(":")[0])
    return _OLD if profile is None else profile_rules(profile)[KeyCodec].name


def _lost(key: SessionKey, text: str) -> tuple[str, ...]:
    """The parts of a key that its text does not preserve."""
    try:
        back = canonical_key(text)
    except KeyFormatError:
        return SessionKey.__struct_fields__
    return tuple(name for name in SessionKey.__struct_fields__ if getattr(back, name) != getattr(key, name))
