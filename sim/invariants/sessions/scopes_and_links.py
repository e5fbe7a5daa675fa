"""People and their sessions: S3."""

from __future__ import annotations

import msgspec

from trunkline.core.channels import rules_for
from trunkline.core.config import DmScope
from trunkline.core.events import Event
from trunkline.core.events.gateway import InboundAdmitted, InboundReceived, RouteDecided, SessionShared, TurnStarted
from trunkline.core.values import Address, ChatKind, Peer, WorkKind
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker
from trunkline.sim.invariants.sessions.session_keys import identity

#: work that begins with words of a person, which the session remembers
_SAID = (WorkKind.MESSAGE, WorkKind.CONTROL)


class ScopesAndLinks(Checker):
    """S3: linked people share a session as the scope says; others only under ``main``, after a warning."""

    id = "S3"
    title = "Scope and identity links"
    our_keys_only = True
    sentence = (
        "Linked people share a session exactly as the scope says; people who are not linked never do, unless the scope "
        "is main, and then a warning comes before the second one's first turn."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        self._keys: dict[tuple[str, ...], tuple[str, Event]] = {}
        #: session -> the first turn for each account of a person
        self._turns: dict[str, dict[tuple[str, str], Event]] = {}
        #: session -> the people of those turns, and the number of the links that they are named by
        self._people: dict[str, tuple[int, set[str]]] = {}
        self._warned: set[tuple[str, tuple[str, str]]] = set()
        self._scopes = 0

    @on(SessionShared)
    def _shared(self, event: Event, body: SessionShared) -> None:
        home = self.run.home(event.inbound)
        if home is not None:
            self._warned.add((body.session_key, _raw(home.channel, body.peer)))

    @on(InboundAdmitted)
    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        """Linked people: one identity, one key."""
        if not self.run.scopes.links:
            return
        place, routed = self.run.home(event.inbound), self.run.routed.get(event.inbound or "")
        if place is None or routed is None or place.kind is not ChatKind.DIRECT or body.work is not WorkKind.MESSAGE:
            return
        assert isinstance(routed.body, RouteDecided)
        if self._scopes != self.run.scopes.changes:
            self._scopes = self.run.scopes.changes
            self._keys.clear()
        scope = routed.body.scope
        if scope == DmScope.MAIN or not self.run.scopes.person(place).startswith("*"):
            return
        self.exercised += 1
        who = (routed.body.agent, *identity(place, scope, self.run))
        first, since = self._keys.setdefault(who, (body.session_key, event))
        if first != body.session_key:
            self.violate(
                at=event.seq,
                summary=f"{self.run.scopes.person(place)[1:]} has two sessions, though linked under the scope {scope}",
                expected=[f"#{since.seq} {first}"],
                actual=[f"#{event.seq} {body.session_key}"],
                evidence=[since.seq, event.seq],
                first_wrong=routed.seq,
            )

    @on(TurnStarted)
    def _started(self, event: Event, body: TurnStarted) -> None:
        """People who are not linked share the main session only after a warning."""
        place = body.origin
        if body.work not in _SAID or place is None or place.kind is not ChatKind.DIRECT:
            return
        routed = self.run.routed.get(event.inbound or "")
        if routed is None or not isinstance(routed.body, RouteDecided) or routed.body.scope != DmScope.MAIN:
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
            self.violate(
                at=event.seq,
                summary=f"{self.run.name(place)} shares {body.session_key} with others, and no warning was recorded",
                expected=["a session.shared event before this turn"],
                actual=[f"#{e.seq} a turn for {self.run.name(getattr(e.body, 'origin', None))}" for e in others],
                evidence=[*(e.seq for e in others), event.seq],
                missing_after=routed.seq,
            )

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
        return _raw(place.channel, body.peer if isinstance(body, InboundReceived) else Peer(id=place.conversation))

    def _person(self, turn: Event) -> str:
        """The person of a turn, by the links of today."""
        place = turn.body.origin if isinstance(turn.body, TurnStarted) else None
        if place is None:
            return ""
        channel, own = self._speaker(turn, place)
        person = self.run.scopes.person(msgspec.structs.replace(place, conversation=own))
        return person if person.startswith("*") else f"{channel}:{person}"


def _raw(channel: str, peer: Peer) -> tuple[str, str]:
    """A person's id on one platform, whatever it is linked to."""
    return channel, rules_for(channel).fold(ChatKind.DIRECT, peer.id)
