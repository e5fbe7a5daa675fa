"""Defects of sessions: keys that collide or are forgotten; sessions created twice, lost, or silently shared."""

from __future__ import annotations

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.events import EventSink
from trunkline.core.events.gateway import SessionShared
from trunkline.core.keys import SessionKey
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.store.commands import Admit, MigrateKeys
from trunkline.core.values import Envelope
from trunkline.sim.bugs.base import Bug, changing_write, deciding, replacing_write
from trunkline.sim.bugs.store import (
    admit_by_key_only,
    admit_in_two_steps,
    install_snapshot,
    install_unfenced_delegations,
    skip_migration,
)
from trunkline.sim.bugs.wrappers import DeafSink
from trunkline.sim.run.wiring import Wiring


def _joined_by_colons(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """Join the parts of a key without escaping: ``a:b`` with ``c`` equals ``a`` with ``b:c``."""
    decision = resolve_route(envelope, config)
    place, key = envelope.address, decision.key
    if place.thread is None or key.is_main:
        return decision
    joined = f"{place.conversation}:{place.thread}"
    return msgspec.structs.replace(decision, key=msgspec.structs.replace(key, peer=joined, thread=None))


def _one_for_all(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """Route every message to the main session."""
    decision = resolve_route(envelope, config)
    return msgspec.structs.replace(decision, key=SessionKey(agent=decision.agent))


def _without_topic(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """Leave the thread out of the key."""
    decision = resolve_route(envelope, config)
    return msgspec.structs.replace(decision, key=msgspec.structs.replace(decision.key, thread=None))


def _links_ignored(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """Ignore the identity links in inbound keys."""
    session = config.session.model_copy(update={"identity_links": {}})
    return resolve_route(envelope, config.model_copy(update={"session": session}))


def _install_silent_sharing(wiring: Wiring) -> None:
    before = wiring.wrap_events

    def wrap(sink: EventSink) -> EventSink:
        return DeafSink(before(sink), (SessionShared,))

    wiring.wrap_events = wrap


SESSION_BUGS = (
    Bug(
        name="keys-joined-by-colons",
        reports=("B076",),
        sentence="Key parts are joined by colons without escaping, so two conversations share a session.",
        caught_by=("S2",),
        install=deciding(resolve_route=_joined_by_colons),
    ),
    Bug(
        name="one-session-for-all",
        reports=("B078",),
        sentence="One shared session serves direct chats and groups, and answers a group with private content.",
        caught_by=("S2", "P1"),
        install=deciding(resolve_route=_one_for_all),
    ),
    Bug(
        name="topics-share-a-session",
        reports=("B079",),
        sentence="The thread is not part of the key for groups: all topics share one session.",
        caught_by=("S2",),
        install=deciding(resolve_route=_without_topic),
    ),
    Bug(
        name="links-ignored",
        reports=(),
        sentence="Identity links are applied to outbound keys only: a linked person has two sessions.",
        caught_by=("S3",),
        install=deciding(resolve_route=_links_ignored),
    ),
    Bug(
        name="shared-in-silence",
        reports=("B081",),
        sentence="The default scope shares one session between all users, and nobody is warned.",
        caught_by=("S3",),
        install=_install_silent_sharing,
    ),
    Bug(
        name="old-keys-left-behind",
        reports=("B071",),
        sentence="The form of keys changed, and stored ones were not migrated: history is lost after the upgrade.",
        caught_by=("S1",),
        install=replacing_write(MigrateKeys, skip_migration),
    ),
    Bug(
        name="scope-change-abandons",
        reports=("B072",),
        sentence="After a change of scope the new key is looked up exactly, and the old session is abandoned silently.",
        caught_by=("S1",),
        install=changing_write(Admit, admit_by_key_only),
    ),
    Bug(
        name="first-messages-fork",
        reports=("B074",),
        sentence="Looking a session up and creating it are two steps: two first messages at once make two sessions.",
        caught_by=("S4",),
        install=replacing_write(Admit, admit_in_two_steps),
    ),
    Bug(
        name="stale-snapshot-write",
        reports=("B075",),
        sentence="The whole session map is written back from an old snapshot, over what others wrote meanwhile.",
        caught_by=("S4",),
        install=install_snapshot,
    ),
    Bug(
        name="callback-into-new-session",
        reports=(),
        sentence="A hand's result is given to whichever session has the requester's key now, also after a reset.",
        caught_by=("S5",),
        install=install_unfenced_delegations,
    ),
)
