"""Excerpts of a run for pages: what people saw in each place, as a chat, and what is nearest to a finding."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from trunkline.app.report.redaction import PageRedaction
from trunkline.app.text.cells import WALL_CLOCK, clean_lines, seconds
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Event, RunEnded
from trunkline.sim.events import attach, processes, world
from trunkline.sim.invariants import Violation


def nearest(numbers: Sequence[int], centers: Iterable[int], most: int) -> list[int]:
    """At most so many of the numbers, in order: those nearest to a center, or the first where there is none."""
    if len(numbers) <= most:
        return list(numbers)
    known = sorted(centers) or [0]

    def distance(number: int) -> int:
        at = bisect_left(known, number)
        return min(abs(number - center) for center in known[max(at - 1, 0) : at + 1])

    return sorted(sorted(numbers, key=lambda number: (distance(number), number))[:most])


#: messages of a place that a page of a finding shows; in the middle of more are left out
_MESSAGES = 40
#: characters of a message that are shown
_LONGEST_BUBBLE = 1200


class Bubble(msgspec.Struct, frozen=True, kw_only=True):
    """A message, or between messages what happened meanwhile."""

    #: its event; 0: none
    seq: int = 0
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


def pictures_of(
    view: RunView, violations: Sequence[Violation], redaction: PageRedaction, most: int = _MESSAGES
) -> Iterator[PlacePicture]:
    """Every place in which something was said, with at most so many messages; those of the violations first."""
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
                    seq=message.seq,
                    at=moment(message.at),
                    who=shown_text(message.who, redaction),
                    text=shown_text(message.text, redaction),
                    wrong=message.seq in wrong,
                    remark=_remark(message.seq, wrong, missing)
                    or (_copy(view, message.seq) if message.seq in about else ""),
                ),
            )
            for message in messages
        ]
        for event in asides:
            # A closed thread concerns its own place, everything else every place.
            if not isinstance(event.body, world.ThreadClosed) or event.body.address.lane == place.key:
                bubbles.append((event.seq, _aside(event, redaction)))
        ordered = [bubble for _, bubble in sorted(bubbles, key=lambda ordered_bubble: ordered_bubble[0])]
        found.append(
            PlacePicture(
                name=redaction.text(view.places.full(place.address)),
                bubbles=_middle_left_out(ordered, most),
                concerned=any(message.seq in about for message in messages),
            )
        )
    yield from sorted(found, key=lambda bubble: not bubble.concerned)


def _unended(view: RunView, violation: Violation) -> Iterator[int]:
    """The questions that nothing ended: what happened last on their way is often nothing that people see."""
    if violation.missing_after is not None:
        asked = [seq for seq in violation.seqs if isinstance(view.event(seq).body, world.PeerSaid)]
        yield from asked or [violation.missing_after]


def moment(at: float) -> str:
    """Seconds since the run began; of the wall clock, the time."""
    return seconds(at) if at >= WALL_CLOCK else f"+{at:.1f} s"


def shown_text(text: str, redaction: PageRedaction) -> str:
    """A text of a message, without control characters and secrets, and not too long."""
    return shortened(redaction.text(clean_lines(text)), _LONGEST_BUBBLE)


def shortened(text: str, most: int) -> str:
    """The beginning of a text that is too long, and how long the whole is."""
    return text if len(text) <= most else f"{text[:most]} … ({len(text):,} characters)"


def _remark(seq: int, wrong: set[int], missing: set[int]) -> str:
    if seq in missing:
        return "nothing followed that ends it"
    return "here it went wrong" if seq in wrong else ""


def _copy(view: RunView, seq: int) -> str:
    """A later copy of a message, or one at the wrong place."""
    copy = view.marks.copies.get(seq)
    if copy is not None and copy.number > 1:
        return f"the same again: {copy.number} of {len(view.marks.groups[copy.group])}"
    return "at the wrong place" if seq in view.marks.misplaced else ""


#: what people, or readers of the picture, notice between messages
_ASIDES: dict[type, str] = {
    processes.ProcessCrashed: "the gateway was killed",
    processes.ProcessStopped: "the gateway was stopped",
    processes.ProcessFrozen: "the gateway was frozen",
    processes.ProcessThawed: "the gateway runs again",
    attach.GatewayReady: "the gateway is connected",
    world.ThreadClosed: "this thread was closed",
    RunEnded: "end of the recording",
}


def _aside(event: Event, redaction: PageRedaction) -> Bubble:
    text = _ASIDES[type(event.body)]
    if isinstance(event.body, world.ThreadClosed):
        text = f"this thread was {event.body.how}"
    return Bubble(seq=event.seq, at=moment(event.at), who="", text=redaction.text(text), aside=True)


def _middle_left_out(bubbles: list[Bubble], most: int) -> tuple[Bubble, ...]:
    if len(bubbles) <= most:
        return tuple(bubbles)
    half = most // 2
    wrong = [bubble for bubble in bubbles[half:-half] if bubble.wrong or bubble.remark][:half]
    left = len(bubbles) - 2 * half - len(wrong)
    note = Bubble(at="", who="", text=f"{left} more are not shown", aside=True)
    return (*bubbles[:half], note, *wrong, *bubbles[-half:])
