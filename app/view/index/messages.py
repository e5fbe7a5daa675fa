"""The histories of all messages of a run, computed in one pass for the Messages, Queue and Hands screens.

A message that was deliberately not sent has a history too, a short one with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from trunkline.app.view.index.evidence import BrokenThings
from trunkline.app.view.index.growing import GrowingRows
from trunkline.app.view.index.message import AttemptRecord, MessageHistory, QueueState, SharedRecords
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared, IntentSuppressed, SendPreviewed, SendRefused
from trunkline.core.events.leases import LeaseGone
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.wire import WireAccepted, WireLookedUp
from trunkline.sim.index.projection import on
from trunkline.sim.invariants.base import Violation


class MessageHistories(GrowingView, Sequence[MessageHistory]):
    """The histories of a run, in the order of their beginnings."""

    def __init__(self, view: RunView) -> None:
        super().__init__(view)
        self._by_id: dict[str, MessageHistory] = {}
        self._by_key: dict[str, MessageHistory] = {}
        self._shared = SharedRecords()
        #: process -> the event that ended it
        self.deaths: dict[int, int] = {}
        #: in the order of their beginnings
        self.all = GrowingRows[MessageHistory](attrgetter("seq"))
        #: what each event changed: a reader goes on from where it was, and knows what is new
        self.changed: list[MessageHistory] = []
        #: what the messages violated, by id
        self.broken = BrokenThings()
        self.grow()

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, index: int) -> MessageHistory:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.all[index]

    def __iter__(self) -> Iterator[MessageHistory]:
        return iter(self.all)

    def of(self, name: str | None) -> MessageHistory | None:
        """A history by the id of its intent."""
        return self._by_id.get(name or "")

    def of_event(self, event: Event) -> MessageHistory | None:
        own = self._by_id.get(event.intent or "") or self._by_id.get(_unsaid(event))
        if own is None and isinstance(event.body, WireLookedUp):
            return self._by_key.get(_stem(event.body.key))
        return own

    def try_of(self, event: Event) -> AttemptRecord | None:
        return self._shared.tries.get(event.seq)

    def place(self, history: MessageHistory) -> int:
        """The index of a history in the order."""
        place = self.all.place(history.seq)
        assert place is not None
        return place

    def prepared_by(self, seq: int) -> list[MessageHistory]:
        """Every intent that was prepared up to event `seq`, in order."""
        return [history for history in self.all[: self.all.upto(seq)] if history.prepared is not None]

    def evidence(self, history: MessageHistory, seq: int) -> int:
        """The best evidence against a message by then: a delivery, else the last event; 0 for none."""
        shown = self.broken.evidence(history.id, seq)
        seen = [evidence for evidence in shown if isinstance(self.view.event(evidence).body, WireAccepted)]
        return max(seen or shown, default=0)

    # ------------------------------------------------------------ growing

    def take(self, event: Event) -> None:
        """Show an event to the history of its intent."""
        if event.intent is None or isinstance(event.body, ProcessCrashed | ProcessStopped | LeaseGone):
            super().take(event)
            return
        history = self._by_id.get(event.intent) or self._begin(event.intent, event)
        if isinstance(event.body, IntentPrepared):
            self._by_key[_stem(event.body.key)] = history
            if history.prepared is None and history.first is not event:
                # It moves behind those that began since.
                self.all.remove(history)
                history.prepared = event
                self.all.add(history)
        history.learn(event)
        self.changed.append(history)

    def _begin(self, name: str, event: Event) -> MessageHistory:
        history = self._by_id[name] = MessageHistory(name, event, self._shared)
        self.all.add(history)
        return history

    @on(IntentSuppressed, SendPreviewed, SendRefused)
    def _not_sent(self, event: Event, body: IntentSuppressed | SendPreviewed | SendRefused) -> None:
        history = self._begin(_unsaid(event), event)
        history.learn(event)
        history.enter(event, QueueState.UNSAID, body.reason)
        self.changed.append(history)

    @on(WireLookedUp)
    def _looked_up(self, event: Event, body: WireLookedUp) -> None:
        """Take a look-up, which names a key and no intent."""
        history = self._by_key.get(_stem(body.key))
        if history is not None and history.tries:
            history.tries[-1].wire.append(event)
            self.changed.append(history)

    @on(ProcessCrashed, ProcessStopped, LeaseGone)
    def _died(self, event: Event, _body: ProcessCrashed | ProcessStopped | LeaseGone) -> None:
        self.deaths[event.generation] = event.seq
        for history in self._shared.held.pop(event.generation, {}).values():
            now = history.steps[-1]
            if now.state is QueueState.LEASED and now.owners == (event.generation,):
                history.enter(event, QueueState.ORPHANED, "its process died", owners=now.owners)
                self.changed.append(history)

    def judge(self, violation: Violation, event: Event) -> None:
        history = self.of_event(event)
        if history is not None:
            self.broken.add(history.id, violation, event.seq)


def _unsaid(event: Event) -> str:
    """The id of a message that has no intent."""
    return f"#{event.seq}"


def _stem(key: str) -> str:
    """A key without its chunk number."""
    return key.rpartition("/")[0] or key
