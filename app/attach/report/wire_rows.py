"""The events of the wire around a fault and a violation, as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trunkline.app.report.redaction import PageRedaction
from trunkline.app.text.cells import clean, cut
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.core.events import Event
from trunkline.core.events.base import RunEnded
from trunkline.sim.events.script import FaultFired, RunPhase
from trunkline.sim.events.wire import WireCalled, WireResponded
from trunkline.sim.invariants import Violation

#: rows of a page
_ROWS = 80
#: cells of what a row says
_LONGEST = 400
#: kinds that say nothing about a finding: the world as it was set up
_SETUP = frozenset(
    {"world.account", "world.person", "world.place", "world.limits", "world.session", "gateway.attached"}
)
#: families of kinds that mark where a fault struck
_STRIKES = ("fault.", "process.", "thread.", "credential.", "gateway.exited")


class WireRow(msgspec.Struct, frozen=True, kw_only=True):
    """An event."""

    seq: int
    #: since the run began: ``+12.345 s``
    at: str
    node: str
    kind: str
    text: str
    #: a fault struck, or a process ended
    fault: bool = False
    #: the violation names it as evidence
    evidence: bool = False
    #: it is where it went wrong
    wrong: bool = False


def wire_rows(
    view: RunView, violations: Sequence[Violation], redaction: PageRedaction
) -> tuple[tuple[WireRow, ...], int]:
    """The rows, and how many events were left out: typing, polls, and what is far from the finding."""
    about = {seq for violation in violations for seq in violation.seqs}
    wrong = {violation.blamed for violation in violations if violation.blamed is not None}
    telling = [event for event in view.events if _says_something(event) or event.seq in about]
    chosen = _nearest(telling, about)
    rows = tuple(_row(view, event, about, wrong, redaction) for event in chosen)
    return rows, len(view.events) - len(rows)


def _says_something(event: Event) -> bool:
    body = event.body
    if isinstance(body, WireCalled | WireResponded):
        return not isinstance(body, WireCalled) or body.what in ("send", "act")
    return event.kind not in _SETUP and not isinstance(body, RunPhase | RunEnded)


def _struck(event: Event) -> bool:
    return isinstance(event.body, FaultFired) or event.kind.startswith(_STRIKES)


def _nearest(events: Sequence[Event], about: set[int]) -> list[Event]:
    """At most `_ROWS` events: those of the finding and the faults, and of the others those that are nearest to them."""
    if len(events) <= _ROWS:
        return list(events)
    centers = [number for number, event in enumerate(events) if event.seq in about or _struck(event)] or [0]
    far = {number: min(abs(number - center) for center in centers) for number in range(len(events))}
    kept = sorted(sorted(far, key=lambda number: (far[number], number))[:_ROWS])
    return [events[number] for number in kept]


def _row(view: RunView, event: Event, about: set[int], wrong: set[int], redaction: PageRedaction) -> WireRow:
    return WireRow(
        seq=event.seq,
        at=f"+{event.at:.3f} s",
        node=clean(event.node),
        kind=event.kind,
        text=cut(redaction.text(clean(describe(view, event))), _LONGEST),
        fault=_struck(event),
        evidence=event.seq in about,
        wrong=event.seq in wrong,
    )
