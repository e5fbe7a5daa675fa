"""What the cast's hooks do with messages besides their text, as far as it decides where they belong."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.events.script import HookRedirected
from trunkline.sim.index.projection import Projection, on


class RunHooks(Projection):
    """How hooks reroute the intents of a run."""

    def __init__(self) -> None:
        self._rerouted: dict[str, list[HookRedirected]] = {}

    def may_go(self, intent: str | None, place: Address) -> bool:
        """Whether a hook sends an intent to a place. Of a target only the text is known here."""
        found = self._rerouted.get(intent or "", ())
        return any(body.target is not None or (body.to is not None and body.to.lane == place.lane) for body in found)

    def targets(self, intent: str | None) -> tuple[str, ...]:
        """The targets that hooks name for an intent, as text."""
        found = self._rerouted.get(intent or "", ())
        return tuple(body.target for body in found if body.target is not None)

    def quotable(self, intent: str | None) -> tuple[str | None, ...]:
        """What hooks let an intent quote, by id."""
        return tuple(body.quotes for body in self._rerouted.get(intent or "", ()))

    @on(HookRedirected)
    def _redirected(self, event: Event, body: HookRedirected) -> None:
        self._rerouted.setdefault(event.intent or "", []).append(body)
