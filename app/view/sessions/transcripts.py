"""Sessions, and the transcript of each beside the messages that people saw in its conversation.

Both sides are aligned by subject: an inbound on the left matches the message that a person posted, and a mirrored text
the intent that a platform accepted. A row differs when one side lacks it or has another text.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.index.transcripts import SessionState, TranscriptEntry, VisibleMessage
from trunkline.app.view.sessions.alignment_index import AlignedPair, AlignmentIndex, TranscriptDifference
from trunkline.core.errors import KeyFormatError
from trunkline.core.events import Event, delivery
from trunkline.core.events.gateway import InboundAdmitted, InboundReceived, RouteDecided, SessionLeft, TurnStarted
from trunkline.core.keys import canonical_key
from trunkline.core.values import Address, IntentKind, WorkKind
from trunkline.sim.events import wire, world

# Which session a visible message belongs to, where a conversation had several.
#
# A conversation may get another session (`session.left`), and several agents may answer in one. A message belongs to
# the session that received it, an answer to the session of its turn unless the conversation has left that, and anything
# else to the session that the conversation had at that time. While a conversation is bound, it belongs to the bound
# session, no matter who posts.


class Ownership:
    """Assigns visible messages to sessions. A session goes by the last key that it had."""

    def __init__(
        self, view: RunView, places: Mapping[str, Collection[PlaceKey]], heard: Mapping[int, Collection[str]]
    ) -> None:
        """`places`: the conversations of each session. `heard`: the sessions that received a posted message."""
        self._view = view
        self._places = places
        self._heard = heard
        self._left: dict[PlaceKey, list[tuple[int, str, str]]] = {}
        #: sessions that a conversation has left
        self.deserted: set[str] = set()
        sessions = view.sessions.at(view.last)
        #: the conversation that a session was created for
        self._own = {key: facts.address for key, facts in sessions.items() if facts.address is not None}
        #: for a place with a session of its own, the sessions that own it only while it is bound to them
        self._guests = self._find_guests()
        for event in view.left:
            assert isinstance(event.body, SessionLeft)
            self.deserted.add(view.session_moves.last_key(event.body.old_key, event.seq))
            self._learn(event, event.body)

    def _find_guests(self) -> dict[PlaceKey, set[str]]:
        homes, found = self._view.session_moves, dict[PlaceKey, set[str]]()
        for row in self._view.bindings.rows(self._view.last):
            place, key = row.conversation.lane, homes.last_key(row.session_key, row.since)
            address = self._own.get(key)
            if address is None or address.lane != place:
                found.setdefault(place, set()).add(key)
        hosted = {place for key, places in self._places.items() for place in places if key not in found.get(place, ())}
        return {place: keys for place, keys in found.items() if place in hosted}

    def _learn(self, event: Event, body: SessionLeft) -> None:
        homes = self._view.session_moves
        old, new = homes.last_key(body.old_key, event.seq), homes.last_key(body.session_key, event.seq)
        both = [place for place in self._places.get(old, ()) if place in self._places.get(new, ())]
        own = self._conversation(event)
        for place in [own] if own in both else both:
            self._left.setdefault(place, []).append((event.seq, old, new))

    def _conversation(self, event: Event) -> PlaceKey | None:
        """The conversation whose message or answer caused it to leave the session."""
        near = self._view.nearest(event.seq, RouteDecided, delivery.IntentPrepared)
        address = getattr(near.body, "reply_to", None) or getattr(near.body, "address", None) if near else None
        return address.lane if isinstance(address, Address) else None

    def holds(self, key: str, message: VisibleMessage) -> bool:
        """Whether a visible message belongs to a session."""
        held = [other for other in self._holders(message) if message.place in self._places.get(other, ())]
        return key in held if held else self.has(key, message.place, message.seq)

    def has(self, key: str, place: PlaceKey, seq: int) -> bool:
        """Whether a conversation belongs to a session after event `seq`."""
        # A binding that is ending holds it, too.
        bound = self._view.bindings.held(place, seq)
        if bound is not None:
            return self._view.session_moves.last_key(bound.session_key, bound.since) == key
        if key in self._guests.get(place, ()):
            return False
        left = self._left.get(place, [])
        if not any(key in (old, new) for _, old, new in left):
            return True
        holder = left[0][1]
        for at, _, new in left:
            holder = new if at <= seq else holder
        return holder == key

    def _holders(self, message: VisibleMessage) -> Collection[str]:
        if message.who:
            return self._heard.get(message.seq, ())
        for prepared in self._view.of_intent(message.intent, delivery.IntentPrepared):
            assert isinstance(prepared.body, delivery.IntentPrepared)
            if prepared.body.intent_kind is IntentKind.NOTICE:
                # A notice answers no turn, so it belongs to the session of the conversation.
                return [key for key, address in self._own.items() if address.lane == message.place]
            key = self._answering(self._view.nearest(prepared.seq, TurnStarted), message.place)
            # The message is remembered where people are: not in a session that their conversation has left.
            left = any(old == key and at <= message.seq for at, old, _ in self._left.get(message.place, ()))
            if key is not None and not left:
                return (key,)
            row = self._view.bindings.row(prepared.binding, prepared.seq)
            if row is not None and row.conversation.lane == message.place:
                return (self._view.session_moves.last_key(row.session_key, row.since),)
        return ()

    def _answering(self, turn: Event | None, place: PlaceKey) -> str | None:
        """The session of a turn that answers in its own conversation."""
        body = turn.body if turn is not None else None
        if turn is None or not isinstance(body, TurnStarted) or body.origin is None or body.origin.lane != place:
            return None
        return self._view.session_moves.last_key(body.session_key, turn.seq)


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
        pairs: list[AlignedPair] = []
        for pair in self._aligned(owner):
            if pair is not None:
                pairs.append(pair)
            yield
        self._pairs[owner] = sorted(pairs, key=lambda pair: pair.seq)
        yield
        self._indexes[owner] = AlignmentIndex(self._pairs[owner], self.view.marks)
        yield

    def _aligned(self, owner: str | PlaceKey) -> Iterator[AlignedPair | None]:
        """The rows of an alignment; none for a step without a row."""
        seen: list[VisibleMessage] = []
        for message in self._shown(owner):
            if not isinstance(owner, str) or self._ownership.holds(owner, message):
                seen.append(message)
            yield None
        for pair in self._align(self.view.transcripts.of(owner) if isinstance(owner, str) else (), seen):
            yield self._of_another_agent(owner, pair)

    def _of_another_agent(self, owner: str | PlaceKey, pair: AlignedPair) -> AlignedPair:
        """A message that another agent wrote there is remembered in that agent's session of the same conversation."""
        if (
            pair.difference is not TranscriptDifference.MISSING_MIRROR
            or pair.seen is None
            or not isinstance(owner, str)
        ):
            return pair
        for event in self.view.of_intent(pair.seen.intent, delivery.MirrorAppended):
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
            if said is not None and isinstance(said.body, world.PeerSaid):
                self._said_by[line.seq] = said.seq
                self._places[key][said.body.address.lane] = None
                yield said.seq

    def _is_task(self, line: TranscriptEntry) -> bool:
        """Whether a line is the task of a hand that is an agent: its caller wrote it, and nobody posted it."""
        admitted = self.view.of_inbound(line.inbound, InboundAdmitted)
        return any(isinstance(event.body, InboundAdmitted) and event.body.work is WorkKind.TASK for event in admitted)

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
        posted = {message.seq: message for message in seen if message.who}
        said: dict[str | None, list[VisibleMessage]] = {}
        for message in seen:
            if not message.who:
                said.setdefault(message.intent, []).append(message)
        mirrors: dict[str | None, list[TranscriptEntry]] = {}
        for line in lines:
            if line.role == "agent":
                mirrors.setdefault(line.intent, []).append(line)
            elif line.role == "user":
                yield self._heard(line, posted)
            else:
                # A completion of a hand, a note about a bad end, or a reset: not visible to people.
                yield AlignedPair(line=line)
        yield from (AlignedPair(seen=message, difference=TranscriptDifference.UNHEARD) for message in posted.values())
        for intent in dict.fromkeys((*said, *mirrors)):
            yield from self._spoken(intent, mirrors.get(intent, []), said.get(intent, []))

    def _heard(self, line: TranscriptEntry, posted: dict[int, VisibleMessage]) -> AlignedPair:
        source = self._said_by.get(line.seq)
        message = posted.pop(source, None) if source else None
        if message is None:
            return AlignedPair(
                line=line, difference=TranscriptDifference.TWICE if source else TranscriptDifference.NONE
            )
        return AlignedPair(line=line, seen=message, difference=_words(line, message))

    def _spoken(
        self, intent: str | None, mirrors: list[TranscriptEntry], seen: list[VisibleMessage]
    ) -> Iterator[AlignedPair]:
        """Mirrors of one intent beside its accepted chunks; a chunk that is accepted again is a copy."""
        firsts: dict[int, VisibleMessage] = {}
        for message in seen:
            if message.chunk in firsts:
                yield _again(message, firsts[message.chunk])
            else:
                firsts[message.chunk] = message
        chunks = list(firsts.values())
        for index, line in enumerate(mirrors):
            if index < len(chunks):
                yield AlignedPair(line=line, seen=chunks[index], difference=self._text_difference(line, chunks[index]))
            else:
                yield self._unseen(line, intent, here=bool(chunks))
        named = self._named(intent)
        missing = (
            TranscriptDifference.NONE
            if mirrors or named or self._of_guest(intent)
            else TranscriptDifference.MISSING_MIRROR
        )
        note = self._mirrored_elsewhere(intent, named=named) if chunks and not mirrors else ""
        yield from (AlignedPair(seen=chunk, difference=missing, note=note) for chunk in chunks[len(mirrors) :])

    def _unseen(self, line: TranscriptEntry, intent: str | None, *, here: bool) -> AlignedPair:
        if here:
            return AlignedPair(line=line, difference=TranscriptDifference.TWICE)
        for event in self.view.of_intent(intent, wire.WireAccepted):
            address = getattr(event.body, "address", None)
            where = self.view.places.label(address)
            if self._named(intent):
                return AlignedPair(line=line, note=f"said in {where}, for this session")
            if self._of_guest(intent):
                return AlignedPair(line=line, note=f"said in {where}, which is bound to this session")
            return AlignedPair(
                line=line, difference=TranscriptDifference.FOREIGN_MIRROR, note=f"said in {where}, not here"
            )
        if not self.view.visible.witnessed:
            # Nobody but the gateway says what people saw: there is nothing to compare with.
            return AlignedPair(line=line)
        return AlignedPair(line=line, difference=TranscriptDifference.UNDELIVERED)

    def _named(self, intent: str | None) -> bool:
        """Whether the sender named the session that remembers it, which may be another than that of the place."""
        found = (event.body for event in self.view.of_intent(intent, delivery.IntentPrepared))
        return any(isinstance(body, delivery.IntentPrepared) and body.named_session for body in found)

    def _of_guest(self, intent: str | None) -> bool:
        """Whether the session to which its place was bound by then remembers it, for another one that said it."""
        last_key = self.view.session_moves.last_key
        for accept in self.view.of_intent(intent, wire.WireAccepted):
            for event in self.view.of_intent(intent, delivery.MirrorAppended):
                assert isinstance(accept.body, wire.WireAccepted)
                assert isinstance(event.body, delivery.MirrorAppended)
                row = self.view.bindings.held(accept.body.address.lane, event.seq)
                if row and last_key(row.session_key, row.since) == last_key(event.body.session_key, event.seq):
                    return True
        return False

    def _mirrored_elsewhere(self, intent: str | None, *, named: bool) -> str:
        for event in self.view.of_intent(intent, delivery.MirrorAppended):
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
    """Compare an entry with a visible message, which may be a part of it: the names of files are below the words."""
    ours, theirs = " ".join(line.text.split()), " ".join(seen.text.split())
    return TranscriptDifference.NONE if theirs in ours or ours in theirs else TranscriptDifference.TEXT


# The invariants that a session violates: by a row of its transcript, or as a whole.

#: event of a violation, and the id of its invariant
Broken = tuple[int, str]
#: events of a received message, which a line of the transcript stands for
_HEARD = (InboundReceived, InboundAdmitted, TurnStarted, RouteDecided)


class SessionViolations:
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
            everything = [violation for pair in self.sessions.pairs(owner) for violation in self._of(pair)]
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
