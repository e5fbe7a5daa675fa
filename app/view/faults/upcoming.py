"""Events after the cursor that a fault may strike, so that its preview can name them.

A branch is the same run until its fault strikes, so the next events of the open run are those of the branch.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from trunkline.app.text.cells import clean, cut, quoted, seconds
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Body, Event, delivery, gateway
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished, DelegationStarted
from trunkline.core.values import Address
from trunkline.sim.events import processes, wire, world
from trunkline.sim.events.script import FaultFired
from trunkline.sim.run.fault_board import where
from trunkline.sim.scenario import PlaceError, PlaceRef, ScenarioFile

# Where a fault is placed: the time of the cursor, and the conversation and message under it.
#
# Places have the names of the scenario file, so that a step can use them.

#: resolution of the clock, seconds
GRAIN = 1e-6


class CursorContext(msgspec.Struct, frozen=True, kw_only=True):
    """Place and time of the cursor. `place` is the scenario's name of the conversation; none: not in a conversation."""

    at: float
    seq: int
    place: str | None = None
    ref: PlaceRef | None = None
    address: Address | None = None
    #: id and text of the `say` step under the cursor
    said: str | None = None
    text: str = ""
    #: the gateway has posted there under another identity, so it has a webhook
    webhook: bool = False

    @property
    def early(self) -> bool:
        """Whether a fault can be placed before the instant of the cursor, to be active when that begins."""
        return bool(self.seq) and self.at > GRAIN


def cursor_context(view: RunView, file: ScenarioFile, seq: int) -> CursorContext:
    """The context of a cursor; 0 is before the first event."""
    if not seq:
        return CursorContext(at=0.0, seq=0)
    event = view.event(seq)
    address = address_of(view, event)
    place, ref = place_names(view.events, file).get(address.lane, (None, None)) if address else (None, None)
    posted = view.posted(seq)
    said = posted.inbound if posted and posted.inbound in _said_before(file, event.at) else None
    text = posted.body.text if said and posted and isinstance(posted.body, world.PeerSaid) else ""
    return CursorContext(
        at=event.at,
        seq=seq,
        place=place,
        ref=ref,
        address=address,
        said=said,
        text=text,
        webhook=address is not None and _has_webhook(view, address, seq),
    )


def address_of(view: RunView, event: Event) -> Address | None:
    """The conversation of an event: its own, else that of its message, its delegation or its causes."""
    near = (
        event,
        *view.of_intent(event.intent, delivery.IntentPrepared),
        *view.of_inbound(event.inbound, gateway.InboundReceived, world.PeerSaid),
        *view.of_delegation(event.delegation, DelegationAccepted),
        *(view.event(seq) for seq in reversed(view.causes.path(event.seq))),
    )
    return next((place for seq in near if (place := _where(seq)) is not None), None)


def _where(event: Event) -> Address | None:
    origin = getattr(event.body, "origin", None)
    return where(event.body) or (origin if isinstance(origin, Address) else None)


def place_names(events: Iterable[Event], file: ScenarioFile) -> dict[PlaceKey, tuple[str, PlaceRef]]:
    """The places of a run that the scenario can name, each with its shortest name."""
    found: dict[PlaceKey, tuple[str, PlaceRef]] = {}
    for event in events:
        body = event.body
        if isinstance(body, world.WorldPlace) and (named := name_of(file, body.address, body.name)) is not None:
            found.setdefault(body.address.lane, named)
    return found


def name_of(file: ScenarioFile, address: Address, tail: str) -> tuple[str, PlaceRef] | None:
    """The shortest unambiguous name of a place in a file; none if the file cannot name it."""
    for text in (tail, f"{address.channel}/{tail}", f"{address.channel}:{address.account}/{tail}"):
        try:
            ref = file.resolve(text)
        except PlaceError:
            continue
        if (ref.platform, ref.account, ref.tail) == (address.channel, address.account, tail):
            return text, ref
    return None


