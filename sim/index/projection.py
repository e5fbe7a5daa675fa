"""Projections: what an index of a run is made of, for checkers, views and reports alike.

A method whose name begins with ``on_`` takes the events whose bodies its second parameter is for; one that has a third
parameter takes only those of a prepared intent, with its facts. `on` marks a method that takes others than its types
say. A projection sees every such event once, in order, and it makes no difference whether the run is over.

What a class has as a default, each of its projections has for itself: containers are copied, as in a struct.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from copy import copy
from types import FunctionType
from typing import Any, ClassVar, Self, TypeVar, get_args

from trunkline.core.events import Body, Event

B = TypeVar("B", bound=Body)
S = TypeVar("S")
F = TypeVar("F")

#: takes an event and its body, and the facts of its intent if it wants them
Handle = Callable[..., None]
#: body type -> the method that takes events with such a body
Handlers = Mapping[type[Body], Handle]


def on(
    *bodies: type[B], after: tuple[type[Body], ...] = ()
) -> Callable[[Callable[[S, Event, B], None]], Callable[[S, Event, B], None]]:
    """Mark a method that takes each event with one of these bodies: the event, and its body.

    `after`: it takes none before the first event with one of those bodies, as there is nothing to do yet. That makes it
    free in most runs.
    """

    def mark(method: Callable[[S, Event, B], None]) -> Callable[[S, Event, B], None]:
        vars(method).update(takes=bodies, after=after)
        return method

    return mark


def on_intent(
    *bodies: type[B], after: tuple[type[Body], ...] = ()
) -> Callable[[Callable[[S, Event, B, F], None]], Callable[[S, Event, B, F], None]]:
    """Mark a method that takes each event of a prepared intent with one of these bodies, as `on` does.

    It gets the facts of the intent too.
    """

    def mark(method: Callable[[S, Event, B, F], None]) -> Callable[[S, Event, B, F], None]:
        vars(method).update(takes=bodies, after=after, of_intents=True)
        return method

    return mark


def _mark_by_types(method: FunctionType) -> None:
    """Mark a method by the type of its second parameter after itself: a body, or several."""
    hints = [method.__annotations__.get(name) for name in method.__code__.co_varnames[1 : method.__code__.co_argcount]]
    found: tuple[Any, ...] = get_args(hints[1]) or (hints[1],) if len(hints) in (2, 3) and hints[0] is Event else ()
    if found and all(isinstance(body, type) and issubclass(body, Body) for body in found):
        (on_intent if len(hints) == 3 else on)(*found)(method)


class Projection:
    """A projection: a value computed from the events of a run, one event at a time."""

    #: body type -> name of the method
    _methods: ClassVar[Mapping[type[Body], str]] = {}
    #: body type -> the bodies of which one must come first
    begins_after: ClassVar[Mapping[type[Body], tuple[type[Body], ...]]] = {}
    #: body types of which it takes the facts of the intent too
    of_intents: ClassVar[frozenset[type[Body]]] = frozenset()
    #: the containers among the defaults
    _containers: ClassVar[Mapping[str, Any]] = {}

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        made = super().__new__(cls)
        vars(made).update((name, copy(value)) for name, value in cls._containers.items())
        return made

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own: dict[str, Any] = dict(vars(cls))
        own = {name: value for name, value in own.items() if isinstance(value, dict | list | set | deque)}
        cls._containers = {**cls._containers, **own}
        marked: dict[type[Body], str] = {}
        for name, method in vars(cls).items():
            if name.startswith("on_") and isinstance(method, FunctionType) and "takes" not in vars(method):
                _mark_by_types(method)
            for body in getattr(method, "takes", ()):
                if body in marked:
                    raise TypeError(f"{cls.__name__} takes {body.__name__} twice: in {marked[body]} and in {name}")
                marked[body] = name
        cls._methods = {**cls._methods, **marked}
        cls.of_intents |= {body for body, name in marked.items() if "of_intents" in vars(vars(cls)[name])}
        late = {body: vars(cls)[name].after for body, name in marked.items()}
        cls.begins_after = {body: first for body, first in {**cls.begins_after, **late}.items() if first}

    def handlers(self) -> Handlers:
        """The handlers of the projection: each body that it takes, with the method that takes it."""
        return {body: getattr(self, name) for body, name in self._methods.items()}


class EventFeed:
    """Delivers the events of a run to projections, in the order in which they were connected."""

    def __init__(self, *projections: Projection, intents: Mapping[str, object] | None = None) -> None:
        self._intents: Mapping[str, object] = {} if intents is None else intents
        #: body -> the handlers of each event; and those of events of an intent, which get its facts
        self.handlers = defaultdict[type[Body], list[Handle]](list)
        self._of_intents = defaultdict[type[Body], list[Handle]](list)
        for projection in projections:
            self.connect(projection)

    def connect(self, projection: Projection) -> None:
        """Deliver to a projection too. One that reads another projection is connected after it."""
        for body, handle in projection.handlers().items():
            # The keys of `handlers` are all bodies that the feed takes.
            plain = self.handlers[body]
            handlers = self._of_intents[body] if body in projection.of_intents else plain
            if body in projection.begins_after:
                self._wait(projection.begins_after[body], handlers, handle)
            else:
                handlers.append(handle)

    def _wait(self, first: tuple[type[Body], ...], handlers: list[Handle], handle: Handle) -> None:
        """Deliver to a handler from the first event with one of the bodies `first` on."""
        waiting = [handle]

        def begin(_event: Event, _body: Any) -> None:
            if waiting:
                handlers.append(waiting.pop())

        for kind in first:
            self.handlers[kind].append(begin)

    def deliver(self, event: Event) -> None:
        """Show one event to the projections that take its body."""
        body = event.body
        for handle in self.handlers.get(type(body), ()):
            handle(event, body)
        about = self._of_intents.get(type(body))
        facts = self._intents.get(event.intent or "") if about else None
        if facts is not None:
            for handle in about or ():
                handle(event, body, facts)
