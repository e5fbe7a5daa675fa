"""Steps of a script that wait for an event instead of a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from trunkline.core.events import BODIES, Body, Event
from trunkline.sim.events.wire import WireDeduplicated, WireRefused, WireResponseLost
from trunkline.sim.events.world import PeerSaid, PlatformConfirmed, PlatformConfirming, PlatformPushed
from trunkline.sim.run.fault_board import PLACES
from trunkline.sim.run.world import World
from trunkline.sim.scenario.model.steps import When
from trunkline.sim.scenario.text_pattern import text_matches

#: events about a message of a person, which do not have its text
OF_A_MESSAGE = (PlatformPushed, PlatformConfirming, PlatformConfirmed)
#: events about a request, which do not have its text; their cause is the request where only the wire is known
OF_A_REQUEST = (WireRefused, WireDeduplicated, WireResponseLost)


def has_text(kind: str) -> bool:
    """Whether an event of this kind can be waited for by a text."""
    body = BODIES[kind]
    return hasattr(body, "text") or issubclass(body, (*OF_A_MESSAGE, *OF_A_REQUEST))


def has_place(kind: str) -> bool:
    """Whether an event of this kind can be waited for in a place."""
    return any(hasattr(BODIES[kind], name) for name in PLACES)


@dataclass(slots=True)
class _Trigger:
    when: When
    left: int
    fire: Callable[[Event], None]


class Triggers:
    """Steps and faults that wait for events of a world. `awaited`: all that may wait; only their kinds are looked at.

    `delayed`: called when an event begins a wait for the time that follows it, and at the end of that.
    """

    def __init__(
        self,
        world: World,
        awaited: Iterable[When],
        delayed: tuple[Callable[[], None], Callable[[], None]] | None = None,
    ) -> None:
        self._world = world
        self._delayed = delayed
        self._waiting: dict[str, list[_Trigger]] = {}
        #: (conversation, message id) -> what a person wrote, if anything waits for the outcome of a message with a text
        self._said: dict[tuple[str, str], str] = {}
        every = tuple(awaited)
        if any(when.text is not None and issubclass(BODIES[when.event], OF_A_MESSAGE) for when in every):
            world.log.subscribe(self._remember, PeerSaid)
        kinds: set[type[Body]] = {BODIES[when.event] for when in every}
        if kinds:
            world.log.subscribe(self._see, *kinds)

    def add(self, when: When, fire: Callable[[Event], None]) -> None:
        """Call `fire` at the event that `when` describes, while it is being recorded."""
        self._waiting.setdefault(when.event, []).append(_Trigger(when, when.nth, fire))

    def clear(self) -> None:
        """Drop everything that has not fired."""
        self._waiting.clear()

    def _see(self, event: Event) -> None:
        """Fire the triggers that wait for this event."""
        waiting = self._waiting.get(event.body.kind)
        for trigger in tuple(waiting or ()):
            if self._fits(trigger.when, event):
                trigger.left -= 1
                if trigger.left == 0 and waiting is not None:
                    waiting.remove(trigger)
                    self._fire(trigger, event)

    def _fire(self, trigger: _Trigger, event: Event) -> None:
        if not trigger.when.delay:
            trigger.fire(event)
            return
        fire = trigger.fire
        if self._delayed is not None:
            begun, ended = self._delayed
            begun()
            fire = _then(fire, ended)
        self._world.call_at(self._world.now() + trigger.when.delay, fire, event)

    def _fits(self, when: When, event: Event) -> bool:
        if not self._world.matches(event, place=when.place):
            return False
        text = None if when.text is None else self._text_of(event)
        return when.text is None or (text is not None and text_matches(when.text, text))

    def _text_of(self, event: Event) -> str | None:
        """The text of an event, or of the message or the request that it is about."""
        body = event.body
        text = getattr(body, "text", None)
        if isinstance(text, str):
            return text
        if isinstance(body, OF_A_REQUEST):
            request = None if event.cause is None else self._world.log.events[event.cause - 1]
            return None if request is None else getattr(request.body, "text", None)
        if isinstance(body, PlatformPushed):
            return self._said.get((body.address.conversation, body.original_id))
        return self._said.get((body.address.conversation, body.message_id)) if isinstance(body, OF_A_MESSAGE) else None

    def _remember(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, PeerSaid)
        self._said[body.address.conversation, body.message_id] = body.text


def _then(fire: Callable[[Event], None], ended: Callable[[], None]) -> Callable[[Event], None]:
    def both(event: Event) -> None:
        fire(event)
        ended()

    return both
