"""The invariants that a session violates: by a row of its transcript, or as a whole."""

from __future__ import annotations

from collections.abc import Iterable

from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.sessions.alignment_index import AlignedPair
from trunkline.app.view.sessions.transcripts import Sessions
from trunkline.core.events import Event
from trunkline.core.events.gateway import InboundAdmitted, InboundReceived, RouteDecided, TurnStarted

#: event of a violation, and the id of its invariant
Broken = tuple[int, str]
#: events of a received message, which a line of the transcript stands for
_HEARD = (InboundReceived, InboundAdmitted, TurnStarted, RouteDecided)


class SessionViolations:
    """The violations of a run, indexed by their evidence."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self._view = sessions.view
        #: size of the run when this was built: a run may grow
        self.known = (self._view.last, len(self._view.marks.violations))
        self._by_seq: dict[int, list[Broken]] = {}
        self._by_inbound: dict[str, list[Broken]] = {}
        self._by_key: dict[str, list[Broken]] = {}
        self._owners: dict[str | PlaceKey, tuple[Broken, ...]] = {}
        for violation in self._view.marks.violations:
            for seq in violation.evidence:
                if 0 < seq <= self._view.last:
                    self._learn(self._view.event(seq), (violation.at, violation.invariant))

    def _learn(self, event: Event, broken: Broken) -> None:
        self._by_seq.setdefault(event.seq, []).append(broken)
        if event.inbound is not None and isinstance(event.body, _HEARD):
            self._by_inbound.setdefault(event.inbound, []).append(broken)
        key = getattr(event.body, "session_key", None)
        if isinstance(key, str):
            self._by_key.setdefault(self._view.session_moves.last_key(key, event.seq), []).append(broken)

    def row(self, pair: AlignedPair, seq: int) -> str:
        """The invariants that a row of a transcript violates, up to event `seq`."""
        return _names(self._of(pair), seq)

    def is_wrong(self, pair: AlignedPair) -> bool:
        """Whether the row violates an invariant at any event."""
        return any(True for _ in self._of(pair))

    def session(self, owner: str | PlaceKey, seq: int) -> str:
        """The invariants that a session, or a conversation without one, violates up to event `seq`."""
        found = self._owners.get(owner)
        if found is None:
            everything = [one for pair in self.sessions.pairs(owner) for one in self._of(pair)]
            everything += self._by_key.get(owner, ()) if isinstance(owner, str) else ()
            found = self._owners[owner] = tuple(dict.fromkeys(everything))
        return _names(found, seq)

    def _of(self, pair: AlignedPair) -> Iterable[Broken]:
        for side in (pair.line, pair.seen):
            if side is not None:
                yield from self._by_seq.get(side.seq, ())
        if pair.line is not None and pair.line.inbound is not None:
            yield from self._by_inbound.get(pair.line.inbound, ())


def _names(found: Iterable[Broken], seq: int) -> str:
    return " ".join(sorted({name for at, name in found if at <= seq}))
