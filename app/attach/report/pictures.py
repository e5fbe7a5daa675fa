"""What people saw, place by place, as a chat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from trunkline.app.report.redaction import PageRedaction
from trunkline.app.text.cells import clean_lines
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Event
from trunkline.core.events.base import RunEnded
from trunkline.sim.events.attach import GatewayReady
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.world import PeerSaid, ThreadClosed
from trunkline.sim.invariants import Violation

#: messages of a place that are shown; in the middle of more are left out
_MESSAGES = 40
#: characters of a message that are shown
_LONGEST = 1200


class Bubble(msgspec.Struct, frozen=True, kw_only=True):
    """A message, or between messages what happened meanwhile."""

    #: ``+12.3 s``
    at: str
    #: the name of a person; empty for the gateway
    who: str
    text: str
    #: something that happened, and no message
    aside: bool = False
    #: it is what went wrong
    wrong: bool = False
    #: a word on it: ``nothing followed``
    remark: str = ""


class PlacePicture(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as its people saw it."""

    name: str
    bubbles: tuple[Bubble, ...]
    #: a violation is about something here
    concerned: bool = False


def pictures_of(view: RunView, violations: Sequence[Violation], redaction: PageRedaction) -> Iterator[PlacePicture]:
    """Every place in which something was said; those of the violations first."""
    wrong = {violation.first_wrong for violation in violations if violation.first_wrong is not None}
    missing = {seq for violation in violations for seq in _unended(view, violation)}
    about = {seq for violation in violations for seq in violation.seqs}
    asides = [event for event in view.events if type(event.body) in _ASIDES]
    found: list[PlacePicture] = []
    for place in view.places.in_order():
        messages = view.visible.of(place.key)
        if not messages:
            continue
        bubbles = [
            (
                message.seq,
                Bubble(
                    at=moment(message.at),
                    who=message.who,
                    text=shown_text(message.text, redaction),
                    wrong=message.seq in wrong,
                    remark=_remark(message.seq, wrong, missing),
                ),
            )
            for message in messages
        ]
        bubbles += [(event.seq, _aside(event, redaction)) for event in asides if _concerns(event, place.key)]
        ordered = [bubble for _, bubble in sorted(bubbles, key=lambda ordered_bubble: ordered_bubble[0])]
        found.append(
            PlacePicture(
                name=redaction.text(view.places.full(place.address)),
                bubbles=_middle_left_out(ordered),
                concerned=any(message.seq in about for message in messages),
            )
        )
    yield from sorted(found, key=lambda bubble: not bubble.concerned)


def _unended(view: RunView, violation: Violation) -> Iterator[int]:
    """The questions that nothing ended: what happened last on their way is often nothing that people see."""
    if violation.missing_after is not None:
        asked = [seq for seq in violation.seqs if isinstance(view.event(seq).body, PeerSaid)]
        yield from asked or [violation.missing_after]


def moment(at: float) -> str:
    """Seconds since the run began."""
    return f"+{at:.1f} s"


def shown_text(text: str, redaction: PageRedaction) -> str:
    """A text of a message, without control characters and secrets, and not too long."""
    text = redaction.text(clean_lines(text))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text):,} characters)"


def _remark(seq: int, wrong: set[int], missing: set[int]) -> str:
    if seq in missing:
        return "nothing followed that ends it"
    return "here it went wrong" if seq in wrong else ""


#: what people, or readers of the picture, notice between messages
_ASIDES: dict[type, str] = {
    ProcessCrashed: "the gateway was killed",
    ProcessStopped: "the gateway was stopped",
    ProcessFrozen: "the gateway was frozen",
    ProcessThawed: "the gateway runs again",
    GatewayReady: "the gateway is connected",
    ThreadClosed: "this thread was closed",
    RunEnded: "end of the recording",
}


def _aside(event: Event, redaction: PageRedaction) -> Bubble:
    text = _ASIDES[type(event.body)]
    if isinstance(event.body, ThreadClosed):
        text = f"this thread was {event.body.how}"
    return Bubble(at=moment(event.at), who="", text=redaction.text(text), aside=True)


def _concerns(event: Event, place: tuple[str, str, str, str]) -> bool:
    """A closed thread concerns its own place, everything else every place."""
    return not isinstance(event.body, ThreadClosed) or event.body.address.lane == place


def _middle_left_out(bubbles: list[Bubble]) -> tuple[Bubble, ...]:
    if len(bubbles) <= _MESSAGES:
        return tuple(bubbles)
    half = _MESSAGES // 2
    wrong = [bubble for bubble in bubbles[half:-half] if bubble.wrong or bubble.remark][:half]
    left = len(bubbles) - 2 * half - len(wrong)
    note = Bubble(at="", who="", text=f"{left} more are not shown", aside=True)
    return (*bubbles[:half], note, *wrong, *bubbles[-half:])