def _said_before(file: ScenarioFile, at: float) -> set[str]:
    """Ids of the `say` steps up to a time."""
    times = [time for step, time in zip(file.scenario.script, file.times, strict=True) if step.say is not None]
    return {name for name, time in zip(file.say_ids, times, strict=True) if time <= at}


def _has_webhook(view: RunView, address: Address, seq: int) -> bool:
    bodies = (event.body for event in view.events[:seq])
    posted = (body for body in bodies if isinstance(body, wire.WireAccepted) and body.identity is not None)
    return any(_room(body.address) == _room(address) for body in posted)


def _room(address: Address) -> tuple[str, str, str]:
    return address.channel, address.account, address.parent or address.conversation


#: the gateway processes that a run may have
PROCESSES = ("gateway", "second")
#: events listed per kind
MOST = 6
#: cells of a text in a preview
_TEXT = 28


class UpcomingEvent(msgspec.Struct, frozen=True):
    seq: int
    at: float
    text: str
    #: the gateway process that it belongs to
    process: str
    #: its ordinal among its kind, for a fault that waits from `PaletteContext.armed` on
    nth: int = 1

    @property
    def where(self) -> str:
        """The event as previews name it."""
        return f"#{self.seq}, {seconds(self.at)} s"


class Upcoming(msgspec.Struct, frozen=True, kw_only=True):
    """Events after the cursor, in order, and the state at the cursor. Messages are those of its conversation."""

    #: attempts to send
    sends: tuple[UpcomingEvent, ...] = ()
    #: sends that the platform accepts
    accepts: tuple[UpcomingEvent, ...] = ()
    #: stored receipts
    receipts: tuple[UpcomingEvent, ...] = ()
    #: messages that people post there
    said: tuple[UpcomingEvent, ...] = ()
    #: hands that start, anywhere
    tasks: tuple[UpcomingEvent, ...] = ()
    #: all messages, anywhere
    messages: tuple[UpcomingEvent, ...] = ()
    #: names of the running hands
    working: tuple[str, ...] = ()
    #: the last attempt to send there before the cursor, and the last hand that started
    sent: UpcomingEvent | None = None
    started: UpcomingEvent | None = None
    #: the active gateway process; none: none runs
    process: str | None = "gateway"
    #: key of the session that the conversation is bound to
    bound_session: str | None = None
    #: the agent of the session that was created for the conversation
    agent: str | None = None
    #: the newest session of another conversation
    other_session: str | None = None


def upcoming_after(view: RunView, spot: CursorContext) -> Upcoming:
    """The events after the cursor, and the state at it."""
    lane = None if spot.address is None else spot.address.lane
    later = view.events[view.seq_at(spot.at) :] if spot.seq else view.events
    before = view.events[: len(view.events) - len(later)]
    # A waiting fault is active before the instant of the cursor, which may have more events after the cursor.
    coming = view.events[spot.seq :] if spot.early else later
    instant = view.events[view.seq_before(spot.at) : spot.seq] if spot.early else ()
    struck = {event.at for event in coming if isinstance(event.body, FaultFired) and event.body.fault[:5] == "send/"}

    holder = None if lane is None else view.bindings.held(lane, len(before))
    bound = None if holder is None else holder.session_key
    agent, other = _sessions(view, len(before), lane, bound)

    def here(kind: type[Body]) -> tuple[UpcomingEvent, ...]:
        def fits(event: Event) -> bool:
            return isinstance(event.body, kind) and lane in (None, _lane(view, event))

        return _some(view, coming, fits, instant)

    def sends(event: Event) -> bool:
        return isinstance(event.body, delivery.AttemptStarted) and lane in (None, _lane(view, event))

    # A fault does not count a send that another fault strikes.
    unstruck = [event for event in coming if event.at not in struck]
    passed = [event for event in instant if event.at not in struck]
    return Upcoming(
        sends=_some(view, unstruck, sends, passed),
        accepts=here(wire.WireAccepted),
        receipts=here(delivery.ChunkAcked),
        said=here(world.PeerSaid),
        tasks=_some(view, coming, _starts, instant),
        messages=_some(view, later, lambda event: isinstance(event.body, world.PeerSaid | wire.WireAccepted)),
        sent=next((_coming(view, event) for event in reversed(before) if sends(event)), None),
        working=tuple(_working(before)),
        started=next((_coming(view, event) for event in reversed(before) if _starts(event)), None),
        process=_process(before),
        bound_session=bound,
        agent=agent,
        other_session=other,
    )


