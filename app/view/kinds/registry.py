"""How each event kind is shown: its label and its timeline row, declared next to each other and looked up here.

A kind without a row is internal: the timeline folds it into the visible row before it, and shows it only unfolded.
"""

from collections.abc import Callable
from operator import attrgetter
from string import Formatter
from typing import Any, Final, Literal, TypeVar

import msgspec

from trunkline.app.text.cells import clean, count, quoted, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.rows.lanes import Look, RowBuilder, TimelineRow
from trunkline.core.events import Body, Event

# Templates of labels and rows: words, and between them fields of an event's body.
#
# ``{reason}`` is a field of the body and ``{event.generation}`` one of the event; ``{reason|detail}`` is the first that
# is not empty. A format may follow: ``{text:quoted}``, ``{prompts:count prompt}``. Words around an ellipsis are left
# out with an empty value: ``{detail: (…)}``, ``{expires_at:, expires at …|seconds}``. Of two texts after a question
# mark, the first is shown with a value, the second without one: ``{allowed:?allows|denies}``.

#: formats by name; the modules of `trunkline.app.view.kinds` add their own. ``body`` as a field is the whole body
FORMATS: Final[dict[str, Callable[[RunView, Any], object]]] = {
    "": lambda _view, value: value,
    "quoted": lambda _view, text: quoted(text),
    "seconds": lambda _view, time: seconds(time),
    "g": lambda _view, value: f"{value:g}",
    #: counted from one
    "number": lambda _view, index: index + 1,
    "list": lambda _view, texts: ", ".join(texts),
    "quotes": lambda _view, texts: " ".join(map(quoted, texts)),
    "place": lambda view, address: view.places.label(address),
    "place_name": lambda view, address: view.places.of(address).name,
    #: without its platform
    "place_alone": lambda view, address: view.places.short(view.places.of(address)),
    "target": lambda view, target: view.places.target(target),
    "person": lambda _view, peer: peer.name or peer.id,
    "author": lambda view, body: view.places.person(body.address.channel, body.peer.id, body.peer.name),
    "binding": lambda view, binding: view.bindings.name(binding),
    #: those of a gateway that is not ours have no number here
    "process": lambda _view, number: f"process {number}" if number else "the gateway",
}

_Shown = Callable[[RunView, Event], str]


class Template:
    """A text about events of one kind. An unknown field raises `AttributeError`, an unknown format `KeyError`."""

    def __init__(self, body: type[Body], text: str) -> None:
        self._parts = [(words, _value(body, field, spec or "")) for words, field, spec, _ in Formatter().parse(text)]

    def __call__(self, view: RunView, event: Event, _body: Body) -> str:
        return "".join(words + value(view, event) for words, value in self._parts)


def _value(body: type[Body], field: str | None, spec: str) -> _Shown:
    if field is None:
        return lambda _view, _event: ""
    gets = [_getter(body, name) for name in field.split("|")]

    def get(event: Event) -> Any:
        values = [get(event) for get in gets]
        return next((value for value in values if not _is_empty(value)), values[-1])

    if spec.startswith("?"):
        yes, _, no = spec[1:].partition("|")
        return lambda _view, event: no if _is_empty(get(event)) else yes
    around, _, name = spec.rpartition("|")
    if "…" in name:
        around, name = name, ""
    show = _format(name)
    if not around:
        return lambda view, event: str(show(view, get(event)))
    before, after = around.split("…")

    def shown(view: RunView, event: Event) -> str:
        value = get(event)
        return "" if _is_empty(value) else f"{before}{show(view, value)}{after}"

    return shown


def _getter(body: type[Body], field: str) -> Callable[[Event], Any]:
    if field.startswith("event."):
        return attrgetter(field.removeprefix("event."))
    if field != "body" and field.partition(".")[0] not in body.__struct_fields__:
        raise AttributeError(f"{body.__name__} has no field {field}")
    return attrgetter(field if field == "body" else f"body.{field}")


def _format(name: str) -> Callable[[RunView, Any], object]:
    word, _, noun = name.partition(" ")
    if word == "count":
        return lambda _view, value: count(value if isinstance(value, int) else len(value), noun)
    return FORMATS[name]


def _is_empty(value: object) -> bool:
    """Whether a value has nothing to show: none, a blank text, an empty list, no, or a count of nothing."""
    return value is None or value is False or value in ("", ()) or (type(value) is int and value == 0)


B = TypeVar("B", bound=Body)
Label = Callable[[RunView, Event, B], str]
DrawRow = Callable[[RowBuilder, Event, B], TimelineRow | None]
#: whether a row of one lane is an arrow: from the gateway to the lane, or from the lane to the gateway
Arrow = Literal["", "out", "in"]


