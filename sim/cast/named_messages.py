"""The messages that a scenario names: what people say, by its id, and what agents send with their tool."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from trunkline.core.errors import UnknownName
from trunkline.core.values import Address
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