def _some(
    view: RunView, events: Iterable[Event], fits: Callable[[Event], bool], passed: Iterable[Event] = ()
) -> tuple[UpcomingEvent, ...]:
    """The first events that fit, numbered. `passed`: earlier events that a waiting fault would count too."""
    first = sum(map(fits, passed)) + 1
    found = islice(filter(fits, events), MOST)
    return tuple(msgspec.structs.replace(_coming(view, event), nth=first + n) for n, event in enumerate(found))


def _coming(view: RunView, event: Event) -> UpcomingEvent:
    process = event.node
    if process not in PROCESSES:
        tries = view.of_intent(event.intent, delivery.AttemptStarted)
        process = next((attempt.node for attempt in reversed(tries) if attempt.seq < event.seq), "gateway")
    return UpcomingEvent(event.seq, event.at, quoted(cut(clean(_text(view, event)), _TEXT)), process)


def _text(view: RunView, event: Event) -> str:
    body = event.body
    if isinstance(body, world.PeerSaid | wire.WireAccepted):
        return body.text
    if isinstance(body, DelegationStarted):
        accepted = view.of_delegation(event.delegation, DelegationAccepted)
        return next((event.body.task for event in accepted if isinstance(event.body, DelegationAccepted)), body.hand)
    prepared = view.prepared(event)
    return prepared.text if prepared is not None else ""


def _lane(view: RunView, event: Event) -> PlaceKey | None:
    body = event.body
    if isinstance(body, world.PeerSaid | wire.WireAccepted | delivery.ChunkAcked):
        return body.address.lane
    prepared = view.prepared(event)
    return prepared.address.lane if prepared is not None else None


def _starts(event: Event) -> bool:
    return isinstance(event.body, DelegationStarted)


def _working(before: Sequence[Event]) -> Iterator[str]:
    open_: dict[str | None, str] = {}
    for event in before:
        if isinstance(event.body, DelegationStarted):
            open_[event.delegation] = event.body.hand
        elif isinstance(event.body, DelegationFinished):
            open_.pop(event.delegation, None)
    yield from dict.fromkeys(open_.values())


def _process(before: Sequence[Event]) -> str | None:
    """The process that was active last; of two, that one holds the store."""
    nodes: dict[int, str] = {}
    alive: dict[str, None] = {}
    for event in before:
        body = event.body
        if isinstance(body, gateway.ProcessStarted):
            nodes[event.generation] = event.node
        elif isinstance(body, processes.ProcessCrashed | processes.ProcessStopped):
            # The simulator records it under the generation of the process.
            alive.pop(nodes.get(event.generation, ""), None)
            continue
        if event.node in PROCESSES:
            alive.pop(event.node, None)
            alive[event.node] = None
    # Before any process has started, the first one is about to start.
    return next(reversed(alive), None) if nodes else "gateway"


def _sessions(view: RunView, seq: int, lane: PlaceKey | None, bound: str | None) -> tuple[str | None, str | None]:
    """The agent that has a session for the conversation, and the newest session of another conversation."""
    # One that an earlier run left in the store has no agent here.
    made = [(of.address.lane, of) for of in view.sessions.at(seq).values() if of.agent and of.address is not None]
    agent = next((of.agent for where, of in reversed(made) if where == lane), None)
    return agent, next((of.key for where, of in reversed(made) if where != lane and of.key != bound), None)
