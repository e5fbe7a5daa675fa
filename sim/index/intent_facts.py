"""What checkers know of one intent, and of the conversation that it waits in."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.core.events import Event
from trunkline.core.events.delivery import AttemptEnded, IntentPrepared
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.wire import WireAccepted

Lane = tuple[str, str, str, str]


@dataclass(slots=True)
class LaneFacts:
    """One outbound lane: the intents of a conversation, strictly one after another."""

    lane: Lane
    #: open intents, in order of preparation
    open: dict[str, None]
    #: when the first of them is due, by which event; none while it is being attempted
    due: float | None = None
    due_by: Event | None = None
    #: the event of a wait whose end only the gateway knows
    waiting: Event | None = None
    #: the newest accept: seq of the intent's preparation, chunk, and the event
    newest: tuple[int, int, Event] | None = None


@dataclass(slots=True)
class IntentFacts:
    """One intent: its preparation, its accepts, and its state so far."""

    prepared: Event
    body: IntentPrepared
    #: the lane of its conversation
    queue: LaneFacts
    accepts: tuple[Event, ...] = ()
    #: what the platform carried out of it, if it is a change
    acts: tuple[Event, ...] = ()
    #: number of leading chunks with a receipt
    acked: int = 0
    #: attempts on the next chunk, over all processes, and the last of them
    tries: int = 0
    started: Event | None = None
    #: the last outcome of an attempt on the next chunk
    ended: Event | None = None
    mirrors: tuple[Event, ...] = ()
    settled: tuple[Event, ...] = ()
    #: an operator acted on it; vouched for a chunk; and closed it
    reopened: Event | None = None
    vouched: bool = False
    closed: bool = False

    @property
    def lane(self) -> Lane:
        """Its conversation."""
        return self.queue.lane

    def reopen(self, event: Event) -> None:
        """Apply an operator's reopening: attempts count from zero."""
        self.reopened, self.closed = event, False
        self.tries = 0
        self.started = self.ended = None

    @property
    def over(self) -> bool:
        """Whether it has ended, and no operator has reopened it since."""
        if self.closed:
            return True
        return bool(self.settled) and (self.reopened is None or self.settled[-1].seq > self.reopened.seq)

    @property
    def last(self) -> Event:
        """The last event that is known of it."""
        known = (
            self.prepared,
            self.reopened,
            self.started,
            self.ended,
            *self.accepts[-1:],
            *self.acts[-1:],
            *self.settled[-1:],
        )
        return max((event for event in known if event is not None), key=lambda event: event.seq)

    @property
    def may_be_out(self) -> bool:
        """Whether the next chunk may have been accepted without a stored receipt, if the process dies now."""
        if self.started is None or self.over:
            return False
        ended = self.ended.body if self.ended is not None and self.ended.seq > self.started.seq else None
        return not isinstance(ended, AttemptEnded) or ended.decision in ("settle", "misplaced")

    @property
    def accepted_chunks(self) -> set[int]:
        """Chunks that people can see, or requests of a change that were carried out."""
        done = (event.body for event in (*self.accepts, *self.acts))
        return {body.chunk for body in done if isinstance(body, WireAccepted | WireActed)}
