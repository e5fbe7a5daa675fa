"""The requests of a foreign gateway as rows: what is known instead of its queue."""

from __future__ import annotations

from trunkline.app.text.cells import quoted, seconds
from trunkline.app.text.fact import Tone
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.labels.lines import ListLine
from trunkline.app.view.labels.messages import EMPTY, LATER, LabelCell, place_cell
from trunkline.app.view.wire_side.sent import SentOnWire, WireSends, copy_number, outcome
from trunkline.core.events import Event
from trunkline.sim.events.attach import GatewayExited
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen
from trunkline.sim.events.wire import WireResponded


class RequestRows:
    """Every request to send or to change a message, with the starts and ends of the gateway between them."""

    def __init__(self, view: RunView, sends: WireSends) -> None:
        self._view = view
        self.sends = sends

    def __len__(self) -> int:
        return len(self.sends.rows)

    def place(self, event: Event) -> int | None:
        """The number of the row that an event belongs to."""
        sent = self.sends.of_event(event)
        wanted = event if sent is None else sent
        return next((at for at, row in enumerate(self.sends.rows) if row is wanted), None)

    def seqs(self, index: int) -> frozenset[int]:
        """A request with its outcomes."""
        row = self.sends.rows[index]
        outcomes = row.outcomes if isinstance(row, SentOnWire) else ()
        return frozenset((row.seq, *(one.seq for one in outcomes)))

    def wrong(self, seq: int) -> tuple[int, ...]:
        """Numbers of the requests that are evidence of a violation by event `seq`."""
        return tuple(
            at for at, row in enumerate(self.sends.rows) if isinstance(row, SentOnWire) and self._broken(row, seq)
        )

    def _broken(self, row: SentOnWire, seq: int) -> str:
        own = (row.seq, *(one.seq for one in row.outcomes))
        found = (violation for one in own for violation in self._view.marks.of(one))
        return " ".join(dict.fromkeys(one.invariant for one in found if one.at <= seq))

    def arrived(self, seq: int) -> list[int]:
        """Numbers of the requests up to event `seq`, without the marks."""
        return [at for at, row in enumerate(self.sends.rows) if isinstance(row, SentOnWire) and row.seq <= seq]

    def counts(self, seq: int) -> str:
        """How many requests there were, and what became of them, in a line."""
        words: dict[str, int] = {}
        for at in self.arrived(seq):
            row = self.sends.rows[at]
            if isinstance(row, SentOnWire):
                word = outcome(self._view, row, seq)[1].partition(",")[0]
                words[word] = words.get(word, 0) + 1
        total = sum(words.values())
        return f"{total} arrived: {', '.join(f'{number} {word}' for word, number in words.items())}" if total else ""

    def line(self, index: int, seq: int) -> ListLine:
        """A request after event `seq`, or the mark of a start or an end."""
        row = self.sends.rows[index]
        if isinstance(row, Event):
            alarm = isinstance(row.body, ProcessCrashed | GatewayExited | ProcessFrozen)
            text = f"{seconds(row.at)}  {describe(self._view, row)}"
            return ListLine(seq=row.seq, mark=text, tone=Tone.BAD if alarm else Tone.DIM, later=row.seq > seq)
        later = row.seq > seq
        at = self._view.last if later else seq
        sign, words, tone, shown = outcome(self._view, row, at)
        body = row.body
        broken = "" if later else self._broken(row, seq)
        what = f"{body.action.value} " if body.action is not None else ""
        marks = " ".join(f"{mark.question} g{mark.generation}" for mark in row.marks)
        cells = {
            "state": LATER if later else LabelCell(f"{sign} {words.upper()}", tone=tone, seq=shown),
            "what": LabelCell(f"{what}{quoted(body.text)}"),
            "place": place_cell(self._view.places.label(body.address)),
            "try": LabelCell(str(row.number), tone=Tone.WARN if row.number > 1 else Tone.PLAIN),
            "answers": LabelCell(marks) if marks else EMPTY,
            "arrived": LabelCell(seconds(row.called.at)),
            "response": EMPTY if later else self._response(row, seq),
            "broken": LabelCell(broken, tone=Tone.BAD),
        }
        number = max((copy_number(self._view, one.seq) for one in row.outcomes), default=0)
        return ListLine(seq=shown, cells=cells, tag=f"{number}×" if number else "", later=later)

    def _response(self, row: SentOnWire, seq: int) -> LabelCell:
        """The response that the gateway got to know."""
        if row.lost(seq):
            return LabelCell("lost", "lost on its way", Tone.WARN)
        done = row.responded
        if done is None or done.seq > seq or not isinstance(done.body, WireResponded):
            return LabelCell("none", tone=Tone.WARN)
        after = done.at - row.called.at
        return LabelCell(str(done.body.status), f"{done.body.status} after {seconds(after)} s")
