"""Sessions, and the transcript of each beside the messages that people saw in its conversation.

Both sides are aligned by subject: an inbound on the left matches the message that a person posted, and a mirrored text
the intent that a platform accepted. A row differs when one side lacks it or has another text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.index.session_states import SessionState
from trunkline.app.view.index.transcripts import TranscriptEntry
from trunkline.app.view.index.visible_messages import VisibleMessage
from trunkline.app.view.sessions.alignment_index import AlignedPair, AlignmentIndex, TranscriptDifference
from trunkline.app.view.sessions.ownership import Ownership
from trunkline.core.delivery.mirror_text import mirror_text
from trunkline.core.errors import KeyFormatError
from trunkline.core.events.delivery import IntentPrepared, MirrorAppended
from trunkline.core.events.gateway import InboundAdmitted
from trunkline.core.keys import canonical_key
from trunkline.core.values import Address, WorkKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid

#: the invariant whose evidence is a mirror with another text than the sent message
TEXTS = "M2"


class SessionListRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the list. `key` is empty for a conversation with visible messages but without a session."""

    #: the last key that it had; `name` is its key at the cursor
    key: str
    name: str = ""
    #: above 1: it was reset
    generation: int = 0
    place: str
    heard: int = 0
    said: int = 0
    copies: int
    differences: int
    last: float
    #: its first event
    since: int
    #: the conversation, if there is no session
    orphan: PlaceKey | None = None

    @property
    def title(self) -> str:
        """The key at the cursor, with the generation after a reset; empty for a conversation without a session."""
        return f"{self.name}  generation {self.generation}" if self.generation > 1 else self.name

    @property
    def owner(self) -> str | PlaceKey:
        """The argument of `Sessions.pairs`."""
        return self.orphan or self.key


