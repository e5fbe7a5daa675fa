"""Projections: what an index of a run is made of, for checkers, views and reports alike.

A projection marks the methods that take events with `on`, and sees every such event once, in order. It makes no
difference whether the run is over or still going on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from trunkline.core.events import Body, Event

B = TypeVar("B", bound=Body)
S = TypeVar("S")

#: takes an event and its body
Handle = Callable[[Event, Any], None]
#: body type -> the method that takes events with such a body
Handlers = Mapping[type[Body], Handle]


def on(*bodies: type[B]) -> Callable[[Callable[[S, Event, B], None]], Callable[[S, Event, B], None]]:
    """Mark a method that takes each event with one of these bodies: the event, and its body."""

    def mark(method: Callable[[S, Event, B], None]) -> Callable[[S, Event, B], None]:
        vars(method)["takes"] = bodies
        return method

    return mark


class Projection:
    """A projection: a value computed from the events of a run, one event at a time."""

    #: body type -> name of the method
    _methods: ClassVar[Mapping[type[Body], str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        marked: dict[type[Body], str] = {}
        for name, method in vars(cls).items():
            for body in getattr(method, "takes", ()):
                if body in marked:
                    raise TypeError(f"{cls.__name__} takes {body.__name__} twice: in {marked[body]} and in {name}")
                marked[body] = name
        cls._methods = {**cls._methods, **marked}

    def handlers(self) -> Handlers:
        """The handlers of the projection: each body that it takes, with the method that takes it."""
        return {body: getattr(self, name) for body, name in self._methods.items()}


class EventFeed:
    """Delivers the events of a run to projections, in the order in which they were connected."""

    def __init__(self, *projections: Projection) -> None:
        self.handlers: dict[type[Body], tuple[Callable[[Event, Any], None], ...]] = {}
        for projection in projections:
            self.connect(projection)

    def connect(self, projection: Projection) -> None:
        """Deliver to a projection too. One that reads another projection is connected after it."""
        for body, handle in projection.handlers().items():
            self.handlers[body] = (*self.handlers.get(body, ()), handle)

    def deliver(self, event: Event) -> None:
        """Show one event to the projections that take its body."""
        body = event.body
        for handle in self.handlers.get(type(body), ()):
            handle(event, body)
