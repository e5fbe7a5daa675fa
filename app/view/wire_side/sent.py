"""The requests by which a foreign gateway sends or changes a message, each with what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trunkline.app.text.fact import Tone
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.app.view.kinds.attach import OUTCOMES
from trunkline.app.view.labels.messages import place_cell, wire_word
from trunkline.core.events import Body, Event
from trunkline.sim.events.attach import GatewayExited, GatewayLaunched
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.wire import WireAccepted, WireCalled, WireDeleted, WireEdited, WireResponded, WireResponseLost
from trunkline.sim.index.marks import AnswerMark, answers_in
from trunkline.sim.index.projection import on

#: what is drawn as a mark between requests: starts, ends and freezes of the gateway
MARKERS = (GatewayLaunched, GatewayExited, ProcessCrashed, ProcessStopped, ProcessFrozen, ProcessThawed)


class SentOnWire:
    """A request to send or to change a message."""

    __slots__ = ("body", "called", "marks", "number", "outcomes", "responded")

    def __init__(self, called: Event, body: WireCalled, number: int) -> None:
        self.called = called
        self.body = body
        #: the same text to the same place before it, and itself
        self.number = number
        self.marks: tuple[AnswerMark, ...] = answers_in(body.text)
        #: what the platform did with it, in order
        self.outcomes: list[Event] = []
        self.responded: Event | None = None

    @property
    def seq(self) -> int:
        """The event of its arrival."""
        return self.called.seq

    def visible(self, seq: int) -> Event | None:
        """The event up to `seq` by which people see it."""
        shown = (one for one in self.outcomes if isinstance(one.body, WireAccepted | WireEdited))
        return next((one for one in shown if one.seq <= seq), None)

    def lost(self, seq: int) -> bool:
        """Whether the gateway never got the response, up to event `seq`."""
        return any(isinstance(one.body, WireResponseLost) and one.seq <= seq for one in self.outcomes)


class WireSends(GrowingView):
    """Every such request of a run, and the marks between them, in order."""

    def __init__(self, view: RunView) -> None:
        super().__init__(view)
        self._by_seq: dict[int, SentOnWire] = {}
        self._again = Counter[tuple[object, ...]]()
        self._of_question: dict[str, list[SentOnWire]] = {}
        #: requests, and marks between them
        self.rows: list[SentOnWire | Event] = []
        self.grow()

    @on(*MARKERS)
    def _marked(self, event: Event, body: Body) -> None:
        if not (isinstance(body, GatewayLaunched) and body.number == 1):
            self.rows.append(event)

    @on(*OUTCOMES, WireResponded)
    def _came_of(self, event: Event, body: Body) -> None:
        sent = self._by_seq.get(event.cause or 0)
        if sent is not None and isinstance(body, WireResponded):
            sent.responded = event
        elif sent is not None:
            sent.outcomes.append(event)
            self._by_seq[event.seq] = sent

    @on(WireCalled)
    def _called(self, event: Event, body: WireCalled) -> None:
        if body.what not in ("send", "act") or body.address is None:
            return
        what = (body.method, body.address, body.text, body.message_id, body.action)
        self._again[what] += 1
        sent = self._by_seq[event.seq] = SentOnWire(event, body, self._again[what])
        self.rows.append(sent)
        for name in dict.fromkeys(mark.question for mark in sent.marks):
            self._of_question.setdefault(name, []).append(sent)

    def of_question(self, mark: str) -> Sequence[SentOnWire]:
        """The requests that carry an answer to a question."""
        return self._of_question.get(mark, ())

    def of_event(self, event: Event) -> SentOnWire | None:
        """The request that an event is, or that it follows."""
        return self._by_seq.get(event.seq) or self._by_seq.get(event.cause or 0)


def outcome(view: RunView, sent: SentOnWire, seq: int) -> tuple[str, str, Tone, int]:
    """The outcome of a request up to event `seq`: a sign, words, their tone, and the event that shows it."""
    done = [one for one in sent.outcomes if one.seq <= seq and not isinstance(one.body, WireResponseLost)]
    if not done:
        if sent.responded is not None and sent.responded.seq <= seq and isinstance(sent.responded.body, WireResponded):
            return "–", f"answered {sent.responded.body.status}", Tone.WARN, sent.responded.seq
        if _under_way(view, sent, seq):
            return "○", "on its way", Tone.PLAIN, sent.seq
        return "╳", "not taken", Tone.WARN, sent.seq
    event = done[-1]
    lost = ", response lost" if sent.lost(seq) else ""
    tone = Tone.WARN if lost else Tone.GOOD
    match event.body:
        case WireEdited():
            return "✓", f"edited{lost}", tone, event.seq
        case WireDeleted():
            return "✓", f"deleted{lost}", tone, event.seq
        case WireAccepted():
            if event.seq in view.marks.misplaced or copy_number(view, event.seq) > 1:
                tone = Tone.BAD
            return "✓", f"accepted{lost}", tone, event.seq
        case _:
            sign, words, shown = wire_word(view, event)
            return sign, f"{place_cell(words).text or 'done'}{lost}", shown, event.seq


def _under_way(view: RunView, sent: SentOnWire, seq: int) -> bool:
    """Whether something comes of a request after event `seq`, or, while the run goes on, still may."""
    if any(one.seq > seq for one in (*sent.outcomes, sent.responded) if one is not None):
        return True
    struck = view.wire is not None and any(one.seq > sent.seq for one in view.wire.interruptions)
    return view.growing and view.over > seq and not struck


def copy_number(view: RunView, seq: int) -> int:
    """The number of a copy among its copies; 0 for a message that was sent once."""
    copy = view.marks.copies.get(seq)
    return 0 if copy is None else copy.number
