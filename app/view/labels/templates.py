"""Templates of labels and rows: words, and between them fields of an event's body.

``{reason}`` is a field of the body and ``{event.generation}`` one of the event; ``{reason|detail}`` is the first that
is not empty. A format may follow: ``{text:quoted}``, ``{prompts:count prompt}``. Words around an ellipsis are left out
with an empty value: ``{detail: (…)}``, ``{expires_at:, expires at …|seconds}``. Of two texts after a question mark, the
first is shown with a value, the second without one: ``{allowed:?allows|denies}``.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from string import Formatter
from typing import Any, Final

from trunkline.app.text.cells import count, quoted, seconds
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Body, Event

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
        values = [one(event) for one in gets]
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
