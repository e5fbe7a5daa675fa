"""Conversations and their sessions: S1, S2."""

from __future__ import annotations

from trunkline.core.channels import rules_for
from trunkline.core.config import DmScope, GroupScope
from trunkline.core.errors import KeyFormatError
from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared, MirrorAppended, SendRequested, TargetResolved
from trunkline.core.events.gateway import (
    InboundAdmitted,
    RouteDecided,
    SessionLeft,
    SessionMoved,
    SessionReset,
)
from trunkline.core.keys import canonical_key
from trunkline.core.values import Address, ChatKind, WorkKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import WorldSession
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import Lane, RunFacts
from trunkline.sim.invariants.base import Checker
from trunkline.sim.invariants.routing.return_address import key_is_of

#: agent and place
_Spot = tuple[str, Lane]


class OneKey(Checker):
    """S1: a conversation has one key and one session in every direction; an event records any change."""

    id = "S1"
    title = "One conversation, one key"
    our_keys_only = True
    sentence = (
        "Inbound, outbound and mirror of a conversation use one session, over restarts, migrations and changes of "
        "scope, or an event records that it was left. A key that a caller names is used."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        self._keys: dict[_Spot, tuple[str, Event]] = {}
        self._ids: dict[str, tuple[str, Event]] = {}
        #: conversation -> its last session, and its key
        self._last: dict[_Spot, tuple[str, str, Event]] = {}
        #: conversation -> its session in the store before the first process started
        self._stored: dict[Lane, tuple[str, str, Event]] = {}
        #: sessions that were reset, moved or left
        self._told: set[str] = set()
        self._asked: dict[int, str] = {}
        #: the last decided route
        self._routed: Event | None = None
        self._scopes = 0

    @on(WireAccepted)
    def _landed(self, event: Event, body: WireAccepted) -> None:
        """A target may be an alias: the key belongs to the conversation where people see the message."""
        facts = self.run.intents.get(event.intent or "")
        if facts is None or facts.prepared.binding is not None or body.address.kind is facts.body.address.kind:
            return
        if facts.body.mirror_key is not None and not facts.body.named_session:
            self.exercised += 1
            self._one_key(body.address, body.address.lane, facts.body.mirror_key, event)

    @on(WorldSession)
    def _world_session(self, event: Event, body: WorldSession) -> None:
        if body.address is not None:
            # An old key does not name the agent; the first agent that answers there must continue this session.
            self._stored[body.address.lane] = (body.session_id, body.session_key, event)

    @on(SendRequested)
    def _requested(self, event: Event, body: SendRequested) -> None:
        if body.session_key is not None and body.session_key.strip():
            self._asked[event.seq] = body.session_key

    @on(TargetResolved)
    def _resolved(self, event: Event, _body: TargetResolved) -> None:
        """Compare the requested session with that of the intent."""
        if event.cause in self._asked:
            self._asked[event.seq] = self._asked[event.cause]

    @on(SessionReset)
    def _reset(self, event: Event, body: SessionReset) -> None:
        self._told.add(body.before)
        self._ids[body.session_key] = (body.session_id, event)

    @on(SessionMoved)
    def _moved(self, event: Event, body: SessionMoved) -> None:
        """All conversations of a session get its new key; until then, work in it was remembered under the old one."""
        for spot in [spot for spot, (key, _) in self._keys.items() if key == body.old_key]:
            del self._keys[spot]
        self._ids.pop(body.old_key, None)
        self._ids[body.session_key] = (body.session_id, event)

    @on(SessionLeft)
    def _left(self, event: Event, body: SessionLeft) -> None:
        """A conversation has another session, and its key, from its next message on."""
        self._told.add(body.old_session_id)
        leaving = self._routed
        place = None if leaving is None or leaving.seq != event.cause else self.run.home(leaving.inbound)
        if place is not None:
            self._keys.pop((_agent(body.session_key), place.lane), None)

    @on(RouteDecided)
    def _routed_now(self, event: Event, _body: RouteDecided) -> None:
        self._routed = event

    @on(InboundAdmitted)
    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        place = self.run.home(event.inbound)
        if place is None or body.work is not WorkKind.MESSAGE:
            return
        self.exercised += 1
        if self._is_bound(event):
            self._one_id(body.session_key, body.session_id, event)
            return
        key, lane = body.session_key, place.lane
        agent = _agent(key)
        if not self._is_known(agent, lane, key) and key_is_of(key, place, self.run):
            self._one_key(place, lane, key, event)
        self._one_id(key, body.session_id, event)
        self._same_session((agent, lane), place, body, event)

    def _is_bound(self, admitted: Event) -> bool:
        """Whether a binding chose the session. B1 judges that choice, and M1 the mirrors."""
        routed = self.run.routed.get(admitted.inbound or "")
        return routed is not None and routed.binding is not None

    def _is_known(self, agent: str, lane: Lane, key: str) -> bool:
        """Whether this is the known key of the place under the current scopes."""
        if self._scopes != self.run.scopes.changes:
            # Another scope gives other keys; `_same_session` checks that the session continues.
            self._scopes = self.run.scopes.changes
            self._keys.clear()
        known = self._keys.get((agent, lane))
        return known is not None and known[0] == key

    def _same_session(self, spot: _Spot, place: Address, body: InboundAdmitted, event: Event) -> None:
        """The conversation continues in its session, unless an event records a change."""
        before = self._last.get(spot)
        stored = self._stored.pop(spot[1], None) if self._stored else None
        if stored is not None and (
            not _is_main(stored[1]) or self._in_main(stored[1], spot[0], place, body.session_key)
        ):
            before = stored
        self._last[spot] = (body.session_id, body.session_key, event)
        if before is None or before[0] == body.session_id or before[0] in self._told:
            return
        session, key, since = before
        summary = f"{self.run.name(place)} lost its session, and no event explains it"
        routed = self.run.routed.get(event.inbound or "")
        if routed is None or key == body.session_key:
            self._differ(summary, session, body.session_id, since, event)
            return
        # Its key is another one: between the route and the admission, an event moves the session or leaves it.
        self.violate(
            at=event.seq,
            summary=summary,
            expected=[f"session.moved or session.left of #{since.seq} {session}"],
            actual=[f"#{event.seq} {body.session_id}"],
            evidence=[since.seq, event.seq],
            missing_after=routed.seq,
        )

    def _in_main(self, key: str, agent: str, place: Address, now: str) -> bool:
        """Whether a conversation with an agent, which has the key `now`, surely was in this main session."""
        return key.split(":")[-2] == agent and (_is_main(now) or self.run.scopes.must_be_main(place))

    @on(IntentPrepared)
    def _prepared(self, event: Event, body: IntentPrepared) -> None:
        named = self._asked.get(event.cause or 0) if self._asked else None
        if named is not None:
            self._check_obeyed(named, body, event)
        if body.mirror_key is None or body.named_session or event.binding is not None or self._own(event, body):
            return
        self.exercised += 1
        self._one_key(body.address, self.run.intents[event.intent or ""].lane, body.mirror_key, event)

    def _own(self, event: Event, body: IntentPrepared) -> bool:
        """Whether this is an answer at its own place, whose session was compared at admission.

        A callback answers at the place of the message that delegated, for the session of that message.
        """
        routed = self.run.routed.get(self.run.message_behind(event.inbound))
        if routed is None or not isinstance(routed.body, RouteDecided) or routed.body.session_key != body.mirror_key:
            return False
        home = self.run.home(event.inbound)
        return home is not None and (home == body.address or home.lane == body.address.lane)

    def _check_obeyed(self, named: str, body: IntentPrepared, event: Event) -> None:
        self.exercised += 1
        try:
            wanted = str(canonical_key(named))
        except KeyFormatError:
            wanted = named
        if body.mirror_key != wanted:
            summary = f"{event.intent} was to be mirrored into session {wanted}, and is in another"
            self.violate(
                at=event.seq,
                summary=summary,
                expected=[f"session {wanted}, as the caller named it"],
                actual=[f"#{event.seq} session {body.mirror_key}"],
                evidence=[event.cause or event.seq, event.seq],
            )

    @on(MirrorAppended)
    def _mirrored(self, event: Event, body: MirrorAppended) -> None:
        if body.session_id not in self._told:
            self._one_id(body.session_key, body.session_id, event)

    def _one_key(self, place: Address, lane: Lane, key: str, event: Event) -> None:
        agent = _agent(key)
        if self._is_known(agent, lane, key):
            return
        first, since = self._keys.setdefault((agent, lane), (key, event))
        if first != key:
            foreign = key_is_of(key, place, self.run) and not key_is_of(first, place, self.run)
            summary = f"{self.run.name(place)} has two session keys"
            self._differ(summary, first, key, since, event, since if foreign else event)

    def _one_id(self, key: str, session: str, event: Event) -> None:
        first, since = self._ids.setdefault(key, (session, event))
        if first != session:
            self._differ(f"session key {key} has two sessions", first, session, since, event)

    def _differ(
        self, summary: str, first: str, second: str, since: Event, event: Event, wrong: Event | None = None
    ) -> None:
        self.violate(
            at=event.seq,
            summary=summary,
            expected=[f"#{since.seq} {first}"],
            actual=[f"#{event.seq} {second}"],
            evidence=[since.seq, event.seq],
            first_wrong=(wrong or event).seq,
        )


def _agent(key: str) -> str:
    return key.partition(":")[0]


def _is_main(key: str) -> bool:
    """Whether a key, ours or an older one, is that of a main session. It names its agent, and no conversation."""
    return key.count(":") in (1, 2) and key.endswith(":main")


def identity(place: Address, scope: str, run: RunFacts) -> tuple[str, ...]:
    """The facts that two places must share to share a session under a scope (`core.routing.session_keys`)."""
    if scope == DmScope.MAIN:
        return ("main",)
    # A session outlives the calls of its person.
    thread = "" if place.thread is None or run.calls.at(place) is not None else place.thread
    if place.kind is not ChatKind.DIRECT:
        return (GroupScope.PER_GROUP.value, place.kind.value, *_folded(place), thread)
    parts: tuple[str, ...] = ("direct", run.scopes.person(place), thread)
    if scope in (DmScope.PER_CHANNEL_PEER, DmScope.PER_ACCOUNT_CHANNEL_PEER):
        parts = (*parts, place.channel)
    return (*parts, place.account) if scope == DmScope.PER_ACCOUNT_CHANNEL_PEER else parts


def _folded(place: Address) -> tuple[str, str, str]:
    return (place.channel, place.account, rules_for(place.channel).fold(place.kind, place.conversation))


class DistinctKeys(Checker):
    """S2: different conversations have different keys, whatever their ids look like."""

    id = "S2"
    title = "Keys are injective"
    our_keys_only = True
    sentence = "Different agents, channels, accounts, conversations and threads never share a key beyond their scope."

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        self._places: dict[str, tuple[tuple[str, ...], Address, Event]] = {}
        #: session key, scope, agent and place of every pair that was checked
        self._fine: set[tuple[str, str, str, Lane]] = set()
        self._scopes = 0

    @on(InboundAdmitted)
    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        place, routed = self.run.home(event.inbound), self.run.routed.get(event.inbound or "")
        if place is None or routed is None or body.work is not WorkKind.MESSAGE:
            return
        assert isinstance(routed.body, RouteDecided)
        if routed.binding is not None:
            return  # a binding chose the session: B1 judges that
        if self._scopes != self.run.scopes.changes:
            self._scopes = self.run.scopes.changes
            self._places.clear()
            self._fine.clear()
        self.exercised += 1
        seen = (body.session_key, routed.body.scope, routed.body.agent, place.lane)
        if seen in self._fine:
            return
        who = (routed.body.agent, *identity(place, routed.body.scope, self.run))
        first, where, since = self._places.setdefault(body.session_key, (who, place, event))
        if first == who:
            self._fine.add(seen)
            return
        here, there, key = self.run.name(place), self.run.name(where), body.session_key
        self.violate(
            at=event.seq,
            summary=f"{here} and {there} share the session {key}",
            expected=[f"sessions of their own: the scope is {routed.body.scope}"],
            actual=[f"#{e.seq} {self.run.name(p)} in {body.session_key}" for p, e in ((where, since), (place, event))],
            evidence=[since.seq, event.seq],
            first_wrong=routed.seq,
        )