class KindView(msgspec.Struct):
    label: Label[Any]
    #: none: the kind is internal
    row: DrawRow[Any] | None = None
    #: the row function may return none, for events that have nothing to show
    sometimes: bool = False
    #: the row runs between two lanes, with its text in the gap beside the gateway
    arrow: bool = False


#: every kind that is shown, by the type of its body; filled by the modules of this package
KINDS: dict[type[Body], KindView] = {}


def label(body: type[B], *, row: DrawRow[Body] | None = None) -> Callable[[Label[B]], Label[B]]:
    """Register a label: one line of plain words. `row` is `note` or `alarm` where the row repeats the label."""

    def register(function: Label[B]) -> Label[B]:
        KINDS[body] = KindView(function, row)
        return function

    return register


def row(body: type[B], *, sometimes: bool = False, arrow: bool = False) -> Callable[[DrawRow[B]], DrawRow[B]]:
    """Register the timeline row of a kind whose label is registered."""

    def register(function: DrawRow[B]) -> DrawRow[B]:
        kind = KINDS[body]
        kind.row, kind.sometimes, kind.arrow = function, sometimes, arrow
        return function

    return register


def label_text(body: type[Body], template: str, *, row: DrawRow[Body] | None = None) -> None:
    KINDS[body] = KindView(Template(body, template), row)


def row_text(
    body: type[B],
    template: str,
    *,
    look: Look | Callable[[RowBuilder, B], Look] = Look.NOTE,
    at: str = "",
    tags: tuple[str, ...] = (),
    arrow: Arrow = "",
    when: Callable[[B], bool] | None = None,
) -> None:
    """Register a row whose text is a template: a note at a lane, or an arrow between it and the gateway.

    `at` names the field with the address or the hand of its lane; ``intent`` means the address of the event's intent.
    The default is the gateway's lane. `when`: only some of these events have a row.
    """
    text = Template(body, template)
    if at not in ("", "intent", *body.__struct_fields__):
        raise AttributeError(f"{body.__name__} has no field {at}")

    def draw_row(draw: RowBuilder, event: Event, body: B) -> TimelineRow | None:
        if when is not None and not when(body):
            return None
        where = draw.target(event) if at == "intent" else getattr(body, at) if at else None
        gateway, lane = draw.lanes.gateway, draw.lanes.hand(where) if isinstance(where, str) else draw.lanes.of(where)
        start, end = {"": (lane, lane), "out": (gateway, lane), "in": (lane, gateway)}[arrow]
        look_now = look if isinstance(look, Look) else look(draw, body)
        return draw.arrow(event, look_now, start, end, text(draw.view, event, body), tags=tags)

    row(body, sometimes=when is not None, arrow=bool(arrow))(draw_row)


def note(draw: RowBuilder, event: Event, _body: Body) -> TimelineRow:
    """A row at the gateway that repeats the label."""
    return draw.note(event, Look.NOTE, describe(draw.view, event))


def alarm(draw: RowBuilder, event: Event, _body: Body) -> TimelineRow:
    """The same, drawn as an alarm."""
    return draw.note(event, Look.ALARM, describe(draw.view, event))


def describe(view: RunView, event: Event) -> str:
    """The label of an event, without its number and time."""
    kind = KINDS.get(type(event.body))
    return clean(kind.label(view, event, event.body)) if kind else event.kind


def event_fact(
    view: RunView, event: Event, label: str = "", tone: Tone = Tone.PLAIN, *, mark: str = "", timed: bool = False
) -> Fact:
    """An event as a fact: its number, its time if wanted, and its label."""
    at = f"{seconds(event.at)} " if timed else ""
    return Fact(label, f"#{event.seq} {at}{describe(view, event)}", event.seq, tone, mark)


def row_of(draw: RowBuilder, event: Event) -> TimelineRow | None:
    """The row of an event; none when the event is internal."""
    kind = KINDS.get(type(event.body))
    return kind.row(draw, event, event.body) if kind and kind.row else None


def row_or_label(draw: RowBuilder, event: Event) -> TimelineRow:
    """The row of an event; for an internal one, its label at the lane of its place."""
    found = row_of(draw, event)
    return found or draw.note(event, Look.INTERNAL, describe(draw.view, event), draw.lane_of(event.body))


def has_row(draw: RowBuilder, event: Event) -> bool:
    """Whether an event has a row of its own. The row is drawn only for kinds that have one sometimes."""
    kind = KINDS.get(type(event.body))
    if kind is None or kind.row is None:
        return False
    return not kind.sometimes or kind.row(draw, event, event.body) is not None


def is_arrow(event: Event) -> bool:
    """Whether the row of an event may run between two lanes."""
    kind = KINDS.get(type(event.body))
    return kind is not None and kind.arrow
