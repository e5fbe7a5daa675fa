"""What the gateway would decide, without running it: the deciding functions of `core`, asked with a question.

The answers hold what the gateway records of such a decision, so `app.view.explain.route_facts` shows both alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import msgspec

from trunkline.core.channels import known_channels, rules_for
from trunkline.core.channels.rules import DEFAULT_ACCOUNT
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import canonical, plan_reply, route_decided
from trunkline.core.errors import KeyFormatError, UsageError
from trunkline.core.events.delivery import TargetResolved
from trunkline.core.events.gateway import RouteDecided
from trunkline.core.keys import SessionKey, canonical_key, encode_openclaw
from trunkline.core.profiles import Profile
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.routing.key_text import config_key
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from trunkline.core.sends.api import SendMessage, choose_agent
from trunkline.core.sessions.session_map import entry_of_route, person_in_shared
from trunkline.core.values import Address, ChatKind, Envelope, Peer, SessionEntry

#: the message, where nobody says what its id is
SOME_MESSAGE = "message-id"


class InboundQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """An inbound message, as an adapter hands it over."""

    channel: str
    kind: ChatKind
    peer: str
    account: str = DEFAULT_ACCOUNT
    thread: str | None = None
    parent: str | None = None
    guild: str | None = None
    team: str | None = None
    roles: tuple[str, ...] = ()
    #: none: in a direct conversation the peer
    sender: str | None = None
    message: str = SOME_MESSAGE


class InboundAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Where an inbound message belongs."""

    profile: Profile
    envelope: Envelope
    route: RouteDecision
    #: as the gateway records it
    decided: RouteDecided
    #: the main session of the agent
    main_key: str
    #: who is counted in the session that the DM scope ``main`` shares; none: it is not such a session
    person: str | None
    #: id of the message on which the thread for the answers is opened
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
    #: what the session says of its conversation, when this send is the first that happens in it
    entry: SessionEntry
    notes: tuple[str, ...]


class KeyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a session key means."""

    text: str
    key: SessionKey
    #: the form that it was read in
    form: str
    #: the same key in the forms of the upstream gateway
    openclaw: str
    openclaw_august: str
    #: parts that the openclaw form does not tell
    lost: tuple[str, ...]


# ---------------------------------------------------------------- inbound


def decide_inbound(asked: InboundQuestion, config: GatewayConfig, *, near: bool = False) -> InboundAnswer:
    """Route an inbound message; every binding is told of. `near`: as many as a gateway records. Raises `UsageError`."""
    came, notes = _envelope(asked)
    envelope = canonical(came)
    route = resolve_route(envelope, config, None if near else "all")
    reply = plan_reply(envelope, config)
    decided = route_decided(route, reply, config)
    return InboundAnswer(
        profile=config.profile,
        envelope=envelope,
        route=route,
        decided=decided,
        main_key=config_key(route.main_key, config),
        person=_shared_as(route.agent, reply.address, envelope.peer, config),
        opens_on=reply.open_on,
        notes=(*notes, *channel_notes(envelope.address.channel, config)),
    )


def _shared_as(agent: str, place: Address, peer: Peer, config: GatewayConfig) -> str | None:
    person = person_in_shared(agent, place, peer, config)
    return None if person is None else person.today(person.name)


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
        # The same for a thread that is there already as for one that is opened.
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
        roles=asked.roles,
    )
    return envelope, notes


def _given(option: str, text: str) -> str:
    if not text.strip():
        raise UsageError(f"{option} is empty")
    return text.strip()


# ---------------------------------------------------------------- sends


def decide_send(question: OutboundQuestion, config: GatewayConfig) -> SendAnswer:
    """Resolve the target of a send. An empty agent is the default one. Raises `UsageError`, `TargetError` for one."""
    message = SendMessage(to=question.target, channel=question.channel, agent=question.agent or None, key="explain")
    question = msgspec.structs.replace(question, agent=choose_agent(message, config))
    route = resolve_outbound_route(question, config)
    resolved = TargetResolved(
        channel=route.channel,
        target=question.target,
        address=route.address,
        session_key=config_key(route.key, config),
        steps=route.steps,
    )
    return SendAnswer(
        profile=config.profile,
        question=question,
        route=route,
        resolved=resolved,
        base_key=config_key(route.base, config),
        entry=entry_of_route(route, config),
        notes=channel_notes(route.channel, config),
    )


def channel_notes(channel: str, config: GatewayConfig) -> tuple[str, ...]:
    """A word about a channel that nobody knows: not the code, not the configuration."""
    known = known_channels()
    bound = (binding.match.channel.strip().lower() for binding in config.bindings)
    if channel in {*known, *(name.lower() for name in config.channels), *bound}:
        return ()
    meant = _meant(channel, known)
    advice = f"did you mean {meant!r}? Otherwise the" if meant else "the"
    return (f"channel {channel!r} is unknown here: {advice} generic rules apply",)


def _meant(channel: str, known: Iterable[str]) -> str | None:
    by_prefix = (name for name in known if channel in rules_for(name).prefixes)
    return next(by_prefix, None) or next(iter(get_close_matches(channel, list(known), n=1)), None)


# ---------------------------------------------------------------- keys

_V1, _LOOSE, _UPSTREAM, _OLD = "v1", "v1, written in another way", "openclaw", "v1, with an old word"


def read_any_key(text: str) -> KeyAnswer:
    """Read a session key in any form that is accepted. Raises `KeyFormatError` naming them."""
    key = canonical_key(text)
    march, august = (encode_openclaw(key, profile=profile) for profile in (Profile.OPENCLAW, Profile.OPENCLAW_2026_08))
    return KeyAnswer(
        text=text, key=key, form=_form(text, key), openclaw=march, openclaw_august=august, lost=_lost(key, august)
    )


def _form(text: str, key: SessionKey) -> str:
    if text == str(key):
        return _V1
    if text.strip().lower() == str(key):
        return _LOOSE
    # No agent of ours is called like the word that every key of the upstream gateway begins with.
    return _UPSTREAM if text.strip().lower().startswith("agent:") and key.agent != "agent" else _OLD


def _lost(key: SessionKey, text: str) -> tuple[str, ...]:
    """The parts of a key that are not in a text of it any more."""
    try:
        back = canonical_key(text)
    except KeyFormatError:
        return SessionKey.__struct_fields__
    return tuple(name for name in SessionKey.__struct_fields__ if getattr(back, name) != getattr(key, name))
