"""Templates of labels and rows: words, and between them fields of an event's body.

``{reason}`` is a field of the body and ``{event.generation}`` one of the event. A format may follow: ``{text:quoted}``.
Words around an ellipsis are left out with an empty value: ``{detail: (…)}``, ``{expires_at:, expires at …|seconds}``.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from string import Formatter
from typing import Any, Final

from trunkline.app.text.cells import quoted, seconds
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Body, Event

_FORMATS: Final[dict[str, Callable[[RunView, Any], object]]] = {
    "": lambda _view, value: value,
    "quoted": lambda _view, text: quoted(text),
    "seconds": lambda _view, time: seconds(time),
    "g": lambda _view, value: f"{value:g}",
    #: counted from one
    "number": lambda _view, index: index + 1,
    "place": lambda view, address: view.places.label(address),
    "place_name": lambda view, address: view.places.of(address).name,
    "target": lambda view, target: view.places.target(target),
    "binding": lambda view, binding: view.bindings.name(binding),
}


class Template:
    """A text about events of one kind. An unknown field raises `AttributeError`, an unknown format `KeyError`."""

    def __init__(self, body: type[Body], text: str) -> None:
        self._parts = [(words, _value(body, field, spec or "")) for words, field, spec, _ in Formatter().parse(text)]

    def __call__(self, view: RunView, event: Event, _body: Body) -> str:
        return "".join(words + value(view, event) for words, value in self._parts)


def _value(body: type[Body], field: str | None, spec: str) -> Callable[[RunView, Event], str]:
    if field is None:
        return lambda _view, _event: ""
    if not field.startswith("event.") and field.partition(".")[0] not in body.__struct_fields__:
        raise AttributeError(f"{body.__name__} has no field {field}")
    get = attrgetter(field.removeprefix("event.") if field.startswith("event.") else f"body.{field}")
    around, _, name = spec.rpartition("|")
    if "…" in name:
        around, name = name, ""
    show = _FORMATS[name]
    if not around:
        return lambda view, event: str(show(view, get(event)))
    before, after = around.split("…")

    def shown(view: RunView, event: Event) -> str:
        value = get(event)
        return "" if value is None or value == "" else f"{before}{show(view, value)}{after}"

    return shown
