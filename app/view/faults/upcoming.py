"""Events after the cursor that a fault may strike, so that its preview can name them.

A branch is the same run until its fault strikes, so the next events of the open run are those of the branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from trunkline.app.text.cells import clean, cut, quoted, seconds
from trunkline.app.view.faults.cursor_context import CursorContext
from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Body, Event
from trunkline.core.events.bindings import BindingBound, BindingEnded
from trunkline.core.events.delivery import AttemptStarted, ChunkAcked, IntentPrepared
from trunkline.core.events.gateway import ProcessStarted, SessionCreated
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished, DelegationStarted
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid

#: the gateway processes that a run may have
PROCESSES = ("gateway", "second")
#: events listed per kind
MOST = 6
#: cells of a text in a preview
_TEXT = 28


class UpcomingEvent(msgspec.Struct, frozen=True):
    """An event after the cursor."""

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

    bound = _bound(before, lane)
    agent, other = _sessions(before, lane, bound)

    def here(kind: type[Body]) -> tuple[UpcomingEvent, ...]:
        def fits(event: Event) -> bool:
            return isinstance(event.body, kind) and lane in (None, _lane(view, event))

        return _some(view, coming, fits, instant)

    def sends(event: Event) -> bool:
        return isinstance(event.body, AttemptStarted) and lane in (None, _lane(view, event))

    # A fault does not count a send that another fault strikes.
    unstruck = [event for event in coming if event.at not in struck]
    passed = [event for event in instant if event.at not in struck]
    return Upcoming(
        sends=_some(view, unstruck, sends, passed),
        accepts=here(WireAccepted),
        receipts=here(ChunkAcked),
        said=here(PeerSaid),
        tasks=_some(view, coming, _starts, instant),
        messages=_some(view, later, lambda event: isinstance(event.body, PeerSaid | WireAccepted)),
        sent=next((_coming(view, one) for one in reversed(before) if sends(one)), None),
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
        tries = view.of_intent(event.intent, AttemptStarted)
        process = next((one.node for one in reversed(tries) if one.seq < event.seq), "gateway")
    return UpcomingEvent(event.seq, event.at, quoted(cut(clean(_text(view, event)), _TEXT)), process)


def _text(view: RunView, event: Event) -> str:
    body = event.body
    if isinstance(body, PeerSaid | WireAccepted):
        return body.text
    if isinstance(body, DelegationStarted):
        accepted = view.of_delegation(event.delegation, DelegationAccepted)
        return next((one.body.task for one in accepted if isinstance(one.body, DelegationAccepted)), body.hand)
    prepared = view.of_intent(event.intent, IntentPrepared)
    return next((one.body.text for one in prepared if isinstance(one.body, IntentPrepared)), "")


def _lane(view: RunView, event: Event) -> PlaceKey | None:
    body = event.body
    if isinstance(body, PeerSaid | WireAccepted | ChunkAcked):
        return body.address.lane
    prepared = view.of_intent(event.intent, IntentPrepared)
    return next((one.body.address.lane for one in prepared if isinstance(one.body, IntentPrepared)), None)


# ---------------------------------------------------------------- the state at the cursor


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
        if isinstance(body, ProcessStarted):
            nodes[event.generation] = event.node
        elif isinstance(body, ProcessCrashed | ProcessStopped):
            # The simulator records it under the generation of the process.
            alive.pop(nodes.get(event.generation, ""), None)
            continue
        if event.node in PROCESSES:
            alive.pop(event.node, None)
            alive[event.node] = None
    # Before any process has started, the first one is about to start.
    return next(reversed(alive), None) if nodes else "gateway"


def _bound(before: Sequence[Event], lane: PlaceKey | None) -> str | None:
    found: str | None = None
    for event in before:
        body = event.body
        if isinstance(body, BindingBound) and body.conversation.lane == lane:
            found = body.session_key
        elif isinstance(body, BindingEnded) and body.conversation.lane == lane:
            found = None
    return found


def _sessions(before: Sequence[Event], lane: PlaceKey | None, bound: str | None) -> tuple[str | None, str | None]:
    """The agent that has a session for the conversation, and the newest session of another conversation."""
    agent: str | None = None
    taken, others = {bound}, list[str]()
    for event in before:
        body = event.body
        if isinstance(body, SessionCreated) and body.address is not None:
            if body.address.lane == lane:
                agent = body.agent
                taken.add(body.session_key)
            else:
                others.append(body.session_key)
    return agent, next((key for key in reversed(others) if key not in taken), None)
