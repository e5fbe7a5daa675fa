"""Steps of a script that wait for an event instead of a time."""

from collections.abc import Callable, Iterable

import msgspec

from trunkline.core.events import BODIES, Body, Event
from trunkline.sim.events import model, wire
from trunkline.sim.events.world import PeerSaid, PlatformConfirmed, PlatformConfirming, PlatformPushed
from trunkline.sim.index.marks import answers_in, questions_in, unique_marks
from trunkline.sim.run.world import World
from trunkline.sim.scenario.model.steps import PLACES, When
from trunkline.sim.scenario.text_pattern import text_matches

#: events about a message of a person, which do not have its text
OF_A_MESSAGE = (PlatformPushed, PlatformConfirming, PlatformConfirmed)
#: events about a request, which do not have its text; their cause is the request where only the wire is known
OF_A_REQUEST = (wire.WireRefused, wire.WireDeduplicated, wire.WireResponseLost)


def has_text(kind: str) -> bool:
    """Whether an event of this kind can be waited for by a text."""
    body = BODIES[kind]
    return hasattr(body, "text") or issubclass(body, (*OF_A_MESSAGE, *OF_A_REQUEST))


def has_place(kind: str) -> bool:
    """Whether an event of this kind can be waited for in a place."""
    return any(hasattr(BODIES[kind], name) for name in PLACES)


class _Trigger(msgspec.Struct):
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
        self._over = False
        #: (conversation, message id) -> what a person wrote, if anything waits for the outcome of a message with a text
        self._said: dict[tuple[str, str], str] = {}
        every = tuple(awaited)
        self._marks = unique_marks(world.file.say_ids)
        worded = (when for when in every if when.text is not None or when.question is not None)
        if any(issubclass(BODIES[when.event], OF_A_MESSAGE) for when in worded):
            world.log.subscribe(self._remember, PeerSaid)
        kinds: set[type[Body]] = {BODIES[when.event] for when in every}
        if any(when.event == wire.WireAccepted.kind and when.question is not None for when in every):
            # An answer that grew is whole by an edit.
            kinds.add(wire.WireEdited)
        if kinds:
            world.log.subscribe(self._see, *kinds)

    def add(self, when: When, fire: Callable[[Event], None]) -> None:
        """Call `fire` at the event that `when` describes, while it is being recorded."""
        self._waiting.setdefault(when.event, []).append(_Trigger(when, when.nth, fire))

    @property
    def ahead(self) -> bool:
        """Whether something waits that has not fired."""
        return not self._over and any(self._waiting.values())

    def disarm(self) -> None:
        """Let nothing fire any more; what would have fired is noted."""
        self._over = True
        for trigger in (trigger for waiting in self._waiting.values() for trigger in waiting):
            self._world.reached.disarm(trigger.when, self._world.now())

    def _see(self, event: Event) -> None:
        """Fire the triggers that wait for this event."""
        edited = isinstance(event.body, wire.WireEdited)
        waiting = self._waiting.get(event.body.kind) or (self._waiting.get(wire.WireAccepted.kind) if edited else None)
        for trigger in tuple(waiting or ()):
            if edited and trigger.when.event != wire.WireEdited.kind and trigger.when.question is None:
                continue
            if self._fits(trigger.when, event):
                trigger.left -= 1
                if trigger.left == 0 and waiting is not None:
                    waiting.remove(trigger)
                    self._fire(trigger, event)

    def _fire(self, trigger: _Trigger, event: Event) -> None:
        if self._over:
            self._world.reached.note_late(trigger.when, event.kind, event.at)
            return
        self._world.reached.note(trigger.when)
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
        if when.question is not None and not self._is_about(when.question, event):
            return False
        text = None if when.text is None else self._text_of(event)
        return when.text is None or (text is not None and text_matches(when.text, text))

    def _is_about(self, question: str, event: Event) -> bool:
        """Whether an event has the mark of a message of the script, or of an answer."""
        mark = self._marks[question]
        asked = event.body.marks if isinstance(event.body, model.ModelAsked) else ()
        text = self._text_of(event) or ""
        return mark in (*asked[-1:], *questions_in(text), *(answer.question for answer in answers_in(text)))

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
