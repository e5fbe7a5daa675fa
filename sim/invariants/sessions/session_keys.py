"""Conversations, people and their sessions: S1, S3."""

import msgspec

from trunkline.core.channels import rules_for
from trunkline.core.config import DmScope, GroupScope
from trunkline.core.errors import KeyFormatError
from trunkline.core.events import Event, delivery, gateway
from trunkline.core.keys import canonical_key
from trunkline.core.values import Address, ChatKind, Peer, WorkKind
from trunkline.sim.events import wire, world
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.index.run_facts import Lane, RunFacts
from trunkline.sim.invariants.base import Checker
from trunkline.sim.invariants.routing.return_address import key_is_of

#: agent and place
_Spot = tuple[str, Lane]


class OneKey(Checker, symptoms=("forgot",)):
    """S1: One conversation, one key.

    Inbound, outbound and mirror of a conversation use one session, over restarts, migrations and changes of scope, or
    an event records that it was left. A key that a caller names is used.
    """

    our_keys_only = True

    _keys: dict[_Spot, tuple[str, Event]] = {}
    _ids: dict[str, tuple[str, Event]] = {}
    #: conversation -> its last session, and its key
    _last: dict[_Spot, tuple[str, str, Event]] = {}
    #: conversation -> its session in the store before the first process started
    _stored: dict[Lane, tuple[str, str, Event]] = {}
    #: sessions that were reset, moved or left
    _told: set[str] = set()
    _asked: dict[int, str] = {}
    #: the last decided route
    _routed: Event | None = None
    _scopes = 0

    def on_landed(self, event: Event, body: wire.WireAccepted, facts: IntentFacts) -> None:
        """A target may be an alias: the key belongs to the conversation where people see the message."""
        if facts.prepared.binding is not None or body.address.kind is facts.body.address.kind:
            return
        if facts.body.mirror_key is not None and not facts.body.named_session:
            self.exercised += 1
            self._one_key(body.address, body.address.lane, facts.body.mirror_key, event)

    def on_world_session(self, event: Event, body: world.WorldSession) -> None:
        if body.address is not None:
            # An old key does not name the agent; the first agent that answers there must continue this session.
            self._stored[body.address.lane] = (body.session_id, body.session_key, event)

    def on_requested(self, event: Event, body: delivery.SendRequested) -> None:
        if body.session_key is not None and body.session_key.strip():
            self._asked[event.seq] = body.session_key

    def on_resolved(self, event: Event, _body: delivery.TargetResolved) -> None:
        """Compare the requested session with that of the intent."""
        if event.cause in self._asked:
            self._asked[event.seq] = self._asked[event.cause]

    def on_reset(self, event: Event, body: gateway.SessionReset) -> None:
        self._told.add(body.before)
        self._ids[body.session_key] = (body.session_id, event)

    def on_moved(self, event: Event, body: gateway.SessionMoved) -> None:
        """All conversations of a session get its new key; until then, work in it was remembered under the old one."""
        for spot in [spot for spot, (key, _) in self._keys.items() if key == body.old_key]:
            del self._keys[spot]
        self._ids.pop(body.old_key, None)
        self._ids[body.session_key] = (body.session_id, event)

    def on_left(self, event: Event, body: gateway.SessionLeft) -> None:
        """A conversation has another session, and its key, from its next message on."""
        self._told.add(body.old_session_id)
        leaving = self._routed
        place = None if leaving is None or leaving.seq != event.cause else self.run.home(leaving.inbound)
        if place is not None:
            self._keys.pop((_agent(body.session_key), place.lane), None)

    def on_routed_now(self, event: Event, _body: gateway.RouteDecided) -> None:
        self._routed = event

    def on_admitted(self, event: Event, body: gateway.InboundAdmitted) -> None:
        place = self.run.home(event.inbound)
        if place is None or body.work is not WorkKind.MESSAGE:
            return
        self.exercised += 1
        if self._is_bound(event):
            self._one_id(body.session_key, body.session_id, event)
            return
        key, lane = body.session_key, place.lane
        spot = _agent(key), lane
        if not self._is_known(spot, key) and key_is_of(key, place, self.run):
            self._one_key(place, lane, key, event)
        self._one_id(key, body.session_id, event)
        self._same_session(spot, place, body, event)

    def _is_bound(self, admitted: Event) -> bool:
        """Whether a binding chose the session. B1 judges that choice, and M1 the mirrors."""
        routed = self.run.routed.get(admitted.inbound or "")
        return routed is not None and routed.binding is not None

    def _is_known(self, spot: _Spot, key: str) -> bool:
        """Whether this is the known key of the place under the current scopes."""
        if self._scopes != self.run.scopes.changes:
            # Another scope gives other keys; `_same_session` checks that the session continues.
            self._scopes = self.run.scopes.changes
            self._keys.clear()
        known = self._keys.get(spot)
        return known is not None and known[0] == key

    def _same_session(self, spot: _Spot, place: Address, body: gateway.InboundAdmitted, event: Event) -> None:
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
        expected = f"session.moved or session.left of #{since.seq} {session}"
        self.accuse(event, summary, expected, since, shown=[f"#{event.seq} {body.session_id}"], missing=routed)

    def _in_main(self, key: str, agent: str, place: Address, now: str) -> bool:
        """Whether a conversation with an agent, which has the key `now`, surely was in this main session."""
        return key.split(":")[-2] == agent and (_is_main(now) or self.run.scopes.must_be_main(place))

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        named = self._asked.get(event.cause or 0) if self._asked else None
        if named is not None:
            self._check_obeyed(named, body, event)
        if body.mirror_key is None or body.named_session or event.binding is not None or self._own(event, body):
            return
        self.exercised += 1
        self._one_key(body.address, self.run.intents[event.intent or ""].lane, body.mirror_key, event)

    def _own(self, event: Event, body: delivery.IntentPrepared) -> bool:
        """Whether this is an answer at its own place, whose session was compared at admission.

        A callback answers at the place of the message that delegated, for the session of that message.
        """
        routed = self.run.routed.get(self.run.message_behind(event.inbound))
        if (
            routed is None
            or not isinstance(routed.body, gateway.RouteDecided)
            or routed.body.session_key != body.mirror_key
        ):
            return False
        home = self.run.home(event.inbound)
        return home is not None and (home == body.address or home.lane == body.address.lane)

    def _check_obeyed(self, named: str, body: delivery.IntentPrepared, event: Event) -> None:
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

    def on_mirrored(self, event: Event, body: delivery.MirrorAppended) -> None:
        if body.session_id not in self._told:
            self._one_id(body.session_key, body.session_id, event)

    def _one_key(self, place: Address, lane: Lane, key: str, event: Event) -> None:
        spot = _agent(key), lane
        if self._is_known(spot, key):
            return
        first, since = self._keys.setdefault(spot, (key, event))
        if first != key:
            foreign = key_is_of(key, place, self.run) and not key_is_of(first, place, self.run)
            summary = f"{self.run.name(place)} has two session keys"
            self._differ(summary, first, key, since, event, since if foreign else event)

    def _one_id(self, key: str, session: str, event: Event) -> None:
        known = self._ids.get(key)
        if known is None:
            self._ids[key] = session, event
        elif known[0] != session:
            self._differ(f"session key {key} has two sessions", known[0], session, known[1], event)

    def _differ(
        self, summary: str, first: str, second: str, since: Event, event: Event, wrong: Event | None = None
    ) -> None:
        expected, shown = f"#{since.seq} {first}", [f"#{event.seq} {second}"]
        self.accuse(event, summary, expected, since, shown=shown, first_wrong=(wrong or event).seq)


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


