"""The world of a run as its agents, hands, hooks and workers use it, and what it remembers of them beyond processes."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from trunkline.core.env import Ids
from trunkline.core.errors import UnknownName
from trunkline.core.events import EventLog, EventSink
from trunkline.core.values import Address, Peer
from trunkline.sim.cast.own_words import OwnWords
from trunkline.sim.scenario.model.agent_actions import LAST


class NamedMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message that an agent may name: its own by the intent that it was given, a person's by place and id."""

    of: str | None = None
    place: Address | None = None
    message_id: str | None = None

    @property
    def text(self) -> str:
        """How the tool names it."""
        return self.of or self.message_id or ""


class NamedMessages:
    """Finds messages by their names. It is part of the world, so it outlives the processes of the gateway."""

    def __init__(self, said: Callable[[str], tuple[Address, str] | None], moved: Callable[[], None]) -> None:
        self._said = said
        self._moved = moved
        #: agent and label, or session and ``last`` -> intent
        self._own: dict[tuple[str, str], str] = {}

    def note_sent(self, agent: str, session: str, intent: str, label: str | None) -> None:
        """Note a message of an agent. A turn that runs again sends the same ones."""
        self._moved()
        self._own[session, LAST] = intent
        if label is not None:
            self._own[agent, label] = intent

    def find(self, agent: str, session: str, name: str) -> NamedMessage:
        """The message with a name. Raises `UnknownName`."""
        own = self._own.get((session, LAST) if name == LAST else (agent, name))
        if own is not None:
            return NamedMessage(of=own)
        said = self._said(name)
        if said is None:
            raise UnknownName(f"there is no message {name!r} yet")
        return NamedMessage(place=said[0], message_id=said[1])


class KnownDelegations:
    """The delegations that agents know, by session and label. They outlive processes, as a model's transcript does."""

    def __init__(self, moved: Callable[[], None]) -> None:
        self._moved = moved
        #: session -> its delegations in order, each with its label
        self._found: dict[str, dict[str, str]] = {}

    def note(self, session: str, delegation: str, label: str) -> None:
        """Remember an accepted delegation; a turn that runs again delegates it again."""
        self._moved()
        self._found.setdefault(session, {})[delegation] = label

    def find(self, session: str, name: str) -> str | None:
        """The newest delegation of a session with this label, or the newest one for ``last``."""
        known = self._found.get(session, {})
        fits = [own for own, label in known.items() if name in (LAST, label)]
        return fits[-1] if fits else None


class ReachedRules(Protocol):
    """The record of the rules that a run has reached."""

    def note(self, part: object) -> None: ...


class CastWorld(Protocol):
    """The world of a run, as those who act in it know it."""

    log: EventLog
    #: finds the words of an answer that nothing else in the scenario says
    words: OwnWords
    messages: NamedMessages
    delegations: KnownDelegations

    @property
    def ids(self) -> Ids: ...
    @property
    def events(self) -> EventSink: ...
    @property
    def reached(self) -> ReachedRules: ...
    def now(self) -> float: ...
    def wall_clock(self) -> float: ...
    def call_at(self, when: float, call: Callable[..., object], *args: object) -> None: ...
    def poke(self) -> None:
        """Check for rest."""
        ...

    def hand_fault(self, task: str) -> tuple[str, float] | None:
        """The fault that strikes this task, and its duration."""
        ...

    def address(self, place: str) -> Address: ...
    def is_at(self, place: str, address: Address) -> bool: ...
    def message_id(self, name: str) -> str | None:
        """The platform's id of a message of the script; None if it is not said yet."""
        ...

    def peer(self, channel: str, person: str) -> Peer: ...
    def person(self, channel: str, id: str) -> str | None:  # noqa: A002 -- the word
        """The scenario's key of a person, by their id on a platform."""
        ...

    def number(self, of: str, what: str) -> int:
        """The number of an item among its kind, from 1."""
        ...
