"""Steps of a script that wait for an event instead of a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from trunkline.core.events import BODIES, Body, Event
from trunkline.sim.run.fault_board import text_matches
from trunkline.sim.run.world import World
from trunkline.sim.scenario.model.steps import ScriptStep, When


@dataclass(slots=True)
class _Trigger:
    when: When
    left: int
    fire: Callable[[Event], None]


def awaited_by(script: Iterable[ScriptStep]) -> list[When]:
    """Everything that the steps of a script wait for."""
    inner = [step.crash or step.freeze or step.restart for step in script]
    return [when for when in (*(one.when for one in inner if one), *(step.when for step in script)) if when]


class Triggers:
    """What waits for events of a world. `awaited`: everything that may wait, so that only these kinds are looked at.

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
        kinds: set[type[Body]] = {BODIES[when.event] for when in awaited}
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
        self._world.at(self._world.now() + trigger.when.delay, fire, event)

    def _fits(self, when: When, event: Event) -> bool:
        if not self._world.matches(event, place=when.place):
            return False
        text = getattr(event.body, "text", None)
        return when.text is None or (isinstance(text, str) and text_matches(when.text, text))


def _then(fire: Callable[[Event], None], ended: Callable[[], None]) -> Callable[[Event], None]:
    def both(event: Event) -> None:
        fire(event)
        ended()

    return both