#: work that begins with words of a person, which the session remembers
_SAID = (WorkKind.MESSAGE, WorkKind.CONTROL)


class ScopesAndLinks(Checker, symptoms=("leaked",)):
    """S3: Scope and identity links.

    Agents, channels, accounts, conversations and threads share a session exactly as the scope says, and linked people
    do; people who are not linked never do, unless the scope is main, and then a warning comes before the second one's
    first turn.
    """

    our_keys_only = True

    #: linked person as the scope knows them -> the key, and what the scope knows of the places of a key
    _keys: dict[tuple[str, ...], tuple[str, Event]] = {}
    _places: dict[str, tuple[tuple[str, ...], Address, Event]] = {}
    #: session key, scope, agent and place of every pair that was checked
    _fine: set[tuple[str, str, str, Lane]] = set()
    #: session -> the first turn for each account of a person
    _turns: dict[str, dict[tuple[str, str], Event]] = {}
    #: session -> the people of those turns, and the number of the links that they are named by
    _people: dict[str, tuple[int, set[str]]] = {}
    _warned: set[tuple[str, tuple[str, str]]] = set()
    _scopes = 0

    def on_shared(self, event: Event, body: gateway.SessionShared) -> None:
        home = self.run.home(event.inbound)
        if home is not None:
            self._warned.add((body.session_key, _raw(home.channel, body.peer)))

    def on_admitted(self, event: Event, body: gateway.InboundAdmitted) -> None:
        """Each identity has one key, and each key one identity."""
        place, routed = self.run.home(event.inbound), self.run.routed.get(event.inbound or "")
        if place is None or routed is None or body.work is not WorkKind.MESSAGE:
            return
        assert isinstance(routed.body, gateway.RouteDecided)
        if routed.binding is not None:
            return  # a binding chose the session: B1 judges that
        if self._scopes != self.run.scopes.changes:
            self._scopes = self.run.scopes.changes
            for known in (self._keys, self._places, self._fine):
                known.clear()
        self.exercised += 1
        key, scope = body.session_key, routed.body.scope
        seen = (key, scope, routed.body.agent, place.lane)
        if seen in self._fine:
            return
        who = (routed.body.agent, *identity(place, scope, self.run))
        first, where, since = self._places.setdefault(key, (who, place, event))
        if first != who:
            here, there = self.run.name(place), self.run.name(where)
            summary = f"{here} and {there} share the session {key}"
            expected = f"sessions of their own: the scope is {scope}"
            shown = [f"#{since.seq} {there} in {key}", f"#{event.seq} {here} in {key}"]
            self.accuse(event, summary, expected, since, shown=shown, first_wrong=routed.seq)
            return
        if scope != DmScope.MAIN and place.kind is ChatKind.DIRECT and who[2].startswith("*"):
            only, since = self._keys.setdefault(who, (key, event))
            if only != key:
                summary = f"{who[2][1:]} has two sessions, though linked under the scope {scope}"
                expected, shown = f"#{since.seq} {only}", [f"#{event.seq} {key}"]
                self.accuse(event, summary, expected, since, shown=shown, first_wrong=routed.seq)
                return
        self._fine.add(seen)

    def on_started(self, event: Event, body: gateway.TurnStarted) -> None:
        """People who are not linked share the main session only after a warning."""
        place = body.origin
        if body.work not in _SAID or place is None or place.kind is not ChatKind.DIRECT:
            return
        routed = self.run.routed.get(event.inbound or "")
        if routed is None or not isinstance(routed.body, gateway.RouteDecided) or routed.body.scope != DmScope.MAIN:
            return
        turns = self._turns.setdefault(body.session_id, {})
        raw = self._speaker(event, place)
        if raw in turns:
            return
        joined, person = self._people_of(body.session_id), self._person(event)
        # Links may have changed since: the person may have been there under another id.
        new = bool(joined) and person not in joined
        others = tuple(turns.values()) if new else ()
        turns[raw] = event
        joined.add(person)
        if not new:
            return
        self.exercised += 1
        if (body.session_key, raw) not in self._warned:
            summary = f"{self.run.name(place)} shares {body.session_key} with others, and no warning was recorded"
            shown = [f"#{e.seq} a turn for {self.run.name(getattr(e.body, 'origin', None))}" for e in others]
            expected = "a session.shared event before this turn"
            self.accuse(event, summary, expected, *others, shown=shown, missing=routed)

    def _people_of(self, session: str) -> set[str]:
        """The people who had a turn in a session, by the links of today."""
        changes, people = self._people.get(session, (-1, set[str]()))
        if changes != self.run.scopes.changes:
            people = {self._person(turn) for turn in self._turns[session].values()}
            self._people[session] = (self.run.scopes.changes, people)
        return people

    def _speaker(self, turn: Event, place: Address) -> tuple[str, str]:
        """The person who wrote the message of a turn."""
        received = self.run.received.get(turn.inbound or "")
        body = None if received is None else received.body
        return _raw(
            place.channel, body.peer if isinstance(body, gateway.InboundReceived) else Peer(id=place.conversation)
        )

    def _person(self, turn: Event) -> str:
        """The person of a turn, by the links of today."""
        place = turn.body.origin if isinstance(turn.body, gateway.TurnStarted) else None
        if place is None:
            return ""
        channel, own = self._speaker(turn, place)
        person = self.run.scopes.person(msgspec.structs.replace(place, conversation=own))
        return person if person.startswith("*") else f"{channel}:{person}"


def _raw(channel: str, peer: Peer) -> tuple[str, str]:
    """A person's id on one platform, whatever it is linked to."""
    return channel, rules_for(channel).fold(ChatKind.DIRECT, peer.id)
