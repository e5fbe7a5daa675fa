"""The attempts of a message over time, by process, and its chunks as a strip, so that overlaps and repeats show.

A span is one attempt of one process, from its start until the process knew the outcome, or died.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from trunkline.app.text.cells import seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.bindings.lifetime_bar import column
from trunkline.app.view.index.message import AttemptKind, AttemptRecord, MessageHistory
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels.messages import process, shape_of
from trunkline.core.events.delivery import ChunkAcked
from trunkline.sim.events.wire import WireAccepted

#: cells of the bars, and how many bars are shown
BAR, MOST = 24, 6
#: an altered trace may claim any number of chunks, and each has a sign
MOST_CHUNKS = 10_000
#: a chunk with a receipt, one that people saw without a receipt, one that was not seen
ACKED, SEEN, UNSENT = "■", "?", "□"


class AttemptSpan(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of one process. `until` is none while it runs; `died`: it ended with its process."""

    owner: int
    seq: int
    since: float
    until: float | None
    died: bool = False
    #: overlaps the attempt of another process
    overlaps: bool = False
    one: AttemptRecord


def attempt_spans(view: RunView, histories: MessageHistories, history: MessageHistory, seq: int) -> list[AttemptSpan]:
    """Every span that had begun by event `seq`, in order."""
    found = [_claim(view, histories, one, seq) for one in history.tried(seq) if one.part is AttemptKind.ATTEMPT]
    now = view.time(seq)
    return [
        msgspec.structs.replace(claim, overlaps=True) if any(_meet(claim, other, now) for other in found) else claim
        for claim in found
    ]


def _claim(view: RunView, histories: MessageHistories, one: AttemptRecord, seq: int) -> AttemptSpan:
    owner = one.event.generation
    ends = [event.seq for event in (one.ended, one.settled) if event is not None and event.generation == owner]
    died = histories.deaths.get(owner, 0)
    end = min(ends, default=0)
    dead = one.event.seq < died and not 0 < end < died
    end = died if dead else end
    until = view.time(end) if one.event.seq < end <= seq else None
    return AttemptSpan(
        owner=owner, seq=one.event.seq, since=one.event.at, until=until, died=dead and end <= seq, one=one
    )


def _meet(claim: AttemptSpan, other: AttemptSpan, now: float) -> bool:
    if claim.owner == other.owner:
        return False
    return claim.since < (now if other.until is None else other.until) and other.since < (
        now if claim.until is None else claim.until
    )


def span_facts(
    view: RunView, histories: MessageHistories, history: MessageHistory, seq: int, *, drawn: bool = True
) -> Iterator[Fact]:
    """A line a claim; none where there was but one. `drawn`: with its bar, on a scale of the time of all of them."""
    found = attempt_spans(view, histories, history, seq)
    if len(found) < 2 and not any(claim.died for claim in found):
        return
    span = (
        (history.prepared or history.first).at,
        max(view.time(seq) if one.until is None else one.until for one in found),
    )
    for index, claim in enumerate(found[:MOST]):
        bar = f"{_bar(view, claim, span, seq)} " if drawn else ""
        yield _span_fact(view, claim, seq, bar, "claims" if not index else "")
    if len(found) > MOST:
        yield Fact("", f"and {len(found) - MOST} more", tone=Tone.DIM)


def _bar(view: RunView, claim: AttemptSpan, span: tuple[float, float], seq: int) -> str:
    until = view.time(seq) if claim.until is None else claim.until
    start, end = column(claim.since, span, BAR), column(until, span, BAR)
    last = "▸" if claim.until is None else "╳" if claim.died else "┤"
    return "·" * start + "├" + "─" * (end - start - 1) + (last if end > start else "") + "·" * (BAR - end - 1)


def _span_fact(view: RunView, claim: AttemptSpan, seq: int, bar: str, label: str) -> Fact:
    shape, tone = ("╳" if bar else "", Tone.BAD) if claim.died else shape_of(view, claim.one, seq)
    chunk = f"part {claim.one.chunk + 1} " if claim.one.chunk else ""
    when = f"{seconds(claim.since)} – {'now' if claim.until is None else seconds(claim.until)}"
    words = ", its process died" if claim.died else ""
    words += ", while another process had it too" if claim.overlaps else ""
    text = f"{process(claim.owner)} {bar}{when}  {chunk}try {claim.one.number} {shape}".rstrip() + words
    tone = Tone.BAD if claim.overlaps else Tone.WARN if tone is Tone.BAD else Tone.PLAIN
    return Fact(label, text, claim.seq, tone)


class ChunkStrip(msgspec.Struct, frozen=True, kw_only=True):
    """The chunks of a message: a sign for each, and the numbers of wrong ones."""

    signs: str
    acked: int
    seen: int
    #: numbers of chunks, from 1, that people saw more than once; and of those left out before one they saw
    repeated: tuple[int, ...] = ()
    holes: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.signs)

    @property
    def tone(self) -> Tone:
        """A repeat or a hole is an error; a missing receipt is a warning."""
        if self.repeated or self.holes:
            return Tone.BAD
        return Tone.WARN if self.seen else Tone.PLAIN

    def strip(self, room: int) -> str:
        """``■■□■■``; ``■12/15`` where that is too long."""
        return self.signs if self.total <= room else f"{ACKED}{self.acked}/{self.total}"

    @property
    def words(self) -> str:
        """The strip in words."""
        words = [f"{self.acked} of {self.total} delivered with a receipt"]
        words += [f"{self.seen} seen by people, without a receipt"] if self.seen else []
        unsent = self.signs.count(UNSENT)
        words += [f"{unsent} not seen"] if unsent else []
        words += [f"✗ part {number} seen more than once" for number in self.repeated]
        words += [f"✗ part {number} is left out" for number in self.holes]
        return ", ".join(words)


def chunks(history: MessageHistory, seq: int) -> ChunkStrip | None:
    """The chunks after event `seq`; none for a single chunk and for impossible numbers."""
    if history.body is None or not 2 <= history.body.chunks <= MOST_CHUNKS:
        return None
    total = history.body.chunks
    accepted = [event.body for event in history.accepted if event.seq <= seq]
    seen = Counter(body.chunk for body in accepted if isinstance(body, WireAccepted))
    receipts = (event.body for event in history.acked if event.seq <= seq)
    acked = {body.chunk for body in receipts if isinstance(body, ChunkAcked)}
    signs = [_sign(seen[chunk], acked=chunk in acked) for chunk in range(total)]
    reached = max((*seen, *acked), default=-1)
    return ChunkStrip(
        signs="".join(signs),
        acked=len(acked),
        seen=signs.count(SEEN),
        repeated=tuple(chunk + 1 for chunk in range(total) if seen[chunk] > 1),
        holes=tuple(chunk + 1 for chunk in range(min(reached, total)) if signs[chunk] == UNSENT),
    )


def _sign(seen: int, *, acked: bool) -> str:
    if seen > 1:
        return str(min(seen, 9))
    return ACKED if acked else SEEN if seen else UNSENT
