"""Labels and tones of messages, and the rows of lists: shared by the Messages, Queue and Hands screens."""

import msgspec

from trunkline.app.text.cells import clean, quoted
from trunkline.app.text.fact import Tone
from trunkline.app.view.index.messages import AttemptRecord, MessageHistory, QueueState, StateChange, state_of
from trunkline.app.view.index.places import title
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Event
from trunkline.core.events.delivery import HookSending, IntentSettled, IntentSuppressed, SendPreviewed, SendRefused
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireLookedUp, WireRefused, WireResponseLost

#: shape and word of each state; colour comes from the tone
WORDS: dict[QueueState, tuple[str, str, Tone]] = {
    QueueState.LATER: ("·", "later", Tone.DIM),
    QueueState.PENDING: ("○", "PENDING", Tone.PLAIN),
    QueueState.LEASED: ("◐", "LEASED", Tone.WARN),
    QueueState.ORPHANED: ("╳", "ORPHANED", Tone.BAD),
    QueueState.RETRY: ("↻", "RETRY", Tone.WARN),
    QueueState.DELIVERED: ("✓", "DELIVERED", Tone.GOOD),
    QueueState.PARTIAL: ("½", "PARTIAL", Tone.WARN),
    QueueState.UNKNOWN: ("?", "UNKNOWN", Tone.WARN),
    QueueState.MISPLACED: ("!", "MISPLACED", Tone.BAD),
    QueueState.FAILED: ("✗", "FAILED", Tone.BAD),
    QueueState.DEAD: ("✗", "DEAD", Tone.BAD),
    QueueState.EXPIRED: ("✗", "EXPIRED", Tone.BAD),
    QueueState.CANCELLED: ("–", "CANCELLED", Tone.DIM),
    QueueState.UNSAID: ("–", "NOT SAID", Tone.DIM),
}
#: label of a message without an ending in a run that is over
NO_END = ("✗", "NO END", Tone.BAD)

#: stands for an empty cell
NOTHING = "·"
#: between a conversation and its thread
UNDER = "▸"


class LabelCell(msgspec.Struct, frozen=True):
    """A cell: its text, a longer text for wide screens, and its event."""

    text: str = NOTHING
    more: str = ""
    tone: Tone = Tone.PLAIN
    seq: int = 0
    #: it lies after the cursor
    later: bool = False

    @property
    def empty(self) -> bool:
        return self.text == NOTHING


class ListLine(msgspec.Struct, frozen=True, kw_only=True):
    """A drawn row: a thing with its cells, or a mark between the things."""

    #: the event that Enter leads to
    seq: int
    cells: dict[str, LabelCell] = {}
    #: of a copy or of something wrong, in the first column: ``2×``, ``!!``, ``✗``
    tag: str = ""
    #: the text of a mark
    mark: str = ""
    tone: Tone = Tone.PLAIN
    later: bool = False


EMPTY = LabelCell(tone=Tone.DIM)
#: the state of a message that has not begun
LATER = LabelCell("· later", tone=Tone.DIM)


def with_ahead(cells: dict[str, LabelCell], end: dict[str, LabelCell]) -> dict[str, LabelCell]:
    """Cells of which those that are still empty show their later content, marked as later."""
    return {
        name: msgspec.structs.replace(end[name], later=True) if cell.empty and not end[name].empty else cell
        for name, cell in cells.items()
    }


def state_words(step: StateChange) -> tuple[str, Tone]:
    """Shape, word and number of tries."""
    shape, word, tone = WORDS[step.state]
    number = f" {step.tries}" if step.state is QueueState.RETRY else ""
    return f"{shape} {word}{number}", tone


def says(history: MessageHistory) -> str:
    """The text of a message, or why there is none."""
    body = history.body
    if body is not None:
        return quoted(body.text) if body.text or not body.media else clean(f"files {', '.join(body.media)}")
    match history.first.body:
        case IntentSuppressed(text=text):
            return quoted(text) if text else "nothing"
        case SendPreviewed(chunks=chunks):
            return f"dry run {quoted(' '.join(chunks))}"
        case SendRefused(detail=detail):
            return f"refused: {clean(detail)}"
        case HookSending():
            return "cancelled by a hook, its text is not kept"
        case _:
            return "prepared by an earlier run"


def where(view: RunView, history: MessageHistory) -> str:
    """The destination of a message."""
    body = history.body
    address = body.address if body else getattr(history.first.body, "address", None)
    return title(view.places, address) if address is not None else NOTHING


def place_cell(place: str) -> LabelCell:
    """The name of a place, without spaces on narrow screens."""
    return LabelCell(place.replace(f" {UNDER} ", UNDER), place)


def wire_word(view: RunView, event: Event) -> tuple[str, str, Tone]:
    """The platform's reaction: shape, label, tone."""
    body = event.body
    match body:
        case WireAccepted(address=address):
            return "✓", title(view.places, address), Tone.GOOD
        case WireDeduplicated():
            return "=", "knows it", Tone.GOOD
        case WireRefused(reason=reason):
            return "✗", str(reason), Tone.BAD
        case WireResponseLost():
            return "?", "no answer", Tone.WARN
        case WireLookedUp(found=found):
            return ("✓", "has it", Tone.GOOD) if found else ("–", "not there", Tone.WARN)
        case _:
            return NOTHING, "", Tone.DIM


def shape_of(view: RunView, attempt: AttemptRecord, seq: int) -> tuple[str, Tone]:
    """The outcome of an attempt after event `seq`, as one sign and its tone."""
    wire = [event for event in attempt.wire if event.seq <= seq]
    if wire:
        shape, _, tone = wire_word(view, wire[-1])
        return shape, tone
    if attempt.ended is not None and attempt.ended.seq <= seq:
        return ("✓", Tone.GOOD) if attempt.acked else ("✗", Tone.WARN)
    if attempt.settled is not None and attempt.settled.seq <= seq and isinstance(attempt.settled.body, IntentSettled):
        shape, _, tone = WORDS[state_of(attempt.settled.body.state)]
        return shape, tone
    return "…", Tone.PLAIN


def process(generation: int) -> str:
    """A process in two or three cells."""
    return f"p{generation}" if generation else NOTHING
