"""The messages that a scenario names: what people say, by its id, and what agents send with their tool."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.errors import UnknownName
from trunkline.sim.scenario.model.agent_actions import LAST


class NamedMessages:
    """Finds messages by their names. It is part of the world, so it outlives the processes of the gateway."""

    def __init__(self, said: Callable[[str], str | None], moved: Callable[[], None]) -> None:
        self._said = said
        self._moved = moved
        #: agent and label, or session and ``last`` -> intent
        self._own: dict[tuple[str, str], str] = {}

    def sent(self, agent: str, session: str, intent: str, label: str | None) -> None:
        """Note a message of an agent. A turn that runs again sends the same ones."""
        self._moved()
        self._own[session, LAST] = intent
        if label is not None:
            self._own[agent, label] = intent

    def find(self, agent: str, session: str, name: str) -> str:
        """How the tool names a message: an intent, or the platform's id. Raises `UnknownName`."""
        found = self._own.get((session, LAST) if name == LAST else (agent, name)) or self._said(name)
        if found is None:
            raise UnknownName(f"there is no message {name!r} yet")
        return found
