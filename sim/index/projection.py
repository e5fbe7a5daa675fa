"""Projections: what an index of a run is made of, for checkers, views and reports alike.

A projection names the bodies that it takes, each with the method that takes it, and sees every such event once, in
order. It makes no difference whether the run is over or still going on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from trunkline.core.events import Body, Event

#: body type -> the method that takes events with such a body
Handlers = Mapping[type[Body], Callable[[Event], None]]


class Projection(Protocol):
    """Something computed from the events of a run, one event at a time."""

    def handlers(self) -> Handlers:
        """The bodies that it takes, each with the method that takes them."""
        ...


class EventFeed:
    """Delivers the events of a run to projections, in the order in which they were connected."""

    def __init__(self, *projections: Projection) -> None:
        self.handlers: dict[type[Body], tuple[Callable[[Event], None], ...]] = {}
        for projection in projections:
            self.connect(projection)

    def connect(self, projection: Projection) -> None:
        """Deliver to this projection too. A projection that reads another one is connected after it."""
        for body, handle in projection.handlers().items():
            self.handlers[body] = (*self.handlers.get(body, ()), handle)

    def deliver(self, event: Event) -> None:
        """Show one event to the projections that take its body."""
        for handle in self.handlers.get(type(event.body), ()):
            handle(event)