class Sessions:
    """All sessions of a run, at any event.

    A snapshot: for a growing run, a new one is built in small steps (`slowly`), because each alignment depends on all
    messages of its conversations.
    """

    def __init__(self, view: RunView, *, slowly: bool = False) -> None:
        self.view = view
        #: length of the run when this was built
        self.last = view.last
        self._facts = view.sessions.at(view.last)
        self._places: dict[str, dict[PlaceKey, None]] = {key: {} for key in self._facts}
        self._said_by: dict[int, int] = {}
        #: conversations with visible messages but without a session
        self.orphans: tuple[PlaceKey, ...] = ()
        self._pairs: dict[str | PlaceKey, list[AlignedPair]] = {}
        self._indexes: dict[str | PlaceKey, AlignmentIndex] = {}
        self._making = self._make(whole=slowly)
        if not slowly:
            self.step(lambda: False)

    def step(self, late: Callable[[], bool]) -> bool:
        """Build more, until `late` is true. Returns whether all is built; until then, use no other method."""
        return all(not late() for _ in self._making)

    def _make(self, *, whole: bool) -> Iterator[None]:
        """Build the inputs of all alignments, and with `whole` the alignments too, in small steps."""
        view = self.view
        heard: dict[int, list[str]] = {}
        for key, facts in self._facts.items():
            if facts.address is not None:
                self._places[key][facts.address.lane] = None
            for said in self._learn(key):
                heard.setdefault(said, []).append(key)
                yield
        for row in view.bindings.rows(view.last):
            bound = view.session_moves.last_key(row.session_key, row.since)
            if bound in self._places:
                self._places[bound][row.conversation.lane] = None
        self._ownership = Ownership(view, self._places, heard)
        yield
        owned = {place for places in self._places.values() for place in places}
        self.orphans = tuple(place for place in view.visible.places() if place not in owned)
        for owner in (*self._places, *self.orphans) if whole else ():
            yield from self._align_slowly(owner)

    def _align_slowly(self, owner: str | PlaceKey) -> Iterator[None]:
        """Build an alignment and its index, in small steps."""
        seen: list[VisibleMessage] = []
        for one in self._shown(owner):
            if not isinstance(owner, str) or self._ownership.holds(owner, one):
                seen.append(one)
            yield
        pairs: list[AlignedPair] = []
        for pair in self._align(self.view.transcripts.of(owner) if isinstance(owner, str) else (), seen):
            pairs.append(self._of_another_agent(owner, pair))
            yield
        self._pairs[owner] = sorted(pairs, key=lambda pair: pair.seq)
        yield
        self._indexes[owner] = AlignmentIndex(self._pairs[owner], self.view.marks)
        yield

    def _of_another_agent(self, owner: str | PlaceKey, pair: AlignedPair) -> AlignedPair:
        """A message that another agent wrote there is remembered in that agent's session of the same conversation."""
        if (
            pair.difference is not TranscriptDifference.MISSING_MIRROR
            or pair.seen is None
            or not isinstance(owner, str)
        ):
            return pair
        for event in self.view.of_intent(pair.seen.intent, MirrorAppended):
            key = self.view.session_moves.last_key(getattr(event.body, "session_key", ""), event.seq)
            if _agent(key) != _agent(owner) and pair.seen.place in self._places.get(key, ()):
                return msgspec.structs.replace(
                    pair, difference=TranscriptDifference.NONE, note=f"said by {_agent(key)}"
                )
        return pair

    def _learn(self, key: str) -> Iterator[int]:
        """Find the conversations of a session and the posted message of each entry. Yields the messages."""
        for line in self.view.transcripts.of(key):
            said = self.view.posted(line.seq) if line.role == "user" and not self._is_task(line) else None
            if said is not None and isinstance(said.body, PeerSaid):
                self._said_by[line.seq] = said.seq
                self._places[key][said.body.address.lane] = None
                yield said.seq

    def _is_task(self, line: TranscriptEntry) -> bool:
        """Whether a line is the task of a hand that is an agent: its caller wrote it, and nobody posted it."""
        admitted = self.view.of_inbound(line.inbound, InboundAdmitted)
        return any(isinstance(one.body, InboundAdmitted) and one.body.work is WorkKind.TASK for one in admitted)

    def owner_of(self, seq: int) -> str | PlaceKey | None:
        """The session that an event concerns, or the conversation without one; else none."""
        body = self.view.event(seq).body if 0 < seq <= self.view.last else None
        key = getattr(body, "session_key", None)
        last = self.view.session_moves.last_key(key, seq) if isinstance(key, str) else None
        if last in self._places:
            return last
        address = getattr(body, "address", None)
        if not isinstance(address, Address):
            return None
        lane = address.lane
        owners = [key for key, places in self._places.items() if lane in places]
        owner = next((key for key in owners if self._ownership.has(key, lane, seq)), next(iter(owners), None))
        return owner or (lane if lane in self.orphans else None)

    def rows(self, seq: int) -> list[SessionListRow]:
        """Every session of the run with its counts after event `seq`, then the conversations without a session."""
        known = self.view.sessions.at(seq)
        rows = [self._row(key, known, seq) for key in self._places]
        return [*rows, *(self._orphan(place, seq) for place in self.orphans)]

    def _row(self, key: str, known: Mapping[str, SessionState], seq: int) -> SessionListRow:
        facts = known.get(self.view.session_moves.key_at(key, seq))
        if facts is not None and facts.since != self._facts[key].since:
            # Before the session was created, another one had its key.
            facts = None
        index = self.index(key)
        places = [place for place in self._places[key] if self._ownership.has(key, place, seq)]
        return SessionListRow(
            key=key,
            name=facts.key if facts else key,
            generation=facts.generation if facts else 0,
            place=", ".join(self._label(place) for place in places) or self._homeless(key, seq),
            heard=facts.heard if facts else 0,
            said=facts.said if facts else 0,
            copies=index.copies(seq),
            differences=index.differences(seq),
            last=facts.last if facts else 0.0,
            since=self._facts[key].since,
        )

    def _homeless(self, key: str, seq: int) -> str:
        if any(place in self.view.bindings.bound(seq) for place in self._places[key]):
            return "bound to another"
        task = self.view.delegations.of_session(self.view.session_moves.key_at(key, seq))
        if task is not None:
            return f"task {task}"
        return "left" if key in self._ownership.deserted else "no conversation"

    def _orphan(self, place: PlaceKey, seq: int) -> SessionListRow:
        index = self.index(place)
        return SessionListRow(
            key="",
            place=self._label(place),
            copies=index.copies(seq),
            differences=index.differences(seq),
            last=index.last(seq),
            since=self.pairs(place)[0].seq,
            orphan=place,
        )

    def _label(self, place: PlaceKey) -> str:
        return self.view.places.full(self.view.places.at(place).address)

    def pairs(self, owner: str | PlaceKey) -> Sequence[AlignedPair]:
        """The alignment of a session, or of a conversation without one, in order of events."""
        if owner not in self._pairs:
            for _ in self._align_slowly(owner):
                pass
        return self._pairs[owner]

    def index(self, owner: str | PlaceKey) -> AlignmentIndex:
        self.pairs(owner)
        return self._indexes[owner]

    def _shown(self, owner: str | PlaceKey) -> Iterator[VisibleMessage]:
        """The messages that people saw in a conversation, or in those of a session."""
        for place in self._places.get(owner, ()) if isinstance(owner, str) else (owner,):
            yield from self.view.visible.of(place)

    def _text_difference(self, line: TranscriptEntry, seen: VisibleMessage) -> TranscriptDifference:
        """Compare the texts; an invariant that found a difference goes first, since a part may match by chance."""
        broken = (violation.invariant for violation in self.view.marks.of(line.seq))
        return TranscriptDifference.TEXT if TEXTS in broken else _words(line, seen)

    def _align(self, lines: Sequence[TranscriptEntry], seen: Sequence[VisibleMessage]) -> Iterator[AlignedPair]:
        posted = {one.seq: one for one in seen if one.who}
        said: dict[str | None, list[VisibleMessage]] = {}
        for one in seen:
            if not one.who:
                said.setdefault(one.intent, []).append(one)
        mirrors: dict[str | None, list[TranscriptEntry]] = {}
        for line in lines:
            if line.role == "agent":
                mirrors.setdefault(line.intent, []).append(line)
            elif line.role == "user":
                yield self._heard(line, posted)
            else:
                # A completion of a hand, a note about a bad end, or a reset: not visible to people.
                yield AlignedPair(line=line)
        yield from (AlignedPair(seen=one, difference=TranscriptDifference.UNHEARD) for one in posted.values())
        for intent in dict.fromkeys((*said, *mirrors)):
            yield from self._spoken(intent, mirrors.get(intent, []), said.get(intent, []))

    def _heard(self, line: TranscriptEntry, posted: dict[int, VisibleMessage]) -> AlignedPair:
        source = self._said_by.get(line.seq)
        one = posted.pop(source, None) if source else None
        if one is None:
            return AlignedPair(
                line=line, difference=TranscriptDifference.TWICE if source else TranscriptDifference.NONE
            )
        return AlignedPair(line=line, seen=one, difference=_words(line, one))

    def _spoken(
        self, intent: str | None, mirrors: list[TranscriptEntry], seen: list[VisibleMessage]
    ) -> Iterator[AlignedPair]:
        """Mirrors of one intent beside its accepted chunks; a chunk that is accepted again is a copy."""
        firsts: dict[int, VisibleMessage] = {}
        for one in seen:
            if one.chunk in firsts:
                yield _again(one, firsts[one.chunk])
            else:
                firsts[one.chunk] = one
        chunks = list(firsts.values())
        for index, line in enumerate(mirrors):
            if index < len(chunks):
                yield AlignedPair(line=line, seen=chunks[index], difference=self._text_difference(line, chunks[index]))
            else:
                yield self._unseen(line, intent, here=bool(chunks))
        named = self._named(intent)
        missing = TranscriptDifference.NONE if mirrors or named else TranscriptDifference.MISSING_MIRROR
        note = self._mirrored_elsewhere(intent, named=named) if chunks and not mirrors else ""
        yield from (AlignedPair(seen=one, difference=missing, note=note) for one in chunks[len(mirrors) :])

    def _unseen(self, line: TranscriptEntry, intent: str | None, *, here: bool) -> AlignedPair:
        if here:
            return AlignedPair(line=line, difference=TranscriptDifference.TWICE)
        for event in self.view.of_intent(intent, WireAccepted):
            address = getattr(event.body, "address", None)
            where = self.view.places.label(address)
            if self._named(intent):
                return AlignedPair(line=line, note=f"said in {where}, for this session")
            return AlignedPair(
                line=line, difference=TranscriptDifference.FOREIGN_MIRROR, note=f"said in {where}, not here"
            )
        if not self.view.visible.witnessed:
            # Nobody but the gateway says what people saw: there is nothing to compare with.
            return AlignedPair(line=line)
        return AlignedPair(line=line, difference=TranscriptDifference.UNDELIVERED)

    def _named(self, intent: str | None) -> bool:
        """Whether the sender named the session that remembers it, which may be another than that of the place."""
        found = (event.body for event in self.view.of_intent(intent, IntentPrepared))
        return any(isinstance(body, IntentPrepared) and body.named_session for body in found)

    def _mirrored_elsewhere(self, intent: str | None, *, named: bool) -> str:
        for event in self.view.of_intent(intent, MirrorAppended):
            key = self.view.session_moves.last_key(getattr(event.body, "session_key", ""), event.seq)
            places = ", ".join(self._label(place) for place in self._places.get(key, ()))
            return f"mirrored for {places or key}, {'as asked' if named else 'not here'}"
        return ""


def _agent(key: str) -> str:
    """The agent of a session; empty for a key that no form describes."""
    try:
        return canonical_key(key).agent
    except KeyFormatError:
        return ""


def _again(seen: VisibleMessage, first: VisibleMessage) -> AlignedPair:
    """A repeated message: a copy, unless its text marks it as a possible repeat."""
    if seen.text != first.text and seen.text.endswith(first.text):
        return AlignedPair(seen=seen, note="sent once more, and marked as that")
    return AlignedPair(seen=seen, difference=TranscriptDifference.COPY)


def _words(line: TranscriptEntry, seen: VisibleMessage) -> TranscriptDifference:
    """Compare an entry with a visible message, which may be a part of it; for files, compare their names."""
    if seen.media and line.text == mirror_text(seen.text, seen.media):
        return TranscriptDifference.NONE
    ours, theirs = " ".join(line.text.split()), " ".join(seen.text.split())
    return TranscriptDifference.NONE if theirs in ours or ours in theirs else TranscriptDifference.TEXT
